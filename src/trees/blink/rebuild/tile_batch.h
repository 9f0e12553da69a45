/*
 * Template: the operations of a tile (rebuild/tile.h) in a batch that is sorted by the upper bits of its keys only,
 * which saves the sort a pass or two.
 *
 * The operations of the tile lie somewhere between the first and the last that have the upper bits of one of its edges.
 * A warp reads all of these, keeps those whose keys lie between the edges, and sorts them, at the end of the room for
 * entries. Up to 32, one to a lane, it does not sort; every lane finds out which of the others have smaller keys:
 *
 *   keys, values   | entries after the operations ...   |  free  |  operations, the first last |
 *                    0 .......................... count                 TILE_ENTRIES - n .. TILE_ENTRIES - 1
 */
#pragma once

#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"
#include "trees/blink/rebuild/tile_operations.h"
#include "trees/blink/rebuild/tile_rows.h"
#include "trees/blink/update/arguments.h"

/* Operations that a lane has at most, and those of the batch that it loads at a time. */
#define BATCH_EACH      5u
#define BATCH_IN_FLIGHT 3u
/* Operations with the upper bits of an edge that are expected, at most; a search among more takes longer. */
#define BATCH_ALIKE 512u

/* --- where tiles begin -------------------------------------------------------------------------------------------- */

/* Estimates the operations in front of a tile: as if those with the upper bits of its edge were evenly distributed. */
SIMT_DEVICE uint32_t edge_rank(const copse_tile_edge *edge, uint32_t coarse)
{
    if (coarse == 0) return edge->to;
    const uint64_t rest = edge->high & (((uint64_t)1 << coarse) - 1u);
    const uint64_t share = coarse > 16u ? rest >> (coarse - 16u) : rest << (16u - coarse);
    return edge->from + (uint32_t)((edge->to - edge->from) * (share + 1u) >> 16);
}

/* How many tiles there are. */
SIMT_DEVICE uint32_t tiles_all(const copse_rebuild_arguments *a)
{
    return a->order ? a->totals->tiles : a->tiles;
}

/* The largest key that tile t, not the last one, may have. */
SIMT_DEVICE KEY tile_end(const copse_rebuild_arguments *a, uint32_t t)
{
    const uint32_t last = (t + 1u) * a->tile_base_leaves - 1u;
    return a->order ? leaf_high(leaf_at(&a->from, a->order[last])) : base_leaf_high(&a->from, last);
}

/* Where the leaves of tile t begin, whose edge that is. */
SIMT_DEVICE uint32_t edge_first(const copse_rebuild_arguments *a, uint32_t t, const copse_tile_edge *edge)
{
    const uint64_t rank = edge_rank(edge, a->operations.coarse);
    uint64_t old;
    if (a->order)
        old = (t < tiles_all(a) ? a->before[t] : a->from.entries) * a->leaves_per_entry;
    else
        old = (t < a->tiles ? (uint64_t)t * a->tile_base_leaves : a->from.base_leaves) * a->leaves_per_base_leaf;
    return (uint32_t)((old + rank * a->leaves_per_operation) >> COPSE_LEAVES_BITS);
}

/* Does a key lie between those of the tree, and have the bits that the sort took for granted? Where both edges of a
 * tile do, so do all keys in between. */
SIMT_DEVICE bool edge_usual(const copse_rebuild_arguments *a, KEY key)
{
    return ((key ^ (KEY)a->alike) & (KEY)a->alike_mask) == 0 && key >= a->low && key <= a->high;
}

