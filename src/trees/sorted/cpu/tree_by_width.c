/* The sorted array on the CPU, for one pair of widths: what the driver (cpu/driver.h) asks of a tree, and nothing more. */
#include "cpu/array_merge.h"
#include "cpu/driver.h"
#include "trees/sorted/layout.h"

/* Keys are encoded this many at a time into a buffer on the stack. */
#define BLOCK 256u

static entry_array entries_of(const copse_sorted *tree)
{
    return (entry_array){tree->keys, tree->values, tree->entries};
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

static copse_status sorted_create(copse_index *index)
{
    copse_sorted *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the sorted array");
    *tree = (copse_sorted){0};
    index->tree = tree;
    return COPSE_OK;
}

static void sorted_destroy(copse_index *index)
{
    copse_sorted *tree = index->tree;
    copse_memory_free(index->ctx, tree->keys, tree->bytes);
    copse_memory_free(index->ctx, tree, sizeof *tree);
}

/* --- change --------------------------------------------------------------------------------------------------------- */

/* An array with room for n entries, and nothing in it yet. False: no memory. */
static bool sorted_allocate(const copse_ctx *ctx, uint64_t n, copse_sorted *out)
{
    *out = (copse_sorted){.entries = n};
    if (n == 0) return true;
    out->bytes = copse_memory_product(n + 1, sizeof(KEY) + sizeof(VALUE)); /* one more: values begin on 8 bytes */
    out->keys = copse_memory_alloc(ctx, out->bytes);
    if (!out->keys) return false;
    out->values = (char *)out->keys + (n * sizeof(KEY) + 7) / 8 * 8;
    return true;
}

static void sorted_replace(copse_index *index, const copse_sorted *by)
{
    copse_sorted *tree = index->tree;
    copse_memory_free(index->ctx, tree->keys, tree->bytes);
    *tree = *by;
}

static copse_status sorted_build(copse_index *index, const copse_batch *batch)
{
    const uint64_t n = batch->n;
    copse_sorted made;
    if (!sorted_allocate(index->ctx, n, &made)) return copse_fail_memory(index->ctx, made.bytes, "the sorted array");
    for (uint64_t at = 0; at < n; at += BLOCK)
        copse_batch_read(batch, at, n - at < BLOCK ? (uint32_t)(n - at) : BLOCK, (KEY *)made.keys + at,
                         (VALUE *)made.values + at);
    sorted_replace(index, &made);
    return COPSE_OK;
}

/* Merges twice: to count, and then, into a block of just that size, to write. */
static copse_status sorted_update(copse_index *index, const copse_batch *batch, array_action action)
{
    const entry_array old = entries_of(index->tree);
    array_output count = {0};
    copse_sorted made;
    array_merge(&old, batch, action, &count);
    if (!sorted_allocate(index->ctx, count.n, &made))
        return copse_fail_memory(index->ctx, made.bytes, "the sorted array");
    array_output to = {.keys = made.keys, .values = made.values};
    if (count.n) array_merge(&old, batch, action, &to);
    sorted_replace(index, &made);
    return COPSE_OK;
}

static copse_status sorted_insert(copse_index *index, const copse_batch *pairs, uint32_t flags, uint64_t *out_inserted)
{
    const uint64_t before = ((const copse_sorted *)index->tree)->entries;
    const array_action action = flags & COPSE_INSERT_IF_ABSENT ? ARRAY_ABSENT
                                : index->duplicates            ? ARRAY_APPEND
                                                               : ARRAY_UPSERT;
    copse_status status = sorted_update(index, pairs, action);
    if (status == COPSE_OK) *out_inserted = ((const copse_sorted *)index->tree)->entries - before;
    return status;
}

static copse_status sorted_erase(copse_index *index, const copse_batch *pairs, uint64_t *out_erased)
{
    const uint64_t before = ((const copse_sorted *)index->tree)->entries;
    copse_status status = sorted_update(index, pairs, ARRAY_ERASE);
    if (status == COPSE_OK) *out_erased = before - ((const copse_sorted *)index->tree)->entries;
    return status;
}

static copse_status sorted_apply(copse_index *index, const copse_batch *pairs)
{
    return sorted_update(index, pairs, ARRAY_UPSERT);
}

/* Copies what stays between the stretches. */
static copse_status sorted_erase_between(copse_index *index, const copse_stretch *stretches, uint64_t n,
                                         uint64_t erased)
{
    const entry_array old = entries_of(index->tree);
    copse_sorted made;
    if (!sorted_allocate(index->ctx, old.entries - erased, &made))
        return copse_fail_memory(index->ctx, made.bytes, "the sorted array");
    array_output to = {.keys = made.keys, .values = made.values};
    uint64_t at = 0; /* of the old entries, all in front are done */
    for (uint64_t i = 0; i < n; i++) {
        array_keep(&to, &old, at, stretches[i].first);
        at = stretches[i].end;
    }
    array_keep(&to, &old, at, old.entries);
    sorted_replace(index, &made);
    return COPSE_OK;
}

/* --- read ----------------------------------------------------------------------------------------------------------- */

static uint64_t sorted_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                              uint64_t *locations)
{
    const entry_array all = entries_of(index->tree);
    KEY block[BLOCK];
    for (uint64_t at = 0; at < n; at += BLOCK) {
        const uint32_t count = (uint32_t)(n - at < BLOCK ? n - at : BLOCK);
        const uint32_t good = ENCODE(index->key_type, keys, first + at, count, block);
        for (uint32_t i = 0; i < good; i++) locations[at + i] = array_bound(&all, 0, block[i], upper);
        if (good < count) return at + good; /* a NaN */
    }
    return n;
}

