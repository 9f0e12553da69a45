/* Keys that are new come into the radix tree on a device by kernels: in order, they become trees (gpu/forest.c), and those come to the tree in
 * rounds (copse_radix_insert_arguments). All memory that they may need is there before the first of them changes anything. */
#include "gpu/sort.h"
#include "trees/radix/gpu/tree.h"

/* Trees that may want the same place: of those that share different numbers of bytes with it each takes a round. Where there are more,
 * the host is faster. */
#define CROWD_MOST 1024u

/* New keys on their way. */
typedef struct add_call {
    copse_index *index;
    copse_radix_device *tree;
    uint64_t going; /* keys that will go behind it */
    copse_radix_ordered keys;
    copse_radix_forest forest;
    copse_radix_insert_arguments a;
    uint32_t *lists[2]; /* pending trees, in turns */
    copse_radix_blocks blocks;
    copse_scratch spots, scratch, grouped;
    copse_radix_tally tally;
} add_call;

static copse_status launch(add_call *call, const copse_kernel *kernel)
{
    copse_device *device = call->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, call->a.n), &call->a);
}

/* --- before ----------------------------------------------------------------------------------------------------------------- */

/* Where all keys are to go, and with that which of them make a tree together. */
static copse_status keys_locate(add_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_insert_arguments *a = &call->a;
    const copse_scratch_array arrays[] = {{(void **)&a->first, call->keys.n * sizeof *a->first},
                                          {(void **)&a->tally, sizeof *a->tally}};
    copse_status status = copse_scratch_take(device, "the new keys", arrays, 2, &call->spots);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, a->tally, 0, sizeof *a->tally);
    a->keys = call->keys.keys;
    a->keys_n = call->keys.keys_n;
    a->unique = call->keys.unique;
    a->common = call->keys.common;
    a->n = a->unique_n = call->keys.n;
    return status == COPSE_OK ? launch(call, &copse_radix_kernels_on(device)->locate) : status;
}

/* The heap of the host grows by blocks of whole chunks, of which the last may not be whole and moves then, and no leaf may lie in two of them. How many
 * units there are up to the next place where one of them may begin. */
static uint64_t heap_gap(const copse_radix_device *tree)
{
    const copse_radix_pool *pool = &tree->host.heap.pool;
    const uint64_t used = copse_radix_items_used(tree, COPSE_RADIX_LEAF_LONG),
                   next = pool->capacity >> pool->shift << pool->shift;
    return next > used ? next - used : 0;
}

/* What a leaf that did not fit in front of that place has left over there. */
static uint64_t heap_lost(const add_call *call)
{
    const uint64_t gap = call->a.items.gap;
    return call->forest.leaves[COPSE_RADIX_LEAF_LONG] > gap && gap ? gap - call->tally.fits : 0;
}

static copse_status scratch_make(add_call *call)
{
    copse_radix_insert_arguments *a = &call->a;
    const uint64_t n = call->forest.tally.heads;
    a->bits = 5;
    while (UINT64_C(1) << a->bits < 2 * n) a->bits++;
    const copse_scratch_array arrays[] = {{(void **)&call->lists[1], n * sizeof(uint32_t)},
                                          {(void **)&a->spots, n * sizeof *a->spots},
                                          {(void **)&a->groups, sizeof *a->groups << a->bits},
                                          {(void **)&a->nodes, sizeof *a->nodes << a->bits},
                                          {(void **)&a->freed, n * sizeof *a->freed}};
    return copse_scratch_take(call->index->device, "the new keys", arrays, 5, &call->scratch);
}

/* Memory for everything, after the first round has said what it takes. */
static copse_status add_prepare(add_call *call)
{
    const copse_index *index = call->index;
    copse_radix_device *tree = call->tree;
    const copse_radix_forest *forest = &call->forest;
    uint64_t most[COPSE_RADIX_TYPES], freed[COPSE_RADIX_TYPES] = {0}, larger = 0;
    memcpy(most, forest->leaves, sizeof most);
    for (uint32_t type = COPSE_RADIX_NODE256; type >= COPSE_RADIX_NODE2; type--) {
        most[type] = forest->tally.needed[type] + call->tally.needed[type];
        freed[type] = larger; /* nodes that made place for larger ones */
        larger += call->tally.needed[type];
    }
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++) freed[type] += call->going;
    call->a.items.gap = heap_gap(tree);
    if (forest->leaves[COPSE_RADIX_LEAF_LONG] > call->a.items.gap) /* and what is lost there at most */
        most[COPSE_RADIX_LEAF_LONG] += copse_radix_heap_units(copse_radix_units((uint32_t)call->keys.longest, 8));
    copse_status status = copse_radix_mirror_reserve(index, most);
    if (status == COPSE_OK) status = copse_radix_ahead_make(index, tree, call->a.items.ahead);
    if (status == COPSE_OK) status = copse_radix_spares_hand(index, most, freed, &call->a.items);
    call->a.tree = tree->view;
    return status;
}

/* --- rounds ----------------------------------------------------------------------------------------------------------------- */

static copse_status tally_read(add_call *call)
{
    copse_device *device = call->index->device;
    return copse_device_read(device, device->main, &call->tally, call->a.tally, sizeof call->tally);
}

