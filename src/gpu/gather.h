/*
 * Template: copying the entries of ranges. The work is cut by output, not by range, so that one wide range is spread over all
 * warps. A warp takes a tile of output positions and from there on piece by piece:
 *
 *   output   | range 0 | range 1 |      range 2 ...                            |3|4|
 *   tiles    |      t      |      t      |      t      |      t      |      t      |
 *   pieces   |    0    |    1    | 2     | 2           | 2           | 2       |3|4|
 *
 * A range of up to GATHER_WHOLE entries is one piece of the tile that it begins in; a longer one is cut where tiles end. Where
 * ranges are so short that pieces would leave most lanes without work, the tree may look up positions instead (gather_range).
 */
#pragma once

#include "gpu/reads.h"
#include "gpu/kernel.h"

/* A range of up to so many entries is one piece. */
#define GATHER_WHOLE 1024u
/* Output positions of a tile, at most. */
#define GATHER_MOST 1024u

/* The range that output position p lies in, the last r with offsets[r] <= p. All lanes of a warp look for the same one: each
 * step leaves one in 33 of the ranges, where halving would take five steps that wait for each other. */
SIMT_DEVICE uint64_t gather_seek(const uint64_t *offsets, uint64_t n, uint64_t p)
{
    uint64_t low = 0, high = n; /* offsets[low] <= p < offsets[high] */
    while (high - low > 1u) {
        const uint64_t step = (high - low + SIMT_WARP) / (SIMT_WARP + 1u), at = low + step * (simt_lane() + 1u);
        const bool below = at < high && offsets[at] <= p;
        const uint32_t steps = (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, below));
        low += steps * step;
        high = low + step < high ? low + step : high;
    }
    return low;
}

/* Of 32 ascending offsets, one in each lane, how many are <= p. */
SIMT_DEVICE uint32_t gather_rank(uint64_t offset, uint64_t p)
{
    uint32_t rank = 0;
    SIMT_UNROLL
    for (uint32_t step = 16; step > 0; step /= 2)
        if (simt_shfl_u64(SIMT_FULL_MASK, offset, rank + step - 1u) <= p) rank += step;
    return rank + (uint32_t)(simt_shfl_u64(SIMT_FULL_MASK, offset, rank) <= p);
}

/* The range of this lane's position p. The positions of a warp ascend, and the first is in range `range` or behind it. */
SIMT_DEVICE uint64_t gather_range(const uint64_t *offsets, uint64_t n, uint64_t range, uint64_t p)
{
    uint64_t mine = 0;
    bool open = true;
    do {
        uint64_t next = range + 1u + simt_lane();
        uint32_t rank = gather_rank(offsets[next < n ? next : n], p);
        if (open && rank < SIMT_WARP) {
            mine = range + rank;
            open = false;
        }
        range += SIMT_WARP;
    } while (__any_sync(SIMT_FULL_MASK, open));
    return mine;
}

/* How many entries behind the first one of its range lies the entry of output position p. */
SIMT_DEVICE uint64_t gather_beyond(const copse_entry_output *a, uint64_t range, uint64_t p)
{
    const uint64_t at = p - a->offsets[range];
    return a->wholes ? a->wholes[range] - 1u - at : at;
}

/* Is there an entry with rank number i? Else its output is all zero. */
SIMT_DEVICE bool select_is_there(const copse_entry_output *a, uint64_t i, uint64_t entries)
{
    const bool there = a->ranks[i] < entries;
    if (a->found) a->found[i] = (uint8_t)there;
    if (!there && a->keys) ((KEY *)a->keys)[i] = 0;
    if (!there && a->values) ((VALUE *)a->values)[i] = 0;
    return there;
}

/* Where the output positions end that are wanted. False: the ranges hold more than fits, and a thread reports it. */
SIMT_DEVICE bool gather_stop(const copse_entry_output *a, uint64_t *out_stop)
{
    const uint64_t total = a->offsets[a->n];
    *out_stop = total - a->first < a->count ? total : a->first + a->count;
    if (total <= a->capacity) return true;
    if (blockIdx.x == 0 && threadIdx.x == 0) simt_atomic_min_u64(&a->report[COPSE_REPORT_TOO_SMALL], total);
    return false;
}

/* --- tiles ------------------------------------------------------------------------------------------------------------------ */

/* Tiles of one size. Where the first tile of this warp begins, of output positions from `first` on, and how far it is to its next
 * one. */
