/* Template: a warp stores the entries of a tile (rebuild/tile.h) as leaves of the new epoch. */
#pragma once

#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"

#define EVEN (LEAF_PACKED_TWO / 2u)
#define ODD  (LEAF_PACKED_TWO - EVEN)

/* How a lane stores its words of two leaves, of which the first has an even number. Neither is treated as the last of
 * the tree. */
typedef struct tile_writer {
    uint32_t even_at, odd_at; /* which of the LEAF_PACKED_TWO entries its words go with: its own or the leaf's first */
    bool even_own, odd_own;   /* are they words of that entry? */
    bool is_next;             /* are they the numbers of the leaves that follow? */
    uint32_t even_else, odd_else; /* what else they are */
    uint32_t words;
    const uint32_t *own; /* its word of the tile's first entry */
} tile_writer;

SIMT_DEVICE tile_writer tile_writer_of(const copse_rebuild_arguments *a, leaf_tile *tile)
{
    const uint32_t lane = simt_lane();
    const row_role role = row_role_of(lane);
    const uint32_t even_slot = row_slot(&role, EVEN), odd_slot = row_slot(&role, ODD);
    const bool state = lane == LEAF_STATE / 4u, next = lane == LEAF_NEXT / 4u;
    tile_writer writer;
    writer.even_own = even_slot < EVEN;
    writer.odd_own = odd_slot < ODD;
    writer.even_at = writer.even_own ? even_slot : 0;
    writer.odd_at = EVEN + (writer.odd_own ? odd_slot : 0);
    writer.is_next = next && !a->to.branches;
    writer.even_else = state ? EVEN : next ? COPSE_LEAF_NONE : role.filler;
    writer.odd_else = state ? ODD : next ? COPSE_LEAF_NONE : role.filler;
    writer.words = ROLE_WORDS(&role);
    writer.own = tile_own(tile, &role);
    return writer;
}

/* Two leaves at an end of the tile: what belongs to it, which is entries 0 .. count - 1. `first` is the position of the
 * first entry of the two, and may be in front of the tile: it is counted modulo 2^32. */
SIMT_DEVICE void tile_store_end(const tile_writer *writer, uint32_t *to, uint32_t leaf, uint32_t first, uint32_t count)
{
    const uint32_t even = first + writer->even_at, odd = first + writer->odd_at;
    uint32_t x = writer->is_next ? leaf + 1u : writer->even_else, y = writer->is_next ? leaf + 2u : writer->odd_else;
    if (writer->even_own && even < count) x = writer->own[even * writer->words];
    if (writer->odd_own && odd < count) y = writer->own[odd * writer->words];
    if (even < count) to[0] = x;
    if (odd < count) to[COPSE_LEAF_BYTES / 4u] = y;
}

/* Whole leaves, TILE_TWOS times two, n times over. */
SIMT_DEVICE void tile_store_whole(const tile_writer *writer, uint32_t *to, uint32_t leaf, uint32_t first, uint32_t n)
{
    const uint32_t words = writer->words;
    const uint32_t *even = writer->own + (first + writer->even_at) * words;
    const uint32_t *odd = writer->own + (first + writer->odd_at) * words;
    uint32_t x[TILE_TWOS], y[TILE_TWOS];
    SIMT_UNROLL
    for (uint32_t i = 0; i < TILE_TWOS; i++) {
        x[i] = writer->is_next ? leaf + 2u * i + 1u : writer->even_else;
        y[i] = writer->is_next ? leaf + 2u * i + 2u : writer->odd_else;
    }
    for (; n > 0; n--) {
        SIMT_UNROLL
        for (uint32_t i = 0; i < TILE_TWOS; i++) {
            if (writer->even_own) x[i] = even[i * LEAF_PACKED_TWO * words];
            if (writer->odd_own) y[i] = odd[i * LEAF_PACKED_TWO * words];
        }
        SIMT_UNROLL
        for (uint32_t i = 0; i < TILE_TWOS; i++) {
            to[i * (COPSE_LEAF_BYTES / 2u)] = x[i];
            to[i * (COPSE_LEAF_BYTES / 2u) + COPSE_LEAF_BYTES / 4u] = y[i];
            if (writer->is_next) x[i] += 2u * TILE_TWOS;
            if (writer->is_next) y[i] += 2u * TILE_TWOS;
        }
        to += TILE_TWOS * (COPSE_LEAF_BYTES / 2u);
        even += TILE_TWOS * LEAF_PACKED_TWO * words;
        odd += TILE_TWOS * LEAF_PACKED_TWO * words;
    }
}

/* Stores n times two contiguous leaves, which have an entry of the tile each. */
SIMT_DEVICE void tile_store_some(const copse_rebuild_arguments *a, const tile_writer *writer, uint32_t leaf,
                                 uint32_t first, uint32_t count, uint32_t n)
{
    uint32_t *to = (uint32_t *)base_leaf_at(&a->to, leaf) + simt_lane();
    if (first >= count) { /* it begins in front of the tile */
        tile_store_end(writer, to, leaf, first, count);
        to += COPSE_LEAF_BYTES / 2u;
        leaf += 2u;
        first += LEAF_PACKED_TWO;
        n--;
    }
    const uint32_t whole = n && first < count ? (count - first) / LEAF_PACKED_TWO : 0;
    const uint32_t times = (whole < n ? whole : n) / TILE_TWOS, stored = times * TILE_TWOS;
    tile_store_whole(writer, to, leaf, first, times);
    to += stored * (COPSE_LEAF_BYTES / 2u);
    leaf += 2u * stored;
    first += stored * LEAF_PACKED_TWO;
    for (n -= stored; n > 0; n--) {
        tile_store_end(writer, to, leaf, first, count);
        to += COPSE_LEAF_BYTES / 2u;
        leaf += 2u;
        first += LEAF_PACKED_TWO;
    }
}

/* Stores the leaves of the new epoch that have an entry of the tile, `count` entries from `rank` on. */
SIMT_DEVICE void tile_store(const copse_rebuild_arguments *a, leaf_tile *tile, uint64_t rank, uint32_t count)
{
    const tile_writer writer = tile_writer_of(a, tile);
    const uint64_t first_two = rank / LEAF_PACKED_TWO;
    const uint32_t offset = (uint32_t)(rank - first_two * LEAF_PACKED_TWO), first_leaf = (uint32_t)first_two * 2u;
    const uint32_t twos = (offset + count + LEAF_PACKED_TWO - 1u) / LEAF_PACKED_TWO;
    for (uint32_t two = 0; two < twos;) {
        const uint32_t leaf = first_leaf + 2u * two, contiguous = base_leaves_contiguous(&a->to, leaf) / 2u;
        const uint32_t n = twos - two < contiguous ? twos - two : contiguous;
        tile_store_some(a, &writer, leaf, two * LEAF_PACKED_TWO - offset, count, n);
        two += n;
    }
    SIMT_UNROLL
    for (uint32_t i = 0; i < 2u * (TILE_ENTRIES / LEAF_PACKED_TWO + 2u); i += SIMT_WARP) {
        const uint32_t mine = i + simt_lane();
        const uint32_t last = mine / 2u * LEAF_PACKED_TWO + (mine % 2u ? LEAF_PACKED_TWO : EVEN) - 1u - offset;
        if (last < count) row_high(a, first_leaf + mine, tile->keys[last]);
    }
}
