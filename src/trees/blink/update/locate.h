/* Template: the base leaves where operations belong: of sorted batches, and of small unsorted ones. */
#pragma once

#include "gpu/levels_walk.h"
#include "gpu/pairs.h"
#include "trees/blink/node/change.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/update/arguments.h"

/* Most operations that a leaf may get unsorted: they go one after the other. */
#define CROWD_MOST 32u

SIMT_DEVICE bool levels_digest(const copse_blink_tree *tree)
{
    return KEY_BITS == 64 && tree->levels.digest;
}

/* The base leaf that the levels lead to. */
SIMT_DEVICE uint32_t base_leaf_of(const copse_blink_tree *tree, KEY q)
{
    const bool digest = levels_digest(tree);
    return walk_down_alone(&tree->levels, digest, walk_start(&tree->levels, digest, q));
}

/* What operation i does with its key. */
SIMT_DEVICE copse_action operation_action(const copse_blink_operations *operations, uint64_t i)
{
    if (!operations->gone) return operations->action;
    return operations->gone[operations->row ? operations->row[i] : i] ? COPSE_ACTION_ERASE : COPSE_ACTION_UPSERT;
}

SIMT_DEVICE VALUE operation_value(const copse_blink_operations *operations, uint64_t i)
{
    return ((const VALUE *)operations->values)[operations->row ? operations->row[i] : i];
}

/* Does another operation on the same key make this one pointless? */
SIMT_DEVICE bool operation_dead(const copse_blink_operations *operations, uint64_t i)
{
    const KEY *keys = (const KEY *)operations->keys;
    if (operations->last_wins == 1u) return i + 1u < operations->n && keys[i + 1u] == keys[i];
    return operations->last_wins == 0 && i > 0 && keys[i - 1u] == keys[i];
}

/* Are all keys inserted, each behind its equals? So it is where keys may repeat, unless they are to be absent. */
SIMT_DEVICE bool operations_repeat(const copse_blink_tree *tree, const copse_blink_operations *operations)
{
    return !tree->unique && operations->action == COPSE_ACTION_UPSERT;
}

/* The largest key that a base leaf and its overflow chain may have. */
SIMT_DEVICE KEY base_leaf_high(const copse_blink_tree *tree, uint32_t base_leaf)
{
    leaf_cursor cursor = cursor_at(tree, base_leaf);
    while (cursor_step(tree, &cursor)) {
    }
    return leaf_high(cursor.leaf);
}

SIMT_DEVICE bool base_leaf_begins_with(const copse_blink_tree *tree, uint32_t base_leaf, KEY key)
{
    const char *leaf = leaf_at(tree, base_leaf);
    return (leaf_state(leaf) & COPSE_LEAF_COUNT) != 0 && leaf_key(leaf, 0) == key;
}

/*
 * The base leaf where a key goes behind its equals, `base_leaf` being the one where they begin: no key behind that is smaller. Equals reach
 * into others where that one's last key is theirs, up to the first whose keys may be greater, or up to the one in front of it. There
 * are no anchors but base leaves. Base leaves that have lost their entries do not count.
 */
SIMT_DEVICE uint32_t base_leaf_behind(const copse_blink_tree *tree, uint32_t base_leaf, KEY key)
{
    if (base_leaf_high(tree, base_leaf) != key) return base_leaf;
    const uint32_t last = tree->base_leaves - 1u;
    const KEY q = (KEY)(key + 1u);
    const uint32_t greater = q ? cursor_seek(tree, base_leaf_of(tree, q), q, NULL).base_leaf : last;
    if (base_leaf_begins_with(tree, greater, key)) return greater;
    return greater > base_leaf + 1u && base_leaf_begins_with(tree, greater - 1u, key) ? greater - 1u : base_leaf;
}

/* --- sorted ------------------------------------------------------------------------------------------------------------ */

/* 1 where operation i inserts an entry, 2^32 where it removes one. */
SIMT_DEVICE uint64_t operation_effect(const copse_blink_operations *operations, uint64_t i, bool there)
{
    if (operation_action(operations, i) == COPSE_ACTION_ERASE) return there ? (uint64_t)1 << 32 : 0;
    return there ? 0 : 1u;
}

