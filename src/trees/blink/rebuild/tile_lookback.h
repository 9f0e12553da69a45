/* Template: tiles (rebuild/tile.h) that find their rank by decoupled look-back, and the kernels that move them. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/pairs.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_operations.h"
#include "trees/blink/rebuild/tile_rows.h"
#include "trees/blink/rebuild/tile_store.h"

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Looks back: the sum of the words in front of word t, back to the first that is a sum itself; each lane reads `each`
 * of them at a time, at most LOOK_MOST. A reader needs nothing but the word itself, so relaxed accesses do. */
SIMT_DEVICE uint64_t tile_look_back(const uint64_t *words, uint32_t t, uint32_t each)
{
    const uint32_t lane = simt_lane();
    uint64_t sum = 0;
    for (bool found = false; !found;) {
        uint64_t word[LOOK_MOST];
        SIMT_UNROLL
        for (uint32_t k = 0; k < each; k++)
            word[k] =
                k * SIMT_WARP + lane < t ? simt_load_relaxed_u64(&words[t - 1u - k * SIMT_WARP - lane]) : WORD_SUMMED;
        SIMT_UNROLL
        for (uint32_t k = 0; k < each; k++) {
            const uint32_t sums = __ballot_sync(SIMT_FULL_MASK, word[k] >= WORD_SUMMED);
            const uint32_t none = __ballot_sync(SIMT_FULL_MASK, word[k] == 0);
            const uint32_t wanted = sums ^ (sums - 1u); /* the lanes up to the first sum, or all */
            if (none & wanted) {
                simt_yield();
                break;
            }
            sum += wanted >> lane & 1u ? word[k] & WORD_VALUE : 0;
            found = sums != 0;
            if (found) break;
            t -= SIMT_WARP;
        }
    }
    return warp_sum(sum);
}

/* Publishes how many entries tile t has. */
SIMT_DEVICE void tile_publish(const copse_rebuild_arguments *a, uint32_t t, uint32_t count)
{
    if (simt_lane() == 0) simt_store_relaxed_u64(&a->words[t], WORD_COUNTED | count);
}

/* Finds how many entries there are in front of tile t, which has published its own count, and publishes the sum. */
SIMT_DEVICE uint64_t tile_rank(const copse_rebuild_arguments *a, uint32_t t, uint32_t count)
{
    const uint64_t rank = tile_look_back(a->words, t, 1u);
    if (simt_lane() == 0) {
        simt_store_relaxed_u64(&a->words[t], WORD_SUMMED | (rank + count));
        if (t + 1u == a->tiles) a->totals->entries = rank + count;
    }
    return rank;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* The next tile, in lane 0. */
SIMT_DEVICE uint32_t tile_ticket(const copse_rebuild_arguments *a)
{
    return simt_lane() == 0 ? simt_atomic_add_u32(&a->totals->ticket, 1u) : 0;
}

/* Moves tile t, with all lanes. Returns the ticket for the next one, which it takes when this tile waits for nothing
 * any more, so that the ticket arrives while the tile is stored. */
SIMT_DEVICE uint32_t tile_move_one(const copse_rebuild_arguments *a, leaf_tile *tile, uint32_t t, tile_work *work)
{
    uint32_t next = 0;
    uint64_t rank = 0;
    const tile_sizes none = {0, 0, 0, 0, 0, 0, 0, 0};
    tile_sizes sizes = none;
    for (uint32_t skip = 0; skip == 0 || sizes.behind; skip += COPSE_TILE_LEAVES) {
        sizes = none;
        if (!tile_make(a, tile, t, skip, &sizes)) {
            tiles_stop(a);
            sizes = none; /* tiles behind may be waiting for a number */
        }
        const uint32_t count = sizes.entries + sizes.came - sizes.went, all = sizes.behind ? sizes.all : count;
        if (skip == 0) tile_publish(a, t, all);
        if (count) tile_merge(tile, &sizes, true);
        if (skip == 0) {
            rank = tile_rank(a, t, all);
            next = tile_ticket(a);
        }
        if (count) tile_store(a, tile, rank, count);
        rank += count;
        work_add(work, &sizes);
        __syncwarp(SIMT_FULL_MASK);
    }
    return next;
}

/* Stops the work at once where some tile has too many operations: the last one has them where keys come in order. Each warp looks at
 * its share of the tiles. */
SIMT_DEVICE void tiles_look_ahead(const copse_rebuild_arguments *a)
{
    const uint32_t stride = gridDim.x * COPSE_KERNEL_THREADS;
    bool fits = true;
    for (uint32_t t = blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x; t < a->tiles && a->operations.n; t += stride)
        fits = fits && a->starts[t + 1u] - a->starts[t] <= TILE_OPERATIONS;
    if (!__all_sync(SIMT_FULL_MASK, fits)) tiles_stop(a);
}

SIMT_KERNEL(NAME(tile_lookback), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 6)
{
    SIMT_SHARED(leaf_tile, tiles, TILE_WARPS);
    tile_work work = {0, 0, 0};
    tiles_look_ahead(&a);
    for (uint32_t t = tile_ticket(&a);;) {
        t = simt_shfl_u32(SIMT_FULL_MASK, t, 0);
        if (t >= a.tiles) break;
        t = tile_move_one(&a, &tiles[simt_warp()], t, &work);
        __syncwarp(SIMT_FULL_MASK);
    }
    work_publish(&a, &work);
}

/* Tiles store every leaf as if another followed. One warp closes the last leaf of a tree that has entries. */
SIMT_KERNEL(NAME(tile_finish), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 1)
{
    if (blockIdx.x != 0 || threadIdx.x >= SIMT_WARP) return;
    const uint32_t lane = simt_lane(), leaf = a.to.base_leaves - 1u, size = packed_size(&a.to, leaf);
    const row_role role = row_role_of(lane);
    const bool entry = role.words && !role.high && role.slot < size;
    if (!entry) row_store(&a.to, leaf, lane, &role, size, 0);
    if (lane == 0) row_high(&a, leaf, KEY_MAX);
}
