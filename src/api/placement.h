/* Where an index lives. */
#pragma once

#include "device/device.h"
#include "trees/tree.h"

/* Entries from which AUTO takes an index to a GPU: below, its keys lie in the caches of a core, and a batch is answered before a kernel
 * has started. */
#define COPSE_AUTO_GPU_ENTRIES (UINT64_C(1) << 16)

#define COPSE_WHY_GPU "there is a GPU that can be used"
#define COPSE_WHY_HYBRID                                                                                               \
    "the GPU has no room for all of it, so the leaves are in host memory, and the inner levels on the GPU, too"
#define COPSE_WHY_SMALL "it has fewer than 65,536 entries so far, too few for a GPU"

/* Where an index goes, and why. */
typedef struct copse_choice {
    copse_structure structure;
    const copse_tree_at *at;
    copse_device *device;
    const char *why;
    copse_structure grows_to; /* the tree on a GPU that it becomes when it is no longer small; AUTO: it stays */
} copse_choice;

copse_status copse_choose(copse_ctx *ctx, const copse_index_options *options, copse_choice *out);

/* Before n keys come to an index that is on the CPU because it is small: takes it to a GPU where they make it large, or where they lie
 * in device memory. Never fails because of the GPU: the index then stays where it is. */
copse_status copse_grow(copse_index *index, const void *keys, uint64_t n);

/* After an update with these keys ended with `status`: where the GPU, which AUTO chose, has no memory for the index any more, takes it to
 * host memory with the inner levels on the GPU. True: it has, and the update is to be tried again. */
bool copse_retreat(copse_index *index, const void *keys, copse_status status);

/* For measurements: how the calls that follow on a hybrid index work through their batches. 0: the library's own way, and a card that is as fast
 * as it is. Nothing where the index is not hybrid. */
void copse_tune_hybrid(copse_index *index, copse_schedule schedule, uint64_t bucket, uint32_t slower, uint32_t refresh);
/* Of the queries of the last call that a hybrid index shared with its card, the part that the card has walked; 0 where there is none. */
double copse_hybrid_share(const copse_index *index);
