/* Template: small batches, by one block: it sorts them, plans, and carries out what needs no memory. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/pairs.h"
#include "trees/paged/patch.h"

/* Windows that the block has under way at a time; their keys take the place of the batch's. */
#define SMALL_WINDOWS 4u

/* --- the sort ------------------------------------------------------------------------------------------------------------------- */

/* Does pair x come behind pair y? Equal keys stay in the caller's order. */
SIMT_DEVICE bool pair_behind(const KEY *keys, const uint32_t *positions, uint32_t x, uint32_t y)
{
    return keys[x] > keys[y] || (keys[x] == keys[y] && positions[x] > positions[y]);
}

/* Sorts `room` pairs in shared memory, a power of two, by a network. */
SIMT_DEVICE void block_sort(KEY *keys, uint32_t *positions, uint32_t room)
{
    for (uint32_t size = 2; size <= room; size *= 2u)
        for (uint32_t stride = size / 2u; stride > 0; stride /= 2u) {
            for (uint32_t i = threadIdx.x; i < room / 2u; i += COPSE_PAGED_SMALL_THREADS) {
                const uint32_t low = i / stride * stride * 2u + i % stride, high = low + stride;
                if (pair_behind(keys, positions, low, high) != ((low & size) != 0)) {
                    const KEY key = keys[low];
                    const uint32_t position = positions[low];
                    keys[low] = keys[high];
                    positions[low] = positions[high];
                    keys[high] = key;
                    positions[high] = position;
                }
            }
            __syncthreads();
        }
}

/* Brings the keys to shared memory, encoded, and notes whether they are in order, and those that are not numbers. */
SIMT_DEVICE void block_bring(const copse_paged_small_arguments *a, KEY *keys, uint32_t *positions, uint32_t room,
                             uint32_t *falls)
{
    const KEY *from = (const KEY *)a->keys;
    if (threadIdx.x == 0) falls[0] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < room; i += COPSE_PAGED_SMALL_THREADS) {
        const bool there = i < a->update.n;
        if (there && IS_NAN(a->key_type, from[i]))
            (void)simt_atomic_max_u64(&a->update.seen->speculation.not_first_nan, ~(uint64_t)i);
        keys[i] = there ? ENCODE_ONE(a->key_type, from[i]) : KEY_MAX;
        positions[i] = i;
        if (there && i && ENCODE_ONE(a->key_type, from[i - 1u]) > keys[i]) simt_store_relaxed_u32(falls, 1u);
    }
    __syncthreads();
}

/* Puts the sorted pairs where the kernels of an update read them. */
SIMT_DEVICE void block_put(const copse_paged_small_arguments *a, const KEY *keys, const uint32_t *positions)
{
    for (uint32_t i = threadIdx.x; i < a->update.n; i += COPSE_PAGED_SMALL_THREADS) {
        ((KEY *)a->sorted_keys)[i] = keys[i];
        if (!a->sorted_values) continue;
        ((VALUE *)a->sorted_values)[i] = a->values ? ((const VALUE *)a->values)[positions[i]]
                                                   : position_value(a->update.tree.value_type, positions[i]);
    }
    if (threadIdx.x != 0) return;
    a->update.seen->speculation.smallest = keys[0];
    a->update.seen->speculation.largest = keys[a->update.n - 1u];
}

/* --- the plan ------------------------------------------------------------------------------------------------------------------- */

/* Sums of values of the threads in front of this one; `warps` is shared, one for each warp. */
SIMT_DEVICE uint64_t block_before(uint64_t value, uint64_t *warps)
{
    uint64_t sum = value;
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint64_t left = simt_shfl_up_u64(SIMT_FULL_MASK, sum, step);
        if (simt_lane() >= step) sum += left;
    }
    if (simt_lane() == SIMT_WARP - 1u) warps[simt_warp()] = sum;
    __syncthreads();
    uint64_t before = sum - value;
    for (uint32_t w = 0; w < simt_warp(); w++) before += warps[w];
    __syncthreads();
    return before;
}

/* Replaces n numbers by the sums of those in front of each. */
SIMT_DEVICE void block_sums(uint64_t *numbers, uint32_t n, uint64_t *warps)
{
    const uint32_t each = (n + COPSE_PAGED_SMALL_THREADS - 1u) / COPSE_PAGED_SMALL_THREADS, first = threadIdx.x * each;
    uint64_t sum = 0;
    for (uint32_t i = first; i < first + each && i < n; i++) sum += numbers[i];
    sum = block_before(sum, warps);
    for (uint32_t i = first; i < first + each && i < n; i++) {
        const uint64_t own = numbers[i];
        numbers[i] = sum;
        sum += own;
    }
    __syncthreads();
}

