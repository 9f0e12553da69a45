/* The implicit tree on the CPU: what does not depend on the widths. */
#include "trees/implicit/cpu/tree.h"

#include <string.h>

void copse_implicit_free(const copse_ctx *ctx, copse_implicit *tree)
{
    if (!tree) return;
    copse_memory_free(ctx, tree->units, tree->unit_bytes);
    copse_memory_free(ctx, tree->levels.memory, tree->levels.bytes);
    copse_memory_free(ctx, tree->sum_units, tree->sum_bytes);
    copse_summary_free(ctx, &tree->summary);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(ctx, tree, sizeof *tree);
}

void copse_implicit_destroy(copse_index *index)
{
    copse_implicit_free(index->ctx, index->tree);
}

/* A location is a rank. */
void copse_implicit_rank(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks)
{
    (void)index;
    if (locations != ranks) memcpy(ranks, locations, n * sizeof *ranks);
}

uint64_t copse_implicit_select(const copse_index *index, uint64_t rank)
{
    (void)index;
    return rank;
}

bool copse_implicit_has_sum(const copse_index *index)
{
    return ((const copse_implicit *)index->tree)->has_sums;
}

uint64_t copse_implicit_size(const copse_index *index)
{
    return ((const copse_implicit *)index->tree)->entries;
}

const char *copse_implicit_units(const copse_index *index, uint64_t *out_count)
{
    const copse_implicit *tree = index->tree;
    *out_count = tree->unit_count;
    return tree->units;
}

const copse_levels *copse_implicit_levels(const copse_index *index)
{
    return &((const copse_implicit *)index->tree)->levels;
}
