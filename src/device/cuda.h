/* What the files of the CUDA backend share. For .cu files only. */
#pragma once

#include "device/cuda_status.h"
#include "device/device.h"

/* device->backend_data */
typedef struct copse_cuda_data {
    cudaMemPool_t pool; /* NULL where the card has no pools: then memory comes straight from the driver */
    uint64_t keep;      /* bytes that the pool may hold for later */
    bool pressed;       /* an allocation failed: what is freed goes back to the system, until one succeeds again */
    bool own_main;      /* device->main was made here */
    const char *last_kernel;
} copse_cuda_data;

static inline copse_cuda_data *copse_cuda_data_of(const copse_device *device)
{
    return (copse_cuda_data *)device->backend_data;
}

static inline cudaStream_t copse_cuda_stream_of(copse_stream *stream)
{
    return (cudaStream_t)stream;
}

int copse_cuda_enter(int number);
void copse_cuda_leave(int number, int before);

/* Makes a card the current one for as long as it lives. */
struct copse_cuda_current {
    int number, before;
    explicit copse_cuda_current(int n) : number(n), before(copse_cuda_enter(n)) {}
    ~copse_cuda_current() { copse_cuda_leave(number, before); }
    copse_cuda_current(const copse_cuda_current &) = delete;
    copse_cuda_current &operator=(const copse_cuda_current &) = delete;
};

/* device/cuda_cards.cu */
int copse_cuda_count(const char **out_why);
void copse_cuda_describe(int number, copse_device_info *out);

/* device/cuda_memory.cu */
copse_status copse_cuda_pool_make(copse_device *device);
void copse_cuda_pool_free(copse_device *device);
copse_status copse_cuda_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what, void **out);
void copse_cuda_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes);
void copse_cuda_memory_info(copse_device *device, uint64_t *out_free, uint64_t *out_total);
void copse_cuda_trim(copse_device *device);
void *copse_cuda_pinned_alloc(copse_device *device, uint64_t bytes);
void copse_cuda_pinned_free(copse_device *device, void *memory, uint64_t bytes);
bool copse_cuda_pin(copse_device *device, const void *memory, uint64_t bytes);
void copse_cuda_unpin(copse_device *device, const void *memory);
copse_memory_kind copse_cuda_kind(copse_device *device, const void *memory);
