/* Making indexes, and asking for them. */
#include "query/index/index.h"

#include "core/structs.h"

static copse_type value_type(const copse_table *table, uint32_t sums)
{
    if (sums == COPSE_NO_COLUMN) return COPSE_U32;
    return copse_key_type(&table->columns[sums]); /* bools become numbers, as in keys */
}

static copse_status open_tree(const copse_table *table, const copse_stored_index *index, copse_index **out)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = copse_key_type(&table->columns[index->column]);
    options.value_type = value_type(table, index->sums);
    options.structure = index->structure;
    options.placement = COPSE_PLACEMENT_CPU;
    options.duplicates = !index->unique;
    return copse_index_create(table->ctx, &options, out);
}

/* A column without NULLs and deleted rows is an array of keys as it is. */
static bool is_plain(const copse_table *table, const copse_stored_index *index)
{
    const copse_stored_column *column = &table->columns[index->column];
    return index->sums == COPSE_NO_COLUMN && column->nulls == 0 && !table->alive.data && column->width != 1 &&
           !copse_column_is_text(column);
}

static copse_status fill_from_rows(const copse_table *table, const copse_stored_index *index, copse_key_batch *batch)
{
    copse_buffer rows = {0};
    copse_status status =
        copse_buffer_reserve(table->ctx, &rows, table->live + 1, sizeof(uint32_t), "the rows of an index");
    if (status != COPSE_OK) return status;
    copse_table_live_rows(table, rows.data);
    const copse_cells keys = {&table->columns[index->column], rows.data};
    copse_cells sums = {NULL, rows.data};
    if (index->sums != COPSE_NO_COLUMN) sums.column = &table->columns[index->sums];
    status = copse_key_batch_fill(table->ctx, batch, keys, sums.column ? &sums : NULL, rows.data, table->live);
    copse_buffer_free(table->ctx, &rows);
    return status;
}

static copse_status build_tree(const copse_table *table, const copse_stored_index *index, copse_index *tree)
{
    copse_key_batch batch = {0};
    if (is_plain(table, index)) return copse_build(tree, table->columns[index->column].cells.data, NULL, table->slots);
    copse_status status = fill_from_rows(table, index, &batch);
    if (status == COPSE_OK) status = copse_build(tree, copse_key_batch_keys(&batch), batch.values.data, batch.n);
    copse_key_batch_free(table->ctx, &batch);
    return status;
}

/* Which two rows share a key: of equal keys the tree kept the last. */
static copse_status name_doubled(const copse_table *table, const copse_stored_index *index, const copse_index *tree)
{
    const copse_stored_column *column = &table->columns[index->column];
    copse_key_batch batch = {0};
    copse_buffer kept = {0};
    char shown[COPSE_SHOWN_CELL];
    copse_status status = fill_from_rows(table, index, &batch);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, &kept, batch.n + 1, sizeof(uint32_t), "the rows of an index");
    if (status == COPSE_OK) status = copse_find(tree, copse_key_batch_keys(&batch), batch.n, kept.data, NULL);
    const uint32_t *rows = batch.values.data, *last = kept.data;
    for (uint64_t i = 0; status == COPSE_OK && i < batch.n; i++)
        if (rows[i] != last[i])
            status = copse_fail_argument(table->ctx, "column",
                                         "copse_table_index: rows %u and %u of column \"%.40s\" both hold %s", rows[i],
                                         last[i], column->name, copse_cell_show(column, rows[i], shown));
    copse_buffer_free(table->ctx, &kept);
    copse_key_batch_free(table->ctx, &batch);
    return status;
}

static copse_status check_unique(const copse_table *table, const copse_stored_index *index, const copse_index *tree)
{
    const copse_stored_column *column = &table->columns[index->column];
    for (uint64_t i = 0; column->nulls > 0 && i < table->slots; i++)
        if (copse_row_lives(table, i) && !copse_cell_valid(column, i))
            return copse_fail_argument(table->ctx, "column",
                                       "copse_table_index: row %llu of column \"%.40s\" is NULL; a unique key is not",
                                       (unsigned long long)i, column->name);
    return copse_size(tree) == table->live ? COPSE_OK : name_doubled(table, index, tree);
}

static copse_status make_tree(const copse_table *table, const copse_stored_index *index, copse_index **out)
{
    copse_index *tree = NULL;
    copse_status status = open_tree(table, index, &tree);
    if (status == COPSE_OK) status = build_tree(table, index, tree);
    if (status == COPSE_OK && index->unique) status = check_unique(table, index, tree);
    if (status != COPSE_OK) {
        copse_index_free(tree);
        return status;
    }
    *out = tree;
    return COPSE_OK;
}

