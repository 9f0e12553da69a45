/* The body of walk_scalar.c, walk_avx2.c and walk_avx512.c: instantiates the walks and names the table WALK. */
#include "core/codec.h"
#include "core/internal.h"
#include "cpu/pipeline.h"
#include "cpu/unit.h"
#include "cpu/walk.h"

#define COPSE_TEMPLATE "cpu/walk.inc.h"
#include "core/for_each_width.h"

#define ROW(widths)                                                                                                    \
    {                                                                                                                  \
        walk_implicit_find_##widths, walk_regular_find_##widths, walk_implicit_locate_##widths,                        \
            walk_regular_locate_##widths, walk_implicit_count_##widths, walk_implicit_sum_##widths                     \
    }

const copse_walk WALK = {WALK_NAME, {ROW(k32v32), ROW(k32v64), ROW(k64v32), ROW(k64v64)}};
