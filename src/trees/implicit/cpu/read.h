/* Reads of the implicit tree. Batch walks: walk.h, chosen by instruction set. */
#pragma once

#include "trees/implicit/cpu/tree.h"
#include "cpu/fetch.h"
#include "cpu/merge.h"
#include "trees/implicit/cpu/walk_table.h"

static inline const implicit_walks *implicit_walks_of(const copse_index *index)
{
    static const implicit_walks *const walks[COPSE_INSTRUCTION_SETS] = COPSE_WALKS(copse_implicit_walks);
    return walks[index->ctx->instruction_set];
}

static uint64_t implicit_find(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                              uint8_t *found)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.below = copse_walked_below(index, keys, false, first);
    return implicit_walks_of(index)->find(index->tree, &input, values, found);
}

static uint64_t implicit_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                                uint64_t *locations)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.upper = upper;
    input.below = copse_walked_below(index, keys, upper, first);
    return implicit_walks_of(index)->locate(index->tree, &input, locations);
}

/* Both sides of the ranges, or none. */
static void walk_ranges_below(const copse_index *index, copse_walk_input *input)
{
    input->below = copse_walked_below(index, input->keys, false, input->first);
    input->below_highs = copse_walked_below(index, input->highs, true, input->first);
    if (!input->below_highs.nodes) input->below.nodes = NULL;
}

static uint64_t implicit_count(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                               uint64_t n, uint64_t *locations, uint64_t *counts)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    walk_ranges_below(index, &input);
    return implicit_walks_of(index)->count(index->tree, &input, locations, counts);
}

static uint64_t implicit_sum(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                             uint64_t *sums)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    walk_ranges_below(index, &input);
    return implicit_walks_of(index)->sum(index->tree, &input, sums);
}

static void implicit_gather(const copse_index *index, const uint64_t *locations, uint64_t first, uint64_t n,
                            bool before, void *keys, void *values, uint8_t *found)
{
    const copse_implicit *tree = index->tree;
    const copse_unit *units = tree->units;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t location = locations[i] - before; /* wraps to a huge number in front of the first entry */
        bool there = location < tree->entries;
        if (found) found[first + i] = there;
        if (there)
            unit_copy(units, location, 1, index->key_type, first + i, keys, values);
        else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void implicit_copy(const copse_index *index, uint64_t location, uint64_t count, uint64_t at, void *keys,
                          void *values)
{
    const copse_implicit *tree = index->tree;
    unit_copy(tree->units, location, count, index->key_type, at, keys, values);
}

COPSE_FETCH void implicit_fetch(const copse_index *index, uint64_t location, uint64_t count)
{
    const copse_implicit *tree = index->tree;
    const copse_unit *unit = (const copse_unit *)tree->units + location / UNIT_ENTRIES;
    uint64_t lines = count / UNIT_ENTRIES + 1;
    for (uint64_t i = 0; i < (lines < COPSE_FETCH_LINES ? lines : COPSE_FETCH_LINES); i++)
        __builtin_prefetch(unit + i, 0, 2);
}
