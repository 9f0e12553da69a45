/* Rows in the order of columns: a stable sort for each column, the last one first. */
#include "query/run/run.h"

#include "core/sort.h"

typedef struct sorter {
    const copse_stored_column *column;
    bool descending;
    copse_pair *pairs; /* code and row */
    copse_pair *other;
} sorter;

static uint64_t code_of(const sorter *s, uint32_t row)
{
    uint64_t code = copse_column_is_text(s->column) ? copse_slice_prefix(copse_cell_text(s->column, row))
                                                    : copse_cell_code(s->column, row);
    return s->descending ? ~code : code;
}

/* ---- texts that begin alike ---- */

static bool comes_after(const sorter *s, copse_pair a, copse_pair b)
{
    int order = copse_slice_compare(copse_cell_text(s->column, a.value), copse_cell_text(s->column, b.value));
    return s->descending ? order < 0 : order > 0;
}

/* Merges two sorted halves of pairs[first .. last). */
static void merge_texts(const sorter *s, uint64_t first, uint64_t middle, uint64_t last)
{
    uint64_t i = first, j = middle, at = first;
    if (!comes_after(s, s->pairs[middle - 1], s->pairs[middle])) return;
    memcpy(s->other + first, s->pairs + first, (last - first) * sizeof *s->pairs);
    while (i < middle && j < last)
        s->pairs[at++] = comes_after(s, s->other[i], s->other[j]) ? s->other[j++] : s->other[i++];
    while (i < middle) s->pairs[at++] = s->other[i++];
    while (j < last) s->pairs[at++] = s->other[j++];
}

static void sort_texts(const sorter *s, uint64_t first, uint64_t last)
{
    for (uint64_t width = 1; width < last - first; width *= 2)
        for (uint64_t low = first; low + width < last; low += 2 * width)
            merge_texts(s, low, low + width, low + 2 * width < last ? low + 2 * width : last);
}

static void finish_texts(const sorter *s, uint64_t n)
{
    for (uint64_t i = 0, end = 0; i < n; i = end) {
        for (end = i + 1; end < n && s->pairs[end].key == s->pairs[i].key;) end++;
        if (end - i > 1) sort_texts(s, i, end);
    }
}

/* ---- one column ---- */

static void sort_column(const sorter *s, uint32_t *rows, uint64_t n)
{
    uint64_t valid = 0, nulls = 0;
    uint32_t *null_rows = (uint32_t *)s->other; /* until the sort needs it */
    for (uint64_t i = 0; i < n; i++) {
        if (copse_cell_valid(s->column, rows[i]))
            s->pairs[valid++] = (copse_pair){code_of(s, rows[i]), rows[i]};
        else
            null_rows[nulls++] = rows[i];
    }
    uint32_t *sorted = rows + (s->descending ? 0 : nulls);
    memcpy(s->descending ? rows + valid : rows, null_rows, nulls * sizeof *rows);
    sort_bucket(s->pairs, s->other, valid, false);
    if (copse_column_is_text(s->column)) finish_texts(s, valid);
    for (uint64_t i = 0; i < valid; i++) sorted[i] = (uint32_t)s->pairs[i].value;
}

copse_status copse_sort_rows(const copse_table *table, const copse_sort_key *keys, uint32_t key_count, uint32_t *rows,
                             uint64_t n)
{
    copse_buffer memory = {0};
    if (n == 1 && key_count > 0) copse_cells_touch(&table->columns[keys[0].column], rows, n);
    if (n < 2 || key_count == 0) return COPSE_OK;
    copse_status status = copse_buffer_reserve(table->ctx, &memory, 2 * n, sizeof(copse_pair), "sorting rows");
    if (status != COPSE_OK) return status;
    for (uint32_t i = key_count; i-- > 0;) {
        copse_pair *pairs = memory.data;
        copse_cells_touch(&table->columns[keys[i].column], rows, n);
        const sorter s = {&table->columns[keys[i].column], keys[i].descending, pairs, pairs + n};
        sort_column(&s, rows, n);
    }
    copse_buffer_free(table->ctx, &memory);
    return COPSE_OK;
}
