/* Ranges of the radix tree on a device: how many entries they have, their aggregates, and the entries. A thread goes along the leaves of a range; those
 * that have more than a thread should are intervals of a list of leaves (gpu/wide.c). Where there is no memory for it the host's tree answers. */
#include "core/aggregate.h"
#include "gpu/aggregates.h"
#include "gpu/call.h"
#include "gpu/sort.h"
#include "primitives/primitives.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* Ranges on their way. */
typedef struct range_call {
    const copse_index *index;
    const copse_ranges *asked;
    copse_radix_input lows, highs;
    copse_radix_range_arguments a;
    copse_scratch scratch;
    bool wide; /* some are: they are in the list, */
    copse_radix_list list;
    bool too_wide; /* or there is none */
} range_call;

static copse_status ranges_look(range_call *call)
{
    const copse_index *index = call->index;
    const copse_ranges *asked = call->asked;
    copse_radix_range_arguments *a = &call->a;
    copse_status status = COPSE_OK;
    *a = (copse_radix_range_arguments){.has_low = asked->lows != NULL,
                                       .has_high = asked->highs != NULL,
                                       .above = (asked->flags & COPSE_RANGE_LOW_OPEN) != 0,
                                       .below = (asked->flags & COPSE_RANGE_HIGH_OPEN) != 0,
                                       .prefix = (asked->flags & COPSE_RANGE_PREFIX) != 0,
                                       .descending = (asked->flags & COPSE_RANGE_DESCENDING) != 0,
                                       .n = asked->n,
                                       .limit = asked->limit,
                                       .most = copse_radix_device_of(index)->walk_most};
    if (a->has_low) status = copse_radix_input_look(index, "lows", asked->lows, asked->n, &call->lows);
    if (status == COPSE_OK && a->has_high)
        status = copse_radix_input_look(index, "highs", asked->highs, asked->n, &call->highs);
    return status;
}

static void ranges_free(range_call *call)
{
    copse_device *device = call->index->device;
    copse_scratch_free(device, &call->lows.scratch);
    copse_scratch_free(device, &call->highs.scratch);
    copse_scratch_free(device, &call->scratch);
    copse_radix_list_free(call->index, &call->list);
}

/* Where some range has more entries than a thread goes along. */
static copse_status ranges_list(range_call *call)
{
    const copse_index *index = call->index;
    bool done = false;
    copse_kept_error kept;
    copse_error_keep(&kept);
    const copse_status status = copse_radix_list_make(index, &call->a, &call->list, &done);
    if (status != COPSE_OK && status != COPSE_ERR_MEMORY) return status;
    call->wide = status == COPSE_OK && done;
    call->too_wide = !call->wide;
    copse_error_put_back(&kept);
    return COPSE_OK;
}

/* Counts the entries of all ranges; the arrays of the arguments are there. */
static copse_status ranges_count(range_call *call)
{
    const copse_index *index = call->index;
    copse_device *device = index->device;
    copse_radix_range_arguments *a = &call->a;
    uint64_t words[COPSE_REPORT_WORDS];
    int report;
    copse_status status = COPSE_OK;
    a->tree = copse_radix_device_of(index)->view;
    if (a->has_low) status = copse_radix_input_bring(index, &call->lows);
    if (status == COPSE_OK && a->has_high) status = copse_radix_input_bring(index, &call->highs);
    a->lows = call->lows.strings;
    a->highs = call->highs.strings;
    if (status == COPSE_OK) status = copse_report_take(device, &report, &a->report);
    if (status != COPSE_OK) return status;
    status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->ranges,
                                 copse_device_blocks(device, a->n), a);
    const copse_status read = copse_report_read(device, report, words);
    if (status == COPSE_OK) status = read;
    if (status != COPSE_OK) return status;
    if (words[COPSE_RADIX_UNSOUND] != UINT64_MAX)
        return copse_radix_input_fail(index, &call->lows, words[COPSE_RADIX_UNSOUND]);
    if (words[COPSE_RADIX_UNSOUND_HIGH] != UINT64_MAX)
        return copse_radix_input_fail(index, &call->highs, words[COPSE_RADIX_UNSOUND_HIGH]);
    return words[COPSE_RADIX_TOO_WIDE] == UINT64_MAX ? COPSE_OK : ranges_list(call);
}

