/* Joins at sizes that tests/query does not come to: several threads, blocks and pieces, against a plain model; aggregates over pairs; prepared
 * queries. */
#include "unit.h"

#include "copse_query.h"
#include "random.h"

#include <stdlib.h>

#define ROWS  150000u /* more than two blocks of 65,536 left rows */
#define RIGHT 40000u

typedef struct sides {
    copse_ctx *ctx;
    copse_table *left, *right;
    int64_t *left_key, *right_key;
    int32_t *left_group, *right_group;
    double *left_price;
    int64_t *right_amount;
    uint8_t *left_valid; /* a bit for each key */
    uint64_t left_rows, right_rows;
} sides;

static void *room(uint64_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    assert_non_null(memory);
    return memory;
}

typedef struct shape {
    uint32_t threads;
    uint64_t spread; /* of keys */
    bool nulls;      /* in the left key */
    bool ordered;    /* keys ascend, on both sides */
    bool deleted;    /* some left rows */
    bool rare;       /* the right side has each group but one once, in its first rows */
} shape;

static copse_table *make_table(copse_ctx *ctx, const copse_column *columns, uint32_t count, uint64_t rows)
{
    copse_table *table = NULL;
    assert_ok(ctx, copse_table_create(ctx, columns, count, rows, &table));
    return table;
}

static void delete_some(sides *s)
{
    int32_t gone[] = {3, 5};
    const copse_column keys = {"grp", COPSE_I32, 0, gone, NULL};
    assert_ok(s->ctx, copse_table_index(s->left, "grp", NULL));
    assert_ok(s->ctx, copse_table_delete(s->left, &keys, 2, NULL));
}

static void sides_open(sides *s, shape how)
{
    struct random_source random = {17 + how.spread};
    *s = (sides){.ctx = unit_context(how.threads), .left_rows = ROWS, .right_rows = RIGHT};
    s->left_key = room(ROWS, 8);
    s->left_group = room(ROWS, 4);
    s->left_price = room(ROWS, 8);
    s->left_valid = room(ROWS / 8 + 1, 1);
    s->right_key = room(RIGHT, 8);
    s->right_group = room(RIGHT, 4);
    s->right_amount = room(RIGHT, 8);
    int64_t at = -500, other = -300;
    for (uint64_t i = 0; i < ROWS; i++) {
        at += (int64_t)random_below(&random, 3);
        s->left_key[i] = how.ordered ? at : (int64_t)random_below(&random, how.spread) - 7;
        s->left_group[i] = (int32_t)random_below(&random, 20) - 2;
        s->left_price[i] = (double)random_below(&random, 1000) / 7;
        if (!how.nulls || !random_one_in(&random, 10)) s->left_valid[i / 8] |= (uint8_t)(1u << (i % 8));
    }
    for (uint64_t i = 0; i < RIGHT; i++) {
        other += (int64_t)random_below(&random, 12);
        s->right_key[i] = how.ordered ? other : (int64_t)random_below(&random, how.spread);
        s->right_group[i] = how.rare ? (int32_t)(i < 16 ? i : 16) : (int32_t)random_below(&random, 16);
        s->right_amount[i] = (int64_t)random_below(&random, 100000) - 50000;
    }
    const copse_column left[] = {{"k", COPSE_I64, 0, s->left_key, s->left_valid},
                                 {"grp", COPSE_I32, 0, s->left_group, NULL},
                                 {"price", COPSE_F64, 0, s->left_price, NULL}};
    const copse_column right[] = {{"k", COPSE_I64, 0, s->right_key, NULL},
                                  {"grp", COPSE_I32, 0, s->right_group, NULL},
                                  {"amount", COPSE_I64, 0, s->right_amount, NULL}};
    s->left = make_table(s->ctx, left, 3, ROWS);
    s->right = make_table(s->ctx, right, 3, RIGHT);
    if (how.deleted) delete_some(s);
}

static void sides_close(sides *s)
{
    copse_table_free(s->left);
    copse_table_free(s->right);
    copse_ctx_free(s->ctx);
    free(s->left_key);
    free(s->left_group);
    free(s->left_price);
    free(s->left_valid);
    free(s->right_key);
    free(s->right_group);
    free(s->right_amount);
}

