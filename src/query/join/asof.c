/* As-of joins: what their columns are decides how both sides come into the order of their keys; ticks.c then walks along them.
 *
 *   cells where they lie    keys are numbers, nothing is NULL or deleted, rows come in order
 *   pairs                   all else: of each row that has a key and a group the code of its key, the number of its group and its own number,
 *                           sorted where rows do not come so. Codes of texts are ranks among the texts of both sides.
 *
 * Groups are whole numbers close together as they are; all others are numbered as they come.
 */
#include "query/device/placed.h"
#include "query/join/ticks.h"

#include "core/threads.h"

#define MOST_GROUPS ((uint64_t)1 << 20) /* that lie close together */

typedef struct side {
    const copse_table *table;
    uint32_t on_number;
    const copse_stored_column *on;
    const copse_stored_column *by; /* NULL: one group */
    copse_buffer numbers;          /* of the groups of rows; none: `by` is close together */
    copse_buffer pairs;            /* copse_pair */
    void *other;                   /* room for as many, while they are sorted */
    uint64_t n;
} side;

typedef struct asof {
    copse_joined *join;
    side left, right;
    copse_ticks ticks;
    uint64_t base; /* the code of the smallest group */
    copse_polled polled;
} asof;

/* Rows without a key or a group have no partner and are none. */
static bool is_used(const side *s, uint64_t row)
{
    return copse_row_lives(s->table, row) && copse_cell_valid(s->on, row) && (!s->by || copse_cell_valid(s->by, row));
}

/* ---- groups ---- */

/* A group: the code of its cell, or of a text the first eight bytes, the length, and a row that has it. */
typedef struct group {
    uint64_t hash, prefix;
    uint32_t length, row;
} group;

/* Groups of the right side. Open addressing: a slot holds 1 + the number of a group, or 0. */
typedef struct group_list {
    const copse_ctx *ctx;
    const copse_stored_column *column;
    copse_buffer slots;  /* uint32_t */
    copse_buffer groups; /* group */
    uint64_t mask;
    uint32_t count;
    side *side; /* whose groups are looked for */
    copse_polled polled;
} group_list;

static inline group group_at(const copse_stored_column *by, uint64_t row)
{
    if (!copse_column_is_text(by)) {
        uint64_t code = copse_cell_code(by, row);
        return (group){copse_mix(code), code, 0, (uint32_t)row};
    }
    copse_slice text = copse_cell_text(by, row);
    uint64_t prefix = copse_slice_prefix(text);
    return (group){copse_mix(copse_text_hash(text, prefix)), prefix, (uint32_t)text.length, (uint32_t)row};
}

/* The slot of a group, or the one where it would be. */
static inline uint32_t *find_slot(const group_list *list, const copse_stored_column *by, const group *wanted)
{
    uint32_t *slots = list->slots.data;
    uint64_t at = wanted->hash & list->mask;
    for (; slots[at]; at = (at + 1) & list->mask) {
        const group *g = (const group *)list->groups.data + slots[at] - 1;
        if (g->hash == wanted->hash && g->prefix == wanted->prefix && g->length == wanted->length &&
            (g->length <= 8 || copse_cell_compare(list->column, g->row, by, wanted->row) == 0))
            break;
    }
    return &slots[at];
}

