/* Updates of the B-link and the B+ tree on a device: which way a batch goes, sorted batches in place, and when to rebuild. */
#include "trees/blink/tree.h"

#include <stddef.h>
#include <string.h>

/* A batch larger than 1/REBUILD_SHARE of the tree makes a new epoch: nearly every leaf would change, and most would split. */
#define REBUILD_SHARE 8u
/* ... but a batch of so many need not. */
#define SMALL 64u
/* From so many operations on it is guessed beforehand whether there will be a new epoch. An update adds more leaves than one of as many
 * keys before it did: by so much for every share of the tree that the batch is. */
#define GUESS_LEAST (UINT64_C(1) << 18)
#define GROWS_MORE  3.0
/* Bytes of a leaf with its share of the levels. */
#define LEAF_WITH_LEVELS UINT64_C(132)
/* Leaves of the pool that are always fine. */
#define POOL_LEAST UINT64_C(64)
/* ... and so does one that would leave more than 1/POOL_SHARE of the base_leaf leaves with others behind them. */
#define POOL_SHARE 2u
/* A tree with less than 1/EMPTY_SHARE of its places in use is packed. */
#define EMPTY_SHARE 2u
/* Where the pool has a leaf for every split that could happen, one warp in so many finds out how many are to be expected; not in
 * small batches, of which that would say little. */
#define ASKED_SHARE 16u
#define ASKED_LEAST (UINT64_C(1) << 14)
/* Operations of a warp of `apply`, at least, a multiple of 32: with fewer there would be too few of a kind. */
#define PART_LEAST  96u
#define APPLY_WARPS (COPSE_KERNEL_THREADS / 32)
/* Where more than 1/DEAD_SHARE of a batch are equal keys, they are taken out first. */
#define DEAD_SHARE 4u
/* Up to so many operations may go as they come; see docs/PERFORMANCE.md for how that was measured. */
#define PLACE_MOST (UINT64_C(1) << 17)

static uint64_t place_most(const copse_device *device)
{
    return device->place_most ? device->place_most : PLACE_MOST;
}

/* May a batch of n go in place, to begin with? */
static bool may_stay(const copse_index *index, const copse_blink_epoch *epoch, uint64_t n)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const uint64_t share = index->device->in_place_share ? index->device->in_place_share : REBUILD_SHARE;
    pthread_mutex_lock(&tree->lock); /* a snapshot may be freed meanwhile */
    const bool frozen = epoch->frozen != 0;
    pthread_mutex_unlock(&tree->lock);
    return !frozen && !index->duplicates && n <= epoch->view.entries / share + SMALL;
}

/* --- counters --------------------------------------------------------------------------------------------------------------- */

copse_status copse_blink_counters_reset(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    const size_t kept = offsetof(copse_blink_counters, came);
    return copse_device_fill(device, device->main, (char *)epoch->counters + kept, 0, sizeof *epoch->counters - kept);
}

copse_status copse_blink_counters_read(const copse_index *index, copse_blink_epoch *epoch, copse_blink_counters *out)
{
    return copse_device_read(index->device, index->device->main, out, epoch->counters, sizeof *out);
}

/* --- when to rebuild ------------------------------------------------------------------------------------------------------------- */

/* Bytes that an entry may take, in hundredths, before the tree is packed. Packed trees take 1257, 2400, 1760. */
static uint64_t bytes_most(const copse_index *index)
{
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    return key != value ? 1950 : key == 4 ? 1270 : 2520;
}

/* Would a tree of so many leaves in all be too loose for its entries? */
static bool too_loose(const copse_index *index, uint64_t leaves, uint64_t entries)
{
    return leaves * LEAF_WITH_LEVELS * 100 > entries * bytes_most(index);
}

/* After an update in place: have splits, or erasures, left too much room? */
static bool rebuild_is_due(const copse_index *index, const copse_blink_epoch *epoch, const copse_blink_counters *seen,
                           bool erased)
{
    const uint64_t base_leaves = epoch->view.base_leaves, leaves = base_leaves + epoch->pool_taken,
                   entries = epoch->view.entries;
    if (erased && leaves > 64 && entries * EMPTY_SHARE < leaves * copse_blink_slots(index)) return true;
    if (seen->winding || epoch->pool_taken * POOL_SHARE > base_leaves + 128) return true;
    return epoch->pool_taken * 16 > base_leaves + 1024 && too_loose(index, leaves, entries);
}

