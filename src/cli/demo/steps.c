/* The steps of the demo: each asks the sorted array and every tree the same, and counts the answers that differ. */
#include "cli/demo/demo.h"

#include <stdlib.h>
#include <string.h>

/* ---- room ---- */

bool demo_room_make(demo *d)
{
    /* The largest step lists everything after the update. */
    d->capacity = d->args->n + d->args->n / 16 + 2 * DEMO_RANGE_LENGTH;
    size_t bytes = (size_t)d->capacity * sizeof(uint64_t);
    uint64_t **arrays[] = {&d->keys, &d->values, &d->expected, &d->expected_values, &d->got, &d->got_values};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = malloc(bytes);
        if (!*arrays[i]) return false;
        memset(*arrays[i], 0, bytes); /* so that no step pays for memory that is touched for the first time */
    }
    d->found = calloc((size_t)d->capacity, 1);
    return d->found != NULL;
}

void demo_room_free(demo *d)
{
    free(d->keys);
    free(d->values);
    free(d->expected);
    free(d->expected_values);
    free(d->got);
    free(d->got_values);
    free(d->found);
    demo_model_free(&d->model);
}

/* ---- orders ---- */

/* A mixing of 64 bits that can be undone, so that different numbers stay different. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 29) * UINT64_C(0xa0761d6478bd642f);
    return x ^ x >> 32;
}

/* The number of the i-th order ever made; from the table's size on, of an order that is not in the table. */
static uint64_t order_number(uint64_t i)
{
    return scramble(i * UINT64_C(0x9e3779b97f4a7c15) + 12345);
}

static uint64_t next_random(demo *d)
{
    return scramble(d->random++ + (UINT64_C(1) << 40));
}

static uint64_t next_amount(demo *d)
{
    return 100 + next_random(d) % 100000; /* cents */
}

/* ---- helpers of the steps ---- */

/* The demo's own memory; the library has no sentence for that. */
static copse_status no_memory(demo *d)
{
    d->out_of_memory = true;
    return COPSE_ERR_MEMORY;
}

static uint64_t differences(const uint64_t *a, const uint64_t *b, uint64_t n)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; i++) wrong += a[i] != b[i];
    return wrong;
}

/* What one tree has answered must not stand for the n answers of the next. */
static void forget_answers(demo *d, uint64_t n)
{
    memset(d->got, 0xA5, (size_t)n * sizeof *d->got);
    memset(d->got_values, 0xA5, (size_t)n * sizeof *d->got_values);
    memset(d->found, 0xA5, (size_t)n);
}

static double since(double *start)
{
    double now = cli_clock(), seconds = now - *start;
    *start = now;
    return seconds;
}

/* Half of the keys are in the table, half are not. */
static void choose_keys(demo *d, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t order = next_random(d) % d->args->n;
        d->keys[i] = order_number(i % 2 ? order : order + d->args->n);
    }
}

/* Ranges of any width; one in sixteen is empty, because its ends are the wrong way round. Lows in keys, highs in
 * values. */
static void choose_ranges(demo *d, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t a = next_random(d), b = next_random(d);
        bool swap = (a > b) != (i % 16 == 0);
        d->keys[i] = swap ? b : a;
        d->values[i] = swap ? a : b;
    }
}

static uint64_t at_most(uint64_t n, uint64_t limit)
{
    return n < limit ? n : limit;
}

/* ---- steps ---- */

static copse_status build_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = d->args->n;
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < n; i++) {
        d->keys[i] = order_number(i);
        d->values[i] = next_amount(d);
    }
    double start = cli_clock();
    if (!demo_model_build(&d->model, d->keys, d->values, n)) return no_memory(d);
    result->model_seconds = since(&start);
    status = demo_trees_warm(d);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        since(&start);
        status = copse_build(d->tree[t].index, d->keys, d->values, n);
        result->seconds[t] = since(&start);
        result->wrong[t] += copse_size(d->tree[t].index) != d->model.count;
    }
    return status;
}

static copse_status find_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = at_most(d->args->n / 4 + 1, UINT64_C(1) << 21);
    copse_status status = COPSE_OK;
    choose_keys(d, n);
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) d->expected[i] = demo_model_find(&d->model, d->keys[i], &d->expected_values[i]);
    result->model_seconds = since(&start);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        forget_answers(d, n);
        since(&start);
        status = copse_find(d->tree[t].index, d->keys, n, d->got_values, d->found);
        result->seconds[t] = since(&start);
        result->wrong[t] += differences(d->got_values, d->expected_values, n);
        for (uint64_t i = 0; i < n; i++) result->wrong[t] += d->found[i] != d->expected[i];
    }
    return status;
}

