/* Memory of a card: a pool in the order of streams, pinned host memory, and what a pointer is. */
#include "device/cuda.h"

/* The pool keeps this share of the card's memory for the next call: a build's scratch would otherwise be fetched from the
 * system each time, which takes as long as the build. */
#define POOL_SHARE 4
/* Blocks of so much of it are kept in front of the pool: device/block_cache.c. */
#define BLOCK_CACHE_SHARE 16

/* --- the pool ------------------------------------------------------------------------------------------------------ */

static void pool_keep(copse_cuda_data *data, uint64_t bytes)
{
    if (data->pool) (void)cudaMemPoolSetAttribute(data->pool, cudaMemPoolAttrReleaseThreshold, &bytes);
}

copse_status copse_cuda_pool_make(copse_device *device)
{
    copse_cuda_data *data = copse_cuda_data_of(device);
    cudaMemPoolProps properties = {};
    int supported = 0;
    device->block_cache.most = device->memory / BLOCK_CACHE_SHARE;
    cudaError_t error = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->number);
    if (error != cudaSuccess || !supported) return copse_cuda_status(device, error, "looking for memory pools");
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device->number;
    error = cudaMemPoolCreate(&data->pool, &properties);
    if (error != cudaSuccess) return copse_cuda_status(device, error, "making a memory pool");
    data->keep = device->memory / POOL_SHARE;
    pool_keep(data, data->keep);
    return COPSE_OK;
}

void copse_cuda_pool_free(copse_device *device)
{
    copse_cuda_data *data = copse_cuda_data_of(device);
    if (data->pool) (void)cudaMemPoolDestroy(data->pool);
}

void copse_cuda_trim(copse_device *device)
{
    copse_cuda_data *data = copse_cuda_data_of(device);
    copse_cuda_current current(device->number);
    (void)copse_block_cache_drop(device);
    if (!data->pool) return;
    (void)cudaStreamSynchronize(copse_cuda_stream_of(device->main)); /* only what is through can be given back */
    (void)cudaMemPoolTrimTo(data->pool, 0);
}

/* What the pool keeps is free to us, and so are blocks that are kept in front of it. */
void copse_cuda_memory_info(copse_device *device, uint64_t *out_free, uint64_t *out_total)
{
    copse_cuda_data *data = copse_cuda_data_of(device);
    copse_cuda_current current(device->number);
    size_t available = 0, total = 0;
    uint64_t reserved = 0, used = 0;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) (void)cudaGetLastError();
    if (data->pool && cudaMemPoolGetAttribute(data->pool, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess)
        (void)cudaMemPoolGetAttribute(data->pool, cudaMemPoolAttrUsedMemCurrent, &used);
    *out_free = available + (reserved > used ? reserved - used : 0) + copse_block_cache_bytes(device);
    *out_total = total;
}

/* --- device memory --------------------------------------------------------------------------------------------------- */

static cudaError_t try_alloc(const copse_cuda_data *data, copse_stream *stream, uint64_t bytes, void **out)
{
    cudaError_t error = data->pool ? cudaMallocFromPoolAsync(out, bytes, data->pool, copse_cuda_stream_of(stream))
                                   : cudaMalloc(out, bytes);
    if (error != cudaSuccess) {
        *out = nullptr;
        (void)cudaGetLastError();
    }
    return error;
}

/* Under pressure frees wait and go back to the system: the memory of a call that failed must be free when it returns. */
static void pressure(copse_device *device, bool on)
{
    pthread_mutex_lock(&device->lock);
    copse_cuda_data *data = copse_cuda_data_of(device);
    bool change = data->pressed != on;
    data->pressed = on;
    pthread_mutex_unlock(&device->lock);
    if (change) pool_keep(data, on ? 0 : data->keep);
}

static bool is_pressed(copse_device *device)
{
    pthread_mutex_lock(&device->lock);
    bool pressed = copse_cuda_data_of(device)->pressed;
    pthread_mutex_unlock(&device->lock);
    return pressed;
}

