/* Template: ranges with more entries than a thread goes along (copse_radix_list_arguments). */
#pragma once

#include "trees/radix/gpu/items.h"
#include "trees/radix/gpu/read_kernels.h"

/* --- which nodes ---------------------------------------------------------------------------------------------------------- */

/* What is wanted of a node, two bits in the array of its type: its leaves and the marked nodes below, or all that is below. */
#define MARK_SOME 1u
#define MARK_ALL  2u

SIMT_DEVICE void node_mark(const copse_radix_list_arguments *a, copse_radix_link node, uint32_t mark)
{
    const uint64_t at = copse_radix_index_of(node);
    uint32_t *word = &a->marks[copse_radix_type_of(node)][at / 16u];
    const uint32_t bits = mark << 2u * (at % 16u);
    if (!(simt_load_relaxed_u32(word) & bits)) (void)simt_atomic_or_u32(word, bits);
}

SIMT_DEVICE uint32_t node_marks(const copse_radix_list_arguments *a, copse_radix_link node)
{
    const uint64_t at = copse_radix_index_of(node);
    return simt_load_relaxed_u32(&a->marks[copse_radix_type_of(node)][at / 16u]) >> 2u * (at % 16u) & 3u;
}

/* On the way to one or both ends of a range: marks the node, and what lies between two of its symbols. */
SIMT_DEVICE void between_mark(const copse_radix_list_arguments *a, copse_radix_link link, int after, int before)
{
    const uint32_t type = copse_radix_type_of(link);
    const unsigned char *node = copse_radix_at(&a->tree, link);
    node_mark(a, link, MARK_SOME);
    for (int symbol = copse_radix_next(type, node, after); symbol < before;
         symbol = copse_radix_next(type, node, symbol)) {
        const copse_radix_link below = copse_radix_get(type, node, symbol);
        if (!copse_radix_is_leaf(below)) node_mark(a, below, MARK_ALL);
    }
}

/* The nodes that have the leaves from `first` up to `behind`, 0: up to the last. Both are different. */
SIMT_DEVICE void leaves_mark(const copse_radix_list_arguments *a, copse_radix_link first, copse_radix_link behind)
{
    const copse_slice low = copse_radix_key(&a->tree, first);
    copse_slice high = low;
    copse_radix_link link = a->tree.root, other = 0;
    if (behind) high = copse_radix_key(&a->tree, behind);
    for (bool both = behind != 0; !copse_radix_is_leaf(link);) {
        const int from = copse_radix_symbol(low, copse_radix_depth_of(link));
        const int to = both ? copse_radix_symbol(high, copse_radix_depth_of(link)) : COPSE_RADIX_BEHIND_LAST;
        between_mark(a, link, from, to);
        if (both && from != to) {
            other = copse_radix_step(&a->tree, link, high);
            both = false;
        }
        link = copse_radix_step(&a->tree, link, low);
    }
    while (other && !copse_radix_is_leaf(other)) {
        between_mark(a, other, COPSE_RADIX_BEFORE_FIRST, copse_radix_symbol(high, copse_radix_depth_of(other)));
        other = copse_radix_step(&a->tree, other, high);
    }
}

/* Without `wide` how many there are; then which, and what has their leaves. */
SIMT_KERNEL(radix_wide, copse_radix_list_arguments, COPSE_RADIX_THREADS, 3)
{
    const copse_radix_range_arguments *asked = &a.asked;
    RADIX_FOR(i, asked->n)
    {
        if (asked->counts[i] <= asked->most) continue;
        const uint64_t at = counter_next(a.wide_n, a.wide ? 1u : 0u);
        if (!a.wide) continue;
        copse_slice low, high;
        copse_radix_walk walk;
        low.start = high.start = NULL;
        low.length = high.length = 0;
        if (asked->has_low) (void)string_at(&asked->lows, i, asked->n, &low);
        if (asked->has_high) (void)string_at(&asked->highs, i, asked->n, &high);
        seek_high(asked, low, high, &walk);
        const copse_radix_link behind = walk.leaf;
        seek_low(asked, low, &walk);
        a.wide[at].range = i;
        a.wide[at].first = walk.leaf;
        a.wide[at].behind = behind;
        leaves_mark(&a, walk.leaf, behind);
    }
}

