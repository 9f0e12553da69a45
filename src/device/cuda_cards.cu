/* Which cards there are, and why one cannot be used. */
#include "device/cuda.h"

#include "core/pool.h"

#include <stdio.h>
#include <string.h>

#define OLDEST_MAJOR 8 /* Ampere: the oldest that this build has code for */

/* --- how many ---------------------------------------------------------------------------------------------------- */

static pthread_once_t counted = PTHREAD_ONCE_INIT;
static int count;
static char why_none[256];
static uint32_t counted_in; /* generation of forks: a child cannot use the driver that its parent has started */

static void say_why(cudaError_t error)
{
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        (void)snprintf(why_none, sizeof why_none,
                       "no CUDA driver was found (libcuda.so.1, which comes with NVIDIA's driver)");
    else if (error == cudaErrorInsufficientDriver)
        (void)snprintf(why_none, sizeof why_none,
                       "the CUDA driver is too old: it is for CUDA %d.%d, and copse was built with CUDA %d.%d",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else if (error == cudaErrorNoDevice || error == cudaSuccess)
        (void)snprintf(why_none, sizeof why_none,
                       "the CUDA driver finds no card (if there is one: CUDA_VISIBLE_DEVICES may hide it)");
    else
        (void)snprintf(why_none, sizeof why_none, "the CUDA driver cannot be used: %s", cudaGetErrorString(error));
}

static void count_cards(void)
{
    counted_in = copse_fork_generation();
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0) return;
    (void)cudaGetLastError();
    count = 0;
    say_why(error);
}

int copse_cuda_count(const char **out_why)
{
    pthread_once(&counted, count_cards);
    *out_why = why_none;
    if (count == 0 || counted_in == copse_fork_generation()) return count;
    *out_why = "this process was forked after its parent had started CUDA, which does not follow: use cards in the "
               "child only, "
               "or start the child with exec";
    return 0;
}

/* --- one of them -------------------------------------------------------------------------------------------------- */

/* Is never run: whether the card can load it shows whether this build has code for the card. */
static __global__ void probe_kernel(void) {}

static void set_why(copse_device_info *out, const char *what, cudaError_t error)
{
    (void)cudaGetLastError();
    if (out->why[0] == '\0') (void)snprintf(out->why, sizeof out->why, "%s: %s", what, cudaGetErrorString(error));
}

/* Starts the card for this process, which is the only way to learn whether it works. */
static void try_card(int number, copse_device_info *out)
{
    size_t available = 0, total = 0;
    cudaFuncAttributes attributes;
    copse_cuda_current current(number);
    cudaError_t error = cudaSetDevice(number);
    if (error == cudaSuccess) error = cudaMemGetInfo(&available, &total);
    if (error != cudaSuccess) {
        set_why(out, "it cannot be started", error);
        return;
    }
    out->memory_free = available;
    error = cudaFuncGetAttributes(&attributes, probe_kernel);
    if (error != cudaSuccess) set_why(out, "it cannot run the kernels of this build", error);
}

void copse_cuda_describe(int number, copse_device_info *out)
{
    cudaDeviceProp properties;
    memset(out, 0, sizeof *out);
    cudaError_t error = cudaGetDeviceProperties(&properties, number);
    if (error != cudaSuccess) {
        set_why(out, "the driver does not describe it", error);
        return;
    }
    (void)snprintf(out->name, sizeof out->name, "%.127s", properties.name);
    out->capability_major = (uint32_t)properties.major;
    out->capability_minor = (uint32_t)properties.minor;
    out->multiprocessors = (uint32_t)properties.multiProcessorCount;
    out->memory = properties.totalGlobalMem;
    out->cache = (uint64_t)properties.l2CacheSize;
    if (properties.major < OLDEST_MAJOR)
        (void)snprintf(out->why, sizeof out->why, "its compute capability is %d.%d, copse needs %d.0", properties.major,
                       properties.minor, OLDEST_MAJOR);
    else
        try_card(number, out);
    out->usable = out->why[0] == '\0';
}
