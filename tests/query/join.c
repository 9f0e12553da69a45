/* Random joins of a table with itself, in copse and in SQLite. */
#include "both.h"

#include <stdio.h>
#include <string.h>

#define MOST_ROWS 300 /* SQLite does without an index here */

struct joined {
    struct both *both;
    uint32_t kind;
    uint32_t left, right, left_by, right_by;
    bool grouped;
    copse_value below, above, tolerance;
};

/* A column of the same type, perhaps the same column. */
static uint32_t partner(struct both *both, uint32_t column)
{
    uint32_t found = column;
    for (uint32_t i = 0; i < both->column_count; i++)
        if (both->columns[i].type == both->columns[column].type && random_one_in(&both->random, 2)) found = i;
    return found;
}

static copse_value distance(struct both *both, uint32_t column)
{
    bool floats = both->columns[column].type == COPSE_F32 || both->columns[column].type == COPSE_F64;
    uint64_t number = random_below(&both->random, 12);
    return floats ? copse_value_f64((double)number / 4) : copse_value_i64((int64_t)number);
}

static bool can_measure(const struct both *both, uint32_t column)
{
    return both->columns[column].type != COPSE_STRING && both->columns[column].type != COPSE_BOOL &&
           !both->columns[column].large;
}

static void choose(struct joined *j)
{
    struct both *both = j->both;
    j->kind = (uint32_t)random_below(&both->random, 6);
    j->left = (uint32_t)random_below(&both->random, both->column_count);
    j->right = partner(both, j->left);
    j->left_by = (uint32_t)random_below(&both->random, both->column_count);
    j->right_by = partner(both, j->left_by);
    j->grouped = random_one_in(&both->random, 2);
    bool measured = can_measure(both, j->left) && can_measure(both, j->right);
    if (j->kind == COPSE_JOIN_BAND && !measured) j->kind = COPSE_JOIN_LEFT;
    j->below = distance(both, j->left);
    j->above = distance(both, j->left);
    j->tolerance = measured && random_one_in(&both->random, 2) ? distance(both, j->left) : copse_value_null();
}

static double number_of(copse_value value)
{
    return value.type == COPSE_F64 ? value.as.f64 : (double)value.as.i64;
}

static void write_sql(const struct joined *j, char *sql, size_t size)
{
    const struct both_column *columns = j->both->columns;
    const char *l = columns[j->left].name, *r = columns[j->right].name;
    char group[64] = "", near[64] = "";
    switch (j->kind) {
    case COPSE_JOIN_SEMI:
    case COPSE_JOIN_ANTI:
        (void)snprintf(sql, size,
                       "select l.row, -1 from t l where %sexists (select 1 from t r where l.%s = r.%s) order by 1",
                       j->kind == COPSE_JOIN_ANTI ? "not " : "", l, r);
        break;
    case COPSE_JOIN_ASOF:
        if (j->grouped)
            (void)snprintf(group, sizeof group, "and l.%s = r.%s", columns[j->left_by].name, columns[j->right_by].name);
        if (j->tolerance.type)
            (void)snprintf(near, sizeof near, "and l.%s - r.%s <= %.2f", l, r, number_of(j->tolerance));
        (void)snprintf(sql, size,
                       "select l.row, coalesce((select r.row from t r where r.%s <= l.%s %s %s order by r.%s desc, "
                       "r.row desc limit 1), -1) from t l order by l.row",
                       r, l, group, near, r);
        /* The nearest row decides, also where it is too far away: then none of them is near enough. */
        break;
    case COPSE_JOIN_BAND:
        (void)snprintf(
            sql, size,
            "select l.row, r.row from t l join t r on r.%s between l.%s - %.2f and l.%s + %.2f order by 1, 2", r, l,
            number_of(j->below), l, number_of(j->above));
        break;
    default:
        (void)snprintf(sql, size, "select l.row, coalesce(r.row, -1) from t l %sjoin t r on l.%s = r.%s order by 1, 2",
                       j->kind == COPSE_JOIN_LEFT ? "left " : "", l, r);
    }
}

