/* The radix tree: ranges and aggregates over them. A range is the leaves from one link up to another in their order; counting them
 * and adding up their lengths reads the nodes above them only. */
#include "core/aggregate.h"
#include "core/threads.h"
#include "cpu/byte_reads.h"
#include "trees/radix/cpu/tree.h"

/* Values that are added up at once. */
#define BLOCK 256u

/* The leaves of a range: a walk at the first, or descending at the last, and the link at which it ends. */
typedef struct row {
    copse_radix_walk walk;
    copse_radix_link end; /* ascending: the first leaf that is not in the range, or 0; descending: the last that is */
    bool empty;
    bool descending;
} row;

static void row_high(const copse_radix *tree, const copse_byte_ends *ends, uint64_t i, copse_radix_walk *walk)
{
    if (ends->prefix)
        copse_radix_walk_seek(walk, tree, copse_byte_key(&ends->lows, i), COPSE_RADIX_PAST_PREFIX);
    else if (ends->has_high)
        copse_radix_walk_seek(walk, tree, copse_byte_key(&ends->highs, i),
                              ends->below ? COPSE_RADIX_AT : COPSE_RADIX_AFTER);
    else
        copse_radix_walk_behind(walk, tree);
}

static void row_low(const copse_radix *tree, const copse_byte_ends *ends, uint64_t i, copse_radix_walk *walk)
{
    if (ends->has_low)
        copse_radix_walk_seek(walk, tree, copse_byte_key(&ends->lows, i),
                              ends->above ? COPSE_RADIX_AFTER : COPSE_RADIX_AT);
    else
        copse_radix_walk_first(walk, tree);
}

static void row_open(const copse_radix *tree, const copse_byte_ends *ends, uint64_t i, bool descending, row *out)
{
    out->descending = descending;
    out->empty = copse_byte_ends_cross(ends, i);
    if (out->empty) return;
    if (descending) {
        row_low(tree, ends, i, &out->walk);
        out->end = out->walk.leaf;
        row_high(tree, ends, i, &out->walk);
    } else {
        row_high(tree, ends, i, &out->walk);
        out->end = out->walk.leaf;
        row_low(tree, ends, i, &out->walk);
    }
    out->empty = out->walk.leaf == out->end;
    if (!out->empty && descending) (void)copse_radix_walk_previous(&out->walk);
}

/* The next leaf; 0: no more. */
static copse_radix_link row_next(row *from)
{
    if (from->empty) return 0;
    const copse_radix_link leaf = from->walk.leaf;
    if (from->descending) {
        from->empty = leaf == from->end;
        if (!from->empty) (void)copse_radix_walk_previous(&from->walk);
    } else {
        copse_radix_walk_next(&from->walk);
        from->empty = from->walk.leaf == from->end;
    }
    return leaf;
}

/* --- counts --------------------------------------------------------------------------------------------------------- */

typedef struct count_job {
    const copse_radix *tree;
    const copse_byte_ends *ends;
    uint64_t *counts;
} count_job;

/* Does item `at` of a pool of leaves come before a key of another type of leaf? What leaves are filled up with sorts as if it were not
 * there. */
static bool leaf_precedes(const copse_radix *tree, uint32_t type, uint64_t at, copse_slice key)
{
    const size_t room = copse_radix_key_room(type), both = room < key.length ? room : key.length;
    const int order = memcmp(copse_radix_pool_at(&tree->pools[type], at), key.start, both);
    return order ? order < 0 : room < key.length;
}

