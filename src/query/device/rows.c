/* The rows that a query asks for, by a look at all of them: a card reads a column of 10^9 cells in a few milliseconds. */
#include "query/device/device.h"

#include "primitives/primitives.h"

/* ---- what a device can run ---- */

static bool is_compared(const copse_term *term)
{
    return term->kind != COPSE_TERM_NULL && term->kind != COPSE_TERM_NOT_NULL;
}

/* Numbers all strings that the query compares. */
static copse_status number_strings(const copse_query *query)
{
    const copse_table *table = query->table;
    copse_sort_key keys[COPSE_MOST_ORDERS];
    const bool of_groups = query->aggregate_count > 0 || query->group_count > 0; /* their order is the host's work */
    copse_status status = of_groups ? COPSE_OK : copse_output_order(query, table, keys);
    for (uint32_t i = 0; status == COPSE_OK && !of_groups && i < query->order_count; i++)
        status = copse_card_strings(table, keys[i].column);
    for (uint32_t i = 0; status == COPSE_OK && i < query->conjunction_count; i++)
        for (uint32_t t = 0; status == COPSE_OK && t < copse_conjunctions(query)[i].count; t++) {
            const copse_term *term = &copse_terms(&copse_conjunctions(query)[i])[t];
            if (is_compared(term)) status = copse_card_strings(table, term->column);
        }
    for (uint32_t i = 0; status == COPSE_OK && i < query->group_count; i++)
        status = copse_card_strings(table, query->groups[i]);
    for (uint32_t i = 0; status == COPSE_OK && i < query->aggregate_count; i++)
        if (copse_aggregates(query)[i].what != COPSE_AGGREGATE_COUNT)
            status = copse_card_strings(table, copse_aggregates(query)[i].column);
    return status;
}

bool copse_card_runs(copse_query *query)
{
    query->on_device = false;
    query->why_host = NULL;
    if (!query->table->image) return false;
    if (query->table->image->stale) query->why_host = "there was no room on the device for the last change";
    query->on_device = !query->why_host;
    return query->on_device;
}

/* ---- flags and rows ---- */

copse_status copse_card_flagged(copse_card_memory *memory, const uint8_t *flags, uint64_t n, copse_card_rows *out)
{
    copse_device *device = memory->device;
    uint64_t *count = NULL;
    *out = (copse_card_rows){0};
    copse_status status = copse_card_take(memory, n, sizeof *out->rows, &out->rows);
    if (status == COPSE_OK) status = copse_card_take(memory, 1, sizeof *count, &count);
    if (status == COPSE_OK)
        status = device->backend->primitives->select_flagged(device, device->main, flags, out->rows, n, count);
    return status == COPSE_OK ? copse_device_read(device, device->main, &out->n, count, sizeof out->n) : status;
}

copse_status copse_card_used(const copse_table *table, uint32_t a, uint32_t b, copse_card_memory *memory,
                             copse_card_rows *out)
{
    copse_device *device = memory->device;
    copse_card_used_arguments used = {.alive = copse_card_alive(table), .n = table->slots};
    if (a != COPSE_NO_COLUMN) used.columns[0] = copse_card_column_of(table, a);
    if (b != COPSE_NO_COLUMN) used.columns[1] = copse_card_column_of(table, b);
    *out = (copse_card_rows){NULL, table->slots};
    if (!used.alive && !used.columns[0].validity && !used.columns[1].validity) return COPSE_OK;
    copse_status status = copse_card_take(memory, table->slots, 1, &used.flags);
    if (status == COPSE_OK)
        status = copse_card_launch(device, &copse_card_kernels_on(device)->used, table->slots, &used);
    return status == COPSE_OK ? copse_card_flagged(memory, used.flags, table->slots, out) : status;
}

/* ---- conditions ---- */

typedef struct conditions {
    copse_buffer terms; /* copse_card_term */
    copse_buffer ends;  /* uint32_t        */
    copse_buffer codes; /* of all lists    */
    uint32_t count;
    uint64_t code_count;
} conditions;

static copse_status add_codes(const copse_query *query, const copse_term *term, conditions *to, copse_card_term *out)
{
    copse_status status = copse_buffer_reserve(query->ctx, &to->codes, to->code_count + term->count, sizeof(uint64_t),
                                               "the conditions of a query");
    if (status != COPSE_OK) return status;
    uint64_t *codes = (uint64_t *)to->codes.data + to->code_count;
    for (uint64_t i = 0; i < term->count; i++) {
        bool exact = true;
        codes[out->count] =
            term->is_text ? copse_card_rank(query->table, term->column, term->texts[i], &exact) : term->codes[i];
        out->count += exact;
    }
    to->code_count += out->count;
    return COPSE_OK;
}

