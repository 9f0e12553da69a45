/*
 * Merging a sorted batch into a sorted stretch of units. Both trees use it: the implicit one over all its units, the
 * regular one leaf by leaf.
 */
#pragma once

#include "core/batch_pair.h"
#include "core/codec.h"
#include "cpu/unit.h"

#include <string.h>

/* Most lines that a fetch ahead of a copy asks for, into the second-level cache; the hardware follows longer runs. */
#define COPSE_FETCH_LINES 32u

/* What a batch does to the entries that are there. */
typedef enum merge_kind {
    MERGE_UPSERT, /* equal key: new value; else added                      */
    MERGE_ABSENT, /* equal key: stays as it is; else added                 */
    MERGE_APPEND, /* added behind its equals                               */
    MERGE_ERASE,  /* all equals go                                         */
    MERGE_MIXED,  /* each pair by itself: as in ERASE if gone, else UPSERT */
    MERGE_GROUPS  /* each pair by itself: a copse_group_change             */
} merge_kind;

static inline merge_kind merge_kind_of(const copse_index *index, uint32_t insert_flags)
{
    if (insert_flags & COPSE_INSERT_IF_ABSENT) return MERGE_ABSENT;
    return index->duplicates ? MERGE_APPEND : MERGE_UPSERT;
}

static inline merge_kind merge_kind_of_apply(const copse_batch *batch)
{
    if (batch->does) return MERGE_GROUPS;
    return batch->gone ? MERGE_MIXED : MERGE_UPSERT;
}

typedef struct unit_cursor {
    copse_unit *unit;
    uint32_t slot;
} unit_cursor;

/* A stretch of a batch. */
typedef struct merge_slice {
    const copse_pair *pairs;
    const uint8_t *gone; /* NULL unless the kind is MIXED  */
    const uint8_t *does; /* NULL unless the kind is GROUPS */
    uint64_t n;
} merge_slice;

static inline merge_slice merge_slice_of(const copse_batch *batch, uint64_t first, uint64_t n)
{
    return (merge_slice){(const copse_pair *)batch->pairs + first, batch->gone ? batch->gone + first : NULL,
                         batch->does ? batch->does + first : NULL, n};
}

/* Does pair i take its equals away? */
static inline bool merge_takes(const merge_slice *slice, uint64_t i, merge_kind kind)
{
    return kind == MERGE_ERASE || (kind == MERGE_MIXED && slice->gone[i]);
}

static inline unit_cursor cursor_at(const copse_unit *units, uint64_t position)
{
    return (unit_cursor){(copse_unit *)units + position / UNIT_ENTRIES, (uint32_t)(position % UNIT_ENTRIES)};
}

static inline void cursor_next(unit_cursor *c)
{
    if (++c->slot == UNIT_ENTRIES) {
        c->slot = 0;
        c->unit++;
    }
}

/* Where merged entries go: stretches of units, one after the other; a stretch ends after `room` entries. */
typedef struct merge_sink {
    unit_cursor at;
    uint64_t room;       /* entries left in this stretch                                    */
    copse_unit **next;   /* the stretches to follow                                         */
    const uint8_t *fill; /* and the entries that go into each of them                      */
} merge_sink;

static inline void sink_put(merge_sink *sink, KEY key, VALUE value)
{
    if (sink->room == 0) {
        sink->at = (unit_cursor){*sink->next++, 0};
        sink->room = *sink->fill++;
    }
    sink->room--;
    sink->at.unit->keys[sink->at.slot] = key;
    sink->at.unit->values[sink->at.slot] = value;
    cursor_next(&sink->at);
}

static inline KEY unit_key(const copse_unit *units, uint64_t position)
{
    return units[position / UNIT_ENTRIES].keys[position % UNIT_ENTRIES];
}

