/* The batch walks of the regular tree. */
#pragma once

#include "cpu/walk_group.h"
#include "trees/regular/cpu/extremes.h"
#include "trees/regular/cpu/page.h"
#include "trees/regular/cpu/sums.h"
#include "trees/regular/cpu/walk_table.h"

#define OUT_OF_LINE static __attribute__((noinline))

typedef struct regular_output {
    VALUE *values; /* find */
    uint8_t *found;
    uint64_t *out;    /* locate; extreme, with found */
    copse_wide *sums; /* sum: of ranges of integers, */
    bool is_signed;   /*   which are signed          */
    extreme_kind kind;
} regular_output;

/* From the directory to the page: asks for its root. Meanwhile group->leaf is the page, group->unit its number. */
ALWAYS_INLINE void regular_page(const copse_regular *tree, walk_group *group, uint32_t i, uint32_t number, bool far)
{
    const char *page = tree->table.page[number];
    group->leaf[i] = page;
    group->unit[i] = number;
    pipeline_fetch(page, far);
}

/* From the last level of the directory, where there is one, to the page: the addresses of pages are few, and most often near. */
ALWAYS_INLINE void regular_last_level(const copse_regular *tree, walk_group *group, uint32_t width, uint32_t height,
                                      bool far)
{
    const copse_levels *levels = &tree->table.levels;
    if (height == 0) {
        for (uint32_t i = 0; i < width; i++) regular_page(tree, group, i, 0, far);
        return;
    }
    const char *level = levels->level[height - 1];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const char *node = level + (uint64_t)group->node[i] * 64;
        regular_page(tree, group, i, group->node[i] * FANOUT + LESS(node, group->q[i], FANOUT - 1), far);
    }
}

/* From the root of the page to its node. */
ALWAYS_INLINE void regular_page_root(walk_group *group, uint32_t width, bool far)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const leaf_page *page = (const leaf_page *)group->leaf[i];
        group->node[i] = LESS(page->root, group->q[i], FANOUT - 1);
        pipeline_fetch(page->node[group->node[i]], far);
    }
}

/* From the node to the slot. */
ALWAYS_INLINE void regular_page_node(walk_group *group, uint32_t width, bool far)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const leaf_page *page = (const leaf_page *)group->leaf[i];
        group->node[i] = group->node[i] * FANOUT + LESS(page->node[group->node[i]], group->q[i], FANOUT - 1);
        pipeline_fetch(page->leaf + group->node[i], far);
    }
}

/* From the slot to the leaf: asks for the head. */
ALWAYS_INLINE void regular_leaf(walk_group *group, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        const char *leaf = ((const leaf_page *)group->leaf[i])->leaf[group->node[i]];
        group->node[i] |= group->unit[i] << COPSE_PAGE_SHIFT;
        group->leaf[i] = leaf;
        pipeline_fetch(leaf, true);
    }
}

/* Entries of the leaf in a slot. */
ALWAYS_INLINE uint32_t regular_count(const copse_regular *tree, uint32_t slot)
{
    const leaf_page *page = (const leaf_page *)tree->table.page[slot >> COPSE_PAGE_SHIFT];
    const uint32_t at = slot & ((1u << COPSE_PAGE_SHIFT) - 1);
    return (uint32_t)page->ahead[at + 1] - page->ahead[at];
}

/* From the head to the unit. */
ALWAYS_INLINE void regular_head(walk_group *group, uint32_t width)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < width; i++) {
        const copse_leaf_head *head = (const copse_leaf_head *)group->leaf[i];
#if KEY_BITS == 64
        uint32_t digest = copse_digest(group->q[i], head->base_shift & ~UINT64_C(63), head->base_shift & 63);
#else
        uint32_t digest = group->q[i];
#endif
        group->unit[i] = count_less_u32(head->digest, digest, COPSE_LEAF_UNITS - 1);
        pipeline_fetch(group->leaf[i] + 64 + (uint64_t)group->unit[i] * 64, true);
    }
}

