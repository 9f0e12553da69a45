/* The kernels of queries, for the compiler of cards and for that of the emulator, and the initializer of their table. */
#pragma once

#include "core/codec.h"
#include "query/device/kernels.h"
#include "query/plan/term_kind.h"
#include "simt/simt.h"

#define CARD_NONE UINT32_MAX

SIMT_DEVICE uint64_t card_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

SIMT_DEVICE bool card_bit(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> (at % 8) & 1u;
}

SIMT_DEVICE bool card_lives(const uint8_t *alive, uint64_t row)
{
    return !alive || card_bit(alive, row);
}

SIMT_DEVICE bool card_valid(const copse_card_column *column, uint64_t row)
{
    return !column->validity || card_bit(column->validity, row);
}

SIMT_DEVICE uint64_t card_code(const copse_card_column *column, uint64_t row)
{
    if (column->width == 8)
        return copse_encode_one_k64((copse_type)column->type, ((const uint64_t *)column->cells)[row]);
    if (column->width == 4)
        return copse_encode_one_k32((copse_type)column->type, ((const uint32_t *)column->cells)[row]);
    return ((const uint8_t *)column->cells)[row];
}

SIMT_DEVICE uint64_t card_row(const uint32_t *rows, uint64_t i)
{
    return rows ? rows[i] : i;
}

/* How many of n ascending numbers are smaller than `what`; with `equal` or as large. */
SIMT_DEVICE uint64_t card_below(const uint64_t *numbers, uint64_t n, uint64_t what, bool equal)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t number = numbers[middle];
        if (number < what || (equal && number == what))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- conditions ---- */

SIMT_DEVICE bool card_meets(const copse_card_term *term, const uint64_t *codes, uint64_t row)
{
    bool valid = card_valid(&term->column, row);
    if (term->kind == COPSE_TERM_NULL) return !valid;
    if (!valid || term->empty) return false;
    if (term->kind == COPSE_TERM_NOT_NULL) return true;
    uint64_t code = card_code(&term->column, row);
    if (term->kind == COPSE_TERM_RANGE) return code - term->low <= term->span;
    uint64_t at = card_below(codes + term->first, term->count, code, false);
    bool listed = at < term->count && codes[term->first + at] == code;
    return listed == (term->kind == COPSE_TERM_LIST);
}

SIMT_KERNEL(card_filter, copse_card_filter_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t row = card_thread();
    if (row >= a.n) return;
    bool fits = card_lives(a.alive, row);
    uint32_t at = 0;
    bool any = a.conjunctions == 0;
    for (uint32_t c = 0; fits && !any && c < a.conjunctions; c++) {
        bool all = true;
        for (at = c ? a.ends[c - 1] : 0; all && at < a.ends[c]; at++) all = card_meets(&a.terms[at], a.codes, row);
        any = all;
    }
    a.flags[row] = fits && any;
}

/* ---- orders and groups ---- */

SIMT_KERNEL(card_keys, copse_card_keys_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = card_row(a.rows, i);
    uint64_t key = a.what == COPSE_CARD_VALID ? (uint64_t)card_valid(&a.column, row) : card_code(&a.column, row);
    a.keys[i] = key ^ a.flip;
    if (a.values) a.values[i] = (uint32_t)(a.positions ? i : row);
}

SIMT_KERNEL(card_heads, copse_card_heads_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    bool head = i == 0;
    for (uint32_t c = 0; !head && c < a.count; c++) {
        uint64_t row = card_row(a.rows, i), before = card_row(a.rows, i - 1);
        bool valid = card_valid(&a.columns[c], row);
        head = valid != card_valid(&a.columns[c], before) ||
               (valid && card_code(&a.columns[c], row) != card_code(&a.columns[c], before));
    }
    a.flags[i] = head;
}

SIMT_KERNEL(card_widen, copse_card_widen_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i < a.count) a.to[i] = a.from[i];
    if (i == a.count) a.to[i] = a.n;
}

/* ---- aggregates ---- */

