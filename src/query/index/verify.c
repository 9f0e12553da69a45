/* Indexes against the rows that they are of. */
#include "query/index/index.h"

typedef struct check {
    const copse_table *table;
    const copse_stored_index *index;
    copse_buffer seen; /* a bit for each row */
    copse_buffer room; /* for a key of several columns */
    const char *problem;
    uint32_t row;
} check;

static bool holds(const copse_stored_column *column, uint32_t row, const void *keys, uint64_t at)
{
    if (copse_column_is_text(column)) {
        const copse_bytes *bytes = keys;
        const int64_t *offsets = bytes->offsets;
        copse_slice key = {(const unsigned char *)bytes->data + offsets[at], (size_t)(offsets[at + 1] - offsets[at])};
        return copse_slice_compare(key, copse_cell_text(column, row)) == 0;
    }
    uint64_t code = 0;
    if (column->width == 1) return ((const uint32_t *)keys)[at] == copse_cell_code(column, row);
    if (column->width == 8)
        code = copse_encode_one_k64((copse_type)column->type, ((const uint64_t *)keys)[at]);
    else
        code = copse_encode_one_k32((copse_type)column->type, ((const uint32_t *)keys)[at]);
    return code == copse_cell_code(column, row);
}

/* The same of a key of several columns, which is built again in `room`. */
static bool composite_holds(const check *c, uint32_t row, const copse_bytes *keys, uint64_t at)
{
    const int64_t *offsets = keys->offsets;
    unsigned char *room = c->room.data, *end = room;
    size_t needed = 0;
    for (uint32_t i = 0; i < c->index->column_count; i++)
        needed += copse_composite_room(&c->table->columns[c->index->columns[i]], row);
    if (needed > 2 * (size_t)COPSE_LONGEST_KEY) return false; /* such a key is refused */
    for (uint32_t i = 0; i < c->index->column_count; i++)
        end = copse_composite_cell(end, &c->table->columns[c->index->columns[i]], row);
    const copse_slice key = {(const unsigned char *)keys->data + offsets[at], (size_t)(offsets[at + 1] - offsets[at])};
    return copse_slice_compare(key, (copse_slice){room, (size_t)(end - room)}) == 0;
}

static bool entry_fits(const check *c, uint32_t row, const void *keys, uint64_t at)
{
    const copse_stored_column *column = &c->table->columns[c->index->columns[0]];
    if (copse_index_is_composite(c->index)) return composite_holds(c, row, keys, at);
    return copse_cell_valid(column, row) && holds(column, row, keys, at);
}

static int check_entries(void *user, const void *keys, const void *values, uint64_t n)
{
    check *c = user;
    const uint32_t *rows = values;
    for (uint64_t i = 0; i < n; i++) {
        c->row = rows[i];
        if (rows[i] >= c->table->slots || !copse_row_lives(c->table, rows[i]))
            c->problem = "has an entry of a row that is not there";
        else if (copse_bit(&c->seen, rows[i]))
            c->problem = "has two entries of a row";
        else if (!entry_fits(c, rows[i], keys, i))
            c->problem = "has another key than the row";
        if (c->problem) return 1;
        copse_bit_set(&c->seen, rows[i], true);
    }
    return 0;
}

/* Rows that have an entry. */
static uint64_t entries_of(const copse_table *table, const copse_stored_index *index)
{
    const copse_stored_column *keys = &table->columns[index->columns[0]];
    const copse_stored_column *sums = index->sums == COPSE_NO_COLUMN ? keys : &table->columns[index->sums];
    uint64_t n = 0;
    for (uint64_t i = 0; i < table->slots; i++)
        n += copse_row_lives(table, i) &&
             (copse_index_is_composite(index) || (copse_cell_valid(keys, i) && copse_cell_valid(sums, i)));
    return n;
}

static copse_status verify(const copse_table *table, const copse_stored_index *index)
{
    check c = {.table = table, .index = index};
    char shown[COPSE_SHOWN_KEY];
    copse_status status = copse_verify(index->tree);
    if (status == COPSE_OK && copse_size(index->tree) != entries_of(table, index))
        c.problem = "has not as many entries as there are rows with a key";
    if (status == COPSE_OK)
        status = copse_buffer_reserve(table->ctx, &c.seen, table->slots / 8 + 1, 1, "checking an index");
    if (status == COPSE_OK && copse_index_is_composite(index))
        status = copse_buffer_reserve(table->ctx, &c.room, 2 * (size_t)COPSE_LONGEST_KEY, 1, "checking an index");
    if (status == COPSE_OK && !c.problem && index->sums == COPSE_NO_COLUMN) {
        memset(c.seen.data, 0, table->slots / 8 + 1);
        status = copse_visit(index->tree, check_entries, &c);
    }
    copse_buffer_free(table->ctx, &c.seen);
    copse_buffer_free(table->ctx, &c.room);
    if (!c.problem) return status;
    return copse_fail(table->ctx, COPSE_ERR_CORRUPT, "the index on column \"%s\" %s (row %u)",
                      copse_index_show(table, index, shown), c.problem, c.row);
}

copse_status copse_table_verify(const copse_table *table)
{
    if (copse_table_check(table, "copse_table_verify") != COPSE_OK) return COPSE_ERR_ARGUMENT;
    copse_status sound = copse_table_verify_file(table);
    if (sound != COPSE_OK) return sound;
    for (uint32_t i = 0; i < table->index_count; i++) {
        if (copse_indexes(table)[i].stale) continue;
        copse_status status = verify(table, &copse_indexes(table)[i]);
        if (status != COPSE_OK) return status;
    }
    return COPSE_OK;
}
