/* The batch walks of the regular tree. */
#pragma once

#include "cpu/walk_group.h"
#include "trees/regular/cpu/page.h"
#include "trees/regular/cpu/sums.h"
#include "trees/regular/cpu/walk_table.h"

#define OUT_OF_LINE static __attribute__((noinline))

typedef struct regular_output {
    VALUE *values; /* find */
    uint8_t *found;
    uint64_t *out;    /* locate                                         */
    copse_wide *sums; /* sum: of all values in front of each bound, which */
    bool is_signed;   /*   are signed                                   */
} regular_output;

/* From the directory to the page: asks for its root. Meanwhile group->leaf is the page, group->unit its number. */
ALWAYS_INLINE void regular_page(const copse_regular *tree, walk_group *group, uint32_t width, bool far)
{
    for (uint32_t i = 0; i < width; i++) {
        const char *page = tree->table.page[group->node[i]];
        group->leaf[i] = page;
        group->unit[i] = group->node[i];
        pipeline_fetch(page, far);
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

/* Position in the leaf of the first key >= q; the number of entries where there is none. */
ALWAYS_INLINE uint32_t regular_position(const char *leaf, uint32_t unit, KEY q)
{
    const copse_unit *units = (const copse_unit *)(leaf + 64);
    if (KEY_BITS == 64) /* digests may be equal */
        while (units[unit].keys[UNIT_ENTRIES - 1] < q && unit + 1 < COPSE_LEAF_UNITS) unit++;
    return unit * UNIT_ENTRIES + LESS(units[unit].keys, q, UNIT_ENTRIES);
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

/* Position of the bound that the input asks for; false: it is behind the last entry of all. */
ALWAYS_INLINE bool regular_bound(const copse_regular *tree, const copse_walk_input *input, const walk_group *group,
                                 uint32_t i, uint32_t *out_position)
{
    const KEY q = group->q[i];
    const copse_unit *units = (const copse_unit *)(group->leaf[i] + 64);
    uint32_t position = regular_position(group->leaf[i], group->unit[i], q);
    if (input->upper && input->unique) {
        uint32_t entry = position - (position == COPSE_LEAF_UNITS * UNIT_ENTRIES);
        bool equal = units[entry / UNIT_ENTRIES].keys[entry % UNIT_ENTRIES] == q;
        if (__builtin_expect(q == KEY_MAX, 0)) equal = equal && position < regular_count(tree, group->node[i]);
        position += equal;
    }
    *out_position = position;
    return !walk_wrapped(input, q, input->upper);
}

OUT_OF_LINE void regular_finish_locate(const copse_regular *tree, const copse_walk_input *input,
                                       const walk_group *group, uint32_t count, uint64_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t position;
        if (regular_bound(tree, input, group, i, &position))
            out[i] = ((uint64_t)group->node[i] << COPSE_LOCATION_SHIFT) + position;
        else
            out[i] = tree->table.pages << (COPSE_PAGE_SHIFT + COPSE_LOCATION_SHIFT);
    }
}

OUT_OF_LINE void regular_finish_sum(const copse_regular *tree, const copse_walk_input *input, const walk_group *group,
                                    uint32_t count, const regular_output *to, uint64_t at)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t position;
        if (regular_bound(tree, input, group, i, &position))
            to->sums[at + i] = sum_in_front(tree, group->node[i], group->leaf[i], position, to->is_signed);
        else
            to->sums[at + i] = sum_of_all(tree);
    }
}

/* The end of a walk, for `count` queries of a group, the first of which is query `at` of the input. */
ALWAYS_INLINE void regular_finish(const copse_regular *tree, const copse_walk_input *input, const walk_group *group,
                                  uint32_t count, uint64_t at, const regular_output *to, walk_mode mode)
{
    if (mode == WALK_FIND)
        regular_finish_find(tree, group, count, input->first + at, to);
    else if (mode == WALK_LOCATE)
        regular_finish_locate(tree, input, group, count, to->out + at);
    else
        regular_finish_sum(tree, input, group, count, to, at);
}

/* What a sum reads besides: its line of the summary, and the units of the same fifth. Inlined, as the compiler takes calls of functions
 * that only prefetch away. */
ALWAYS_INLINE void regular_fetch_sums(const copse_regular *tree, const walk_group *group, uint32_t width, bool far)
{
    for (uint32_t i = 0; i < width; i++) {
        const page_values *page = (const page_values *)tree->values.page[group->node[i] >> COPSE_PAGE_SHIFT];
        pipeline_fetch(&page->sums[group->node[i] & ((1u << COPSE_PAGE_SHIFT) - 1)], far);
    }
}

/* The first unit of the fifth, where the bound is in the second; else once more the unit of the bound. */
ALWAYS_INLINE void regular_fetch_fifths(const walk_group *group, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t unit = group->unit[i] - (group->unit[i] % 3 == 1);
        pipeline_fetch(group->leaf[i] + 64 + (size_t)unit * 64, true);
    }
}

/* One step of the pipeline: the group at each stage goes one stage further, the deepest first. Stages: the levels, then the page, its
 * root, its node, the leaf, its unit, the end. */
