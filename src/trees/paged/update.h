/* Template: kernels that change the paged tree; copse_paged_update_arguments tells how they follow each other. */
#pragma once

#include "gpu/kernel.h"
#include "gpu/pairs.h"
#include "trees/paged/page.h"

/* --- locate --------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE KEY element_key(const copse_paged_update_arguments *a, uint32_t j)
{
    return ((const KEY *)a->keys)[j];
}

SIMT_DEVICE uint32_t element_value_at(const copse_paged_update_arguments *a, uint32_t j)
{
    return a->value_rows ? a->value_rows[j] : j;
}

/* What element j does to a key that is there, or not. */
SIMT_DEVICE uint32_t element_decide(const copse_paged_update_arguments *a, uint32_t j, KEY q, bool there)
{
    const bool superseded = a->mode == COPSE_PAGED_ABSENT ? j > 0 && element_key(a, j - 1u) == q
                            : a->mode == COPSE_PAGED_ADD  ? false
                                                          : j + 1u < a->n && element_key(a, j + 1u) == q;
    const bool goes = a->mode == COPSE_PAGED_ERASE || (a->gone && a->gone[element_value_at(a, j)]);
    if (superseded) return COPSE_PAGED_NOTHING;
    if (goes) return there ? COPSE_PAGED_GONE : COPSE_PAGED_NOTHING;
    if (!there || a->mode == COPSE_PAGED_ADD) return COPSE_PAGED_NEW;
    return a->mode == COPSE_PAGED_ABSENT ? COPSE_PAGED_NOTHING : COPSE_PAGED_REPLACED;
}

/* Is a key that may repeat there? Its first one may be that of the next leaf, or of the next row. */
SIMT_DEVICE bool is_there(const copse_paged_tree *tree, const place *at, KEY q)
{
    uint32_t row = at->row, rank = at->rank;
    if (at->equal || tree->unique) return at->equal;
    if (rank >= tree->counts[row]) {
        row++;
        rank = 0;
    }
    if (row >= tree->rows || tree->counts[row] == 0) return false;
    char *page = page_of(tree, row);
    return page_keys(tree, page)[page_slot(tree, page, rank)] == q;
}

/* Where element j goes: behind its equals where all are kept. */
SIMT_DEVICE place element_place(const copse_paged_update_arguments *a, KEY q)
{
    const copse_paged_tree *tree = &a->tree;
    if (a->mode != COPSE_PAGED_ADD || q != KEY_MAX) return place_of(tree, a->mode == COPSE_PAGED_ADD ? q + 1u : q);
    place end;
    end.row = tree->rows - 1u;
    end.rank = tree->counts[end.row];
    end.leaf = tree->leaves - 1u; /* not one to patch: the page is packed, or written anew */
    end.slot = LEAF_SLOTS;
    end.equal = false;
    return end;
}

/* Does a run begin with element j, whose row is known? It does where the one before goes to another row. */
SIMT_DEVICE bool begins_run(const copse_paged_update_arguments *a, uint32_t j, uint32_t row)
{
    if (j == 0) return true;
    if (row == 0) return false;
    const KEY before = element_key(a, j - 1u), high = ((const KEY *)a->tree.highs)[row - 1u];
    return a->mode == COPSE_PAGED_ADD ? before < high : before <= high;
}

/* Locates element j. Returns what goes into `scan`. */
SIMT_DEVICE uint64_t element_locate(const copse_paged_update_arguments *a, uint32_t j, bool *replaced)
{
    const KEY q = element_key(a, j);
    const place at = element_place(a, q);
    const uint32_t does = element_decide(a, j, q, is_there(&a->tree, &at, q));
    const uint32_t comes = does == COPSE_PAGED_NEW ? 1u : does == COPSE_PAGED_GONE ? UINT32_MAX : 0u;
    *replaced = *replaced || does == COPSE_PAGED_REPLACED;
    a->row[j] = at.row;
    a->what[j] = does << COPSE_PAGED_DOES_SHIFT | at.leaf << COPSE_PAGED_LEAF_SHIFT | at.rank;
    return (uint64_t)comes << 32 | (uint64_t)begins_run(a, j, at.row);
}

