/* The radix tree on a device is built there: keys in order become one tree (gpu/forest.c), whose leaves lie in key order in their pools. The
 * host gets its copy when it first needs one. */
#include "gpu/call.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* A build on its way. */
typedef struct grow_call {
    copse_index *index;
    copse_radix_input keys;
    const void *values; /* device memory; NULL: positions */
    copse_radix_ordered ordered;
    copse_radix_forest forest;
    copse_radix_device made;
    copse_scratch scratch;
} grow_call;

/* Brings keys and values. Offsets in device memory are looked at by a find in a tree that has nothing. */
static copse_status inputs_bring(grow_call *call, const void *values, bool values_there, uint64_t n)
{
    copse_device *device = call->index->device;
    const uint64_t bytes = n * call->made.view.width;
    void *own = NULL;
    uint64_t words[COPSE_REPORT_WORDS];
    copse_status status = copse_radix_input_bring(call->index, &call->keys);
    const copse_scratch_array array = {&own, values && !values_there ? bytes : 0};
    if (status == COPSE_OK) status = copse_scratch_take(device, "the values", &array, 1, &call->scratch);
    if (status == COPSE_OK && own) status = copse_transfer_to_device(device, own, values, bytes);
    call->values = own ? own : values;
    if (status != COPSE_OK || !call->keys.offsets_there) return status;
    copse_radix_find_arguments a = {.keys = call->keys.strings, .n = n};
    status = copse_radix_report(device, &copse_radix_kernels_on(device)->find, n, &a, &a.report, words);
    if (status != COPSE_OK || words[COPSE_RADIX_UNSOUND] == UINT64_MAX) return status;
    return copse_radix_input_fail(call->index, &call->keys, words[COPSE_RADIX_UNSOUND]);
}

/* Pools for exactly what there will be, all of which the host lacks. */
static copse_status pools_make(grow_call *call)
{
    copse_radix_device *made = &call->made;
    const copse_radix_forest *forest = &call->forest;
    uint32_t *ahead[COPSE_RADIX_TYPES];
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++)
        made->more[type] = type < COPSE_RADIX_LEAF8 ? forest->tally.needed[type] : forest->leaves[type];
    copse_status status = copse_radix_mirror_size(call->index, made);
    if (status == COPSE_OK) status = copse_radix_ahead_make(call->index, made, ahead);
    if (status == COPSE_OK)
        status = copse_device_fill(call->index->device, call->index->device->main, made->ahead.memory, 0xFF,
                                   made->ahead.bytes);
    return status;
}

static copse_status tree_make(grow_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_forest *forest = &call->forest;
    copse_radix_device *made = &call->made;
    forest->a.tree = made->view;
    copse_status status = copse_radix_forest_make(call->index, forest);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &forest->a.tree.root, forest->a.roots, sizeof(uint64_t));
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->height,
                                     copse_device_blocks(device, forest->a.n), &forest->a);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, &forest->tally, forest->a.tally, sizeof forest->tally);
    made->host.root = made->view.root = forest->a.tree.root;
    made->host.height = (uint32_t)forest->tally.levels;
    made->host.entries = forest->a.n;
    made->host.ordered = true;
    return status;
}

/* The tree that was made takes the place of the old one. */
static void tree_replace(grow_call *call)
{
    copse_index *index = call->index;
    copse_radix_device *tree = copse_radix_device_of(index), *made = &call->made;
    copse_radix_mirror_free(index, tree);
    copse_radix_release(index->ctx, &tree->host);
    tree->host = made->host;
    tree->host.marks = &tree->marks;
    tree->marks.without = 0;
    tree->view = made->view;
    tree->ahead = made->ahead;
    memcpy(tree->bytes, made->bytes, sizeof tree->bytes);
    memcpy(tree->more, made->more, sizeof tree->more);
    memset(tree->known, 0, sizeof tree->known);
    memcpy(tree->ahead_bits, made->ahead_bits, sizeof tree->ahead_bits);
    memcpy(tree->ahead_bytes, made->ahead_bytes, sizeof tree->ahead_bytes);
    atomic_store_explicit(&tree->is_ahead, true, memory_order_release);
    atomic_store_explicit(&tree->behind, false, memory_order_release);
}

/* Of keys on the device, those whose place is UINT32_MAX. */
static copse_status grow_run(grow_call *call, const copse_radix_strings *keys, uint64_t n, const uint32_t *places,
                             bool first)
{
    copse_status status = copse_radix_order(call->index, keys, n, places, first, false, &call->ordered);
    if (status == COPSE_OK)
        status = copse_radix_forest_shape(call->index, &call->ordered, call->values, NULL, &call->forest);
    if (status == COPSE_OK) status = pools_make(call);
    if (status == COPSE_OK) status = tree_make(call);
    if (status == COPSE_OK) status = copse_progress(call->index->ctx, "building", n, n);
    if (status == COPSE_OK)
        tree_replace(call);
    else
        copse_radix_mirror_free(call->index, &call->made);
    return status;
}

static void grow_free(grow_call *call)
{
    copse_scratch_free(call->index->device, &call->forest.scratch);
    copse_scratch_free(call->index->device, &call->ordered.scratch);
    copse_scratch_free(call->index->device, &call->scratch);
    copse_scratch_free(call->index->device, &call->keys.scratch);
}

copse_status copse_radix_device_plant(copse_index *index, const copse_radix_upsert_arguments *batch)
{
    grow_call call = {.index = index, .values = batch->values, .made.view.width = batch->tree.width};
    copse_radix_init(&call.made.host, batch->tree.width);
    copse_status status = grow_run(&call, &batch->keys, batch->n, batch->places, false);
    grow_free(&call);
    return status;
}

copse_status copse_radix_device_grow(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint32_t flags, bool *out_done)
{
    const copse_radix_device *tree = copse_radix_device_of(index);
    grow_call call = {.index = index, .made = {.view.width = tree->view.width}};
    bool values_there = false;
    *out_done = false;
    if (n == 0 || n >> 31) return COPSE_OK;
    copse_radix_init(&call.made.host, tree->view.width);
    copse_status status = copse_radix_input_look(index, "keys", keys, n, &call.keys);
    if (status == COPSE_OK && values) status = copse_call_array(index, values, "values", &values_there);
    if (status != COPSE_OK) return status;
    *out_done = true;
    (void)copse_promise_end(COPSE_OK);
    status = inputs_bring(&call, values, values_there, n);
    if (status == COPSE_OK)
        status = grow_run(&call, &call.keys.strings, n, NULL, (flags & COPSE_INSERT_IF_ABSENT) != 0);
    grow_free(&call);
    return status;
}