/* All of edge t but for `first` and `usual`. */
SIMT_DEVICE copse_tile_edge edge_of(const copse_rebuild_arguments *a, uint32_t t)
{
    const uint64_t n = a->operations.n;
    copse_tile_edge edge;
    edge.high = t == 0 ? 0 : KEY_MAX;
    edge.from = edge.to = t == 0 ? 0 : (uint32_t)n;
    edge.first = edge.usual = 0;
    if (t == 0 || t >= tiles_all(a)) return edge;
    const KEY high = tile_end(a, t - 1u);
    const KEY before =
        (KEY)((high >> a->operations.coarse) << a->operations.coarse); /* no smaller one has its upper bits */
    edge.high = high;
    edge.from = before ? (uint32_t)tile_seek(&a->operations, 0, n, (KEY)(before - 1u)) : 0;
    const uint64_t near = edge.from + (uint64_t)BATCH_ALIKE < n ? edge.from + (uint64_t)BATCH_ALIKE : n;
    uint64_t to = tile_seek(&a->operations, edge.from, near, high);
    if (to == near && near < n) to = tile_seek(&a->operations, near, n, high);
    edge.to = (uint32_t)to;
    return edge;
}

/* Passes on what is known about the batch, and notes for the next one whether this one looked sorted as it came. */
SIMT_DEVICE void edges_speculation(const copse_rebuild_arguments *a)
{
    if (blockIdx.x != 0 || simt_warp() != 0) return;
    bool rises = false;
    if (a->input && a->operations.n >= SIMT_WARP) {
        const KEY key = ENCODE_ONE(a->from.key_type, ((const KEY *)a->input)[simt_lane()]);
        const KEY before = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, key, 1);
        rises = __all_sync(SIMT_FULL_MASK, before <= key);
    }
    if (simt_lane() != 0) return;
    if (a->operations.speculation) a->totals->speculation = *a->operations.speculation;
    if (rises) a->totals->speculation.ascending = 1u;
}

SIMT_KERNEL(NAME(tile_edges), copse_rebuild_arguments, COPSE_KERNEL_THREADS, 8)
{
    edges_speculation(&a);
    for (uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= a.tiles;
         t += (uint64_t)gridDim.x * blockDim.x) {
        copse_tile_edge edge = edge_of(&a, (uint32_t)t);
        edge.first = edge_first(&a, (uint32_t)t, &edge);
        edge.usual = edge_usual(&a, (KEY)edge.high) ? 1u : 0;
        a.edges[t] = edge;
    }
}

/* --- finding them ------------------------------------------------------------------------------------------------- */

/* Operations of the batch that lanes are loading, BATCH_IN_FLIGHT each. */
typedef struct batch_flight {
    KEY keys[BATCH_IN_FLIGHT];
    VALUE values[BATCH_IN_FLIGHT];
} batch_flight;

SIMT_DEVICE batch_flight batch_load(const copse_blink_operations *operations, uint32_t from, uint32_t to)
{
    const uint32_t first = from + simt_lane();
    const KEY *keys = (const KEY *)operations->keys + first;
    const VALUE *values = (const VALUE *)operations->values + first;
    batch_flight flight;
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_IN_FLIGHT; k++) {
        const bool there = first + k * SIMT_WARP < to;
        flight.keys[k] = there ? keys[k * SIMT_WARP] : 0;
        flight.values[k] = there ? values[k * SIMT_WARP] : 0;
    }
    return flight;
}

/* A tile, and what its warp is loading. */
typedef struct batch_tile {
    uint32_t t;
    uint32_t from, to;   /* operations that may be its own: those with keys above `low`, ... */
    KEY low, high;       /* ... in tile 0 also with `low` itself, up to `high` */
    uint32_t first, end; /* its leaves of the new epoch, and where those of the next begin */
    uint32_t leaves;     /* of the old one */
    bool usual;          /* both of its edges are */
    batch_flight flight;
} batch_tile;

/* What the warp knows about its next tile. */
typedef struct batch_next {
    uint32_t all; /* leaves of all tiles */
    uint32_t t;
    uint32_t word; /* of its edges, that with the number of this lane: one register instead of ten */
    uint32_t leaf; /* the number of this lane's leaf, where they are listed */
    uint32_t stop; /* not 0 in some lane: some other tile does not fit, as far as is known */
    batch_flight flight;
} batch_next;