SIMT_KERNEL(NAME(locate), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    bool replaced = false;
    for (uint32_t j = blockIdx.x * blockDim.x + threadIdx.x; j < a.n; j += gridDim.x * blockDim.x)
        a.scan[j] = element_locate(&a, j, &replaced);
    if (blockIdx.x == 0 && threadIdx.x == 0) a.scan[a.n] = 0;
    if (replaced) simt_store_relaxed_u64(&a.seen->replaced, 1u);
}

/* --- pieces --------------------------------------------------------------------------------------------------------------- */

/* Both ends of each range, and the rows that it touches. */
SIMT_KERNEL(NAME(range_ends), copse_paged_pieces_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.update.tree;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= a.n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t pieces = 0;
        if (i < a.n) {
            const KEY low = ENCODE_ONE(a.key_type, ((const KEY *)a.lows)[i]);
            const KEY high = ENCODE_ONE(a.key_type, ((const KEY *)a.highs)[i]);
            const bool superseded = i + 1u < a.n && ENCODE_ONE(a.key_type, ((const KEY *)a.lows)[i + 1u]) == low;
            const uint64_t first = bound_location(tree, low, false);
            const uint64_t end = bound_location(tree, bound_key(&tree->unique, high, true), true);
            a.first[i] = first;
            a.end[i] = end;
            if (!superseded && end > first) pieces = location_row(end) - location_row(first) + 1u;
        }
        a.sums[i] = pieces;
    }
}

