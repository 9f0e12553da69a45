/*
 * Template: leaves of the B-link and the B+ tree as a reader sees them while a writer may be at work, and lookups by it.
 *
 * A reader takes no latches: the state of a leaf is a sequence lock. The reader loads the state, the content, and the state again.
 * Where that is the same and was not latched, no writer changed the leaf in between, and the read is consistent. In a B+ tree the
 * writer latches the base leaf, so the reader checks the state of the base leaf, whichever of its leaves it reads.
 *
 * Leaves keep their lower bound for ever; a split only lowers `high` and puts a new leaf behind. So consistent reads of one leaf
 * after the other, each beginning where the last one ended, cover all keys once, whatever a writer does in between. Two of them may show
 * the tree at different times.
 */
#pragma once

#include "gpu/levels_walk.h"
#include "gpu/queries.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/read/arguments.h"

/* A consistent read of a leaf. */
typedef struct leaf_read {
    KEY key[LEAF_SLOTS];
    VALUE value[LEAF_SLOTS];
    uint32_t count;
    KEY high;
    uint32_t
        next; /* leaf of the same base leaf to go on with: a number (B-link), or COPSE_LEAF_NONE where this was the last one */
} leaf_read;

SIMT_DEVICE uint32_t peek_u32(const char *at)
{
    return simt_load_relaxed_u32((const uint32_t *)at);
}

SIMT_DEVICE KEY peek_key(const char *leaf, uint32_t slot)
{
    return COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((const KEY *)leaf + slot);
}

SIMT_DEVICE KEY peek_high(const char *leaf)
{
    return COPSE_BITS(simt_load_relaxed_u, KEY_BITS)((const KEY *)(leaf + LEAF_HIGH));
}

SIMT_DEVICE VALUE peek_value(const char *leaf, uint32_t slot)
{
    return COPSE_BITS(simt_load_relaxed_u, VALUE_BITS)((const VALUE *)(leaf + LEAF_VALUES) + slot);
}

/* Waits until no writer has latched the leaf; its state. */
SIMT_DEVICE uint32_t peek_begin(const char *leaf)
{
    for (;;) {
        const uint32_t state = simt_load_acquire_u32((const uint32_t *)(leaf + LEAF_STATE));
        if (!(state & COPSE_LEAF_LATCH)) return state;
        simt_yield();
    }
}

/* Is what the reader has loaded since peek_begin consistent? */
SIMT_DEVICE bool peek_end(const char *leaf, uint32_t state)
{
    __threadfence(); /* the loads above come before the one below */
    return peek_u32(leaf + LEAF_STATE) == state;
}

/* Loads all of a leaf; peek_end says whether it is consistent. */
SIMT_DEVICE void peek_all(const char *leaf, uint32_t state, leaf_read *out)
{
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        out->key[i] = peek_key(leaf, i);
        out->value[i] = peek_value(leaf, i);
    }
    out->count = state & COPSE_LEAF_COUNT;
    out->high = peek_high(leaf);
}

/* The leaf of a branch where q belongs. The numbers in a branch are those of leaves at every moment, so one that is wrong, because the
 * branch was changed meanwhile, does no harm. */
SIMT_DEVICE uint32_t peek_child(const char *branch, uint32_t state, KEY q)
{
    const uint32_t count = state & COPSE_LEAF_COUNT;
    uint32_t child = 0;
    while (child + 1u < count && peek_key(branch, child) < q) child++;
    return peek_u32(branch + LEAF_VALUES + child * 4u);
}

/* B-link: leaf `number`. */
SIMT_DEVICE void read_linked(const copse_blink_tree *tree, uint32_t number, leaf_read *out)
{
    const char *leaf = leaf_at(tree, number);
    uint32_t state;
    do {
        state = peek_begin(leaf);
        peek_all(leaf, state, out);
        out->next = peek_u32(leaf + LEAF_NEXT);
    } while (!peek_end(leaf, state));
    if (out->next < tree->base_leaves) out->next = COPSE_LEAF_NONE;
}

