/* The kernels of the implicit tree, compiled for cards. */
#include "core/codec.h"
#include "trees/tree.h"
#include "trees/implicit/gpu/kernels.h"
#include "simt/simt.h"

#include <math.h>
#include <string.h>

#define COPSE_TEMPLATE "trees/implicit/gpu/kernels.inc.h"
#include "core/for_each_width.h"

const copse_implicit_kernels *const copse_implicit_kernels_cuda[COPSE_WIDTH_PAIRS] = {
    &implicit_row_k32v32, &implicit_row_k32v64, &implicit_row_k64v32, &implicit_row_k64v64};
