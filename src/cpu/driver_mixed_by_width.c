/* Mixed batches of the object's widths: the operations of each key, replayed. See driver_mixed.c. */
#include "cpu/driver_mixed.h"
#include "core/batch_pair.h"
#include "core/codec.h"
#include "core/value_add.h"
#include "cpu/driver.h"
#include "cpu/fetch.h"

#include <string.h>

/* Keys that are looked up together: their states fit the first-level cache. */
#define MIXED_BLOCK 512u
/* Operations between asking for a line of the caller's arrays and using it. */
#define MIXED_AHEAD 16u

_Static_assert(sizeof(copse_pair) <= sizeof(copse_tagged_pair), "changes go over the operations");

/* First operation behind `at` with another key; gallops, so that neither short nor endless runs take long. */
static uint64_t mixed_run_end(const copse_tagged_pair *sorted, uint64_t n, uint64_t at)
{
    const KEY key = sorted[at].key;
    uint64_t low = at + 1, step = 1;
    while (low + step <= n && sorted[low + step - 1].key == key) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step - 1 < n ? low + step - 1 : n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sorted[middle].key == key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t mixed_cut(const void *sorted, uint64_t n, uint64_t at)
{
    return at == 0 || at >= n ? at : mixed_run_end(sorted, n, at - 1);
}

/* How keys begin, some at a time. */
typedef struct mixed_block {
    uint32_t n;
    KEY codes[MIXED_BLOCK];
    KEY keys[MIXED_BLOCK]; /* the same as the caller would give them to find */
    VALUE values[MIXED_BLOCK];
    uint8_t found[MIXED_BLOCK];
    uint64_t end[MIXED_BLOCK]; /* of their operations */
} mixed_block;

/* Fills the block with the keys from operation `at` on, and looks them up. */
static void mixed_look_up(const mixed_call *call, uint64_t at, uint64_t last, mixed_block *block)
{
    const copse_tagged_pair *sorted = call->sorted;
    block->n = 0;
    for (; at < last && block->n < MIXED_BLOCK; block->n++) {
        block->codes[block->n] = sorted[at].key;
        DECODE(call->index->key_type, sorted[at].key, block->keys, block->n);
        at = block->end[block->n] = mixed_run_end(sorted, last, at);
    }
    (void)copse_cpu_find_chunk(call->index, block->keys, 0, block->n, block->values, block->found);
}

/* The replay visits the caller's arrays in the order of the keys, that is at random. */
COPSE_FETCH void mixed_fetch(const mixed_call *call, uint64_t tagged)
{
    const uint64_t at = tagged >> COPSE_TAG_BITS;
    if (call->values) __builtin_prefetch((const VALUE *)call->values + at);
    if (call->out_values) __builtin_prefetch((const VALUE *)call->out_values + at, 1);
    if (call->out_found) __builtin_prefetch(call->out_found + at, 1);
}

/* What the operation finds. */
static inline void mixed_answer(const mixed_call *call, uint64_t at, VALUE value, bool there)
{
    if (call->out_values) ((VALUE *)call->out_values)[at] = value;
    if (call->out_found) call->out_found[at] = there;
}

/* The value that comes with it. */
static inline VALUE mixed_given(const mixed_call *call, uint64_t at)
{
    return call->values ? ((const VALUE *)call->values)[at] : 0;
}

/* One operation on the state of its key. Without branches on what the operation is: no processor predicts that. `adds` is a
 * constant: without ADD there is nothing to pay for it. */
static inline void mixed_step(const mixed_call *call, uint64_t tagged, VALUE *value, bool *there, bool adds)
{
    const uint64_t at = tagged >> COPSE_TAG_BITS, operation = tagged & COPSE_TAG_MASK;
    VALUE given = mixed_given(call, at);
    bool puts = operation == COPSE_OP_UPSERT || (operation == COPSE_OP_INSERT_IF_ABSENT && !*there);
    mixed_answer(call, at, *value, *there);
    if (adds && operation == COPSE_OP_ADD) {
        if (*there) given = copse_value_add(call->index->value_type, *value, given);
        puts = true;
    }
    *there = puts | (*there & (operation != COPSE_OP_ERASE));
    *value = puts ? given : *there ? *value : 0;
}

static inline __attribute__((always_inline)) void mixed_replay_keys(const mixed_call *call, mixed_chunk *chunk,
                                                                    bool adds)
{
    const copse_tagged_pair *sorted = call->sorted;
    copse_pair *changes =
        (copse_pair *)((copse_tagged_pair *)call->sorted + chunk->first); /* at most one for each operation behind us */
    uint8_t *gone = call->gone + chunk->first;
    mixed_block block;
    uint64_t made = 0, any_gone = 0;
    for (uint64_t at = chunk->first; at < chunk->last;) {
        mixed_look_up(call, at, chunk->last, &block);
        for (uint32_t k = 0; k < block.n; k++) {
            VALUE value = block.values[k];
            bool there = block.found[k];
            for (; at < block.end[k]; at++) {
                if (at + MIXED_AHEAD < chunk->last) mixed_fetch(call, sorted[at + MIXED_AHEAD].value);
                mixed_step(call, sorted[at].value, &value, &there, adds);
            }
            /* Written always, counted only where it is one. */
            const bool changed = there != (bool)block.found[k] || value != block.values[k];
            changes[made] = (copse_pair){block.codes[k], value};
            gone[made] = !there;
            any_gone |= changed && !there;
            made += changed;
        }
    }
    chunk->changes = made;
    chunk->has_gone = any_gone != 0;
}

/* --- duplicates ------------------------------------------------------------------------------------------------------- */

/* A key with its group of entries, of which only the first one matters: operations see it, change it, take the group away or put
 * entries behind it. */
typedef struct mixed_group {
    copse_type type;
    KEY key;
    VALUE first; /* of the old entries, while they are kept */
    bool kept;
    copse_pair *added; /* written where the operations stood that are done: each adds one entry at most */
    uint64_t n;
} mixed_group;

static inline void mixed_group_step(const mixed_call *call, uint64_t tagged, mixed_group *g)
{
    const uint64_t at = tagged >> COPSE_TAG_BITS, operation = tagged & COPSE_TAG_MASK;
    const VALUE given = mixed_given(call, at);
    const bool there = g->kept || g->n;
    VALUE *first = g->kept ? &g->first : &g->added[0].value;
    mixed_answer(call, at, there ? *first : 0, there);
    if (operation == COPSE_OP_ERASE) {
        g->kept = false;
        g->n = 0;
    } else if (operation == COPSE_OP_ADD && there) {
        *first = copse_value_add(g->type, *first, given);
    } else if (operation == COPSE_OP_UPSERT || (operation != COPSE_OP_FIND && !there)) {
        g->added[g->n++] = (copse_pair){g->key, given};
    }
}

/* What the operations of a key do to its group, as changes; never more than there were operations, because a FIRST takes an ADD
 * and a TAKE an ERASE. Returns how many. */
static uint64_t mixed_group_changes(const mixed_group *g, bool found, VALUE before, uint8_t *does)
{
    if (found && !g->kept) {
        memset(does, COPSE_GROUP_PUT, g->n);
        g->added[g->n] = (copse_pair){g->key, 0};
        does[g->n] = COPSE_GROUP_TAKE;
        return g->n + 1;
    }
    const bool first = found && g->first != before;
    if (first) {
        memmove(g->added + 1, g->added, g->n * sizeof *g->added);
        g->added[0] = (copse_pair){g->key, g->first};
        does[0] = COPSE_GROUP_FIRST;
    }
    memset(does + first, COPSE_GROUP_APPEND, g->n);
    return g->n + first;
}

static void mixed_replay_groups(const mixed_call *call, mixed_chunk *chunk)
{
    const copse_tagged_pair *sorted = call->sorted;
    copse_pair *changes = (copse_pair *)((copse_tagged_pair *)call->sorted + chunk->first);
    uint8_t *does = call->gone + chunk->first;
    mixed_block block;
    uint64_t made = 0;
    for (uint64_t at = chunk->first; at < chunk->last;) {
        mixed_look_up(call, at, chunk->last, &block);
        for (uint32_t k = 0; k < block.n; k++) {
            mixed_group group = {.type = call->index->value_type,
                                 .key = block.codes[k],
                                 .first = block.values[k],
                                 .kept = block.found[k],
                                 .added = changes + made};
            for (; at < block.end[k]; at++) {
                if (at + MIXED_AHEAD < chunk->last) mixed_fetch(call, sorted[at + MIXED_AHEAD].value);
                mixed_group_step(call, sorted[at].value, &group);
            }
            made += mixed_group_changes(&group, block.found[k], block.values[k], does + made);
        }
    }
    chunk->changes = made;
}

static void mixed_replay(const mixed_call *call, mixed_chunk *chunk)
{
    if (call->index->duplicates)
        mixed_replay_groups(call, chunk);
    else if (call->adds)
        mixed_replay_keys(call, chunk, true);
    else
        mixed_replay_keys(call, chunk, false);
}

const mixed_width NAME(copse_mixed) = {
    .cut = mixed_cut,
    .replay = mixed_replay,
    .change_bytes = sizeof(copse_pair),
    .sorted_bytes = sizeof(copse_tagged_pair),
};
