/* Visits with operations: checks the request, makes passes of it (core/pass.h), and turns what they found into results. */
#include "api/visit.h"
#include "api/ranges.h"
#include "core/closed_range.h"
#include "core/structs.h"
#include "gpu/call.h"

#include <math.h>
#include <string.h>

#define ALL_WANTED                                                                                                     \
    (COPSE_REDUCE_SUM | COPSE_REDUCE_SUM128 | COPSE_REDUCE_MIN | COPSE_REDUCE_MAX | COPSE_REDUCE_MEAN |                \
     COPSE_REDUCE_VARIANCE)

/* A call at work. */
typedef struct visit {
    const char *call;
    const copse_index *index;
    copse_visit_request request;
    copse_ranges range;
    uint64_t low_key, high_key; /* bits of its closed ends */
    copse_pass pass;
} visit;

copse_status copse_visit_pass(const copse_index *index, copse_pass *pass)
{
    return index->calls->visit ? index->calls->visit(index, pass) : copse_visit_scan(index, pass);
}

/* --- checks ----------------------------------------------------------------------------------------------------------------- */

static bool is_map(uint32_t operation)
{
    return operation >= COPSE_VISIT_ADD && operation <= COPSE_VISIT_CLAMP;
}

static copse_status fail(const visit *v, const char *what)
{
    return copse_fail_argument(v->index->ctx, "request", "%s: request->%s", v->call, what);
}

static copse_status range_take(visit *v)
{
    const copse_index *index = v->index;
    const copse_type type = index->key_type;
    const size_t width = copse_type_size(type);
    if (!v->request.range) return COPSE_OK;
    copse_status status = copse_ranges_check(index, v->call, v->request.range, false, &v->range);
    if (status != COPSE_OK) return status;
    if (v->range.n != 1) return fail(v, "range->n is not 1: a visit has one range");
    v->range.flags &= ~COPSE_RANGE_DESCENDING;
    v->pass.range = &v->range;
    if (type == COPSE_BYTES) return COPSE_OK;
    const bool has_low = v->range.lows, has_high = v->range.highs;
    if (has_low) memcpy(&v->low_key, v->range.lows, width);
    if (has_high) memcpy(&v->high_key, v->range.highs, width);
    if (has_low && copse_bits_are_nan(type, v->low_key)) return copse_fail_nan(index->ctx, "lows", 0);
    if (has_high && copse_bits_are_nan(type, v->high_key)) return copse_fail_nan(index->ctx, "highs", 0);
    copse_close_range(type, v->range.flags, has_low, has_high, &v->low_key, &v->high_key);
    v->pass.low = &v->low_key;
    v->pass.high = &v->high_key;
    return COPSE_OK;
}

/* A scalar: its bits, where it is given. `ordered`: NaN will not do. */
static copse_status scalar_take(const visit *v, const char *name, const void *scalar, bool needed, bool ordered,
                                uint64_t *out)
{
    const copse_type type = v->index->value_type;
    *out = 0;
    if (!scalar && needed)
        return copse_fail_argument(v->index->ctx, "request", "%s: request->%s is NULL", v->call, name);
    if (scalar) memcpy(out, scalar, copse_type_size(type));
    if (scalar && ordered && copse_bits_are_nan(type, *out))
        return copse_error_at(copse_fail(v->index->ctx, COPSE_ERR_NAN,
                                         "%s: request->%s is NaN, which has no place in an order", v->call, name),
                              "request", UINT64_MAX, 0);
    return COPSE_OK;
}

/* Both scalars as the operation wants them, into a and b. */
static copse_status scalars_take(visit *v)
{
    const copse_visit_request *r = &v->request;
    const uint32_t operation = r->operation;
    const bool ordered = operation != COPSE_VISIT_ADD && operation != COPSE_VISIT_MULTIPLY;
    const bool equal_bins = operation == COPSE_VISIT_HISTOGRAM && !r->edges;
    const bool low = (is_map(operation) && operation != COPSE_VISIT_MIN) || equal_bins;
    const bool high = operation == COPSE_VISIT_MIN || operation == COPSE_VISIT_CLAMP || equal_bins;
    copse_status status = scalar_take(v, "low", r->low, low, ordered, &v->pass.a);
    if (status == COPSE_OK) status = scalar_take(v, "high", r->high, high, ordered, &v->pass.b);
    if (status != COPSE_OK || !low || !high) return status;
    const uint64_t from = copse_key_code(v->index->value_type, v->pass.a);
    const uint64_t to = copse_key_code(v->index->value_type, v->pass.b);
    if (from > to) return fail(v, "low is above high");
    return equal_bins && from == to ? fail(v, "low is high, so that bins have no width") : COPSE_OK;
}

