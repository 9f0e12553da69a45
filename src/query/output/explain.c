/* The text of `explain`: one line for each step, in the order in which they ran. */
#include "query/output/output.h"

#include "io/cells.h"

#include <stdarg.h>

typedef struct writer {
    copse_query *query;
    size_t length;
    copse_status status;
} writer;

static void say(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(writer *w, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t size = strlen(line);
    if (w->status == COPSE_OK)
        w->status =
            copse_buffer_reserve(w->query->ctx, &w->query->explained, w->length + size + 1, 1, "an explanation");
    if (w->status != COPSE_OK) return;
    memcpy((char *)w->query->explained.data + w->length, line, size + 1);
    w->length += size;
}

/* ---- terms ---- */

static void say_code(writer *w, const copse_stored_column *column, uint64_t code)
{
    char cell[8], text[COPSE_CELL_TEXT];
    copse_code_store(column, code, cell);
    if (column->type == COPSE_BOOL)
        snprintf(text, sizeof text, "%s", code ? "true" : "false");
    else
        copse_cell_format((copse_type)column->type, cell, text);
    say(w, "%s", text);
}

static void say_text(writer *w, copse_slice text)
{
    say(w, "'%.*s%s'", (int)(text.length < 40 ? text.length : 40), text.start, text.length > 40 ? "..." : "");
}

static void say_text_range(writer *w, const char *name, const copse_term *term)
{
    const copse_text_end *low = &term->low_text, *high = &term->high_text;
    if (low->given && high->given && copse_slice_compare(low->text, high->text) == 0) {
        say(w, "%.40s = ", name);
        say_text(w, low->text);
        return;
    }
    if (low->given) say(w, "%.40s %s ", name, low->open ? ">" : ">=");
    if (low->given) say_text(w, low->text);
    if (low->given && high->given) say(w, " and ");
    if (high->given) say(w, "%.40s %s ", name, high->open ? "<" : "<=");
    if (high->given) say_text(w, high->text);
    if (!low->given && !high->given) say(w, "%.40s is any text", name);
}

static void say_code_range(writer *w, const copse_stored_column *column, const copse_term *term)
{
    bool from = term->low > copse_smallest_code(column), to = term->high < copse_largest_code(column);
    if (term->low == term->high) {
        say(w, "%.40s = ", column->name);
        say_code(w, column, term->low);
    } else if (from && to) {
        say(w, "%.40s between ", column->name);
        say_code(w, column, term->low);
        say(w, " and ");
        say_code(w, column, term->high);
    } else if (from || to) {
        say(w, "%.40s %s ", column->name, from ? ">=" : "<=");
        say_code(w, column, from ? term->low : term->high);
    } else {
        say(w, "%.40s is any value", column->name);
    }
}

static void say_term(writer *w, const copse_term *term)
{
    const copse_stored_column *column = &w->query->table->columns[term->column];
    if (term->kind == COPSE_TERM_NULL || term->kind == COPSE_TERM_NOT_NULL)
        say(w, "%.40s is %sNULL", column->name, term->kind == COPSE_TERM_NULL ? "" : "not ");
    else if (term->empty)
        say(w, "%.40s in an empty range", column->name);
    else if (term->kind == COPSE_TERM_LIST)
        say(w, "%.40s in a list of %llu", column->name, (unsigned long long)term->count);
    else if (term->kind == COPSE_TERM_NOT)
        say(w, "%.40s not equal to a value", column->name);
    else if (term->is_text)
        say_text_range(w, column->name, term);
    else
        say_code_range(w, column, term);
}

static bool is_driving(const copse_conjunction *conjunction, uint32_t term)
{
    return term < COPSE_MOST_DRIVING && conjunction->driving >> term & 1;
}

/* Terms that the index answers, or the others. */
static void say_terms(writer *w, const copse_conjunction *conjunction, bool driving)
{
    bool first = true;
    for (uint32_t i = 0; i < conjunction->count; i++) {
        if (is_driving(conjunction, i) != driving) continue;
        if (!first) say(w, " and ");
        say_term(w, &copse_terms(conjunction)[i]);
        first = false;
    }
}

/* ---- steps ---- */

static const char *structure_of(const copse_stored_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(index->tree, &stats) != COPSE_OK) return "?";
    return copse_structure_name((copse_structure)stats.structure);
}

static void say_conjunction(writer *w, const copse_conjunction *conjunction)
{
    const copse_table *table = w->query->table;
    char names[COPSE_SHOWN_KEY];
    if (conjunction->driver) {
        say(w, "index on %s (%s): ", copse_index_show(table, conjunction->driver, names),
            structure_of(conjunction->driver));
        say_terms(w, conjunction, true);
        say(w, "; counted %llu of %llu rows, the fewest of all indexes\n", (unsigned long long)conjunction->expected,
            (unsigned long long)table->live);
        if (conjunction->count > (uint32_t)__builtin_popcountll(conjunction->driving)) {
            say(w, "filter: ");
            say_terms(w, conjunction, false);
            say(w, "\n");
        }
    } else {
        say(w, "scan of all %llu rows, ", (unsigned long long)table->live);
        say(w,
            "%s: ", conjunction->counted ? "no index leaves less than a quarter of them" : "no index can count these");
        say_terms(w, conjunction, false);
        say(w, "\n");
    }
    say(w, "  rows: expected %llu, looked at %llu, found %llu\n", (unsigned long long)conjunction->expected,
        (unsigned long long)conjunction->looked_at, (unsigned long long)conjunction->found);
}

