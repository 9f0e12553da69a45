/* The implicit tree on the CPU: what does not depend on the widths, then the template for all four. */
#include "trees/implicit/layout.h"
#include "cpu/driver.h"
#include "cpu/merge.h"
#include "cpu/walk.h"

#include <string.h>

/* Digests are not used where this many units in a row would share one. */
#define DIGEST_LONGEST_RUN 16u

static void implicit_free(const copse_ctx *ctx, copse_implicit *tree)
{
    if (!tree) return;
    copse_memory_free(ctx, tree->units, tree->unit_bytes);
    copse_memory_free(ctx, tree->levels.memory, tree->levels.bytes);
    copse_memory_free(ctx, tree->sum_units, tree->sum_bytes);
    copse_summary_free(ctx, &tree->summary);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(ctx, tree, sizeof *tree);
}

static void implicit_destroy(copse_index *index)
{
    implicit_free(index->ctx, index->tree);
}

/* A place is a rank. */
static void implicit_rank(const copse_index *index, const uint64_t *places, uint64_t n, uint64_t *ranks)
{
    (void)index;
    if (places != ranks) memcpy(ranks, places, n * sizeof *ranks);
}

static uint64_t implicit_select(const copse_index *index, uint64_t rank)
{
    (void)index;
    return rank;
}

static bool implicit_has_sum(const copse_index *index)
{
    return ((const copse_implicit *)index->tree)->has_sums;
}

static uint64_t implicit_size(const copse_index *index)
{
    return ((const copse_implicit *)index->tree)->entries;
}

#define COPSE_TEMPLATE "cpu/merge.inc.h"
#include "core/for_each_width.h"
#define COPSE_TEMPLATE "trees/implicit/cpu/tree.inc.h"
#include "core/for_each_width.h"
