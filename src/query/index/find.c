/* Rows by key. */
#include "query/index/index.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void copse_row_numbers_sort(uint32_t *rows, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        if (rows[i - 1] > rows[i]) {
            qsort(rows, n, sizeof *rows, by_number);
            return;
        }
}

/* Offsets for all n keys out of those for the keys of the batch, which leaves NULLs out. Works from behind, in place. */
static void spread(uint64_t *offsets, const copse_key_batch *batch, uint64_t n)
{
    const uint32_t *positions = batch->positions.data;
    uint64_t end = offsets[batch->n], k = batch->n;
    for (uint64_t i = n + 1; i-- > 0;) {
        if (k > 0 && positions[k - 1] == i) end = offsets[--k];
        offsets[i] = end;
    }
}

copse_status copse_index_find_rows(const copse_table *table, const copse_stored_index *index,
                                   const copse_key_source *keys, uint64_t n, copse_buffer *offsets, copse_buffer *rows)
{
    copse_key_batch batch = {0};
    copse_rows out = COPSE_ROWS_INIT;
    copse_status status = copse_key_batch_fill(table->ctx, &batch, keys, NULL, NULL, n);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, offsets, n + 1, sizeof(uint64_t), "the rows of keys");
    out.offsets = offsets->data;
    if (status == COPSE_OK && batch.n == 0) out.offsets[0] = 0;
    if (status == COPSE_OK && batch.n > 0)
        status = copse_find_all(index->tree, copse_key_batch_keys(&batch), batch.n, &out);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, rows, out.offsets[batch.n] + 1, sizeof(uint32_t), "the rows of keys");
    if (status == COPSE_OK && out.offsets[batch.n] > 0) {
        out.values = rows->data;
        out.capacity = out.offsets[batch.n];
        status = copse_find_all(index->tree, copse_key_batch_keys(&batch), batch.n, &out);
        if (status == COPSE_OK) status = copse_rows_check(table, rows->data, out.capacity);
    }
    if (status == COPSE_OK) {
        for (uint64_t i = 0; i < batch.n; i++)
            copse_row_numbers_sort((uint32_t *)rows->data + out.offsets[i], out.offsets[i + 1] - out.offsets[i]);
        spread(out.offsets, &batch, n);
    }
    copse_key_batch_free(table->ctx, &batch);
    return status;
}
