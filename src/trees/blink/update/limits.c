/* Updates of the B-link and the B+ tree: which batches may change leaves in place, and when a tree is better rebuilt. */
#include "trees/blink/update/strategies.h"

/* A batch of more than 1/REBUILD_SHARE of the tree makes a new epoch: it would change nearly every leaf and split most of them. */
#define REBUILD_SHARE 8u
/* ... but not a batch of so many. */
#define SMALL 64u
/* From so many operations on the host predicts whether a batch will end in a new epoch. An update adds more leaves than the one before
 * it did for as many keys: by so much for every share of the tree that the batch is. */
#define PREDICT_LEAST (UINT64_C(1) << 18)
#define GROWS_MORE    3.0
/* Bytes of a leaf with its share of the levels. */
#define LEAF_WITH_LEVELS UINT64_C(132)
/* ... and of an entry of the overflow directory, about: there are two of these, with room for more. */
#define ENTRY_BYTES UINT64_C(48)
/* A pool of so many leaves is never a reason to rebuild, */
#define POOL_LEAST UINT64_C(64)
/* ... one of more than 1/POOL_SHARE of the base leaves is. */
#define POOL_SHARE 2u
/* A tree that uses less than 1/EMPTY_SHARE of its slots is rebuilt. */
#define EMPTY_SHARE 2u

bool copse_blink_frozen(const copse_blink_update *u)
{
    pthread_mutex_lock(&u->tree->lock); /* another thread may free a frozen handle meanwhile */
    const bool frozen = u->epoch->frozen != 0;
    pthread_mutex_unlock(&u->tree->lock);
    return frozen;
}

bool copse_blink_leaves_may(const copse_blink_update *u)
{
    const uint64_t tuned = u->tree->tuning.in_place_share, share = tuned ? tuned : REBUILD_SHARE;
    return !copse_blink_frozen(u) && (u->forced || u->pairs.n <= u->epoch->view.entries / share + SMALL);
}

/* Keys that repeat are inserted in place, each behind its equals, where these lie in neighbouring base leaves. */
static bool repeats_may(const copse_blink_update *u)
{
    const copse_blink_tree *view = &u->epoch->view;
    return !u->mixed && !u->erases && !view->branches && view->directory_entries == 0;
}

bool copse_blink_in_place_may(const copse_blink_update *u)
{
    return (!u->index->duplicates || repeats_may(u)) && copse_blink_leaves_may(u);
}

/* Bytes that an entry may take, in hundredths, before the tree is rebuilt. After a rebuild they are 1257, 2400, 1760. A window that slides
 * fills what a rebuild has won again and again, and so do crowds, with leaves that the directory has entries for: they get twice as much.
 * Equal keys come to one leaf, which splits at once: four times as much, a little more than leaves that split at random take. */
static uint64_t bytes_most(const copse_blink_update *u)
{
    const size_t key = copse_type_size(u->index->key_type), value = copse_value_width(u->index->value_type);
    const uint64_t most = key != value ? 1950 : key == 4 ? 1270 : 2520;
    if (u->index->duplicates && !u->epoch->slides) return most + most / 9;
    return u->epoch->slides || u->epoch->view.directory_entries ? most + most / 18 : most;
}

uint64_t copse_blink_extra_most(const copse_blink_update *u)
{
    const copse_blink_epoch *epoch = u->epoch;
    const uint64_t base_leaves = epoch->view.base_leaves;
    const uint64_t loose = (epoch->view.entries + u->pairs.n) * bytes_most(u) / 100 / LEAF_WITH_LEVELS;
    uint64_t pool = base_leaves / POOL_SHARE;
    if (loose < base_leaves + pool) pool = loose > base_leaves ? loose - base_leaves : 0;
    if (pool < POOL_LEAST) pool = POOL_LEAST;
    return pool > epoch->pool_taken ? pool - epoch->pool_taken : 0;
}

