/* By two bounds, or one key for both: range, count, sums, extremes, averages, erasing. */
#include "subject_internal.h"
#include "support/ranges.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounding differs with the order of the additions; nothing else may. */
#define FLOAT_TOLERANCE 1e-9L
#define MEAN_TOLERANCE  1e-12L

struct bounds {
    void *lows;
    void *highs;
    uint32_t ends; /* struct operation */
};

/* Both bounds as the library gets them. */
struct given_bounds {
    const void *lows;
    const void *highs;
};

static struct bounds bounds_of(const struct subject *subject, const struct operation *operation)
{
    const bool one_key = operation->kind == OPERATION_FIND_ALL;
    return (struct bounds){subject_keys(subject, operation),
                           one_key ? subject_keys(subject, operation) : subject_highs(subject, operation),
                           one_key ? 0 : operation_ends(operation)};
}

static struct given_bounds give_bounds(struct placed_call *call, const struct subject *subject,
                                       const struct operation *operation, const struct bounds *bounds)
{
    size_t size = typed_size(subject->config.key_type);
    struct given_bounds given = {NULL, NULL};
    if (!(bounds->ends & OPERATION_NO_LOWS)) given.lows = placed_input(call, bounds->lows, operation->n, size);
    if (!(bounds->ends & OPERATION_NO_HIGHS)) given.highs = placed_input(call, bounds->highs, operation->n, size);
    return given;
}

/* The flags of the library. */
static uint32_t flags_of(const struct bounds *bounds)
{
    return bounds->ends & (COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN | COPSE_RANGE_DESCENDING);
}

#define ASKED(given, bounds, count, most)                                                                              \
    (&(copse_ranges){.struct_size = sizeof(copse_ranges),                                                              \
                     .flags = flags_of(bounds),                                                                        \
                     .lows = (given).lows,                                                                             \
                     .highs = (given).highs,                                                                           \
                     .n = count,                                                                                       \
                     .limit = most})

static void free_bounds(struct bounds *bounds)
{
    free(bounds->lows);
    free(bounds->highs);
}

/* Entries between two codes; `ends` as in struct operation. */
static struct model_span span_between(const struct model *model, uint32_t ends, uint64_t low, uint64_t high)
{
    struct model_span span = {0, model->n};
    if (!(ends & OPERATION_NO_LOWS))
        span.first = ends & COPSE_RANGE_LOW_OPEN ? model_rank_after(model, low) : model_rank(model, low);
    if (!(ends & OPERATION_NO_HIGHS))
        span.last = ends & COPSE_RANGE_HIGH_OPEN ? model_rank(model, high) : model_rank_after(model, high);
    if (span.last <= span.first) return (struct model_span){0, 0};
    return span;
}

static struct model_span expected_span(const struct subject *subject, const struct bounds *bounds, uint64_t i,
                                       uint64_t limit)
{
    const struct model *model = &subject->model;
    const copse_type type = subject->config.key_type;
    const uint64_t low = typed_code(type, bounds->lows, i), high = typed_code(type, bounds->highs, i);
    struct model_span span = span_between(model, bounds->ends, low, high);
    if (!limit || span.last - span.first <= limit) return span;
    if (bounds->ends & COPSE_RANGE_DESCENDING)
        span.first = span.last - limit;
    else
        span.last = span.first + limit;
    return span;
}

static bool check_offsets(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                          const uint64_t *offsets)
{
    uint64_t expected = 0;
    for (uint64_t i = 0; i <= operation->n; i++) {
        if (offsets[i] != expected)
            return subject_fail(subject, "offset %llu is %llu, expected %llu", (unsigned long long)i,
                                (unsigned long long)offsets[i], (unsigned long long)expected);
        if (i == operation->n) break;
        struct model_span span = expected_span(subject, bounds, i, operation->limit);
        expected += span.last - span.first;
    }
    return true;
}

