/* Template: pages that keep their place: values are replaced, leaves patched, windows of leaves spread anew. */
#pragma once

#include "gpu/kernel.h"
#include "trees/paged/update.h"

/* --- replace ---------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE void element_replace(const copse_paged_update_arguments *a, uint32_t j)
{
    const uint32_t what = a->what[j];
    if (element_does(what) != COPSE_PAGED_REPLACED) return;
    char *page = page_of(&a->tree, a->row[j]);
    const uint32_t leaf = element_leaf(what);
    const uint32_t slot = leaf * LEAF_SLOTS + element_rank(what) - leaf_begin(&a->tree, page, leaf);
    page_values(&a->tree, page)[slot] = ((const VALUE *)a->values)[element_value_at(a, j)];
    simt_store_relaxed_u32((uint32_t *)(page + COPSE_PAGED_STALE_AT), 1u);
}

SIMT_KERNEL(NAME(replace), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    if (a.seen->refused || a.seen->done) return;
    for (uint32_t j = blockIdx.x * blockDim.x + threadIdx.x; j < a.n; j += gridDim.x * blockDim.x)
        element_replace(&a, j);
}

/* --- patch ------------------------------------------------------------------------------------------------------------------- */

/* Leaves that a group of lanes, one for each slot, has under way at a time. */
#define PATCH_TOGETHER 4u
#define PATCH_GROUPS   (SIMT_WARP / LEAF_SLOTS)

/* An element, in its lane: all that patching its leaf takes is loaded here, 32 elements at a time. */
typedef struct lane_element {
    uint32_t row, what;
    KEY key;
    VALUE value;
    uint64_t page;
    uint32_t span; /* of its leaf: rank of the first entry, and the number of entries << 16 */
    bool joins;    /* its leaf is that of the element in front  */
    bool patches;  /* it is the first in a leaf that is patched */
} lane_element;

SIMT_DEVICE bool same_leaf(uint32_t row, uint32_t what, uint32_t other_row, uint32_t other_what)
{
    return row == other_row && element_leaf(what) == element_leaf(other_what);
}

SIMT_DEVICE lane_element element_load(const copse_paged_update_arguments *a, uint32_t j)
{
    lane_element e;
    e.row = e.what = e.span = 0;
    e.key = 0;
    e.value = 0;
    e.page = 0;
    e.joins = e.patches = false;
    if (j >= a->n) return e;
    e.row = a->row[j];
    e.what = a->what[j];
    e.key = element_key(a, j);
    e.joins = j > 0 && same_leaf(e.row, e.what, a->row[j - 1u], a->what[j - 1u]);
    const uint32_t does = a->run_does[low_half(a->scan[j + 1u]) - 1u], leaf = element_leaf(e.what);
    const bool patched =
        ((does & 7u) == COPSE_PAGED_PATCHED || (does & 7u) == COPSE_PAGED_SPREAD) && !(e.what & COPSE_PAGED_IN_WINDOW);
    if (!patched) return e;
    if (element_does(e.what) == COPSE_PAGED_NEW) e.value = ((const VALUE *)a->values)[element_value_at(a, j)];
    if (e.joins) return e;
    char *page = page_of(&a->tree, e.row);
    const uint32_t begin = leaf_begin(&a->tree, page, leaf);
    e.page = (uint64_t)(uintptr_t)page;
    e.span = begin | (page_ends(&a->tree, page)[leaf] - begin) << 16;
    e.patches = true;
    return e;
}

/* Is the element of this lane, which patches, new and the only one of its leaf? */
SIMT_DEVICE bool element_is_alone(const copse_paged_update_arguments *a, const lane_element *e, uint32_t j,
                                  uint32_t joins)
{
    if (!e->patches || element_does(e->what) != COPSE_PAGED_NEW) return false;
    if (simt_lane() + 1u < SIMT_WARP) return (joins >> (simt_lane() + 1u) & 1u) == 0;
    return j + 1u >= a->n || !same_leaf(e->row, e->what, a->row[j + 1u], a->what[j + 1u]);
}

/* A leaf that changes, in the lanes of a group: the slot of this lane. */
typedef struct lane_leaf {
    uint64_t page;
#if VALUE_BITS == 64
    VALUE value;
    KEY key;
#else
    KEY key;
    VALUE value;
#endif
    uint32_t source;            /* the lane of its first element; SIMT_WARP: there is none */
    uint32_t at;                /* the slot in the page                                    */
    uint32_t begin, count, low; /* low: the first slot that changes */
} lane_leaf;

