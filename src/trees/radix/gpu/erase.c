/* Keys go from the radix tree on a device by kernels, in rounds (copse_radix_erase_arguments). The memory for smaller nodes is there before;
 * what becomes free waits for the next keys that come. */
#include "gpu/call.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* Keys on their way out. */
typedef struct take_call {
    copse_index *index;
    uint64_t n;
    copse_radix_input keys;
    const void *values; /* NULL: whatever values they have */
    bool values_there;
    copse_radix_leaves leaves;           /* instead of keys  */
    copse_radix_upsert_arguments claims; /* finds the leaves */
    copse_radix_taking taking;
    copse_scratch found;
} take_call;

static copse_status launch(const copse_index *index, const copse_radix_taking *taking, const copse_kernel *kernel,
                           uint64_t n)
{
    copse_device *device = index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, n), &taking->a);
}

static copse_status tally_read(const copse_index *index, copse_radix_taking *taking)
{
    copse_device *device = index->device;
    return copse_device_read(device, device->main, &taking->tally, taking->a.tally, sizeof taking->tally);
}

/* --- before ------------------------------------------------------------------------------------------------------------------- */

static copse_status claims_make(take_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *c = &call->claims;
    copse_radix_erase_arguments *a = &call->taking.a;
    const uint64_t n = c->n = a->keys_n = call->n,
                   bytes = call->values && !call->values_there ? n * copse_type_size(call->index->value_type) : 0;
    void *own = NULL;
    c->claim_bits = 5;
    while (UINT64_C(1) << c->claim_bits < 2 * n) c->claim_bits++;
    const copse_scratch_array arrays[] = {{(void **)&c->missing, 2 * sizeof *c->missing},
                                          {(void **)&a->tally, sizeof *a->tally},
                                          {(void **)&c->claims, sizeof *c->claims << c->claim_bits},
                                          {(void **)&c->places, n * sizeof *c->places},
                                          {(void **)&a->pending, n * sizeof *a->pending},
                                          {(void **)&a->later, n * sizeof *a->later},
                                          {&own, bytes}};
    copse_status status = copse_scratch_take(device, "the keys that go", arrays, 7, &call->found);
    if (status == COPSE_OK) /* missing, the tally, and the claims behind them */
        status =
            copse_device_fill(device, device->main, c->missing, 0,
                              (uint64_t)((char *)(c->claims + (UINT64_C(1) << c->claim_bits)) - (char *)c->missing));
    if (status == COPSE_OK && bytes) status = copse_transfer_to_device(device, own, call->values, bytes);
    c->values = bytes ? own : call->values;
    c->match = call->values != NULL;
    a->claims = c->claims;
    a->claim_bits = c->claim_bits;
    a->places = c->places;
    return status;
}

/* Finds the leaves of all keys. */
static copse_status keys_find(take_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_upsert_arguments *c = &call->claims;
    uint64_t words[COPSE_REPORT_WORDS];
    c->tree = call->taking.a.tree;
    c->keys = call->taking.a.keys = call->keys.strings;
    copse_status status =
        copse_radix_report(device, &copse_radix_kernels_on(device)->claim, c->n, c, &c->report, words);
    if (status == COPSE_OK && words[COPSE_RADIX_UNSOUND] != UINT64_MAX)
        status = copse_radix_input_fail(call->index, &call->keys, words[COPSE_RADIX_UNSOUND]);
    return status;
}

/* What goes: of each leaf one position is pending. */
static copse_status doomed_find(take_call *call)
{
    const copse_radix_kernels *kernels = copse_radix_kernels_on(call->index->device);
    copse_radix_taking *taking = &call->taking;
    taking->a.tree = copse_radix_device_of(call->index)->view;
    copse_status status =
        taking->a.leaves ? launch(call->index, taking, &kernels->claim_leaves, call->n) : keys_find(call);
    if (status == COPSE_OK) status = launch(call->index, taking, &kernels->doomed, call->n);
    return status == COPSE_OK ? tally_read(call->index, taking) : status;
}

copse_status copse_radix_taking_open(const copse_index *index, uint64_t n, copse_radix_taking *taking)
{
    copse_radix_erase_arguments *a = &taking->a;
    a->n = n;
    a->bits = 5;
    while (UINT64_C(1) << a->bits < 2 * n) a->bits++;
    const copse_scratch_array arrays[] = {{(void **)&a->spots, n * sizeof *a->spots},
                                          {(void **)&a->groups, sizeof *a->groups << a->bits},
                                          {(void **)&a->freed, 3 * n * sizeof *a->freed}};
    return copse_scratch_take(index->device, "the keys that go", arrays, 3, &taking->scratch);
}

static copse_status items_reserve(const copse_index *index, copse_radix_taking *taking)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    uint64_t most[COPSE_RADIX_TYPES], freed[COPSE_RADIX_TYPES];
    copse_radix_items_most(tree, taking->a.n, NULL, most);
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++) freed[type] = taking->a.n;
    copse_status status = copse_radix_mirror_reserve(index, most);
    if (status == COPSE_OK) status = copse_radix_ahead_make(index, tree, taking->a.items.ahead);
    if (status == COPSE_OK) status = copse_radix_spares_hand(index, most, freed, &taking->a.items);
    return status;
}

