/*
 * Template: crowds, runs of a sorted batch with many operations on one anchor of a B-link tree. All threads work on them: a leaf with e
 * entries that gets m new ones becomes as many leaves as these take, k. It keeps its first part; the others are new, linked to its right.
 * That is the split of a B-link tree for any k: lower bounds stay, and every new leaf is complete before something leads to it.
 *
 *   crowd_count     finds the crowds, cuts each by the leaves of its anchor, and counts the new leaves: an item for each leaf
 *   (a scan)
 *   crowd_list      writes down the items, in key order
 *   crowd_spill     fills the new leaves: a group of lanes for each. Nothing leads to them yet
 *   directory_...   (update/directory_merge.h) make the next overflow directory, with the new leaves in it
 *   apply ...       what is not crowded
 *   crowd_link      gives the first part to the old leaves, which lead to the new ones from then on: a group of lanes for each
 *   directory_publish
 *
 * The entries of an item are those of its leaf and the operations, merged; equal keys count once. A lane has entry i of the old leaf and
 * knows its position in the merged list, so entry t is the old one with that position, or else operation t less the old ones in front.
 *
 * Every kernel up to crowd_spill may find out that the batch must not be carried out in this way; then nothing has changed.
 */
#pragma once

#include "trees/blink/node/change.h"
#include "trees/blink/node/directory.h"
#include "trees/blink/node/leaf.h"
#include "trees/blink/update/arguments.h"
#include "trees/blink/update/locate.h"
#include "trees/blink/update/unsorted.h"

/* May the batch change leaves at all? */
SIMT_DEVICE bool update_may(const copse_blink_counters *counters, uint64_t extra_most, uint64_t dead_most)
{
    return !counters->speculation.wrong && simt_load_relaxed_u32(&counters->crowded) != 1u &&
           simt_load_relaxed_u64(&counters->extra) <= extra_most && simt_load_relaxed_u64(&counters->dead) <= dead_most;
}

/* All lanes of a warp come here, and agree: another warp may just be finding out that it may not. */
SIMT_DEVICE bool crowd_may(const copse_crowd_arguments *a)
{
    return __all_sync(SIMT_FULL_MASK, update_may(a->counters, a->extra_most, a->dead_most));
}

/* --- which, and how many leaves they take --------------------------------------------------------------------------------------- */

SIMT_DEVICE bool crowd_begins(const uint32_t *leaves, uint64_t n, uint32_t crowd, uint64_t i)
{
    return (i == 0 || leaves[i - 1u] != leaves[i]) && n - i >= crowd && leaves[i + crowd - 1u] == leaves[i];
}

/* Does an equal key make operation i pointless, and is it in a crowd, or nearly? Crowds have distinct keys. */
SIMT_DEVICE bool crowd_equals(const copse_crowd_arguments *a, uint64_t i)
{
    const uint32_t half = a->crowd / 2u;
    if (!operation_dead(&a->operations, i)) return false;
    return (i >= half && a->leaves[i - half] == a->leaves[i]) ||
           (a->operations.n - i > half && a->leaves[i + half] == a->leaves[i]);
}

/* The end of the operations from `first` on that belong to a leaf. */
SIMT_DEVICE uint32_t crowd_cut(const KEY *keys, uint32_t first, uint32_t end, KEY high)
{
    if (keys[end - 1u] <= high) return end;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2u;
        if (keys[middle] <= high)
            first = middle + 1u;
        else
            end = middle;
    }
    return first;
}

/* New leaves that operations first .. end of a leaf take. Where they all come behind its entries, or in front of them, more will
 * probably come there, too, and not in between: then leaves are filled. */
SIMT_DEVICE uint32_t crowd_outs(const copse_crowd_arguments *a, const char *leaf, uint32_t first, uint32_t end)
{
    const KEY *keys = (const KEY *)a->operations.keys;
    const uint32_t count = leaf_state(leaf) & COPSE_LEAF_COUNT, all = count + (end - first);
    if (a->operations.action == COPSE_ACTION_ERASE || all <= LEAF_SLOTS) return 0;
    const bool behind = count == 0 || keys[first] > leaf_key(leaf, count - 1u);
    const bool filled = behind || keys[end - 1u] < leaf_key(leaf, 0);
    return (all - 1u) / (filled ? LEAF_SLOTS : (LEAF_PACKED_TWO + 1u) / 2u);
}

