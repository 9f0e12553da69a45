/*
 * Template: ranges of the B-link and the B+ tree in one pass, while no writer is at work: where they begin, their offsets, and the
 * entries of short ones.
 *
 * A block has a tile of ranges, a warp as many of them as it has lanes (or 8), eight at a time. Four lanes take the lower bound of
 * a range down the levels, and load the whole base leaf and the one or two behind it, 16 bytes a lane and half leaf. Mostly those
 * hold all of the range; both ends are found by counting keys, and the entries go to shared memory, one range right behind the
 * other. Where its output begins a tile learns by decoupled look-back, as in blink/rebuild/tile.h, from a word that each tile publishes; then
 * its warps copy what they have in shared memory, in one run each.
 *
 *   words    | SUMMED 940 | COUNTED 1000 | COUNTED 1270 | 0 ...     tile 3 begins at 940 + 1000 + 1270
 *   tile 3   | warp 0: ranges 0 .. 31 | warp 1 | warp 2 | warp 3 |
 *   warp 1   shared memory | 9 entries of its first range | 11 of the next | ... |  -> output, 32 entries at a time
 *
 * For ranges that those leaves do not resolve (overflow chains, branches, or simply more entries) the group walks the upper bound down,
 * too. Where that gives few entries, it copies them to shared memory all the same; else it leaves their locations to `gather`, which
 * cuts its work by output and so takes one range of everything as easily as many of some hundred.
 */
#pragma once

#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/bounds.h"
#include "trees/blink/read/ordered_kernels.h"
#include "trees/blink/read/range.h"

/* Leaves that a group loads: enough for ten entries, mostly. */
#define NEAR_LEAVES (LEAF_SLOTS > 12u ? 2u : 3u)
/* Entries of a range that a warp copies; no more than it has lanes. */
#define NEAR_MOST (NEAR_LEAVES * LEAF_SLOTS)
/* Entries of all ranges of a warp that have room in shared memory. */
#define STAGE_ENTRIES     512u
#define SHORT_RANGE_WARPS (COPSE_KERNEL_THREADS / SIMT_WARP)
/* Blocks that a multiprocessor should have room for. */
#define SHORT_RANGE_BLOCKS (KEY_BITS + VALUE_BITS == 64 ? 8 : 6)
/* A word of a tile: what its value is, and the value. */
#define SHORT_RANGE_COUNTED ((uint64_t)1 << 62)
#define SHORT_RANGE_SUMMED  ((uint64_t)2 << 62)
#define SHORT_RANGE_VALUE   (SHORT_RANGE_COUNTED - 1u)

typedef struct output_stage {
    VALUE values[STAGE_ENTRIES];
    KEY keys[STAGE_ENTRIES];
} output_stage;

/* What the warps of a block exchange through shared memory. */
typedef struct short_range_block {
    uint64_t entries[SHORT_RANGE_WARPS]; /* of the ranges of each */
    uint64_t base;                       /* entries in front of the tile */
    uint32_t tile;
} short_range_block;

/* A range: of a lane that has read it, or of the four lanes that look for it. */
typedef struct short_range_one {
    KEY low, high; /* both belong to it */
    uint64_t leaf; /* where the base leaf lies that the levels led to, and bits that say more */
} short_range_one;
/* That address, which is a multiple of 16; whether NEAR_LEAVES leaves lie side by side from there on. */
#define SHORT_RANGE_AT(range)  ((const char *)((range)->leaf & ~(uint64_t)15))
#define SHORT_RANGE_ALL(range) (((uint32_t)(range)->leaf & 1u) != 0)

/* What was found of a range. */
typedef struct short_range_found {
    uint64_t count, location;
} short_range_found;

/* --- down the levels ------------------------------------------------------------------------------------------------------- */

