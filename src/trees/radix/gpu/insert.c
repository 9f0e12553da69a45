/* Keys that are new come into the radix tree on a device by kernels, in rounds (copse_radix_insert_arguments). All memory that they may need
 * is there before the first of them changes anything. */
#include "gpu/sort.h"
#include "trees/radix/gpu/tree.h"

/* Keys that may want the same place: each takes a round. Where there are more, the host is faster. */
#define CROWD_MOST 64u

/* New keys on their way. */
typedef struct add_call {
    copse_index *index;
    copse_radix_device *tree;
    uint64_t n; /* keys that are missing, equal ones counted each */
    copse_radix_insert_arguments a;
    uint32_t *lists[2]; /* pending keys, in turns */
    uint64_t *hand;     /* free items, by type; host memory */
    uint64_t hand_n;
    uint64_t *hand_there;
    copse_scratch scratch;
    copse_radix_tally tally;
} add_call;

/* --- free items ------------------------------------------------------------------------------------------------------------- */

/* Room for so many spare items. */
static copse_status spares_reserve(const copse_index *index, copse_radix_device *tree, uint64_t room)
{
    if (room <= tree->spare_room) return COPSE_OK;
    const size_t bytes = copse_memory_product(room, sizeof *tree->spare);
    copse_radix_link *spare = copse_memory_alloc(index->ctx, bytes);
    if (!spare) return copse_fail_memory(index->ctx, bytes, "the radix tree");
    if (tree->spare_n) memcpy(spare, tree->spare, tree->spare_n * sizeof *spare);
    copse_memory_free(index->ctx, tree->spare, tree->spare_room * sizeof *spare);
    tree->spare = spare;
    tree->spare_room = room;
    return COPSE_OK;
}

/* Takes items from the lists of the host's pools: their bytes are the same on both sides, whatever kernels have done since. */
static void spares_take(add_call *call, const uint64_t *most)
{
    copse_radix_device *tree = call->tree;
    uint64_t have[COPSE_RADIX_TYPES] = {0};
    for (uint64_t i = 0; i < tree->spare_n; i++) have[copse_radix_type_of(tree->spare[i])]++;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++) {
        copse_radix_pool *pool = &tree->host.pools[type];
        for (; have[type] < most[type] && pool->free; have[type]++)
            tree->spare[tree->spare_n++] = copse_radix_link_of(type, 0, copse_radix_pool_take(pool));
    }
}

/* Spare items by type, as kernels take them. */
static void hand_fill(add_call *call)
{
    const copse_radix_device *tree = call->tree;
    call->hand_n = 0;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++) {
        const uint64_t first = call->hand_n;
        call->a.hand[type] = call->hand_there + first;
        call->a.used[type] = tree->host.pools[type].used + tree->more[type];
        for (uint64_t i = 0; i < tree->spare_n; i++)
            if (copse_radix_type_of(tree->spare[i]) == type)
                call->hand[call->hand_n++] = copse_radix_index_of(tree->spare[i]);
        call->a.hand_n[type] = call->hand_n - first;
    }
}

/* --- before ----------------------------------------------------------------------------------------------------------------- */

static copse_status scratch_make(add_call *call, uint64_t hand)
{
    copse_radix_insert_arguments *a = &call->a;
    a->bits = 5;
    while (UINT64_C(1) << a->bits < 2 * call->n) a->bits++;
    const copse_scratch_array arrays[] = {{(void **)&call->lists[1], call->n * sizeof(uint32_t)},
                                          {(void **)&a->spots, call->n * sizeof *a->spots},
                                          {(void **)&a->groups, sizeof *a->groups << a->bits},
                                          {(void **)&a->changing, sizeof *a->changing << a->bits},
                                          {(void **)&a->tally, sizeof *a->tally},
                                          {(void **)&a->made, call->n * sizeof *a->made},
                                          {(void **)&a->freed, call->n * sizeof *a->freed},
                                          {(void **)&call->hand_there, (hand + 1) * sizeof *call->hand}};
    return copse_scratch_take(call->index->device, "the new keys", arrays, 8, &call->scratch);
}

/* Memory for everything. */
static copse_status add_prepare(add_call *call, const uint64_t *leaves)
{
    const copse_index *index = call->index;
    copse_radix_device *tree = call->tree;
    uint64_t most[COPSE_RADIX_TYPES] = {0}, free = tree->spare_n;
    copse_status status = copse_radix_mirror_reserve(index, call->n, leaves);
    if (status == COPSE_OK) status = copse_radix_ahead_make(index, call->a.ahead);
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++) {
        most[type] = copse_radix_items_most(tree, type, call->n, leaves);
        free += most[type] < tree->host.pools[type].free_count ? most[type] : tree->host.pools[type].free_count;
    }
    if (status == COPSE_OK) status = spares_reserve(index, tree, free + call->n);
    if (status == COPSE_OK) status = scratch_make(call, free);
    if (status != COPSE_OK) return status;
    call->hand = copse_memory_alloc(index->ctx, (free + 1) * sizeof *call->hand);
    if (!call->hand) return copse_fail_memory(index->ctx, (free + 1) * sizeof *call->hand, "the new keys");
    spares_take(call, most);
    hand_fill(call);
    call->tally = (copse_radix_tally){.root = tree->view.root};
    copse_device *device = index->device;
    status = copse_device_copy(device, device->main, call->hand_there, call->hand, call->hand_n * sizeof *call->hand);
    if (status == COPSE_OK)
        status = copse_device_copy(device, device->main, call->a.tally, &call->tally, sizeof call->tally);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    copse_memory_free(index->ctx, call->hand, (free + 1) * sizeof *call->hand);
    return status;
}

