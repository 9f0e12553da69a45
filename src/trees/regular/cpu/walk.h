/* The batch walks of the regular tree. */
#pragma once

#include "cpu/walk_group.h"
#include "trees/regular/cpu/page.h"
#include "trees/regular/cpu/walk_table.h"

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

ALWAYS_INLINE void regular_finish_find(const copse_regular *tree, const walk_group *group, uint32_t count, uint64_t at,
                                       const walk_output *to)
{
    for (uint32_t i = 0; i < count; i++) {
        KEY q = group->q[i];
        const copse_unit *units = (const copse_unit *)(group->leaf[i] + 64);
        uint32_t position = regular_position(group->leaf[i], group->unit[i], q);
        position -= position == COPSE_LEAF_UNITS * UNIT_ENTRIES;
        const copse_unit *unit = &units[position / UNIT_ENTRIES];
        bool found = unit->keys[position % UNIT_ENTRIES] == q;
        /* Free positions hold the largest key: only for that one the count decides. */
        if (__builtin_expect(q == KEY_MAX, 0)) found = found && position < regular_count(tree, group->node[i]);
        if (to->values) to->values[at + i] = found ? unit->values[position % UNIT_ENTRIES] : 0;
        if (to->found) to->found[at + i] = found;
    }
}

ALWAYS_INLINE void regular_finish_locate(const copse_regular *tree, const copse_walk_input *input,
                                         const walk_group *group, uint32_t count, uint64_t at, const walk_output *to)
{
    for (uint32_t i = 0; i < count; i++) {
        KEY q = group->q[i];
        const copse_unit *units = (const copse_unit *)(group->leaf[i] + 64);
        uint32_t position = regular_position(group->leaf[i], group->unit[i], q);
        if (input->upper && input->unique) {
            uint32_t entry = position - (position == COPSE_LEAF_UNITS * UNIT_ENTRIES);
            bool equal = units[entry / UNIT_ENTRIES].keys[entry % UNIT_ENTRIES] == q;
            if (__builtin_expect(q == KEY_MAX, 0)) equal = equal && position < regular_count(tree, group->node[i]);
            position += equal;
        }
        uint64_t location = ((uint64_t)group->node[i] << COPSE_LOCATION_SHIFT) + position;
        if (walk_wrapped(input, q, input->upper))
            location = tree->table.pages << (COPSE_PAGE_SHIFT + COPSE_LOCATION_SHIFT);
        to->out[at + i] = location;
    }
}

/* Takes group g through stage s: from level to level, then to the page, its root, its node, the leaf, its unit, the end. */
ALWAYS_INLINE void regular_stage(const copse_regular *tree, walk_state *w, uint32_t s, uint64_t g,
                                 const walk_output *to, walk_mode mode, uint32_t width)
{
    walk_group *group = &w->ring[g & w->plan.mask];
    const copse_levels *levels = &tree->table.levels;
    const uint32_t height = levels->height, count = walk_count(w, g, width);
    if (s == 0) walk_enter(w, g, width);
    if (s + 1 < height)
        walk_level(group, width, false, levels->level[s], levels->level[s + 1], 64, w->plan.far[s + 1]);
    else if (s < height)
        walk_level(group, width, false, levels->level[s], (const char *)tree->table.page, sizeof(char *),
                   w->plan.far[s + 1]);
    else if (s == height)
        regular_page(tree, group, width, w->plan.far[s + 1]);
    else if (s == height + 1)
        regular_page_root(group, width, w->plan.far[s + 1]);
    else if (s == height + 2)
        regular_page_node(group, width, w->plan.far[s + 1]);
    else if (s == height + 3)
        regular_leaf(group, width);
    else if (s == height + 4)
        regular_head(group, width);
    else if (mode == WALK_FIND)
        regular_finish_find(tree, group, count, w->input->first + g * width, to);
    else
        regular_finish_locate(tree, w->input, group, count, g * width, to);
}

