/* The summary of the values: sums, minima and maxima of fifths of leaves, leaves, nodes, pages, 16 pages, ... Updates keep it up to
 * date where it has been made. */
#pragma once

#include "trees/regular/cpu/table.h"
#include "trees/regular/cpu/tree.h"

/* One leaf; the caller closes the page in the end. */
static inline void values_of_leaf(const copse_index *index, leaf_page *page, uint32_t slot)
{
    page_values *to = page->values;
    leaf_sums *sums = &to->sums[slot];
    const copse_unit *units = leaf_units(page->leaf[slot]);
    const uint32_t count = page_count(page, slot);
    copse_aggregate all = COPSE_AGGREGATE_EMPTY, fifth = COPSE_AGGREGATE_EMPTY;
    copse_wide sum = 0;
    for (uint32_t u = 0; u < COPSE_LEAF_UNITS; u++) {
        const uint32_t left = count > u * UNIT_ENTRIES ? count - u * UNIT_ENTRIES : 0;
        if (u && u % 2 == 0 && u <= 2 * SUMS_UNTIL) {
            sums->until[u / 2 - 1] = (uint64_t)(sum + fifth.sum);
            sums->upper[u / 2 - 1] = (int8_t)((sum + fifth.sum) >> 64);
        }
        copse_aggregate_add(&fifth, index->value_type, units[u].values, left < UNIT_ENTRIES ? left : UNIT_ENTRIES);
        if (u % FIFTH_UNITS != FIFTH_UNITS - 1) continue;
        copse_aggregate_merge(&all, &fifth);
        sum = all.sum;
        to->lows[slot].fifth[u / FIFTH_UNITS] = fifth.smallest;
        to->highs[slot].fifth[u / FIFTH_UNITS] = fifth.largest;
        fifth = COPSE_AGGREGATE_EMPTY;
    }
    to->lows[slot].count = to->highs[slot].count = count;
    to->low[slot] = all.smallest;
    to->high[slot] = all.largest;
    if (copse_type_is_float(index->value_type))
        to->float_sum[slot] = all.float_sum;
    else
        to->leaf_sum[slot] = all.sum;
}

/* Extremes of items first .. end that have the same parent: of those in front of each and of those from each on. */
static inline void extremes_spread(const uint64_t *own, uint64_t *ahead, uint64_t *from, uint64_t first, uint64_t end,
                                   bool least)
{
    uint64_t extreme = least ? UINT64_MAX : 0;
    for (uint64_t i = first; i < end; i++) {
        ahead[i] = extreme;
        if (least ? own[i] < extreme : own[i] > extreme) extreme = own[i];
    }
    extreme = least ? UINT64_MAX : 0;
    for (uint64_t i = end; i-- > first;) {
        if (least ? own[i] < extreme : own[i] > extreme) extreme = own[i];
        from[i] = extreme;
    }
}

/* The same for the leaves of a page. */
static inline void extremes_spread_leaves(const uint64_t *own, leaf_extremes *to, uint32_t n, bool least)
{
    uint64_t extreme = least ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < n; i++) {
        to[i].ahead = extreme;
        if (least ? own[i] < extreme : own[i] > extreme) extreme = own[i];
    }
    extreme = least ? UINT64_MAX : 0;
    for (uint32_t i = n; i-- > 0;) {
        to[i].behind = extreme;
        if (least ? own[i] < extreme : own[i] > extreme) extreme = own[i];
    }
}

/* Adds items from .. to; sum is NULL where values are integers. */
static inline void fold(const uint64_t *low, const uint64_t *high, const double *sum, uint64_t from, uint64_t to,
                        copse_aggregate *all)
{
    uint64_t smallest = all->smallest, largest = all->largest; /* in registers, as the items may not lie in *all */
    for (uint64_t i = from; i < to; i++) {
        smallest = low[i] < smallest ? low[i] : smallest;
        largest = high[i] > largest ? high[i] : largest;
    }
    all->smallest = smallest;
    all->largest = largest;
    for (uint64_t i = from; sum && i < to; i++) all->float_sum += sum[i];
}

/* What follows from the leaves of a page. */
static inline void values_close_page(const copse_index *index, leaf_page *page)
{
    const bool is_float = copse_type_is_float(index->value_type);
    page_values *v = page->values;
    v->sum = 0;
    for (uint32_t s = 0; s < page->used && !is_float; s++) {
        v->sums[s].ahead = (uint64_t)v->sum;
        v->sums[s].ahead_upper = (int16_t)(v->sum >> 64);
        v->sum += v->leaf_sum[s];
    }
    extremes_spread_leaves(v->low, v->lows, page->used, true);
    extremes_spread_leaves(v->high, v->highs, page->used, false);
    for (uint32_t node = 0; node < FANOUT; node++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        const uint32_t end = (node + 1) * FANOUT < page->used ? (node + 1) * FANOUT : page->used;
        fold(v->low, v->high, is_float ? v->float_sum : NULL, (uint64_t)node * FANOUT, end, &all);
        v->node_low[node] = all.smallest;
        v->node_high[node] = all.largest;
        v->node_float_sum[node] = all.float_sum;
    }
}

