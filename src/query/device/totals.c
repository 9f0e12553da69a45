/*
 * Aggregates over the pairs of a join on a device. Pairs of spans are not listed for it: a thread finds the left row of its pair among their places.
 *
 *   whole numbers, counts, extremes   a partial of each 1,024 pairs, then partials of those
 *   sums of floats                    a thread for each 65,536 left rows adds in the order of the pairs what others fetch, and the host
 *                                     the sums of these in their order, as the CPU does
 */
#include "query/device/device.h"

typedef struct total_call {
    copse_card_memory memory;
    copse_card_total_arguments arguments;
    copse_buffer blocks; /* copse_card_partial: those of floats, in host memory */
} total_call;

static bool sums_floats(const copse_join_aggregate_column *aggregate)
{
    return (aggregate->what == COPSE_AGGREGATE_SUM || aggregate->what == COPSE_AGGREGATE_AVG) &&
           copse_column_is_float(aggregate->column);
}

bool copse_card_totals_need_order(const copse_joined *join)
{
    for (uint32_t i = 0; join->totals && i < join->totals->count; i++)
        if (join->totals->aggregates[i].right && join->totals->aggregates[i].column &&
            sums_floats(&join->totals->aggregates[i]))
            return true;
    return false;
}

static copse_status run(total_call *t, const copse_kernel *kernel, uint64_t thread_blocks)
{
    copse_device *device = t->memory.device;
    copse_status status = copse_card_take(&t->memory, t->arguments.blocks, sizeof *t->arguments.out, &t->arguments.out);
    return status == COPSE_OK ? copse_device_launch(device, device->main, kernel, thread_blocks, &t->arguments)
                              : status;
}

static copse_status add_floats(total_call *t, const copse_ctx *ctx, copse_join_total *out)
{
    copse_device *device = t->memory.device;
    const copse_card_partial *parts = NULL;
    t->arguments.left_rows = COPSE_JOIN_BLOCK;
    t->arguments.blocks = (t->arguments.pairs.slots + COPSE_JOIN_BLOCK - 1) / COPSE_JOIN_BLOCK;
    const uint64_t blocks = t->arguments.blocks;
    copse_status status = run(t, &copse_card_kernels_on(device)->total_floats, blocks);
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &t->blocks, blocks, sizeof *parts, "a join");
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, t->blocks.data, t->arguments.out, blocks * sizeof *parts);
    parts = t->blocks.data;
    for (uint64_t i = 0; status == COPSE_OK && i < blocks; i++) {
        out->number += parts[i].total;
        out->count += parts[i].count;
    }
    return status;
}

static copse_status add_others(total_call *t, copse_card_partial *out)
{
    copse_device *device = t->memory.device;
    copse_card_partial *there = NULL;
    t->arguments.blocks = (t->arguments.pairs.n + COPSE_SUM_BLOCK - 1) / COPSE_SUM_BLOCK;
    const uint32_t warps = COPSE_CARD_THREADS / 32;
    copse_status status = run(t, &copse_card_kernels_on(device)->total, (t->arguments.blocks + warps - 1) / warps);
    if (status == COPSE_OK) status = copse_card_merge(t->arguments.out, t->arguments.blocks, &t->memory, &there);
    return status == COPSE_OK ? copse_device_read(device, device->main, out, there, sizeof *out) : status;
}

static copse_status add_column(const copse_table *table, const copse_join_aggregate_column *aggregate,
                               const copse_card_pair_list *pairs, copse_join_total *out, copse_value *extreme)
{
    const uint32_t column = (uint32_t)(aggregate->column - table->columns);
    const bool least = aggregate->what == COPSE_AGGREGATE_MIN, most = aggregate->what == COPSE_AGGREGATE_MAX;
    total_call t = {.memory = {.device = copse_card_of(table)}};
    copse_card_partial part = {0};
    copse_status status = least || most ? copse_card_strings(table, column) : COPSE_OK;
    t.arguments = (copse_card_total_arguments){
        .column = copse_card_column_of(table, column), .pairs = *pairs, .of_right = aggregate->right};
    if (status == COPSE_OK && sums_floats(aggregate)) {
        status = add_floats(&t, table->ctx, out);
    } else if (status == COPSE_OK) {
        status = add_others(&t, &part);
        out->whole = (copse_wide)(int64_t)part.high * ((copse_wide)1 << 64) + part.low;
        out->count = part.count;
        if (status == COPSE_OK && part.count > 0 && (least || most))
            *extreme = copse_card_value(table, column, least ? part.least : part.largest);
    }
    copse_card_release(&t.memory);
    copse_buffer_free(table->ctx, &t.blocks);
    return status;
}

copse_status copse_card_totals(const copse_joined *join, const copse_card_pair_list *pairs)
{
    const copse_join_totals *totals = join->totals;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < totals->count; i++) {
        const copse_join_aggregate_column *aggregate = &totals->aggregates[i];
        if (!aggregate->column)
            totals->sums[i].count = pairs->n;
        else if (pairs->n > 0)
            status = add_column(aggregate->right ? join->right : join->left, aggregate, pairs, &totals->sums[i],
                                &totals->extremes[i]);
    }
    return status;
}

copse_status copse_card_join_drain(copse_joined *join)
{
    const copse_pairs *pairs = join->pairs;
    const copse_card_pair_list list = {
        .left = pairs->device_left, .right = pairs->device_right, .slots = join->left->slots, .n = pairs->n};
    return join->totals && pairs->device ? copse_card_totals(join, &list) : COPSE_OK;
}