bool copse_blink_rebuild_expected(const copse_blink_update *u)
{
    const copse_blink_epoch *epoch = u->epoch;
    const double n = (double)u->pairs.n;
    if (!copse_blink_in_place_may(u)) return true;
    if (u->pairs.n < PREDICT_LEAST || epoch->grown_by == 0) return false;
    const double grows = (double)epoch->grew * n / (double)epoch->grown_by;
    const double more = 1 + GROWS_MORE * n / (double)(epoch->view.entries + 1);
    return grows * more > (double)copse_blink_extra_most(u);
}

/* Have splits, or erasures, left too much room? */
static bool rebuild_is_due(const copse_blink_update *u, const copse_blink_counters *seen)
{
    const uint64_t pool = u->epoch->pool_taken, base_leaves = u->epoch->view.base_leaves, leaves = base_leaves + pool,
                   entries = u->epoch->view.entries;
    if (u->erases && leaves > 64 && entries * EMPTY_SHARE < leaves * copse_blink_slots(u->index)) return true;
    if ((seen->winding && u->epoch->view.branches) || pool * POOL_SHARE > base_leaves + 128) return true;
    const uint64_t bytes = leaves * LEAF_WITH_LEVELS + u->epoch->view.directory_entries * ENTRY_BYTES;
    return pool * 16 > base_leaves + 1024 && bytes * 100 > entries * bytes_most(u);
}

/* Takes over what the kernels counted. */
static void counters_take_over(copse_blink_update *u, const copse_blink_counters *seen)
{
    copse_blink_epoch *epoch = u->epoch;
    uint64_t came = 0, went = 0, taken = 0, rows = 0;
    for (unsigned s = 0; s < COPSE_POOL_STRIPES; s++) {
        came += seen->came[s];
        went += seen->went[s];
        const uint64_t most = epoch->view.pool_leaves / COPSE_POOL_STRIPES; /* a stripe may have been asked for more */
        const uint64_t own = seen->taken[s] < most ? seen->taken[s] : most;
        taken += own;
        if (own > rows) rows = own;
    }
    pthread_mutex_lock(&u->tree->lock); /* a view may be asking for the number of entries */
    epoch->grew = taken - epoch->pool_taken;
    epoch->pool_taken = taken;
    epoch->pool_used = rows * COPSE_POOL_STRIPES;
    epoch->view.entries += came - went;
    copse_blink_directory_grown(epoch, seen->placed);
    pthread_mutex_unlock(&u->tree->lock);
    u->changed = came + went;
}

copse_status copse_blink_pack(const copse_blink_update *u)
{
    copse_blink_epoch *made = NULL;
    uint64_t ignored;
    int outcome = COPSE_DECLINED;
    for (copse_rebuild_kind kind = COPSE_LOOKBACK; outcome == COPSE_DECLINED; kind++)
        outcome = copse_blink_rebuild(u->index, u->epoch, kind, NULL, NULL, 0, 0, &made, &ignored);
    return copse_blink_replace(u->index, made, (copse_status)outcome);
}

copse_status copse_blink_in_place_finish(copse_blink_update *u, const copse_blink_counters *seen)
{
    counters_take_over(u, seen);
    copse_blink_ranks_stale(&u->epoch->ranks);
    if (seen->crowded == 2)
        return copse_device_fault(u->index->device, "the pool of a tree ran out of leaves, which should not happen");
    copse_blink_pool_trim(u->index, u->epoch);
    const bool due = rebuild_is_due(u, seen);
    if (!due && !seen->winding) return COPSE_OK;
    /* The update is done: without memory for more the tree stays as it is. */
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = due ? copse_blink_pack(u) : copse_blink_directory_adopt(u, seen->winding);
    if (status != COPSE_ERR_MEMORY && status != COPSE_ERR_CANCELLED) return status;
    copse_error_put_back(&kept);
    return COPSE_OK;
}
