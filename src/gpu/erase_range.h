/* Erasing by ranges on a device. */
#pragma once

#include "trees/tree.h"

/* erase_range of any tree on a device (copse_calls). */
copse_status copse_device_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);
