/* Template: reads of the implicit tree. Batch walks: walk.inc.h. */

#define WALK_TABLE(index) (&(index)->ctx->walk->table[copse_width_pair(sizeof(KEY), sizeof(VALUE))])

static uint64_t NAME(implicit_find)(const copse_index *index, const void *keys, uint64_t first, uint64_t n,
                                    void *values, uint8_t *found)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    return WALK_TABLE(index)->implicit_find(index->tree, &input, values, found);
}

static uint64_t NAME(implicit_locate)(const copse_index *index, const void *keys, uint64_t first, uint64_t n,
                                      bool upper, uint64_t *places)
{
    copse_walk_input input = copse_walk_over(index, keys, first, n);
    input.upper = upper;
    return WALK_TABLE(index)->implicit_locate(index->tree, &input, places);
}

static uint64_t NAME(implicit_count)(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                     uint64_t n, uint64_t *places, uint64_t *counts)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    return WALK_TABLE(index)->implicit_count(index->tree, &input, places, counts);
}

static uint64_t NAME(implicit_sum)(const copse_index *index, const void *lows, const void *highs, uint64_t first,
                                   uint64_t n, uint64_t *sums)
{
    copse_walk_input input = copse_walk_over(index, lows, first, n);
    input.highs = highs;
    return WALK_TABLE(index)->implicit_sum(index->tree, &input, sums);
}

static void NAME(implicit_gather)(const copse_index *index, const uint64_t *places, uint64_t first, uint64_t n,
                                  bool before, void *keys, void *values, uint8_t *found)
{
    const copse_implicit *tree = index->tree;
    const UNIT *units = tree->units;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = places[i] - before; /* wraps to a huge number in front of the first entry */
        bool there = place < tree->entries;
        if (found) found[first + i] = there;
        if (there)
            NAME(unit_copy)(units, place, 1, index->key_type, first + i, keys, values);
        else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void NAME(implicit_copy)(const copse_index *index, uint64_t place, uint64_t count, uint64_t at, void *keys,
                                void *values)
{
    const copse_implicit *tree = index->tree;
    NAME(unit_copy)(tree->units, place, count, index->key_type, at, keys, values);
}

static void NAME(implicit_fetch)(const copse_index *index, uint64_t place, uint64_t count)
{
    const copse_implicit *tree = index->tree;
    const UNIT *unit = (const UNIT *)tree->units + place / UNIT_ENTRIES;
    uint64_t lines = count / UNIT_ENTRIES + 1;
    for (uint64_t i = 0; i < (lines < COPSE_FETCH_LINES ? lines : COPSE_FETCH_LINES); i++)
        __builtin_prefetch(unit + i, 0, 2);
}
