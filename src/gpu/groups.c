/*
 * Groups of equal keys on a device. Trees there know how to add entries and how to take whole groups away; for everything between
 * these the host brings all entries out, sorted as they are, marks those that go, merges what comes, and makes the tree anew. That
 * is a pass over the tree, and it is all or nothing.
 */
#include "gpu/groups.h"
#include "gpu/batch.h"
#include "gpu/group_kernels.h"
#include "gpu/scratch.h"

COPSE_PICK_KERNEL_ROW(copse_group_kernels)

static const copse_group_kernels *kernels_of(const copse_index *index)
{
    return copse_group_kernels_on(index->device, copse_device_pair(index));
}

static copse_status launch(const copse_index *index, const copse_kernel *kernel, uint64_t n, const void *arguments)
{
    return copse_device_launch(index->device, index->device->main, kernel, copse_device_blocks(index->device, n),
                               arguments);
}

/* --- pairs ------------------------------------------------------------------------------------------------------------------ */

copse_status copse_device_pairs_bounds(const copse_index *index, copse_device_pairs *pairs)
{
    copse_device *device = index->device;
    const size_t width = copse_type_size(index->key_type);
    const char *keys = pairs->keys;
    pairs->low = pairs->high = 0;
    if (pairs->n == 0) return COPSE_OK;
    /* Little endian: a shorter key fills the lower half. */
    copse_status status = copse_device_copy(device, device->main, &pairs->low, keys, width);
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, &pairs->high, keys + (pairs->n - 1) * width, width);
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

copse_status copse_device_pairs_select(const copse_index *index, const copse_device_pairs *from, const uint8_t *keep,
                                       copse_device_pairs *out)
{
    copse_device *device = index->device;
    copse_device_survey *count = NULL;
    void *keys, *values;
    *out = (copse_device_pairs){.key_type = from->key_type, .unique = from->unique};
    copse_status status = copse_device_survey_make(device, &count);
    if (status == COPSE_OK) status = copse_device_pairs_room(index, out, from->n, &keys, &values);
    if (status == COPSE_OK)
        status = device->backend->primitives->select_pairs(device, device->main, copse_device_pair(index), from->keys,
                                                           from->values, keep, keys, values, from->n, &count->count);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &out->n, &count->count, sizeof out->n);
    if (count) copse_device_survey_free(device, count);
    if (status != COPSE_OK) {
        copse_device_pairs_free(index, out);
        return status;
    }
    out->keys = keys;
    out->values = values;
    return COPSE_OK;
}

copse_status copse_device_pairs_merge(const copse_index *index, const copse_device_pairs *first,
                                      const copse_device_pairs *second, copse_device_pairs *out)
{
    copse_device *device = index->device;
    void *keys, *values;
    *out = (copse_device_pairs){.n = first->n + second->n, .key_type = second->key_type};
    copse_status status = copse_device_pairs_room(index, out, out->n, &keys, &values);
    out->keys = keys;
    out->values = values;
    if (status == COPSE_OK)
        status = device->backend->primitives->merge_pairs(device, device->main, copse_device_pair(index), first->keys,
                                                          first->values, first->n, second->keys, second->values,
                                                          second->n, keys, values);
    if (status != COPSE_OK) copse_device_pairs_free(index, out);
    return status;
}

/* All entries of the tree; none of an empty one. */
static copse_status entries_of(const copse_index *index, const copse_mixed_structure *structure,
                               copse_device_pairs *out)
{
    *out = (copse_device_pairs){.key_type = copse_device_pairs_type(index)};
    return copse_size(index) ? structure->entries(index, out) : COPSE_OK;
}

/* Lets only those stay that are marked. */
static copse_status keep_marked(const copse_index *index, copse_device_pairs *pairs, const uint8_t *keep)
{
    copse_device_pairs kept;
    copse_status status = copse_device_pairs_select(index, pairs, keep, &kept);
    if (status != COPSE_OK) return status;
    copse_device_pairs_free(index, pairs);
    *pairs = kept;
    return COPSE_OK;
}

static copse_status replace(copse_index *index, const copse_mixed_structure *structure, copse_device_pairs *pairs)
{
    copse_status status = copse_device_pairs_bounds(index, pairs);
    return status == COPSE_OK ? structure->replace(index, pairs) : status;
}

