/* Until blink_device_order.c has them. */
#include "cuda/blink_device.h"

__attribute__((weak)) const copse_kernel *copse_blink_find_beside(const copse_index *index)
{
    return &copse_blink_kernels_of(index)->find[0][0];
}

__attribute__((weak)) copse_status copse_blink_verify_order(const copse_index *index, copse_blink_version *version)
{
    (void)index;
    (void)version;
    return COPSE_OK;
}
