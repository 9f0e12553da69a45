/* Template: a page of the paged tree, and bounds in the tree. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/paged/kernels.h"

#define LEAF_SLOTS (COPSE_PAGED_LEAF_BYTES * 8u / KEY_BITS)
#define LINE_KEYS  (512u / KEY_BITS) /* separators of a line of 64 bytes */

SIMT_DEVICE char *page_of(const copse_paged_tree *tree, uint32_t row)
{
    return (char *)(uintptr_t)tree->pages[row];
}

SIMT_DEVICE KEY *page_keys(const copse_paged_tree *tree, char *page)
{
    return (KEY *)(page + tree->keys_at);
}

SIMT_DEVICE VALUE *page_values(const copse_paged_tree *tree, char *page)
{
    return (VALUE *)(page + tree->values_at);
}

SIMT_DEVICE uint16_t *page_ends(const copse_paged_tree *tree, char *page)
{
    return (uint16_t *)(page + tree->ends_at);
}

SIMT_DEVICE KEY *page_separators(const copse_paged_tree *tree, char *page)
{
    return (KEY *)(page + tree->separators_at);
}

/* Entries in front of a leaf. */
SIMT_DEVICE uint32_t leaf_begin(const copse_paged_tree *tree, char *page, uint32_t leaf)
{
    return leaf ? page_ends(tree, page)[leaf - 1u] : 0u;
}

/* The slot of the entry with that rank in its page, which is there. */
SIMT_DEVICE uint32_t page_slot(const copse_paged_tree *tree, char *page, uint32_t rank)
{
    const uint16_t *ends = page_ends(tree, page);
    uint32_t leaf = 0;
    for (uint32_t step = tree->leaves / 2u; step > 0; step /= 2u)
        if (ends[leaf + step - 1u] <= rank) leaf += step;
    return leaf * LEAF_SLOTS + rank - leaf_begin(tree, page, leaf);
}

/* Keys less than q in so many lines of 64 bytes. All loads are under way together, where halving would make them wait for each other:
 * so a lane alone waits once for each node on its way down. */
SIMT_DEVICE uint32_t keys_before(const void *lines, uint32_t n, KEY q)
{
    uint32_t before = 0;
    SIMT_UNROLL
    for (uint32_t i = 0; i < n * 4u; i++) {
        const simt_u32x4 v = simt_load16((const char *)lines + i * 16u);
        SIMT_UNROLL
        for (uint32_t j = 0; j < PIECE_KEYS; j++) before += (uint32_t)(piece_key(v, j) < q);
    }
    return before;
}

/* The line of the top to look at; only pages of large orders have more than one. */
SIMT_DEVICE uint32_t top_line(const copse_paged_tree *tree, const char *page, KEY q)
{
    uint32_t top = 0;
    for (uint32_t step = tree->top_lines / 2u; step > 0; step /= 2u)
        if (((const KEY *)(page + COPSE_PAGED_TOP_AT))[(top + step) * LINE_KEYS - 1u] < q) top += step;
    return top;
}

/* --- bounds, one lane to a query ------------------------------------------------------------------------------------------- */

/* Where the first key >= q is, or would be. */
typedef struct place {
    uint32_t row, leaf;
    uint32_t slot; /* in the leaf */
    uint32_t rank; /* in the page */
    bool equal;    /* q itself is there; where keys may repeat it may be elsewhere, too */
} place;

SIMT_DEVICE uint32_t row_of(const copse_paged_tree *tree, KEY q)
{
    uint32_t row = 0;
    for (uint32_t l = 0; l < tree->levels.height; l++)
        row = row * FULL_FANOUT + keys_before(tree->levels.level[l] + (uint64_t)row * 64u, 1, q);
    return row;
}

