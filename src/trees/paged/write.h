/* Template: pages that are written whole, appends, and the directory that follows. */
#pragma once

#include "gpu/kernel.h"
#include "trees/paged/patch.h"

/* --- write: a block per page -------------------------------------------------------------------------------------------------- */

/* A page that is written: which of the pages of what run. */
typedef struct item {
    uint32_t run, page;
    uint32_t first, end, row; /* elements and row of the run */
    run_shape shape;
    uint32_t low, high; /* ranks among all entries of the run's pages */
} item;

/* The last run with no more written pages in front of it than `number`; those that write none have as many as the next. A warp looks
 * at 32 runs at a time, where a thread alone would wait for memory 17 times. */
SIMT_DEVICE uint32_t item_run(const copse_paged_update_arguments *a, uint32_t number)
{
    uint32_t low = 0, n = low_half(a->seen->last); /* it is one of low .. low + n - 1 */
    while (n > 1u) {
        const uint32_t step = (n + SIMT_WARP - 1u) / SIMT_WARP, at = simt_lane() * step;
        const bool before = at < n && low_half(a->run_scan[low + at]) <= number;
        const uint32_t last = 31u - (uint32_t)__clz((int)__ballot_sync(SIMT_FULL_MASK, before));
        low += last * step;
        n = n - last * step < step ? n - last * step : step;
    }
    return low;
}