/* Where a key is, or where it would go: in the leaf of the first key >= q, or > q where the tree keeps all equal keys. */
SIMT_DEVICE void locate_effect(const copse_locate_arguments *a, uint64_t i, KEY key, bool dead)
{
    const copse_blink_tree *tree = &a->tree;
    const bool behind = operations_repeat(tree, &a->operations);
    const KEY q = (KEY)(key + (KEY)behind);
    uint32_t offset, slot;
    leaf_cursor cursor = cursor_seek(tree, behind && q == 0 ? tree->base_leaves - 1u : base_leaf_of(tree, q),
                                     behind && q == 0 ? KEY_MAX : q, &offset);
    slot = leaf_before(cursor.leaf, behind && q == 0 ? KEY_MAX : q, behind && q == 0);
    const bool there =
        !behind && slot < (leaf_state(cursor.leaf) & COPSE_LEAF_COUNT) && leaf_key(cursor.leaf, slot) == key;
    a->base_leaves[i] = cursor.base_leaf;
    a->offsets[i] = offset + slot;
    a->effects[i] = dead ? 0 : operation_effect(&a->operations, i, there);
}

/* Base leaves of all operations, and what these will do there: for rebuilds base leaf by base leaf. */
SIMT_KERNEL(NAME(locate), copse_locate_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.operations.n;
         i += (uint64_t)gridDim.x * blockDim.x)
        locate_effect(&a, i, ((const KEY *)a.operations.keys)[i], operation_dead(&a.operations, i));
}

/* The end of the operations with the same base leaf as operation i. It gallops: most base leaves have few. */
SIMT_DEVICE uint64_t run_end(const uint32_t *base_leaves, uint64_t n, uint64_t i)
{
    const uint32_t base_leaf = base_leaves[i];
    uint64_t low = i + 1u, step = 1;
    while (low + step <= n && base_leaves[low + step - 1u] == base_leaf) {
        low += step;
        step *= 2u;
    }
    uint64_t high = low + step - 1u < n ? low + step - 1u : n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2u;
        if (base_leaves[middle] == base_leaf)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

/*
 * Leaves that `inserts` keys may add to an anchor. A full leaf splits, and then each half has room for half a leaf: so every leaf
 * splits at most once, and each further split takes half a leaf of keys. all: the anchor gets no other keys. The first split of a
 * base leaf in a B+ tree takes two leaves, because the base leaf itself becomes the branch; and a branch has an end.
 */
SIMT_DEVICE uint64_t splits_most(const copse_blink_tree *tree, uint32_t base_leaf, uint64_t inserts, bool all,
                                 bool *crowded)
{
    leaf_cursor cursor = cursor_at(tree, base_leaf);
    uint32_t leaves = 0, entries = 0;
    do {
        leaves++;
        entries += leaf_state(cursor.leaf) & COPSE_LEAF_COUNT;
    } while (cursor_step(tree, &cursor));
    if (all && leaves == 1u && entries + inserts <= LEAF_SLOTS) return 0;
    const uint64_t most = leaves + inserts / (LEAF_SLOTS / 2u), splits = inserts < most ? inserts : most;
    /* Twice: two warps of `plan` may share the operations of a base leaf, and each counts its own. */
    const uint32_t room = LEAF_SLOTS < COPSE_CHAIN_MOST ? LEAF_SLOTS : COPSE_CHAIN_MOST;
    *crowded |= tree->branches && leaves + 2u * splits > room;
    return splits + (tree->branches && leaves == 1u ? 1u : 0);
}

/* How far all keys of a warp have come on their way down together. */
typedef struct walk_position {
    uint32_t level, node;
} walk_position;

/*
 * Goes down the levels as far as all keys of a warp take the same path, which is nearly all of it where a batch is sorted and large:
 * the warp loads one whole node per level. `lanes` have keys, in ascending order.
 */
SIMT_DEVICE walk_position walk_together(const copse_device_levels *levels, bool digest, walk_bound own, uint32_t lanes)
{
    const walk_bound low = walk_take(own, (uint32_t)__ffs((int)lanes) - 1u, digest);
    const walk_bound high = walk_take(own, 31u - (uint32_t)__clz((int)lanes), digest);
    const bool short_range = KEY_BITS == 32 || digest;
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT, lane = simt_lane();
    walk_position position;
    position.level = position.node = 0;
    for (; position.level < levels->height; position.level++) {
        const char *node = levels->level[position.level] + (uint64_t)position.node * 64u;
        bool below_low = false, below_high = false;
        if (lane + 1u < fanout && short_range) {
            const uint32_t separator = ((const uint32_t *)node)[lane];
            below_low = separator < low.digest;
            below_high = separator < high.digest;
        } else if (lane + 1u < fanout) {
            const KEY separator = ((const KEY *)node)[lane];
            below_low = separator < low.q;
            below_high = separator < high.q;
        }
        const uint32_t child = (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, below_low));
        if ((uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, below_high)) != child) break;
        position.node = position.node * fanout + child;
    }
    return position;
}

/*
 * The anchor of a sorted operation, from where the warp has come on. Digests may lead too far left, but only where the greatest key
 * of that base leaf has the same digest as the operation's; the lane reads the leaf then, and where the lowest level does not say.
 */
