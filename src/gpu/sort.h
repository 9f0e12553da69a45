/* Sorting on a device by no more bits than it takes, for batches on their way into a tree and for mixed batches. */
#pragma once

#include "primitives/primitives.h"
#include "gpu/shared_kernels.h"

/*
 * A sort, stable, of keys with what belongs to each. The input is keys[0] and values[0]; keys[1] and values[1] are as
 * large. Where `between` is set all four may be overwritten and `where` says in the end which have the result; else
 * the input stays and keys[1] and values[1] do.
 *
 * Where there is a `speculation`, low and high may be wrong, and the host does not wait: the speculation says later whether the pairs are
 * sorted, see copse_pairs_speculation, and what their smallest and largest keys are. Keys outside the bounds are fine as long as
 * the upper bits that low and high share are theirs, too. Without a speculation the call waits where it has to, and is right.
 */
typedef struct copse_device_sorting {
    unsigned pair; /* of widths */
    void *keys[2]; /* encoded   */
    void *values[2];
    uint64_t n;         /* not 0                      */
    uint64_t low, high; /* no key is smaller, greater */
    bool all_bits;      /* none that may differ are left out: it is known that the others would not distinguish keys */
    bool between;
    unsigned where;
    copse_pairs_speculation *speculation;
} copse_device_sorting;
copse_status copse_device_sort(copse_device *device, copse_device_sorting *sorting);
/* The same by upper bits only, so that keys which share those stay as they came; *out_left_out: the number of lower bits that the
 * sort leaves out. Keys outside the bounds may end up anywhere. */
copse_status copse_device_sort_coarse(copse_device *device, copse_device_sorting *sorting, unsigned *out_left_out);

/* The bits in which keys between low and high may differ, counted from the lowest: those that a sort of all bits looks at. */
unsigned copse_device_sort_bits(uint64_t low, uint64_t high);
/* The lower ones of these that a sort of n such keys leaves out, 0 where it looks at all. waiting: the host will wait for what
 * comes of it, and no survey has shown that such keys are spread out. */
unsigned copse_device_sort_left_out(uint64_t n, uint64_t low, uint64_t high, bool waiting);

/* A speculation in device memory, as it has to be at the start. */
copse_status copse_device_speculation_make(copse_device *device, copse_pairs_speculation **out);
void copse_device_speculation_free(copse_device *device, copse_pairs_speculation *speculation);

/* Blocks for a kernel whose threads go over `items` in strides: enough to fill the device, no more than there is work. */
uint64_t copse_device_blocks(const copse_device *device, uint64_t items);
