/*
 * Keys that are byte strings: the caller's copse_bytes, checked and read, and written.
 *
 *   data      | a | p | p | l | e | a | p | e | b | ...
 *   offsets   | 0 |               5 |       8 | 9 | ...        key i: data[offsets[i]] up to data[offsets[i + 1]]
 *
 * Trees see neither struct sizes nor widths of offsets: they read keys as slices, and put slices.
 */
#pragma once

#include "core/internal.h"
#include "core/slice.h"

#include <string.h>

/* The empty string: it has an address, so that nobody needs to ask. */
#define COPSE_SLICE_EMPTY ((copse_slice){(const unsigned char *)"", 0})

/* < 0, 0 or > 0: the bytes decide, and where one is the beginning of the other, the length. */
static inline int copse_slice_compare(copse_slice a, copse_slice b)
{
    const size_t both = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.start, b.start, both);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* The first 8 bytes as a number that sorts as they do, a shorter string filled up with zeros. */
static inline uint64_t copse_slice_prefix(copse_slice key)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < sizeof prefix; i++) prefix = prefix << 8 | (i < key.length ? key.start[i] : 0u);
    return prefix;
}

/* A caller's copse_bytes, as far as it can be checked without a look at its arrays; and one that has n keys. Errors: ARGUMENT. */
copse_status copse_bytes_take(const copse_ctx *ctx, const char *name, const void *given, copse_bytes *out);
copse_status copse_bytes_take_keys(const copse_ctx *ctx, const char *name, const void *given, uint64_t n,
                                   copse_bytes *out);

/* --- input ---------------------------------------------------------------------------------------------------------- */

/* Keys of a caller that are known to be sound. */
typedef struct copse_byte_keys {
    const unsigned char *data;
    const char *offsets; /* of any alignment */
    bool wide;           /* 64 bits          */
} copse_byte_keys;

/* Checks n keys, n > 0: `given` is the caller's copse_bytes, `name` the name of the argument. Errors: ARGUMENT. */
copse_status copse_byte_keys_take(const copse_ctx *ctx, const char *name, const void *given, uint64_t n,
                                  copse_byte_keys *out);

static inline int64_t copse_byte_offset(const copse_byte_keys *keys, uint64_t i)
{
    int32_t offset32;
    int64_t wide;
    if (keys->wide) {
        memcpy(&wide, keys->offsets + i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&offset32, keys->offsets + i * sizeof offset32, sizeof offset32);
    return offset32;
}

static inline copse_slice copse_byte_key(const copse_byte_keys *keys, uint64_t i)
{
    const int64_t start = copse_byte_offset(keys, i), end = copse_byte_offset(keys, i + 1);
    if (start == end) return COPSE_SLICE_EMPTY; /* data may be NULL then */
    return (copse_slice){keys->data + start, (size_t)(end - start)};
}

/* --- output --------------------------------------------------------------------------------------------------------- */

/* Keys on their way to a caller, one after the other. */
typedef struct copse_byte_output {
    void *given; /* the caller's copse_bytes; NULL: keys are not wanted           */
    const char *name;
    unsigned char *data; /* NULL: sizing                                             */
    char *offsets;       /* NULL: only `needed` is wanted                            */
    bool wide;
    bool overflow;   /* an offset did not fit                                    */
    uint64_t size;   /* bytes of room                                            */
    uint64_t n;      /* keys so far                                              */
    uint64_t needed; /* bytes so far                                             */
} copse_byte_output;

/* `given` may be NULL: then putting does nothing. Errors: ARGUMENT. */
copse_status copse_byte_output_open(const copse_ctx *ctx, const char *name, void *given, copse_byte_output *out);
void copse_byte_output_put(copse_byte_output *out, copse_slice key);
/* Counts bytes of keys for which the caller's arrays have no place. */
void copse_byte_output_skip(copse_byte_output *out, uint64_t bytes);
/* Writes the last offset and `needed`. Errors: TOO_SMALL, OVERFLOW. */
copse_status copse_byte_output_close(const copse_ctx *ctx, copse_byte_output *out);
/* The error for keys that need more room than they have. */
copse_status copse_byte_output_fail(const copse_ctx *ctx, const copse_byte_output *out);
