/* Pairs of the object's widths, and reading a stretch of a batch into separate arrays of encoded keys and values. */
#pragma once

#include "core/batch.h"
#include "core/codec.h"
#include "core/widths.h"

#include <string.h>

typedef struct copse_pair {
    KEY key;
    VALUE value;
} copse_pair;

/* The pairs of a batch made by copse_batch_make_tagged: values of 64 bits whatever the index has. */
typedef struct copse_tagged_pair {
    KEY key;
    uint64_t value;
} copse_tagged_pair;

/* The value of entry `at`: the caller's, or the position as a number of the value type. */
static inline VALUE copse_caller_value(const copse_batch *batch, uint64_t at)
{
    if (batch->values) return ((const VALUE *)batch->values)[at];
    if (batch->value_type == COPSE_NONE) return 0;
#if VALUE_BITS == 64
    if (batch->tags) return at << COPSE_TAG_BITS | batch->tags[at];
    double number = (double)at;
#else
    float number = (float)at;
#endif
    VALUE value = (VALUE)at;
    if (batch->value_type == COPSE_F32 || batch->value_type == COPSE_F64) memcpy(&value, &number, sizeof value);
    return value;
}

static inline void copse_batch_read(const copse_batch *batch, uint64_t first, uint32_t n, KEY *keys, VALUE *values)
{
    if (batch->pairs) {
        const copse_pair *pair = (const copse_pair *)batch->pairs + first;
        for (uint32_t i = 0; i < n; i++) {
            keys[i] = pair[i].key;
            values[i] = pair[i].value;
        }
        return;
    }
    ENCODE(batch->key_type, batch->keys, first, n, keys);
    if (batch->values)
        memcpy(values, (const VALUE *)batch->values + first, n * sizeof *values);
    else
        for (uint32_t i = 0; i < n; i++) values[i] = copse_caller_value(batch, first + i);
}
