/* The sort of the benchmark's model: radix sort, most significant digit first, out of place and stable.
 *
 * The first digit is counted and scattered by all threads together, each a stretch of the input; the buckets that come
 * out are then independent of each other and are sorted by one thread each, in the caches where they fit. */
#include "workload.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define TOP_BITS  11
#define STEP_BITS 8
#define FEW       24 /* pairs that are sorted by insertion */
#define ALONE     (UINT64_C(1) << 15)

typedef struct pairs {
    uint64_t *codes;
    uint64_t *positions; /* or NULL */
} pairs;

static pairs from(pairs p, uint64_t i)
{
    return (pairs){p.codes + i, p.positions ? p.positions + i : NULL};
}

static void put(pairs to, uint64_t i, pairs source, uint64_t j)
{
    to.codes[i] = source.codes[j];
    if (to.positions) to.positions[i] = source.positions[j];
}

static void sort_few(pairs p, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t code = p.codes[i];
        uint64_t position = p.positions ? p.positions[i] : 0;
        uint64_t hole = i;
        for (; hole > 0 && p.codes[hole - 1] > code; hole--) put(p, hole, p, hole - 1);
        p.codes[hole] = code;
        if (p.positions) p.positions[hole] = position;
    }
}

static void copy(pairs to, pairs source, uint64_t n)
{
    memcpy(to.codes, source.codes, n * sizeof *to.codes);
    if (to.positions) memcpy(to.positions, source.positions, n * sizeof *to.positions);
}

static unsigned digit(uint64_t code, unsigned shift, unsigned bits)
{
    return (unsigned)(code >> shift) & ((1u << bits) - 1);
}

/* Turns counts into the places of the first of each bucket; returns the number of buckets that are not empty. */
static unsigned places_from_counts(uint64_t *counts, unsigned buckets)
{
    uint64_t sum = 0;
    unsigned filled = 0;
    for (unsigned b = 0; b < buckets; b++) {
        uint64_t count = counts[b];
        filled += count > 0;
        counts[b] = sum;
        sum += count;
    }
    return filled;
}

/* Sorts n pairs by the lowest `bits` bits of their codes; the others are equal. The result is to lie in `here` or in
 * `there`, which is scratch memory until then. */
static void sort_alone(pairs here, pairs there, uint64_t n, unsigned bits, bool stay)
{
    if (n <= FEW || bits == 0) {
        if (bits > 0) sort_few(here, n);
        if (!stay) copy(there, here, n);
        return;
    }
    unsigned step = bits < STEP_BITS ? bits : STEP_BITS;
    unsigned shift = bits - step;
    uint64_t place[1u << STEP_BITS] = {0};
    for (uint64_t i = 0; i < n; i++) place[digit(here.codes[i], shift, step)]++;
    if (places_from_counts(place, 1u << step) == 1) { /* one bucket: nothing moves */
        sort_alone(here, there, n, shift, stay);
        return;
    }
    for (uint64_t i = 0; i < n; i++) put(there, place[digit(here.codes[i], shift, step)]++, here, i);
    uint64_t first = 0;
    for (unsigned b = 0; b < 1u << step; b++) {
        uint64_t end = place[b]; /* by now the end of the bucket */
        if (end > first) sort_alone(from(there, first), from(here, first), end - first, shift, !stay);
        first = end;
    }
}

static uint64_t share_begin(uint64_t count, int thread, int threads)
{
    return count / (uint64_t)threads * (uint64_t)thread;
}

static uint64_t share_end(uint64_t count, int thread, int threads)
{
    return thread + 1 == threads ? count : share_begin(count, thread + 1, threads);
}

/* counts[thread][bucket] of every thread's share. */
static void count_shares(const uint64_t *codes, uint64_t n, unsigned shift, int threads, uint64_t *counts)
{
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        uint64_t *own = counts + ((uint64_t)t << TOP_BITS);
        uint64_t end = share_end(n, t, threads);
        for (uint64_t i = share_begin(n, t, threads); i < end; i++) own[digit(codes[i], shift, TOP_BITS)]++;
    }
}

/* From counts to the place where each thread puts its first pair of each bucket: buckets in order, and in a bucket the
 * threads in order, which keeps the sort stable. begins[] are those of the buckets. */
static void place_shares(uint64_t *counts, int threads, uint64_t *begins)
{
    uint64_t sum = 0;
    for (unsigned b = 0; b < 1u << TOP_BITS; b++) {
        begins[b] = sum;
        for (int t = 0; t < threads; t++) {
            uint64_t *cell = counts + ((uint64_t)t << TOP_BITS) + b;
            uint64_t count = *cell;
            *cell = sum;
            sum += count;
        }
    }
    begins[1u << TOP_BITS] = sum;
}

