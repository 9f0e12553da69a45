/* Every answer against the model, on all threads. Nothing here is timed. */
#include "cli/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIND_SAMPLE (UINT64_C(1) << 20) /* keys that are looked up in an index that was changed */

/* ---- points ---- */

/* Answers being checked. The checks return how many of those first .. last - 1 are wrong. */
typedef struct checking {
    const bench_data *data;
    const bench_op *op;
    const bench_queries *queries;
    const bench_outputs *outputs;
    uint64_t batch;
    const uint64_t *expected; /* words */
    const int64_t *prefix;    /* sums in front of the entries */
} checking;

static uint64_t check_points(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    const bench_data *data = c->data;
    const bench_op *op = c->op;
    const bench_queries *queries = c->queries;
    const bench_outputs *outputs = c->outputs;
    bool with_keys = op->code == BENCH_LOWER_BOUND || op->code == BENCH_SUCCESSOR || op->code == BENCH_PREDECESSOR;
    bool with_values = op->code != BENCH_CONTAINS;
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t position = queries->positions[i];
        bool expected = position != BENCH_NONE;
        bool right = outputs->found[i] == expected;
        if (with_values) {
            uint64_t value = expected ? bench_word(data->sorted_values, data->value_size, position) : 0;
            right = right && bench_word(outputs->values, data->value_size, i) == value;
        }
        if (with_keys) {
            uint64_t key = expected ? bench_word(data->sorted_keys, data->key_size, position) : 0;
            right = right && bench_word(outputs->keys, data->key_size, i) == key;
        }
        wrong += !right;
    }
    return wrong;
}

static uint64_t check_words(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) wrong += c->outputs->words[i] != c->expected[i];
    return wrong;
}

/* ---- ranges ---- */

static bool range_is_right(const bench_data *data, const bench_outputs *outputs, uint64_t place, uint64_t position,
                           uint64_t length)
{
    const char *keys = (const char *)outputs->keys + place * data->key_size;
    const char *values = (const char *)outputs->values + place * data->value_size;
    const char *model_keys = (const char *)data->sorted_keys + position * data->key_size;
    const char *model_values = (const char *)data->sorted_values + position * data->value_size;
    return memcmp(keys, model_keys, length * data->key_size) == 0 &&
           memcmp(values, model_values, length * data->value_size) == 0;
}

/* Every call wrote its own offsets, one more than it had queries, one call behind the other. All ranges have the same
 * number of entries. */
static uint64_t check_rows(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    const bench_queries *queries = c->queries;
    uint64_t wrong = 0;
    uint64_t length = queries->lengths[0];
    for (uint64_t i = begin; i < end; i++) {
        uint64_t call = i / c->batch;
        uint64_t place = i % c->batch * length; /* in the rows of its call */
        const uint64_t *offsets = c->outputs->words + i + call;
        bool right = queries->lengths[i] == length && offsets[0] == place && offsets[1] == place + length &&
                     range_is_right(c->data, c->outputs, i * length, queries->positions[i], length);
        wrong += !right;
    }
    return wrong;
}

static uint64_t check_sums(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    const bench_queries *queries = c->queries;
    const bench_outputs *outputs = c->outputs;
    const int64_t *prefix = c->prefix;
    int64_t scale = workload_value_scale(c->data->value_type);
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t first = queries->positions[i];
        int64_t expected = prefix[first + queries->lengths[i]] - prefix[first];
        if (scale == 1) {
            wrong += outputs->words[i] != (uint64_t)expected;
        } else {
            double sum;
            memcpy(&sum, &outputs->words[i], sizeof sum);
            wrong += sum != (double)expected / (double)scale;
        }
    }
    return wrong;
}

/* A mean may be rounded once in the division and once more in the sum. */
static uint64_t check_means(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    const bench_queries *queries = c->queries;
    const bench_outputs *outputs = c->outputs;
    const int64_t *prefix = c->prefix;
    double scale = (double)workload_value_scale(c->data->value_type);
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t first = queries->positions[i];
        double expected = (double)(prefix[first + queries->lengths[i]] - prefix[first]) / scale;
        expected /= (double)queries->lengths[i];
        double mean;
        memcpy(&mean, &outputs->words[i], sizeof mean);
        wrong += !(fabs(mean - expected) <= 1e-15 * fabs(expected));
    }
    return wrong;
}

static uint64_t check_extremes(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    const bench_data *data = c->data;
    const bench_queries *queries = c->queries;
    const bench_outputs *outputs = c->outputs;
    bool largest = c->op->code == BENCH_MAX;
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t code = 0;
        const char *value = (const char *)outputs->values + i * data->value_size;
        workload_codes_from_keys(data->value_type, value, 1, &code);
        bool right = code == bench_data_extreme(data, queries->positions[i], queries->lengths[i], largest);
        wrong += !(right && outputs->found[i] == 1);
    }
    return wrong;
}

static uint64_t check_mixed(const void *argument, uint64_t begin, uint64_t end)
{
    const checking *c = argument;
    const bench_data *data = c->data;
    const bench_queries *queries = c->queries;
    const bench_outputs *outputs = c->outputs;
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) {
        wrong +=
            outputs->found[i] != queries->seen_found[i] ||
            bench_word(outputs->values, data->value_size, i) != bench_word(queries->seen_values, data->value_size, i);
    }
    return wrong;
}

