/* The model: a sorted array of entries, the plainest ordered index there is. Every answer of copse is compared with its
 * answer, so it is written to be obviously right, not to be fast. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include "typed.h"

struct model_entry {
    uint64_t key;   /* code of the key (see typed.h)                          */
    uint64_t value; /* raw bits of the value                                  */
    uint64_t order; /* when it came, among equal keys: scratch of an insert   */
};

struct model {
    copse_type key_type;
    copse_type value_type;
    bool duplicates;
    struct model_entry *entries; /* by key; equal keys in the order of insertion */
    uint64_t n;
};

/* Entries first .. last - 1. */
struct model_span {
    uint64_t first;
    uint64_t last;
};

void model_init(struct model *model, copse_type key_type, copse_type value_type, bool duplicates);
void model_free(struct model *model);
void model_copy(struct model *to, const struct model *from);

/* The updates, with the arguments of the library's; the result is the change in the number of entries. */
void model_build(struct model *model, const void *keys, const void *values, uint64_t n);
uint64_t model_insert(struct model *model, const void *keys, const void *values, uint64_t n, uint32_t flags);
uint64_t model_erase(struct model *model, const void *keys, uint64_t n);
/* The entries of all spans, which may overlap. */
uint64_t model_erase_spans(struct model *model, const struct model_span *spans, uint64_t n);
/* Each pair takes the first entry that it equals, as copse_erase_pairs. values NULL: all 0, as in a set. */
uint64_t model_erase_pairs(struct model *model, const void *keys, const void *values, uint64_t n);
/* One operation after the other, as copse_apply. out_values are raw bits. */
void model_apply(struct model *model, const uint8_t *codes, const void *keys, const void *values, uint64_t n,
                 uint64_t *out_values, uint8_t *out_found);

/* Entries with a smaller key, and with a key that is not larger. All point and range queries follow from these two:
 * lower bound, successor and predecessor are entries rank, rank_after and rank - 1, where there is such an entry. */
uint64_t model_rank(const struct model *model, uint64_t code);
uint64_t model_rank_after(const struct model *model, uint64_t code);
bool model_find(const struct model *model, uint64_t code, uint64_t *out_value);
/* Entries with low <= key <= high, the first `limit` of them (0: all). */
struct model_span model_range(const struct model *model, uint64_t low, uint64_t high, uint64_t limit);

/* Aggregates of a span. The float sum also gives the sum of the finite absolute values, which bounds its
 * rounding error. */
test_int128 model_sum_integer(const struct model *model, struct model_span span);
long double model_sum_real(const struct model *model, struct model_span span, long double *out_magnitude);
/* Smallest (or largest) value, NaN passed over; false where there is none. */
bool model_extreme(const struct model *model, struct model_span span, bool largest, uint64_t *out_bits);

#endif