/* The range of a piece. */
SIMT_DEVICE uint64_t piece_range(const copse_paged_pieces_arguments *a, uint32_t piece)
{
    uint64_t low = 0, high = a->n;
    while (high - low > 1u) {
        const uint64_t middle = low + (high - low) / 2u;
        if (a->sums[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    return low;
}

SIMT_DEVICE uint32_t piece_row(const copse_paged_pieces_arguments *a, uint32_t piece, uint64_t range)
{
    return location_row(a->first[range]) + (uint32_t)(piece - a->sums[range]);
}

SIMT_KERNEL(NAME(pieces), copse_paged_pieces_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_update_arguments *u = &a.update;
    for (uint32_t j = blockIdx.x * blockDim.x + threadIdx.x; j < u->n; j += gridDim.x * blockDim.x) {
        const uint64_t range = piece_range(&a, j);
        const uint32_t row = piece_row(&a, j, range);
        const uint32_t first = row == location_row(a.first[range]) ? location_rank(a.first[range]) : 0;
        const uint32_t end = row == location_row(a.end[range]) ? location_rank(a.end[range]) : u->tree.counts[row];
        const uint32_t lost = end > first ? end - first : 0;
        const bool begins = j == 0 || piece_row(&a, j - 1u, piece_range(&a, j - 1u)) != row;
        u->row[j] = row;
        u->what[j] = (uint32_t)(lost ? COPSE_PAGED_GONE : COPSE_PAGED_NOTHING) << COPSE_PAGED_DOES_SHIFT | first;
        u->lost[j] = lost;
        u->scan[j] = (uint64_t)(0u - lost) << 32 | (uint64_t)begins;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) u->scan[u->n] = 0;
}

/* --- plan ----------------------------------------------------------------------------------------------------------------- */

/* Notes element j where a run begins with it; behind the last element it notes the end. A batch that is not in order, which the host
 * will see, may seem to have more runs than there are rows: nothing is planned then. */
SIMT_DEVICE void run_note(const copse_paged_update_arguments *a, uint32_t j)
{
    const uint32_t run = low_half(a->scan[j]);
    if (j == a->n) {
        if (run <= a->runs_most) a->run_begin[run] = a->n;
        a->seen->last = a->scan[j];
        if (a->speculation) a->seen->speculation = *a->speculation;
    } else if (low_half(a->scan[j + 1u]) != run && run < a->runs_most) {
        a->run_begin[run] = j;
        a->run_row[run] = a->row[j];
    }
}

SIMT_KERNEL(NAME(runs), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint32_t j = blockIdx.x * blockDim.x + threadIdx.x; j <= a.n; j += gridDim.x * blockDim.x) run_note(&a, j);
}

/* Entries that a run adds, modulo 2^32. */
SIMT_DEVICE uint32_t run_comes(const copse_paged_update_arguments *a, uint32_t from, uint32_t to)
{
    return high_half(a->scan[to]) - high_half(a->scan[from]);
}

/* How the entries of a run's page and of the run are spread over pages and leaves. */
typedef struct run_shape {
    uint32_t total, pages;
    uint32_t per_page; /* entries of each page but the last */
    bool packed;
} run_shape;

SIMT_DEVICE run_shape shape_of(const copse_paged_tree *tree, uint32_t total, bool packed)
{
    run_shape shape;
    const uint32_t most = packed ? tree->slots : tree->slots - tree->slots / 16u;
    const uint32_t fill = packed ? tree->slots : tree->slots / 4u * 3u;
    shape.total = total;
    shape.packed = packed;
    shape.pages = total == 0 ? 0 : total <= most ? 1u : (total - 1u) / fill + 1u;
    shape.per_page = shape.pages == 0 ? 1u : packed && shape.pages > 1u ? fill : (total - 1u) / shape.pages + 1u;
    return shape;
}

/* The first rank of a part. Pages that come in numbers get more and fewer entries by turns, from 3/4 to 5/4 of the mean: else they would
 * all be full at the same time later, and split in the same few updates. */
SIMT_DEVICE uint32_t part_low(const run_shape *shape, uint32_t part)
{
    const uint32_t less = shape->packed || shape->pages < 4u ? 0u : shape->per_page / 256u * (part * 0x9e3779b1u >> 26);
    return part * shape->per_page - (part & 1u ? less : 0u);
}

/* Has every leaf that the run touches room for what comes? */
SIMT_DEVICE bool run_fits(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, uint32_t row)
{
    const uint16_t *ends = page_ends(&a->tree, page_of(&a->tree, row));
    uint32_t leaf = UINT32_MAX, room = 0;
    if (a->lost || end - first > a->tree.leaves) return false;
    for (uint32_t j = first; j < end; j++) {
        const uint32_t what = a->what[j];
        if (element_does(what) != COPSE_PAGED_NEW) continue;
        if (element_leaf(what) != leaf) {
            leaf = element_leaf(what);
            room = LEAF_SLOTS - (ends[leaf] - (leaf ? ends[leaf - 1u] : 0u));
        }
        if (room == 0) return false;
        room--;
    }
    return true;
}

/* What becomes of a run's page, and how many rows it has afterwards. */
SIMT_DEVICE uint32_t run_decide(const copse_paged_update_arguments *a, uint32_t run, run_shape *out)
{
    const uint32_t first = a->run_begin[run], end = a->run_begin[run + 1u], row = a->run_row[run];
    const uint32_t count = a->tree.counts[row], comes = run_comes(a, first, end);
    const bool packed = row + 1u == a->tree.rows && count > 0 && element_rank(a->what[first]) >= count;
    *out = shape_of(&a->tree, count + comes, packed);
    if (comes == 0 && a->mode != COPSE_PAGED_MIXED) {
        out->pages = 1;
        return COPSE_PAGED_STAYS;
    }
    if (out->total == 0) return COPSE_PAGED_DROPPED;
    if (out->pages == 1u && run_fits(a, first, end, row)) return COPSE_PAGED_PATCHED;
    return COPSE_PAGED_WRITTEN | (packed ? COPSE_PAGED_PACKED : 0u);
}

/* What a thread has planned. */
typedef struct planned {
    uint64_t items, shift, taken, freed, patched;
} planned;

/* Plans run x, where there is one, and returns what goes into `run_scan`. */
SIMT_DEVICE uint64_t run_plan(const copse_paged_update_arguments *a, uint32_t x, planned *sums)
{
    const uint32_t runs = low_half(a->scan[a->n]);
    run_shape shape;
    if (x >= runs || runs > a->runs_most) return 0; /* there is none, or the batch is not in order */
    const uint32_t does = run_decide(a, x, &shape);
    const uint32_t written = (does & 7u) == COPSE_PAGED_WRITTEN ? shape.pages : 0u;
    a->run_does[x] = does;
    sums->items += written;
    sums->shift += (uint64_t)shape.pages - 1u;
    sums->taken += shape.pages > 1u ? shape.pages : 0u;
    sums->freed += shape.pages != 1u;
    sums->patched += does == COPSE_PAGED_PATCHED;
    return (uint64_t)(shape.pages - 1u) << 32 | written;
}

SIMT_DEVICE void planned_add(uint64_t *to, uint64_t value)
{
    value = warp_sum(value);
    if (simt_lane() == 0 && value) simt_atomic_add_u64(to, value);
}

SIMT_DEVICE void planned_report(copse_paged_seen *seen, planned sums)
{
    planned_add(&seen->items, sums.items);
    planned_add(&seen->shift, sums.shift);
    planned_add(&seen->taken, sums.taken);
    planned_add(&seen->freed, sums.freed);
    planned_add(&seen->patched, sums.patched);
}

SIMT_DEVICE planned planned_none(void)
{
    planned none;
    none.items = none.shift = none.taken = none.freed = none.patched = 0;
    return none;
}

SIMT_KERNEL(NAME(plan), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    planned sums = planned_none();
    for (uint32_t x = blockIdx.x * blockDim.x + threadIdx.x; x <= a.runs_most; x += gridDim.x * blockDim.x)
        a.run_scan[x] = run_plan(&a, x, &sums);
    planned_report(a.seen, sums);
}

/* --- all of the plan for a small batch, by one block ---------------------------------------------------------------------------- */

/* Sums of values of the threads in front of this one; `warps` is shared, one for each warp. */
SIMT_DEVICE uint64_t block_before(uint64_t value, uint64_t *warps)
{
    uint64_t sum = value;
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint64_t left = simt_shfl_up_u64(SIMT_FULL_MASK, sum, step);
        if (simt_lane() >= step) sum += left;
    }
    if (simt_lane() == SIMT_WARP - 1u) warps[simt_warp()] = sum;
    __syncthreads();
    uint64_t before = sum - value;
    for (uint32_t w = 0; w < simt_warp(); w++) before += warps[w];
    __syncthreads();
    return before;
}

/* Replaces n numbers by the sums of those in front of each. */
SIMT_DEVICE void block_sums(uint64_t *numbers, uint32_t n, uint64_t *warps)
{
    const uint32_t each = (n + COPSE_PAGED_PLAN_THREADS - 1u) / COPSE_PAGED_PLAN_THREADS, first = threadIdx.x * each;
    uint64_t sum = 0;
    for (uint32_t i = first; i < first + each && i < n; i++) sum += numbers[i];
    sum = block_before(sum, warps);
    for (uint32_t i = first; i < first + each && i < n; i++) {
        const uint64_t own = numbers[i];
        numbers[i] = sum;
        sum += own;
    }
    __syncthreads();
}

SIMT_KERNEL(NAME(plan_small), copse_paged_update_arguments, COPSE_PAGED_PLAN_THREADS, 1)
{
    SIMT_SHARED(uint64_t, warps, COPSE_PAGED_PLAN_THREADS / SIMT_WARP);
    bool replaced = false;
    planned sums = planned_none();
    for (uint32_t j = threadIdx.x; j <= a.n; j += COPSE_PAGED_PLAN_THREADS)
        a.scan[j] = j < a.n ? element_locate(&a, j, &replaced) : 0;
    if (replaced) simt_store_relaxed_u64(&a.seen->replaced, 1u);
    __syncthreads();
    block_sums(a.scan, a.n + 1u, warps);
    for (uint32_t j = threadIdx.x; j <= a.n; j += COPSE_PAGED_PLAN_THREADS) run_note(&a, j);
    __syncthreads();
    for (uint32_t x = threadIdx.x; x <= a.runs_most; x += COPSE_PAGED_PLAN_THREADS)
        a.run_scan[x] = run_plan(&a, x, &sums);
    planned_report(a.seen, sums);
    __syncthreads();
    block_sums(a.run_scan, a.runs_most + 1u, warps);
}

/* --- replace ---------------------------------------------------------------------------------------------------------------- */

SIMT_KERNEL(NAME(replace), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint32_t j = blockIdx.x * blockDim.x + threadIdx.x; j < a.n; j += gridDim.x * blockDim.x) {
        const uint32_t what = a.what[j];
        if (element_does(what) != COPSE_PAGED_REPLACED) continue;
        char *page = page_of(&a.tree, a.row[j]);
        const uint32_t leaf = element_leaf(what);
        const uint32_t slot = leaf * LEAF_SLOTS + element_rank(what) - leaf_begin(&a.tree, page, leaf);
        page_values(&a.tree, page)[slot] = ((const VALUE *)a.values)[element_value_at(&a, j)];
        simt_store_relaxed_u32((uint32_t *)(page + COPSE_PAGED_STALE_AT), 1u);
    }
}