/* Takes the lower bounds of a warp down the levels, those of two ranges to a group at a time. */
SIMT_DEVICE uint32_t short_range_base_leaves(const copse_device_levels *levels, bool digest, uint32_t per_warp,
                                             walk_bound own)
{
    const uint32_t lane = simt_lane(), group = lane / 4u;
    uint32_t base_leaf = 0;
    for (uint32_t from = 0; from < per_warp; from += 16u) {
        walk_bound x = walk_take(own, from + group, digest);
        walk_bound y = walk_take(own, (from + 8u + group) & (per_warp - 1u), digest);
        walk_pair(levels, digest, &x, &y);
        const uint32_t first = simt_shfl_u32(SIMT_FULL_MASK, x.node, (lane & 7u) * 4u);
        const uint32_t second = simt_shfl_u32(SIMT_FULL_MASK, y.node, (lane & 7u) * 4u);
        if (lane / 16u == from / 16u) base_leaf = lane & 8u ? second : first;
    }
    return base_leaf;
}

/* Where the base leaf lies and whether it has neighbours. */
SIMT_DEVICE uint64_t short_range_leaf(const copse_blink_tree *tree, uint32_t base_leaf)
{
    const bool all =
        base_leaves_contiguous(tree, base_leaf) >= NEAR_LEAVES && tree->base_leaves - base_leaf >= NEAR_LEAVES;
    return (uint64_t)base_leaf_at(tree, base_leaf) + (all ? 1u : 0);
}

/* The range of each lane, those of a warp from `first` on, and the base leaf that its lower bound leads to. */
SIMT_DEVICE short_range_one short_range_read(const copse_blink_range_arguments *a, bool digest, uint32_t first,
                                             uint32_t *out_base_leaf)
{
    const copse_blink_tree *tree = &a->tree;
    const uint32_t at = query_at(a->queries.n, first + (simt_lane() & (a->queries.per_warp - 1u)));
    const KEY low = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->queries.lows + at);
    const KEY high = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a->queries.highs + at);
    report_nan(tree->key_type, low, a->queries.report, COPSE_REPORT_NAN, a->queries.first + at);
    report_nan(tree->key_type, high, a->queries.report, COPSE_REPORT_NAN_HIGH, a->queries.first + at);
    short_range_one range;
    range.low = ENCODE_ONE(tree->key_type, low);
    range.high = ENCODE_ONE(tree->key_type, high);
    const walk_bound bound = walk_start(&tree->levels, digest, range.low);
    *out_base_leaf = query_sorted(a->queries.per_warp, range.low)
                         ? walk_down_alone(&tree->levels, digest, bound)
                         : short_range_base_leaves(&tree->levels, digest, a->queries.per_warp, bound);
    range.leaf = short_range_leaf(tree, *out_base_leaf);
    return range;
}

/* The range that another lane read. */
SIMT_DEVICE short_range_one short_range_take(short_range_one own, uint32_t lane)
{
    short_range_one range;
    range.low = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, own.low, lane);
    range.high = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, own.high, lane);
    range.leaf = simt_shfl_u64(SIMT_FULL_MASK, own.leaf, lane);
    return range;
}

/* --- a few leaves as four lanes hold them ---------------------------------------------------------------------------------- */

/* Bytes 16 * quarter from the beginning and the middle of each leaf on. */
typedef struct near_leaves {
    simt_u32x4 half[NEAR_LEAVES][2];
} near_leaves;

/* Which entries of each leaf belong to the range, from the first one on, in the first leaf from `skip` on, and where they go. */
typedef struct near_spans {
    uint32_t skip, start[NEAR_LEAVES], count[NEAR_LEAVES];
} near_spans;

/* The slot of key j that this lane has of a half, LEAF_SLOTS or more where that is none, and of value j. */
SIMT_DEVICE uint32_t near_key_slot(uint32_t half, uint32_t j)
{
    return half * (512u / KEY_BITS) + (simt_lane() & 3u) * PIECE_KEYS + j;
}

SIMT_DEVICE uint32_t near_value_slot(uint32_t half, uint32_t j)
{
    const uint32_t first = half * (512u / VALUE_BITS) - LEAF_VALUES / (VALUE_BITS / 8u); /* of lane 0; wraps */
    return first + (simt_lane() & 3u) * (128u / VALUE_BITS) + j;
}