/* Where trees are to go, for a new round. */
static copse_status round_locate(add_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_insert_arguments *a = &call->a;
    copse_status status = copse_device_fill(device, device->main, a->groups, 0, sizeof *a->groups << a->bits);
    if (status == COPSE_OK) status = copse_device_fill(device, device->main, a->nodes, 0, sizeof *a->nodes << a->bits);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, &a->tally->later, 0, sizeof a->tally->later);
    return status == COPSE_OK ? launch(call, &copse_radix_kernels_on(device)->locate) : status;
}

static copse_status round_hang(add_call *call)
{
    copse_radix_insert_arguments *a = &call->a;
    copse_status status = launch(call, &copse_radix_kernels_on(call->index->device)->hang);
    if (status == COPSE_OK) status = tally_read(call);
    if (status != COPSE_OK) return status;
    a->tree.root = call->tally.root;
    a->pending = a->later;
    a->later = a->pending == call->lists[0] ? call->lists[1] : call->lists[0];
    a->n = call->tally.later;
    a->again = 1;
    while (a->bits > 5 && UINT64_C(1) << (a->bits - 1) >= 2 * a->n) a->bits--; /* less to clear */
    return COPSE_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------------------- */

/* Leaves and nodes of the new trees, in memory that nothing else refers to yet. */
static copse_status trees_make(add_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_forest *forest = &call->forest;
    call->tally = (copse_radix_tally){.root = call->tree->view.root, .levels = call->tally.levels};
    memcpy(&call->tally.taken[COPSE_RADIX_LEAF8], &forest->leaves[COPSE_RADIX_LEAF8],
           (COPSE_RADIX_TYPES - COPSE_RADIX_LEAF8) * sizeof *forest->leaves);
    copse_status status = copse_device_copy(device, device->main, call->a.tally, &call->tally, sizeof call->tally);
    forest->a.tree = call->a.tree;
    forest->a.items = call->a.items;
    forest->a.tally = call->a.tally;
    return status == COPSE_OK ? copse_radix_forest_make(call->index, forest) : status;
}

/* Values of the keys that were there. */
static copse_status rest_write(const copse_index *index, const copse_radix_upsert_arguments *batch,
                               const add_call *call)
{
    copse_device *device = index->device;
    copse_radix_upsert_arguments rest = *batch;
    uint64_t words[COPSE_REPORT_WORDS];
    rest.tree = call->a.tree;
    rest.partly = 1;
    memcpy(rest.ahead, call->a.items.ahead, sizeof rest.ahead);
    return copse_radix_report(device, &copse_radix_kernels_on(device)->upsert, rest.n, &rest, &rest.report, words);
}

static copse_status add_run(add_call *call, const copse_radix_upsert_arguments *batch, bool *out_done)
{
    copse_radix_insert_arguments *a = &call->a;
    a->roots = call->forest.a.roots;
    a->pending = call->lists[0] = call->forest.a.heads;
    a->later = call->lists[1];
    a->n = call->forest.tally.heads;
    copse_status status = round_locate(call);
    if (status == COPSE_OK) status = launch(call, &copse_radix_kernels_on(call->index->device)->need);
    if (status == COPSE_OK) status = tally_read(call);
    if (status != COPSE_OK || call->tally.crowd > CROWD_MOST) return status;
    status = add_prepare(call);
    if (status == COPSE_OK) status = trees_make(call);
    if (status != COPSE_OK) return status; /* no memory for the numbers of leaves; nothing hangs yet */
    *out_done = true;
    status = round_hang(call);
    while (status == COPSE_OK && a->n) {
        status = round_locate(call);
        if (status == COPSE_OK) status = round_hang(call);
    }
    if (status == COPSE_OK && batch->places) status = rest_write(call->index, batch, call);
    if (status == COPSE_OK) status = copse_radix_blocks_leave(call->index, &call->blocks);
    if (status != COPSE_OK) return status;
    call->tally.taken[COPSE_RADIX_LEAF_LONG] += heap_lost(call);
    call->tree->host.heap.pool.free_count += heap_lost(call);
    call->tree->host.entries += call->keys.n;
    call->tree->host.root = call->tree->view.root = call->tally.root;
    return copse_radix_spares_account(call->index, &a->items, &call->tally, a->tally, a->freed);
}

copse_status copse_radix_device_add(copse_index *index, const copse_radix_upsert_arguments *batch, uint32_t flags,
                                    uint64_t going, uint64_t *out_inserted, bool *out_done)
{
    add_call call = {.index = index, .tree = copse_radix_device_of(index), .going = going};
    *out_done = false;
    copse_status status = copse_radix_order(index, &batch->keys, batch->n, batch->places,
                                            (flags & COPSE_INSERT_IF_ABSENT) != 0, false, &call.keys);
    call.a.tree = call.tree->view;
    if (status == COPSE_OK) status = keys_locate(&call);
    if (status == COPSE_OK && call.keys.longest > copse_radix_key_room(COPSE_RADIX_LEAF32))
        status = copse_radix_blocks_group(index, call.keys.n, &call.blocks, &call.grouped);
    if (status == COPSE_OK)
        status = copse_radix_forest_shape(index, &call.keys, batch->values, &call.blocks, &call.forest);
    if (status == COPSE_OK) status = scratch_make(&call);
    if (status == COPSE_OK) status = add_run(&call, batch, out_done);
    copse_scratch_free(index->device, &call.scratch);
    copse_scratch_free(index->device, &call.forest.scratch);
    copse_scratch_free(index->device, &call.grouped);
    copse_scratch_free(index->device, &call.spots);
    copse_scratch_free(index->device, &call.keys.scratch);
    if (status == COPSE_OK && *out_done) *out_inserted = call.keys.n;
    return status;
}
