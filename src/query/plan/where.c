/* Conditions of a query, as terms. */
#include "query/plan/plan.h"

#include <stdlib.h>

/* ---- ranges of codes ---- */

static copse_term full_range(const copse_query *query, uint32_t column)
{
    const copse_stored_column *stored = &query->table->columns[column];
    copse_term term = {.kind = COPSE_TERM_RANGE, .column = column, .is_text = copse_column_is_text(stored)};
    term.low = copse_smallest_code(stored);
    term.high = copse_largest_code(stored);
    return term;
}

/* The code below another. That of -0.0 is not among them: it is a second way to write 0.0, which has the next. */
static uint64_t code_below(const copse_stored_column *column, uint64_t code)
{
    if (column->type == COPSE_F64 && code == UINT64_C(1) << 63) return code - 2;
    return column->type == COPSE_F32 && code == 0x80000000u ? code - 2 : code - 1;
}

/* The cells below a position, with the cell that is equal or without. */
static void cut_above(const copse_stored_column *column, copse_term *term, copse_position at, bool with_equal)
{
    if (at.beyond) return;
    if (with_equal && at.exact)
        term->high = at.code;
    else if (at.code == term->low)
        term->empty = true;
    else
        term->high = code_below(column, at.code);
}

static void cut_below(copse_term *term, copse_position at, bool with_equal)
{
    if (at.beyond || (at.exact && !with_equal && at.code == term->high))
        term->empty = true;
    else
        term->low = at.exact && !with_equal ? at.code + 1 : at.code;
}

static copse_status code_term(const copse_query *query, copse_comparison comparison, copse_value value,
                              copse_term *term)
{
    copse_position at = {0};
    bool ends = comparison == COPSE_LESS_OR_EQUAL || comparison == COPSE_GREATER;
    copse_status status = copse_value_position(query, &query->table->columns[term->column], value, ends, &at);
    if (status != COPSE_OK) return status;
    switch (comparison) {
    case COPSE_LESS:
    case COPSE_LESS_OR_EQUAL:
        cut_above(&query->table->columns[term->column], term, at, comparison == COPSE_LESS_OR_EQUAL);
        break;
    case COPSE_GREATER:
    case COPSE_GREATER_OR_EQUAL:
        cut_below(term, at, comparison == COPSE_GREATER_OR_EQUAL);
        break;
    default:
        term->low = term->high = at.code;
        term->empty = !at.exact;
    }
    return COPSE_OK;
}

/* ---- ranges of texts ---- */

static copse_status keep_text(copse_query *query, const copse_stored_column *column, copse_value value,
                              copse_slice *out)
{
    if (value.type != COPSE_STRING)
        return copse_fail(query->ctx, COPSE_ERR_TYPE, "column \"%.40s\" (string) cannot be compared with %s",
                          column->name, value.type ? "a number" : "NULL; COPSE_IS_NULL asks for it");
    if (value.size > 0 && !value.as.text)
        return copse_fail_argument(query->ctx, "value", "column \"%.40s\": the text of the value is NULL",
                                   column->name);
    if (value.size > COPSE_LONGEST_KEY)
        return copse_fail_argument(query->ctx, "value", "column \"%.40s\": a text of %u bytes; strings have up to %u",
                                   column->name, value.size, COPSE_LONGEST_KEY);
    *out = COPSE_SLICE_EMPTY;
    if (value.size == 0) return COPSE_OK;
    unsigned char *text = copse_query_memory(query, value.size);
    if (!text) return COPSE_ERR_MEMORY;
    memcpy(text, value.as.text, value.size);
    *out = (copse_slice){text, value.size};
    return COPSE_OK;
}

/* Behind all texts with this beginning comes the beginning with its last byte one larger; bytes of 255 have none. */
static copse_status prefix_end(copse_query *query, copse_slice prefix, copse_text_end *out)
{
    size_t length = prefix.length;
    while (length > 0 && prefix.start[length - 1] == 0xFF) length--;
    if (length == 0) return COPSE_OK;
    unsigned char *text = copse_query_memory(query, length);
    if (!text) return COPSE_ERR_MEMORY;
    memcpy(text, prefix.start, length);
    text[length - 1]++;
    *out = (copse_text_end){{text, length}, true, true};
    return COPSE_OK;
}

