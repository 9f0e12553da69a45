/* The CUDA backend: cards through the CUDA runtime. */
#include "device/cuda.h"

#include <string.h>

/* --- errors ---------------------------------------------------------------------------------------------------------- */

/* After these the card does nothing more for this process. */
static bool is_fault(cudaError_t error)
{
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorExternalDevice:
    case cudaErrorMpsClientTerminated:
    case cudaErrorContained:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

copse_status copse_cuda_status(copse_device *device, cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return COPSE_OK;
    (void)cudaGetLastError(); /* or the next call that asks would get it again */
    if (error == cudaErrorMemoryAllocation)
        return copse_fail(device->ctx, COPSE_ERR_MEMORY, "out of device memory while %s", what);
    if (!is_fault(error))
        return copse_fail(device->ctx, COPSE_ERR_DEVICE, "card %d: %s: %s", device->number, what,
                          cudaGetErrorString(error));
    const char *kernel = copse_cuda_data_of(device)->last_kernel;
    return copse_device_fault(device, "card %d failed: %s (%s; the last kernel launched was %s)", device->number,
                              cudaGetErrorString(error), what, kernel ? kernel : "none of ours");
}

/* --- the current card -------------------------------------------------------------------------------------------------- */

int copse_cuda_enter(int number)
{
    int before = number;
    if (cudaGetDevice(&before) != cudaSuccess) (void)cudaGetLastError();
    if (before != number) (void)cudaSetDevice(number);
    return before;
}

void copse_cuda_leave(int number, int before)
{
    if (before != number) (void)cudaSetDevice(before);
}

static int cuda_enter(copse_device *device)
{
    return copse_cuda_enter(device->number);
}

static void cuda_leave(copse_device *device, int before)
{
    copse_cuda_leave(device->number, before);
}

/* --- open and close ------------------------------------------------------------------------------------------------------ */

static int cuda_stream_device(void *stream)
{
    int number = -1;
    if (cudaStreamGetDevice((cudaStream_t)stream, &number) == cudaSuccess) return number;
    (void)cudaGetLastError();
    return -1;
}

/* A stream of our own waits for the legacy default stream and the other way round, so that arrays which the caller wrote
 * there, without a thought about streams, are complete when our kernels read them. */
static copse_status main_make(copse_device *device, void *callers)
{
    cudaStream_t stream = (cudaStream_t)callers;
    if (!callers) {
        cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
        if (error != cudaSuccess) return copse_cuda_status(device, error, "making a stream");
        copse_cuda_data_of(device)->own_main = true;
    } else {
        int number = cuda_stream_device(callers);
        if (number < 0) return copse_fail(device->ctx, COPSE_ERR_ARGUMENT, "stream is not a stream of CUDA");
        if (number != device->number)
            return copse_fail(device->ctx, COPSE_ERR_ARGUMENT,
                              "stream belongs to card %d, but the context works on card %d", number, device->number);
    }
    device->main = (copse_stream *)stream;
    return COPSE_OK;
}

/* Work on the new stream comes after what is on the old one. */
static cudaError_t follow(cudaStream_t old, cudaStream_t next)
{
    cudaEvent_t event = nullptr;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    error = cudaEventRecord(event, old);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(next, event, 0);
    (void)cudaEventDestroy(event);
    return error;
}

static copse_status cuda_set_main(copse_device *device, void *callers)
{
    copse_cuda_current current(device->number);
    copse_cuda_data *data = copse_cuda_data_of(device);
    copse_stream *const old = device->main;
    const bool own = data->own_main;
    if (callers == old || (!callers && own)) return COPSE_OK;
    data->own_main = false;
    copse_status status = main_make(device, callers);
    if (status == COPSE_OK)
        status = copse_cuda_status(device, follow(copse_cuda_stream_of(old), copse_cuda_stream_of(device->main)),
                                   "changing the stream");
    if (status == COPSE_OK) {
        if (own) (void)cudaStreamDestroy(copse_cuda_stream_of(old)); /* when its work is through */
        return COPSE_OK;
    }
    if (device->main != old && data->own_main) (void)cudaStreamDestroy(copse_cuda_stream_of(device->main));
    device->main = old;
    data->own_main = own;
    return status;
}

static void cuda_close(copse_device *device)
{
    copse_cuda_current current(device->number);
    copse_cuda_data *data = copse_cuda_data_of(device);
    copse_cuda_pool_free(device);
    if (data->own_main) (void)cudaStreamDestroy(copse_cuda_stream_of(device->main));
    (void)cudaGetLastError(); /* a card that failed says so here once more */
    copse_memory_free(device->ctx, data, sizeof *data);
    device->backend_data = nullptr;
}

static copse_status cuda_open(copse_device *device, void *stream)
{
    copse_cuda_current current(device->number);
    int multiprocessors = 0;
    size_t available = 0, total = 0;
    copse_cuda_data *data = (copse_cuda_data *)copse_memory_alloc(device->ctx, sizeof *data);
    if (!data) return copse_fail_memory(device->ctx, sizeof *data, "the card");
    memset(data, 0, sizeof *data);
    device->backend_data = data;
    cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device->number);
    if (error == cudaSuccess) error = cudaMemGetInfo(&available, &total);
    device->multiprocessors = (uint32_t)multiprocessors;
    device->memory = total;
    copse_status status = copse_cuda_status(device, error, "opening the card");
    if (status == COPSE_OK) status = main_make(device, stream);
    if (status == COPSE_OK) status = copse_cuda_pool_make(device);
    if (status != COPSE_OK) cuda_close(device);
    return status;
}

