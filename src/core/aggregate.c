/* Sums, minima and maxima of values, and the summary tree. */
#include "core/aggregate.h"
#include "core/codec.h"
#include "core/threads.h"

#include <math.h>
#include <string.h>

#define FANOUT 16u

/* One loop per value type: READ turns raw bits into a number, ORDER into its unsigned rank. */
#define ADD_INTEGERS(RAW, SIGNED_TYPE, ORDER)                                                                          \
    do {                                                                                                               \
        const RAW *v = values;                                                                                         \
        copse_wide sum = 0;                                                                                            \
        RAW low = (RAW) ~(RAW)0, high = 0;                                                                             \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            RAW order = (RAW)(v[i] ^ (ORDER));                                                                         \
            sum += (SIGNED_TYPE)v[i];                                                                                  \
            low = order < low ? order : low;                                                                           \
            high = order > high ? order : high;                                                                        \
        }                                                                                                              \
        if (n) {                                                                                                       \
            copse_aggregate block = {sum, 0.0, low, high};                                                             \
            copse_aggregate_merge(to, &block);                                                                         \
        }                                                                                                              \
    } while (0)

#define ADD_FLOATS(RAW, FLOAT_TYPE, ENCODE_FN, NAN_FN)                                                                 \
    do {                                                                                                               \
        const RAW *v = values;                                                                                         \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            FLOAT_TYPE number;                                                                                         \
            memcpy(&number, v + i, sizeof number);                                                                     \
            to->float_sum += (double)number;                                                                           \
            if (NAN_FN(v[i])) continue;                                                                                \
            uint64_t order = ENCODE_FN(v[i]);                                                                          \
            if (order < to->smallest) to->smallest = order;                                                            \
            if (order > to->largest) to->largest = order;                                                              \
        }                                                                                                              \
    } while (0)

void copse_aggregate_add(copse_aggregate *to, copse_type type, const void *values, uint32_t n)
{
    switch (type) {
    case COPSE_U32:
        ADD_INTEGERS(uint32_t, uint32_t, 0u);
        break;
    case COPSE_I32:
        ADD_INTEGERS(uint32_t, int32_t, 0x80000000u);
        break;
    case COPSE_U64:
        ADD_INTEGERS(uint64_t, uint64_t, 0u);
        break;
    case COPSE_I64:
        ADD_INTEGERS(uint64_t, int64_t, UINT64_C(1) << 63);
        break;
    case COPSE_F32:
        ADD_FLOATS(uint32_t, float, copse_encode_f32, copse_is_nan32);
        break;
    default:
        ADD_FLOATS(uint64_t, double, copse_encode_f64, copse_is_nan64);
        break;
    }
}

void copse_aggregate_store(copse_type type, uint64_t encoded, void *out, uint64_t at)
{
    if (copse_type_size(type) == 4)
        copse_decode_k32(type, (uint32_t)encoded, out, at);
    else
        copse_decode_k64(type, encoded, out, at);
}

/* Stores an integer sum as copse_sum promises: exact, or the nearest limit and false. */
static bool sum_store(copse_type type, copse_wide sum, void *out, uint64_t at)
{
    bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    copse_wide low = is_signed ? (copse_wide)INT64_MIN : 0;
    copse_wide high = is_signed ? (copse_wide)INT64_MAX : (copse_wide)UINT64_MAX;
    bool fits = sum >= low && sum <= high;
    if (!fits) sum = sum < low ? low : high;
    ((uint64_t *)out)[at] = (uint64_t)sum;
    return fits;
}