/* A word of the edge below or above the next tile; the field has to be one that has 32 bits. */
#define EDGE_WORDS ((uint32_t)sizeof(copse_tile_edge) / 4u)
#define EDGE_WORD(next, upper, field)                                                                                  \
    simt_shfl_u32(SIMT_FULL_MASK, (next)->word, (upper)*EDGE_WORDS + (uint32_t)offsetof(copse_tile_edge, field) / 4u)

/* Checks a key of a tile whose edges are not both usual. Returns false where the key lacks the bits that the sort took
 * for granted: it may be in this tile by chance, and out of order. */
SIMT_DEVICE bool batch_look_at(const copse_rebuild_arguments *a, KEY key)
{
    if (((key ^ (KEY)a->alike) & (KEY)a->alike_mask) != 0) return false;
    /* It may lie outside the bounds of the tree. */
    if (key < a->low) (void)simt_atomic_max_u64(&a->totals->not_low, ~(uint64_t)key);
    if (key > a->high) (void)simt_atomic_max_u64(&a->totals->high, key);
    return true;
}

/* Keeps the loaded operations that belong to the tile, behind n others. Returns how many there are then, or more than
 * fit. */
SIMT_DEVICE uint32_t batch_keep(const copse_rebuild_arguments *a, leaf_tile *tile, const batch_tile *own, uint32_t from,
                                uint32_t n)
{
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_IN_FLIGHT; k++) {
        if (from + k * SIMT_WARP >= own->to) break;
        const KEY key = own->flight.keys[k];
        const bool lowest = own->t == 0 && from + k * SIMT_WARP + simt_lane() < own->to;
        const bool mine = key <= own->high && (key > own->low || lowest); /* there is 0 where there are none */
        if (!own->usual && __any_sync(SIMT_FULL_MASK, mine && !batch_look_at(a, key))) return UINT32_MAX;
        const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, mine);
        const uint32_t at = n + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
        n += (uint32_t)__popc(lanes);
        const bool kept = mine && at < BATCH_EACH * SIMT_WARP;
        if (kept) tile->keys[TILE_ENTRIES - 1u - at] = key;
        if (kept) tile->values[TILE_ENTRIES - 1u - at] = own->flight.values[k];
    }
    return n;
}

/* --- putting them in order ---------------------------------------------------------------------------------------- */

SIMT_DEVICE KEY batch_key(const leaf_tile *tile, uint32_t i)
{
    return tile->keys[TILE_ENTRIES - 1u - i];
}

/* The rank of operation i, with `key`, among n that are sorted by their upper bits. All lanes have to come here;
 * the result counts where i < n. */
SIMT_DEVICE uint32_t batch_rank(const leaf_tile *tile, uint32_t coarse, uint32_t i, uint32_t n, KEY key)
{
    uint32_t rank = i;
    bool left = i < n, right = i < n;
    for (uint32_t distance = 1; __any_sync(SIMT_FULL_MASK, left || right); distance++) {
        left = left && i >= distance;
        right = right && i + distance < n;
        const KEY before = left ? batch_key(tile, i - distance) : 0;
        const KEY behind = right ? batch_key(tile, i + distance) : 0;
        left = left && (before ^ key) >> coarse == 0;
        right = right && (behind ^ key) >> coarse == 0;
        rank -= left && before > key ? 1u : 0;
        rank += right && behind < key ? 1u : 0;
    }
    return rank;
}

