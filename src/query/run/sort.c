/* Rows in the order of columns: a stable sort for each column, the last one first. */
#include "query/run/run.h"

#include "core/sort.h"

typedef struct sorter {
    const copse_ctx *ctx;
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

/* ---- codes ---- */

#define DIGIT_BITS 10u

bool copse_sort_codes(copse_polled *polled, copse_pair *pairs, copse_pair *other, uint64_t n, uint64_t low,
                      uint64_t high)
{
    uint64_t ends[(1u << DIGIT_BITS) + 1] = {0};
    const unsigned bits = high > low ? 64 - (unsigned)__builtin_clzll(high - low) : 0;
    const unsigned shift = bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
    if (n <= COPSE_POLL_ROWS || shift == 0) {
        sort_bucket(pairs, other, n, false);
        return true;
    }
    for (uint64_t i = 0; i < n; i++) ends[((pairs[i].key - low) >> shift) + 1]++;
    for (unsigned d = 0; d < 1u << DIGIT_BITS; d++) ends[d + 1] += ends[d];
    for (uint64_t i = 0; i < n; i++) {
        if (i % COPSE_POLL_ROWS == 0 && !copse_polled_goes_on(polled, i)) return false;
        other[ends[(pairs[i].key - low) >> shift]++] = pairs[i];
    }
    for (uint64_t d = 0, begin = 0, asked = 0; begin < n; begin = ends[d++]) {
        if (begin >= asked && !copse_polled_goes_on(polled, begin)) return false;
        if (begin >= asked) asked = begin + COPSE_POLL_ROWS;
        if (ends[d] > begin) sort_bucket(other + begin, pairs + begin, ends[d] - begin, true);
    }
    return true;
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

static copse_status sort_texts(const sorter *s, uint64_t first, uint64_t last)
{
    copse_status status = COPSE_OK;
    uint64_t merged = 0;
    for (uint64_t width = 1; width < last - first; width *= 2)
        for (uint64_t low = first; status == COPSE_OK && low + width < last; low += 2 * width) {
            merge_texts(s, low, low + width, low + 2 * width < last ? low + 2 * width : last);
            merged += 2 * width;
            if (merged < COPSE_POLL_ROWS) continue;
            status = copse_progress(s->ctx, "sorting texts", low - first, last - first);
            merged = 0;
        }
    return status;
}

static copse_status finish_texts(const sorter *s, uint64_t n)
{
    copse_status status = COPSE_OK;
    for (uint64_t i = 0, end = 0, asked = COPSE_POLL_ROWS; status == COPSE_OK && i < n; i = end) {
        for (end = i + 1; end < n && s->pairs[end].key == s->pairs[i].key;) end++;
        if (i >= asked) status = copse_progress(s->ctx, "sorting texts", i, n);
        if (i >= asked) asked = i + COPSE_POLL_ROWS;
        if (status == COPSE_OK && end - i > 1) status = sort_texts(s, i, end);
    }
    return status;
}

/* ---- one column ---- */

/* Rows without a value go to their end of the list. */
static copse_status sort_column(const sorter *s, uint32_t *rows, uint64_t n)
{
    uint64_t valid = 0, nulls = 0, low = UINT64_MAX, high = 0;
    uint32_t *null_rows = (uint32_t *)s->other; /* until the sort needs it */
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < n; i++) {
        status = copse_poll(s->ctx, "sorting rows", i, n);
        if (status != COPSE_OK) return status;
        if (!copse_cell_valid(s->column, rows[i])) {
            null_rows[nulls++] = rows[i];
            continue;
        }
        const uint64_t code = code_of(s, rows[i]);
        low = code < low ? code : low;
        high = code > high ? code : high;
        s->pairs[valid++] = (copse_pair){code, rows[i]};
    }
    uint32_t *sorted = rows + (s->descending ? 0 : nulls);
    memcpy(s->descending ? rows + valid : rows, null_rows, nulls * sizeof *rows);
    copse_polled polled = copse_polled_begin(s->ctx, "sorting rows", valid);
    (void)copse_sort_codes(&polled, s->pairs, s->other, valid, low, high);
    status = (copse_status)polled.status;
    if (status == COPSE_OK && copse_column_is_text(s->column)) status = finish_texts(s, valid);
    for (uint64_t i = 0; status == COPSE_OK && i < valid; i++) sorted[i] = (uint32_t)s->pairs[i].value;
    return status;
}

copse_status copse_sort_rows(const copse_table *table, const copse_sort_key *keys, uint32_t key_count, uint32_t *rows,
                             uint64_t n)
{
    copse_buffer memory = {0};
    if (n == 1 && key_count > 0) copse_cells_touch(&table->columns[keys[0].column], rows, n);
    if (n < 2 || key_count == 0) return COPSE_OK;
    copse_status status = copse_buffer_reserve(table->ctx, &memory, 2 * n, sizeof(copse_pair), "sorting rows");
    for (uint32_t i = key_count; status == COPSE_OK && i-- > 0;) {
        copse_pair *pairs = memory.data;
        copse_cells_touch(&table->columns[keys[i].column], rows, n);
        const sorter s = {table->ctx, &table->columns[keys[i].column], keys[i].descending, pairs, pairs + n};
        status = sort_column(&s, rows, n);
    }
    copse_buffer_free(table->ctx, &memory);
    return status;
}