bool copse_aggregate_give(copse_aggregate_kind kind, copse_type type, const copse_aggregate *all, uint64_t count,
                          void *out, uint8_t *found, uint64_t at)
{
    bool is_float = copse_type_is_float(type), any = all->smallest <= all->largest;
    switch (kind) {
    case COPSE_KIND_SUM:
        if (!is_float) return sum_store(type, all->sum, out, at);
        ((double *)out)[at] = all->float_sum;
        return true;
    case COPSE_KIND_SUM128:
        ((copse_int128 *)out)[at] = (copse_int128){(uint64_t)all->sum, (int64_t)(all->sum >> 64)};
        return true;
    case COPSE_KIND_AVG: {
        double sum = is_float ? all->float_sum : (double)all->sum;
        ((double *)out)[at] = count ? sum / (double)count : (double)NAN;
        return true;
    }
    default:
        if (found) found[at] = any;
        if (any)
            copse_aggregate_store(type, kind == COPSE_KIND_MIN ? all->smallest : all->largest, out, at);
        else
            memset((char *)out + at * copse_type_size(type), 0, copse_type_size(type));
        return true;
    }
}

copse_status copse_fail_overflow(const copse_ctx *ctx, uint64_t range)
{
    return copse_fail(ctx, COPSE_ERR_OVERFLOW,
                      "the sum of range %llu does not fit 64 bits; copse_sum128 gives it in 128",
                      (unsigned long long)range);
}

bool copse_summary_create(const copse_ctx *ctx, uint64_t items, copse_summary *out)
{
    copse_summary made = {.items = items};
    uint64_t total = 0;
    for (uint64_t n = items;; n = (n + FANOUT - 1) / FANOUT) {
        made.nodes[made.height++] = n;
        total += n;
        if (n <= FANOUT) break;
    }
    made.bytes = copse_memory_product(total ? total : 1, sizeof(copse_aggregate));
    copse_aggregate *memory = copse_memory_alloc(ctx, made.bytes);
    if (!memory) return false;
    for (uint32_t l = 0; l < made.height; l++) {
        made.level[l] = memory;
        memory += made.nodes[l];
    }
    *out = made;
    return true;
}

void copse_summary_free(const copse_ctx *ctx, copse_summary *summary)
{
    copse_memory_free(ctx, summary->level[0], summary->bytes);
    *summary = (copse_summary){0};
}

/* Nodes of one level. */
typedef struct raise_job {
    const copse_aggregate *below;
    uint64_t count; /* of the nodes below */
    copse_aggregate *out;
} raise_job;

static void raise_nodes(void *argument, uint64_t first, uint64_t last)
{
    const raise_job *job = argument;
    for (uint64_t i = first; i < last; i++) {
        copse_aggregate all = COPSE_AGGREGATE_EMPTY;
        uint64_t start = i * FANOUT, end = start + FANOUT < job->count ? start + FANOUT : job->count;
        for (uint64_t j = start; j < end; j++) copse_aggregate_merge(&all, &job->below[j]);
        job->out[i] = all;
    }
}

void copse_summary_raise(const copse_ctx *ctx, copse_summary *summary, uint64_t first, uint64_t last, uint32_t threads)
{
    for (uint32_t l = 1; l < summary->height; l++) {
        uint64_t count = summary->nodes[l - 1];
        first /= FANOUT;
        last /= FANOUT;
        uint32_t team = last - first < 4096 ? 1 : threads;
        uint64_t nodes = last - first + 1, before = first * FANOUT;
        raise_job job = {summary->level[l - 1] + before, count - before, summary->level[l] + first};
        copse_parallel(ctx, team, nodes, copse_even_chunk(nodes, team), raise_nodes, &job);
    }
}

void copse_summary_range(const copse_summary *summary, uint64_t first, uint64_t end, copse_aggregate *to)
{
    for (uint32_t l = 0; l < summary->height && first < end; l++) {
        const copse_aggregate *node = summary->level[l];
        bool top = l + 1 == summary->height;
        while (first < end && (top || first % FANOUT)) copse_aggregate_merge(to, &node[first++]);
        while (first < end && (top || end % FANOUT)) copse_aggregate_merge(to, &node[--end]);
        first /= FANOUT;
        end /= FANOUT;
    }
}