/* The caller's arrays: where they are. */
static copse_status arrays_take(visit *v)
{
    const copse_visit_request *r = &v->request;
    copse_status status = COPSE_OK;
    v->pass.keys = r->keys;
    v->pass.values = r->values;
    v->pass.capacity = r->capacity;
    v->pass.most = UINT64_MAX;
    if (!v->index->device || r->capacity == 0) return COPSE_OK;
    if (r->keys && v->index->key_type != COPSE_BYTES)
        status = copse_call_array(v->index, r->keys, "request->keys", &v->pass.keys_there);
    if (status == COPSE_OK && r->values)
        status = copse_call_array(v->index, r->values, "request->values", &v->pass.values_there);
    return status;
}

static copse_status request_take(visit *v, const copse_visit_request *given)
{
    const copse_index *index = v->index;
    const copse_visit_request defaults = COPSE_VISIT_INIT(0);
    v->request = defaults;
    copse_status status =
        copse_struct_take_whole(index->ctx, v->call, "request", given, &v->request, sizeof v->request);
    if (status != COPSE_OK) return status;
    if (v->request.operation < COPSE_VISIT_ADD || v->request.operation > COPSE_VISIT_SMALLEST)
        return copse_fail_argument(index->ctx, "request",
                                   "%s: request->operation is %u, which is not a copse_visit_operation", v->call,
                                   v->request.operation);
    if (index->value_type == COPSE_NONE) return copse_fail_set(index, v->call);
    if (v->request.wanted & ~ALL_WANTED) return fail(v, "wanted has a bit that is none of COPSE_REDUCE_*");
    v->pass.value_type = index->value_type;
    v->pass.map = v->request.operation;
    status = scalars_take(v);
    if (status == COPSE_OK) status = range_take(v);
    return status;
}

/* --- reductions --------------------------------------------------------------------------------------------------------------- */

static void extreme_give(copse_type type, bool wanted, bool any, uint64_t code, copse_number *out)
{
    if (wanted && any) copse_aggregate_store(type, code, out, 0);
}

static copse_status reduction_give(visit *v)
{
    const copse_type type = v->index->value_type;
    const copse_pass_sums *sums = &v->pass.sums;
    const uint32_t wanted = v->request.wanted;
    copse_reduction *out = &v->request.reduction;
    bool fits = true;
    memset(out, 0, sizeof *out);
    out->count = v->request.n = v->pass.n;
    if (wanted & COPSE_REDUCE_SUM) fits = copse_aggregate_give(COPSE_KIND_SUM, type, &sums->all, 0, &out->sum, NULL, 0);
    if (wanted & COPSE_REDUCE_SUM128)
        (void)copse_aggregate_give(COPSE_KIND_SUM128, type, &sums->all, 0, &out->sum128, NULL, 0);
    out->any = wanted & (COPSE_REDUCE_MIN | COPSE_REDUCE_MAX) && sums->all.smallest <= sums->all.largest;
    extreme_give(type, wanted & COPSE_REDUCE_MIN, out->any, sums->all.smallest, &out->min);
    extreme_give(type, wanted & COPSE_REDUCE_MAX, out->any, sums->all.largest, &out->max);
    if (wanted & COPSE_REDUCE_MEAN) out->mean = v->pass.mean;
    if (wanted & COPSE_REDUCE_VARIANCE) out->variance = out->count ? sums->squares / (double)out->count : (double)NAN;
    if (fits) return COPSE_OK;
    return copse_fail(v->index->ctx, COPSE_ERR_OVERFLOW,
                      "%s: the sum does not fit 64 bits; COPSE_REDUCE_SUM128 gives it in 128", v->call);
}

static copse_status reduce(visit *v)
{
    const uint32_t wanted = v->request.wanted;
    const uint32_t extremes = COPSE_REDUCE_MIN | COPSE_REDUCE_MAX;
    if (wanted & COPSE_REDUCE_SUM128 && copse_type_is_float(v->index->value_type))
        return copse_fail(v->index->ctx, COPSE_ERR_TYPE, "%s: the values are %s; COPSE_REDUCE_SUM is a double of them",
                          v->call, copse_type_name(v->index->value_type));
    v->pass.kind = COPSE_PASS_REDUCE;
    v->pass.sums = COPSE_PASS_SUMS_EMPTY;
    v->pass.look = (wanted & ~extremes ? COPSE_LOOK_SUM : 0) | (wanted & extremes ? COPSE_LOOK_EXTREMES : 0);
    copse_status status = copse_visit_pass(v->index, &v->pass);
    if (status != COPSE_OK) return status;
    (void)copse_aggregate_give(COPSE_KIND_AVG, v->index->value_type, &v->pass.sums.all, v->pass.n, &v->pass.mean, NULL,
                               0);
    if (wanted & COPSE_REDUCE_VARIANCE && v->pass.n) {
        const uint32_t look = v->pass.look;
        v->pass.look = COPSE_LOOK_SQUARES;
        status = copse_visit_pass(v->index, &v->pass);
        v->pass.look = look;
    }
    return status == COPSE_OK ? reduction_give(v) : status;
}