copse_status copse_radix_device_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    range_call call = {.index = index, .asked = ranges};
    bool there = false;
    void *own = NULL;
    copse_status status = ranges_look(&call);
    if (status == COPSE_OK) status = copse_call_array(index, counts, "out_counts", &there);
    if (status != COPSE_OK) return status;
    if (copse_radix_device_of(index)->marks.without) return copse_radix_host_count(index, ranges, counts);
    if (!ranges->lows && !ranges->highs && !there) { /* it is known, without a list of all leaves */
        for (uint64_t i = 0; i < ranges->n; i++) counts[i] = copse_radix_device_of(index)->host.entries;
        return copse_promise_end(COPSE_OK);
    }
    (void)copse_promise_end(COPSE_OK);
    status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    const uint64_t bytes = ranges->n * sizeof(uint64_t);
    const copse_scratch_array array = {&own, there ? 0 : bytes};
    status = copse_scratch_take(index->device, "the counts", &array, 1, &call.scratch);
    call.a.counts = there ? counts : own;
    if (status == COPSE_OK) status = ranges_count(&call);
    if (status == COPSE_OK && !there && !call.too_wide)
        status = copse_transfer_to_host(index->device, counts, own, bytes);
    ranges_free(&call);
    return status == COPSE_OK && call.too_wide ? copse_radix_host_count(index, ranges, counts) : status;
}

/* --- aggregates ------------------------------------------------------------------------------------------------------------- */

/* The results of a call, in memory of the host. */
typedef struct aggregate_call {
    copse_aggregate_kind kind;
    size_t width; /* of a result */
    void *out;
    uint8_t *found;
    bool out_there, found_there; /* in device memory */
} aggregate_call;

/* Turns sums into results, and gives them to the caller. */
static copse_status totals_give(range_call *call, const aggregate_call *to, const copse_radix_total *totals,
                                const uint64_t *counts, char *out, uint8_t *found)
{
    const copse_index *index = call->index;
    const uint64_t n = call->a.n;
    uint64_t overflow = n;
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < n; i++) {
        const copse_radix_total *t = &totals[i];
        const copse_aggregate all = {(copse_wide)(int64_t)t->high * ((copse_wide)1 << 64) + (copse_wide)t->low, t->real,
                                     t->smallest, t->largest};
        if (!copse_aggregate_give(to->kind, index->value_type, &all, counts[i], to->out_there ? out : to->out,
                                  to->found_there ? found : to->found, i) &&
            overflow == n)
            overflow = i;
    }
    if (to->out_there) status = copse_transfer_to_device(index->device, to->out, out, n * to->width);
    if (status == COPSE_OK && to->found_there) status = copse_transfer_to_device(index->device, to->found, found, n);
    if (status != COPSE_OK) return status;
    return overflow < n ? copse_fail_overflow(index->ctx, overflow) : COPSE_OK;
}

