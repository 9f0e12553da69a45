/* Groups and aggregates on a device: rows in the order of the group columns, where each group begins, and partials of each. The
 * partials come to the host, which turns them into values as it does its own. */
#include "query/device/device.h"

typedef struct grouped {
    copse_query *query;
    copse_device *device;
    copse_card_memory memory;
    copse_card_rows rows;
    copse_card_rows heads; /* of groups: where they begin in rows */
    uint64_t *starts;      /* the same in 64 bits, with the end   */
    uint64_t groups;
    copse_buffer host_starts;
} grouped;

/* ---- where groups begin ---- */

static copse_status find_heads(grouped *g)
{
    const copse_query *query = g->query;
    copse_sort_key keys[COPSE_MOST_GROUPS];
    copse_card_heads_arguments heads = {.count = query->group_count};
    for (uint32_t i = 0; i < query->group_count; i++) {
        keys[i] = (copse_sort_key){query->groups[i], false};
        heads.columns[i] = copse_card_column_of(query->table, query->groups[i]);
    }
    copse_status status = copse_card_sort_rows(query->table, keys, query->group_count, &g->memory, &g->rows);
    heads.rows = g->rows.rows;
    heads.n = g->rows.n;
    if (status == COPSE_OK) status = copse_card_take(&g->memory, heads.n, 1, &heads.flags);
    if (status == COPSE_OK)
        status = copse_card_launch(g->device, &copse_card_kernels_on(g->device)->heads, heads.n, &heads);
    if (status == COPSE_OK) status = copse_card_flagged(&g->memory, heads.flags, heads.n, &g->heads);
    g->groups = g->heads.n;
    return status;
}

static copse_status find_starts(grouped *g)
{
    copse_device *device = g->device;
    const uint64_t all[2] = {0, g->rows.n};
    g->groups = 1;
    copse_status status = g->query->group_count > 0 && g->rows.n > 0 ? find_heads(g) : COPSE_OK;
    if (g->query->group_count > 0 && g->rows.n == 0) g->groups = 0;
    if (status == COPSE_OK) status = copse_card_take(&g->memory, g->groups + 1, sizeof *g->starts, &g->starts);
    if (status != COPSE_OK) return status;
    const copse_card_widen_arguments widen = {g->heads.rows, g->groups, g->rows.n, g->starts};
    status = g->query->group_count > 0
                 ? copse_card_launch(device, &copse_card_kernels_on(device)->widen, g->groups + 1, &widen)
                 : copse_device_copy(device, device->main, g->starts, all, sizeof all);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(g->query->ctx, &g->host_starts, g->groups + 1, sizeof *g->starts, "groups");
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, g->host_starts.data, g->starts,
                                   (g->groups + 1) * sizeof *g->starts);
    return status;
}

/* ---- values ---- */

static copse_status sum_value(const copse_query *query, copse_chosen_aggregate aggregate,
                              const copse_card_partial *part, copse_value *out)
{
    bool floats = copse_column_is_float(&query->table->columns[aggregate.column]);
    copse_wide sum = (copse_wide)(int64_t)part->high * ((copse_wide)1 << 64) + part->low;
    if (aggregate.what == COPSE_AGGREGATE_AVG)
        *out = copse_value_f64((floats ? part->total : (double)sum) / (double)part->count);
    else if (floats)
        *out = copse_value_f64(part->total);
    else
        return copse_sum_value(query->ctx, &query->table->columns[aggregate.column], sum, out);
    return COPSE_OK;
}

copse_value copse_card_value(const copse_table *table, uint32_t number, uint64_t code)
{
    const copse_stored_column *column = &table->columns[number];
    uint64_t cell = 0;
    copse_stored_column one = copse_column_is_text(column) ? copse_card_words(table, number) : *column;
    if (copse_column_is_text(column)) return copse_cell_value(&one, code);
    copse_code_store(column, code, &cell);
    one.cells.data = &cell;
    one.nulls = 0;
    return copse_cell_value(&one, 0);
}

static copse_status part_value(const copse_query *query, copse_chosen_aggregate aggregate,
                               const copse_card_partial *part, copse_value *out)
{
    *out = copse_value_null();
    if (aggregate.what == COPSE_AGGREGATE_COUNT)
        *out = copse_value_u64(part->count);
    else if (part->count == 0)
        return COPSE_OK;
    else if (aggregate.what == COPSE_AGGREGATE_MIN)
        *out = copse_card_value(query->table, aggregate.column, part->least);
    else if (aggregate.what == COPSE_AGGREGATE_MAX)
        *out = copse_card_value(query->table, aggregate.column, part->largest);
    else
        return sum_value(query, aggregate, part, out);
    return COPSE_OK;
}

