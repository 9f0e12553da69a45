/*
 * Template: kernels that visit the values of the paged tree. A warp takes a row of the directory at a time, and goes over its page in
 * steps of 16 bytes a lane:
 *
 *   values of a page   | leaf 0: 0 1 2 3 4 5 - - | leaf 1: 6 7 8 - - - - - | ...      16 bytes have 4 slots (2 of u64)
 *   lane                 0       1                 2       3
 *
 * `ends` says which slots of a leaf have entries; a lane whose slots are all free does not read. No list of pages is made for it.
 */
#pragma once

#include "core/pass_value.h"
#include "gpu/kernel.h"
#include "trees/paged/page.h"
#include "trees/paged/visit.h"

/* Edges have the width of values there. */
#if VALUE_BITS == 64
#define PASS_BIN_OF pass_bin_uint64_t
#else
#define PASS_BIN_OF pass_bin_uint32_t
#endif

#define STEP_VALUES (128u / VALUE_BITS)          /* slots of a lane in one step */
#define STEP_SLOTS  (STEP_VALUES * SIMT_WARP)    /* ... of a warp               */
#define STEPS       4u                           /* whose loads are under way together */
#define VISIT_WARPS (COPSE_KERNEL_THREADS / 32u) /* of a block */

/* The row that a warp has, and the ranks in its page that are visited. */
typedef struct visit_row {
    char *page;
    uint32_t first, end;
} visit_row;

/* Rows that are visited: from `row` up to, and not with, `end`. */
typedef struct visit_rows {
    uint32_t row, end;
} visit_rows;

SIMT_DEVICE visit_rows visit_all_rows(const copse_paged_visit_arguments *a)
{
    visit_rows rows;
    rows.row = a->ends ? location_row(a->ends[0]) : 0u;
    rows.end = a->ends ? location_row(a->ends[1]) + 1u : a->tree.rows;
    return rows;
}

SIMT_DEVICE visit_row visit_row_of(const copse_paged_visit_arguments *a, uint32_t row)
{
    visit_row of;
    of.page = page_of(&a->tree, row);
    of.first = a->ends && row == location_row(a->ends[0]) ? location_rank(a->ends[0]) : 0u;
    of.end = a->ends && row == location_row(a->ends[1]) ? location_rank(a->ends[1]) : a->tree.counts[row];
    return of;
}

SIMT_DEVICE uint32_t visit_first_row(const visit_rows *rows)
{
    return rows->row + blockIdx.x * VISIT_WARPS + simt_warp();
}

SIMT_DEVICE uint32_t visit_next_row(uint32_t row)
{
    return row + gridDim.x * VISIT_WARPS;
}

/* What a lane has of one step. */
typedef struct visit_piece {
    VALUE values[STEP_VALUES];
    uint32_t slot;  /* of the first one, in the page                        */
    uint32_t rank;  /* in the page, that the first one has or would have   */
    uint32_t valid; /* bit j: values[j] is visited                          */
} visit_piece;

/* Which slots of a lane are visited. */
SIMT_DEVICE void piece_place(const copse_paged_tree *tree, const visit_row *row, uint32_t step, visit_piece *out)
{
    out->slot = step * STEP_SLOTS + simt_lane() * STEP_VALUES;
    out->valid = 0;
    out->rank = 0;
    if (out->slot >= tree->slots) return;
    const uint32_t leaf = out->slot / LEAF_SLOTS, slot = out->slot % LEAF_SLOTS;
    const uint32_t begin = leaf_begin(tree, row->page, leaf), end = page_ends(tree, row->page)[leaf];
    const uint32_t low = row->first > begin ? row->first - begin : 0u;
    const uint32_t stop = row->end < end ? row->end : end, high = stop > begin ? stop - begin : 0u;
    out->rank = begin + slot;
    SIMT_UNROLL
    for (uint32_t j = 0; j < STEP_VALUES; j++) out->valid |= (uint32_t)(slot + j >= low && slot + j < high) << j;
}

SIMT_DEVICE void piece_unpack(simt_u32x4 v, VALUE *values)
{
#if VALUE_BITS == 64
    values[0] = walk_join(v.x, v.y);
    values[1] = walk_join(v.z, v.w);
#else
    values[0] = v.x;
    values[1] = v.y;
    values[2] = v.z;
    values[3] = v.w;
#endif
}

