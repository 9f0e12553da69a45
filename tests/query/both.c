/* Random tables in copse and in SQLite. */
#include "both.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t types[] = {COPSE_I32, COPSE_I64,  COPSE_U32,       COPSE_U64,    COPSE_F32,
                                 COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP, COPSE_STRING, COPSE_BOOL};

bool both_differ(struct both *both, const char *format, ...)
{
    va_list arguments;
    if (both->why[0]) return false;
    va_start(arguments, format);
    (void)vsnprintf(both->why, sizeof both->why, format, arguments);
    va_end(arguments);
    return false;
}

void both_arm(struct both *both)
{
    if (random_one_in(&both->random, 6))
        test_allocator_fail_after(&both->allocator, (long long)random_below(&both->random, 40),
                                  random_one_in(&both->random, 2));
}

bool both_went(struct both *both, copse_status status, const char *what)
{
    bool failed = atomic_load(&both->allocator.failures) > 0;
    test_allocator_never_fail(&both->allocator);
    atomic_store(&both->allocator.failures, 0);
    if (status == COPSE_OK) return true;
    if (status == COPSE_ERR_MEMORY && failed) return false;
    return both_differ(both, "%s: %s: %s", what, copse_status_name(status), copse_last_error(both->ctx));
}

/* ---- values ---- */

static int64_t whole(struct both *both, const struct both_column *column)
{
    int64_t number = (int64_t)random_below(&both->random, column->spread);
    bool is_signed = column->type != COPSE_U32 && column->type != COPSE_U64;
    if (column->large) {
        int64_t top = column->type == COPSE_U32                                 ? (int64_t)UINT32_MAX
                      : column->type == COPSE_I32 || column->type == COPSE_DATE ? INT32_MAX
                                                                                : INT64_MAX;
        return random_one_in(&both->random, 2) && is_signed ? -top - 1 + number : top - number;
    }
    return is_signed ? number - (int64_t)(column->spread / 3) : number;
}

static void set_text(struct cell *cell, struct random_source *random, uint64_t spread)
{
    static const char *const parts[] = {"", "a", "b", "ab", "abcdefgh", "abcdefghi", "\xff", "\xff\xff", "z "};
    uint64_t pick = random_below(random, spread);
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        const char *part = parts[pick % 9];
        pick /= 9;
        memcpy(cell->text + length, part, strlen(part));
        length += strlen(part);
    }
    cell->value = copse_value_text(cell->text, (uint32_t)length);
}

struct cell both_value(struct both *both, uint32_t column)
{
    const struct both_column *own = &both->columns[column];
    const int64_t third = (int64_t)(own->spread / 3);
    struct cell cell = {.value = copse_value_null()};
    switch (own->type) {
    case COPSE_STRING:
        set_text(&cell, &both->random, own->spread);
        break;
    case COPSE_F32:
    case COPSE_F64:
        /* Quarters: sums are exact in any order. */
        cell.value = copse_value_f64((double)((int64_t)random_below(&both->random, own->spread) - third) / 4);
        if (random_one_in(&both->random, 20)) cell.value.as.f64 = -0.0;
        break;
    case COPSE_BOOL:
        cell.value = copse_value_i64((int64_t)random_below(&both->random, 2));
        break;
    case COPSE_U32:
    case COPSE_U64:
        cell.value = copse_value_u64((uint64_t)whole(both, own));
        break;
    default:
        cell.value = copse_value_i64(whole(both, own));
    }
    return cell;
}

void both_bind(sqlite3_stmt *statement, int at, const struct cell *cell)
{
    switch (cell->value.type) {
    case COPSE_I64:
        sqlite3_bind_int64(statement, at, cell->value.as.i64);
        break;
    case COPSE_U64:
        sqlite3_bind_int64(statement, at, (sqlite3_int64)cell->value.as.u64);
        break;
    case COPSE_F64:
        sqlite3_bind_double(statement, at, cell->value.as.f64);
        break;
    case COPSE_STRING:
        sqlite3_bind_blob(statement, at, cell->text, (int)cell->value.size, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_bind_null(statement, at);
    }
}

/* ---- arrays of cells ---- */

struct arrays {
    copse_column columns[BOTH_MOST_COLUMNS];
    struct cell *cells[BOTH_MOST_COLUMNS];
    copse_bytes bytes[BOTH_MOST_COLUMNS];
    uint32_t count;
    uint64_t n;
};

static void *need(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory) abort();
    return memory;
}

