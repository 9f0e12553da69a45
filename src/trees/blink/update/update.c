/* The calls that change a B-link or a B+ tree on a device. */
#include "trees/blink/update/strategies.h"

copse_status copse_blink_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    copse_device_pairs pairs;
    copse_blink_epoch *epoch = NULL;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    copse_status status = copse_device_pairs_make(index, keys, values, n, equal, COPSE_PAIRS_WHOLE, "building", &pairs);
    if (status != COPSE_OK) return status;
    status = copse_blink_fill(index, &pairs, &epoch);
    copse_device_pairs_free(index, &pairs);
    if (status == COPSE_OK) copse_blink_preallocate_all(index, epoch);
    pthread_mutex_lock(&tree->writer);
    status = copse_blink_replace(index, epoch, status);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

static copse_status update(copse_blink_update *u, uint64_t n, uint64_t *out_changed)
{
    copse_blink *tree = copse_blink_handle_of(u->index)->tree;
    u->pairs.n = n;
    u->what = u->erases ? "erasing" : "inserting";
    pthread_mutex_lock(&tree->writer);
    copse_status status = copse_blink_update_run(u);
    pthread_mutex_unlock(&tree->writer);
    *out_changed = u->changed;
    return status;
}

copse_status copse_blink_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted)
{
    const copse_action action = flags & COPSE_INSERT_IF_ABSENT ? COPSE_ACTION_IF_ABSENT : COPSE_ACTION_UPSERT;
    copse_blink_update u = {.index = index, .keys = keys, .values = values, .action = action};
    return update(&u, n, out_inserted);
}

copse_status copse_blink_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    copse_blink_update u = {.index = index, .keys = keys, .action = COPSE_ACTION_ERASE, .erases = true};
    return update(&u, n, out_erased);
}
