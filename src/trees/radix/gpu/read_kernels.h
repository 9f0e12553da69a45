/* Template: kernels that go along the leaves of the radix tree, and give entries to callers. */
#pragma once

#include "trees/radix/gpu/find_kernel.h"
#include "trees/radix/gpu/fixed_kernels.h"
#include "trees/radix/gpu/view.h"

SIMT_KERNEL(radix_neighbours, copse_radix_neighbour_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.to.n)
    {
        const copse_slice key = string_take(&a.keys, i, a.to.n, &a.report[COPSE_RADIX_UNSOUND]);
        const copse_radix_link leaf = copse_radix_neighbour(&a.tree, key, a.which);
        a.to.links[i] = leaf;
        a.to.sizes[i] = leaf ? copse_radix_length_of(leaf) : 0;
        if (i == 0) a.to.sizes[a.to.n] = 0;
    }
}

/* --- ranges ----------------------------------------------------------------------------------------------------------- */

/* Can no key lie between the two? */
SIMT_DEVICE bool ends_cross(copse_slice low, copse_slice high, bool open)
{
    const size_t common = copse_radix_common(low, high);
    if (common == low.length) return common == high.length && open;
    return common == high.length || low.start[common] > high.start[common];
}

SIMT_DEVICE void seek_low(const copse_radix_range_arguments *a, copse_slice low, copse_radix_walk *walk)
{
    if (a->has_low)
        copse_radix_walk_seek(walk, &a->tree, low, a->above ? COPSE_RADIX_AFTER : COPSE_RADIX_AT);
    else
        copse_radix_walk_first(walk, &a->tree);
}

SIMT_DEVICE void seek_high(const copse_radix_range_arguments *a, copse_slice low, copse_slice high,
                           copse_radix_walk *walk)
{
    if (a->prefix)
        copse_radix_walk_seek(walk, &a->tree, low, COPSE_RADIX_PAST_PREFIX);
    else if (a->has_high)
        copse_radix_walk_seek(walk, &a->tree, high, a->below ? COPSE_RADIX_AT : COPSE_RADIX_AFTER);
    else
        copse_radix_walk_behind(walk, &a->tree);
}

/* The leaves of a range, as the CPU goes along them (trees/radix/cpu/ranges.c): counts them, adds up their bytes. */
SIMT_DEVICE void range_go(const copse_radix_range_arguments *a, uint64_t i, copse_slice low, copse_slice high)
{
    copse_radix_walk walk;
    uint64_t count = 0, bytes = 0;
    copse_radix_link end, start;
    if (a->descending) {
        seek_low(a, low, &walk);
        end = walk.leaf;
        seek_high(a, low, high, &walk);
    } else {
        seek_high(a, low, high, &walk);
        end = walk.leaf;
        seek_low(a, low, &walk);
    }
    bool more = walk.leaf != end;
    if (more && a->descending) more = copse_radix_walk_previous(&walk);
    start = walk.leaf;
    while (more && (!a->limit || count < a->limit)) {
        const copse_radix_link leaf = walk.leaf;
        bytes += copse_radix_length_of(leaf);
        if (++count > a->most) {
            simt_atomic_min_u64(&a->report[COPSE_RADIX_TOO_WIDE], i);
            break;
        }
        if (a->descending) {
            more = leaf != end;
            if (more) (void)copse_radix_walk_previous(&walk);
        } else {
            copse_radix_walk_next(&walk);
            more = walk.leaf != end;
        }
    }
    a->counts[i] = count;
    if (a->starts) a->starts[i] = start;
    if (a->sizes) a->sizes[i] = bytes;
}

SIMT_KERNEL(radix_ranges, copse_radix_range_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        copse_slice low, high;
        low.start = high.start = NULL;
        low.length = high.length = 0;
        if (a.has_low) low = string_take(&a.lows, i, a.n, &a.report[COPSE_RADIX_UNSOUND]);
        if (a.has_high) high = string_take(&a.highs, i, a.n, &a.report[COPSE_RADIX_UNSOUND_HIGH]);
        if (a.has_low && a.has_high && ends_cross(low, high, a.above || a.below)) {
            a.counts[i] = 0;
            if (a.starts) a.starts[i] = 0;
            if (a.sizes) a.sizes[i] = 0;
        } else {
            range_go(&a, i, low, high);
        }
    }
}

