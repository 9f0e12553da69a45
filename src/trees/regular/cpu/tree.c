/* The regular tree on the CPU: what does not depend on the widths. */
#include "trees/regular/cpu/tree.h"

#include <string.h>

copse_status copse_regular_make(const copse_ctx *ctx, size_t page_bytes, size_t value_bytes, copse_regular **out)
{
    copse_regular *tree = copse_memory_alloc(ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(ctx, sizeof *tree, "the regular tree");
    memset(tree, 0, sizeof *tree);
    tree->pool = (copse_leaf_pool){.leaf_bytes = COPSE_LEAF_BYTES, .smallest_slab = 8};
    tree->page_pool = (copse_leaf_pool){.leaf_bytes = page_bytes, .smallest_slab = 2};
    tree->value_pool = (copse_leaf_pool){.leaf_bytes = value_bytes, .smallest_slab = 2};
    pthread_mutex_init(&tree->lock, NULL);
    *out = tree;
    return COPSE_OK;
}

void copse_regular_drop_summary(const copse_ctx *ctx, copse_regular *tree)
{
    copse_leaf_pool_free(ctx, &tree->value_pool);
    copse_memory_free(ctx, tree->values.memory, tree->values.bytes);
    tree->values = (copse_value_directory){0};
    tree->has_summary = false;
    atomic_store_explicit(&tree->summary_tried, false, memory_order_relaxed);
}

void copse_regular_drop_next(const copse_ctx *ctx, copse_regular *tree)
{
    copse_memory_free(ctx, tree->next.memory, tree->next.bytes);
    tree->next = (copse_page_directory){0};
    tree->next_touched = 0;
}

void copse_regular_clear(const copse_ctx *ctx, copse_regular *tree)
{
    copse_leaf_pool_free(ctx, &tree->pool);
    copse_leaf_pool_free(ctx, &tree->page_pool);
    copse_regular_drop_next(ctx, tree);
    copse_memory_free(ctx, tree->table.memory, tree->table.bytes);
    tree->table = (copse_page_directory){0};
    tree->entries = tree->leaves = 0;
    copse_regular_drop_summary(ctx, tree);
}

void copse_regular_free(const copse_ctx *ctx, copse_regular *tree)
{
    if (!tree) return;
    copse_regular_clear(ctx, tree);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(ctx, tree, sizeof *tree);
}

void copse_regular_destroy(copse_index *index)
{
    copse_regular_free(index->ctx, index->tree);
}

uint64_t copse_regular_size(const copse_index *index)
{
    return ((const copse_regular *)index->tree)->entries;
}

const copse_levels *copse_regular_levels(const copse_index *index)
{
    return &((const copse_regular *)index->tree)->table.levels;
}
