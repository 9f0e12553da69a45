/* What all of the library shares: the context, the index, errors, memory, progress. */
#pragma once

#include "copse.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COPSE_CACHE_LINE 64u
#define COPSE_HUGE_PAGE  (2u << 20)

typedef struct copse_pool copse_pool;                         /* threads: core/pool.h                             */
typedef struct copse_calls copse_calls;                       /* what a tree does: trees/tree.h                  */
typedef struct copse_tree_description copse_tree_description; /* the tree that an index has: trees/tree.h        */

/* Instruction sets that code for the CPU may be compiled for, the best last: cpu/instruction_set.h. */
typedef enum copse_instruction_set { COPSE_SCALAR, COPSE_AVX2, COPSE_AVX512 } copse_instruction_set;
#define COPSE_INSTRUCTION_SETS 3u

struct copse_ctx {
    uint32_t references; /* the caller's, one of each index, those of trees that several contexts share */
    uint32_t threads;
    copse_pool *pool;          /* where they are */
    uint32_t pipeline;         /* queries in flight per thread; 0: the default of each walk */
    uint32_t huge_pages;       /* copse_huge_pages */
    copse_allocator allocator; /* alloc == NULL: our own */
    copse_progress_fn progress;
    void *progress_user;
    copse_instruction_set instruction_set;

    /* Devices, opened on first use under the lock: device/device.c. */
    int32_t device_number;  /* -1: the first that can be used */
    void *stream;           /* the caller's, or NULL           */
    bool device_arrays;     /* COPSE_CTX_DEVICE_ARRAYS         */
    uint64_t device_memory; /* bytes that the context may take of a device; 0: all */
    pthread_mutex_t device_lock;
    struct copse_device *gpu, *emulated;
    char placement_why[320]; /* why AUTO did not take a GPU, once that is known */
};

/* What copse_index_options.page_order may be, besides 0: powers of two between these. */
#define COPSE_PAGE_ORDER_LEAST 64u
#define COPSE_PAGE_ORDER_MOST  16384u

struct copse_index {
    copse_ctx *ctx;
    uint32_t references; /* the caller's, while it has not freed the index, and one of each cursor */
    bool freed;          /* by the caller: there is no tree any more */
    copse_type key_type;
    copse_type value_type;
    uint32_t duplicates;
    uint32_t updates; /* copse_updates */
    uint64_t own_version;
    uint64_t *version; /* that of a tree which several handles share, else own_version; grows with every change */
    const copse_tree_description *description;
    copse_placement placement;
    const copse_calls *calls;    /* of that tree at that placement, with what depends on the widths: */
    const void *by_width;        /* copse_tree_at                                                    */
    struct copse_device *device; /* NULL on the CPU */
    const char *placement_why;
    copse_structure
        grows_to;   /* AUTO placement, still small: the tree that it becomes on a GPU (api/placement.h); else AUTO */
    bool automatic; /* AUTO placement, and the caller has not moved it since */
    const char *read_only;       /* "a view", "a frozen index"; NULL: it may be changed */
    void *tree;                  /* belongs to the calls                            */
    uint32_t schedule, bucket;   /* hybrid placements: copse_index_options */
    uint64_t leaf_memory;        /* the same                               */
    uint32_t page_order;         /* the paged tree: slots of a page; 0: it picks them */
    uint32_t long_keys;          /* the radix tree on devices: copse_long_keys        */
    void *mirror;                /* hybrid placements: what the card has of the tree (trees/hybrid/mirror.h)   */
    struct copse_walked *walked; /* in a hybrid call's own copy of the handle (cpu/walked.h); else NULL    */
};

/* --- errors: status.c ------------------------------------------------------------------------------------------- */