static bool check_rows(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                       const void *keys, const void *values)
{
    const struct model *model = &subject->model;
    uint64_t at = 0;
    for (uint64_t i = 0; i < operation->n; i++) {
        struct model_span span = expected_span(subject, bounds, i, operation->limit);
        for (uint64_t row = 0; row < span.last - span.first; row++, at++) {
            const uint64_t entry = bounds->ends & COPSE_RANGE_DESCENDING ? span.last - 1 - row : span.first + row;
            if (keys && typed_code(model->key_type, keys, at) != model->entries[entry].key)
                return subject_fail(subject, "range %llu, row %llu: wrong key", (unsigned long long)i,
                                    (unsigned long long)row);
            if (values && typed_bits(model->value_type, values, at) != model->entries[entry].value)
                return subject_fail(subject, "range %llu, row %llu: wrong value", (unsigned long long)i,
                                    (unsigned long long)row);
        }
    }
    return true;
}

/* copse_range or copse_find_all with its arrays wherever they are to lie. */
static copse_status call_range(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                               uint64_t *offsets, void *keys, void *values, uint64_t capacity, bool faults)
{
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, bounds);
    uint64_t *out_offsets = placed_output(&call, offsets, operation->n + 1, sizeof *offsets);
    void *out_keys = placed_output(&call, keys, capacity, typed_size(subject->config.key_type));
    void *out_values = placed_output(&call, values, capacity, typed_size(subject->config.value_type));
    if (faults) subject_arm(subject, operation);
    const copse_rows *rows = ROWS(out_offsets, out_keys, out_values, capacity);
    copse_status status = operation->kind == OPERATION_FIND_ALL
                              ? copse_find_all(subject->index, given.lows, operation->n, rows)
                              : copse_range(subject->index, ASKED(given, bounds, operation->n, operation->limit), rows);
    return subject_end(subject, &call, status);
}

/* A buffer one entry short is refused, with the offsets filled and nothing behind it touched. */
static bool check_too_small(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                            uint64_t *offsets, uint64_t total)
{
    size_t size = typed_size(subject->config.key_type);
    char *keys = subject_rubbish((total - 1) * size);
    memset(offsets, 0xaa, (operation->n + 1) * sizeof *offsets);
    copse_status status = call_range(subject, operation, bounds, offsets, keys, NULL, total - 1, false);
    bool right = true;
    if (status != COPSE_ERR_TOO_SMALL)
        right = subject_fail(subject, "a buffer too small gave %s", copse_status_name(status));
    free(keys);
    return right && check_offsets(subject, operation, bounds, offsets);
}

static bool fetch_rows(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                       uint64_t *offsets, uint64_t total)
{
    /* both left out is the sizing call */
    bool values_only = (operation->omit & 3) == 1 && subject->config.value_type != COPSE_NONE;
    void *keys = values_only ? NULL : subject_rubbish(total * typed_size(subject->config.key_type));
    void *values = operation->omit & 2 ? NULL : subject_rubbish(total * typed_size(subject->config.value_type));
    bool skip = false;
    memset(offsets, 0xaa, (operation->n + 1) * sizeof *offsets);
    copse_status status = call_range(subject, operation, bounds, offsets, keys, values, total, true);
    bool right = subject_expect(subject, operation, status, &skip);
    if (right && !skip)
        right =
            check_offsets(subject, operation, bounds, offsets) && check_rows(subject, operation, bounds, keys, values);
    free(keys);
    free(values);
    return right;
}

bool subject_run_range(struct subject *subject, const struct operation *operation)
{
    struct operation asked = *operation;
    if (operation->kind == OPERATION_FIND_ALL) asked.limit = 0;
    operation = &asked;
    struct bounds bounds = bounds_of(subject, operation);
    uint64_t *offsets = subject_rubbish((operation->n + 1) * sizeof *offsets);
    bool skip = false;
    copse_status status = call_range(subject, operation, &bounds, offsets, NULL, NULL, 0, false);
    bool right = subject_expect(subject, operation, status, &skip);
    if (right && !skip) {
        right = check_offsets(subject, operation, &bounds, offsets);
        uint64_t total = right ? offsets[operation->n] : 0;
        if (right && total && operation->omit & 4) right = check_too_small(subject, operation, &bounds, offsets, total);
        if (right) right = fetch_rows(subject, operation, &bounds, offsets, total);
    }
    free(offsets);
    free_bounds(&bounds);
    return right;
}