/* Asks how much is free before the pool does: a pool that cannot get that much takes long to fail. */
#define LOOK_FIRST (UINT64_C(4) << 30)

static bool cannot_have(copse_device *device, uint64_t bytes)
{
    uint64_t available = 0, total = 0;
    if (bytes < LOOK_FIRST) return false;
    copse_cuda_memory_info(device, &available, &total);
    return bytes > available;
}

copse_status copse_cuda_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what, void **out)
{
    copse_cuda_data *data = copse_cuda_data_of(device);
    copse_cuda_current current(device->number);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!cannot_have(device, bytes)) error = try_alloc(data, stream, bytes, out);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaStreamSynchronize(copse_cuda_stream_of(stream));
        copse_cuda_trim(device);
        if (!cannot_have(device, bytes)) error = try_alloc(data, stream, bytes, out);
    }
    if (error == cudaErrorMemoryAllocation) {
        pressure(device, true);
        return copse_device_out_of_memory(device, bytes, what);
    }
    if (error == cudaSuccess) pressure(device, false);
    return copse_cuda_status(device, error, what);
}

void copse_cuda_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    (void)bytes;
    copse_cuda_data *data = copse_cuda_data_of(device);
    copse_cuda_current current(device->number);
    cudaStream_t on = copse_cuda_stream_of(stream);
    cudaError_t error;
    if (data->pool) {
        error = cudaFreeAsync(memory, on);
    } else {
        (void)cudaStreamSynchronize(on);
        error = cudaFree(memory);
    }
    if (error != cudaSuccess) (void)cudaGetLastError(); /* of a card that failed: its memory is gone already */
    if (data->pool && is_pressed(device)) {
        (void)cudaStreamSynchronize(on);
        (void)cudaMemPoolTrimTo(data->pool, 0);
    }
}

/* --- host memory ------------------------------------------------------------------------------------------------------- */

void *copse_cuda_pinned_alloc(copse_device *device, uint64_t bytes)
{
    copse_cuda_current current(device->number);
    void *memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess) return memory;
    (void)cudaGetLastError();
    return nullptr;
}

void copse_cuda_pinned_free(copse_device *device, void *memory, uint64_t bytes)
{
    (void)bytes;
    copse_cuda_current current(device->number);
    if (memory && cudaFreeHost(memory) != cudaSuccess) (void)cudaGetLastError();
}

bool copse_cuda_pin(copse_device *device, const void *memory, uint64_t bytes)
{
    copse_cuda_current current(device->number);
    if (cudaHostRegister(const_cast<void *>(memory), bytes, cudaHostRegisterPortable) == cudaSuccess) return true;
    (void)cudaGetLastError();
    return false;
}

void copse_cuda_unpin(copse_device *device, const void *memory)
{
    copse_cuda_current current(device->number);
    if (cudaHostUnregister(const_cast<void *>(memory)) != cudaSuccess) (void)cudaGetLastError();
}

/* Managed memory counts as the card's: kernels may follow the pointer, and pages come when they are touched. */
copse_memory_kind copse_cuda_kind(copse_device *device, const void *memory)
{
    copse_cuda_current current(device->number);
    cudaPointerAttributes attributes;
    cudaError_t error = cudaPointerGetAttributes(&attributes, memory);
    if (error != cudaSuccess) {
        copse_kept_error kept;
        copse_error_keep(&kept); /* only a fault matters, and the device remembers that */
        (void)copse_cuda_status(device, error, "looking at a pointer");
        copse_error_put_back(&kept);
        return COPSE_MEMORY_PAGEABLE;
    }
    switch (attributes.type) {
    case cudaMemoryTypeHost:
        return COPSE_MEMORY_PINNED;
    case cudaMemoryTypeManaged:
        return COPSE_MEMORY_DEVICE;
    case cudaMemoryTypeDevice:
        return attributes.device == device->number ? COPSE_MEMORY_DEVICE : COPSE_MEMORY_FOREIGN;
    default:
        return COPSE_MEMORY_PAGEABLE;
    }
}
