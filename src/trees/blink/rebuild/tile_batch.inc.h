/*
 * Template: the operations of a tile (blink/rebuild/tile.inc.h) where the batch is sorted by the upper bits of its keys only: a pass or two less
 * of the sort.
 *
 * The tile's operations lie somewhere between the first and the last that have the upper bits of one of its edges. A warp looks at all of
 * these, keeps those whose keys are between the edges, and puts them in order, at the end of the room for entries; up to 32, a lane to
 * each, stay as they came, and every lane finds out which of the others have smaller keys:
 *
 *   keys, values   | entries after the operations ...   |  free  |  operations, the first last |
 *                    0 .......................... count                 TILE_ENTRIES - n .. TILE_ENTRIES - 1
 */

/* Operations that a lane has at most, and those of the batch that it has on their way from memory at a time. */
#define BATCH_EACH  5u
#define BATCH_AHEAD 3u
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

/* Where the leaves of tile t begin, whose edge that is. */
SIMT_DEVICE uint32_t NAME(edge_first)(const copse_pack_arguments *a, uint32_t t, const copse_tile_edge *edge)
{
    const uint64_t rank = NAME(edge_rank)(edge, a->operations.coarse);
    uint64_t old;
    if (a->order)
        old = (t < NAME(tiles_all)(a) ? a->before[t] : a->from.entries) * a->leaves_per_entry;
    else
        old = (t < a->tiles ? (uint64_t)t * a->tile_homes : a->from.homes) * a->leaves_per_home;
    return (uint32_t)((old + rank * a->leaves_per_operation) >> COPSE_LEAVES_BITS);
}

/* Does a key lie between those of the tree, and have the bits that the sort expects? Where that is so of both edges of a tile, it is so
 * of all keys in between. */
SIMT_DEVICE bool NAME(edge_usual)(const copse_pack_arguments *a, KEY key)
{
    return ((key ^ (KEY)a->alike) & (KEY)a->alike_mask) == 0 && key >= a->low && key <= a->high;
}

/* All of edge t but for `first` and `usual`. */
SIMT_DEVICE copse_tile_edge NAME(edge_of)(const copse_pack_arguments *a, uint32_t t)
{
    const uint64_t n = a->operations.n;
    copse_tile_edge edge;
    edge.high = t == 0 ? 0 : KEY_MAX;
    edge.from = edge.to = t == 0 ? 0 : (uint32_t)n;
    edge.first = edge.usual = 0;
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
         t += (uint64_t)gridDim.x * blockDim.x) {
        copse_tile_edge edge = NAME(edge_of)(&a, (uint32_t)t);
        edge.first = NAME(edge_first)(&a, (uint32_t)t, &edge);
        edge.usual = NAME(edge_usual)(&a, (KEY)edge.high) ? 1u : 0;
        a.edges[t] = edge;
    }
}

/* --- finding them ------------------------------------------------------------------------------------------------------------ */

/* Operations of the batch on their way, BATCH_AHEAD for each lane. */
typedef struct NAME(batch_ahead) {
    KEY keys[BATCH_AHEAD];
    VALUE values[BATCH_AHEAD];
} NAME(batch_ahead);
#define AHEAD NAME(batch_ahead)

SIMT_DEVICE AHEAD NAME(batch_load)(const copse_blink_operations *operations, uint32_t from, uint32_t to)
{
    const uint32_t first = from + simt_lane();
    const KEY *keys = (const KEY *)operations->keys + first;
    const VALUE *values = (const VALUE *)operations->values + first;
    AHEAD ahead;
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_AHEAD; k++) {
        const bool there = first + k * SIMT_WARP < to;
        ahead.keys[k] = there ? keys[k * SIMT_WARP] : 0;
        ahead.values[k] = there ? values[k * SIMT_WARP] : 0;
    }
    return ahead;
}

/* A tile, and what is on its way to it. */
typedef struct NAME(batch_tile) {
    uint32_t t;
    uint32_t from, to;   /* operations that may be its own: those with keys above `low`, ...   */
    KEY low, high;       /* ... in tile 0 also with `low` itself, up to `high`                 */
    uint32_t first, end; /* its leaves of the new version, and where those of the next begin   */
    uint32_t leaves;     /* of the old one                                                     */
    bool usual;          /* both of its edges are                                              */
    AHEAD ahead;
} NAME(batch_tile);
#define OWN_TILE NAME(batch_tile)