static copse_status rebuild(copse_index *index, copse_blink_epoch *epoch, const copse_blink_operations *operations,
                            uint64_t low, uint64_t high, uint64_t *out_changed)
{
    copse_blink_epoch *made = NULL;
    copse_status status = copse_blink_rebuild(index, epoch, operations, low, high, &made, out_changed);
    return copse_blink_replace(index, made, status);
}

copse_status copse_blink_update_finish(copse_index *index, copse_blink_epoch *epoch, const copse_blink_counters *seen,
                                       bool erased, uint64_t *out_changed)
{
    uint64_t came = 0, went = 0, taken = 0, rows = 0, ignored;
    for (unsigned s = 0; s < COPSE_POOL_STRIPES; s++) {
        came += seen->came[s];
        went += seen->went[s];
        const uint64_t most = epoch->view.pool_leaves / COPSE_POOL_STRIPES; /* some may have been asked for in vain */
        const uint64_t own = seen->taken[s] < most ? seen->taken[s] : most;
        taken += own;
        if (own > rows) rows = own;
    }
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    pthread_mutex_lock(&tree->lock); /* a view may be asking how many there are */
    epoch->grew = taken - epoch->pool_taken;
    epoch->pool_taken = taken;
    epoch->pool_used = rows * COPSE_POOL_STRIPES;
    epoch->view.entries += came - went;
    pthread_mutex_unlock(&tree->lock);
    *out_changed = came + went;
    copse_blink_ranks_forget(index, &epoch->ranks);
    if (seen->crowded == 2)
        return copse_device_fault(index->device, "the pool of a tree ran out of leaves, which should not happen");
    copse_blink_pool_trim(index, epoch);
    if (!rebuild_is_due(index, epoch, seen, erased)) return COPSE_OK;
    /* The update is done; without memory for the rebuilding the tree stays as it is. */
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = rebuild(index, epoch, NULL, 0, 0, &ignored);
    if (status != COPSE_ERR_MEMORY && status != COPSE_ERR_CANCELLED) return status;
    copse_error_put_back(&kept);
    return COPSE_OK;
}

/* --- sorted batches in place ---------------------------------------------------------------------------------------------------- */

/* Leaves that a batch may add before the tree would be better packed. */
static uint64_t extra_most(const copse_index *index, const copse_blink_epoch *epoch, uint64_t n)
{
    const uint64_t base_leaves = epoch->view.base_leaves;
    const uint64_t loose = (epoch->view.entries + n) * bytes_most(index) / 100 / LEAF_WITH_LEVELS;
    uint64_t pool = base_leaves / POOL_SHARE;
    if (loose < base_leaves + pool) pool = loose > base_leaves ? loose - base_leaves : 0;
    if (pool < POOL_LEAST) pool = POOL_LEAST;
    return pool > epoch->pool_taken ? pool - epoch->pool_taken : 0;
}

/* An update in place under way. */
typedef struct in_place {
    copse_index *index;
    copse_blink_epoch *epoch;
    const copse_blink_operations *operations;
    copse_device_pairs *pairs;                  /* which they are, where they may not be sorted */
    copse_blink_bucket_sorting *bucket_sorting; /* NULL, or they are yet to be put in order */
    uint32_t *
        base_leaves; /* of all operations; behind it room for what `apply` leaves to `apply_hard`, and for their leaves */
    uint64_t most;   /* leaves that it may add               */
    bool roomy;      /* the pool has all that it could take */
    copse_blink_counters seen;
} in_place;

static bool in_place_inserts(const in_place *p)
{
    return p->operations->gone || p->operations->action != COPSE_ACTION_ERASE;
}

/*
 * Tries to get a leaf for every split that could happen, so that nobody has to look at all leaves first to see how many will. What
 * is not taken goes back when the update is done. Chains may get long meanwhile, but a branch has an end.
 */
