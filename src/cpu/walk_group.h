/*
 * What the batch walks of trees with inner levels (core/levels.h) share. A walk encodes a group of keys (walk_enter), takes it
 * down the inner levels (walk_level), and then reads the units (the finish functions of each tree). What a walk is for, its
 * mode, is a constant in each instance, so that the compiler drops what it does not need.
 */
#pragma once

#include "core/codec.h"
#include "core/levels.h"
#include "core/widths.h"
#include "cpu/node_search.h"
#include "cpu/pipeline.h"
#include "cpu/unit.h"
#include "cpu/walk.h"

#define LESS(line, q, keys) COPSE_BITS(count_less_u, KEY_BITS)(line, q, keys)
#define FULL_SEPARATORS     (64u / sizeof(KEY))
#define DIGEST_SEPARATORS   16u
#define ALWAYS_INLINE       static inline __attribute__((always_inline))

/* Aligned, so that vector stores into a group never straddle two lines. */
typedef struct walk_group {
    _Alignas(64) KEY q[PIPELINE_WIDTH];
    uint32_t digest[PIPELINE_WIDTH];
    uint32_t node[PIPELINE_WIDTH]; /* in the end: what lies below the inner levels, a unit or a slot for a leaf */
    /* Trees with leaves of several units: which unit of the leaf, and the leaf. */
    uint32_t unit[PIPELINE_WIDTH];
    const char *leaf[PIPELINE_WIDTH];
} walk_group;

typedef struct walk_state {
    const copse_walk_input *input;
    const copse_levels *levels;
    pipeline_plan plan;
    uint64_t first_nan;
    walk_group ring[PIPELINE_RING];
} walk_state;

/* Queries of group g. */
ALWAYS_INLINE uint32_t walk_count(const walk_state *w, uint64_t g, uint32_t width)
{
    uint64_t left = w->input->n - g * width;
    return left < width ? (uint32_t)left : width;
}

/*
 * Upper bounds. Where keys may repeat, the first key > q is the first >= q + 1; for the largest key that wraps to 0,
 * which walk_wrapped looks for. Where they do not, it is the first >= q, or the one behind it if that is q itself: no
 * second line is touched, and digests, which q and q + 1 often share, do not lead astray.
 */
ALWAYS_INLINE bool walk_wrapped(const copse_walk_input *input, KEY q, bool upper)
{
    return upper && !input->unique && q == 0;
}

/* Reads `count` of the caller's keys into a group. A short last group is filled up with its first key, so that the loops
 * over a group always have the same length. */
ALWAYS_INLINE void walk_read(walk_state *w, uint64_t g, uint32_t width, uint32_t count)
{
    const copse_walk_input *in = w->input;
    walk_group *group = &w->ring[g & w->plan.mask];
    uint32_t good = ENCODE(in->type, in->keys, in->first + g * width, count, group->q);
    if (good < count && g * width + good < w->first_nan) w->first_nan = g * width + good;
    for (uint32_t i = count; i < width; i++) group->q[i] = group->q[0];
    const KEY step = in->upper && !in->unique;
    for (uint32_t i = 0; i < width; i++) {
        group->q[i] += step;
        group->node[i] = 0;
    }
#if KEY_BITS == 64
    if (w->levels->digest) {
        const uint64_t base = w->levels->base;
        const uint32_t shift = w->levels->shift;
        for (uint32_t i = 0; i < width; i++) group->digest[i] = copse_digest(group->q[i], base, shift);
    }
#endif
}

/* Stage 0. Not inlined: it is called once per group, and the code is long. Full groups get a constant length. */
static __attribute__((noinline)) void walk_enter(walk_state *w, uint64_t g, uint32_t width)
{
    uint32_t count = walk_count(w, g, width);
    if (count == PIPELINE_WIDTH)
        walk_read(w, g, PIPELINE_WIDTH, PIPELINE_WIDTH);
    else
        walk_read(w, g, width, count);
}

/* walk_read for ranges: lows in the first half of the group, highs, as bounds of what comes behind them, in the second. */
ALWAYS_INLINE void walk_read_ranges(walk_state *w, uint64_t g, uint32_t half, uint32_t count)
{
    const copse_walk_input *in = w->input;
    const KEY step = !in->unique;
    walk_group *group = &w->ring[g & w->plan.mask];
    uint32_t good = ENCODE(in->type, in->keys, in->first + g * half, count, group->q);
    uint32_t good_high = ENCODE(in->type, in->highs, in->first + g * half, count, group->q + half);
    if (good_high < good) good = good_high;
    if (good < count && g * half + good < w->first_nan) w->first_nan = g * half + good;
    for (uint32_t i = count; i < half; i++) {
        group->q[i] = group->q[0];
        group->q[half + i] = group->q[half];
    }
    for (uint32_t i = 0; i < half; i++) {
        group->q[half + i] += step;
        group->node[i] = group->node[half + i] = 0;
    }
#if KEY_BITS == 64
    if (w->levels->digest) {
        const uint64_t base = w->levels->base;
        const uint32_t shift = w->levels->shift;
        for (uint32_t i = 0; i < half * 2; i++) group->digest[i] = copse_digest(group->q[i], base, shift);
    }
#endif
}

/* Unused where a tree walks single keys only. */
static __attribute__((noinline, unused)) void walk_enter_ranges(walk_state *w, uint64_t g, uint32_t half)
{
    uint32_t count = walk_count(w, g, half);
    if (count == PIPELINE_WIDTH / 2)
        walk_read_ranges(w, g, PIPELINE_WIDTH / 2, PIPELINE_WIDTH / 2);
    else
        walk_read_ranges(w, g, half, count);
}

/* All ones or all zeros. The processor must not predict what was found, or whether a range is empty: a misprediction waits for
 * memory. */
ALWAYS_INLINE uint64_t walk_mask(bool keep)
{
    uint64_t mask = 0 - (uint64_t)keep;
    __asm__("" : "+r"(mask)); /* keeps the compiler from making it a branch again */
    return mask;
}

/* Puts queries at .. of a group where they have been walked to: places `to` .. `to + width` of it. Those that fill up a short group
 * stand with its first. */
ALWAYS_INLINE void walk_place(const walk_state *w, walk_group *group, const uint32_t *below, uint64_t at, uint32_t to,
                              uint32_t width)
{
    const uint64_t left = w->input->n - at;
    for (uint32_t i = 0; i < width; i++) group->node[to + i] = below[at + (i < left ? i : 0)];
}

/* Takes a group from one level to the next; `below` is what lies under the level, `stride` its step in bytes, a power
 * of two (64: nodes or units, 8: leaf pointers). */
ALWAYS_INLINE void walk_level(walk_group *group, uint32_t width, bool digest, const char *level, const char *below,
                              uint32_t stride, bool far)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const char *node = level + (uint64_t)group->node[i] * 64;
        uint32_t child;
        if (digest)
            child =
                group->node[i] * (DIGEST_SEPARATORS + 1) + count_less_u32(node, group->digest[i], DIGEST_SEPARATORS);
        else
            child = group->node[i] * (uint32_t)(FULL_SEPARATORS + 1) + LESS(node, group->q[i], FULL_SEPARATORS);
        group->node[i] = child;
        pipeline_fetch(below + (uint64_t)child * stride, far);
    }
}

typedef enum walk_mode { WALK_FIND, WALK_LOCATE, WALK_COUNT, WALK_SUM, WALK_EXTREME } walk_mode;

typedef struct walk_output {
    VALUE *values;
    uint8_t *found;
    uint64_t *out;
    uint64_t *locations; /* of the lows of ranges; may be NULL */
} walk_output;
