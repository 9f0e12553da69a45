/* The implicit tree on a device: making and freeing it, and building it from the caller's pairs. */
#include "trees/implicit/gpu/tree.h"

#include <string.h>

static uint64_t unit_slots(const copse_index *index)
{
    return 64 / (copse_type_size(index->key_type) + copse_value_width(index->value_type));
}

void copse_implicit_device_free(const copse_index *index, copse_implicit_device *tree)
{
    if (!tree) return;
    copse_device *device = index->device;
    copse_device_free(device, device->main, tree->view.unit, tree->unit_bytes);
    copse_device_levels_free(index, &tree->levels);
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

copse_levels_source copse_implicit_device_source(const copse_index *index, const copse_implicit_device *tree,
                                                 const uint32_t *last)
{
    const size_t key = copse_type_size(index->key_type);
    return (copse_levels_source){.children = tree->view.units,
                                 .last = last,
                                 .keys = tree->view.unit + (unit_slots(index) - 1) * key,
                                 .stride = 64};
}

/* A tree in the making. */
typedef struct maker {
    const copse_index *index;
    const copse_device_pairs *pairs;
    copse_implicit_device *tree;
    uint64_t kept;   /* pairs that stay where of equal keys only the last does */
    uint64_t *tiles; /* how many stay in front of each tile of pairs; NULL: all stay */
    uint64_t tile_bytes;
    uint32_t *last; /* of each unit the digest of its last key, or the key itself where it has 32 bits */
    uint64_t last_bytes;
} maker;

static copse_unit_arguments unit_arguments(const maker *m)
{
    return (copse_unit_arguments){.pairs = {.keys = m->pairs->keys,
                                            .values = m->pairs->values,
                                            .key_type = m->pairs->key_type,
                                            .value_type = m->index->value_type,
                                            .n = m->pairs->n},
                                  .tiles = m->tiles,
                                  .last = m->last};
}

/* Where equal keys are not kept, finds out how many pairs stay, and in front of which. */
static copse_status kept_count(maker *m)
{
    copse_device *device = m->index->device;
    m->kept = m->pairs->n;
    if (m->pairs->unique || m->index->duplicates || m->pairs->n < 2) return COPSE_OK;
    const uint64_t tiles = (m->pairs->n + COPSE_KEPT_TILE - 1) / COPSE_KEPT_TILE;
    void *memory = NULL;
    m->tile_bytes = (tiles + 1) * sizeof *m->tiles;
    copse_status status = copse_device_alloc(device, device->main, m->tile_bytes, "equal keys", &memory);
    m->tiles = memory;
    if (status != COPSE_OK) return status;
    copse_unit_arguments arguments = unit_arguments(m);
    status = copse_device_fill(device, device->main, m->tiles + tiles, 0, sizeof *m->tiles);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_implicit_device_kernels(m->index)->count_kept,
                                     copse_device_blocks(device, tiles * 32), &arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, m->tiles, m->tiles, tiles + 1);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &m->kept, m->tiles + tiles, sizeof m->kept);
    return status;
}

static copse_status units_fill(maker *m)
{
    copse_device *device = m->index->device;
    const copse_implicit_kernels *kernels = copse_implicit_device_kernels(m->index);
    copse_device_tree *view = &m->tree->view;
    void *memory = NULL;
    m->last_bytes = view->units * sizeof *m->last;
    copse_status status = copse_device_alloc(device, device->main, m->last_bytes, "the last keys of leaves", &memory);
    m->last = memory;
    if (status != COPSE_OK) return status;
    copse_unit_arguments arguments = unit_arguments(m);
    arguments.tree = *view;
    if (m->kept == m->pairs->n)
        return copse_device_launch(device, device->main, &kernels->fill,
                                   copse_device_blocks(device, (uint64_t)view->units * 4), &arguments);
    /* Between keys and values of different widths there are bytes that no kernel writes. */
    if (copse_type_size(m->index->key_type) != copse_value_width(m->index->value_type))
        status = copse_device_fill(device, device->main, view->unit, 0, m->tree->unit_bytes);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->fill_kept,
                                     copse_device_blocks(device, m->pairs->n / COPSE_KEPT_TILE * 32 + 1), &arguments);
    return status;
}

static copse_status tree_fill(maker *m)
{
    const copse_device_pairs *pairs = m->pairs;
    copse_status status = kept_count(m);
    if (status == COPSE_OK) status = tree_start(m->index, m->kept, &m->tree);
    if (status != COPSE_OK || !m->tree) return status;
    copse_device_tree *view = &m->tree->view;
    copse_device_levels_start(&view->levels, pairs->low, pairs->high);
    status = units_fill(m);
    if (status != COPSE_OK) return status;
    copse_levels_source source = copse_implicit_device_source(m->index, m->tree, m->last);
    return copse_device_levels_make(m->index, &source, &view->levels, &m->tree->levels);
}

copse_status copse_implicit_device_make(const copse_index *index, const copse_device_pairs *pairs,
                                        copse_implicit_device **out)
{
    copse_device *device = index->device;
    maker m = {.index = index, .pairs = pairs};
    copse_status status = tree_fill(&m);
    copse_device_free(device, device->main, m.tiles, m.tile_bytes);
    copse_device_free(device, device->main, m.last, m.last_bytes);
    if (status == COPSE_OK)
        *out = m.tree;
    else
        copse_implicit_device_free(index, m.tree);
    return status;
}

/* On the caller's stream the call only enqueues; without one the call is complete when it returns. */
copse_status copse_implicit_device_replace(copse_index *index, copse_implicit_device *tree, copse_status status,
                                           const char *what)
{
    const uint64_t n = tree ? tree->view.entries : 0;
    if (status == COPSE_OK) status = copse_progress(index->ctx, what, n, n);
    if (status == COPSE_OK) status = copse_device_wait(index->device, index->device->main);
    if (status != COPSE_OK) {
        copse_implicit_device_free(index, tree);
        return status;
    }
    copse_implicit_device_free(index, index->tree);
    index->tree = tree;
    return COPSE_OK;
}

copse_status copse_implicit_device_create(copse_index *index)
{
    copse_device_pairs none = {.key_type = index->key_type, .unique = true};
    copse_implicit_device *tree = NULL;
    copse_status status = copse_implicit_device_make(index, &none, &tree);
    index->tree = tree;
    return status;
}

copse_status copse_implicit_device_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_device_pairs pairs;
    copse_implicit_device *tree = NULL;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    copse_status status = copse_device_pairs_make(index, keys, values, n, equal, COPSE_PAIRS_PLAIN, "building", &pairs);
    if (status != COPSE_OK) return status;
    status = copse_implicit_device_make(index, &pairs, &tree);
    copse_device_pairs_free(index, &pairs);
    return copse_implicit_device_replace(index, tree, status, "building the inner levels");
}
