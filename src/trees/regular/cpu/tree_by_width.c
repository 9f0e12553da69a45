/* The regular tree of the object's widths: its inspection and its table of operations. */
#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/aggregate.h"
#include "trees/regular/cpu/build.h"
#include "trees/regular/cpu/erase_between.h"
#include "trees/regular/cpu/read.h"
#include "trees/regular/cpu/table.h"
#include "trees/regular/cpu/update.h"

#include <string.h>

static void regular_stats(const copse_index *index, copse_stats *out)
{
    copse_regular *tree = index->tree;
    pthread_mutex_lock(&tree->lock); /* an aggregate call may be making the summary */
    out->entries = tree->entries;
    out->aggregate_bytes = tree->summary.bytes;
    out->bytes = sizeof *tree + tree->table.bytes + tree->pool.bytes + out->aggregate_bytes;
    out->height = tree->entries ? tree->table.levels.height + 2 : 0;
    const uint64_t slots = tree->leaves * LEAF_CAPACITY;
    out->fill = tree->entries ? (double)tree->entries / (double)slots : 0.0;
    pthread_mutex_unlock(&tree->lock);
}

static copse_status verify_leaf(const copse_index *index, const copse_leaf_table *table, uint64_t slot)
{
    const copse_unit *units = leaf_units(table->leaf[slot]);
    uint32_t n = table->count[slot];
    unsigned long long at = slot;
    if (n == 0 || n > LEAF_CAPACITY)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu has %u entries", at, n);
    for (uint32_t i = 1; i < n; i++) {
        KEY before = unit_key(units, i - 1), key = unit_key(units, i);
        if (key < before || (key == before && !index->duplicates))
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: entry %u of leaf %llu is out of order", i,
                              at);
    }
    for (uint32_t i = n; i < LEAF_CAPACITY; i++)
        if (unit_key(units, i) != KEY_MAX)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: free place %u of leaf %llu is not padded",
                              i, at);
    if (unit_key(units, n - 1) > table_fence(table)[slot])
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu goes beyond its fence", at);
    _Alignas(64) char copy[COPSE_LEAF_BYTES];
    memcpy(copy, table->leaf[slot], sizeof copy);
    leaf_seal(copy, n);
    if (memcmp(copy, table->leaf[slot], 64) != 0)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the head of leaf %llu does not fit its units",
                          at);
    return COPSE_OK;
}

/* Order between leaves, fences, and that used slots come first in their group. */
static copse_status verify_slots(const copse_index *index, const copse_regular *tree)
{
    const copse_leaf_table *table = &tree->table;
    const KEY *fence = table_fence(table);
    uint64_t leaves = 0, entries = 0, last = table->slots;
    for (uint64_t s = 0; s < table->slots; s++) {
        unsigned long long at = s;
        if (!table->leaf[s]) {
            if (s == 0 || table->count[s] || fence[s] != fence[s - 1])
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: free slot %llu is wrong", at);
            continue;
        }
        if (s % FANOUT && !table->leaf[s - 1])
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: slot %llu stands behind a free one", at);
        copse_status status = verify_leaf(index, table, s);
        if (status != COPSE_OK) return status;
        KEY first = table_first_key(table, s);
        if (last < table->slots) {
            /* With duplicates a leaf may begin with the key that the one before ends with, not merely its fence. */
            bool shared = index->duplicates && first == leaf_last_key(table->leaf[last], table->count[last]);
            if (fence[s] < fence[last] || (first <= fence[last] && !shared))
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: leaf %llu overlaps the one before", at);
        }
        last = s;
        leaves++;
        entries += table->count[s];
    }
    if (leaves != tree->leaves || entries != tree->entries || leaves != tree->pool.used)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                          "regular tree: %llu leaves and %llu entries, but %llu and %llu are kept",
                          (unsigned long long)leaves, (unsigned long long)entries, (unsigned long long)tree->leaves,
                          (unsigned long long)tree->entries);
    if (fence[last] != KEY_MAX)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the last leaf's fence is not the maximum");
    return COPSE_OK;
}

static copse_status verify_levels(const copse_index *index, const copse_regular *tree)
{
    const copse_leaf_table *table = &tree->table;
    const KEY *fence = table_fence(table);
    uint64_t span = 1;
    for (uint32_t l = table->levels.height; l-- > 0; span *= FANOUT)
        for (uint64_t i = 0; i < table->levels.nodes[l] * (FANOUT - 1); i++) {
            uint64_t end = (i / (FANOUT - 1) * FANOUT + i % (FANOUT - 1) + 1) * span;
            if (((const KEY *)table->levels.level[l])[i] != fence[(end < table->slots ? end : table->slots) - 1])
                return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: separator %llu of level %u is wrong",
                                  (unsigned long long)i, l);
        }
    for (uint64_t g = 0; g < table->groups; g++) {
        uint64_t sum = 0;
        for (uint64_t j = 0; j < FANOUT; j++) sum += table->count[g * FANOUT + j];
        if (sum != table->below[0][g])
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the count of group %llu is wrong",
                              (unsigned long long)g);
    }
    if (regular_rank_one(tree, (table->slots - 1) << COPSE_LOCATION_SHIFT) + table->count[table->slots - 1] !=
        tree->entries)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the counts do not add up");
    return COPSE_OK;
}

static copse_status verify_summary(const copse_index *index, const copse_regular *tree)
{
    copse_aggregate scanned = COPSE_AGGREGATE_EMPTY, summed = COPSE_AGGREGATE_EMPTY;
    if (!tree->has_summary) return COPSE_OK;
    for (uint64_t s = 0; s < tree->table.slots; s++) regular_scan(index, s, 0, LEAF_CAPACITY, &scanned);
    copse_summary_range(&tree->summary, 0, tree->summary.items, &summed);
    if (scanned.sum != summed.sum || scanned.smallest != summed.smallest || scanned.largest != summed.largest)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "regular tree: the summary does not agree with the values");
    return COPSE_OK;
}

static copse_status regular_verify(const copse_index *index)
{
    copse_regular *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    if (status != COPSE_OK || tree->entries == 0) return status;
    status = verify_slots(index, tree);
    if (status == COPSE_OK) status = verify_levels(index, tree);
    pthread_mutex_lock(&tree->lock);
    if (status == COPSE_OK) status = verify_summary(index, tree);
    pthread_mutex_unlock(&tree->lock);
    return status;
}

const copse_cpu_tree NAME(copse_regular_cpu) = {
    .create = copse_regular_create,
    .destroy = copse_regular_destroy,
    .build = regular_build,
    .insert = regular_insert,
    .erase = regular_erase,
    .apply = regular_apply,
    .erase_between = regular_erase_between,
    .find = regular_find,
    .locate = regular_locate,
    .rank = regular_rank,
    .select = regular_select,
    .gather = regular_gather,
    .copy = regular_copy,
    .fetch = regular_fetch,
    .prepare = regular_prepare,
    .fetch_block = regular_fetch_block,
    .aggregate = regular_aggregate,
    .levels = copse_regular_levels,
    .size = copse_regular_size,
    .stats = regular_stats,
    .verify = regular_verify,
};