/* The unit of the leaf with the first key >= q: digests may be equal. */
ALWAYS_INLINE uint32_t regular_unit(const char *leaf, uint32_t unit, KEY q)
{
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    if (KEY_BITS == 64)
        while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < COPSE_LEAF_UNITS) unit++;
    return unit;
}

/* Position in the leaf of the first key >= q; the number of entries where there is none. */
ALWAYS_INLINE uint32_t regular_position(const char *leaf, uint32_t unit, KEY q)
{
    unit = regular_unit(leaf, unit, q);
    return unit * UNIT_ENTRIES + LESS(((const copse_unit *)(leaf + 64))[unit].keys, q, UNIT_ENTRIES);
}

/* The end of a lookup in a leaf, at a unit of it. */
ALWAYS_INLINE void regular_find_at(const copse_regular *tree, const char *leaf, uint32_t at, uint32_t slot, KEY q,
                                   VALUE *value, uint8_t *found)
{
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    uint32_t position = regular_position(leaf, at, q);
    position -= position == COPSE_LEAF_UNITS * UNIT_ENTRIES;
    const copse_unit *unit = &units[position / UNIT_ENTRIES];
    bool there = unit->keys[position % UNIT_ENTRIES] == q;
    /* Free positions hold the largest key: only for that one the count decides. */
    if (__builtin_expect(q == KEY_MAX, 0)) there = there && position < regular_count(tree, slot);
    if (value) *value = there ? unit->values[position % UNIT_ENTRIES] : 0;
    if (found) *found = there;
}

/* Inlined where it is known that the caller asks for both, and where it is not. */
ALWAYS_INLINE void regular_finish_some(const copse_regular *tree, const walk_group *group, uint32_t count,
                                       VALUE *values, uint8_t *found)
{
#pragma GCC unroll 2
    for (uint32_t i = 0; i < count; i++)
        regular_find_at(tree, group->leaf[i], group->unit[i], group->node[i], group->q[i], values ? values + i : NULL,
                        found ? found + i : NULL);
}

/* The ends of a walk are called once a group and not inlined: the code is long. */
OUT_OF_LINE void regular_finish_find(const copse_regular *tree, const walk_group *group, uint32_t count, uint64_t at,
                                     const regular_output *to)
{
    VALUE *values = to->values ? to->values + at : NULL;
    uint8_t *found = to->found ? to->found + at : NULL;
    if (values && found)
        regular_finish_some(tree, group, count, values, found);
    else
        regular_finish_some(tree, group, count, values, found);
}

/* The last place of all. */
static extreme_place regular_end(const copse_regular *tree)
{
    const copse_page_directory *table = &tree->table;
    const uint64_t slot = table_previous(table, table_end(table));
    const uint32_t unit = (slot_count(table, slot) - 1) / UNIT_ENTRIES;
    return (extreme_place){slot, slot_leaf(table, slot), unit, slot_count(table, slot) - unit * UNIT_ENTRIES};
}

/* The place of query i of a group as a lower or an upper bound, in the unit that has been asked for. */
ALWAYS_INLINE extreme_place regular_bound(const copse_regular *tree, const copse_walk_input *input,
                                          const walk_group *group, uint32_t i, bool upper)
{
    const KEY q = group->q[i];
    extreme_place place = {.slot = group->node[i], .leaf = group->leaf[i]};
    if (__builtin_expect(walk_wrapped(input, q, upper), 0)) return regular_end(tree);
    place.unit = regular_unit(place.leaf, group->unit[i], q);
    const copse_unit *unit = (const copse_unit *)(place.leaf + 64) + place.unit;
    place.end = LESS(unit->keys, q, UNIT_ENTRIES);
    if (upper && input->unique) {
        const uint32_t entry = place.end - (place.end == UNIT_ENTRIES);
        bool equal = unit->keys[entry] == q;
        if (__builtin_expect(q == KEY_MAX, 0))
            equal = equal && place_position(&place) < regular_count(tree, group->node[i]);
        place.end += equal;
    }
    return place;
}

