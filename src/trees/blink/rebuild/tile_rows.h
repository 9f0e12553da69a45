/* Template: the leaves of a tile (rebuild/tile.h): a warp fetches them into shared memory and moves their entries to
 * new positions. */
#pragma once

#include "trees/blink/node/leaf.h"
#include "trees/blink/node/row.h"
#include "trees/blink/rebuild/arguments.h"
#include "trees/blink/rebuild/tile.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* A word of a row. The pieces of a row, 16 bytes each, are swapped by the number of the row, so that lanes which read
 * the same piece of their rows use all banks. */
SIMT_DEVICE uint32_t *tile_word(leaf_tile *tile, uint32_t row, uint32_t word)
{
    return (uint32_t *)tile->rows + row * LEAF_WORDS + (word ^ row % LEAF_PIECES * 4u);
}

/* The key of a row that begins with that word. */
SIMT_DEVICE KEY tile_key(leaf_tile *tile, uint32_t row, uint32_t word)
{
    const uint32_t *at = tile_word(tile, row, word);
#if KEY_BITS == 64
    return (uint64_t)at[1] << 32 | at[0];
#else
    return *at;
#endif
}

SIMT_DEVICE void tile_set_value(leaf_tile *tile, uint32_t row, uint32_t slot, VALUE value)
{
    uint32_t *at = tile_word(tile, row, LEAF_VALUES / 4u + slot * ROW_VALUE);
    at[0] = (uint32_t)value;
#if VALUE_BITS == 64
    at[1] = (uint32_t)(value >> 32);
#endif
}

/* The sum of `value` over this lane and those in front of it. */
SIMT_DEVICE uint32_t warp_running(uint32_t value)
{
    const uint32_t lane = simt_lane();
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, value, d);
        if (lane >= d) value += other;
    }
    return value;
}

/*
 * Counts the leaves of so many anchors from `first` on, an anchor per lane, and lists as many as a tile has room for, those behind
 * the first `skip`. Where there are only the base leaves it makes no list.
 */
SIMT_DEVICE uint32_t tile_list(const copse_blink_tree *tree, uint32_t first, uint32_t anchors, uint32_t skip,
                               uint32_t *leaves)
{
    const bool any = simt_lane() < anchors;
    const leaf_cursor start = cursor_of(tree, first + simt_lane(), anchors_at(tree, first));
    leaf_cursor cursor = start;
    uint32_t own = 0;
    for (bool more = any; more; more = cursor_step(tree, &cursor)) own++;
    const uint32_t running = warp_running(own), all = simt_shfl_u32(SIMT_FULL_MASK, running, SIMT_WARP - 1u);
    uint32_t at = running - own - skip; /* in the list; in front of it: modulo 2^32 */
    cursor = start;
    const bool lists = all > anchors || tree->directory_entries;
    for (bool more = any && lists; more; more = cursor_step(tree, &cursor), at++)
        if (at < COPSE_TILE_LEAVES) leaves[at] = cursor.number;
    __syncwarp(SIMT_FULL_MASK);
    return all;
}

/* Entries of so many anchors from `first` on. */
SIMT_DEVICE uint32_t tile_entries(const copse_blink_tree *tree, uint32_t first, uint32_t anchors)
{
    leaf_cursor cursor = cursor_of(tree, first + simt_lane(), anchors_at(tree, first));
    uint32_t own = 0;
    for (bool more = simt_lane() < anchors; more; more = cursor_step(tree, &cursor))
        own += leaf_state(cursor.leaf) & COPSE_LEAF_COUNT;
    return simt_shfl_u32(SIMT_FULL_MASK, warp_running(own), SIMT_WARP - 1u);
}

/* Fetches leaves that lie one behind the other into the rows. */
SIMT_DEVICE void tile_bring_contiguous(leaf_tile *tile, const char *from, uint32_t leaves)
{
    const uint32_t row = simt_lane() / LEAF_PIECES, piece = simt_lane() % LEAF_PIECES;
    const uint32_t fours = SIMT_WARP / LEAF_PIECES; /* rows that a warp fetches at once */
    simt_u32x4 *even = &tile->rows[row * LEAF_PIECES + (piece ^ row)];
    simt_u32x4 *odd = &tile->rows[(row + fours) * LEAF_PIECES + (piece ^ (row + fours))];
    from += simt_lane() * 16u;
    SIMT_UNROLL
    for (uint32_t r = 0; r < COPSE_TILE_LEAVES; r += 2u * fours) {
        simt_fetch16_if(row + r < leaves, even + r * LEAF_PIECES, from + r * COPSE_LEAF_BYTES);
        simt_fetch16_if(row + r + fours < leaves, odd + r * LEAF_PIECES, from + (r + fours) * COPSE_LEAF_BYTES);
    }
}