/* B+: the leaf of a base leaf where q belongs. */
SIMT_DEVICE void read_branched(const copse_blink_tree *tree, uint32_t base_leaf, KEY q, leaf_read *out)
{
    const char *branch = leaf_at(tree, base_leaf);
    for (;;) {
        const uint32_t state = peek_begin(branch);
        const char *leaf = branch;
        uint32_t own = state;
        if (state & COPSE_LEAF_BRANCH) {
            leaf = leaf_at(tree, peek_child(branch, state, q));
            own = peek_u32(leaf + LEAF_STATE);
        }
        const KEY high = peek_high(branch); /* of the base leaf: it stays when the base leaf becomes a branch */
        peek_all(leaf, own, out);
        out->next = out->high < high ? base_leaf : COPSE_LEAF_NONE;
        if (peek_end(branch, state)) return;
    }
}

/* --- one base leaf after the other ---------------------------------------------------------------------------------------------- */

/* The next leaf of the same base leaf. False: there is none. */
SIMT_DEVICE bool read_step(const copse_blink_tree *tree, leaf_read *leaf)
{
    if (leaf->next == COPSE_LEAF_NONE) return false;
    if (tree->branches)
        read_branched(tree, leaf->next, (KEY)(leaf->high + 1u), leaf);
    else
        read_linked(tree, leaf->next, leaf);
    return true;
}

/* The base leaves where keys from `low` on begin, and behind which there are none up to `high`. The levels never change. */
SIMT_DEVICE uint32_t base_leaf_from(const copse_blink_tree *tree, KEY low)
{
    const bool digest = tree->levels.digest != 0;
    return walk_down_alone(&tree->levels, digest, walk_start(&tree->levels, digest, low));
}

SIMT_DEVICE uint32_t base_leaf_upto(const copse_blink_tree *tree, KEY high)
{
    const bool digest = tree->levels.digest != 0;
    walk_bound bound = walk_start(&tree->levels, digest, high);
    if (KEY_BITS == 32 || digest) {
        if (bound.digest == UINT32_MAX) return tree->base_leaves - 1u;
        bound.digest++;
    } else {
        if (high == KEY_MAX) return tree->base_leaves - 1u;
        bound.q++;
    }
    return walk_down_alone(&tree->levels, digest, bound);
}

/* --- find ------------------------------------------------------------------------------------------------------------------ */

/* Four lanes look at a leaf: lane i of them has slots i, i + 4, ... They agree on what they saw by the state, which each of
 * them looks at before and after. */

/* Keys of the first `count` slots of a leaf that are less than q; all lanes come here. */
SIMT_DEVICE uint32_t group_less(const char *leaf, uint32_t count, KEY q)
{
    uint32_t less = 0;
    SIMT_UNROLL
    for (uint32_t slot = 0; slot < LEAF_SLOTS; slot += 4u) {
        const uint32_t own = slot + (simt_lane() & 3u);
        if (own < count && own < LEAF_SLOTS) less += (uint32_t)(peek_key(leaf, own) < q);
    }
    return walk_group_sum(less);
}

/* B+: the leaf of a base leaf where q belongs; `state` is that of the base leaf, and becomes that of the leaf. */
SIMT_DEVICE const char *group_child(const copse_blink_tree *tree, const char *base_leaf, uint32_t *state, KEY q)
{
    const uint32_t count = *state & COPSE_LEAF_COUNT, less = group_less(base_leaf, count, q);
    if (!(*state & COPSE_LEAF_BRANCH) || *state & COPSE_LEAF_LATCH)
        return base_leaf; /* latched: the numbers may not be there yet */
    const uint32_t child = less + 1u < count ? less : count - 1u;
    const char *leaf = leaf_at(tree, peek_u32(base_leaf + LEAF_VALUES + child * 4u));
    *state = peek_u32(leaf + LEAF_STATE);
    return leaf;
}

