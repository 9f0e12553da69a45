/* Making batches: one look at the caller's array, then the radix sort where it is not in order. */
#include "core/batch.h"

#include <omp.h>

/* What one look at the caller's keys finds out. */
typedef struct key_survey {
    uint64_t first_nan; /* n: none */
    uint64_t smallest;  /* encoded */
    uint64_t largest;
    bool ascending; /* no key smaller than the one before */
    bool strictly;  /* and none equal to it               */
} key_survey;

#define COPSE_TEMPLATE "core/sort.inc.h"
#include "core/for_each_width.h"
#define COPSE_TEMPLATE "core/batch.inc.h"
#include "core/for_each_width.h"

typedef copse_status (*batch_make_fn)(const copse_index *, copse_equal_keys, bool, const char *, copse_batch *);

static const batch_make_fn batch_make[COPSE_WIDTH_PAIRS] = {batch_make_k32v32, batch_make_k32v64, batch_make_k64v32,
                                                            batch_make_k64v64};

copse_status copse_batch_make(const copse_index *index, const void *keys, const void *values, uint64_t n,
                              copse_equal_keys equal, bool pairs_wanted, const char *what, copse_batch *out)
{
    *out = (copse_batch){
        .n = n, .key_type = index->key_type, .value_type = index->value_type, .keys = keys, .values = values};
    unsigned pair = copse_width_pair(copse_type_size(index->key_type), copse_type_size(index->value_type));
    return batch_make[pair](index, equal, pairs_wanted, what, out);
}

copse_status copse_batch_make_tagged(const copse_index *index, const void *keys, const uint8_t *tags, uint64_t n,
                                     const char *what, copse_batch *out)
{
    *out = (copse_batch){.n = n, .key_type = index->key_type, .value_type = COPSE_U64, .keys = keys, .tags = tags};
    unsigned pair = copse_width_pair(copse_type_size(index->key_type), sizeof(uint64_t));
    return batch_make[pair](index, COPSE_EQUAL_ALL, true, what, out);
}

void copse_batch_free(const copse_ctx *ctx, copse_batch *batch)
{
    copse_memory_free(ctx, batch->memory, batch->bytes);
    batch->memory = NULL;
}