static void make_roomy(in_place *p)
{
    const copse_blink_epoch *epoch = p->epoch;
    const uint64_t n = in_place_inserts(p) ? p->operations->n : 0, half = copse_blink_slots(p->index) / 2;
    const uint64_t each_once = epoch->view.base_leaves + epoch->pool_taken + n / half;
    copse_kept_error kept;
    if (epoch->view.branches || p->operations->n < ASKED_LEAST) return;
    copse_error_keep(&kept);
    p->roomy = copse_blink_pool_reserve(p->index, p->epoch, n < each_once ? n : each_once) == COPSE_OK;
    copse_error_put_back(&kept);
}

/* Operations of a warp of `apply`: all warps are at work at the same time. */
static uint32_t apply_part(const in_place *p)
{
    const uint64_t warps = (uint64_t)p->index->device->multiprocessors * COPSE_APPLY_BLOCKS * APPLY_WARPS;
    const uint64_t each = (p->operations->n + warps - 1) / warps;
    return (uint32_t)((each < PART_LEAST ? PART_LEAST : each) + 31) / 32 * 32;
}

static copse_status apply_launch(const in_place *p, uint64_t most)
{
    copse_device *device = p->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    copse_apply_arguments arguments = {.tree = p->epoch->view,
                                       .operations = *p->operations,
                                       .base_leaves = p->base_leaves,
                                       .hard = p->base_leaves + p->operations->n,
                                       .hard_leaves = p->base_leaves + 2 * p->operations->n,
                                       .part = apply_part(p),
                                       .shared = copse_blink_handle_of(p->index)->tree->views != 0,
                                       .extra_most = most,
                                       .dead_most = p->operations->n / DEAD_SHARE,
                                       .counters = p->epoch->counters};
    const uint64_t block = (uint64_t)arguments.part * APPLY_WARPS, blocks = (p->operations->n + block - 1) / block;
    const uint64_t lanes = copse_device_blocks(device, p->operations->n);
    const uint64_t resident = (uint64_t)device->multiprocessors * COPSE_HARD_BLOCKS;
    copse_status status = copse_device_launch(device, device->main, &kernels->apply, blocks, &arguments);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->apply_hard, lanes < resident ? lanes : resident,
                                     &arguments);
    return status;
}

static copse_status plan_launch(const in_place *p)
{
    copse_device *device = p->index->device;
    const uint32_t one_of = p->roomy ? ASKED_SHARE : 1;
    if (p->bucket_sorting)
        return copse_blink_bucket_sort_launch(p->index, p->epoch, p->bucket_sorting, p->base_leaves, one_of);
    copse_locate_arguments arguments = {.tree = p->epoch->view,
                                        .operations = *p->operations,
                                        .base_leaves = p->base_leaves,
                                        .speculation = p->pairs ? p->pairs->speculation : NULL,
                                        .one_of = one_of,
                                        .counters = p->epoch->counters};
    return copse_device_launch(device, device->main, &copse_blink_kernels_of(p->index)->plan,
                               copse_device_blocks(device, p->operations->n), &arguments);
}

/* Where the operations belong and what they need; and, if the pool has that, the operations themselves right behind it, so that
 * mostly there is one wait in all. */
static copse_status plan_and_apply(in_place *p)
{
    const uint64_t spare = p->epoch->view.pool_leaves - p->epoch->pool_taken;
    copse_status status = plan_launch(p);
    if (status == COPSE_OK) status = apply_launch(p, p->roomy || spare > p->most ? p->most : spare);
    if (status == COPSE_OK && in_place_inserts(p)) copse_blink_preallocate(p->index, p->epoch, p->operations->n);
    return status == COPSE_OK ? copse_blink_counters_read(p->index, p->epoch, &p->seen) : status;
}

/* The pool had too few leaves, and nothing was done. */
static copse_status grow_and_apply(in_place *p)
{
    copse_status status = copse_blink_pool_reserve(p->index, p->epoch, p->seen.extra);
    if (status == COPSE_OK) status = apply_launch(p, p->most);
    return status == COPSE_OK ? copse_blink_counters_read(p->index, p->epoch, &p->seen) : status;
}

