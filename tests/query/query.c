/* One random query on both, and the comparison of the answers: rows, their order, NULLs. */
#include "both.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_PARAMETERS 64

struct asked {
    struct both *both;
    copse_query *query;
    char sql[2048];
    size_t length;
    struct cell parameters[MOST_PARAMETERS];
    int parameter_count;
    bool groups;        /* aggregates or groups */
    bool averages;      /* some column is compared as an approximate number */
    char exact[48];     /* an aggregate that is none of these, "" */
    copse_status build; /* of the calls that build it */
};

static void say(struct asked *asked, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct asked *asked, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(asked->sql + asked->length, sizeof asked->sql - asked->length, format, arguments);
    va_end(arguments);
    asked->length += (size_t)n;
}

static void parameter(struct asked *asked, const struct cell *cell)
{
    asked->parameters[asked->parameter_count] = *cell;
    asked->parameter_count++;
    say(asked, "?%d", asked->parameter_count);
}

static void built(struct asked *asked, copse_status status)
{
    if (asked->build == COPSE_OK) asked->build = status;
}

/* ---- conditions ---- */

/* What may be there, or a number that the type of the column cannot hold. */
static struct cell operand(struct asked *asked, uint32_t column)
{
    struct both *both = asked->both;
    struct cell cell = both_value(both, column);
    uint32_t type = both->columns[column].type;
    bool whole = cell.value.type == COPSE_I64 || cell.value.type == COPSE_U64;
    static const int64_t odd[] = {-1, 5000000000, -5000000000, 2, INT64_MAX, INT64_MIN};
    if (whole && random_one_in(&both->random, 12)) cell.value = copse_value_i64(odd[random_below(&both->random, 6)]);
    static const double between[] = {1.5, -0.5, 2, 1e19, -1e19, 4294967295.5, -2147483648.5, 0x1p63};
    bool number = whole && type != COPSE_BOOL && type != COPSE_DATE && type != COPSE_TIMESTAMP;
    if (number && random_one_in(&both->random, 12))
        cell.value = copse_value_f64(between[random_below(&both->random, 8)]);
    if (type == COPSE_F32 && random_one_in(&both->random, 6))
        cell.value = copse_value_f64((double[]){0.1, -0.3, 1e300, -1e300}[random_below(&both->random, 4)]);
    if ((type == COPSE_F32 || type == COPSE_F64) && random_one_in(&both->random, 6))
        cell.value = copse_value_i64((int64_t)random_below(&both->random, 10));
    return cell;
}

static void compare(struct asked *asked, uint32_t column)
{
    static const char *const signs[] = {"=", "<>", "<", "<=", ">", ">="};
    struct both *both = asked->both;
    unsigned pick = (unsigned)random_below(&both->random, 6);
    struct cell cell = operand(asked, column);
    built(asked,
          copse_query_where(asked->query, both->columns[column].name, (copse_comparison)pick, cell_value(&cell)));
    say(asked, "%s %s ", both->columns[column].name, signs[pick]);
    parameter(asked, &cell);
}

static void between(struct asked *asked, uint32_t column)
{
    const char *name = asked->both->columns[column].name;
    struct cell low = operand(asked, column), high = operand(asked, column);
    built(asked, copse_query_between(asked->query, name, cell_value(&low), cell_value(&high)));
    say(asked, "%s between ", name);
    parameter(asked, &low);
    say(asked, " and ");
    parameter(asked, &high);
}

static void in_list(struct asked *asked, uint32_t column)
{
    struct cell cells[4];
    copse_value values[4];
    uint64_t n = random_below(&asked->both->random, 5);
    say(asked, "%s in (", asked->both->columns[column].name);
    for (uint64_t i = 0; i < n; i++) {
        cells[i] = operand(asked, column);
        if (i) say(asked, ",");
        parameter(asked, &cells[i]);
        values[i] = cell_value(&cells[i]);
    }
    say(asked, ")");
    built(asked, copse_query_in(asked->query, asked->both->columns[column].name, values, n));
}

