/* The plain sorted array that the demo checks every index against: simple enough to be right by looking at it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct demo_model {
    uint64_t *keys;
    uint64_t *values;
    uint64_t *sums; /* sums[i]: values before position i; NULL until asked for */
    uint64_t count;
} demo_model;

/* All of these return false when memory runs out. Of equal keys the last one counts. */
bool demo_model_build(demo_model *model, const uint64_t *keys, const uint64_t *values, uint64_t n);
bool demo_model_upsert(demo_model *model, const uint64_t *keys, const uint64_t *values, uint64_t n,
                       uint64_t *out_inserted);
bool demo_model_erase(demo_model *model, const uint64_t *keys, uint64_t n, uint64_t *out_erased);
bool demo_model_prepare_sums(demo_model *model);
void demo_model_free(demo_model *model);

/* Entries with a key below `key`. */
uint64_t demo_model_rank(const demo_model *model, uint64_t key);
bool demo_model_find(const demo_model *model, uint64_t key, uint64_t *out_value);
uint64_t demo_model_count(const demo_model *model, uint64_t low, uint64_t high);
uint64_t demo_model_sum(const demo_model *model, uint64_t low, uint64_t high);