SIMT_DEVICE anchor_found plan_anchor(const copse_blink_tree *tree, walk_bound bound, walk_position position)
{
    const copse_device_levels *levels = &tree->levels;
    const bool digest = levels_digest(tree);
    const uint32_t fanout = digest ? DIGEST_FANOUT : FULL_FANOUT;
    uint32_t base_leaf = position.node;
    for (uint32_t l = position.level; l < levels->height; l++)
        base_leaf = base_leaf * fanout + walk_child_alone(levels->level[l] + (uint64_t)base_leaf * 64u, bound, digest);
    if (!digest) return anchor_find(tree, base_leaf, bound.q);
    const uint32_t node = base_leaf / DIGEST_FANOUT, child = base_leaf - node * DIGEST_FANOUT;
    if (levels->height > 0 && child + 1u < DIGEST_FANOUT) {
        const uint32_t *lowest = (const uint32_t *)(levels->level[levels->height - 1u] + (uint64_t)node * 64u);
        if (bound.digest < lowest[child]) return anchor_find(tree, base_leaf, bound.q);
    }
    anchor_found found = {cursor_seek(tree, base_leaf, bound.q, NULL).base_leaf, 0, 0};
    found.leaf = anchor_at(tree, found.anchor).first;
    return found;
}

/* Operations that a warp of `plan` handles at a time. */
#define PLAN_OWN 30u

/* What a lane of `plan` found out. */
typedef struct plan_found {
    uint64_t extra, dead; /* of the warps that count */
    bool crowded;
} plan_found;

/* How many leaves the operations of a warp may need, and how many operations are pointless. base_leaf: of this lane's operation i; lane
 * 0 has the operation in front of those of the warp, lane 31 the one behind. */
SIMT_DEVICE void plan_ask(const copse_locate_arguments *a, uint32_t base_leaf, uint64_t i, bool mine, plan_found *found)
{
    const uint32_t lane = simt_lane(), before = simt_shfl_up_u32(SIMT_FULL_MASK, base_leaf, 1);
    const uint32_t behind = simt_shfl_u32(SIMT_FULL_MASK, base_leaf, PLAN_OWN + 1u);
    const bool head = mine && (lane == 1u || before != base_leaf);
    const uint32_t heads = __ballot_sync(SIMT_FULL_MASK, head), all = __ballot_sync(SIMT_FULL_MASK, mine);
    found->dead += mine && operation_dead(&a->operations, i);
    if (!head || (!a->operations.gone && a->operations.action == COPSE_ACTION_ERASE)) return;
    const uint32_t later = heads & ~((2u << lane) - 1u);
    const uint32_t end = later ? (uint32_t)__ffs((int)later) - 1u : 32u - (uint32_t)__clz((int)all);
    const bool alone = !(lane == 1u && before == base_leaf) && !(!later && behind == base_leaf);
    if (a->crowd && (!alone || end - lane >= a->crowd)) return;
    found->extra += splits_most(&a->tree, base_leaf, end - lane, alone, &found->crowded);
}

/* Passes on what the sort found out about its speculation: an unsorted batch, or one with a NaN, must not change anything. */
SIMT_DEVICE void plan_speculation(const copse_locate_arguments *a)
{
    if (!a->speculation || blockIdx.x != 0 || threadIdx.x != 0) return;
    a->counters->speculation = *a->speculation;
    if (a->speculation->wrong || a->speculation->not_first_nan) simt_store_relaxed_u32(&a->counters->crowded, 1u);
}

/*
 * Base leaves of all operations, how many leaves they may need (an estimate where not all warps count), and whether they are too many
 * for some base leaf. A warp handles 30 operations and also looks at the one in front of them and the one behind, so that it knows
 * whether neighbouring warps have operations of the same base leaf: then each counts the leaves that its own may need.
 */
