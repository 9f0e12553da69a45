/* Updates of the implicit tree on a device: the batch is sorted, merged with the entries, and the tree is made anew. */
#include "core/codec.h"
#include "gpu/groups.h"
#include "trees/implicit/gpu/tree.h"

/* All entries of the tree as encoded pairs. */
static copse_status entries_out(const copse_index *index, copse_device_pairs *out)
{
    const copse_implicit_device *tree = copse_implicit_device_of(index);
    copse_copy_arguments arguments = {.tree = tree->view, .output.count = tree->view.entries, .encoded = 1};
    *out = (copse_device_pairs){.n = tree->view.entries, .key_type = copse_device_pairs_type(index)};
    copse_status status = copse_device_pairs_room(index, out, out->n, &arguments.output.keys, &arguments.output.values);
    out->keys = arguments.output.keys;
    out->values = arguments.output.values;
    if (status == COPSE_OK)
        status = copse_device_launch(index->device, index->device->main, &copse_implicit_device_kernels(index)->copy,
                                     copse_device_blocks(index->device, out->n), &arguments);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

/* Keeps the pairs whose flag is set. */
static copse_status pairs_select(const copse_index *index, copse_device_pairs *pairs, const uint8_t *keep)
{
    copse_device_pairs made;
    copse_status status = copse_device_pairs_select(index, pairs, keep, &made);
    if (status != COPSE_OK) return status;
    made.unique = false;
    copse_device_pairs_free(index, pairs);
    *pairs = made;
    return COPSE_OK;
}

/* Runs a kernel that marks one of n things per byte, then keeps the marked pairs. */
static copse_status pairs_mark(const copse_index *index, copse_device_pairs *pairs, const copse_kernel *kernel,
                               copse_mark_arguments *arguments)
{
    copse_device *device = index->device;
    void *keep = NULL;
    const uint64_t n = pairs->n;
    copse_status status = copse_device_alloc(device, device->main, n, "the update", &keep);
    arguments->keep = keep;
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, kernel, copse_device_blocks(device, n), arguments);
    if (status == COPSE_OK) status = pairs_select(index, pairs, keep);
    copse_device_free(device, device->main, keep, n);
    return status;
}

/* Replaces the tree by one of these pairs. */
static copse_status tree_replace(copse_index *index, copse_device_pairs *pairs)
{
    copse_implicit_device *tree = NULL;
    copse_status status = copse_device_pairs_bounds(index, pairs);
    if (status == COPSE_OK) status = copse_implicit_device_make(index, pairs, &tree);
    return copse_implicit_device_replace(index, tree, status, "rebuilding the inner levels");
}

static copse_status merge_in(copse_index *index, copse_device_pairs *batch, uint32_t flags)
{
    copse_device_pairs old, all;
    const bool absent = flags & COPSE_INSERT_IF_ABSENT;
    copse_status status = COPSE_OK;
    if (absent) { /* where keys may repeat, equal ones of the tree all stay: so the batch has to yield */
        copse_mark_arguments arguments = {
            .tree = copse_implicit_device_of(index)->view, .keys = batch->keys, .n = batch->n};
        status = pairs_mark(index, batch, &copse_implicit_device_kernels(index)->absent, &arguments);
        if (status != COPSE_OK || batch->n == 0) return status;
    }
    status = entries_out(index, &old);
    if (status != COPSE_OK) return status;
    status = copse_device_pairs_merge(index, &old, batch, &all);
    copse_device_pairs_free(index, &old);
    if (status != COPSE_OK) return status;
    status = tree_replace(index, &all); /* of equal keys the last one stays: that of the batch */
    copse_device_pairs_free(index, &all);
    return status;
}

copse_status copse_implicit_device_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                          uint32_t flags, uint64_t *out_inserted)
{
    const uint64_t before = copse_implicit_device_of(index)->view.entries;
    copse_device_pairs batch;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    if (flags & COPSE_INSERT_IF_ABSENT) equal = COPSE_EQUAL_FIRST;
    copse_status status =
        copse_device_pairs_make(index, keys, values, n, equal, COPSE_PAIRS_WHOLE, "inserting", &batch);
    if (status != COPSE_OK) return status;
    status = before ? merge_in(index, &batch, flags) : tree_replace(index, &batch);
    copse_device_pairs_free(index, &batch);
    if (status == COPSE_OK) *out_inserted = copse_implicit_device_of(index)->view.entries - before;
    return status;
}

