/* What both kinds of device share: faults, byte counts, injected failures. */
#define _GNU_SOURCE
#include "device/device.h"

#include "core/pool.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- faults ------------------------------------------------------------------------------------------------------- */

bool copse_device_is_parents(const copse_device *device)
{
    return !device->backend->survives_fork && device->generation != copse_fork_generation();
}

static bool has_faulted(const copse_device *device)
{
    return __atomic_load_n(&device->faulted, __ATOMIC_ACQUIRE);
}

copse_status copse_device_check(copse_device *device)
{
    if (copse_device_is_parents(device))
        return copse_fail(device->ctx, COPSE_ERR_DEVICE,
                          "this process was forked after its parent had opened the card, which does not follow: "
                          "use the card in the child only, or start the child with exec");
    if (!has_faulted(device)) return COPSE_OK;
    return copse_fail(device->ctx, COPSE_ERR_DEVICE, "%s", device->fault);
}

copse_status copse_device_fault(copse_device *device, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&device->lock);
    if (!device->faulted) vsnprintf(device->fault, sizeof device->fault, format, arguments);
    __atomic_store_n(&device->faulted, true, __ATOMIC_RELEASE); /* behind its sentence */
    pthread_mutex_unlock(&device->lock);
    va_end(arguments);
    return copse_device_check(device);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Whether a test wants this allocation to fail. */
static bool failure_is_due(copse_device *device)
{
    pthread_mutex_lock(&device->lock);
    bool due = device->allocations_left == 0;
    if (device->allocations_left >= 0) device->allocations_left--;
    pthread_mutex_unlock(&device->lock);
    return due;
}

static uint64_t limit_left(copse_device *device)
{
    pthread_mutex_lock(&device->lock);
    const uint64_t left = device->limit - device->allocated;
    pthread_mutex_unlock(&device->lock);
    return left;
}

static void count_bytes(copse_device *device, uint64_t more, uint64_t less)
{
    pthread_mutex_lock(&device->lock);
    device->allocated += more - less;
    pthread_mutex_unlock(&device->lock);
}

copse_status copse_device_out_of_memory(copse_device *device, uint64_t bytes, const char *what)
{
    uint64_t available = 0, total = 0;
    const uint64_t left = limit_left(device);
    if (bytes > left)
        return copse_fail(
            device->ctx, COPSE_ERR_MEMORY,
            "out of device memory: %llu bytes are needed for %s, and %llu of the %llu that the context may "
            "take (COPSE_DEVICE_MEMORY) are left",
            (unsigned long long)bytes, what, (unsigned long long)left, (unsigned long long)device->limit);
    device->backend->memory_info(device, &available, &total);
    return copse_fail(device->ctx, COPSE_ERR_MEMORY,
                      "out of device memory: %llu bytes are needed for %s, %llu of %llu are free",
                      (unsigned long long)bytes, what, (unsigned long long)available, (unsigned long long)total);
}

copse_status copse_device_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                void **out)
{
    *out = NULL;
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK) return status;
    if (bytes == 0) bytes = 1;
    if (failure_is_due(device) || bytes > limit_left(device)) return copse_device_out_of_memory(device, bytes, what);
    status = copse_block_cache_alloc(device, stream, bytes, what, out);
    if (status == COPSE_OK) count_bytes(device, bytes, 0);
    return status;
}

void copse_device_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    if (!memory || copse_device_is_parents(device)) return;
    if (bytes == 0) bytes = 1;
    copse_block_cache_free(device, stream, memory, bytes);
    count_bytes(device, 0, bytes);
}

void copse_device_free_unkept(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    if (!memory || copse_device_is_parents(device)) return;
    if (bytes == 0) bytes = 1;
    copse_block_cache_bypass(device, stream, memory, bytes);
    count_bytes(device, 0, bytes);
}

/* Asks the operating system for one byte of our own memory: it returns an error where following the pointer would end the
 * process. Where it refuses to answer, the pointer counts as good. */
static bool is_readable(const void *memory)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)memory, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
}

/* A device with a fault, or of the parent, does not know its own memory any more. Any pointer then counts as device memory, so that the next function
 * of this file reports the fault, instead of a wrong pointer. */
static _Thread_local bool promised;

void copse_promise_begin(const copse_index *index)
{
    promised = index->device && index->ctx->device_arrays;
}

copse_status copse_promise_end(copse_status status)
{
    promised = false;
    return status;
}

copse_memory_kind copse_device_kind(copse_device *device, const void *memory)
{
    if (promised || copse_device_is_parents(device)) return COPSE_MEMORY_DEVICE;
    copse_memory_kind kind = device->backend->kind(device, memory);
    if (has_faulted(device)) return COPSE_MEMORY_DEVICE;
    return kind == COPSE_MEMORY_PAGEABLE && !is_readable(memory) ? COPSE_MEMORY_NOWHERE : kind;
}

copse_status copse_device_set_stream(copse_device *device, void *stream)
{
    copse_status status = copse_device_check(device);
    if (status == COPSE_OK) status = device->backend->set_main(device, stream);
    if (status == COPSE_OK) device->callers_stream = stream != NULL;
    return status;
}

/* --- work --------------------------------------------------------------------------------------------------------- */

copse_status copse_device_copy(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes)
{
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK || bytes == 0) return status;
    return device->backend->copy(device, stream, to, from, bytes);
}

copse_status copse_device_fill(copse_device *device, copse_stream *stream, void *memory, uint8_t byte, uint64_t bytes)
{
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK || bytes == 0) return status;
    return device->backend->fill(device, stream, memory, byte, bytes);
}

copse_status copse_device_launch(copse_device *device, copse_stream *stream, const copse_kernel *kernel,
                                 uint64_t blocks, const void *arguments)
{
    copse_status status = copse_device_check(device);
    if (status != COPSE_OK || blocks == 0) return status;
    if (blocks > INT32_MAX)
        return copse_fail(device->ctx, COPSE_ERR_UNSUPPORTED, "kernel %s would need %llu blocks; a device takes %d",
                          kernel->name, (unsigned long long)blocks, INT32_MAX);
    return device->backend->launch(device, stream, kernel, blocks, arguments);
}

copse_status copse_device_wait(copse_device *device, copse_stream *stream)
{
    copse_status status = copse_device_check(device);
    return status == COPSE_OK ? device->backend->wait(device, stream) : status;
}

copse_status copse_device_read(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes)
{
    if (bytes > COPSE_NOTE_BYTES) {
        copse_status status = copse_device_copy(device, stream, to, from, bytes);
        return status == COPSE_OK ? copse_device_wait(device, stream) : status;
    }
    /* Through pinned memory: a copy to pageable memory would wait for the stream, and copse_device_wait a second time. */
    pthread_mutex_lock(&device->note_lock);
    copse_status status = copse_device_copy(device, stream, device->note, from, bytes);
    if (status == COPSE_OK) status = copse_device_wait(device, stream);
    if (status == COPSE_OK) memcpy(to, device->note, bytes);
    pthread_mutex_unlock(&device->note_lock);
    return status;
}