ALWAYS_INLINE uint64_t regular_walk(const copse_regular *tree, walk_state *w, const walk_output *to, walk_mode mode,
                                    uint32_t width)
{
    const uint64_t groups = (w->input->n + width - 1) / width;
    PIPELINE_RUN(&w->plan, groups, s, g, regular_stage(tree, w, s, g, to, mode, width));
    return w->first_nan;
}

/* The same where somebody has walked to the units already: each is asked for at once, and read some groups later. */
ALWAYS_INLINE void regular_stage_below(const copse_regular *tree, walk_state *w, uint32_t s, uint64_t g,
                                       const walk_output *to, walk_mode mode, uint32_t width)
{
    walk_group *group = &w->ring[g & w->plan.mask];
    const uint32_t count = walk_count(w, g, width);
    if (s == 1 && mode == WALK_FIND) {
        regular_finish_find(tree, group, count, w->input->first + g * width, to);
    } else if (s == 1) {
        regular_finish_locate(tree, w->input, group, count, g * width, to);
    } else {
        walk_enter(w, g, width);
        walk_place(w, group, w->input->below.nodes, g * width, 0, width);
        for (uint32_t i = 0; i < width; i++) {
            const uint64_t leaf = w->input->below.leaves[g * width + (i < count ? i : 0)];
            group->leaf[i] = (const char *)(uintptr_t)(leaf & ~UINT64_C(63));
            group->unit[i] = (uint32_t)(leaf & 63);
            pipeline_fetch(group->leaf[i] + 64 + (uint64_t)group->unit[i] * 64, true);
        }
    }
}

ALWAYS_INLINE uint64_t regular_walk_below(const copse_regular *tree, walk_state *w, const walk_output *to,
                                          walk_mode mode, uint32_t width)
{
    const uint64_t groups = (w->input->n + width - 1) / width;
    PIPELINE_RUN(&w->plan, groups, s, g, regular_stage_below(tree, w, s, g, to, mode, width));
    return w->first_nan;
}

ALWAYS_INLINE uint64_t regular_run_below(const copse_regular *tree, walk_state *w, const walk_output *to,
                                         walk_mode mode)
{
    w->plan.stages = 2;
    w->plan.far[0] = false;
    w->plan.far[1] = true;
    pipeline_schedule(&w->plan, w->input->pipeline, w->input->n);
    return w->plan.width == PIPELINE_WIDTH ? regular_walk_below(tree, w, to, mode, PIPELINE_WIDTH)
                                           : regular_walk_below(tree, w, to, mode, w->plan.width);
}

/* Fewer queries than this go down one after the other: planning a pipeline takes longer. */
#define REGULAR_FEW 4u

/* One query, alone: the stages of the walk without the pipeline. False: it is NaN. */
ALWAYS_INLINE bool regular_walk_alone(const copse_regular *tree, const copse_walk_input *input, uint64_t i,
                                      const walk_output *to, walk_mode mode)
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
    if (mode == WALK_FIND)
        regular_finish_find(tree, &group, 1, input->first + i, to);
    else
        regular_finish_locate(tree, input, &group, 1, i, to);
    return true;
}

ALWAYS_INLINE uint64_t regular_run(const copse_regular *tree, const copse_walk_input *input, const walk_output *to,
                                   walk_mode mode)
{
    const copse_levels *levels = &tree->table.levels;
    if (input->n < REGULAR_FEW) {
        uint64_t i = 0;
        while (i < input->n && regular_walk_alone(tree, input, i, to, mode)) i++;
        return i;
    }
    walk_state w;
    w.input = input;
    w.levels = levels;
    w.first_nan = input->n;
    const uint32_t height = levels->height;
    if (input->below.nodes) return regular_run_below(tree, &w, to, mode);
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
    walk_output to = {.values = values, .found = found};
    return regular_run(tree, input, &to, WALK_FIND);
}

static uint64_t regular_walk_locate(const copse_regular *tree, const copse_walk_input *input, uint64_t *out)
{
    walk_output to = {.out = out};
    return regular_run(tree, input, &to, WALK_LOCATE);
}

#define REGULAR_WALKS                                                                                                  \
    {                                                                                                                  \
        .find = regular_walk_find, .locate = regular_walk_locate                                                       \
    }
