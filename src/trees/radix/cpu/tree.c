/* The radix tree on the CPU: life, inspection, and the table of its calls. */
#include "trees/radix/cpu/tree.h"

#include "cpu/byte_runs.h"

static copse_status radix_create(copse_index *index)
{
    copse_radix *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the radix tree");
    copse_radix_init(tree, (uint32_t)copse_type_size(index->value_type));
    index->tree = tree;
    return COPSE_OK;
}

static void radix_destroy(copse_index *index)
{
    copse_radix_release(index->ctx, index->tree);
    copse_memory_free(index->ctx, index->tree, sizeof(copse_radix));
}

static uint64_t radix_size(const copse_index *index)
{
    return ((const copse_radix *)index->tree)->entries;
}

static void radix_stats(const copse_index *index, copse_stats *out)
{
    const copse_radix *tree = index->tree;
    uint64_t bytes = 0, filled = 0;
    out->bytes = sizeof *tree;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        const copse_radix_pool *pool = copse_radix_pool_of(tree, type);
        out->bytes += pool->bytes;
        if (type < COPSE_RADIX_LEAF8) continue;
        bytes += pool->capacity * pool->stride;
        filled += (pool->used - pool->free_count) * pool->stride;
    }
    out->entries = tree->entries;
    out->height = tree->entries ? tree->height : 0;
    out->fill = bytes ? (double)filled / (double)bytes : 0.0;
}

const copse_calls copse_radix_calls = {
    .create = radix_create,
    .destroy = radix_destroy,
    .build = copse_radix_build,
    .insert = copse_radix_insert,
    .erase = copse_radix_erase,
    .erase_pairs = copse_radix_erase_pairs,
    .erase_range = copse_byte_erase_range,
    .apply = copse_radix_apply,
    .find = copse_radix_find,
    .neighbours = copse_radix_neighbours,
    .count = copse_radix_count,
    .range = copse_radix_range,
    .aggregate = copse_radix_aggregate,
    .scan = copse_radix_scan,
    .scan_step = 4096,
    .size = radix_size,
    .stats = radix_stats,
    .verify = copse_radix_verify,
};