SIMT_DEVICE lane_leaf leaf_load(const copse_paged_tree *tree, const lane_element *e, uint32_t source)
{
    lane_leaf to;
    const uint32_t lane = source % SIMT_WARP, own = simt_lane() % LEAF_SLOTS;
    const uint32_t what = simt_shfl_u32(SIMT_FULL_MASK, e->what, lane),
                   span = simt_shfl_u32(SIMT_FULL_MASK, e->span, lane);
    to.page = simt_shfl_u64(SIMT_FULL_MASK, e->page, lane);
    to.source = source;
    to.begin = span & 0xffffu;
    to.count = span >> 16;
    to.low = element_rank(what) - to.begin;
    to.at = element_leaf(what) * LEAF_SLOTS + own;
    to.key = KEY_MAX;
    to.value = 0;
    if (source < SIMT_WARP && own >= to.low && own < to.count) {
        to.key = page_keys(tree, (char *)(uintptr_t)to.page)[to.at];
        to.value = page_values(tree, (char *)(uintptr_t)to.page)[to.at];
    }
    return to;
}

/* Applies an element to a leaf: entries from `slot` on go one to the right, or those behind it one to the left. Every lane takes part. */
SIMT_DEVICE void leaf_apply(lane_leaf *to, uint32_t does, uint32_t slot, KEY key, VALUE value)
{
    const uint32_t own = simt_lane() % LEAF_SLOTS;
    const KEY left_key = COPSE_BITS(simt_shfl_up_u, KEY_BITS)(SIMT_FULL_MASK, to->key, 1);
    const VALUE left_value = COPSE_BITS(simt_shfl_up_u, VALUE_BITS)(SIMT_FULL_MASK, to->value, 1);
    const KEY right_key = COPSE_BITS(simt_shfl_down_u, KEY_BITS)(SIMT_FULL_MASK, to->key, 1);
    const VALUE right_value = COPSE_BITS(simt_shfl_down_u, VALUE_BITS)(SIMT_FULL_MASK, to->value, 1);
    if (does == COPSE_PAGED_NEW && own > slot) {
        to->key = left_key;
        to->value = left_value;
    } else if (does == COPSE_PAGED_NEW && own == slot) {
        to->key = key;
        to->value = value;
    } else if (does == COPSE_PAGED_GONE && own >= slot) {
        to->key = own + 1u < LEAF_SLOTS ? right_key : KEY_MAX;
        to->value = right_value;
    }
}

/* Applies all elements of a leaf, of which the first is that of lane to->source. Those of the next 32 elements are loaded here. */
SIMT_DEVICE void leaf_change(const copse_paged_update_arguments *a, const lane_element *e, uint32_t from,
                             uint32_t joins, lane_leaf *to)
{
    const uint32_t row = simt_shfl_u32(SIMT_FULL_MASK, e->row, to->source % SIMT_WARP),
                   first = simt_shfl_u32(SIMT_FULL_MASK, e->what, to->source % SIMT_WARP);
    uint32_t shifted = 0; /* slots that what follows lies further to the right */
    bool more = to->source < SIMT_WARP;
    for (uint32_t at = to->source; __any_sync(SIMT_FULL_MASK, more); at++) {
        uint32_t what = simt_shfl_u32(SIMT_FULL_MASK, e->what, at % SIMT_WARP);
        KEY key = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, e->key, at % SIMT_WARP);
        VALUE value = COPSE_BITS(simt_shfl_u, VALUE_BITS)(SIMT_FULL_MASK, e->value, at % SIMT_WARP);
        if (more && at >= SIMT_WARP) {
            what = a->what[from + at];
            key = element_key(a, from + at);
            value =
                element_does(what) == COPSE_PAGED_NEW ? ((const VALUE *)a->values)[element_value_at(a, from + at)] : 0;
        }
        const uint32_t does = more ? element_does(what) : (uint32_t)COPSE_PAGED_NOTHING;
        leaf_apply(to, does, element_rank(what) - to->begin + shifted, key, value);
        shifted += does == COPSE_PAGED_NEW ? 1u : does == COPSE_PAGED_GONE ? UINT32_MAX : 0u;
        if (more && at + 1u < SIMT_WARP)
            more = (joins >> (at + 1u) & 1u) != 0;
        else if (more)
            more = from + at + 1u < a->n && same_leaf(row, first, a->row[from + at + 1u], a->what[from + at + 1u]);
    }
    const uint32_t own = simt_lane() % LEAF_SLOTS, count = to->count + shifted;
    if (to->source >= SIMT_WARP || own < to->low || own >= (count > to->count ? count : to->count)) return;
    page_keys(&a->tree, (char *)(uintptr_t)to->page)[to->at] = to->key;
    page_values(&a->tree, (char *)(uintptr_t)to->page)[to->at] = to->value;
}