/* Of new leaf g, before `taken` counts them. They come from all stripes in turn. */
SIMT_DEVICE uint32_t crowd_number(const copse_crowd_arguments *a, uint32_t g)
{
    const uint32_t stripe = g % COPSE_POOL_STRIPES;
    const uint32_t k = simt_load_relaxed_u32(&a->counters->taken[stripe]) + g / COPSE_POOL_STRIPES;
    return a->tree.pool_first + k * COPSE_POOL_STRIPES + stripe;
}

/* The crowd that begins with operation i: what it takes, as in `sizes`. items: NULL, or where its items go, in front of which `at` are. */
SIMT_DEVICE uint64_t crowd_run(const copse_crowd_arguments *a, uint64_t i, copse_crowd_item *items, uint64_t at,
                               uint32_t base_leaf)
{
    const KEY *keys = (const KEY *)a->operations.keys;
    const uint32_t end = (uint32_t)run_end(a->leaves, a->operations.n, i);
    uint32_t number = a->leaves[i];
    uint64_t size = 0;
    for (uint32_t first = (uint32_t)i; first < end;) {
        const char *leaf = leaf_at(&a->tree, number);
        const uint32_t cut = crowd_cut(keys, first, end, leaf_high(leaf));
        if (cut > first) {
            const uint32_t outs = crowd_outs(a, leaf, first, cut);
            copse_crowd_item item = {number, base_leaf, first, cut, outs, (uint32_t)(at + size), 0};
            if (items) {
                item.right = crowd_number(a, item.out);
                items[(at + size) >> 32] = item;
            }
            size += ((uint64_t)1 << 32) + outs;
        }
        first = cut;
        number = leaf_next(leaf);
    }
    return size;
}

SIMT_KERNEL(NAME(crowd_count), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t n = a.operations.n;
    const bool may = crowd_may(&a); /* if not, the scan that follows still reads what stands in sizes */
    uint64_t extra = 0;
    bool equals = false;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += (uint64_t)gridDim.x * blockDim.x) {
        const bool begins = may && i < n && crowd_begins(a.leaves, n, a.crowd, i);
        const uint64_t size = begins ? crowd_run(&a, i, NULL, 0, 0) : 0;
        a.sizes[i] = size;
        extra += (uint32_t)size;
        equals |= may && i < n && crowd_equals(&a, i);
    }
    extra = warp_sum(extra);
    equals = __any_sync(SIMT_FULL_MASK, equals);
    if (simt_lane() != 0) return;
    if (extra) simt_atomic_add_u64(&a.counters->extra, extra);
    if (equals) simt_atomic_add_u64(&a.counters->dead, a.dead_most + 1u);
}

/* How many of `outs` new leaves come from a stripe. */
SIMT_DEVICE uint32_t stripe_share(uint32_t outs, uint32_t stripe)
{
    return (outs + COPSE_POOL_STRIPES - 1u - stripe) / COPSE_POOL_STRIPES;
}

/* Is there room for everything? All lanes of a warp come here. */
SIMT_DEVICE bool crowd_fits(const copse_crowd_arguments *a)
{
    const uint64_t all = a->sizes[a->operations.n];
    const uint32_t outs = (uint32_t)all, most = a->tree.pool_leaves / COPSE_POOL_STRIPES;
    bool fits =
        (all >> 32) <= a->items_most && outs <= a->new_most && a->tree.directory_entries + outs <= a->entries_most;
    for (uint32_t s = simt_lane(); s < COPSE_POOL_STRIPES && outs; s += SIMT_WARP)
        fits = fits && simt_load_relaxed_u32(&a->counters->taken[s]) + stripe_share(outs, s) <= most;
    return __all_sync(SIMT_FULL_MASK, fits);
}

