/* The sorted array of byte strings: life, inspection, and the table of its calls. */
#include "trees/sorted/cpu/bytes.h"

#include "cpu/byte_runs.h"

static copse_status sorted_bytes_create(copse_index *index)
{
    copse_sorted_bytes *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the sorted array");
    *tree = (copse_sorted_bytes){0};
    index->tree = tree;
    return COPSE_OK;
}

static void sorted_bytes_destroy(copse_index *index)
{
    copse_sorted_bytes *tree = index->tree;
    copse_memory_free(index->ctx, tree->offsets, tree->bytes);
    copse_memory_free(index->ctx, tree, sizeof *tree);
}

static uint64_t sorted_bytes_size(const copse_index *index)
{
    return ((const copse_sorted_bytes *)index->tree)->entries;
}

static void sorted_bytes_stats(const copse_index *index, copse_stats *out)
{
    const copse_sorted_bytes *tree = index->tree;
    out->entries = tree->entries;
    out->bytes = sizeof *tree + tree->bytes;
    out->height = tree->entries ? 1 : 0;
    out->fill = tree->entries ? 1.0 : 0.0;
}

static copse_status sorted_bytes_verify(const copse_index *index)
{
    const copse_sorted_bytes *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    for (uint64_t i = 0; status == COPSE_OK && i < tree->entries; i++) {
        const uint64_t length = tree->offsets[i + 1] - tree->offsets[i];
        if (tree->offsets[0] || length > COPSE_LONGEST_KEY)
            return copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                              "sorted array: the offsets of entry %llu are %llu and %llu", (unsigned long long)i,
                              (unsigned long long)tree->offsets[i], (unsigned long long)tree->offsets[i + 1]);
        if (i == 0) continue;
        const int order = copse_slice_compare(copse_sorted_bytes_key(tree, i - 1), copse_sorted_bytes_key(tree, i));
        if (order > 0 || (order == 0 && !index->duplicates))
            status = copse_fail(index->ctx, COPSE_ERR_CORRUPT, "sorted array: entry %llu is not %s the one before it",
                                (unsigned long long)i, index->duplicates ? "at least" : "greater than");
    }
    return status;
}

const copse_calls copse_sorted_bytes_calls = {
    .create = sorted_bytes_create,
    .destroy = sorted_bytes_destroy,
    .build = copse_sorted_bytes_build,
    .insert = copse_sorted_bytes_insert,
    .erase = copse_sorted_bytes_erase,
    .erase_pairs = copse_sorted_bytes_erase_pairs,
    .erase_range = copse_byte_erase_range,
    .apply = copse_sorted_bytes_apply,
    .find = copse_sorted_bytes_find,
    .neighbours = copse_sorted_bytes_neighbours,
    .select = copse_sorted_bytes_select,
    .count = copse_sorted_bytes_count,
    .range = copse_sorted_bytes_range,
    .aggregate = copse_sorted_bytes_aggregate,
    .scan = copse_sorted_bytes_scan,
    .scan_step = 4096,
    .size = sorted_bytes_size,
    .stats = sorted_bytes_stats,
    .verify = sorted_bytes_verify,
};