/* --- work ------------------------------------------------------------------------------------------------------------------ */

static copse_status cuda_copy(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes)
{
    copse_cuda_current current(device->number);
    return copse_cuda_status(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copse_cuda_stream_of(stream)),
                             "copying");
}

static copse_status cuda_fill(copse_device *device, copse_stream *stream, void *memory, uint8_t byte, uint64_t bytes)
{
    copse_cuda_current current(device->number);
    return copse_cuda_status(device, cudaMemsetAsync(memory, byte, bytes, copse_cuda_stream_of(stream)), "filling");
}

static copse_status cuda_launch(copse_device *device, copse_stream *stream, const copse_kernel *kernel, uint64_t blocks,
                                const void *arguments)
{
    copse_cuda_current current(device->number);
    void *list[] = {const_cast<void *>(arguments)};
    cudaError_t error = cudaLaunchKernel(kernel->entry, dim3((unsigned)blocks), dim3(kernel->threads), list, 0,
                                         copse_cuda_stream_of(stream));
    if (error != cudaSuccess) return copse_cuda_status(device, error, kernel->name);
    __atomic_store_n(&copse_cuda_data_of(device)->last_kernel, kernel->name, __ATOMIC_RELAXED);
    return COPSE_OK;
}

static copse_status cuda_wait(copse_device *device, copse_stream *stream)
{
    copse_cuda_current current(device->number);
    return copse_cuda_status(device, cudaStreamSynchronize(copse_cuda_stream_of(stream)), "waiting for its work");
}

static copse_status cuda_stream_create(copse_device *device, copse_stream **out)
{
    copse_cuda_current current(device->number);
    cudaStream_t stream = nullptr;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    *out = (copse_stream *)stream;
    return copse_cuda_status(device, error, "making a stream");
}

static void cuda_stream_free(copse_device *device, copse_stream *stream)
{
    copse_cuda_current current(device->number);
    if (stream && cudaStreamDestroy(copse_cuda_stream_of(stream)) != cudaSuccess) (void)cudaGetLastError();
}

/* --- events ------------------------------------------------------------------------------------------------------------------ */

static copse_status cuda_event_create(copse_device *device, copse_event **out)
{
    copse_cuda_current current(device->number);
    cudaEvent_t event = nullptr;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    *out = (copse_event *)event;
    return copse_cuda_status(device, error, "making an event");
}

static void cuda_event_free(copse_device *device, copse_event *event)
{
    copse_cuda_current current(device->number);
    if (event && cudaEventDestroy((cudaEvent_t)event) != cudaSuccess) (void)cudaGetLastError();
}

static copse_status cuda_event_record(copse_device *device, copse_event *event, copse_stream *stream)
{
    copse_cuda_current current(device->number);
    return copse_cuda_status(device, cudaEventRecord((cudaEvent_t)event, copse_cuda_stream_of(stream)),
                             "recording an event");
}

static copse_status cuda_event_wait(copse_device *device, copse_event *event)
{
    copse_cuda_current current(device->number);
    return copse_cuda_status(device, cudaEventSynchronize((cudaEvent_t)event), "waiting for its work");
}

static copse_status cuda_event_done(copse_device *device, copse_event *event, bool *out_done)
{
    copse_cuda_current current(device->number);
    const cudaError_t result = cudaEventQuery((cudaEvent_t)event);
    *out_done = result == cudaSuccess;
    return result == cudaErrorNotReady ? COPSE_OK : copse_cuda_status(device, result, "looking after its work");
}

static copse_status cuda_stream_follow(copse_device *device, copse_stream *stream, copse_event *event)
{
    copse_cuda_current current(device->number);
    return copse_cuda_status(device, cudaStreamWaitEvent(copse_cuda_stream_of(stream), (cudaEvent_t)event, 0),
                             "letting a stream follow another");
}

extern "C" const copse_device_backend copse_device_cuda = {
    .name = "cuda",
    .placement = COPSE_PLACEMENT_GPU,
    .survives_fork = false,
    .count = copse_cuda_count,
    .describe = copse_cuda_describe,
    .stream_device = cuda_stream_device,
    .open = cuda_open,
    .close = cuda_close,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .alloc = copse_cuda_alloc,
    .free = copse_cuda_free,
    .memory_info = copse_cuda_memory_info,
    .trim = copse_cuda_trim,
    .pinned_alloc = copse_cuda_pinned_alloc,
    .pinned_free = copse_cuda_pinned_free,
    .pin = copse_cuda_pin,
    .unpin = copse_cuda_unpin,
    .kind = copse_cuda_kind,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .set_main = cuda_set_main,
    .stream_create = cuda_stream_create,
    .stream_free = cuda_stream_free,
    .event_create = cuda_event_create,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_done = cuda_event_done,
    .stream_follow = cuda_stream_follow,
    .primitives = &copse_primitives_cuda,
};
