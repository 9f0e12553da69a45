/* Template: the walk down the levels in host memory, for one pair of widths and one instruction set. */
#pragma once

#include "cpu/walk_group.h"
#include "trees/paged/hybrid.h"

static void walk_rows(const copse_levels *levels, const copse_walk_input *input, uint32_t *rows)
{
    walk_state w;
    w.input = input;
    w.levels = levels;
    w.plan.mask = 0; /* one group at a time: the levels of most trees are in a core's caches */
    w.first_nan = input->n;
    for (uint64_t g = 0; g * PIPELINE_WIDTH < input->n; g++) {
        walk_enter(&w, g, PIPELINE_WIDTH);
        for (uint32_t l = 0; l < levels->height; l++)
            walk_level(&w.ring[0], PIPELINE_WIDTH, false, levels->level[l],
                       levels->level[l + 1 < levels->height ? l + 1 : l], 64, false);
        for (uint32_t i = 0; i < walk_count(&w, g, PIPELINE_WIDTH); i++)
            rows[g * PIPELINE_WIDTH + i] = w.ring[0].node[i];
    }
}