/* What came of the attempt to update in place. Where it is not DONE, nothing was changed. */
typedef enum outcome { DONE, TOO_MANY, TOO_MANY_EQUALS, NOT_SORTED } outcome;

static outcome judge(const in_place *p)
{
    if (p->seen.dead > p->operations->n / DEAD_SHARE) return TOO_MANY_EQUALS;
    return p->seen.crowded == 1 || p->seen.extra > p->most ? TOO_MANY : DONE;
}

/* The same, and first of all whether the batch was sorted. Where it was not, it is now, unless it was to be put in order on the
 * way. */
static copse_status judge_all(const in_place *p, outcome *out)
{
    const bool doubtful = p->bucket_sorting || (p->pairs && p->pairs->speculation);
    copse_status status = COPSE_OK;
    if (p->bucket_sorting)
        status = copse_device_pairs_accept(p->index, p->pairs, &p->seen.speculation);
    else if (doubtful)
        status = copse_device_pairs_check(p->index, p->pairs, &p->seen.speculation);
    *out = doubtful && p->seen.speculation.wrong ? NOT_SORTED : judge(p);
    return status;
}

/* The keys of the operations lie between bounds->low and bounds->high. bucket_sorting: NULL, or what makes `bounds` and its arrays. */
static copse_status run_in_place(copse_index *index, copse_blink_epoch *epoch, const copse_blink_operations *operations,
                                 copse_device_pairs *bounds, copse_blink_bucket_sorting *bucket_sorting,
                                 uint64_t *out_changed, outcome *out)
{
    copse_device *device = index->device;
    void *base_leaves = NULL;
    in_place p = {.index = index,
                  .epoch = epoch,
                  .operations = operations,
                  .pairs = bounds,
                  .bucket_sorting = bucket_sorting,
                  .most = extra_most(index, epoch, operations->n)};
    const uint64_t bytes = 3 * operations->n * sizeof(uint32_t);
    copse_status status = copse_device_alloc(device, device->main, bytes, "the update", &base_leaves);
    p.base_leaves = base_leaves;
    if (status == COPSE_OK) status = copse_blink_counters_reset(index, epoch);
    /* The device has something to do while the host looks for memory. */
    if (status == COPSE_OK && bucket_sorting) status = copse_blink_part_launch(index, epoch, bucket_sorting);
    if (status == COPSE_OK) make_roomy(&p);
    const uint64_t spare = epoch->view.pool_leaves - epoch->pool_taken;
    if (status == COPSE_OK) status = plan_and_apply(&p);
    if (status == COPSE_OK) status = judge_all(&p, out);
    if (status == COPSE_OK && *out == DONE && !p.roomy && p.seen.extra > spare) status = grow_and_apply(&p);
    copse_device_free(device, device->main, base_leaves, bytes);
    if (status != COPSE_OK || *out != DONE) return status;
    if (bounds->low < epoch->low) epoch->low = bounds->low;
    if (bounds->high > epoch->high) epoch->high = bounds->high;
    epoch->grown_by = operations->n;
    status = copse_blink_update_finish(index, epoch, &p.seen,
                                       operations->gone || operations->action == COPSE_ACTION_ERASE, out_changed);
    if (!operations->gone && operations->action != COPSE_ACTION_ERASE)
        copse_blink_handle_of(index)->tree->current->known =
            (uint32_t)((operations->n - *out_changed) * 256 / operations->n);
    return status;
}

/* A new epoch; what the smallest and the largest key are may turn out afterwards. */
static copse_status rebuild_pairs(copse_index *index, copse_blink_epoch *epoch,
                                  const copse_blink_operations *operations, copse_device_pairs *pairs,
                                  uint64_t *out_changed)
{
    const bool late = pairs->speculation != NULL, some = epoch->view.entries != 0;
    const uint64_t low = epoch->low, high = epoch->high;
    copse_blink_operations packed = *operations;
    if (!late) packed.speculation = NULL; /* it has been judged, and is gone */
    copse_status status = rebuild(index, epoch, &packed, pairs->low, pairs->high, out_changed);
    if (status != COPSE_OK || !late) return status;
    copse_blink_epoch *made = copse_blink_handle_of(index)->tree->current;
    status = made->speculation_known ? copse_device_pairs_check(index, pairs, &made->speculation)
                                     : copse_device_pairs_confirm(index, pairs);
    made->low = some && low < pairs->low ? low : pairs->low;
    made->high = some && high > pairs->high ? high : pairs->high;
    return status;
}