OUT_OF_LINE void regular_finish_locate(const copse_regular *tree, const copse_walk_input *input,
                                       const walk_group *group, uint32_t count, uint64_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (walk_wrapped(input, group->q[i], input->upper)) {
            out[i] = tree->table.pages << (COPSE_PAGE_SHIFT + COPSE_LOCATION_SHIFT);
            continue;
        }
        const extreme_place place = regular_bound(tree, input, group, i, input->upper);
        out[i] = (place.slot << COPSE_LOCATION_SHIFT) + place_position(&place);
    }
}

/* Ranges: lows in the first half of the group, highs in the second. */
ALWAYS_INLINE void regular_sum_some(const copse_regular *tree, const copse_walk_input *input, const walk_group *group,
                                    uint32_t half, uint32_t count, copse_wide *sums, bool is_signed)
{
    const KEY step = !input->unique;
    for (uint32_t i = 0; i < count; i++) {
        const extreme_place low = regular_bound(tree, input, group, i, false);
        const extreme_place high = regular_bound(tree, input, group, half + i, true);
        const copse_wide before = sum_in_front(tree, low.slot, low.leaf, low.unit, low.end, is_signed);
        const copse_wide until = sum_in_front(tree, high.slot, high.leaf, high.unit, high.end, is_signed);
        const uint64_t keep = walk_mask(group->q[i] <= (KEY)(group->q[half + i] - step));
        sums[i] = (until - before) & (copse_wide)(int64_t)keep;
    }
}

OUT_OF_LINE void regular_finish_sum(const copse_regular *tree, const copse_walk_input *input, const walk_group *group,
                                    uint32_t half, uint32_t count, const regular_output *to, uint64_t at)
{
    if (to->is_signed)
        regular_sum_some(tree, input, group, half, count, to->sums + at, true);
    else
        regular_sum_some(tree, input, group, half, count, to->sums + at, false);
}

ALWAYS_INLINE void regular_extreme_some(const copse_regular *tree, const copse_walk_input *input,
                                        const walk_group *group, uint32_t half, uint32_t count,
                                        const regular_output *to, uint64_t at, bool is_float)
{
    for (uint32_t i = 0; i < count; i++) {
        const extreme_place low = regular_bound(tree, input, group, i, false);
        const extreme_place high = regular_bound(tree, input, group, half + i, true);
        to->found[at + i] = extreme_between(tree, &low, &high, to->kind, is_float, to->out + at + i);
    }
}

OUT_OF_LINE void regular_finish_extreme(const copse_regular *tree, const copse_walk_input *input,
                                        const walk_group *group, uint32_t half, uint32_t count,
                                        const regular_output *to, uint64_t at)
{
    if (to->kind.is_float)
        regular_extreme_some(tree, input, group, half, count, to, at, true);
    else
        regular_extreme_some(tree, input, group, half, count, to, at, false);
}

ALWAYS_INLINE bool regular_in_ranges(walk_mode mode)
{
    return mode == WALK_SUM || mode == WALK_EXTREME;
}

/* What a group of so many bounds has of the caller's queries. */
ALWAYS_INLINE uint32_t regular_queries(walk_mode mode, uint32_t width)
{
    return regular_in_ranges(mode) ? width / 2 : width;
}

/* The end of a walk, for `count` queries of a group, the first of which is query `at` of the input. */
ALWAYS_INLINE void regular_finish(const copse_regular *tree, const copse_walk_input *input, const walk_group *group,
                                  uint32_t width, uint32_t count, uint64_t at, const regular_output *to, walk_mode mode)
{
    if (mode == WALK_FIND)
        regular_finish_find(tree, group, count, input->first + at, to);
    else if (mode == WALK_LOCATE)
        regular_finish_locate(tree, input, group, count, to->out + at);
    else if (mode == WALK_SUM)
        regular_finish_sum(tree, input, group, width / 2, count, to, at);
    else
        regular_finish_extreme(tree, input, group, width / 2, count, to, at);
}

