/*
 * What a card has of a hybrid tree, and what a call needs to use it.
 *
 *   host memory     inner levels   [root][....][............]      the CPU's tree, whole
 *                   leaves         [u0][u1][u2][u3] ...
 *   card            inner levels   [root][....][............]      a copy, current whenever no update is under way
 *
 *   a bucket        keys --copy--> [keys] --descend--> [nodes] --copy--> nodes, then the CPU reads the leaves
 *                   slot.pinned    slot.device                   slot.pinned
 *
 * The index is right without it. Where the card fails, or has no memory for the levels, the CPU answers alone.
 */
#pragma once

#include "device/device.h"
#include "gpu/shared_kernels.h"

#include <stdatomic.h>

#define COPSE_HYBRID_SLOTS 4u
/* A bucket is counted with 32 bits, and has slots of pinned memory. */
#define COPSE_HYBRID_LARGEST (UINT32_C(1) << 26)

/* To be set while no call is under way. */
typedef struct copse_hybrid_tuning {
    copse_schedule schedule;
    uint64_t bucket; /* queries                                                  */
    uint64_t least;  /* queries of a call that is worth the card; fewer stay on the CPU */
    uint64_t levels; /* bytes of inner levels that are worth it: fewer lie in the CPU's caches */
} copse_hybrid_tuning;

/* One bucket under way. */
typedef struct copse_hybrid_slot {
    copse_stream *stream;
    copse_event *through;
    char *pinned, *device; /* keys of both sides, then nodes of both */
    uint64_t bytes;        /* of each                                */
} copse_hybrid_slot;

typedef struct copse_mirror {
    copse_device *device;
    copse_hybrid_tuning tuning, best; /* what calls use; for what is not asked for otherwise */
    /* The copy of the inner levels. */
    atomic_bool current;
    copse_device_levels levels;
    char *memory;
    uint64_t bytes;
    char why_not[256]; /* the last failure of the card; "" where there was none */

    pthread_mutex_t lock; /* one call at a time uses the slots; others do without the card */
    copse_hybrid_slot slot[COPSE_HYBRID_SLOTS];
} copse_mirror;

static inline copse_mirror *copse_mirror_of(const copse_index *index)
{
    return index->mirror;
}

/* How the calls that follow work through their batches; 0: the measured best. Nothing where the index is not hybrid. */
void copse_hybrid_tune(copse_index *index, copse_schedule schedule, uint64_t bucket);
/* Sets index->mirror, for an empty tree. Errors: DEVICE where there is none, MEMORY. */
copse_status copse_mirror_make(copse_index *index);
void copse_mirror_free(copse_index *index);
/* After an update: copies the inner levels to the card. A failure costs speed, not the update: it is noted in why_not. */
void copse_mirror_refresh(copse_index *index);
/* COPSE_OK, or CORRUPT where the copy is not the same as the tree's levels. */
copse_status copse_mirror_verify(const copse_index *index);
/* Notes the failure that was just reported, and puts the error back that was there before. */
void copse_mirror_failed(copse_mirror *mirror, const copse_kept_error *before);
/* Gives slot i what a bucket of so many bytes needs. */
copse_status copse_mirror_slot(copse_mirror *mirror, unsigned i, uint64_t bytes);
