/* Trees of keys in order, on a device (copse_radix_forest_arguments). */
#include "gpu/sort.h"
#include "primitives/primitives.h"
#include "trees/radix/gpu/tree.h"

static copse_status launch(const copse_index *index, copse_radix_forest *forest, const copse_kernel *kernel)
{
    copse_device *device = index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, forest->a.n), &forest->a);
}

static copse_status arrays_make(const copse_index *index, copse_radix_forest *forest)
{
    copse_radix_forest_arguments *a = &forest->a;
    const uint64_t n = a->n;
    copse_scratch_array arrays[9 + COPSE_RADIX_LEVELS] = {
        {(void **)&a->start, n * sizeof *a->start},  {(void **)&a->next, n * sizeof *a->next},
        {(void **)&a->node, n * sizeof *a->node},    {(void **)&a->left, n * sizeof *a->left},
        {(void **)&a->right, n * sizeof *a->right},  {(void **)&a->roots, n * sizeof *a->roots},
        {(void **)&a->heads, n * sizeof *a->heads},  {(void **)&a->tally, sizeof *a->tally},
        {(void **)&a->symbol, n * sizeof *a->symbol}};
    unsigned count = 9;
    a->levels = 1;
    while (a->levels < COPSE_RADIX_LEVELS && (n - 1) >> COPSE_RADIX_LEVEL_BITS * (a->levels - 1) >= 32) {
        const uint64_t items = ((n - 1) >> COPSE_RADIX_LEVEL_BITS * a->levels) + 1;
        arrays[count++] = (copse_scratch_array){(void **)&a->level[a->levels++], items * sizeof(int32_t)};
    }
    return copse_scratch_take(index->device, "the new keys", arrays, count, &forest->scratch);
}

/* Numbers of leaves of a type, and how many items there are. */
static copse_status leaves_number(const copse_index *index, copse_radix_forest *forest, uint64_t *sizes, uint32_t type,
                                  uint64_t *out_items)
{
    copse_device *device = index->device;
    forest->a.leaf_type = type;
    forest->a.sizes = sizes;
    copse_status status = COPSE_OK;
    if (type == COPSE_RADIX_LEAF_LONG && forest->a.blocks.n)
        status =
            copse_device_fill(device, device->main, forest->a.blocks.taken, 0, COPSE_RADIX_CLASSES * sizeof(uint64_t));
    if (status == COPSE_OK) status = launch(index, forest, &copse_radix_kernels_on(device)->sizes);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, sizes + forest->a.n, 0, sizeof *sizes);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, sizes, sizes, forest->a.n + 1);
    if (status == COPSE_OK && out_items)
        status = copse_device_read(device, device->main, out_items, sizes + forest->a.n, sizeof *out_items);
    return status;
}

/* Room for the numbers of leaves. */
static copse_status sizes_make(const copse_index *index, copse_radix_forest *forest, uint64_t **sizes,
                               copse_scratch *scratch)
{
    const copse_scratch_array arrays[] = {
        {(void **)sizes, (forest->a.n + 1) * sizeof **sizes},
        {(void **)&forest->a.picks, forest->a.blocks.n ? forest->a.n * sizeof *forest->a.picks : 0}};
    return copse_scratch_take(index->device, "the new keys", arrays, 2, scratch);
}

/* Is it so simple that the number of a leaf is that of its key? */
static bool one_type(const copse_radix_ordered *keys, uint32_t *out)
{
    *out = copse_radix_leaf_type(keys->longest);
    return *out != COPSE_RADIX_LEAF_LONG && copse_radix_leaf_type(keys->shortest) == *out;
}

static copse_status leaves_count(const copse_index *index, copse_radix_forest *forest, const copse_radix_ordered *keys)
{
    uint64_t *sizes = NULL;
    uint32_t type;
    copse_scratch scratch = {0};
    forest->has_long = copse_radix_leaf_type(keys->longest) == COPSE_RADIX_LEAF_LONG;
    if (one_type(keys, &type)) {
        forest->leaves[type] = forest->a.n;
        return COPSE_OK;
    }
    copse_status status = sizes_make(index, forest, &sizes, &scratch);
    for (type = copse_radix_leaf_type(keys->shortest);
         type <= copse_radix_leaf_type(keys->longest) && status == COPSE_OK; type++)
        status = leaves_number(index, forest, sizes, type, &forest->leaves[type]);
    copse_scratch_free(index->device, &scratch);
    forest->a.sizes = NULL;
    return status;
}

copse_status copse_radix_forest_shape(const copse_index *index, const copse_radix_ordered *keys, const void *values,
                                      const copse_radix_blocks *blocks, copse_radix_forest *out)
{
    copse_device *device = index->device;
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    *out = (copse_radix_forest){.a = {.tree.width = copse_radix_device_of(index)->view.width,
                                      .keys = keys->keys,
                                      .keys_n = keys->keys_n,
                                      .values = values,
                                      .value_type = index->value_type,
                                      .n = keys->n,
                                      .unique = keys->unique,
                                      .level[0] = keys->common}};
    if (blocks) out->a.blocks = *blocks;
    copse_status status = arrays_make(index, out);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, out->a.tally, 0, sizeof out->tally);
    for (out->a.make = 1; out->a.make < out->a.levels && status == COPSE_OK; out->a.make++)
        status = launch(index, out, &kernels->level);
    out->a.make = 0;
    if (status == COPSE_OK) status = launch(index, out, &kernels->chains);
    if (status == COPSE_OK) status = launch(index, out, &kernels->nodes);
    if (status == COPSE_OK) status = leaves_count(index, out, keys);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &out->tally, out->a.tally, sizeof out->tally);
    return status;
}

copse_status copse_radix_forest_make(const copse_index *index, copse_radix_forest *forest)
{
    copse_device *device = index->device;
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    uint64_t *sizes = NULL;
    uint32_t types = 0;
    for (uint32_t type = COPSE_RADIX_LEAF8; type < COPSE_RADIX_TYPES; type++) types += forest->leaves[type] != 0;
    const bool simple = types == 1 && !forest->has_long;
    copse_scratch scratch = {0};
    copse_status status = simple ? COPSE_OK : sizes_make(index, forest, &sizes, &scratch);
    for (uint32_t type = COPSE_RADIX_LEAF8; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++) {
        if (!forest->leaves[type] && !(type == COPSE_RADIX_LEAF_LONG && forest->has_long)) continue;
        forest->a.leaf_type = type;
        if (!simple) status = leaves_number(index, forest, sizes, type, NULL);
        if (status == COPSE_OK && type == COPSE_RADIX_LEAF_LONG && forest->a.items.gap)
            status = launch(index, forest, &kernels->fits);
        if (status == COPSE_OK) status = launch(index, forest, &kernels->leaves);
    }
    forest->a.make = 1;
    if (status == COPSE_OK) status = launch(index, forest, &kernels->nodes);
    if (status == COPSE_OK) status = launch(index, forest, &kernels->fill);
    copse_scratch_free(device, &scratch);
    forest->a.sizes = NULL;
    return status;
}
