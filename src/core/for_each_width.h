/* Includes COPSE_TEMPLATE once per pair of key and value width. No include guard: it is meant to be used again. */
#define KEY_BITS   32
#define VALUE_BITS 32
#include COPSE_TEMPLATE
#undef VALUE_BITS
#define VALUE_BITS 64
#include COPSE_TEMPLATE
#undef KEY_BITS
#undef VALUE_BITS
#define KEY_BITS   64
#define VALUE_BITS 32
#include COPSE_TEMPLATE
#undef VALUE_BITS
#define VALUE_BITS 64
#include COPSE_TEMPLATE
#undef KEY_BITS
#undef VALUE_BITS
#undef COPSE_TEMPLATE
