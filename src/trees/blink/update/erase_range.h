/*
 * Template: erasing by ranges, where the entries are. No key is listed, sorted or looked up:
 *
 *   erase_bounds    finds the anchors of each range, a thread to a range; an anchor that two ranges share is the first one's
 *   (a scan)
 *   erase_anchors   a group of lanes takes an anchor and shifts what stays to the front of its leaves. A leaf without entries costs a look
 */
#pragma once

#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/locate.h"
#include "trees/blink/update/unsorted.h"

/* The anchor where a key belongs: the first of several where it repeats. */
SIMT_DEVICE uint32_t erase_anchor_of(const copse_blink_tree *tree, KEY key)
{
    return cursor_seek(tree, base_leaf_of(tree, key), key, NULL).base_leaf;
}

/* The last anchor that may hold a key. */
SIMT_DEVICE uint32_t erase_last_of(const copse_blink_tree *tree, KEY key)
{
    return key == KEY_MAX ? tree_anchors(tree) - 1u : erase_anchor_of(tree, (KEY)(key + 1u));
}

SIMT_KERNEL(NAME(erase_bounds), copse_erase_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *lows = (const KEY *)a.lows, *highs = (const KEY *)a.highs;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= a.n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint32_t first = 0, end = 0;
        if (i < a.n) {
            const uint32_t taken = i > 0 ? erase_last_of(&a.tree, highs[i - 1u]) + 1u : 0;
            first = erase_anchor_of(&a.tree, lows[i]);
            end = erase_last_of(&a.tree, highs[i]) + 1u;
            first = first < taken ? taken : first;
            a.firsts[i] = first;
        }
        a.anchors[i] = end > first ? end - first : 0;
    }
}

/* Of sorted keys from..n - 1, the first that is not less than key. */
SIMT_DEVICE uint64_t erase_seek(const KEY *keys, uint64_t from, uint64_t n, KEY key)
{
    while (from < n) {
        const uint64_t middle = from + (n - from) / 2u;
        if (keys[middle] < key)
            from = middle + 1u;
        else
            n = middle;
    }
    return from;
}

/* The range to which item i of all their anchors belongs. */
SIMT_DEVICE uint64_t erase_range_of(const copse_erase_arguments *a, uint64_t i)
{
    uint64_t low = 0, high = a->n; /* anchors[low] <= i < anchors[high] */
    while (high - low > 1u) {
        const uint64_t middle = low + (high - low) / 2u;
        if (a->anchors[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Takes the entries of range r and of those behind it out of a leaf: groups with `go`. Returns how many. All lanes come here. */
SIMT_DEVICE uint32_t erase_leaf(const copse_erase_arguments *a, uint32_t number, uint64_t r, bool go)
{
    const uint32_t lane = held_lane();
    held_leaf held = {.number = number};
    held_load(&a->tree, &held);
    bool gone = false;
    if (go && lane < held.count) {
        const uint64_t at = erase_seek((const KEY *)a->highs, r, a->n, held.key);
        gone = at < a->n && ((const KEY *)a->lows)[at] <= held.key;
    }
    const uint32_t going = held_ballot(gone), count = held.count - (uint32_t)__popc(going);
    if (!__any_sync(SIMT_FULL_MASK, going != 0)) return 0;
    uint32_t left = ((1u << held.count) - 1u) & ~going; /* without those of the lanes in front */
    for (uint32_t i = 0; i < lane; i++) left &= left - 1u;
    const uint32_t from = left ? (uint32_t)__ffs((int)left) - 1u : lane;
    const KEY key = held_pick_key(held.key, from);
    const VALUE value = COPSE_BITS(simt_shfl_u, VALUE_BITS)(SIMT_FULL_MASK, held.value, simt_lane() - lane + from);
    held_replace(&a->tree, a->shared, &held, left ? key : KEY_MAX, left ? value : 0, held.next, held.high, count,
                 going != 0);
    return (uint32_t)__popc(going);
}

SIMT_KERNEL(NAME(erase_anchors), copse_erase_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t groups = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / LEAF_LANES), all = a.anchors[a.n];
    uint64_t first = ((uint64_t)blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x - simt_lane()) / LEAF_LANES;
    uint32_t went = 0;
    for (; first < all; first += groups) {
        const uint64_t item = first + simt_lane() / LEAF_LANES;
        const uint64_t r = item < all ? erase_range_of(&a, item) : 0;
        const uint32_t anchor = item < all ? a.firsts[r] + (uint32_t)(item - a.anchors[r]) : 0;
        leaf_cursor cursor = cursor_at(&a.tree, anchor);
        uint32_t own = 0;
        for (bool open = item < all; __any_sync(SIMT_FULL_MASK, open); open = open && cursor_step(&a.tree, &cursor))
            own += erase_leaf(&a, cursor.number, r, open);
        if (held_lane() != 0 || own == 0) continue;
        went += own;
        base_leaf_touch(a.touched, anchor);
    }
    update_count(a.counters, 0, went);
}