SIMT_DEVICE item item_of(const copse_paged_update_arguments *a, uint32_t number)
{
    item it;
    const uint32_t low = item_run(a, number);
    it.run = low;
    it.page = number - low_half(a->run_scan[low]);
    it.first = a->run_begin[low];
    it.end = a->run_begin[low + 1u];
    it.row = a->run_row[low];
    it.shape = shape_of(&a->tree, a->tree.counts[it.row] + run_comes(a, it.first, it.end),
                        (a->run_does[low] & COPSE_PAGED_PACKED) != 0);
    it.low = page_low(&it.shape, it.page);
    it.high = it.page + 1u == it.shape.pages ? it.shape.total : page_low(&it.shape, it.page + 1u);
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

/* A page on its way: entry i of n goes to slot i / per_leaf * LEAF_SLOTS + i % per_leaf, or to place i of shared memory. */
typedef struct page_target {
    KEY *keys;
    VALUE *values;
    uint32_t n, per_leaf;
    uint32_t stride; /* LEAF_SLOTS, or per_leaf where entries come together without gaps */
} page_target;

SIMT_DEVICE uint32_t target_at(const page_target *to, uint32_t i)
{
    return to->stride == to->per_leaf ? i : i / to->per_leaf * to->stride + i % to->per_leaf;
}

SIMT_DEVICE uint32_t leaf_share(const copse_paged_tree *tree, uint32_t n, uint32_t least)
{
    const uint32_t even = (n - 1u) / tree->leaves + 1u;
    return even > least ? even : least;
}

/* Brings the entries of the page together, in order. */
SIMT_DEVICE void item_gather(const copse_paged_update_arguments *a, const item *it, const page_target *target)
{
    char *page = page_of(&a->tree, it->row);
    const uint16_t *ends = page_ends(&a->tree, page);
    for (uint32_t s = threadIdx.x; s < a->tree.slots; s += COPSE_KERNEL_THREADS) {
        const uint32_t leaf = s / LEAF_SLOTS, rank = leaf_begin(&a->tree, page, leaf) + s % LEAF_SLOTS;
        if (rank >= ends[leaf]) continue;
        const uint32_t to = entry_new_rank(a, it->first, it->end, rank);
        if (to < it->low || to >= it->high) continue;
        target->keys[target_at(target, to - it->low)] = page_keys(&a->tree, page)[s];
        target->values[target_at(target, to - it->low)] = page_values(&a->tree, page)[s];
    }
    const uint32_t end = element_from(a, it, it->high);
    for (uint32_t j = element_from(a, it, it->low) + threadIdx.x; j < end; j += COPSE_KERNEL_THREADS) {
        if (element_does(a->what[j]) != COPSE_PAGED_NEW) continue;
        const uint32_t to = target_at(target, element_new_rank(a, it, j) - it->low);
        target->keys[to] = element_key(a, j);
        target->values[to] = ((const VALUE *)a->values)[element_value_at(a, j)];
    }
}

/* Separator of a leaf. */
SIMT_DEVICE KEY target_separator(const page_target *from, uint32_t leaf)
{
    const uint32_t behind = (leaf + 1u) * from->per_leaf;
    return behind < from->n ? from->keys[target_at(from, behind - 1u)] : KEY_MAX;
}

/* Writes the slots of a page whose entries lie in shared memory. */
SIMT_DEVICE void page_write(const copse_paged_tree *tree, char *page, const page_target *from)
{
    for (uint32_t s = threadIdx.x; s < tree->slots; s += COPSE_KERNEL_THREADS) {
        const uint32_t at = s / LEAF_SLOTS * from->per_leaf + s % LEAF_SLOTS;
        const bool there = s % LEAF_SLOTS < from->per_leaf && at < from->n;
        page_keys(tree, page)[s] = there ? from->keys[at] : KEY_MAX;
        page_values(tree, page)[s] = there ? from->values[at] : 0;
    }
}

/* The same for a page that has its entries already: only the free slots. */
SIMT_DEVICE void page_pad(const copse_paged_tree *tree, char *page, const page_target *from)
{
    for (uint32_t s = threadIdx.x; s < tree->slots; s += COPSE_KERNEL_THREADS) {
        if (s % LEAF_SLOTS < from->per_leaf && s / LEAF_SLOTS * from->per_leaf + s % LEAF_SLOTS < from->n) continue;
        page_keys(tree, page)[s] = KEY_MAX;
        page_values(tree, page)[s] = 0;
    }
}

/* Writes what is in front of the leaves of a page. */
SIMT_DEVICE void head_write(const copse_paged_tree *tree, char *page, const page_target *from)
{
    const uint32_t lines = (tree->leaves + LINE_KEYS - 1u) / LINE_KEYS * LINE_KEYS;
    for (uint32_t l = threadIdx.x; l < lines; l += COPSE_KERNEL_THREADS)
        page_separators(tree, page)[l] = target_separator(from, l);
    for (uint32_t i = threadIdx.x; i < tree->top_lines * LINE_KEYS; i += COPSE_KERNEL_THREADS)
        ((KEY *)(page + COPSE_PAGED_TOP_AT))[i] = target_separator(from, (i + 1u) * LINE_KEYS - 1u);
    for (uint32_t l = threadIdx.x; l < tree->leaves; l += COPSE_KERNEL_THREADS)
        page_ends(tree, page)[l] =
            (uint16_t)((l + 1u) * from->per_leaf < from->n ? (l + 1u) * from->per_leaf : from->n);
    if (threadIdx.x == 0) *(uint32_t *)(page + COPSE_PAGED_STALE_AT) = 1u;
}

/* Notes the row of a page that was written. */
SIMT_DEVICE void item_row(const copse_paged_update_arguments *a, const item *it, bool moves, uint64_t page,
                          const page_target *from)
{
    if (!moves) {
        a->tree.counts[it->row] = from->n;
        return;
    }
    const uint32_t row = it->row + high_half(a->run_scan[it->run]) + it->page;
    const bool last = it->page + 1u == it->shape.pages;
    ((KEY *)a->new_highs)[row] =
        last ? ((const KEY *)a->tree.highs)[it->row] : from->keys[target_at(from, from->n - 1u)];
    a->new_pages[row] = page;
    a->new_counts[row] = from->n;
}

/* Pages of up to COPSE_PAGED_SLOTS go through shared memory, so that one may be written where it was read. Larger ones are written
 * elsewhere, straight from the old page. */
SIMT_KERNEL(NAME(write), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(KEY, keys, COPSE_PAGED_SLOTS);
    SIMT_SHARED(VALUE, values, COPSE_PAGED_SLOTS);
    SIMT_SHARED(uint64_t, to, 1);
    if (a.seen->refused || a.seen->done) return;
    const bool staged = a.tree.slots <= COPSE_PAGED_SLOTS;
    for (uint32_t number = blockIdx.x; number < a.seen->items; number += gridDim.x) {
        const item it = item_of(&a, number);
        const bool moves = (a.run_does[it.run] & COPSE_PAGED_MOVES) != 0;
        if (threadIdx.x == 0)
            to[0] = moves ? a.stack[a.stack_top - 1u - simt_atomic_add_u64(&a.seen->take, 1u)] : a.tree.pages[it.row];
        __syncthreads();
        char *page = (char *)(uintptr_t)to[0];
        page_target target;
        target.n = it.high - it.low;
        target.per_leaf = leaf_share(&a.tree, target.n, it.shape.leaf_least);
        target.stride = staged ? target.per_leaf : LEAF_SLOTS;
        target.keys = staged ? keys : page_keys(&a.tree, page);
        target.values = staged ? values : page_values(&a.tree, page);
        item_gather(&a, &it, &target);
        __syncthreads();
        if (staged)
            page_write(&a.tree, page, &target);
        else
            page_pad(&a.tree, page, &target);
        head_write(&a.tree, page, &target);
        if (threadIdx.x == 0) item_row(&a, &it, moves, to[0], &target);
        __syncthreads();
    }
}

/* --- append --------------------------------------------------------------------------------------------------------------------- */

/* Is the batch in order, and behind all keys? */
SIMT_KERNEL(NAME(order), copse_paged_append_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    const bool strict = a.tree.unique != 0;
    bool wrong = false;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY before = i ? keys[i - 1u] : (KEY)a.high;
        wrong = wrong || (strict ? keys[i] <= before : keys[i] < before);
    }
    if (wrong) simt_store_relaxed_u64(&a.seen->wrong, 1u);
    if (blockIdx.x == 0 && threadIdx.x == 0) a.seen->largest = keys[a.n - 1u];
}

