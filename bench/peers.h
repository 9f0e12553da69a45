/*
 * Other ordered containers, measured beside copse in the same run: one table of functions per container and width.
 *
 * Keys and values are unsigned integers of 4 or 8 bytes. Every function does the container's best for a batch: bulk
 * construction from sorted pairs instead of single inserts, merging instead of shifting in the sorted array. Reads may
 * be called from several threads at once; everything else is for one thread, as the containers are.
 *
 * A peer may lack functions: then they are NULL, and it does not take part in what needs them. Peers on a GPU work on
 * device memory; only build and copy take host memory as well. Their calls are complete when they return.
 */
#ifndef COPSE_BENCH_PEERS_H
#define COPSE_BENCH_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_peer {
    const char *name;
    bool counts_by_rank; /* a count is a subtraction, not a scan     */
    bool on_device;
    bool builds_for_reads; /* its build is no contest: it takes sorted pairs as they are */
    void *(*create)(void);
    void (*destroy)(void *store);

    /* These say false when memory ran out. Of equal keys the last one wins. `sorted` promises distinct sorted keys. */
    bool (*build)(void *store, const void *keys, const void *values, uint64_t n, bool sorted);
    bool (*insert)(void *store, const void *keys, const void *values, uint64_t n, uint64_t *out_inserted);
    uint64_t (*erase)(void *store, const void *keys, uint64_t n);

    /* Outputs as in copse.h: 0 where nothing was found; out_values may be NULL. */
    void (*find)(const void *store, const void *keys, uint64_t n, void *out_values, uint8_t *out_found);
    void (*lower_bound)(const void *store, const void *keys, uint64_t n, void *out_keys, void *out_values,
                        uint8_t *out_found);
    void (*successor)(const void *store, const void *keys, uint64_t n, void *out_keys, void *out_values,
                      uint8_t *out_found);
    void (*predecessor)(const void *store, const void *keys, uint64_t n, void *out_keys, void *out_values,
                        uint8_t *out_found);
    /* Writes all entries of the ranges one behind the other from place `start` on; out_ends[i] is where range i ends. */
    void (*range)(const void *store, const void *lows, const void *highs, uint64_t n, uint64_t start,
                  uint64_t *out_ends, void *out_keys, void *out_values);
    void (*count)(const void *store, const void *lows, const void *highs, uint64_t n, uint64_t *out_counts);
    void (*sum)(const void *store, const void *lows, const void *highs, uint64_t n, uint64_t *out_sums);
    /* Folds all entries: exclusive or of the keys, sum of the values. */
    void (*visit)(const void *store, uint64_t *out_keys, uint64_t *out_values);
    void (*copy)(const void *store, void *out_keys, void *out_values);
    uint64_t (*size)(const void *store);
    uint64_t (*bytes)(const void *store);
    /* A pass over all values, BENCH_PASS_*, on so many threads: their sum modulo 2^64 comes back, or each changes. */
    void (*pass)(void *store, unsigned what, unsigned threads, uint64_t *out_sum);
} bench_peer;

#define BENCH_PASS_SUM      0u
#define BENCH_PASS_ADD      1u /* 1 to each value */
#define BENCH_PASS_SUBTRACT 2u

/* NULL for widths other than 4 and 8. The last four exist where the library was there at build time. */
const bench_peer *bench_peer_array(unsigned key_bytes, unsigned value_bytes);
const bench_peer *bench_peer_std_map(unsigned key_bytes, unsigned value_bytes);
const bench_peer *bench_peer_sorted_array(unsigned key_bytes, unsigned value_bytes);
const bench_peer *bench_peer_absl(unsigned key_bytes, unsigned value_bytes);
const bench_peer *bench_peer_stx(unsigned key_bytes, unsigned value_bytes);
const bench_peer *bench_peer_thrust(unsigned key_bytes, unsigned value_bytes);
const bench_peer *bench_peer_cub_sort(unsigned key_bytes, unsigned value_bytes);

#ifdef __cplusplus
}
#endif
#endif /* COPSE_BENCH_PEERS_H */