/* --- patch ------------------------------------------------------------------------------------------------------------------- */

/* The run that element j is in. */
SIMT_DEVICE uint32_t element_run(const copse_paged_update_arguments *a, uint32_t j)
{
    return low_half(a->scan[j + 1u]) - 1u;
}

/* Is element j the first of those that its leaf gets, and the page is to be patched? */
SIMT_DEVICE bool begins_leaf(const copse_paged_update_arguments *a, uint32_t j)
{
    if (j >= a->n || a->run_does[element_run(a, j)] != COPSE_PAGED_PATCHED) return false;
    return j == 0 || a->row[j - 1u] != a->row[j] || element_leaf(a->what[j - 1u]) != element_leaf(a->what[j]);
}

/* A slot of a leaf that changes, in a lane. */
typedef struct lane_slot {
    KEY key;
    VALUE value;
} lane_slot;

/* Applies an element to a leaf: entries from `slot` on go one to the right, or those behind it one to the left. Every lane takes part. */
SIMT_DEVICE void lane_apply(const copse_paged_update_arguments *a, uint32_t j, uint32_t does, uint32_t slot,
                            lane_slot *to)
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
        to->key = element_key(a, j);
        to->value = ((const VALUE *)a->values)[element_value_at(a, j)];
    } else if (does == COPSE_PAGED_GONE && own >= slot) {
        to->key = own + 1u < LEAF_SLOTS ? right_key : KEY_MAX;
        to->value = right_value;
    }
}

