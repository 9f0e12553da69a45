/* Visits with operations: random requests, whose answers the model gives entry by entry. */
#include "subject_internal.h"

#include "random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EDGES 1501u

/* One request and what belongs to it. */
struct question {
    copse_visit_request request;
    copse_ranges range;
    struct model_span span;
    uint64_t low_key, high_key;
    uint64_t low, high; /* bits of the scalars; 0 where there is none */
    bool no_order;      /* one of them is NaN and must not be         */
    unsigned char edges[MOST_EDGES * sizeof(uint64_t)];
    uint64_t counts[MOST_EDGES + 3];
};

static bool is_map(uint32_t operation)
{
    return operation <= COPSE_VISIT_CLAMP;
}

static bool bits_nan(copse_type type, uint64_t bits)
{
    return typed_is_float(type) && isnan(typed_real(type, bits));
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static uint64_t draw_scalar(const struct subject *subject, struct random_source *random)
{
    const copse_type type = subject->config.value_type;
    const struct model *model = &subject->model;
    const uint64_t choice = random_below(random, 6);
    if (choice == 0) return typed_position_bits(type, random_below(random, 100));
    if (choice == 1) return typed_bits_of_code(type, typed_lowest_code(type) + random_below(random, 3));
    if (choice == 2) return typed_bits_of_code(type, typed_highest_code(type) - random_below(random, 3));
    if (choice == 3 && random_one_in(random, 3) && typed_is_float(type)) return typed_nan_bits(type);
    return model->n ? model->entries[random_below(random, model->n)].value : typed_position_bits(type, 7);
}

static void draw_range(const struct subject *subject, struct random_source *random, struct question *q)
{
    const struct model *model = &subject->model;
    const copse_type type = model->key_type;
    const copse_ranges between = COPSE_BETWEEN(NULL, NULL, 1);
    uint64_t low = random_next(random), high = random_next(random);
    q->span = (struct model_span){0, model->n};
    if (random_one_in(random, 3)) return;
    q->range = between;
    if (model->n && !random_one_in(random, 6)) low = model->entries[random_below(random, model->n)].key;
    if (model->n && !random_one_in(random, 6)) high = model->entries[random_below(random, model->n)].key;
    if (typed_size(type) == 4) low = (uint32_t)low, high = (uint32_t)high;
    if (low < typed_lowest_code(type) || low > typed_highest_code(type)) low = typed_zero_code(type);
    if (high < typed_lowest_code(type) || high > typed_highest_code(type)) high = typed_zero_code(type);
    q->range.flags = (uint32_t)random_below(random, 4);
    typed_set_code(type, &q->low_key, 0, low);
    typed_set_code(type, &q->high_key, 0, high);
    low = typed_code(type, &q->low_key, 0); /* -0.0 is 0.0 */
    high = typed_code(type, &q->high_key, 0);
    if (!random_one_in(random, 8)) {
        q->range.lows = &q->low_key;
        q->span.first = q->range.flags & COPSE_RANGE_LOW_OPEN ? model_rank_after(model, low) : model_rank(model, low);
    }
    if (!random_one_in(random, 8)) {
        q->range.highs = &q->high_key;
        q->span.last = q->range.flags & COPSE_RANGE_HIGH_OPEN ? model_rank(model, high) : model_rank_after(model, high);
    }
    if (q->span.last < q->span.first) q->span.last = q->span.first;
    q->request.range = &q->range;
}

/* Scalars as the operation needs them: in order, and mostly no NaN. */
static void draw_scalars(const struct subject *subject, struct random_source *random, struct question *q)
{
    const copse_type type = subject->config.value_type;
    const uint32_t operation = q->request.operation;
    q->low = draw_scalar(subject, random);
    q->high = draw_scalar(subject, random);
    const bool nan = bits_nan(type, q->low) || bits_nan(type, q->high);
    if (operation != COPSE_VISIT_FILTER && !nan &&
        typed_code_of_bits(type, q->low) > typed_code_of_bits(type, q->high)) {
        const uint64_t swap = q->low;
        q->low = q->high;
        q->high = swap;
    }
    q->request.low = &q->low;
    q->request.high = &q->high;
    if (operation == COPSE_VISIT_FILTER && random_one_in(random, 5)) q->request.low = NULL;
    if (operation == COPSE_VISIT_FILTER && random_one_in(random, 5)) q->request.high = NULL;
    if (operation == COPSE_VISIT_REDUCE || operation >= COPSE_VISIT_LARGEST) q->request.low = q->request.high = NULL;
    q->no_order = operation > COPSE_VISIT_MULTIPLY &&
                  ((q->request.low && bits_nan(type, q->low)) || (q->request.high && bits_nan(type, q->high)));
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void draw_bins(const struct subject *subject, struct random_source *random, struct question *q)
{
    const copse_type type = subject->config.value_type;
    uint64_t codes[MOST_EDGES];
    q->request.counts = q->counts;
    q->request.bins = (uint32_t)(random_one_in(random, 8) ? MOST_EDGES - 1 : 1 + random_below(random, 20));
    const bool narrow = q->no_order || typed_code_of_bits(type, q->low) == typed_code_of_bits(type, q->high);
    const bool wide =
        !q->no_order && typed_is_float(type) && (isinf(typed_real(type, q->low)) || isinf(typed_real(type, q->high)));
    if (!narrow && !wide && random_one_in(random, 2)) return; /* of equal width */
    q->no_order = false;
    q->request.low = q->request.high = NULL;
    for (uint32_t i = 0; i <= q->request.bins; i++) {
        uint64_t bits = draw_scalar(subject, random);
        if (bits_nan(type, bits)) bits = typed_position_bits(type, 3);
        codes[i] = typed_code_of_bits(type, bits);
    }
    qsort(codes, q->request.bins + 1, sizeof *codes, by_number);
    for (uint32_t i = 0; i <= q->request.bins; i++) typed_set_code(type, q->edges, i, codes[i]);
    q->request.edges = q->edges;
}

static void draw_question(const struct subject *subject, struct random_source *random, bool in_place,
                          struct question *q)
{
    memset(q, 0, sizeof *q);
    const copse_visit_request request =
        COPSE_VISIT_INIT((uint32_t)(1 + random_below(random, in_place ? COPSE_VISIT_CLAMP : COPSE_VISIT_SMALLEST)));
    q->request = request;
    q->request.wanted = (uint32_t)random_below(random, 64);
    if (typed_is_float(subject->config.value_type)) q->request.wanted &= ~COPSE_REDUCE_SUM128;
    draw_range(subject, random, q);
    draw_scalars(subject, random, q);
    if (q->request.operation == COPSE_VISIT_HISTOGRAM) draw_bins(subject, random, q);
}

/* --- what has to come ---------------------------------------------------------------------------------------------- */

static uint64_t multiplied(copse_type type, uint64_t a, uint64_t b)
{
    uint64_t bits = a * b;
    if (type == COPSE_F64) {
        double number = typed_real(type, a) * typed_real(type, b);
        memcpy(&bits, &number, sizeof number);
        return isnan(number) ? UINT64_C(0x7ff8000000000000) : bits;
    }
    if (type == COPSE_F32) {
        float number = (float)typed_real(type, a) * (float)typed_real(type, b);
        bits = 0;
        memcpy(&bits, &number, sizeof number);
        return isnan(number) ? 0x7fc00000u : bits;
    }
    return typed_size(type) == 4 ? (uint32_t)bits : bits;
}

static uint64_t mapped(copse_type type, const struct question *q, uint64_t bits)
{
    const uint32_t operation = q->request.operation;
    if (operation == COPSE_VISIT_ADD) return typed_sum(type, bits, q->low);
    if (operation == COPSE_VISIT_MULTIPLY) return multiplied(type, bits, q->low);
    if (bits_nan(type, bits)) return bits;
    const uint64_t code = typed_code_of_bits(type, bits);
    if (operation != COPSE_VISIT_MAX && code > typed_code_of_bits(type, q->high)) return q->high;
    return operation != COPSE_VISIT_MIN && code < typed_code_of_bits(type, q->low) ? q->low : bits;
}

static bool fits(copse_type type, const struct question *q, uint64_t bits)
{
    if (bits_nan(type, bits)) return false;
    const uint64_t code = typed_code_of_bits(type, bits);
    if (q->request.low && code < typed_code_of_bits(type, q->low)) return false;
    return !q->request.high || code <= typed_code_of_bits(type, q->high);
}

struct ranked {
    uint64_t code, at;
};

static int by_code(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The entries that the operation gives, as places in the model, in their order. */
static uint64_t expected_entries(const struct subject *subject, const struct question *q, struct ranked *to)
{
    const copse_type type = subject->config.value_type;
    const bool top = q->request.operation >= COPSE_VISIT_LARGEST;
    uint64_t n = 0;
    for (uint64_t i = q->span.first; i < q->span.last; i++) {
        const uint64_t bits = subject->model.entries[i].value;
        const uint64_t code = typed_code_of_bits(type, bits);
        if (top && bits_nan(type, bits)) continue;
        if (q->request.operation == COPSE_VISIT_FILTER && !fits(type, q, bits)) continue;
        to[n++] = (struct ranked){q->request.operation == COPSE_VISIT_LARGEST ? ~code : code, i};
    }
    if (top) qsort(to, n, sizeof *to, by_code);
    return n;
}

/* --- runs ---------------------------------------------------------------------------------------------------------- */

/* Calls, with faults; true: go on and look at the answer. */
static bool call_visit(struct subject *subject, const struct operation *operation, struct question *q,
                       struct placed_call *call, copse_status want, bool *right)
{
    bool skip = false;
    subject_arm(subject, operation);
    copse_status status = subject_end(subject, call, copse_visit_values(subject->index, &q->request));
    *right = true;
    if (q->no_order) want = COPSE_ERR_NAN;
    if (status == want && want != COPSE_OK) return want == COPSE_ERR_TOO_SMALL || want == COPSE_ERR_OVERFLOW;
    if (status == COPSE_OK && want != COPSE_OK) {
        *right = subject_fail(subject, "visit %u gave ok, expected %s", q->request.operation, copse_status_name(want));
        return false;
    }
    *right = subject_expect(subject, operation, status, &skip);
    return *right && !skip;
}

static bool check_entries(struct subject *subject, const struct question *q, const struct ranked *expected,
                          const void *keys, const void *values)
{
    const struct model *model = &subject->model;
    for (uint64_t i = 0; i < q->request.n; i++) {
        const struct model_entry *entry = &model->entries[expected[i].at];
        const uint64_t value = is_map(q->request.operation) ? mapped(model->value_type, q, entry->value) : entry->value;
        if (keys && typed_code(model->key_type, keys, i) != entry->key)
            return subject_fail(subject, "visit %u: key %llu of %llu is wrong", q->request.operation,
                                (unsigned long long)i, (unsigned long long)q->request.n);
        if (values && typed_bits(model->value_type, values, i) != value)
            return subject_fail(subject, "visit %u: value %llu of %llu is %llx, expected %llx", q->request.operation,
                                (unsigned long long)i, (unsigned long long)q->request.n,
                                (unsigned long long)typed_bits(model->value_type, values, i),
                                (unsigned long long)value);
    }
    return true;
}

/* Maps into arrays, filters, largest and smallest: with room enough, too little, or none. */
static bool run_entries(struct subject *subject, const struct operation *operation, struct random_source *random,
                        struct question *q)
{
    const bool top = q->request.operation >= COPSE_VISIT_LARGEST;
    struct ranked *expected = must_malloc((q->span.last - q->span.first + 1) * sizeof *expected);
    const uint64_t all = expected_entries(subject, q, expected);
    const uint64_t choice = random_below(random, 4);
    uint64_t room = choice == 0 && all ? all - 1 : choice == 1 ? 0 : all + random_below(random, 3);
    if (top) room = random_below(random, all + 3);
    void *keys = typed_new(subject->config.key_type, room), *values = typed_new(subject->config.value_type, room);
    struct placed_call call = subject_begin(subject);
    if (room && !random_one_in(random, 5))
        q->request.keys = placed_output(&call, keys, room, typed_size(subject->config.key_type));
    if (room && !random_one_in(random, 5))
        q->request.values = placed_output(&call, values, room, typed_size(subject->config.value_type));
    q->request.capacity = room;
    const bool asks = room == 0, small = !top && !asks && room < all;
    bool right;
    if (call_visit(subject, operation, q, &call, small ? COPSE_ERR_TOO_SMALL : COPSE_OK, &right)) {
        const uint64_t n = top && room < all ? room : all;
        if (q->request.n != n)
            right = subject_fail(subject, "visit %u found %llu entries, expected %llu", q->request.operation,
                                 (unsigned long long)q->request.n, (unsigned long long)n);
        else if (!small && !asks)
            right =
                check_entries(subject, q, expected, q->request.keys ? keys : NULL, q->request.values ? values : NULL);
    }
    free(keys);
    free(values);
    free(expected);
    return right;
}

static bool near_to(double got, long double want, long double slack)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want) || slack > 1e290L) return true; /* may overflow in one order, not in another */
    return fabsl((long double)got - want) <= slack;
}

