/* Rows that come, change and go. The caller's arrays become a table first, which checks all of them; then the indexes follow; what is
 * left, writing the cells, cannot fail. */
#include "query/device/placed.h"
#include "query/index/index.h"

#include "core/sort.h"

/* For each column of the table, where it is in the incoming table. */
static copse_status match(const copse_table *table, const copse_table *incoming, const char *call, copse_buffer *out)
{
    copse_status status =
        copse_buffer_reserve(table->ctx, out, table->column_count, sizeof(uint32_t), "a list of columns");
    if (status != COPSE_OK) return status;
    uint32_t *of = out->data;
    for (uint32_t i = 0; i < table->column_count; i++) of[i] = COPSE_NO_COLUMN;
    for (uint32_t i = 0; i < incoming->column_count; i++) {
        uint32_t at = 0;
        status = copse_table_column(table, call, incoming->columns[i].name, &at);
        if (status != COPSE_OK) return status;
        if (incoming->columns[i].type != table->columns[at].type)
            return copse_fail(table->ctx, COPSE_ERR_TYPE, "%s: column \"%.40s\" is %s in the table, not %s", call,
                              table->columns[at].name, copse_column_type_name(table->columns[at].type),
                              copse_column_type_name(incoming->columns[i].type));
        of[at] = i;
    }
    return COPSE_OK;
}

/* ---- append ---- */

static copse_status reserve_rows(copse_table *table, const copse_table *incoming, const uint32_t *of)
{
    uint64_t slots = table->slots + incoming->slots;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < table->column_count; i++)
        status = copse_column_reserve(table->ctx, &table->columns[i], slots,
                                      of[i] == COPSE_NO_COLUMN ? 0 : incoming->columns[of[i]].text_used);
    if (status == COPSE_OK && table->alive.data)
        status = copse_buffer_reserve(table->ctx, &table->alive, slots / 8 + 1, 1, "a table");
    return status;
}

static void write_rows(copse_table *table, const copse_table *incoming, const uint32_t *of)
{
    for (uint32_t c = 0; c < table->column_count; c++) {
        copse_stored_column *column = &table->columns[c];
        const copse_stored_column *from = of[c] == COPSE_NO_COLUMN ? column : &incoming->columns[of[c]];
        for (uint64_t i = 0; i < incoming->slots; i++)
            copse_column_put(column, table->slots + i, from, of[c] == COPSE_NO_COLUMN ? COPSE_ROW_NONE : i, true);
    }
    for (uint64_t i = 0; table->alive.data && i < incoming->slots; i++)
        copse_bit_set(&table->alive, table->slots + i, true);
    table->slots += incoming->slots;
    table->live += incoming->slots;
}

static copse_status append_table(copse_table *table, const copse_table *incoming, const uint32_t *of)
{
    copse_buffer rows = {0};
    if (incoming->slots > COPSE_MOST_ROWS - table->slots)
        return copse_fail_argument(table->ctx, "rows", "copse_table_append: a table holds at most %u rows",
                                   COPSE_MOST_ROWS);
    copse_status status = copse_indexes_refresh(table);
    if (status == COPSE_OK) status = copse_indexes_check_new(table, incoming, of);
    if (status == COPSE_OK) status = reserve_rows(table, incoming, of);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, &rows, incoming->slots + 1, sizeof(uint32_t), "new rows");
    if (status == COPSE_OK) {
        uint32_t *number = rows.data;
        for (uint64_t i = 0; i < incoming->slots; i++) number[i] = (uint32_t)(table->slots + i);
        const copse_index_change change = {table, incoming, of, number, NULL, incoming->slots, true};
        status = copse_indexes_apply(table, &change);
    }
    if (status == COPSE_OK) {
        write_rows(table, incoming, of);
        copse_image_append(table);
    }
    copse_buffer_free(table->ctx, &rows);
    return status;
}

copse_status copse_table_append(copse_table *table, const copse_column *columns, uint32_t column_count, uint64_t rows)
{
    const char *call = "copse_table_append";
    copse_table *incoming = NULL;
    copse_buffer of = {0};
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    if (rows == 0) return COPSE_OK;
    copse_status status = copse_table_changeable(table, call);
    if (status == COPSE_OK) status = copse_table_create(table->ctx, columns, column_count, rows, &incoming);
    if (status == COPSE_OK) status = match(table, incoming, call, &of);
    if (status == COPSE_OK) status = append_table(table, incoming, of.data);
    copse_buffer_free(table->ctx, &of);
    copse_table_free(incoming);
    return status;
}

/* ---- rows by key ---- */

typedef struct keyed {
    copse_table *keys;
    copse_buffer offsets, rows;
} keyed;

static void keyed_close(copse_table *table, keyed *k)
{
    copse_table_free(k->keys);
    copse_buffer_free(table->ctx, &k->offsets);
    copse_buffer_free(table->ctx, &k->rows);
}