static bool compare_pairs(struct both *both, const copse_pairs *pairs, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    uint64_t n = 0;
    bool good = true;
    if (sqlite3_prepare_v2(both->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        return both_differ(both, "SQLite: %s: %s", sql, sqlite3_errmsg(both->sqlite));
    while (good && sqlite3_step(statement) == SQLITE_ROW) {
        uint64_t left = (uint64_t)sqlite3_column_int64(statement, 0),
                 right = (uint64_t)sqlite3_column_int64(statement, 1);
        const uint64_t *rights = copse_pairs_right(pairs);
        if (n >= copse_pairs_count(pairs) || copse_pairs_left(pairs)[n] != left ||
            (rights ? rights[n] : COPSE_NO_ROW) != right)
            good = both_differ(both, "pair %llu of %llu differs, SQLite has %lld, %lld:\n%s", (unsigned long long)n,
                               (unsigned long long)copse_pairs_count(pairs), (long long)left, (long long)right, sql);
        n++;
    }
    sqlite3_finalize(statement);
    if (good && n != copse_pairs_count(pairs))
        good = both_differ(both, "%llu pairs, SQLite has %llu:\n%s", (unsigned long long)copse_pairs_count(pairs),
                           (unsigned long long)n, sql);
    return good;
}

/* Cells of the table of pairs are those of the rows. */
static bool check_table(struct both *both, const copse_pairs *pairs, const copse_table *made)
{
    uint32_t columns = copse_table_columns(both->table), last = copse_table_columns(made);
    if (columns == 0 || copse_table_rows(made) != copse_pairs_count(pairs) ||
        last != (copse_pairs_right(pairs) ? 2 : 1) * columns)
        return both_differ(both, "the table of pairs has another size");
    for (uint64_t i = 0; i < copse_pairs_count(pairs); i++)
        for (uint32_t c = 0; c < last; c++) {
            uint64_t row = c < columns ? copse_pairs_left(pairs)[i] : copse_pairs_right(pairs)[i];
            copse_value got = copse_value_null(), want = copse_value_null();
            (void)copse_table_get(made, i, c, &got);
            if (row != COPSE_NO_ROW) (void)copse_table_get(both->table, row, c % columns, &want);
            bool same = got.type == want.type && got.size == want.size;
            if (same && got.type == COPSE_STRING) same = memcmp(got.as.text, want.as.text, got.size) == 0;
            if (same && got.type != COPSE_STRING) same = got.as.u64 == want.as.u64;
            if (!same)
                return both_differ(both, "the table of pairs has another cell in row %llu", (unsigned long long)i);
        }
    return true;
}

/* What copse_join_aggregates says of the pairs: their number, and the sum of the row numbers of each side by way of the column of ids. */
static bool check_aggregates(struct both *both, const copse_join_options *options, const copse_pairs *pairs)
{
    const copse_join_aggregate wanted[] = {{COPSE_AGGREGATE_COUNT, 0, NULL},
                                           {COPSE_AGGREGATE_SUM, 0, both->columns[0].name},
                                           {COPSE_AGGREGATE_MAX, 1, both->columns[0].name}};
    const uint64_t *left = copse_pairs_left(pairs), *right = copse_pairs_right(pairs);
    copse_value got[3], cell = copse_value_null();
    copse_table *made = NULL;
    int64_t sum = 0, most = INT64_MIN;
    both_arm(both);
    copse_status status = copse_join_aggregates(both->table, both->table, options, wanted, right ? 3 : 2, &made);
    if (!both_went(both, status, "aggregates of a join")) return !both->why[0];
    for (uint64_t i = 0; i < copse_pairs_count(pairs); i++) {
        (void)copse_table_get(both->table, left[i], 0, &cell);
        sum += cell.as.i64;
        if (!right || right[i] == COPSE_NO_ROW) continue;
        (void)copse_table_get(both->table, right[i], 0, &cell);
        if (cell.as.i64 > most) most = cell.as.i64;
    }
    for (uint32_t i = 0; i < (right ? 3u : 2u); i++) (void)copse_table_get(made, 0, i, &got[i]);
    bool good = got[0].as.u64 == copse_pairs_count(pairs) && (got[0].as.u64 == 0 || got[1].as.i64 == sum);
    if (good && right) good = most == INT64_MIN ? got[2].type == 0 : got[2].as.i64 == most;
    copse_table_free(made);
    return good || both_differ(both, "aggregates of a join of kind %u differ from its pairs", options->kind);
}

static bool is_float(const struct both *both, uint32_t column)
{
    return both->columns[column].type == COPSE_F32 || both->columns[column].type == COPSE_F64;
}

/* The sum of a column of floats over the pairs, in their order: tables here are less than a block of left rows. */
static bool check_float_sum(struct both *both, const copse_join_options *options, const copse_pairs *pairs)
{
    const bool right = copse_pairs_right(pairs) && random_one_in(&both->random, 2);
    const uint64_t *rows = right ? copse_pairs_right(pairs) : copse_pairs_left(pairs);
    uint32_t column = (uint32_t)random_below(&both->random, both->column_count), tries = 0;
    while (!is_float(both, column) && tries++ < both->column_count) column = (column + 1) % both->column_count;
    if (!is_float(both, column)) return true;
    const copse_join_aggregate wanted = {COPSE_AGGREGATE_SUM, right, both->columns[column].name};
    copse_value got = copse_value_null(), cell = got;
    copse_table *made = NULL;
    double sum = 0;
    uint64_t n = 0;
    both_arm(both);
    copse_status status = copse_join_aggregates(both->table, both->table, options, &wanted, 1, &made);
    if (!both_went(both, status, "a sum over a join")) return !both->why[0];
    for (uint64_t i = 0; i < copse_pairs_count(pairs); i++) {
        if (rows[i] == COPSE_NO_ROW || copse_table_get(both->table, rows[i], column, &cell) || !cell.type) continue;
        sum += cell.as.f64;
        n++;
    }
    (void)copse_table_get(made, 0, 0, &got);
    copse_table_free(made);
    return (n ? got.type == COPSE_F64 && got.as.u64 == copse_value_f64(sum).as.u64 : got.type == 0) ||
           both_differ(both, "the sum of floats over a join of kind %u differs from that of its pairs", options->kind);
}

bool both_join(struct both *both)
{
    struct joined j = {.both = both};
    copse_join_options options = COPSE_JOIN_OPTIONS_INIT;
    copse_pairs *pairs = NULL;
    copse_table *made = NULL;
    char sql[512];
    if (copse_table_rows(both->table) > MOST_ROWS) return true;
    choose(&j);
    options.kind = j.kind;
    options.left_on = both->columns[j.left].name;
    options.right_on = both->columns[j.right].name;
    if (j.kind == COPSE_JOIN_ASOF && j.grouped) {
        options.left_by = both->columns[j.left_by].name;
        options.right_by = both->columns[j.right_by].name;
    }
    options.tolerance = j.tolerance;
    options.below = j.below;
    options.above = j.above;
    write_sql(&j, sql, sizeof sql);
    both_arm(both);
    if (!both_went(both, copse_join(both->table, both->table, &options, &pairs), "join")) return !both->why[0];
    bool good = compare_pairs(both, pairs, sql);
    both_arm(both);
    if (good && both_went(both, copse_pairs_table(pairs, both->table, both->table, &made), "table of pairs"))
        good = check_table(both, pairs, made);
    if (good) good = check_aggregates(both, &options, pairs);
    if (good) good = check_float_sum(both, &options, pairs);
    copse_pairs_free(pairs);
    copse_table_free(made);
    return good && !both->why[0];
}
