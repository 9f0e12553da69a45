/* Digits of a number, up to eight at once: cells are short, and a loop over them guesses their length wrong too often. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COPSE_EIGHT_BYTES UINT64_C(0x0101010101010101) /* times a byte: eight of them */

/* Bytes 0 .. n - 1, the first one lowest, with zeros above; n is 1 to 8. Reads nothing behind them. */
static inline uint64_t copse_short_word(const char *at, size_t n)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n >= 4) { /* two halves, which may overlap */
        uint32_t low, high;
        memcpy(&low, at, sizeof low);
        memcpy(&high, at + n - sizeof high, sizeof high);
        return low | (uint64_t)high << (8 * (n - sizeof high));
    }
    return (uint64_t)(unsigned char)at[0] | (uint64_t)(unsigned char)at[n / 2] << (8 * (n / 2)) |
           (uint64_t)(unsigned char)at[n - 1] << (8 * (n - 1));
#else
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return word;
#endif
}

/* The number that n digits are; n is 1 to 8. false: one of them is no digit. */
static inline bool copse_digits(const char *at, size_t n, uint64_t *out)
{
    const unsigned shift =
        8 * (8 - (unsigned)n); /* the last digit goes to the highest byte, zeros come before the first */
    const uint64_t zeros = COPSE_EIGHT_BYTES * '0' << shift, pairs = UINT64_C(0x000000FF000000FF);
    uint64_t digits = (copse_short_word(at, n) << shift) ^ zeros;
    if (((digits + COPSE_EIGHT_BYTES * 0x76) | digits) & COPSE_EIGHT_BYTES * 0x80) return false; /* more than 9 */
    digits = digits * 10 + (digits >> 8);                                                        /* pairs of digits */
    *out = (((digits & pairs) * (100 + (UINT64_C(1000000) << 32))) +
            (((digits >> 16) & pairs) * (1 + (UINT64_C(10000) << 32)))) >>
           32;
    return true;
}

/* The first byte of that kind in `word`, 8: there is none. */
static inline unsigned copse_find_byte(uint64_t word, char byte)
{
    const uint64_t same = word ^ COPSE_EIGHT_BYTES * (unsigned char)byte;
    const uint64_t found = (same - COPSE_EIGHT_BYTES) & ~same & COPSE_EIGHT_BYTES * 0x80;
    return found ? (unsigned)__builtin_ctzll(found) / 8 : 8;
}
