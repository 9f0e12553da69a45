/* The regular tree on the CPU: what does not depend on the widths, then the templates for all four. */
#include "trees/regular/layout.h"
#include "cpu/driver.h"
#include "cpu/merge.h"
#include "cpu/walk.h"

#include <string.h>

static copse_status regular_make(const copse_ctx *ctx, copse_regular **out)
{
    copse_regular *tree = copse_memory_alloc(ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(ctx, sizeof *tree, "the regular tree");
    memset(tree, 0, sizeof *tree);
    pthread_mutex_init(&tree->lock, NULL);
    *out = tree;
    return COPSE_OK;
}

static void regular_drop_summary(const copse_ctx *ctx, copse_regular *tree)
{
    copse_summary_free(ctx, &tree->summary);
    tree->has_summary = false;
    atomic_store_explicit(&tree->summary_tried, false, memory_order_relaxed);
}

/* Back to an empty tree, all memory given back. */
static void regular_clear(const copse_ctx *ctx, copse_regular *tree)
{
    copse_leaf_pool_free(ctx, &tree->pool);
    copse_memory_free(ctx, tree->table.memory, tree->table.bytes);
    tree->table = (copse_leaf_table){0};
    tree->entries = tree->leaves = 0;
    regular_drop_summary(ctx, tree);
}

static void regular_free(const copse_ctx *ctx, copse_regular *tree)
{
    if (!tree) return;
    regular_clear(ctx, tree);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(ctx, tree, sizeof *tree);
}

static copse_status regular_create(copse_index *index)
{
    copse_regular *tree = NULL;
    copse_status status = regular_make(index->ctx, &tree);
    index->tree = tree;
    return status;
}

static void regular_destroy(copse_index *index)
{
    regular_free(index->ctx, index->tree);
}

static uint64_t regular_size(const copse_index *index)
{
    return ((const copse_regular *)index->tree)->entries;
}

#define COPSE_TEMPLATE "cpu/merge.inc.h"
#include "core/for_each_width.h"
#define COPSE_TEMPLATE "trees/regular/cpu/tree.inc.h"
#include "core/for_each_width.h"
