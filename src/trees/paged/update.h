/* Template: the plan of an update of the paged tree; copse_paged_update_arguments says how its kernels follow each other. */
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
            const uint64_t first = bound_location(tree, low, false, NULL);
            const uint64_t end = bound_location(tree, bound_key(&tree->unique, high, true), true, NULL);
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
    uint32_t per_page;   /* entries of each page but the last */
    uint32_t leaf_least; /* of each leaf but the last         */
    bool packed;
} run_shape;

/* A bulk load leaves room in every leaf for one more, and the rest of a page's room in whole leaves at its end: those are not read by
 * a visit. Where a leaf wants more room, a window or the page is shared out anew. */
SIMT_DEVICE run_shape shape_of(const copse_paged_tree *tree, uint32_t total, bool packed)
{
    run_shape shape;
    const uint32_t most = packed ? tree->slots : tree->slots - tree->slots / 8u;
    const uint32_t fill = packed ? tree->slots : tree->slots / 4u * 3u;
    shape.total = total;
    shape.packed = packed;
    shape.pages = total == 0 ? 0 : total <= most ? 1u : (total - 1u) / fill + 1u;
    shape.per_page = shape.pages == 0 ? 1u : packed && shape.pages > 1u ? fill : (total - 1u) / shape.pages + 1u;
    shape.leaf_least = packed                                   ? LEAF_SLOTS
                       : tree->entries == 0 && shape.pages > 1u ? LEAF_SLOTS - LEAF_SLOTS / 16u
                                                                : 0u;
    return shape;
}

/* The first rank of one of the pages. Pages that come in numbers get more and fewer entries by turns, from 5/6 to 7/6 of the mean: else they would
 * all be full at the same time later, and split in the same few updates. */
SIMT_DEVICE uint32_t page_low(const run_shape *shape, uint32_t page)
{
    const uint32_t less = shape->packed || shape->pages < 4u ? 0u : shape->per_page * (page * 0x9e3779b1u >> 26) / 384u;
    return page * shape->per_page - (page & 1u ? less : 0u);
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

/* A window has 2^shift leaves: those share their entries anew where one of them has no room. The smallest pages are one window. */
SIMT_DEVICE uint32_t window_shift(const copse_paged_tree *tree)
{
    return tree->leaves < COPSE_PAGED_WINDOW ? 1u : 2u;
}

/* Looks at the elements of one window, from `first` on. Marks them where a leaf has no room for what comes; *out_fits false: nor has
 * the window. Returns the first element of the next window. */
SIMT_DEVICE uint32_t window_plan(const copse_paged_update_arguments *a, const uint16_t *ends, uint32_t first,
                                 uint32_t end, bool *out_marked, bool *out_fits)
{
    const uint32_t shift = window_shift(&a->tree), leaves = 1u << shift;
    const uint32_t begin = element_leaf(a->what[first]) >> shift << shift;
    const uint32_t entries = ends[begin + leaves - 1u] - (begin ? ends[begin - 1u] : 0u);
    uint32_t j = first, leaf = UINT32_MAX, room = 0, comes = 0;
    bool crowded = false;
    for (; j < end && element_leaf(a->what[j]) < begin + leaves; j++) {
        const uint32_t what = a->what[j], does = element_does(what);
        comes += does == COPSE_PAGED_NEW ? 1u : does == COPSE_PAGED_GONE ? UINT32_MAX : 0u;
        if (does != COPSE_PAGED_NEW) continue;
        if (element_leaf(what) != leaf) {
            leaf = element_leaf(what);
            room = LEAF_SLOTS - (ends[leaf] - (leaf ? ends[leaf - 1u] : 0u));
        }
        crowded = crowded || room == 0;
        room -= room > 0;
    }
    for (uint32_t i = first; i < j && crowded; i++) a->what[i] |= COPSE_PAGED_IN_WINDOW;
    *out_marked = *out_marked || crowded;
    *out_fits = *out_fits && (!crowded || entries + comes <= leaves * LEAF_SLOTS);
    return j;
}

/* What a run does that keeps its page and does not write all of it: an insert moves some lines and not a page. 0: it has to. */
SIMT_DEVICE uint32_t run_stays_in(const copse_paged_update_arguments *a, uint32_t first, uint32_t end, uint32_t row,
                                  bool packed)
{
    const uint16_t *ends = page_ends(&a->tree, page_of(&a->tree, row));
    bool marked = false, fits = true;
    if (a->lost || end - first > a->tree.leaves) return 0;
    for (uint32_t j = first; j < end && fits;) j = window_plan(a, ends, j, end, &marked, &fits);
    if (!fits || (marked && packed)) return 0; /* packed: leaves stay full */
    return marked ? COPSE_PAGED_SPREAD : COPSE_PAGED_PATCHED;
}

/* What becomes of a run's page, and how many rows it has afterwards. */
SIMT_DEVICE uint32_t run_decide(const copse_paged_update_arguments *a, uint32_t run, run_shape *out)
{
    const uint32_t first = a->run_begin[run], end = a->run_begin[run + 1u], row = a->run_row[run];
    const uint32_t count = a->tree.counts[row], comes = run_comes(a, first, end);
    const bool packed =
        row + 1u == a->tree.rows && count >= a->tree.packs_from && element_rank(a->what[first]) >= count;
    *out = shape_of(&a->tree, count + comes, packed);
    if (comes == 0 && a->mode != COPSE_PAGED_MIXED) {
        out->pages = 1;
        return COPSE_PAGED_STAYS;
    }
    if (out->total == 0) return COPSE_PAGED_DROPPED | COPSE_PAGED_MOVES;
    const uint32_t stays = out->pages == 1u ? run_stays_in(a, first, end, row, packed) : 0;
    if (stays) return stays | (packed ? COPSE_PAGED_PACKED : 0u);
    return COPSE_PAGED_WRITTEN | (packed ? COPSE_PAGED_PACKED : 0u) |
           (out->pages > 1u || a->tree.slots > COPSE_PAGED_SLOTS ? COPSE_PAGED_MOVES : 0u);
}

/* Notes what becomes of the last page of the tree: so the host knows where the next append goes. */
SIMT_DEVICE void tail_note(copse_paged_seen *seen, uint32_t does, const run_shape *shape, uint32_t comes)
{
    const uint32_t kind = does & 7u;
    if (kind == COPSE_PAGED_STAYS) return;
    if (kind == COPSE_PAGED_WRITTEN && shape->packed) {
        seen->tail = COPSE_PAGED_TAIL_COUNT;
        seen->tail_count = shape->total - (shape->pages - 1u) * shape->per_page;
    } else if (kind == COPSE_PAGED_PATCHED && does & COPSE_PAGED_PACKED) {
        seen->tail = COPSE_PAGED_TAIL_MORE;
        seen->tail_count = comes;
    } else {
        seen->tail = COPSE_PAGED_TAIL_UNKNOWN;
    }
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
    if (a->run_row[x] + 1u == a->tree.rows)
        tail_note(a->seen, does, &shape, run_comes(a, a->run_begin[x], a->run_begin[x + 1u]));
    sums->items += written;
    sums->shift += (uint64_t)shape.pages - 1u;
    sums->taken += does & COPSE_PAGED_MOVES ? written : 0u;
    sums->freed += (does & COPSE_PAGED_MOVES) != 0;
    sums->patched += (does & 7u) == COPSE_PAGED_PATCHED || (does & 7u) == COPSE_PAGED_SPREAD;
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
