/* Arrays of keys and values on their way into an index. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PAIRS ((uint64_t)65536)

bool cli_pairs_reserve(cli_pairs *pairs, uint64_t count)
{
    uint64_t capacity = pairs->capacity ? pairs->capacity : FIRST_PAIRS;
    if (count <= pairs->capacity || pairs->value_type == COPSE_NONE) return true;
    while (capacity < count) capacity *= 2;
    void *values = realloc(pairs->values, (size_t)capacity * copse_type_size(pairs->value_type));
    if (!values) return false;
    pairs->values = values;
    pairs->capacity = capacity;
    return true;
}

void cli_pairs_free(cli_pairs *pairs)
{
    uint64_t count = pairs->keys.count;
    cli_keys_free(&pairs->keys);
    free(pairs->values);
    pairs->values = NULL;
    pairs->keys.count = count; /* reports come later */
}

static void reverse(void *array, uint64_t count, size_t size)
{
    char *low = array, *high = low + count * size, held[COPSE_CELL_SIZE];
    for (uint64_t i = 0; i < count / 2; i++) {
        high -= size;
        memcpy(held, low, size);
        memcpy(low, high, size);
        memcpy(high, held, size);
        low += size;
    }
}

bool cli_pairs_reverse(cli_pairs *pairs)
{
    if (pairs->keys.count == 0) return true;
    if (!cli_keys_reverse(&pairs->keys)) return false;
    if (pairs->values) reverse(pairs->values, pairs->keys.count, copse_type_size(pairs->value_type));
    return true;
}

bool cli_pairs_number(copse_type type, uint64_t number, void *out)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    uint64_t wide = number;
    if (type != COPSE_U64) return copse_cell_parse(type, text, (size_t)length, out) == COPSE_CELL_OK;
    memcpy(out, &wide, sizeof wide);
    return true;
}
