/*
 * Workloads for benchmarks: random numbers, key distributions, values whose sums are exact, and a sort.
 *
 * Everything here is a function of a seed, so that two runs, or two programs, see the same bytes, whatever the number of
 * threads that make them.
 *
 * Keys are made as codes: unsigned integers from 0 to workload_code_max(type) that sort as the keys do. Every code of a
 * type is a different key and none is NaN, so a model of the index may be kept in codes.
 */
#ifndef COPSE_BENCH_WORKLOAD_H
#define COPSE_BENCH_WORKLOAD_H

#include "copse.h"
#include "core/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- all threads: workload_threads.c ---- */

/* What one thread takes of a loop over single items. */
#define WORKLOAD_PIECE (UINT64_C(1) << 16)

/* Threads that make and check data: one for each processor that the process may use, or what a test sets; 0: as before. */
uint32_t workload_threads(void);
void workload_threads_limit(uint32_t threads);

/* Runs body for each chunk of 0 .. n - 1 on all threads. */
void workload_parallel(uint64_t n, uint64_t chunk, copse_chunk_fn body, void *job);
/* The same on up to so many. */
void workload_parallel_on(uint32_t threads, uint64_t n, uint64_t chunk, copse_chunk_fn body, void *job);
/* The sum of what `count` returns for each piece of 0 .. n - 1. */
typedef uint64_t (*workload_count_fn)(const void *job, uint64_t first, uint64_t last);
uint64_t workload_count(uint64_t n, workload_count_fn count, const void *job);

/* ---- random numbers ---- */

typedef struct workload_random {
    uint64_t state[4];
} workload_random;

void workload_random_init(workload_random *random, uint64_t seed);
uint64_t workload_random_next(workload_random *random);
/* 0 .. bound - 1; bound 0 means 2^64. */
uint64_t workload_random_below(workload_random *random, uint64_t bound);
/* In [0, 1). */
double workload_random_unit(workload_random *random);
/* A well mixed function of one number. */
uint64_t workload_hash(uint64_t number);

/* A random order of 0 .. n - 1 that needs no table: position i goes to workload_permute(order, i). */
typedef struct workload_permutation {
    uint64_t n;
    uint64_t mask;
    uint64_t multiplier[2];
    uint64_t offset;
    unsigned shift;
} workload_permutation;

void workload_permutation_init(workload_permutation *order, uint64_t n, uint64_t seed);
uint64_t workload_permute(const workload_permutation *order, uint64_t i);

/* ---- key distributions ---- */

typedef enum workload_dist {
    WORKLOAD_UNIFORM = 0,   /* the whole key space                                                                */
    WORKLOAD_NORMAL,        /* mean 1/2, variance 1/8 of the key space                                            */
    WORKLOAD_GAMMA,         /* shape 3: dense low, a long tail                                                    */
    WORKLOAD_ZIPF,          /* exponent 1 over the whole key space: small keys repeat                             */
    WORKLOAD_ASCENDING,     /* 0, 1, 2, ...                                                                       */
    WORKLOAD_DESCENDING,    /* from the middle of the key space downwards                                         */
    WORKLOAD_ALMOST_SORTED, /* ascending with 5 random exchanges                                                  */
    WORKLOAD_SHUFFLED,      /* 0 .. n - 1 in random order                                                         */
    WORKLOAD_GAUSSIAN,      /* whole numbers around one mean, deviation 4 n: dense, with repeats                  */
    WORKLOAD_TIMESTAMPS,    /* arrival times in bursts, with repeats                                              */
    WORKLOAD_CELLS,         /* cell ids of a space-filling curve: clusters in clusters                            */
    WORKLOAD_IDS,           /* evenly spread ids with jitter, and a few far outliers                              */
    WORKLOAD_POPULARITY,    /* heavy tail (Pareto, exponent 1.2)                                                  */
    WORKLOAD_PARTLY_SORTED, /* ascending with n / 20 exchanges: one key in ten is far from its place              */
    WORKLOAD_DIST_COUNT
} workload_dist;

