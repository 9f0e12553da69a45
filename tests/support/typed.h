/* Arrays whose element type is a copse_type, written for the tests alone: nothing here calls the library, so that a
 * mistake in its codecs cannot hide in the answers that they are compared with. */
#ifndef TESTS_TYPED_H
#define TESTS_TYPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copse.h"

__extension__ typedef __int128 test_int128;

#define TYPED_KEY_TYPES   8
#define TYPED_VALUE_TYPES 6
extern const copse_type typed_key_types[TYPED_KEY_TYPES];
extern const copse_type typed_value_types[TYPED_VALUE_TYPES];

/* 0 for COPSE_NONE, whose elements are all 0. */
size_t typed_size(copse_type type);
bool typed_is_float(copse_type type);
bool typed_is_signed(copse_type type);
const char *typed_name(copse_type type);

/* The raw bits of element i, zero extended. */
uint64_t typed_bits(copse_type type, const void *array, uint64_t i);
void typed_set_bits(copse_type type, void *array, uint64_t i, uint64_t bits);

/* A key's code is an unsigned number that sorts as the key does; -0.0 and 0.0 have the same. typed_set_code writes the
 * key of a code; the code just below 0.0 gives -0.0. */
uint64_t typed_code(copse_type type, const void *array, uint64_t i);
void typed_set_code(copse_type type, void *array, uint64_t i, uint64_t code);
uint64_t typed_code_of_bits(copse_type type, uint64_t bits);
uint64_t typed_bits_of_code(copse_type type, uint64_t code);

/* The codes of the smallest and the largest key that is a number. */
uint64_t typed_lowest_code(copse_type type);
uint64_t typed_highest_code(copse_type type);
/* The code of 0. */
uint64_t typed_zero_code(copse_type type);
uint64_t typed_nan_bits(copse_type type);

/* Bits of the number `position` in this type, for calls whose values argument is NULL. */
uint64_t typed_position_bits(copse_type type, uint64_t position);

/* The bits of a + b as COPSE_OP_ADD adds. */
uint64_t typed_sum(copse_type type, uint64_t a, uint64_t b);

/* The number that bits stand for. */
test_int128 typed_integer(copse_type type, uint64_t bits);
double typed_real(copse_type type, uint64_t bits);

/* Writes bits as a number; returns text. */
const char *typed_print(copse_type type, uint64_t bits, char *text, size_t size);

/* malloc that ends the test program when there is no memory, so that tests need not ask. */
void *must_malloc(size_t size);
/* n elements of this type, zeroed. */
void *typed_new(copse_type type, uint64_t n);

#endif
