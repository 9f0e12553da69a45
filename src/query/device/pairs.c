/* Pairs that a join left in device memory, or to be listed. */
#include "query/device/device.h"

#include "core/widths.h"
#include "primitives/primitives.h"

static copse_status ascends(copse_card_memory *memory, const uint64_t *left, const uint64_t *right, uint64_t n,
                            bool *out)
{
    copse_device *device = memory->device;
    uint32_t *flag = NULL, falls = 0;
    copse_status status = copse_card_take(memory, 1, sizeof *flag, &flag);
    const copse_card_ascend_arguments ascend = {left, right, n, flag};
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, flag, 0, sizeof *flag);
    if (status == COPSE_OK) status = copse_card_launch(device, &copse_card_kernels_on(device)->ascend, n, &ascend);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &falls, flag, sizeof falls);
    *out = !falls;
    return status;
}

/* By right row, then, stably, by left row. */
copse_status copse_card_pairs_order(copse_card_memory *memory, uint64_t **left, uint64_t **right, uint64_t n)
{
    copse_device *device = memory->device;
    void *other_left = NULL, *other_right = NULL;
    bool done = true;
    copse_status status = n > 1 ? ascends(memory, *left, *right, n, &done) : COPSE_OK;
    if (status != COPSE_OK || done) return status;
    status = copse_card_take(memory, n, sizeof **left, &other_left);
    if (status == COPSE_OK) status = copse_card_take(memory, n, sizeof **right, &other_right);
    void *lefts[2] = {*left, other_left}, *rights[2] = {*right, other_right};
    unsigned where = 0;
    /* All bits: a left row without a partner has the largest number, and is alone. */
    if (status == COPSE_OK)
        status = device->backend->primitives->sort_pairs_between(device, device->main, copse_width_pair(8, 8), rights,
                                                                 lefts, n, 0, 64, &where);
    if (status != COPSE_OK) return status;
    void *again_left[2] = {lefts[where], lefts[!where]}, *again_right[2] = {rights[where], rights[!where]};
    status = device->backend->primitives->sort_pairs_between(device, device->main, copse_width_pair(8, 8), again_left,
                                                             again_right, n, 0, 33, &where);
    *left = again_left[where];
    *right = again_right[where];
    return status;
}

void copse_card_pairs_take(copse_pairs *pairs, copse_card_memory *memory, uint64_t *left, uint64_t *right, uint64_t n)
{
    pairs->device = memory->device;
    pairs->device_left = left;
    pairs->device_right = right;
    pairs->device_left_bytes = copse_card_keep(memory, left);
    pairs->device_right_bytes = copse_card_keep(memory, right);
    pairs->n = n;
}

void copse_pairs_drop(copse_pairs *pairs)
{
    if (!pairs->device) return;
    copse_device *device = pairs->device;
    copse_device_free(device, device->main, pairs->device_left, pairs->device_left_bytes);
    copse_device_free(device, device->main, pairs->device_right, pairs->device_right_bytes);
    pairs->device = NULL;
}

static copse_status list_numbers(copse_pairs *pairs)
{
    copse_status status = copse_pairs_reserve(pairs, pairs->n);
    for (uint64_t i = 0; status == COPSE_OK && i < pairs->n; i++) ((uint64_t *)pairs->left.data)[i] = i;
    return status;
}

static copse_status fetch(copse_pairs *pairs)
{
    if (pairs->left_is_number) return list_numbers(pairs);
    copse_device *device = pairs->device;
    const uint64_t bytes = pairs->n * sizeof(uint64_t);
    copse_status status = copse_pairs_reserve(pairs, pairs->n);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, pairs->left.data, pairs->device_left, bytes);
    if (status == COPSE_OK && pairs->has_right)
        status = copse_device_read(device, device->main, pairs->right.data, pairs->device_right, bytes);
    return status;
}

copse_status copse_pairs_fetch(const copse_pairs *pairs)
{
    /* Threads may ask at the same time, and rarely do: one lock for all pairs is enough. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    copse_status status = COPSE_OK;
    if (!pairs->device && !pairs->left_is_number) return COPSE_OK;
    pthread_mutex_lock(&lock);
    if (!pairs->fetched) {
        copse_pairs *own = (copse_pairs *)(uintptr_t)pairs; /* ours: copse_join made it */
        status = fetch(own);
        own->fetched = status == COPSE_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- a table of them ---- */

static copse_status list_side(const copse_pairs *pairs, const copse_table *from, bool right, copse_card_memory *memory,
                              copse_card_rows *rows, bool *out_there)
{
    copse_device *device = memory->device;
    uint32_t *flag = NULL, beyond = 0;
    copse_status status = copse_card_take(memory, pairs->n, sizeof *rows->rows, &rows->rows);
    if (status == COPSE_OK) status = copse_card_take(memory, 1, sizeof *flag, &flag);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, flag, 0, sizeof *flag);
    rows->n = pairs->n;
    const copse_card_narrow_arguments narrow = {right ? pairs->device_right : pairs->device_left, rows->n, from->slots,
                                                rows->rows, flag};
    if (status == COPSE_OK)
        status = copse_card_launch(device, &copse_card_kernels_on(device)->narrow, rows->n, &narrow);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &beyond, flag, sizeof beyond);
    *out_there = !beyond;
    return status;
}

copse_status copse_card_gather_side(const copse_pairs *pairs, const copse_table *from, bool right, copse_table *out,
                                    uint32_t first, bool *out_done)
{
    copse_card_memory memory = {.device = pairs->device};
    copse_card_rows rows = {0};
    *out_done = false;
    if (!pairs->device || copse_card_of(from) != pairs->device) return COPSE_OK;
    copse_status status = list_side(pairs, from, right, &memory, &rows, out_done);
    for (uint32_t i = 0; status == COPSE_OK && *out_done && i < from->column_count; i++)
        status = copse_card_fetch(from, i, &rows, &memory, &out->columns[first + i]);
    copse_card_release(&memory);
    return status;
}

const uint64_t *copse_pairs_device_left(const copse_pairs *pairs)
{
    return pairs && pairs->device ? pairs->device_left : NULL;
}

const uint64_t *copse_pairs_device_right(const copse_pairs *pairs)
{
    return pairs && pairs->device ? pairs->device_right : NULL;
}