bool subject_run_count(struct subject *subject, const struct operation *operation)
{
    struct bounds bounds = bounds_of(subject, operation);
    uint64_t *counts = subject_rubbish(operation->n * sizeof *counts);
    bool skip = false;
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, &bounds);
    uint64_t *out = placed_output(&call, counts, operation->n, sizeof *counts);
    subject_arm(subject, operation);
    copse_status status = copse_count(subject->index, ASKED(given, &bounds, operation->n, 0), out);
    status = subject_end(subject, &call, status);
    bool right = subject_expect(subject, operation, status, &skip);
    for (uint64_t i = 0; right && !skip && i < operation->n; i++) {
        struct model_span span = expected_span(subject, &bounds, i, 0);
        if (counts[i] != span.last - span.first)
            right = subject_fail(subject, "range %llu: count %llu, expected %llu", (unsigned long long)i,
                                 (unsigned long long)counts[i], (unsigned long long)(span.last - span.first));
    }
    free(counts);
    free_bounds(&bounds);
    return right;
}

/* got equals want, a sum divided by count, but for rounding; magnitude is the sum of the finite absolute values that
 * were added. */
static bool close_enough(double got, long double want, long double magnitude, long double count, long double tolerance)
{
    if (isnan(want)) return isnan(got);
    if (magnitude > DBL_MAX / 4) return true; /* an intermediate result may overflow in one order, not in another */
    if (isinf(want)) return isinf(got) && (got > 0) == (want > 0);
    return fabsl((long double)got - want) <= magnitude / count * tolerance;
}

static bool check_real_sum(struct subject *subject, struct model_span span, uint64_t i, double got)
{
    long double magnitude, want = model_sum_real(&subject->model, span, &magnitude);
    if (close_enough(got, want, magnitude, 1, FLOAT_TOLERANCE)) return true;
    return subject_fail(subject, "range %llu: sum %.17g, expected %.17Lg (of %llu values)", (unsigned long long)i, got,
                        want, (unsigned long long)(span.last - span.first));
}

/* The sum as copse_sum must give it: at the nearest limit where it does not fit. */
static uint64_t limited_sum(copse_type type, test_int128 sum, bool *out_overflow)
{
    test_int128 low = typed_is_signed(type) ? (test_int128)INT64_MIN : 0;
    test_int128 high = typed_is_signed(type) ? (test_int128)INT64_MAX : (test_int128)UINT64_MAX;
    *out_overflow = sum < low || sum > high;
    if (sum < low) sum = low;
    if (sum > high) sum = high;
    return (uint64_t)sum;
}

static bool check_sums(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                       const uint64_t *sums, bool *out_overflow)
{
    copse_type type = subject->config.value_type;
    for (uint64_t i = 0; i < operation->n; i++) {
        struct model_span span = expected_span(subject, bounds, i, 0);
        if (typed_is_float(type)) {
            double got;
            memcpy(&got, &sums[i], sizeof got);
            if (!check_real_sum(subject, span, i, got)) return false;
            continue;
        }
        bool overflow;
        uint64_t want = limited_sum(type, model_sum_integer(&subject->model, span), &overflow);
        *out_overflow |= overflow;
        if (sums[i] != want)
            return subject_fail(subject, "range %llu: sum %lld, expected %lld (of %llu values)", (unsigned long long)i,
                                (long long)sums[i], (long long)want, (unsigned long long)(span.last - span.first));
    }
    return true;
}

static bool check_sums128(struct subject *subject, const struct operation *operation, const struct bounds *bounds,
                          const copse_int128 *sums)
{
    for (uint64_t i = 0; i < operation->n; i++) {
        test_int128 want = model_sum_integer(&subject->model, expected_span(subject, bounds, i, 0));
        if (sums[i].low != (uint64_t)want || sums[i].high != (int64_t)(want >> 64))
            return subject_fail(subject, "range %llu: 128-bit sum %lld:%llu, expected %lld:%llu", (unsigned long long)i,
                                (long long)sums[i].high, (unsigned long long)sums[i].low, (long long)(want >> 64),
                                (unsigned long long)want);
    }
    return true;
}

