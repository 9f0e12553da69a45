/* The rows that a query asks for. */
#include "query/run/run.h"

#define SCAN_BLOCK 4096u
/* From one row in so many on, a bit for each row of the table sorts faster than comparing does. */
#define BITMAP_SHARE 1024u

static copse_status reserve(const copse_query *query, copse_row_list *list, uint64_t n)
{
    return copse_buffer_reserve(query->ctx, &list->memory, n + 1, sizeof(uint32_t), "the rows of a query");
}

/* ---- rows of an index ---- */

static copse_status rows_of_driver(const copse_query *query, const copse_conjunction *conjunction, copse_row_list *out)
{
    const copse_index *tree = conjunction->driver->tree;
    copse_term_ranges ranges = {0};
    copse_buffer offsets = {0};
    copse_rows rows = COPSE_ROWS_INIT;
    copse_status status = copse_driver_ranges(query->table, conjunction, &ranges);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(query->ctx, &offsets, ranges.ranges.n + 1, sizeof(uint64_t), "rows of an index");
    rows.offsets = offsets.data;
    if (status == COPSE_OK) status = copse_range(tree, &ranges.ranges, &rows);
    if (status == COPSE_OK) status = reserve(query, out, rows.offsets[ranges.ranges.n]);
    if (status == COPSE_OK && rows.offsets[ranges.ranges.n] > 0) {
        rows.capacity = rows.offsets[ranges.ranges.n];
        rows.values = out->memory.data;
        status = copse_range(tree, &ranges.ranges, &rows);
    }
    if (status == COPSE_OK) out->n = rows.offsets[ranges.ranges.n];
    if (status == COPSE_OK) status = copse_rows_check(query->table, out->memory.data, out->n);
    copse_buffer_free(query->ctx, &offsets);
    copse_term_ranges_free(query->ctx, &ranges);
    return status;
}

static copse_status sort_by_bits(const copse_table *table, uint64_t *bits, copse_row_list *list)
{
    uint32_t *rows = copse_row_list_rows(list);
    uint64_t words = table->slots / 64 + 1, at = 0;
    memset(bits, 0, words * sizeof *bits);
    for (uint64_t i = 0; i < list->n; i++) {
        copse_status status = copse_poll(table->ctx, "sorting rows", i, list->n);
        if (status != COPSE_OK) return status;
        bits[rows[i] / 64] |= UINT64_C(1) << (rows[i] % 64);
    }
    for (uint64_t w = 0; w < words; w++)
        for (uint64_t left = bits[w]; left; left &= left - 1)
            rows[at++] = (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(left));
    list->n = at; /* the same, unless a file lists a row twice */
    return COPSE_OK;
}

copse_status copse_row_list_sort(const copse_query *query, copse_row_list *list)
{
    uint32_t *rows = copse_row_list_rows(list);
    uint64_t i = 1;
    while (i < list->n && rows[i - 1] < rows[i]) i++;
    copse_status status = COPSE_OK;
    if (i >= list->n) return status;
    size_t bytes = (query->table->slots / 64 + 1) * sizeof(uint64_t);
    uint64_t *bits = list->n > query->table->slots / BITMAP_SHARE ? copse_memory_alloc(query->ctx, bytes) : NULL;
    if (bits)
        status = sort_by_bits(query->table, bits, list);
    else
        copse_row_numbers_sort(rows, list->n);
    copse_memory_free(query->ctx, bits, bytes);
    return status;
}

/* ---- all rows ---- */

typedef struct scan_job {
    const copse_table *table;
    const copse_conjunction *conjunction; /* NULL: every row */
    uint32_t *rows;                       /* each block writes where it begins */
    uint32_t *kept;                       /* of each block */
    copse_polled polled;
} scan_job;

static void scan_block(void *user, uint64_t first, uint64_t last)
{
    scan_job *job = user;
    for (uint64_t begin = first; begin < last; begin += SCAN_BLOCK) {
        if ((begin - first) % COPSE_POLL_ROWS == 0 && !copse_polled_goes_on(&job->polled, begin)) return;
        uint64_t end = begin + SCAN_BLOCK < last ? begin + SCAN_BLOCK : last, n = 0;
        uint32_t *rows = job->rows + begin;
        for (uint64_t i = begin; i < end; i++) {
            rows[n] = (uint32_t)i;
            n += copse_row_lives(job->table, i);
        }
        if (job->conjunction) n = copse_conjunction_filter(job->table, job->conjunction, 0, rows, n);
        job->kept[begin / SCAN_BLOCK] = (uint32_t)n;
    }
}

