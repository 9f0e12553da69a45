/* Template: kernels that fill the units of the implicit tree, and what its updates need. */
#pragma once

#include "core/levels.h"
#include "gpu/kernel.h"
#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "trees/implicit/gpu/kernels.h"
#include "trees/implicit/gpu/units.h"

/* Word `word` of the 16 that unit `unit` consists of. */
SIMT_DEVICE uint32_t fill_word(const copse_unit_arguments *a, uint64_t unit, uint32_t word)
{
    const bool is_value = word * 4u >= UNIT_VALUES;
    const uint32_t bytes = is_value ? VALUE_BITS / 8u : KEY_BITS / 8u;
    const uint32_t slot = (word * 4u - (is_value ? UNIT_VALUES : 0u)) / bytes;
    const uint64_t at = unit * UNIT_SLOTS + slot;
    uint64_t content = is_value ? 0 : UINT64_MAX; /* free slots: largest key, no value */
    if (slot >= UNIT_SLOTS) return 0;             /* between the keys and the values, or behind them */
    if (at < a->pairs.n) content = is_value ? (uint64_t)pair_value(&a->pairs, at) : (uint64_t)pair_key(&a->pairs, at);
    return (uint32_t)(content >> (bytes == 8u && word % 2u == 1u ? 32 : 0));
}

/* What the levels are made of: the digest of a unit's last key, or the key itself where it has 32 bits. */
SIMT_DEVICE void fill_last(const copse_unit_arguments *a, uint64_t unit, KEY key)
{
#if KEY_BITS == 64
    a->last[unit] = copse_digest(key, a->tree.levels.base, a->tree.levels.shift);
#else
    a->last[unit] = key;
#endif
}

/* Piece i, 16 bytes, of the units, word by word. */
SIMT_DEVICE void fill_piece(const copse_unit_arguments *a, uint64_t i)
{
    uint32_t *to = (uint32_t *)(a->tree.unit + i * 16u);
    const uint32_t first = (uint32_t)(i % 4u) * 4u;
    const uint64_t last = i / 4u * UNIT_SLOTS + UNIT_SLOTS - 1u;
    SIMT_UNROLL
    for (uint32_t w = 0; w < 4u; w++) to[w] = fill_word(a, i / 4u, first + w);
    if (i % 4u == 0) fill_last(a, i / 4u, last < a->pairs.n ? pair_key(&a->pairs, last) : KEY_MAX);
}

#if KEY_BITS == VALUE_BITS
/* The same where a piece is 16 bytes of one of the arrays as they are. */
SIMT_DEVICE void fill_whole_piece(const copse_unit_arguments *a, uint64_t i)
{
    const uint32_t quarter = (uint32_t)(i % 4u);
    const uint64_t at = i / 4u * UNIT_SLOTS + (quarter & 1u) * PIECE_KEYS;
    simt_u32x4 v = simt_load16_once((const KEY *)(quarter >= 2u ? a->pairs.values : a->pairs.keys) + at);
    *(simt_u32x4 *)(a->tree.unit + i * 16u) = v;
    if (quarter == 1u) fill_last(a, i / 4u, piece_key(v, PIECE_KEYS - 1u));
}
#endif

/* Pairs in order into units: one thread per 16 bytes, so that all writes of a warp are one run. */
SIMT_KERNEL(NAME(fill), copse_unit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t pieces = (uint64_t)a.tree.units * 4u;
#if KEY_BITS == VALUE_BITS
    const bool plain = a.pairs.values && a.pairs.key_type == (KEY_BITS == 64 ? COPSE_U64 : COPSE_U32) &&
                       ((uintptr_t)a.pairs.keys | (uintptr_t)a.pairs.values) % 16u == 0;
    const uint64_t whole = plain ? a.pairs.n / UNIT_SLOTS * 4u : 0; /* pieces of full units */
#endif
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pieces;
         i += (uint64_t)gridDim.x * blockDim.x) {
#if KEY_BITS == VALUE_BITS
        if (i < whole) {
            fill_whole_piece(&a, i);
            continue;
        }
#endif
        fill_piece(&a, i);
    }
}

/* Of a tile a warp looks at this many rows of 32 pairs at once, so that their loads are under way together. */
#define KEPT_ROWS 4u

/* Keys first .. first + 32 * KEPT_ROWS, a row after the other, and which of them stay where of equal keys only the last
 * one does: those that differ from the one behind. */