static copse_status aggregate_run(range_call *call, const aggregate_call *to)
{
    const copse_index *index = call->index;
    copse_device *device = index->device;
    const uint64_t n = call->a.n, bytes = n * (sizeof(copse_radix_total) + sizeof(uint64_t) + sizeof(copse_int128) + 1);
    copse_radix_total_arguments a = {.type = index->value_type, .n = n};
    const copse_scratch_array arrays[] = {{(void **)&call->a.starts, n * sizeof(uint64_t)},
                                          {(void **)&call->a.counts, n * sizeof(uint64_t)},
                                          {(void **)&a.totals, n * sizeof *a.totals}};
    copse_status status = copse_scratch_take(device, "the ranges", arrays, 3, &call->scratch);
    if (status == COPSE_OK) status = ranges_count(call);
    if (status != COPSE_OK || call->too_wide) return status;
    a.tree = call->a.tree;
    a.starts = call->a.starts;
    a.counts = call->a.counts;
    status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->totals,
                                 copse_device_blocks(device, n), &a);
    if (status == COPSE_OK && call->wide) status = copse_radix_list_totals(index, &call->list, a.totals);
    if (status != COPSE_OK) return status;
    copse_int128 *out = copse_memory_alloc(index->ctx, bytes);
    if (!out) return copse_fail_memory(index->ctx, bytes, "the aggregates");
    copse_radix_total *totals = (copse_radix_total *)(out + n);
    uint64_t *counts = (uint64_t *)(totals + n);
    status = copse_transfer_to_host(device, totals, a.totals, n * sizeof *totals);
    if (status == COPSE_OK) status = copse_transfer_to_host(device, counts, a.counts, n * sizeof *counts);
    if (status == COPSE_OK) status = totals_give(call, to, totals, counts, (char *)out, (uint8_t *)(counts + n));
    copse_memory_free(index->ctx, out, bytes);
    return status;
}

copse_status copse_radix_device_aggregate(const copse_index *index, copse_aggregate_kind kind,
                                          const copse_ranges *ranges, void *out, uint8_t *found)
{
    range_call call = {.index = index, .asked = ranges};
    aggregate_call to = {.kind = kind, .width = copse_aggregate_bytes(index, kind), .out = out, .found = found};
    if (copse_radix_device_of(index)->marks.without) return copse_radix_host_aggregate(index, kind, ranges, out, found);
    copse_status status = ranges_look(&call);
    if (status == COPSE_OK) status = copse_call_array(index, out, copse_aggregate_name(kind), &to.out_there);
    if (status == COPSE_OK && found) status = copse_call_array(index, found, "out_found", &to.found_there);
    if (status != COPSE_OK) return status;
    (void)copse_promise_end(COPSE_OK);
    call.a.limit = 0; /* of rows only, and so is the direction */
    call.a.descending = 0;
    status = copse_radix_mirror_ready(index);
    if (status == COPSE_OK) status = aggregate_run(&call, &to);
    ranges_free(&call);
    return status == COPSE_OK && call.too_wide ? copse_radix_host_aggregate(index, kind, ranges, out, found) : status;
}

/* --- rows ------------------------------------------------------------------------------------------------------------------ */

/* Puts the leaves of all ranges in a row; the scratch memory has to be freed in any case. */
static copse_status rows_list(range_call *call, uint64_t total, copse_radix_leaves *out, copse_scratch *out_scratch)
{
    copse_device *device = call->index->device;
    copse_radix_row_arguments a = {.tree = call->a.tree,
                                   .starts = call->a.starts,
                                   .offsets = call->a.counts,
                                   .n = call->a.n,
                                   .descending = call->a.descending,
                                   .to.n = total};
    const copse_scratch_array arrays[] = {{(void **)&a.to.links, total * sizeof(uint64_t)},
                                          {(void **)&a.to.sizes, (total + 1) * sizeof(uint64_t)}};
    copse_status status = copse_scratch_take(device, "the entries", arrays, 2, out_scratch);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->rows,
                                     copse_device_blocks(device, a.n), &a);
    if (status == COPSE_OK && call->wide) status = copse_radix_list_rows(call->index, &call->list, a.offsets, &a.to);
    *out = a.to;
    return status;
}

static copse_status rows_give(range_call *call, uint64_t total, copse_radix_output *out)
{
    copse_radix_leaves leaves;
    copse_scratch scratch = {0};
    copse_status status = rows_list(call, total, &leaves, &scratch);
    if (status == COPSE_OK) status = copse_radix_output_give(call->index, out, &leaves);
    copse_scratch_free(call->index->device, &scratch);
    return status;
}

/* Sums up `n` numbers and one more, which is 0, in place; the last becomes the sum of all. */
static copse_status sum_up(copse_device *device, uint64_t *numbers, uint64_t n, uint64_t *out_total)
{
    copse_status status = copse_device_fill(device, device->main, (unsigned char *)(numbers + n), 0, sizeof *numbers);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, numbers, numbers, n + 1);
    return status == COPSE_OK ? copse_device_read(device, device->main, out_total, numbers + n, sizeof *out_total)
                              : status;
}