/* Has any lane key j (value j) of a half? The compiler knows. */
#define NEAR_ANY_KEY(half, j) ((half) * (512u / KEY_BITS) + (j) < LEAF_SLOTS)
#define NEAR_ANY_VALUE(half, j)                                                                                        \
    ((half) * (512u / VALUE_BITS) + 3u * (128u / VALUE_BITS) + (j) >= LEAF_VALUES / (VALUE_BITS / 8u))

SIMT_DEVICE void near_load(const short_range_one *range, near_leaves *near)
{
    const char *leaf = SHORT_RANGE_AT(range) + (simt_lane() & 3u) * 16u;
    SIMT_UNROLL
    for (uint32_t k = 0; k < NEAR_LEAVES; k++) {
        const uint32_t at = SHORT_RANGE_ALL(range) ? k * COPSE_LEAF_BYTES : 0;
        near->half[k][0] = simt_load16_once(leaf + at);
        near->half[k][1] = simt_load16_once(leaf + at + 64u);
    }
}

/*
 * What a group finds in its leaves, in one sum over its lanes: in bits 0 to 4 keys of the first leaf < low, and in five bits more
 * for each leaf keys <= high; then a bit for each: no entry of the range lies behind it; then a bit for each: it is all that its
 * base leaf has; then a bit: low may be in the first leaf.
 */
#define NEAR_BITS   5u
#define NEAR_MASK   31u
#define NEAR_UPTO   (NEAR_BITS)
#define NEAR_INSIDE (NEAR_BITS * (1u + NEAR_LEAVES))
#define NEAR_SIMPLE (NEAR_INSIDE + NEAR_LEAVES)
#define NEAR_BELOW  (NEAR_SIMPLE + NEAR_LEAVES)

SIMT_DEVICE uint32_t near_keys(const near_leaves *near, uint32_t k, const short_range_one *range)
{
    uint32_t less = 0, upto = 0;
    SIMT_UNROLL
    for (uint32_t half = 0; half < 2u; half++) {
        SIMT_UNROLL
        for (uint32_t j = 0; j < PIECE_KEYS; j++) {
            if (!NEAR_ANY_KEY(half, j)) continue;
            const KEY key = piece_key(near->half[k][half], j);
            const bool is_key = near_key_slot(half, j) < LEAF_SLOTS;
            less += (uint32_t)(is_key && key < range->low);
            upto += (uint32_t)(is_key && key <= range->high);
        }
    }
    return (k == 0 ? less : 0) + (upto << (NEAR_UPTO + k * NEAR_BITS));
}

/* What `high` of a leaf says: of the lane that has it. */
SIMT_DEVICE uint32_t near_highs(const copse_blink_tree *tree, bool digest, const near_leaves *near, uint32_t k,
                                const short_range_one *range)
{
    const bool mine = (simt_lane() & 3u) == LEAF_HIGH % 64u / 16u;
    const KEY high = piece_key(near->half[k][LEAF_HIGH / 64u], LEAF_HIGH % 16u / (KEY_BITS / 8u));
    const bool inside = range->high < high || (tree->unique && range->high == high);
    const bool below = k == 0 && digest && range->low <= high;
    return ((uint32_t)(mine && inside) << (NEAR_INSIDE + k)) + ((uint32_t)(mine && below) << NEAR_BELOW);
}

/* What state and next of a leaf say: of the lane that has them. */
SIMT_DEVICE uint32_t near_links(const copse_blink_tree *tree, const near_leaves *near, uint32_t k)
{
    const bool mine = (simt_lane() & 3u) == LEAF_STATE % 64u / 16u;
    const simt_u32x4 piece = near->half[k][LEAF_STATE / 64u];
    const uint32_t state = piece_word(piece, LEAF_STATE % 16u / 4u);
    const uint32_t next = piece_word(piece, LEAF_NEXT % 16u / 4u);
    const bool pool =
        next - tree->base_leaves < COPSE_LEAF_NONE - tree->base_leaves; /* from `base_leaves` on, but none */
    const bool simple = tree->branches ? !(state & COPSE_LEAF_BRANCH) : !pool;
    return (uint32_t)(mine && simple) << (NEAR_SIMPLE + k);
}

