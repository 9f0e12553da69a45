#include "typed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const copse_type typed_key_types[TYPED_KEY_TYPES] = {COPSE_U32, COPSE_I32, COPSE_F32,  COPSE_U64,
                                                     COPSE_I64, COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP};
const copse_type typed_value_types[TYPED_VALUE_TYPES] = {COPSE_U32, COPSE_I32, COPSE_F32,
                                                         COPSE_U64, COPSE_I64, COPSE_F64};

size_t typed_size(copse_type type)
{
    if (type == COPSE_NONE) return 0;
    return type == COPSE_U32 || type == COPSE_I32 || type == COPSE_F32 || type == COPSE_DATE ? 4 : 8;
}

bool typed_is_float(copse_type type)
{
    return type == COPSE_F32 || type == COPSE_F64;
}

bool typed_is_signed(copse_type type)
{
    return type == COPSE_I32 || type == COPSE_I64 || type == COPSE_DATE || type == COPSE_TIMESTAMP;
}

const char *typed_name(copse_type type)
{
    static const char *const names[] = {"?", "u32", "i32", "f32", "u64", "i64", "f64", "date", "timestamp"};
    if (type == COPSE_NONE) return "none";
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "?";
}

uint64_t typed_bits(copse_type type, const void *array, uint64_t i)
{
    if (type == COPSE_NONE) return 0;
    if (typed_size(type) == 4) {
        uint32_t bits;
        memcpy(&bits, (const char *)array + i * 4, 4);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, (const char *)array + i * 8, 8);
    return bits;
}

void typed_set_bits(copse_type type, void *array, uint64_t i, uint64_t bits)
{
    if (typed_size(type) == 4) {
        uint32_t narrow = (uint32_t)bits;
        memcpy((char *)array + i * 4, &narrow, 4);
    } else if (typed_size(type) == 8) {
        memcpy((char *)array + i * 8, &bits, 8);
    }
}

static uint64_t sign_bit(copse_type type)
{
    return typed_size(type) == 4 ? UINT64_C(0x80000000) : UINT64_C(0x8000000000000000);
}

static uint64_t all_bits(copse_type type)
{
    return typed_size(type) == 4 ? UINT64_C(0xffffffff) : UINT64_MAX;
}

uint64_t typed_code_of_bits(copse_type type, uint64_t bits)
{
    if (typed_is_signed(type)) return bits ^ sign_bit(type);
    if (!typed_is_float(type)) return bits;
    if (bits == sign_bit(type)) bits = 0; /* -0.0 is 0.0 */
    return bits & sign_bit(type) ? ~bits & all_bits(type) : bits | sign_bit(type);
}

uint64_t typed_bits_of_code(copse_type type, uint64_t code)
{
    if (typed_is_signed(type)) return code ^ sign_bit(type);
    if (!typed_is_float(type)) return code;
    return code & sign_bit(type) ? code ^ sign_bit(type) : ~code & all_bits(type);
}

uint64_t typed_code(copse_type type, const void *array, uint64_t i)
{
    return typed_code_of_bits(type, typed_bits(type, array, i));
}

void typed_set_code(copse_type type, void *array, uint64_t i, uint64_t code)
{
    typed_set_bits(type, array, i, typed_bits_of_code(type, code));
}

static uint64_t infinity_bits(copse_type type)
{
    return type == COPSE_F32 ? UINT64_C(0x7f800000) : UINT64_C(0x7ff0000000000000);
}

uint64_t typed_lowest_code(copse_type type)
{
    return typed_is_float(type) ? typed_code_of_bits(type, infinity_bits(type) | sign_bit(type)) : 0;
}

uint64_t typed_highest_code(copse_type type)
{
    return typed_is_float(type) ? typed_code_of_bits(type, infinity_bits(type)) : all_bits(type);
}

uint64_t typed_zero_code(copse_type type)
{
    return typed_code_of_bits(type, 0);
}

uint64_t typed_nan_bits(copse_type type)
{
    return infinity_bits(type) | 1;
}

uint64_t typed_position_bits(copse_type type, uint64_t position)
{
    uint64_t bits = position;
    if (type == COPSE_F32) {
        float number = (float)position;
        bits = 0;
        memcpy(&bits, &number, sizeof number);
    } else if (type == COPSE_F64) {
        double number = (double)position;
        memcpy(&bits, &number, sizeof number);
    }
    return type == COPSE_NONE ? 0 : bits & all_bits(type);
}

uint64_t typed_sum(copse_type type, uint64_t a, uint64_t b)
{
    if (!typed_is_float(type)) return (a + b) & all_bits(type);
    uint64_t bits = 0;
    const double sum = typed_real(type, a) + typed_real(type, b);
    const float narrow = (float)typed_real(type, a) + (float)typed_real(type, b);
    if (isnan(sum)) return infinity_bits(type) | UINT64_C(1) << (type == COPSE_F32 ? 22 : 51); /* the quiet one */
    if (type == COPSE_F32)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &sum, sizeof sum);
    return bits;
}

test_int128 typed_integer(copse_type type, uint64_t bits)
{
    test_int128 number = (test_int128)bits;
    if (typed_is_signed(type) && bits & sign_bit(type)) number -= (test_int128)all_bits(type) + 1;
    return number;
}

double typed_real(copse_type type, uint64_t bits)
{
    if (type == COPSE_F32) {
        uint32_t narrow = (uint32_t)bits;
        float number;
        memcpy(&number, &narrow, sizeof number);
        return (double)number;
    }
    if (type == COPSE_F64) {
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    return (double)typed_integer(type, bits);
}

const char *typed_print(copse_type type, uint64_t bits, char *text, size_t size)
{
    if (typed_is_float(type))
        (void)snprintf(text, size, "%.17g", typed_real(type, bits));
    else if (typed_is_signed(type))
        (void)snprintf(text, size, "%" PRId64, (int64_t)typed_integer(type, bits));
    else
        (void)snprintf(text, size, "%" PRIu64, bits);
    return text;
}

void *must_malloc(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        (void)fprintf(stderr, "the test program is out of memory (%zu bytes)\n", size);
        exit(2);
    }
    return memory;
}

void *typed_new(copse_type type, uint64_t n)
{
    size_t size = typed_size(type) * (size_t)n;
    return memset(must_malloc(size), 0, size ? size : 1);
}