SIMT_KERNEL(NAME(plan), copse_locate_arguments, COPSE_KERNEL_THREADS, 16)
{
    plan_speculation(&a);
    const uint64_t n = a.operations.n, warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint32_t lane = simt_lane();
    const bool digest = levels_digest(&a.tree);
    plan_found found = {0, 0, false};
    uint64_t w = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    for (; w * PLAN_OWN < n; w += warps) {
        const uint64_t i = w * PLAN_OWN + lane - 1u; /* in lane 0 of the first warp: a huge number */
        const bool any = i < n, mine = any && lane > 0 && lane <= PLAN_OWN;
        const walk_bound bound = walk_start(&a.tree.levels, digest, any ? ((const KEY *)a.operations.keys)[i] : 0);
        const walk_position position = walk_together(&a.tree.levels, digest, bound, __ballot_sync(SIMT_FULL_MASK, any));
        anchor_found at = {COPSE_LEAF_NONE, COPSE_LEAF_NONE, COPSE_LEAF_NONE};
        if (any) at = plan_anchor(&a.tree, bound, position);
        if (any && operations_repeat(&a.tree, &a.operations))
            at.anchor = at.leaf = base_leaf_behind(&a.tree, at.leaf, ((const KEY *)a.operations.keys)[i]);
        if (mine) a.base_leaves[i] = at.leaf;
        /* An anchor that gets all 30 may get any number. */
        const uint32_t last = simt_shfl_u32(SIMT_FULL_MASK, at.anchor, PLAN_OWN);
        found.crowded |= !a.crowd && lane == 1u && last == at.anchor && last != COPSE_LEAF_NONE;
        if (w % a.one_of == 0) plan_ask(&a, at.anchor, i, mine, &found);
    }
    found.extra = warp_sum(found.extra) * a.one_of;
    found.dead = warp_sum(found.dead) * a.one_of;
    found.crowded = __any_sync(SIMT_FULL_MASK, found.crowded);
    if (lane != 0) return;
    if (found.extra) simt_atomic_add_u64(&a.counters->extra, found.extra);
    if (found.dead) simt_atomic_add_u64(&a.counters->dead, found.dead);
    if (found.crowded) simt_store_relaxed_u32(&a.counters->crowded, 1u);
}

/* --- unsorted ------------------------------------------------------------------------------------------------------------ */

SIMT_DEVICE uint32_t hash(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(key >> 32) ^ (uint32_t)(key >> 17);
}

/*
 * Finds or takes the slot of a key in the hash table, whose slots hold positions + 1 of operations and stand for the keys of these. Of
 * equal keys the last (first) position stays.
 */
SIMT_DEVICE uint32_t table_resolve(const copse_resolve_arguments *a, uint32_t i, KEY key)
{
    const KEY *keys = (const KEY *)a->operations.keys;
    for (uint32_t slot = hash(key);; slot++) {
        slot &= a->mask;
        const uint32_t there = simt_atomic_cas_u32(&a->table[slot], 0, i + 1u);
        if (there == 0) return slot;
        if (ENCODE_ONE(a->tree.key_type, keys[there - 1u]) != key) continue;
        if (a->operations.last_wins)
            (void)simt_atomic_max_u32(&a->table[slot], i + 1u);
        else
            (void)simt_atomic_min_u32(&a->table[slot], i + 1u);
        return slot;
    }
}

/* Counts one more operation of a base leaf and returns how many it has now; more, where another base leaf shares its slot. */
SIMT_DEVICE uint32_t crowd_resolve(const copse_resolve_arguments *a, uint32_t base_leaf)
{
    return simt_atomic_add_u32(&a->crowds[hash(base_leaf) & a->mask], 1u) + 1u;
}

/* One operation: where it belongs, and whether it counts. Returns its key. */
SIMT_DEVICE KEY resolve_one(const copse_resolve_arguments *a, uint32_t i)
{
    const KEY bits = ((const KEY *)a->operations.keys)[i];
    if (IS_NAN(a->tree.key_type, bits)) simt_atomic_max_u64(&a->counters->not_first_nan, ~(uint64_t)i);
    const KEY key = ENCODE_ONE(a->tree.key_type, bits);
    const leaf_cursor cursor = cursor_seek(&a->tree, base_leaf_of(&a->tree, key), key, NULL);
    const uint32_t leaf = a->tree.branches ? cursor.base_leaf : cursor.number;
    simt_prefetch(cursor.leaf, COPSE_LEAF_BYTES); /* for `apply_unsorted` */
    a->base_leaves[i] = leaf;
    base_leaf_touch(a->touched, cursor.base_leaf);
    a->slots[i] = table_resolve(a, i, key);
    const uint32_t inserts = crowd_resolve(a, leaf);
    bool crowded = inserts > CROWD_MOST;
    if (a->tree.branches && a->operations.action != COPSE_ACTION_ERASE)
        (void)splits_most(&a->tree, leaf, inserts, true, &crowded);
    if (cursor.steps >= COPSE_CHAIN_MOST)
        winding_note(&a->tree, a->counters, anchor_at(&a->tree, cursor.base_leaf).first, cursor.steps);
    if (crowded) simt_store_relaxed_u32(&a->counters->crowded, 1u);
    return key;
}

/* Where the operations of a small batch belong, which of equal keys count, and the bounds of the keys. */
SIMT_KERNEL(NAME(resolve), copse_resolve_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.operations.n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY key = resolve_one(&a, (uint32_t)i);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    low = warp_min(low);
    high = warp_max(high);
    if (simt_lane() != 0) return;
    if (low < a.low) simt_atomic_max_u64(&a.counters->not_low, ~low);
    if (high > a.high) simt_atomic_max_u64(&a.counters->high, high);
}
