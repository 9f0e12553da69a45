/* The implicit tree on a device: making and freeing it, and building it from the caller's pairs. */
#include "cuda/implicit_device.h"

#include <string.h>

/* Blocks that a multiprocessor is given of a kernel with strides. */
#define BLOCKS_PER_MULTIPROCESSOR 32u

uint64_t copse_implicit_device_blocks(const copse_device *device, uint64_t items)
{
    uint64_t most = (uint64_t)device->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    uint64_t blocks = (items + COPSE_KERNEL_THREADS - 1) / COPSE_KERNEL_THREADS;
    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

static uint64_t unit_slots(const copse_index *index)
{
    return 64 / (copse_type_size(index->key_type) + copse_type_size(index->value_type));
}

void copse_implicit_device_free(const copse_index *index, copse_implicit_device *tree)
{
    if (!tree) return;
    copse_device *device = index->device;
    copse_device_free(device, device->main, tree->view.unit, tree->unit_bytes);
    copse_device_free(device, device->main, tree->levels, tree->level_bytes);
    copse_implicit_device_aggregate_free(index, tree);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(index->ctx, tree, sizeof *tree);
}

/* The tree with room for its units. */
static copse_status tree_start(const copse_index *index, uint64_t n, copse_implicit_device **out)
{
    const uint64_t slots = unit_slots(index), units = n ? (n + slots - 1) / slots : 1;
    if (units > UINT32_MAX)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "n is %llu: the implicit tree holds at most %llu entries",
                          (unsigned long long)n, (unsigned long long)(UINT32_MAX * slots));
    copse_implicit_device *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the implicit tree");
    memset(tree, 0, sizeof *tree);
    pthread_mutex_init(&tree->lock, NULL);
    tree->view = (copse_device_tree){.entries = n,
                                     .units = (uint32_t)units,
                                     .unique = !index->duplicates,
                                     .key_type = index->key_type,
                                     .value_type = index->value_type};
    tree->unit_bytes = units * 64;
    void *unit = NULL;
    copse_status status = copse_device_alloc(index->device, index->device->main, tree->unit_bytes,
                                             "the leaves of the implicit tree", &unit);
    tree->view.unit = unit;
    if (status == COPSE_OK)
        *out = tree;
    else
        copse_implicit_device_free(index, tree);
    return status;
}

/* Fills the units and looks at what is in them: equal keys, and what digests would cost. */
static copse_status units_fill(const copse_index *index, const copse_device_pairs *pairs, copse_implicit_device *tree,
                               copse_device_survey *out)
{
    copse_device *device = index->device;
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(index);
    copse_pairs_arguments fill = {.keys = pairs->keys,
                                  .values = pairs->values,
                                  .key_type = pairs->key_type,
                                  .value_type = index->value_type,
                                  .n = pairs->n,
                                  .tree = tree->view};
    copse_status status = copse_device_survey_make(device, &fill.survey);
    if (status != COPSE_OK) return status;
    copse_level_arguments look = {.tree = tree->view, .survey = fill.survey};
    status = copse_device_launch(device, device->main, &kernels->fill,
                                 copse_implicit_device_blocks(device, (uint64_t)tree->view.units * 4), &fill);
    if (status == COPSE_OK && copse_type_size(index->key_type) == 8)
        status = copse_device_launch(device, device->main, &kernels->digest_steps,
                                     copse_implicit_device_blocks(device, tree->view.units), &look);
    if (status == COPSE_OK) status = copse_device_survey_read(device, fill.survey, out);
    copse_device_survey_free(device, fill.survey);
    return status;
}

/* Sizes of the levels over the units, root first. */
static void levels_plan(const copse_index *index, copse_implicit_device *tree)
{
    const uint64_t fanout = tree->view.digest ? 17 : 64 / copse_type_size(index->key_type) + 1;
    uint64_t sizes[COPSE_LEVELS_MOST];
    uint32_t height = 0;
    for (uint64_t n = tree->view.units; n > 1; n = sizes[height - 1]) sizes[height++] = (n + fanout - 1) / fanout;
    tree->view.height = height;
    tree->level_bytes = 0;
    for (uint32_t l = 0; l < height; l++) {
        tree->nodes[l] = sizes[height - 1 - l];
        tree->level_bytes += tree->nodes[l] * 64;
    }
}