static copse_status grow(group_list *list)
{
    copse_buffer larger = {0};
    uint64_t size = list->slots.data ? 4 * (list->mask + 1) : 4096;
    copse_status status =
        copse_buffer_reserve(list->ctx, &list->groups, size / 2, sizeof(group), "the groups of a join");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(list->ctx, &larger, size, sizeof(uint32_t), "the groups of a join");
    if (status != COPSE_OK) return status;
    const group *groups = list->groups.data;
    uint32_t *slots = memset(larger.data, 0, size * sizeof(uint32_t));
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

static copse_status number_right(group_list *list, side *s)
{
    uint32_t *numbers = s->numbers.data;
    copse_status status = grow(list);
    for (uint64_t row = 0; status == COPSE_OK && row < s->table->slots; row++) {
        status = copse_poll(list->ctx, "joining", row, s->table->slots);
        if (status != COPSE_OK || !is_used(s, row)) continue;
        const group g = group_at(s->by, row);
        uint32_t *slot = find_slot(list, s->by, &g);
        if (!*slot) {
            ((group *)list->groups.data)[list->count] = g;
            *slot = ++list->count;
        }
        numbers[row] = *slot - 1;
        if (list->count == (list->mask + 1) / 2) status = grow(list);
    }
    return status;
}

/* Rows whose group the right side has not get the number behind the last. */
static void number_left(void *job, uint64_t first, uint64_t end)
{
    group_list *list = job;
    const side *s = list->side;
    uint32_t *numbers = s->numbers.data;
    for (uint64_t row = first; row < end; row++) {
        if ((row - first) % COPSE_POLL_ROWS == 0 && !copse_polled_goes_on(&list->polled, row)) return;
        if (!is_used(s, row)) continue;
        const group g = group_at(s->by, row);
        uint32_t found = *find_slot(list, s->by, &g);
        numbers[row] = found ? found - 1 : list->count;
    }
}

static copse_status number_groups(asof *a)
{
    const copse_ctx *ctx = a->join->left->ctx;
    const uint64_t rows = a->left.table->slots, others = a->right.table->slots;
    const uint32_t threads = copse_threads_for(ctx, rows);
    group_list list = {.ctx = ctx, .column = a->right.by, .side = &a->left};
    copse_status status =
        copse_buffer_reserve(ctx, &a->left.numbers, rows + 1, sizeof(uint32_t), "the groups of a join");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &a->right.numbers, others + 1, sizeof(uint32_t), "the groups of a join");
    if (status == COPSE_OK) status = number_right(&list, &a->right);
    if (status == COPSE_OK)
        status = copse_parallel_polled(&list.polled, ctx, "joining", rows, copse_even_chunk(rows, threads), number_left,
                                       &list);
    a->ticks.groups = list.count;
    copse_buffer_free(ctx, &list.slots);
    copse_buffer_free(ctx, &list.groups);
    return status;
}

static uint64_t group_of(const asof *a, const side *s, uint64_t row)
{
    if (s->numbers.data) return ((const uint32_t *)s->numbers.data)[row];
    if (!s->by) return 0;
    uint64_t place = copse_cell_code(s->by, row) - a->base;
    return place < a->ticks.groups ? place : a->ticks.groups;
}

/* Whether groups are numbers as they are. */
static bool find_groups(asof *a)
{
    const side *right = &a->right;
    uint64_t high = 0;
    a->ticks.groups = 1;
    if (!right->by) return true;
    if (!copse_column_is_whole(right->by) ||
        !copse_column_span(right->table, right->by, MOST_GROUPS - 1, &a->base, &high))
        return false;
    copse_code_store(right->by, a->base, &a->ticks.base);
    a->ticks.groups = high - a->base + 1;
    return true;
}

/* ---- sides as pairs ---- */