/* Patches leaves where they are: a lane for each slot, so that a warp has one leaf, or two at a time. */
SIMT_KERNEL(NAME(patch), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t own = simt_lane() % LEAF_SLOTS, per_block = COPSE_KERNEL_THREADS / LEAF_SLOTS;
    for (uint32_t from = blockIdx.x * per_block; from < a.n; from += gridDim.x * per_block) {
        const uint32_t first = from + threadIdx.x / LEAF_SLOTS;
        const bool mine = begins_leaf(&a, first);
        const uint32_t row = mine ? a.row[first] : 0, leaf = mine ? element_leaf(a.what[first]) : 0;
        char *page = page_of(&a.tree, row);
        const uint32_t begin = leaf_begin(&a.tree, page, leaf);
        KEY *key = page_keys(&a.tree, page) + leaf * LEAF_SLOTS + own;
        VALUE *value = page_values(&a.tree, page) + leaf * LEAF_SLOTS + own;
        lane_slot slot;
        slot.key = mine ? *key : 0;
        slot.value = mine ? *value : 0;
        uint32_t shifted = 0; /* slots that what follows lies further to the right */
        bool more = mine;
        for (uint32_t j = first; __any_sync(SIMT_FULL_MASK, more); j++) {
            const uint32_t what = more ? a.what[j] : 0, does = element_does(what);
            lane_apply(&a, j, does, element_rank(what) - begin + shifted, &slot);
            shifted += does == COPSE_PAGED_NEW ? 1u : does == COPSE_PAGED_GONE ? UINT32_MAX : 0u;
            more = more && j + 1u < a.n && a.row[j + 1u] == row && element_leaf(a.what[j + 1u]) == leaf;
        }
        if (mine) *key = slot.key;
        if (mine) *value = slot.value;
    }
}

