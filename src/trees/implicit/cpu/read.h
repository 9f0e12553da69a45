/* Reads of the implicit tree. Batch walks: cpu/walk_implicit.h. */
#ifndef COPSE_TREES_IMPLICIT_CPU_READ_H
#define COPSE_TREES_IMPLICIT_CPU_READ_H

#include "trees/implicit/cpu/tree.h"
#include "cpu/merge.h"
#include "cpu/walk.h"

#define WALKS(index) ((index)->ctx->walk->table[COPSE_WIDTH_PAIR])

static uint64_t implicit_find(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                              uint8_t *found)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    return WALKS(index)->implicit_find(index->tree, &input, values, found);
}

static uint64_t implicit_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                                uint64_t *places)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.upper = upper;
    return WALKS(index)->implicit_locate(index->tree, &input, places);
}

static uint64_t implicit_count(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                               uint64_t n, uint64_t *places, uint64_t *counts)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    return WALKS(index)->implicit_count(index->tree, &input, places, counts);
}

static uint64_t implicit_sum(const copse_index *index, const void *lows, const void *highs, uint64_t first, uint64_t n,
                             uint64_t *sums)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    return WALKS(index)->implicit_sum(index->tree, &input, sums);
}

static void implicit_gather(const copse_index *index, const uint64_t *places, uint64_t first, uint64_t n, bool before,
                            void *keys, void *values, uint8_t *found)
{
    const copse_implicit *tree = index->tree;
    const copse_unit *units = tree->units;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = places[i] - before; /* wraps to a huge number in front of the first entry */
        bool there = place < tree->entries;
        if (found) found[first + i] = there;
        if (there)
            unit_copy(units, place, 1, index->key_type, first + i, keys, values);
        else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void implicit_copy(const copse_index *index, uint64_t place, uint64_t count, uint64_t at, void *keys,
                          void *values)
{
    const copse_implicit *tree = index->tree;
    unit_copy(tree->units, place, count, index->key_type, at, keys, values);
}

static void implicit_fetch(const copse_index *index, uint64_t place, uint64_t count)
{
    const copse_implicit *tree = index->tree;
    const copse_unit *unit = (const copse_unit *)tree->units + place / UNIT_ENTRIES;
    uint64_t lines = count / UNIT_ENTRIES + 1;
    for (uint64_t i = 0; i < (lines < COPSE_FETCH_LINES ? lines : COPSE_FETCH_LINES); i++)
        __builtin_prefetch(unit + i, 0, 2);
}

#endif