static copse_status text_term(copse_query *query, copse_comparison comparison, copse_value value, copse_term *term)
{
    copse_slice text;
    copse_status status = keep_text(query, &query->table->columns[term->column], value, &text);
    if (status != COPSE_OK) return status;
    bool open = comparison == COPSE_LESS || comparison == COPSE_GREATER;
    if (comparison != COPSE_LESS && comparison != COPSE_LESS_OR_EQUAL)
        term->low_text = (copse_text_end){text, true, open};
    if (comparison == COPSE_PREFIX) return prefix_end(query, text, &term->high_text);
    if (comparison != COPSE_GREATER && comparison != COPSE_GREATER_OR_EQUAL)
        term->high_text = (copse_text_end){text, true, open};
    return COPSE_OK;
}

static copse_status range_term(copse_query *query, uint32_t column, copse_comparison comparison, copse_value value,
                               copse_term *out)
{
    *out = full_range(query, column);
    if (out->is_text) return text_term(query, comparison, value, out);
    if (comparison == COPSE_PREFIX)
        return copse_fail(query->ctx, COPSE_ERR_TYPE, "column \"%.40s\" (%s) has no prefix: it is not a string",
                          query->table->columns[column].name,
                          copse_column_type_name(query->table->columns[column].type));
    return code_term(query, comparison, value, out);
}

/* ---- lists ---- */

static int by_code(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
    return copse_slice_compare(*(const copse_slice *)a, *(const copse_slice *)b);
}

/* Sorted, each once. */
static void sort_list(copse_term *term)
{
    void *list = term->is_text ? (void *)term->texts : (void *)term->codes;
    size_t size = term->is_text ? sizeof *term->texts : sizeof *term->codes;
    uint64_t kept = 0;
    if (term->count > 1) qsort(list, term->count, size, term->is_text ? by_text : by_code);
    for (uint64_t i = 0; i < term->count; i++) {
        char *item = (char *)list + i * size, *last = kept > 0 ? (char *)list + (kept - 1) * size : NULL;
        if (last && (term->is_text ? by_text(item, last) : by_code(item, last)) == 0) continue;
        memmove((char *)list + kept++ * size, item, size);
    }
    term->count = kept;
    term->empty = kept == 0;
}

static copse_status list_term(copse_query *query, uint32_t column, const copse_value *values, uint64_t n,
                              copse_term *out)
{
    const copse_stored_column *stored = &query->table->columns[column];
    *out = full_range(query, column);
    out->kind = COPSE_TERM_LIST;
    void *list = copse_query_memory(query, copse_memory_product(n + 1, sizeof(copse_slice)));
    if (!list) return COPSE_ERR_MEMORY;
    out->codes = list;
    out->texts = list;
    for (uint64_t i = 0; i < n; i++) {
        copse_position at = {0};
        copse_status status = out->is_text ? keep_text(query, stored, values[i], &out->texts[out->count])
                                           : copse_value_position(query, stored, values[i], false, &at);
        if (status != COPSE_OK) return status;
        if (!out->is_text && !at.exact) continue;
        if (!out->is_text) out->codes[out->count] = at.code;
        out->count++;
    }
    sort_list(out);
    return COPSE_OK;
}

/* ---- terms of a conjunction ---- */

static copse_status current(copse_query *query, copse_conjunction **out)
{
    if (query->conjunction_count == 0) {
        copse_status status =
            copse_buffer_reserve(query->ctx, &query->conjunctions, 1, sizeof **out, "the conditions of a query");
        if (status != COPSE_OK) return status;
        copse_conjunctions(query)[query->conjunction_count++] = (copse_conjunction){0};
    }
    *out = &copse_conjunctions(query)[query->conjunction_count - 1];
    return COPSE_OK;
}

static copse_status add(copse_query *query, const copse_term *term)
{
    copse_conjunction *conjunction = NULL;
    copse_status status = current(query, &conjunction);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; term->kind == COPSE_TERM_RANGE && i < conjunction->count; i++) {
        copse_term *other = &copse_terms(conjunction)[i];
        if (other->kind != COPSE_TERM_RANGE || other->column != term->column) continue;
        copse_term_intersect(other, term);
        return COPSE_OK;
    }
    status = copse_buffer_reserve(query->ctx, &conjunction->terms, conjunction->count + 1u, sizeof *term,
                                  "the conditions of a query");
    if (status == COPSE_OK) copse_terms(conjunction)[conjunction->count++] = *term;
    return status;
}

static copse_status find(const copse_query *query, const char *call, const char *column, uint32_t *out)
{
    if (!query) return copse_fail_argument(NULL, "query", "%s: query is NULL", call);
    return copse_table_column(query->table, call, column, out);
}