static copse_status range_run(range_call *call, const copse_rows *rows, bool offsets_there, copse_radix_output *out)
{
    const copse_index *index = call->index;
    copse_device *device = index->device;
    const uint64_t n = call->a.n, bytes = (n + 1) * sizeof(uint64_t);
    const bool copying = rows->values || out->keys.offsets;
    uint64_t total = 0, needed = 0;
    const copse_scratch_array arrays[] = {
        {(void **)&call->a.starts, bytes}, {(void **)&call->a.counts, bytes}, {(void **)&call->a.sizes, bytes}};
    copse_status status = copse_scratch_take(device, "the ranges", arrays, 3, &call->scratch);
    if (status == COPSE_OK) status = ranges_count(call);
    if (status != COPSE_OK || call->too_wide) return status;
    status = sum_up(device, call->a.counts, n, &total);
    if (status == COPSE_OK) status = sum_up(device, call->a.sizes, n, &needed);
    if (status == COPSE_OK)
        status = offsets_there ? copse_device_copy(device, device->main, rows->offsets, call->a.counts, bytes)
                               : copse_transfer_to_host(device, rows->offsets, call->a.counts, bytes);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    if (status != COPSE_OK) return status;
    if (copying && total <= rows->capacity) return rows_give(call, total, out);
    status = copse_radix_output_close(index, out, needed);
    return copying ? copse_fail_room(index->ctx, "out_rows", rows->capacity, total) : status;
}

copse_status copse_radix_device_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    range_call call = {.index = index, .asked = ranges};
    copse_radix_output out;
    bool there = false;
    if (ranges->n == 0 || copse_radix_device_of(index)->marks.without)
        return copse_radix_host_range(index, ranges, rows);
    copse_status status = ranges_look(&call);
    if (status == COPSE_OK) status = copse_radix_output_look(index, rows->keys, rows->values, NULL, &out);
    if (status == COPSE_OK) status = copse_call_array(index, rows->offsets, "out_offsets", &there);
    if (status != COPSE_OK) return status;
    const bool promised = index->ctx->device_arrays;
    (void)copse_promise_end(COPSE_OK);
    status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    status = range_run(&call, rows, there, &out);
    ranges_free(&call);
    if (status != COPSE_OK || !call.too_wide) return status;
    if (promised) copse_promise_begin(index);
    return copse_radix_host_range(index, ranges, rows);
}

copse_status copse_radix_device_leaves(const copse_index *index, const copse_ranges *ranges, copse_radix_leaves *out,
                                       copse_scratch *out_scratch, bool *out_done)
{
    range_call call = {.index = index, .asked = ranges};
    const uint64_t bytes = (ranges->n + 1) * sizeof(uint64_t);
    const copse_scratch_array arrays[] = {
        {(void **)&call.a.starts, bytes}, {(void **)&call.a.counts, bytes}, {(void **)&call.a.sizes, bytes}};
    const bool promised = index->ctx->device_arrays;
    *out = (copse_radix_leaves){0};
    copse_status status = ranges_look(&call);
    (void)copse_promise_end(COPSE_OK);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status == COPSE_OK) status = copse_scratch_take(index->device, "the ranges", arrays, 3, &call.scratch);
    if (status == COPSE_OK) status = ranges_count(&call);
    if (status == COPSE_OK && !call.too_wide) status = sum_up(index->device, call.a.counts, ranges->n, &out->n);
    *out_done = status != COPSE_OK || !(call.too_wide || out->n >> 31);
    if (status == COPSE_OK && *out_done && out->n) status = rows_list(&call, out->n, out, out_scratch);
    if (status == COPSE_OK) status = copse_device_wait(index->device, index->device->main);
    ranges_free(&call);
    if (promised && !*out_done) copse_promise_begin(index);
    return status;
}
