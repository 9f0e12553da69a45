/* Pairs of rows as a table. */
#include "query/device/placed.h"
#include "query/join/join.h"
#include "query/output/output.h"

static copse_status rows_take(const copse_ctx *ctx, const copse_table *table, const char *what, const uint64_t *rows,
                              uint64_t n, copse_buffer *out)
{
    copse_status status = copse_buffer_reserve(ctx, out, n + 1, sizeof(uint32_t), "the rows of pairs");
    for (uint64_t i = 0; status == COPSE_OK && i < n; i++) {
        status = copse_poll(ctx, "listing pairs", i, n);
        if (rows[i] != COPSE_NO_ROW && rows[i] >= table->slots)
            return copse_fail_argument(ctx, what, "copse_pairs_table: %s has no row %llu; is it that of the join?",
                                       what, (unsigned long long)rows[i]);
        ((uint32_t *)out->data)[i] = rows[i] == COPSE_NO_ROW ? COPSE_ROW_NONE : (uint32_t)rows[i];
    }
    return status;
}

static bool has_column(const copse_table *table, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(table->columns[i].name, name) == 0) return true;
    return false;
}

/* A name that no column before has. */
static copse_status open_renamed(copse_table *table, uint32_t at, const copse_stored_column *from)
{
    static const char prefix[] = "right.";
    if (!has_column(table, at, from->name))
        return copse_column_open(table->ctx, from->name, from->type, &table->columns[at]);
    size_t room = from->name_bytes + (at + 1) * (sizeof prefix - 1), shift = 0;
    char *name = copse_memory_alloc(table->ctx, room);
    if (!name) return copse_no_memory(table->ctx, room, "the name of a column");
    do {
        memcpy(name + shift, prefix, sizeof prefix - 1);
        shift += sizeof prefix - 1;
        memcpy(name + shift, from->name, from->name_bytes);
    } while (has_column(table, at, name));
    copse_status status = copse_column_open(table->ctx, name, from->type, &table->columns[at]);
    copse_memory_free(table->ctx, name, room);
    return status;
}

static copse_status gather(const copse_pairs *pairs, const copse_table *from, bool right, copse_table *out,
                           uint32_t first)
{
    copse_buffer list = {0};
    copse_status status = copse_pairs_fetch(pairs);
    if (status == COPSE_OK)
        status = rows_take(out->ctx, from, right ? "right" : "left", right ? pairs->right.data : pairs->left.data,
                           pairs->n, &list);
    for (uint32_t i = 0; status == COPSE_OK && i < from->column_count; i++)
        status = copse_column_gather(out->ctx, &out->columns[first + i], 0, &from->columns[i], list.data, pairs->n);
    copse_buffer_free(out->ctx, &list);
    return status;
}

static copse_status add_side(const copse_pairs *pairs, const copse_table *from, bool right, copse_table *out,
                             uint32_t first)
{
    bool done = false;
    copse_status status = COPSE_OK;
    for (uint32_t i = 0; status == COPSE_OK && i < from->column_count; i++)
        status = open_renamed(out, first + i, &from->columns[i]);
    if (status == COPSE_OK) status = copse_card_gather_side(pairs, from, right, out, first, &done);
    if (status == COPSE_OK && !done) status = gather(pairs, from, right, out, first);
    return status == COPSE_OK ? copse_table_sound(from) : status;
}

copse_status copse_pairs_table(const copse_pairs *pairs, const copse_table *left, const copse_table *right,
                               copse_table **out_table)
{
    copse_table *made = NULL;
    if (!pairs) return copse_fail_argument(NULL, "pairs", "copse_pairs_table: pairs is NULL");
    if (!left || !right) return copse_fail_argument(pairs->ctx, "left", "copse_pairs_table: a table is NULL");
    if (!out_table) return copse_fail_argument(pairs->ctx, "out_table", "copse_pairs_table: out_table is NULL");
    *out_table = NULL;
    if (pairs->n > COPSE_MOST_ROWS)
        return copse_fail(pairs->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_pairs_table: %llu pairs are more than a table holds", (unsigned long long)pairs->n);
    copse_status status =
        copse_table_begin(pairs->ctx, left->column_count + (pairs->has_right ? right->column_count : 0), &made);
    if (status == COPSE_OK) status = add_side(pairs, left, false, made, 0);
    if (status == COPSE_OK && pairs->has_right) status = add_side(pairs, right, true, made, left->column_count);
    if (status == COPSE_OK) {
        made->slots = made->live = pairs->n;
        *out_table = made;
    } else if (made) {
        copse_table_close(made);
    }
    return status;
}
