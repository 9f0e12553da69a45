/* Byte strings for tests: a pool of distinct strings in order, whose numbers are their codes, and arrays of them as copse_bytes.
 * Nothing here calls the library. */
#ifndef TESTS_BYTE_POOL_H
#define TESTS_BYTE_POOL_H

#include "typed.h"

struct byte_string {
    unsigned char *bytes;
    size_t n;
};

struct byte_pool {
    struct byte_string *strings;
    uint64_t n;
};

/* Byte for byte, the shorter one first. */
int byte_string_compare(struct byte_string a, struct byte_string b);
/* Adds a copy; codes hold only after byte_pool_sort, which leaves each string once. */
void byte_pool_add(struct byte_pool *pool, const void *bytes, size_t n);
void byte_pool_sort(struct byte_pool *pool);
void byte_pool_free(struct byte_pool *pool);

/* Strings in memory that is not one byte larger than it has to be. */
struct byte_array {
    copse_bytes bytes;
    uint64_t n;
};

/* The strings of n codes; the first offset is `lead`, and `tail` bytes follow the last string. */
struct byte_array byte_array_of(const struct byte_pool *pool, const uint64_t *codes, uint64_t n, uint32_t offset_bits,
                                size_t lead, size_t tail);
/* Room for n strings of `size` bytes in all. */
struct byte_array byte_array_room(uint64_t n, uint64_t size, uint32_t offset_bits);
void byte_array_free(struct byte_array *array);

int64_t byte_array_offset(const copse_bytes *bytes, uint64_t i);
void byte_array_set_offset(copse_bytes *bytes, uint64_t i, int64_t offset);
/* String i, not copied. */
struct byte_string byte_array_at(const copse_bytes *bytes, uint64_t i);

#endif
