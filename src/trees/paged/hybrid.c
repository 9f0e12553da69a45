/* The placement hybrid of the paged tree: levels in host memory, and rows for the queries of a call. */
#include "trees/paged/hybrid.h"
#include "transfer/transfer.h"

#define ROWS_CHUNK 2048u /* queries that a thread takes at a time */

void copse_paged_host_levels_free(const copse_index *index, copse_paged *tree)
{
    copse_memory_free(index->ctx, tree->host_levels.memory, tree->host_levels.bytes);
    tree->host_levels = (copse_levels){0};
    atomic_store_explicit(&tree->host_levels_ready, false, memory_order_relaxed);
}

/* The levels as they are on the device, node by node. */
static copse_status host_levels_make(const copse_index *index, copse_paged *tree)
{
    const copse_paged_directory *directory = &tree->directory;
    const char *from = directory->memory;
    const uint64_t bytes = (uint64_t)((const char *)directory->highs - from);
    copse_levels made = {.height = directory->levels.height, .bytes = bytes};
    copse_paged_host_levels_free(index, tree);
    if (bytes == 0) return COPSE_OK;
    made.memory = copse_memory_alloc(index->ctx, bytes);
    if (!made.memory) return copse_fail_memory(index->ctx, bytes, "the paged tree");
    for (uint32_t l = 0; l < made.height; l++)
        made.level[l] = (char *)made.memory + ((const char *)directory->levels.level[l] - from);
    copse_status status = copse_device_read(index->device, index->device->main, made.memory, from, bytes);
    tree->host_levels = made;
    if (status != COPSE_OK) copse_paged_host_levels_free(index, tree);
    return status;
}

/* A call whose keys are looked up by threads. */
typedef struct rows_job {
    const copse_index *index;
    const copse_paged_walk *walk;
    const void *keys;
    bool upper;
    uint32_t *rows;
} rows_job;

static void rows_chunk(void *argument, uint64_t first, uint64_t last)
{
    const rows_job *job = argument;
    copse_walk_input input = copse_walk_over(job->index, job->keys, first, last - first);
    input.upper = job->upper;
    job->walk->rows(&copse_paged_of(job->index)->host_levels, &input, job->rows + first);
}

static copse_status rows_walk(const copse_index *index, const void *keys, uint64_t n, bool upper, uint32_t *rows)
{
    const copse_paged_walks *walks = index->by_width;
    copse_paged *tree = copse_paged_of(index);
    rows_job job = {index, walks->by_set[index->ctx->instruction_set], keys, upper, rows};
    copse_status status = copse_paged_prepare(index, &tree->host_levels_ready, host_levels_make);
    if (status == COPSE_OK)
        copse_parallel(index->ctx, copse_threads_for_lookups(index->ctx, n), n, ROWS_CHUNK, rows_chunk, &job);
    return status;
}

copse_status copse_paged_rows(const copse_index *index, const void *keys, uint64_t n, bool upper,
                              copse_scratch *scratch, const uint32_t **rows)
{
    copse_device *device = index->device;
    const uint64_t bytes = copse_memory_product(n, sizeof(uint32_t));
    void *there = NULL;
    const copse_scratch_array array = {&there, bytes};
    if (!index->by_width || n == 0 || copse_device_kind(device, keys) == COPSE_MEMORY_DEVICE) return COPSE_OK;
    uint32_t *found = copse_memory_alloc(index->ctx, bytes);
    if (!found) return copse_fail_memory(index->ctx, bytes, "rows of keys");
    copse_status status = rows_walk(index, keys, n, upper, found);
    if (status == COPSE_OK) status = copse_scratch_take(device, "rows of keys", &array, 1, scratch);
    if (status == COPSE_OK) status = copse_transfer_to_device(device, there, found, bytes);
    copse_memory_free(index->ctx, found, bytes);
    if (status == COPSE_OK) *rows = there;
    return status;
}