copse_status copse_implicit_device_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    const uint64_t before = copse_implicit_device_of(index)->view.entries;
    copse_device_pairs batch, rest;
    copse_status status =
        copse_device_pairs_make(index, keys, NULL, n, COPSE_EQUAL_LAST, COPSE_PAIRS_WHOLE, "erasing", &batch);
    if (status != COPSE_OK) return status;
    if (before == 0) {
        copse_device_pairs_free(index, &batch);
        return COPSE_OK;
    }
    status = entries_out(index, &rest);
    if (status == COPSE_OK) {
        copse_mark_arguments arguments = {
            .tree = copse_implicit_device_of(index)->view, .keys = batch.keys, .n = batch.n};
        status = pairs_mark(index, &rest, &copse_implicit_device_kernels(index)->erase, &arguments);
        if (status == COPSE_OK && rest.n < before) status = tree_replace(index, &rest);
        if (status == COPSE_OK) *out_erased = before - rest.n;
        copse_device_pairs_free(index, &rest);
    }
    copse_device_pairs_free(index, &batch);
    return status;
}

/* --- mixed batches --------------------------------------------------------------------------------------------------------- */

/* The changes that put a value, as pairs. */
static copse_status changes_put(const copse_index *index, const copse_mixed_changes *changes, copse_device_pairs *out)
{
    copse_device *device = index->device;
    const uint64_t n = changes->n;
    void *stays = NULL;
    *out = (copse_device_pairs){.n = n,
                                .keys = changes->keys,
                                .values = changes->values,
                                .key_type = copse_device_pairs_type(index),
                                .unique = true};
    if (!changes->rows) return COPSE_OK;
    out->bytes[0] = n * copse_value_width(index->value_type);
    copse_status status =
        copse_device_alloc(device, device->main, out->bytes[0], "the changes of the batch", &out->memory[0]);
    if (status == COPSE_OK) status = copse_device_alloc(device, device->main, n, "the changes of the batch", &stays);
    copse_mixed_gather_arguments arguments = {.n = n,
                                              .rows = changes->rows,
                                              .values = changes->values,
                                              .gone = changes->gone,
                                              .out_values = out->memory[0],
                                              .out_stays = stays};
    out->values = out->memory[0];
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, device->main, &copse_mixed_kernels_on(device, copse_device_pair(index))->gather,
                                copse_device_blocks(device, n), &arguments);
    if (status == COPSE_OK) status = pairs_select(index, out, stays);
    copse_device_free(device, device->main, stays, n);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

/* What is left of the tree, and what the batch puts, in one new tree. Where keys leave, `rest` has none of those that change;
 * else of equal keys the one of the batch stays. */
static copse_status join(copse_index *index, copse_device_pairs *rest, copse_device_pairs *put, bool unique)
{
    copse_device_pairs all;
    if (rest->n == 0 || put->n == 0) return tree_replace(index, rest->n ? rest : put);
    copse_status status = copse_device_pairs_merge(index, rest, put, &all);
    if (status != COPSE_OK) return status;
    all.unique = unique;
    copse_device_pairs_free(index, rest); /* the new tree may need its memory */
    status = tree_replace(index, &all);
    copse_device_pairs_free(index, &all);
    return status;
}

static copse_status change_entries(copse_index *index, const copse_mixed_changes *changes, copse_device_pairs *put)
{
    copse_device_pairs rest;
    copse_status status = entries_out(index, &rest);
    if (status != COPSE_OK) return status;
    copse_mark_arguments arguments = {
        .tree = copse_implicit_device_of(index)->view, .keys = changes->keys, .n = changes->n};
    if (changes->rows) status = pairs_mark(index, &rest, &copse_implicit_device_kernels(index)->erase, &arguments);
    if (status == COPSE_OK) status = join(index, &rest, put, changes->rows != NULL);
    copse_device_pairs_free(index, &rest);
    return status;
}

static copse_status change(copse_index *index, const copse_mixed_changes *changes)
{
    copse_device_pairs put;
    copse_status status = changes_put(index, changes, &put);
    if (status != COPSE_OK) return status;
    status = copse_implicit_device_of(index)->view.entries ? change_entries(index, changes, &put)
                                                           : tree_replace(index, &put);
    copse_device_pairs_free(index, &put);
    return status;
}

const copse_mixed_structure copse_implicit_device_mixed = {
    .look_up = copse_implicit_device_look_up, .change = change, .entries = entries_out, .replace = tree_replace};

copse_status copse_implicit_device_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                         const void *values, uint64_t n, void *out_values, uint8_t *out_found)
{
    const copse_mixed_call call = {operations, keys, values, n, out_values, out_found, false};
    return copse_device_mixed(index, &copse_implicit_device_mixed, &call);
}

copse_status copse_implicit_device_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                               uint64_t *out_erased)
{
    return copse_device_erase_pairs(index, &copse_implicit_device_mixed, keys, values, n, out_erased);
}
