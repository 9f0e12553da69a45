/*
 * Large batches that change leaves where they are: the strategy "sorted-in-place", and what "bucket-sort" shares with it. The two differ
 * in who puts a batch in order, a sort or the separators of the tree; the kernels behind that, `apply` and `apply_splits`, are the same.
 */
#include "trees/blink/update/strategies.h"

#include <stddef.h>

/* Where the pool has a leaf for every split that could happen, one warp in so many estimates how many will; in small batches, of which
 * that would say little, all of them do. */
#define ASKED_SHARE 16u
#define ASKED_LEAST (UINT64_C(1) << 14)
/* Operations of a warp of `apply`, at least, a multiple of 32: of fewer there would be too few runs of a kind. */
#define CHUNK_LEAST 96u
#define APPLY_WARPS (COPSE_KERNEL_THREADS / 32)
/* Where more than 1/EQUAL_SHARE of a batch are made pointless by equal keys, these are taken out first. */
#define EQUAL_SHARE 4u

/* --- counters --------------------------------------------------------------------------------------------------------------- */

copse_status copse_blink_counters_reset(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    const size_t kept = offsetof(copse_blink_counters, came);
    const bool reset = epoch->counters_reset;
    epoch->counters_reset = false; /* kernels are about to count */
    if (reset) return COPSE_OK;
    return copse_device_fill(device, device->main, (char *)epoch->counters + kept, 0, sizeof *epoch->counters - kept);
}

copse_status copse_blink_counters_read(const copse_index *index, copse_blink_epoch *epoch, copse_blink_counters *out)
{
    return copse_device_read(index->device, index->device->main, out, epoch->counters, sizeof *out);
}

/* --- an attempt --------------------------------------------------------------------------------------------------------------- */

typedef struct in_place {
    copse_blink_update *u;
    copse_device_pairs *pairs;           /* the batch in order, or what is to become that        */
    copse_blink_bucket_sorting *sorting; /* NULL, or what puts it in order                       */
    copse_blink_operations operations;
    uint32_t
        *base_leaves; /* of all operations; behind them room for the deferred runs of `apply`, and for their leaves */
    uint64_t most;    /* leaves that the batch may add                                      */
    bool roomy;       /* the pool has a leaf for every split that could happen              */
    copse_blink_crowds crowds; /* where the batch has some */
    copse_blink_counters seen;
} in_place;

/*
 * Tries to get a leaf for every split that could happen, so that no kernel has to look at all leaves first to see how many will. The
 * end of the update gives back what was not taken. Overflow chains may get long meanwhile, but a branch has an end.
 */
static void make_roomy(in_place *p)
{
    const copse_blink_epoch *epoch = p->u->epoch;
    const uint64_t half = copse_blink_slots(p->u->index) / 2, all = p->operations.n;
    const uint64_t n = p->u->action == COPSE_ACTION_ERASE ? 0 : all;
    const uint64_t each_once = epoch->view.base_leaves + epoch->pool_taken + n / half;
    const uint64_t uneven = epoch->pool_used - epoch->pool_taken; /* crowds take leaves from all stripes */
    copse_kept_error kept;
    if (epoch->view.branches || (all < ASKED_LEAST && !p->u->crowds)) return;
    copse_error_keep(&kept);
    p->roomy = copse_blink_pool_reserve(p->u->index, p->u->epoch, uneven + (n < each_once ? n : each_once)) == COPSE_OK;
    copse_error_put_back(&kept);
}

/* Enqueues the kernels that change leaves. They change none where the counters say more than `most` leaves, or too many equal keys. */
static copse_status apply_launch(const in_place *p, uint64_t most)
{
    copse_device *device = p->u->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->u->index);
    const uint64_t n = p->operations.n, lanes = copse_device_blocks(device, n);
    /* All warps of `apply` are at work at the same time. */
    const uint64_t warps = (uint64_t)device->multiprocessors * COPSE_APPLY_BLOCKS * APPLY_WARPS;
    const uint64_t each = (n + warps - 1) / warps, chunk = (each < CHUNK_LEAST ? CHUNK_LEAST : each) + 31;
    copse_apply_arguments arguments = {.tree = p->u->epoch->view,
                                       .operations = p->operations,
                                       .base_leaves = p->base_leaves,
                                       .deferred = p->base_leaves + n,
                                       .deferred_leaves = p->base_leaves + 2 * n,
                                       .chunk = (uint32_t)chunk / 32 * 32,
                                       .crowd = p->crowds.arguments.crowd,
                                       .shared = p->u->tree->views != 0,
                                       .touched = copse_blink_ranks_touched(p->u->epoch),
                                       .extra_most = most,
                                       .dead_most = n / EQUAL_SHARE,
                                       .counters = p->u->epoch->counters};
    const uint64_t block = (uint64_t)arguments.chunk * APPLY_WARPS;
    const uint64_t resident = (uint64_t)device->multiprocessors * COPSE_SPLITS_BLOCKS;
    copse_status status =
        copse_device_launch(device, device->main, &kernels->apply, (n + block - 1) / block, &arguments);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->apply_splits, lanes < resident ? lanes : resident,
                                     &arguments);
    return status == COPSE_OK && p->u->crowds ? copse_blink_crowds_link(p->u, &p->crowds) : status;
}