copse_status copse_radix_taking_items(const copse_index *index, bool late, copse_radix_taking *taking)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    const uint64_t none[COPSE_RADIX_TYPES] = {0};
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = items_reserve(index, taking);
    taking->a.shrink = status == COPSE_OK;
    if (status == COPSE_ERR_MEMORY && late) {
        copse_error_put_back(&kept);
        memcpy(taking->a.items.ahead, tree->ahead_bits, sizeof tree->ahead_bits);
        status = copse_radix_spares_hand(index, none, none, &taking->a.items);
    }
    taking->a.tree = tree->view;
    return status;
}

/* --- rounds ------------------------------------------------------------------------------------------------------------------- */

static copse_status take_round(const copse_index *index, copse_radix_taking *taking)
{
    copse_device *device = index->device;
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    copse_radix_erase_arguments *a = &taking->a;
    copse_status status = copse_device_fill(device, device->main, a->groups, 0, sizeof *a->groups << a->bits);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, &a->tally->later, 0, sizeof a->tally->later);
    if (status == COPSE_OK) status = launch(index, taking, &kernels->lose, a->n);
    if (status == COPSE_OK) status = launch(index, taking, &kernels->take, a->n);
    if (status == COPSE_OK) status = tally_read(index, taking);
    if (status != COPSE_OK) return status;
    uint32_t *const done = a->pending;
    a->pending = a->later;
    a->later = done;
    a->n = taking->tally.later;
    a->tree.root = taking->tally.root;
    while (a->bits > 5 && UINT64_C(1) << (a->bits - 1) >= 2 * a->n) a->bits--; /* less to clear */
    return COPSE_OK;
}

copse_status copse_radix_taking_run(copse_index *index, copse_radix_taking *taking, uint64_t *out_erased)
{
    copse_device *device = index->device;
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_radix_erase_arguments *a = &taking->a;
    taking->tally = (copse_radix_tally){.root = tree->view.root};
    copse_status status = copse_device_copy(device, device->main, a->tally, &taking->tally, sizeof taking->tally);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    while (status == COPSE_OK && a->n) status = take_round(index, taking);
    if (status != COPSE_OK) return status;
    *out_erased = taking->tally.erased;
    tree->host.entries -= taking->tally.erased;
    tree->host.root = tree->view.root = taking->tally.root;
    return copse_radix_spares_account(index, &a->items, &taking->tally, a->tally, a->freed);
}

/* --- the whole ---------------------------------------------------------------------------------------------------------------- */

static copse_status take_run(take_call *call, uint64_t *out_erased)
{
    copse_radix_taking *taking = &call->taking;
    copse_status status = claims_make(call);
    *out_erased = 0;
    if (status == COPSE_OK) status = doomed_find(call);
    if (status == COPSE_OK) status = copse_progress(call->index->ctx, "erasing", call->n, call->n);
    if (status != COPSE_OK || taking->tally.later == 0) return status;
    status = copse_radix_taking_open(call->index, taking->tally.later, taking);
    if (status == COPSE_OK) status = copse_radix_taking_items(call->index, false, taking);
    return status == COPSE_OK ? copse_radix_taking_run(call->index, taking, out_erased) : status;
}

static void take_free(take_call *call)
{
    copse_scratch_free(call->index->device, &call->taking.scratch);
    copse_scratch_free(call->index->device, &call->found);
    copse_scratch_free(call->index->device, &call->keys.scratch);
}

copse_status copse_radix_device_take(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased, bool *out_done)
{
    take_call call = {.index = index, .n = n, .values = values};
    *out_done = false;
    if (copse_radix_device_of(index)->marks.without || n >> 31) return COPSE_OK;
    copse_status status = copse_radix_input_look(index, "keys", keys, n, &call.keys);
    if (status == COPSE_OK && values) status = copse_call_array(index, values, "values", &call.values_there);
    *out_done = true;
    (void)copse_promise_end(COPSE_OK);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status == COPSE_OK) status = copse_radix_input_bring(index, &call.keys);
    if (status == COPSE_OK) status = take_run(&call, out_erased);
    take_free(&call);
    return status;
}

copse_status copse_radix_device_take_ranges(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased,
                                            bool *out_done)
{
    take_call call = {.index = index};
    copse_scratch listed = {0};
    *out_done = false;
    if (copse_radix_device_of(index)->marks.without) return COPSE_OK;
    copse_status status = copse_radix_device_leaves(index, ranges, &call.leaves, &listed, out_done);
    call.n = call.leaves.n;
    call.taking.a.leaves = call.leaves.links;
    if (status == COPSE_OK && *out_done && call.n) status = take_run(&call, out_erased);
    take_free(&call);
    copse_scratch_free(index->device, &listed);
    return status;
}