/* --- histograms --------------------------------------------------------------------------------------------------------------- */

/* Edge i of bins of equal width, as bits. Of integers it is the first one that falls into the bin. */
static uint64_t equal_edge(const visit *v, uint64_t low, uint64_t high, uint32_t i)
{
    const copse_type type = v->index->value_type;
    const uint32_t bins = v->request.bins;
    if (!copse_type_is_float(type)) { /* codes are as far apart as numbers */
        const copse_wide span = (copse_wide)high - (copse_wide)low;
        return (uint64_t)((copse_wide)low + (span * i + bins - 1) / bins);
    }
    const double part = (double)i / bins;
    if (type == COPSE_F64) {
        double from, to, edge;
        memcpy(&from, &v->pass.a, sizeof from);
        memcpy(&to, &v->pass.b, sizeof to);
        edge = from * (1.0 - part) + to * part;
        memcpy(&low, &edge, sizeof low);
        return copse_key_code(type, low);
    }
    float from, to, edge;
    uint32_t bits;
    memcpy(&from, v->request.low, sizeof from);
    memcpy(&to, v->request.high, sizeof to);
    edge = (float)((double)from * (1.0 - part) + (double)to * part);
    memcpy(&bits, &edge, sizeof bits);
    return copse_key_code(type, bits);
}

static copse_status edges_equal(const visit *v, uint64_t *edges)
{
    const copse_type type = v->index->value_type;
    const uint64_t low = copse_key_code(type, v->pass.a), high = copse_key_code(type, v->pass.b);
    const uint32_t bins = v->request.bins;
    if (copse_type_is_float(type) && (low == copse_smallest_code(type) || high == copse_largest_code(type)))
        return fail(v, "low or high is infinite, so that bins of equal width are");
    for (uint32_t i = 0; i <= bins; i++) {
        const uint64_t edge = i == 0 ? low : i == bins ? high : equal_edge(v, low, high, i);
        edges[i] = i && edge < edges[i - 1] ? edges[i - 1]
                   : edge > high            ? high
                                            : edge; /* rounding moves none past another */
    }
    return COPSE_OK;
}

static copse_status edges_given(const visit *v, uint64_t *edges)
{
    const copse_type type = v->index->value_type;
    const size_t width = copse_type_size(type);
    for (uint32_t i = 0; i <= v->request.bins; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)v->request.edges + i * width, width);
        if (copse_bits_are_nan(type, bits)) return copse_fail_nan(v->index->ctx, "edges", i);
        edges[i] = copse_key_code(type, bits);
        if (i && edges[i] < edges[i - 1])
            return copse_error_at(copse_fail_argument(v->index->ctx, "edges",
                                                      "%s: request->edges[%u] is less than the one before", v->call, i),
                                  "edges", i, 0);
    }
    return COPSE_OK;
}

static copse_status histogram(visit *v)
{
    const copse_visit_request *r = &v->request;
    if (r->bins == 0 || r->bins > COPSE_VISIT_MOST_BINS)
        return copse_fail_argument(v->index->ctx, "request", "%s: request->bins is %u; it takes 1 to %u", v->call,
                                   r->bins, COPSE_VISIT_MOST_BINS);
    if (!r->counts) return fail(v, "counts is NULL");
    const size_t bytes = (r->bins + 1) * sizeof(uint64_t);
    uint64_t *edges = copse_memory_alloc(v->index->ctx, bytes);
    if (!edges) return copse_fail_memory(v->index->ctx, bytes, "the visit");
    copse_status status = r->edges ? edges_given(v, edges) : edges_equal(v, edges);
    v->pass.kind = COPSE_PASS_HISTOGRAM;
    v->pass.edges = edges;
    v->pass.bins = r->bins;
    v->pass.counts = r->counts;
    memset(r->counts, 0, (r->bins + COPSE_BINS_OUTSIDE) * sizeof *r->counts);
    if (status == COPSE_OK) status = copse_visit_pass(v->index, &v->pass);
    copse_memory_free(v->index->ctx, edges, bytes);
    return status;
}

/* --- entries ------------------------------------------------------------------------------------------------------------------ */