/* Enqueues the kernels that find the base leaves of the operations and count what these need. */
static copse_status plan_launch(const in_place *p)
{
    const copse_index *index = p->u->index;
    const uint32_t one_of = p->roomy && p->operations.n >= ASKED_LEAST ? ASKED_SHARE : 1;
    if (p->sorting) return copse_blink_bucket_sort_launch(p->u, &p->sorting->arguments, p->base_leaves, one_of);
    copse_locate_arguments arguments = {.tree = p->u->epoch->view,
                                        .operations = p->operations,
                                        .base_leaves = p->base_leaves,
                                        .crowd = p->crowds.arguments.crowd,
                                        .speculation = p->pairs->speculation,
                                        .one_of = one_of,
                                        .counters = p->u->epoch->counters};
    return copse_device_launch(index->device, index->device->main, &copse_blink_kernels_of(index)->plan,
                               copse_device_blocks(index->device, p->operations.n), &arguments);
}

/* May the batch be tried again, with kernels for crowds? A branch has an end, and the operations of a mixed batch differ. Keys of a crowd
 * are distinct. */
static bool crowds_may(const copse_blink_update *u)
{
    return !u->crowds && !u->mixed && !u->index->duplicates && !u->epoch->view.branches && u->pairs.n < UINT32_MAX / 8;
}

/* What came of the attempt. A batch whose sort was mispredicted is sorted afterwards; one that the tree was to put in order is not. */
static copse_status judge(in_place *p)
{
    copse_blink_update *u = p->u;
    const bool wrong = (p->sorting || p->pairs->speculation) && p->seen.speculation.wrong;
    const bool equals = p->seen.dead > p->operations.n / EQUAL_SHARE;
    u->attempt = wrong                                                       ? MISPREDICTED
                 : equals && !u->mixed                                       ? TOO_MANY_EQUALS
                 : p->seen.crowded == 1 && crowds_may(u)                     ? CROWDED
                 : equals || p->seen.crowded == 1 || p->seen.extra > p->most ? TOO_MANY_SPLITS
                                                                             : APPLIED;
    if (p->sorting) return copse_device_pairs_accept(u->index, p->pairs, &p->seen.speculation);
    return p->pairs->speculation ? copse_device_pairs_check(u->index, p->pairs, &p->seen.speculation) : COPSE_OK;
}

/* Enqueues the plan and the changes right behind it, so that the host mostly waits once in all. */
static copse_status plan_and_apply(in_place *p)
{
    copse_blink_epoch *epoch = p->u->epoch;
    const uint64_t unused = epoch->view.pool_leaves - epoch->pool_taken;
    copse_status status = plan_launch(p);
    p->crowds.arguments.extra_most = p->most;
    p->crowds.arguments.dead_most = p->operations.n / EQUAL_SHARE;
    if (status == COPSE_OK && p->u->crowds) status = copse_blink_crowds_launch(p->u, &p->crowds);
    if (status == COPSE_OK) status = apply_launch(p, p->roomy || unused > p->most ? p->most : unused);
    if (status == COPSE_OK && p->u->action != COPSE_ACTION_ERASE)
        copse_blink_preallocate(p->u->index, epoch, p->operations.n);
    if (status == COPSE_OK) status = copse_blink_counters_read(p->u->index, epoch, &p->seen);
    if (status == COPSE_OK) status = judge(p);
    if (status != COPSE_OK || p->u->attempt != APPLIED || p->roomy || p->seen.extra <= unused) return status;
    /* The pool had too few leaves, so the kernels changed nothing. */
    status = copse_blink_pool_reserve(p->u->index, epoch, p->seen.extra);
    if (status == COPSE_OK) status = apply_launch(p, p->most);
    return status == COPSE_OK ? copse_blink_counters_read(p->u->index, epoch, &p->seen) : status;
}