static bool check_moments(struct subject *subject, const struct question *q)
{
    const copse_type type = subject->config.value_type;
    const copse_reduction *got = &q->request.reduction;
    const uint64_t n = q->span.last - q->span.first;
    long double sum = 0, size = 0, most = 0, mean = NAN, squares = 0;
    for (uint64_t i = q->span.first; i < q->span.last; i++) {
        const uint64_t bits = subject->model.entries[i].value;
        const long double value =
            typed_is_float(type) ? (long double)typed_real(type, bits) : (long double)typed_integer(type, bits);
        sum += value;
        size += fabsl(value);
        if (fabsl(value) > most) most = fabsl(value);
    }
    if (n) mean = sum / (long double)n;
    for (uint64_t i = q->span.first; i < q->span.last; i++) {
        const uint64_t bits = subject->model.entries[i].value;
        const long double value =
            typed_is_float(type) ? (long double)typed_real(type, bits) : (long double)typed_integer(type, bits);
        squares += (value - mean) * (value - mean);
    }
    const long double slack = size * 1e-13L, variance = n ? squares / (long double)n : NAN;
    if (isnan(sum) || isinf(sum) || most > 1e140L) return true; /* copse_sum is tested with those */
    if (q->request.wanted & COPSE_REDUCE_SUM && typed_is_float(type) && !near_to(got->sum.f64, sum, slack))
        return subject_fail(subject, "visit: sum %.17g, expected %.17Lg", got->sum.f64, sum);
    if (q->request.wanted & COPSE_REDUCE_MEAN && !near_to(got->mean, mean, slack))
        return subject_fail(subject, "visit: mean %.17g, expected %.17Lg", got->mean, mean);
    if (q->request.wanted & COPSE_REDUCE_VARIANCE &&
        !near_to(got->variance, variance, variance * 1e-9L + most * most * 1e-12L))
        return subject_fail(subject, "visit: variance %.17g, expected %.17Lg", got->variance, variance);
    return true;
}

