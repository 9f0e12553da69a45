/*
 * Template: the operations of a tile (blink_tile.inc.h) where the batch is sorted by the upper bits of its keys only: a pass or two less
 * of the sort.
 *
 * The tile's operations lie somewhere between the first and the last that have the upper bits of one of its edges. A warp looks at all of
 * these, keeps those whose keys are between the edges, and puts them in order, at the end of the room for entries:
 *
 *   keys, values   | entries after the operations ...   |  free  |  operations, the first last |
 *                    0 .......................... count                 TILE_ENTRIES - n .. TILE_ENTRIES - 1
 */

/* Operations that a lane has at most, and those of the batch that it has on their way from memory at a time. */
#define BATCH_EACH  5u
#define BATCH_AHEAD (KEY_BITS + VALUE_BITS > 64 ? 2u : 3u)
/* Operations with the same upper bits as an edge that are expected, at most; more take longer to find. */
#define BATCH_ALIKE 512u

/* --- where tiles begin ------------------------------------------------------------------------------------------------------- */

/* Operations in front of the one at which a tile begins, about: as if those with the same upper bits lay evenly. */
SIMT_DEVICE uint32_t NAME(edge_rank)(const copse_tile_edge *edge, uint32_t coarse)
{
    if (coarse == 0) return edge->to;
    const uint64_t rest = edge->high & (((uint64_t)1 << coarse) - 1u);
    const uint64_t part = coarse > 16u ? rest >> (coarse - 16u) : rest << (16u - coarse);
    return edge->from + (uint32_t)((edge->to - edge->from) * (part + 1u) >> 16);
}

/* How many tiles there are. */
SIMT_DEVICE uint32_t NAME(tiles_all)(const copse_pack_arguments *a)
{
    return a->order ? a->totals->tiles : a->tiles;
}

/* The largest key that tile t, not the last one, may have. */
SIMT_DEVICE KEY NAME(tile_end)(const copse_pack_arguments *a, uint32_t t)
{
    const uint32_t last = (t + 1u) * a->tile_homes - 1u;
    return a->order ? NAME(leaf_high)(NAME(leaf_at)(&a->from, a->order[last])) : NAME(home_high)(&a->from, last);
}

SIMT_DEVICE copse_tile_edge NAME(edge_of)(const copse_pack_arguments *a, uint32_t t)
{
    const uint64_t n = a->operations.n;
    copse_tile_edge edge;
    edge.high = t == 0 ? 0 : KEY_MAX;
    edge.from = edge.to = edge.rank = t == 0 ? 0 : (uint32_t)n;
    edge.padding = 0;
    if (t == 0 || t >= NAME(tiles_all)(a)) return edge;
    const KEY high = NAME(tile_end)(a, t - 1u);
    const KEY before =
        (KEY)((high >> a->operations.coarse) << a->operations.coarse); /* no smaller one has its upper bits */
    edge.high = high;
    edge.from = before ? (uint32_t)NAME(tile_seek)(&a->operations, 0, n, (KEY)(before - 1u)) : 0;
    const uint64_t near = edge.from + (uint64_t)BATCH_ALIKE < n ? edge.from + (uint64_t)BATCH_ALIKE : n;
    uint64_t to = NAME(tile_seek)(&a->operations, edge.from, near, high);
    if (to == near && near < n) to = NAME(tile_seek)(&a->operations, near, n, high);
    edge.to = (uint32_t)to;
    edge.rank = NAME(edge_rank)(&edge, a->operations.coarse);
    return edge;
}

