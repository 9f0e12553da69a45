/* Where a snapshot is read from, a file or memory: opened, with a header that has been checked, and the sentences on what is
 * wrong with it. */
#pragma once

#include "snapshot/format.h"

typedef struct snapshot_source {
    copse_ctx *ctx;
    const char *path;  /* of the file, or what sentences call the memory                  */
    const char *bytes; /* in memory, or a file that is mapped; NULL: read from `file`     */
    int file;          /* -1: not open                                                    */
    bool is_part;      /* bytes are those of a larger mapping, which somebody else unmaps */
    uint64_t size;     /* of the file, as the system says, or of the memory               */
    snapshot_header header;
} snapshot_source;

/* For %llu. */
#define SNAPSHOT_WHOLE(number) ((unsigned long long)(number))

/* Opens source->path and sets file and size. */
copse_status snapshot_open(snapshot_source *source);

/* Reads the header, of either version, and checks it; afterwards every section lies inside of the file. */
copse_status snapshot_header_read(snapshot_source *source);

/* Returns 0, an error number, or -1 where the file ends too early (it shrank since its size was asked for). */
int snapshot_read_all(const snapshot_source *source, void *bytes, size_t size, uint64_t offset);

/* The same with a status. */
copse_status snapshot_read_bytes(const snapshot_source *source, void *bytes, size_t size, uint64_t offset);

copse_status snapshot_fail_io(const snapshot_source *source, const char *step, int error);

/* For an error of snapshot_read_all. */
copse_status snapshot_fail_read(const snapshot_source *source, int error);

/* A number of the header cannot be. */
copse_status snapshot_fail_header(const snapshot_source *source, const char *what, uint64_t number);

/* Bytes first .. last of the file, both included, are wrong. */
copse_status snapshot_fail_bytes(const snapshot_source *source, const char *section, uint64_t first, uint64_t last,
                                 const char *what);