static inline void values_of_page(const copse_index *index, leaf_page *page)
{
    for (uint32_t s = 0; s < page->used; s++) values_of_leaf(index, page, s);
    values_close_page(index, page);
}

/* Room for the values of so many pages. False: no memory. */
static inline bool values_create(const copse_ctx *ctx, uint64_t room, copse_value_directory *out)
{
    copse_value_directory made = {.room = room};
    uint64_t nodes[COPSE_RANK_LEVELS], all = 0;
    uint32_t levels = 0;
    for (uint64_t n = room;; n = (n + 15) / 16) {
        all += nodes[levels++] = n;
        if (n <= 16) break;
    }
    made.bytes = all * (2 * sizeof(copse_wide) + 7 * sizeof(uint64_t)) + room * sizeof(char *);
    char *at = made.memory = copse_memory_alloc(ctx, made.bytes);
    if (!at) return false;
    for (uint32_t l = 0; l < levels; l++) {
        made.sum[l] = (copse_wide *)at;
        made.before[l] = made.sum[l] + nodes[l];
        at += nodes[l] * 2 * sizeof(copse_wide);
    }
    for (uint32_t l = 0; l < levels; l++) {
        uint64_t **array[] = {&made.low[l],  &made.low_ahead[l],  &made.low_from[l],
                              &made.high[l], &made.high_ahead[l], &made.high_from[l]};
        for (uint32_t a = 0; a < sizeof array / sizeof *array; a++, at += nodes[l] * sizeof(uint64_t))
            *array[a] = (uint64_t *)at;
        made.float_sum[l] = (void *)at;
        at += nodes[l] * sizeof(double);
    }
    made.page = (char **)at;
    *out = made;
    return true;
}

/* The nodes of level l that share a parent: what is in front of each, and the parent, unless there is none. */
static inline void values_raise(copse_value_directory *v, uint32_t l, uint64_t parent, uint64_t n, bool top)
{
    const uint64_t first = parent * 16, end = first + 16 < n ? first + 16 : n;
    copse_aggregate all = COPSE_AGGREGATE_EMPTY;
    for (uint64_t i = first; i < end; i++) {
        v->before[l][i] = all.sum;
        all.sum += v->sum[l][i];
    }
    extremes_spread(v->low[l], v->low_ahead[l], v->low_from[l], first, end, true);
    extremes_spread(v->high[l], v->high_ahead[l], v->high_from[l], first, end, false);
    if (top) return;
    fold(v->low[l], v->high[l], v->float_sum[l], first, end, &all);
    v->sum[l + 1][parent] = all.sum;
    v->low[l + 1][parent] = all.smallest;
    v->high[l + 1][parent] = all.largest;
    v->float_sum[l + 1][parent] = all.float_sum;
}

/* Pages first .. last. */
static inline void values_read_pages(copse_regular *tree, uint64_t first, uint64_t last)
{
    copse_value_directory *v = &tree->values;
    for (uint64_t p = first; p <= last; p++) {
        const page_values *values = table_page(&tree->table, p)->values;
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        fold(values->node_low, values->node_high, values->node_float_sum, 0, FANOUT, &all);
        v->page[p] = (char *)table_page(&tree->table, p)->values;
        v->sum[0][p] = values->sum;
        v->low[0][p] = all.smallest;
        v->high[0][p] = all.largest;
        v->float_sum[0][p] = all.float_sum;
    }
}

/* What stands above pages first .. last. */
static inline void values_raise_all(copse_regular *tree, uint64_t first, uint64_t last)
{
    const uint32_t height = tree->table.rank_height;
    uint64_t n = tree->table.pages;
    for (uint32_t l = 0; l < height; l++, n = (n + 15) / 16) {
        first /= 16;
        last /= 16;
        for (uint64_t i = first; i <= last; i++) values_raise(&tree->values, l, i, n, l + 1 == height);
    }
}

static inline void values_make_pages(void *argument, uint64_t first, uint64_t last)
{
    const table_job *job = argument;
    for (uint64_t p = first; p < last; p++) values_of_page(job->index, table_page(job->table, p));
}

/* Makes the summary; without memory there is none. */
static inline void regular_make_summary(const copse_index *index, copse_regular *tree)
{
    const copse_ctx *ctx = index->ctx;
    const uint64_t pages = tree->table.pages;
    bool made = values_create(ctx, tree->table.room, &tree->values);
    tree->value_pool.in_steps = false;
    for (uint64_t p = 0; made && p < pages; p++)
        made = (table_page(&tree->table, p)->values = (page_values *)copse_leaf_take(ctx, &tree->value_pool)) != NULL;
    if (!made) {
        copse_regular_drop_summary(ctx, tree);
        return;
    }
    uint32_t threads = copse_threads_for(ctx, tree->entries);
    table_job job = {.index = index, .table = &tree->table};
    copse_parallel(ctx, threads, pages, copse_even_chunk(pages, threads), values_make_pages, &job);
    values_read_pages(tree, 0, pages - 1);
    values_raise_all(tree, 0, pages - 1);
    tree->has_summary = true;
}