/* What is known about the batch, and whether it looked sorted as it came: said for the next one. */
SIMT_DEVICE void NAME(edges_doubt)(const copse_pack_arguments *a)
{
    if (blockIdx.x != 0 || simt_warp() != 0) return;
    bool rises = false;
    if (a->input && a->operations.n >= SIMT_WARP) {
        const KEY key = ENCODE_ONE(a->from.key_type, ((const KEY *)a->input)[simt_lane()]);
        const KEY before = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, key, 1);
        rises = __all_sync(SIMT_FULL_MASK, before <= key);
    }
    if (simt_lane() != 0) return;
    if (a->operations.doubt) a->totals->doubt = *a->operations.doubt;
    if (rises) a->totals->doubt.ascending = 1u;
}

SIMT_KERNEL(NAME(tile_edges), copse_pack_arguments, COPSE_KERNEL_THREADS, 8)
{
    NAME(edges_doubt)(&a);
    for (uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; t <= a.tiles;
         t += (uint64_t)gridDim.x * blockDim.x)
        a.edges[t] = NAME(edge_of)(&a, (uint32_t)t);
}

/* --- finding them ------------------------------------------------------------------------------------------------------------ */

/* What a tile looks for: operations with keys above `low`, up to `high`. */
typedef struct NAME(batch_range) {
    KEY low, high;
    bool lowest; /* ... and `low` itself */
} NAME(batch_range);
#define RANGE NAME(batch_range)

/* Operations of the batch on their way, BATCH_AHEAD for each lane. */
typedef struct NAME(batch_ahead) {
    KEY keys[BATCH_AHEAD];
    VALUE values[BATCH_AHEAD];
} NAME(batch_ahead);
#define AHEAD NAME(batch_ahead)

SIMT_DEVICE AHEAD NAME(batch_load)(const copse_blink_operations *operations, uint32_t from, uint32_t to)
{
    AHEAD ahead;
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_AHEAD; k++) {
        const uint32_t i = from + k * SIMT_WARP + simt_lane();
        ahead.keys[k] = i < to ? ((const KEY *)operations->keys)[i] : 0;
        ahead.values[k] = i < to ? ((const VALUE *)operations->values)[i] : 0;
    }
    return ahead;
}

/* A key that makes the tree reach further than it did. */
SIMT_DEVICE void NAME(batch_beyond)(const copse_pack_arguments *a, KEY key)
{
    if (key < a->low) (void)simt_atomic_max_u64(&a->totals->not_low, ~(uint64_t)key);
    if (key > a->high) (void)simt_atomic_max_u64(&a->totals->high, key);
}

/* Keeps those of `ahead` that are wanted behind n others. Returns how many there are then, or more than fit. */
SIMT_DEVICE uint32_t NAME(batch_keep)(const copse_pack_arguments *a, TILE *tile, const RANGE *range, const AHEAD *ahead,
                                      uint32_t from, uint32_t to, uint32_t n)
{
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_AHEAD; k++) {
        const KEY key = ahead->keys[k];
        const bool there = from + k * SIMT_WARP + simt_lane() < to;
        const bool mine = there && key <= range->high && (key > range->low || range->lowest);
        /* A key that the sort did not expect may have come here by chance, and be out of order. */
        if (__any_sync(SIMT_FULL_MASK, mine && ((key ^ (KEY)a->alike) & (KEY)a->alike_mask) != 0)) return UINT32_MAX;
        const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, mine);
        const uint32_t at = n + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
        n += (uint32_t)__popc(lanes);
        if (n > BATCH_EACH * SIMT_WARP) return n;
        if (!mine) continue;
        tile->keys[TILE_ENTRIES - 1u - at] = key;
        tile->values[TILE_ENTRIES - 1u - at] = ahead->values[k];
        NAME(batch_beyond)(a, key);
    }
    return n;
}

/* --- putting them in order --------------------------------------------------------------------------------------------------- */

SIMT_DEVICE KEY NAME(batch_key)(const TILE *tile, uint32_t i)
{
    return tile->keys[TILE_ENTRIES - 1u - i];
}

/* The place of operation i, with `key`, among n that are sorted by their upper bits. All lanes come here; those with i >= n for
 * nothing. */