SIMT_DEVICE void piece_read(const copse_paged_tree *tree, const visit_row *row, visit_piece *piece)
{
    if (piece->valid) piece_unpack(simt_load16_once(page_values(tree, row->page) + piece->slot), piece->values);
}

SIMT_DEVICE uint32_t visit_steps(const copse_paged_tree *tree)
{
    return (tree->slots + STEP_SLOTS - 1u) / STEP_SLOTS;
}

/* --- map ------------------------------------------------------------------------------------------------------------------- */

/* Out of place: entry by entry to where it belongs. */
SIMT_DEVICE void map_out(const copse_paged_visit_arguments *a, const visit_row *row, uint64_t before,
                         const visit_piece *piece)
{
    for (uint32_t j = 0; j < STEP_VALUES; j++) {
        if (!(piece->valid >> j & 1u)) continue;
        const uint64_t at = before + piece->rank + j;
        if (a->out_values)
            ((VALUE *)a->out_values)[at] =
                pass_map(a->tree.value_type, a->map, piece->values[j], (VALUE)a->a, (VALUE)a->b);
        if (a->out_keys)
            ((KEY *)a->out_keys)[at] = DECODE_ONE(a->tree.key_type, page_keys(&a->tree, row->page)[piece->slot + j]);
    }
}

SIMT_KERNEL(NAME(visit_map), copse_paged_visit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const visit_rows rows = visit_all_rows(&a);
    const uint64_t skipped = a.ends ? location_number(tree, a.ends[0]) : 0;
    for (uint32_t r = visit_first_row(&rows); r < rows.end; r = visit_next_row(r)) {
        const visit_row row = visit_row_of(&a, r);
        for (uint32_t s = 0; s < visit_steps(tree); s++) {
            visit_piece piece;
            piece_place(tree, &row, s, &piece);
            piece_read(tree, &row, &piece);
            map_out(&a, &row, tree->before[r] - skipped, &piece);
        }
    }
}

/* In place: 16 bytes back to where they came from, free slots among them as they were. */
SIMT_DEVICE void piece_put(const copse_paged_visit_arguments *a, const visit_row *row, visit_piece *piece)
{
    simt_u32x4 v;
    if (!piece->valid) return;
    SIMT_UNROLL
    for (uint32_t j = 0; j < STEP_VALUES; j++)
        if (piece->valid >> j & 1u)
            piece->values[j] = pass_map(a->tree.value_type, a->map, piece->values[j], (VALUE)a->a, (VALUE)a->b);
#if VALUE_BITS == 64
    v.x = (uint32_t)piece->values[0];
    v.y = (uint32_t)(piece->values[0] >> 32);
    v.z = (uint32_t)piece->values[1];
    v.w = (uint32_t)(piece->values[1] >> 32);
#else
    v.x = piece->values[0];
    v.y = piece->values[1];
    v.z = piece->values[2];
    v.w = piece->values[3];
#endif
    *(simt_u32x4 *)(void *)(page_values(&a->tree, row->page) + piece->slot) = v;
}

SIMT_KERNEL(NAME(visit_change), copse_paged_visit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const visit_rows rows = visit_all_rows(&a);
    for (uint32_t r = visit_first_row(&rows); r < rows.end; r = visit_next_row(r)) {
        const visit_row row = visit_row_of(&a, r);
        if (simt_lane() == 0 && row.first < row.end) *(uint32_t *)(void *)(row.page + COPSE_PAGED_STALE_AT) = 1u;
        for (uint32_t s = 0; s < visit_steps(tree); s += STEPS) {
            visit_piece piece[STEPS];
            SIMT_UNROLL
            for (uint32_t u = 0; u < STEPS; u++) piece_place(tree, &row, s + u, &piece[u]);
            SIMT_UNROLL
            for (uint32_t u = 0; u < STEPS; u++)
                if (piece[u].valid)
                    piece_unpack(*(const simt_u32x4 *)(const void *)(page_values(tree, row.page) + piece[u].slot),
                                 piece[u].values);
            SIMT_UNROLL
            for (uint32_t u = 0; u < STEPS; u++) piece_put(&a, &row, &piece[u]);
        }
    }
}