/* A leaf that gets one entry: each lane has what goes to its slot, the new entry or what lay to the left. */
SIMT_DEVICE lane_leaf leaf_load_shifted(const copse_paged_tree *tree, const lane_element *e, uint32_t source)
{
    lane_leaf to;
    const uint32_t lane = source % SIMT_WARP, own = simt_lane() % LEAF_SLOTS;
    const uint32_t what = simt_shfl_u32(SIMT_FULL_MASK, e->what, lane),
                   span = simt_shfl_u32(SIMT_FULL_MASK, e->span, lane);
    to.page = simt_shfl_u64(SIMT_FULL_MASK, e->page, lane);
    to.key = COPSE_BITS(simt_shfl_u, KEY_BITS)(SIMT_FULL_MASK, e->key, lane);
    to.value = COPSE_BITS(simt_shfl_u, VALUE_BITS)(SIMT_FULL_MASK, e->value, lane);
    to.source = source;
    to.begin = span & 0xffffu;
    to.count = span >> 16;
    to.low = element_rank(what) - to.begin;
    to.at = element_leaf(what) * LEAF_SLOTS + own;
    if (source < SIMT_WARP && own > to.low && own <= to.count) {
        to.key = page_keys(tree, (char *)(uintptr_t)to.page)[to.at - 1u];
        to.value = page_values(tree, (char *)(uintptr_t)to.page)[to.at - 1u];
    }
    return to;
}

SIMT_DEVICE void leaf_store_shifted(const copse_paged_tree *tree, const lane_leaf *from)
{
    const uint32_t own = simt_lane() % LEAF_SLOTS;
    if (from->source >= SIMT_WARP || own < from->low || own > from->count) return;
    page_keys(tree, (char *)(uintptr_t)from->page)[from->at] = from->key;
    page_values(tree, (char *)(uintptr_t)from->page)[from->at] = from->value;
}

/* The lane of the next leaf for each group; takes them out of *todo, which is the same in all lanes. */
SIMT_DEVICE uint32_t patch_next(uint32_t *todo)
{
    uint32_t own = SIMT_WARP;
    for (uint32_t group = 0; group < PATCH_GROUPS; group++) {
        const uint32_t lane = *todo ? (uint32_t)__ffs((int)*todo) - 1u : SIMT_WARP;
        if (simt_lane() / LEAF_SLOTS == group) own = lane;
        *todo &= *todo - 1u;
    }
    return own;
}

/* Elements from .. from + 31, by a warp. Most are alone in their leaf, and those need no more than loads and stores. */
SIMT_DEVICE void patch_elements(const copse_paged_update_arguments *a, uint32_t from)
{
    const lane_element e = element_load(a, from + simt_lane());
    const uint32_t joins = __ballot_sync(SIMT_FULL_MASK, e.joins);
    const bool alone = element_is_alone(a, &e, from + simt_lane(), joins);
    uint32_t todo = __ballot_sync(SIMT_FULL_MASK, e.patches && !alone);
    for (uint32_t easy = __ballot_sync(SIMT_FULL_MASK, alone); easy;) {
        lane_leaf leaves[PATCH_TOGETHER];
        SIMT_UNROLL
        for (uint32_t i = 0; i < PATCH_TOGETHER; i++) leaves[i] = leaf_load_shifted(&a->tree, &e, patch_next(&easy));
        __syncwarp(SIMT_FULL_MASK);
        SIMT_UNROLL
        for (uint32_t i = 0; i < PATCH_TOGETHER; i++) leaf_store_shifted(&a->tree, &leaves[i]);
    }
    while (todo) {
        lane_leaf leaf = leaf_load(&a->tree, &e, patch_next(&todo));
        leaf_change(a, &e, from, joins, &leaf);
    }
}

