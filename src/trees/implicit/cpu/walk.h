/* The batch walks of the implicit tree. */
#pragma once

#include "cpu/walk_group.h"
#include "trees/implicit/cpu/sum_unit.h"
#include "trees/implicit/cpu/walk_table.h"

/* Asks for the units behind those of the upper bounds of ranges, too: the sum in front of the next entry may lie there. */
ALWAYS_INLINE void walk_fetch_next(const walk_group *group, uint32_t width, const char *units, uint32_t stride,
                                   bool far)
{
    for (uint32_t i = width / 2; i < width; i++)
        pipeline_fetch(units + (uint64_t)group->node[i] * stride + stride, far);
}

/* Digests may land before the right unit; the step right is rare. Full separators land exactly. */
ALWAYS_INLINE uint64_t implicit_step(const copse_implicit *tree, uint64_t unit, KEY q)
{
    const copse_unit *units = tree->units;
    while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < tree->unit_count) unit++;
    return unit;
}

/* The end of one lookup. */
ALWAYS_INLINE void implicit_find_at(const copse_implicit *tree, uint64_t unit, KEY q, uint64_t at,
                                    const walk_output *to, bool digest)
{
    const copse_unit *units = tree->units;
    if (digest) unit = implicit_step(tree, unit, q);
    uint32_t slot = LESS(units[unit].keys, q, UNIT_ENTRIES);
    slot -= slot == UNIT_ENTRIES; /* greater than all: the compare below fails */
    bool found = (units[unit].keys[slot] == q) & (unit * UNIT_ENTRIES + slot < tree->entries);
    if (to->values) to->values[at] = found ? units[unit].values[slot] : 0;
    if (to->found) to->found[at] = found;
}

ALWAYS_INLINE void implicit_finish_find(const copse_implicit *tree, const walk_group *group, uint32_t count,
                                        uint64_t at, const walk_output *to, bool digest)
{
    const walk_output both = *to; /* inlined once where it is known that the caller asks for both */
    if (both.values && both.found)
        for (uint32_t i = 0; i < count; i++) implicit_find_at(tree, group->node[i], group->q[i], at + i, &both, digest);
    else
        for (uint32_t i = 0; i < count; i++) implicit_find_at(tree, group->node[i], group->q[i], at + i, &both, digest);
}

/* Keys of a unit in front of a bound: those < q, or, for an upper bound among unique keys, those <= q. */
ALWAYS_INLINE uint32_t walk_slot(const KEY *keys, const copse_walk_input *input, KEY q, bool upper)
{
    if (upper && input->unique) return q == KEY_MAX ? UNIT_ENTRIES : LESS(keys, (KEY)(q + 1), UNIT_ENTRIES);
    return LESS(keys, q, UNIT_ENTRIES);
}

/* The location of a bound. */
ALWAYS_INLINE uint64_t implicit_location(const copse_implicit *tree, const copse_walk_input *input, uint64_t unit,
                                         KEY q, bool digest, bool upper)
{
    const copse_unit *units = tree->units;
    if (digest) unit = implicit_step(tree, unit, q);
    uint64_t location = unit * UNIT_ENTRIES + walk_slot(units[unit].keys, input, q, upper);
    if (upper && location > tree->entries) location = tree->entries; /* free entries hold the largest key */
    return walk_wrapped(input, q, upper) ? tree->entries : location;
}

ALWAYS_INLINE void implicit_finish_locate(const copse_implicit *tree, const copse_walk_input *input,
                                          const walk_group *group, uint32_t count, uint64_t at, const walk_output *to,
                                          bool digest)
{
    for (uint32_t i = 0; i < count; i++)
        to->out[at + i] = implicit_location(tree, input, group->node[i], group->q[i], digest, input->upper);
}

ALWAYS_INLINE void implicit_finish_count(const copse_implicit *tree, const copse_walk_input *input,
                                         const walk_group *group, uint32_t half, uint32_t count, uint64_t at,
                                         const walk_output *to, bool digest)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t low = implicit_location(tree, input, group->node[i], group->q[i], digest, false);
        uint64_t high = implicit_location(tree, input, group->node[half + i], group->q[half + i], digest, true);
        to->out[at + i] = (high - low) & walk_mask(high > low);
        if (to->locations) to->locations[at + i] = low;
    }
}

/* The sum of all values in front of a bound. The array ends with one more unit, so that the sum behind the last
 * entry can be read, too; that it may lie in the next unit is left to the load, not to a branch. */
