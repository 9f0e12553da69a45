/* The kernels that read the B-link and the B+ tree in order, compiled for the emulator. */
#include "core/codec.h"
#include "trees/tree.h"
#include "trees/blink/read/ordered_kernels.h"
#include "simt/simt.h"

#include <math.h>
#include <string.h>

#define COPSE_TEMPLATE "trees/blink/read/ordered_kernels.inc.h"
#include "core/for_each_width.h"

const copse_blink_order_kernels *const copse_blink_order_kernels_emulated[COPSE_WIDTH_PAIRS] = {
    &blink_order_row_k32v32, &blink_order_row_k32v64, &blink_order_row_k64v32, &blink_order_row_k64v64};