/* Stores the sentence for this thread and returns `status`, so that callers write: return copse_fail(...). */
copse_status copse_fail(const copse_ctx *ctx, copse_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* COPSE_ERR_ARGUMENT, with the name of the argument for copse_last_error_info. */
copse_status copse_fail_argument(const copse_ctx *ctx, const char *argument, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* ... for an argument that may not be NULL, and for an array that is NULL in a call whose n is not 0. */
copse_status copse_fail_missing(const copse_ctx *ctx, const char *call, const char *argument);
copse_status copse_fail_null(const copse_ctx *ctx, const char *call, const char *argument);
/* ... for operations[at] of copse_apply, which is none or needs a value where values is NULL. */
copse_status copse_fail_operation(const copse_ctx *ctx, uint64_t at, uint8_t operation);
copse_status copse_fail_no_value(const copse_ctx *ctx, uint64_t at);
/* Adds to the error that was just stored what copse_last_error_info tells besides; returns `status`. */
copse_status copse_error_at(copse_status status, const char *argument, uint64_t position, uint64_t needed);

/* Keeps the sentence of this thread for a call that tries something which may fail, and goes on without it. */
typedef struct copse_kept_error {
    char sentence[512];
    const copse_ctx *ctx;
    copse_status status;
    char argument[32]; /* "": none, as in copse_error_info */
    uint64_t position, needed;
} copse_kept_error;
void copse_error_keep(copse_kept_error *out);
void copse_error_put_back(const copse_kept_error *kept);
/* The sentence of a context that is no more: the next one may have the same address. */
void copse_error_forget(const copse_ctx *ctx);

copse_status copse_fail_memory(const copse_ctx *ctx, uint64_t bytes, const char *what);
/* The error for rows that hold more entries than the caller's arrays have room for. */
copse_status copse_fail_room(const copse_ctx *ctx, const char *argument, uint64_t capacity, uint64_t needed);
/* The error for array[at] being NaN. */
copse_status copse_fail_nan(const copse_ctx *ctx, const char *array, uint64_t at);

/* --- memory: memory.c ------------------------------------------------------------------------------------------- */

/* Memory aligned to a cache line, or NULL. Large blocks lie on huge pages where the system grants them. */
void *copse_memory_alloc(const copse_ctx *ctx, size_t size);
/* steps: the system is to clear a large block a few KiB at a time, as it is touched, not huge page by huge page, which takes a fraction of a
 * millisecond each. Not steps: what has been touched may become huge pages when the system finds time. */
void copse_memory_in_steps(const copse_ctx *ctx, void *memory, size_t size, bool steps);
/* A larger block with what was in the smaller one, which is gone; NULL: it is as it was. */
void *copse_memory_grow(const copse_ctx *ctx, void *memory, size_t size, size_t larger);
void copse_memory_free(const copse_ctx *ctx, void *memory, size_t size); /* NULL is fine */

/* count * size, or SIZE_MAX where that overflows: an allocation of SIZE_MAX always fails. */
size_t copse_memory_product(uint64_t count, size_t size);

/* --- lifetimes: api/context.c ----------------------------------------------------------------------------------------- */

/* Counts that several threads may change. */
static inline void copse_reference_add(uint32_t *references)
{
    __atomic_fetch_add(references, 1, __ATOMIC_RELAXED);
}

/* True: it was the last one. */
static inline bool copse_reference_drop(uint32_t *references)
{
    return __atomic_fetch_sub(references, 1, __ATOMIC_ACQ_REL) == 1;
}

/* The version of an index, which views read while another handle changes it. */
static inline uint64_t copse_version_of(const copse_index *index)
{
    return __atomic_load_n(index->version, __ATOMIC_ACQUIRE);
}

static inline void copse_version_advance(copse_index *index)
{
    __atomic_fetch_add(index->version, 1, __ATOMIC_RELEASE);
}

/* A context lives until all that uses it has let it go. */
void copse_ctx_hold(copse_ctx *ctx);
void copse_ctx_release(copse_ctx *ctx);

/* --- progress: work.c ------------------------------------------------------------------------------------------- */

/* Reports to the caller's callback. Returns COPSE_OK or COPSE_ERR_CANCELLED. Only on the thread of the call. */
copse_status copse_progress(const copse_ctx *ctx, const char *what, uint64_t done, uint64_t total);

/* --- threads: work.c -------------------------------------------------------------------------------------------- */

/* How many threads are worth starting for n operations; small batches stay on the calling thread. */
uint32_t copse_threads_for(const copse_ctx *ctx, uint64_t n);
/* The same for lookups, which are one step without any order between them. */
uint32_t copse_threads_for_lookups(const copse_ctx *ctx, uint64_t n);

/* --- types: types.c --------------------------------------------------------------------------------------------- */

bool copse_type_is_float(copse_type type);
bool copse_type_is_key(copse_type type);
bool copse_type_is_value(copse_type type);

/* Bytes of a value inside a tree. A set has values, too, which are always 0: so it needs no trees of its own. */
size_t copse_value_width(copse_type value_type);
/* The error for a call that needs values, of an index that has none. */
copse_status copse_fail_set(const copse_index *index, const char *call);

#ifdef __cplusplus
}
#endif
