/* What driver_mixed.c asks of the widths (driver_mixed_by_width.c). */
#pragma once

#include "core/internal.h"
#include "core/widths.h"

typedef struct mixed_call {
    const copse_index *index;
    /* Pairs of key and (position << COPSE_TAG_BITS | operation). The changes, pairs of key and value that are never larger, are
     * written over those of each chunk that have been replayed. */
    void *sorted;
    uint64_t n;
    const void *values;
    void *out_values;
    uint8_t *out_found;
    /* For each change: the key leaves; with duplicates a copse_group_change. Those of a chunk begin at its `first`. */
    uint8_t *gone;
    bool adds; /* the batch has a COPSE_OP_ADD */
} mixed_call;

/* A stretch of the sorted operations for one thread, with all operations of its keys. */
typedef struct mixed_chunk {
    uint64_t first, last;
    uint64_t changes;
    bool has_gone;
} mixed_chunk;

typedef struct mixed_width {
    /* The first position from `at` on where a chunk may end: between two keys. */
    uint64_t (*cut)(const void *sorted, uint64_t n, uint64_t at);
    /* Replays the operations of a chunk, and writes down which keys end differently from how they began. */
    void (*replay)(const mixed_call *call, mixed_chunk *chunk);
    size_t change_bytes;
    size_t sorted_bytes;
} mixed_width;

COPSE_DECLARE_WIDTHS(const mixed_width, copse_mixed);