static copse_status levels_fill(const copse_index *index, copse_implicit_device *tree)
{
    copse_device *device = index->device;
    levels_plan(index, tree);
    if (tree->view.height == 0) return COPSE_OK;
    copse_status status = copse_device_alloc(device, device->main, tree->level_bytes,
                                             "the inner levels of the implicit tree", &tree->levels);
    if (status != COPSE_OK) return status;
    char *at = tree->levels;
    for (uint32_t l = 0; l < tree->view.height; l++) {
        tree->view.level[l] = at;
        at += tree->nodes[l] * 64;
    }
    const uint64_t separators = tree->view.digest ? 16 : 64 / copse_type_size(index->key_type);
    uint64_t span = 1;
    for (uint32_t l = tree->view.height; l-- > 0 && status == COPSE_OK; span *= separators + 1) {
        copse_level_arguments arguments = {.tree = tree->view, .level = l, .nodes = tree->nodes[l], .span = span};
        arguments.children = l + 1 < tree->view.height ? tree->nodes[l + 1] : tree->view.units;
        status = copse_device_launch(device, device->main, &copse_implicit_device_kernels(index)->fill_level,
                                     copse_implicit_device_blocks(device, tree->nodes[l] * separators), &arguments);
    }
    return status;
}

copse_status copse_implicit_device_make(const copse_index *index, const copse_device_pairs *pairs, bool *out_equal,
                                        copse_implicit_device **out)
{
    copse_implicit_device *tree = NULL;
    copse_device_survey seen = {0};
    copse_status status = tree_start(index, pairs->n, &tree);
    if (status != COPSE_OK) return status;
    unsigned bits = pairs->high > pairs->low ? 64u - (unsigned)__builtin_clzll(pairs->high - pairs->low) : 1u;
    tree->view.base = pairs->low;
    tree->view.shift = bits > 32 ? bits - 32 : 0;
    status = units_fill(index, pairs, tree, &seen);
    if (out_equal) *out_equal = status == COPSE_OK && seen.equals && !index->duplicates;
    if (out_equal && *out_equal) {
        copse_implicit_device_free(index, tree);
        return COPSE_OK;
    }
    /* As on the CPU: digests where few lookups would have to step right. */
    tree->view.digest =
        copse_type_size(index->key_type) == 8 && tree->view.units > 1 && seen.digest_steps <= tree->view.units / 8;
    if (status == COPSE_OK) status = levels_fill(index, tree);
    if (status == COPSE_OK)
        *out = tree;
    else
        copse_implicit_device_free(index, tree);
    return status;
}

copse_status copse_implicit_device_create(copse_index *index)
{
    copse_device_pairs none = {.key_type = index->key_type, .unique = true};
    copse_implicit_device *tree = NULL;
    copse_status status = copse_implicit_device_make(index, &none, NULL, &tree);
    index->tree = tree;
    return status;
}

copse_status copse_implicit_device_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_device_pairs pairs;
    copse_implicit_device *tree = NULL;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    copse_status status = copse_device_pairs_make(index, keys, values, n, equal, true, "building", &pairs);
    if (status != COPSE_OK) return status;
    bool has_equal = false;
    status = copse_implicit_device_make(index, &pairs, &has_equal, &tree);
    if (status == COPSE_OK && has_equal) {
        status = copse_device_pairs_unique(index, &pairs, equal);
        if (status == COPSE_OK) status = copse_implicit_device_make(index, &pairs, NULL, &tree);
    }
    copse_device_pairs_free(index, &pairs);
    if (status == COPSE_OK) status = copse_progress(index->ctx, "building the inner levels", n, n);
    /* What the caller's stream is given stays in its order; without one a call is complete when it returns. */
    if (status == COPSE_OK) status = copse_device_wait(index->device, index->device->main);
    if (status != COPSE_OK) {
        copse_implicit_device_free(index, tree);
        return status;
    }
    copse_implicit_device_free(index, index->tree);
    index->tree = tree;
    return COPSE_OK;
}
