/* Template: kernels of mixed batches for one pair of widths. */
#pragma once

#include "core/value_add.h"
#include "gpu/kernel.h"
#include "gpu/mixed_kernels.h"
#include "primitives/mixed_state.h"

/* What a warp has seen of a batch, or a block. */
typedef struct mixed_seen {
    KEY smallest, largest;
    uint32_t operations; /* and bit 7: keys are out of order */
} mixed_seen;
#define FALLS 128u

/* How a key stands. */
typedef struct mixed_standing {
    VALUE value;
    bool there;
} mixed_standing;

SIMT_DEVICE mixed_seen mixed_both(mixed_seen x, mixed_seen y)
{
    x.smallest = y.smallest < x.smallest ? y.smallest : x.smallest;
    x.largest = y.largest > x.largest ? y.largest : x.largest;
    x.operations |= y.operations;
    return x;
}

SIMT_DEVICE mixed_seen mixed_warp(mixed_seen seen)
{
    for (uint32_t step = SIMT_WARP / 2u; step > 0; step /= 2u) {
        mixed_seen other;
        other.smallest = COPSE_BITS(simt_shfl_xor_u, KEY_BITS)(SIMT_FULL_MASK, seen.smallest, step);
        other.largest = COPSE_BITS(simt_shfl_xor_u, KEY_BITS)(SIMT_FULL_MASK, seen.largest, step);
        other.operations = simt_shfl_xor_u32(SIMT_FULL_MASK, seen.operations, step);
        seen = mixed_both(seen, other);
    }
    return seen;
}

SIMT_DEVICE void mixed_report(copse_mixed_survey *survey, mixed_seen seen)
{
    simt_atomic_min_u64(&survey->smallest, seen.smallest);
    simt_atomic_max_u64(&survey->largest, seen.largest);
    simt_atomic_or_u32(&survey->operations, seen.operations & (FALLS - 1u));
    if (seen.operations & FALLS) simt_atomic_or_u32(&survey->falls, 1u);
}

SIMT_DEVICE void mixed_store_tag(const copse_mixed_arguments *a, void *tags, uint64_t i, uint64_t tag)
{
    if (a->wide)
        ((uint64_t *)tags)[i] = tag;
    else
        ((uint32_t *)tags)[i] = (uint32_t)tag;
}

SIMT_DEVICE uint64_t mixed_word(const copse_mixed_arguments *a, const void *words, uint64_t i)
{
    return a->wide ? ((const uint64_t *)words)[i] : ((const uint32_t *)words)[i];
}

/* Operation i on its own. */
SIMT_DEVICE mixed_seen mixed_look(const copse_mixed_arguments *a, uint64_t i)
{
    const KEY *raw = (const KEY *)a->raw_keys;
    const uint32_t operation = a->operations[i];
    const KEY key = ENCODE_ONE(a->key_type, raw[i]);
    mixed_seen seen;
    if (operation > COPSE_OP_ADD) simt_atomic_min_u64(&a->survey->first_bad, i);
    if (!a->values &&
        (operation == COPSE_OP_UPSERT || operation == COPSE_OP_INSERT_IF_ABSENT || operation == COPSE_OP_ADD))
        simt_atomic_min_u64(&a->survey->first_without, i);
    if (IS_NAN(a->key_type, raw[i])) simt_atomic_min_u64(&a->survey->first_nan, i);
    ((KEY *)a->keys)[i] = key;
    mixed_store_tag(a, a->tags, i, i << COPSE_MIXED_SHIFT | (operation & COPSE_MIXED_TAG));
    seen.smallest = seen.largest = key;
    seen.operations = 1u << (operation <= COPSE_OP_ADD ? operation : 0u);
    if (i && key < ENCODE_ONE(a->key_type, raw[i - 1u])) seen.operations |= FALLS;
    return seen;
}