static bool run_sum128(struct subject *subject, const struct operation *operation, const struct bounds *bounds)
{
    copse_int128 *sums = subject_rubbish(operation->n * sizeof *sums);
    bool skip = false, right;
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, bounds);
    copse_int128 *out = placed_output(&call, sums, operation->n, sizeof *sums);
    subject_arm(subject, operation);
    copse_status status = copse_sum128(subject->index, ASKED(given, bounds, operation->n, 0), out);
    status = subject_end(subject, &call, status);
    if (typed_is_float(subject->config.value_type))
        right = status == COPSE_ERR_TYPE || status == COPSE_ERR_NAN || (status == COPSE_OK && operation->n == 0) ||
                subject_fail(subject, "sum128 of floats gave %s", copse_status_name(status));
    else
        right = subject_expect(subject, operation, status, &skip) &&
                (skip || check_sums128(subject, operation, bounds, sums));
    free(sums);
    return right;
}

static bool run_sum(struct subject *subject, const struct operation *operation, const struct bounds *bounds)
{
    uint64_t *sums = subject_rubbish(operation->n * sizeof *sums);
    bool skip = false, overflow = false, right = true;
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, bounds);
    uint64_t *out = placed_output(&call, sums, operation->n, sizeof *sums);
    subject_arm(subject, operation);
    copse_status status = copse_sum(subject->index, ASKED(given, bounds, operation->n, 0), out);
    status = subject_end(subject, &call, status);
    if (status != COPSE_ERR_OVERFLOW) right = subject_expect(subject, operation, status, &skip);
    if (right && !skip) right = check_sums(subject, operation, bounds, sums, &overflow);
    if (right && !skip && overflow != (status == COPSE_ERR_OVERFLOW))
        right = subject_fail(subject, "a sum %s, the status is %s", overflow ? "overflows" : "never overflows",
                             copse_status_name(status));
    free(sums);
    return right;
}

bool subject_run_sum(struct subject *subject, const struct operation *operation)
{
    struct bounds bounds = bounds_of(subject, operation);
    bool right = operation->kind == OPERATION_SUM ? run_sum(subject, operation, &bounds)
                                                  : run_sum128(subject, operation, &bounds);
    free_bounds(&bounds);
    return right;
}

static bool check_extreme(struct subject *subject, struct model_span span, bool largest, uint64_t i, uint64_t got,
                          const uint8_t *found)
{
    copse_type type = subject->config.value_type;
    uint64_t want;
    bool expected = model_extreme(&subject->model, span, largest, &want);
    if (found && found[i] != expected)
        return subject_fail(subject, "range %llu: found is %d, expected %d", (unsigned long long)i, found[i], expected);
    /* as numbers, because 0.0 and -0.0 are the same extreme */
    if (got == want || (expected && typed_is_float(type) && typed_real(type, got) == typed_real(type, want)))
        return true;
    char text[64], other[64];
    return subject_fail(subject, "range %llu: extreme %s, expected %s", (unsigned long long)i,
                        typed_print(type, got, text, sizeof text), typed_print(type, want, other, sizeof other));
}

bool subject_run_extreme(struct subject *subject, const struct operation *operation)
{
    struct bounds bounds = bounds_of(subject, operation);
    copse_type type = subject->config.value_type;
    void *values = subject_rubbish(operation->n * typed_size(type));
    uint8_t *found = operation->omit & 1 ? NULL : subject_rubbish(operation->n);
    bool skip = false, largest = operation->kind == OPERATION_MAX;
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, &bounds);
    void *out_values = placed_output(&call, values, operation->n, typed_size(type));
    uint8_t *out_found = placed_output(&call, found, operation->n, 1);
    subject_arm(subject, operation);
    copse_status status = (largest ? copse_max : copse_min)(subject->index, ASKED(given, &bounds, operation->n, 0),
                                                            out_values, out_found);
    status = subject_end(subject, &call, status);
    bool right = subject_expect(subject, operation, status, &skip);
    for (uint64_t i = 0; right && !skip && i < operation->n; i++)
        right = check_extreme(subject, expected_span(subject, &bounds, i, 0), largest, i, typed_bits(type, values, i),
                              found);
    free(values);
    free(found);
    free_bounds(&bounds);
    return right;
}

static bool check_mean(struct subject *subject, struct model_span span, uint64_t i, double got)
{
    bool real = typed_is_float(subject->config.value_type);
    long double magnitude = 0, want = NAN, count = (long double)(span.last - span.first);
    if (span.last > span.first && real) {
        want = model_sum_real(&subject->model, span, &magnitude) / count;
    } else if (span.last > span.first) {
        want = (long double)model_sum_integer(&subject->model, span) / count;
        magnitude = fabsl(want) * count;
    }
    if (close_enough(got, want, magnitude, count, real ? FLOAT_TOLERANCE : MEAN_TOLERANCE)) return true;
    return subject_fail(subject, "range %llu: mean %.17g, expected %.17Lg", (unsigned long long)i, got, want);
}

