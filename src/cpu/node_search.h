/*
 * The node search of the instruction set that this object is for: count_less_u32 and count_less_u64. A source that is
 * compiled for another than plain C says so before it includes anything.
 */
#pragma once

#if defined(NODE_SEARCH_AVX512)
#include "cpu/node_search_avx512.h"
#elif defined(NODE_SEARCH_AVX2)
#include "cpu/node_search_avx2.h"
#else
#include "cpu/node_search_scalar.h"
#endif
