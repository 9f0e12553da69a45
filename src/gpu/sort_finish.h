/*
 * Template: the end of a sort that looked at the upper bits of the keys only. Keys that share those, a run, still are in the
 * caller's order; here a warp sorts each run, and the kernel notes everything that shows a misprediction.
 *
 * A warp looks at 32 keys at a time: one in front of those that it takes care of, these, and some behind them, for runs that
 * begin with the last of these. Each run belongs to the warp that takes care of its first key, and no other warp writes to it.
 * Others look at it meanwhile, but only at its upper bits, which do not change.
 */
#pragma once

#include "gpu/kernel.h"

/* Keys that a warp takes care of at a time. More of them, and more runs reach beyond the 32, which is slow. */
#define SORT_FINISH_OWN 26u
/* The longest run that one thread puts in order where a warp cannot see all of it. */
#define SORT_FINISH_LONGEST_RUN 24u

#define SORT_FINISH_LOAD    COPSE_BITS(simt_load_relaxed_u, KEY_BITS)
#define SORT_FINISH_STORE   COPSE_BITS(simt_store_relaxed_u, KEY_BITS)
#define SORT_FINISH_SHFL_UP COPSE_BITS(simt_shfl_up_u, KEY_BITS)

SIMT_DEVICE void sort_finish_wrong(copse_pairs_speculation *speculation)
{
    simt_store_relaxed_u64(&speculation->wrong, 1u);
}

/* The pair that ends up at position `at`: is it the first or the last of all? */
SIMT_DEVICE void sort_finish_ends(const copse_sort_finish_arguments *a, uint64_t at, KEY key)
{
    if (at == 0) a->speculation->smallest = key;
    if (at == a->n - 1u) a->speculation->largest = key;
}

/* Puts pairs first .. end in order, equal keys in the order in which they are. */
SIMT_DEVICE void sort_finish_insert(KEY *keys, VALUE *values, uint64_t first, uint64_t end)
{
    for (uint64_t i = first + 1u; i < end; i++) {
        const KEY key = keys[i];
        const VALUE value = values[i];
        uint64_t to = i;
        for (; to > first && keys[to - 1u] > key; to--) {
            SORT_FINISH_STORE(&keys[to], keys[to - 1u]);
            values[to] = values[to - 1u];
        }
        if (to == i) continue;
        SORT_FINISH_STORE(&keys[to], key);
        values[to] = value;
    }
}

/* A run from position i on that reaches position `end` - 1 and perhaps further: one thread does it all. */
SIMT_DEVICE void sort_finish_alone(const copse_sort_finish_arguments *a, uint64_t i, uint64_t end, KEY key)
{
    KEY *keys = (KEY *)a->keys;
    while (end < a->n && end - i <= SORT_FINISH_LONGEST_RUN && (SORT_FINISH_LOAD(&keys[end]) ^ key) >> a->first == 0)
        end++;
    if (end - i > SORT_FINISH_LONGEST_RUN) {
        sort_finish_wrong(a->speculation);
        return;
    }
    sort_finish_insert(keys, (VALUE *)a->values, i, end);
    sort_finish_ends(a, end - 1u, keys[end - 1u]); /* one from the first pair on would have been too long */
}

/* How far the key of this lane has to move; joins: lanes whose key belongs to the same run as that of the lane before. */
SIMT_DEVICE int32_t sort_finish_move(KEY key, uint32_t joins)
{
    const uint32_t lane = simt_lane();
    int32_t move = 0;
    uint32_t reach = joins; /* lanes that are in the same run as the one at `distance` in front of them */
    for (uint32_t distance = 1; reach; distance++) {
        const KEY other = SORT_FINISH_SHFL_UP(SIMT_FULL_MASK, key, distance);
        const uint32_t passes = __ballot_sync(SIMT_FULL_MASK, (reach >> lane & 1u) && other > key);
        move += (int32_t)(passes >> distance >> lane & 1u) - (int32_t)(passes >> lane & 1u);
        reach &= joins << distance;
    }
    return move;
}