/* The lines of the summary. Inlined, as the compiler takes calls of functions that only prefetch away. */
ALWAYS_INLINE void regular_fetch_summary(const copse_regular *tree, const walk_group *group, uint32_t width,
                                         const regular_output *to, walk_mode mode)
{
    for (uint32_t i = 0; i < width; i++) {
        const page_values *page = (const page_values *)tree->values.page[group->node[i] >> COPSE_PAGE_SHIFT];
        const uint32_t at = slot_at(group->node[i]);
        if (mode == WALK_SUM)
            pipeline_fetch(&page->sums[at], true);
        else
            pipeline_fetch(to->kind.largest ? &page->highs[at] : &page->lows[at], true);
    }
}

/* Extremes of ranges within a page: what they read of the leaves between their ends. */
ALWAYS_INLINE void regular_fetch_between(const copse_regular *tree, const walk_group *group, uint32_t half,
                                         bool largest)
{
    for (uint32_t i = 0; i < half; i++) {
        const uint32_t low = group->node[i], high = group->node[half + i];
        if (low >> COPSE_PAGE_SHIFT != high >> COPSE_PAGE_SHIFT || low == high) continue;
        const page_values *page = (const page_values *)tree->values.page[low >> COPSE_PAGE_SHIFT];
        const uint64_t *leaves = largest ? page->high : page->low;
        const uint64_t *first = leaves + slot_at(low) / FANOUT * FANOUT,
                       *last = leaves + slot_at(high) / FANOUT * FANOUT;
        pipeline_fetch(first, true);
        pipeline_fetch(first + FANOUT - 1, true);
        pipeline_fetch(last, true);
        pipeline_fetch(last + FANOUT - 1, true);
        pipeline_fetch(largest ? page->node_high : page->node_low, true);
    }
}

/* Extremes read the other units of the fifth, too: lows those behind, highs those in front; where there are none, the same once more. */
ALWAYS_INLINE void regular_fetch_fifths(const walk_group *group, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        const char *unit = group->leaf[i] + 64 + (size_t)group->unit[i] * 64;
        const uint32_t in_fifth = group->unit[i] % FIFTH_UNITS, more = i < width / 2 ? 2 - in_fifth : in_fifth;
        const ptrdiff_t step = i < width / 2 ? 64 : -64;
        pipeline_fetch(unit + (more > 0 ? step : 0), true);
        pipeline_fetch(unit + (more > 1 ? 2 * step : 0), true);
    }
}

/* The last unit that sums know the beginning of, where the bound is behind it; else once more the unit of the bound. */
ALWAYS_INLINE void regular_fetch_known(const walk_group *group, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t unit = group->unit[i] > 2 * SUMS_UNTIL ? 2 * SUMS_UNTIL : group->unit[i];
        pipeline_fetch(group->leaf[i] + 64 + (size_t)unit * 64, true);
    }
}

ALWAYS_INLINE void regular_fetch_units(const walk_group *group, uint32_t width, walk_mode mode)
{
    if (mode == WALK_SUM) regular_fetch_known(group, width);
    if (mode == WALK_EXTREME) regular_fetch_fifths(group, width);
}

ALWAYS_INLINE void regular_enter(walk_state *w, uint64_t g, walk_mode mode, uint32_t width)
{
    if (regular_in_ranges(mode))
        walk_enter_ranges(w, g, width / 2);
    else
        walk_enter(w, g, width);
}

/* One step of the pipeline: the group at each stage goes one stage further, the deepest first. Stages: the levels but the last, the
 * last with the page, its root, its node, the leaf, its unit, the end. `last` is the stage of the last level. */