/* How many leaves of a type come before a leaf, 0: the end of all, where they lie in key order. */
static uint64_t leaves_before(const copse_radix *tree, uint32_t type, copse_radix_link leaf)
{
    uint64_t low = 0, high = tree->pools[type].used;
    if (!leaf) return high;
    if (copse_radix_type_of(leaf) == type) return copse_radix_index_of(leaf);
    const copse_slice key = copse_radix_key(tree, leaf);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (leaf_precedes(tree, type, middle, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Leaves that lie in key order are an interval of each pool; long ones have no numbers, and are walked along with all others. */
static uint64_t row_count(const copse_radix *tree, row *from)
{
    uint64_t count = 0;
    if (from->empty) return 0;
    if (tree->ordered && !tree->heap.pool.used) {
        for (uint32_t type = COPSE_RADIX_LEAF8; type < COPSE_RADIX_LEAF_LONG; type++)
            count += leaves_before(tree, type, from->end) - leaves_before(tree, type, from->walk.leaf);
        return count;
    }
    while (row_next(from)) count++;
    return count;
}

static void count_chunk(void *of, uint64_t first, uint64_t last)
{
    const count_job *job = of;
    row from;
    for (uint64_t i = first; i < last; i++) {
        row_open(job->tree, job->ends, i, false, &from);
        job->counts[i] = row_count(job->tree, &from);
    }
}

/* Threads for n ranges, each of which may be wide: more than so many lookups would get. */
static uint32_t threads_for_ranges(const copse_ctx *ctx, uint64_t n)
{
    return n < 2 ? 1 : copse_threads_for(ctx, n * 256);
}

copse_status copse_radix_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_byte_ends ends;
    copse_status status = copse_byte_ends_take(index, ranges, &ends);
    if (status != COPSE_OK) return status;
    count_job job = {index->tree, &ends, counts};
    const uint32_t threads = threads_for_ranges(index->ctx, ranges->n);
    copse_parallel(index->ctx, threads, ranges->n, copse_even_chunk(ranges->n, threads), count_chunk, &job);
    return COPSE_OK;
}

/* --- rows ----------------------------------------------------------------------------------------------------------- */

/* Puts the entries of a range from position `total` of the rows on, as far as there is room; returns how many it has. */
static uint64_t row_put(const copse_radix *tree, row *from, uint64_t limit, uint64_t total, const copse_rows *rows,
                        copse_byte_output *keys)
{
    const bool copying = rows->values || keys->offsets;
    uint64_t n = 0;
    for (copse_radix_link leaf; (!limit || n < limit) && (leaf = row_next(from)) != 0; n++) {
        if (copying && total + n < rows->capacity) {
            if (keys->offsets) copse_byte_output_put(keys, copse_radix_key(tree, leaf));
            if (rows->values)
                memcpy((char *)rows->values + (total + n) * tree->width, copse_radix_value(tree, leaf), tree->width);
            if (keys->offsets) continue;
        }
        copse_byte_output_skip(keys, copse_radix_length_of(leaf));
    }
    return n;
}

copse_status copse_radix_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    const bool descending = ranges->flags & COPSE_RANGE_DESCENDING;
    copse_byte_ends ends;
    copse_byte_output keys;
    row from;
    copse_status status = copse_byte_ends_take(index, ranges, &ends);
    if (status == COPSE_OK) status = copse_byte_output_open(index->ctx, "out_keys", rows->keys, &keys);
    if (status != COPSE_OK) return status;
    const bool copying = rows->values || keys.offsets;
    uint64_t total = 0;
    for (uint64_t i = 0; i < ranges->n; i++) {
        rows->offsets[i] = total;
        row_open(index->tree, &ends, i, descending, &from);
        total += row_put(index->tree, &from, ranges->limit, total, rows, &keys);
    }
    rows->offsets[ranges->n] = total;
    status = copse_byte_output_close(index->ctx, &keys);
    if (copying && total > rows->capacity) return copse_fail_room(index->ctx, "out_rows", rows->capacity, total);
    return status;
}

/* --- aggregates ------------------------------------------------------------------------------------------------------- */

typedef struct aggregate_job {
    const copse_index *index;
    const copse_byte_ends *ends;
    copse_aggregate_kind kind;
    void *out;
    uint8_t *found;
    uint64_t overflow; /* the first range whose sum does not fit */
} aggregate_job;

static uint64_t row_add(const copse_index *index, row *from, copse_aggregate *to)
{
    const copse_radix *tree = index->tree;
    uint64_t count = 0, block[BLOCK];
    uint32_t n = 0;
    for (copse_radix_link leaf; (leaf = row_next(from)) != 0; count++) {
        memcpy((char *)block + n++ * tree->width, copse_radix_value(tree, leaf), tree->width);
        if (n < BLOCK) continue;
        copse_aggregate_add(to, index->value_type, block, n);
        n = 0;
    }
    if (n) copse_aggregate_add(to, index->value_type, block, n);
    return count;
}

static void aggregate_chunk(void *of, uint64_t first, uint64_t last)
{
    aggregate_job *job = of;
    row from;
    for (uint64_t i = first; i < last; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        row_open(job->index->tree, job->ends, i, false, &from);
        const uint64_t count = row_add(job->index, &from, &all);
        if (!copse_aggregate_give(job->kind, job->index->value_type, &all, count, job->out, job->found, i))
            copse_note_least(&job->overflow, i);
    }
}

copse_status copse_radix_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                   void *out, uint8_t *found)
{
    copse_byte_ends ends;
    copse_status status = copse_byte_ends_take(index, ranges, &ends);
    if (status != COPSE_OK) return status;
    aggregate_job job = {index, &ends, kind, out, found, ranges->n};
    const uint32_t threads = threads_for_ranges(index->ctx, ranges->n);
    copse_parallel(index->ctx, threads, ranges->n, copse_even_chunk(ranges->n, threads), aggregate_chunk, &job);
    return job.overflow < ranges->n ? copse_fail_overflow(index->ctx, job.overflow) : COPSE_OK;
}