static bool check_reduction(struct subject *subject, const struct question *q, test_int128 sum)
{
    const copse_type type = subject->config.value_type;
    const copse_reduction *got = &q->request.reduction;
    const uint32_t wanted = q->request.wanted;
    const uint64_t n = q->span.last - q->span.first;
    uint64_t least = 0, greatest = 0;
    const bool any = model_extreme(&subject->model, q->span, false, &least) && (wanted & 12);
    (void)model_extreme(&subject->model, q->span, true, &greatest);
    if (got->count != n || q->request.n != n) return subject_fail(subject, "visit: wrong count");
    if (wanted & COPSE_REDUCE_SUM128 && (got->sum128.low != (uint64_t)sum || got->sum128.high != (int64_t)(sum >> 64)))
        return subject_fail(subject, "visit: wrong sum of 128 bits");
    if (got->any != (any ? 1u : 0u)) return subject_fail(subject, "visit: any is %u", got->any);
    const uint64_t min = any && wanted & COPSE_REDUCE_MIN ? typed_code_of_bits(type, least) : 0;
    const uint64_t max = any && wanted & COPSE_REDUCE_MAX ? typed_code_of_bits(type, greatest) : 0;
    if (min && typed_code(type, &got->min, 0) != min) return subject_fail(subject, "visit: wrong smallest value");
    if (max && typed_code(type, &got->max, 0) != max) return subject_fail(subject, "visit: wrong largest value");
    return check_moments(subject, q);
}

