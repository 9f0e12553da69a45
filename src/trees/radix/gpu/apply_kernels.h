/* Template: mixed batches (copse_radix_apply_arguments). */
#pragma once

#include "trees/radix/gpu/items.h"

/* How a key stands. */
typedef struct apply_standing {
    uint64_t value;
    bool there;
} apply_standing;

SIMT_DEVICE uint64_t apply_load(const copse_radix_apply_arguments *a, const void *values, uint64_t i)
{
    if (!values || !a->tree.width) return 0;
    return a->tree.width == 8u ? ((const uint64_t *)values)[i] : ((const uint32_t *)values)[i];
}

SIMT_DEVICE void apply_store(const copse_radix_apply_arguments *a, void *values, uint64_t i, uint64_t value)
{
    if (a->tree.width == 8u)
        ((uint64_t *)values)[i] = value;
    else
        ((uint32_t *)values)[i] = (uint32_t)value;
}

/* As core/value_add.h has it: a sum that is no number is always the same one. */
SIMT_DEVICE uint64_t apply_sum(copse_type type, uint64_t a, uint64_t b)
{
    if (type == COPSE_F64) {
        double x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&a, &x, sizeof a);
        return x != x ? UINT64_C(0x7ff8000000000000) : a;
    }
    if (type == COPSE_F32) {
        uint32_t low = (uint32_t)a, high = (uint32_t)b;
        float x, y;
        memcpy(&x, &low, sizeof x);
        memcpy(&y, &high, sizeof y);
        x += y;
        memcpy(&low, &x, sizeof low);
        return x != x ? 0x7fc00000u : low;
    }
    return a + b;
}

/* Answers the operation at a position, and does what it says. */
SIMT_DEVICE apply_standing apply_step(const copse_radix_apply_arguments *a, uint32_t i, uint32_t operation,
                                      uint64_t given, apply_standing now)
{
    a->places[i] = a->nobody;
    if (a->out_found) a->out_found[i] = (uint8_t)now.there;
    if (a->out_values && a->tree.width) apply_store(a, a->out_values, i, now.there ? now.value : 0);
    if (operation == COPSE_OP_FIND || (operation == COPSE_OP_INSERT_IF_ABSENT && now.there)) return now;
    now.value = operation == COPSE_OP_ADD && now.there ? apply_sum(a->type, now.value, given) : given;
    now.there = operation != COPSE_OP_ERASE;
    return now;
}

/* The operations from one in the order on, at most so many of a key at a time: what they need is asked for at once, so that a key that is often
 * in a batch does not wait for each. */
#define APPLY_AHEAD 8u
SIMT_DEVICE apply_standing apply_some(const copse_radix_apply_arguments *a, uint64_t first, uint64_t end,
                                      apply_standing now)
{
    uint32_t positions[APPLY_AHEAD], operations[APPLY_AHEAD];
    uint64_t given[APPLY_AHEAD];
    SIMT_UNROLL
    for (uint32_t i = 0; i < APPLY_AHEAD; i++)
        if (first + i < end) positions[i] = a->positions[first + i];
    SIMT_UNROLL
    for (uint32_t i = 0; i < APPLY_AHEAD; i++)
        if (first + i < end) {
            operations[i] = a->operations[positions[i]];
            given[i] = apply_load(a, a->values, positions[i]);
        }
    SIMT_UNROLL
    for (uint32_t i = 0; i < APPLY_AHEAD; i++)
        if (first + i < end) now = apply_step(a, positions[i], operations[i], given[i], now);
    return now;
}

SIMT_KERNEL(radix_apply, copse_radix_apply_arguments, COPSE_RADIX_THREADS, 4)
{
    RADIX_FOR(run, a.n)
    {
        const uint64_t first = run ? a.ends[run - 1u] : 0, end = a.ends[run];
        const uint32_t chosen = a.positions[first], place = a.places[chosen];
        apply_standing began, now;
        began.there = place != UINT32_MAX;
        began.value = began.there ? apply_load(&a, copse_radix_value(&a.tree, a.claims[place].leaf), 0) : 0;
        now = began;
        for (uint64_t at = first; at < end; at += APPLY_AHEAD) now = apply_some(&a, at, end, now);
        if (a.tree.width == 4u) now.value = (uint32_t)now.value; /* sums are of 64 bits */
        if (began.there && !now.there) {
            a.going[counter_next(a.fates, COPSE_RADIX_GOES)] = chosen;
        } else if (now.there && (!began.there || now.value != began.value)) {
            (void)counter_next(a.fates, began.there ? COPSE_RADIX_CHANGES : COPSE_RADIX_COMES);
            a.places[chosen] = place;
            if (began.there) a.claims[place].position = chosen;
            if (a.tree.width) apply_store(&a, a.finals, chosen, now.value);
        }
    }
}