/* The position that a lane looks at in window w; that of lane 0 of the first window is a huge number. */
SIMT_DEVICE uint64_t sort_finish_position(uint64_t w)
{
    return w * SORT_FINISH_OWN + simt_lane() - 1u;
}

SIMT_DEVICE KEY sort_finish_load(const copse_sort_finish_arguments *a, uint64_t w)
{
    const uint64_t i = sort_finish_position(w);
    return i < a->n ? SORT_FINISH_LOAD((const KEY *)a->keys + i) : 0;
}

SIMT_DEVICE void sort_finish_window(const copse_sort_finish_arguments *a, uint64_t w, KEY key)
{
    const uint32_t lane = simt_lane();
    const uint64_t i = sort_finish_position(w), n = a->n, behind = (w * SORT_FINISH_OWN) + SIMT_WARP - 1u;
    const bool there = i < n;
    const KEY before = SORT_FINISH_SHFL_UP(SIMT_FULL_MASK, key, 1);
    const bool joined = a->first && lane > 0 && there && i > 0 && (key ^ before) >> a->first == 0;
    const uint32_t joins = __ballot_sync(SIMT_FULL_MASK, joined);
    const uint32_t head =
        31u - (uint32_t)__clz((int)(~joins & (SIMT_FULL_MASK >> (31u - lane)))); /* of this lane's run */
    const uint32_t open = 31u - (uint32_t)__clz((int)~joins); /* of the last lane's: its end is not to be seen */
    const bool own = there && head > 0 && head <= SORT_FINISH_OWN;
    if (own && open == lane) sort_finish_alone(a, i, behind, key);
    const uint32_t near = __ballot_sync(SIMT_FULL_MASK, joined && own && head != open);
    const int32_t move = sort_finish_move(key, near);
    const uint64_t to = i + (uint64_t)(int64_t)move;
    if (near) { /* the lanes read all of it before one writes */
        const VALUE value = move ? ((const VALUE *)a->values)[i] : 0;
        __syncwarp(SIMT_FULL_MASK);
        if (move) {
            SORT_FINISH_STORE((KEY *)a->keys + to, key);
            ((VALUE *)a->values)[to] = value;
        }
    }
    if (own && head != open) sort_finish_ends(a, to, key);
}

/* Do the first keys of the batch, as it came, look sorted? Said for the next batch: this one has been sorted already. */
SIMT_DEVICE void sort_finish_sample(const copse_sort_finish_arguments *a)
{
    if (!a->input || a->n < SIMT_WARP || blockIdx.x != 0 || simt_warp() != 0) return;
    const KEY key = ((const KEY *)a->input)[simt_lane()], before = SORT_FINISH_SHFL_UP(SIMT_FULL_MASK, key, 1);
    const bool rises = __all_sync(SIMT_FULL_MASK, before <= key);
    if (rises && simt_lane() == 0) a->speculation->ascending = 1u;
}

SIMT_KERNEL(NAME(sort_finish), copse_sort_finish_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const KEY low = (KEY)a.low, mask = (KEY)a.mask;
    const bool mine = simt_lane() > 0 && simt_lane() <= SORT_FINISH_OWN;
    uint64_t w = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    bool outside = false;
    sort_finish_sample(&a);
    if (a.first == 0 && mask == 0) { /* sorted by all bits that keys have */
        if (blockIdx.x == 0 && threadIdx.x == 0) a.speculation->smallest = ((const KEY *)a.keys)[0];
        if (blockIdx.x == 0 && threadIdx.x == 0) a.speculation->largest = ((const KEY *)a.keys)[a.n - 1u];
        return;
    }
    KEY next = sort_finish_load(&a, w);
    for (; w * SORT_FINISH_OWN < a.n; w += warps) {
        const KEY key = next;
        next = sort_finish_load(&a, w + warps); /* under way while the warp works on this one */
        outside |= mine && sort_finish_position(w) < a.n && ((key ^ low) & mask) != 0;
        sort_finish_window(&a, w, key);
    }
    if (outside) sort_finish_wrong(a.speculation);
}