static uint64_t sorted_find(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                            uint8_t *found)
{
    const copse_sorted *tree = index->tree;
    const entry_array all = entries_of(tree);
    KEY block[BLOCK];
    for (uint64_t at = 0; at < n; at += BLOCK) {
        const uint32_t count = (uint32_t)(n - at < BLOCK ? n - at : BLOCK);
        const uint32_t good = ENCODE(index->key_type, keys, first + at, count, block);
        for (uint32_t i = 0; i < good; i++) {
            const uint64_t location = array_bound(&all, 0, block[i], false);
            const bool there = location < tree->entries && ((const KEY *)tree->keys)[location] == block[i];
            if (found) found[first + at + i] = there;
            if (values) ((VALUE *)values)[first + at + i] = there ? ((const VALUE *)tree->values)[location] : 0;
        }
        if (good < count) return at + good; /* a NaN */
    }
    return n;
}

/* A location is a rank. */
static void sorted_rank(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks)
{
    (void)index;
    if (locations != ranks) memcpy(ranks, locations, n * sizeof *ranks);
}

static uint64_t sorted_select(const copse_index *index, uint64_t rank)
{
    (void)index;
    return rank;
}

static void sorted_copy(const copse_index *index, uint64_t location, uint64_t count, uint64_t at, void *keys,
                        void *values)
{
    const copse_sorted *tree = index->tree;
    for (uint64_t i = 0; keys && i < count; i++)
        DECODE(index->key_type, ((const KEY *)tree->keys)[location + i], keys, at + i);
    if (values) memcpy((VALUE *)values + at, (const VALUE *)tree->values + location, count * sizeof(VALUE));
}

static const void *sorted_values(const copse_index *index, uint64_t location, uint64_t *count)
{
    const copse_sorted *tree = index->tree;
    if (*count > tree->entries - location) *count = tree->entries - location;
    return (const VALUE *)tree->values + location;
}

static void sorted_gather(const copse_index *index, const uint64_t *locations, uint64_t first, uint64_t n, bool before,
                          void *keys, void *values, uint8_t *found)
{
    const copse_sorted *tree = index->tree;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t location = locations[i] - before; /* wraps to a huge number in front of the first entry */
        const bool there = location < tree->entries;
        if (found) found[first + i] = there;
        if (there) {
            sorted_copy(index, location, 1, first + i, keys, values);
        } else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void sorted_aggregate(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind,
                             copse_aggregate *out)
{
    (void)kind;
    const VALUE *values = ((const copse_sorted *)index->tree)->values;
    for (uint64_t at = location; at < end; at += BLOCK)
        copse_aggregate_add(out, index->value_type, values + at, (uint32_t)(end - at < BLOCK ? end - at : BLOCK));
}

/* --- inspect -------------------------------------------------------------------------------------------------------- */

static uint64_t sorted_size(const copse_index *index)
{
    return ((const copse_sorted *)index->tree)->entries;
}

static void sorted_stats(const copse_index *index, copse_stats *out)
{
    const copse_sorted *tree = index->tree;
    out->entries = tree->entries;
    out->bytes = sizeof *tree + tree->bytes;
    out->height = tree->entries ? 1 : 0;
    out->fill = tree->entries ? 1.0 : 0.0;
}

static copse_status sorted_verify(const copse_index *index)
{
    const copse_sorted *tree = index->tree;
    const KEY *keys = tree->keys;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    for (uint64_t i = 1; status == COPSE_OK && i < tree->entries; i++)
        if (keys[i] < keys[i - 1] || (keys[i] == keys[i - 1] && !index->duplicates))
            status = copse_fail(index->ctx, COPSE_ERR_CORRUPT, "sorted array: entry %llu is not %s the one before it",
                                (unsigned long long)i, index->duplicates ? "at least" : "greater than");
    return status;
}

const copse_cpu_tree NAME(copse_sorted_cpu) = {
    .create = sorted_create,
    .destroy = sorted_destroy,
    .build = sorted_build,
    .insert = sorted_insert,
    .erase = sorted_erase,
    .apply = sorted_apply,
    .erase_between = sorted_erase_between,
    .find = sorted_find,
    .locate = sorted_locate,
    .rank = sorted_rank,
    .select = sorted_select,
    .gather = sorted_gather,
    .copy = sorted_copy,
    .values = sorted_values,
    .aggregate = sorted_aggregate,
    .size = sorted_size,
    .stats = sorted_stats,
    .verify = sorted_verify,
};