SIMT_KERNEL(NAME(crowd_list), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t n = a.operations.n;
    if (!crowd_may(&a)) return;
    if (!crowd_fits(&a)) {
        if (blockIdx.x == 0 && threadIdx.x == 0) simt_store_relaxed_u32(&a.counters->crowded, 1u);
        return; /* all blocks find the same */
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && (uint32_t)a.sizes[n])
        simt_store_relaxed_u32(&a.tree.directories->version, a.tree.directories->version | 1u);
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
        if (!crowd_begins(a.leaves, n, a.crowd, i)) continue;
        const uint32_t leaf = a.leaves[i];
        const KEY key = ((const KEY *)a.operations.keys)[i];
        const uint32_t base_leaf = leaf < a.tree.base_leaves ? leaf : anchor_find(&a.tree, 0, key).base_leaf;
        base_leaf_touch(a.touched, base_leaf);
        (void)crowd_run(&a, i, a.items, a.sizes[i], base_leaf);
    }
}

/* The last leaf of all. */
SIMT_DEVICE uint32_t last_leaf(const copse_blink_tree *tree)
{
    uint32_t number = tree->base_leaves - 1u;
    if (tree->directory_entries) {
        const copse_blink_directory *directory = directory_of(tree);
        const uint32_t entry = directory->entries - 1u;
        if (directory_base_leaf(directory, entry) == number) number = directory_leaf(directory, entry);
    }
    for (uint32_t next = leaf_next(leaf_at(tree, number)); next != COPSE_LEAF_NONE;) {
        number = next;
        next = leaf_next(leaf_at(tree, number));
    }
    return number;
}

/* A batch in the caller's order as one crowd, of the last leaf. By the first lane. False: it does not come behind all entries. */
SIMT_DEVICE bool append_list(const copse_crowd_arguments *a)
{
    const KEY *keys = (const KEY *)a->operations.keys;
    const uint32_t n = (uint32_t)a->operations.n, number = last_leaf(&a->tree);
    const char *leaf = leaf_at(&a->tree, number);
    const uint32_t count = leaf_state(leaf) & COPSE_LEAF_COUNT, outs = (count + n - 1u) / LEAF_SLOTS;
    const KEY greatest = leaf_key(leaf, count ? count - 1u : 0);
    const copse_crowd_item item = {number, a->tree.base_leaves - 1u, 0, n, outs, 0, crowd_number(a, 0)};
    a->items[0] = item;
    a->sizes[n] = (uint64_t)1 << 32 | outs;
    a->counters->extra = outs;
    a->counters->high = keys[n - 1u];
    base_leaf_touch(a->touched, item.base_leaf);
    simt_store_relaxed_u32(&a->tree.directories->version, a->tree.directories->version | 1u);
    return count && keys[n - 1u] != KEY_MAX && (keys[0] > greatest || (!a->tree.unique && keys[0] == greatest));
}

/* Lists a batch that comes behind all entries and in order. If it turns out not to, the kernels behind change nothing. */
SIMT_KERNEL(NAME(crowd_append), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.operations.keys;
    bool may = true;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i + 1u < a.operations.n;
         i += (uint64_t)gridDim.x * blockDim.x)
        may = may && (keys[i] < keys[i + 1u] || (!a.tree.unique && keys[i] == keys[i + 1u]));
    if (blockIdx.x == 0 && simt_warp() == 0) {
        if (simt_lane() == 0) may = append_list(&a) && may;
        __syncwarp(SIMT_FULL_MASK);
        may = crowd_fits(&a) && may;
    }
    if (!may) simt_store_relaxed_u32(&a.counters->crowded, 1u);
}

/* --- merging ---------------------------------------------------------------------------------------------------------------------- */

/* An old leaf with its operations. Lane i of a group has entry i. */
typedef struct crowd_leaf {
    held_leaf held;
    uint32_t
        packed; /* of this lane's entry: its position in the merged list << 2, 2: it stays, 1: it counts; or no entry: */
    uint32_t all; /* entries of the merged list */
} crowd_leaf;

