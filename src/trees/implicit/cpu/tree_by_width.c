/* The implicit tree of the object's widths: its inspection and its table of operations. */
#include "trees/implicit/cpu/tree.h"
#include "trees/implicit/cpu/aggregate.h"
#include "trees/implicit/cpu/build.h"
#include "trees/implicit/cpu/read.h"
#include "trees/implicit/cpu/update.h"

static void implicit_stats(const copse_index *index, copse_stats *out)
{
    copse_implicit *tree = index->tree;
    pthread_mutex_lock(&tree->lock); /* an aggregate call may be making the summary */
    out->entries = tree->entries;
    out->aggregate_bytes = tree->summary.bytes + tree->sum_bytes;
    out->bytes = sizeof *tree + tree->unit_bytes + tree->levels.bytes + out->aggregate_bytes;
    out->height = tree->entries ? tree->levels.height + 1 : 0;
    const uint64_t slots = tree->unit_count * UNIT_ENTRIES;
    out->fill = tree->entries ? (double)tree->entries / (double)slots : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

static copse_status implicit_verify_units(const copse_index *index, const copse_implicit *tree)
{
    const copse_unit *units = tree->units;
    for (uint64_t i = 1; i < tree->entries; i++) {
        KEY before = unit_key(units, i - 1), key = unit_key(units, i);
        if (key < before || (key == before && !index->duplicates))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: entry %llu is not %s the one before it",
                              (unsigned long long)i, index->duplicates ? "at least" : "greater than");
    }
    for (uint64_t i = tree->entries; i < tree->unit_count * UNIT_ENTRIES; i++)
        if (unit_key(units, i) != KEY_MAX)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                              "implicit tree: free slot %llu of the last unit is not padded", (unsigned long long)i);
    return COPSE_OK;
}

static copse_status implicit_verify_levels(const copse_index *index, const copse_implicit *tree)
{
    const copse_levels *levels = &tree->levels;
    uint32_t separators = levels->digest ? 16 : FULL_SEPARATORS;
    uint64_t span = 1;
    for (uint32_t l = levels->height; l-- > 0; span *= separators + 1) {
        uint64_t children = l + 1 < levels->height ? levels->nodes[l + 1] : tree->unit_count;
        if (levels->nodes[l] != (children + separators) / (separators + 1))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: level %u has %llu nodes for %llu children",
                              l, (unsigned long long)levels->nodes[l], (unsigned long long)children);
        for (uint64_t c = 0; c < levels->nodes[l] * (separators + 1); c++) {
            uint32_t j = (uint32_t)(c % (separators + 1));
            const char *line = levels->level[l] + c / (separators + 1) * 64;
            if (j == separators) continue;
            KEY want = implicit_separator(tree, c, children, span);
            bool right = ((const KEY *)line)[levels->digest ? 0 : j] == want;
            if (levels->digest)
                right = ((const uint32_t *)line)[j] ==
                        (c + 1 < children ? copse_digest(want, levels->base, levels->shift) : UINT32_MAX);
            if (!right)
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                                  "implicit tree: separator %u of node %llu, level %u, is wrong", j,
                                  (unsigned long long)(c / (separators + 1)), l);
        }
    }
    return COPSE_OK;
}

static copse_status implicit_verify_aggregates(const copse_index *index, const copse_implicit *tree)
{
    copse_aggregate scanned = COPSE_AGGREGATE_EMPTY, summed = COPSE_AGGREGATE_EMPTY;
    if (!tree->has_summary) return COPSE_OK;
    implicit_scan(index, 0, tree->entries, &scanned);
    copse_summary_range(&tree->summary, 0, tree->summary.items, &summed);
    if (scanned.sum != summed.sum || scanned.smallest != summed.smallest || scanned.largest != summed.largest)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: the summary does not agree with the values");
    const copse_sum_unit *sums = tree->sum_units;
    uint64_t sum = 0;
    for (uint64_t i = 0; tree->has_sums && i < tree->entries; i++) {
        const copse_sum_unit *unit = &sums[i / UNIT_ENTRIES];
        const copse_unit *plain = (const copse_unit *)tree->units + i / UNIT_ENTRIES;
        uint32_t slot = (uint32_t)(i % UNIT_ENTRIES);
        if (unit->keys[slot] != plain->keys[slot] || unit->before[slot] != sum)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "implicit tree: the running sum at entry %llu is wrong",
                              (unsigned long long)i);
        sum += implicit_extend(index->value_type, plain->values[slot]);
    }
    return COPSE_OK;
}

static copse_status implicit_verify(const copse_index *index)
{
    copse_implicit *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    if (status == COPSE_OK) status = implicit_verify_units(index, tree);
    if (status == COPSE_OK) status = implicit_verify_levels(index, tree);
    pthread_mutex_lock(&tree->lock);
    if (status == COPSE_OK) status = implicit_verify_aggregates(index, tree);
    pthread_mutex_unlock(&tree->lock);
    return status;
}

const copse_cpu_tree NAME(copse_implicit_cpu) = {
    .create = implicit_create,
    .destroy = copse_implicit_destroy,
    .build = implicit_build,
    .insert = implicit_insert,
    .erase = implicit_erase,
    .apply = implicit_apply,
    .erase_between = implicit_erase_between,
    .find = implicit_find,
    .locate = implicit_locate,
    .rank = copse_implicit_rank,
    .select = copse_implicit_select,
    .gather = implicit_gather,
    .copy = implicit_copy,
    .fetch = implicit_fetch,
    .prepare = implicit_prepare,
    .count = implicit_count,
    .has_sum = copse_implicit_has_sum,
    .sum = implicit_sum,
    .fetch_range = implicit_fetch_range,
    .aggregate = implicit_aggregate,
    .levels = copse_implicit_levels,
    .units = copse_implicit_units,
    .size = copse_implicit_size,
    .stats = implicit_stats,
    .verify = implicit_verify,
};