/* The same of the next one, before it is its turn. */
typedef struct NAME(batch_next) {
    uint32_t all; /* leaves of all tiles                                                           */
    uint32_t t;
    uint32_t word; /* of its edges, that with the number of this lane: one register in place of ten */
    uint32_t leaf; /* the number of this lane's leaf, where they are listed                         */
    uint32_t stop; /* not 0 in some lane: some other tile does not fit, as far as is known          */
    AHEAD ahead;
} NAME(batch_next);
#define NEXT_TILE NAME(batch_next)

/* A word of the edge below or above the next tile; the field has to be one that has 32 bits. */
#define EDGE_WORDS ((uint32_t)sizeof(copse_tile_edge) / 4u)
#define EDGE_WORD(next, upper, field)                                                                                  \
    simt_shfl_u32(SIMT_FULL_MASK, (next)->word, (upper)*EDGE_WORDS + (uint32_t)offsetof(copse_tile_edge, field) / 4u)

/* Where the edges are not both usual, looks at a key of the tile. Returns false where it may have come here by chance, and be out of
 * order: the sort did not expect it. */
SIMT_DEVICE bool NAME(batch_look_at)(const copse_pack_arguments *a, KEY key)
{
    if (((key ^ (KEY)a->alike) & (KEY)a->alike_mask) != 0) return false;
    /* It may make the tree reach further than it did. */
    if (key < a->low) (void)simt_atomic_max_u64(&a->totals->not_low, ~(uint64_t)key);
    if (key > a->high) (void)simt_atomic_max_u64(&a->totals->high, key);
    return true;
}

