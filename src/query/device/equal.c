/* Joins of equal keys on a device: all keys of the left side are looked up in one batch, and what the index says becomes pairs there. */
#include "query/device/device.h"

#include "core/widths.h"
#include "primitives/primitives.h"

typedef struct equal_join {
    copse_joined *join;
    copse_device *device;
    const copse_card_kernels *kernels;
    copse_card_memory memory;
    const copse_index *tree;
    copse_card_column left;
} equal_join;

bool copse_card_can_join(const copse_joined *join)
{
    copse_device *device = copse_card_of(join->left);
    return device && device == copse_card_of(join->right);
}

/* Keys of rows as an index takes them: where they lie, or a copy in the order of the list. */
static copse_status keys_of(equal_join *e, copse_card_column column, const copse_card_rows *rows, const void **out)
{
    copse_card_gather_arguments gather = {.column = column, .rows = rows->rows, .n = rows->n, .widen = 1};
    *out = gather.column.cells;
    if (!rows->rows && gather.column.width != 1) return COPSE_OK;
    copse_status status = copse_card_take(&e->memory, rows->n, gather.column.width == 8 ? 8 : 4, &gather.out);
    if (status == COPSE_OK) status = copse_card_launch(e->device, &e->kernels->gather, rows->n, &gather);
    *out = gather.out;
    return status;
}

/* ---- an index for the call ---- */

static copse_status make_index(equal_join *e, copse_index **out)
{
    const copse_joined *join = e->join;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_card_rows rows = {0};
    const void *keys = NULL;
    const copse_card_column column = copse_card_column_of(join->right, join->right_on);
    options.key_type = column.type == COPSE_BOOL ? COPSE_U32 : (copse_type)column.type;
    options.value_type = COPSE_U32;
    options.placement = e->device->backend->placement;
    options.updates = COPSE_UPDATES_RARE;
    options.duplicates = 1;
    copse_status status = copse_card_used(join->right, join->right_on, COPSE_NO_COLUMN, &e->memory, &rows);
    if (status == COPSE_OK) status = keys_of(e, column, &rows, &keys);
    if (status == COPSE_OK) status = copse_index_create(join->right->ctx, &options, out);
    if (status == COPSE_OK) status = copse_build(*out, keys, rows.rows, rows.n);
    e->tree = *out;
    copse_card_release(&e->memory); /* the index has what it needs */
    return status;
}

/* ---- one partner at most ---- */

static copse_status join_unique(equal_join *e)
{
    copse_joined *join = e->join;
    const uint64_t n = join->left->slots;
    const uint32_t kind = join->options.kind;
    copse_card_rows all = {NULL, n};
    const void *keys = NULL;
    uint32_t *partners = NULL;
    copse_card_found_arguments found = {.column = e->left, .alive = copse_card_alive(join->left), .n = n, .kind = kind};
    const bool keeps_all = kind == COPSE_JOIN_LEFT && !found.alive;
    copse_card_pair_arguments pair = {0};
    copse_status status = keys_of(e, e->left, &all, &keys);
    if (status == COPSE_OK) status = copse_card_take(&e->memory, n, sizeof *partners, &partners);
    if (status == COPSE_OK) status = copse_card_take(&e->memory, n, 1, &found.found);
    if (status == COPSE_OK && !keeps_all) status = copse_card_take(&e->memory, n, 1, &found.flags);
    if (status == COPSE_OK) status = copse_find(e->tree, keys, n, partners, found.found);
    if (status == COPSE_OK) status = copse_card_launch(e->device, &e->kernels->found, n, &found);
    if (status == COPSE_OK && !keeps_all) status = copse_card_flagged(&e->memory, found.flags, n, &all);
    pair = (copse_card_pair_arguments){all.rows, partners, found.found, all.n, NULL, NULL};
    if (status == COPSE_OK) status = copse_card_take(&e->memory, all.n, sizeof(uint64_t), &pair.out_left);
    if (status == COPSE_OK && join->pairs->has_right)
        status = copse_card_take(&e->memory, all.n, sizeof(uint64_t), &pair.out_right);
    if (status == COPSE_OK) status = copse_card_launch(e->device, &e->kernels->pair, all.n, &pair);
    if (status == COPSE_OK) copse_card_pairs_take(join->pairs, &e->memory, pair.out_left, pair.out_right, all.n);
    return status;
}

/* ---- any number of partners ---- */

/* Rows of each key, as CSR arrays. */
static copse_status find_all(equal_join *e, const void *keys, uint64_t n, copse_rows *out)
{
    uint64_t found = 0;
    uint32_t *rows = NULL;
    copse_status status = copse_card_take(&e->memory, n + 1, sizeof(uint64_t), &out->offsets);
    if (status == COPSE_OK && n == 0)
        return copse_device_fill(e->device, e->device->main, out->offsets, 0, sizeof(uint64_t));
    if (status == COPSE_OK) status = copse_find_all(e->tree, keys, n, out);
    if (status == COPSE_OK)
        status = copse_device_read(e->device, e->device->main, &found, out->offsets + n, sizeof found);
    if (status == COPSE_OK) status = copse_card_take(&e->memory, found, sizeof *rows, &rows);
    if (status != COPSE_OK || found == 0) return status;
    out->values = rows;
    out->capacity = found;
    return copse_find_all(e->tree, keys, n, out);
}