/* --- levels of them ------------------------------------------------------------------------------------------------------- */

/* The next link of a node that is listed, behind a symbol; 0: none. */
SIMT_DEVICE copse_radix_link listed_next(const copse_radix_list_arguments *a, copse_radix_link node, int *symbol)
{
    const uint32_t type = copse_radix_type_of(node);
    const unsigned char *at = copse_radix_at(&a->tree, node);
    const bool all = (node_marks(a, node) & MARK_ALL) != 0;
    for (;;) {
        *symbol = copse_radix_next(type, at, *symbol);
        if (*symbol == COPSE_RADIX_BEHIND_LAST) return 0;
        const copse_radix_link link = copse_radix_get(type, at, *symbol);
        if (all || copse_radix_is_leaf(link) || node_marks(a, link)) return link;
    }
}

/* How many listed nodes are right below each; then, where there is a level for them, they are put there. */
SIMT_KERNEL(radix_descend, copse_radix_list_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.level.n)
    {
        const copse_radix_link node = a.level.nodes[i];
        const bool all = (node_marks(&a, node) & MARK_ALL) != 0;
        uint64_t at = a.below.nodes ? a.level.kids[i] : 0;
        int symbol = COPSE_RADIX_BEFORE_FIRST;
        for (copse_radix_link link; (link = listed_next(&a, node, &symbol)) != 0;) {
            if (copse_radix_is_leaf(link)) continue;
            if (a.below.nodes) {
                if (all) node_mark(&a, link, MARK_ALL);
                a.below.nodes[at] = link;
            }
            at++;
        }
        if (!a.below.nodes) a.level.kids[i] = at;
        if (!a.below.nodes && i == 0) a.level.kids[a.level.n] = 0;
    }
}

/* From the lowest level up: how many leaves are listed below each node. Then from the first down, where there is a list: the number of the
 * first of them, which the level above says, and the leaves of the node itself go into the list. */
SIMT_KERNEL(radix_leaves_below, copse_radix_list_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.level.n)
    {
        uint64_t at = a.list ? a.level.leaves[i] : 0, kid = a.level.kids[i];
        int symbol = COPSE_RADIX_BEFORE_FIRST;
        for (copse_radix_link link; (link = listed_next(&a, a.level.nodes[i], &symbol)) != 0;) {
            if (copse_radix_is_leaf(link)) {
                if (a.list) a.list[at] = link;
                at++;
                continue;
            }
            const uint64_t leaves = a.below.leaves[kid];
            if (a.list) a.below.leaves[kid] = at;
            at += leaves;
            kid++;
        }
        if (!a.list) a.level.leaves[i] = at;
    }
}

/* --- ranges of the list --------------------------------------------------------------------------------------------------- */

/* How many listed leaves come before a leaf. */
SIMT_DEVICE uint64_t listed_before(const copse_radix_list_arguments *a, copse_radix_link leaf)
{
    const copse_slice key = copse_radix_key(&a->tree, leaf);
    uint64_t low = 0, high = a->list_n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2u;
        const copse_slice other = copse_radix_key(&a->tree, a->list[middle]);
        const uint32_t common = (uint32_t)copse_radix_common(key, other);
        if (common < key.length && (common == other.length || other.start[common] < key.start[common]))
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

SIMT_KERNEL(radix_lengths, copse_radix_list_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.list_n + 1u) a.lengths[i] = i < a.list_n ? copse_radix_length_of(a.list[i]) : 0;
}

