/* A snapshot that is being written: what the writers of keys of fixed width and of byte strings share. */
#pragma once

#include "snapshot/target.h"

typedef struct snapshot_writer {
    const copse_index *index;
    const copse_ctx *ctx;
    snapshot_target target;
    snapshot_header header;
    uint64_t *checksums;
    size_t checksums_size;
    char *fences;
    size_t fences_size;
    char *buffers[2]; /* keys and values of one step */
    size_t buffer_sizes[2];
} snapshot_writer;

/* Checksums and writes `size` bytes of a section, the first of which is `start` of it, at the start of a block, on all threads. Returns 0
 * or the error number. */
int snapshot_blocks_write(snapshot_writer *w, unsigned section, uint64_t start, uint64_t size, const char *bytes);

/* The error for an index whose entries are not those that it counts. */
copse_status snapshot_fail_count(const snapshot_writer *w);

/* A snapshot as a part of a larger file that is being written: at offset `base` of the target. Its size is that of copse_save_memory. */
copse_status snapshot_part_write(const copse_index *index, const snapshot_target *target, uint64_t base);

/* write_bytes.c: writes keys, offsets and values of an index whose keys are byte strings, and fills in the fences. */
copse_status snapshot_strings_write(snapshot_writer *w);