/* Patches leaves where they are: a lane for each element finds out about its leaf, then a lane for each slot changes it. */
SIMT_KERNEL(NAME(patch), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    if (a.seen->refused || a.seen->done) return;
    const uint32_t warps = gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    const uint32_t own = blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    for (uint64_t from = (uint64_t)own * SIMT_WARP; from < a.n; from += (uint64_t)warps * SIMT_WARP)
        patch_elements(&a, (uint32_t)from);
}

/* --- finish: a warp per run ------------------------------------------------------------------------------------------------------- */

#define WINDOW_SLOTS (COPSE_PAGED_WINDOW * LEAF_SLOTS)

/* A window of a page, and the elements that fall into it. */
typedef struct window {
    uint32_t leaf, leaves;
    uint32_t begin;      /* rank of its first entry */
    uint32_t first, end; /* elements */
    uint32_t total;      /* entries that it gets */
} window;

SIMT_DEVICE window window_of(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, char *page)
{
    window w;
    const uint32_t shift = window_shift(&a->tree);
    w.leaves = 1u << shift;
    w.leaf = element_leaf(a->what[first]) >> shift << shift;
    w.begin = leaf_begin(&a->tree, page, w.leaf);
    w.first = first;
    w.end = run_leaf_end(a, first, end, w.leaf + w.leaves - 1u);
    w.total = page_ends(&a->tree, page)[w.leaf + w.leaves - 1u] - w.begin + run_comes(a, w.first, w.end);
    return w;
}

/* What the elements of a run bring: to leaves 0 .. a leaf, and to the leaves in front of its window, and behind it. */
typedef struct arrivals {
    uint32_t here, before, behind;
    bool marked; /* the window is shared out anew */
} arrivals;

SIMT_DEVICE uint32_t element_comes(uint32_t what)
{
    const uint32_t does = element_does(what);
    return does == COPSE_PAGED_NEW ? 1u : does == COPSE_PAGED_GONE ? UINT32_MAX : 0u;
}

SIMT_DEVICE arrivals arrivals_look_up(const copse_paged_update_arguments *a, uint32_t first, uint32_t end,
                                      uint32_t leaf, uint32_t shift)
{
    arrivals seen;
    const uint32_t begin = leaf >> shift << shift, behind = begin + (1u << shift);
    const uint32_t from = begin ? run_leaf_end(a, first, end, begin - 1u) : first;
    seen.before = run_comes(a, first, from);
    seen.here = run_comes(a, first, run_leaf_end(a, from, end, leaf));
    seen.behind = run_comes(a, first, run_leaf_end(a, from, end, behind - 1u));
    seen.marked = from < end && element_leaf(a->what[from]) < behind && a->what[from] & COPSE_PAGED_IN_WINDOW;
    return seen;
}

/* Every lane takes part, with a leaf of its own. Few elements come by shuffles, so that no lane waits for memory. windows: some are
 * shared out anew. */
SIMT_DEVICE arrivals arrivals_at(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, uint32_t leaf,
                                 bool windows)
{
    const uint32_t shift = window_shift(&a->tree);
    if (end - first > SIMT_WARP) return arrivals_look_up(a, first, end, leaf, shift);
    const uint32_t mine = first + simt_lane() < end ? a->what[first + simt_lane()] : 0;
    arrivals seen;
    seen.here = seen.before = seen.behind = 0;
    seen.marked = false;
    for (uint32_t i = 0; i < end - first; i++) {
        const uint32_t what = simt_shfl_u32(SIMT_FULL_MASK, mine, i), comes = element_comes(what);
        const uint32_t at = element_leaf(what), in = at >> shift, own = leaf >> shift;
        if (at <= leaf) seen.here += comes;
        if (!windows) continue;
        if (in < own) seen.before += comes;
        if (in <= own) seen.behind += comes;
        seen.marked = seen.marked || (in == own && what & COPSE_PAGED_IN_WINDOW);
    }
    return seen;
}