SIMT_DEVICE void kept_rows(const copse_unit_arguments *a, uint64_t first, KEY *keys, bool *stays)
{
    const uint32_t lane = simt_lane();
    const uint64_t end = first + KEPT_ROWS * SIMT_WARP;
    SIMT_UNROLL
    for (uint32_t r = 0; r < KEPT_ROWS; r++) {
        uint64_t i = first + r * SIMT_WARP + lane;
        keys[r] = i < a->pairs.n ? pair_key(&a->pairs, i) : 0;
    }
    KEY behind_all = end < a->pairs.n ? pair_key(&a->pairs, end) : 0;
    SIMT_UNROLL
    for (uint32_t r = 0; r < KEPT_ROWS; r++) {
        const uint64_t i = first + r * SIMT_WARP + lane;
        KEY behind = COPSE_BITS(simt_shfl_down_u, KEY_BITS)(SIMT_FULL_MASK, keys[r], 1);
        KEY next_row = r + 1u < KEPT_ROWS
                           ? COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, keys[(r + 1u) % KEPT_ROWS], 0)
                           : behind_all;
        if (lane == SIMT_WARP - 1u) behind = next_row;
        stays[r] = i < a->pairs.n && (i + 1u == a->pairs.n || keys[r] != behind);
    }
}

/* How many pairs of each tile stay: a warp per tile. */
SIMT_KERNEL(NAME(count_kept), copse_unit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint64_t tiles = (a.pairs.n + COPSE_KEPT_TILE - 1u) / COPSE_KEPT_TILE;
    for (uint64_t t = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); t < tiles; t += warps) {
        uint32_t kept = 0;
        for (uint32_t from = 0; from < COPSE_KEPT_TILE; from += KEPT_ROWS * SIMT_WARP) {
            KEY keys[KEPT_ROWS];
            bool stays[KEPT_ROWS];
            kept_rows(&a, t * COPSE_KEPT_TILE + from, keys, stays);
            SIMT_UNROLL
            for (uint32_t r = 0; r < KEPT_ROWS; r++) kept += (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, stays[r]));
        }
        if (simt_lane() == 0) a.tiles[t] = kept;
    }
}

/* Stores the entry with that rank. */
SIMT_DEVICE void fill_entry(const copse_unit_arguments *a, uint64_t rank, KEY key, VALUE value)
{
    char *unit = a->tree.unit + rank / UNIT_SLOTS * 64u;
    const uint32_t slot = (uint32_t)(rank % UNIT_SLOTS);
    ((KEY *)unit)[slot] = key;
    ((VALUE *)(unit + UNIT_VALUES))[slot] = value;
    if (slot == UNIT_SLOTS - 1u) fill_last(a, rank / UNIT_SLOTS, key);
}

/* Fills the units with the pairs that stay: a warp per tile, which knows how many stay in front of it. */
SIMT_KERNEL(NAME(fill_kept), copse_unit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint64_t tiles = (a.pairs.n + COPSE_KEPT_TILE - 1u) / COPSE_KEPT_TILE;
    const uint64_t own = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    for (uint64_t t = own; t < tiles; t += warps) {
        uint64_t rank = a.tiles[t];
        for (uint32_t from = 0; from < COPSE_KEPT_TILE; from += KEPT_ROWS * SIMT_WARP) {
            KEY keys[KEPT_ROWS];
            VALUE values[KEPT_ROWS];
            bool stays[KEPT_ROWS];
            const uint64_t first = t * COPSE_KEPT_TILE + from;
            kept_rows(&a, first, keys, stays);
            SIMT_UNROLL
            for (uint32_t r = 0; r < KEPT_ROWS; r++)
                values[r] = stays[r] ? pair_value(&a.pairs, first + r * SIMT_WARP + simt_lane()) : 0;
            SIMT_UNROLL
            for (uint32_t r = 0; r < KEPT_ROWS; r++) {
                const uint32_t all = __ballot_sync(SIMT_FULL_MASK, stays[r]);
                const uint32_t in_front = all & ((1u << simt_lane()) - 1u);
                if (stays[r]) fill_entry(&a, rank + (uint64_t)__popc(in_front), keys[r], values[r]);
                rank += (uint64_t)__popc(all);
            }
        }
    }
    const uint64_t free_slot = a.tree.entries + simt_lane();
    if (own == 0 && free_slot < (uint64_t)a.tree.units * UNIT_SLOTS) fill_entry(&a, free_slot, KEY_MAX, 0);
}

/* Marks what stays when a sorted batch of keys is erased. */
SIMT_KERNEL(NAME(erase), copse_mark_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.tree.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY key = unit_key(&a.tree, i);
        uint64_t low = 0, high = a.n;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2u;
            if (keys[middle] < key)
                low = middle + 1u;
            else
                high = middle;
        }
        a.keep[i] = !(low < a.n && keys[low] == key);
    }
}

/* Marks the keys of a sorted batch that the tree does not have. */
SIMT_KERNEL(NAME(absent), copse_mark_arguments, COPSE_KERNEL_THREADS, 8)
{
    const bool digest = a.tree.levels.digest != 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        walk_bound bound = walk_start(&a.tree.levels, digest, ((const KEY *)a.keys)[i]);
        uint64_t rank = rank_alone(&a.tree, digest, bound, false);
        a.keep[i] = !(rank < a.tree.entries && unit_key(&a.tree, rank) == bound.q);
    }
}