/* Keeps those of `ahead` that are wanted behind n others. Returns how many there are then, or more than fit. */
SIMT_DEVICE uint32_t NAME(batch_keep)(const copse_pack_arguments *a, TILE *tile, const OWN_TILE *own, uint32_t from,
                                      uint32_t n)
{
    SIMT_UNROLL
    for (uint32_t k = 0; k < BATCH_AHEAD; k++) {
        if (from + k * SIMT_WARP >= own->to) break;
        const KEY key = own->ahead.keys[k];
        const bool lowest = own->t == 0 && from + k * SIMT_WARP + simt_lane() < own->to;
        const bool mine = key <= own->high && (key > own->low || lowest); /* there is 0 where there are none */
        if (!own->usual && __any_sync(SIMT_FULL_MASK, mine && !NAME(batch_look_at)(a, key))) return UINT32_MAX;
        const uint32_t lanes = __ballot_sync(SIMT_FULL_MASK, mine);
        const uint32_t at = n + (uint32_t)__popc(lanes & ((1u << simt_lane()) - 1u));
        n += (uint32_t)__popc(lanes);
        const bool kept = mine && at < BATCH_EACH * SIMT_WARP;
        if (kept) tile->keys[TILE_ENTRIES - 1u - at] = key;
        if (kept) tile->values[TILE_ENTRIES - 1u - at] = own->ahead.values[k];
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
        places[k] = NAME(batch_place)(tile, coarse, i, n, keys[k]);
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

/* Of operations, one in each lane, which have smaller keys than that of this lane, and which the same. */
typedef struct NAME(batch_others) {
    uint32_t smaller, same;
} NAME(batch_others);

/* By numbers of the lanes, of which n count. They are put where entries will be, but none is there yet. */
SIMT_DEVICE NAME(batch_others) NAME(batch_compare)(TILE *tile, uint32_t n, uint32_t number)
{
    NAME(batch_others) others = {0, 0};
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
/* By all of their keys. */
SIMT_DEVICE NAME(batch_others) NAME(batch_compare_keys)(const TILE *tile, uint32_t n, KEY key)
{
    NAME(batch_others) others = {0, 0};
    SIMT_ROLLED
    for (uint32_t i = 0; i < n; i++) {
        const KEY other = NAME(batch_key)(tile, i);
        if (other < key) others.smaller |= 1u << i;
        if (other == key) others.same |= 1u << i;
    }
    return others;
}

/* Of the bits in which keys of the tile differ, the upper 32. */
SIMT_DEVICE uint32_t NAME(batch_number)(const OWN_TILE *own, KEY key)
{
    const uint32_t upper = (uint32_t)((own->high - own->low) >> 32);
    return (uint32_t)((key - own->low) >> (SIMT_WARP - (uint32_t)__clz((int)upper)));
}
#endif

/* The n first operations, 32 at most. */
SIMT_DEVICE NAME(batch_others) NAME(batch_others_of)(TILE *tile, const OWN_TILE *own, uint32_t n, KEY key)
{
#if KEY_BITS == 64
    const NAME(batch_others) others = NAME(batch_compare)(tile, n, NAME(batch_number)(own, key));
    const bool alike = simt_lane() < n && (others.same & (others.same - 1u)) != 0;
    return __any_sync(SIMT_FULL_MASK, alike) ? NAME(batch_compare_keys)(tile, n, key) : others;
#else
    (void)own;
    return NAME(batch_compare)(tile, n, key);
#endif
}

/* Runs at most 32 as they are, out of order: so many that a lane has one. */
SIMT_DEVICE void NAME(batch_operate_few)(const copse_pack_arguments *a, TILE *tile, const OWN_TILE *own, uint32_t n,
                                         SIZES *sizes)
{
    const uint32_t lane = simt_lane(), wins = a->operations.last_wins, in_front = (1u << lane) - 1u;
    OPERATION operation;
    operation.live = lane < n;
    operation.key = operation.live ? NAME(batch_key)(tile, lane) : 0;
    operation.value = operation.live ? tile->values[TILE_ENTRIES - 1u - lane] : 0;
    operation.action = a->operations.action;
    const NAME(batch_others) others = NAME(batch_others_of)(tile, own, n, operation.key);
    const uint32_t beaten_by = wins ? ~(in_front | 1u << lane) : in_front; /* see operation_dead */
    if (wins <= 1u && others.same & beaten_by) operation.live = false;
    const FATE fate = NAME(tile_judge)(tile, &operation);
    const uint32_t in = __ballot_sync(SIMT_FULL_MASK, fate.inserts);
    sizes->came = (uint32_t)__popc(in);
    NAME(tile_change)(tile, &fate, &operation, fate.before + (uint32_t)__popc(in & others.smaller));
}

/* Runs n of them. */
SIMT_DEVICE bool NAME(batch_operate)(const copse_pack_arguments *a, TILE *tile, const OWN_TILE *own, uint32_t n,
                                     SIZES *sizes)
{
    if (sizes->entries + 2u * n > TILE_ENTRIES) return false;
    if (a->operations.coarse && n <= SIMT_WARP) {
        NAME(batch_operate_few)(a, tile, own, n, sizes);
        __syncwarp(SIMT_FULL_MASK);
        return true;
    }
    NAME(batch_sort)(tile, a->operations.coarse, n);
    for (uint32_t done = 0; done < n; done += SIMT_WARP) {
        const OPERATION operation = NAME(batch_operation)(a, tile, done + simt_lane(), n);
        if (!NAME(tile_operate)(tile, &operation, sizes)) return false;
    }
    __syncwarp(SIMT_FULL_MASK);
    return true;
}

/* The leaves of tile t, where there are so many of all; 0: listed ones do not reach as far as the host thought they might. */
SIMT_DEVICE uint32_t NAME(batch_leaves)(const copse_pack_arguments *a, uint32_t all, uint32_t t)
{
    const uint32_t first = t * a->tile_homes, left = first < all ? all - first : 0;
    return left < a->tile_homes ? left : a->tile_homes;
}

/* Looks where tile t begins and ends, if there is one. */
SIMT_DEVICE void NAME(batch_look)(const copse_pack_arguments *a, uint32_t t, NEXT_TILE *next)
{
    const uint32_t leaves = t < a->tiles ? NAME(batch_leaves)(a, next->all, t) : 0;
    next->t = leaves ? t : a->tiles;
    next->word = next->leaf = 0;
    if (leaves == 0) return;
    if (simt_lane() < 2u * EDGE_WORDS) next->word = ((const uint32_t *)&a->edges[t])[simt_lane()];
    if (a->order && simt_lane() < leaves) next->leaf = a->order[t * a->tile_homes + simt_lane()];
}

/* Sends for leaves that are listed, the number of one in each lane. */
SIMT_DEVICE void NAME(batch_send_listed)(const copse_blink_tree *tree, TILE *tile, uint32_t leaf, uint32_t leaves)
{
    const uint32_t row = simt_lane() / LEAF_PIECES, piece = simt_lane() % LEAF_PIECES;
    const uint32_t fours = SIMT_WARP / LEAF_PIECES; /* as in tile_bring_beside */
    simt_u32x4 *even = &tile->rows[row * LEAF_PIECES + (piece ^ row)];
    simt_u32x4 *odd = &tile->rows[(row + fours) * LEAF_PIECES + (piece ^ (row + fours))];
    const uint64_t own = (uint64_t)(uintptr_t)NAME(leaf_at)(tree, leaf);
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_TILE_LEAVES; r += fours) {
        const uint64_t from = simt_shfl_u64(SIMT_FULL_MASK, own, row + r) + piece * 16u;
        simt_u32x4 *to = r % (2u * fours) ? odd + (r - fours) * LEAF_PIECES : even + r * LEAF_PIECES;
        simt_fetch16_if(row + r < leaves, to, (const void *)(uintptr_t)from);
    }
}

/* Sends for its leaves and the first operations that may be its own. */
SIMT_DEVICE void NAME(batch_send)(const copse_pack_arguments *a, TILE *tile, NEXT_TILE *next)
{
    if (next->t >= a->tiles) return;
    const uint32_t leaves = NAME(batch_leaves)(a, next->all, next->t);
    if (a->order)
        NAME(batch_send_listed)(&a->from, tile, next->leaf, leaves);
    else
        NAME(tile_bring)(&a->from, tile, next->t * a->tile_homes, leaves, false);
    next->ahead = NAME(batch_load)(&a->operations, EDGE_WORD(next, 0, from), EDGE_WORD(next, 1u, to));
}

/* `high` of its edges. */
SIMT_DEVICE KEY NAME(batch_edge)(const NEXT_TILE *next, uint32_t upper)
{
    const uint32_t at = upper * EDGE_WORDS + (uint32_t)offsetof(copse_tile_edge, high) / 4u; /* its lower word */
    KEY high = simt_shfl_u32(SIMT_FULL_MASK, next->word, at);
#if KEY_BITS == 64
    high |= (uint64_t)simt_shfl_u32(SIMT_FULL_MASK, next->word, at + 1u) << 32;
#endif
    return high;
}

/* It is its turn. */
SIMT_DEVICE void NAME(batch_turn)(const copse_pack_arguments *a, const NEXT_TILE *next, OWN_TILE *own)
{
    own->t = next->t;
    own->leaves = NAME(batch_leaves)(a, next->all, next->t);
    own->from = EDGE_WORD(next, 0, from);
    own->to = EDGE_WORD(next, 1u, to);
    own->low = NAME(batch_edge)(next, 0);
    own->high = NAME(batch_edge)(next, 1u);
    own->first = EDGE_WORD(next, 0, first);
    own->end = EDGE_WORD(next, 1u, first);
    own->usual = (EDGE_WORD(next, 0, usual) & EDGE_WORD(next, 1u, usual)) != 0;
    own->ahead = next->ahead;
}

/* Takes in what was sent for, and runs the operations. Returns false where it does not fit. */
SIMT_DEVICE bool NAME(batch_make)(const copse_pack_arguments *a, TILE *tile, OWN_TILE *own, SIZES *sizes,
                                  uint32_t *took)
{
    uint32_t from = own->from, n = 0;
    sizes->leaves = own->leaves;
    NAME(tile_arrive)(tile, sizes);
    while (from < own->to) {
        n = NAME(batch_keep)(a, tile, own, from, n);
        if (n > BATCH_EACH * SIMT_WARP) return false;
        from += BATCH_AHEAD * SIMT_WARP;
        if (from < own->to) own->ahead = NAME(batch_load)(&a->operations, from, own->to);
    }
    __syncwarp(SIMT_FULL_MASK);
    *took += n;
    return n == 0 || NAME(batch_operate)(a, tile, own, n, sizes);
}