ALWAYS_INLINE uint64_t implicit_sum_before(const copse_implicit *tree, const copse_walk_input *input, uint64_t unit,
                                           KEY q, bool upper)
{
    const copse_sum_unit *units = tree->sum_units;
    while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < tree->unit_count) unit++;
    uint32_t slot = walk_slot(units[unit].keys, input, q, upper);
    uint64_t next = slot == UNIT_ENTRIES;
    uint64_t sum = units[unit + next].before[slot - next * UNIT_ENTRIES];
    return walk_wrapped(input, q, upper) ? tree->total : sum;
}

ALWAYS_INLINE void implicit_finish_sum(const copse_implicit *tree, const copse_walk_input *input,
                                       const walk_group *group, uint32_t half, uint32_t count, uint64_t at,
                                       const walk_output *to)
{
    const KEY step = !input->unique;
    for (uint32_t i = 0; i < count; i++) {
        KEY low = group->q[i], high = group->q[half + i];
        uint64_t before = implicit_sum_before(tree, input, group->node[i], low, false);
        uint64_t sum = implicit_sum_before(tree, input, group->node[half + i], high, true) - before;
        to->out[at + i] = sum & walk_mask(low <= (KEY)(high - step));
    }
}

ALWAYS_INLINE void implicit_finish(const copse_implicit *tree, walk_state *w, uint64_t g, const walk_output *to,
                                   walk_mode mode, uint32_t queries, bool digest)
{
    const walk_group *group = &w->ring[g & w->plan.mask];
    uint32_t count = walk_count(w, g, queries);
    uint64_t at = g * queries;
    if (mode == WALK_FIND)
        implicit_finish_find(tree, group, count, w->input->first + at, to, digest);
    else if (mode == WALK_LOCATE)
        implicit_finish_locate(tree, w->input, group, count, at, to, digest);
    else if (mode == WALK_COUNT)
        implicit_finish_count(tree, w->input, group, queries, count, at, to, digest);
    else
        implicit_finish_sum(tree, w->input, group, queries, count, at, to);
}

/* Takes group g through stage s: from level to level, then to the unit, then the end. */
ALWAYS_INLINE void implicit_stage(const copse_implicit *tree, walk_state *w, uint32_t s, uint64_t g,
                                  const walk_output *to, walk_mode mode, uint32_t width, bool digest)
{
    walk_group *group = &w->ring[g & w->plan.mask];
    const copse_levels *levels = &tree->levels;
    const bool sums = mode == WALK_SUM, ranges = sums || mode == WALK_COUNT;
    const char *units = sums ? tree->sum_units : tree->units;
    const uint32_t stride = sums ? (uint32_t)sizeof(copse_sum_unit) : 64;
    if (s == 0 && ranges) walk_enter_ranges(w, g, width / 2);
    if (s == 0 && !ranges) walk_enter(w, g, width);
    if (s == levels->height) {
        implicit_finish(tree, w, g, to, mode, ranges ? width / 2 : width, digest);
        return;
    }
    const bool far = w->plan.far[s + 1];
    if (s + 1 < levels->height) {
        walk_level(group, width, digest, levels->level[s], levels->level[s + 1], 64, far);
        return;
    }
    walk_level(group, width, digest, levels->level[s], units, stride, far);
    if (sums) walk_fetch_next(group, width, units, stride, far);
}

ALWAYS_INLINE uint64_t implicit_walk(const copse_implicit *tree, walk_state *w, const walk_output *to, walk_mode mode,
                                     uint32_t width, bool digest)
{
    const bool ranges = mode == WALK_SUM || mode == WALK_COUNT;
    const uint32_t queries = ranges ? width / 2 : width; /* of a group */
    const uint64_t groups = (w->input->n + queries - 1) / queries;
    PIPELINE_RUN(&w->plan, groups, s, g, implicit_stage(tree, w, s, g, to, mode, width, digest));
    return w->first_nan;
}

/* The same where the inner levels are walked already: the unit is asked for at once, and read some groups later. */
ALWAYS_INLINE void implicit_stage_below(const copse_implicit *tree, walk_state *w, uint32_t s, uint64_t g,
                                        const walk_output *to, walk_mode mode, uint32_t width, bool digest)
{
    walk_group *group = &w->ring[g & w->plan.mask];
    const bool sums = mode == WALK_SUM, ranges = sums || mode == WALK_COUNT;
    const char *units = sums ? tree->sum_units : tree->units;
    const uint32_t stride = sums ? (uint32_t)sizeof(copse_sum_unit) : 64, queries = ranges ? width / 2 : width;
    if (s == 1) {
        implicit_finish(tree, w, g, to, mode, queries, digest);
        return;
    }
    if (ranges)
        walk_enter_ranges(w, g, queries);
    else
        walk_enter(w, g, width);
    walk_place(w, group, w->input->below.nodes, g * queries, 0, queries);
    if (ranges) walk_place(w, group, w->input->below_highs.nodes, g * queries, queries, queries);
    for (uint32_t i = 0; i < width; i++) pipeline_fetch(units + (uint64_t)group->node[i] * stride, true);
    if (sums) walk_fetch_next(group, width, units, stride, true);
}