static void null_or_prefix(struct asked *asked, uint32_t column)
{
    const struct both_column *own = &asked->both->columns[column];
    if (own->type == COPSE_STRING && !random_one_in(&asked->both->random, 3)) {
        struct cell cell = both_value(asked->both, column);
        cell.value.size = (uint32_t)random_below(&asked->both->random, cell.value.size + 1);
        built(asked, copse_query_where(asked->query, own->name, COPSE_PREFIX, cell_value(&cell)));
        /* Of an empty blob SQLite's substr is NULL. */
        say(asked, "%s is not null and coalesce(substr(%s, 1, %u), x'') = ", own->name, own->name, cell.value.size);
        parameter(asked, &cell);
        return;
    }
    bool is_null = random_one_in(&asked->both->random, 2);
    built(asked,
          copse_query_where(asked->query, own->name, is_null ? COPSE_IS_NULL : COPSE_IS_NOT_NULL, copse_value_null()));
    say(asked, "%s is %snull", own->name, is_null ? "" : "not ");
}

static void condition(struct asked *asked)
{
    uint32_t column = (uint32_t)random_below(&asked->both->random, asked->both->column_count);
    switch (random_below(&asked->both->random, 8)) {
    case 0:
    case 1:
    case 2:
        compare(asked, column);
        break;
    case 3:
    case 4:
        between(asked, column);
        break;
    case 5:
    case 6:
        in_list(asked, column);
        break;
    default:
        null_or_prefix(asked, column);
    }
}

static void conditions(struct asked *asked)
{
    uint64_t groups = random_below(&asked->both->random, 4);
    if (groups == 3 && random_one_in(&asked->both->random, 2)) groups = 1;
    for (uint64_t g = 0; g < groups; g++) {
        uint64_t terms = 1 + random_below(&asked->both->random, 3);
        if (g > 0) built(asked, copse_query_or(asked->query));
        say(asked, g > 0 ? " or (" : " where (");
        for (uint64_t i = 0; i < terms; i++) {
            if (i > 0) say(asked, " and ");
            condition(asked);
        }
        say(asked, ")");
    }
}

/* ---- what comes out ---- */

static void aggregate(struct asked *asked)
{
    static const char *const names[] = {"count(", "sum(", "min(", "max(", "avg(", "count(distinct "};
    struct both *both = asked->both;
    uint32_t column = (uint32_t)random_below(&both->random, both->column_count), type = both->columns[column].type;
    unsigned what = (unsigned)random_below(&both->random, 6);
    bool number = type != COPSE_STRING && type != COPSE_DATE && type != COPSE_TIMESTAMP;
    /* SQLite adds up for an average in doubles, which forget small numbers beside large ones. */
    if (both->columns[column].large && what == COPSE_AGGREGATE_AVG) what = COPSE_AGGREGATE_MIN;
    if (!number && (what == COPSE_AGGREGATE_SUM || what == COPSE_AGGREGATE_AVG)) what = COPSE_AGGREGATE_MAX;
    if (random_one_in(&both->random, 3)) {
        if (strstr(asked->sql, "count(*)")) return;
        built(asked, copse_query_aggregate(asked->query, COPSE_AGGREGATE_COUNT, NULL));
        say(asked, "%scount(*)", asked->length > 7 ? ", " : "");
        (void)snprintf(asked->exact, sizeof asked->exact, "count(*)");
        return;
    }
    char text[48];
    (void)snprintf(text, sizeof text, "%s%s)", names[what], both->columns[column].name);
    if (strstr(asked->sql, text)) return;
    built(asked, copse_query_aggregate(asked->query, (copse_aggregate)what, both->columns[column].name));
    say(asked, "%s%s", asked->length > 7 ? ", " : "", text);
    asked->averages |= what == COPSE_AGGREGATE_AVG;
    if (what != COPSE_AGGREGATE_AVG) (void)snprintf(asked->exact, sizeof asked->exact, "%s", text);
}

static void choose_aggregates(struct asked *asked, uint32_t *groups, uint64_t *group_count)
{
    struct both *both = asked->both;
    *group_count = random_below(&both->random, 3);
    for (uint64_t i = 0; i < *group_count; i++) {
        groups[i] = (uint32_t)random_below(&both->random, both->column_count);
        if (i == 1 && groups[0] == groups[1]) {
            *group_count = 1;
            break;
        }
        built(asked, copse_query_group_by(asked->query, both->columns[groups[i]].name));
        say(asked, "%s%s", asked->length > 7 ? ", " : "", both->columns[groups[i]].name);
    }
    uint64_t n = 1 + random_below(&both->random, 3);
    for (uint64_t i = 0; i < n; i++) aggregate(asked);
}