static void put(void *data, uint32_t type, uint64_t at, copse_value value)
{
    if (type == COPSE_F64)
        ((double *)data)[at] = value.as.f64;
    else if (type == COPSE_F32)
        ((float *)data)[at] = (float)value.as.f64;
    else if (type == COPSE_BOOL)
        ((uint8_t *)data)[at] = (uint8_t)value.as.u64;
    else if (copse_type_size((copse_type)type) == 4)
        ((uint32_t *)data)[at] = (uint32_t)value.as.u64;
    else
        ((uint64_t *)data)[at] = value.as.u64;
}

/* The cells as a column of an array. */
static void fill_column(struct arrays *arrays, const struct both_column *own, struct cell *cells)
{
    uint32_t at = arrays->count++;
    copse_column *column = &arrays->columns[at];
    uint8_t *validity = need(arrays->n / 8 + 1);
    void *data = NULL;
    if (own->type == COPSE_STRING) {
        char *text = need(arrays->n * BOTH_MOST_TEXT);
        int32_t *offsets = need((arrays->n + 1) * sizeof *offsets);
        for (uint64_t i = 0; i < arrays->n; i++) {
            memcpy(text + offsets[i], cells[i].text, cells[i].value.size);
            offsets[i + 1] = offsets[i] + (int32_t)cells[i].value.size;
        }
        arrays->bytes[at] = (copse_bytes)COPSE_BYTES_INIT(text, (uint64_t)offsets[arrays->n], offsets, 32);
        data = &arrays->bytes[at];
    } else {
        data = need(arrays->n * 8);
    }
    for (uint64_t i = 0; i < arrays->n; i++) {
        if (cells[i].value.type == 0) continue;
        validity[i / 8] |= (uint8_t)(1u << (i % 8));
        if (own->type != COPSE_STRING) put(data, own->type, i, cells[i].value);
    }
    arrays->cells[at] = cells;
    *column = (copse_column){own->name, own->type, 0, data, validity};
}

static void free_arrays(struct arrays *arrays)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        if (arrays->columns[i].type == COPSE_STRING) {
            free(arrays->bytes[i].data);
            free(arrays->bytes[i].offsets);
        } else {
            free((void *)(uintptr_t)arrays->columns[i].data);
        }
        free((void *)(uintptr_t)arrays->columns[i].validity);
        free(arrays->cells[i]);
    }
}

static struct cell *random_cells(struct both *both, uint32_t column, uint64_t n)
{
    struct cell *cells = need(n * sizeof *cells);
    for (uint64_t i = 0; i < n; i++) {
        if (column == 0)
            cells[i].value = copse_value_i64(both->next_id += 1 + (int64_t)random_below(&both->random, 2));
        else if (random_below(&both->random, 100) >= both->columns[column].nulls)
            cells[i] = both_value(both, column);
    }
    return cells;
}

/* ---- SQLite ---- */

static bool run_sql(struct both *both, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_DONE || result == SQLITE_ROW) return true;
    return both_differ(both, "SQLite: %s", sqlite3_errmsg(both->sqlite));
}

static bool execute(struct both *both, const char *sql)
{
    if (sqlite3_exec(both->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK) return true;
    return both_differ(both, "SQLite: %s: %s", sql, sqlite3_errmsg(both->sqlite));
}

static sqlite3_stmt *prepare(struct both *both, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(both->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        both_differ(both, "SQLite: %s: %s", sql, sqlite3_errmsg(both->sqlite));
    return statement;
}

static bool sql_append(struct both *both, const struct arrays *arrays, uint64_t first_row)
{
    char sql[256];
    int at = snprintf(sql, sizeof sql, "insert into t values(?");
    for (uint32_t i = 0; i < both->column_count; i++) at += snprintf(sql + at, sizeof sql - (size_t)at, ",?");
    (void)snprintf(sql + at, sizeof sql - (size_t)at, ")");
    sqlite3_stmt *statement = prepare(both, sql);
    bool good = statement != NULL;
    for (uint64_t i = 0; good && i < arrays->n; i++) {
        sqlite3_reset(statement);
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)first_row + (sqlite3_int64)i);
        for (uint32_t c = 0; c < arrays->count; c++) both_bind(statement, (int)c + 2, &arrays->cells[c][i]);
        good = run_sql(both, statement);
    }
    sqlite3_finalize(statement);
    return good;
}