/* --- rounds ----------------------------------------------------------------------------------------------------------------- */

static copse_status tally_read(add_call *call)
{
    copse_device *device = call->index->device;
    return copse_device_read(device, device->main, &call->tally, call->a.tally, sizeof call->tally);
}

/* Where keys are to go, for a new round. */
static copse_status round_locate(add_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_insert_arguments *a = &call->a;
    copse_status status = copse_device_fill(device, device->main, a->groups, 0, sizeof *a->groups << a->bits);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, a->changing, 0, sizeof *a->changing << a->bits);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, &a->tally->later, 0, sizeof a->tally->later);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->locate,
                                     copse_device_blocks(device, a->n), a);
    return status;
}

static copse_status round_hang(add_call *call)
{
    copse_device *device = call->index->device;
    copse_radix_insert_arguments *a = &call->a;
    copse_status status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->hang,
                                              copse_device_blocks(device, a->n), a);
    if (status == COPSE_OK) status = tally_read(call);
    if (status != COPSE_OK) return status;
    a->tree.root = call->tally.root;
    a->pending = a->later;
    a->later = a->pending == call->lists[0] ? call->lists[1] : call->lists[0];
    a->n = call->tally.later;
    while (a->bits > 5 && UINT64_C(1) << (a->bits - 1) >= 2 * a->n) a->bits--; /* less to clear */
    return COPSE_OK;
}

/* --- after ------------------------------------------------------------------------------------------------------------------ */

/* What kernels have taken and freed. */
static copse_status add_account(add_call *call)
{
    copse_radix_device *tree = call->tree;
    copse_device *device = call->index->device;
    uint64_t kept = 0, seen[COPSE_RADIX_TYPES] = {0};
    for (uint64_t i = 0; i < tree->spare_n; i++) {
        const uint32_t type = copse_radix_type_of(tree->spare[i]);
        if (seen[type]++ >= call->tally.taken[type]) tree->spare[kept++] = tree->spare[i];
    }
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_LEAF_LONG; type++)
        if (call->tally.taken[type] > call->a.hand_n[type])
            tree->more[type] += call->tally.taken[type] - call->a.hand_n[type];
    tree->spare_n = kept + call->tally.freed;
    tree->host.entries += call->tally.made;
    tree->host.root = tree->view.root = call->tally.root;
    if (tree->host.height < call->tally.levels) tree->host.height = (uint32_t)call->tally.levels;
    if (call->tally.freed == 0) return COPSE_OK;
    return copse_device_read(device, device->main, tree->spare + kept, call->a.freed,
                             call->tally.freed * sizeof *tree->spare);
}

static copse_status add_run(add_call *call, const copse_radix_upsert_arguments *batch, bool *out_done)
{
    copse_device *device = call->index->device;
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    copse_status status = round_locate(call);
    if (status == COPSE_OK) status = tally_read(call);
    if (status != COPSE_OK || call->tally.crowd > CROWD_MOST) return status;
    status = round_hang(call);
    while (status == COPSE_OK && call->a.n) {
        status = round_locate(call);
        if (status == COPSE_OK) status = round_hang(call);
    }
    *out_done = true;
    if (status == COPSE_OK && call->a.tree.width)
        status = copse_device_launch(device, device->main, &kernels->settle,
                                     copse_device_blocks(device, call->tally.made), &call->a);
    copse_radix_upsert_arguments rest = *batch; /* values of the keys that were there */
    rest.tree = call->a.tree;
    rest.partly = 1;
    memcpy(rest.ahead, call->a.ahead, sizeof rest.ahead);
    int report = -1;
    if (status == COPSE_OK) status = copse_report_take(device, &report, &rest.report);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->upsert,
                                     (rest.n + COPSE_RADIX_THREADS - 1) / COPSE_RADIX_THREADS, &rest);
    if (report >= 0) {
        uint64_t words[COPSE_REPORT_WORDS];
        const copse_status read = copse_report_read(device, report, words);
        if (status == COPSE_OK) status = read;
    }
    return status == COPSE_OK ? add_account(call) : status;
}

copse_status copse_radix_device_add(copse_index *index, const copse_radix_upsert_arguments *batch, uint32_t flags,
                                    const uint64_t *missing, uint64_t *out_inserted, bool *out_done)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    uint64_t leaves[COPSE_RADIX_TYPES] = {0};
    add_call call = {.index = index, .tree = tree, .n = missing[0], .lists[0] = batch->pending};
    *out_done = false;
    if (missing[COPSE_RADIX_LEAF_LONG]) return COPSE_OK; /* the heap is the host's */
    for (uint32_t type = COPSE_RADIX_LEAF8; type < COPSE_RADIX_LEAF_LONG; type++) leaves[type] = missing[type];
    copse_status status = add_prepare(&call, leaves);
    call.a.tree = tree->view;
    call.a.keys = batch->keys;
    call.a.keys_n = batch->n;
    call.a.values = batch->values;
    call.a.first = (flags & COPSE_INSERT_IF_ABSENT) != 0;
    call.a.pending = call.lists[0];
    call.a.later = call.lists[1];
    call.a.n = call.n;
    if (status == COPSE_OK) status = add_run(&call, batch, out_done);
    copse_scratch_free(index->device, &call.scratch);
    if (status == COPSE_OK && *out_done) *out_inserted = call.tally.made;
    return status;
}
