/* Visits with operations, as contestants run them, and what has to come of them. Values are integers. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#define BINS 256u
#define TOP  100u

bool bench_op_visits(const bench_op *op)
{
    return op->code >= BENCH_VISIT_SUM && op->code <= BENCH_VISIT_TOP;
}

/* The scalars of the operations: the whole range of the type, and its last hundredth. */
typedef struct scalars {
    uint64_t least, greatest, high; /* bits */
} scalars;

static scalars scalars_of(copse_type type)
{
    const bool four_bytes = copse_type_size(type) == 4, is_signed = type == COPSE_I32 || type == COPSE_I64;
    const uint64_t all = four_bytes ? UINT32_MAX : UINT64_MAX, half = all / 2 + 1;
    scalars s = {.least = is_signed ? half : 0, .greatest = is_signed ? half - 1 : all};
    s.high = s.greatest - s.greatest / 100;
    return s;
}

static uint64_t order_of(copse_type type, uint64_t bits)
{
    if (type == COPSE_I32) return (uint32_t)bits ^ 0x80000000u;
    return type == COPSE_I64 ? bits ^ UINT64_C(1) << 63 : bits;
}

/* words[0], words[1]: sum and count; entries that fit; the sum of bin numbers; the sum of the values. */
copse_status bench_visit_run(copse_index *index, const bench_call *c)
{
    copse_stats stats = {.struct_size = sizeof stats};
    copse_status status = copse_index_stats(index, &stats);
    if (status != COPSE_OK) return status;
    const scalars s = scalars_of((copse_type)stats.value_type);
    const uint64_t by = c->n == 1 ? 1 : UINT64_MAX; /* the second time it is taken back */
    uint64_t counts[BINS + 3], top[TOP];
    copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
    request.wanted = COPSE_REDUCE_SUM128;
    request.bins = BINS;
    request.counts = counts;
    request.low = &s.least;
    request.high = &s.greatest;
    if (c->op->code == BENCH_VISIT_MAP) {
        request.operation = COPSE_VISIT_ADD;
        request.low = &by;
        return copse_visit_in_place(index, &request);
    }
    if (c->op->code == BENCH_VISIT_FILTER) {
        request.operation = COPSE_VISIT_FILTER;
        request.low = &s.high;
        request.keys = c->out_keys;
        request.values = c->out_values;
        request.capacity = c->capacity;
    } else if (c->op->code == BENCH_VISIT_HISTOGRAM) {
        request.operation = COPSE_VISIT_HISTOGRAM;
    } else if (c->op->code == BENCH_VISIT_TOP) {
        request.operation = COPSE_VISIT_LARGEST;
        request.values = top;
        request.capacity = TOP;
    }
    status = copse_visit_values(index, &request);
    c->out_words[0] = request.reduction.sum128.low;
    c->out_words[1] = request.n;
    if (c->op->code == BENCH_VISIT_HISTOGRAM)
        for (uint64_t i = c->out_words[0] = 0; i < BINS; i++) c->out_words[0] += i * counts[i];
    if (c->op->code == BENCH_VISIT_TOP)
        for (uint64_t i = c->out_words[0] = 0; i < request.n; i++)
            c->out_words[0] += bench_word(top, copse_type_size((copse_type)stats.value_type), i);
    return status;
}

static int falling(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* The sum of the largest values, as bits. */
static uint64_t top_sum(const bench_data *data, uint64_t *out_count)
{
    uint64_t *orders = bench_memory(data->entries, sizeof *orders), sum = 0;
    for (uint64_t i = 0; i < data->entries; i++)
        orders[i] = order_of(data->value_type, bench_word(data->sorted_values, data->value_size, i));
    qsort(orders, data->entries, sizeof *orders, falling);
    *out_count = data->entries < TOP ? data->entries : TOP;
    for (uint64_t i = 0; i < *out_count; i++) {
        const uint64_t bits = order_of(data->value_type, orders[i]); /* it is its own inverse */
        sum += data->value_size == 4 ? (uint32_t)bits : bits;
    }
    free(orders);
    return sum;
}

uint64_t bench_check_visits(const bench_data *data, const bench_op *op, uint64_t added, const uint64_t *words)
{
    const copse_type type = data->value_type;
    const bool four_bytes = data->value_size == 4, is_signed = type == COPSE_I32 || type == COPSE_I64;
    const uint64_t high = order_of(type, scalars_of(type).high), shift = four_bytes ? 24 : 56;
    uint64_t sum = 0, count = op->code == BENCH_VISIT_FILTER ? 0 : data->entries;
    if (op->code == BENCH_VISIT_TOP) {
        sum = top_sum(data, &count);
        return (words[0] != sum) + (words[1] != count);
    }
    for (uint64_t i = 0; i < data->entries; i++) {
        uint64_t bits = bench_word(data->sorted_values, data->value_size, i) + added;
        if (four_bytes) bits = is_signed ? (uint64_t)(int64_t)(int32_t)bits : (uint32_t)bits;
        const uint64_t order = order_of(type, bits);
        count += op->code == BENCH_VISIT_FILTER && order >= high;
        sum += op->code == BENCH_VISIT_HISTOGRAM ? order >> shift : bits;
    }
    if (op->code == BENCH_VISIT_FILTER) return words[1] != count;
    return (words[0] != sum) + (words[1] != count);
}