static void choose_rows(struct asked *asked)
{
    struct both *both = asked->both;
    bool all = random_one_in(&both->random, 3), none = true;
    for (uint32_t i = 0; i < both->column_count; i++) {
        if (!all && !random_one_in(&both->random, 2) && !(none && i + 1 == both->column_count)) continue;
        if (!all) built(asked, copse_query_select(asked->query, both->columns[i].name));
        say(asked, "%s%s", none ? "" : ", ", both->columns[i].name);
        none = false;
    }
}

static void order_rows(struct asked *asked)
{
    struct both *both = asked->both;
    uint64_t n = random_below(&both->random, 3);
    say(asked, " order by ");
    for (uint64_t i = 0; i < n; i++) {
        uint32_t column = (uint32_t)random_below(&both->random, both->column_count);
        int descending = random_one_in(&both->random, 2);
        built(asked, copse_query_order_by(asked->query, both->columns[column].name, descending));
        say(asked, "%s%s, ", both->columns[column].name, descending ? " desc" : "");
    }
    say(asked, "row");
}

static void order_groups(struct asked *asked, const uint32_t *groups, uint64_t group_count)
{
    struct both *both = asked->both;
    if (group_count == 0) return;
    say(asked, " group by ");
    for (uint64_t i = 0; i < group_count; i++) say(asked, "%s%s", i ? ", " : "", both->columns[groups[i]].name);
    say(asked, " order by ");
    if (*asked->exact && random_one_in(&both->random, 2)) {
        const int descending = random_one_in(&both->random, 2);
        const bool rows = strcmp(asked->exact, "count(*)") == 0;
        built(asked, copse_query_order_by(asked->query, rows ? "count" : asked->exact, descending));
        say(asked, "%s%s, ", asked->exact, descending ? " desc" : "");
    }
    if (random_one_in(&both->random, 2)) {
        const char *name = both->columns[groups[group_count - 1]].name;
        built(asked, copse_query_order_by(asked->query, name, 1));
        say(asked, "%s desc, ", name);
    }
    for (uint64_t i = 0; i < group_count; i++) say(asked, "%s%s", i ? ", " : "", both->columns[groups[i]].name);
}

static void limit(struct asked *asked)
{
    struct both *both = asked->both;
    if (random_one_in(&both->random, 2)) return;
    uint64_t most = random_below(&both->random, 12),
             first = random_below(&both->random, 2) * random_below(&both->random, 20);
    built(asked, copse_query_limit(asked->query, most, first));
    say(asked, " limit %llu offset %llu", (unsigned long long)most, (unsigned long long)first);
}

static void build(struct asked *asked)
{
    uint32_t groups[2] = {0};
    uint64_t group_count = 0;
    asked->groups = random_one_in(&asked->both->random, 2);
    say(asked, "select ");
    if (asked->groups)
        choose_aggregates(asked, groups, &group_count);
    else
        choose_rows(asked);
    say(asked, " from t");
    conditions(asked);
    if (asked->groups)
        order_groups(asked, groups, group_count);
    else
        order_rows(asked);
    limit(asked);
}

/* ---- answers ---- */

static bool same_number(const struct asked *asked, copse_value got, sqlite3_stmt *statement, int column)
{
    double want = sqlite3_column_double(statement, column);
    if (got.type == COPSE_F64)
        return got.as.f64 == want || (asked->averages && fabs(got.as.f64 - want) <= 1e-9 * fabs(want));
    if (sqlite3_column_type(statement, column) != SQLITE_INTEGER) return false;
    int64_t whole = sqlite3_column_int64(statement, column);
    return got.type == COPSE_U64 ? whole >= 0 && got.as.u64 == (uint64_t)whole : got.as.i64 == whole;
}

static bool same_cell(const struct asked *asked, copse_value got, sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL || got.type == 0) return type == SQLITE_NULL && got.type == 0;
    if (got.type != COPSE_STRING) return type != SQLITE_BLOB && same_number(asked, got, statement, column);
    return type == SQLITE_BLOB && (int)got.size == sqlite3_column_bytes(statement, column) &&
           (got.size == 0 || memcmp(got.as.text, sqlite3_column_blob(statement, column), got.size) == 0);
}