/* The new rank of an entry, counted from that of element `first`'s surroundings; UINT32_MAX: it goes. */
SIMT_DEVICE uint32_t entry_new_rank(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, uint32_t rank)
{
    uint32_t low = first, high = end;
    if (first == end) return rank;
    if (rank < element_rank(a->what[low]))
        high = low; /* in front of them all, or behind: often, where keys come in order */
    if (rank >= element_rank(a->what[end - 1u])) low = high;
    while (low < high) { /* the first element that stands behind the entry */
        const uint32_t middle = low + (high - low) / 2u;
        if (element_rank(a->what[middle]) <= rank)
            low = middle + 1u;
        else
            high = middle;
    }
    if (low > first && element_does(a->what[low - 1u]) == COPSE_PAGED_GONE &&
        rank < element_rank(a->what[low - 1u]) + (a->lost ? a->lost[low - 1u] : 1u))
        return UINT32_MAX;
    return rank + run_comes(a, first, low);
}

/* Brings the entries of a window together, in order, in shared memory. */
SIMT_DEVICE void window_gather(const copse_paged_update_arguments *a, const window *w, char *page, KEY *keys,
                               VALUE *values)
{
    const uint16_t *ends = page_ends(&a->tree, page);
    for (uint32_t i = simt_lane(); i < w->leaves * LEAF_SLOTS; i += SIMT_WARP) {
        const uint32_t s = w->leaf * LEAF_SLOTS + i, leaf = s / LEAF_SLOTS;
        const uint32_t rank = leaf_begin(&a->tree, page, leaf) + s % LEAF_SLOTS;
        const uint32_t to = rank < ends[leaf] ? entry_new_rank(a, w->first, w->end, rank) : UINT32_MAX;
        if (to == UINT32_MAX) continue;
        keys[to - w->begin] = page_keys(&a->tree, page)[s];
        values[to - w->begin] = page_values(&a->tree, page)[s];
    }
    for (uint32_t j = w->first + simt_lane(); j < w->end; j += SIMT_WARP) {
        if (element_does(a->what[j]) != COPSE_PAGED_NEW) continue;
        const uint32_t to = element_rank(a->what[j]) + run_comes(a, w->first, j) - w->begin;
        keys[to] = element_key(a, j);
        values[to] = ((const VALUE *)a->values)[element_value_at(a, j)];
    }
}

/* Writes the leaves of a window; its last separator stays. */
SIMT_DEVICE void window_write(const copse_paged_tree *tree, const window *w, char *page, const KEY *keys,
                              const VALUE *values)
{
    const uint32_t per_leaf = ((w->total - 1u) >> window_shift(tree)) + 1u;
    KEY *separators = page_separators(tree, page) + w->leaf;
    const KEY last = separators[w->leaves - 1u];
    for (uint32_t i = simt_lane(); i < w->leaves * LEAF_SLOTS; i += SIMT_WARP) {
        const uint32_t at = i / LEAF_SLOTS * per_leaf + i % LEAF_SLOTS;
        const bool there = i % LEAF_SLOTS < per_leaf && at < w->total;
        page_keys(tree, page)[w->leaf * LEAF_SLOTS + i] = there ? keys[at] : KEY_MAX;
        page_values(tree, page)[w->leaf * LEAF_SLOTS + i] = there ? values[at] : 0;
    }
    if (simt_lane() + 1u < w->leaves)
        separators[simt_lane()] =
            (simt_lane() + 1u) * per_leaf < w->total ? keys[(simt_lane() + 1u) * per_leaf - 1u] : last;
}

/* The new number of entries up to a leaf; ends: as they were. */
SIMT_DEVICE uint32_t end_follow(const copse_paged_tree *tree, const uint16_t *ends, uint32_t leaf, arrivals seen)
{
    if (!seen.marked) return ends[leaf] + seen.here;
    const uint32_t shift = window_shift(tree), first = leaf >> shift << shift;
    const uint32_t begin = (first ? ends[first - 1u] : 0u) + seen.before;
    const uint32_t total = ends[first + (1u << shift) - 1u] + seen.behind - begin;
    const uint32_t inside = (leaf - first + 1u) * (((total - 1u) >> shift) + 1u);
    return begin + (inside < total ? inside : total);
}

/* The ends and the count of a page whose leaves were patched. From the last leaves to the first: a window needs the old end in front. */
SIMT_DEVICE void ends_follow(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, uint32_t row,
                             char *page, bool windows)
{
    uint16_t *ends = page_ends(&a->tree, page);
    for (uint32_t i = (a->tree.leaves + SIMT_WARP - 1u) / SIMT_WARP; i-- > 0;) {
        const uint32_t leaf = i * SIMT_WARP + simt_lane();
        const arrivals seen = arrivals_at(a, first, end, leaf, windows);
        const uint32_t to = leaf < a->tree.leaves ? end_follow(&a->tree, ends, leaf, seen) : 0;
        __syncwarp(SIMT_FULL_MASK);
        if (leaf < a->tree.leaves) ends[leaf] = (uint16_t)to;
        __syncwarp(SIMT_FULL_MASK);
    }
    if (simt_lane() != 0) return;
    a->tree.counts[row] += run_comes(a, first, end);
    *(uint32_t *)(page + COPSE_PAGED_STALE_AT) = 1u;
}