/* All of the plan; `warps` is shared. */
SIMT_DEVICE void block_plan(const copse_paged_update_arguments *a, uint64_t *warps)
{
    bool replaced = false;
    planned sums = planned_none();
    for (uint32_t j = threadIdx.x; j <= a->n; j += COPSE_PAGED_SMALL_THREADS)
        a->scan[j] = j < a->n ? element_locate(a, j, &replaced) : 0;
    if (replaced) simt_store_relaxed_u64(&a->seen->replaced, 1u);
    __syncthreads();
    block_sums(a->scan, a->n + 1u, warps);
    for (uint32_t j = threadIdx.x; j <= a->n; j += COPSE_PAGED_SMALL_THREADS) run_note(a, j);
    __syncthreads();
    for (uint32_t x = threadIdx.x; x <= a->runs_most; x += COPSE_PAGED_SMALL_THREADS)
        a->run_scan[x] = run_plan(a, x, &sums);
    planned_report(a->seen, sums);
    __syncthreads();
    block_sums(a->run_scan, a->runs_most + 1u, warps);
}

/* Is there memory for the plan? An update that leaves no entry is one for the host. */
SIMT_DEVICE bool plan_refused(const copse_paged_update_arguments *a)
{
    const copse_paged_seen *seen = a->seen;
    const int64_t comes = (int32_t)high_half(seen->last), rows = (int64_t)a->tree.rows + (int64_t)seen->shift;
    return seen->speculation.not_first_nan || (int64_t)a->tree.entries + comes == 0 || seen->taken > a->stack_top ||
           (seen->taken + seen->freed > 0 && rows > (int64_t)a->new_room);
}

/* Carries out a plan that changes no rows. */
SIMT_DEVICE void block_carry_out(const copse_paged_update_arguments *a, KEY *keys, VALUE *values)
{
    for (uint32_t j = threadIdx.x; j < a->n; j += COPSE_PAGED_SMALL_THREADS) element_replace(a, j);
    __syncthreads();
    for (uint32_t from = simt_warp() * SIMT_WARP; from < a->n; from += COPSE_PAGED_SMALL_THREADS)
        patch_elements(a, from);
    __syncthreads();
    const uint32_t runs = low_half(a->seen->last);
    for (uint32_t x = simt_warp(); simt_warp() < SMALL_WINDOWS && x < runs; x += SMALL_WINDOWS)
        finish_runs(a, x, 1, runs, keys + simt_warp() * WINDOW_SLOTS, values + simt_warp() * WINDOW_SLOTS);
    __syncthreads();
}

SIMT_KERNEL(NAME(small), copse_paged_small_arguments, COPSE_PAGED_SMALL_THREADS, 1)
{
    SIMT_SHARED(KEY, keys, COPSE_PAGED_SMALL);
    SIMT_SHARED(uint32_t, positions, COPSE_PAGED_SMALL);
    SIMT_SHARED(VALUE, values, SMALL_WINDOWS * WINDOW_SLOTS);
    SIMT_SHARED(uint64_t, warps, COPSE_PAGED_SMALL_THREADS / SIMT_WARP);
    SIMT_SHARED(uint32_t, falls, 1);
    const copse_paged_update_arguments *u = &a.update;
    uint32_t room = 1;
    while (room < u->n) room *= 2u;
    for (uint32_t i = threadIdx.x; i < sizeof *u->seen / 8u; i += COPSE_PAGED_SMALL_THREADS)
        ((uint64_t *)u->seen)[i] = 0;
    __syncthreads();
    block_bring(&a, keys, positions, room, falls);
    if (falls[0]) block_sort(keys, positions, room);
    block_put(&a, keys, positions);
    __syncthreads();
    block_plan(u, warps);
    if (threadIdx.x == 0) {
        u->seen->speculation.ascending = falls[0] == 0;
        u->seen->refused = plan_refused(u);
    }
    __syncthreads();
    const bool whole = u->n <= COPSE_PAGED_TINY && !u->seen->refused && u->seen->items == 0 && u->seen->taken == 0 &&
                       u->seen->freed == 0;
    __syncthreads(); /* all have read what the first thread is about to write */
    if (whole) block_carry_out(u, keys, values);
    if (threadIdx.x != 0) return;
    if (u->n <= COPSE_PAGED_TINY) u->seen->refused = !whole;
    u->seen->done = whole;
    *a.delivered = *u->seen;
}
