/*
 * Band joins on a device, and joins of equal keys whose pairs are added up: right rows in the order of their keys, and of each left row the
 * stretch of those that are near enough.
 *
 *   right keys   1 1 4 6 9      left keys   5 1 9      begins  2 0 4      pairs of each  2 2 1      places  0 2 4 5
 *   rows         3 7 0 2 5      less or more by 1
 */
#include "query/device/device.h"

#include "primitives/primitives.h"

typedef struct spans {
    const copse_joined *join;
    copse_device *device;
    copse_card_column left;
    copse_card_memory memory;
    copse_card_rows rows; /* of the right side */
    uint64_t *begins, *places;
    uint64_t pairs;
} spans;

static copse_status find_spans(spans *s, const copse_card_band *band)
{
    const copse_joined *join = s->join;
    copse_device *device = s->device;
    const uint64_t n = join->left->slots;
    uint64_t *codes = NULL;
    copse_status status =
        copse_card_sort_column(join->right, join->right_on, COPSE_NO_COLUMN, &s->memory, &codes, &s->rows);
    if (status == COPSE_OK) status = copse_card_take(&s->memory, n, sizeof *s->begins, &s->begins);
    if (status == COPSE_OK) status = copse_card_take(&s->memory, n + 1, sizeof *s->places, &s->places);
    const copse_card_span_arguments span = {.on = s->left,
                                            .alive = copse_card_alive(join->left),
                                            .n = n,
                                            .codes = codes,
                                            .right = s->rows.n,
                                            .kind = join->options.kind,
                                            .band = *band,
                                            .begins = s->begins,
                                            .counts = s->places};
    if (status == COPSE_OK) status = copse_card_launch(device, &copse_card_kernels_on(device)->span, n, &span);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, s->places + n, 0, sizeof *s->places);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, s->places, s->places, n + 1);
    return status == COPSE_OK ? copse_device_read(device, device->main, &s->pairs, s->places + n, sizeof s->pairs)
                              : status;
}

static copse_status list_pairs(spans *s)
{
    uint64_t *left = NULL, *right = NULL;
    const uint64_t n = s->pairs;
    copse_status status = copse_card_take(&s->memory, n, sizeof *left, &left);
    if (status == COPSE_OK) status = copse_card_take(&s->memory, n, sizeof *right, &right);
    const copse_card_spread_arguments spread = {s->places, s->begins, s->join->left->slots, s->rows.rows, n,
                                                left,      right};
    if (status == COPSE_OK)
        status = copse_card_launch(s->device, &copse_card_kernels_on(s->device)->spread, n, &spread);
    if (status == COPSE_OK) status = copse_card_pairs_order(&s->memory, &left, &right, n);
    if (status == COPSE_OK) copse_card_pairs_take(s->join->pairs, &s->memory, left, right, n);
    return status;
}

/* Partners of a left row come in the order of their keys, and where those are equal of their numbers. */
static copse_status add_up(const spans *s)
{
    const copse_card_pair_list list = {
        .places = s->places, .begins = s->begins, .rows = s->rows.rows, .slots = s->join->left->slots, .n = s->pairs};
    return copse_card_totals(s->join, &list);
}

copse_status copse_card_join_band(copse_joined *join, uint64_t below, uint64_t above, double below_float,
                                  double above_float)
{
    const copse_card_band band = {below, above, below_float, above_float};
    spans s = {.join = join, .device = copse_card_of(join->left)};
    s.memory.device = s.device;
    s.left = copse_card_column_of(join->left, join->left_on);
    copse_status status = find_spans(&s, &band);
    if (status == COPSE_OK) status = join->totals && !copse_card_totals_need_order(join) ? add_up(&s) : list_pairs(&s);
    copse_card_release(&s.memory);
    return status;
}

copse_status copse_card_join_totals(copse_joined *join)
{
    const copse_card_band equal = {0};
    spans s = {.join = join, .device = copse_card_of(join->left)};
    s.memory.device = s.device;
    copse_status status =
        copse_card_left_column(join->left, join->left_on, join->right, join->right_on, false, &s.memory, &s.left);
    if (status == COPSE_OK) status = find_spans(&s, &equal);
    if (status == COPSE_OK) status = add_up(&s);
    copse_card_release(&s.memory);
    return status;
}
