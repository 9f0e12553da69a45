/*
 * A device: memory apart from the caller's, kernels, streams.
 *
 * There are two kinds, behind one table of functions: a CUDA card (device/cuda.cu) and the emulator, which runs the same
 * kernels on the host (device/emulated.c). Everything above this header is plain C and does not know which it has.
 *
 * Errors: every function that can fail stores a sentence with copse_fail and returns a status. The device keeps a fault, that
 * is an error after which it cannot go on (a kernel read an address that is not there): every later call returns
 * COPSE_ERR_DEVICE with the same sentence.
 */
#pragma once

#include "core/internal.h"
#include "simt/kernel.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct copse_device copse_device;
/* Sort, scan, select, merge, in two tables that primitives/primitives.h describes; a device only leads to the right one. */
typedef struct copse_primitives copse_primitives;
extern const copse_primitives copse_primitives_cuda, copse_primitives_host;

/* Work on one stream happens in order. NULL is not a stream; copse_device.main is always there. On a card this is a
 * cudaStream_t, cast. */
typedef struct copse_stream copse_stream;
/* A moment on a stream, which another stream or the host may wait for. On a card this is a cudaEvent_t, cast. */
typedef struct copse_event copse_event;

typedef enum copse_memory_kind {
    COPSE_MEMORY_PAGEABLE, /* ordinary host memory                                    */
    COPSE_MEMORY_PINNED,   /* host memory that the device copies at full speed        */
    COPSE_MEMORY_DEVICE,   /* memory of this device: kernels may follow the pointer   */
    COPSE_MEMORY_FOREIGN,  /* memory of another device                                */
    COPSE_MEMORY_NOWHERE   /* neither: nothing can be read there (only copse_device_kind says so) */
} copse_memory_kind;

typedef struct copse_device_backend {
    const char *name; /* "cuda", "emulated" */
    copse_placement placement;
    bool survives_fork; /* its memory and work are the process's own, so that a child has them, too */

    /* How many devices there are. With none, *out_why is a sentence that says why (no driver, too old, no card, built
     * without CUDA); it stays valid. */
    int (*count)(const char **out_why);
    /* What copse_device_describe says about device `number`, which is below count. */
    void (*describe)(int number, copse_device_info *out);
    /* The device that a caller's stream belongs to, -1 where the runtime does not know. */
    int (*stream_device)(void *stream);

    /* Opens a device for a context: fills device->main (the caller's `stream`, or one of its own for NULL),
     * multiprocessors, memory, backend_data. The members that do not depend on the backend are set already. A failed open
     * leaves nothing to close. */
    copse_status (*open)(copse_device *device, void *stream);
    void (*close)(copse_device *device);
    /* Makes this device the current one of the thread, and puts back what was there. The functions below do that
     * themselves; it is for code that calls the runtime on its own (primitives/cuda.cu). */
    int (*enter)(copse_device *device);
    void (*leave)(copse_device *device, int before);

    /* Memory, in the order of a stream. free never fails. */
    copse_status (*alloc)(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what, void **out);
    void (*free)(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes);
    void (*memory_info)(copse_device *device, uint64_t *out_free, uint64_t *out_total); /* kept blocks are free */
    void (*trim)(copse_device *device); /* gives memory that is kept for later back to the system, kept blocks too */
    /* Host memory that copies at full speed; NULL where the system gives none. */
    void *(*pinned_alloc)(copse_device *device, uint64_t bytes); /* kernels may follow the pointer, too */
    void (*pinned_free)(copse_device *device, void *memory, uint64_t bytes);
    /* Pins the caller's memory until unpin; false where the system refuses. */
    bool (*pin)(copse_device *device, const void *memory, uint64_t bytes);
    void (*unpin)(copse_device *device, const void *memory);
    copse_memory_kind (*kind)(copse_device *device, const void *memory);

    /* Work in the order of a stream. copy takes host or device pointers on either side. */
    copse_status (*copy)(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes);
    copse_status (*fill)(copse_device *device, copse_stream *stream, void *memory, uint8_t byte, uint64_t bytes);
    copse_status (*launch)(copse_device *device, copse_stream *stream, const copse_kernel *kernel, uint64_t blocks,
                           const void *arguments);
    copse_status (*wait)(copse_device *device, copse_stream *stream);
    /* Makes the caller's stream, or for NULL one of the library's, device->main, ordered behind the one that was it. */
    copse_status (*set_main)(copse_device *device, void *stream);
    copse_status (*stream_create)(copse_device *device, copse_stream **out);
    void (*stream_free)(copse_device *device, copse_stream *stream);
    copse_status (*event_create)(copse_device *device, copse_event **out);
    void (*event_free)(copse_device *device, copse_event *event);
    copse_status (*event_record)(copse_device *device, copse_event *event, copse_stream *stream);
    copse_status (*event_wait)(copse_device *device, copse_event *event);                          /* the host    */
    copse_status (*event_done)(copse_device *device, copse_event *event, bool *out_done);          /* without waiting */
    copse_status (*stream_follow)(copse_device *device, copse_stream *stream, copse_event *event); /* the stream */

    const copse_primitives *primitives; /* for this kind of device */
} copse_device_backend;