/* Groups are always full: a short one is filled up, and there is little to wait for that a smaller width would spread. */
ALWAYS_INLINE uint64_t implicit_run_below(const copse_implicit *tree, const copse_walk_input *input,
                                          const walk_output *to, walk_mode mode)
{
    static const copse_levels none = {0};
    walk_state w;
    const bool ranges = mode == WALK_SUM || mode == WALK_COUNT, digest = KEY_BITS == 64;
    const uint32_t queries = ranges ? PIPELINE_WIDTH / 2 : PIPELINE_WIDTH; /* of a group */
    const uint64_t groups = (input->n + queries - 1) / queries;
    w.input = input;
    w.levels = &none;
    w.first_nan = input->n;
    w.plan.stages = 2;
    w.plan.far[0] = false;
    w.plan.far[1] = true;
    pipeline_schedule(&w.plan, 0, UINT64_MAX);
    PIPELINE_RUN(&w.plan, groups, s, g, implicit_stage_below(tree, &w, s, g, to, mode, PIPELINE_WIDTH, digest));
    return w.first_nan;
}

/* Lookups and ranges whose inner levels are walked already are most of a hybrid tree's work, and nothing but the units is left to wait for.
 * So each asks for the line of one that comes much later and reads its own, without groups in between. */
#define BELOW_AHEAD  64u
#define BELOW_RANGES 24u

/* Queries at .. at + count, of n, with `ahead` of them so far in front of the end that there is something to ask for. */
ALWAYS_INLINE void implicit_find_block(const copse_implicit *tree, const copse_walk_input *input, const KEY *q,
                                       uint64_t at, uint32_t count, uint32_t ahead, const walk_output *to)
{
    const uint32_t *nodes = input->below.nodes + at;
    const char *units = tree->units;
    const bool digest = KEY_BITS == 64;
    for (uint32_t i = 0; i < ahead; i++) {
        pipeline_fetch(units + (uint64_t)nodes[i + BELOW_AHEAD] * 64, true);
        implicit_find_at(tree, nodes[i], q[i], input->first + at + i, to, digest);
    }
    for (uint32_t i = ahead; i < count; i++) implicit_find_at(tree, nodes[i], q[i], input->first + at + i, to, digest);
}

ALWAYS_INLINE uint32_t below_block(uint64_t n, uint64_t at)
{
    return at >= n ? 0 : n - at < BELOW_AHEAD ? (uint32_t)(n - at) : BELOW_AHEAD;
}

static uint64_t implicit_find_below(const copse_implicit *tree, const copse_walk_input *input, const walk_output *to)
{
    _Alignas(64) KEY q[BELOW_AHEAD];
    const walk_output both = *to;
    const uint64_t n = input->n;
    uint64_t first_nan = n;
    for (uint32_t i = 0; i < below_block(n, 0); i++)
        pipeline_fetch((const char *)tree->units + (uint64_t)input->below.nodes[i] * 64, true);
    for (uint64_t at = 0; at < n; at += BELOW_AHEAD) {
        const uint32_t count = below_block(n, at), ahead = below_block(n, at + BELOW_AHEAD);
        const uint32_t good = ENCODE(input->type, input->keys, input->first + at, count, q);
        if (good < count && at + good < first_nan) first_nan = at + good;
        if (both.values && both.found)
            implicit_find_block(tree, input, q, at, count, ahead, &both);
        else
            implicit_find_block(tree, input, q, at, count, ahead, &both);
    }
    return first_nan;
}

/* The same for ranges. Entries that will be copied: one line of those between the ends is asked for, too, which is all there is of a
 * range of some ten. */
ALWAYS_INLINE void below_fetch_range(const copse_implicit *tree, const copse_walk_input *input, uint64_t i,
                                     bool between)
{
    const uint64_t low = input->below.nodes[i], high = input->below_highs.nodes[i];
    const char *units = tree->units;
    pipeline_fetch(units + low * 64, true);
    pipeline_fetch(units + high * 64, true);
    if (between) pipeline_fetch(units + (low + (low < high)) * 64, true);
}