/*
 * Entries of the range in the leaves. False: those leaves do not resolve it. Behind a leaf that the range ends in there are only
 * greater keys, so nothing is counted there; and where high is the largest key, free slots would be counted, which look like it.
 */
SIMT_DEVICE bool near_resolve(uint64_t limit, bool digest, uint32_t sums, const short_range_one *range,
                              uint32_t *out_count, near_spans *spans)
{
    const uint32_t most = limit && limit < NEAR_MOST ? (uint32_t)limit : NEAR_MOST;
    const bool any = range->low <= range->high;
    bool simple = SHORT_RANGE_ALL(range) && range->high != KEY_MAX && (!digest || sums >> NEAR_BELOW & 1u),
         resolved = !any;
    uint32_t count = 0;
    spans->skip = sums & NEAR_MASK;
    SIMT_UNROLL
    for (uint32_t k = 0; k < NEAR_LEAVES; k++) {
        spans->start[k] = count;
        spans->count[k] = (sums >> (NEAR_UPTO + k * NEAR_BITS) & NEAR_MASK) - (k == 0 ? spans->skip : 0);
        count += spans->count[k];
        simple = simple && sums >> (NEAR_SIMPLE + k) & 1u;
        resolved = resolved || (simple && (sums >> (NEAR_INSIDE + k) & 1u || (most < NEAR_MOST && count >= most)));
    }
    if (most < NEAR_MOST) {
        SIMT_UNROLL
        for (uint32_t k = 0; k < NEAR_LEAVES; k++) {
            const uint32_t room = spans->start[k] < most ? most - spans->start[k] : 0;
            if (spans->count[k] > room) spans->count[k] = room;
        }
        if (count > most) count = most;
    }
    *out_count = any ? count : 0;
    return resolved;
}

/* Copies the entries of a range out of the leaves of a group. */
SIMT_DEVICE void near_stage(const near_leaves *near, const near_spans *spans, KEY *keys, VALUE *values)
{
    SIMT_UNROLL
    for (uint32_t k = 0; k < NEAR_LEAVES; k++) {
        const uint32_t skip = k == 0 ? spans->skip : 0, count = spans->count[k];
        SIMT_UNROLL
        for (uint32_t half = 0; half < 2u; half++) {
            SIMT_UNROLL
            for (uint32_t j = 0; j < PIECE_KEYS; j++) {
                const uint32_t i = near_key_slot(half, j) - skip; /* huge where that is in front */
                if (NEAR_ANY_KEY(half, j) && i < count) keys[spans->start[k] + i] = piece_key(near->half[k][half], j);
            }
            SIMT_UNROLL
            for (uint32_t j = 0; j < 128u / VALUE_BITS; j++) {
                const uint32_t i = near_value_slot(half, j) - skip;
                if (NEAR_ANY_VALUE(half, j) && i < count)
                    values[spans->start[k] + i] = piece_value(near->half[k][half], j);
            }
        }
    }
}

/* --- ranges that those leaves do not resolve ---------------------------------------------------------------------------------- */

/* Takes one query of each group down the levels. */
SIMT_DEVICE void walk_one(const copse_device_levels *levels, bool digest, walk_bound *x)
{
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT, quarter = (simt_lane() & 3u) * 16u;
    SIMT_ROLLED
    for (uint32_t l = 0; l < levels->height; l++) {
        const uint32_t less = walk_less(levels->level[l] + (uint64_t)x->node * 64u + quarter, *x, digest);
        x->node = x->node * fanout + walk_group_sum(less);
    }
}