/* The columns of the keys in the order in which an index has them; false: it is on others. */
static bool is_on_keys(const copse_stored_index *index, const copse_table *keys, const uint32_t *of,
                       copse_key_source *out)
{
    if (index->column_count != keys->column_count || index->sums != COPSE_NO_COLUMN) return false;
    out->count = index->column_count;
    for (uint32_t i = 0; i < index->column_count; i++) {
        uint32_t at = of[index->columns[i]];
        if (at == COPSE_NO_COLUMN) return false;
        out->parts[i] = (copse_cells){&keys->columns[at], NULL};
    }
    return true;
}

static copse_status keyed_find(copse_table *table, const char *call, const copse_column *keys, uint32_t key_count,
                               uint64_t n, keyed *out)
{
    copse_buffer of = {0};
    copse_key_source source;
    if (!keys) return copse_fail_argument(table->ctx, "keys", "%s: keys is NULL", call);
    copse_status status = copse_table_create(table->ctx, keys, key_count, n, &out->keys);
    if (status == COPSE_OK) status = match(table, out->keys, call, &of);
    if (status == COPSE_OK) status = copse_indexes_refresh(table);
    uint32_t at = 0;
    while (status == COPSE_OK && at < table->index_count &&
           !is_on_keys(&copse_indexes(table)[at], out->keys, of.data, &source))
        at++;
    if (status == COPSE_OK && at == table->index_count)
        status = copse_fail(table->ctx, COPSE_ERR_UNSUPPORTED, "%s: column \"%.40s\"%s has no index; %s makes one",
                            call, keys->name, key_count > 1 ? ", with the other columns of the key," : "",
                            key_count > 1 ? "copse_table_index_columns" : "copse_table_index");
    if (status == COPSE_OK)
        status = copse_index_find_rows(table, &copse_indexes(table)[at], &source, n, &out->offsets, &out->rows);
    copse_buffer_free(table->ctx, &of);
    return status;
}

/* An index of several columns has NULLs, but NULL is equal to nothing. */
static bool has_null(const copse_table *keys, uint64_t row)
{
    for (uint32_t i = 0; i < keys->column_count; i++)
        if (!copse_cell_valid(&keys->columns[i], row)) return true;
    return false;
}

/* ---- update ---- */

/* Rows and which of the new cells each gets: where a row comes several times, the last. Rows become distinct, and ascend. */
static copse_status last_of_each(copse_table *table, const keyed *k, uint64_t n, copse_buffer *rows, copse_buffer *from,
                                 uint64_t *out_n)
{
    const uint64_t *offsets = k->offsets.data;
    const uint64_t all = offsets ? offsets[n] : 0; /* NULL: there were no keys to look up */
    copse_buffer memory = {0};
    uint64_t used = 0;
    *out_n = 0;
    if (all == 0) return COPSE_OK;
    copse_status status = copse_buffer_reserve(table->ctx, rows, all, sizeof(uint32_t), "rows to update");
    if (status == COPSE_OK) status = copse_buffer_reserve(table->ctx, from, all, sizeof(uint32_t), "rows to update");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, &memory, 2 * all, sizeof(copse_pair), "rows to update");
    if (status != COPSE_OK) return status;
    copse_pair *pairs = memory.data;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = offsets[i]; j < offsets[i + 1] && !has_null(k->keys, i); j++)
            pairs[used++] = (copse_pair){((const uint32_t *)k->rows.data)[j], i};
    sort_bucket(pairs, pairs + all, used, false); /* stable */
    for (uint64_t j = 0; j < used; j++) {
        if (j + 1 < used && pairs[j + 1].key == pairs[j].key) continue;
        ((uint32_t *)rows->data)[*out_n] = (uint32_t)pairs[j].key;
        ((uint32_t *)from->data)[(*out_n)++] = (uint32_t)pairs[j].value;
    }
    copse_buffer_free(table->ctx, &memory);
    return COPSE_OK;
}

static copse_status check_key_stays(const copse_table *table, const uint32_t *of)
{
    for (uint32_t i = 0; i < table->index_count; i++) {
        const copse_stored_index *index = &copse_indexes(table)[i];
        for (uint32_t c = 0; index->unique && c < index->column_count; c++)
            if (of[index->columns[c]] != COPSE_NO_COLUMN)
                return copse_fail_argument(table->ctx, "columns",
                                           "copse_table_update: column \"%.40s\" is the unique key; delete the row and "
                                           "append it with its new key",
                                           table->columns[index->columns[c]].name);
    }
    return COPSE_OK;
}

