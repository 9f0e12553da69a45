/* As-of joins: rows of both sides in the order of their keys, and for each group the last right row so far. */
#include "query/join/join.h"

#define NO_GROUP UINT32_MAX

typedef struct side {
    const copse_table *table;
    const copse_stored_column *on;
    const copse_stored_column *by; /* NULL: one group */
    copse_buffer order;            /* rows in the order of `on`; none: they come so */
    copse_buffer groups;           /* of each row, by number; NO_GROUP: it has no key, or none */
    uint64_t n;                    /* of those in order */
} side;

static void side_free(const copse_ctx *ctx, side *s)
{
    copse_buffer_free(ctx, &s->order);
    copse_buffer_free(ctx, &s->groups);
}

static uint32_t row_at(const side *s, uint64_t i)
{
    return s->order.data ? ((const uint32_t *)s->order.data)[i] : (uint32_t)i;
}

static uint32_t group_of(const side *s, uint32_t row)
{
    return ((const uint32_t *)s->groups.data)[row];
}

/* ---- groups ---- */

/* Cells of two columns with a number each: the same number for the same cell. Open addressing; a slot holds a number, the cell is that of
 * the first row that had it. */
typedef struct numbering {
    const copse_ctx *ctx;
    copse_buffer slots;  /* uint32_t, 1 + the number; 0: free */
    copse_buffer firsts; /* first_row, by number */
    uint64_t mask;
    uint32_t count;
} numbering;

typedef struct first_row {
    const copse_stored_column *column;
    uint64_t row;
    uint64_t hash;
} first_row;

