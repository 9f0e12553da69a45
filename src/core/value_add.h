/* COPSE_OP_ADD on the bits of two values of the object's width, the same on the CPU and in kernels. */
#pragma once

#include "core/anywhere.h"
#include "core/widths.h"
#include "copse.h"

#include <string.h>

/* Integers wrap, signed ones as two's complement, so that one addition serves both. Processors differ in which NaN a sum has:
 * here it is always the same, so that an index has the same bits wherever it is. */
COPSE_ANYWHERE VALUE copse_value_add(copse_type type, VALUE a, VALUE b)
{
#if VALUE_BITS == 64
    const VALUE nan = UINT64_C(0x7ff8000000000000);
    double x, y;
    if (type != COPSE_F64) return a + b;
#else
    const VALUE nan = 0x7fc00000u;
    float x, y;
    if (type != COPSE_F32) return a + b;
#endif
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return x != x ? nan : a;
}
