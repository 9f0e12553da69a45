/*
 * The leaf unit, one cache line that holds keys and their values together, so that a lookup touches memory once
 * for both.
 *
 *   u64/u64   | k0 | k1 | k2 | k3 | v0 | v1 | v2 | v3 |                  4 entries
 *   u32/u32   |k0..k7 (32 bytes)  |v0..v7 (32 bytes)  |                  8 entries
 *   u64/u32   | k0 | k1 | k2 | k3 | k4 |v0v1v2v3v4| 4 bytes unused |     5 entries
 *   u32/u64   |k0k1k2k3k4| 4 unused | v0 | v1 | v2 | v3 | v4 |           5 entries
 *
 * Free entries hold KEY_MAX as key. KEY_MAX is an ordinary key all the same: whether an entry is used follows from the
 * number of entries, never from its key.
 */
#pragma once

#include "core/widths.h"

#define UNIT_ENTRIES (64u / (KEY_BITS / 8u + VALUE_BITS / 8u))

typedef struct copse_unit {
    _Alignas(64) KEY keys[UNIT_ENTRIES];
    VALUE values[UNIT_ENTRIES];
} copse_unit;

_Static_assert(sizeof(copse_unit) == 64, "a unit is one cache line");
