/* Checks of what lies in the blocks of a snapshot, for loading a file and for reading one that is mapped. */
#pragma once

#include "snapshot/source.h"

typedef enum snapshot_fault {
    SNAPSHOT_SOUND,
    SNAPSHOT_UNREADABLE,
    SNAPSHOT_BAD_CHECKSUM,
    SNAPSHOT_NAN,
    SNAPSHOT_BAD_ORDER,
    SNAPSHOT_BAD_FENCE,
    SNAPSHOT_BAD_OFFSET
} snapshot_fault;

/* What is wrong with a block. */
typedef struct snapshot_finding {
    snapshot_fault fault;
    uint64_t block;
    uint64_t entry; /* SNAPSHOT_NAN, SNAPSHOT_BAD_ORDER, SNAPSHOT_BAD_FENCE, SNAPSHOT_BAD_OFFSET */
    int error;      /* SNAPSHOT_UNREADABLE                                                       */
} snapshot_finding;

/* The block that lies at `bytes`: its checksum, and where it is one of keys, their order, of offsets, what they say. */
snapshot_finding snapshot_block_check(const snapshot_header *header, uint64_t number, const void *bytes,
                                      uint64_t checksum);

/* n keys of fixed width: none is NaN, and they are in order. `entry` of what is found counts from the first of them. */
snapshot_finding snapshot_keys_check(const snapshot_header *header, const void *keys, uint64_t n);

/* The fences, which lie at `fences`, against each other. */
snapshot_finding snapshot_fences_check(const snapshot_header *header, const void *fences);
/* Whether one key of fixed width may follow another, and whether they are the same. Neither is NaN. */
bool snapshot_in_order(const snapshot_header *header, const void *before, const void *after);
bool snapshot_same_key(const snapshot_header *header, const void *one, const void *other);

/* Byte strings: check_bytes.c. */
typedef struct snapshot_strings {
    const uint64_t *offsets;
    const unsigned char *data;
    const uint64_t *fences;
} snapshot_strings;
/* n offsets, of which the first is number `first`: those of strings that lie in section 1, one behind the other. */
snapshot_finding snapshot_offsets_check(const snapshot_header *header, const uint64_t *offsets, uint64_t first,
                                        uint64_t n);
/* All offsets, the order of all keys, and the fences, in blocks that were checked before. */
copse_status snapshot_strings_check(const snapshot_source *source, const snapshot_strings *strings);

/* The checksums section, which lies at `checksums`, against the header. */
copse_status snapshot_checksums_check(const snapshot_source *source, const void *checksums);

/* All gaps between sections are zero. */
copse_status snapshot_gaps_check(const snapshot_source *source);

/* Looks at blocks first .. last - 1 on all threads; of several faults the one in the first block is named. */
typedef snapshot_finding (*snapshot_look_fn)(const void *where, uint64_t block);
copse_status snapshot_blocks_look(const snapshot_source *source, uint64_t first, uint64_t last, snapshot_look_fn look,
                                  const void *where);

/* The sentence for a fault. */
copse_status snapshot_fail_found(const snapshot_source *source, const snapshot_finding *found);