/* Where the range begins: in the first leaf, as a rule. `sums` are those of near_resolve. */
SIMT_DEVICE entry_spot short_range_begin(const copse_blink_tree *tree, bool digest, const short_range_one *range,
                                         uint32_t base_leaf, uint32_t sums)
{
    if (!(sums >> NEAR_SIMPLE & 1u) || (digest && !(sums >> NEAR_BELOW & 1u))) {
        walk_bound low = walk_start(&tree->levels, digest, range->low);
        low.node = base_leaf;
        return spot_alone(tree, low, false);
    }
    entry_spot spot;
    spot.leaf.base_leaf = anchor_find(tree, base_leaf, range->low).anchor;
    spot.leaf.number = base_leaf;
    spot.leaf.child = 0;
    spot.leaf.steps = 0;
    spot.leaf.end = anchor_at(tree, spot.leaf.base_leaf).end;
    spot.leaf.leaf = SHORT_RANGE_AT(range);
    spot.front = spot.entries = 0;
    spot.slot = sums & NEAR_MASK;
    return spot;
}

/* The range whose lower bound led to `base_leaf`, by both its ends, by all lanes of the warp: four have one. */
SIMT_DEVICE short_range_found short_range_find(const copse_blink_range_arguments *a, bool digest,
                                               const short_range_one *range, uint32_t base_leaf, uint32_t sums)
{
    const copse_blink_tree *tree = &a->tree;
    walk_bound bound = walk_start(&tree->levels, digest, bound_key(&tree->unique, range->high, true));
    walk_one(&tree->levels, digest, &bound);
    const leaf_piece piece = piece_load(tree, bound.node);
    const entry_spot high = spot_of_group(tree, digest, bound, piece, true);
    const entry_spot low = short_range_begin(tree, digest, range, base_leaf, sums);
    short_range_found found;
    found.location = spot_location(&low);
    found.count = count_between(a, &low, &high);
    if (a->queries.limit && found.count > a->queries.limit) found.count = a->queries.limit;
    return found;
}

/* Copies `count` entries from a location on by the four lanes of a group. */
SIMT_DEVICE void short_range_stage(const copse_blink_tree *tree, uint64_t location, uint32_t count, KEY *keys,
                                   VALUE *values)
{
    leaf_cursor cursor = cursor_at(tree, (uint32_t)(location >> 32));
    for (uint32_t skip = (uint32_t)location, done = 0; done < count;) {
        const uint32_t entries = leaf_count(cursor.leaf);
        for (uint32_t slot = skip + (simt_lane() & 3u); slot < entries && done + slot - skip < count; slot += 4u) {
            keys[done + slot - skip] = leaf_key(cursor.leaf, slot);
            values[done + slot - skip] = leaf_value(cursor.leaf, slot);
        }
        done += entries > skip ? entries - skip : 0;
        skip -= entries > skip ? skip : entries;
        if (cursor_step(tree, &cursor)) continue;
        if (cursor.base_leaf + 1u >= tree_anchors(tree)) return;
        cursor = cursor_at(tree, cursor.base_leaf + 1u);
    }
}

/* --- the ranges of a warp -------------------------------------------------------------------------------------------------- */

/* Entries of the groups in front of this one. */
SIMT_DEVICE uint32_t groups_in_front(uint32_t count)
{
    uint32_t upto = count;
    SIMT_UNROLL
    for (uint32_t step = 4; step < SIMT_WARP; step *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, upto, step);
        if (simt_lane() >= step) upto += other;
    }
    return upto - count;
}

/*
 * Eight ranges of a warp, four lanes to one: what they have, in all four lanes. The group copies the entries of short ones to
 * shared memory, from *staged on, and the location is COPSE_LOCATION_DONE then; else it is where the entries begin. `base_leaf` is that of this lane's own range, and
 * `range` the one that lane `reader` read.
 */
