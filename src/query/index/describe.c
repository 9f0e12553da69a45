/* Which indexes a table has. */
#include "query/index/index.h"

#include "core/structs.h"

uint32_t copse_table_indexes(const copse_table *table)
{
    return table ? table->index_count : 0;
}

copse_status copse_table_index_describe(const copse_table *table, uint32_t index, copse_table_index_info *out_info)
{
    const char *call = "copse_table_index_describe";
    copse_stats stats = {.struct_size = sizeof stats};
    static const copse_wide_member wide[] = {
        COPSE_WIDE(copse_table_index_info, columns), COPSE_WIDE(copse_table_index_info, entries), {0, 0}};
    copse_table_index_info info = {.struct_size = sizeof info};
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (!out_info) return copse_fail_null(table->ctx, call, "out_info");
    if (index >= table->index_count)
        return copse_fail_argument(table->ctx, "index", "%s: there is no index %u, but %u of them", call, index,
                                   table->index_count);
    const copse_stored_index *stored = &copse_indexes(table)[index];
    copse_status status = copse_index_stats(stored->tree, &stats);
    if (status != COPSE_OK) return status;
    info.unique = stored->unique;
    memcpy(info.columns, stored->columns, sizeof info.columns);
    info.column_count = stored->column_count;
    info.sums = stored->sums;
    info.structure = stats.structure;
    info.entries = stats.entries;
    return copse_struct_give(table->ctx, call, "out_info", out_info, &info, sizeof info, wide);
}
