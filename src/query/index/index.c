/* Making indexes, and asking for them. */
#include "query/index/index.h"

#include "core/structs.h"

/* On a device: AUTO, where the structure that was asked for is not there; sums where the values of a range need no walk. */
static void set_structure(const copse_stored_index *index, copse_index_options *options)
{
    options->structure = (copse_structure)index->structure;
    if (options->placement == COPSE_PLACEMENT_CPU) return;
    if (!copse_supports(options->structure, options->placement, options->key_type,
                        index->unique ? COPSE_CAN_EXIST : COPSE_CAN_KEEP_DUPLICATES))
        options->structure = COPSE_STRUCTURE_AUTO;
    if (index->sums != COPSE_NO_COLUMN) options->updates = COPSE_UPDATES_RARE;
}

static copse_status open_tree(const copse_table *table, const copse_stored_index *index, copse_index **out)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = copse_index_key_type(table, index);
    options.value_type = copse_index_value_type(table, index);
    options.placement = options.key_type == COPSE_BYTES ? COPSE_PLACEMENT_CPU : table->placement;
    set_structure(index, &options);
    options.duplicates = !index->unique;
    return copse_index_create(table->ctx, &options, out);
}

/* A column without NULLs and deleted rows is an array of keys as it is. */
static bool is_plain(const copse_table *table, const copse_stored_index *index)
{
    const copse_stored_column *column = &table->columns[index->columns[0]];
    return index->sums == COPSE_NO_COLUMN && !copse_index_is_composite(index) && !table->file && column->nulls == 0 &&
           !table->alive.data && column->width != 1 && !copse_column_is_text(column);
}

static copse_status fill_from_rows(const copse_table *table, const copse_stored_index *index, copse_key_batch *batch)
{
    copse_buffer rows = {0};
    copse_status status =
        copse_buffer_reserve(table->ctx, &rows, table->live + 1, sizeof(uint32_t), "the rows of an index");
    if (status != COPSE_OK) return status;
    copse_table_live_rows(table, rows.data);
    const copse_key_source keys = copse_index_source(table, index, rows.data);
    copse_cells sums = {NULL, rows.data};
    if (index->sums != COPSE_NO_COLUMN) sums.column = &table->columns[index->sums];
    status = copse_key_batch_fill(table->ctx, batch, &keys, sums.column ? &sums : NULL, rows.data, table->live);
    copse_buffer_free(table->ctx, &rows);
    return status;
}

static copse_status build_tree(const copse_table *table, const copse_stored_index *index, copse_index *tree)
{
    copse_key_batch batch = {0};
    if (is_plain(table, index))
        return copse_build(tree, table->columns[index->columns[0]].cells.data, NULL, table->slots);
    copse_status status = fill_from_rows(table, index, &batch);
    if (status == COPSE_OK) status = copse_build(tree, copse_key_batch_keys(&batch), batch.values.data, batch.n);
    copse_key_batch_free(table->ctx, &batch);
    return status;
}

/* Which two rows share a key: of equal keys the tree kept the last. */
static copse_status name_doubled(const copse_table *table, const copse_stored_index *index, const copse_index *tree)
{
    const copse_key_source keys = copse_index_source(table, index, NULL);
    copse_key_batch batch = {0};
    copse_buffer kept = {0};
    char shown[COPSE_SHOWN_KEY], names[COPSE_SHOWN_KEY];
    copse_status status = fill_from_rows(table, index, &batch);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, &kept, batch.n + 1, sizeof(uint32_t), "the rows of an index");
    if (status == COPSE_OK) status = copse_find(tree, copse_key_batch_keys(&batch), batch.n, kept.data, NULL);
    const uint32_t *rows = batch.values.data, *last = kept.data;
    for (uint64_t i = 0; status == COPSE_OK && i < batch.n; i++)
        if (rows[i] != last[i])
            status = copse_fail_argument(
                table->ctx, "column", "copse_table_index: rows %u and %u of column \"%s\" both hold %s", rows[i],
                last[i], copse_index_show(table, index, names), copse_key_show(&keys, rows[i], shown));
    copse_buffer_free(table->ctx, &kept);
    copse_key_batch_free(table->ctx, &batch);
    return status;
}

static copse_status check_not_null(const copse_table *table, const copse_stored_column *column)
{
    for (uint64_t i = 0; column->nulls > 0 && i < table->slots; i++)
        if (copse_row_lives(table, i) && !copse_cell_valid(column, i))
            return copse_fail_argument(table->ctx, "column",
                                       "copse_table_index: row %llu of column \"%.40s\" is NULL; a unique key is not",
                                       (unsigned long long)i, column->name);
    return COPSE_OK;
}

static copse_status check_unique(const copse_table *table, const copse_stored_index *index, const copse_index *tree)
{
    for (uint32_t i = 0; i < index->column_count; i++) {
        copse_status status = check_not_null(table, &table->columns[index->columns[i]]);
        if (status != COPSE_OK) return status;
    }
    return copse_size(tree) == table->live ? COPSE_OK : name_doubled(table, index, tree);
}