#define CROWD_NO_ENTRY UINT32_MAX

/* Operations of an item whose keys are less than k. */
SIMT_DEVICE uint32_t crowd_before(const KEY *keys, uint32_t first, uint32_t end, KEY k)
{
    const uint32_t from = first;
    if (keys[first] >= k) return 0;
    if (keys[end - 1u] < k) return end - first;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2u;
        if (keys[middle] < k)
            first = middle + 1u;
        else
            end = middle;
    }
    return first - from;
}

/* Loads the leaf of each group and merges it. All lanes come here. */
SIMT_DEVICE crowd_leaf crowd_load(const copse_crowd_arguments *a, const copse_crowd_item *item)
{
    const KEY *keys = (const KEY *)a->operations.keys;
    const bool erases = a->operations.action == COPSE_ACTION_ERASE;
    const uint32_t lane = held_lane(), some = item->end - item->first;
    crowd_leaf leaf;
    leaf.held.number = item->leaf;
    leaf.held.base_leaf = item->base_leaf;
    leaf.held.base_leaf_changed = false;
    held_load(&a->tree, &leaf.held);
    const bool there = lane < leaf.held.count;
    const uint32_t before = there ? crowd_before(keys, item->first, item->end, leaf.held.key) : 0;
    const bool replaced = a->tree.unique && before < some && keys[item->first + before] == leaf.held.key;
    const bool stays = there && !replaced;
    const uint32_t staying = held_ballot(stays);
    const uint32_t at = (erases ? 0 : before) + (uint32_t)__popc(staying & ((1u << lane) - 1u));
    const bool counts = stays || a->operations.action == COPSE_ACTION_IF_ABSENT;
    leaf.packed = there ? at << 2 | (uint32_t)stays << 1 | (uint32_t)counts : CROWD_NO_ENTRY;
    leaf.all = (erases ? 0 : some) + (uint32_t)__popc(staying);
    return leaf;
}

/* Entry t of the merged list, where this lane wants one. All lanes come here. */
SIMT_DEVICE void crowd_entry(const copse_crowd_arguments *a, const copse_crowd_item *item, const crowd_leaf *leaf,
                             uint32_t t, bool wanted, KEY *key, VALUE *value)
{
    uint32_t below = 0, from = LEAF_LANES;
    SIMT_UNROLL
    for (uint32_t i = 0; i < LEAF_SLOTS; i++) {
        const uint32_t packed = held_pick_u32(leaf->packed, i);
        if (packed == CROWD_NO_ENTRY) continue;
        below += (uint32_t)(packed >> 2 < t && packed & 2u);
        if (packed >> 2 == t && packed & 1u) from = i;
    }
    const uint32_t holder = (simt_lane() & ~(LEAF_LANES - 1u)) + from % LEAF_LANES;
    const KEY old_key = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, leaf->held.key, holder);
    const VALUE old_value = COPSE_BITS(simt_shfl_u, VALUE_BITS)(SIMT_FULL_MASK, leaf->held.value, holder);
    *key = KEY_MAX;
    *value = 0;
    if (!wanted) return;
    const bool old = from != LEAF_LANES;
    *key = old ? old_key : ((const KEY *)a->operations.keys)[item->first + t - below];
    *value = old ? old_value : ((const VALUE *)a->operations.values)[item->first + t - below];
}

/* The entries of part j of an item: from the first of them up to that of part j + 1. */
SIMT_DEVICE uint32_t crowd_part(const copse_crowd_item *item, const crowd_leaf *leaf, uint32_t j)
{
    return (uint32_t)((uint64_t)leaf->all * j / (item->outs + 1u));
}

/* --- new leaves --------------------------------------------------------------------------------------------------------------------- */