SIMT_KERNEL(NAME(mixed_tag), copse_mixed_arguments, COPSE_KERNEL_THREADS, 8)
{
    /* One report for each block: those of all warps would wait for each other. */
    SIMT_SHARED(mixed_seen, warps, COPSE_KERNEL_THREADS / SIMT_WARP);
    mixed_seen seen = {KEY_MAX, 0, 0};
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        seen = mixed_both(seen, mixed_look(&a, i));
    seen = mixed_warp(seen);
    if (simt_lane() == 0) warps[simt_warp()] = seen;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (uint32_t w = 1; w < COPSE_KERNEL_THREADS / SIMT_WARP; w++) seen = mixed_both(seen, warps[w]);
    mixed_report(a.survey, seen);
}

/* The value that comes with an operation; a set has none. */
SIMT_DEVICE VALUE mixed_given(const copse_mixed_arguments *a, uint64_t position)
{
    return a->values ? ((const VALUE *)a->values)[position] : 0;
}

/* What an operation finds. */
SIMT_DEVICE void mixed_found(const copse_mixed_arguments *a, uint64_t position, mixed_standing now)
{
    if (a->out_values) ((VALUE *)a->out_values)[position] = now.value;
    if (a->out_found) a->out_found[position] = (uint8_t)now.there;
}

/* How a key ends, for the operation i that says so. */
SIMT_DEVICE void mixed_end(const copse_mixed_arguments *a, uint64_t i, mixed_standing began, mixed_standing ends)
{
    a->there[i] = (uint8_t)(ends.there != began.there || ends.value != began.value);
    ((VALUE *)a->standing)[i] = ends.value;
    if (a->rows) {
        a->rows[i] = (uint32_t)i;
        a->gone[i] = (uint8_t)!ends.there;
    }
}

/* How a key that began like this stands after a run of operations. */
SIMT_DEVICE mixed_standing mixed_after(const copse_mixed_arguments *a, mixed_standing began, uint64_t state)
{
    const uint32_t does = (uint32_t)(state & COPSE_MIXED_OPERATION);
    const bool puts = does == COPSE_OP_UPSERT || (does == COPSE_OP_INSERT_IF_ABSENT && !began.there);
    if (puts) {
        began.value = mixed_given(a, state >> COPSE_MIXED_SHIFT);
        began.there = true;
    } else if (does == COPSE_OP_ERASE) {
        began.value = 0;
        began.there = false;
    }
    return began;
}

/* What the operation finds goes to its position in the caller's arrays. */
SIMT_DEVICE void mixed_resolve(const copse_mixed_arguments *a, uint64_t i, bool first, mixed_standing began)
{
    const uint64_t position = mixed_word(a, a->tags, i) >> COPSE_MIXED_SHIFT;
    if (!first) began = mixed_after(a, began, mixed_word(a, a->states, i - 1u));
    mixed_found(a, position, began);
}

SIMT_KERNEL(NAME(mixed_answer), copse_mixed_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY key = keys[i];
        const bool first = i == 0 || keys[i - 1u] != key, last = i + 1u == a.n || keys[i + 1u] != key;
        mixed_standing began, ends;
        began.value = ((const VALUE *)a.standing)[i];
        began.there = a.there[i] != 0;
        mixed_resolve(&a, i, first, began);
        ends = last ? mixed_after(&a, began, mixed_word(&a, a.states, i)) : began;
        mixed_end(&a, i, began, ends);
    }
}

/* --- batches with an ADD ---------------------------------------------------------------------------------------------------- */

SIMT_KERNEL(NAME(mixed_addends), copse_mixed_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t tag = mixed_word(&a, a.tags, i), operation = tag & COPSE_MIXED_TAG;
        mixed_store_tag(&a, a.own_tags, i, i << COPSE_MIXED_SHIFT | operation);
        a.sums[i] = operation == COPSE_OP_ADD ? mixed_given(&a, tag >> COPSE_MIXED_SHIFT) : 0u;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) a.sums[a.n] = 0;
}