/* ---- columns of the result ---- */

static copse_status push_counts(const grouped *g, const uint64_t *counts, copse_stored_column *out)
{
    const uint64_t *starts = g->host_starts.data;
    copse_status status = copse_column_reserve(g->query->ctx, out, g->groups, 0);
    for (uint64_t i = 0; status == COPSE_OK && i < g->groups; i++)
        status =
            copse_column_push(g->query->ctx, out, i, copse_value_u64(counts ? counts[i] : starts[i + 1] - starts[i]));
    return status;
}

static copse_status distinct_column(grouped *g, uint32_t column, copse_stored_column *out)
{
    copse_card_memory own = {.device = g->device};
    copse_buffer counts = {0};
    uint64_t *there = NULL;
    copse_status status = copse_card_distinct(g->query->table, column, &g->rows, g->starts, g->groups, &own, &there);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(g->query->ctx, &counts, g->groups + 1, sizeof *there, "groups");
    if (status == COPSE_OK)
        status = copse_device_read(g->device, g->device->main, counts.data, there, g->groups * sizeof *there);
    if (status == COPSE_OK) status = push_counts(g, counts.data, out);
    copse_buffer_free(g->query->ctx, &counts);
    copse_card_release(&own);
    return status;
}

static copse_status aggregate_column(grouped *g, copse_chosen_aggregate aggregate, copse_stored_column *out)
{
    copse_card_memory own = {.device = g->device};
    copse_card_partial *there = NULL;
    copse_buffer parts = {0};
    if (g->groups == 0) return COPSE_OK;
    if (aggregate.column == COPSE_NO_COLUMN) return push_counts(g, NULL, out);
    if (aggregate.what == COPSE_AGGREGATE_COUNT_DISTINCT) return distinct_column(g, aggregate.column, out);
    copse_status status = copse_buffer_reserve(g->query->ctx, &parts, g->groups, sizeof *there, "groups");
    if (status == COPSE_OK && g->rows.n > 0) {
        status = copse_card_reduce(g->query->table, aggregate.column, &g->rows, g->starts, g->groups, &own, &there);
        if (status == COPSE_OK)
            status = copse_device_read(g->device, g->device->main, parts.data, there, g->groups * sizeof *there);
    } else if (status == COPSE_OK) {
        memset(parts.data, 0, g->groups * sizeof *there); /* all of no rows: one group without any */
    }
    for (uint64_t i = 0; status == COPSE_OK && i < g->groups; i++) {
        copse_value value = copse_value_null();
        status = part_value(g->query, aggregate, (const copse_card_partial *)parts.data + i, &value);
        if (status == COPSE_OK) status = copse_column_push(g->query->ctx, out, i, value);
    }
    copse_buffer_free(g->query->ctx, &parts);
    copse_card_release(&own);
    return status;
}

/* Cells of the group columns: those of the first row of each group. */
static copse_status group_columns(grouped *g, copse_table *out)
{
    const copse_query *query = g->query;
    copse_card_rows first = {NULL, g->groups};
    copse_status status = COPSE_OK;
    if (query->group_count == 0 || g->groups == 0) return COPSE_OK;
    first.rows = g->heads.rows;
    if (g->rows.rows) {
        uint64_t *unused = NULL;
        status = copse_card_take(&g->memory, g->groups, sizeof *first.rows, &first.rows);
        const copse_card_pick_arguments pick = {g->heads.rows, g->groups, NULL, unused, g->rows.rows, first.rows};
        if (status == COPSE_OK)
            status = copse_card_launch(g->device, &copse_card_kernels_on(g->device)->pick, g->groups, &pick);
    }
    for (uint32_t i = 0; status == COPSE_OK && i < query->group_count; i++)
        status = copse_card_fetch(query->table, query->groups[i], &first, &g->memory, &out->columns[i]);
    return status;
}

copse_status copse_card_run_groups(copse_query *query, copse_table *out)
{
    grouped g = {.query = query, .device = copse_card_of(query->table)};
    g.memory.device = g.device;
    copse_status status = copse_card_select(query, &g.memory, &g.rows);
    if (status == COPSE_OK) status = find_starts(&g);
    if (status == COPSE_OK) status = group_columns(&g, out);
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++)
        status = aggregate_column(&g, copse_aggregates(query)[i], &out->columns[query->group_count + i]);
    out->slots = out->live = g.groups;
    copse_card_release(&g.memory);
    copse_buffer_free(query->ctx, &g.host_starts);
    return status;
}
