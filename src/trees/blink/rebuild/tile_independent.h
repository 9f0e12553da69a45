/*
 * Template: tiles (rebuild/tile.h) that do not wait for each other. Each has leaves of the new epoch to itself, whose
 * numbers follow from how many base leaves and operations are in front of it, and it distributes its entries evenly
 * over these leaves.
 *
 *   tile t          base leaves t * tile_base_leaves ..       operations behind edge t, up to edge t + 1
 *   its leaves      from (t * tile_base_leaves * leaves_per_base_leaf + the operations in front of it * leaves_per_operation) / 2^24
 *                   on, up to those of the next tile: edges[t].first
 *
 * As long as base leaves have about as many entries everywhere, so have the new leaves. Where they have not, or have
 * overflow chains or branches, base_leaf_lists lists and counts all leaves first; a tile is then so many listed leaves,
 * and the number of entries in front of it counts instead of that of base leaves. A tile with more entries than its
 * leaves hold, or less than one for each, stops the work.
 */
#pragma once

#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_batch.h"
#include "trees/blink/rebuild/tile_operations.h"
#include "trees/blink/rebuild/tile_rows.h"

/* What a lane stores of a leaf at once: 64 bits where keys and values have as many, so that a warp stores two leaves;
 * else 32. */
#if KEY_BITS == 64 && VALUE_BITS == 64
typedef uint64_t independent_unit;
#define UNIT_WORDS 2u
#else
typedef uint32_t independent_unit;
#define UNIT_WORDS 1u
#endif
#define LEAF_UNITS     (LEAF_WORDS / UNIT_WORDS)
#define LEAVES_AT_ONCE (SIMT_WARP / LEAF_UNITS) /* leaves that a warp stores at once */
/* Stores that a lane issues before it loads again. */
#define INDEPENDENT_IN_FLIGHT (8u / LEAVES_AT_ONCE)

/* How a lane stores its units of contiguous leaves that have as many entries each. */
typedef struct independent_writer {
    uint32_t which;               /* its own of the leaves that are stored at once */
    bool own;                     /* is it a unit of an entry? */
    const independent_unit *from; /* where that lies, of the first leaf */
    uint32_t step;                /* ... and how far on from time to time */
    uint32_t other, upper;        /* what else it is, and the upper word where it has two */
    uint32_t more;                /* how much more the upper word, or the only one, gets each time */
} independent_writer;

/* Leaves from `leaf` on have `size` entries each, the first one those from `first` on. */
SIMT_DEVICE independent_writer independent_writer_of(const copse_rebuild_arguments *a, leaf_tile *tile, uint32_t leaf,
                                                     uint32_t first, uint32_t size)
{
    const uint32_t word = simt_lane() % LEAF_UNITS * UNIT_WORDS;
    const row_role role = row_role_of(word);
    const uint32_t slot = row_slot(&role, size), units = ROLE_WORDS(&role) / UNIT_WORDS;
    const bool is_next = word + UNIT_WORDS - 1u == LEAF_NEXT / 4u;
    independent_writer writer;
    writer.which = simt_lane() / LEAF_UNITS;
    writer.own = slot < size;
    writer.from = (const independent_unit *)tile_own(tile, &role) +
                  (first + writer.which * size + (writer.own ? slot : 0)) * units;
    writer.step = LEAVES_AT_ONCE * size * units;
    writer.other = word == LEAF_STATE / 4u ? size : role.filler;
    writer.upper = !is_next ? role.filler : a->to.branches ? COPSE_LEAF_NONE : leaf + writer.which + 1u;
    if (UNIT_WORDS == 1u && is_next) writer.other = writer.upper;
    writer.more = is_next && !a->to.branches ? LEAVES_AT_ONCE : 0;
    return writer;
}

/* What its unit is in the leaves that are stored i times later, where it is none of an entry. */
SIMT_DEVICE independent_unit independent_other(const independent_writer *writer, uint32_t i)
{
#if UNIT_WORDS == 2u
    return (uint64_t)(writer->upper + i * writer->more) << 32 | writer->other;
#else
    return writer->other + i * writer->more;
#endif
}

/* Stores up to INDEPENDENT_IN_FLIGHT times LEAVES_AT_ONCE leaves of n at `to`; whole: it is known that there are so
 * many. */
SIMT_DEVICE void independent_many(independent_writer *writer, independent_unit *to, uint32_t n, bool whole)
{
    independent_unit unit[INDEPENDENT_IN_FLIGHT];
    SIMT_UNROLL
    for (uint32_t i = 0; i < INDEPENDENT_IN_FLIGHT; i++) {
        unit[i] = independent_other(writer, i);
        if (writer->own && (whole || i * LEAVES_AT_ONCE + writer->which < n)) unit[i] = *writer->from;
        writer->from += writer->step;
    }
    SIMT_UNROLL
    for (uint32_t i = 0; i < INDEPENDENT_IN_FLIGHT; i++)
        if (whole || i * LEAVES_AT_ONCE + writer->which < n) to[i * SIMT_WARP] = unit[i];
#if UNIT_WORDS == 2u
    writer->upper += INDEPENDENT_IN_FLIGHT * writer->more;
#else
    writer->other += INDEPENDENT_IN_FLIGHT * writer->more;
#endif
}

