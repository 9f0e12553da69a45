/* As-of joins: both sides sorted by group and key, then walked together. */
#include "query/join/join.h"

typedef struct side {
    const copse_table *table;
    const copse_stored_column *on;
    const copse_stored_column *by; /* NULL: one group */
    copse_buffer memory;
    uint64_t n;
} side;

static const uint32_t *rows_of(const side *s)
{
    return s->memory.data;
}

/* Rows that have key and group, sorted; of equal keys in the order of their numbers. */
static copse_status open_side(const copse_table *table, uint32_t on, uint32_t by, side *out)
{
    copse_sort_key keys[2] = {{by, false}, {on, false}};
    *out = (side){.table = table, .on = &table->columns[on]};
    if (by != COPSE_NO_COLUMN) out->by = &table->columns[by];
    copse_status status =
        copse_buffer_reserve(table->ctx, &out->memory, table->slots + 1, sizeof(uint32_t), "the rows of a join");
    if (status != COPSE_OK) return status;
    uint32_t *rows = out->memory.data;
    copse_cells_touch(out->on, NULL, table->slots);
    if (out->by) copse_cells_touch(out->by, NULL, table->slots);
    for (uint64_t i = 0; i < table->slots; i++)
        if (copse_row_lives(table, i) && copse_cell_valid(out->on, i) && (!out->by || copse_cell_valid(out->by, i)))
            rows[out->n++] = (uint32_t)i;
    return copse_sort_rows(table, keys + (out->by ? 0 : 1), out->by ? 2 : 1, rows, out->n);
}

/* ---- the tolerance ---- */

typedef struct tolerance {
    bool any;
    bool floats;
    copse_wide whole;
    double number;
} tolerance;

static copse_status take_tolerance(const copse_joined *join, tolerance *out)
{
    const copse_stored_column *column = &join->left->columns[join->left_on];
    copse_value value = join->options.tolerance;
    *out = (tolerance){.any = value.type == 0, .floats = copse_column_is_float(column)};
    if (out->any) return COPSE_OK;
    out->whole = value.type == COPSE_U64 ? (copse_wide)value.as.u64 : value.as.i64;
    out->number = value.type == COPSE_F64 ? value.as.f64 : (double)out->whole;
    bool fits = value.type == COPSE_F64 ? out->floats : value.type == COPSE_I64 || value.type == COPSE_U64;
    if (!fits || copse_column_is_text(column))
        return copse_fail(join->left->ctx, COPSE_ERR_TYPE,
                          "copse_join: options->tolerance is no distance of keys of type %s",
                          copse_column_type_name(column->type));
    if (!(out->number >= 0))
        return copse_fail_argument(join->left->ctx, "options", "copse_join: options->tolerance is negative");
    return COPSE_OK;
}

static bool is_near(const tolerance *t, const side *left, uint32_t left_row, const side *right, uint32_t right_row)
{
    if (t->any || copse_cell_compare(left->on, left_row, right->on, right_row) == 0) return true;
    if (t->floats) return copse_cell_float(left->on, left_row) - copse_cell_float(right->on, right_row) <= t->number;
    return copse_cell_whole(left->on, left_row) - copse_cell_whole(right->on, right_row) <= t->whole;
}

/* ---- the walk ---- */

static int compare_groups(const side *a, uint32_t row_a, const side *b, uint32_t row_b)
{
    return a->by ? copse_cell_compare(a->by, row_a, b->by, row_b) : 0;
}

/* partner[left row], by number. */
static void walk(const side *left, const side *right, const tolerance *t, uint32_t *partner)
{
    uint64_t j = 0; /* right rows before it are of smaller groups, or not behind the left row */
    for (uint64_t i = 0; i < left->n; i++) {
        uint32_t row = rows_of(left)[i];
        while (j < right->n) {
            int group = compare_groups(right, rows_of(right)[j], left, row);
            if (group > 0 || (group == 0 && copse_cell_compare(right->on, rows_of(right)[j], left->on, row) > 0)) break;
            j++;
        }
        if (j == 0) continue;
        uint32_t last = rows_of(right)[j - 1];
        if (compare_groups(right, last, left, row) == 0 && is_near(t, left, row, right, last)) partner[row] = last;
    }
}

copse_status copse_join_asof(copse_joined *join)
{
    side left = {0}, right = {0};
    tolerance t;
    copse_buffer partners = {0};
    const copse_ctx *ctx = join->left->ctx;
    const uint32_t *rows = join->left_rows.data;
    copse_status status = take_tolerance(join, &t);
    if (status == COPSE_OK) status = open_side(join->left, join->left_on, join->left_by, &left);
    if (status == COPSE_OK) status = open_side(join->right, join->right_on, join->right_by, &right);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &partners, join->left->slots + 1, sizeof(uint32_t), "the rows of a join");
    if (status == COPSE_OK) status = copse_pairs_reserve(join->pairs, join->left->live);
    if (status == COPSE_OK) {
        uint32_t *partner = partners.data;
        memset(partner, 0xFF, (join->left->slots + 1) * sizeof *partner); /* COPSE_ROW_NONE */
        walk(&left, &right, &t, partner);
        for (uint64_t i = 0; i < join->left->live; i++)
            copse_pairs_add(join->pairs, rows[i], partner[rows[i]] == COPSE_ROW_NONE ? COPSE_NO_ROW : partner[rows[i]]);
    }
    copse_buffer_free(ctx, &partners);
    copse_buffer_free(ctx, &left.memory);
    copse_buffer_free(ctx, &right.memory);
    return status;
}