SIMT_DEVICE short_range_found short_range_eight(const copse_blink_range_arguments *a, bool digest,
                                                const short_range_one *range, uint32_t base_leaf, uint32_t reader,
                                                bool there, output_stage *stage, uint32_t *staged)
{
    near_leaves near;
    near_spans spans;
    uint32_t sums = 0, count;
    near_load(range, &near);
    SIMT_UNROLL
    for (uint32_t k = 0; k < NEAR_LEAVES; k++) {
        sums += near_keys(&near, k, range) + near_highs(&a->tree, digest, &near, k, range);
        sums += near_links(&a->tree, &near, k);
    }
    sums = walk_group_sum(sums);
    const bool resolved = near_resolve(a->queries.limit, digest, sums, range, &count, &spans) || !there;
    short_range_found found;
    found.count = there ? count : 0;
    found.location = 0;
    if (__any_sync(SIMT_FULL_MASK, !resolved)) {
        const short_range_found other =
            short_range_find(a, digest, range, simt_shfl_u32(SIMT_FULL_MASK, base_leaf, reader), sums);
        if (!resolved) found = other;
    }
    const uint32_t size = found.count <= NEAR_MOST ? (uint32_t)found.count : 0;
    const uint32_t at = *staged + groups_in_front(size);
    *staged = simt_shfl_u32(SIMT_FULL_MASK, at + size, SIMT_WARP - 1u);
    const bool fits = found.count <= NEAR_MOST && (at + size <= STAGE_ENTRIES || !size);
    if (__any_sync(SIMT_FULL_MASK, resolved && !fits)) {
        const uint32_t first = simt_shfl_u32(SIMT_FULL_MASK, base_leaf, reader);
        if (resolved) found.location = location_make(anchor_find(&a->tree, first, range->low).anchor, spans.skip);
    }
    if (!fits) return found;
    if (resolved && size) near_stage(&near, &spans, stage->keys + at, stage->values + at);
    if (!resolved && size) short_range_stage(&a->tree, found.location, size, stage->keys + at, stage->values + at);
    found.location = COPSE_LOCATION_DONE;
    return found;
}

/* All ranges of a warp, from `first` on: each lane gets what was found of its own. */
SIMT_DEVICE short_range_found short_range_warp(const copse_blink_range_arguments *a, bool digest, uint32_t first,
                                               output_stage *stage)
{
    const uint32_t lane = simt_lane();
    uint32_t base_leaf;
    const short_range_one own = short_range_read(a, digest, first, &base_leaf);
    short_range_found kept;
    kept.count = 0;
    kept.location = COPSE_LOCATION_DONE;
    uint32_t staged = 0;
    SIMT_ROLLED
    for (uint32_t from = 0; from < a->queries.per_warp; from += 8u) {
        const uint32_t reader = from + lane / 4u;
        const short_range_one range = short_range_take(own, reader);
        const short_range_found found =
            short_range_eight(a, digest, &range, base_leaf, reader, first + reader < a->queries.n, stage, &staged);
        if ((lane & 3u) == from / 8u) kept = found;
    }
    const uint32_t holder = (lane & 7u) * 4u + lane / 8u;
    short_range_found mine;
    mine.count = simt_shfl_u64(SIMT_FULL_MASK, kept.count, holder);
    mine.location = simt_shfl_u64(SIMT_FULL_MASK, kept.location, holder);
    return mine;
}

/* --- output ---------------------------------------------------------------------------------------------------------------- */

/* Copies `count` entries from shared memory to position `to` of the output. */
SIMT_DEVICE void stage_copy(const copse_blink_short_range_arguments *a, const output_stage *stage, uint32_t from,
                            uint64_t to, uint32_t count)
{
    const uint64_t room = a->capacity > to ? a->capacity - to : 0;
    if (count > room) count = (uint32_t)room;
    if (a->keys)
        for (uint32_t i = simt_lane(); i < count; i += SIMT_WARP) COPSE_BITS(simt_store_once_u, KEY_BITS)
    ((KEY *)a->keys + to + i, DECODE_ONE(a->ranges.tree.key_type, stage->keys[from + i]));
    if (a->values)
        for (uint32_t i = simt_lane(); i < count; i += SIMT_WARP)
            COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->values + to + i, stage->values[from + i]);
}

