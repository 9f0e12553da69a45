/*
 * Mixed batches on the radix tree on a device, by kernels: they find the leaves of the keys, put the operations in the order of keys, and go
 * through those of each key, which says how it ends. Keys that are new then come as in an insert, values change, and keys go as in an erase. What
 * needs memory does so before the first change, but for smaller nodes in the place of those that lose keys.
 */
#include "cpu/driver.h"
#include "gpu/call.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* An array of the caller, and where kernels read or write it. */
typedef struct side {
    void *callers, *there;
    uint64_t bytes; /* 0: the caller's own, or not wanted */
} side;

enum { OPERATIONS, VALUES, OUT_VALUES, OUT_FOUND, SIDES };

/* A batch on its way. */
typedef struct mix_call {
    copse_index *index;
    uint64_t n;
    copse_radix_input keys;
    side sides[SIDES];
    copse_radix_upsert_arguments batch;
    copse_radix_ordered ordered;
    copse_radix_apply_arguments a;
    uint64_t fates[COPSE_RADIX_FATES];
    copse_radix_taking taking;
    copse_scratch scratch;
} mix_call;

/* Are the operations such that they can be run? They are looked at in host memory. */
static copse_status operations_check(const mix_call *call, bool *out_finds)
{
    const copse_index *index = call->index;
    const side *given = &call->sides[OPERATIONS];
    const bool has_values = call->sides[VALUES].callers || index->value_type == COPSE_NONE;
    const uint8_t *operations = given->callers;
    uint8_t *copy = NULL;
    copse_status status = COPSE_OK;
    bool adds;
    if (!given->bytes) {
        operations = copy = copse_memory_alloc(index->ctx, call->n);
        if (!copy) return copse_fail_memory(index->ctx, call->n, "the operations");
        status = copse_device_read(index->device, index->device->main, copy, given->callers, call->n);
    }
    if (status == COPSE_OK)
        status = copse_cpu_check_operations(index, operations, call->n, has_values, out_finds, &adds);
    copse_memory_free(index->ctx, copy, call->n);
    return status;
}

static copse_status sides_look(mix_call *call, const void *const arrays[SIDES])
{
    static const char *const names[] = {"operations", "values", "out_values", "out_found"};
    copse_status status = COPSE_OK;
    for (unsigned i = 0; i < SIDES && status == COPSE_OK; i++) {
        side *s = &call->sides[i];
        const uint64_t width = i == VALUES || i == OUT_VALUES ? call->batch.tree.width : 1;
        bool there = true;
        if (arrays[i]) status = copse_call_array(call->index, arrays[i], names[i], &there);
        s->callers = s->there = (void *)(uintptr_t)arrays[i];
        s->bytes = there ? 0 : call->n * width;
    }
    return status;
}

/* --- before -------------------------------------------------------------------------------------------------------------------- */

static copse_status arrays_make(mix_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *b = &call->batch;
    copse_radix_apply_arguments *a = &call->a;
    copse_radix_erase_arguments *t = &call->taking.a;
    const uint64_t n = b->n = call->n;
    b->claim_bits = 5;
    while (UINT64_C(1) << b->claim_bits < 2 * n) b->claim_bits++;
    a->nobody = (uint32_t)1 << b->claim_bits;
    copse_scratch_array arrays[8 + SIDES] = {{(void **)&b->missing, 2 * sizeof *b->missing},
                                             {(void **)&a->fates, COPSE_RADIX_FATES * sizeof *a->fates},
                                             {(void **)&t->tally, sizeof *t->tally},
                                             {(void **)&b->claims, (a->nobody + UINT64_C(1)) * sizeof *b->claims},
                                             {(void **)&b->places, n * sizeof *b->places},
                                             {(void **)&t->pending, n * sizeof *t->pending},
                                             {(void **)&t->later, n * sizeof *t->later},
                                             {&a->finals, n * b->tree.width}};
    unsigned count = 8;
    for (unsigned i = 0; i < SIDES; i++)
        arrays[count++] = (copse_scratch_array){&call->sides[i].there, call->sides[i].bytes};
    copse_status status = copse_scratch_take(device, "the operations of the batch", arrays, count, &call->scratch);
    if (status == COPSE_OK) /* missing, fates, and the claims behind them */
        status = copse_device_fill(device, device->main, b->missing, 0,
                                   (uint64_t)((char *)(b->claims + a->nobody) - (char *)b->missing));
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, b->claims + a->nobody, 0xFF, sizeof *b->claims);
    for (unsigned i = 0; i <= VALUES && status == COPSE_OK; i++)
        if (call->sides[i].bytes)
            status =
                copse_transfer_to_device(device, call->sides[i].there, call->sides[i].callers, call->sides[i].bytes);
    return status;
}

/* Which keys are there. */
static copse_status leaves_find(mix_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *b = &call->batch;
    uint64_t words[COPSE_REPORT_WORDS];
    b->keys = call->taking.a.keys = call->keys.strings;
    call->taking.a.keys_n = call->n;
    const copse_status status =
        copse_radix_report(device, &copse_radix_kernels_on(device)->claim, b->n, b, &b->report, words);
    if (status != COPSE_OK || words[COPSE_RADIX_UNSOUND] == UINT64_MAX) return status;
    return copse_radix_input_fail(call->index, &call->keys, words[COPSE_RADIX_UNSOUND]);
}

