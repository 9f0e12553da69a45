/* Where a snapshot is written to: memory of the caller, or a temporary file in the folder of the target, which is synced and
 * renamed over the target when it is complete. */
#pragma once

#include "snapshot/format.h"

typedef struct snapshot_target {
    const copse_ctx *ctx;
    const char *path;
    char *bytes;     /* memory of the caller; NULL: a file      */
    uint64_t base;   /* where byte 0 of the snapshot lies in it */
    int file;        /* -1: not open                            */
    int directory;   /* -1: not open                            */
    char *temporary; /* the path of the temporary file          */
    size_t temporary_size;
    bool temporary_exists;
} snapshot_target;

/* Makes the temporary file. */
copse_status snapshot_target_open(snapshot_target *target);

/* Returns 0 or the error number. Several threads may write at the same time. */
int snapshot_target_write(const snapshot_target *target, const void *bytes, size_t size, uint64_t offset);

/* Syncs the temporary file and renames it over the target. */
copse_status snapshot_target_publish(snapshot_target *target);

/* Removes a temporary file that was not published. */
void snapshot_target_close(snapshot_target *target);

copse_status snapshot_fail_write(const snapshot_target *target, const char *step, int error);