static bool has_key(const sides *s, uint64_t row)
{
    return s->left_valid[row / 8] >> (row % 8) & 1;
}

/* ---- equal keys, against lists of right rows by key ---- */

typedef struct lists {
    uint64_t *begin; /* of each key, in rows */
    uint32_t *rows;
    uint64_t keys;
} lists;

static lists lists_make(const sides *s, uint64_t keys)
{
    lists l = {room(keys + 2, 8), room(s->right_rows, 4), keys};
    for (uint64_t i = 0; i < s->right_rows; i++) l.begin[s->right_key[i] + 2]++;
    for (uint64_t k = 1; k <= keys + 1; k++) l.begin[k] += l.begin[k - 1];
    for (uint64_t i = 0; i < s->right_rows; i++) l.rows[l.begin[s->right_key[i] + 1]++] = (uint32_t)i;
    return l;
}

/* The pairs of one left row must come next. Returns the number of the pair behind them. */
static uint64_t expect_row(const sides *s, const lists *l, uint32_t kind, const copse_pairs *pairs, uint64_t at,
                           uint64_t row)
{
    const uint64_t *left = copse_pairs_left(pairs), *right = copse_pairs_right(pairs);
    int64_t key = s->left_key[row];
    bool inside = has_key(s, row) && key >= 0 && (uint64_t)key < l->keys;
    uint64_t first = inside ? l->begin[key] : 0, end = inside ? l->begin[key + 1] : 0;
    bool one = first < end ? kind == COPSE_JOIN_SEMI : kind == COPSE_JOIN_LEFT || kind == COPSE_JOIN_ANTI;
    for (uint64_t j = first; kind <= COPSE_JOIN_LEFT && j < end; j++, at++) {
        assert_true(at < copse_pairs_count(pairs));
        assert_int_equal(left[at], row);
        assert_int_equal(right[at], l->rows[j]);
    }
    if (!one) return at;
    assert_true(at < copse_pairs_count(pairs));
    assert_int_equal(left[at], row);
    if (right) assert_true(right[at] == COPSE_NO_ROW);
    return at + 1;
}

static copse_value result_cell(const copse_table *table, uint32_t column)
{
    copse_value value = copse_value_null();
    assert_int_equal(copse_table_get(table, 0, column, &value), COPSE_OK);
    return value;
}

/* Aggregates while joining give what adding up all pairs gives, floats by blocks of left rows. */
static void expect_totals(const sides *s, const copse_join_options *options, const copse_pairs *pairs)
{
    const uint64_t *left = copse_pairs_left(pairs), *right = copse_pairs_right(pairs);
    const copse_join_aggregate wanted[] = {{COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_SUM, 0, "price"},
                                           {COPSE_AGGREGATE_MAX, 0, "grp"},  {COPSE_AGGREGATE_SUM, 1, "amount"},
                                           {COPSE_AGGREGATE_MIN, 1, "k"},    {COPSE_AGGREGATE_COUNT, 1, "amount"}};
    double price = 0, block = 0;
    int64_t amount = 0, least = INT64_MAX;
    int32_t most = INT32_MIN;
    uint64_t partners = 0;
    copse_table *table = NULL;
    for (uint64_t i = 0; i < copse_pairs_count(pairs); i++) {
        if (i > 0 && left[i] / 65536 != left[i - 1] / 65536) {
            price += block;
            block = 0;
        }
        block += s->left_price[left[i]];
        if (s->left_group[left[i]] > most) most = s->left_group[left[i]];
        if (!right || right[i] == COPSE_NO_ROW) continue;
        partners++;
        amount += s->right_amount[right[i]];
        if (s->right_key[right[i]] < least) least = s->right_key[right[i]];
    }
    assert_ok(s->ctx, copse_join_aggregates(s->left, s->right, options, wanted, right ? 6 : 3, &table));
    assert_int_equal(copse_table_rows(table), 1);
    assert_int_equal(result_cell(table, 0).as.u64, copse_pairs_count(pairs));
    assert_true(copse_pairs_count(pairs) > 0);
    assert_true(result_cell(table, 1).as.f64 == price + block);
    assert_int_equal(result_cell(table, 2).as.i64, most);
    assert_string_equal(copse_table_column_name(table, 1), "sum(price)");
    if (right) {
        assert_int_equal(result_cell(table, 3).as.i64, amount);
        assert_int_equal(result_cell(table, 4).as.i64, least);
        assert_int_equal(result_cell(table, 5).as.u64, partners);
        assert_string_equal(copse_table_column_name(table, 4), "min(right.k)");
    }
    copse_table_free(table);
}