/* First position in [first, last) whose key is >= q; gallops from `first`, so near answers are found quickly. */
static inline uint64_t merge_seek(const copse_unit *units, uint64_t first, uint64_t last, KEY q)
{
    uint64_t step = 1, low = first;
    while (low + step <= last && unit_key(units, low + step - 1) < q) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step - 1 < last ? low + step - 1 : last;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (unit_key(units, middle) < q)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The two functions below for changes of groups. */
static inline uint64_t merge_count_groups(const copse_unit *old, uint64_t first, uint64_t last, merge_slice slice,
                                          uint64_t *out_new)
{
    uint64_t count = last - first, at = first, fresh = 0;
    for (uint64_t i = 0; i < slice.n; i++) {
        const copse_group_change does = slice.does[i];
        fresh += does != COPSE_GROUP_FIRST;
        count += does == COPSE_GROUP_APPEND || does == COPSE_GROUP_PUT;
        if (does != COPSE_GROUP_TAKE) continue;
        at = merge_seek(old, at, last, slice.pairs[i].key);
        for (; at < last && unit_key(old, at) == slice.pairs[i].key; at++) count--;
    }
    *out_new = fresh;
    return count;
}

static inline void merge_write_groups(const copse_unit *old, uint64_t first, uint64_t last, merge_slice slice,
                                      merge_sink *sink)
{
    unit_cursor from = cursor_at(old, first);
    uint64_t left = last - first;
    for (uint64_t i = 0; i < slice.n; i++) {
        const KEY key = slice.pairs[i].key;
        const copse_group_change does = slice.does[i];
        for (; left && from.unit->keys[from.slot] < key; left--, cursor_next(&from))
            sink_put(sink, from.unit->keys[from.slot], from.unit->values[from.slot]);
        for (; does == COPSE_GROUP_APPEND && left && from.unit->keys[from.slot] == key; left--, cursor_next(&from))
            sink_put(sink, key, from.unit->values[from.slot]);
        for (; does == COPSE_GROUP_TAKE && left && from.unit->keys[from.slot] == key; left--) cursor_next(&from);
        if (does != COPSE_GROUP_TAKE) sink_put(sink, key, slice.pairs[i].value);
        if (does == COPSE_GROUP_FIRST) {
            cursor_next(&from);
            left--;
        }
    }
    for (; left; left--, cursor_next(&from)) sink_put(sink, from.unit->keys[from.slot], from.unit->values[from.slot]);
}

/* How many entries old[first, last) will have after the batch: the merge below without writing. *out_new receives how
 * many batch entries find no equal: 0 in an upsert means that only values change. */
static inline uint64_t merge_count(const copse_unit *old, uint64_t first, uint64_t last, merge_slice slice,
                                   merge_kind kind, uint64_t *out_new)
{
    if (kind == MERGE_GROUPS) return merge_count_groups(old, first, last, slice, out_new);
    uint64_t count = last - first, at = first, fresh = 0;
    for (uint64_t i = 0; i < slice.n; i++) {
        KEY key = slice.pairs[i].key;
        at = merge_seek(old, at, last, key);
        bool match = at < last && unit_key(old, at) == key;
        fresh += !match;
        if (kind == MERGE_APPEND) {
            count++;
        } else if (!merge_takes(&slice, i, kind)) {
            count += !match;
        } else {
            for (; at < last && unit_key(old, at) == key; at++) count--;
        }
    }
    *out_new = fresh;
    return count;
}

/* Writes old[first, last) changed by the batch to the sink, in order. */
static inline void merge_write(const copse_unit *old, uint64_t first, uint64_t last, merge_slice slice, merge_kind kind,
                               merge_sink *sink)
{
    if (kind == MERGE_GROUPS) {
        merge_write_groups(old, first, last, slice, sink);
        return;
    }
    const bool replaces = kind == MERGE_UPSERT || kind == MERGE_MIXED;
    unit_cursor from = cursor_at(old, first);
    uint64_t left = last - first;
    for (uint64_t i = 0; i < slice.n; i++) {
        KEY key = slice.pairs[i].key;
        bool match = false, takes = merge_takes(&slice, i, kind);
        for (; left && from.unit->keys[from.slot] < key; left--, cursor_next(&from))
            sink_put(sink, from.unit->keys[from.slot], from.unit->values[from.slot]);
        for (; left && from.unit->keys[from.slot] == key; left--, cursor_next(&from)) {
            match = true;
            if (takes) continue;
            sink_put(sink, key, replaces ? slice.pairs[i].value : from.unit->values[from.slot]);
        }
        if (kind == MERGE_APPEND || (!takes && !match)) sink_put(sink, key, slice.pairs[i].value);
    }
    for (; left; left--, cursor_next(&from)) sink_put(sink, from.unit->keys[from.slot], from.unit->values[from.slot]);
}

/* Fills the free entries of the last unit of n entries, so that no node search takes them for entries. */
static inline void unit_pad(copse_unit *units, uint64_t n)
{
    for (; n % UNIT_ENTRIES; n++) {
        units[n / UNIT_ENTRIES].keys[n % UNIT_ENTRIES] = KEY_MAX;
        units[n / UNIT_ENTRIES].values[n % UNIT_ENTRIES] = 0;
    }
}

/* Copies n entries of one unit, decoded. With a constant n and a key type that is stored as it is, that is a few vector
 * moves. */
static inline void unit_copy_some(const copse_unit *unit, uint32_t slot, uint32_t n, copse_type type, uint64_t at,
                                  void *keys, void *values)
{
    if (keys && (type == COPSE_U32 || type == COPSE_U64))
        memcpy((KEY *)keys + at, unit->keys + slot, n * sizeof(KEY));
    else if (keys)
        for (uint32_t i = 0; i < n; i++) DECODE(type, unit->keys[slot + i], keys, at + i);
    if (values) memcpy((VALUE *)values + at, unit->values + slot, n * sizeof(VALUE));
}

/* The same for less than a unit: such lengths vary, so a plain loop beats a call to memcpy. */
static inline void unit_copy_few(const copse_unit *unit, uint32_t slot, uint32_t n, copse_type type, uint64_t at,
                                 void *keys, void *values)
{
    for (uint32_t i = 0; i < n; i++) {
        if (keys) DECODE(type, unit->keys[slot + i], keys, at + i);
        if (values) ((VALUE *)values)[at + i] = unit->values[slot + i];
    }
}

/* Copies a whole unit's worth of entries from a slot on, though only the first ones of them lie in this unit: the caller copies what
 * follows over the others. So the length is a constant, which nobody has to predict. */
static inline void unit_copy_over(const copse_unit *unit, uint32_t slot, uint64_t at, void *keys, void *values)
{
    const char *from = (const char *)unit;
    if (keys) memcpy((KEY *)keys + at, from + slot * sizeof(KEY), sizeof unit->keys);
    if (values)
        memcpy((VALUE *)values + at, from + offsetof(copse_unit, values) + slot * sizeof(VALUE), sizeof unit->values);
}

/* Copies `count` entries of consecutive units, from a position on, decoded, to position `at` of the outputs. */
static inline void unit_copy(const copse_unit *units, uint64_t position, uint64_t count, copse_type type, uint64_t at,
                             void *keys, void *values)
{
    const copse_unit *unit = units + position / UNIT_ENTRIES;
    uint32_t slot = (uint32_t)(position % UNIT_ENTRIES);
    if (count > UNIT_ENTRIES && (type == COPSE_U32 || type == COPSE_U64)) {
        unit_copy_over(unit++, slot, at, keys, values);
        at += UNIT_ENTRIES - slot;
        count -= UNIT_ENTRIES - slot;
    } else if (slot) {
        uint32_t n = UNIT_ENTRIES - slot < count ? UNIT_ENTRIES - slot : (uint32_t)count;
        unit_copy_few(unit++, slot, n, type, at, keys, values);
        at += n;
        count -= n;
    }
    for (; count >= UNIT_ENTRIES; count -= UNIT_ENTRIES, at += UNIT_ENTRIES)
        unit_copy_some(unit++, 0, UNIT_ENTRIES, type, at, keys, values);
    if (count) unit_copy_few(unit, 0, (uint32_t)count, type, at, keys, values);
}
