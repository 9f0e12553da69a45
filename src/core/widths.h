/*
 * Code over the widths of keys and values.
 *
 * The trees know keys and values of 32 and of 64 bits. A source whose name ends in _by_width is compiled four times, once
 * for each pair of widths, into four objects: the build defines KEY_BITS and VALUE_BITS on the command line. In such a
 * source, and in the headers that only such sources include, KEY and VALUE are the types of the object; whatever is static
 * has a plain name, and what other objects see carries the widths in its name through NAME(...):
 *
 *     const copse_cpu_tree NAME(copse_regular_cpu) = {...};      in trees/regular/cpu/tree_by_width.c
 *
 * is copse_regular_cpu_k64v32 in the object for keys of 64 and values of 32 bits. Sources that are compiled once declare
 * the four with COPSE_DECLARE_WIDTHS, put them into a table with COPSE_WIDTH_ROW, and choose by copse_width_pair.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sources that are compiled once know no widths and use none of the macros below that need them. An editor that parses a header
 * of by-width sources on its own takes 64 bits for both, so that the header makes sense to it. */
#ifndef KEY_BITS
#define KEY_BITS 64
#endif
#ifndef VALUE_BITS
#define VALUE_BITS 64
#endif

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

/* The position of the object's own pair. */
#define COPSE_WIDTH_PAIR (KEY_BITS / 64u * 2u + VALUE_BITS / 64u)