/* In the order of their keys; false: it is to stop. */
static bool fill(asof *a, side *s)
{
    copse_pair *pairs = s->pairs.data;
    const bool text = copse_column_is_text(s->on);
    uint64_t low = UINT64_MAX, high = 0;
    bool in_order = true;
    s->n = 0;
    for (uint64_t row = 0; row < s->table->slots; row++) {
        if (row % COPSE_POLL_ROWS == 0 && !copse_polled_goes_on(&a->polled, row)) return false;
        if (!is_used(s, row)) continue;
        uint64_t key = text ? 0 : copse_cell_code(s->on, row);
        pairs[s->n++] = (copse_pair){key, group_of(a, s, row) << 32 | row};
        if (key < high) in_order = false; /* which is the one before, so far */
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    return in_order || copse_sort_codes(&a->polled, pairs, s->other, s->n, low, high);
}

static void fill_sides(void *job, uint64_t first, uint64_t end)
{
    asof *a = job;
    for (uint64_t i = first; i < end; i++)
        if (!fill(a, i == 0 ? &a->left : &a->right)) return;
}

/* Pairs of texts in their order: by way of a list of rows, which is in the memory that the sort of numbers would take. */
static copse_status sort_texts(side *s)
{
    const copse_sort_key key = {s->on_number, false};
    copse_pair *pairs = s->pairs.data;
    uint32_t *rows = s->other;
    uint64_t *values = (uint64_t *)s->other + s->n / 2 + 1; /* by row, groups and all: there is one for each slot */
    for (uint64_t i = 0; i < s->n; i++) {
        rows[i] = (uint32_t)pairs[i].value;
        values[rows[i]] = pairs[i].value;
    }
    copse_status status = copse_sort_rows(s->table, &key, 1, rows, s->n);
    for (uint64_t i = 0; i < s->n; i++) pairs[i].value = values[rows[i]];
    return status;
}

static int compare_texts(const side *a, uint64_t i, const side *b, uint64_t j)
{
    const copse_pair *left = a->pairs.data, *right = b->pairs.data;
    return copse_cell_compare(a->on, (uint32_t)left[i].value, b->on, (uint32_t)right[j].value);
}

static void rank_texts(side *left, side *right)
{
    copse_pair *lefts = left->pairs.data, *rights = right->pairs.data;
    uint64_t i = 0, j = 0;
    for (uint64_t rank = 0; i < left->n || j < right->n; rank++) {
        int order = i == left->n ? 1 : j == right->n ? -1 : compare_texts(left, i, right, j);
        uint64_t first_left = i, first_right = j;
        if (order <= 0) do
                lefts[i++].key = rank;
            while (i < left->n && compare_texts(left, i, left, first_left) == 0);
        if (order >= 0) do
                rights[j++].key = rank;
            while (j < right->n && compare_texts(right, j, right, first_right) == 0);
    }
}

static copse_status make_pairs(asof *a)
{
    const copse_ctx *ctx = a->join->left->ctx;
    const uint64_t lefts = a->left.table->slots + 1, rights = a->right.table->slots + 1;
    const uint32_t threads = copse_threads_for(ctx, lefts + rights);
    const bool text = copse_column_is_text(a->left.on);
    const uint64_t most = lefts > rights ? lefts : rights;
    copse_buffer other = {0};
    copse_status status = copse_buffer_reserve(ctx, &a->left.pairs, lefts, sizeof(copse_pair), "the rows of a join");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &a->right.pairs, rights, sizeof(copse_pair), "the rows of a join");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &other, threads > 1 ? lefts + rights : most, sizeof(copse_pair),
                                      "the rows of a join");
    if (status == COPSE_OK) {
        a->left.other = other.data;
        a->right.other = threads > 1 ? (copse_pair *)other.data + lefts : other.data;
        a->polled = copse_polled_begin(ctx, "joining", most);
        copse_parallel(ctx, threads, 2, 1, fill_sides, a);
        status = (copse_status)a->polled.status;
        if (text && status == COPSE_OK) status = sort_texts(&a->left);
        if (text && status == COPSE_OK) status = sort_texts(&a->right);
        if (text && status == COPSE_OK) rank_texts(&a->left, &a->right);
    }
    copse_buffer_free(ctx, &other);
    a->ticks.left = (copse_ticks_side){a->left.pairs.data, NULL, a->left.n};
    a->ticks.right = (copse_ticks_side){a->right.pairs.data, NULL, a->right.n};
    a->ticks.key_width = sizeof(copse_pair);
    return status;
}

/* ---- sides as they lie ---- */

static bool is_plain(const side *s)
{
    return !s->table->alive.data && s->on->nulls == 0 && (!s->by || s->by->nulls == 0) &&
           !copse_column_is_text(s->on) && copse_column_ascends(s->table, s->on_number);
}

static copse_ticks_side plain_side(const side *s)
{
    const void *groups = s->numbers.data ? s->numbers.data : s->by ? s->by->cells.data : NULL;
    return (copse_ticks_side){s->on->cells.data, groups, s->table->slots};
}

static bool is_above_zero(const side *s)
{
    return s->table->slots == 0 || ((const double *)s->on->cells.data)[0] > 0; /* so the others are, too */
}

static void take_cells(asof *a)
{
    const copse_stored_column *on = a->left.on;
    const bool is_signed = copse_column_is_whole(on) && on->type != COPSE_U32 && on->type != COPSE_U64 && on->width > 1;
    a->ticks.left = plain_side(&a->left);
    a->ticks.right = plain_side(&a->right);
    a->ticks.key_width = on->width;
    a->ticks.group_width = a->left.numbers.data ? sizeof(uint32_t) : a->left.by ? a->left.by->width : 0;
    a->ticks.sign = is_signed ? UINT64_C(1) << (on->width * 8 - 1) : 0;
    a->ticks.as_signed =
        on->width == 8 && (is_signed || (on->type == COPSE_F64 && is_above_zero(&a->left) && is_above_zero(&a->right)));
}

