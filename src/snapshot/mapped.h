/*
 * A snapshot that is read where it lies: the file is mapped, and each block is checked when it is first looked at.
 *
 *   fences     | k0 | k8192 | k16384 | ...            the first key of each block: checked when the file is opened
 *                 |      \
 *   keys       | block 0 | block 1 | ...               checked on first touch: checksum, order, the fences around it
 *   values     | block 0   | block 1   | ...           checked on first touch: checksum
 *
 * Byte strings (mapped_bytes.c) have offsets between the two, whose blocks take the place of those of the keys.
 *
 * A lookup searches the fences, then one block of the keys; the location of an entry (cpu/driver.h) is its rank. Nothing that is
 * read from the file is used as an address, so that a file that changes while it is open can give wrong answers, and no worse.
 */
#pragma once

#include "snapshot/check.h"
#include "trees/sorted/cpu/bytes.h"

#include <stdatomic.h>

typedef atomic_uchar snapshot_state; /* of a block */
enum { SNAPSHOT_UNCHECKED = 0, SNAPSHOT_GOOD = 1, SNAPSHOT_DAMAGED = 2 };

typedef struct snapshot_mapped {
    snapshot_source source; /* bytes is the mapping */
    char *path;             /* the source's, in memory of its own */
    size_t path_size;
    const uint64_t *checksums;
    const char *keys, *values, *fences;
    const uint64_t *offsets; /* byte strings only */
    uint64_t key_blocks;
    uint64_t offset_block;  /* the first block of the offsets */
    snapshot_state *states; /* one for each block */
    size_t states_size;
} snapshot_mapped;

/* One call at work on an open file: index->tree, while the call runs. */
typedef struct snapshot_call {
    copse_sorted_bytes strings; /* the file as the calls of the sorted array see it, where keys are byte strings */
    snapshot_mapped *file;
    atomic_uint_least64_t damaged; /* 1 + the first damaged block that the call met; 0: none */
} snapshot_call;

/* Byte strings: mapped_bytes.c. How the calls of the sorted array read the file; */
extern const copse_sorted_bytes_file snapshot_strings_file;
/* whether a block of offsets fits its fence, and the block behind it; */
snapshot_finding snapshot_group_check(const snapshot_mapped *file, uint64_t block);
snapshot_finding snapshot_border_check(const snapshot_mapped *file, uint64_t block);
/* and whether the bytes are sound that its fence repeats. False: the damage is noted. */
bool snapshot_group_touch(snapshot_call *call, uint64_t block);

/* Notes damage that a call met. */
void snapshot_damage_note(snapshot_call *call, uint64_t block);

/* Checks a block and notes the result. False: it is damaged, which the call will return. */
bool snapshot_touch_first(snapshot_call *call, uint64_t block);

static inline bool snapshot_touch(snapshot_call *call, uint64_t block)
{
    return atomic_load_explicit(&call->file->states[block], memory_order_acquire) == SNAPSHOT_GOOD ||
           snapshot_touch_first(call, block);
}

/* A snapshot that is a part of a file which the caller has mapped, and keeps so until the index is freed. */
copse_status snapshot_part_open(copse_ctx *ctx, const char *path, const char *bytes, uint64_t size,
                                copse_index **out_index);
