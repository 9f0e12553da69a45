/* The regular tree of the object's widths: its table of operations, with the reads. */
#include "trees/regular/cpu/copies.h"
#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/aggregate.h"
#include "trees/regular/cpu/operations.h"
#include "trees/regular/cpu/read.h"

static copse_status regular_create(copse_index *index)
{
    copse_regular *tree = NULL;
    copse_status status = copse_regular_make(index->ctx, sizeof(leaf_page), sizeof(page_values), &tree);
    index->tree = tree;
    return status;
}

static void regular_stats(const copse_index *index, copse_stats *out)
{
    copse_regular *tree = index->tree;
    pthread_mutex_lock(&tree->lock); /* an aggregate call may be making the summary */
    out->entries = tree->entries;
    out->aggregate_bytes = tree->value_pool.bytes + tree->values.bytes;
    out->bytes = sizeof *tree + tree->table.bytes + tree->next.bytes + tree->pool.bytes + tree->page_pool.bytes +
                 out->aggregate_bytes;
    out->height = tree->entries ? tree->table.levels.height + 4 : 0;
    const uint64_t slots = tree->leaves * LEAF_CAPACITY;
    out->fill = tree->entries ? (double)tree->entries / (double)slots : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

const copse_cpu_tree NAME(copse_regular_cpu) = {
    .create = regular_create,
    .destroy = copse_regular_destroy,
    .build = NAME(copse_regular_build),
    .insert = NAME(copse_regular_insert),
    .erase = NAME(copse_regular_erase),
    .apply = NAME(copse_regular_apply),
    .erase_between = NAME(copse_regular_erase_between),
    .find = regular_find,
    .locate = regular_locate,
    .rank = regular_rank,
    .between = regular_between,
    .select = regular_select,
    .gather = regular_gather,
    .copy = regular_copy,
    .fetch = regular_fetch,
    .prepare = regular_prepare,
    .has_sum_wide = regular_has_sum_wide,
    .sum_wide = regular_sum_wide,
    .has_extremes = regular_has_extremes,
    .extremes = regular_extremes,
    .fetch_early = regular_fetch_early,
    .fetch_range = regular_fetch_range,
    .aggregate = regular_aggregate,
    .levels = copse_regular_levels,
    .copies = &regular_copies,
    .size = copse_regular_size,
    .stats = regular_stats,
    .verify = NAME(copse_regular_verify),
};
