/* Byte strings for tests. */
#include "byte_pool.h"

#include <stdlib.h>
#include <string.h>

int byte_string_compare(struct byte_string a, struct byte_string b)
{
    size_t i = 0;
    while (i < a.n && i < b.n && a.bytes[i] == b.bytes[i]) i++;
    if (i < a.n && i < b.n) return a.bytes[i] < b.bytes[i] ? -1 : 1;
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

void byte_pool_add(struct byte_pool *pool, const void *bytes, size_t n)
{
    struct byte_string *more = pool->strings;
    if ((pool->n & (pool->n - 1)) == 0) { /* full at each power of two */
        more = must_malloc((size_t)(pool->n ? 2 * pool->n : 1) * sizeof *more);
        if (pool->n) memcpy(more, pool->strings, (size_t)pool->n * sizeof *more);
        free(pool->strings);
        pool->strings = more;
    }
    more[pool->n].bytes = must_malloc(n ? n : 1);
    more[pool->n].n = n;
    if (n) memcpy(more[pool->n].bytes, bytes, n);
    pool->n++;
}

static int compare(const void *a, const void *b)
{
    return byte_string_compare(*(const struct byte_string *)a, *(const struct byte_string *)b);
}

void byte_pool_sort(struct byte_pool *pool)
{
    uint64_t kept = 0;
    if (pool->n) qsort(pool->strings, pool->n, sizeof *pool->strings, compare);
    for (uint64_t i = 0; i < pool->n; i++) {
        if (kept && byte_string_compare(pool->strings[kept - 1], pool->strings[i]) == 0)
            free(pool->strings[i].bytes);
        else
            pool->strings[kept++] = pool->strings[i];
    }
    pool->n = kept;
}

void byte_pool_free(struct byte_pool *pool)
{
    for (uint64_t i = 0; i < pool->n; i++) free(pool->strings[i].bytes);
    free(pool->strings);
    pool->strings = NULL;
    pool->n = 0;
}

int64_t byte_array_offset(const copse_bytes *bytes, uint64_t i)
{
    return bytes->offset_bits == 32 ? ((const int32_t *)bytes->offsets)[i] : ((const int64_t *)bytes->offsets)[i];
}

void byte_array_set_offset(copse_bytes *bytes, uint64_t i, int64_t offset)
{
    if (bytes->offset_bits == 32)
        ((int32_t *)bytes->offsets)[i] = (int32_t)offset;
    else
        ((int64_t *)bytes->offsets)[i] = offset;
}

struct byte_string byte_array_at(const copse_bytes *bytes, uint64_t i)
{
    int64_t start = byte_array_offset(bytes, i), end = byte_array_offset(bytes, i + 1);
    struct byte_string string = {start == end ? NULL : (unsigned char *)bytes->data + start, (size_t)(end - start)};
    return string;
}

struct byte_array byte_array_room(uint64_t n, uint64_t size, uint32_t offset_bits)
{
    size_t offset_size = (size_t)(n + 1) * (offset_bits / 8);
    void *data = must_malloc((size_t)size), *offsets = must_malloc(offset_size);
    struct byte_array array = {COPSE_BYTES_INIT(data, size, offsets, offset_bits), n};
    memset(offsets, 0x5a, offset_size);
    return array;
}

struct byte_array byte_array_of(const struct byte_pool *pool, const uint64_t *codes, uint64_t n, uint32_t offset_bits,
                                size_t lead, size_t tail)
{
    uint64_t size = lead + tail, at = lead;
    for (uint64_t i = 0; i < n; i++) size += pool->strings[codes[i]].n;
    struct byte_array array = byte_array_room(n, size, offset_bits);
    unsigned char *data = array.bytes.data;
    memset(data, 0xa5, (size_t)size);
    for (uint64_t i = 0; i < n; i++) {
        const struct byte_string string = pool->strings[codes[i]];
        byte_array_set_offset(&array.bytes, i, (int64_t)at);
        memcpy(data + at, string.bytes, string.n);
        at += string.n;
    }
    byte_array_set_offset(&array.bytes, n, (int64_t)at);
    return array;
}

void byte_array_free(struct byte_array *array)
{
    free(array->bytes.data);
    free(array->bytes.offsets);
}