/* ---- changes ---- */

static void random_arrays(struct both *both, struct arrays *arrays, uint64_t n)
{
    *arrays = (struct arrays){.n = n};
    for (uint32_t i = 0; i < both->column_count; i++) fill_column(arrays, &both->columns[i], random_cells(both, i, n));
}

static bool append(struct both *both)
{
    struct arrays arrays;
    uint64_t first = copse_table_end(both->table);
    int64_t id_before = both->next_id;
    random_arrays(both, &arrays, 1 + random_below(&both->random, 40));
    bool repeated = both->unique && arrays.n > 1 && random_one_in(&both->random, 5);
    if (repeated)
        ((int64_t *)(uintptr_t)arrays.columns[0].data)[0] = ((const int64_t *)arrays.columns[0].data)[arrays.n - 1];
    both_arm(both);
    copse_status status = copse_table_append(both->table, arrays.columns, arrays.count, arrays.n);
    if (repeated && status == COPSE_ERR_ARGUMENT) {
        both_went(both, COPSE_OK, "append");
        both->next_id = id_before;
    } else if (repeated && status == COPSE_OK) {
        both_differ(both, "append took a key twice");
    } else if (both_went(both, status, "append")) {
        sql_append(both, &arrays, first);
    }
    free_arrays(&arrays);
    return !both->why[0];
}

static uint32_t indexed_column(struct both *both)
{
    uint32_t chosen = 0;
    for (uint32_t i = 1; i < both->column_count; i++)
        if (both->columns[i].indexed && random_one_in(&both->random, 2)) chosen = i;
    return chosen;
}

/* Keys of which some are there. */
static struct cell *random_keys(struct both *both, uint32_t column, uint64_t n)
{
    struct cell *cells = need(n * sizeof *cells);
    for (uint64_t i = 0; i < n; i++)
        if (column == 0)
            cells[i].value = copse_value_i64((int64_t)random_below(&both->random, (uint64_t)both->next_id + 2));
        else
            cells[i] = both_value(both, column);
    return cells;
}

static bool sql_keyed(struct both *both, const char *sql, const struct cell *keys, const struct cell *cells, uint64_t n)
{
    sqlite3_stmt *statement = prepare(both, sql);
    bool good = statement != NULL;
    for (uint64_t i = 0; good && i < n; i++) {
        sqlite3_reset(statement);
        both_bind(statement, 1, &keys[i]);
        if (cells) both_bind(statement, 2, &cells[i]);
        good = run_sql(both, statement);
    }
    sqlite3_finalize(statement);
    return good;
}

static bool update(struct both *both)
{
    struct arrays keys = {.n = 1 + random_below(&both->random, 6)}, cells = {.n = keys.n};
    uint32_t key = indexed_column(both), column = 1 + (uint32_t)random_below(&both->random, both->column_count - 1);
    char sql[128];
    if (!both->columns[key].indexed || column == key) return true;
    fill_column(&keys, &both->columns[key], random_keys(both, key, keys.n));
    fill_column(&cells, &both->columns[column], random_cells(both, column, keys.n));
    (void)snprintf(sql, sizeof sql, "update t set %s = ?2 where %s = ?1", both->columns[column].name,
                   both->columns[key].name);
    both_arm(both);
    if (both_went(both, copse_table_update(both->table, keys.columns, keys.n, cells.columns, 1, NULL), "update"))
        sql_keyed(both, sql, keys.cells[0], cells.cells[0], keys.n);
    free_arrays(&keys);
    free_arrays(&cells);
    return !both->why[0];
}