static bool run_reduce(struct subject *subject, const struct operation *operation, struct question *q)
{
    const copse_type type = subject->config.value_type;
    test_int128 sum = typed_is_float(type) ? 0 : model_sum_integer(&subject->model, q->span);
    test_int128 low = typed_is_signed(type) ? (test_int128)INT64_MIN : 0;
    test_int128 high = typed_is_signed(type) ? (test_int128)INT64_MAX : (test_int128)UINT64_MAX;
    const bool over = q->request.wanted & COPSE_REDUCE_SUM && (sum < low || sum > high);
    struct placed_call call = subject_begin(subject);
    bool right;
    if (!call_visit(subject, operation, q, &call, over ? COPSE_ERR_OVERFLOW : COPSE_OK, &right)) return right;
    const uint64_t limited = (uint64_t)(sum < low ? low : sum > high ? high : sum);
    if (q->request.wanted & COPSE_REDUCE_SUM && !typed_is_float(type) && q->request.reduction.sum.u64 != limited)
        return subject_fail(subject, "visit: wrong sum");
    return check_reduction(subject, q, sum);
}

/* Edge i as a code. */
static uint64_t edge_code(copse_type type, const struct question *q, uint32_t i)
{
    const uint32_t bins = q->request.bins;
    if (q->request.edges) return typed_code(type, q->edges, i);
    if (!typed_is_float(type)) {
        const test_int128 low = typed_integer(type, q->low), span = typed_integer(type, q->high) - low;
        const test_int128 edge = low + (span * i + bins - 1) / bins;
        return typed_code_of_bits(type, typed_size(type) == 4 ? (uint32_t)edge : (uint64_t)edge);
    }
    const double part = (double)i / bins;
    double edge = typed_real(type, q->low) * (1.0 - part) + typed_real(type, q->high) * part;
    float small = (float)edge;
    uint64_t bits = 0;
    if (type == COPSE_F32)
        memcpy(&bits, &small, sizeof small);
    else
        memcpy(&bits, &edge, sizeof edge);
    if (i == 0) bits = q->low;
    if (i == bins) bits = q->high;
    return typed_code_of_bits(type, bits);
}

