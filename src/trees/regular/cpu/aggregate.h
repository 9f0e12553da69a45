/* Aggregates of the regular tree: a summary with one item per slot. */
#pragma once

#include "trees/regular/cpu/table.h"
#include "core/aggregate.h"
#include "core/threads.h"

static void regular_make_summary(const copse_index *index, copse_regular *tree)
{
    if (!copse_summary_create(index->ctx, tree->table.slots, &tree->summary)) return;
    uint32_t threads = copse_threads_for(index->ctx, tree->entries);
    regular_summarize_all(index, tree, 0, tree->table.slots - 1, threads);
    tree->has_summary = true;
}

/* Readers may come at the same time: the first makes it, the others wait; afterwards the flag alone is read. */
static void regular_prepare(const copse_index *index, bool sums)
{
    copse_regular *tree = index->tree;
    (void)sums;
    if (atomic_load_explicit(&tree->summary_tried, memory_order_acquire)) return;
    pthread_mutex_lock(&tree->lock);
    if (!atomic_load_explicit(&tree->summary_tried, memory_order_relaxed)) {
        regular_make_summary(index, tree);
        atomic_store_explicit(&tree->summary_tried, true, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
}

/* Adds positions from .. to of a leaf. */
static void regular_scan(const copse_index *index, uint64_t slot, uint32_t from, uint32_t to, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    if (to > tree->table.count[slot]) to = tree->table.count[slot];
    const copse_unit *units = from < to ? leaf_units(tree->table.leaf[slot]) : NULL;
    while (from < to) {
        uint32_t slot_in_unit = from % UNIT_ENTRIES;
        uint32_t n = to - from < UNIT_ENTRIES - slot_in_unit ? to - from : UNIT_ENTRIES - slot_in_unit;
        copse_aggregate_add(all, index->value_type, units[from / UNIT_ENTRIES].values + slot_in_unit, n);
        from += n;
    }
}

static void regular_aggregate(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate *all)
{
    const copse_regular *tree = index->tree;
    const uint32_t mask = (1u << COPSE_LOCATION_SHIFT) - 1;
    uint64_t first = location >> COPSE_LOCATION_SHIFT, last = end >> COPSE_LOCATION_SHIFT;
    if (first >= tree->table.slots) return;
    if (first == last) {
        regular_scan(index, first, (uint32_t)(location & mask), (uint32_t)(end & mask), all);
        return;
    }
    regular_scan(index, first, (uint32_t)(location & mask), LEAF_CAPACITY, all);
    if (tree->has_summary)
        copse_summary_range(&tree->summary, first + 1, last, all);
    else
        for (uint64_t s = first + 1; s < last; s++) regular_scan(index, s, 0, LEAF_CAPACITY, all);
    if (last < tree->table.slots) regular_scan(index, last, 0, (uint32_t)(end & mask), all);
}

static void regular_fetch_block(const copse_index *index, uint64_t location)
{
    const copse_leaf_table *table = &((const copse_regular *)index->tree)->table;
    uint64_t slot = location >> COPSE_LOCATION_SHIFT;
    if (slot >= table->slots || !table->leaf[slot]) return;
    for (uint32_t u = 0; u < COPSE_LEAF_UNITS; u++) __builtin_prefetch(leaf_units(table->leaf[slot]) + u, 0, 2);
}