/* *out: DONE, or TOO_MANY_EQUALS or NOT_SORTED and nothing was changed. Of `pairs` it needs the bounds, and the speculation. */
static copse_status run(copse_index *index, const copse_blink_operations *operations, copse_device_pairs *pairs,
                        uint64_t *out_changed, outcome *out)
{
    copse_blink_epoch *epoch = copse_blink_handle_of(index)->tree->current;
    copse_status status = COPSE_OK;
    *out_changed = 0;
    *out = DONE;
    if (operations->n > UINT32_MAX - 1)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "n is %llu: a batch of updates has at most %u keys",
                          (unsigned long long)operations->n, UINT32_MAX - 1);
    if (operations->n == 0) return COPSE_OK;
    if (may_stay(index, epoch, operations->n)) {
        status = run_in_place(index, epoch, operations, pairs, NULL, out_changed, out);
        if (status != COPSE_OK || *out != TOO_MANY) return status;
        copse_blink_pool_trim(index, epoch); /* the new epoch can do with what was set aside */
    } else if (pairs->speculation && !pairs->in_order) {
        *out = NOT_SORTED; /* perhaps */
        return copse_device_pairs_confirm(index, pairs);
    }
    *out = DONE;
    return rebuild_pairs(index, epoch, operations, pairs, out_changed);
}

copse_status copse_blink_run(copse_index *index, const copse_blink_operations *operations, uint64_t low, uint64_t high,
                             uint64_t *out_changed)
{
    outcome ignored; /* there are no equal keys */
    copse_device_pairs bounds = {.low = low, .high = high};
    return run(index, operations, &bounds, out_changed, &ignored);
}

/* --- calls -------------------------------------------------------------------------------------------------------------------------- */

copse_status copse_blink_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    copse_device_pairs pairs;
    copse_blink_epoch *epoch = NULL;
    copse_equal_keys equal = index->duplicates ? COPSE_EQUAL_ALL : COPSE_EQUAL_LAST;
    copse_status status = copse_device_pairs_make(index, keys, values, n, equal, COPSE_PAIRS_WHOLE, "building", &pairs);
    if (status != COPSE_OK) return status;
    status = copse_blink_fill(index, &pairs, &epoch);
    copse_device_pairs_free(index, &pairs);
    if (status == COPSE_OK) copse_blink_preallocate_all(index, epoch);
    pthread_mutex_lock(&tree->writer);
    status = copse_blink_replace(index, epoch, status);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

static copse_blink_operations operations_of(const copse_index *index, const copse_device_pairs *pairs,
                                            copse_action action)
{
    const bool all = index->duplicates && action == COPSE_ACTION_UPSERT;
    return (copse_blink_operations){.keys = pairs->keys,
                                    .values = action == COPSE_ACTION_ERASE ? NULL : pairs->values,
                                    .action = action,
                                    .speculation = pairs->in_order ? pairs->speculation : NULL,
                                    .last_wins = all || pairs->unique ? 2 : action != COPSE_ACTION_IF_ABSENT,
                                    .n = pairs->n};
}

static copse_status equals_out(const copse_index *index, copse_device_pairs *pairs, copse_action action)
{
    return copse_device_pairs_unique(index, pairs,
                                     action == COPSE_ACTION_IF_ABSENT ? COPSE_EQUAL_FIRST : COPSE_EQUAL_LAST);
}

/* Equal keys of a batch are left to the kernels, but not where they are many. */
static copse_status run_pairs(copse_index *index, copse_device_pairs *pairs, copse_action action, uint64_t *out_changed)
{
    const copse_blink_operations operations = operations_of(index, pairs, action);
    outcome came_of;
    copse_status status = run(index, &operations, pairs, out_changed, &came_of);
    if (status != COPSE_OK || came_of == DONE) return status;
    if (came_of == TOO_MANY_EQUALS) status = equals_out(index, pairs, action);
    return status == COPSE_OK ? run_pairs(index, pairs, action, out_changed) : status;
}