static bool run_histogram(struct subject *subject, const struct operation *operation, struct question *q)
{
    const copse_type type = subject->config.value_type;
    const uint32_t bins = q->request.bins;
    uint64_t edges[MOST_EDGES], expected[MOST_EDGES + 3] = {0};
    struct placed_call call = subject_begin(subject);
    bool right;
    if (!call_visit(subject, operation, q, &call, COPSE_OK, &right)) return right;
    for (uint32_t i = 0; i <= bins; i++) edges[i] = edge_code(type, q, i);
    for (uint64_t i = q->span.first; i < q->span.last; i++) {
        const uint64_t bits = subject->model.entries[i].value, code = typed_code_of_bits(type, bits);
        uint32_t bin = bins; /* below */
        for (uint32_t j = 0; j < bins && edges[j] <= code; j++) bin = j;
        if (edges[0] <= code && code > edges[bins]) bin = bins + 1;
        if (code == edges[bins]) bin = bins - 1;
        if (bits_nan(type, bits)) bin = bins + 2;
        expected[bin]++;
    }
    if (q->request.n != q->span.last - q->span.first) return subject_fail(subject, "histogram: wrong count");
    for (uint32_t i = 0; i < bins + 3; i++)
        if (q->counts[i] != expected[i])
            return subject_fail(subject, "histogram of %u bins%s: bin %u has %llu values, expected %llu", bins,
                                q->request.edges ? " by edges" : "", i, (unsigned long long)q->counts[i],
                                (unsigned long long)expected[i]);
    return true;
}

static uint64_t question_seed(const struct subject *subject, const struct operation *operation)
{
    return operation->places + operation->limit * UINT64_C(1000003) + subject->model.n * UINT64_C(8191) +
           operation->omit * UINT64_C(127) + operation->ends;
}

bool subject_run_questions(struct subject *subject, const struct operation *operation)
{
    struct random_source random = {question_seed(subject, operation)};
    bool right = true;
    if (subject->config.value_type == COPSE_NONE) {
        copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
        if (copse_visit_values(subject->index, &request) == COPSE_ERR_TYPE) return true;
        return subject_fail(subject, "a visit of the values of a set is not refused");
    }
    struct question *q = must_malloc(sizeof *q);
    for (unsigned i = 0; i < 3 && right; i++) {
        draw_question(subject, &random, false, q);
        if (q->request.operation == COPSE_VISIT_REDUCE)
            right = run_reduce(subject, operation, q);
        else if (q->request.operation == COPSE_VISIT_HISTOGRAM)
            right = run_histogram(subject, operation, q);
        else
            right = run_entries(subject, operation, &random, q);
    }
    free(q);
    return right;
}

bool subject_run_map(struct subject *subject, const struct operation *operation)
{
    struct random_source random = {question_seed(subject, operation)};
    const uint64_t version = subject_version(subject);
    bool skip = false;
    if (subject->config.value_type == COPSE_NONE) return true;
    struct question *q = must_malloc(sizeof *q);
    struct model before;
    draw_question(subject, &random, true, q);
    model_copy(&before, &subject->model);
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = subject_end(subject, &call, copse_visit_in_place(subject->index, &q->request));
    bool right = q->no_order ? status == COPSE_ERR_NAN || subject_fail(subject, "a NaN was taken")
                             : subject_expect(subject, operation, status, &skip);
    if (right && !q->no_order && !skip) {
        for (uint64_t i = q->span.first; i < q->span.last; i++)
            subject->model.entries[i].value = mapped(before.value_type, q, before.entries[i].value);
        if (q->request.n != q->span.last - q->span.first) right = subject_fail(subject, "a map in place: wrong count");
    }
    if (right) right = subject_check_update(subject, &before, version);
    model_free(&before);
    free(q);
    return right;
}