static bool same_row(struct asked *asked, const copse_table *result, uint64_t row, sqlite3_stmt *statement)
{
    for (uint32_t c = 0; c < copse_table_columns(result); c++) {
        copse_value got = copse_value_null();
        if (copse_table_get(result, row, c, &got) != COPSE_OK || !same_cell(asked, got, statement, (int)c))
            return both_differ(asked->both, "row %llu, column %u (%s): type %u, %lld / %g, SQLite has %s",
                               (unsigned long long)row, c, copse_table_column_name(result, c), got.type,
                               (long long)got.as.i64, got.as.f64, (const char *)sqlite3_column_text(statement, (int)c));
    }
    return true;
}

static bool compare_answers(struct asked *asked, copse_status status, const copse_table *result)
{
    struct both *both = asked->both;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(both->sqlite, asked->sql, -1, &statement, NULL) != SQLITE_OK)
        return both_differ(both, "SQLite: %s", sqlite3_errmsg(both->sqlite));
    for (int i = 0; i < asked->parameter_count; i++) both_bind(statement, i + 1, &asked->parameters[i]);
    uint64_t row = 0;
    int step = SQLITE_ROW;
    bool good = true;
    while (good && (step = sqlite3_step(statement)) == SQLITE_ROW && status == COPSE_OK) {
        if (row >= copse_table_rows(result))
            good = both_differ(both, "%llu rows, SQLite has more", (unsigned long long)row);
        else
            good = same_row(asked, result, row++, statement);
    }
    /* SQLite gives a sum up where one on the way does not fit 64 bits with a sign; copse only where the whole does not. */
    bool overflow = step == SQLITE_ERROR && strstr(sqlite3_errmsg(both->sqlite), "overflow");
    if (good && status == COPSE_ERR_OVERFLOW && !overflow && step != SQLITE_ROW && !strstr(asked->sql, " limit 0 "))
        good = both_differ(both, "only copse says: %s", copse_last_error(both->ctx));
    if (good && step == SQLITE_ERROR && !overflow) good = both_differ(both, "SQLite: %s", sqlite3_errmsg(both->sqlite));
    if (good && step == SQLITE_DONE && status == COPSE_OK && row != copse_table_rows(result))
        good = both_differ(both, "%llu rows, SQLite has %llu", (unsigned long long)copse_table_rows(result),
                           (unsigned long long)row);
    sqlite3_finalize(statement);
    return good;
}

/* The numbers of the rows are as many as the result has, and explain has something to say. */
static bool ask_again(struct asked *asked, const copse_table *result)
{
    uint64_t n = 0;
    const char *text = NULL;
    if (!asked->groups && (copse_query_rows(asked->query, NULL, 0, &n) != COPSE_OK || n != copse_table_rows(result)))
        return both_differ(asked->both, "copse_query_rows has %llu rows", (unsigned long long)n);
    if (copse_query_explain(asked->query, &text) != COPSE_OK || !strstr(text, "result: "))
        return both_differ(asked->both, "explain: %s", copse_last_error(asked->both->ctx));
    return true;
}

static bool run(struct asked *asked)
{
    struct both *both = asked->both;
    copse_table *result = NULL;
    both_arm(both);
    copse_status status = copse_query_run(asked->query, &result);
    if (status != COPSE_ERR_OVERFLOW && !both_went(both, status, "run")) {
        if (both->why[0]) return false;
        status = copse_query_run(asked->query, &result);
    }
    both_went(both, COPSE_OK, "run");
    bool good = compare_answers(asked, status, result);
    if (good && status == COPSE_OK) good = ask_again(asked, result);
    copse_table_free(result);
    return good;
}

/* ---- many ranges at once ---- */

#define MOST_RANGES 6

struct ends {
    copse_bytes bytes;
    int64_t offsets[MOST_RANGES + 1];
    char text[MOST_RANGES * BOTH_MOST_TEXT];
    uint64_t cells[MOST_RANGES];
};

/* Cells as an array of the type of a column. */
static const void *put_ends(struct ends *ends, uint32_t type, const struct cell *cells, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        copse_value value = cells[i].value;
        if (type == COPSE_STRING) {
            memcpy(ends->text + ends->offsets[i], cells[i].text, value.size);
            ends->offsets[i + 1] = ends->offsets[i] + value.size;
        } else if (type == COPSE_F32) {
            const float single = (float)value.as.f64;
            memcpy((char *)ends->cells + i * sizeof single, &single, sizeof single);
        } else if (type == COPSE_BOOL) {
            ((uint8_t *)ends->cells)[i] = (uint8_t)value.as.u64;
        } else if (copse_type_size((copse_type)type) == 4) {
            ((uint32_t *)ends->cells)[i] = (uint32_t)value.as.u64;
        } else {
            ends->cells[i] = value.as.u64;
        }
    }
    ends->bytes = (copse_bytes)COPSE_BYTES_INIT(ends->text, (uint64_t)ends->offsets[n], ends->offsets, 64);
    return type == COPSE_STRING ? (const void *)&ends->bytes : ends->cells;
}