static copse_status filter(visit *v)
{
    const copse_type type = v->index->value_type;
    v->pass.kind = COPSE_PASS_FILTER;
    v->pass.least = v->request.low ? copse_key_code(type, v->pass.a) : copse_smallest_code(type);
    v->pass.greatest = v->request.high ? copse_key_code(type, v->pass.b) : copse_largest_code(type);
    return copse_visit_pass(v->index, &v->pass);
}

static copse_status top(visit *v)
{
    return copse_visit_top(v->index, &v->pass, v->request.operation == COPSE_VISIT_LARGEST);
}

static copse_status map(visit *v)
{
    v->pass.kind = COPSE_PASS_MAP;
    return copse_visit_pass(v->index, &v->pass);
}

static copse_status operation_run(visit *v)
{
    if (is_map(v->request.operation)) return map(v);
    if (v->request.operation == COPSE_VISIT_REDUCE) return reduce(v);
    if (v->request.operation == COPSE_VISIT_HISTOGRAM) return histogram(v);
    return v->request.operation == COPSE_VISIT_FILTER ? filter(v) : top(v);
}

/* --- calls -------------------------------------------------------------------------------------------------------------------- */

/* What the caller gets back also where there was too little room, or a sum did not fit. */
static copse_status result_give(visit *v, copse_visit_request *given, copse_status status)
{
    if (status != COPSE_OK && status != COPSE_ERR_TOO_SMALL && status != COPSE_ERR_OVERFLOW) return status;
    v->request.n = v->pass.n;
    copse_status gave =
        copse_struct_give(v->index->ctx, v->call, "request", given, &v->request, sizeof v->request, NULL);
    return status == COPSE_OK ? gave : status;
}

copse_status copse_visit_values(const copse_index *index, copse_visit_request *request)
{
    visit v = {.call = "copse_visit_values", .index = index};
    if (!index) return copse_fail_argument(NULL, "index", "copse_visit_values: index is NULL");
    if (!request) return copse_fail_argument(index->ctx, "request", "copse_visit_values: request is NULL");
    copse_status status = request_take(&v, request);
    if (status != COPSE_OK) return status;
    copse_promise_begin(index); /* only the arrays for entries are promised */
    status = copse_promise_end(arrays_take(&v));
    if (status == COPSE_OK) status = operation_run(&v);
    return result_give(&v, request, status);
}

copse_status copse_visit_in_place(copse_index *index, copse_visit_request *request)
{
    visit v = {.call = "copse_visit_in_place", .index = index};
    copse_status status = copse_check_change(index, v.call);
    if (status != COPSE_OK) return status;
    if (!request) return copse_fail_argument(index->ctx, "request", "copse_visit_in_place: request is NULL");
    status = request_take(&v, request);
    if (status != COPSE_OK) return status;
    if (!is_map(v.request.operation)) return fail(&v, "operation is no map, and only maps work in place");
    if (v.request.keys || v.request.values || v.request.capacity)
        return fail(&v, "keys, values and capacity have to be 0, since the values stay where they are");
    v.pass.kind = COPSE_PASS_MAP;
    v.pass.most = UINT64_MAX;
    status = index->calls->visit_in_place ? index->calls->visit_in_place(index, &v.pass)
                                          : copse_visit_rewrite(index, &v.pass);
    if (status == COPSE_OK && v.pass.n) copse_version_advance(index);
    return result_give(&v, request, status);
}

copse_status copse_pages(const copse_index *index, copse_page_table *out_table)
{
    static const copse_wide_member wide[] = {COPSE_WIDE(copse_page_table, entries),
                                             COPSE_WIDE(copse_page_table, addresses),
                                             COPSE_WIDE(copse_page_table, counts),
                                             COPSE_WIDE(copse_page_table, version),
                                             {0, 0}};
    if (!index) return copse_fail_argument(NULL, "index", "copse_pages: index is NULL");
    if (!out_table) return copse_fail_argument(index->ctx, "out_table", "copse_pages: out_table is NULL");
    if (!index->calls->pages)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED,
                          "copse_pages: the %s tree at placement %s has no such pages",
                          copse_structure_name(index->description->structure), copse_placement_name(index->placement));
    copse_page_table table = {.struct_size = sizeof table,
                              .key_type = index->key_type,
                              .value_type = index->value_type,
                              .key_bytes = (uint32_t)copse_type_size(index->key_type),
                              .value_bytes = (uint32_t)copse_value_width(index->value_type),
                              .version = copse_version_of(index)};
    copse_status status = index->calls->pages(index, &table);
    if (status != COPSE_OK) return status;
    return copse_struct_give(index->ctx, "copse_pages", "out_table", out_table, &table, sizeof table, wide);
}