/* Of numbers of all lanes, the sum up to this lane's own. */
SIMT_DEVICE uint64_t lanes_upto(uint64_t own)
{
    SIMT_UNROLL
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint64_t other = simt_shfl_up_u64(SIMT_FULL_MASK, own, step);
        if (simt_lane() >= step) own += other;
    }
    return own;
}

/* Where not all ranges of a warp are in shared memory; `at` is the position of the first entry of each. */
SIMT_DEVICE void stage_copy_some(const copse_blink_short_range_arguments *a, const output_stage *stage,
                                 const short_range_found *own, uint64_t at)
{
    const uint32_t size = own->location == COPSE_LOCATION_DONE ? (uint32_t)own->count : 0;
    const uint32_t from = (uint32_t)lanes_upto(size) - size;
    for (uint32_t lane = 0; lane < SIMT_WARP; lane++)
        stage_copy(a, stage, simt_shfl_u32(SIMT_FULL_MASK, from, lane), simt_shfl_u64(SIMT_FULL_MASK, at, lane),
                   simt_shfl_u32(SIMT_FULL_MASK, size, lane));
}

/* Short ranges that had no room in shared memory go through it now, eight at a time. */
SIMT_DEVICE void stage_late(const copse_blink_short_range_arguments *a, output_stage *stage,
                            const short_range_found *own, bool late, uint64_t at)
{
    const uint32_t size = late ? (uint32_t)own->count : 0, group = simt_lane() / 4u;
    for (uint32_t from = 0; from < SIMT_WARP; from += 8u) {
        const uint64_t location = simt_shfl_u64(SIMT_FULL_MASK, own->location, from + group);
        const uint32_t count = simt_shfl_u32(SIMT_FULL_MASK, size, from + group), to = group * NEAR_MOST;
        __syncwarp(SIMT_FULL_MASK);
        if (count) short_range_stage(&a->ranges.tree, location, count, stage->keys + to, stage->values + to);
        __syncwarp(SIMT_FULL_MASK);
        for (uint32_t i = 0; i < 8u; i++)
            stage_copy(a, stage, i * NEAR_MOST, simt_shfl_u64(SIMT_FULL_MASK, at, from + i),
                       simt_shfl_u32(SIMT_FULL_MASK, size, from + i));
    }
}

/* What a warp knows of its ranges: offsets, locations, entries. `base` is the position of its first entry. */
SIMT_DEVICE void short_range_store(const copse_blink_short_range_arguments *a, output_stage *stage, uint32_t first,
                                   const short_range_found *own, uint64_t upto, uint64_t base)
{
    const uint32_t mine = first + simt_lane();
    const bool wide = own->count > NEAR_MOST, late = own->location != COPSE_LOCATION_DONE && !wide;
    if (simt_lane() < a->ranges.queries.per_warp && mine < a->ranges.queries.n) {
        simt_store_once_u64(a->offsets + mine + 1u, base + upto);
        simt_store_once_u64(a->ranges.queries.locations + mine, wide ? own->location : COPSE_LOCATION_DONE);
        if (mine == 0) a->offsets[0] = 0;
    }
    if (!__any_sync(SIMT_FULL_MASK, wide || late)) {
        stage_copy(a, stage, 0, base, (uint32_t)simt_shfl_u64(SIMT_FULL_MASK, upto, SIMT_WARP - 1u));
        return;
    }
    const uint64_t at = base + upto - own->count;
    if (wide) simt_store_relaxed_u32(&a->state->left, 1u);
    stage_copy_some(a, stage, own, at);
    if (__any_sync(SIMT_FULL_MASK, late)) stage_late(a, stage, own, late, at);
}

/* --- tiles ----------------------------------------------------------------------------------------------------------------- */

/* Entries of the tiles in front of tile t; lane i looks at i + 1 tiles in front. A word says all there is to know, and so relaxed
 * accesses do. */
