/* The peer of visits on the CPU: values in a plain array, and a loop over them on as many threads as are asked for. */
#include "peers.h"
#include "workload.h"

#include <stdlib.h>
#include <string.h>

typedef struct plain_array {
    void *values;
    unsigned width;
    uint64_t n;
    unsigned what; /* of the pass that runs */
    uint64_t sum;
} plain_array;

static void *create_narrow(void)
{
    plain_array *array = calloc(1, sizeof *array);
    if (array) array->width = 4;
    return array;
}

static void *create_wide(void)
{
    plain_array *array = calloc(1, sizeof *array);
    if (array) array->width = 8;
    return array;
}

static void destroy(void *store)
{
    free(((plain_array *)store)->values);
    free(store);
}

static bool build(void *store, const void *keys, const void *values, uint64_t n, bool sorted)
{
    plain_array *array = store;
    (void)keys;
    (void)sorted;
    array->n = n;
    array->values = malloc(n * array->width + 1);
    if (array->values) memcpy(array->values, values, n * array->width);
    return array->values != NULL;
}

static uint64_t size(const void *store)
{
    return ((const plain_array *)store)->n;
}

static uint64_t bytes(const void *store)
{
    const plain_array *array = store;
    return array->n * array->width;
}

static uint64_t sum_part(const plain_array *array, uint64_t first, uint64_t last)
{
    uint64_t sum = 0;
    if (array->width == 4)
        for (uint64_t i = first; i < last; i++) sum += ((const uint32_t *)array->values)[i];
    else
        for (uint64_t i = first; i < last; i++) sum += ((const uint64_t *)array->values)[i];
    return sum;
}

static void map_part(const plain_array *array, uint64_t first, uint64_t last)
{
    const uint64_t by = array->what == BENCH_PASS_ADD ? 1 : UINT64_MAX;
    if (array->width == 4)
        for (uint64_t i = first; i < last; i++) ((uint32_t *)array->values)[i] += (uint32_t)by;
    else
        for (uint64_t i = first; i < last; i++) ((uint64_t *)array->values)[i] += by;
}

static void part(void *argument, uint64_t first, uint64_t last)
{
    plain_array *array = argument;
    if (array->what == BENCH_PASS_SUM)
        __atomic_fetch_add(&array->sum, sum_part(array, first, last), __ATOMIC_RELAXED);
    else
        map_part(array, first, last);
}

static void pass(void *store, unsigned what, unsigned threads, uint64_t *out_sum)
{
    plain_array *array = store;
    array->what = what;
    array->sum = 0;
    if (array->n) workload_parallel_on(threads, array->n, array->n / (threads * UINT64_C(8)) + 1, part, array);
    *out_sum = array->sum;
}

const bench_peer *bench_peer_array(unsigned key_bytes, unsigned value_bytes)
{
    static const bench_peer narrow = {.name = "array",
                                      .builds_for_reads = true,
                                      .create = create_narrow,
                                      .destroy = destroy,
                                      .build = build,
                                      .size = size,
                                      .bytes = bytes,
                                      .pass = pass};
    static const bench_peer wide = {.name = "array",
                                    .builds_for_reads = true,
                                    .create = create_wide,
                                    .destroy = destroy,
                                    .build = build,
                                    .size = size,
                                    .bytes = bytes,
                                    .pass = pass};
    (void)key_bytes;
    return value_bytes == 4 ? &narrow : value_bytes == 8 ? &wide : NULL;
}