/* The first element of first .. end whose leaf is greater. */
SIMT_DEVICE uint32_t run_leaf_end(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, uint32_t leaf)
{
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2u;
        if (element_leaf(a->what[middle]) <= leaf)
            first = middle + 1u;
        else
            end = middle;
    }
    return first;
}

/* Then the ends and the counts of their pages follow: a warp for each. */
SIMT_KERNEL(NAME(patch_ends), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t warps = gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint32_t x = blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); x < a.runs; x += warps) {
        if (a.run_does[x] != COPSE_PAGED_PATCHED) continue;
        const uint32_t first = a.run_begin[x], end = a.run_begin[x + 1u], row = a.run_row[x];
        char *page = page_of(&a.tree, row);
        for (uint32_t l = simt_lane(); l < a.tree.leaves; l += SIMT_WARP)
            page_ends(&a.tree, page)[l] =
                (uint16_t)(page_ends(&a.tree, page)[l] + run_comes(&a, first, run_leaf_end(&a, first, end, l)));
        if (simt_lane() == 0) {
            a.tree.counts[row] += run_comes(&a, first, end);
            *(uint32_t *)(page + COPSE_PAGED_STALE_AT) = 1u;
        }
    }
}

/* --- write: a block per page -------------------------------------------------------------------------------------------------- */

/* A page that is written: which part of what run. */
typedef struct item {
    uint32_t run, part;
    uint32_t first, end, row; /* elements and row of the run */
    run_shape shape;
    uint32_t low, high; /* ranks among all entries of the run's pages */
} item;

SIMT_DEVICE item item_of(const copse_paged_update_arguments *a, uint32_t number)
{
    item it;
    uint32_t low = 0, high = a->runs;
    while (high - low >
           1u) { /* the last run with no more pages in front of it; those that write none have as many as the next */
        const uint32_t middle = low + (high - low) / 2u;
        if (low_half(a->run_scan[middle]) <= number)
            low = middle;
        else
            high = middle;
    }
    it.run = low;
    it.part = number - low_half(a->run_scan[low]);
    it.first = a->run_begin[low];
    it.end = a->run_begin[low + 1u];
    it.row = a->run_row[low];
    it.shape = shape_of(&a->tree, a->tree.counts[it.row] + run_comes(a, it.first, it.end),
                        (a->run_does[low] & COPSE_PAGED_PACKED) != 0);
    it.low = part_low(&it.shape, it.part);
    it.high = it.part + 1u == it.shape.pages ? it.shape.total : part_low(&it.shape, it.part + 1u);
    return it;
}

/* The rank that element j would have. */
SIMT_DEVICE uint32_t element_new_rank(const copse_paged_update_arguments *a, const item *it, uint32_t j)
{
    return element_rank(a->what[j]) + run_comes(a, it->first, j);
}

