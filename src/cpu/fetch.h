/*
 * Functions that do nothing but ask for lines of memory. The compiler takes such a function for one without effect, and drops calls of
 * it that it has not inlined before it looks: so all of them are always inlined. scripts/lint looks for others.
 */
#pragma once

#define COPSE_FETCH static inline __attribute__((always_inline))