/* ---- the tolerance ---- */

typedef struct tolerance {
    bool any, floats;
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
                          "copse_join: the tolerance is no distance of keys of type %s",
                          copse_column_type_name(column->type));
    if (!(out->number >= 0))
        return copse_fail_argument(join->left->ctx, "options", "copse_join: the tolerance is negative");
    return COPSE_OK;
}

/* ---- the join ---- */

static void open_side(const copse_table *table, uint32_t on, uint32_t by, side *out)
{
    *out = (side){.table = table, .on_number = on, .on = &table->columns[on]};
    if (by != COPSE_NO_COLUMN) out->by = &table->columns[by];
    copse_cells_touch(out->on, NULL, table->slots);
    if (out->by) copse_cells_touch(out->by, NULL, table->slots);
}

static void close_side(const copse_ctx *ctx, side *s)
{
    copse_buffer_free(ctx, &s->numbers);
    copse_buffer_free(ctx, &s->pairs);
}

/* Partners by row as pairs, without rows that were deleted. */
static copse_status list_pairs(copse_joined *join, const uint64_t *rights)
{
    copse_status status = copse_pairs_reserve(join->pairs, join->totals ? COPSE_JOIN_KEPT : join->left->live);
    for (uint64_t i = 0; status == COPSE_OK && i < join->left->live; i++) {
        status = copse_poll(join->left->ctx, "listing pairs", i, join->left->live);
        uint64_t row = copse_joined_left(join, i);
        copse_pairs_add(join->pairs, row, rights[row]);
        if (join->pairs->n == COPSE_JOIN_KEPT) copse_join_drain(join, false);
    }
    return status;
}

static copse_status walk(asof *a)
{
    copse_joined *join = a->join;
    const copse_ctx *ctx = join->left->ctx;
    const uint64_t rows = join->left->slots;
    copse_buffer rights = {0};
    copse_status status = COPSE_OK;
    if (is_plain(&a->left) && is_plain(&a->right))
        take_cells(a);
    else
        status = make_pairs(a);
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &rights, rows + 1, sizeof(uint64_t), "pairs of rows");
    if (status == COPSE_OK && a->ticks.left.n < rows)
        memset(rights.data, 0xFF, rows * sizeof(uint64_t)); /* COPSE_NO_ROW */
    a->ticks.rights = rights.data;
    if (status == COPSE_OK) status = copse_progress(ctx, "joining", 0, rows);
    if (status == COPSE_OK) status = copse_ticks_walk(ctx, &a->ticks);
    if (status == COPSE_OK && (join->totals || join->left->alive.data)) {
        status = list_pairs(join, rights.data);
    } else if (status == COPSE_OK) { /* left rows are 0, 1, ..: nobody lists them before somebody asks */
        copse_buffer_free(ctx, &join->pairs->right);
        join->pairs->right = rights;
        join->pairs->n = rows;
        join->pairs->left_is_number = true;
        return COPSE_OK;
    }
    copse_buffer_free(ctx, &rights);
    return status;
}

copse_status copse_join_asof(copse_joined *join)
{
    asof a = {.join = join};
    tolerance t;
    copse_status status = take_tolerance(join, &t);
    if (status == COPSE_OK && copse_card_can_join(join))
        return copse_card_join_asof(join, !t.any, (uint64_t)t.whole, t.number);
    if (status != COPSE_OK) return status;
    open_side(join->left, join->left_on, join->left_by, &a.left);
    open_side(join->right, join->right_on, join->right_by, &a.right);
    a.ticks.float_width = t.floats ? a.left.on->width : 0;
    a.ticks.near = !t.any;
    a.ticks.whole = t.whole > (copse_wide)UINT64_MAX ? UINT64_MAX : (uint64_t)t.whole;
    a.ticks.number = t.number;
    if (!find_groups(&a)) status = number_groups(&a);
    if (status == COPSE_OK) status = walk(&a);
    close_side(join->left->ctx, &a.left);
    close_side(join->left->ctx, &a.right);
    return status;
}
