/* Template: a batch and entries in order, in two arrays, are merged into new ones. The sorted array does it with all its entries, the
 * paged tree page by page. */
#pragma once

#include "core/batch_pair.h"

#include <string.h>

/* Entries in order. */
typedef struct entry_array {
    const KEY *keys;
    const VALUE *values;
    uint64_t entries;
} entry_array;

/* What a pair of the batch does to the entries that have its key. */
typedef enum array_action {
    ARRAY_UPSERT, /* takes their place, or is added where there are none */
    ARRAY_ABSENT, /* is added where there are none                       */
    ARRAY_APPEND, /* is added behind them                                */
    ARRAY_ERASE   /* takes them away                                     */
} array_action;

/* Where the merge writes. Without arrays it only counts. */
typedef struct array_output {
    KEY *keys;
    VALUE *values;
    uint64_t n;
} array_output;

static inline void array_put(array_output *to, KEY key, VALUE value)
{
    if (to->keys && to->values) {
        to->keys[to->n] = key;
        to->values[to->n] = value;
    }
    to->n++;
}

/* Puts old entries first .. last. */
static inline void array_keep(array_output *to, const entry_array *old, uint64_t first, uint64_t last)
{
    if (to->keys && to->values && old->keys && old->values && last > first) {
        memcpy(to->keys + to->n, old->keys + first, (last - first) * sizeof(KEY));
        memcpy(to->values + to->n, old->values + first, (last - first) * sizeof(VALUE));
    }
    to->n += last - first;
}

/* The first entry from `low` on with a key >= (upper: >) `key`, by halving. */
static inline uint64_t array_bound(const entry_array *tree, uint64_t low, KEY key, bool upper)
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
static inline void array_merge_groups(const entry_array *old, const copse_batch *batch, array_output *to)
{
    const copse_pair *pairs = batch->pairs;
    uint64_t at = 0; /* of the old entries, all in front are done */
    for (uint64_t i = 0; i < batch->n; i++) {
        const KEY key = pairs[i].key;
        const copse_group_change does = batch->does[i];
        const uint64_t equal = array_bound(old, at, key, false);
        const bool passes = does == COPSE_GROUP_APPEND || does == COPSE_GROUP_TAKE;
        const uint64_t end = passes ? array_bound(old, equal, key, true) : equal;
        array_keep(to, old, at, does == COPSE_GROUP_TAKE ? equal : end);
        if (does != COPSE_GROUP_TAKE) array_put(to, key, pairs[i].value);
        at = does == COPSE_GROUP_FIRST ? end + 1 : end;
    }
    array_keep(to, old, at, old->entries);
}

/* The batch is sorted; where it has pairs that are gone, those erase and the others do what `action` says. */
static inline void array_merge(const entry_array *old, const copse_batch *batch, array_action action, array_output *to)
{
    if (batch->does) {
        array_merge_groups(old, batch, to);
        return;
    }
    const copse_pair *pairs = batch->pairs;
    uint64_t at = 0; /* of the old entries, all in front are done */
    for (uint64_t i = 0; i < batch->n; i++) {
        const KEY key = pairs[i].key;
        const array_action does = batch->gone && batch->gone[i] ? ARRAY_ERASE : action;
        const uint64_t equal = array_bound(old, at, key, false), end = array_bound(old, equal, key, true);
        array_keep(to, old, at, equal);
        if (does == ARRAY_ABSENT || does == ARRAY_APPEND) array_keep(to, old, equal, end);
        if (does == ARRAY_UPSERT || does == ARRAY_APPEND || (does == ARRAY_ABSENT && equal == end))
            array_put(to, key, pairs[i].value);
        at = end;
    }
    array_keep(to, old, at, old->entries);
}