ALWAYS_INLINE void regular_step(const copse_regular *tree, walk_state *w, uint64_t t, uint64_t groups, uint32_t last,
                                const regular_output *to, walk_mode mode, uint32_t width)
{
    const copse_levels *levels = &tree->table.levels;
    const bool *far = w->plan.far;
    uint64_t g;
#define GROUP_AT(s) ((g = pipeline_group(&w->plan, t, s)) < groups)
#define GROUP       (&w->ring[g & w->plan.mask])
    const uint32_t queries = regular_queries(mode, width);
    if (GROUP_AT(last + 5))
        regular_finish(tree, w->input, GROUP, width, walk_count(w, g, queries), g * queries, to, mode);
    if (GROUP_AT(last + 4)) {
        regular_head(GROUP, width);
        regular_fetch_units(GROUP, width, mode);
    }
    if (GROUP_AT(last + 3)) {
        regular_leaf(GROUP, width);
        if (regular_in_ranges(mode)) regular_fetch_summary(tree, GROUP, width, to, mode);
        if (mode == WALK_EXTREME) regular_fetch_between(tree, GROUP, width / 2, to->kind.largest);
    }
    if (GROUP_AT(last + 2)) regular_page_node(GROUP, width, far[last + 3]);
    if (GROUP_AT(last + 1)) regular_page_root(GROUP, width, far[last + 2]);
    if (GROUP_AT(last)) {
        if (last == 0) regular_enter(w, g, mode, width);
        regular_last_level(tree, GROUP, width, levels->height, far[last + 1]);
    }
    for (uint32_t s = last; s-- > 0;) {
        if (!GROUP_AT(s)) continue;
        if (s == 0) regular_enter(w, g, mode, width);
        walk_level(GROUP, width, false, levels->level[s], levels->level[s + 1], 64, far[s + 1]);
    }
#undef GROUP_AT
#undef GROUP
}

ALWAYS_INLINE uint64_t regular_walk(const copse_regular *tree, walk_state *w, const regular_output *to, walk_mode mode,
                                    uint32_t width)
{
    const uint32_t queries = regular_queries(mode, width);
    const uint64_t groups = (w->input->n + queries - 1) / queries, steps = pipeline_steps(&w->plan, groups);
    const uint32_t last = w->plan.stages - 6;
    for (uint64_t t = 0; t < steps; t++) regular_step(tree, w, t, groups, last, to, mode, width);
    return w->first_nan;
}

/* Puts queries `at` and up of the input, on one side of it, into a group, in the units that somebody has walked to (cpu/walked.h). */
ALWAYS_INLINE void regular_place(const walk_state *w, walk_group *group, const copse_below *below, uint64_t at,
                                 uint32_t to, uint32_t width)
{
    const uint64_t left = w->input->n - at;
    walk_place(w, group, below->nodes, at, to, width);
    for (uint32_t i = 0; i < width; i++) {
        const uint64_t leaf = below->leaves[at + (i < left ? i : 0)];
        group->leaf[to + i] = (const char *)(uintptr_t)(leaf & ~UINT64_C(63));
        group->unit[to + i] = (uint32_t)(leaf & 63);
        pipeline_fetch(group->leaf[to + i] + 64 + (uint64_t)group->unit[to + i] * 64, true);
    }
}

/* Takes group g there: each unit is asked for at once, and read some groups later. */
ALWAYS_INLINE void regular_enter_below(const copse_regular *tree, walk_state *w, uint64_t g, const regular_output *to,
                                       walk_mode mode, uint32_t width)
{
    walk_group *group = &w->ring[g & w->plan.mask];
    const uint32_t queries = regular_queries(mode, width);
    regular_enter(w, g, mode, width);
    regular_place(w, group, &w->input->below, g * queries, 0, queries);
    if (!regular_in_ranges(mode)) return;
    regular_place(w, group, &w->input->below_highs, g * queries, queries, queries);
    regular_fetch_summary(tree, group, width, to, mode);
    regular_fetch_units(group, width, mode);
}