static bool erase(struct both *both)
{
    struct arrays keys = {.n = 1 + random_below(&both->random, 3)};
    uint32_t key = indexed_column(both);
    uint64_t before = copse_table_rows(both->table), deleted = 0;
    char sql[128];
    if (!both->columns[key].indexed) return true;
    fill_column(&keys, &both->columns[key], random_keys(both, key, keys.n));
    (void)snprintf(sql, sizeof sql, "delete from t where %s = ?1", both->columns[key].name);
    both_arm(both);
    if (both_went(both, copse_table_delete(both->table, keys.columns, keys.n, &deleted), "delete")) {
        sql_keyed(both, sql, keys.cells[0], NULL, keys.n);
        if (copse_table_rows(both->table) + deleted != before) both_differ(both, "delete counts wrongly");
    }
    free_arrays(&keys);
    return !both->why[0];
}

static bool add_index(struct both *both)
{
    uint32_t column = (uint32_t)random_below(&both->random, both->column_count);
    uint32_t sums = (uint32_t)random_below(&both->random, both->column_count);
    uint32_t type = both->columns[sums].type;
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    bool number = type != COPSE_STRING && type != COPSE_DATE && type != COPSE_TIMESTAMP;
    if (number && random_one_in(&both->random, 2)) options.sums = both->columns[sums].name;
    options.unique = column == 0 && !both->columns[0].indexed;
    both_arm(both);
    if (both_went(both, copse_table_index(both->table, both->columns[column].name, &options), "index")) {
        both->columns[column].indexed = true;
        if (options.unique) both->unique = true;
    }
    return !both->why[0];
}

/* An index of some columns in any order, each once. */
static bool make_composite(struct both *both)
{
    copse_table_index_options options = COPSE_TABLE_INDEX_OPTIONS_INIT;
    const char *names[4] = {0};
    uint32_t count = 0, wanted = 2 + (uint32_t)random_below(&both->random, 3);
    for (uint32_t tries = 0; tries < 12 && count < wanted; tries++) {
        const char *name = both->columns[random_below(&both->random, both->column_count)].name;
        bool is_new = true;
        for (uint32_t i = 0; i < count; i++) is_new &= strcmp(names[i], name) != 0;
        if (is_new) names[count++] = name;
    }
    both_arm(both);
    both_went(both, copse_table_index_columns(both->table, names, count, &options), "index of several columns");
    return !both->why[0];
}

static bool ask_open_file(struct both *both, const char *path)
{
    copse_table *in_memory = both->table, *open = NULL;
    both_arm(both);
    if (!both_went(both, copse_table_open(both->ctx, path, &open), "open")) return !both->why[0];
    both->table = open;
    bool good = both_join(both);
    for (int i = 0; good && i < 3; i++) good = both_query(both);
    if (good && copse_table_compact(open) != COPSE_ERR_UNSUPPORTED)
        good = both_differ(both, "an open file was changed");
    both->table = in_memory;
    copse_table_free(open);
    return good;
}

/* Through a file and back, with questions to the file on the way. */
static bool save_and_load(struct both *both)
{
    char path[64];
    copse_table *loaded = NULL;
    (void)snprintf(path, sizeof path, "/tmp/copse-differential-%ld.table", (long)getpid());
    both_arm(both);
    if (both_went(both, copse_table_save(both->table, path), "save") && ask_open_file(both, path)) {
        both_arm(both);
        if (both_went(both, copse_table_load(both->ctx, path, &loaded), "load")) {
            copse_table_free(both->table);
            both->table = loaded;
        }
    }
    (void)unlink(path);
    return !both->why[0];
}

/* Rows get new numbers: in SQLite they have them, too. */
static bool compact(struct both *both)
{
    both_arm(both);
    if (!both_went(both, copse_table_compact(both->table), "compact")) return !both->why[0];
    return execute(both, "create temp table m as select row r, row_number() over (order by row) - 1 n from t") &&
           execute(both, "update t set row = -1 - row") &&
           execute(both, "update t set row = (select n from m where r = -1 - row)") && execute(both, "drop table m");
}