SIMT_DEVICE uint64_t gather_first(uint64_t first)
{
    return first + ((uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp()) * COPSE_GATHER_TILE;
}

SIMT_DEVICE uint64_t gather_step(void)
{
    return (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP) * COPSE_GATHER_TILE;
}

/* The tiles of a warp. */
typedef struct gather_tiles {
    uint64_t begin, end; /* output positions of this one */
    uint64_t size, step, stop;
    uint64_t whole; /* entries of a range that is not cut */
} gather_tiles;

/* Tiles of positions first .. stop of an output of `total`: as large as gives each warp one, within limits. */
SIMT_DEVICE gather_tiles gather_open(uint64_t first, uint64_t stop, uint64_t total)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint64_t each = (stop - first) / warps / SIMT_WARP * SIMT_WARP;
    gather_tiles tiles;
    tiles.size = each < COPSE_GATHER_TILE ? COPSE_GATHER_TILE : each > GATHER_MOST ? GATHER_MOST : each;
    tiles.step = warps * tiles.size;
    tiles.stop = stop;
    tiles.whole = first == 0 && stop == total ? GATHER_WHOLE : 0;
    tiles.begin = first + ((uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp()) * tiles.size;
    tiles.end = tiles.begin;
    return tiles;
}

/* False: the warp is done. */
SIMT_DEVICE bool gather_next(gather_tiles *tiles)
{
    if (tiles->end != tiles->begin) tiles->begin += tiles->step;
    if (tiles->begin >= tiles->stop) return false;
    tiles->end = tiles->stop - tiles->begin < tiles->size ? tiles->stop : tiles->begin + tiles->size;
    return true;
}

/* --- pieces ----------------------------------------------------------------------------------------------------------------- */

/* Entries of one range in a row, in key order. The same in all lanes. */
typedef struct gather_piece {
    uint64_t location; /* of the first entry of the range */
    uint64_t beyond;   /* entries of the range in front of the piece */
    uint64_t count;
    uint64_t at; /* output position of the first entry */
    bool back;   /* the others go in front of that one */
} gather_piece;

/* The ranges of a tile, 32 at a time, one to a lane. */
typedef struct gather_ranges {
    uint64_t first; /* range of lane 0 */
    uint64_t begin, end, location;
    uint32_t left; /* lanes whose pieces are still to be taken */
} gather_ranges;

/* Loads 32 ranges from ranges->first on, and finds which have a piece in the tile. */
SIMT_DEVICE void ranges_load(const copse_entry_output *a, const gather_tiles *tiles, uint64_t skip,
                             gather_ranges *ranges)
{
    const uint64_t r = ranges->first + simt_lane();
    ranges->begin = a->offsets[r < a->n ? r : a->n];
    ranges->end = a->offsets[r < a->n ? r + 1u : a->n];
    ranges->location = r < a->n ? a->locations[r] : skip;
    const bool whole = ranges->end - ranges->begin <= tiles->whole;
    const bool here = whole ? ranges->begin >= tiles->begin : ranges->end > tiles->begin;
    ranges->left = __ballot_sync(SIMT_FULL_MASK, here && ranges->begin < tiles->end && ranges->begin < ranges->end &&
                                                     ranges->location != skip);
}

/* `skip` is the location of ranges that need no copying. */
SIMT_DEVICE gather_ranges ranges_open(const copse_entry_output *a, const gather_tiles *tiles, uint64_t skip)
{
    gather_ranges ranges = {0, 0, 0, 0, 0};
    ranges.first = gather_seek(a->offsets, a->n, tiles->begin);
    ranges_load(a, tiles, skip, &ranges);
    return ranges;
}

/* The next piece of a tile. False: there is none. */
SIMT_DEVICE bool ranges_piece(const copse_entry_output *a, const gather_tiles *tiles, uint64_t skip,
                              gather_ranges *ranges, gather_piece *piece)
{
    while (!ranges->left) {
        if (simt_shfl_u64(SIMT_FULL_MASK, ranges->end, SIMT_WARP - 1u) >= tiles->end ||
            ranges->first + SIMT_WARP >= a->n)
            return false;
        ranges->first += SIMT_WARP;
        ranges_load(a, tiles, skip, ranges);
    }
    const uint32_t lane = (uint32_t)__ffs((int)ranges->left) - 1u;
    const uint64_t begin = simt_shfl_u64(SIMT_FULL_MASK, ranges->begin, lane),
                   end = simt_shfl_u64(SIMT_FULL_MASK, ranges->end, lane);
    ranges->left &= ranges->left - 1u;
    piece->location = simt_shfl_u64(SIMT_FULL_MASK, ranges->location, lane);
    const bool whole = end - begin <= tiles->whole;
    const uint64_t from = whole || begin > tiles->begin ? begin : tiles->begin,
                   to = whole || end < tiles->end ? end : tiles->end;
    piece->count = to - from;
    piece->back = a->wholes != NULL;
    piece->beyond = piece->back ? a->wholes[ranges->first + lane] - (to - begin) : from - begin;
    piece->at = (piece->back ? to - 1u : from) - a->first;
    return true;
}