SIMT_KERNEL(card_blocks, copse_card_blocks_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t g = card_thread();
    if (g < a.groups) a.counts[g] = (a.starts[g + 1] - a.starts[g] + COPSE_SUM_BLOCK - 1) / COPSE_SUM_BLOCK;
    if (g == a.groups) a.counts[g] = 0;
}

SIMT_DEVICE void card_add_wide(copse_card_partial *to, uint64_t low, uint64_t high)
{
    to->low += low;
    to->high += high + (to->low < low ? 1u : 0u);
}

SIMT_DEVICE void card_add_cell(copse_card_partial *to, const copse_card_column *column, uint64_t row)
{
    if (!card_valid(column, row)) return;
    to->count++;
    if (!column->cells) return; /* strings are only counted */
    uint64_t code = card_code(column, row);
    if (code < to->least) to->least = code;
    if (code > to->largest) to->largest = code;
    int64_t whole = 0;
    switch (column->type) {
    case COPSE_F32:
        to->total += (double)((const float *)column->cells)[row];
        return;
    case COPSE_F64:
        to->total += ((const double *)column->cells)[row];
        return;
    case COPSE_I32:
    case COPSE_DATE:
        whole = ((const int32_t *)column->cells)[row];
        break;
    case COPSE_I64:
    case COPSE_TIMESTAMP:
        whole = ((const int64_t *)column->cells)[row];
        break;
    default:
        card_add_wide(to, code, 0); /* unsigned numbers are their codes */
        return;
    }
    card_add_wide(to, (uint64_t)whole, whole < 0 ? UINT64_MAX : 0);
}

SIMT_DEVICE void card_add_partial(copse_card_partial *to, const copse_card_partial *from)
{
    card_add_wide(to, from->low, from->high);
    to->total += from->total;
    if (from->least < to->least) to->least = from->least;
    if (from->largest > to->largest) to->largest = from->largest;
    to->count += from->count;
}

SIMT_DEVICE double card_shfl_f64(double value, uint32_t x)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = simt_shfl_xor_u64(SIMT_FULL_MASK, bits, x);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* In every lane the sum of those of all. */
SIMT_DEVICE void card_add_warp(copse_card_partial *part)
{
    copse_card_partial other;
    for (uint32_t d = SIMT_WARP / 2; d > 0; d /= 2) {
        other.low = simt_shfl_xor_u64(SIMT_FULL_MASK, part->low, d);
        other.high = simt_shfl_xor_u64(SIMT_FULL_MASK, part->high, d);
        other.total = card_shfl_f64(part->total, d);
        other.least = simt_shfl_xor_u64(SIMT_FULL_MASK, part->least, d);
        other.largest = simt_shfl_xor_u64(SIMT_FULL_MASK, part->largest, d);
        other.count = simt_shfl_xor_u64(SIMT_FULL_MASK, part->count, d);
        card_add_partial(part, &other);
    }
}

SIMT_KERNEL(card_reduce, copse_card_reduce_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t block = card_thread() / SIMT_WARP;
    copse_card_partial part = {0, 0, 0, UINT64_MAX, 0, 0};
    if (block >= a.blocks) return; /* the whole warp */
    uint64_t group = card_below(a.firsts, a.groups + 1, block, true) - 1;
    uint64_t begin = a.starts[group] + (block - a.firsts[group]) * COPSE_SUM_BLOCK, end = a.starts[group + 1];
    if (end - begin > COPSE_SUM_BLOCK) end = begin + COPSE_SUM_BLOCK;
    for (uint64_t i = begin + simt_lane(); i < end; i += SIMT_WARP) {
        if (a.in)
            card_add_partial(&part, &a.in[i]);
        else
            card_add_cell(&part, &a.column, card_row(a.rows, i));
    }
    card_add_warp(&part);
    if (simt_lane() == 0) a.out[block] = part;
}

SIMT_KERNEL(card_valued, copse_card_valued_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = card_row(a.rows, i);
    a.flags[i] = card_valid(&a.column, row);
    a.codes[i] = card_code(&a.column, row);
}

