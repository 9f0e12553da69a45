/* Whose memory a pointer leads to, without starting a driver. */
#include "device/device.h"

#ifdef COPSE_HAVE_CUDA
#include <dlfcn.h>

/* cuPointerGetAttribute of the driver, its attribute "memory type", and the value "device". */
typedef int (*attribute_of)(void *out, int attribute, unsigned long long pointer);
#define MEMORY_TYPE        2
#define MEMORY_TYPE_DEVICE 2u

bool copse_device_owns(const void *memory)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) return false;
    attribute_of ask;
    *(void **)&ask = dlsym(driver, "cuPointerGetAttribute");
    unsigned type = 0;
    const bool owns =
        ask && ask(&type, MEMORY_TYPE, (unsigned long long)(uintptr_t)memory) == 0 && type == MEMORY_TYPE_DEVICE;
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