/* The first element of the run whose new rank is not smaller. */
SIMT_DEVICE uint32_t element_from(const copse_paged_update_arguments *a, const item *it, uint32_t rank)
{
    uint32_t low = it->first, high = it->end;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2u;
        if (element_new_rank(a, it, middle) < rank)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

/* The new rank of an entry of the old page; UINT32_MAX: it goes. */
SIMT_DEVICE uint32_t entry_new_rank(const copse_paged_update_arguments *a, const item *it, uint32_t rank)
{
    uint32_t low = it->first, high = it->end;
    if (rank < element_rank(a->what[low]))
        high = low; /* in front of them all, or behind: often, where keys come in order */
    if (rank >= element_rank(a->what[it->end - 1u])) low = high;
    while (low < high) { /* the first element that stands behind the entry */
        const uint32_t middle = low + (high - low) / 2u;
        if (element_rank(a->what[middle]) <= rank)
            low = middle + 1u;
        else
            high = middle;
    }
    if (low > it->first && element_does(a->what[low - 1u]) == COPSE_PAGED_GONE &&
        rank < element_rank(a->what[low - 1u]) + (a->lost ? a->lost[low - 1u] : 1u))
        return UINT32_MAX;
    return rank + run_comes(a, it->first, low);
}

/* Brings the entries of the page together, in order. */
SIMT_DEVICE void item_gather(const copse_paged_update_arguments *a, const item *it, KEY *keys, VALUE *values)
{
    char *page = page_of(&a->tree, it->row);
    const uint16_t *ends = page_ends(&a->tree, page);
    for (uint32_t s = threadIdx.x; s < a->tree.slots; s += COPSE_KERNEL_THREADS) {
        const uint32_t leaf = s / LEAF_SLOTS, rank = leaf_begin(&a->tree, page, leaf) + s % LEAF_SLOTS;
        if (rank >= ends[leaf]) continue;
        const uint32_t to = entry_new_rank(a, it, rank);
        if (to < it->low || to >= it->high) continue;
        keys[to - it->low] = page_keys(&a->tree, page)[s];
        values[to - it->low] = page_values(&a->tree, page)[s];
    }
    const uint32_t end = element_from(a, it, it->high);
    for (uint32_t j = element_from(a, it, it->low) + threadIdx.x; j < end; j += COPSE_KERNEL_THREADS) {
        if (element_does(a->what[j]) != COPSE_PAGED_NEW) continue;
        const uint32_t to = element_new_rank(a, it, j) - it->low;
        keys[to] = element_key(a, j);
        values[to] = ((const VALUE *)a->values)[element_value_at(a, j)];
    }
}

/* Separator of a leaf, of whose page n entries lie per_leaf in a leaf. */
SIMT_DEVICE KEY item_separator(const KEY *keys, uint32_t n, uint32_t per_leaf, uint32_t leaf)
{
    return (leaf + 1u) * per_leaf < n ? keys[(leaf + 1u) * per_leaf - 1u] : KEY_MAX;
}

/* Writes a page of n entries. */
SIMT_DEVICE void page_write(const copse_paged_tree *tree, char *page, const KEY *keys, const VALUE *values, uint32_t n,
                            bool packed)
{
    const uint32_t per_leaf = packed ? LEAF_SLOTS : (n + tree->leaves - 1u) / tree->leaves;
    for (uint32_t s = threadIdx.x; s < tree->slots; s += COPSE_KERNEL_THREADS) {
        const uint32_t at = s / LEAF_SLOTS * per_leaf + s % LEAF_SLOTS;
        const bool there = s % LEAF_SLOTS < per_leaf && at < n;
        page_keys(tree, page)[s] = there ? keys[at] : KEY_MAX;
        page_values(tree, page)[s] = there ? values[at] : 0;
    }
    const uint32_t lines = (tree->leaves + LINE_KEYS - 1u) / LINE_KEYS * LINE_KEYS;
    for (uint32_t l = threadIdx.x; l < lines; l += COPSE_KERNEL_THREADS)
        ((KEY *)(page + COPSE_PAGED_SEPARATORS_AT))[l] = item_separator(keys, n, per_leaf, l);
    if (threadIdx.x < LINE_KEYS)
        ((KEY *)(page + COPSE_PAGED_TOP_AT))[threadIdx.x] =
            item_separator(keys, n, per_leaf, (threadIdx.x + 1u) * LINE_KEYS - 1u);
    for (uint32_t l = threadIdx.x; l < tree->leaves; l += COPSE_KERNEL_THREADS)
        page_ends(tree, page)[l] = (uint16_t)((l + 1u) * per_leaf < n ? (l + 1u) * per_leaf : n);
    if (threadIdx.x == 0) *(uint32_t *)(page + COPSE_PAGED_STALE_AT) = 1u;
}

SIMT_KERNEL(NAME(write), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(KEY, keys, COPSE_PAGED_SLOTS);
    SIMT_SHARED(VALUE, values, COPSE_PAGED_SLOTS);
    SIMT_SHARED(uint64_t, to, 1);
    const item it = item_of(&a, blockIdx.x);
    const bool in_place = it.shape.pages == 1u;
    item_gather(&a, &it, keys, values);
    if (threadIdx.x == 0)
        to[0] = in_place ? a.tree.pages[it.row] : a.stack[a.stack_top - 1u - simt_atomic_add_u64(&a.seen->take, 1u)];
    __syncthreads();
    const uint32_t n = it.high - it.low;
    page_write(&a.tree, (char *)(uintptr_t)to[0], keys, values, n, it.shape.packed);
    if (threadIdx.x != 0) return;
    if (in_place) {
        a.tree.counts[it.row] = n;
        return;
    }
    const uint32_t row = it.row + high_half(a.run_scan[it.run]) + it.part;
    const bool last = it.part + 1u == it.shape.pages;
    ((KEY *)a.new_highs)[row] = last ? ((const KEY *)a.tree.highs)[it.row] : keys[n - 1u];
    a.new_pages[row] = to[0];
    a.new_counts[row] = n;
}

/* --- the directory -------------------------------------------------------------------------------------------------------------- */

/* Takes rows that keep their pages to the new directory; frees the pages of the others. */
SIMT_KERNEL(NAME(move_rows), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row < a.tree.rows; row += gridDim.x * blockDim.x) {
        uint32_t low = 0, high = a.runs;
        while (low < high) { /* runs in front of the row */
            const uint32_t middle = low + (high - low) / 2u;
            if (a.run_row[middle] < row)
                low = middle + 1u;
            else
                high = middle;
        }
        const uint32_t shift = high_half(a.run_scan[low]);
        const bool touched = low < a.runs && a.run_row[low] == row;
        if (touched && high_half(a.run_scan[low + 1u]) != shift) {
            a.stack[a.stack_rest + simt_atomic_add_u64(&a.seen->give, 1u)] = a.tree.pages[row];
            continue;
        }
        ((KEY *)a.new_highs)[row + shift] = ((const KEY *)a.tree.highs)[row];
        a.new_pages[row + shift] = a.tree.pages[row];
        a.new_counts[row + shift] = a.tree.counts[row];
    }
}

/* All levels at once: a separator is the high key of the last row below its child. */
SIMT_KERNEL(NAME(fill_levels), copse_paged_levels_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t separators = FULL_FANOUT - 1u;
    KEY *highs = (KEY *)a.tree.highs;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.separators;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t at = i, span = 1;
        uint32_t level = a.tree.levels.height - 1u;
        for (; at >= a.nodes[level] * separators; span *= FULL_FANOUT) at -= a.nodes[level--] * separators;
        const uint64_t child = at / separators * FULL_FANOUT + at % separators;
        const uint64_t behind = (child + 1u) * span; /* the first row that is not below it */
        ((KEY *)(a.tree.levels.level[level] + at / separators * 64u))[at % separators] =
            behind < a.tree.rows ? highs[behind - 1u] : KEY_MAX;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) highs[a.tree.rows - 1u] = KEY_MAX;
}

/* --- pages ---------------------------------------------------------------------------------------------------------------------- */

SIMT_KERNEL(NAME(push_pages), copse_paged_pool_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        a.stack[i] = (uint64_t)(uintptr_t)(a.memory + i * a.page_bytes);
}
