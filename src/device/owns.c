/* Whose memory a pointer leads to, without starting a driver. */
#include "device/device.h"

#ifdef COPSE_HAVE_CUDA
#include <dlfcn.h>

/* cuPointerGetAttributes of the driver, which unlike cuPointerGetAttribute takes any pointer without an error, its attribute "memory type",
 * and the value "device". */
typedef int (*attributes_of)(unsigned count, int *attributes, void **out, unsigned long long pointer);
#define MEMORY_TYPE        2
#define MEMORY_TYPE_DEVICE 2u

bool copse_device_owns(const void *memory)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) return false;
    attributes_of ask;
    *(void **)&ask = dlsym(driver, "cuPointerGetAttributes");
    unsigned type = 0;
    int attribute = MEMORY_TYPE;
    void *out = &type;
    const bool owns =
        ask && ask(1, &attribute, &out, (unsigned long long)(uintptr_t)memory) == 0 && type == MEMORY_TYPE_DEVICE;
    (void)dlclose(driver);
    return owns;
}
#else
bool copse_device_owns(const void *memory)
{
    (void)memory;
    return false;
}
#endif