/* The item with new leaf g. */
SIMT_DEVICE uint32_t crowd_item_of(const copse_crowd_arguments *a, uint32_t items, uint32_t g)
{
    uint32_t low = 0, high = items; /* items up to `low` have no new leaf behind g */
    while (high - low > 1u) {
        const uint32_t middle = low + (high - low) / 2u;
        if (a->items[middle].out <= g)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Fills new leaf g: groups with `go`. The last lane of a group, which has no entry, finds the lower bound. */
SIMT_DEVICE void crowd_fill(const copse_crowd_arguments *a, uint32_t items, uint32_t g, bool go)
{
    const copse_crowd_item item = a->items[go ? crowd_item_of(a, items, g) : 0];
    const crowd_leaf leaf = crowd_load(a, &item);
    const uint32_t lane = held_lane(), j = go ? g - item.out + 1u : 0;
    const uint32_t first = crowd_part(&item, &leaf, j), size = crowd_part(&item, &leaf, j + 1u) - first;
    const bool last = j == item.outs, bound = lane == LEAF_LANES - 1u;
    KEY key;
    VALUE value;
    crowd_entry(a, &item, &leaf, bound ? first - 1u : first + lane, go && (bound || lane < size), &key, &value);
    const KEY greatest = held_pick_key(key, size ? size - 1u : 0);
    if (!go) return;
    const uint32_t number = crowd_number(a, g);
    char *to = leaf_at(&a->tree, number);
    store_entries(to, key, value, last ? leaf.held.next : crowd_number(a, g + 1u), last ? leaf.held.high : greatest);
    if (bound) {
        store_unused(to);
        simt_store_relaxed_u32((uint32_t *)(to + LEAF_STATE), size);
        ((KEY *)a->lows)[g] = key;
        a->new_leaves[g] = number;
        a->new_base_leaves[g] = item.base_leaf;
    }
}

SIMT_KERNEL(NAME(crowd_spill), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t groups = gridDim.x * (COPSE_KERNEL_THREADS / LEAF_LANES);
    uint32_t first = (blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x - simt_lane()) / LEAF_LANES;
    if (!crowd_may(&a)) return;
    const uint64_t all = a.sizes[a.operations.n];
    const uint32_t outs = (uint32_t)all, items = (uint32_t)(all >> 32);
    while (first < outs) {
        const uint32_t g = first + simt_lane() / LEAF_LANES;
        crowd_fill(&a, items, g, g < outs);
        first = outs - first > groups ? first + groups : outs;
    }
}

/* --- the old leaves ------------------------------------------------------------------------------------------------------------------- */

/* Gives its first part to the leaf of an item: groups with `go`. */
SIMT_DEVICE void crowd_shrink(const copse_crowd_arguments *a, const copse_crowd_item *item, bool go, uint32_t *came,
                              uint32_t *went)
{
    const crowd_leaf leaf = crowd_load(a, item);
    const uint32_t lane = held_lane(), size = crowd_part(item, &leaf, 1u);
    KEY key;
    VALUE value;
    crowd_entry(a, item, &leaf, lane, go && lane < size, &key, &value);
    const KEY greatest = held_pick_key(key, size ? size - 1u : 0);
    held_replace(&a->tree, a->shared, &leaf.held, key, value, item->outs ? item->right : leaf.held.next,
                 item->outs ? greatest : leaf.held.high, size, go);
    if (!go || lane != 0) return;
    if (leaf.all > leaf.held.count) *came += leaf.all - leaf.held.count;
    if (leaf.all < leaf.held.count) *went += leaf.held.count - leaf.all;
}

SIMT_KERNEL(NAME(crowd_link), copse_crowd_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t groups = gridDim.x * (COPSE_KERNEL_THREADS / LEAF_LANES);
    uint32_t first = (blockIdx.x * COPSE_KERNEL_THREADS + threadIdx.x - simt_lane()) / LEAF_LANES, came = 0, went = 0;
    if (!crowd_may(&a)) return;
    const uint32_t items = (uint32_t)(a.sizes[a.operations.n] >> 32);
    while (first < items) {
        const uint32_t at = first + simt_lane() / LEAF_LANES;
        const copse_crowd_item item = a.items[at < items ? at : 0];
        crowd_shrink(&a, &item, at < items, &came, &went);
        first = items - first > groups ? first + groups : items;
    }
    update_count(a.counters, came, went);
}