static copse_status update_rows(copse_table *table, const copse_table *incoming, const uint32_t *of,
                                const uint32_t *rows, const uint32_t *from, uint64_t n)
{
    copse_status status = COPSE_OK;
    for (uint32_t c = 0; status == COPSE_OK && c < table->column_count; c++)
        if (of[c] != COPSE_NO_COLUMN)
            status = copse_column_reserve(table->ctx, &table->columns[c], table->slots,
                                          copse_column_text_bytes(&incoming->columns[of[c]], from, n));
    const copse_index_change change = {table, incoming, of, rows, from, n, false};
    if (status == COPSE_OK) status = copse_indexes_apply(table, &change);
    if (status != COPSE_OK) return status;
    for (uint32_t c = 0; c < table->column_count; c++)
        for (uint64_t i = 0; of[c] != COPSE_NO_COLUMN && i < n; i++)
            copse_column_put(&table->columns[c], rows[i], &incoming->columns[of[c]], from[i], false);
    copse_image_update(table, of, rows, n);
    return COPSE_OK;
}

copse_status copse_table_update_by_columns(copse_table *table, const copse_column *keys, uint32_t key_count, uint64_t n,
                                           const copse_column *columns, uint32_t column_count, uint64_t *out_updated)
{
    const char *call = key_count > 1 ? "copse_table_update_by_columns" : "copse_table_update";
    keyed k = {0};
    copse_table *incoming = NULL;
    copse_buffer of = {0}, rows = {0}, from = {0};
    uint64_t updated = 0;
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status = copse_table_changeable(table, call);
    if (n > 0 && status == COPSE_OK) status = keyed_find(table, call, keys, key_count, n, &k);
    if (n > 0 && status == COPSE_OK) {
        status = copse_table_create(table->ctx, columns, column_count, n, &incoming);
        if (status == COPSE_OK) status = match(table, incoming, call, &of);
        if (status == COPSE_OK) status = check_key_stays(table, of.data);
        if (status == COPSE_OK) status = last_of_each(table, &k, n, &rows, &from, &updated);
        if (status == COPSE_OK) status = update_rows(table, incoming, of.data, rows.data, from.data, updated);
    }
    if (status == COPSE_OK && out_updated) *out_updated = updated;
    copse_buffer_free(table->ctx, &of);
    copse_buffer_free(table->ctx, &rows);
    copse_buffer_free(table->ctx, &from);
    copse_table_free(incoming);
    keyed_close(table, &k);
    return status;
}

copse_status copse_table_update(copse_table *table, const copse_column *keys, uint64_t n, const copse_column *columns,
                                uint32_t column_count, uint64_t *out_updated)
{
    return copse_table_update_by_columns(table, keys, 1, n, columns, column_count, out_updated);
}

/* ---- delete ---- */

static copse_status delete_rows(copse_table *table, const uint32_t *rows, uint64_t n)
{
    copse_buffer alive = {0};
    copse_status status = COPSE_OK;
    if (!table->alive.data) {
        status = copse_buffer_reserve(table->ctx, &alive, table->slots / 8 + 1, 1, "a table");
        if (status == COPSE_OK) memset(alive.data, 0xFF, alive.bytes);
    }
    const copse_index_change change = {table, NULL, NULL, rows, NULL, n, false};
    if (status == COPSE_OK) status = copse_indexes_apply(table, &change);
    if (status != COPSE_OK) {
        copse_buffer_free(table->ctx, &alive);
        return status;
    }
    if (alive.data) table->alive = alive;
    for (uint64_t i = 0; i < n; i++) copse_bit_set(&table->alive, rows[i], false);
    table->live -= n;
    copse_image_delete(table);
    return COPSE_OK;
}

copse_status copse_table_delete_by_columns(copse_table *table, const copse_column *keys, uint32_t key_count, uint64_t n,
                                           uint64_t *out_deleted)
{
    const char *call = key_count > 1 ? "copse_table_delete_by_columns" : "copse_table_delete";
    keyed k = {0};
    copse_buffer rows = {0}, from = {0};
    uint64_t deleted = 0;
    if (copse_table_check(table, call) != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status status = copse_table_changeable(table, call);
    if (n > 0 && status == COPSE_OK) status = keyed_find(table, call, keys, key_count, n, &k);
    if (n > 0 && status == COPSE_OK) status = last_of_each(table, &k, n, &rows, &from, &deleted);
    if (deleted > 0 && status == COPSE_OK) status = delete_rows(table, rows.data, deleted);
    if (status == COPSE_OK && out_deleted) *out_deleted = deleted;
    copse_buffer_free(table->ctx, &rows);
    copse_buffer_free(table->ctx, &from);
    keyed_close(table, &k);
    return status;
}

copse_status copse_table_delete(copse_table *table, const copse_column *keys, uint64_t n, uint64_t *out_deleted)
{
    return copse_table_delete_by_columns(table, keys, 1, n, out_deleted);
}