SIMT_DEVICE uint32_t NAME(batch_place)(const TILE *tile, uint32_t coarse, uint32_t i, uint32_t n, KEY key)
{
    uint32_t place = i;
    bool left = i < n, right = i < n;
    for (uint32_t distance = 1; __any_sync(SIMT_FULL_MASK, left || right); distance++) {
        left = left && i >= distance;
        right = right && i + distance < n;
        const KEY before = left ? NAME(batch_key)(tile, i - distance) : 0;
        const KEY behind = right ? NAME(batch_key)(tile, i + distance) : 0;
        left = left && (before ^ key) >> coarse == 0;
        right = right && (behind ^ key) >> coarse == 0;
        place -= left && before > key ? 1u : 0;
        place += right && behind < key ? 1u : 0;
    }
    return place;
}

/* The same for at most 32, whose keys the lanes have: each looks at all. */
SIMT_DEVICE uint32_t NAME(batch_place_few)(uint32_t n, KEY key)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < n; i++) {
        const KEY other = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, key, i);
        place += other < key || (other == key && i < simt_lane()) ? 1u : 0;
    }
    return place;
}

/* Puts n operations in order; equal keys stay as they are. */
SIMT_DEVICE void NAME(batch_sort)(TILE *tile, uint32_t coarse, uint32_t n)
{
    KEY keys[BATCH_EACH];
    VALUE values[BATCH_EACH];
    uint32_t places[BATCH_EACH];
    if (coarse == 0) return;
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_EACH; k++) {
        const uint32_t i = k * SIMT_WARP + simt_lane();
        if (k * SIMT_WARP >= n) break;
        keys[k] = i < n ? NAME(batch_key)(tile, i) : 0;
        values[k] = i < n ? tile->values[TILE_ENTRIES - 1u - i] : 0;
        places[k] = k == 0 && n <= SIMT_WARP ? NAME(batch_place_few)(n, keys[k])
                                             : NAME(batch_place)(tile, coarse, i, n, keys[k]);
    }
    __syncwarp(SIMT_FULL_MASK); /* all have read what is overwritten now */
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_EACH; k++) {
        if (k * SIMT_WARP + simt_lane() >= n) break;
        tile->keys[TILE_ENTRIES - 1u - places[k]] = keys[k];
        tile->values[TILE_ENTRIES - 1u - places[k]] = values[k];
    }
    __syncwarp(SIMT_FULL_MASK);
}

/* Operation i of n that are in order. */
SIMT_DEVICE OPERATION NAME(batch_operation)(const copse_pack_arguments *a, const TILE *tile, uint32_t i, uint32_t n)
{
    const uint32_t wins = a->operations.last_wins, other = wins ? i + 1u : i - 1u; /* see operation_dead */
    OPERATION operation;
    operation.key = 0;
    operation.value = 0;
    operation.action = a->operations.action;
    operation.live = false;
    if (i >= n) return operation;
    operation.key = NAME(batch_key)(tile, i);
    operation.value = tile->values[TILE_ENTRIES - 1u - i];
    operation.live = wins > 1u || other >= n || NAME(batch_key)(tile, other) != operation.key;
    return operation;
}

/* Runs n of them. */
SIMT_DEVICE bool NAME(batch_operate)(const copse_pack_arguments *a, TILE *tile, uint32_t n, SIZES *sizes)
{
    if (sizes->entries + 2u * n > TILE_ENTRIES) return false;
    NAME(batch_sort)(tile, a->operations.coarse, n);
    for (uint32_t done = 0; done < n; done += SIMT_WARP) {
        const OPERATION operation = NAME(batch_operation)(a, tile, done + simt_lane(), n);
        if (!NAME(tile_operate)(tile, &operation, sizes)) return false;
    }
    __syncwarp(SIMT_FULL_MASK);
    return true;
}

