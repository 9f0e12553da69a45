/*
 * Band joins on a device: right rows in the order of their keys, and of each left row the stretch of those that are near enough.
 *
 *   right keys   1 1 4 6 9      left keys   5 1 9      begins  2 0 4      pairs of each  2 2 1      places  0 2 4 5
 *   rows         3 7 0 2 5      less or more by 1
 */
#include "query/device/device.h"

#include "primitives/primitives.h"

typedef struct spans {
    const copse_joined *join;
    copse_device *device;
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
    const copse_card_span_arguments span = {.on = copse_card_column_of(join->left, join->left_on),
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

copse_status copse_card_join_band(copse_joined *join, uint64_t below, uint64_t above, double below_float,
                                  double above_float)
{
    const copse_card_band band = {below, above, below_float, above_float};
    spans s = {.join = join, .device = copse_card_of(join->left)};
    s.memory.device = s.device;
    copse_status status = find_spans(&s, &band);
    if (status == COPSE_OK) status = list_pairs(&s);
    copse_card_release(&s.memory);
    return status;
}