/* Groups are always full: a short one is filled up. */
ALWAYS_INLINE uint64_t regular_run_below(const copse_regular *tree, const copse_walk_input *input,
                                         const regular_output *to, walk_mode mode)
{
    walk_state w;
    const uint32_t width = PIPELINE_WIDTH, queries = regular_queries(mode, width);
    const uint64_t groups = (input->n + queries - 1) / queries;
    w.input = input;
    w.levels = &tree->table.levels;
    w.first_nan = input->n;
    w.plan.stages = 2;
    w.plan.far[0] = false;
    w.plan.far[1] = true;
    pipeline_schedule(&w.plan, 0, UINT64_MAX);
    const uint64_t steps = pipeline_steps(&w.plan, groups);
    for (uint64_t t = 0; t < steps; t++) {
        const uint64_t done = pipeline_group(&w.plan, t, 1), next = pipeline_group(&w.plan, t, 0);
        if (done < groups)
            regular_finish(tree, input, &w.ring[done & w.plan.mask], width, walk_count(&w, done, queries),
                           done * queries, to, mode);
        if (next < groups) regular_enter_below(tree, &w, next, to, mode, width);
    }
    return w.first_nan;
}

/* Lookups of that kind, which are most of a hybrid tree's: each asks for the unit of one that comes much later and reads its own. */
#define BELOW_AHEAD 64u

ALWAYS_INLINE const char *below_leaf(uint64_t leaf)
{
    return (const char *)(uintptr_t)(leaf & ~UINT64_C(63));
}

ALWAYS_INLINE void below_fetch(uint64_t leaf)
{
    pipeline_fetch(below_leaf(leaf) + 64 + (leaf & 63) * 64, true);
}

static uint64_t regular_find_below(const copse_regular *tree, const copse_walk_input *input, const regular_output *to)
{
    _Alignas(64) KEY q[BELOW_AHEAD];
    const uint64_t *leaves = input->below.leaves, n = input->n;
    VALUE *values = to->values ? to->values + input->first : NULL;
    uint8_t *found = to->found ? to->found + input->first : NULL;
    uint64_t first_nan = n;
    for (uint64_t i = 0; i < BELOW_AHEAD && i < n; i++) below_fetch(leaves[i]);
    for (uint64_t at = 0; at < n; at += BELOW_AHEAD) {
        const uint32_t count = n - at < BELOW_AHEAD ? (uint32_t)(n - at) : BELOW_AHEAD;
        const uint32_t good = ENCODE(input->type, input->keys, input->first + at, count, q);
        if (good < count && at + good < first_nan) first_nan = at + good;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t r = at + i, leaf = leaves[r];
            if (r + BELOW_AHEAD < n) below_fetch(leaves[r + BELOW_AHEAD]);
            regular_find_at(tree, below_leaf(leaf), (uint32_t)(leaf & 63), input->below.nodes[r], q[i],
                            values ? values + r : NULL, found ? found + r : NULL);
        }
    }
    return first_nan;
}

/* Fewer queries than this go down one after the other: planning a pipeline takes longer. */
#define REGULAR_FEW 4u

/* Takes one of a group's bounds to its unit. */
static void regular_descend(const copse_regular *tree, walk_group *group)
{
    const copse_levels *levels = &tree->table.levels;
    group->node[0] = 0;
    for (uint32_t l = 0; l + 1 < levels->height; l++)
        group->node[0] =
            group->node[0] * FANOUT + LESS(levels->level[l] + (uint64_t)group->node[0] * 64, group->q[0], FANOUT - 1);
    regular_last_level(tree, group, 1, levels->height, false);
    regular_page_root(group, 1, false);
    regular_page_node(group, 1, false);
    regular_leaf(group, 1);
    regular_head(group, 1);
}