/* --- reduce ---------------------------------------------------------------------------------------------------------------- */

/* Of one lane. Integers are moved up so that none is negative, and their halves added apart: 64 bits hold 2^32 of those. */
typedef struct visit_sums {
    uint64_t low, high, count;
    double real, squares;
    uint64_t smallest, largest; /* codes */
} visit_sums;

SIMT_DEVICE visit_sums visit_sums_empty(void)
{
    visit_sums empty;
    empty.low = empty.high = empty.count = empty.largest = 0;
    empty.real = empty.squares = 0.0;
    empty.smallest = UINT64_MAX;
    return empty;
}

SIMT_DEVICE void visit_take(copse_type type, uint32_t look, double mean, VALUE value, visit_sums *to)
{
    const bool is_float = type == COPSE_F32 || type == COPSE_F64;
    const bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    if (look & COPSE_LOOK_SUM && !is_float) {
        const VALUE up = is_signed ? value ^ (VALUE)((VALUE)1 << (VALUE_BITS - 1u)) : value;
        to->low += (uint32_t)up;
#if VALUE_BITS == 64
        to->high += up >> 32;
#endif
    }
    if (look & COPSE_LOOK_SUM && is_float) to->real += pass_real(type, value);
    if (look & COPSE_LOOK_SQUARES) {
        const double away = pass_real(type, value) - mean;
        to->squares += away * away;
    }
    if (look & COPSE_LOOK_EXTREMES && !pass_is_nan(type, value)) {
        const uint64_t code = pass_code(type, value);
        to->smallest = code < to->smallest ? code : to->smallest;
        to->largest = code > to->largest ? code : to->largest;
    }
}

/* All rows of a warp. The compiler makes one of these for each set of constants that it is called with. */
SIMT_DEVICE void visit_reduce_rows(const copse_paged_visit_arguments *a, copse_type type, uint32_t look, visit_sums *to)
{
    const copse_paged_tree *tree = &a->tree;
    const visit_rows rows = visit_all_rows(a);
    for (uint32_t r = visit_first_row(&rows); r < rows.end; r = visit_next_row(r)) {
        const visit_row row = visit_row_of(a, r);
        if (simt_lane() == 0 && row.first < row.end) to->count += row.end - row.first;
        for (uint32_t s = 0; look && s < visit_steps(tree); s += STEPS) {
            visit_piece piece[STEPS];
            SIMT_UNROLL
            for (uint32_t u = 0; u < STEPS; u++) piece_place(tree, &row, s + u, &piece[u]);
            SIMT_UNROLL
            for (uint32_t u = 0; u < STEPS; u++) piece_read(tree, &row, &piece[u]);
            SIMT_UNROLL
            for (uint32_t u = 0; u < STEPS; u++) SIMT_UNROLL
            for (uint32_t j = 0; j < STEP_VALUES; j++)
                if (piece[u].valid >> j & 1u) visit_take(type, look, a->mean, piece[u].values[j], to);
        }
    }
}

SIMT_DEVICE double shuffle_real(double number, uint32_t step)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits = simt_shfl_xor_u64(SIMT_FULL_MASK, bits, step);
    memcpy(&number, &bits, sizeof bits);
    return number;
}

SIMT_DEVICE void visit_sums_add(visit_sums *to, visit_sums from)
{
    to->low += from.low;
    to->high += from.high;
    to->count += from.count;
    to->real += from.real;
    to->squares += from.squares;
    to->smallest = from.smallest < to->smallest ? from.smallest : to->smallest;
    to->largest = from.largest > to->largest ? from.largest : to->largest;
}