static void expect_totals_of_device(const sides *s, const copse_join_options *options, const copse_pairs *pairs)
{
    assert_ok(s->ctx, copse_table_place(s->left, COPSE_PLACEMENT_EMULATED));
    assert_ok(s->ctx, copse_table_place(s->right, COPSE_PLACEMENT_EMULATED));
    expect_totals(s, options, pairs);
}

static void join_and_compare(shape how, uint32_t kind)
{
    sides s;
    sides_open(&s, how);
    lists l = lists_make(&s, how.spread);
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    uint64_t at = 0;
    options.kind = kind;
    options.left_on = options.right_on = "k";
    assert_ok(s.ctx, copse_join(s.left, s.right, &options, &pairs));
    for (uint64_t row = 0; row < ROWS; row++)
        if (copse_table_has_row(s.left, row)) at = expect_row(&s, &l, kind, pairs, at, row);
    assert_int_equal(at, copse_pairs_count(pairs));
    expect_totals(&s, &options, pairs);
    if (how.deleted) expect_totals_of_device(&s, &options, pairs);
    copse_pairs_free(pairs);
    free(l.begin);
    free(l.rows);
    sides_close(&s);
}

/* Keys close together and far apart: by an array of places, by an index. */
static void equal_keys(void **state)
{
    (void)state;
    for (uint32_t kind = COPSE_JOIN_INNER; kind <= COPSE_JOIN_ANTI; kind++) {
        join_and_compare((shape){.threads = 4, .spread = 30000}, kind);
        join_and_compare((shape){.threads = 3, .spread = 100000, .nulls = true, .deleted = true}, kind);
        join_and_compare((shape){.threads = 2, .spread = 4000000, .nulls = true}, kind);
    }
}

/* The pairs of both sides by looking at all of them. */
static uint64_t expect_pairs(const copse_pairs *pairs, uint32_t kind, const double *left, uint64_t lefts,
                             const double *right, uint64_t rights)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < lefts; i++) {
        uint64_t partners = 0;
        for (uint64_t j = 0; j < rights; j++) {
            if (left[i] != right[j]) continue;
            partners++;
            if (kind > COPSE_JOIN_LEFT) continue;
            assert_true(at < copse_pairs_count(pairs));
            assert_int_equal(copse_pairs_left(pairs)[at], i);
            assert_int_equal(copse_pairs_right(pairs)[at++], j);
        }
        if (partners ? kind != COPSE_JOIN_SEMI : kind != COPSE_JOIN_LEFT && kind != COPSE_JOIN_ANTI) continue;
        assert_true(at < copse_pairs_count(pairs));
        assert_int_equal(copse_pairs_left(pairs)[at++], i);
    }
    return at;
}

/* Keys that ascend on both sides, with equals, are walked along; those that fall once, where a step of the check ends and the next
 * begins, are not. Floats, so that no array has a place for each key. */
