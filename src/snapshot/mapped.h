/*
 * A snapshot that is read where it lies: the file is mapped, and each block is checked when it is first looked at.
 *
 *   fences     | k0 | k8192 | k16384 | ...            the first key of each block: checked when the file is opened
 *                 |      \
 *   keys       | block 0 | block 1 | ...               checked on first touch: checksum, order, the fences around it
 *   values     | block 0   | block 1   | ...           checked on first touch: checksum
 *
 * A lookup searches the fences, then one block of the keys; the location of an entry (cpu/driver.h) is its rank. Nothing that is
 * read from the file is used as an address, so that a file that changes while it is open can give wrong answers, and no worse.
 */
#pragma once

#include "snapshot/check.h"

#include <stdatomic.h>

typedef atomic_uchar snapshot_state; /* of a block */
enum { SNAPSHOT_UNCHECKED = 0, SNAPSHOT_GOOD = 1, SNAPSHOT_DAMAGED = 2 };

typedef struct snapshot_mapped {
    snapshot_source source; /* bytes is the mapping */
    char *path;             /* the source's, in memory of its own */
    size_t path_size;
    const uint64_t *checksums;
    const char *keys, *values, *fences;
    uint64_t key_blocks;
    snapshot_state *states; /* one for each block */
    size_t states_size;
} snapshot_mapped;

/* One call at work on an open file: index->tree, while the call runs. */
typedef struct snapshot_call {
    snapshot_mapped *file;
    atomic_uint_least64_t damaged; /* 1 + the first damaged block that the call met; 0: none */
} snapshot_call;

/* Checks a block and notes the result. False: it is damaged, which the call will return. */
bool snapshot_touch_first(snapshot_call *call, uint64_t block);

static inline bool snapshot_touch(snapshot_call *call, uint64_t block)
{
    return atomic_load_explicit(&call->file->states[block], memory_order_acquire) == SNAPSHOT_GOOD ||
           snapshot_touch_first(call, block);
}