/* The same from the row on that the levels lead to. */
SIMT_DEVICE place place_in(const copse_paged_tree *tree, uint32_t row, KEY q)
{
    place to;
    to.row = row;
    char *page = page_of(tree, to.row);
    const uint32_t top = top_line(tree, page, q);
    const uint32_t line = top * LINE_KEYS + keys_before(page + COPSE_PAGED_TOP_AT + top * 64u, 1, q);
    to.leaf = line * LINE_KEYS + keys_before(page + tree->separators_at + line * 64u, 1, q);
    const KEY *keys = page_keys(tree, page) + to.leaf * LEAF_SLOTS;
    const uint32_t begin = leaf_begin(tree, page, to.leaf);
    to.slot = keys_before(keys, COPSE_PAGED_LEAF_BYTES / 64u, q);
    to.rank = begin + to.slot;
    to.equal = to.rank < page_ends(tree, page)[to.leaf] && keys[to.slot] == q;
    return to;
}

SIMT_DEVICE place place_of(const copse_paged_tree *tree, KEY q)
{
    return place_in(tree, row_of(tree, q), q);
}

SIMT_DEVICE uint64_t location_of(uint32_t row, uint32_t rank)
{
    return ((uint64_t)row << COPSE_PAGED_LOCATION_SHIFT) + rank;
}

SIMT_DEVICE uint32_t location_row(uint64_t location)
{
    return (uint32_t)(location >> COPSE_PAGED_LOCATION_SHIFT);
}

SIMT_DEVICE uint32_t location_rank(uint64_t location)
{
    return (uint32_t)(location & ((1u << COPSE_PAGED_LOCATION_SHIFT) - 1u));
}

/* The location of a bound whose key went through bound_key. row: where the host has noted it; NULL: it has not. */
SIMT_DEVICE uint64_t bound_location(const copse_paged_tree *tree, KEY q, bool upper, const uint32_t *row)
{
    if (upper && !tree->unique && q == 0) return location_of(tree->rows - 1u, tree->counts[tree->rows - 1u]);
    const place at = place_in(tree, row ? *row : row_of(tree, q), q);
    return location_of(at.row, at.rank + (uint32_t)(upper && tree->unique && at.equal));
}

SIMT_DEVICE uint64_t location_number(const copse_paged_tree *tree, uint64_t location)
{
    return tree->before[location_row(location)] + location_rank(location);
}

/* --- entries by location -------------------------------------------------------------------------------------------------- */

/* The last row from `row` on with before[row] <= rank, in steps that grow: mostly it is near. */
SIMT_DEVICE uint32_t row_from(const copse_paged_tree *tree, uint32_t row, uint64_t rank)
{
    uint32_t step = 1;
    while (row + step < tree->rows && tree->before[row + step] <= rank) {
        row += step;
        step *= 2u;
    }
    for (; step > 0; step /= 2u)
        if (row + step < tree->rows && tree->before[row + step] <= rank) row += step;
    return row;
}

/* An entry that is there, `beyond` entries behind a location. */
typedef struct entry_at {
    char *page;
    uint32_t row, slot;
} entry_at;

SIMT_DEVICE entry_at entry_of(const copse_paged_tree *tree, uint64_t location, uint64_t beyond)
{
    entry_at at;
    uint64_t rank = location_rank(location) + beyond;
    at.row = location_row(location);
    if (rank >= tree->counts[at.row]) {
        rank += tree->before[at.row];
        at.row = row_from(tree, at.row, rank);
        rank -= tree->before[at.row];
    }
    at.page = page_of(tree, at.row);
    at.slot = page_slot(tree, at.page, (uint32_t)rank);
    return at;
}

/* --- runs, when the tree changes ------------------------------------------------------------------------------------------- */

SIMT_DEVICE uint32_t low_half(uint64_t packed)
{
    return (uint32_t)packed;
}

SIMT_DEVICE uint32_t high_half(uint64_t packed)
{
    return (uint32_t)(packed >> 32);
}

SIMT_DEVICE uint32_t element_does(uint32_t what)
{
    return what >> COPSE_PAGED_DOES_SHIFT;
}

SIMT_DEVICE uint32_t element_leaf(uint32_t what)
{
    return what >> COPSE_PAGED_LEAF_SHIFT & 0xfffu;
}

SIMT_DEVICE uint32_t element_rank(uint32_t what)
{
    return what & 0xffffu;
}
