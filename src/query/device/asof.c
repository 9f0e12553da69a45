/*
 * As-of joins on a device: right rows by group and, in each, by key, then a binary search for each left row.
 *
 *   right    key  5 3 9 4      by key 3 4 5 9     by group, stably   A: 3 9   B: 4 5     codes
 *            by   B A A B         by  A B B A                        ^0       ^2         where groups begin
 */
#include "query/device/device.h"

#include "core/widths.h"
#include "primitives/primitives.h"

typedef struct asof_join {
    copse_joined *join;
    copse_device *device;
    const copse_card_kernels *kernels;
    copse_card_memory memory;
    copse_card_asof_arguments search;
} asof_join;

/* The codes of the groups of these rows, and their places in the list. */
static copse_status group_codes(asof_join *a, const copse_card_rows *rows, uint64_t **codes, uint32_t **places)
{
    copse_card_keys_arguments keys = {.column = copse_card_column_of(a->join->right, a->join->right_by),
                                      .rows = rows->rows,
                                      .n = rows->n,
                                      .positions = 1};
    copse_status status = copse_card_take(&a->memory, rows->n, sizeof **codes, &keys.keys);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, rows->n, sizeof **places, &keys.values);
    if (status == COPSE_OK) status = copse_card_launch(a->device, &a->kernels->keys, rows->n, &keys);
    *codes = keys.keys;
    *places = keys.values;
    return status;
}

/* The groups of sorted codes, and where each begins. */
static copse_status list_groups(asof_join *a, const uint64_t *groups, uint32_t *numbers, uint64_t n)
{
    copse_device *device = a->device;
    uint64_t *codes = NULL, *count = NULL;
    uint32_t *starts = NULL;
    copse_status status = copse_card_take(&a->memory, n, sizeof *codes, &codes);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, n, sizeof *starts, &starts);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, 1, sizeof *count, &count);
    if (status == COPSE_OK)
        status = device->backend->primitives->unique_pairs(device, device->main, copse_width_pair(8, 4), groups,
                                                           numbers, codes, starts, n, COPSE_UNIQUE_FIRST, count);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &a->search.groups, count, sizeof *count);
    a->search.group_codes = codes;
    a->search.group_starts = starts;
    return status;
}

static copse_status sort_groups(asof_join *a, uint64_t *codes, const copse_card_rows *sorted)
{
    uint64_t *groups = NULL, *picked = NULL;
    uint32_t *order = NULL, *numbers = NULL, *rows = NULL;
    const uint64_t n = sorted->n;
    copse_status status = group_codes(a, sorted, &groups, &order);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, n, sizeof *numbers, &numbers);
    if (status == COPSE_OK) status = copse_device_copy(a->device, a->device->main, numbers, order, n * sizeof *numbers);
    if (status == COPSE_OK) status = copse_card_sort(&a->memory, &groups, &order, n);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, n, sizeof *picked, &picked);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, n, sizeof *rows, &rows);
    const copse_card_pick_arguments pick = {order, n, codes, picked, sorted->rows, rows};
    if (status == COPSE_OK) status = copse_card_launch(a->device, &a->kernels->pick, n, &pick);
    a->search.codes = picked;
    a->search.rows = rows;
    return status == COPSE_OK ? list_groups(a, groups, numbers, n) : status;
}

static copse_status sort_right(asof_join *a)
{
    const copse_joined *join = a->join;
    copse_card_rows rows = {0};
    uint64_t *codes = NULL;
    copse_status status =
        copse_card_sort_column(join->right, join->right_on, join->right_by, &a->memory, &codes, &rows);
    a->search.codes = codes;
    a->search.rows = rows.rows;
    a->search.right = rows.n;
    return status == COPSE_OK && join->right_by != COPSE_NO_COLUMN ? sort_groups(a, codes, &rows) : status;
}

static copse_status list_pairs(asof_join *a)
{
    copse_joined *join = a->join;
    copse_card_rows rows = {0};
    copse_status status = copse_card_used(join->left, COPSE_NO_COLUMN, COPSE_NO_COLUMN, &a->memory, &rows);
    copse_card_pair_arguments pair = {.left = rows.rows, .partners = a->search.partners, .n = rows.n};
    if (status == COPSE_OK) status = copse_card_take(&a->memory, rows.n, sizeof(uint64_t), &pair.out_left);
    if (status == COPSE_OK) status = copse_card_take(&a->memory, rows.n, sizeof(uint64_t), &pair.out_right);
    if (status == COPSE_OK) status = copse_card_launch(a->device, &a->kernels->pair, rows.n, &pair);
    if (status == COPSE_OK) copse_card_pairs_take(join->pairs, &a->memory, pair.out_left, pair.out_right, rows.n);
    return status;
}

copse_status copse_card_join_asof(copse_joined *join, bool limited, uint64_t whole, double number)
{
    asof_join a = {.join = join, .device = copse_card_of(join->left)};
    a.memory.device = a.device;
    a.kernels = copse_card_kernels_on(a.device);
    a.search = (copse_card_asof_arguments){.counts = copse_column_is_text(&join->left->columns[join->left_on]),
                                           .alive = copse_card_alive(join->left),
                                           .n = join->left->slots,
                                           .limited = limited,
                                           .tolerance = whole,
                                           .distance = number};
    copse_status status =
        copse_card_left_column(join->left, join->left_on, join->right, join->right_on, true, &a.memory, &a.search.on);
    if (status == COPSE_OK && join->left_by != COPSE_NO_COLUMN)
        status = copse_card_left_column(join->left, join->left_by, join->right, join->right_by, false, &a.memory,
                                        &a.search.by);
    if (status == COPSE_OK) status = sort_right(&a);
    if (status == COPSE_OK)
        status = copse_card_take(&a.memory, a.search.n, sizeof *a.search.partners, &a.search.partners);
    if (status == COPSE_OK) status = copse_card_launch(a.device, &a.kernels->asof, a.search.n, &a.search);
    if (status == COPSE_OK) status = list_pairs(&a);
    copse_card_release(&a.memory);
    return status;
}
