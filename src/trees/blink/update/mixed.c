/* Mixed batches of the B-link and the B+ tree on a device. */
#include "trees/blink/update/strategies.h"
#include "gpu/groups.h"
#include "gpu/points.h"

/* The writer itself looks, so that no other kernel is at work on the leaves. */
static copse_status look_up(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    const copse_blink_tree *tree = &copse_blink_handle_of(index)->tree->current->view;
    copse_blink_point_arguments arguments = {.tree = *tree};
    copse_point_call call = {index, &copse_blink_kernels_of(index)->find[tree->levels.digest][tree->branches],
                             &arguments, &arguments.queries};
    arguments.tree.key_type = copse_device_pairs_type(index);
    return copse_point_call_encoded(&call, keys, n, values, found);
}

copse_status copse_blink_run(copse_index *index, const copse_blink_operations *operations, uint64_t low, uint64_t high,
                             uint64_t *out_changed)
{
    copse_blink_update u = {.index = index,
                            .mixed = operations,
                            .action = operations->action,
                            .erases = operations->gone || operations->action == COPSE_ACTION_ERASE,
                            .brought = true,
                            .sorted = true,
                            .pairs = {.n = operations->n, .low = low, .high = high}};
    copse_status status = copse_blink_update_run(&u);
    *out_changed = u.changed;
    return status;
}

static copse_status change(copse_index *index, const copse_mixed_changes *changes)
{
    uint64_t changed;
    const copse_blink_operations operations = {.keys = changes->keys,
                                               .values = changes->values,
                                               .row = changes->rows,
                                               .gone = changes->gone,
                                               .action = COPSE_ACTION_UPSERT,
                                               .last_wins = 2,
                                               .n = changes->n};
    return copse_blink_run(index, &operations, changes->low, changes->high, &changed);
}

static copse_status entries(const copse_index *index, copse_device_pairs *out)
{
    void *keys, *values;
    *out = (copse_device_pairs){.n = copse_blink_handle_of(index)->tree->current->view.entries,
                                .key_type = copse_device_pairs_type(index)};
    copse_status status = copse_device_pairs_room(index, out, out->n, &keys, &values);
    if (status == COPSE_OK) status = copse_blink_entries_encoded(index, keys, values);
    out->keys = keys;
    out->values = values;
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

static copse_status replace(copse_index *index, copse_device_pairs *pairs)
{
    copse_blink_epoch *epoch = NULL;
    copse_status status = copse_blink_fill(index, pairs, &epoch);
    if (status == COPSE_OK) copse_blink_preallocate_all(index, epoch);
    return copse_blink_replace(index, epoch, status);
}

const copse_mixed_structure copse_blink_mixed = {
    .look_up = look_up, .change = change, .entries = entries, .replace = replace};

copse_status copse_blink_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    pthread_mutex_lock(&tree->writer);
    copse_status status = copse_device_erase_pairs(index, &copse_blink_mixed, keys, values, n, out_erased);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

copse_status copse_blink_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const copse_mixed_call call = {operations, keys, values, n, out_values, out_found, false};
    pthread_mutex_lock(&tree->writer);
    copse_status status = copse_device_mixed(index, &copse_blink_mixed, &call);
    pthread_mutex_unlock(&tree->writer);
    return status;
}