SIMT_DEVICE uint64_t short_range_look_back(const uint64_t *words, uint32_t t)
{
    const uint32_t lane = simt_lane();
    uint64_t sum = 0;
    for (;;) {
        const uint64_t word = lane < t ? simt_load_relaxed_u64(&words[t - 1u - lane]) : SHORT_RANGE_SUMMED;
        const uint32_t sums = __ballot_sync(SIMT_FULL_MASK, word >= SHORT_RANGE_SUMMED);
        const uint32_t none = __ballot_sync(SIMT_FULL_MASK, word == 0);
        const uint32_t wanted = sums ^ (sums - 1u); /* the lanes up to the first sum, or all */
        if (none & wanted) {
            simt_yield();
            continue;
        }
        uint64_t value = wanted >> lane & 1u ? word & SHORT_RANGE_VALUE : 0;
        SIMT_UNROLL
        for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) value += simt_shfl_xor_u64(SIMT_FULL_MASK, value, d);
        sum += value;
        if (sums) return sum;
        t -= SIMT_WARP;
    }
}

/* Where the output of a tile begins, for the first warp; all have said how many entries they have. */
SIMT_DEVICE void short_range_base(const copse_blink_short_range_arguments *a, short_range_block *block, uint32_t t)
{
    uint64_t entries = 0;
    for (uint32_t w = 0; w < SHORT_RANGE_WARPS; w++) entries += block->entries[w];
    if (simt_lane() == 0) simt_store_relaxed_u64(&a->words[t], SHORT_RANGE_COUNTED | entries);
    const uint64_t base = short_range_look_back(a->words, t);
    if (simt_lane() != 0) return;
    simt_store_relaxed_u64(&a->words[t], SHORT_RANGE_SUMMED | (base + entries));
    block->base = base;
}

/* Blocks take tiles by tickets, in order: the tiles that one waits for are at work already. A block takes the next ticket when it has
 * nothing more to wait for, and the ticket arrives while the block stores this tile. */
SIMT_DEVICE void short_range_tiles(const copse_blink_short_range_arguments *a, bool digest, output_stage *stage,
                                   short_range_block *block)
{
    const uint32_t warp = simt_warp();
    uint32_t next = threadIdx.x == 0 ? simt_atomic_add_u32(&a->state->ticket, 1u) : 0;
    for (;;) {
        if (threadIdx.x == 0) block->tile = next;
        __syncthreads();
        const uint32_t t = block->tile, first = (t * SHORT_RANGE_WARPS + warp) * a->ranges.queries.per_warp;
        if (t >= a->tiles) return;
        const short_range_found own = short_range_warp(&a->ranges, digest, first, stage);
        const uint64_t upto = lanes_upto(own.count);
        if (simt_lane() == SIMT_WARP - 1u) block->entries[warp] = upto;
        __syncthreads();
        if (warp == 0) short_range_base(a, block, t);
        if (threadIdx.x == 0) next = simt_atomic_add_u32(&a->state->ticket, 1u);
        __syncthreads();
        uint64_t base = block->base;
        for (uint32_t w = 0; w < warp; w++) base += block->entries[w];
        short_range_store(a, stage, first, &own, upto, base);
        __syncwarp(SIMT_FULL_MASK);
    }
}

SIMT_KERNEL(NAME(short_range_full), copse_blink_short_range_arguments, COPSE_KERNEL_THREADS, SHORT_RANGE_BLOCKS)
{
    SIMT_SHARED(output_stage, stages, SHORT_RANGE_WARPS);
    SIMT_SHARED(short_range_block, block, 1);
    short_range_tiles(&a, false, &stages[simt_warp()], block);
}

#if KEY_BITS == 64
SIMT_KERNEL(NAME(short_range_digest), copse_blink_short_range_arguments, COPSE_KERNEL_THREADS, SHORT_RANGE_BLOCKS)
{
    SIMT_SHARED(output_stage, stages, SHORT_RANGE_WARPS);
    SIMT_SHARED(short_range_block, block, 1);
    short_range_tiles(&a, true, &stages[simt_warp()], block);
}
#endif