/* Where each wide range is in the list, and what it has. */
SIMT_KERNEL(radix_wide_count, copse_radix_list_arguments, COPSE_RADIX_THREADS, 4)
{
    const copse_radix_range_arguments *asked = &a.asked;
    RADIX_FOR(i, a.n)
    {
        copse_radix_wide *wide = &a.wide[i];
        uint64_t from = listed_before(&a, wide->first), to = wide->behind ? listed_before(&a, wide->behind) : a.list_n;
        if (asked->limit && to - from > asked->limit) {
            if (asked->descending)
                from = to - asked->limit;
            else
                to = from + asked->limit;
        }
        wide->from = from;
        wide->to = to;
        asked->counts[wide->range] = to - from;
        if (asked->starts) asked->starts[wide->range] = 0; /* not for a thread to go along */
        if (a.lengths) asked->sizes[wide->range] = a.lengths[to] - a.lengths[from];
        if (a.ends) a.ends[i] = to - from;
        if (a.ends && i == 0) a.ends[a.n] = 0;
    }
}

/* A thread to an entry: `ends` is where those of each wide range begin among all of them. */
SIMT_KERNEL(radix_wide_rows, copse_radix_list_arguments, COPSE_RADIX_THREADS, 6)
{
    RADIX_FOR(i, a.rows)
    {
        uint64_t low = 0, high = a.n; /* the last range that begins at i or before */
        while (high - low > 1u) {
            const uint64_t middle = low + (high - low) / 2u;
            if (a.ends[middle] <= i)
                low = middle;
            else
                high = middle;
        }
        const copse_radix_wide *wide = &a.wide[low];
        const uint64_t number = i - a.ends[low], at = a.offsets[wide->range] + number;
        const copse_radix_link leaf = a.list[a.asked.descending ? wide->to - 1u - number : wide->from + number];
        a.to.links[at] = leaf;
        a.to.sizes[at] = copse_radix_length_of(leaf);
    }
}

/* --- their aggregates ------------------------------------------------------------------------------------------------------ */

SIMT_DEVICE void total_clear(copse_radix_total *to)
{
    to->low = to->high = to->largest = 0;
    to->smallest = UINT64_MAX;
    to->real = 0.0;
}

/* Item i of a level of totals, the lowest of which is the list. */
SIMT_DEVICE void total_take(const copse_radix_list_arguments *a, uint32_t level, uint64_t i, copse_radix_total *to)
{
    if (level == 0) {
        total_add(to, a->type, a->tree.width == 8u, copse_radix_value(&a->tree, a->list[i]));
        return;
    }
    const copse_radix_total *from = &a->totals[level - 1u][i];
    to->low += from->low;
    to->high += from->high + (uint64_t)(to->low < from->low);
    to->real += from->real;
    if (from->smallest < to->smallest) to->smallest = from->smallest;
    if (from->largest > to->largest) to->largest = from->largest;
}

/* Of each 64 items of the level before, whose number is `rows`. */
SIMT_KERNEL(radix_list_totals, copse_radix_list_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, (a.rows + COPSE_RADIX_TOTALED - 1u) / COPSE_RADIX_TOTALED)
    {
        copse_radix_total total;
        total_clear(&total);
        for (uint64_t from = i * COPSE_RADIX_TOTALED; from < (i + 1u) * COPSE_RADIX_TOTALED && from < a.rows; from++)
            total_take(&a, a.levels, from, &total);
        a.totals[a.levels][i] = total;
    }
}

SIMT_KERNEL(radix_wide_totals, copse_radix_list_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.n)
    {
        copse_radix_total total;
        uint64_t from = a.wide[i].from, to = a.wide[i].to;
        total_clear(&total);
        for (uint32_t level = 0; from < to; level++) {
            const bool last = level == a.levels;
            while (from < to && (last || from % COPSE_RADIX_TOTALED)) total_take(&a, level, from++, &total);
            while (from < to && to % COPSE_RADIX_TOTALED) total_take(&a, level, --to, &total);
            from /= COPSE_RADIX_TOTALED;
            to /= COPSE_RADIX_TOTALED;
        }
        a.results[a.wide[i].range] = total;
    }
}
