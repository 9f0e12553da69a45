/* The CPU driver: building and updating. The tree is given a sorted batch whose equal keys are resolved. */
#include "cpu/driver.h"

copse_status copse_cpu_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_batch batch;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    copse_status status = copse_batch_make(index, keys, values, n, equal, false, "building", &batch);
    if (status != COPSE_OK) return status;
    status = copse_cpu_tree_of(index)->build(index, &batch);
    copse_batch_free(index->ctx, &batch);
    return status;
}

copse_status copse_cpu_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                              uint64_t *out_inserted)
{
    copse_batch batch;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    if (flags & COPSE_INSERT_IF_ABSENT) equal = COPSE_EQUAL_FIRST;
    copse_status status = copse_batch_make(index, keys, values, n, equal, true, "inserting", &batch);
    if (status != COPSE_OK) return status;
    status = copse_cpu_tree_of(index)->insert(index, &batch, flags, out_inserted);
    copse_batch_free(index->ctx, &batch);
    return status;
}

copse_status copse_cpu_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    copse_batch batch;
    copse_status status = copse_batch_make(index, keys, NULL, n, COPSE_EQUAL_LAST, true, "erasing", &batch);
    if (status != COPSE_OK) return status;
    status = copse_cpu_tree_of(index)->erase(index, &batch, out_erased);
    copse_batch_free(index->ctx, &batch);
    return status;
}