/* A range of texts as one of their numbers. */
static void take_range(const copse_query *query, const copse_term *term, copse_card_term *out)
{
    bool exact = false;
    uint64_t low = 0, end = query->table->image->columns[term->column].word_count;
    if (term->low_text.given) {
        low = copse_card_rank(query->table, term->column, term->low_text.text, &exact);
        low += exact && term->low_text.open;
    }
    if (term->high_text.given) {
        end = copse_card_rank(query->table, term->column, term->high_text.text, &exact);
        end += exact && !term->high_text.open;
    }
    out->empty |= low >= end;
    out->low = low;
    out->span = end - low - 1;
}

static copse_status add_term(const copse_query *query, const copse_term *term, conditions *to)
{
    copse_card_term card = {.column = copse_card_column_of(query->table, term->column),
                            .kind = term->kind,
                            .empty = term->empty,
                            .low = term->low,
                            .span = term->high - term->low,
                            .first = to->code_count};
    copse_status status =
        copse_buffer_reserve(query->ctx, &to->terms, to->count + 1u, sizeof card, "the conditions of a query");
    if (status == COPSE_OK && term->is_text && term->kind == COPSE_TERM_RANGE) take_range(query, term, &card);
    const bool lists = term->is_text ? term->texts != NULL : term->codes != NULL;
    if (status == COPSE_OK && lists && !term->empty) status = add_codes(query, term, to, &card);
    if (status == COPSE_OK) ((copse_card_term *)to->terms.data)[to->count++] = card;
    return status;
}

static copse_status list_terms(const copse_query *query, conditions *out)
{
    copse_status status = copse_buffer_reserve(query->ctx, &out->ends, query->conjunction_count + 1u, sizeof(uint32_t),
                                               "the conditions of a query");
    for (uint32_t i = 0; status == COPSE_OK && i < query->conjunction_count; i++) {
        const copse_conjunction *conjunction = &copse_conjunctions(query)[i];
        for (uint32_t t = 0; status == COPSE_OK && t < conjunction->count; t++)
            status = add_term(query, &copse_terms(conjunction)[t], out);
        if (status == COPSE_OK) ((uint32_t *)out->ends.data)[i] = out->count;
    }
    return status;
}

/* A copy of a host array, at *out. */
static copse_status put(copse_card_memory *memory, const void *from, uint64_t n, size_t size, void *out)
{
    copse_device *device = memory->device;
    copse_status status = copse_card_take(memory, n, size, out);
    return status == COPSE_OK ? copse_device_copy(device, device->main, *(void **)out, from, n * size) : status;
}

static copse_status filter(const copse_query *query, copse_card_memory *memory, const conditions *terms,
                           copse_card_filter_arguments *arguments)
{
    copse_device *device = memory->device;
    arguments->conjunctions = query->conjunction_count;
    copse_status status =
        put(memory, terms->terms.data, terms->count, sizeof *arguments->terms, (void *)&arguments->terms);
    if (status == COPSE_OK)
        status =
            put(memory, terms->ends.data, query->conjunction_count, sizeof *arguments->ends, (void *)&arguments->ends);
    if (status == COPSE_OK)
        status = put(memory, terms->codes.data, terms->code_count, sizeof *arguments->codes, (void *)&arguments->codes);
    if (status == COPSE_OK) status = copse_card_take(memory, arguments->n, 1, &arguments->flags);
    return status == COPSE_OK
               ? copse_card_launch(device, &copse_card_kernels_on(device)->filter, arguments->n, arguments)
               : status;
}

copse_status copse_card_select(copse_query *query, copse_card_memory *memory, copse_card_rows *out)
{
    const copse_table *table = query->table;
    copse_card_filter_arguments arguments = {.alive = copse_card_alive(table), .n = table->slots};
    conditions terms = {0};
    copse_status status = number_strings(query);
    *out = (copse_card_rows){NULL, table->slots};
    if (status == COPSE_OK && query->conjunction_count > 0) {
        status = list_terms(query, &terms);
        if (status == COPSE_OK) status = filter(query, memory, &terms, &arguments);
        if (status == COPSE_OK) status = copse_card_flagged(memory, arguments.flags, table->slots, out);
    } else if (status == COPSE_OK) {
        status = copse_card_used(table, COPSE_NO_COLUMN, COPSE_NO_COLUMN, memory, out);
    }
    copse_buffer_free(query->ctx, &terms.terms);
    copse_buffer_free(query->ctx, &terms.ends);
    copse_buffer_free(query->ctx, &terms.codes);
    query->device_found = out->n;
    return status;
}