extern const copse_device_backend copse_device_cuda; /* without CUDA: one that has no devices and says so */
extern const copse_device_backend copse_device_emulated;

/* What kernels report: positions, UINT64_MAX where there is nothing to report. Reports lie in pinned memory, which
 * kernels can write to: a kernel that finds nothing does not touch its report, and the host reads it without a copy once
 * the stream is through. */
enum {
    COPSE_REPORT_NAN = 0,
    COPSE_REPORT_NAN_HIGH = 1,
    COPSE_REPORT_OVERFLOW = 2,
    COPSE_REPORT_TOO_SMALL = 3,
    COPSE_REPORT_WORDS = 8
};
#define COPSE_REPORTS 64
/* Bytes of pinned memory behind the reports, through which small reads go. */
#define COPSE_NOTE_BYTES 4096

/* Turns a report into a status, with a sentence where it is not COPSE_OK. `call` is the one of copse_report_defer. */
typedef copse_status (*copse_report_check)(const copse_ctx *ctx, const char *call, const uint64_t *words);

typedef struct copse_deferred_report {
    copse_report_check check;
    const char *call;
    int report;
} copse_deferred_report;

/* Freed blocks that the next call may take: device/block_cache.c. Under the device's lock, but for `most`. */
#define COPSE_BLOCK_CACHE_BLOCKS 512
#define COPSE_BLOCK_CACHE_EXACT  64

typedef struct copse_cached_block {
    void *memory;
    uint64_t bytes;
} copse_cached_block;

typedef struct copse_block_cache {
    /* Bytes that may be kept. 0: none, as on the emulator, which would not see uses of freed memory any more; tests set it while
     * nothing is allocated. */
    uint64_t most;
    uint64_t bytes;
    unsigned count, exact_count;
    bool closed;                                         /* an allocation failed: nothing is kept until one succeeds */
    copse_cached_block blocks[COPSE_BLOCK_CACHE_BLOCKS]; /* the oldest first */
    void *exact[COPSE_BLOCK_CACHE_EXACT];                /* blocks in use whose size was not rounded up */
} copse_block_cache;

#define COPSE_HYBRID_KINDS 128u

struct copse_device {
    const copse_device_backend *backend;
    copse_ctx *ctx;
    int number;
    uint32_t multiprocessors;
    uint64_t memory; /* bytes in all; of an emulated device tests may lower it */
    uint64_t limit;  /* bytes that the context may take: copse_ctx_options.device_memory */
    copse_stream *main;
    bool callers_stream; /* main belongs to the caller: calls on device memory do not wait for it */
    void *backend_data;
    uint32_t generation; /* of forks, when it was opened */
    uint64_t seed;       /* emulator: the order in which lanes, warps and blocks run; 0: always the same */

    pthread_mutex_t lock; /* of what follows */
    bool faulted;         /* atomic; never goes back, so that a look at it needs no lock */
    char fault[256];
    int64_t allocations_left;      /* tests: after so many allocations one fails; negative: none does */
    uint64_t allocated;            /* bytes that this context holds on the device */
    copse_block_cache block_cache; /* not counted in these */

    uint64_t *reports; /* pinned: COPSE_REPORTS x COPSE_REPORT_WORDS */
    char *note;        /* pinned: COPSE_NOTE_BYTES, under note_lock */
    pthread_mutex_t note_lock;
    uint64_t reports_taken;                        /* bit set */
    pthread_cond_t report_put;                     /* one came back */
    copse_deferred_report deferred[COPSE_REPORTS]; /* in the order of the calls */
    unsigned deferred_count;
    copse_status late_status; /* of the first deferred report that was an error, for copse_ctx_synchronize */
    char late[256];

    /* Hybrid trees, by kind and size: for how many calls the last one is to do without this device (trees/hybrid/buckets.c). Atomic. */
    uint32_t hybrid_rest[COPSE_HYBRID_KINDS];