/* Runs what was put in order, in place if that may be. *out_done: false where it was not put in order, and nothing was done. */
static copse_status run_made(copse_index *index, copse_blink_bucket_sorting *bucket_sorting, copse_action action,
                             uint64_t *out_changed, bool *out_done)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    copse_blink_epoch *epoch = tree->current;
    copse_device_pairs *made = &bucket_sorting->made;
    const copse_blink_operations operations = operations_of(index, made, action);
    outcome came_of = DONE;
    copse_status status = run_in_place(index, epoch, &operations, made, bucket_sorting, out_changed, &came_of);
    copse_blink_bucket_sort_free(index, bucket_sorting);
    *out_done = came_of != NOT_SORTED;
    if (status != COPSE_OK) return status;
    tree->predictor.ascending = tree->bucket_sorted.ascending;
    if (came_of == TOO_MANY) return rebuild_pairs(index, epoch, &operations, made, out_changed);
    if (came_of != TOO_MANY_EQUALS) return COPSE_OK;
    status = copse_device_pairs_encode(index, made); /* erased keys have no values yet */
    if (status == COPSE_OK) status = equals_out(index, made, action);
    return status == COPSE_OK ? run_pairs(index, made, action, out_changed) : status;
}

/* Lets the tree put a batch in order, where that is promising and there is memory for it. *out_done: false where nothing came of it:
 * other ways need less. */
static copse_status run_bucket_sorted(copse_index *index, const copse_device_pairs *raw, copse_action action,
                                      const char *what, uint64_t *out_changed, bool *out_done)
{
    const copse_blink_epoch *epoch = copse_blink_handle_of(index)->tree->current;
    const uint64_t n = raw->n;
    copse_blink_bucket_sorting bucket_sorting;
    copse_kept_error kept;
    *out_done = false;
    if (n == 0 || !may_stay(index, epoch, n) || !copse_blink_bucket_sort_may(index, epoch, n)) return COPSE_OK;
    copse_error_keep(&kept);
    copse_status status = copse_blink_bucket_sort_take(index, raw, action, &bucket_sorting);
    if (status == COPSE_OK) {
        status = copse_progress(index->ctx, what, n / 3 * 2, n);
        if (status == COPSE_OK) status = run_made(index, &bucket_sorting, action, out_changed, out_done);
        copse_blink_bucket_sort_free(index, &bucket_sorting);
        copse_device_pairs_free(index, &bucket_sorting.made);
    }
    if (status != COPSE_ERR_MEMORY) return status;
    copse_error_put_back(&kept);
    *out_done = false;
    return COPSE_OK;
}

/* Does a batch of n make a new epoch, or is it to be expected from what the last one did, with more leaves that are full? Then nobody
 * has to find out. */
static bool will_rebuild(const copse_index *index, const copse_blink_epoch *epoch, uint64_t n)
{
    if (!may_stay(index, epoch, n)) return true;
    if (n < GUESS_LEAST || epoch->grown_by == 0) return false;
    const double grows = (double)epoch->grew * (double)n / (double)epoch->grown_by;
    const double more = 1 + GROWS_MORE * (double)n / (double)(epoch->view.entries + 1);
    return grows * more > (double)extra_most(index, epoch, n);
}

/* Puts the new epoch in the place of the old one, unless the batch turned out to be none. */
static copse_status spread_end(copse_index *index, const copse_blink_epoch *epoch, copse_blink_epoch *made,
                               copse_device_pairs *pairs)
{
    const copse_pairs_speculation seen = made->speculation;
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    copse_status status = copse_device_pairs_accept(index, pairs, &seen);
    tree->predictor.ascending = tree->coarse.ascending;
    if (status == COPSE_OK) {
        made->low = epoch->low < pairs->low ? epoch->low : pairs->low;
        made->high = epoch->high > pairs->high ? epoch->high : pairs->high;
    }
    return copse_blink_replace(index, made, status);
}

