/* Making batches: finds the maker of the widths (batch_by_width.c). */
#include "core/batch.h"

static copse_batch_make_width *const make_width[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(copse_batch_make);

copse_status copse_batch_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                              copse_equal_keys equal, bool pairs_wanted, const char *what, copse_batch *out)
{
    *out = (copse_batch){
        .n = n, .key_type = index->key_type, .value_type = index->value_type, .keys = keys, .values = values};
    unsigned pair = copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type));
    return make_width[pair](index, equal, pairs_wanted, what, out);
}

copse_status copse_batch_make_tagged(const copse_index *index, const void *keys, const uint8_t *tags, uint64_t n,
                                     const char *what, copse_batch *out)
{
    *out = (copse_batch){.n = n, .key_type = index->key_type, .value_type = COPSE_U64, .keys = keys, .tags = tags};
    unsigned pair = copse_width_pair(copse_type_size(index->key_type), sizeof(uint64_t));
    return make_width[pair](index, COPSE_EQUAL_ALL, true, what, out);
}

void copse_batch_free(const copse_ctx *ctx, copse_batch *batch)
{
    if (batch->memory != batch->one) copse_memory_free(ctx, batch->memory, batch->bytes);
    batch->memory = NULL;
}