static void keys_in_order(void **state)
{
    (void)state;
    enum { lefts = 2500, rights = 700, step = 1024 };
    double left[lefts], right[rights];
    copse_ctx *ctx = unit_context(2);
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < lefts; i++) {
            const uint32_t third = i / 3;
            left[i] = 0.25 * third;
        }
        for (uint32_t i = 0; i < rights; i++) {
            const uint32_t half = i / 2;
            right[i] = 0.5 * half;
        }
        for (uint32_t i = 0; turn == 1 && i < lefts; i++) left[i] += i < step ? 100.0 : -200.0;
        for (uint32_t i = 0; turn == 2 && i < lefts; i++) left[i] += i < 2 * step ? 10.0 : -200.0;
        const copse_column left_key = {"k", COPSE_F64, 0, left, NULL}, right_key = {"k", COPSE_F64, 0, right, NULL};
        copse_table *a = make_table(ctx, &left_key, 1, lefts), *b = make_table(ctx, &right_key, 1, rights);
        for (uint32_t kind = COPSE_JOIN_INNER; kind <= COPSE_JOIN_ANTI; kind++) {
            copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
            copse_pairs *pairs = NULL;
            options.kind = kind;
            options.left_on = options.right_on = "k";
            assert_ok(ctx, copse_join(a, b, &options, &pairs));
            assert_int_equal(expect_pairs(pairs, kind, left, lefts, right, rights), copse_pairs_count(pairs));
            copse_pairs_free(pairs);
        }
        copse_table_free(a);
        copse_table_free(b);
    }
    copse_ctx_free(ctx);
}

/* ---- as-of ---- */

static void asof_and_compare(shape how, bool grouped, int64_t tolerance)
{
    sides s;
    sides_open(&s, how);
    uint64_t last[32];
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    options.kind = COPSE_JOIN_ASOF;
    options.left_on = options.right_on = "k";
    if (grouped) options.left_by = options.right_by = "grp";
    if (tolerance >= 0) options.tolerance = copse_value_i64(tolerance);
    assert_ok(s.ctx, copse_join(s.left, s.right, &options, &pairs));
    assert_int_equal(copse_pairs_count(pairs), ROWS);
    assert_string_equal(copse_pairs_how(pairs), "a walk along both sides in the order of their keys");
    for (uint64_t g = 0; g < 32; g++) last[g] = COPSE_NO_ROW;
    for (uint64_t i = 0, j = 0; i < ROWS; i++) {
        for (; j < RIGHT && s.right_key[j] <= s.left_key[i]; j++) last[grouped ? s.right_group[j] + 2 : 0] = j;
        uint64_t found = has_key(&s, i) ? last[grouped ? s.left_group[i] + 2 : 0] : COPSE_NO_ROW;
        if (found != COPSE_NO_ROW && tolerance >= 0 && s.left_key[i] - s.right_key[found] > tolerance)
            found = COPSE_NO_ROW;
        assert_int_equal(copse_pairs_left(pairs)[i], i);
        assert_true(copse_pairs_right(pairs)[i] == found);
    }
    expect_totals(&s, &options, pairs);
    if (how.rare) expect_totals_of_device(&s, &options, pairs);
    copse_pairs_free(pairs);
    sides_close(&s);
}

static void nearest_earlier_rows(void **state)
{
    (void)state;
    const shape one = {.threads = 1, .spread = 1, .ordered = true}, many = {.threads = 4, .spread = 1, .ordered = true};
    const shape nulls = {.threads = 4, .spread = 1, .ordered = true, .nulls = true};
    asof_and_compare((shape){.threads = 4, .spread = 1, .ordered = true, .rare = true}, true, -1);
    for (int64_t tolerance = -1; tolerance <= 20; tolerance += 21)
        for (int grouped = 0; grouped < 2; grouped++) {
            asof_and_compare(one, grouped, tolerance);
            asof_and_compare(many, grouped, tolerance);
            asof_and_compare(nulls, grouped, tolerance);
        }
}

/* The same keys and groups as columns of other types, in order and not: the pairs are those of a plain model. */
typedef enum form { AS_I64, AS_I32, AS_F64, AS_F32, AS_STRING, FORMS } form;

typedef struct events {
    int64_t *key;
    int32_t *group; /* NULL in group 13 */
    uint64_t n;
    uint64_t *order; /* rows by key, equal ones by row */
} events;

static const events *sorted; /* qsort takes no argument */

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    if (sorted->key[x] != sorted->key[y]) return sorted->key[x] < sorted->key[y] ? -1 : 1;
    return (x > y) - (x < y);
}

/* How rows come. */
typedef enum coming { IN_NO_ORDER, FROM_BELOW_ZERO, FROM_ZERO, ABOVE_ZERO, COMINGS } coming;

