/*
 * Template: kernels that write every entry, old or new, to its rank in the leaves of a new epoch. They serve trees and
 * batches that rebuild/tile.h does not: many operations on few base leaves, and erasures in a tree with duplicates.
 */
#pragma once

#include "core/levels.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/locate.h"

/* Writes all of a leaf but its entries and `high`. */
SIMT_DEVICE void packed_head(const copse_blink_tree *tree, uint64_t leaf, uint32_t size)
{
    char *to = base_leaf_at(tree, leaf);
    *(uint32_t *)(to + LEAF_STATE) = size;
    *(uint32_t *)(to + LEAF_NEXT) =
        tree->branches || leaf + 1u >= tree->base_leaves ? COPSE_LEAF_NONE : (uint32_t)leaf + 1u;
    for (uint32_t slot = size; slot < LEAF_SLOTS; slot++) {
        ((KEY *)to)[slot] = KEY_MAX;
        ((VALUE *)(to + LEAF_VALUES))[slot] = 0;
    }
#if KEY_BITS == 32 && VALUE_BITS == 32
    *(uint32_t *)(to + LEAF_HIGH + 4u) = 0;
#elif KEY_BITS == 32
    *(uint64_t *)(to + LEAF_HIGH + 4u) = 0;
#elif VALUE_BITS == 32
    *(uint32_t *)(to + COPSE_LEAF_BYTES - 4u) = 0;
#endif
}

SIMT_DEVICE void packed_high(const copse_rebuild_arguments *a, uint64_t leaf, KEY key)
{
    const KEY high = leaf + 1u == a->to.base_leaves ? KEY_MAX : key;
    *(KEY *)(base_leaf_at(&a->to, leaf) + LEAF_HIGH) = high;
#if KEY_BITS == 64
    a->last[leaf] = copse_digest(high, a->to.levels.base, a->to.levels.shift);
#else
    a->last[leaf] = high;
#endif
}

/* Writes entry `rank` of the new epoch. */
SIMT_DEVICE void packed_store(const copse_rebuild_arguments *a, uint64_t rank, KEY key, VALUE value)
{
    const uint64_t two = rank / LEAF_PACKED_TWO;
    const uint32_t in_two = (uint32_t)(rank % LEAF_PACKED_TWO), half = LEAF_PACKED_TWO / 2u;
    const uint64_t leaf = two * 2u + (in_two >= half ? 1u : 0);
    const uint32_t slot = in_two >= half ? in_two - half : in_two, size = packed_size(&a->to, leaf);
    char *to = base_leaf_at(&a->to, leaf);
    ((KEY *)to)[slot] = key;
    ((VALUE *)(to + LEAF_VALUES))[slot] = value;
    if (slot == 0) packed_head(&a->to, leaf, size);
    if (slot + 1u == size) packed_high(a, leaf, key);
}

/* First of the operations first .. end with a key >= key. */
SIMT_DEVICE uint64_t operation_seek(const copse_blink_operations *operations, uint64_t first, uint64_t end, KEY key)
{
    const KEY *keys = (const KEY *)operations->keys;
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2u;
        if (keys[middle] < key)
            first = middle + 1u;
        else
            end = middle;
    }
    return first;
}

/* The operation that counts for `key`, or n. `at` is the first one with a key >= key. */
SIMT_DEVICE uint64_t operation_for(const copse_blink_operations *operations, uint64_t at, uint64_t end, KEY key)
{
    const KEY *keys = (const KEY *)operations->keys;
    if (at >= end || keys[at] != key) return operations->n;
    if (operations->last_wins != 1u || at + 1u >= end || keys[at + 1u] != key) return at;
    return (key == KEY_MAX ? end : operation_seek(operations, at, end, (KEY)(key + 1u))) - 1u;
}

/* First operation of a base leaf or of one behind it. */
SIMT_DEVICE uint32_t base_leaf_start(const copse_rebuild_arguments *a, uint32_t base_leaf)
{
    uint64_t low = 0, high = a->operations.n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2u;
        if (a->base_leaves[middle] < base_leaf)
            low = middle + 1u;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* Does the batch erase keys of which each may lie in several base leaves? */
SIMT_DEVICE bool rebuild_erases_equals(const copse_rebuild_arguments *a)
{
    return !a->from.unique && a->operations.n && a->operations.action == COPSE_ACTION_ERASE;
}

/* Entries of a base leaf whose keys no operation erases, where equal keys may lie in several base leaves. */
SIMT_DEVICE uint64_t base_leaf_survivors(const copse_rebuild_arguments *a, uint32_t base_leaf)
{
    leaf_cursor cursor = cursor_at(&a->from, base_leaf);
    const uint64_t n = a->operations.n;
    uint64_t survivors = 0;
    do {
        const uint32_t count = leaf_state(cursor.leaf) & COPSE_LEAF_COUNT;
        for (uint32_t slot = 0; slot < count; slot++) {
            const KEY key = leaf_key(cursor.leaf, slot);
            const uint64_t at = operation_seek(&a->operations, 0, n, key);
            survivors += operation_for(&a->operations, at, n, key) == n;
        }
    } while (cursor_step(&a->from, &cursor));
    return survivors;
}

/* Counts what each base leaf of the old epoch contributes, with the operations that belong to it: a thread per base
 * leaf. */
SIMT_KERNEL(NAME(rebuild_count), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= tree_anchors(&a.from);
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t base_leaf = (uint32_t)i;
        if (a.operations.n) a.starts[base_leaf] = base_leaf_start(&a, base_leaf);
        if (base_leaf == tree_anchors(&a.from)) {
            a.before[base_leaf] = 0;
        } else if (rebuild_erases_equals(&a)) {
            a.before[base_leaf] = base_leaf_survivors(&a, base_leaf);
        } else {
            uint64_t entries = base_leaf_entries(&a.from, base_leaf);
            if (a.operations.n) {
                const uint64_t start = a.starts[base_leaf];
                const bool any = start < a.operations.n && a.base_leaves[start] == base_leaf;
                const uint64_t end = any ? run_end(a.base_leaves, a.operations.n, start) : start;
                const uint64_t effect = a.effects[end] - a.effects[start];
                entries += (uint64_t)(uint32_t)effect - (effect >> 32);
            }
            a.before[base_leaf] = entries;
        }
    }
}

