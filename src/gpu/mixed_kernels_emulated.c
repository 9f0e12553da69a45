/* The kernels of mixed batches, compiled for the emulator. */
#include "core/codec.h"
#include "core/widths.h"
#include "gpu/mixed_kernels.h"
#include "simt/simt.h"

#include <string.h>

#define COPSE_TEMPLATE "gpu/mixed_kernels.inc.h"
#include "core/for_each_width.h"

const copse_mixed_kernels *const copse_mixed_kernels_emulated[COPSE_WIDTH_PAIRS] = {
    &mixed_row_k32v32, &mixed_row_k32v64, &mixed_row_k64v32, &mixed_row_k64v64};
