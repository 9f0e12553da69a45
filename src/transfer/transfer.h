/*
 * The transfer pipeline takes a batch whose arrays lie in host memory to the device, has kernels work on it, and brings the
 * results back, in chunks, so that the copies of one chunk run while the kernel of another does.
 *
 *   pageable array --threads--> pinned slot --copy engine--> device slot --kernel--> device slot --> pinned --> array
 *   pinned array   ----------------------- copy engine ----> device slot --kernel--> device slot --> array
 *   device array   ------------------------------------------------------- kernel -------------------------> array
 *
 * It decides for each array of a call by itself: device memory is not copied, pinned memory is not staged. For a small batch it
 * packs all host arrays into one pinned block, and uses no threads.
 *
 * Kernels always run on device->main, so that they run after all that was put there before, and before what follows.
 */
#pragma once

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COPSE_TRANSFER_ARRAYS 6

typedef struct copse_transfer_array {
    void *memory;   /* the caller's array; NULL: not wanted, the kernel gets NULL */
    size_t element; /* bytes of one element */
    bool output;
    const char *name; /* for sentences; NULL: "array 2" */
    void *resident;   /* device memory for the whole array, through which it goes; NULL: through slots, in chunks */
} copse_transfer_array;

/* Puts the work for elements first .. first + n on `stream`; `memory[i]` is where array i's element `first` lies on the
 * device, or in pinned memory, which kernels reach as well. A failure ends the job with its status. */
typedef copse_status (*copse_transfer_work)(void *user, copse_stream *stream, uint64_t first, uint64_t n,
                                            void *const *memory);

typedef struct copse_transfer_job {
    copse_device *device;
    copse_transfer_array array[COPSE_TRANSFER_ARRAYS];
    unsigned arrays;
    uint64_t n;
    copse_transfer_work work; /* NULL: nothing to do, with resident arrays */
    void *user;
    uint64_t chunk; /* elements of one chunk, for tests; 0: by copse_transfer_settings.chunk_bytes */
} copse_transfer_job;

/* Runs a job. When it returns, host outputs are complete; where every array is device memory and the stream is the
 * caller's, the work is only put on the stream. Jobs with host arrays on one device run one after the other.
 * Errors: ARGUMENT (an array on another device, or nowhere), MEMORY (slots), DEVICE, those of work. Nothing of a failed
 * job is still under way when it returns; its outputs are unspecified. */
copse_status copse_transfer_run(const copse_transfer_job *job);

/* Whole arrays, through the same pipeline. The device side must be device memory; when they return, a host array may be
 * reused (to_device) or is complete (to_host). Where both sides are device memory, the copy is only put on
 * device->main. */
copse_status copse_transfer_to_device(copse_device *device, void *to, const void *from, uint64_t bytes);
copse_status copse_transfer_to_host(copse_device *device, void *to, const void *from, uint64_t bytes);

typedef struct copse_transfer_copy {
    void *to;
    const void *from;
    uint64_t bytes;
} copse_transfer_copy;

/* Copies host memory to host memory, all copies at once, by as many threads as it is worth. `streaming`: past the caches,
 * where this machine can. */
void copse_transfer_copies(const copse_ctx *ctx, const copse_transfer_copy *copies, unsigned count, bool streaming);

/* Whether the device may copy host memory itself: it is pinned, to its end, and will stay so during the job. */
bool copse_transfer_is_pinned(copse_device *device, const void *memory, uint64_t bytes);

/* Frees what the pipeline keeps (called when the device closes). No job may be under way. */
void copse_transfer_close(copse_device *device);

/* --- how it is done, to be measured ----------------------------------------------------------------------------- */

/* What becomes of pageable arrays. The environment variable COPSE_TRANSFER chooses for a whole process: "staged",
 * "pinned" (registered) or "auto". */
typedef enum copse_transfer_mode {
    COPSE_TRANSFER_AUTO,      /* what was measured to be best: staged                                   */
    COPSE_TRANSFER_STAGED,    /* copied by threads to and from pinned slots                             */
    COPSE_TRANSFER_REGISTERED /* pinned where they lie for the time of the job; staged where refused    */
} copse_transfer_mode;

#define COPSE_TRANSFER_SLOTS 6

typedef struct copse_transfer_settings {
    copse_transfer_mode mode;
    unsigned slots;        /* chunks under way at once, 2 .. COPSE_TRANSFER_SLOTS                        */
    uint64_t chunk_bytes;  /* of one chunk, all host arrays together; slots keep that much, twice        */
    uint64_t small_bytes;  /* a batch up to here takes the short way                                     */
    uint64_t direct_bytes; /* ... and one up to here is not copied: kernels work on the pinned block     */
    bool streaming;        /* staging copies go past the caches                                          */
} copse_transfer_settings;

/* The settings of a device; set also frees the slots, so that they are made anew. Not while a job is under way. */
copse_status copse_transfer_settings_get(copse_device *device, copse_transfer_settings *out);
copse_status copse_transfer_settings_set(copse_device *device, const copse_transfer_settings *settings);

#ifdef __cplusplus
}
#endif