/* To the device, or away from it, which seldom stays so. */
static bool place(struct both *both)
{
    bool there = copse_table_placement(both->table) != COPSE_PLACEMENT_CPU && random_one_in(&both->random, 4);
    copse_placement to = there ? COPSE_PLACEMENT_CPU : both->placement;
    copse_placement before = copse_table_placement(both->table);
    both_arm(both);
    bool went = both_went(both, copse_table_place(both->table, to), "place");
    if (copse_table_placement(both->table) != (went ? to : before))
        both_differ(both, "the table is %s", copse_placement_name(copse_table_placement(both->table)));
    return !both->why[0];
}

bool both_change(struct both *both)
{
    bool good = true;
    if (both->placement != COPSE_PLACEMENT_CPU && random_one_in(&both->random, 4) && !place(both)) return false;
    switch (random_below(&both->random, 15)) {
    case 0:
    case 1:
    case 2:
    case 3:
        good = append(both);
        break;
    case 4:
    case 5:
        good = erase(both);
        break;
    case 6:
    case 7:
    case 8:
        good = update(both);
        break;
    case 9:
        good = compact(both);
        break;
    case 10:
        good = make_composite(both);
        break;
    case 11:
        good = save_and_load(both);
        break;
    default:
        good = add_index(both);
    }
    if (good && copse_table_verify(both->table) != COPSE_OK) both_differ(both, "%s", copse_last_error(both->ctx));
    return !both->why[0];
}

/* ---- the beginning and the end ---- */

static bool create_sqlite(struct both *both)
{
    char sql[256];
    int at = snprintf(sql, sizeof sql, "create table t(row integer primary key");
    for (uint32_t i = 0; i < both->column_count; i++)
        at += snprintf(sql + at, sizeof sql - (size_t)at, ", %s", both->columns[i].name);
    (void)snprintf(sql + at, sizeof sql - (size_t)at, ")");
    if (sqlite3_open(":memory:", &both->sqlite) != SQLITE_OK) return both_differ(both, "SQLite does not open");
    return execute(both, sql);
}

static void choose_columns(struct both *both)
{
    static const uint64_t spreads[] = {2, 5, 30, 81, 100000};
    both->column_count = 3 + (uint32_t)random_below(&both->random, BOTH_MOST_COLUMNS - 2);
    for (uint32_t i = 0; i < both->column_count; i++) {
        struct both_column *column = &both->columns[i];
        *column = (struct both_column){.type = i ? types[random_below(&both->random, 10)] : COPSE_I64};
        (void)snprintf(column->name, sizeof column->name, i ? "c%u" : "id", i);
        column->spread = spreads[random_below(&both->random, 5)];
        column->large = random_one_in(&both->random, 8);
        column->nulls = random_one_in(&both->random, 2) ? 0 : (unsigned)random_below(&both->random, 60);
    }
}

bool both_open(struct both *both, uint64_t seed, copse_placement placement)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    struct arrays arrays;
    *both = (struct both){.random = {seed}, .placement = placement};
    test_allocator_init(&both->allocator);
    options.allocator = test_allocator_hooks(&both->allocator);
    options.threads = 1 + (uint32_t)random_below(&both->random, 3);
    if (copse_ctx_create(&options, &both->ctx) != COPSE_OK) return both_differ(both, "no context");
    choose_columns(both);
    if (!create_sqlite(both)) return false;
    random_arrays(both, &arrays, random_below(&both->random, random_one_in(&both->random, 4) ? 2000 : 60));
    copse_status status = copse_table_create(both->ctx, arrays.columns, arrays.count, arrays.n, &both->table);
    if (both_went(both, status, "create") && execute(both, "begin")) sql_append(both, &arrays, 0);
    if (placement != COPSE_PLACEMENT_CPU && !both->why[0])
        both_went(both, copse_table_place(both->table, placement), "place");
    free_arrays(&arrays);
    return !both->why[0];
}

void both_close(struct both *both)
{
    copse_table_free(both->table);
    copse_ctx_free(both->ctx);
    sqlite3_close(both->sqlite);
    if (!test_allocator_is_clean(&both->allocator)) both_differ(both, "memory was not given back");
}
