/* Indexes follow a change of their table. */
#include "query/index/index.h"

/* Cells of a column after the change; false: all of them are NULL. */
static bool cells_after(const copse_index_change *change, uint32_t column, copse_cells *out)
{
    uint32_t from = change->incoming_of[column];
    if (from != COPSE_NO_COLUMN) {
        *out = (copse_cells){&change->incoming->columns[from], change->incoming_rows};
        return true;
    }
    *out = (copse_cells){&change->table->columns[column], change->rows};
    return !change->rows_are_new;
}

static copse_status erase_old(const copse_index_change *change, const copse_stored_index *index)
{
    const copse_table *table = change->table;
    copse_key_batch batch = {0};
    const copse_key_source keys = copse_index_source(table, index, change->rows);
    copse_cells sums = {NULL, change->rows};
    if (index->sums != COPSE_NO_COLUMN) sums.column = &table->columns[index->sums];
    copse_status status =
        copse_key_batch_fill(table->ctx, &batch, &keys, sums.column ? &sums : NULL, change->rows, change->n);
    if (status == COPSE_OK)
        status = copse_erase_pairs(index->tree, copse_key_batch_keys(&batch), batch.values.data, batch.n, NULL);
    copse_key_batch_free(table->ctx, &batch);
    return status;
}

static copse_status insert_new(const copse_index_change *change, const copse_stored_index *index)
{
    const copse_table *table = change->table;
    copse_key_batch batch = {0};
    copse_key_source keys = {.count = index->column_count};
    copse_cells sums;
    bool summed = index->sums != COPSE_NO_COLUMN, some = false;
    for (uint32_t i = 0; i < index->column_count; i++) {
        bool there = cells_after(change, index->columns[i], &keys.parts[i]);
        if (!there) keys.parts[i].column = NULL;
        some |= there;
    }
    if (!some && !copse_index_is_composite(index)) return COPSE_OK;
    if (summed && !cells_after(change, index->sums, &sums)) return COPSE_OK;
    copse_status status =
        copse_key_batch_fill(table->ctx, &batch, &keys, summed ? &sums : NULL, change->rows, change->n);
    if (status == COPSE_OK)
        status = copse_insert(index->tree, copse_key_batch_keys(&batch), batch.values.data, batch.n,
                              COPSE_INSERT_UPSERT, NULL);
    copse_key_batch_free(table->ctx, &batch);
    return status;
}

static bool is_concerned(const copse_index_change *change, const copse_stored_index *index)
{
    if (change->rows_are_new || !change->incoming) return true;
    for (uint32_t i = 0; i < index->column_count; i++)
        if (change->incoming_of[index->columns[i]] != COPSE_NO_COLUMN) return true;
    return index->sums != COPSE_NO_COLUMN && change->incoming_of[index->sums] != COPSE_NO_COLUMN;
}

copse_status copse_indexes_apply(copse_table *table, const copse_index_change *change)
{
    copse_status status = COPSE_OK;
    uint32_t at = 0;
    for (; status == COPSE_OK && at < table->index_count; at++) {
        const copse_stored_index *index = &copse_indexes(table)[at];
        if (!is_concerned(change, index)) continue;
        if (!change->rows_are_new) status = erase_old(change, index);
        if (status == COPSE_OK && change->incoming) status = insert_new(change, index);
    }
    if (status == COPSE_OK) return status;
    for (uint32_t i = 0; i < at; i++)
        if (is_concerned(change, &copse_indexes(table)[i])) copse_indexes(table)[i].stale = true;
    return status;
}

/* ---- keys of new rows ---- */

static copse_status check_not_null(const copse_table *table, const copse_stored_column *column,
                                   const copse_table *incoming)
{
    for (uint64_t i = 0; column->nulls > 0 && i < incoming->slots; i++)
        if (!copse_cell_valid(column, i))
            return copse_fail_argument(table->ctx, "columns", "row %llu of the new rows: key \"%.40s\" is NULL",
                                       (unsigned long long)i, column->name);
    return COPSE_OK;
}