static events make_events(uint64_t n, uint64_t seed, coming how)
{
    struct random_source random = {seed};
    events e = {room(n, 8), room(n, 4), n, room(n, 8)};
    int64_t at = how == FROM_BELOW_ZERO ? -200 : how == ABOVE_ZERO;
    for (uint64_t i = 0; i < n; i++) {
        if (i > 2) at += (int64_t)random_below(&random, 3) * (n < ROWS / 4 ? 9 : 1);
        e.key[i] = how != IN_NO_ORDER ? at : (int64_t)random_below(&random, ROWS / 2) - 500;
        e.group[i] = (int32_t)random_below(&random, 20);
        e.order[i] = i;
    }
    sorted = &e;
    qsort(e.order, n, sizeof *e.order, by_key);
    return e;
}

static void free_events(events *e)
{
    free(e->key);
    free(e->group);
    free(e->order);
}

/* `number` + 10^6 keeps its order as a text of ten bytes and more. */
static void put_form(form how, int64_t number, uint64_t i, void *cells, char *text, int64_t *offsets)
{
    if (how == AS_I64) ((int64_t *)cells)[i] = number * 1000000007;
    if (how == AS_I32) ((int32_t *)cells)[i] = (int32_t)number;
    if (how == AS_F64) ((double *)cells)[i] = number == 0 && i % 2 == 0 ? -0.0 : (double)number;
    if (how == AS_F32) ((float *)cells)[i] = (float)number;
    offsets[i + 1] = offsets[i];
    if (how == AS_STRING) offsets[i + 1] += snprintf(text + offsets[i], 16, "key%07lld", (long long)number + 1000000);
}

static copse_table *form_table(copse_ctx *ctx, const events *e, form key, form group, bool nulls)
{
    static const uint32_t types[] = {COPSE_I64, COPSE_I32, COPSE_F64, COPSE_F32, COPSE_STRING};
    void *cells[2];
    char *text[2];
    int64_t *offsets[2];
    copse_bytes strings[2];
    uint8_t *valid = room(e->n / 8 + 1, 1);
    copse_table *table = NULL;
    const form forms[2] = {key, group};
    for (int c = 0; c < 2; c++) {
        cells[c] = room(e->n, 8);
        text[c] = room(e->n + 1, 16);
        offsets[c] = room(e->n + 1, 8);
        for (uint64_t i = 0; i < e->n; i++)
            put_form(forms[c], c ? e->group[i] : e->key[i], i, cells[c], text[c], offsets[c]);
        strings[c] = (copse_bytes)COPSE_BYTES_INIT(text[c], (uint64_t)offsets[c][e->n], offsets[c], 64);
    }
    for (uint64_t i = 0; i < e->n; i++)
        if (!nulls || e->group[i] != 13) valid[i / 8] |= (uint8_t)(1u << (i % 8));
    const copse_column columns[] = {
        {"k", types[key], 0, key == AS_STRING ? (const void *)&strings[0] : cells[0], NULL},
        {"grp", types[group], 0, group == AS_STRING ? (const void *)&strings[1] : cells[1], nulls ? valid : NULL}};
    assert_ok(ctx, copse_table_create(ctx, columns, 2, e->n, &table));
    for (int c = 0; c < 2; c++) {
        free(cells[c]);
        free(text[c]);
        free(offsets[c]);
    }
    free(valid);
    return table;
}

static void expect_asof(const events *left, const events *right, bool nulls, int64_t tolerance,
                        const copse_pairs *pairs)
{
    uint64_t last[20], j = 0;
    const uint64_t *lefts = copse_pairs_left(pairs), *rights = copse_pairs_right(pairs);
    for (uint64_t g = 0; g < 20; g++) last[g] = COPSE_NO_ROW;
    assert_int_equal(copse_pairs_count(pairs), left->n);
    for (uint64_t i = 0; i < left->n; i++) {
        uint64_t row = left->order[i];
        for (; j < right->n && right->key[right->order[j]] <= left->key[row]; j++)
            last[right->group[right->order[j]]] = right->order[j];
        uint64_t found = nulls && left->group[row] == 13 ? COPSE_NO_ROW : last[left->group[row]];
        if (found != COPSE_NO_ROW && tolerance >= 0 && left->key[row] - right->key[found] > tolerance)
            found = COPSE_NO_ROW;
        if (lefts[row] != row || rights[row] != found)
            fail_msg("row %llu: partner %lld, not %lld", (unsigned long long)row, (long long)rights[row],
                     (long long)found);
    }
}

