/* Growable arrays on a card, through the driver's virtual memory functions. Those are looked up at run time: linking
 * libcuda would keep the library from starting on a machine without a driver. */
#include "device/cuda.h"

#include <cuda.h>
#include <cudaTypedefs.h>

static struct {
    PFN_cuMemGetAllocationGranularity_v10020 granularity;
    PFN_cuMemAddressReserve_v10020 reserve;
    PFN_cuMemAddressFree_v10020 unreserve;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
} driver;
static pthread_once_t looked = PTHREAD_ONCE_INIT;
static bool found;

static bool look_up(const char *name, void **out)
{
    cudaDriverEntryPointQueryResult result;
    cudaError_t error = cudaGetDriverEntryPointByVersion(name, out, 10020, cudaEnableDefault, &result);
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess && *out;
}

static void look_up_all(void)
{
    found = look_up("cuMemGetAllocationGranularity", (void **)&driver.granularity) &&
            look_up("cuMemAddressReserve", (void **)&driver.reserve) &&
            look_up("cuMemAddressFree", (void **)&driver.unreserve) &&
            look_up("cuMemCreate", (void **)&driver.create) && look_up("cuMemRelease", (void **)&driver.release) &&
            look_up("cuMemMap", (void **)&driver.map) && look_up("cuMemUnmap", (void **)&driver.unmap) &&
            look_up("cuMemSetAccess", (void **)&driver.set_access);
}

static copse_status driver_failed(copse_device *device, CUresult result, const char *what)
{
    return copse_fail(device->ctx, COPSE_ERR_DEVICE, "card %d: %s failed with error %d of the driver", device->number,
                      what, (int)result);
}

static CUmemAllocationProp properties_of(const copse_device *device)
{
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device->number;
    return properties;
}

copse_status copse_cuda_array_reserve(copse_device *device, uint64_t most, void **out_address, uint64_t *out_reserved,
                                      uint64_t *out_granule)
{
    copse_cuda_current current(device->number);
    CUmemAllocationProp properties = properties_of(device);
    CUdeviceptr address = 0;
    size_t granule = 0;
    pthread_once(&looked, look_up_all);
    if (!found)
        return copse_fail(device->ctx, COPSE_ERR_DEVICE, "card %d: the driver does not have virtual memory functions",
                          device->number);
    CUresult result = driver.granularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (result != CUDA_SUCCESS) return driver_failed(device, result, "asking for the granule of memory");
    uint64_t granules = most / granule + (most % granule != 0);
    *out_granule = granule;
    *out_reserved = (granules ? granules : 1) * granule;
    result = driver.reserve(&address, *out_reserved, 0, 0, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return copse_fail(device->ctx, COPSE_ERR_MEMORY, "out of address space: a growing array asks for %llu bytes",
                          (unsigned long long)most);
    if (result != CUDA_SUCCESS) return driver_failed(device, result, "reserving address space");
    *out_address = (void *)address;
    return COPSE_OK;
}

/* One piece of memory behind [at, at + bytes). Its handle is let go at once: the mapping keeps the memory. */
static CUresult map_piece(const copse_device *device, CUdeviceptr at, uint64_t bytes)
{
    CUmemAllocationProp properties = properties_of(device);
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle piece;
    CUresult result = driver.create(&piece, bytes, &properties, 0);
    if (result != CUDA_SUCCESS) return result;
    result = driver.map(at, bytes, 0, piece, 0);
    (void)driver.release(piece);
    if (result != CUDA_SUCCESS) return result;
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result = driver.set_access(at, bytes, &access, 1);
    if (result != CUDA_SUCCESS) (void)driver.unmap(at, bytes);
    return result;
}

copse_status copse_cuda_array_map(copse_device *device, void *address, uint64_t old_bytes, uint64_t new_bytes,
                                  const char *what)
{
    copse_cuda_current current(device->number);
    CUdeviceptr at = (CUdeviceptr)address + old_bytes;
    uint64_t more = new_bytes - old_bytes;
    CUresult result = map_piece(device, at, more);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        copse_cuda_trim(device);
        result = map_piece(device, at, more);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return copse_device_out_of_memory(device, more, what);
    return result == CUDA_SUCCESS ? COPSE_OK : driver_failed(device, result, "mapping memory");
}

void copse_cuda_array_release(copse_device *device, void *address, uint64_t reserved, uint64_t mapped)
{
    copse_cuda_current current(device->number);
    (void)cudaStreamSynchronize(copse_cuda_stream_of(device->main));
    if (mapped) (void)driver.unmap((CUdeviceptr)address, mapped);
    (void)driver.unreserve((CUdeviceptr)address, reserved);
}
