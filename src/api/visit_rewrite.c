/*
 * Maps in place for trees that have none of their own. The entries come out into arrays, their values are changed there, and go back:
 *
 *   some entries, no key twice     upsert of those             all of them, or keys that repeat     build of all
 *
 * Both of these leave the index as it was where they fail, and so does this.
 */
#include "api/visit.h"
#include "core/closed_range.h"

#include <string.h>

/* Entries on their way out and in again. */
typedef struct rewrite {
    uint64_t n;            /* entries in the arrays                 */
    uint64_t first, count; /* those of them that are visited        */
    void *keys, *values;   /* keys: a copse_bytes of byte strings   */
    copse_bytes bytes;
    char *memory, *data;
    size_t memory_size, data_size;
} rewrite;

/* What trees take as the range of the pass; */
static copse_ranges range_of(const copse_index *index, const copse_pass *pass)
{
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    if (index->key_type == COPSE_BYTES) return pass->range ? *pass->range : all;
    const copse_ranges closed = COPSE_BETWEEN(pass->low, pass->high, 1);
    return closed;
}

/* Entries in front of the range. */
static copse_status count_before(const copse_index *index, const copse_pass *pass, uint64_t *out)
{
    uint64_t smallest = 0, low = 0;
    *out = 0;
    if (index->key_type == COPSE_BYTES) {
        if (!pass->range || !pass->range->lows) return COPSE_OK;
        copse_ranges before = COPSE_BETWEEN(NULL, pass->range->lows, 1);
        before.flags = pass->range->flags & COPSE_RANGE_LOW_OPEN ? 0 : COPSE_RANGE_HIGH_OPEN;
        return index->calls->count(index, &before, out);
    }
    if (!pass->low) return COPSE_OK;
    memcpy(&low, pass->low, copse_type_size(index->key_type));
    copse_close_range(index->key_type, COPSE_RANGE_HIGH_OPEN, false, true, &smallest, &low);
    const copse_ranges before = COPSE_BETWEEN(&smallest, &low, 1);
    return index->calls->count(index, &before, out);
}

static copse_status entries_count(const copse_index *index, const copse_pass *pass, rewrite *r)
{
    const copse_ranges range = range_of(index, pass);
    copse_status status = COPSE_OK;
    r->n = r->count = copse_size(index);
    if (pass->range && r->n) status = index->calls->count(index, &range, &r->count);
    if (status == COPSE_OK && r->count < r->n && index->duplicates)
        status = count_before(index, pass, &r->first);
    else
        r->n = r->count;
    return status;
}

/* All entries, or those of the range where only they go back. */
static copse_status numbers_read(const copse_index *index, const copse_pass *pass, rewrite *r)
{
    const bool whole = r->n == copse_size(index);
    copse_scan scan = {
        .from = whole ? NULL : pass->low, .to = whole ? NULL : pass->high, .keys = r->keys, .values = r->values};
    scan.most = r->n;
    copse_status status = index->calls->scan(index, &scan);
    if (status != COPSE_OK || scan.n == r->n) return status;
    return copse_fail(index->ctx, COPSE_ERR_STALE, "the index changed during a visit");
}

static copse_status bytes_read(const copse_index *index, const copse_pass *pass, rewrite *r)
{
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1), some = range_of(index, pass);
    const copse_ranges *range = r->n == copse_size(index) ? &all : &some;
    uint64_t offsets[2];
    copse_rows rows = COPSE_ROWS_INIT;
    rows.offsets = offsets;
    copse_bytes sizing = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    rows.keys = &sizing;
    copse_status status = index->calls->range(index, range, &rows);
    if (status != COPSE_OK && status != COPSE_ERR_TOO_SMALL) return status;
    r->data_size = sizing.needed + 1;
    r->data = copse_memory_alloc(index->ctx, r->data_size);
    if (!r->data) return copse_fail_memory(index->ctx, r->data_size, "the visit");
    const copse_bytes bytes = COPSE_BYTES_INIT(r->data, r->data_size, r->keys, 64);
    r->bytes = bytes;
    r->keys = rows.keys = &r->bytes;
    rows.values = r->values;
    rows.capacity = r->n;
    return index->calls->range(index, range, &rows);
}

static copse_status entries_take(const copse_index *index, const copse_pass *pass, rewrite *r)
{
    r->memory_size = copse_memory_product(r->n + 1, 2 * sizeof(uint64_t));
    r->memory = copse_memory_alloc(index->ctx, r->memory_size);
    if (!r->memory) return copse_fail_memory(index->ctx, r->memory_size, "the visit");
    r->keys = r->memory;
    r->values = r->memory + (r->n + 1) * sizeof(uint64_t);
    return index->key_type == COPSE_BYTES ? bytes_read(index, pass, r) : numbers_read(index, pass, r);
}

static copse_status entries_put(copse_index *index, const rewrite *r)
{
    uint64_t inserted = 0;
    if (r->n == copse_size(index)) return index->calls->build(index, r->keys, r->values, r->n);
    return index->calls->insert(index, r->keys, r->values, r->n, COPSE_INSERT_UPSERT, &inserted);
}

copse_status copse_visit_rewrite(copse_index *index, copse_pass *pass)
{
    rewrite r = {0};
    copse_status status = entries_count(index, pass, &r);
    pass->n = r.count;
    if (status != COPSE_OK || r.count == 0) return status;
    status = entries_take(index, pass, &r);
    if (status == COPSE_OK) {
        char *values = (char *)r.values + r.first * copse_value_width(index->value_type);
        copse_pass_loops_of(index)->map(pass, values, r.count, values);
        status = entries_put(index, &r);
    }
    copse_memory_free(index->ctx, r.data, r.data_size);
    copse_memory_free(index->ctx, r.memory, r.memory_size);
    return status;
}