/* NULL for an unknown number. */
const char *workload_dist_name(workload_dist dist);
bool workload_dist_parse(const char *name, workload_dist *out_dist);

/* An endless sequence of keys of one distribution. What comes after the first n are the keys that would arrive next. */
typedef struct workload_stream {
    workload_dist dist;
    copse_type type;
    uint64_t n;   /* the size that the caller has in mind: scale of the dense distributions                         */
    uint64_t max; /* largest code of the type                                                                       */
    uint64_t
        origin;     /* code of the key 0                                                                              */
    uint64_t next;  /* keys made so far                                                                               */
    uint64_t clock; /* last timestamp                                                                                 */
    uint64_t burst; /* keys left in the present burst                                                                 */
    workload_random random;
    workload_permutation order;
} workload_stream;

void workload_stream_init(workload_stream *stream, workload_dist dist, copse_type type, uint64_t n, uint64_t seed);
void workload_stream_codes(workload_stream *stream, uint64_t *out_codes, uint64_t count);

/* A position 0 .. n - 1 of a skewed choice: log-uniform rank (Zipf, exponent 1), normal, gamma. */
uint64_t workload_pick(workload_random *random, workload_dist dist, uint64_t n);

/* ---- patterns of new keys: workload_patterns.c ---- */

/* Where keys come that are inserted into an index. */
typedef enum workload_pattern {
    WORKLOAD_APPEND = 0,      /* behind all others, in order                                    */
    WORKLOAD_APPEND_SHUFFLED, /* ... in any order within a batch                                */
    WORKLOAD_APPEND_LATE,     /* ... but one in 20 is late, by up to 2^16 keys that came since  */
    WORKLOAD_PREPEND,         /* in front of all others, falling                                */
    WORKLOAD_POINTS,          /* behind so many entries all over the index, as tenants append   */
    WORKLOAD_GAP,             /* all between the two neighbours that are farthest apart         */
    WORKLOAD_HOT,             /* all among one hundredth of the entries                         */
    WORKLOAD_PATTERN_COUNT
} workload_pattern;

/* NULL for an unknown number. */
const char *workload_pattern_name(workload_pattern pattern);

/* A pattern beside the keys of an index. */
typedef struct workload_place {
    workload_pattern pattern;
    const uint64_t *codes; /* sorted and distinct       */
    uint64_t entries;      /* of them                   */
    uint64_t max;          /* the largest code          */
    uint64_t points;       /* POINTS: how many          */
    uint64_t batch;        /* keys of one call; 0: all  */
    uint64_t seed;
} workload_place;

/* The next `count` codes. Some may be there already or come twice, where the pattern has little room. False: it has none. */
bool workload_pattern_codes(const workload_place *place, uint64_t *out, uint64_t count);

/* ---- codes and keys ---- */

uint64_t workload_code_max(copse_type type);
void workload_keys_from_codes(copse_type type, const uint64_t *codes, uint64_t count, void *out_keys);
void workload_codes_from_keys(copse_type type, const void *keys, uint64_t count, uint64_t *out_codes);

/* ---- values ---- */

/* Small enough that the sum of 2^30 of them fits 64 bits, and, for floats, is exact in a double in any order. */
void workload_values(copse_type type, uint64_t seed, const uint64_t *positions, uint64_t count, void *out_values);
/* value * workload_value_scale(type) as a whole number. */
int64_t workload_value_scaled(copse_type type, const void *values, uint64_t i);
int64_t workload_value_scale(copse_type type);

/* ---- sorting: workload_sort.c ---- */

/* Sorts codes and carries positions along; equal codes keep their order. Scratch arrays of the same length. Both
 * arrays of positions may be NULL. Uses all threads where the array is long. */
void workload_sort(uint64_t *codes, uint64_t *positions, uint64_t count, uint64_t *scratch_codes,
                   uint64_t *scratch_positions);

/* Of equal neighbours in sorted codes keeps the last. Returns how many are left. */
uint64_t workload_unique_last(uint64_t *codes, uint64_t *positions, uint64_t count);

#endif /* COPSE_BENCH_WORKLOAD_H */
