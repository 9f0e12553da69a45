/* As-of joins: rows of both sides in the order of their keys, and for each group the last right row so far. */
#include "query/device/placed.h"
#include "query/join/join.h"

typedef struct side {
    const copse_table *table;
    const copse_stored_column *on;
    const copse_stored_column *by; /* NULL: one group */
    copse_buffer order;            /* rows in the order of `on`; none: they come so */
    uint64_t n;                    /* of those in order */
} side;

static uint32_t row_at(const side *s, uint64_t i)
{
    return s->order.data ? ((const uint32_t *)s->order.data)[i] : (uint32_t)i;
}

/* Rows without a key or a group have no partner and are none. */
static bool is_used(const side *s, uint64_t row)
{
    return copse_row_lives(s->table, row) && copse_cell_valid(s->on, row) && (!s->by || copse_cell_valid(s->by, row));
}

/* Whether the key of a row is larger than that of another. */
static bool is_behind(const side *a, uint64_t row_a, const side *b, uint64_t row_b)
{
    if (copse_column_is_text(a->on)) return copse_cell_compare(a->on, row_a, b->on, row_b) > 0;
    return copse_cell_code(a->on, row_a) > copse_cell_code(b->on, row_b);
}

/* ---- groups ---- */

/* A group and its last right row so far. */
typedef struct group {
    const copse_stored_column *column; /* whose cell it is */
    uint64_t row;
    uint64_t hash;
    uint32_t last;
} group;

/* Groups by cell. Open addressing: a slot holds 1 + the place in the list, or 0. */
typedef struct group_list {
    const copse_ctx *ctx;
    copse_buffer slots; /* uint32_t */
    copse_buffer groups;
    uint64_t mask;
    uint32_t count;
} group_list;

/* Of codes every step can be undone, so that different ones have different hashes. */
static uint64_t hash_cell(const copse_stored_column *column, uint64_t row)
{
    uint64_t hash = 0;
    if (!column) return 0;
    if (!copse_column_is_text(column)) {
        hash = copse_cell_code(column, row);
    } else {
        copse_slice text = copse_cell_text(column, row);
        for (size_t i = 0; i < text.length; i++) hash = (hash ^ text.start[i]) * UINT64_C(0x100000001B3);
        hash += text.length;
    }
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 32);
}

static bool is_group(const group *g, uint64_t hash, const copse_stored_column *column, uint64_t row)
{
    if (g->hash != hash) return false;
    return !column || !copse_column_is_text(column) || copse_cell_compare(g->column, g->row, column, row) == 0;
}

static group *find_group(const group_list *list, uint64_t hash, const copse_stored_column *column, uint64_t row)
{
    const uint32_t *slots = list->slots.data;
    group *groups = list->groups.data;
    for (uint64_t at = hash & list->mask; slots[at]; at = (at + 1) & list->mask)
        if (is_group(&groups[slots[at] - 1], hash, column, row)) return &groups[slots[at] - 1];
    return NULL;
}

static copse_status grow(group_list *list)
{
    copse_buffer larger = {0};
    uint64_t size = list->slots.data ? 2 * (list->mask + 1) : 4096;
    copse_status status = copse_buffer_reserve(list->ctx, &larger, size, sizeof(uint32_t), "the groups of a join");
    if (status != COPSE_OK) return status;
    memset(larger.data, 0, size * sizeof(uint32_t));
    const group *groups = list->groups.data;
    uint32_t *slots = larger.data;
    for (uint32_t i = 0; i < list->count; i++) {
        uint64_t at = groups[i].hash & (size - 1);
        while (slots[at]) at = (at + 1) & (size - 1);
        slots[at] = i + 1;
    }
    copse_buffer_free(list->ctx, &list->slots);
    list->slots = larger;
    list->mask = size - 1;
    return COPSE_OK;
}

static copse_status add_group(group_list *list, uint64_t hash, const copse_stored_column *column, uint32_t row)
{
    copse_status status = list->count >= list->mask / 2 ? grow(list) : COPSE_OK;
    if (status == COPSE_OK)
        status =
            copse_buffer_reserve(list->ctx, &list->groups, list->count + 1u, sizeof(group), "the groups of a join");
    if (status != COPSE_OK) return status;
    uint32_t *slots = list->slots.data;
    uint64_t at = hash & list->mask;
    while (slots[at]) at = (at + 1) & list->mask;
    ((group *)list->groups.data)[list->count++] = (group){column, row, hash, row};
    slots[at] = list->count;
    return COPSE_OK;
}

/* The row is the last one of its group now. */
static copse_status note_last(group_list *list, const side *s, uint32_t row)
{
    uint64_t hash = hash_cell(s->by, row);
    group *found = find_group(list, hash, s->by, row);
    if (!found) return add_group(list, hash, s->by, row);
    found->last = row;
    return COPSE_OK;
}

static uint32_t find_last(const group_list *list, const side *s, uint32_t row)
{
    const group *found = find_group(list, hash_cell(s->by, row), s->by, row);
    return found ? found->last : COPSE_ROW_NONE;
}

/* ---- one side ---- */

/* Like copse_column_ascends, but without rows that have no group. */
static bool is_ascending(const side *s)
{
    uint64_t last = UINT64_MAX;
    for (uint64_t i = 0; i < s->table->slots; i++) {
        if (!is_used(s, i)) continue;
        if (last != UINT64_MAX && is_behind(s, last, s, i)) return false;
        last = i;
    }
    return true;
}