/* Keys that the tree has, and (with a tree of the batch itself, whose values are positions) keys that come twice. */
static copse_status check_absent(const copse_ctx *ctx, const copse_index *tree, const copse_key_batch *batch,
                                 const copse_key_source *keys, const char *names, bool own)
{
    copse_buffer found = {0}, values = {0};
    char shown[COPSE_SHOWN_KEY];
    copse_status status = copse_buffer_reserve(ctx, &found, batch->n + 1, 1, "keys of new rows");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &values, batch->n + 1, 4, "keys of new rows");
    if (status == COPSE_OK) status = copse_find(tree, copse_key_batch_keys(batch), batch->n, values.data, found.data);
    const uint8_t *is_there = found.data;
    const uint32_t *value = values.data;
    for (uint64_t i = 0; status == COPSE_OK && i < batch->n; i++)
        if (own ? value[i] != i : is_there[i])
            status = copse_fail_argument(ctx, "columns", "row %llu of the new rows: key %s of column \"%s\" is %s %u",
                                         (unsigned long long)i, copse_key_show(keys, i, shown), names,
                                         own ? "also that of new row" : "there already, in row", value[i]);
    copse_buffer_free(ctx, &found);
    copse_buffer_free(ctx, &values);
    return status;
}

static copse_status check_distinct(const copse_table *table, const copse_key_batch *batch, const copse_key_source *keys,
                                   const char *names)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *tree = NULL;
    if (batch->n < 2) return COPSE_OK;
    options.key_type = batch->type;
    options.value_type = COPSE_U32;
    options.placement = COPSE_PLACEMENT_CPU;
    options.updates = COPSE_UPDATES_RARE;
    copse_status status = copse_index_create(table->ctx, &options, &tree);
    if (status == COPSE_OK) status = copse_build(tree, copse_key_batch_keys(batch), NULL, batch->n);
    if (status == COPSE_OK && copse_size(tree) < batch->n)
        status = check_absent(table->ctx, tree, batch, keys, names, true);
    copse_index_free(tree);
    return status;
}

/* The columns of a unique index in new rows, none of them NULL. */
static copse_status take_new_keys(const copse_table *table, const copse_stored_index *index,
                                  const copse_table *incoming, const uint32_t *incoming_of, copse_key_source *out)
{
    out->count = index->column_count;
    for (uint32_t i = 0; i < index->column_count; i++) {
        uint32_t from = incoming_of[index->columns[i]];
        if (from == COPSE_NO_COLUMN)
            return copse_fail_argument(table->ctx, "columns", "the new rows have no column \"%.40s\", which is the key",
                                       table->columns[index->columns[i]].name);
        copse_status status = check_not_null(table, &incoming->columns[from], incoming);
        if (status != COPSE_OK) return status;
        out->parts[i] = (copse_cells){&incoming->columns[from], NULL};
    }
    return COPSE_OK;
}

copse_status copse_indexes_check_new(const copse_table *table, const copse_table *incoming, const uint32_t *incoming_of)
{
    for (uint32_t i = 0; i < table->index_count; i++) {
        const copse_stored_index *index = &copse_indexes(table)[i];
        copse_key_source keys;
        char names[COPSE_SHOWN_KEY];
        if (!index->unique) continue;
        copse_key_batch batch = {0};
        copse_index_show(table, index, names);
        copse_status status = take_new_keys(table, index, incoming, incoming_of, &keys);
        if (status == COPSE_OK) status = copse_key_batch_fill(table->ctx, &batch, &keys, NULL, NULL, incoming->slots);
        if (status == COPSE_OK) status = check_absent(table->ctx, index->tree, &batch, &keys, names, false);
        if (status == COPSE_OK) status = check_distinct(table, &batch, &keys, names);
        copse_key_batch_free(table->ctx, &batch);
        return status;
    }
    return COPSE_OK;
}