/* Where the pairs of each left row begin, and how many there are. */
static copse_status place_pairs(equal_join *e, const copse_card_rows *rows, const copse_rows *found, uint64_t **places,
                                uint64_t *out_n)
{
    const copse_joined *join = e->join;
    copse_device *device = e->device;
    const uint64_t slots = join->left->slots;
    copse_card_count_arguments count = {.alive = copse_card_alive(join->left), .n = slots, .kind = join->options.kind};
    copse_status status = copse_card_take(&e->memory, slots + 1, sizeof **places, places);
    count.counts = *places;
    if (status == COPSE_OK) status = copse_card_launch(device, &e->kernels->count, slots, &count);
    count.rows = rows->rows;
    count.offsets = found->offsets;
    count.n = rows->n;
    if (status == COPSE_OK) status = copse_card_launch(device, &e->kernels->count, rows->n, &count);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, *places + slots, 0, sizeof **places);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, *places, *places, slots + 1);
    return status == COPSE_OK ? copse_device_read(device, device->main, out_n, *places + slots, sizeof *out_n) : status;
}

static copse_status list_pairs(equal_join *e, const copse_card_rows *rows, const copse_rows *found,
                               const uint64_t *places, uint64_t n)
{
    copse_joined *join = e->join;
    uint64_t *left = NULL, *right = NULL;
    copse_status status = copse_card_take(&e->memory, n, sizeof *left, &left);
    if (status == COPSE_OK && join->pairs->has_right) status = copse_card_take(&e->memory, n, sizeof *right, &right);
    copse_card_list_arguments list = {.places = places, .n = join->left->slots, .out_left = left, .out_right = right};
    if (status == COPSE_OK) status = copse_card_launch(e->device, &e->kernels->list, list.n, &list);
    list.rows = rows->rows;
    list.offsets = found->offsets;
    list.partners = found->values;
    list.n = rows->n;
    if (status == COPSE_OK) status = copse_card_launch(e->device, &e->kernels->list, list.n, &list);
    /* An index that rows were moved in lists those of a key in any order. */
    if (status == COPSE_OK && right) status = copse_card_pairs_order(&e->memory, &left, &right, n);
    if (status == COPSE_OK) copse_card_pairs_take(join->pairs, &e->memory, left, right, n);
    return status;
}

/* As a list also where those are all rows: two kernels of a kind differ by it. */
static copse_status left_rows(equal_join *e, copse_card_rows *out)
{
    const copse_joined *join = e->join;
    copse_card_keys_arguments list = {.column = e->left};
    copse_status status = copse_card_used(join->left, join->left_on, COPSE_NO_COLUMN, &e->memory, out);
    if (status != COPSE_OK || out->rows) return status;
    list.n = out->n;
    status = copse_card_take(&e->memory, out->n, sizeof *list.keys, &list.keys);
    if (status == COPSE_OK) status = copse_card_take(&e->memory, out->n, sizeof *list.values, &list.values);
    if (status == COPSE_OK) status = copse_card_launch(e->device, &e->kernels->keys, out->n, &list);
    out->rows = list.values;
    return status;
}

static copse_status join_lists(equal_join *e)
{
    copse_card_rows rows = {0};
    copse_rows found = COPSE_ROWS_INIT;
    const void *keys = NULL;
    uint64_t *places = NULL, n = 0;
    copse_status status = left_rows(e, &rows);
    if (status == COPSE_OK) status = keys_of(e, e->left, &rows, &keys);
    if (status == COPSE_OK) status = find_all(e, keys, rows.n, &found);
    if (status == COPSE_OK) status = place_pairs(e, &rows, &found, &places, &n);
    return status == COPSE_OK ? list_pairs(e, &rows, &found, places, n) : status;
}

copse_status copse_card_join_equal(copse_joined *join)
{
    equal_join e = {.join = join, .device = copse_card_of(join->left)};
    const bool text = copse_column_is_text(&join->right->columns[join->right_on]); /* whose index has texts */
    const copse_stored_index *index = text ? NULL : copse_index_on(join->right, join->right_on, COPSE_NO_COLUMN);
    copse_index *made = NULL;
    e.memory.device = e.device;
    e.kernels = copse_card_kernels_on(e.device);
    e.tree = index ? index->tree : NULL;
    copse_status status = copse_card_strings(join->right, join->right_on);
    if (status == COPSE_OK && !index) status = make_index(&e, &made);
    if (status == COPSE_OK)
        status =
            copse_card_left_column(join->left, join->left_on, join->right, join->right_on, false, &e.memory, &e.left);
    if (status == COPSE_OK) status = index && index->unique ? join_unique(&e) : join_lists(&e);
    copse_card_release(&e.memory);
    copse_index_free(made);
    return status;
}
