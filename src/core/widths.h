/*
 * Include-style templates over key and value width.
 *
 * A template is a file *.inc.h that uses KEY, VALUE and NAME(...). A source file instantiates it for the four pairs of
 * widths with
 *     #define COPSE_TEMPLATE "trees/implicit/cpu/tree.inc.h"
 *     #include "core/for_each_width.h"
 * and then has functions such as implicit_build_k64v32.
 */
#ifndef COPSE_WIDTHS_H
#define COPSE_WIDTHS_H

#include <stddef.h>
#include <stdint.h>

/* Declares name_k32v32 .. name_k64v64, all of the type (of an object or of a function). */
#define COPSE_DECLARE_WIDTHS(type, name) extern type name##_k32v32, name##_k32v64, name##_k64v32, name##_k64v64
/* Their addresses as the initializer of a table. */
#define COPSE_WIDTH_ROW(name)                                                                                          \
    {                                                                                                                  \
        &name##_k32v32, &name##_k32v64, &name##_k64v32, &name##_k64v64                                                 \
    }

#define COPSE_GLUE_(base, kbits, vbits) base##_k##kbits##v##vbits
#define COPSE_GLUE(base, kbits, vbits)  COPSE_GLUE_(base, kbits, vbits)
#define COPSE_INT_(bits)                uint##bits##_t
#define COPSE_INT(bits)                 COPSE_INT_(bits)
#define COPSE_BITS_(base, bits)         base##bits
#define COPSE_BITS(base, bits)          COPSE_BITS_(base, bits)

#define NAME(base) COPSE_GLUE(base, KEY_BITS, VALUE_BITS)
#define KEY        COPSE_INT(KEY_BITS)
#define VALUE      COPSE_INT(VALUE_BITS)
#define KEY_MAX    ((KEY) ~(KEY)0)

/* encode / decode of this key width, see codec.h */
#define ENCODE COPSE_BITS(copse_encode_k, KEY_BITS)
#define DECODE COPSE_BITS(copse_decode_k, KEY_BITS)

/* the same for one key in registers */
#define ENCODE_ONE COPSE_BITS(copse_encode_one_k, KEY_BITS)
#define DECODE_ONE COPSE_BITS(copse_decode_one_k, KEY_BITS)
#define IS_NAN     COPSE_BITS(copse_is_nan_k, KEY_BITS)

/* Position of a pair of widths in tables: k32v32, k32v64, k64v32, k64v64. */
#define COPSE_WIDTH_PAIRS 4
static inline unsigned copse_width_pair(size_t key_bytes, size_t value_bytes)
{
    return (key_bytes == 8 ? 2u : 0u) + (value_bytes == 8 ? 1u : 0u);
}

#endif
