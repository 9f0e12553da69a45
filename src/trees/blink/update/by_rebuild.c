/* The strategies that make a new epoch out of the current one and a batch. */
#include "trees/blink/update/strategies.h"

/* Makes the new epoch the current one, unless the batch turns out to have a NaN. The kernels that made it may have
 * found the bounds of the batch, where these were in speculation. */
static copse_status epoch_replace(copse_blink_update *u, copse_device_pairs *pairs, copse_blink_epoch *made)
{
    const copse_blink_epoch *epoch = u->epoch;
    const bool some = epoch->view.entries != 0;
    copse_device *device = u->index->device;
    copse_pairs_speculation seen = made->speculation;
    copse_status status = COPSE_OK;
    if (pairs->speculation && !made->speculation_known)
        status = copse_device_read(device, device->main, &seen, pairs->speculation, sizeof seen);
    if (pairs->speculation && status == COPSE_OK) {
        status = copse_device_pairs_accept(u->index, pairs, &seen);
        made->low = some && epoch->low < pairs->low ? epoch->low : pairs->low;
        made->high = some && epoch->high > pairs->high ? epoch->high : pairs->high;
    }
    return copse_blink_replace(u->index, made, status);
}

/* --- a batch sorted by the upper bits of its keys only ------------------------------------------------------------------------ */

static bool coarse_may(const copse_blink_update *u)
{
    if (u->sorted || u->action == COPSE_ACTION_ERASE || u->index->duplicates || u->epoch->view.entries == 0)
        return false;
    return u->forced || (!u->tree->predictor.ascending && !u->tree->crowds && copse_blink_rebuild_expected(u) &&
                         copse_predictor_ask(&u->tree->coarse));
}

static int coarse_run(copse_blink_update *u)
{
    static const copse_pairs_speculation failed = {.wrong = 1};
    const copse_pairs_hint hint = copse_blink_update_hint(u, &u->tree->coarse);
    copse_blink_epoch *made = NULL;
    copse_kept_error kept;
    copse_status status = copse_blink_update_bring(u);
    if (status != COPSE_OK) return status;
    copse_device_pairs pairs = {
        .n = u->pairs.n, .keys = u->pairs.keys, .values = u->pairs.values, .key_type = u->pairs.key_type};
    copse_error_keep(&kept);
    status = copse_device_pairs_sort_coarse(u->index, &hint, &pairs);
    if (status == COPSE_OK) status = copse_progress(u->index->ctx, u->what, pairs.n / 3 * 2, pairs.n);
    int outcome = status;
    copse_blink_operations operations = copse_blink_update_operations(u, &pairs);
    operations.coarse = pairs.left_out;
    operations.speculation = pairs.speculation;
    if (outcome == COPSE_DONE)
        outcome = copse_blink_rebuild(u->index, u->epoch, COPSE_INDEPENDENT, &operations, u->pairs.keys, pairs.low,
                                      pairs.high, &made, &u->changed);
    if (outcome == COPSE_DECLINED) (void)copse_device_pairs_accept(u->index, &pairs, &failed);
    if (outcome == COPSE_ERR_MEMORY) outcome = COPSE_DECLINED; /* another strategy takes less */
    if (outcome == COPSE_DONE) {
        outcome = epoch_replace(u, &pairs, made);
        u->tree->predictor.ascending = u->tree->coarse.ascending;
    }
    copse_device_pairs_free(u->index, &pairs);
    if (outcome == COPSE_DECLINED) copse_error_put_back(&kept);
    return outcome;
}

const copse_blink_strategy copse_blink_coarse_rebuild = {"coarse-rebuild", coarse_may, coarse_run};

/* --- a sorted batch ------------------------------------------------------------------------------------------------------------- */

/* The order of the batch has to be certain; its bounds may be in speculation. */
static int rebuild(copse_blink_update *u, copse_rebuild_kind kind)
{
    copse_blink_epoch *made = NULL;
    copse_status status = copse_blink_update_sort(u);
    if (status == COPSE_OK && !u->pairs.in_order) status = copse_device_pairs_confirm(u->index, &u->pairs);
    const copse_blink_operations operations = copse_blink_update_operations(u, &u->pairs);
    if (status != COPSE_OK) return status;
    const int outcome = copse_blink_rebuild(u->index, u->epoch, kind, &operations, NULL, u->pairs.low, u->pairs.high,
                                            &made, &u->changed);
    return outcome == COPSE_DONE ? (int)epoch_replace(u, &u->pairs, made) : outcome;
}

static int independent_run(copse_blink_update *u)
{
    return rebuild(u, COPSE_INDEPENDENT);
}

static int lookback_run(copse_blink_update *u)
{
    return rebuild(u, COPSE_LOOKBACK);
}

static int leafwise_run(copse_blink_update *u)
{
    return rebuild(u, COPSE_LEAFWISE);
}

const copse_blink_strategy copse_blink_independent_rebuild = {"independent-rebuild", NULL, independent_run};
const copse_blink_strategy copse_blink_lookback_rebuild = {"lookback-rebuild", NULL, lookback_run};
const copse_blink_strategy copse_blink_leafwise_rebuild = {"leafwise-rebuild", NULL, leafwise_run};
