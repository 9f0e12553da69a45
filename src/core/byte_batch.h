/* A batch of byte strings on its way into a tree: in ascending order, equal keys in the order of the caller's array. */
#pragma once

#include "core/bytes.h"

typedef struct copse_byte_item {
    uint64_t prefix;   /* the first eight bytes, of which the first counts most; zeros behind a short key */
    uint64_t position; /* in the caller's array                                                           */
} copse_byte_item;

typedef struct copse_byte_batch {
    copse_byte_keys keys;
    uint64_t n;
    copse_byte_item *items;
    size_t bytes; /* of the memory at `items` */
} copse_byte_batch;

/* Checks and sorts n keys, n > 0. `what` goes to the progress callback. Errors: ARGUMENT, MEMORY, CANCELLED. */
copse_status copse_byte_batch_make(const copse_ctx *ctx, const void *keys, uint64_t n, const char *what,
                                   copse_byte_batch *out);
void copse_byte_batch_free(const copse_ctx *ctx, copse_byte_batch *batch);

/* The key of item i. */
static inline copse_slice copse_byte_batch_key(const copse_byte_batch *batch, uint64_t i)
{
    return copse_byte_key(&batch->keys, batch->items[i].position);
}

/* The first item behind item i that has another key. */
uint64_t copse_byte_batch_run(const copse_byte_batch *batch, uint64_t i);
