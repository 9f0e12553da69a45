/*
 * Keys of several fields as one string of bytes that sorts as they do, field by field. It is what copse_encode_fields makes, and what
 * indexes of several columns have.
 *
 *   (Oslo, 7, NULL)   ->   1 O s l o 0 0   1 80 00 00 07   0          fields that may be NULL
 *   (Oslo, 7)         ->   O s l o 0 0     80 00 00 07                fields that may not
 *
 * Of a field that may be NULL a byte says whether there is a value: NULL comes first. Numbers are their codes (core/codec.h), the most
 * significant byte first. A text ends in two zeros, and a zero inside of it is followed by 255, so that no text is the beginning of
 * another. Of a descending field all bytes are inverted. So no field is the beginning of another value of it, and the first fields
 * of a key are a prefix that just the keys with those values have.
 */
#pragma once

#include "core/internal.h"
#include "core/slice.h"

/* Each writes behind `to` and returns the end. */
unsigned char *copse_field_put_code(unsigned char *to, uint64_t code, uint32_t width);
unsigned char *copse_field_put_text(unsigned char *to, copse_slice text);
/* The most bytes that a text becomes. */
size_t copse_field_text_room(size_t length);
/* Makes a field descending, or takes that back. */
void copse_field_invert(unsigned char *from, const unsigned char *end);
/* Turns a key into one behind all that begin with it, in place: one more, when it is read as a number. Returns its length; 0: there is none,
 * because all of its bytes are 255. */
size_t copse_field_after(unsigned char *key, size_t length);

/* The way back: each reads at `from`, in front of `end`, and returns where the next field begins; NULL: the bytes are not such a field.
 * `inverted` is 255 for a descending field, else 0. A text goes to `to`, which has room for end - from bytes. */
const unsigned char *copse_field_get_code(const unsigned char *from, const unsigned char *end, unsigned char inverted,
                                          uint32_t width, uint64_t *out);
const unsigned char *copse_field_get_text(const unsigned char *from, const unsigned char *end, unsigned char inverted,
                                          unsigned char *to, size_t *out_length);
