/* Node search in plain C. Each function counts the keys of a node that are less than q; all 64 bytes are compared, so
 * there is no branch to mispredict. */
#pragma once

#include <stdint.h>

/* Keys before position `keys` of a line that are less than q. */
static inline uint32_t count_less_u32(const void *line, uint32_t q, uint32_t keys)
{
    const uint32_t *key = line;
    uint32_t count = 0;
#pragma GCC unroll 16
    for (uint32_t i = 0; i < keys; i++) count += key[i] < q;
    return count;
}

static inline uint32_t count_less_u64(const void *line, uint64_t q, uint32_t keys)
{
    const uint64_t *key = line;
    uint32_t count = 0;
#pragma GCC unroll 16
    for (uint32_t i = 0; i < keys; i++) count += key[i] < q;
    return count;
}