static copse_status scan(const copse_query *query, const copse_conjunction *conjunction, copse_row_list *out)
{
    const copse_table *table = query->table;
    copse_buffer kept = {0};
    uint64_t blocks = table->slots / SCAN_BLOCK + 1;
    copse_status status = reserve(query, out, table->slots);
    if (status == COPSE_OK) status = copse_buffer_reserve(query->ctx, &kept, blocks, sizeof(uint32_t), "a scan");
    if (status != COPSE_OK) return status;
    scan_job job = {.table = table, .conjunction = conjunction, .rows = out->memory.data, .kept = kept.data};
    uint64_t chunk = copse_even_chunk(table->slots, copse_threads_for(query->ctx, table->slots));
    chunk = (chunk + SCAN_BLOCK - 1) / SCAN_BLOCK * SCAN_BLOCK;
    status = copse_parallel_polled(&job.polled, query->ctx, "looking at rows", table->slots, chunk, scan_block, &job);
    for (uint64_t begin = 0; status == COPSE_OK && begin < table->slots; begin += SCAN_BLOCK) {
        memmove(job.rows + out->n, job.rows + begin, job.kept[begin / SCAN_BLOCK] * sizeof *job.rows);
        out->n += job.kept[begin / SCAN_BLOCK];
    }
    copse_buffer_free(query->ctx, &kept);
    return status;
}

/* ---- conjunctions ---- */

static bool is_empty(const copse_conjunction *conjunction)
{
    for (uint32_t i = 0; i < conjunction->count; i++)
        if (copse_terms(conjunction)[i].empty) return true;
    return false;
}

/* What the driver found, through the other terms. */
static copse_status filter_driven(const copse_query *query, copse_conjunction *conjunction, copse_row_list *list)
{
    uint32_t *rows = copse_row_list_rows(list);
    uint64_t kept = 0;
    conjunction->looked_at = list->n;
    if (conjunction->count == (uint32_t)__builtin_popcountll(conjunction->driving)) return COPSE_OK;
    for (uint64_t begin = 0; begin < list->n; begin += COPSE_POLL_ROWS) {
        uint64_t n = list->n - begin < COPSE_POLL_ROWS ? list->n - begin : COPSE_POLL_ROWS;
        copse_status status = copse_progress(query->ctx, "looking at rows", begin, list->n);
        if (status != COPSE_OK) return status;
        n = copse_conjunction_filter(query->table, conjunction, conjunction->driving, rows + begin, n);
        if (kept < begin) memmove(rows + kept, rows + begin, n * sizeof *rows);
        kept += n;
    }
    list->n = kept;
    return COPSE_OK;
}

static copse_status run_conjunction(const copse_query *query, copse_conjunction *conjunction, copse_row_list *out)
{
    copse_status status = COPSE_OK;
    if (is_empty(conjunction)) {
        status = reserve(query, out, 0);
    } else if (conjunction->driver) {
        status = rows_of_driver(query, conjunction, out);
        if (status == COPSE_OK) status = copse_row_list_sort(query, out);
        if (status == COPSE_OK) status = filter_driven(query, conjunction, out);
    } else {
        status = scan(query, conjunction, out);
        conjunction->looked_at = query->table->live;
    }
    conjunction->found = out->n;
    return status;
}

/* Both ascending; rows of both come once. */
static copse_status merge(const copse_query *query, copse_row_list *list, const copse_row_list *more)
{
    copse_row_list both = {0};
    copse_status status = reserve(query, &both, list->n + more->n);
    if (status != COPSE_OK) return status;
    const uint32_t *a = copse_row_list_rows(list), *b = copse_row_list_rows(more);
    uint32_t *out = copse_row_list_rows(&both);
    uint64_t i = 0, j = 0;
    while (status == COPSE_OK && (i < list->n || j < more->n)) {
        status = copse_poll(query->ctx, "merging rows", both.n, list->n + more->n);
        uint32_t left = i < list->n ? a[i] : COPSE_ROW_NONE, right = j < more->n ? b[j] : COPSE_ROW_NONE;
        out[both.n++] = left < right ? left : right;
        i += left <= right;
        j += right <= left;
    }
    copse_buffer_free(query->ctx, &list->memory);
    *list = both;
    return status;
}

copse_status copse_run_rows(copse_query *query, copse_row_list *out)
{
    if (query->conjunction_count == 0) return scan(query, NULL, out);
    copse_status status = run_conjunction(query, &copse_conjunctions(query)[0], out);
    for (uint32_t i = 1; status == COPSE_OK && i < query->conjunction_count; i++) {
        copse_row_list more = {0};
        status = run_conjunction(query, &copse_conjunctions(query)[i], &more);
        if (status == COPSE_OK) status = merge(query, out, &more);
        copse_buffer_free(query->ctx, &more.memory);
    }
    return status;
}