/* A page of an append: entry i is the page's own for i < old, then those of the batch follow. Slots are ranks: its leaves are full. */
typedef struct append_page {
    char *page;
    const KEY *keys;
    const VALUE *values;
    uint32_t old, n;
} append_page;

SIMT_DEVICE KEY append_key(const copse_paged_tree *tree, const append_page *p, uint32_t i)
{
    return i < p->old ? page_keys(tree, p->page)[i] : p->keys[i - p->old];
}

SIMT_DEVICE KEY append_separator(const copse_paged_tree *tree, const append_page *p, uint32_t leaf)
{
    const uint32_t behind = (leaf + 1u) * LEAF_SLOTS;
    return behind < p->n ? append_key(tree, p, behind - 1u) : KEY_MAX;
}

SIMT_DEVICE void append_write(const copse_paged_tree *tree, const append_page *p)
{
    for (uint32_t s = p->old + threadIdx.x; s < tree->slots; s += COPSE_KERNEL_THREADS) {
        page_keys(tree, p->page)[s] = s < p->n ? p->keys[s - p->old] : KEY_MAX;
        page_values(tree, p->page)[s] = s < p->n ? p->values[s - p->old] : 0;
    }
    const uint32_t lines = (tree->leaves + LINE_KEYS - 1u) / LINE_KEYS * LINE_KEYS;
    for (uint32_t l = threadIdx.x; l < lines; l += COPSE_KERNEL_THREADS)
        page_separators(tree, p->page)[l] = append_separator(tree, p, l);
    for (uint32_t i = threadIdx.x; i < tree->top_lines * LINE_KEYS; i += COPSE_KERNEL_THREADS)
        ((KEY *)(p->page + COPSE_PAGED_TOP_AT))[i] = append_separator(tree, p, (i + 1u) * LINE_KEYS - 1u);
    for (uint32_t l = threadIdx.x; l < tree->leaves; l += COPSE_KERNEL_THREADS)
        page_ends(tree, p->page)[l] = (uint16_t)((l + 1u) * LEAF_SLOTS < p->n ? (l + 1u) * LEAF_SLOTS : p->n);
    if (threadIdx.x == 0) *(uint32_t *)(p->page + COPSE_PAGED_STALE_AT) = 1u;
}