/* Goes through the operations; then it is known how many keys come, go and change. */
static copse_status operations_run(mix_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *b = &call->batch;
    copse_radix_apply_arguments *a = &call->a;
    copse_status status = copse_radix_order(call->index, &b->keys, b->n, NULL, false, true, &call->ordered);
    if (status != COPSE_OK) return status;
    a->tree = b->tree;
    a->type = call->index->value_type;
    a->operations = call->sides[OPERATIONS].there;
    a->values = call->sides[VALUES].there;
    a->out_values = call->sides[OUT_VALUES].there;
    a->out_found = call->sides[OUT_FOUND].there;
    a->positions = call->ordered.sorted;
    a->ends = call->ordered.ends;
    a->n = call->ordered.n;
    a->claims = b->claims;
    a->places = b->places;
    a->going = call->taking.a.pending;
    b->values = a->finals;
    status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->apply,
                                 copse_device_blocks(device, a->n), a);
    return status == COPSE_OK ? copse_device_read(device, device->main, call->fates, a->fates, sizeof call->fates)
                              : status;
}

/* Answers that are wanted in host memory. */
static copse_status answers_give(mix_call *call)
{
    copse_status status = COPSE_OK;
    for (unsigned i = OUT_VALUES; i < SIDES && status == COPSE_OK; i++)
        if (call->sides[i].bytes)
            status = copse_transfer_to_host(call->index->device, call->sides[i].callers, call->sides[i].there,
                                            call->sides[i].bytes);
    return status;
}

/* --- changes ------------------------------------------------------------------------------------------------------------------- */

/* Values of keys that were there and stay. */
static copse_status values_write(mix_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *b = &call->batch;
    uint64_t words[COPSE_REPORT_WORDS];
    b->tree = call->taking.a.tree;
    b->partly = 1;
    memcpy(b->ahead, call->taking.a.items.ahead, sizeof b->ahead);
    return copse_radix_report(device, &copse_radix_kernels_on(device)->upsert, b->n, b, &b->report, words);
}

static copse_status changes_make(mix_call *call, bool *out_done)
{
    copse_index *index = call->index;
    const bool comes = call->fates[COPSE_RADIX_COMES] != 0;
    uint64_t n = 0;
    if (!copse_size(index)) return copse_radix_device_plant(index, &call->batch);
    call->batch.keep = call->batch.tree.width == 0;
    copse_status status = copse_radix_taking_open(index, call->fates[COPSE_RADIX_GOES], &call->taking);
    if (status == COPSE_OK && comes)
        status = copse_radix_device_add(index, &call->batch, 0, call->fates[COPSE_RADIX_GOES], &n, out_done);
    if (status != COPSE_OK || !*out_done) return status;
    status = copse_radix_taking_items(index, comes, &call->taking);
    if (status == COPSE_OK && !comes && call->fates[COPSE_RADIX_CHANGES]) status = values_write(call);
    if (status == COPSE_OK && call->taking.a.n) status = copse_radix_taking_run(index, &call->taking, &n);
    return status;
}

static copse_status mix_run(mix_call *call, bool *out_done)
{
    copse_index *index = call->index;
    copse_status status = copse_progress(index->ctx, "applying", 0, call->n);
    if (status == COPSE_OK) status = copse_radix_input_bring(index, &call->keys);
    if (status == COPSE_OK) status = arrays_make(call);
    if (status == COPSE_OK) status = leaves_find(call);
    if (status == COPSE_OK) status = operations_run(call);
    if (status == COPSE_OK) status = answers_give(call);
    if (status == COPSE_OK) status = copse_progress(index->ctx, "applying", call->n, call->n);
    bool changes = false;
    for (unsigned i = 0; i < COPSE_RADIX_FATES; i++) changes = changes || call->fates[i];
    if (status != COPSE_OK || !changes) return status;
    status = changes_make(call, out_done);
    if (status == COPSE_OK && *out_done) copse_version_advance(index);
    return status;
}

copse_status copse_radix_device_mix(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                                    uint64_t n, void *out_values, uint8_t *out_found, bool *out_done)
{
    const void *const arrays[SIDES] = {operations, values, out_values, out_found};
    mix_call call = {.index = index, .n = n, .batch.tree = copse_radix_device_of(index)->view};
    bool finds = false;
    *out_done = false;
    if (copse_radix_device_of(index)->marks.without || n >> 30) return COPSE_OK;
    copse_status status = sides_look(&call, arrays);
    if (status == COPSE_OK) status = operations_check(&call, &finds);
    if (status == COPSE_OK && !finds) status = copse_radix_input_look(index, "keys", keys, n, &call.keys);
    *out_done = true;
    if (status == COPSE_OK && finds) {
        status = copse_radix_device_find(index, keys, n, out_values, out_found);
        return status == COPSE_OK ? copse_device_wait(index->device, index->device->main) : status;
    }
    const bool promised = index->ctx->device_arrays;
    (void)copse_promise_end(COPSE_OK);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status == COPSE_OK) call.batch.tree = copse_radix_device_of(index)->view;
    if (status == COPSE_OK) status = mix_run(&call, out_done);
    copse_scratch_free(index->device, &call.taking.scratch);
    copse_scratch_free(index->device, &call.ordered.scratch);
    copse_scratch_free(index->device, &call.scratch);
    copse_scratch_free(index->device, &call.keys.scratch);
    if (promised && !*out_done) copse_promise_begin(index);
    return status;
}