ALWAYS_INLINE void regular_step(const copse_regular *tree, walk_state *w, uint64_t t, uint64_t groups, uint32_t height,
                                const regular_output *to, walk_mode mode, uint32_t width)
{
    const copse_levels *levels = &tree->table.levels;
    const bool *far = w->plan.far;
    uint64_t g;
#define GROUP_AT(s) ((g = pipeline_group(&w->plan, t, s)) < groups)
#define GROUP       (&w->ring[g & w->plan.mask])
    if (GROUP_AT(height + 5)) regular_finish(tree, w->input, GROUP, walk_count(w, g, width), g * width, to, mode);
    if (GROUP_AT(height + 4)) {
        regular_head(GROUP, width);
        if (mode == WALK_SUM) regular_fetch_fifths(GROUP, width);
    }
    if (GROUP_AT(height + 3)) {
        regular_leaf(GROUP, width);
        if (mode == WALK_SUM) regular_fetch_sums(tree, GROUP, width, true);
    }
    if (GROUP_AT(height + 2)) regular_page_node(GROUP, width, far[height + 3]);
    if (GROUP_AT(height + 1)) regular_page_root(GROUP, width, far[height + 2]);
    if (GROUP_AT(height)) {
        if (height == 0) walk_enter(w, g, width);
        regular_page(tree, GROUP, width, far[height + 1]);
    }
    for (uint32_t s = height; s-- > 0;) {
        if (!GROUP_AT(s)) continue;
        if (s == 0) walk_enter(w, g, width);
        const bool last = s + 1 == height;
        walk_level(GROUP, width, false, levels->level[s], last ? (const char *)tree->table.page : levels->level[s + 1],
                   last ? sizeof(char *) : 64, far[s + 1]);
    }
#undef GROUP_AT
#undef GROUP
}

ALWAYS_INLINE uint64_t regular_walk(const copse_regular *tree, walk_state *w, const regular_output *to, walk_mode mode,
                                    uint32_t width)
{
    const uint64_t groups = (w->input->n + width - 1) / width, steps = pipeline_steps(&w->plan, groups);
    const uint32_t height = w->plan.stages - 6;
    for (uint64_t t = 0; t < steps; t++) regular_step(tree, w, t, groups, height, to, mode, width);
    return w->first_nan;
}

/* Takes group g to the units that somebody has walked to already (cpu/walked.h): each is asked for at once, and read some groups later. */
ALWAYS_INLINE void regular_enter_below(walk_state *w, uint64_t g, uint32_t width)
{
    walk_group *group = &w->ring[g & w->plan.mask];
    const uint32_t count = walk_count(w, g, width);
    walk_enter(w, g, width);
    walk_place(w, group, w->input->below.nodes, g * width, 0, width);
    for (uint32_t i = 0; i < width; i++) {
        const uint64_t leaf = w->input->below.leaves[g * width + (i < count ? i : 0)];
        group->leaf[i] = (const char *)(uintptr_t)(leaf & ~UINT64_C(63));
        group->unit[i] = (uint32_t)(leaf & 63);
        pipeline_fetch(group->leaf[i] + 64 + (uint64_t)group->unit[i] * 64, true);
    }
}

/* Groups are always full: a short one is filled up. */
ALWAYS_INLINE uint64_t regular_run_below(const copse_regular *tree, const copse_walk_input *input,
                                         const regular_output *to, walk_mode mode)
{
    walk_state w;
    const uint64_t groups = (input->n + PIPELINE_WIDTH - 1) / PIPELINE_WIDTH;
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
            regular_finish(tree, input, &w.ring[done & w.plan.mask], walk_count(&w, done, PIPELINE_WIDTH),
                           done * PIPELINE_WIDTH, to, mode);
        if (next < groups) regular_enter_below(&w, next, PIPELINE_WIDTH);
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

/* One query, alone: the stages of the walk without the pipeline. False: it is NaN. */
static bool regular_walk_alone(const copse_regular *tree, const copse_walk_input *input, uint64_t i,
                               const regular_output *to, walk_mode mode)
{
    const copse_levels *levels = &tree->table.levels;
    walk_group group;
    if (ENCODE(input->type, input->keys, input->first + i, 1, group.q) == 0) return false;
    group.q[0] += input->upper && !input->unique;
    group.node[0] = 0;
    for (uint32_t l = 0; l < levels->height; l++)
        group.node[0] =
            group.node[0] * FANOUT + LESS(levels->level[l] + (uint64_t)group.node[0] * 64, group.q[0], FANOUT - 1);
    regular_page(tree, &group, 1, false);
    regular_page_root(&group, 1, false);
    regular_page_node(&group, 1, false);
    regular_leaf(&group, 1);
    regular_head(&group, 1);
    regular_finish(tree, input, &group, 1, i, to, mode);
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
    const uint32_t height = levels->height;
    w.plan.stages = height + 6;
    for (uint32_t s = 0; s < height; s++) w.plan.far[s] = levels->nodes[s] * 64 > PIPELINE_FAR_BYTES;
    bool far = tree->leaves * COPSE_LEAF_BYTES > PIPELINE_FAR_BYTES;
    bool far_pages = tree->table.pages * sizeof(leaf_page) > PIPELINE_FAR_BYTES;
    w.plan.far[height] = tree->table.pages * sizeof(char *) > PIPELINE_FAR_BYTES;
    for (uint32_t s = 1; s <= 3; s++) w.plan.far[height + s] = far_pages;
    w.plan.far[height + 4] = far;
    w.plan.far[height + 5] = far;
    pipeline_schedule(&w.plan, input->pipeline, input->n);
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

#define REGULAR_WALKS                                                                                                  \
    {                                                                                                                  \
        .find = regular_walk_find, .locate = regular_walk_locate, .sum = regular_walk_sum                              \
    }
