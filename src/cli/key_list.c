/* Keys of any type, one after the other. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_KEYS  ((uint64_t)4096)
#define FIRST_BYTES ((uint64_t)65536)

void cli_keys_start(cli_keys *keys, copse_type type)
{
    const copse_bytes none = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    *keys = (cli_keys){.type = type, .bytes = none};
}

void cli_keys_free(cli_keys *keys)
{
    free(keys->cells);
    free(keys->bytes.data);
    free(keys->bytes.offsets);
    cli_keys_start(keys, keys->type);
}

/* ---- room ---- */

static uint64_t grown(uint64_t capacity, uint64_t first, uint64_t needed)
{
    if (capacity < first) capacity = first;
    while (capacity < needed) capacity *= 2;
    return capacity;
}

static bool resize(void **array, uint64_t count, size_t size)
{
    if (count > SIZE_MAX / size) return false;
    void *larger = realloc(*array, (size_t)count * size);
    if (larger) *array = larger;
    return larger != NULL;
}

static bool reserve_text(cli_keys *keys, uint64_t count, uint64_t bytes)
{
    if (bytes > keys->bytes.size || !keys->bytes.data) {
        uint64_t size = grown(keys->bytes.size, FIRST_BYTES, bytes);
        if (!resize(&keys->bytes.data, size, 1)) return false;
        keys->bytes.size = size;
    }
    if (count <= keys->capacity && keys->bytes.offsets) return true;
    uint64_t capacity = grown(keys->capacity, FIRST_KEYS, count);
    bool first = !keys->bytes.offsets;
    if (!resize(&keys->bytes.offsets, capacity + 1, sizeof(int64_t))) return false;
    if (first) *(int64_t *)keys->bytes.offsets = 0;
    keys->capacity = capacity;
    return true;
}

bool cli_keys_reserve(cli_keys *keys, uint64_t count, uint64_t bytes)
{
    if (count > UINT64_MAX / 4 || bytes > UINT64_MAX / 4) return false;
    if (keys->type == COPSE_BYTES) return reserve_text(keys, count, bytes);
    if (count <= keys->capacity && keys->cells) return true;
    uint64_t capacity = grown(keys->capacity, FIRST_KEYS, count);
    void *cells = keys->cells;
    if (!resize(&cells, capacity, copse_type_size(keys->type))) return false;
    keys->cells = cells;
    keys->capacity = capacity;
    return true;
}

/* ---- one key ---- */

static const int64_t *offsets(const cli_keys *keys)
{
    return keys->bytes.offsets;
}

uint64_t cli_keys_bytes(const cli_keys *keys)
{
    if (keys->type != COPSE_BYTES) return keys->count * copse_type_size(keys->type);
    return keys->bytes.offsets ? (uint64_t)offsets(keys)[keys->count] : 0;
}

static char *end(const cli_keys *keys)
{
    return (keys->type == COPSE_BYTES ? (char *)keys->bytes.data : keys->cells) + cli_keys_bytes(keys);
}

static void push(cli_keys *keys, size_t length)
{
    keys->count++;
    if (keys->type == COPSE_BYTES)
        ((int64_t *)keys->bytes.offsets)[keys->count] = offsets(keys)[keys->count - 1] + (int64_t)length;
}

bool cli_keys_add(cli_keys *keys, cli_key key)
{
    if (!cli_keys_reserve(keys, keys->count + 1, cli_keys_bytes(keys) + key.length)) return false;
    if (key.length > 0) memcpy(end(keys), key.start, key.length);
    push(keys, key.length);
    return true;
}

bool cli_keys_add_limit(cli_keys *keys, bool largest)
{
    if (!cli_keys_reserve(keys, keys->count + 1, cli_keys_bytes(keys))) return false;
    if (largest)
        copse_cell_largest(keys->type, end(keys));
    else
        copse_cell_smallest(keys->type, end(keys));
    push(keys, 0);
    return true;
}

/* form NULL: a key that ends a range. */
static copse_cell_error parse(cli_keys *keys, const copse_cell_form *form, const char *text, size_t length)
{
    if (!cli_keys_reserve(keys, keys->count + 1, cli_keys_bytes(keys) + length)) return COPSE_CELL_MEMORY;
    copse_cell_error error = form ? copse_cell_parse_as(form, keys->type, text, length, end(keys))
                                  : copse_cell_parse_end(keys->type, text, length, end(keys));
    if (error != COPSE_CELL_OK && error != COPSE_CELL_FINE) return error;
    if (keys->type == COPSE_BYTES && length > 0) memcpy(end(keys), text, length);
    push(keys, length);
    return error;
}

copse_cell_error cli_keys_parse(cli_keys *keys, const copse_cell_form *form, const char *text, size_t length)
{
    return parse(keys, form, text, length);
}

copse_cell_error cli_keys_parse_end(cli_keys *keys, const char *text, size_t length)
{
    return parse(keys, NULL, text, length);
}

cli_key cli_keys_at(const cli_keys *keys, uint64_t i)
{
    const size_t size = copse_type_size(keys->type);
    if (keys->type != COPSE_BYTES) return (cli_key){keys->type, keys->cells + i * size, size};
    const int64_t from = offsets(keys)[i], to = offsets(keys)[i + 1];
    return (cli_key){keys->type, (const char *)keys->bytes.data + from, (size_t)(to - from)};
}

/* ---- all of them ---- */

bool cli_keys_reverse(cli_keys *keys)
{
    cli_keys other;
    cli_keys_start(&other, keys->type);
    const bool room = cli_keys_reserve(&other, keys->count, cli_keys_bytes(keys));
    for (uint64_t i = keys->count; room && i > 0; i--) cli_keys_add(&other, cli_keys_at(keys, i - 1));
    cli_keys_free(room ? keys : &other);
    if (room) *keys = other;
    return room;
}

const void *cli_keys_in(const cli_keys *keys)
{
    return keys->type == COPSE_BYTES ? (const void *)&keys->bytes : keys->cells;
}

void *cli_keys_out(cli_keys *keys)
{
    return keys->type == COPSE_BYTES ? (void *)&keys->bytes : keys->cells;
}

const void *cli_keys_from(const cli_keys *keys, uint64_t i, copse_bytes *room)
{
    if (!keys) return NULL;
    if (keys->type != COPSE_BYTES) return keys->cells + i * copse_type_size(keys->type);
    *room = keys->bytes;
    room->offsets = (int64_t *)keys->bytes.offsets + i;
    return room;
}

/* ---- order ---- */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

typedef union number {
    uint32_t u32;
    int32_t i32;
    float f32;
    uint64_t u64;
    int64_t i64;
    double f64;
} number;

static int compare_text(cli_key a, cli_key b)
{
    int order = memcmp(a.start, b.start, a.length < b.length ? a.length : b.length);
    return order ? order : ORDER(a.length, b.length);
}

int cli_key_compare(cli_key a, cli_key b)
{
    number x = {0}, y = {0};
    if (a.type == COPSE_BYTES) return compare_text(a, b);
    memcpy(&x, a.start, a.length);
    memcpy(&y, b.start, b.length);
    switch (a.type) {
    case COPSE_U32:
        return ORDER(x.u32, y.u32);
    case COPSE_U64:
        return ORDER(x.u64, y.u64);
    case COPSE_F32:
        return ORDER(x.f32, y.f32);
    case COPSE_F64:
        return ORDER(x.f64, y.f64);
    case COPSE_I32:
    case COPSE_DATE:
        return ORDER(x.i32, y.i32);
    default:
        return ORDER(x.i64, y.i64);
    }
}