/* A tile, and what is on its way to it. */
typedef struct NAME(batch_tile) {
    uint32_t t;
    uint32_t leaf; /* the number of this lane's leaf, where they are listed */
    copse_tile_edge low, high;
    AHEAD ahead;
} NAME(batch_tile);
#define NEXT_TILE NAME(batch_tile)

/* The leaves of tile t; 0 where listed ones do not reach as far as the host thought they might. */
SIMT_DEVICE uint32_t NAME(batch_leaves)(const copse_pack_arguments *a, uint32_t t)
{
    const uint32_t all = a->order ? a->totals->leaves : a->from.homes, first = t * a->tile_homes;
    const uint32_t left = first < all ? all - first : 0;
    return left < a->tile_homes ? left : a->tile_homes;
}

/* Looks where tile t begins and ends, if there is one. */
SIMT_DEVICE void NAME(batch_look)(const copse_pack_arguments *a, uint32_t t, NEXT_TILE *next)
{
    const uint32_t leaves = t < a->tiles ? NAME(batch_leaves)(a, t) : 0;
    next->t = leaves ? t : a->tiles;
    next->leaf = 0;
    if (leaves == 0) return;
    next->low = a->edges[t];
    next->high = a->edges[t + 1u];
    if (a->order && simt_lane() < leaves) next->leaf = a->order[t * a->tile_homes + simt_lane()];
}

/* Sends for leaves that are listed, the number of one in each lane. */
SIMT_DEVICE void NAME(batch_send_listed)(const copse_blink_tree *tree, TILE *tile, uint32_t leaf, uint32_t leaves)
{
    const uint32_t piece = simt_lane() % LEAF_PIECES;
    const uint64_t own = (uint64_t)(uintptr_t)NAME(leaf_at)(tree, leaf);
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_TILE_LEAVES; r += SIMT_WARP / LEAF_PIECES) {
        const uint32_t row = r + simt_lane() / LEAF_PIECES;
        const uint64_t from = simt_shfl_u64(SIMT_FULL_MASK, own, row) + piece * 16u;
        if (row < leaves)
            simt_fetch16(&tile->rows[row * LEAF_PIECES + (piece ^ row % LEAF_PIECES)], (const void *)(uintptr_t)from);
    }
}

/* Sends for its leaves and the first operations that may be its own. */
SIMT_DEVICE void NAME(batch_send)(const copse_pack_arguments *a, TILE *tile, NEXT_TILE *next)
{
    if (next->t >= a->tiles) return;
    const uint32_t leaves = NAME(batch_leaves)(a, next->t);
    if (a->order)
        NAME(batch_send_listed)(&a->from, tile, next->leaf, leaves);
    else
        NAME(tile_bring)(&a->from, tile, next->t * a->tile_homes, leaves, false);
    next->ahead = NAME(batch_load)(&a->operations, next->low.from, next->high.to);
}

/* Takes in what was sent for, and runs the operations. Returns false where it does not fit. */
SIMT_DEVICE bool NAME(batch_make)(const copse_pack_arguments *a, TILE *tile, NEXT_TILE *own, SIZES *sizes,
                                  uint32_t *took)
{
    const RANGE range = {(KEY)own->low.high, (KEY)own->high.high, own->t == 0};
    uint32_t from = own->low.from, n = 0;
    sizes->leaves = NAME(batch_leaves)(a, own->t);
    NAME(tile_arrive)(tile, sizes);
    while (from < own->high.to) {
        n = NAME(batch_keep)(a, tile, &range, &own->ahead, from, own->high.to, n);
        if (n > BATCH_EACH * SIMT_WARP) return false;
        from += BATCH_AHEAD * SIMT_WARP;
        if (from < own->high.to) own->ahead = NAME(batch_load)(&a->operations, from, own->high.to);
    }
    __syncwarp(SIMT_FULL_MASK);
    *took += n;
    return n == 0 || NAME(batch_operate)(a, tile, n, sizes);
}