SIMT_DEVICE void total_add(copse_radix_total *to, copse_type type, bool wide, const void *value)
{
    const uint64_t bits = wide ? *(const uint64_t *)value : *(const uint32_t *)value;
    uint64_t order;
    if (type == COPSE_F32 || type == COPSE_F64) {
        float single;
        double number;
        const uint32_t half = (uint32_t)bits;
        memcpy(&single, &half, sizeof single);
        memcpy(&number, &bits, sizeof number);
        if (!wide) number = (double)single;
        to->real += number;
        if (number != number) return; /* in the sum, but neither smallest nor largest */
    } else {
        const uint64_t number = type == COPSE_I32 ? (uint64_t)(int64_t)(int32_t)bits : bits;
        to->low += number;
        to->high += (uint64_t)(to->low < number) - (uint64_t)((type == COPSE_I32 || type == COPSE_I64) && number >> 63);
    }
    order = wide ? copse_encode_one_k64(type, bits) : copse_encode_one_k32(type, (uint32_t)bits);
    if (order < to->smallest) to->smallest = order;
    if (order > to->largest) to->largest = order;
}

SIMT_KERNEL(radix_totals, copse_radix_total_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        copse_radix_total total;
        copse_radix_walk walk;
        total.low = total.high = total.largest = 0;
        total.smallest = UINT64_MAX;
        total.real = 0.0;
        const bool own = a.counts[i] && a.starts[i]; /* a range that is not wide has a first leaf */
        if (own) copse_radix_walk_at(&walk, &a.tree, a.starts[i]);
        for (uint64_t left = own ? a.counts[i] : 0; left > 0; left--) {
            total_add(&total, a.type, a.tree.width == 8u, copse_radix_value(&a.tree, walk.leaf));
            if (left > 1u) copse_radix_walk_next(&walk);
        }
        a.totals[i] = total;
    }
}

SIMT_KERNEL(radix_rows, copse_radix_row_arguments, COPSE_RADIX_THREADS, 3)
{
    RADIX_FOR(i, a.n)
    {
        const uint64_t first = a.offsets[i], end = a.offsets[i + 1u];
        copse_radix_walk walk;
        if (i == 0) a.to.sizes[a.to.n] = 0;
        if (first == end || !a.starts[i]) continue;
        copse_radix_walk_at(&walk, &a.tree, a.starts[i]);
        for (uint64_t at = first; at < end; at++) {
            a.to.links[at] = walk.leaf;
            a.to.sizes[at] = copse_radix_length_of(walk.leaf);
            if (at + 1u == end) break;
            if (a.descending)
                (void)copse_radix_walk_previous(&walk);
            else
                copse_radix_walk_next(&walk);
        }
    }
}

/* --- giving ------------------------------------------------------------------------------------------------------------- */

SIMT_KERNEL(radix_give, copse_radix_give_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(i, a.from.n + 1u)
    {
        if (a.offsets && a.wide) ((int64_t *)a.offsets)[i] = (int64_t)a.from.sizes[i];
        if (a.offsets && !a.wide) ((int32_t *)a.offsets)[i] = (int32_t)a.from.sizes[i];
        if (i == a.from.n) continue;
        const copse_radix_link leaf = a.from.links[i];
        if (a.found) a.found[i] = leaf != 0;
        if (a.values) value_put(&a.tree, a.values, i, leaf);
        if (!a.data || !leaf) continue;
        const copse_slice key = copse_radix_key(&a.tree, leaf);
        unsigned char *to = a.data + a.from.sizes[i];
        for (size_t byte = 0; byte < key.length; byte++) to[byte] = key.start[byte];
    }
}

/* A warp to a page. */
SIMT_KERNEL(radix_pages, copse_radix_page_arguments, COPSE_RADIX_THREADS, 4)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_RADIX_THREADS / SIMT_WARP);
    for (uint64_t p = (uint64_t)blockIdx.x * (COPSE_RADIX_THREADS / SIMT_WARP) + simt_warp(); p < a.n; p += warps) {
        uint64_t *page = (uint64_t *)(a.pages + p * COPSE_RADIX_PAGE), *place = (uint64_t *)a.at[p];
        for (uint32_t i = simt_lane(); i < COPSE_RADIX_PAGE / 8u; i += SIMT_WARP)
            if (a.back)
                page[i] = place[i];
            else
                place[i] = page[i];
    }
}