/* Ends an attempt that was applied. */
static copse_status finish(in_place *p)
{
    copse_blink_update *u = p->u;
    const uint64_t n = p->operations.n;
    if (p->pairs->low < u->epoch->low) u->epoch->low = p->pairs->low;
    if (p->pairs->high > u->epoch->high) u->epoch->high = p->pairs->high;
    u->epoch->grown_by = n;
    u->tree->crowds = p->seen.placed != 0;
    copse_status status = copse_blink_in_place_finish(u, &p->seen);
    if (!u->erases) u->tree->current->known = (uint32_t)((n - u->changed) * 256 / n);
    return status;
}

/* Room for everything that a batch with crowds may need; false: a new epoch is surer. */
static bool crowds_ready(in_place *p)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    const bool ready =
        p->roomy && copse_blink_crowds_take(p->u, &p->operations, p->base_leaves, &p->crowds) == COPSE_OK;
    copse_error_put_back(&kept);
    return ready;
}

copse_status copse_blink_in_place_attempt(copse_blink_update *u, copse_device_pairs *pairs,
                                          copse_blink_bucket_sorting *sorting)
{
    copse_device *device = u->index->device;
    void *memory = NULL;
    in_place p = {u, pairs, sorting, copse_blink_update_operations(u, pairs), .most = copse_blink_extra_most(u)};
    const uint64_t bytes = 3 * p.operations.n * sizeof(uint32_t);
    copse_status status = copse_device_alloc(device, device->main, bytes, "the update", &memory);
    p.base_leaves = memory;
    if (status == COPSE_OK) status = copse_blink_counters_reset(u->index, u->epoch);
    /* The device has something to do while the host looks for memory. */
    if (status == COPSE_OK && sorting) status = copse_blink_partition_launch(u, &sorting->arguments);
    if (status == COPSE_OK) make_roomy(&p);
    u->attempt = TOO_MANY_SPLITS;
    if (status == COPSE_OK && (!u->crowds || crowds_ready(&p))) status = plan_and_apply(&p);
    copse_blink_crowds_free(u->index, &p.crowds);
    copse_device_free(device, device->main, memory, bytes);
    if (status == COPSE_OK && u->attempt == APPLIED) return finish(&p);
    if (status != COPSE_OK || u->attempt == TOO_MANY_SPLITS)
        copse_blink_pool_trim(u->index, u->epoch); /* the new epoch can use what was reserved */
    return status;
}

/* --- the strategy --------------------------------------------------------------------------------------------------------------- */

static bool may(const copse_blink_update *u)
{
    return u->attempt != TOO_MANY_SPLITS && copse_blink_in_place_may(u);
}

/* A batch with crowds for which the tree has no room, as it was not packed for long: tiles take no crowds, so the tree is packed without
 * the batch, and tried again. */
static copse_status pack_and_attempt(copse_blink_update *u)
{
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = copse_blink_pack(u);
    u->epoch = u->tree->current;
    if (status == COPSE_OK) return copse_blink_in_place_attempt(u, &u->pairs, NULL);
    if (status == COPSE_ERR_MEMORY) copse_error_put_back(&kept); /* other strategies need less */
    return status == COPSE_ERR_MEMORY ? COPSE_OK : status;
}

static int run(copse_blink_update *u)
{
    copse_status status;
    u->crowds = (u->attempt == CROWDED || u->tree->crowds) && crowds_may(u);
    /* At most four attempts: the second one is sorted for certain, then equal keys go, then crowds have kernels of their own. */
    do {
        u->crowds |= u->attempt == CROWDED;
        status = copse_blink_update_sort(u);
        if (status == COPSE_OK) status = copse_blink_in_place_attempt(u, &u->pairs, NULL);
    } while (status == COPSE_OK &&
             (u->attempt == MISPREDICTED || u->attempt == TOO_MANY_EQUALS || u->attempt == CROWDED));
    if (status == COPSE_OK && u->attempt == TOO_MANY_SPLITS && u->crowds && u->epoch->pool_taken)
        status = pack_and_attempt(u);
    return status == COPSE_OK && u->attempt != APPLIED ? COPSE_DECLINED : (int)status;
}

const copse_blink_strategy copse_blink_sorted_in_place = {"sorted-in-place", may, run};