/* The first slot of a leaf with key q, LEAF_SLOTS where there is none: the same in all four lanes. */
SIMT_DEVICE uint32_t group_match(const char *leaf, uint32_t count, KEY q)
{
    const uint32_t less = group_less(leaf, count, q);
    return less < count && less < LEAF_SLOTS && peek_key(leaf, less) == q ? less : LEAF_SLOTS;
}

/* Did all four lanes see the leaf in this one state, without a latch? */
SIMT_DEVICE bool group_agrees(const char *leaf, uint32_t state)
{
    const uint32_t theirs = simt_shfl_u32(SIMT_FULL_MASK, state, simt_lane() & 28u);
    const bool sure = peek_end(leaf, state) && !(state & COPSE_LEAF_LATCH) && state == theirs;
    return (__ballot_sync(SIMT_FULL_MASK, sure) >> (simt_lane() & 28u) & 15u) == 15u;
}

/* A query of each group that has walked the levels; those without one (at >= n) go along. */
SIMT_DEVICE void find_concurrent_group(const copse_blink_point_arguments *a, walk_bound bound, uint32_t at)
{
    const copse_blink_tree *tree = &a->tree;
    const KEY q = bound.q;
    uint32_t node = bound.node, steps = 0;
    for (bool open = at < a->queries.n; __any_sync(SIMT_FULL_MASK, open);) {
        const char *line = leaf_at(tree, node), *leaf = line;
        const uint32_t state = simt_load_acquire_u32((const uint32_t *)(line + LEAF_STATE));
        uint32_t own = state;
        if (tree->branches) leaf = group_child(tree, line, &own, q);
        const uint32_t slot = group_match(leaf, own & COPSE_LEAF_COUNT, q);
        const VALUE value = slot < LEAF_SLOTS && a->queries.out_values ? peek_value(leaf, slot) : 0;
        const uint32_t next = tree->branches ? node + 1u : peek_u32(leaf + LEAF_NEXT);
        const KEY high = peek_high(leaf);
        const bool beyond = high < q; /* it was split; or a digest led too far left */
        if (!group_agrees(line, state)) {
            if (open) simt_yield();
        } else if (open && beyond) {
            node = next;
            if (!tree->branches && ++steps % 16u == 2u) { /* a chain that goes on may be long */
                const directory_entry entry = directory_find_concurrent(tree, q);
                if (entry.leaf != COPSE_LEAF_NONE && entry.low > high) node = entry.leaf;
            }
        } else if (open) {
            open = false;
            if (simt_lane() & 3u) continue;
            if (a->queries.out_values)
                COPSE_BITS(simt_store_once_u, VALUE_BITS)((VALUE *)a->queries.out_values + at, value);
            if (a->queries.out_found) simt_store_once_u8(a->queries.out_found + at, (uint8_t)(slot < LEAF_SLOTS));
        }
    }
}

SIMT_KERNEL(NAME(find_concurrent), copse_blink_point_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_blink_tree *tree = &a.tree;
    const bool digest = tree->levels.digest != 0;
    uint32_t first, mine;
    if (!query_share(a.queries.n, a.queries.per_warp, &first, &mine)) return;
    const uint32_t at = query_at(a.queries.n, mine), group = simt_lane() / 4u;
    const KEY bits = COPSE_BITS(simt_load_once_u, KEY_BITS)((const KEY *)a.queries.keys + at);
    report_nan(tree->key_type, bits, a.queries.report, COPSE_REPORT_NAN, a.queries.first + at);
    const walk_bound own = walk_start(&tree->levels, digest, ENCODE_ONE(tree->key_type, bits));
    const uint32_t second = a.queries.per_warp == SIMT_WARP ? 8u : 0u; /* small batches: one query for each group */
    for (uint32_t from = 0; from < a.queries.per_warp; from += 16u) {
        const uint32_t lane_x = from + group, lane_y = lane_x + second;
        walk_bound x = walk_take(own, lane_x, digest), y = walk_take(own, lane_y, digest);
        walk_pair(&tree->levels, digest, &x, &y);
        find_concurrent_group(&a, x, first + lane_x);
        if (second) find_concurrent_group(&a, y, first + lane_y);
    }
}