SIMT_KERNEL(card_owner, copse_card_owner_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    a.out[i] = card_below(a.starts, a.groups + 1, a.positions[i], true) - 1;
    a.numbers[i] = (uint32_t)i;
}

SIMT_KERNEL(card_distinct, copse_card_distinct_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    bool is_new = false;
    uint64_t group = 0;
    if (i < a.n) {
        uint64_t at = a.order[i], before = i ? a.order[i - 1] : at;
        group = a.groups_of[i];
        is_new = i == 0 || group != a.groups_of[i - 1] || a.codes[at] != a.codes[before];
    }
    /* Most warps lie in one group: one addition for all of it. */
    uint64_t first = simt_shfl_u64(SIMT_FULL_MASK, group, 0);
    bool together = __all_sync(SIMT_FULL_MASK, i >= a.n || group == first);
    uint32_t new_ones = (uint32_t)__popc(__ballot_sync(SIMT_FULL_MASK, is_new));
    if (together && simt_lane() == 0 && new_ones) (void)simt_atomic_add_u64(&a.counts[first], new_ones);
    if (!together && is_new) (void)simt_atomic_add_u64(&a.counts[group], 1);
}

/* ---- cells that move ---- */

SIMT_KERNEL(card_gather, copse_card_gather_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    uint64_t row = i < a.n ? card_row(a.rows, i) : CARD_NONE;
    bool valid = row != CARD_NONE && card_valid(&a.column, row);
    uint32_t bits = __ballot_sync(SIMT_FULL_MASK, valid);
    if (a.out_validity && simt_lane() == 0 && i < a.n) a.out_validity[i / 32] = bits;
    if (i >= a.n || !a.out) return;
    if (a.column.width == 8)
        ((uint64_t *)a.out)[i] = valid ? ((const uint64_t *)a.column.cells)[row] : 0;
    else if (a.column.width == 4)
        ((uint32_t *)a.out)[i] = valid ? ((const uint32_t *)a.column.cells)[row] : 0;
    else if (a.widen)
        ((uint32_t *)a.out)[i] = valid ? ((const uint8_t *)a.column.cells)[row] : 0;
    else
        ((uint8_t *)a.out)[i] = valid ? ((const uint8_t *)a.column.cells)[row] : 0;
}

SIMT_KERNEL(card_put, copse_card_put_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = a.rows[i];
    uint32_t bit = 1u << (row % 32);
    if (a.width == 8)
        ((uint64_t *)a.cells)[row] = ((const uint64_t *)a.from)[i];
    else if (a.width == 4)
        ((uint32_t *)a.cells)[row] = ((const uint32_t *)a.from)[i];
    else if (a.width == 1)
        ((uint8_t *)a.cells)[row] = ((const uint8_t *)a.from)[i];
    if (a.from_valid[i])
        (void)simt_atomic_or_u32(&a.validity[row / 32], bit);
    else
        (void)simt_atomic_and_u32(&a.validity[row / 32], ~bit);
}

SIMT_KERNEL(card_used, copse_card_used_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t row = card_thread();
    if (row >= a.n) return;
    bool used = card_lives(a.alive, row);
    for (uint32_t c = 0; c < COPSE_CARD_GROUPS; c++) used = used && card_valid(&a.columns[c], row);
    a.flags[row] = used;
}

/* ---- joins ---- */

SIMT_KERNEL(card_found, copse_card_found_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t row = card_thread();
    if (row >= a.n) return;
    bool lives = card_lives(a.alive, row), found = lives && a.found[row] && card_valid(&a.column, row);
    a.found[row] = found;
    if (!a.flags) return;
    bool alone = a.kind == COPSE_JOIN_LEFT || a.kind == COPSE_JOIN_ANTI;
    a.flags[row] = lives && (found ? a.kind != COPSE_JOIN_ANTI : alone);
}