/* Shares the entries of all marked windows of a run out anew. keys and values: shared, WINDOW_SLOTS of the warp. */
SIMT_DEVICE void windows_spread(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, char *page,
                                KEY *keys, VALUE *values)
{
    const uint32_t shift = window_shift(&a->tree);
    for (uint32_t from = first; from < end; from += SIMT_WARP) {
        const uint32_t j = from + simt_lane(), what = j < end ? a->what[j] : 0;
        const bool begins = what & COPSE_PAGED_IN_WINDOW &&
                            (j == first || element_leaf(a->what[j - 1u]) >> shift != element_leaf(what) >> shift);
        for (uint32_t todo = __ballot_sync(SIMT_FULL_MASK, begins); todo; todo &= todo - 1u) {
            const window w = window_of(a, from + (uint32_t)__ffs((int)todo) - 1u, end, page);
            window_gather(a, &w, page, keys, values);
            __syncwarp(SIMT_FULL_MASK);
            window_write(&a->tree, &w, page, keys, values);
            __syncwarp(SIMT_FULL_MASK);
        }
    }
}

/* A run as finish needs it, loaded by a lane. */
typedef struct lane_run {
    uint32_t does, first, end, row;
    uint64_t page;
} lane_run;

SIMT_DEVICE lane_run run_load(const copse_paged_update_arguments *a, uint32_t x, uint32_t runs)
{
    lane_run run;
    run.does = run.first = run.end = run.row = 0;
    run.page = 0;
    if (x >= runs) return run;
    run.does = a->run_does[x] & 7u;
    run.first = a->run_begin[x];
    run.end = a->run_begin[x + 1u];
    run.row = a->run_row[x];
    run.page = a->tree.pages[run.row];
    return run;
}

/* Finishes runs x .. x + n - 1, at most 32, by a warp. */
SIMT_DEVICE void finish_runs(const copse_paged_update_arguments *a, uint32_t x, uint32_t n, uint32_t runs, KEY *keys,
                             VALUE *values)
{
    const lane_run mine = run_load(a, simt_lane() < n ? x + simt_lane() : runs, runs);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t does = simt_shfl_u32(SIMT_FULL_MASK, mine.does, i);
        if (does != COPSE_PAGED_PATCHED && does != COPSE_PAGED_SPREAD) continue;
        const uint32_t first = simt_shfl_u32(SIMT_FULL_MASK, mine.first, i),
                       end = simt_shfl_u32(SIMT_FULL_MASK, mine.end, i);
        char *page = (char *)(uintptr_t)simt_shfl_u64(SIMT_FULL_MASK, mine.page, i);
        if (does == COPSE_PAGED_SPREAD) windows_spread(a, first, end, page, keys, values);
        ends_follow(a, first, end, simt_shfl_u32(SIMT_FULL_MASK, mine.row, i), page, does == COPSE_PAGED_SPREAD);
    }
}

/* After the patches: windows, and the ends and counts of all pages that were patched. */
SIMT_KERNEL(NAME(finish), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(KEY, keys, COPSE_KERNEL_THREADS / SIMT_WARP * WINDOW_SLOTS);
    SIMT_SHARED(VALUE, values, COPSE_KERNEL_THREADS / SIMT_WARP * WINDOW_SLOTS);
    if (a.seen->refused || a.seen->done) return;
    const uint32_t warps = gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP), runs = low_half(a.seen->last);
    const uint32_t own = blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp();
    const uint32_t share = (runs + warps - 1u) / warps, each = share < SIMT_WARP ? share : SIMT_WARP;
    for (uint64_t x = (uint64_t)own * each; x < runs; x += (uint64_t)warps * each)
        finish_runs(&a, (uint32_t)x, each, runs, keys + simt_warp() * WINDOW_SLOTS,
                    values + simt_warp() * WINDOW_SLOTS);
}