static uint64_t hash_cell(const copse_stored_column *column, uint64_t row)
{
    uint64_t hash = 0;
    if (!copse_column_is_text(column)) {
        hash = copse_cell_code(column, row);
    } else {
        copse_slice text = copse_cell_text(column, row);
        for (size_t i = 0; i < text.length; i++) hash = (hash ^ text.start[i]) * UINT64_C(0x100000001B3);
        hash += text.length;
    }
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static copse_status grow(numbering *m)
{
    copse_buffer larger = {0};
    uint64_t size = m->slots.data ? 2 * (m->mask + 1) : 1024;
    copse_status status = copse_buffer_reserve(m->ctx, &larger, size, sizeof(uint32_t), "the groups of a join");
    if (status != COPSE_OK) return status;
    memset(larger.data, 0, size * sizeof(uint32_t));
    const first_row *firsts = m->firsts.data;
    uint32_t *slots = larger.data;
    for (uint32_t i = 0; i < m->count; i++) {
        uint64_t at = firsts[i].hash & (size - 1);
        while (slots[at]) at = (at + 1) & (size - 1);
        slots[at] = i + 1;
    }
    copse_buffer_free(m->ctx, &m->slots);
    m->slots = larger;
    m->mask = size - 1;
    return COPSE_OK;
}

static copse_status number_cell(numbering *m, const copse_stored_column *column, uint64_t row, uint32_t *out)
{
    copse_status status = COPSE_OK;
    if (!m->slots.data || m->count > m->mask / 2) status = grow(m);
    if (status != COPSE_OK) return status;
    uint64_t hash = hash_cell(column, row), at = hash & m->mask;
    uint32_t *slots = m->slots.data;
    const first_row *firsts = m->firsts.data;
    for (; slots[at]; at = (at + 1) & m->mask) {
        const first_row *first = &firsts[slots[at] - 1];
        if (first->hash != hash || copse_cell_compare(first->column, first->row, column, row) != 0) continue;
        *out = slots[at] - 1;
        return COPSE_OK;
    }
    status = copse_buffer_reserve(m->ctx, &m->firsts, m->count + 1u, sizeof *firsts, "the groups of a join");
    if (status != COPSE_OK) return status;
    ((first_row *)m->firsts.data)[m->count] = (first_row){column, row, hash};
    *out = m->count++;
    slots[at] = m->count;
    return COPSE_OK;
}

/* ---- one side ---- */

static copse_status find_groups(side *s, numbering *m)
{
    const copse_table *table = s->table;
    copse_status status =
        copse_buffer_reserve(m->ctx, &s->groups, table->slots + 1, sizeof(uint32_t), "the groups of a join");
    uint32_t *groups = s->groups.data;
    for (uint64_t i = 0; status == COPSE_OK && i < table->slots; i++) {
        groups[i] = NO_GROUP;
        if (!copse_row_lives(table, i) || !copse_cell_valid(s->on, i)) continue;
        if (!s->by)
            groups[i] = 0;
        else if (copse_cell_valid(s->by, i))
            status = number_cell(m, s->by, i, &groups[i]);
    }
    return status;
}

static bool is_ascending(const side *s)
{
    uint64_t last = UINT64_MAX;
    for (uint64_t i = 0; i < s->table->slots; i++) {
        if (group_of(s, (uint32_t)i) == NO_GROUP) continue;
        if (last != UINT64_MAX && copse_cell_compare(s->on, last, s->on, i) > 0) return false;
        last = i;
    }
    return true;
}

static copse_status open_side(const copse_table *table, uint32_t on, uint32_t by, numbering *m, side *out)
{
    const copse_sort_key key = {on, false};
    *out = (side){.table = table, .on = &table->columns[on], .n = table->slots};
    if (by != COPSE_NO_COLUMN) out->by = &table->columns[by];
    copse_cells_touch(out->on, NULL, table->slots);
    if (out->by) copse_cells_touch(out->by, NULL, table->slots);
    copse_status status = find_groups(out, m);
    if (status != COPSE_OK || is_ascending(out)) return status;
    status = copse_buffer_reserve(table->ctx, &out->order, table->slots + 1, sizeof(uint32_t), "the rows of a join");
    if (status != COPSE_OK) return status;
    uint32_t *rows = out->order.data;
    out->n = 0;
    for (uint64_t i = 0; i < table->slots; i++)
        if (group_of(out, (uint32_t)i) != NO_GROUP) rows[out->n++] = (uint32_t)i;
    return copse_sort_rows(table, &key, 1, rows, out->n);
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

/* partner[left row], by number; last[group]: COPSE_ROW_NONE at the beginning. */
static void walk(const side *left, const side *right, const tolerance *t, uint32_t *last, uint32_t *partner)
{
    uint64_t j = 0; /* right rows before it are not behind the left row */
    for (uint64_t i = 0; i < left->n; i++) {
        uint32_t row = row_at(left, i), group = group_of(left, row);
        if (group == NO_GROUP) continue;
        for (; j < right->n; j++) {
            uint32_t other = row_at(right, j), its = group_of(right, other);
            if (its == NO_GROUP) continue;
            if (copse_cell_compare(right->on, other, left->on, row) > 0) break;
            last[its] = other;
        }
        uint32_t found = last[group];
        if (found != COPSE_ROW_NONE && is_near(t, left, row, right, found)) partner[row] = found;
    }
}

copse_status copse_join_asof(copse_joined *join)
{
    side left = {0}, right = {0};
    tolerance t;
    copse_buffer partners = {0}, last = {0};
    const copse_ctx *ctx = join->left->ctx;
    numbering m = {.ctx = ctx};
    copse_status status = take_tolerance(join, &t);
    if (status == COPSE_OK) status = open_side(join->left, join->left_on, join->left_by, &m, &left);
    if (status == COPSE_OK) status = open_side(join->right, join->right_on, join->right_by, &m, &right);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &partners, join->left->slots + 1, sizeof(uint32_t), "the rows of a join");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &last, m.count + 1u, sizeof(uint32_t), "the groups of a join");
    if (status == COPSE_OK) status = copse_pairs_reserve(join->pairs, join->left->live);
    if (status == COPSE_OK) {
        uint32_t *partner = partners.data;
        memset(partner, 0xFF, (join->left->slots + 1) * sizeof *partner); /* COPSE_ROW_NONE */
        memset(last.data, 0xFF, (m.count + 1u) * sizeof *partner);
        walk(&left, &right, &t, last.data, partner);
        for (uint64_t i = 0; i < join->left->live; i++) {
            uint64_t row = copse_joined_left(join, i);
            copse_pairs_add(join->pairs, row, partner[row] == COPSE_ROW_NONE ? COPSE_NO_ROW : partner[row]);
        }
    }
    copse_buffer_free(ctx, &partners);
    copse_buffer_free(ctx, &last);
    copse_buffer_free(ctx, &m.slots);
    copse_buffer_free(ctx, &m.firsts);
    side_free(ctx, &left);
    side_free(ctx, &right);
    return status;
}