static uint64_t implicit_count_below(const copse_implicit *tree, const copse_walk_input *input, const walk_output *to)
{
    _Alignas(64) KEY low[BELOW_AHEAD], high[BELOW_AHEAD];
    const KEY step = !input->unique;
    const uint64_t n = input->n;
    const bool between = to->locations != NULL, digest = KEY_BITS == 64;
    uint64_t first_nan = n;
    for (uint32_t i = 0; i < BELOW_RANGES && i < n; i++) below_fetch_range(tree, input, i, between);
    for (uint64_t at = 0; at < n; at += BELOW_AHEAD) {
        const uint32_t count = below_block(n, at);
        uint32_t good = ENCODE(input->type, input->keys, input->first + at, count, low);
        const uint32_t good_high = ENCODE(input->type, input->highs, input->first + at, count, high);
        if (good_high < good) good = good_high;
        if (good < count && at + good < first_nan) first_nan = at + good;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t r = at + i;
            if (r + BELOW_RANGES < n) below_fetch_range(tree, input, r + BELOW_RANGES, between);
            const uint64_t from = implicit_location(tree, input, input->below.nodes[r], low[i], digest, false);
            const uint64_t end =
                implicit_location(tree, input, input->below_highs.nodes[r], (KEY)(high[i] + step), digest, true);
            to->out[r] = (end - from) & walk_mask(end > from);
            if (between) to->locations[r] = from;
        }
    }
    return first_nan;
}

/* Batches of less than a group, and groups of a width that the context asks for: one function for all modes and separators, because the
 * compiler takes seconds for each and a short batch gains little from constants. */
static __attribute__((noinline)) uint64_t implicit_walk_short(const copse_implicit *tree, walk_state *w,
                                                              const walk_output *to, walk_mode mode, bool digest)
{
    return implicit_walk(tree, w, to, mode, w->plan.width, digest);
}

/* Gives the compiler a constant width and kind of separator where it matters. */
ALWAYS_INLINE uint64_t implicit_run(const copse_implicit *tree, const copse_walk_input *input, const walk_output *to,
                                    walk_mode mode)
{
    if (input->below.nodes && mode == WALK_FIND) return implicit_find_below(tree, input, to);
    if (input->below.nodes && mode == WALK_COUNT) return implicit_count_below(tree, input, to);
    if (input->below.nodes) return implicit_run_below(tree, input, to, mode);
    walk_state w;
    w.input = input;
    w.levels = &tree->levels;
    w.first_nan = input->n;
    w.plan.stages = tree->levels.height + 1;
    for (uint32_t s = 0; s < tree->levels.height; s++) w.plan.far[s] = tree->levels.nodes[s] * 64 > PIPELINE_FAR_BYTES;
    w.plan.far[tree->levels.height] = tree->unit_bytes > PIPELINE_FAR_BYTES;
    pipeline_schedule(&w.plan, input->pipeline, input->highs ? input->n * 2 : input->n);
    if (input->highs) w.plan.width = w.plan.width < 2 ? 2 : w.plan.width & ~1u; /* a range takes two queries */
    const bool digest = KEY_BITS == 64 && tree->levels.digest;
    if (w.plan.width != PIPELINE_WIDTH) return implicit_walk_short(tree, &w, to, mode, digest);
    return digest ? implicit_walk(tree, &w, to, mode, PIPELINE_WIDTH, true)
                  : implicit_walk(tree, &w, to, mode, PIPELINE_WIDTH, false);
}

static uint64_t implicit_walk_find(const copse_implicit *tree, const copse_walk_input *input, void *values,
                                   uint8_t *found)
{
    walk_output to = {.values = values, .found = found};
    return implicit_run(tree, input, &to, WALK_FIND);
}

static uint64_t implicit_walk_locate(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out)
{
    walk_output to = {.out = out};
    return implicit_run(tree, input, &to, WALK_LOCATE);
}

static uint64_t implicit_walk_count(const copse_implicit *tree, const copse_walk_input *input, uint64_t *locations,
                                    uint64_t *out)
{
    walk_output to = {.out = out, .locations = locations};
    return implicit_run(tree, input, &to, WALK_COUNT);
}

static uint64_t implicit_walk_sum(const copse_implicit *tree, const copse_walk_input *input, uint64_t *out)
{
    walk_output to = {.out = out};
    return implicit_run(tree, input, &to, WALK_SUM);
}

#define IMPLICIT_WALKS                                                                                                 \
    {                                                                                                                  \
        .find = implicit_walk_find, .locate = implicit_walk_locate, .count = implicit_walk_count,                      \
        .sum = implicit_walk_sum                                                                                       \
    }