static copse_status open_side(const copse_table *table, uint32_t on, uint32_t by, side *out)
{
    const copse_sort_key key = {on, false};
    *out = (side){.table = table, .on = &table->columns[on], .n = table->slots};
    if (by != COPSE_NO_COLUMN) out->by = &table->columns[by];
    copse_cells_touch(out->on, NULL, table->slots);
    if (out->by) copse_cells_touch(out->by, NULL, table->slots);
    if (is_ascending(out)) return COPSE_OK;
    copse_status status =
        copse_buffer_reserve(table->ctx, &out->order, table->slots + 1, sizeof(uint32_t), "the rows of a join");
    if (status != COPSE_OK) return status;
    uint32_t *rows = out->order.data;
    out->n = 0;
    for (uint64_t i = 0; i < table->slots; i++)
        if (is_used(out, i)) rows[out->n++] = (uint32_t)i;
    return copse_sort_rows(table, &key, 1, rows, out->n);
}

/* ---- the tolerance ---- */

static copse_status take_tolerance(const copse_joined *join, copse_tolerance *out)
{
    const copse_stored_column *column = &join->left->columns[join->left_on];
    copse_value value = join->options.tolerance;
    *out = (copse_tolerance){.any = value.type == 0, .floats = copse_column_is_float(column)};
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

static bool is_near(const copse_tolerance *t, const side *left, uint32_t left_row, const side *right,
                    uint32_t right_row)
{
    if (t->any || copse_cell_compare(left->on, left_row, right->on, right_row) == 0) return true;
    if (t->floats) return copse_cell_float(left->on, left_row) - copse_cell_float(right->on, right_row) <= t->number;
    return copse_cell_whole(left->on, left_row) - copse_cell_whole(right->on, right_row) <= t->whole;
}

/* ---- the walk ---- */

typedef struct asof {
    copse_joined *join;
    side left, right;
    copse_tolerance tolerance;
    group_list groups;
    copse_buffer partners; /* of each left row, where these do not come in their order */
} asof;

static void add_pair(copse_joined *join, uint64_t row, uint32_t partner)
{
    copse_pairs_add(join->pairs, row, partner == COPSE_ROW_NONE ? COPSE_NO_ROW : partner);
    if (join->pairs->n == COPSE_JOIN_KEPT) copse_join_drain(join, false);
}

static void note_partner(asof *a, uint32_t row, uint32_t partner)
{
    if (a->partners.data)
        ((uint32_t *)a->partners.data)[row] = partner;
    else
        add_pair(a->join, row, partner);
}

static copse_status walk(asof *a)
{
    const side *left = &a->left, *right = &a->right;
    copse_status status = grow(&a->groups);
    uint64_t j = 0; /* right rows before it are not behind the left row */
    for (uint64_t i = 0; status == COPSE_OK && i < left->n; i++) {
        uint32_t row = row_at(left, i), found = COPSE_ROW_NONE;
        if (!left->order.data && !copse_row_lives(left->table, row)) continue;
        if (left->order.data || is_used(left, row)) {
            for (; status == COPSE_OK && j < right->n; j++) {
                uint32_t other = row_at(right, j);
                if (!right->order.data && !is_used(right, other)) continue;
                if (is_behind(right, other, left, row)) break;
                status = note_last(&a->groups, right, other);
            }
            found = find_last(&a->groups, left, row);
            if (found != COPSE_ROW_NONE && !is_near(&a->tolerance, left, row, right, found)) found = COPSE_ROW_NONE;
        }
        note_partner(a, row, found);
    }
    return status;
}

static void list_partners(const asof *a)
{
    const uint32_t *partner = a->partners.data;
    for (uint64_t i = 0; partner && i < a->join->left->live; i++) {
        uint64_t row = copse_joined_left(a->join, i);
        add_pair(a->join, row, partner[row]);
    }
}

copse_status copse_join_asof(copse_joined *join)
{
    const copse_ctx *ctx = join->left->ctx;
    asof a = {.join = join, .groups = {.ctx = ctx}};
    uint64_t slots = join->left->slots + 1;
    bool done = false;
    copse_status status = take_tolerance(join, &a.tolerance);
    if (status == COPSE_OK && copse_card_can_join(join))
        return copse_card_join_asof(join, !a.tolerance.any, (uint64_t)a.tolerance.whole, a.tolerance.number);
    if (status == COPSE_OK) status = copse_join_ticks(join, &a.tolerance, &done);
    if (status != COPSE_OK || done) return status;
    status = open_side(join->left, join->left_on, join->left_by, &a.left);
    if (status == COPSE_OK) status = open_side(join->right, join->right_on, join->right_by, &a.right);
    if (status == COPSE_OK && a.left.order.data)
        status = copse_buffer_reserve(ctx, &a.partners, slots, sizeof(uint32_t), "the rows of a join");
    if (status == COPSE_OK && a.partners.data)
        memset(a.partners.data, 0xFF, slots * sizeof(uint32_t)); /* COPSE_ROW_NONE */
    if (status == COPSE_OK)
        status = copse_pairs_reserve(join->pairs, join->totals ? COPSE_JOIN_KEPT : join->left->live);
    if (status == COPSE_OK) status = walk(&a);
    if (status == COPSE_OK) list_partners(&a);
    copse_buffer_free(ctx, &a.partners);
    copse_buffer_free(ctx, &a.groups.slots);
    copse_buffer_free(ctx, &a.groups.groups);
    copse_buffer_free(ctx, &a.left.order);
    copse_buffer_free(ctx, &a.right.order);
    return status;
}
