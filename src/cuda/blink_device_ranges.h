/* What calls over ranges of the B-link and the B+ tree share. */
#ifndef COPSE_BLINK_DEVICE_RANGES_H
#define COPSE_BLINK_DEVICE_RANGES_H

#include "cuda/blink_device.h"
#include "cuda/ranges_device.h"

/* Puts kernels[digest] over n ranges on the stream, as many launches as it takes. */
copse_status copse_blink_ranges(const copse_index *index, copse_stream *stream, const copse_kernel *kernels,
                                const copse_blink_range_arguments *arguments, uint64_t n);

#endif