static copse_status make_tree(const copse_table *table, const copse_stored_index *index, copse_index **out)
{
    copse_index *tree = NULL;
    copse_status status = open_tree(table, index, &tree);
    if (status == COPSE_OK) status = build_tree(table, index, tree);
    if (status == COPSE_OK && index->unique) status = check_unique(table, index, tree);
    if (status == COPSE_OK) status = copse_table_sound(table);
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

static bool stays_on_cpu(const copse_table *table, const copse_stored_index *index)
{
    return copse_index_key_type(table, index) == COPSE_BYTES;
}

copse_status copse_indexes_move(copse_table *table, copse_placement placement)
{
    const copse_placement before = table->placement;
    copse_buffer trees = {0};
    copse_status status = copse_buffer_reserve(table->ctx, &trees, table->index_count + 1u, sizeof(copse_index *),
                                               "the indexes of a table");
    copse_index **made = trees.data;
    if (status == COPSE_OK) memset(made, 0, table->index_count * sizeof *made);
    table->placement = placement;
    for (uint32_t i = 0; status == COPSE_OK && i < table->index_count; i++)
        if (!stays_on_cpu(table, &copse_indexes(table)[i]))
            status = make_tree(table, &copse_indexes(table)[i], &made[i]);
    table->placement = before;
    for (uint32_t i = 0; made && i < table->index_count; i++) {
        copse_stored_index *index = &copse_indexes(table)[i];
        copse_index *old = status == COPSE_OK && made[i] ? index->tree : made[i];
        if (status == COPSE_OK && made[i]) {
            index->tree = made[i];
            index->stale = false;
        }
        copse_index_free(old);
    }
    copse_buffer_free(table->ctx, &trees);
    return status;
}

static copse_stored_index *find(const copse_table *table, const uint32_t *columns, uint32_t count, uint32_t sums)
{
    for (uint32_t i = 0; i < table->index_count; i++) {
        copse_stored_index *index = &copse_indexes(table)[i];
        if (index->column_count == count && memcmp(index->columns, columns, count * sizeof *columns) == 0 &&
            index->sums == sums)
            return index;
    }
    return NULL;
}

const copse_stored_index *copse_index_on(const copse_table *table, uint32_t column, uint32_t sums)
{
    const copse_stored_index *index = find(table, &column, 1, sums);
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
    char shown[COPSE_SHOWN_KEY];
    for (uint32_t i = 0; unique && i < table->index_count; i++)
        if (copse_indexes(table)[i].unique)
            return copse_fail_argument(table->ctx, "options",
                                       "copse_table_index: column \"%.40s\" cannot have a unique index, since column "
                                       "\"%s\" has one",
                                       name, copse_index_show(table, &copse_indexes(table)[i], shown));
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

static copse_status find_columns(const copse_table *table, const char *const *names, uint32_t count, bool sums,
                                 uint32_t *out)
{
    if (!names) return copse_fail_null(table->ctx, "copse_table_index_columns", "columns");
    if (count == 0 || count > COPSE_MOST_KEY_COLUMNS)
        return copse_fail_argument(table->ctx, "column_count",
                                   "copse_table_index_columns: an index has 1 to %u columns, not %u",
                                   COPSE_MOST_KEY_COLUMNS, count);
    if (sums && count > 1)
        return copse_fail(table->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_table_index_columns: an index of several columns has no sums");
    for (uint32_t i = 0; i < count; i++) {
        copse_status status = copse_table_column(table, "copse_table_index", names[i], &out[i]);
        if (status != COPSE_OK) return status;
        for (uint32_t j = 0; j < i; j++)
            if (out[j] == out[i])
                return copse_fail_argument(table->ctx, "columns", "copse_table_index_columns: \"%.40s\" is given twice",
                                           names[i]);
    }
    return COPSE_OK;
}

copse_status copse_table_index_columns(copse_table *table, const char *const *columns, uint32_t column_count,
                                       const copse_table_index_options *options)
{
    const char *call = "copse_table_index";
    static const copse_wide_member wide[] = {COPSE_WIDE(copse_table_index_options, sums), {0, 0}};
    copse_table_index_options known = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_stored_index index = {.column_count = column_count, .sums = COPSE_NO_COLUMN};
    uint32_t sums = 0;
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status =
        options ? copse_struct_take(table->ctx, call, "options", options, &known, sizeof known, wide) : COPSE_OK;
    if (status == COPSE_OK) status = find_columns(table, columns, column_count, known.sums != NULL, index.columns);
    if (status == COPSE_OK) status = find_sums(table, known.sums, &sums);
    if (status != COPSE_OK) return status;
    const copse_stored_index *there = find(table, index.columns, column_count, COPSE_NO_COLUMN);
    bool is_new = !there;
    if (there && known.unique && !there->unique)
        return copse_fail_argument(table->ctx, "options", "%s: column \"%.40s\" has an index that is not unique", call,
                                   columns[0]);
    index.structure = known.structure;
    index.unique = known.unique != 0;
    if (is_new) status = check_first(table, columns[0], known.unique);
    if (is_new && status == COPSE_OK) status = add(table, index);
    if (status == COPSE_OK && sums != COPSE_NO_COLUMN && !find(table, index.columns, 1, sums)) {
        index.sums = sums;
        index.unique = false;
        status = add(table, index);
        if (status != COPSE_OK && is_new) copse_index_free(copse_indexes(table)[--table->index_count].tree);
    }
    return status;
}

copse_status copse_table_index(copse_table *table, const char *column, const copse_table_index_options *options)
{
    return copse_table_index_columns(table, &column, 1, options);
}