/* One query, alone: the stages of the walk without the pipeline. False: it is NaN. */
static bool regular_walk_alone(const copse_regular *tree, const copse_walk_input *input, uint64_t i,
                               const regular_output *to, walk_mode mode)
{
    walk_group group;
    const bool ranges = regular_in_ranges(mode);
    if (ranges) {
        if (ENCODE(input->type, input->highs, input->first + i, 1, group.q) == 0) return false;
        group.q[1] = group.q[0] += !input->unique;
        regular_descend(tree, &group);
        group.node[1] = group.node[0];
        group.leaf[1] = group.leaf[0];
        group.unit[1] = group.unit[0];
    }
    if (ENCODE(input->type, input->keys, input->first + i, 1, group.q) == 0) return false;
    group.q[0] += input->upper && !input->unique;
    regular_descend(tree, &group);
    regular_finish(tree, input, &group, ranges ? 2 : 1, 1, i, to, mode);
    return true;
}

static uint64_t regular_run(const copse_regular *tree, const copse_walk_input *input, const regular_output *to,
                            walk_mode mode)
{
    const copse_levels *levels = &tree->table.levels;
    if (input->n < REGULAR_FEW) {
        uint64_t i = 0;
        while (i < input->n && regular_walk_alone(tree, input, i, to, mode)) i++;
        return i;
    }
    if (input->below.nodes && mode == WALK_FIND) return regular_find_below(tree, input, to);
    if (input->below.nodes) return regular_run_below(tree, input, to, mode);
    walk_state w;
    w.input = input;
    w.levels = levels;
    w.first_nan = input->n;
    const uint32_t last = levels->height - (levels->height > 0);
    w.plan.stages = last + 6;
    for (uint32_t s = 0; s <= last && s < levels->height; s++)
        w.plan.far[s] = levels->nodes[s] * 64 > PIPELINE_FAR_BYTES;
    bool far = tree->leaves * COPSE_LEAF_BYTES > PIPELINE_FAR_BYTES;
    bool far_pages = tree->table.pages * sizeof(leaf_page) > PIPELINE_FAR_BYTES;
    for (uint32_t s = 1; s <= 3; s++) w.plan.far[last + s] = far_pages;
    w.plan.far[last + 4] = far;
    w.plan.far[last + 5] = far;
    const bool ranges = regular_in_ranges(mode);
    pipeline_schedule(&w.plan, input->pipeline, ranges ? input->n * 2 : input->n);
    if (ranges) w.plan.width = (w.plan.width + 1) / 2 * 2;
    if (w.plan.width == PIPELINE_WIDTH) return regular_walk(tree, &w, to, mode, PIPELINE_WIDTH);
    return regular_walk(tree, &w, to, mode, w.plan.width);
}

static uint64_t regular_walk_find(const copse_regular *tree, const copse_walk_input *input, void *values,
                                  uint8_t *found)
{
    regular_output to = {.values = values, .found = found};
    return regular_run(tree, input, &to, WALK_FIND);
}

static uint64_t regular_walk_locate(const copse_regular *tree, const copse_walk_input *input, uint64_t *out)
{
    regular_output to = {.out = out};
    return regular_run(tree, input, &to, WALK_LOCATE);
}

static uint64_t regular_walk_sum(const copse_regular *tree, const copse_walk_input *input, bool is_signed,
                                 copse_wide *out)
{
    regular_output to = {.sums = out, .is_signed = is_signed};
    return regular_run(tree, input, &to, WALK_SUM);
}

static uint64_t regular_walk_extreme(const copse_regular *tree, const copse_walk_input *input, copse_type type,
                                     bool largest, uint64_t *out, uint8_t *found)
{
    regular_output to = {.out = out, .found = found, .kind = extreme_of(type, largest)};
    return regular_run(tree, input, &to, WALK_EXTREME);
}

#define REGULAR_WALKS                                                                                                  \
    {                                                                                                                  \
        .find = regular_walk_find, .locate = regular_walk_locate, .sum = regular_walk_sum,                             \
        .extreme = regular_walk_extreme                                                                                \
    }