copse_status copse_query_where(copse_query *query, const char *column, copse_comparison comparison, copse_value value)
{
    copse_term term = {0};
    uint32_t at = 0;
    copse_status status = find(query, "copse_query_where", column, &at);
    if (status != COPSE_OK) return status;
    switch (comparison) {
    case COPSE_IS_NULL:
    case COPSE_IS_NOT_NULL:
        term.kind = comparison == COPSE_IS_NULL ? COPSE_TERM_NULL : COPSE_TERM_NOT_NULL;
        term.column = at;
        break;
    case COPSE_NOT_EQUAL:
        status = list_term(query, at, &value, 1, &term);
        term.kind = COPSE_TERM_NOT;
        term.empty = false;
        break;
    case COPSE_EQUAL:
    case COPSE_LESS:
    case COPSE_LESS_OR_EQUAL:
    case COPSE_GREATER:
    case COPSE_GREATER_OR_EQUAL:
    case COPSE_PREFIX:
        status = range_term(query, at, comparison, value, &term);
        break;
    default:
        return copse_fail_argument(query->ctx, "comparison", "copse_query_where: there is no comparison %d",
                                   (int)comparison);
    }
    return status == COPSE_OK ? add(query, &term) : status;
}

copse_status copse_query_between(copse_query *query, const char *column, copse_value low, copse_value high)
{
    copse_term from, to;
    uint32_t at = 0;
    copse_status status = find(query, "copse_query_between", column, &at);
    if (status == COPSE_OK) status = range_term(query, at, COPSE_GREATER_OR_EQUAL, low, &from);
    if (status == COPSE_OK) status = range_term(query, at, COPSE_LESS_OR_EQUAL, high, &to);
    if (status != COPSE_OK) return status;
    copse_term_intersect(&from, &to);
    return add(query, &from);
}

/* The range of a column in a query without OR. */
static copse_term *find_range(const copse_query *query, uint32_t column)
{
    if (query->conjunction_count != 1) return NULL;
    const copse_conjunction *conjunction = &copse_conjunctions(query)[0];
    for (uint32_t i = 0; i < conjunction->count; i++) {
        copse_term *term = &copse_terms(conjunction)[i];
        if (term->kind == COPSE_TERM_RANGE && term->column == column) return term;
    }
    return NULL;
}

copse_status copse_query_set_between(copse_query *query, const char *column, copse_value low, copse_value high)
{
    const char *call = "copse_query_set_between";
    copse_term from, to;
    uint32_t at = 0;
    copse_status status = find(query, call, column, &at);
    if (status != COPSE_OK) return status;
    copse_term *term = find_range(query, at);
    if (!term)
        return copse_fail_argument(query->ctx, "column", "%s: the query has no range of \"%.40s\", or an OR", call,
                                   column);
    /* Texts of conditions live as long as the query: each new one would make it grow. */
    if (term->is_text)
        return copse_fail(query->ctx, COPSE_ERR_UNSUPPORTED, "%s: \"%.40s\" is a string column", call, column);
    status = range_term(query, at, COPSE_GREATER_OR_EQUAL, low, &from);
    if (status == COPSE_OK) status = range_term(query, at, COPSE_LESS_OR_EQUAL, high, &to);
    if (status != COPSE_OK) return status;
    copse_term_intersect(&from, &to);
    *term = from;
    return COPSE_OK;
}

copse_status copse_query_in(copse_query *query, const char *column, const copse_value *values, uint64_t n)
{
    copse_term term;
    uint32_t at = 0;
    copse_status status = find(query, "copse_query_in", column, &at);
    if (status != COPSE_OK) return status;
    if (n > 0 && !values) return copse_fail_null(query->ctx, "copse_query_in", "values");
    status = list_term(query, at, values, n, &term);
    return status == COPSE_OK ? add(query, &term) : status;
}

copse_status copse_query_or(copse_query *query)
{
    copse_conjunction *last = NULL;
    if (!query) return copse_fail_argument(NULL, "query", "copse_query_or: query is NULL");
    copse_status status = current(query, &last);
    if (status != COPSE_OK) return status;
    if (last->count == 0)
        return copse_fail_argument(query->ctx, "query", "copse_query_or: there is no condition before the OR");
    status = copse_buffer_reserve(query->ctx, &query->conjunctions, query->conjunction_count + 1u, sizeof *last,
                                  "the conditions of a query");
    if (status == COPSE_OK) copse_conjunctions(query)[query->conjunction_count++] = (copse_conjunction){0};
    return status;
}