/* How a key that began like this stands behind the sorted operation i (mixed_state.h has the formula). */
SIMT_DEVICE mixed_standing mixed_after_sum(const copse_mixed_arguments *a, mixed_standing began, uint64_t i)
{
    const uint64_t state = mixed_word(a, a->states, i), does = state & COPSE_MIXED_OPERATION;
    const uint64_t from = state >> COPSE_MIXED_SHIFT;
    if (does == COPSE_OP_FIND) return began;
    if (does == COPSE_OP_ERASE) {
        began.value = 0;
        began.there = false;
    } else if (does == COPSE_OP_INSERT_IF_ABSENT && began.there) {
        began.value += (VALUE)(a->sums[i + 1u] - a->sums[from]);
    } else {
        began.value = mixed_given(a, mixed_word(a, a->tags, from) >> COPSE_MIXED_SHIFT) +
                      (VALUE)(a->sums[i + 1u] - a->sums[from + 1u]);
        began.there = true;
    }
    return began;
}

SIMT_KERNEL(NAME(mixed_answer_add), copse_mixed_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const bool first = i == 0 || keys[i - 1u] != keys[i], last = i + 1u == a.n || keys[i + 1u] != keys[i];
        mixed_standing began;
        began.value = ((const VALUE *)a.standing)[i];
        began.there = a.there[i] != 0;
        mixed_found(&a, mixed_word(&a, a.tags, i) >> COPSE_MIXED_SHIFT,
                    first ? began : mixed_after_sum(&a, began, i - 1u));
        mixed_end(&a, i, began, last ? mixed_after_sum(&a, began, i) : began);
    }
}

/* One operation on its key. */
SIMT_DEVICE mixed_standing mixed_step(const copse_mixed_arguments *a, mixed_standing now, uint64_t tag)
{
    const uint64_t does = tag & COPSE_MIXED_TAG;
    const VALUE given = mixed_given(a, tag >> COPSE_MIXED_SHIFT);
    if (does == COPSE_OP_ERASE) {
        now.value = 0;
        now.there = false;
    } else if (does == COPSE_OP_ADD && now.there) {
        now.value = copse_value_add(a->value_type, now.value, given);
    } else if (does == COPSE_OP_UPSERT || (does != COPSE_OP_FIND && !now.there)) {
        now.value = given;
        now.there = true;
    }
    return now;
}

/* The thread of a key's first operation goes through all of them, in order: the order of float additions counts. */
SIMT_KERNEL(NAME(mixed_fold), copse_mixed_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY key = keys[i];
        if (i && keys[i - 1u] == key) continue;
        mixed_standing began, now;
        began.value = ((const VALUE *)a.standing)[i];
        began.there = a.there[i] != 0;
        now = began;
        for (uint64_t at = i; at < a.n && keys[at] == key; at++) {
            const uint64_t tag = mixed_word(&a, a.tags, at);
            const bool last = at + 1u == a.n || keys[at + 1u] != key;
            mixed_found(&a, tag >> COPSE_MIXED_SHIFT, now);
            now = mixed_step(&a, now, tag);
            mixed_end(&a, at, began, last ? now : began);
        }
    }
}

SIMT_KERNEL(NAME(mixed_ends), copse_mixed_arguments, COPSE_KERNEL_THREADS, 1)
{
    const uint64_t n = a.survey->changes;
    if (threadIdx.x != 0 || n == 0) return;
    a.survey->lowest_change = ((const KEY *)a.keys)[0];
    a.survey->highest_change = ((const KEY *)a.keys)[n - 1u];
}

SIMT_KERNEL(NAME(mixed_gather), copse_mixed_gather_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t row = a.rows[i];
        ((VALUE *)a.out_values)[i] = ((const VALUE *)a.values)[row];
        a.out_stays[i] = (uint8_t)!a.gone[row];
    }
}
