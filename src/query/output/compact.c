/* A table without the rows that were deleted and the texts that were replaced: a new one of what is left takes its place. */
#include "query/output/output.h"

static copse_status index_again(const copse_table *table, copse_table *made)
{
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < table->index_count; i++) {
        const copse_stored_index *index = &copse_indexes(table)[i];
        copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
        options.unique = index->unique;
        options.structure = index->structure;
        if (index->sums != COPSE_NO_COLUMN) options.sums = table->columns[index->sums].name;
        const char *names[COPSE_MOST_KEY_COLUMNS];
        for (uint32_t c = 0; c < index->column_count; c++) names[c] = table->columns[index->columns[c]].name;
        status = copse_table_index_columns(made, names, index->column_count, &options);
    }
    return status;
}

copse_status copse_table_compact(copse_table *table)
{
    copse_buffer rows = {0};
    copse_table *made = NULL;
    if (copse_table_check(table, "copse_table_compact") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status = copse_table_changeable(table, "copse_table_compact");
    if (status != COPSE_OK) return status;
    status = copse_buffer_reserve(table->ctx, &rows, table->live + 1, sizeof(uint32_t), "compacting a table");
    if (status != COPSE_OK) return status;
    copse_table_live_rows(table, rows.data);
    status = copse_output_rows(table, NULL, 0, rows.data, table->live, &made);
    if (status == COPSE_OK) status = copse_table_place(made, table->placement);
    if (status == COPSE_OK) status = index_again(table, made);
    copse_buffer_free(table->ctx, &rows);
    if (status == COPSE_OK) {
        copse_table old = *table;
        *table = *made;
        *made = old;
    }
    copse_table_free(made);
    return status;
}