static void check_forms(uint32_t threads, coming how, bool nulls)
{
    copse_ctx *ctx = unit_context(threads);
    events left = make_events(ROWS / 2, 5, how), right = make_events(RIGHT / 4, 6, how);
    for (form key = AS_I64; key < FORMS; key++)
        for (form group = AS_I64; group < FORMS; group++) {
            int64_t tolerance = group % 2 && key != AS_STRING ? 40 : -1;
            copse_table *a = form_table(ctx, &left, key, group, nulls);
            copse_table *b = form_table(ctx, &right, key, group, nulls);
            copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
            copse_pairs *pairs = NULL;
            options.kind = COPSE_JOIN_ASOF;
            options.left_on = options.right_on = "k";
            options.left_by = options.right_by = "grp";
            if (tolerance >= 0) options.tolerance = copse_value_i64(key == AS_I64 ? tolerance * 1000000007 : tolerance);
            assert_ok(ctx, copse_join(a, b, &options, &pairs));
            expect_asof(&left, &right, nulls, tolerance, pairs);
            copse_pairs_free(pairs);
            copse_table_free(a);
            copse_table_free(b);
        }
    free_events(&left);
    free_events(&right);
    copse_ctx_free(ctx);
}

static void nearest_earlier_rows_of_all_types(void **state)
{
    (void)state;
    for (coming how = IN_NO_ORDER; how < COMINGS; how++)
        for (int nulls = 0; nulls < 2; nulls++) {
            check_forms(1, how, nulls);
            check_forms(4, how, nulls);
        }
}

/* ---- what does not fit ---- */

static void aggregates_that_do_not_fit(void **state)
{
    (void)state;
    sides s;
    sides_open(&s, (shape){.threads = 1, .spread = 100});
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_join_aggregate wanted[] = {{COPSE_AGGREGATE_COUNT, 0, NULL}, {COPSE_AGGREGATE_SUM, 1, "amonut"}};
    copse_table *table = NULL;
    options.left_on = options.right_on = "k";
    assert_fails_naming(s.ctx, COPSE_ERR_ARGUMENT, "amount",
                        copse_join_aggregates(s.left, s.right, &options, wanted, 2, &table));
    assert_fails(s.ctx, COPSE_ERR_ARGUMENT, copse_join_aggregates(s.left, s.right, &options, wanted, 0, &table));
    assert_fails(s.ctx, COPSE_ERR_ARGUMENT, copse_join_aggregates(s.left, s.right, &options, wanted, 1, NULL));
    assert_fails(s.ctx, COPSE_ERR_ARGUMENT, copse_join_aggregates(s.left, s.right, NULL, wanted, 1, &table));
    assert_int_equal(copse_join_aggregates(NULL, s.right, &options, wanted, 1, &table), COPSE_ERR_ARGUMENT);
    wanted[1] = (copse_join_aggregate){COPSE_AGGREGATE_COUNT_DISTINCT, 1, "k"};
    assert_fails(s.ctx, COPSE_ERR_UNSUPPORTED, copse_join_aggregates(s.left, s.right, &options, wanted, 2, &table));
    wanted[1] = (copse_join_aggregate){COPSE_AGGREGATE_COUNT, 1, NULL};
    assert_fails_naming(s.ctx, COPSE_ERR_ARGUMENT, "before",
                        copse_join_aggregates(s.left, s.right, &options, wanted, 2, &table));
    options.kind = COPSE_JOIN_SEMI;
    wanted[1] = (copse_join_aggregate){COPSE_AGGREGATE_SUM, 1, "amount"};
    assert_fails_naming(s.ctx, COPSE_ERR_ARGUMENT, "right side",
                        copse_join_aggregates(s.left, s.right, &options, wanted, 2, &table));
    assert_null(table);
    sides_close(&s);
}

