/* Keys of any type, one after the other: what is read, asked for and printed. Numbers and dates lie in an array, text as the library
 * takes byte strings; who holds such a list does not need to know which. */
#pragma once

#include "copse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One key, where it lies. */
typedef struct cli_key {
    copse_type type;
    const char *start;
    size_t length;
} cli_key;

typedef struct cli_keys {
    copse_type type;
    uint64_t count;
    uint64_t capacity; /* keys that there is room for                                      */
    char *cells;       /* numbers and dates                                                */
    copse_bytes bytes; /* text: offsets of 64 bits; size is the room, used or not          */
} cli_keys;

/* An empty list, which holds no memory yet. */
void cli_keys_start(cli_keys *keys, copse_type type);
void cli_keys_free(cli_keys *keys);
/* Makes room for at least `count` keys, those of text with `bytes` bytes together. */
bool cli_keys_reserve(cli_keys *keys, uint64_t count, uint64_t bytes);
bool cli_keys_add(cli_keys *keys, cli_key key);
/* Adds the smallest or largest key that the type has; text has no largest one. */
bool cli_keys_add_limit(cli_keys *keys, bool largest);
cli_key cli_keys_at(const cli_keys *keys, uint64_t i);
uint64_t cli_keys_bytes(const cli_keys *keys); /* of all keys together */
/* Last becomes first. false: there is no memory. */
bool cli_keys_reverse(cli_keys *keys);

/* As calls of the library take them, and write them: then into what is reserved, and the count is to be set afterwards. */
const void *cli_keys_in(const cli_keys *keys);
void *cli_keys_out(cli_keys *keys);
/* The keys from number i on; room holds what describes them. NULL gives NULL. */
const void *cli_keys_from(const cli_keys *keys, uint64_t i, copse_bytes *room);

/* < 0, 0 or > 0, in the order of the index. */
int cli_key_compare(cli_key a, cli_key b);