uint64_t bench_check_answers(bench_data *data, const bench_op *op, const bench_queries *queries,
                             const bench_outputs *outputs, uint64_t count, uint64_t batch)
{
    checking c = {data, op, queries, outputs, batch, NULL, NULL};
    switch (op->code) {
    case BENCH_RANK:
        c.expected = queries->positions;
        return workload_count(count, check_words, &c);
    case BENCH_RANGE:
        return workload_count(count, check_rows, &c);
    case BENCH_COUNT:
        c.expected = queries->lengths;
        return workload_count(count, check_words, &c);
    case BENCH_SUM:
    case BENCH_AVG:
        c.prefix = bench_data_prefix(data);
        return workload_count(count, op->code == BENCH_SUM ? check_sums : check_means, &c);
    case BENCH_MIN:
    case BENCH_MAX:
        bench_data_extremes(data);
        return workload_count(count, check_extremes, &c);
    case BENCH_MIXED:
    case BENCH_MIXED_UPDATE:
        return workload_count(count, check_mixed, &c);
    default:
        return workload_count(count, check_points, &c);
    }
}

/* ---- whole indexes ---- */

typedef struct comparison {
    const bench_data *data;
    const void *keys;
    const void *values;
    uint64_t entries;
    uint64_t seen;
    uint64_t wrong;
    const void *actual_keys; /* from entry `seen` on */
    const void *actual_values;
} comparison;

static uint64_t compare_chunk(const void *argument, uint64_t first, uint64_t last)
{
    const comparison *with = argument;
    const bench_data *data = with->data;
    uint64_t wrong = 0;
    for (uint64_t i = first; i < last; i++) {
        uint64_t at = with->seen + i;
        bool right =
            at < with->entries &&
            bench_word(with->actual_keys, data->key_size, i) == bench_word(with->keys, data->key_size, at) &&
            bench_word(with->actual_values, data->value_size, i) == bench_word(with->values, data->value_size, at);
        wrong += !right;
    }
    return wrong;
}

static void compare(comparison *with, const void *keys, const void *values, uint64_t n)
{
    with->actual_keys = keys;
    with->actual_values = values;
    with->wrong += workload_count(n, compare_chunk, with);
    with->seen += n;
}

static uint64_t missing(const comparison *with)
{
    return with->seen < with->entries ? with->entries - with->seen : 0;
}

/* Reading in order does not use the inner nodes: a wrong separator shows only when a key is looked up. */
static uint64_t check_finds(const bench_target *target, const void *store, const comparison *with)
{
    const bench_data *data = with->data;
    uint64_t count = with->entries < FIND_SAMPLE ? with->entries : FIND_SAMPLE;
    char *keys = bench_memory(count, data->key_size);
    char *values = bench_memory(count, data->value_size);
    uint8_t *found = bench_memory(count, 1);
    uint64_t stride = count > 0 ? with->entries / count : 0;
    uint64_t wrong = 0;
    bool asked = false;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(keys + i * data->key_size, (const char *)with->keys + i * stride * data->key_size, data->key_size);
    }
    bool done = bench_store_find(target, store, keys, count, values, found, &asked);
    for (uint64_t i = 0; i < count && done && asked; i++) {
        uint64_t at = i * stride; /* of equal keys the first one is found */
        while (at > 0 &&
               bench_word(with->keys, data->key_size, at - 1) == bench_word(with->keys, data->key_size, i * stride))
            at--;
        wrong += !(found[i] == 1 &&
                   bench_word(values, data->value_size, i) == bench_word(with->values, data->value_size, at));
    }
    free(keys);
    free(values);
    free(found);
    return done ? wrong : count;
}

uint64_t bench_check_gone(const bench_target *target, void *store, const bench_data *data, const void *keys, uint64_t n)
{
    uint64_t count = n < FIND_SAMPLE ? n : FIND_SAMPLE;
    void *values = bench_memory(count, data->value_size);
    uint8_t *found = bench_memory(count, 1);
    uint64_t wrong = 0;
    bool asked = false;
    bool done = bench_store_find(target, store, keys, count, values, found, &asked);
    for (uint64_t i = 0; i < count && done && asked; i++) wrong += found[i] != 0;
    free(values);
    free(found);
    return done ? wrong : count;
}

uint64_t bench_check_store(const bench_target *target, void *store, const bench_data *data, const void *keys,
                           const void *values, uint64_t entries)
{
    comparison with = {.data = data, .keys = keys, .values = values, .entries = entries};
    uint64_t size = bench_store_size(target, store);
    void *actual_keys = bench_memory(size, data->key_size);
    void *actual_values = bench_memory(size, data->value_size);
    if (bench_store_copy(target, store, actual_keys, actual_values, size)) {
        compare(&with, actual_keys, actual_values, size);
    }
    free(actual_keys);
    free(actual_values);
    return with.wrong + missing(&with) + check_finds(target, store, &with) + !bench_store_verify(target, store);
}

static int compare_visited(void *user, const void *keys, const void *values, uint64_t n)
{
    compare(user, keys, values, n);
    return 0;
}

uint64_t bench_check_visit(const bench_target *target, void *store, const bench_data *data)
{
    comparison with = {
        .data = data, .keys = data->sorted_keys, .values = data->sorted_values, .entries = data->entries};
    if (target->peer) return 0;
    if (copse_visit(store, compare_visited, &with) != COPSE_OK) return data->entries;
    return with.wrong + missing(&with);
}