/* Puts n operations in order; equal keys stay as they are. */
SIMT_DEVICE void batch_sort(leaf_tile *tile, uint32_t coarse, uint32_t n)
{
    KEY keys[BATCH_EACH];
    VALUE values[BATCH_EACH];
    uint32_t ranks[BATCH_EACH];
    if (coarse == 0) return;
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_EACH; k++) {
        const uint32_t i = k * SIMT_WARP + simt_lane();
        if (k * SIMT_WARP >= n) break;
        keys[k] = i < n ? batch_key(tile, i) : 0;
        values[k] = i < n ? tile->values[TILE_ENTRIES - 1u - i] : 0;
        ranks[k] = batch_rank(tile, coarse, i, n, keys[k]);
    }
    __syncwarp(SIMT_FULL_MASK); /* all have read what is overwritten now */
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_EACH; k++) {
        if (k * SIMT_WARP + simt_lane() >= n) break;
        tile->keys[TILE_ENTRIES - 1u - ranks[k]] = keys[k];
        tile->values[TILE_ENTRIES - 1u - ranks[k]] = values[k];
    }
    __syncwarp(SIMT_FULL_MASK);
}

/* Operation i of n that are in order. */
SIMT_DEVICE tile_operation batch_operation(const copse_rebuild_arguments *a, const leaf_tile *tile, uint32_t i,
                                           uint32_t n)
{
    const uint32_t wins = a->operations.last_wins, other = wins ? i + 1u : i - 1u; /* see operation_dead */
    tile_operation operation;
    operation.key = 0;
    operation.value = 0;
    operation.action = a->operations.action;
    operation.live = false;
    if (i >= n) return operation;
    operation.key = batch_key(tile, i);
    operation.value = tile->values[TILE_ENTRIES - 1u - i];
    operation.live = wins > 1u || other >= n || batch_key(tile, other) != operation.key;
    return operation;
}

/* Of operations, one in each lane, which have smaller keys than that of this lane, and which the same. */
typedef struct batch_others {
    uint32_t smaller, same;
} batch_others;

/* Compares by a number of each lane, of which n count. The numbers lie where entries will be, but none is there yet. */
SIMT_DEVICE batch_others batch_compare(leaf_tile *tile, uint32_t n, uint32_t number)
{
    batch_others others = {0, 0};
    uint32_t *numbers = (uint32_t *)tile->keys;
    numbers[simt_lane()] = number;
    __syncwarp(SIMT_FULL_MASK);
    for (uint32_t i = 0; i < n; i += 4u) {
        const simt_u32x4 four = *(const simt_u32x4 *)(numbers + i);
        uint32_t smaller = 0, same = 0;
        if (four.x < number) smaller |= 1u;
        if (four.y < number) smaller |= 2u;
        if (four.z < number) smaller |= 4u;
        if (four.w < number) smaller |= 8u;
        if (four.x == number) same |= 1u;
        if (four.y == number) same |= 2u;
        if (four.z == number) same |= 4u;
        if (four.w == number) same |= 8u;
        others.smaller |= smaller << i;
        others.same |= same << i;
    }
    __syncwarp(SIMT_FULL_MASK); /* all have read what will be overwritten */
    others.smaller &= SIMT_FULL_MASK >> (SIMT_WARP - n);
    others.same &= SIMT_FULL_MASK >> (SIMT_WARP - n);
    return others;
}

#if KEY_BITS == 64
/* Compares by whole keys. */
SIMT_DEVICE batch_others batch_compare_keys(const leaf_tile *tile, uint32_t n, KEY key)
{
    batch_others others = {0, 0};
    SIMT_ROLLED
    for (uint32_t i = 0; i < n; i++) {
        const KEY other = batch_key(tile, i);
        if (other < key) others.smaller |= 1u << i;
        if (other == key) others.same |= 1u << i;
    }
    return others;
}

/* Of the bits in which keys of the tile differ, the upper 32. */
SIMT_DEVICE uint32_t batch_number(const batch_tile *own, KEY key)
{
    const uint32_t upper = (uint32_t)((own->high - own->low) >> 32);
    return (uint32_t)((key - own->low) >> (SIMT_WARP - (uint32_t)__clz((int)upper)));
}
#endif

