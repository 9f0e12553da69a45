/* The table of strategies, the loop that walks it, and what several strategies need. */
#include "trees/blink/update/strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which the host asks them: what costs least comes first. The last one takes every batch. */
static const copse_blink_strategy *const strategies[] = {
    &copse_blink_unsorted,         &copse_blink_append,          &copse_blink_coarse_rebuild,
    &copse_blink_bucket_sort,      &copse_blink_sorted_in_place, &copse_blink_independent_rebuild,
    &copse_blink_lookback_rebuild, &copse_blink_leafwise_rebuild};

#define STRATEGIES (sizeof strategies / sizeof *strategies)

const copse_blink_strategy *copse_blink_strategy_named(const char *name)
{
    for (unsigned s = 0; s < STRATEGIES; s++)
        if (strcmp(strategies[s]->name, name) == 0) return strategies[s];
    return NULL;
}

copse_status copse_blink_strategy_asked(const copse_ctx *ctx, const copse_blink_strategy **out)
{
    const char *name = getenv("COPSE_BLINK_STRATEGY");
    char names[160] = "";
    if (!name || !*name || (*out = copse_blink_strategy_named(name))) return COPSE_OK;
    for (unsigned s = 0; s < STRATEGIES; s++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), s ? ", %s" : "%s", strategies[s]->name);
    return copse_fail_argument(ctx, "COPSE_BLINK_STRATEGY", "COPSE_BLINK_STRATEGY is '%.40s'; it takes one of %s", name,
                               names);
}

copse_status copse_blink_update_run(copse_blink_update *u)
{
    copse_blink *tree = u->tree = copse_blink_handle_of(u->index)->tree;
    int outcome = COPSE_DECLINED;
    u->epoch = tree->current;
    if (copse_memory_product(u->pairs.n, 32) == SIZE_MAX) return copse_blink_update_bring(u); /* says what is wrong */
    if (u->pairs.n > UINT32_MAX - 1)
        return copse_fail(u->index->ctx, COPSE_ERR_UNSUPPORTED, "n is %llu: a batch of updates has at most %u keys",
                          (unsigned long long)u->pairs.n, UINT32_MAX - 1);
    /* The forced strategy comes in front of all; the others follow where it may not run or declines. */
    for (unsigned s = 0; s <= STRATEGIES && outcome == COPSE_DECLINED; s++) {
        const copse_blink_strategy *strategy = s ? strategies[s - 1] : tree->tuning.forced;
        u->forced = s == 0;
        if (!strategy || (s && strategy == tree->tuning.forced) || (strategy->may && !strategy->may(u))) continue;
        outcome = strategy->run(u);
        tree->last = strategy;
    }
    copse_device_pairs_free(u->index, &u->pairs);
    return (copse_status)outcome;
}

/* --- what several strategies need --------------------------------------------------------------------------------------------- */

copse_status copse_blink_update_bring(copse_blink_update *u)
{
    if (u->brought) return COPSE_OK;
    u->brought = true;
    return copse_device_pairs_bring(u->index, u->keys, u->values, u->pairs.n, u->what, &u->pairs);
}

copse_status copse_blink_update_sort(copse_blink_update *u)
{
    const copse_pairs_hint hint = copse_blink_update_hint(u, &u->tree->predictor);
    const copse_equal_keys kept = u->action == COPSE_ACTION_IF_ABSENT ? COPSE_EQUAL_FIRST : COPSE_EQUAL_LAST;
    copse_status status = copse_blink_update_bring(u);
    if (status == COPSE_OK && !u->sorted) status = copse_device_pairs_sort(u->index, &hint, u->what, &u->pairs);
    u->sorted = true;
    if (status != COPSE_OK || u->attempt != TOO_MANY_EQUALS) return status;
    u->attempt = UNTRIED;
    status = copse_device_pairs_encode(u->index, &u->pairs); /* erased keys may have no values yet */
    return status == COPSE_OK ? copse_device_pairs_unique(u->index, &u->pairs, kept) : status;
}

copse_blink_operations copse_blink_update_operations(const copse_blink_update *u, const copse_device_pairs *pairs)
{
    const bool all = u->index->duplicates && u->action == COPSE_ACTION_UPSERT;
    if (u->mixed) return *u->mixed;
    return (copse_blink_operations){.keys = pairs->keys,
                                    .values = u->action == COPSE_ACTION_ERASE ? NULL : pairs->values,
                                    .action = u->action,
                                    .speculation = pairs->in_order ? pairs->speculation : NULL,
                                    .last_wins = all || pairs->unique ? 2 : u->action != COPSE_ACTION_IF_ABSENT,
                                    .n = pairs->n};
}

copse_pairs_hint copse_blink_update_hint(const copse_blink_update *u, copse_predictor *predictor)
{
    return (copse_pairs_hint){u->epoch->view.entries != 0, u->epoch->low, u->epoch->high, predictor};
}