static copse_status range_step(demo *d, demo_result *result)
{
    uint64_t n = d->capacity / DEMO_RANGE_LENGTH / 2 + 1, at = 0;
    copse_status status = COPSE_OK;
    uint64_t *offsets = malloc((size_t)(n + 1) * sizeof *offsets);
    if (!offsets) return no_memory(d);
    choose_ranges(d, n);
    for (uint64_t i = 0; i < n; i++) d->values[i] = UINT64_MAX;
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rank = demo_model_rank(&d->model, d->keys[i]), end = rank + DEMO_RANGE_LENGTH;
        for (end = at_most(end, d->model.count); rank < end; rank++, at++) {
            d->expected[at] = d->model.keys[rank];
            d->expected_values[at] = d->model.values[rank];
        }
    }
    result->model_seconds = since(&start);
    result->operations = at;
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        forget_answers(d, at);
        since(&start);
        status = copse_range(d->tree[t].index,
                             &(copse_ranges){.struct_size = sizeof(copse_ranges),
                                             .lows = d->keys,
                                             .highs = d->values,
                                             .n = n,
                                             .limit = DEMO_RANGE_LENGTH},
                             &(copse_rows){.struct_size = sizeof(copse_rows),
                                           .offsets = offsets,
                                           .keys = d->got,
                                           .values = d->got_values,
                                           .capacity = d->capacity});
        result->seconds[t] = since(&start);
        result->wrong[t] += offsets[n] != at;
        result->wrong[t] += differences(d->got, d->expected, at) + differences(d->got_values, d->expected_values, at);
    }
    free(offsets);
    return status;
}

static copse_status count_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = at_most(d->args->n / 16 + 1, UINT64_C(1) << 20);
    copse_status status = COPSE_OK;
    choose_ranges(d, n);
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) d->expected[i] = demo_model_count(&d->model, d->keys[i], d->values[i]);
    result->model_seconds = since(&start);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        forget_answers(d, n);
        since(&start);
        status = copse_count(d->tree[t].index, &(copse_ranges)COPSE_BETWEEN(d->keys, d->values, n), d->got);
        result->seconds[t] = since(&start);
        result->wrong[t] += differences(d->got, d->expected, n);
    }
    return status;
}

static copse_status sum_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = at_most(d->args->n / 16 + 1, UINT64_C(1) << 20);
    copse_status status = COPSE_OK;
    choose_ranges(d, n);
    if (!demo_model_prepare_sums(&d->model)) return no_memory(d);
    double start = cli_clock();
    for (uint64_t i = 0; i < n; i++) d->expected[i] = demo_model_sum(&d->model, d->keys[i], d->values[i]);
    result->model_seconds = since(&start);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        /* The first sum after a change prepares the aggregates; that is not what is measured. */
        status = copse_sum(d->tree[t].index, &(copse_ranges)COPSE_BETWEEN(d->keys, d->values, 1), d->got);
        forget_answers(d, n);
        since(&start);
        if (status == COPSE_OK)
            status = copse_sum(d->tree[t].index, &(copse_ranges)COPSE_BETWEEN(d->keys, d->values, n), d->got);
        result->seconds[t] = since(&start);
        result->wrong[t] += differences(d->got, d->expected, n);
    }
    return status;
}

static copse_status update_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = d->args->n / 16 + 1, expected = 0;
    copse_status status = COPSE_OK;
    choose_keys(d, n);
    for (uint64_t i = 0; i < n; i++) d->values[i] = next_amount(d);
    double start = cli_clock();
    if (!demo_model_upsert(&d->model, d->keys, d->values, n, &expected)) return no_memory(d);
    result->model_seconds = since(&start);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        uint64_t inserted = 0;
        since(&start);
        status = copse_insert(d->tree[t].index, d->keys, d->values, n, COPSE_INSERT_UPSERT, &inserted);
        result->seconds[t] = since(&start);
        result->wrong[t] += inserted != expected;
    }
    return status;
}

static copse_status erase_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = d->args->n / 16 + 1, expected = 0;
    copse_status status = COPSE_OK;
    choose_keys(d, n);
    double start = cli_clock();
    if (!demo_model_erase(&d->model, d->keys, n, &expected)) return no_memory(d);
    result->model_seconds = since(&start);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        uint64_t erased = 0;
        since(&start);
        status = copse_erase(d->tree[t].index, d->keys, n, &erased);
        result->seconds[t] = since(&start);
        result->wrong[t] += erased != expected;
    }
    return status;
}

static copse_status export_step(demo *d, demo_result *result)
{
    uint64_t n = result->operations = d->model.count;
    copse_status status = COPSE_OK;
    double start = cli_clock();
    memcpy(d->expected, d->model.keys, (size_t)n * sizeof *d->expected);
    memcpy(d->expected_values, d->model.values, (size_t)n * sizeof *d->expected_values);
    result->model_seconds = since(&start);
    for (unsigned t = 0; t < d->trees && status == COPSE_OK; t++) {
        forget_answers(d, n);
        since(&start);
        status = copse_export(d->tree[t].index, d->got, d->got_values, d->capacity);
        result->seconds[t] = since(&start);
        result->wrong[t] += copse_size(d->tree[t].index) != n;
        result->wrong[t] += differences(d->got, d->expected, n) + differences(d->got_values, d->expected_values, n);
        if (status == COPSE_OK) status = copse_verify(d->tree[t].index);
    }
    return status;
}

const demo_step demo_steps[] = {
    {"build", "build from unsorted orders", build_step},
    {"find", "find orders by number", find_step},
    {"range", "list runs of 100 orders", range_step},
    {"count", "count orders in ranges", count_step},
    {"sum", "sum amounts in ranges", sum_step},
    {"update", "change and add orders", update_step},
    {"erase", "erase orders", erase_step},
    {"sum-again", "sum amounts once more", sum_step},
    {"export", "list everything, verify", export_step},
};
const unsigned demo_step_count = sizeof demo_steps / sizeof demo_steps[0];
