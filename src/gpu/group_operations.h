/* Template: kernels for keys that may repeat, for one pair of widths. */
#pragma once

#include "core/value_add.h"
#include "gpu/group_kernels.h"
#include "gpu/kernel.h"
#include "gpu/mixed_operations.h"

/* A key with its group, of which only the first entry matters. */
typedef struct group_standing {
    VALUE first; /* of the old entries, while they are kept */
    VALUE lead;  /* of those that the batch added since     */
    uint64_t lead_at, since;
    bool kept, added;
} group_standing;

SIMT_DEVICE void group_clear(const copse_mixed_arguments *a, group_standing *g, uint64_t at)
{
    for (uint64_t i = g->since; i < at; i++) a->there[i] = 0;
    g->since = at;
    g->kept = g->added = false;
}

/* The sorted operation `at`: there[at] becomes 1 where it adds an entry, with the value in standing[at]. */
SIMT_DEVICE void group_step(const copse_mixed_arguments *a, group_standing *g, uint64_t at)
{
    const uint64_t tag = mixed_word(a, a->tags, at), does = tag & COPSE_MIXED_TAG;
    const VALUE given = mixed_given(a, tag >> COPSE_MIXED_SHIFT);
    const bool there = g->kept || g->added;
    mixed_standing now;
    now.value = g->kept ? g->first : g->added ? g->lead : 0;
    now.there = there;
    mixed_found(a, tag >> COPSE_MIXED_SHIFT, now);
    a->there[at] = 0;
    a->gone[at] = COPSE_GROUP_STAYS;
    if (does == COPSE_OP_ERASE) {
        group_clear(a, g, at);
    } else if (does == COPSE_OP_ADD && g->kept) {
        g->first = copse_value_add(a->value_type, g->first, given);
    } else if (does == COPSE_OP_ADD && there) {
        g->lead = copse_value_add(a->value_type, g->lead, given);
        ((VALUE *)a->standing)[g->lead_at] = g->lead;
    } else if (does == COPSE_OP_UPSERT || (does != COPSE_OP_FIND && !there)) {
        a->there[at] = 1;
        ((VALUE *)a->standing)[at] = given;
        if (!g->added) {
            g->lead = given;
            g->lead_at = at;
        }
        g->added = true;
    }
}

/* The thread of a key's first operation goes through all of them. */
SIMT_KERNEL(NAME(group_fold), copse_mixed_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const KEY key = keys[i];
        if (i && keys[i - 1u] == key) continue;
        const VALUE before = ((const VALUE *)a.standing)[i];
        const bool found = a.there[i] != 0;
        group_standing g = {before, 0, 0, i, found, false};
        for (uint64_t at = i; at < a.n && keys[at] == key; at++) group_step(&a, &g, at);
        const bool goes = found && !g.kept, first = g.kept && g.first != before;
        a.gone[i] = goes ? COPSE_GROUP_GOES : first ? COPSE_GROUP_GETS_FIRST : COPSE_GROUP_STAYS;
        ((VALUE *)a.firsts)[i] = g.first;
        if (goes || first || g.added) simt_store_relaxed_u64(&a.survey->changes, 1u);
    }
}

/* The first of n sorted keys that is not smaller. */
SIMT_DEVICE uint64_t group_seek(const KEY *keys, uint64_t n, KEY key)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2u;
        if (keys[middle] < key)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

SIMT_KERNEL(NAME(group_mark), copse_group_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *entries = (const KEY *)a.entry_keys, *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t at = group_seek(keys, a.n, entries[i]);
        const uint32_t does = at < a.n && keys[at] == entries[i] ? a.does[at] : COPSE_GROUP_STAYS;
        a.keep[i] = does != COPSE_GROUP_GOES;
        if (does == COPSE_GROUP_GETS_FIRST && (i == 0 || entries[i - 1u] != entries[i]))
            ((VALUE *)a.entry_values)[i] = ((const VALUE *)a.firsts)[at];
    }
}

SIMT_KERNEL(NAME(group_compare), copse_group_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        a.same[i] = a.there[i] && ((const VALUE *)a.standing)[i] == ((const VALUE *)a.values)[i];
}

SIMT_KERNEL(NAME(group_candidates), copse_group_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *entries = (const KEY *)a.entry_keys, *keys = (const KEY *)a.keys;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t at = group_seek(keys, a.n, entries[i]);
        a.chosen[i] = at < a.n && keys[at] == entries[i];
        a.numbers[i] = i;
        a.keep[i] = 1;
    }
}

SIMT_DEVICE uint64_t group_number(const copse_group_gather_arguments *a, uint64_t i)
{
    if (a->through) i = a->through[i];
    return a->numbers ? a->numbers[i] : i;
}

SIMT_KERNEL(NAME(group_gather_keys), copse_group_gather_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        ((KEY *)a.out)[i] = ((const KEY *)a.in)[group_number(&a, i)];
}

SIMT_KERNEL(NAME(group_gather_values), copse_group_gather_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        ((VALUE *)a.out)[i] = ((const VALUE *)a.in)[group_number(&a, i)];
}

SIMT_KERNEL(NAME(group_gather_numbers), copse_group_gather_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x)
        ((uint64_t *)a.out)[i] = group_number(&a, i);
}

/* The first of n pairs, sorted by key and then by value, that is not smaller, or with `behind` that is greater. */
SIMT_DEVICE uint64_t group_seek_pair(const KEY *keys, const VALUE *values, uint64_t n, KEY key, VALUE value,
                                     bool behind)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2u;
        const bool less = keys[middle] < key || (keys[middle] == key && values[middle] < value);
        const bool equal = keys[middle] == key && values[middle] == value;
        if (less || (behind && equal))
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

/* Of equal pairs the first ones go, as many as the batch has. */
SIMT_KERNEL(NAME(group_take), copse_group_take_arguments, COPSE_KERNEL_THREADS, 8)
{
    const KEY *entries = (const KEY *)a.entry_keys, *keys = (const KEY *)a.keys;
    const VALUE *own = (const VALUE *)a.entry_values, *values = (const VALUE *)a.values;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t equals = i - group_seek_pair(entries, own, a.entries, entries[i], own[i], false);
        const uint64_t first = group_seek_pair(keys, values, a.n, entries[i], own[i], false);
        const uint64_t wanted = group_seek_pair(keys, values, a.n, entries[i], own[i], true) - first;
        if (equals < wanted) a.keep[a.numbers[i]] = 0;
    }
}

SIMT_KERNEL(NAME(group_rows), copse_group_rows_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        a.rows[i] = (uint32_t)i;
        a.gone[i] = 1;
    }
}
