/* Updates of the sorted array: the batch and the old entries are merged into a new array. */
#pragma once

#include "core/batch_pair.h"
#include "trees/sorted/layout.h"

/* What a pair of the batch does to the entries that have its key. */
typedef enum sorted_action {
    SORTED_UPSERT, /* takes their place, or is added where there are none */
    SORTED_ABSENT, /* is added where there are none                       */
    SORTED_APPEND, /* is added behind them                                */
    SORTED_ERASE   /* takes them away                                     */
} sorted_action;

/* Where the merge writes. Without arrays it only counts. */
typedef struct sorted_output {
    KEY *keys;
    VALUE *values;
    uint64_t n;
} sorted_output;

static inline void sorted_put(sorted_output *to, KEY key, VALUE value)
{
    if (to->keys) {
        to->keys[to->n] = key;
        to->values[to->n] = value;
    }
    to->n++;
}

/* Puts old entries first .. last. */
static inline void sorted_keep(sorted_output *to, const copse_sorted *old, uint64_t first, uint64_t last)
{
    if (to->keys && last > first) {
        memcpy(to->keys + to->n, (const KEY *)old->keys + first, (last - first) * sizeof(KEY));
        memcpy(to->values + to->n, (const VALUE *)old->values + first, (last - first) * sizeof(VALUE));
    }
    to->n += last - first;
}

/* The first entry from `low` on with a key >= (upper: >) `key`, by halving. */
static inline uint64_t sorted_bound(const copse_sorted *tree, uint64_t low, KEY key, bool upper)
{
    const KEY *keys = tree->keys;
    uint64_t n = tree->entries - low;
    while (n) {
        const uint64_t half = n / 2;
        const bool right = upper ? keys[low + half] <= key : keys[low + half] < key;
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

/* A batch of changes of groups (core/batch.h). */
static void sorted_merge_groups(const copse_sorted *old, const copse_batch *batch, sorted_output *to)
{
    const copse_pair *pairs = batch->pairs;
    uint64_t at = 0; /* of the old entries, all in front are done */
    for (uint64_t i = 0; i < batch->n; i++) {
        const KEY key = pairs[i].key;
        const copse_group_change does = batch->does[i];
        const uint64_t equal = sorted_bound(old, at, key, false);
        const bool passes = does == COPSE_GROUP_APPEND || does == COPSE_GROUP_TAKE;
        const uint64_t end = passes ? sorted_bound(old, equal, key, true) : equal;
        sorted_keep(to, old, at, does == COPSE_GROUP_TAKE ? equal : end);
        if (does != COPSE_GROUP_TAKE) sorted_put(to, key, pairs[i].value);
        at = does == COPSE_GROUP_FIRST ? end + 1 : end;
    }
    sorted_keep(to, old, at, old->entries);
}

/* The batch is sorted; where it has pairs that are gone, those erase and the others do what `action` says. */
static void sorted_merge(const copse_sorted *old, const copse_batch *batch, sorted_action action, sorted_output *to)
{
    if (batch->does) {
        sorted_merge_groups(old, batch, to);
        return;
    }
    const copse_pair *pairs = batch->pairs;
    uint64_t at = 0; /* of the old entries, all in front are done */
    for (uint64_t i = 0; i < batch->n; i++) {
        const KEY key = pairs[i].key;
        const sorted_action does = batch->gone && batch->gone[i] ? SORTED_ERASE : action;
        const uint64_t equal = sorted_bound(old, at, key, false), end = sorted_bound(old, equal, key, true);
        sorted_keep(to, old, at, equal);
        if (does == SORTED_ABSENT || does == SORTED_APPEND) sorted_keep(to, old, equal, end);
        if (does == SORTED_UPSERT || does == SORTED_APPEND || (does == SORTED_ABSENT && equal == end))
            sorted_put(to, key, pairs[i].value);
        at = end;
    }
    sorted_keep(to, old, at, old->entries);
}