/* --- changes of groups ------------------------------------------------------------------------------------------------------ */

/* What is left of the entries. */
static copse_status mark(const copse_index *index, const copse_group_changes *changes, copse_device_pairs *entries)
{
    copse_device *device = index->device;
    void *keep = NULL;
    const uint64_t n = entries->n;
    if (n == 0) return COPSE_OK;
    copse_status status = copse_device_alloc(device, device->main, n, "the update", &keep);
    const copse_group_arguments arguments = {.entries = n,
                                             .entry_keys = entries->keys,
                                             .entry_values = (void *)(uintptr_t)entries->values,
                                             .keep = keep,
                                             .n = changes->n,
                                             .keys = changes->keys,
                                             .does = changes->does,
                                             .firsts = changes->firsts};
    if (status == COPSE_OK) status = launch(index, &kernels_of(index)->mark, n, &arguments);
    if (status == COPSE_OK) status = keep_marked(index, entries, keep);
    copse_device_free(device, device->main, keep, n);
    return status;
}

/* Merges what comes behind what stayed. */
static copse_status add(const copse_index *index, const copse_group_changes *changes, copse_device_pairs *entries)
{
    const copse_device_pairs batch = {
        .n = changes->n, .keys = changes->keys, .values = changes->values, .key_type = entries->key_type};
    copse_device_pairs come, all;
    copse_status status = copse_device_pairs_select(index, &batch, changes->added, &come);
    if (status != COPSE_OK) return status;
    if (come.n == 0) {
        copse_device_pairs_free(index, &come);
        return COPSE_OK;
    }
    if (entries->n == 0) {
        copse_device_pairs_free(index, entries);
        *entries = come;
        return COPSE_OK;
    }
    status = copse_device_pairs_merge(index, entries, &come, &all);
    copse_device_pairs_free(index, &come);
    if (status != COPSE_OK) return status;
    copse_device_pairs_free(index, entries); /* the new tree may need its memory */
    *entries = all;
    return COPSE_OK;
}

copse_status copse_device_groups_change(copse_index *index, const copse_mixed_structure *structure,
                                        const copse_group_changes *changes)
{
    copse_device_pairs entries;
    copse_status status = entries_of(index, structure, &entries);
    if (status == COPSE_OK) status = mark(index, changes, &entries);
    if (status == COPSE_OK) status = add(index, changes, &entries);
    if (status == COPSE_OK) status = replace(index, structure, &entries);
    copse_device_pairs_free(index, &entries);
    return status;
}

/* --- erasing pairs, keys that are there once ------------------------------------------------------------------------------- */

/* Lets only those pairs of the batch stay that the tree has. */
static copse_status keep_same(const copse_index *index, const copse_mixed_structure *structure,
                              copse_device_pairs *batch)
{
    const uint64_t n = batch->n;
    void *standing = NULL, *there = NULL, *same = NULL;
    const copse_scratch_array pieces[] = {
        {&standing, n * copse_value_width(index->value_type)}, {&there, n}, {&same, n}};
    copse_scratch scratch;
    copse_status status = copse_scratch_take(index->device, "erasing pairs", pieces, 3, &scratch);
    if (status == COPSE_OK) status = structure->look_up(index, batch->keys, n, standing, there);
    const copse_group_arguments arguments = {
        .n = n, .values = batch->values, .standing = standing, .there = there, .same = same};
    if (status == COPSE_OK) status = launch(index, &kernels_of(index)->compare, n, &arguments);
    if (status == COPSE_OK) status = keep_marked(index, batch, same);
    copse_scratch_free(index->device, &scratch);
    return status;
}