/* The n first operations, 32 at most. */
SIMT_DEVICE batch_others batch_others_of(leaf_tile *tile, const batch_tile *own, uint32_t n, KEY key)
{
#if KEY_BITS == 64
    const batch_others others = batch_compare(tile, n, batch_number(own, key));
    const bool alike = simt_lane() < n && (others.same & (others.same - 1u)) != 0;
    return __any_sync(SIMT_FULL_MASK, alike) ? batch_compare_keys(tile, n, key) : others;
#else
    (void)own;
    return batch_compare(tile, n, key);
#endif
}

/* Runs at most 32 operations, one to a lane, without sorting them. */
SIMT_DEVICE void batch_operate_few(const copse_rebuild_arguments *a, leaf_tile *tile, const batch_tile *own, uint32_t n,
                                   tile_sizes *sizes)
{
    const uint32_t lane = simt_lane(), wins = a->operations.last_wins, in_front = (1u << lane) - 1u;
    tile_operation operation;
    operation.live = lane < n;
    operation.key = operation.live ? batch_key(tile, lane) : 0;
    operation.value = operation.live ? tile->values[TILE_ENTRIES - 1u - lane] : 0;
    operation.action = a->operations.action;
    const batch_others others = batch_others_of(tile, own, n, operation.key);
    const uint32_t beaten_by = wins ? ~(in_front | 1u << lane) : in_front; /* see operation_dead */
    if (wins <= 1u && others.same & beaten_by) operation.live = false;
    const tile_fate fate = tile_fate_of(tile, &operation, 0);
    const uint32_t in = __ballot_sync(SIMT_FULL_MASK, fate.inserts);
    sizes->came = (uint32_t)__popc(in);
    tile_change(tile, &fate, &operation, fate.before + (uint32_t)__popc(in & others.smaller));
}

/* Runs the n operations of the tile. */
SIMT_DEVICE bool batch_operate(const copse_rebuild_arguments *a, leaf_tile *tile, const batch_tile *own, uint32_t n,
                               tile_sizes *sizes)
{
    if (sizes->entries + 2u * n > TILE_ENTRIES) return false;
    if (a->operations.coarse && n <= SIMT_WARP) {
        batch_operate_few(a, tile, own, n, sizes);
        __syncwarp(SIMT_FULL_MASK);
        return true;
    }
    batch_sort(tile, a->operations.coarse, n);
    for (uint32_t done = 0; done < n; done += SIMT_WARP) {
        const tile_operation operation = batch_operation(a, tile, done + simt_lane(), n);
        if (!tile_operate(tile, &operation, false, sizes)) return false;
    }
    __syncwarp(SIMT_FULL_MASK);
    return true;
}

/* The number of leaves of tile t, where all tiles have `all`; 0: there are fewer listed leaves than the host reckoned
 * with. */
SIMT_DEVICE uint32_t batch_leaves(const copse_rebuild_arguments *a, uint32_t all, uint32_t t)
{
    const uint32_t first = t * a->tile_base_leaves, left = first < all ? all - first : 0;
    return left < a->tile_base_leaves ? left : a->tile_base_leaves;
}

/* Loads the edges of tile t, if there is one. */
SIMT_DEVICE void batch_look(const copse_rebuild_arguments *a, uint32_t t, batch_next *next)
{
    const uint32_t leaves = t < a->tiles ? batch_leaves(a, next->all, t) : 0;
    next->t = leaves ? t : a->tiles;
    next->word = next->leaf = 0;
    if (leaves == 0) return;
    if (simt_lane() < 2u * EDGE_WORDS) next->word = ((const uint32_t *)&a->edges[t])[simt_lane()];
    if (a->order && simt_lane() < leaves) next->leaf = a->order[t * a->tile_base_leaves + simt_lane()];
}