static void sums_that_do_not_fit(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const int32_t key[] = {1, 1, 2};
    const int64_t large[] = {INT64_MAX, 5, -7};
    const copse_column columns[] = {{"k", COPSE_I32, 0, key, NULL}, {"n", COPSE_I64, 0, large, NULL}};
    const copse_join_aggregate sum = {COPSE_AGGREGATE_SUM, 1, "n"};
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_table *table = make_table(ctx, columns, 2, 3), *result = NULL;
    options.left_on = options.right_on = "k";
    /* Twice each of the first two, and once the last. */
    assert_fails_naming(ctx, COPSE_ERR_OVERFLOW, "18446744073709551617",
                        copse_join_aggregates(table, table, &options, &sum, 1, &result));
    assert_null(result);
    copse_table_free(table);
    copse_ctx_free(ctx);
}

/* ---- prepared queries ---- */

static void queries_with_new_ends(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    int64_t id[1000], amount[1000];
    for (int64_t i = 0; i < 1000; i++) {
        id[i] = i * 7 % 1000;
        amount[i] = id[i] * 3 - 1000;
    }
    const copse_column columns[] = {{"id", COPSE_I64, 0, id, NULL}, {"amount", COPSE_I64, 0, amount, NULL}};
    copse_table *table = make_table(ctx, columns, 2, 1000);
    copse_table_index_options by_id = COPSE_TABLE_INDEX_OPTIONS_INIT;
    copse_query *query = NULL;
    copse_value values[3];
    by_id.unique = 1;
    by_id.sums = "amount";
    for (int indexed = 0; indexed < 2; indexed++) {
        if (indexed) assert_ok(ctx, copse_table_index(table, "id", &by_id));
        assert_ok(ctx, copse_query_create(table, &query));
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_values(query, values, 3));
        assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_COUNT, NULL));
        assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_SUM, "amount"));
        assert_ok(ctx, copse_query_aggregate(query, COPSE_AGGREGATE_MAX, "id"));
        assert_fails(ctx, COPSE_ERR_ARGUMENT,
                     copse_query_set_between(query, "id", copse_value_i64(0), copse_value_i64(1)));
        assert_ok(ctx, copse_query_between(query, "id", copse_value_i64(0), copse_value_i64(0)));
        assert_fails(ctx, COPSE_ERR_ARGUMENT, copse_query_values(query, values, 2));
        for (int64_t low = -3; low < 1003; low += 13)
            for (int64_t high = low - 1; high < 1010; high += 101) {
                int64_t count = 0, sum = 0, most = -1;
                for (int64_t k = low < 0 ? 0 : low; k <= high && k < 1000; k++) {
                    count++;
                    sum += k * 3 - 1000;
                    most = k;
                }
                assert_ok(ctx, copse_query_set_between(query, "id", copse_value_i64(low), copse_value_i64(high)));
                assert_ok(ctx, copse_query_values(query, values, 3));
                assert_int_equal(values[0].as.u64, count);
                assert_int_equal(values[1].type, count ? COPSE_I64 : 0);
                if (count) assert_int_equal(values[1].as.i64, sum);
                if (count) assert_int_equal(values[2].as.i64, most);
            }
        /* A value that does not fit leaves the range as it was. */
        assert_ok(ctx, copse_query_set_between(query, "id", copse_value_i64(5), copse_value_i64(9)));
        assert_fails(ctx, COPSE_ERR_TYPE, copse_query_set_between(query, "id", copse_value_i64(0), copse_value_null()));
        assert_ok(ctx, copse_query_values(query, values, 3));
        assert_int_equal(values[0].as.u64, 5);
        copse_query_free(query);
    }
    copse_table_free(table);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys),
        cmocka_unit_test(keys_in_order),
        cmocka_unit_test(nearest_earlier_rows),
        cmocka_unit_test(nearest_earlier_rows_of_all_types),
        cmocka_unit_test(aggregates_that_do_not_fit),
        cmocka_unit_test(sums_that_do_not_fit),
        cmocka_unit_test(queries_with_new_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