SIMT_DEVICE visit_sums visit_sums_of_warp(visit_sums own)
{
    for (uint32_t step = SIMT_WARP / 2u; step > 0; step /= 2u) {
        visit_sums other;
        other.low = simt_shfl_xor_u64(SIMT_FULL_MASK, own.low, step);
        other.high = simt_shfl_xor_u64(SIMT_FULL_MASK, own.high, step);
        other.count = simt_shfl_xor_u64(SIMT_FULL_MASK, own.count, step);
        other.real = shuffle_real(own.real, step);
        other.squares = shuffle_real(own.squares, step);
        other.smallest = simt_shfl_xor_u64(SIMT_FULL_MASK, own.smallest, step);
        other.largest = simt_shfl_xor_u64(SIMT_FULL_MASK, own.largest, step);
        visit_sums_add(&own, other);
    }
    return own;
}

/* The sums of all threads of a block, in thread 0. */
SIMT_DEVICE visit_sums visit_sums_of_block(visit_sums own)
{
    SIMT_SHARED(visit_sums, warps, VISIT_WARPS);
    own = visit_sums_of_warp(own);
    if (simt_lane() == 0) warps[simt_warp()] = own;
    __syncthreads();
    if (threadIdx.x == 0)
        for (uint32_t w = 1; w < VISIT_WARPS; w++) visit_sums_add(&own, warps[w]);
    return own;
}

/* One partial for each block; visit_finish adds them up, always in the same order. */
SIMT_KERNEL(NAME(visit_reduce), copse_paged_visit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_type type = a.tree.value_type;
    visit_sums own = visit_sums_empty();
#if VALUE_BITS == 64
    if (a.look == COPSE_LOOK_SUM && type == COPSE_U64) visit_reduce_rows(&a, COPSE_U64, COPSE_LOOK_SUM, &own);
#else
    if (a.look == COPSE_LOOK_SUM && type == COPSE_U32) visit_reduce_rows(&a, COPSE_U32, COPSE_LOOK_SUM, &own);
#endif
    else
        visit_reduce_rows(&a, type, a.look, &own);
    own = visit_sums_of_block(own);
    if (threadIdx.x != 0) return;
    copse_visit_partial *to = &a.partials[blockIdx.x];
    to->low = own.low;
    to->high = own.high;
    to->low_carry = to->high_carry = 0;
    to->count = own.count;
    to->real = own.real;
    to->squares = own.squares;
    to->smallest = own.smallest;
    to->largest = own.largest;
}