/* Takes all of these keys away, which are there. */
static copse_status erase_keys(copse_index *index, const copse_mixed_structure *structure, copse_device_pairs *pairs)
{
    void *rows = NULL, *gone = NULL;
    const copse_scratch_array pieces[] = {{&rows, pairs->n * sizeof(uint32_t)}, {&gone, pairs->n}};
    copse_scratch scratch;
    copse_status status = copse_scratch_take(index->device, "erasing pairs", pieces, 2, &scratch);
    const copse_group_rows_arguments arguments = {.n = pairs->n, .rows = rows, .gone = gone};
    if (status == COPSE_OK) status = launch(index, &kernels_of(index)->rows, pairs->n, &arguments);
    if (status == COPSE_OK) status = copse_device_pairs_bounds(index, pairs);
    const copse_mixed_changes changes = {.n = pairs->n,
                                         .keys = pairs->keys,
                                         .rows = rows,
                                         .values = pairs->values,
                                         .gone = gone,
                                         .low = pairs->low,
                                         .high = pairs->high};
    if (status == COPSE_OK) status = structure->change(index, &changes);
    copse_scratch_free(index->device, &scratch);
    return status;
}

static copse_status erase_unique(copse_index *index, const copse_mixed_structure *structure, copse_device_pairs *batch,
                                 uint64_t *out_erased)
{
    copse_status status = keep_same(index, structure, batch);
    if (status != COPSE_OK || batch->n == 0) return status;
    status = copse_device_pairs_unique(index, batch, COPSE_EQUAL_LAST);
    if (status == COPSE_OK) status = erase_keys(index, structure, batch);
    if (status == COPSE_OK) *out_erased = batch->n;
    return status;
}

/* --- erasing pairs, duplicates ------------------------------------------------------------------------------------------- */

/* Pairs by key, then by value, then as they were. */
typedef struct ordered {
    uint64_t n;
    void *keys, *values;
    uint64_t *numbers; /* where each was */
    copse_scratch scratch;
} ordered;

static copse_status gather(const copse_index *index, const copse_kernel *kernel, uint64_t n, const void *in,
                           const uint64_t *numbers, const uint64_t *through, void *out)
{
    const copse_group_gather_arguments arguments = {
        .n = n, .in = in, .numbers = numbers, .through = through, .out = out};
    return launch(index, kernel, n, &arguments);
}

/* Orders n of the pairs, which have these numbers (NULL: all), by a stable sort by value and then one by key. */
static copse_status order(const copse_index *index, const copse_device_pairs *pairs, const uint64_t *numbers,
                          uint64_t n, ordered *out)
{
    copse_device *device = index->device;
    const copse_primitives *primitives = device->backend->primitives;
    const copse_group_kernels *kernels = kernels_of(index);
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    void *keys = NULL, *values = NULL, *first = NULL, *second = NULL, *out_numbers = NULL;
    *out = (ordered){.n = n};
    const copse_scratch_array pieces[] = {{&keys, n * key},     {&values, n * value},  {&first, n * 8},
                                          {&second, n * 8},     {&out->keys, n * key}, {&out->values, n * value},
                                          {&out_numbers, n * 8}};
    copse_status status =
        copse_scratch_take(device, "erasing pairs", pieces, sizeof pieces / sizeof *pieces, &out->scratch);
    if (status == COPSE_OK) status = gather(index, &kernels->gather_values, n, pairs->values, numbers, NULL, values);
    if (status == COPSE_OK) status = gather(index, &kernels->gather_numbers, n, NULL, numbers, NULL, first);
    if (status == COPSE_OK)
        status = primitives->sort_pairs(device, device->main, copse_width_pair(value, 8), values, first, out->values,
                                        second, n, 0, (unsigned)value * 8);
    if (status == COPSE_OK) status = gather(index, &kernels->gather_keys, n, pairs->keys, second, NULL, keys);
    if (status == COPSE_OK)
        status = primitives->sort_pairs(device, device->main, copse_width_pair(key, 8), keys, second, out->keys,
                                        out_numbers, n, 0, (unsigned)key * 8);
    if (status == COPSE_OK)
        status = gather(index, &kernels->gather_values, n, pairs->values, out_numbers, NULL, out->values);
    out->numbers = out_numbers;
    return status;
}

