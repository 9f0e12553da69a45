/* The kernels that read the B-link and the B+ tree in order, compiled for the emulator. */
#include "core/codec.h"
#include "core/structure.h"
#include "cuda/blink_order_kernels.h"
#include "cuda/simt.h"

#include <math.h>
#include <string.h>

#define COPSE_TEMPLATE "cuda/blink_order_kernels.inc.h"
#include "core/for_each_width.h"

const copse_blink_order_kernels *const copse_blink_order_kernels_emulated[COPSE_WIDTH_PAIRS] = {
    &blink_order_row_k32v32, &blink_order_row_k32v64, &blink_order_row_k64v32, &blink_order_row_k64v64};