/* Fetches leaves that are listed, the number of one in each lane. */
SIMT_DEVICE void batch_send_listed(const copse_blink_tree *tree, leaf_tile *tile, uint32_t leaf, uint32_t leaves)
{
    const uint32_t row = simt_lane() / LEAF_PIECES, piece = simt_lane() % LEAF_PIECES;
    const uint32_t fours = SIMT_WARP / LEAF_PIECES; /* as in tile_bring_contiguous */
    simt_u32x4 *even = &tile->rows[row * LEAF_PIECES + (piece ^ row)];
    simt_u32x4 *odd = &tile->rows[(row + fours) * LEAF_PIECES + (piece ^ (row + fours))];
    const uint64_t own = (uint64_t)(uintptr_t)leaf_at(tree, leaf);
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_TILE_LEAVES; r += fours) {
        const uint64_t from = simt_shfl_u64(SIMT_FULL_MASK, own, row + r) + piece * 16u;
        simt_u32x4 *to = r % (2u * fours) ? odd + (r - fours) * LEAF_PIECES : even + r * LEAF_PIECES;
        simt_fetch16_if(row + r < leaves, to, (const void *)(uintptr_t)from);
    }
}

/* Begins to fetch the leaves of the next tile and the first operations that may belong to it. */
SIMT_DEVICE void batch_send(const copse_rebuild_arguments *a, leaf_tile *tile, batch_next *next)
{
    if (next->t >= a->tiles) return;
    const uint32_t leaves = batch_leaves(a, next->all, next->t);
    if (a->order)
        batch_send_listed(&a->from, tile, next->leaf, leaves);
    else
        tile_bring(&a->from, tile, next->t * a->tile_base_leaves, leaves, false);
    next->flight = batch_load(&a->operations, EDGE_WORD(next, 0, from), EDGE_WORD(next, 1u, to));
}

/* `high` of an edge of the next tile. */
SIMT_DEVICE KEY batch_edge(const batch_next *next, uint32_t upper)
{
    const uint32_t at = upper * EDGE_WORDS + (uint32_t)offsetof(copse_tile_edge, high) / 4u; /* its lower word */
    KEY high = simt_shfl_u32(SIMT_FULL_MASK, next->word, at);
#if KEY_BITS == 64
    high |= (uint64_t)simt_shfl_u32(SIMT_FULL_MASK, next->word, at + 1u) << 32;
#endif
    return high;
}

/* The next tile becomes the current one. */
SIMT_DEVICE void batch_turn(const copse_rebuild_arguments *a, const batch_next *next, batch_tile *own)
{
    own->t = next->t;
    own->leaves = batch_leaves(a, next->all, next->t);
    own->from = EDGE_WORD(next, 0, from);
    own->to = EDGE_WORD(next, 1u, to);
    own->low = batch_edge(next, 0);
    own->high = batch_edge(next, 1u);
    own->first = EDGE_WORD(next, 0, first);
    own->end = EDGE_WORD(next, 1u, first);
    own->usual = (EDGE_WORD(next, 0, usual) & EDGE_WORD(next, 1u, usual)) != 0;
    own->flight = next->flight;
}

/* Waits for what was fetched and runs the operations. Returns false where the tile does not fit. */
SIMT_DEVICE bool batch_make(const copse_rebuild_arguments *a, leaf_tile *tile, batch_tile *own, tile_sizes *sizes,
                            uint32_t *took)
{
    uint32_t from = own->from, n = 0;
    sizes->leaves = own->leaves;
    tile_arrive(tile, sizes);
    while (from < own->to) {
        n = batch_keep(a, tile, own, from, n);
        if (n > BATCH_EACH * SIMT_WARP) return false;
        from += BATCH_IN_FLIGHT * SIMT_WARP;
        if (from < own->to) own->flight = batch_load(&a->operations, from, own->to);
    }
    __syncwarp(SIMT_FULL_MASK);
    *took += n;
    return n == 0 || batch_operate(a, tile, own, n, sizes);
}