/* The entries whose keys are in the batch, as numbers; marks all entries to stay. */
static copse_status candidates(const copse_index *index, const copse_device_pairs *batch,
                               const copse_device_pairs *entries, uint64_t *numbers, uint8_t *keep, uint64_t *out_n)
{
    copse_device *device = index->device;
    const uint64_t n = entries->n;
    void *all = NULL, *chosen = NULL, *keys = NULL, *count = NULL;
    const copse_scratch_array pieces[] = {
        {&all, n * 8}, {&chosen, n}, {&keys, n * copse_type_size(index->key_type)}, {&count, sizeof *out_n}};
    copse_scratch scratch;
    copse_status status = copse_scratch_take(device, "erasing pairs", pieces, 4, &scratch);
    const copse_group_arguments arguments = {.entries = n,
                                             .entry_keys = entries->keys,
                                             .keep = keep,
                                             .n = batch->n,
                                             .keys = batch->keys,
                                             .numbers = all,
                                             .chosen = chosen};
    if (status == COPSE_OK) status = launch(index, &kernels_of(index)->candidates, n, &arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->select_pairs(device, device->main,
                                                           copse_width_pair(copse_type_size(index->key_type), 8),
                                                           entries->keys, all, chosen, keys, numbers, n, count);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, out_n, count, sizeof *out_n);
    copse_scratch_free(device, &scratch);
    return status;
}

/* Marks the entries that go. */
static copse_status take(const copse_index *index, const copse_device_pairs *batch, const copse_device_pairs *entries,
                         const uint64_t *numbers, uint64_t n, uint8_t *keep)
{
    ordered own = {0}, wanted = {0};
    copse_status status = order(index, entries, numbers, n, &own);
    if (status == COPSE_OK) status = order(index, batch, NULL, batch->n, &wanted);
    const copse_group_take_arguments arguments = {.entries = n,
                                                  .entry_keys = own.keys,
                                                  .entry_values = own.values,
                                                  .numbers = own.numbers,
                                                  .n = wanted.n,
                                                  .keys = wanted.keys,
                                                  .values = wanted.values,
                                                  .keep = keep};
    if (status == COPSE_OK) status = launch(index, &kernels_of(index)->take, n, &arguments);
    copse_scratch_free(index->device, &own.scratch);
    copse_scratch_free(index->device, &wanted.scratch);
    return status;
}

/* Takes the pairs out of the entries. */
static copse_status take_out(const copse_index *index, const copse_device_pairs *batch, copse_device_pairs *entries)
{
    void *numbers = NULL, *keep = NULL;
    uint64_t n = 0;
    const copse_scratch_array pieces[] = {{&numbers, entries->n * 8}, {&keep, entries->n}};
    copse_scratch scratch;
    copse_status status = copse_scratch_take(index->device, "erasing pairs", pieces, 2, &scratch);
    if (status == COPSE_OK) status = candidates(index, batch, entries, numbers, keep, &n);
    if (status == COPSE_OK && n) status = take(index, batch, entries, numbers, n, keep);
    if (status == COPSE_OK && n) status = keep_marked(index, entries, keep);
    copse_scratch_free(index->device, &scratch);
    return status;
}

static copse_status erase_groups(copse_index *index, const copse_mixed_structure *structure,
                                 const copse_device_pairs *batch, uint64_t *out_erased)
{
    copse_device_pairs entries;
    copse_status status = entries_of(index, structure, &entries);
    const uint64_t before = entries.n;
    if (status == COPSE_OK && before) status = take_out(index, batch, &entries);
    if (status == COPSE_OK && entries.n < before) status = replace(index, structure, &entries);
    if (status == COPSE_OK) *out_erased = before - entries.n;
    copse_device_pairs_free(index, &entries);
    return status;
}

copse_status copse_device_erase_pairs(copse_index *index, const copse_mixed_structure *structure, const void *keys,
                                      const void *values, uint64_t n, uint64_t *out_erased)
{
    copse_device_pairs batch;
    if (n > UINT32_MAX)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_erase_pairs: n is %llu, and on a device it is at most %llu", (unsigned long long)n,
                          (unsigned long long)UINT32_MAX);
    copse_status status =
        copse_device_pairs_make(index, keys, values, n, COPSE_EQUAL_ALL, COPSE_PAIRS_WHOLE, "erasing", &batch);
    if (status != COPSE_OK) return status;
    status = index->duplicates ? erase_groups(index, structure, &batch, out_erased)
                               : erase_unique(index, structure, &batch, out_erased);
    copse_device_pairs_free(index, &batch);
    return status;
}
