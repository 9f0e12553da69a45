/* Batches on a device: which way a job takes, and the short ways. */
#include "transfer/internal.h"

#include <string.h>

/* As in a slot: arrays of a packed batch begin at such multiples. */
#define PACK_ALIGNMENT 256u

/* --- where the arrays are ------------------------------------------------------------------------------------------- */

static copse_status array_refuse(const copse_transfer_job *job, unsigned i, const char *why)
{
    if (job->array[i].name)
        return copse_fail_argument(job->device->ctx, job->array[i].name, "%s %s", job->array[i].name, why);
    return copse_fail_argument(job->device->ctx, "array", "array %u %s", i, why);
}

/* Finds out which arrays are device memory, and the bytes of all that are not. */
static copse_status look_at_arrays(const copse_transfer_job *job, bool *on_device, uint64_t *out_host_bytes)
{
    *out_host_bytes = 0;
    for (unsigned i = 0; i < job->arrays; i++) {
        const copse_transfer_array *array = &job->array[i];
        on_device[i] = false;
        if (!array->memory) continue;
        copse_memory_kind kind = copse_device_kind(job->device, array->memory);
        if (kind == COPSE_MEMORY_FOREIGN) return array_refuse(job, i, "is memory of another device");
        if (kind == COPSE_MEMORY_NOWHERE) return array_refuse(job, i, "points to memory that cannot be read");
        size_t bytes = copse_memory_product(job->n, array->element);
        if (bytes >= SIZE_MAX / COPSE_TRANSFER_ARRAYS) return array_refuse(job, i, "is larger than any memory");
        on_device[i] = kind == COPSE_MEMORY_DEVICE;
        if (!on_device[i]) *out_host_bytes += bytes;
    }
    return COPSE_OK;
}

/* --- the short ways ------------------------------------------------------------------------------------------------- */

static copse_status run_on_device(const copse_transfer_job *job)
{
    void *memory[COPSE_TRANSFER_ARRAYS] = {NULL};
    for (unsigned i = 0; i < job->arrays; i++) memory[i] = job->array[i].memory;
    copse_status status = copse_device_check(job->device);
    if (status == COPSE_OK && job->work) status = job->work(job->user, job->device->main, 0, job->n, memory);
    return job->device->callers_stream ? status : copse_transfer_finish(NULL, job->device, status);
}

/* A small batch, all host arrays in one pinned block: inputs, then outputs. */
typedef struct pack {
    const copse_transfer_job *job;
    const bool *on_device;
    uint64_t offset[COPSE_TRANSFER_ARRAYS];
    uint64_t input_bytes, bytes;
} pack;

static bool is_packed(const pack *k, unsigned i)
{
    return k->job->array[i].memory && !k->on_device[i];
}

static uint64_t bytes_of(const pack *k, unsigned i)
{
    return k->job->n * k->job->array[i].element;
}

static pack pack_make(const copse_transfer_job *job, const bool *on_device)
{
    pack k = {.job = job, .on_device = on_device};
    for (int output = 0; output <= 1; output++) {
        for (unsigned i = 0; i < job->arrays; i++) {
            if (!is_packed(&k, i) || job->array[i].output != (output == 1)) continue;
            k.offset[i] = k.bytes;
            k.bytes += (bytes_of(&k, i) + PACK_ALIGNMENT - 1) / PACK_ALIGNMENT * PACK_ALIGNMENT;
        }
        if (!output) k.input_bytes = k.bytes;
    }
    return k;
}

/* Takes the block there, works, takes it back: three calls, whatever the number of arrays. Where `there` is the pinned
 * block itself nothing is copied. */
static copse_status pack_work(const pack *k, char *pinned, char *there)
{
    copse_device *device = k->job->device;
    void *memory[COPSE_TRANSFER_ARRAYS] = {NULL};
    for (unsigned i = 0; i < k->job->arrays; i++)
        memory[i] = is_packed(k, i) ? (void *)(there + k->offset[i]) : k->job->array[i].memory;
    copse_status status = copse_device_check(device);
    if (status == COPSE_OK && there != pinned)
        status = copse_device_copy(device, device->main, there, pinned, k->input_bytes);
    if (status == COPSE_OK && k->job->work) status = k->job->work(k->job->user, device->main, 0, k->job->n, memory);
    if (status == COPSE_OK && there != pinned)
        status = copse_device_copy(device, device->main, pinned + k->input_bytes, there + k->input_bytes,
                                   k->bytes - k->input_bytes);
    return status;
}