SIMT_KERNEL(card_pair, copse_card_pair_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = card_row(a.left, i);
    a.out_left[i] = row;
    if (!a.out_right) return;
    uint32_t partner = a.found && !a.found[row] ? CARD_NONE : a.partners[row];
    a.out_right[i] = partner == CARD_NONE ? COPSE_NO_ROW : partner;
}

SIMT_DEVICE uint64_t card_pairs_of(uint32_t kind, uint64_t found)
{
    if (kind == COPSE_JOIN_INNER || kind == COPSE_JOIN_BAND) return found;
    if (kind == COPSE_JOIN_LEFT) return found ? found : 1;
    return (kind == COPSE_JOIN_SEMI) == (found > 0) ? 1 : 0;
}

SIMT_KERNEL(card_count, copse_card_count_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    if (a.rows)
        a.counts[a.rows[i]] = card_pairs_of(a.kind, a.offsets[i + 1] - a.offsets[i]);
    else
        a.counts[i] = card_lives(a.alive, i) ? card_pairs_of(a.kind, 0) : 0;
}

SIMT_KERNEL(card_list, copse_card_list_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = card_row(a.rows, i), first = a.places[row], count = a.places[row + 1] - first;
    uint64_t found = a.rows ? a.offsets[i + 1] - a.offsets[i] : 0;
    for (uint64_t k = 0; k < count; k++) {
        a.out_left[first + k] = row;
        if (a.out_right) a.out_right[first + k] = k < found ? a.partners[a.offsets[i] + k] : COPSE_NO_ROW;
    }
}

SIMT_KERNEL(card_ascend, copse_card_ascend_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread() + 1;
    if (i < a.n && a.left[i - 1] == a.left[i] && a.right[i - 1] > a.right[i]) simt_store_relaxed_u32(a.out, 1);
}