/* The partials of all blocks, one behind the other, by one block: the first gets the sum. */
SIMT_KERNEL(NAME(visit_finish), copse_paged_visit_arguments, COPSE_KERNEL_THREADS, 1)
{
    SIMT_SHARED(copse_visit_partial, all, COPSE_KERNEL_THREADS);
    copse_visit_partial own;
    own.low = own.high = own.low_carry = own.high_carry = own.count = own.largest = 0;
    own.real = own.squares = 0.0;
    own.smallest = UINT64_MAX;
    for (uint32_t i = threadIdx.x; i < a.partial_count; i += COPSE_KERNEL_THREADS)
        copse_visit_partial_add(&own, &a.partials[i]);
    all[threadIdx.x] = own;
    for (uint32_t half = COPSE_KERNEL_THREADS / 2u; half > 0; half /= 2u) {
        __syncthreads();
        if (threadIdx.x < half) copse_visit_partial_add(&all[threadIdx.x], &all[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) *a.result = all[0];
}

/* --- histogram ------------------------------------------------------------------------------------------------------------- */

/* Few bins are counted in shared memory first; a block visits fewer than 2^32 entries, or the tree would not fit any card. */
SIMT_KERNEL(NAME(visit_histogram), copse_paged_visit_arguments, COPSE_KERNEL_THREADS, 8)
{
    SIMT_SHARED(VALUE, near_edges, COPSE_VISIT_NEAR_BINS + 1u);
    SIMT_SHARED(uint32_t, near_counts, COPSE_VISIT_NEAR_BINS + COPSE_BINS_OUTSIDE);
    const copse_paged_tree *tree = &a.tree;
    const bool near_by = a.bins <= COPSE_VISIT_NEAR_BINS;
    const VALUE *edges = near_by ? near_edges : (const VALUE *)a.edges;
    const visit_rows rows = visit_all_rows(&a);
    for (uint32_t i = threadIdx.x; near_by && i < a.bins + COPSE_BINS_OUTSIDE; i += COPSE_KERNEL_THREADS) {
        if (i <= a.bins) near_edges[i] = ((const VALUE *)a.edges)[i];
        near_counts[i] = 0;
    }
    __syncthreads();
    for (uint32_t r = visit_first_row(&rows); r < rows.end; r = visit_next_row(r)) {
        const visit_row row = visit_row_of(&a, r);
        for (uint32_t s = 0; s < visit_steps(tree); s++) {
            visit_piece piece;
            piece_place(tree, &row, s, &piece);
            piece_read(tree, &row, &piece);
            for (uint32_t j = 0; j < STEP_VALUES; j++) {
                if (!(piece.valid >> j & 1u)) continue;
                const uint32_t bin = PASS_BIN_OF(tree->value_type, edges, a.bins, a.even, piece.values[j]);
                if (near_by)
                    simt_atomic_add_u32(&near_counts[bin], 1u);
                else
                    simt_atomic_add_u64(&a.counts[bin], 1u);
            }
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; near_by && i < a.bins + COPSE_BINS_OUTSIDE; i += COPSE_KERNEL_THREADS)
        if (near_counts[i]) simt_atomic_add_u64(&a.counts[i], near_counts[i]);
}

/* --- filter ---------------------------------------------------------------------------------------------------------------- */

SIMT_DEVICE uint32_t piece_fit(const copse_paged_visit_arguments *a, const visit_piece *piece)
{
    uint32_t fit = 0;
    for (uint32_t j = 0; j < STEP_VALUES; j++)
        if (piece->valid >> j & 1u &&
            pass_fits(a->tree.value_type, piece->values[j], (VALUE)a->least, (VALUE)a->greatest))
            fit |= 1u << j;
    return fit;
}

/* Sum over the lanes in front of this one, and over all of them. */
SIMT_DEVICE uint32_t lanes_before(uint32_t own, uint32_t *all)
{
    uint32_t sum = own;
    for (uint32_t d = 1; d < SIMT_WARP; d *= 2u) {
        const uint32_t from = simt_shfl_up_u32(SIMT_FULL_MASK, sum, d);
        if (simt_lane() >= d) sum += from;
    }
    *all = simt_shfl_u32(SIMT_FULL_MASK, sum, SIMT_WARP - 1u);
    return sum - own;
}

SIMT_DEVICE void piece_keep(const copse_paged_visit_arguments *a, const visit_row *row, const visit_piece *piece,
                            uint32_t fit, uint64_t at)
{
    for (uint32_t j = 0; j < STEP_VALUES; j++) {
        if (!(fit >> j & 1u)) continue;
        if (at < a->most && a->out_values) ((VALUE *)a->out_values)[at] = piece->values[j];
        if (at < a->most && a->out_keys)
            ((KEY *)a->out_keys)[at] = DECODE_ONE(a->tree.key_type, page_keys(&a->tree, row->page)[piece->slot + j]);
        at++;
    }
}

/* The first time how many entries of each row fit, the second time, with sums of those, the entries to their places. */
SIMT_KERNEL(NAME(visit_filter), copse_paged_visit_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_paged_tree *tree = &a.tree;
    const visit_rows rows = visit_all_rows(&a);
    for (uint32_t r = visit_first_row(&rows); r < rows.end; r = visit_next_row(r)) {
        const visit_row row = visit_row_of(&a, r);
        uint64_t at = a.writes ? a.row_fit[r] : 0;
        for (uint32_t s = 0; s < visit_steps(tree); s++) {
            visit_piece piece;
            uint32_t all;
            piece_place(tree, &row, s, &piece);
            piece_read(tree, &row, &piece);
            const uint32_t fit = piece_fit(&a, &piece), before = lanes_before((uint32_t)__popc(fit), &all);
            if (a.writes) piece_keep(&a, &row, &piece, fit, at + before);
            at += all;
        }
        if (!a.writes && simt_lane() == 0) a.row_fit[r] = at;
    }
}

#define PAGED_VISIT_KERNELS                                                                                            \
    {                                                                                                                  \
        ENTRY(visit_map), ENTRY(visit_change), ENTRY(visit_reduce), ENTRY(visit_finish), ENTRY(visit_histogram),       \
            ENTRY(visit_filter)                                                                                        \
    }