static copse_status run_small(copse_transfer *transfer, const copse_transfer_job *job, const bool *on_device)
{
    pack k = pack_make(job, on_device);
    copse_transfer_slot *slot = &transfer->slot[0];
    bool direct = k.bytes <= transfer->settings.direct_bytes;
    /* Enough for the largest batch of this kind: pinned memory takes long to get. */
    uint64_t most = transfer->settings.small_bytes + COPSE_TRANSFER_ARRAYS * PACK_ALIGNMENT;
    copse_status status = copse_transfer_slot_reserve(job->device, slot, direct ? 0 : most, most);
    if (status != COPSE_OK) return status;
    for (unsigned i = 0; i < job->arrays; i++) {
        if (is_packed(&k, i) && !job->array[i].output)
            memcpy(slot->pinned + k.offset[i], job->array[i].memory, (size_t)bytes_of(&k, i));
    }
    status =
        copse_transfer_finish(NULL, job->device, pack_work(&k, slot->pinned, direct ? slot->pinned : slot->device));
    if (status != COPSE_OK) return status;
    for (unsigned i = 0; i < job->arrays; i++) {
        if (is_packed(&k, i) && job->array[i].output)
            memcpy(job->array[i].memory, slot->pinned + k.offset[i], (size_t)bytes_of(&k, i));
    }
    return COPSE_OK;
}

/* --- jobs ----------------------------------------------------------------------------------------------------------- */

static bool has_resident(const copse_transfer_job *job)
{
    for (unsigned i = 0; i < job->arrays; i++) {
        if (job->array[i].resident) return true;
    }
    return false;
}

copse_status copse_transfer_run(const copse_transfer_job *job)
{
    copse_device *device = job->device;
    bool on_device[COPSE_TRANSFER_ARRAYS];
    uint64_t host_bytes;
    if (job->n == 0) return copse_device_check(device);
    copse_status status = look_at_arrays(job, on_device, &host_bytes);
    if (status != COPSE_OK) return status;
    if (host_bytes == 0) return run_on_device(job);
    copse_transfer *transfer;
    pthread_mutex_lock(&device->transfer_lock);
    status = copse_transfer_open(device, &transfer);
    if (status == COPSE_OK) {
        bool small = host_bytes <= transfer->settings.small_bytes && (!job->chunk || job->n <= job->chunk);
        status = small && !has_resident(job) ? run_small(transfer, job, on_device)
                                             : copse_transfer_pipeline(transfer, job, on_device);
    }
    pthread_mutex_unlock(&device->transfer_lock);
    return status;
}

/* --- whole arrays --------------------------------------------------------------------------------------------------- */

/* A few bytes are not worth a pipeline, and what is pinned the device takes in one go. */
#define WHOLE_COPY (64u << 10)

static copse_status whole(copse_device *device, void *host, void *resident, uint64_t bytes, bool to_host)
{
    if (bytes == 0) return copse_device_check(device);
    void *to = to_host ? host : resident;
    const void *from = to_host ? resident : host;
    copse_memory_kind kind = copse_device_kind(device, host);
    if (kind == COPSE_MEMORY_DEVICE) return copse_device_copy(device, device->main, to, from, bytes);
    bool simple = kind == COPSE_MEMORY_PAGEABLE && bytes <= WHOLE_COPY;
    if (simple || (kind == COPSE_MEMORY_PINNED && copse_transfer_is_pinned(device, host, bytes))) {
        copse_status status = copse_device_copy(device, device->main, to, from, bytes);
        return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
    }
    copse_transfer_job job = {.device = device, .arrays = 1, .n = bytes};
    job.array[0] = (copse_transfer_array){.memory = host,
                                          .element = 1,
                                          .output = to_host,
                                          .name = to_host ? "the output" : "the input",
                                          .resident = resident};
    return copse_transfer_run(&job);
}

copse_status copse_transfer_to_device(copse_device *device, void *to, const void *from, uint64_t bytes)
{
    return whole(device, (void *)(uintptr_t)from, to, bytes, false);
}

copse_status copse_transfer_to_host(copse_device *device, void *to, const void *from, uint64_t bytes)
{
    return whole(device, to, (void *)(uintptr_t)from, bytes, true);
}
