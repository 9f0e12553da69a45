/* Bulk build of the regular tree from a batch in order. */
#pragma once

#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/table.h"
#include "core/batch_pair.h"
#include "core/threads.h"

static void build_leaf(const copse_batch *batch, uint64_t first, uint32_t n, char *leaf)
{
    KEY keys[LEAF_CAPACITY];
    VALUE values[LEAF_CAPACITY];
    copse_unit *units = leaf_units(leaf);
    copse_batch_read(batch, first, n, keys, values);
    for (uint32_t i = 0; i < n; i++) {
        units[i / UNIT_ENTRIES].keys[i % UNIT_ENTRIES] = keys[i];
        units[i / UNIT_ENTRIES].values[i % UNIT_ENTRIES] = values[i];
    }
    leaf_seal(leaf, n);
}

typedef struct build_job {
    const copse_batch *batch;
    copse_regular *tree;
} build_job;

/* Leaves of equal size, filled in parallel; their fences are their largest keys, the last one's the maximum. */
static void build_part(void *argument, uint64_t first_leaf, uint64_t last_leaf)
{
    const build_job *job = argument;
    const copse_batch *batch = job->batch;
    copse_leaf_table *table = &job->tree->table;
    const uint64_t leaves = job->tree->leaves, n = batch->n;
    for (uint64_t i = first_leaf; i < last_leaf; i++) {
        uint64_t slot = table_spread(i, leaves, table->groups), first = i * LEAF_BULK_FILL;
        uint32_t count = (uint32_t)(n - first < LEAF_BULK_FILL ? n - first : LEAF_BULK_FILL);
        build_leaf(batch, first, count, table->leaf[slot]);
        table->count[slot] = (uint8_t)count;
        table_fence(table)[slot] = i + 1 == leaves ? KEY_MAX : leaf_last_key(table->leaf[slot], count);
    }
}

static void build_leaves(const copse_ctx *ctx, const copse_batch *batch, copse_regular *tree)
{
    uint32_t threads = copse_threads_for(ctx, batch->n);
    build_job job = {batch, tree};
    copse_parallel(ctx, threads, tree->leaves, copse_even_chunk(tree->leaves, threads), build_part, &job);
}

static copse_status build_reserve(const copse_ctx *ctx, copse_regular *tree)
{
    if (!table_create(ctx, tree->leaves, &tree->table))
        return copse_fail_memory(ctx, tree->leaves * 64, "the table of leaves");
    if (tree->table.slots > UINT32_MAX)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "n is too large: the regular tree holds at most %llu leaves",
                          (unsigned long long)UINT32_MAX / 2);
    for (uint64_t i = 0; i < tree->leaves; i++) {
        char *leaf = copse_leaf_take(ctx, &tree->pool);
        if (!leaf) return copse_fail_memory(ctx, tree->leaves * COPSE_LEAF_BYTES, "the leaves of the regular tree");
        tree->table.leaf[table_spread(i, tree->leaves, tree->table.groups)] = leaf;
    }
    return COPSE_OK;
}

static copse_status regular_build(copse_index *index, const copse_batch *batch)
{
    const copse_ctx *ctx = index->ctx;
    copse_regular *tree = NULL;
    copse_status status = copse_regular_make(ctx, &tree);
    if (status != COPSE_OK) return status;
    tree->entries = batch->n;
    tree->leaves = (batch->n + LEAF_BULK_FILL - 1) / LEAF_BULK_FILL;
    if (batch->n) status = build_reserve(ctx, tree);
    if (status == COPSE_OK) status = copse_progress(ctx, "filling the leaves", batch->n, batch->n);
    if (status != COPSE_OK) {
        copse_regular_free(ctx, tree);
        return status;
    }
    if (batch->n) {
        build_leaves(ctx, batch, tree);
        table_repeat_all(&tree->table);
        regular_refresh(index, tree, 0, tree->table.groups - 1);
    }
    copse_regular_free(ctx, index->tree);
    index->tree = tree;
    return COPSE_OK;
}