SIMT_DEVICE double card_float_of(uint32_t type, uint64_t code)
{
    double wide;
    float single;
    if (type == COPSE_F64) {
        uint64_t bits = copse_decode_one_k64(COPSE_F64, code);
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    uint32_t bits = copse_decode_one_k32(COPSE_F32, (uint32_t)code);
    memcpy(&single, &bits, sizeof single);
    return single;
}

SIMT_KERNEL(card_asof, copse_card_asof_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t row = card_thread(), begin = 0, end = a.right;
    if (row >= a.n) return;
    a.partners[row] = CARD_NONE;
    if (!card_lives(a.alive, row) || !card_valid(&a.on, row)) return;
    if (a.group_codes) {
        if (!card_valid(&a.by, row)) return;
        uint64_t group = card_code(&a.by, row), g = card_below(a.group_codes, a.groups, group, false);
        if (g == a.groups || a.group_codes[g] != group) return;
        begin = a.group_starts[g];
        if (g + 1 < a.groups) end = a.group_starts[g + 1];
    }
    uint64_t code = card_code(&a.on, row);
    uint64_t at = begin + card_below(a.codes + begin, end - begin, code, !a.counts);
    if (at == begin) return;
    uint64_t found = a.codes[at - 1];
    if (a.limited && found != code) {
        bool floats = a.on.type == COPSE_F32 || a.on.type == COPSE_F64;
        /* Codes of whole numbers are as far apart as the numbers. */
        if (floats ? !(card_float_of(a.on.type, code) - card_float_of(a.on.type, found) <= a.distance)
                   : code - found > a.tolerance)
            return;
    }
    a.partners[row] = a.rows[at - 1];
}

/* The code of the end of a band of floats, inside of it as doubles have it. Infinity less infinity is all the way. */
SIMT_DEVICE uint64_t card_float_end(uint32_t type, uint64_t code, double distance, bool low)
{
    double key = card_float_of(type, code), end = low ? key - distance : key + distance;
    uint64_t wide;
    uint32_t bits;
    if (end != end) return low ? 0 : UINT64_MAX;
    if (type == COPSE_F64) {
        memcpy(&wide, &end, sizeof wide);
        return copse_encode_one_k64(COPSE_F64, wide);
    }
    float nearest = (float)end;
    memcpy(&bits, &nearest, sizeof bits);
    uint64_t found = copse_encode_one_k32(COPSE_F32, bits);
    if (low) return found + ((double)nearest < end);
    return found - ((double)nearest > end);
}

/* Codes of whole numbers are as far apart as the numbers. */
SIMT_DEVICE void card_band_ends(const copse_card_band *band, const copse_card_column *on, uint64_t code, uint64_t *low,
                                uint64_t *high)
{
    if (on->type == COPSE_F32 || on->type == COPSE_F64) {
        *low = card_float_end(on->type, code, band->below_float, true);
        *high = card_float_end(on->type, code, band->above_float, false);
        return;
    }
    *low = code > band->below ? code - band->below : 0;
    *high = band->above < UINT64_MAX - code ? code + band->above : UINT64_MAX;
}

SIMT_KERNEL(card_span, copse_card_span_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t row = card_thread(), low = 0, high = 0, begin = 0, found = 0;
    if (row >= a.n) return;
    bool lives = card_lives(a.alive, row);
    if (lives && card_valid(&a.on, row)) {
        card_band_ends(&a.band, &a.on, card_code(&a.on, row), &low, &high);
        begin = card_below(a.codes, a.right, low, false);
        found = card_below(a.codes + begin, a.right - begin, high, true);
    }
    a.begins[row] = found ? begin : COPSE_NO_ROW;
    a.counts[row] = lives ? card_pairs_of(a.kind, found) : 0;
}

SIMT_KERNEL(card_spread, copse_card_spread_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = card_below(a.places, a.left + 1, i, true) - 1;
    a.out_left[i] = row;
    a.out_right[i] = a.rows[a.begins[row] + (i - a.places[row])];
}

/* Row of pair i, which lies in spans of left rows low .. high. */
SIMT_DEVICE uint64_t card_pair_row(const copse_card_pair_list *pairs, uint64_t i, uint64_t low, uint64_t high,
                                   bool right)
{
    if (pairs->left) return right ? pairs->right[i] : pairs->left[i];
    uint64_t row = low + card_below(pairs->places + low, high - low + 1, i, true) - 1;
    if (!right) return row;
    uint64_t begin = pairs->begins[row];
    return begin == COPSE_NO_ROW ? COPSE_NO_ROW : pairs->rows[begin + (i - pairs->places[row])];
}

SIMT_KERNEL(card_total, copse_card_total_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t block = card_thread() / SIMT_WARP, low = 0, high = a.pairs.slots - 1;
    copse_card_partial part = {0, 0, 0, UINT64_MAX, 0, 0};
    if (block >= a.blocks) return; /* the whole warp */
    uint64_t begin = block * COPSE_SUM_BLOCK, end = begin + COPSE_SUM_BLOCK;
    if (end > a.pairs.n) end = a.pairs.n;
    if (!a.pairs.left) {
        low = card_pair_row(&a.pairs, begin, low, high, false);
        high = card_pair_row(&a.pairs, end - 1, low, high, false);
    }
    for (uint64_t i = begin + simt_lane(); i < end; i += SIMT_WARP) {
        uint64_t row = card_pair_row(&a.pairs, i, low, high, a.of_right);
        if (row != COPSE_NO_ROW) card_add_cell(&part, &a.column, row);
    }
    card_add_warp(&part);
    if (simt_lane() == 0) a.out[block] = part;
}

SIMT_DEVICE double card_float_cell(const copse_card_column *column, uint64_t row)
{
    return column->type == COPSE_F32 ? (double)((const float *)column->cells)[row]
                                     : ((const double *)column->cells)[row];
}

/* The cell of pair i, 0 where it has none; adds to *n whether it has. */
SIMT_DEVICE double card_pair_float(const copse_card_total_arguments *a, uint64_t i, uint64_t low, uint64_t high,
                                   uint64_t *n)
{
    uint64_t row = card_pair_row(&a->pairs, i, low, high, a->of_right);
    if (row == COPSE_NO_ROW || !card_valid(&a->column, row)) return 0;
    *n += 1;
    return a->column.type == COPSE_F32 ? (double)((const float *)a->column.cells)[row]
                                       : ((const double *)a->column.cells)[row];
}

/* All threads fetch a tile of cells while the first one adds those of the tile before, in the order of the pairs. */
SIMT_KERNEL(card_total_floats, copse_card_total_arguments, COPSE_CARD_WIDE, 1)
{
    SIMT_SHARED(double, tiles, 2 * COPSE_CARD_WIDE);
    SIMT_SHARED(uint64_t, counts, COPSE_CARD_WIDE);
    uint64_t block = blockIdx.x, n = 0;
    double sum = 0;
    uint64_t low = block * a.left_rows, high = low + a.left_rows < a.pairs.slots ? low + a.left_rows : a.pairs.slots;
    uint64_t begin = a.pairs.left ? card_below(a.pairs.left, a.pairs.n, low, false) : a.pairs.places[low];
    uint64_t end = a.pairs.left ? card_below(a.pairs.left, a.pairs.n, high, false) : a.pairs.places[high];
    for (uint64_t at = begin;; at += COPSE_CARD_WIDE) {
        uint32_t turn = (uint32_t)((at - begin) / COPSE_CARD_WIDE % 2) * COPSE_CARD_WIDE;
        uint64_t i = at + threadIdx.x;
        if (at < end) tiles[turn + threadIdx.x] = i < end ? card_pair_float(&a, i, low, high - 1, &n) : 0;
        for (uint32_t k = 0; threadIdx.x == 0 && at > begin && k < COPSE_CARD_WIDE; k++)
            sum += tiles[COPSE_CARD_WIDE - turn + k];
        if (at >= end) break; /* all threads */
        __syncthreads();
    }
    counts[threadIdx.x] = n;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (uint32_t k = 1; k < COPSE_CARD_WIDE; k++) n += counts[k];
    copse_card_partial part = {0, 0, sum, 0, 0, n};
    a.out[block] = part;
}

SIMT_KERNEL(card_narrow, copse_card_narrow_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint64_t row = a.from[i];
    a.to[i] = (uint32_t)row;
    if (row != COPSE_NO_ROW && row >= a.slots) simt_store_relaxed_u32(a.out, 1);
}

SIMT_KERNEL(card_pick, copse_card_pick_arguments, COPSE_CARD_THREADS, 1)
{
    uint64_t i = card_thread();
    if (i >= a.n) return;
    uint32_t from = a.order[i];
    if (a.to_codes) a.to_codes[i] = a.codes[from];
    if (a.to_rows) a.to_rows[i] = a.rows[from];
}

#define CARD_ENTRY(name) SIMT_KERNEL_ENTRY(name, COPSE_CARD_THREADS)
#define CARD_KERNELS                                                                                                   \
    {                                                                                                                  \
        CARD_ENTRY(card_filter), CARD_ENTRY(card_keys), CARD_ENTRY(card_heads), CARD_ENTRY(card_widen),                \
            CARD_ENTRY(card_blocks), CARD_ENTRY(card_reduce), CARD_ENTRY(card_valued), CARD_ENTRY(card_owner),         \
            CARD_ENTRY(card_distinct), CARD_ENTRY(card_gather), CARD_ENTRY(card_put), CARD_ENTRY(card_used),           \
            CARD_ENTRY(card_found), CARD_ENTRY(card_pair), CARD_ENTRY(card_count), CARD_ENTRY(card_list),              \
            CARD_ENTRY(card_ascend), CARD_ENTRY(card_asof), CARD_ENTRY(card_span), CARD_ENTRY(card_spread),            \
            CARD_ENTRY(card_total), SIMT_KERNEL_ENTRY(card_total_floats, COPSE_CARD_WIDE), CARD_ENTRY(card_narrow),    \
            CARD_ENTRY(card_pick)                                                                                      \
    }