    /* Streams and staging memory of the transfer pipeline, which makes them on first use and says how to free them. */
    void *transfer;
    void (*transfer_close)(copse_device *device);
    pthread_mutex_t transfer_lock;
};

/* --- device/open.c ---------------------------------------------------------------------------------------------------- */

/* The device of a context for a placement, GPU or HYBRID the one, EMULATED or HYBRID_EMULATED the other, opened on first use. Errors: DEVICE with the reason. */
copse_status copse_device_get(copse_ctx *ctx, copse_placement placement, copse_device **out);
/* The same for a GPU, for a call that goes on without one: a failure leaves the sentence of the last error alone. */
bool copse_device_try_gpu(copse_ctx *ctx, copse_device **out);
/* After one of these failed: why the context has no GPU, as a sentence that stays valid as long as the context. */
const char *copse_device_why_not(copse_ctx *ctx);
/* Closes both devices of a context. */
void copse_device_close_all(copse_ctx *ctx);

/* --- device.c: what both kinds share -------------------------------------------------------------------------------- */

/* True in a child that has the device only from its parent, where nothing may be called any more, not even to free. */
bool copse_device_is_parents(const copse_device *device);
/* COPSE_OK, or the fault again. */
copse_status copse_device_check(copse_device *device);
/* Remembers a fault (the first counts) and returns COPSE_ERR_DEVICE. */
copse_status copse_device_fault(copse_device *device, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The functions of the backend inside checks: faults, byte counts, injected failures. Freeing NULL is fine;
 * 0 bytes give a pointer that may be freed. */
copse_status copse_device_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                void **out);
void copse_device_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes);
/* Frees memory that the cache does not keep as a block, because requests of other sizes may share it. */
void copse_device_free_unkept(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes);
/* Stores the sentence about a device that has not that much memory, and returns COPSE_ERR_MEMORY. */
copse_status copse_device_out_of_memory(copse_device *device, uint64_t bytes, const char *what);
copse_status copse_device_copy(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes);
copse_status copse_device_fill(copse_device *device, copse_stream *stream, void *memory, uint8_t byte, uint64_t bytes);
copse_status copse_device_launch(copse_device *device, copse_stream *stream, const copse_kernel *kernel,
                                 uint64_t blocks, const void *arguments);
copse_status copse_device_wait(copse_device *device, copse_stream *stream);
copse_memory_kind copse_device_kind(copse_device *device, const void *memory);
/* Is it memory of a GPU? Asks the driver only where the process uses it already, so that nobody starts it for that. */
bool copse_device_owns(const void *memory);
/* Goes over to another stream of the caller's (NULL: one of the library's); what comes is ordered behind what is under way. */
copse_status copse_device_set_stream(copse_device *device, void *stream);
/* COPSE_CTX_DEVICE_ARRAYS: whatever memory this thread asks about from now on is device memory, without a look, where the context of the
 * index says so; and the end of that, which returns `status`. */
void copse_promise_begin(const copse_index *index);
copse_status copse_promise_end(copse_status status);

/* Copies from the device to host memory and waits for it: for the few words that the host has to know to go on. */
copse_status copse_device_read(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes);

/* --- device/block_cache.c: the backend's alloc and free, with blocks that are kept in front of them ------------------------------ */

copse_status copse_block_cache_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                     void **out);
void copse_block_cache_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes);
/* Frees a block without keeping it. */
void copse_block_cache_bypass(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes);
/* Bytes of the blocks that are kept. */
uint64_t copse_block_cache_bytes(copse_device *device);
/* Gives all of them back. False where there were none. */
bool copse_block_cache_drop(copse_device *device);

/* --- device/report.c -------------------------------------------------------------------------------------------------- */

/* Waits for the main stream and returns the first error of deferred reports. */
copse_status copse_device_synchronize(copse_device *device);

/* A report for one call, all words UINT64_MAX; waits for one where all are taken. */
copse_status copse_report_take(copse_device *device, int *out_report, uint64_t **out_words);
/* Waits for the main stream, reads a report and puts it back, also where it fails. */
copse_status copse_report_read(copse_device *device, int report, uint64_t out_words[COPSE_REPORT_WORDS]);
/* Leaves a report to copse_ctx_synchronize, for a call that does not wait. `call` must stay valid (a literal). */
void copse_report_defer(copse_device *device, int report, copse_report_check check, const char *call);
/* Puts a report back unread; no kernel may be going to write to it. */
void copse_report_drop(copse_device *device, int report);

#ifdef __cplusplus
}
#endif