bool subject_run_average(struct subject *subject, const struct operation *operation)
{
    struct bounds bounds = bounds_of(subject, operation);
    double *means = subject_rubbish(operation->n * sizeof *means);
    bool skip = false;
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, &bounds);
    double *out = placed_output(&call, means, operation->n, sizeof *means);
    subject_arm(subject, operation);
    copse_status status = copse_avg(subject->index, ASKED(given, &bounds, operation->n, 0), out);
    status = subject_end(subject, &call, status);
    bool right = subject_expect(subject, operation, status, &skip);
    for (uint64_t i = 0; right && !skip && i < operation->n; i++)
        right = check_mean(subject, expected_span(subject, &bounds, i, 0), i, means[i]);
    free(means);
    free_bounds(&bounds);
    return right;
}

bool subject_run_no_values(struct subject *subject, const struct operation *operation)
{
    struct bounds bounds = bounds_of(subject, operation);
    void *out = subject_rubbish((operation->n + 1) * sizeof(copse_int128));
    const copse_ranges *ranges = BETWEEN(bounds.lows, bounds.highs, operation->n);
    const copse_index *index = subject->index;
    copse_status status = operation->kind == OPERATION_SUM      ? copse_sum(index, ranges, out)
                          : operation->kind == OPERATION_SUM128 ? copse_sum128(index, ranges, out)
                          : operation->kind == OPERATION_MIN    ? copse_min(index, ranges, out, NULL)
                          : operation->kind == OPERATION_MAX    ? copse_max(index, ranges, out, NULL)
                                                                : copse_avg(index, ranges, out);
    free(out);
    free_bounds(&bounds);
    return status == COPSE_ERR_TYPE ||
           subject_fail(subject, "%s of a set gave %s", operation_name(operation->kind), copse_status_name(status));
}

/* --- erasing ----------------------------------------------------------------------------------------------------------- */

/* The code that a key has which is made of one: the code may be of none, and -0.0 is 0.0. */
static uint64_t code_of_key(copse_type type, uint64_t code)
{
    uint64_t key = 0;
    typed_set_code(type, &key, 0, code);
    return typed_code(type, &key, 0);
}

struct model_span operation_span(const struct operation *operation, const struct model *model, uint64_t i)
{
    return span_between(model, operation_ends(operation), code_of_key(model->key_type, operation->first[i]),
                        code_of_key(model->key_type, operation->second[i]));
}

uint64_t operation_erase_range(const struct operation *operation, struct model *model)
{
    struct model_span *spans = must_malloc(operation->n * sizeof *spans);
    for (uint64_t i = 0; i < operation->n; i++) spans[i] = operation_span(operation, model, i);
    const uint64_t erased = model_erase_spans(model, spans, operation->n);
    free(spans);
    return erased;
}

bool subject_run_erase_range(struct subject *subject, const struct operation *operation)
{
    struct bounds bounds = bounds_of(subject, operation);
    uint64_t reported = 0, version = subject_version(subject);
    bool skip = false;
    struct model before;
    model_copy(&before, &subject->model);
    struct placed_call call = subject_begin(subject);
    struct given_bounds given = give_bounds(&call, subject, operation, &bounds);
    subject_arm(subject, operation);
    copse_status status = copse_erase_range(subject->index, ASKED(given, &bounds, operation->n, 0),
                                            operation->omit & 1 ? NULL : &reported);
    status = subject_end(subject, &call, status);
    bool right = subject_expect(subject, operation, status, &skip);
    if (right && !skip) {
        const uint64_t expected = operation_erase_range(operation, &subject->model);
        if (!(operation->omit & 1) && reported != expected)
            right = subject_fail(subject, "reports %llu entries, expected %llu", (unsigned long long)reported,
                                 (unsigned long long)expected);
    }
    if (right) right = subject_check_update(subject, &before, version);
    model_free(&before);
    free_bounds(&bounds);
    return right;
}