/* Makes a new epoch with a batch that is sorted by upper bits only. *out_done: false where nothing came of it. */
static copse_status run_independent(copse_index *index, const copse_device_pairs *raw, copse_pairs_hint hint,
                                    copse_action action, const char *what, uint64_t *out_changed, bool *out_done)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const copse_blink_epoch *epoch = tree->current;
    const copse_pairs_speculation failed = {.wrong = 1};
    copse_blink_epoch *made = NULL;
    const uint64_t n = raw->n;
    copse_device_pairs pairs = {.n = n, .keys = raw->keys, .values = raw->values, .key_type = raw->key_type};
    copse_kept_error kept;
    *out_done = false;
    if (n == 0 || n > UINT32_MAX - 1 || action == COPSE_ACTION_ERASE || index->duplicates || !hint.there ||
        tree->predictor.ascending || !will_rebuild(index, epoch, n) || !copse_predictor_ask(&tree->coarse))
        return COPSE_OK;
    hint.predictor = &tree->coarse;
    copse_error_keep(&kept);
    copse_status status = copse_device_pairs_sort_coarse(index, &hint, &pairs);
    if (status == COPSE_OK) status = copse_progress(index->ctx, what, n / 3 * 2, n);
    if (status == COPSE_OK) {
        copse_blink_operations operations = operations_of(index, &pairs, action);
        operations.coarse = pairs.left_out;
        operations.speculation = pairs.speculation;
        status = copse_blink_rebuild_independent(index, epoch, &operations, raw->keys, pairs.low, pairs.high, &made,
                                                 out_changed);
    }
    *out_done = made != NULL;
    if (status == COPSE_OK && !made) (void)copse_device_pairs_accept(index, &pairs, &failed);
    if (status == COPSE_OK && made) status = spread_end(index, epoch, made, &pairs);
    copse_device_pairs_free(index, &pairs);
    if (status != COPSE_ERR_MEMORY || *out_done) return status;
    copse_error_put_back(&kept);
    return COPSE_OK;
}

/* Puts a batch in order and runs it. */
static copse_status run_sorted(copse_index *index, const void *keys, const void *values, uint64_t n,
                               copse_action action, const char *what, uint64_t *out_changed)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const copse_blink_epoch *epoch = tree->current;
    const copse_pairs_hint hint = {
        .there = epoch->view.entries != 0, .low = epoch->low, .high = epoch->high, .predictor = &tree->predictor};
    bool done = false;
    copse_device_pairs pairs;
    copse_status status = copse_device_pairs_bring(index, keys, values, n, what, &pairs);
    if (status != COPSE_OK) return status;
    status = run_independent(index, &pairs, hint, action, what, out_changed, &done);
    if (status == COPSE_OK && !done) status = run_bucket_sorted(index, &pairs, action, what, out_changed, &done);
    if (status == COPSE_OK && !done) status = copse_device_pairs_sort(index, &hint, what, &pairs);
    if (status == COPSE_OK && !done) status = run_pairs(index, &pairs, action, out_changed);
    copse_device_pairs_free(index, &pairs);
    return status;
}

static copse_status update(copse_index *index, const void *keys, const void *values, uint64_t n, copse_action action,
                           const char *what, uint64_t *out_changed)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    bool done = false;
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&tree->writer);
    if (n <= place_most(index->device) && may_stay(index, tree->current, n))
        status = copse_blink_update_unsorted(index, keys, values, n, action, out_changed, &done);
    if (status == COPSE_OK && !done) status = run_sorted(index, keys, values, n, action, what, out_changed);
    pthread_mutex_unlock(&tree->writer);
    return status;
}

copse_status copse_blink_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted)
{
    const copse_action action = flags & COPSE_INSERT_IF_ABSENT ? COPSE_ACTION_IF_ABSENT : COPSE_ACTION_UPSERT;
    return update(index, keys, values, n, action, "inserting", out_inserted);
}

copse_status copse_blink_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    return update(index, keys, NULL, n, COPSE_ACTION_ERASE, "erasing", out_erased);
}
