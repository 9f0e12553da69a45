/*
 * Template: tiles (blink_tile.inc.h) that do not wait for each other: each has leaves of the new version for itself, whose numbers
 * follow from how many homes and operations are in front of it. It spreads its entries over these leaves evenly.
 *
 *   tile t          homes t * tile_homes ..       operations behind edge t, up to edge t + 1
 *   its leaves      from (t * tile_homes * leaves_per_home + edges[t].rank * leaves_per_operation) / 2^24 on, to those of the next
 *
 * As long as homes have about as many entries everywhere, so have the new leaves. Where they have not, or have other leaves behind them,
 * all leaves are listed and counted first: a tile is so many leaves then, and the number of entries in front of it takes the place of
 * that of homes. Where a tile has more than its leaves hold, or less than one for each, it stops the work.
 */

/* Leaves that a lane has on their way to memory at a time. */
#define SPREAD_AHEAD 8u

/* Where the leaves of tile t begin, whose edge that is. */
SIMT_DEVICE uint32_t NAME(spread_first)(const copse_pack_arguments *a, uint32_t t, const copse_tile_edge *edge)
{
    uint64_t old;
    if (a->order)
        old = (t < a->tiles ? a->before[t] : a->from.entries) * a->leaves_per_entry;
    else
        old = (t < a->tiles ? (uint64_t)t * a->tile_homes : a->from.homes) * a->leaves_per_home;
    return (uint32_t)((old + edge->rank * a->leaves_per_operation) >> COPSE_LEAVES_BITS);
}

/* How a lane stores its words of leaves that have `size` entries each and lie side by side. */
typedef struct NAME(spread_writer) {
    bool own;             /* are they words of entries?                                            */
    uint32_t at;          /* of the entry of the first leaf, in words from that leaf's first entry */
    uint32_t step;        /* from one leaf to the next, in words                                   */
    uint32_t other, more; /* what else they are, and how much more of it from leaf to leaf   */
} NAME(spread_writer);

/* `leaf` is the first one. */
SIMT_DEVICE NAME(spread_writer)
    NAME(spread_writer_of)(const copse_pack_arguments *a, const ROLE *role, uint32_t size, uint32_t leaf)
{
    const uint32_t lane = simt_lane(), slot = NAME(row_slot)(role, size), words = ROLE_WORDS(role);
    const bool is_next = lane == LEAF_NEXT / 4u && !a->to.forks;
    NAME(spread_writer) writer;
    writer.own = slot < size;
    writer.at = writer.own ? slot * words : 0;
    writer.step = size * words;
    writer.more = is_next ? 1u : 0;
    writer.other = is_next                   ? leaf + 1u
                   : lane == LEAF_STATE / 4u ? size
                   : lane == LEAF_NEXT / 4u  ? COPSE_LEAF_NONE
                                             : role->filler;
    return writer;
}

/* Stores SPREAD_AHEAD leaves at `to`; of the entries of the first, `own` is the lane's word, or would be. */
SIMT_DEVICE void NAME(spread_many)(const NAME(spread_writer) * writer, uint32_t *to, const uint32_t *own,
                                   uint32_t other)
{
    uint32_t word[SPREAD_AHEAD];
    SIMT_UNROLL
    for (uint32_t i = 0; i < SPREAD_AHEAD; i++) {
        word[i] = other;
        other += writer->more;
    }
    if (writer->own) {
        SIMT_UNROLL
        for (uint32_t i = 0; i < SPREAD_AHEAD; i++) {
            word[i] = *own;
            own += writer->step;
        }
    }
    SIMT_UNROLL
    for (uint32_t i = 0; i < SPREAD_AHEAD; i++) to[i * LEAF_WORDS] = word[i];
}

/* Stores n leaves. */
SIMT_DEVICE void NAME(spread_some)(NAME(spread_writer) * writer, uint32_t *to, const uint32_t *own, uint32_t n)
{
    own += writer->at;
    for (; n >= SPREAD_AHEAD; n -= SPREAD_AHEAD) {
        NAME(spread_many)(writer, to, own, writer->other);
        to += SPREAD_AHEAD * LEAF_WORDS;
        own += SPREAD_AHEAD * writer->step;
        writer->other += SPREAD_AHEAD * writer->more;
    }
    for (; n > 0; n--) {
        *to = writer->own ? *own : writer->other;
        to += LEAF_WORDS;
        own += writer->step;
        writer->other += writer->more;
    }
}