/* ... wherever they lie: those that are listed, or else base leaves from `first` on. */
SIMT_DEVICE void tile_bring_each(const copse_blink_tree *tree, leaf_tile *tile, uint32_t first, uint32_t leaves,
                                 bool listed)
{
    const uint32_t piece = simt_lane() % LEAF_PIECES;
    for (uint32_t row = simt_lane() / LEAF_PIECES; row < leaves; row += SIMT_WARP / LEAF_PIECES) {
        const char *leaf = leaf_at(tree, listed ? tile->leaves[row] : first + row);
        simt_fetch16(&tile->rows[row * LEAF_PIECES + (piece ^ row % LEAF_PIECES)], leaf + piece * 16u);
    }
}

/* Fetches leaves without waiting for them. */
SIMT_DEVICE void tile_bring(const copse_blink_tree *tree, leaf_tile *tile, uint32_t first, uint32_t leaves, bool listed)
{
    if (listed || base_leaves_contiguous(tree, first) < leaves)
        tile_bring_each(tree, tile, first, leaves, listed);
    else
        tile_bring_contiguous(tile, base_leaf_at(tree, first), leaves);
}

/* Counts the entries of the rows, before any operation runs. */
SIMT_DEVICE void tile_count(leaf_tile *tile, tile_sizes *sizes)
{
    const uint32_t lane = simt_lane();
    const bool any = lane < sizes->leaves;
    sizes->count = any ? *tile_word(tile, lane, LEAF_STATE / 4u) & COPSE_LEAF_COUNT : 0;
    tile->highs[lane] = any ? tile_key(tile, lane, LEAF_HIGH / 4u) : KEY_MAX;
    const uint32_t running = warp_running(sizes->count);
    sizes->front = running - sizes->count;
    sizes->entries = simt_shfl_u32(SIMT_FULL_MASK, running, SIMT_WARP - 1u);
    sizes->came = sizes->went = 0;
    tile->fronts[lane] = sizes->front;
    tile->changes[lane] = 0;
    if (lane < TILE_WORDS) tile->inserted[lane] = tile->removed[lane] = 0;
    __syncwarp(SIMT_FULL_MASK);
}

/* Waits for the leaves that tile_bring fetches. */
SIMT_DEVICE void tile_arrive(leaf_tile *tile, tile_sizes *sizes)
{
    simt_fetch_wait();
    __syncwarp(SIMT_FULL_MASK);
    tile_count(tile, sizes);
}

/* Fetches the leaves of tile t into shared memory, as many as fit behind the first `skip`. Returns false where there are too many even
 * to be moved piece by piece. */
