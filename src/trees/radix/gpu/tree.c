/* The radix tree on a device: life, inspection, and the table of its calls. */
#include "trees/radix/gpu/tree.h"

const copse_radix_kernels *copse_radix_kernels_on(const copse_device *device)
{
#ifdef COPSE_HAVE_CUDA
    if (device->backend->placement == COPSE_PLACEMENT_GPU) return &copse_radix_kernels_cuda;
#endif
    (void)device;
    return &copse_radix_kernels_emulated;
}

copse_status copse_radix_report(copse_device *device, const copse_kernel *kernel, uint64_t n, const void *arguments,
                                uint64_t **report, uint64_t words[COPSE_REPORT_WORDS])
{
    int number;
    copse_status status = copse_report_take(device, &number, report);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, kernel, (n + COPSE_RADIX_THREADS - 1) / COPSE_RADIX_THREADS,
                                 arguments);
    const copse_status read = copse_report_read(device, number, words);
    return status == COPSE_OK ? read : status;
}

static copse_status radix_device_create(copse_index *index)
{
    copse_radix_device *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the radix tree");
    *tree = (copse_radix_device){.view.width = (uint32_t)copse_type_size(index->value_type),
                                 .piece = COPSE_RADIX_PIECE,
                                 .walk_most = COPSE_RADIX_WALK_MOST};
    tree->marks.without = copse_radix_apart_first(index);
    copse_radix_init(&tree->host, tree->view.width);
    tree->host.marks = &tree->marks;
    pthread_mutex_init(&tree->lock, NULL);
    atomic_init(&tree->behind, false);
    atomic_init(&tree->is_ahead, false);
    index->tree = tree;
    return COPSE_OK;
}

static void radix_device_destroy(copse_index *index)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_radix_mirror_free(index, tree);
    copse_radix_release(index->ctx, &tree->host);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(index->ctx, tree, sizeof *tree);
}

static uint64_t radix_device_size(const copse_index *index)
{
    return copse_radix_device_of(index)->host.entries;
}

/* Both sides count. */
static void radix_device_stats(const copse_index *index, copse_stats *out)
{
    const copse_radix_device *tree = copse_radix_device_of(index);
    const copse_index host = copse_radix_host(index);
    copse_radix_calls.stats(&host, out);
    out->bytes += sizeof *tree - sizeof tree->host;
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++)
        out->bytes += tree->bytes[type] + (tree->marks.words[type] + tree->spare_room[type]) * sizeof(uint64_t);
    out->bytes += tree->ahead.bytes;
    uint64_t filled = 0, bytes = 0;
    for (uint32_t type = COPSE_RADIX_LEAF8; type < COPSE_RADIX_TYPES; type++) {
        const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
        filled += (copse_radix_items_used(tree, type) - pool->free_count) * pool->stride;
        bytes += copse_radix_is_apart(tree, type) ? pool->capacity * pool->stride : tree->bytes[type];
    }
    out->fill = bytes ? (double)filled / (double)bytes : 0.0;
}

static copse_status radix_device_verify(const copse_index *index)
{
    const copse_index host = copse_radix_host(index);
    copse_status status = copse_radix_values_fetch(index);
    if (status == COPSE_OK) status = copse_radix_verify(&host);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    return status == COPSE_OK ? copse_radix_mirror_verify(index) : status;
}

const copse_calls copse_radix_gpu_calls = {
    .create = radix_device_create,
    .destroy = radix_device_destroy,
    .build = copse_radix_device_build,
    .insert = copse_radix_device_insert,
    .erase = copse_radix_device_erase,
    .erase_pairs = copse_radix_device_erase_pairs,
    .erase_range = copse_radix_device_erase_range,
    .apply = copse_radix_device_apply,
    .find = copse_radix_device_find,
    .neighbours = copse_radix_device_neighbours,
    .count = copse_radix_device_count,
    .range = copse_radix_device_range,
    .aggregate = copse_radix_device_aggregate,
    .scan = copse_radix_device_scan,
    .scan_step = 4096,
    .size = radix_device_size,
    .stats = radix_device_stats,
    .verify = radix_device_verify,
};