/* Stores n leaves of `size` entries each from `leaf` on. The first has entries from `first` on. */
SIMT_DEVICE void NAME(spread_leaves)(const copse_pack_arguments *a, TILE *tile, uint32_t leaf, uint32_t first,
                                     uint32_t size, uint32_t n)
{
    const ROLE role = NAME(row_role_of)(simt_lane());
    NAME(spread_writer) writer = NAME(spread_writer_of)(a, &role, size, leaf);
    while (n > 0) {
        const uint32_t beside = NAME(homes_beside)(&a->to, leaf), some = beside < n ? beside : n;
        uint32_t *to = (uint32_t *)NAME(home_at)(&a->to, leaf) + simt_lane();
        NAME(spread_some)(&writer, to, NAME(tile_own)(tile, &role) + first * ROLE_WORDS(&role), some);
        leaf += some;
        first += some * size;
        n -= some;
    }
}

/* The last leaf of a tile may have keys up to where the tile ends, and that of the last tile has nothing behind it. */
SIMT_DEVICE void NAME(spread_end)(const copse_pack_arguments *a, uint32_t leaf, KEY high)
{
    const ROLE role = NAME(row_role_of)(simt_lane());
    uint32_t *to = (uint32_t *)NAME(home_at)(&a->to, leaf) + simt_lane();
    if (role.high) *to = (uint32_t)((uint64_t)high >> 32u * role.part);
    if (simt_lane() == LEAF_NEXT / 4u && leaf + 1u == a->to.homes) *to = COPSE_LEAF_NONE;
}

/* Stores `count` entries as n leaves from `leaf` on. */
SIMT_DEVICE void NAME(spread_store)(const copse_pack_arguments *a, TILE *tile, uint32_t leaf, uint32_t n,
                                    uint32_t count, KEY high)
{
    const uint32_t size = count / n, larger = count - size * n; /* the first ones have one more */
    NAME(spread_leaves)(a, tile, leaf, 0, size + 1u, larger);
    NAME(spread_leaves)(a, tile, leaf + larger, larger * (size + 1u), size, n - larger);
    NAME(spread_end)(a, leaf + n - 1u, high);
    for (uint32_t i = simt_lane(); i < n; i += SIMT_WARP) {
        const uint32_t behind = (i + 1u) * size + (i < larger ? i + 1u : larger);
        NAME(row_high)(a, leaf + i, i + 1u < n ? tile->keys[behind - 1u] : high);
    }
}

/* Does a tile of which everything is on its way, and sends for the next one in between. Returns false where it does not fit. */
SIMT_DEVICE bool NAME(spread_one)(const copse_pack_arguments *a, TILE *tile, NEXT_TILE *own, NEXT_TILE *next,
                                  WORK *work)
{
    SIZES sizes = {0, 0, 0, 0, 0, 0};
    const uint32_t leaf = NAME(spread_first)(a, own->t, &own->low);
    const uint32_t n = NAME(spread_first)(a, own->t + 1u, &own->high) - leaf;
    if (!NAME(batch_make)(a, tile, own, &sizes, &work->took)) return false;
    const uint32_t count = sizes.entries + sizes.came;
    if (n == 0 || count < n || count > n * LEAF_SLOTS) return false;
    NAME(tile_merge)(tile, &sizes, false);
    NAME(batch_send)(a, tile, next); /* the rows are free now */
    NAME(spread_store)(a, tile, leaf, n, count, (KEY)own->high.high);
    NAME(work_add)(work, &sizes);
    return true;
}

SIMT_KERNEL(NAME(tile_spread), copse_pack_arguments, COPSE_KERNEL_THREADS, COPSE_SPREAD_BLOCKS)
{
    SIMT_SHARED(TILE, tiles, TILE_WARPS);
    TILE *tile = &tiles[simt_warp()];
    const uint32_t warps = gridDim.x * TILE_WARPS;
    WORK work = {0, 0, 0};
    NEXT_TILE own, next;
    NAME(batch_look)(&a, blockIdx.x * TILE_WARPS + simt_warp(), &own);
    NAME(batch_send)(&a, tile, &own);
    for (; own.t < a.tiles; own = next) {
        uint32_t stop = simt_lane() == 0 ? simt_load_relaxed_u32(&a.totals->ticket) : 0;
        NAME(batch_look)(&a, own.t + warps, &next);
        stop = simt_shfl_u32(SIMT_FULL_MASK, stop, 0);
        if (stop) break;
        if (!NAME(spread_one)(&a, tile, &own, &next, &work)) {
            NAME(tiles_stop)(&a);
            break;
        }
        __syncwarp(SIMT_FULL_MASK);
    }
    simt_fetch_wait();
    NAME(work_tell)(&a, &work);
}