static bool compare_range(struct asked *asked, const copse_table *result, uint64_t row, const struct cell *low,
                          const struct cell *high)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(asked->both->sqlite, asked->sql, -1, &statement, NULL) != SQLITE_OK)
        return both_differ(asked->both, "SQLite: %s: %s", asked->sql, sqlite3_errmsg(asked->both->sqlite));
    asked->parameters[0] = *low;
    asked->parameters[1] = *high;
    for (int i = 0; i < asked->parameter_count; i++) both_bind(statement, i + 1, &asked->parameters[i]);
    /* SQLite gives sums up on the way. */
    bool good = sqlite3_step(statement) != SQLITE_ROW || same_row(asked, result, row, statement);
    sqlite3_finalize(statement);
    return good;
}

bool both_ranges(struct both *both)
{
    struct asked asked = {.both = both};
    struct cell lows[MOST_RANGES], highs[MOST_RANGES];
    struct ends low_ends = {0}, high_ends = {0};
    copse_table *result = NULL;
    uint32_t column = (uint32_t)random_below(&both->random, both->column_count), type = both->columns[column].type;
    const char *name = both->columns[column].name;
    uint64_t n = random_below(&both->random, MOST_RANGES + 1), aggregates = 1 + random_below(&both->random, 3);
    bool open_low = random_one_in(&both->random, 3), open_high = random_one_in(&both->random, 3);
    if (copse_query_create(both->table, &asked.query) != COPSE_OK) return both_differ(both, "no query");
    for (uint64_t i = 0; i < n; i++) {
        lows[i] = both_value(both, column);
        highs[i] = both_value(both, column);
    }
    say(&asked, "select ");
    while (aggregates-- > 0) aggregate(&asked);
    asked.parameter_count = 2;
    say(&asked, " from (select * from t where %s %s ?1 and %s %s ?2)", name, open_low ? ">" : ">=", name,
        open_high ? "<" : "<=");
    if (random_one_in(&both->random, 2)) conditions(&asked);
    copse_ranges ranges = COPSE_BETWEEN(put_ends(&low_ends, type, lows, n), put_ends(&high_ends, type, highs, n), n);
    ranges.flags = (open_low ? COPSE_RANGE_LOW_OPEN : 0) | (open_high ? COPSE_RANGE_HIGH_OPEN : 0);
    both_arm(both);
    copse_status status = copse_query_ranges(asked.query, name, &ranges, &result);
    bool good = asked.build == COPSE_OK;
    if (status == COPSE_ERR_OVERFLOW) both_went(both, COPSE_OK, "ranges");
    if (status != COPSE_ERR_OVERFLOW && both_went(both, status, "ranges")) {
        if (copse_table_rows(result) != n) good = both_differ(both, "not a row for each range");
        for (uint64_t i = 0; good && i < n; i++) good = compare_range(&asked, result, i, &lows[i], &highs[i]);
    }
    if (both->why[0]) {
        char why[1024];
        (void)snprintf(why, sizeof why, "%.1000s", both->why);
        both->why[0] = '\0';
        good = both_differ(both, "ranges of %s: %s\n%s", name, why, asked.sql);
    }
    copse_table_free(result);
    copse_query_free(asked.query);
    return good;
}

bool both_query(struct both *both)
{
    struct asked asked = {.both = both};
    if (copse_query_create(both->table, &asked.query) != COPSE_OK) return both_differ(both, "no query");
    build(&asked);
    bool good = asked.build == COPSE_OK ? run(&asked) : both_differ(both, "building: %s", copse_last_error(both->ctx));
    const char *text = "";
    if (!good) {
        char why[sizeof both->why];
        (void)snprintf(why, sizeof why, "%s", both->why);
        (void)copse_query_explain(asked.query, &text);
        both->why[0] = '\0';
        both_differ(both, "%.400s\n%.1500s\n%.800s", why, asked.sql, text);
    }
    copse_query_free(asked.query);
    return good;
}