static void sort_together(pairs p, pairs scratch, uint64_t n, unsigned bits, int threads, uint64_t *counts)
{
    uint64_t begins[(1u << TOP_BITS) + 1];
    unsigned shift = bits > TOP_BITS ? bits - TOP_BITS : 0;
    count_shares(p.codes, n, shift, threads, counts);
    place_shares(counts, threads, begins);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        uint64_t *place = counts + ((uint64_t)t << TOP_BITS);
        uint64_t end = share_end(n, t, threads);
        for (uint64_t i = share_begin(n, t, threads); i < end; i++) {
            put(scratch, place[digit(p.codes[i], shift, TOP_BITS)]++, p, i);
        }
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (unsigned b = 0; b < 1u << TOP_BITS; b++) {
        uint64_t first = begins[b];
        sort_alone(from(scratch, first), from(p, first), begins[b + 1] - first, shift, false);
    }
}

static bool is_sorted(const uint64_t *codes, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        if (codes[i - 1] > codes[i]) return false;
    }
    return true;
}

/* Bits from the lowest to the highest in which any two codes differ. */
static unsigned bits_that_differ(const uint64_t *codes, uint64_t count)
{
    uint64_t different = 0;
    uint64_t first = codes[0];
#pragma omp parallel for schedule(static) reduction(| : different) if (count > ALONE)
    for (uint64_t i = 0; i < count; i++) different |= codes[i] ^ first;
    unsigned bits = 0;
    while (bits < 64 && different >> bits) bits++;
    return bits;
}

void workload_sort(uint64_t *codes, uint64_t *positions, uint64_t count, uint64_t *scratch_codes,
                   uint64_t *scratch_positions)
{
    pairs p = {codes, positions};
    pairs scratch = {scratch_codes, positions ? scratch_positions : NULL};
    if (is_sorted(codes, count)) return;
    unsigned bits = bits_that_differ(codes, count);
    int threads = omp_get_max_threads();
    uint64_t *counts = NULL;
    if (count > ALONE) counts = calloc((size_t)threads << TOP_BITS, sizeof *counts);
    if (counts != NULL) {
        sort_together(p, scratch, count, bits, threads, counts);
    } else {
        sort_alone(p, scratch, count, bits, true);
    }
    free(counts);
}

/* ---- duplicates ---- */

#define STRETCH (UINT64_C(1) << 20)

/* Compacts codes[first .. end) in place; `next` is the code behind them. Returns where the kept ones end. */
static uint64_t keep_last(uint64_t *codes, uint64_t *positions, uint64_t first, uint64_t end, bool has_next,
                          uint64_t next)
{
    uint64_t kept = first;
    for (uint64_t i = first; i < end; i++) {
        bool repeated = i + 1 < end ? codes[i + 1] == codes[i] : has_next && next == codes[i];
        if (repeated) continue;
        codes[kept] = codes[i];
        positions[kept++] = positions[i];
    }
    return kept;
}

/* Every stretch on its own, then one behind the other; without duplicates nothing is moved. */
uint64_t workload_unique_last(uint64_t *codes, uint64_t *positions, uint64_t count)
{
    uint64_t stretches = (count + STRETCH - 1) / STRETCH;
    uint64_t *ends = stretches > 1 ? malloc(2 * stretches * sizeof *ends) : NULL;
    if (ends == NULL) return keep_last(codes, positions, 0, count, false, 0);
    uint64_t *firsts = ends + stretches; /* read before their stretch is compacted */
    for (uint64_t s = 0; s < stretches; s++) firsts[s] = codes[s * STRETCH];
#pragma omp parallel for schedule(static)
    for (uint64_t s = 0; s < stretches; s++) {
        bool last = s + 1 == stretches;
        uint64_t end = last ? count : (s + 1) * STRETCH;
        ends[s] = keep_last(codes, positions, s * STRETCH, end, !last, last ? 0 : firsts[s + 1]);
    }
    uint64_t kept = ends[0];
    for (uint64_t s = 1; s < stretches; s++) {
        uint64_t size = ends[s] - s * STRETCH;
        if (kept != s * STRETCH) {
            memmove(codes + kept, codes + s * STRETCH, size * sizeof *codes);
            memmove(positions + kept, positions + s * STRETCH, size * sizeof *positions);
        }
        kept += size;
    }
    free(ends);
    return kept;
}