SIMT_DEVICE bool tile_load(const copse_rebuild_arguments *a, leaf_tile *tile, uint32_t t, uint32_t skip,
                           tile_sizes *sizes)
{
    const uint32_t first = t * a->tile_base_leaves, left = tree_anchors(&a->from) - first;
    const uint32_t anchors = left < a->tile_base_leaves ? left : a->tile_base_leaves;
    const uint32_t all = a->chains ? tile_list(&a->from, first, anchors, skip, tile->leaves) : anchors;
    if (all > TILE_PIECES * COPSE_TILE_LEAVES) return false;
    sizes->leaves = all - skip < COPSE_TILE_LEAVES ? all - skip : COPSE_TILE_LEAVES;
    sizes->behind = all - skip - sizes->leaves;
    sizes->all = sizes->behind && skip == 0 ? tile_entries(&a->from, first, anchors) : 0;
    tile_bring(&a->from, tile, first, sizes->leaves, all > anchors || a->from.directory_entries);
    tile_arrive(tile, sizes);
    return true;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* Bits of a set from position `at` on: at least 32 of them. */
SIMT_DEVICE uint64_t tile_bits(const uint32_t *set, uint32_t at)
{
    return ((uint64_t)set[at / 32u + 1u] << 32 | set[at / 32u]) >> at % 32u;
}

/* A row in the registers of its lane. */
typedef struct tile_leaf {
    uint32_t word[LEAF_WORDS];
} tile_leaf;

/* Its entries. `slot` has to be known to the compiler. */
SIMT_DEVICE KEY tile_leaf_key(const tile_leaf *leaf, uint32_t slot)
{
#if KEY_BITS == 64
    return (uint64_t)leaf->word[slot * 2u + 1u] << 32 | leaf->word[slot * 2u];
#else
    return leaf->word[slot];
#endif
}

SIMT_DEVICE VALUE tile_leaf_value(const tile_leaf *leaf, uint32_t slot)
{
#if VALUE_BITS == 64
    const uint32_t value = LEAF_VALUES / 4u + slot * 2u;
    return (uint64_t)leaf->word[value + 1u] << 32 | leaf->word[value];
#else
    return leaf->word[LEAF_VALUES / 4u + slot];
#endif
}

/* Moves the entries of this lane's leaf, but for those in `gone`, to the positions that `free` has a bit for, from `to`
 * on. */
SIMT_DEVICE void row_scatter(leaf_tile *tile, uint32_t count, uint32_t gone, uint32_t free, uint32_t to)
{
    const simt_u32x4 *row = tile->rows + simt_lane() * LEAF_PIECES;
    tile_leaf leaf;
    SIMT_UNROLL
    for (uint32_t p = 0; p < LEAF_PIECES; p++) {
        const simt_u32x4 piece = row[p ^ simt_lane() % LEAF_PIECES];
        leaf.word[p * 4u] = piece.x;
        leaf.word[p * 4u + 1u] = piece.y;
        leaf.word[p * 4u + 2u] = piece.z;
        leaf.word[p * 4u + 3u] = piece.w;
    }
    SIMT_UNROLL
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot++) {
        const bool stays = slot < count && !(gone >> slot & 1u);
        const uint32_t at = to + (uint32_t)__ffs((int)free) - 1u;
        COPSE_BITS(simt_shared_put_if_u, KEY_BITS)(stays, tile->keys, at, tile_leaf_key(&leaf, slot));
        COPSE_BITS(simt_shared_put_if_u, VALUE_BITS)(stays, tile->values, at, tile_leaf_value(&leaf, slot));
        if (stays || gone == 0) free &= free - 1u;
    }
}

/* The same where operations insert so many entries into a leaf that its positions reach further than the bits of a
 * word. */
SIMT_DEVICE void row_scatter_far(leaf_tile *tile, uint32_t count, uint32_t gone, uint32_t to)
{
    for (uint32_t slot = 0; slot < count; slot++) {
        if (gone >> slot & 1u) continue;
        while (tile->inserted[to / 32u] >> to % 32u & 1u) to++;
        const uint32_t *value = tile_word(tile, simt_lane(), LEAF_VALUES / 4u + slot * ROW_VALUE);
        tile->keys[to] = tile_key(tile, simt_lane(), slot * ROW_KEY);
#if VALUE_BITS == 64
        tile->values[to] = (uint64_t)value[1] << 32 | value[0];
#else
        tile->values[to] = *value;
#endif
        to++;
    }
}

/* Moves the entries of all rows to their positions. removes: operations may have removed some. */
SIMT_DEVICE void tile_merge(leaf_tile *tile, const tile_sizes *sizes, bool removes)
{
    const uint32_t changes = tile->changes[simt_lane()], came = changes & 0xffffu;
    uint32_t to = sizes->front, gone = 0;
    if (sizes->came + sizes->went) {
        const uint32_t in_front = warp_running(changes) - changes;
        to += (in_front & 0xffffu) - (in_front >> 16);
        if (removes) gone = (uint32_t)tile_bits(tile->removed, sizes->front);
    }
    if (__any_sync(SIMT_FULL_MASK, sizes->count + came > 32u))
        row_scatter_far(tile, sizes->count, gone, to);
    else
        row_scatter(tile, sizes->count, gone, ~(uint32_t)tile_bits(tile->inserted, to), to);
    __syncwarp(SIMT_FULL_MASK);
}
