/* The kernels that several structures use, compiled for the emulator. */
#include "core/codec.h"
#include "trees/tree.h"
#include "gpu/shared_kernels.h"
#include "simt/simt.h"

#include <math.h>
#include <string.h>

#define COPSE_TEMPLATE "gpu/shared_kernels.inc.h"
#include "core/for_each_width.h"

const copse_shared_kernels *const copse_shared_kernels_emulated[COPSE_WIDTH_PAIRS] = {
    &shared_row_k32v32, &shared_row_k32v64, &shared_row_k64v32, &shared_row_k64v64};