copse_status copse_indexes_refresh(copse_table *table)
{
    for (uint32_t i = 0; i < table->index_count; i++) {
        copse_stored_index *index = &copse_indexes(table)[i];
        copse_index *tree = NULL;
        if (!index->stale) continue;
        copse_status status = make_tree(table, index, &tree);
        if (status != COPSE_OK) return status;
        copse_index_free(index->tree);
        index->tree = tree;
        index->stale = false;
    }
    return COPSE_OK;
}

static copse_stored_index *find(const copse_table *table, uint32_t column, uint32_t sums)
{
    for (uint32_t i = 0; i < table->index_count; i++) {
        copse_stored_index *index = &copse_indexes(table)[i];
        if (index->column == column && index->sums == sums) return index;
    }
    return NULL;
}

const copse_stored_index *copse_index_on(const copse_table *table, uint32_t column, uint32_t sums)
{
    const copse_stored_index *index = find(table, column, sums);
    return index && !index->stale ? index : NULL;
}

void copse_indexes_close(copse_table *table)
{
    for (uint32_t i = 0; i < table->index_count; i++) copse_index_free(copse_indexes(table)[i].tree);
    table->index_count = 0;
    copse_buffer_free(table->ctx, &table->indexes);
}

/* ---- copse_table_index ---- */

static copse_status add(copse_table *table, copse_stored_index index)
{
    copse_status status =
        copse_buffer_reserve(table->ctx, &table->indexes, table->index_count + 1u, sizeof index, "the list of indexes");
    if (status == COPSE_OK) status = make_tree(table, &index, &index.tree);
    if (status != COPSE_OK) return status;
    copse_indexes(table)[table->index_count++] = index;
    return COPSE_OK;
}

static copse_status check_first(const copse_table *table, const char *name, bool unique)
{
    for (uint32_t i = 0; unique && i < table->index_count; i++)
        if (copse_indexes(table)[i].unique)
            return copse_fail_argument(table->ctx, "options",
                                       "copse_table_index: column \"%.40s\" cannot have a unique index, since column "
                                       "\"%.40s\" has one",
                                       name, table->columns[copse_indexes(table)[i].column].name);
    return COPSE_OK;
}

static copse_status find_sums(const copse_table *table, const char *name, uint32_t *out)
{
    *out = COPSE_NO_COLUMN;
    if (!name) return COPSE_OK;
    copse_status status = copse_table_column(table, "copse_table_index", name, out);
    if (status == COPSE_OK && !copse_column_is_number(&table->columns[*out]))
        status = copse_fail(table->ctx, COPSE_ERR_TYPE, "copse_table_index: column \"%.40s\" (%s) has no sums", name,
                            copse_column_type_name(table->columns[*out].type));
    return status;
}

copse_status copse_table_index(copse_table *table, const char *column, const copse_table_index_options *options)
{
    const char *call = "copse_table_index";
    copse_table_index_options known = COPSE_TABLE_INDEX_OPTIONS_INIT;
    uint32_t at = 0, sums = 0;
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status =
        options ? copse_struct_take(table->ctx, call, "options", options, &known, sizeof known) : COPSE_OK;
    if (status == COPSE_OK) status = copse_table_column(table, call, column, &at);
    if (status == COPSE_OK) status = find_sums(table, known.sums, &sums);
    if (status != COPSE_OK) return status;
    const copse_stored_index *there = find(table, at, COPSE_NO_COLUMN);
    bool is_new = !there;
    if (there && known.unique && !there->unique)
        return copse_fail_argument(table->ctx, "options", "%s: column \"%.40s\" has an index that is not unique", call,
                                   column);
    if (is_new) status = check_first(table, column, known.unique);
    if (is_new && status == COPSE_OK)
        status = add(table, (copse_stored_index){at, COPSE_NO_COLUMN, known.structure, known.unique != 0, false, NULL});
    if (status == COPSE_OK && sums != COPSE_NO_COLUMN && !find(table, at, sums)) {
        status = add(table, (copse_stored_index){at, sums, known.structure, false, false, NULL});
        if (status != COPSE_OK && is_new) copse_index_free(copse_indexes(table)[--table->index_count].tree);
    }
    return status;
}