/* What becomes of one old entry: its rank in the new epoch, and its value there. */
typedef struct old_entry {
    bool stays;
    uint64_t inserted; /* new entries of its base leaf in front of it */
    VALUE value;
} old_entry;

SIMT_DEVICE old_entry old_entry_of(const copse_rebuild_arguments *a, uint64_t start, uint64_t end, KEY key, VALUE value)
{
    old_entry entry;
    entry.stays = true;
    entry.inserted = 0;
    entry.value = value;
    if (start == end) return entry;
    const uint64_t at = operation_seek(&a->operations, start, end, key);
    if (a->effects && !rebuild_erases_equals(a))
        entry.inserted = (uint64_t)(uint32_t)(a->effects[at] - a->effects[start]);
    if (!a->from.unique && a->operations.action != COPSE_ACTION_ERASE) return entry; /* equal keys all stay */
    const uint64_t mine = operation_for(&a->operations, at, end, key);
    if (mine == a->operations.n) return entry;
    const copse_action action = operation_action(&a->operations, mine);
    entry.stays = action != COPSE_ACTION_ERASE;
    if (action == COPSE_ACTION_UPSERT) entry.value = operation_value(&a->operations, mine);
    return entry;
}

/* Moves the entries of one base leaf: LEAF_LANES lanes, an entry of a leaf each. `any` is false where there is no such
 * base leaf. */
SIMT_DEVICE void rebuild_base_leaf(const copse_rebuild_arguments *a, uint32_t base_leaf, bool any)
{
    const uint32_t lane = simt_lane() & (LEAF_LANES - 1u), base = simt_lane() & ~(LEAF_LANES - 1u);
    const uint32_t below = (1u << lane) - 1u, group = LEAF_LANES == 32u ? SIMT_FULL_MASK : (1u << LEAF_LANES) - 1u;
    uint64_t start = 0, end = 0, rank = any ? a->before[base_leaf] : 0;
    if (any && a->operations.n) {
        const bool all = rebuild_erases_equals(a);
        start = all ? 0 : a->starts[base_leaf];
        end = all ? a->operations.n : a->starts[base_leaf + 1u];
    }
    leaf_cursor cursor = cursor_at(&a->from, any ? base_leaf : 0);
    for (bool open = any; __any_sync(SIMT_FULL_MASK, open);) {
        const uint32_t count = open ? leaf_state(cursor.leaf) & COPSE_LEAF_COUNT : 0;
        old_entry entry;
        KEY key = 0;
        entry.stays = false;
        entry.inserted = 0;
        entry.value = 0;
        if (lane < count) {
            key = leaf_key(cursor.leaf, lane);
            entry = old_entry_of(a, start, end, key, leaf_value(cursor.leaf, lane));
        }
        const uint32_t staying = __ballot_sync(SIMT_FULL_MASK, entry.stays) >> base & group;
        if (entry.stays) packed_store(a, rank + (uint64_t)__popc(staying & below) + entry.inserted, key, entry.value);
        rank += (uint64_t)__popc(staying);
        if (open) open = cursor_step(&a->from, &cursor);
    }
}

SIMT_KERNEL(NAME(rebuild_old), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t groups = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / LEAF_LANES);
    const uint64_t warp_first = ((uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x - simt_lane()) / LEAF_LANES;
    for (uint64_t first = warp_first; first < tree_anchors(&a.from); first += groups) {
        const uint64_t base_leaf = first + simt_lane() / LEAF_LANES;
        rebuild_base_leaf(&a, (uint32_t)base_leaf, base_leaf < tree_anchors(&a.from));
    }
}

/* Moves the entries that operations insert. */
SIMT_KERNEL(NAME(rebuild_new), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.operations.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.operations.n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        if ((uint32_t)(a.effects[i + 1u] - a.effects[i]) == 0) continue;
        const uint32_t base_leaf = a.base_leaves[i];
        const uint64_t effect = a.effects[i] - a.effects[a.starts[base_leaf]];
        const uint64_t rank = a.before[base_leaf] + a.offsets[i] + (uint64_t)(uint32_t)effect - (effect >> 32);
        packed_store(&a, rank, keys[i], operation_value(&a.operations, i));
    }
}