/* A block per page: the last one of the tree, then those that are taken. The directory has room for their rows. */
SIMT_KERNEL(NAME(append), copse_paged_append_arguments, COPSE_KERNEL_THREADS, 8)
{
    if (a.seen->wrong) return;
    const copse_paged_tree *tree = &a.tree;
    const uint64_t rest = tree->slots - a.tail_count; /* of the batch, in the last page */
    for (uint32_t number = blockIdx.x; number <= a.pages; number += gridDim.x) {
        const uint32_t row = tree->rows - 1u + number;
        const uint64_t first = number ? rest + (uint64_t)(number - 1u) * tree->slots : 0;
        append_page p;
        p.page = number ? (char *)(uintptr_t)a.stack[a.stack_top - number] : page_of(tree, row);
        p.keys = (const KEY *)a.keys + first;
        p.values = (const VALUE *)a.values + first;
        p.old = number ? 0 : a.tail_count;
        p.n = a.n - first < tree->slots - p.old ? (uint32_t)(a.n - first) + p.old : tree->slots;
        if (p.n > p.old) append_write(tree, &p);
        if (threadIdx.x != 0) continue;
        if (number < a.pages)
            ((KEY *)tree->highs)[row] = first == 0 && p.n == p.old ? (KEY)a.high : p.keys[p.n - p.old - 1u];
        if (number) tree->pages[row] = (uint64_t)(uintptr_t)p.page;
        if (p.n > p.old) tree->counts[row] = p.n;
    }
}

/* --- the directory -------------------------------------------------------------------------------------------------------------- */

/* Takes rows that keep their pages to the new directory; frees the pages of the others. */
SIMT_KERNEL(NAME(move_rows), copse_paged_update_arguments, COPSE_KERNEL_THREADS, 8)
{
    if (a.seen->refused || a.seen->done || (a.seen->taken == 0 && a.seen->freed == 0)) return;
    const uint32_t runs = low_half(a.seen->last);
    const uint64_t rest = a.stack_top - a.seen->taken;
    for (uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row < a.tree.rows; row += gridDim.x * blockDim.x) {
        uint32_t low = 0, high = runs;
        while (low < high) { /* runs in front of the row */
            const uint32_t middle = low + (high - low) / 2u;
            if (a.run_row[middle] < row)
                low = middle + 1u;
            else
                high = middle;
        }
        const uint32_t shift = high_half(a.run_scan[low]);
        if (low < runs && a.run_row[low] == row && a.run_does[low] & COPSE_PAGED_MOVES) {
            a.stack[rest + simt_atomic_add_u64(&a.seen->give, 1u)] = a.tree.pages[row];
            continue;
        }
        ((KEY *)a.new_highs)[row + shift] = ((const KEY *)a.tree.highs)[row];
        a.new_pages[row + shift] = a.tree.pages[row];
        a.new_counts[row + shift] = a.tree.counts[row];
    }
}

/* All levels at once: a separator is the high key of the last row below its child. Rows that are not there yet have the largest key. */
SIMT_KERNEL(NAME(fill_levels), copse_paged_levels_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t separators = FULL_FANOUT - 1u;
    KEY *highs = (KEY *)a.tree.highs;
    if (a.seen && (a.seen->refused || a.seen->done || (a.seen->taken == 0 && a.seen->freed == 0))) return;
    const uint32_t rows = a.seen ? a.tree.rows + (uint32_t)a.seen->shift : a.tree.rows;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.separators;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t at = i, span = 1;
        uint32_t level = a.tree.levels.height - 1u;
        for (; at >= a.nodes[level] * separators; span *= FULL_FANOUT) at -= a.nodes[level--] * separators;
        const uint64_t child = at / separators * FULL_FANOUT + at % separators;
        const uint64_t behind = (child + 1u) * span; /* the first row that is not below it */
        ((KEY *)(a.tree.levels.level[level] + at / separators * 64u))[at % separators] =
            behind < rows ? highs[behind - 1u] : KEY_MAX;
    }
    for (uint32_t i = rows - 1u + blockIdx.x * blockDim.x + threadIdx.x; i < a.room; i += gridDim.x * blockDim.x)
        highs[i] = KEY_MAX;
}

/* --- pages ---------------------------------------------------------------------------------------------------------------------- */

SIMT_KERNEL(NAME(push_pages), copse_paged_pool_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        a.stack[i] = (uint64_t)(uintptr_t)(a.memory + i * a.page_bytes);
}