/* Stores n contiguous leaves at `to`, with `size` entries each, from entry `first` on. */
SIMT_DEVICE void independent_alike(const copse_rebuild_arguments *a, leaf_tile *tile, independent_unit *to,
                                   uint32_t leaf, uint32_t first, uint32_t size, uint32_t n)
{
    const uint32_t many = INDEPENDENT_IN_FLIGHT * LEAVES_AT_ONCE;
    if (n == 0) return;
    independent_writer writer = independent_writer_of(a, tile, leaf, first, size);
    SIMT_ROLLED
    for (; n >= many; n -= many) {
        independent_many(&writer, to, many, true);
        to += many * LEAF_UNITS;
    }
    if (n) independent_many(&writer, to, n, false);
}

/* The last leaf of a tile may get keys up to the end of the tile; that of the last tile has no next leaf. */
SIMT_DEVICE void independent_end(const copse_rebuild_arguments *a, char *at, uint32_t leaf, KEY high)
{
    if (simt_lane() != 0) return;
    *(KEY *)(at + LEAF_HIGH) = high;
    if (leaf + 1u == a->to.base_leaves) *(uint32_t *)(at + LEAF_NEXT) = COPSE_LEAF_NONE;
}

/* Entries of each of n leaves that have `count` together, but for some with one more. */
SIMT_DEVICE uint32_t independent_size(uint32_t count, uint32_t n)
{
    uint32_t size = 0;
    SIMT_UNROLL
    for (uint32_t step = LEAF_SLOTS >= 8u ? 8u : 4u; step > 0; step /= 2u)
        if ((size + step) * n <= count) size += step;
    return size;
}

/* Stores `count` entries as n leaves from `leaf` on, which hold them. */
SIMT_DEVICE void independent_store(const copse_rebuild_arguments *a, leaf_tile *tile, uint32_t leaf, uint32_t n,
                                   uint32_t count, KEY high)
{
    const uint32_t size = independent_size(count, n), larger = count - size * n; /* the first ones have one more */
    uint32_t done = 0;
    char *at;
    SIMT_ROLLED
    do { /* there is at least one */
        const uint32_t contiguous = base_leaves_contiguous(&a->to, leaf + done);
        const uint32_t some = contiguous < n - done ? contiguous : n - done;
        const uint32_t with_more = done >= larger ? 0 : larger - done < some ? larger - done : some;
        at = base_leaf_at(&a->to, leaf + done);
        const uint32_t rest = done + with_more; /* from there on they have `size` */
        independent_unit *to = (independent_unit *)at + simt_lane(), *then = to + with_more * LEAF_UNITS;
        independent_alike(a, tile, to, leaf + done, done * (size + 1u), size + 1u, with_more);
        independent_alike(a, tile, then, leaf + rest, rest * size + larger, size, some - with_more);
        done += some;
        at += some * COPSE_LEAF_BYTES;
    } while (done < n);
    __syncwarp(SIMT_FULL_MASK); /* another lane may have stored `high` */
    independent_end(a, at - COPSE_LEAF_BYTES, leaf + n - 1u, high);
    SIMT_ROLLED
    for (uint32_t i = simt_lane(); i < n; i += SIMT_WARP) {
        const uint32_t behind = (i + 1u) * size + (i < larger ? i + 1u : larger);
        row_high(a, leaf + i, i + 1u < n ? tile->keys[behind - 1u] : high);
    }
}

/* Does a tile whose leaves and operations are being fetched, and begins to fetch the next one. Returns false where it
 * does not fit. */
SIMT_DEVICE bool independent_one(const copse_rebuild_arguments *a, leaf_tile *tile, batch_tile *own, batch_next *next,
                                 tile_work *work)
{
    tile_sizes sizes = {0, 0, 0, 0, 0, 0, 0, 0};
    const uint32_t n = own->end - own->first;
    if (!batch_make(a, tile, own, &sizes, &work->took)) return false;
    const uint32_t count = sizes.entries + sizes.came;
    if (n == 0 || count < n || count > n * LEAF_SLOTS) return false;
    tile_merge(tile, &sizes, false);
    batch_send(a, tile, next); /* the rows are free now */
    next->stop = simt_lane() == 0 ? simt_load_relaxed_u32(&a->totals->ticket) : 0;
    independent_store(a, tile, own->first, n, count, own->high);
    work->came += sizes.came;
    return true;
}

SIMT_KERNEL(NAME(tile_independent), copse_rebuild_arguments, COPSE_KERNEL_THREADS, COPSE_INDEPENDENT_BLOCKS)
{
    SIMT_SHARED(leaf_tile, tiles, TILE_WARPS);
    leaf_tile *tile = (leaf_tile *)simt_shared_kept(&tiles[simt_warp()]);
    const uint32_t warps = gridDim.x * TILE_WARPS;
    tile_work work = {0, 0, 0};
    batch_tile own;
    batch_next next;
    next.all = a.order ? a.totals->leaves : a.from.base_leaves;
    batch_look(&a, blockIdx.x * TILE_WARPS + simt_warp(), &next);
    batch_send(&a, tile, &next);
    while (next.t < a.tiles) {
        batch_turn(&a, &next, &own);
        batch_look(&a, own.t + warps, &next);
        if (!independent_one(&a, tile, &own, &next, &work)) {
            tiles_stop(&a);
            break;
        }
        /* The load was issued before the stores, so that it costs no wait. */
        if (__any_sync(SIMT_FULL_MASK, next.stop != 0)) break;
        __syncwarp(SIMT_FULL_MASK);
    }
    simt_fetch_wait();
    work_publish(&a, &work);
}
