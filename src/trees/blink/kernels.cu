/* The kernels of the B-link and the B+ tree, compiled for cards. */
#include "core/codec.h"
#include "trees/tree.h"
#include "trees/blink/layout.h"
#include "simt/simt.h"

#include <string.h>

#define COPSE_TEMPLATE "trees/blink/kernels.inc.h"
#include "core/for_each_width.h"

const copse_blink_kernels *const copse_blink_kernels_cuda[COPSE_WIDTH_PAIRS] = {&blink_row_k32v32, &blink_row_k32v64,
                                                                                &blink_row_k64v32, &blink_row_k64v64};