static void say_walk(writer *w)
{
    copse_query *query = w->query;
    say(w, "index on %.40s (%s), walked %s until the limit is reached", query->orders[0].name,
        structure_of(query->walked), query->orders[0].descending ? "from its end" : "from its beginning");
    if (query->conjunction_count == 1) {
        say(w, "; filter: ");
        say_terms(w, &copse_conjunctions(query)[0], false);
    }
    say(w, "\n  rows: expected to look at %llu, looked at %llu\n", (unsigned long long)query->walk_expected,
        (unsigned long long)query->walk_looked_at);
}

static void say_index_answers(writer *w)
{
    copse_query *query = w->query;
    uint64_t entries = 0;
    if (w->status == COPSE_OK) w->status = copse_quick_entries(query, &entries);
    if (query->conjunction_count == 0) {
        say(w, "answered by indexes, no row looked at");
    } else {
        const copse_conjunction *conjunction = &copse_conjunctions(query)[0];
        say(w, "answered by the index on %.40s, no row looked at: ",
            query->table->columns[copse_terms(conjunction)[0].column].name);
        say_term(w, &copse_terms(conjunction)[0]);
    }
    say(w, "\n  rows: counted %llu of %llu\n", (unsigned long long)entries, (unsigned long long)query->table->live);
}

static void say_rest(writer *w, uint64_t rows)
{
    const copse_query *query = w->query;
    for (uint32_t i = 0; i < query->group_count; i++)
        say(w, "%s%.40s%s", i ? ", " : "group by ", query->table->columns[query->groups[i]].name,
            i + 1 == query->group_count ? " (sorted)\n" : "");
    for (uint32_t i = 0; i < query->order_count; i++)
        say(w, "%s%.40s%s%s", i ? ", " : "order by ", query->orders[i].name,
            query->orders[i].descending ? " descending" : "", i + 1 == query->order_count ? "\n" : "");
    if (query->limit != UINT64_MAX || query->offset > 0)
        say(w, "limit: %llu rows after the first %llu\n", (unsigned long long)query->limit,
            (unsigned long long)query->offset);
    say(w, "result: %llu row%s\n", (unsigned long long)rows, rows == 1 ? "" : "s");
}

static void say_device(writer *w)
{
    copse_query *query = w->query;
    uint64_t expected = 0;
    if (w->status == COPSE_OK) w->status = copse_query_expected(query, &expected);
    say(w, "scan of all %llu rows", (unsigned long long)query->table->live);
    for (uint32_t i = 0; i < query->conjunction_count; i++) {
        say(w, i ? " or " : ": ");
        say_terms(w, &copse_conjunctions(query)[i], false);
    }
    say(w, "\n  rows: expected %llu, looked at %llu, found %llu\n", (unsigned long long)expected,
        (unsigned long long)query->table->live, (unsigned long long)query->device_found);
}

/* Where it ran, of a table that is on a device. */
static void say_place(writer *w)
{
    const copse_query *query = w->query;
    const char *name = copse_placement_name(query->table->placement);
    if (query->table->placement == COPSE_PLACEMENT_CPU) return;
    if (query->way == COPSE_WAY_INDEX && !query->why_host)
        say(w, "ran on: %s, where the indexes are\n", name);
    else if (query->on_device)
        say(w, "ran on: %s\n", name);
    else
        say(w, "ran on: cpu, though the table is on: %s; not there: %s\n", name,
            query->why_host ? query->why_host : "?");
}

copse_status copse_output_explain(copse_query *query, uint64_t rows)
{
    writer w = {query, 0, COPSE_OK};
    const bool by_rows = query->way == COPSE_WAY_ROWS && !query->on_device;
    if (query->on_device)
        say_device(&w);
    else if (query->way == COPSE_WAY_INDEX)
        say_index_answers(&w);
    else if (query->way == COPSE_WAY_ORDER)
        say_walk(&w);
    else if (query->conjunction_count == 0)
        say(&w, "all %llu rows\n", (unsigned long long)query->table->live);
    for (uint32_t i = 0; by_rows && i < query->conjunction_count; i++) {
        if (i > 0) say(&w, "or\n");
        say_conjunction(&w, &copse_conjunctions(query)[i]);
    }
    say_rest(&w, rows);
    say_place(&w);
    return w.status;
}

copse_status copse_query_explain(copse_query *query, const char **out_text)
{
    copse_table *result = NULL;
    if (!query) return copse_fail_argument(NULL, "query", "copse_query_explain: query is NULL");
    if (!out_text) return copse_fail_argument(query->ctx, "out_text", "copse_query_explain: out_text is NULL");
    copse_status status = copse_query_run(query, &result);
    if (status == COPSE_OK) status = copse_output_explain(query, copse_table_rows(result));
    if (status == COPSE_OK) *out_text = query->explained.data;
    copse_table_free(result);
    return status;
}
