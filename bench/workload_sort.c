/* The sort of the benchmark's model: radix sort, most significant digit first, out of place and stable.
 *
 * The first digit is counted and scattered by all threads together, each a stretch of the input; the buckets that come
 * out are then independent of each other and are sorted by one thread each, in the caches where they fit. */
#include "workload.h"

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

/* One sort at work. */
typedef struct sorting {
    pairs p, scratch;
    uint64_t n;
    unsigned shift;
    int shares;       /* one for each thread */
    uint64_t *counts; /* [share][bucket] */
    const uint64_t *begins;
} sorting;

static void count_shares(void *argument, uint64_t share, uint64_t end_share)
{
    const sorting *s = argument;
    for (int t = (int)share; t < (int)end_share; t++) {
        uint64_t *own = s->counts + ((uint64_t)t << TOP_BITS);
        uint64_t end = share_end(s->n, t, s->shares);
        for (uint64_t i = share_begin(s->n, t, s->shares); i < end; i++)
            own[digit(s->p.codes[i], s->shift, TOP_BITS)]++;
    }
}

static void scatter_shares(void *argument, uint64_t share, uint64_t end_share)
{
    const sorting *s = argument;
    for (int t = (int)share; t < (int)end_share; t++) {
        uint64_t *place = s->counts + ((uint64_t)t << TOP_BITS);
        uint64_t end = share_end(s->n, t, s->shares);
        for (uint64_t i = share_begin(s->n, t, s->shares); i < end; i++) {
            put(s->scratch, place[digit(s->p.codes[i], s->shift, TOP_BITS)]++, s->p, i);
        }
    }
}

static void sort_buckets(void *argument, uint64_t bucket, uint64_t end)
{
    const sorting *s = argument;
    for (; bucket < end; bucket++) {
        uint64_t first = s->begins[bucket];
        sort_alone(from(s->scratch, first), from(s->p, first), s->begins[bucket + 1] - first, s->shift, false);
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
    sorting s = {p, scratch, n, shift, threads, counts, begins};
    workload_parallel((uint64_t)threads, 1, count_shares, &s);
    place_shares(counts, threads, begins);
    workload_parallel((uint64_t)threads, 1, scatter_shares, &s);
    workload_parallel(UINT64_C(1) << TOP_BITS, 4, sort_buckets, &s);
}

static bool is_sorted(const uint64_t *codes, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        if (codes[i - 1] > codes[i]) return false;
    }
    return true;
}

typedef struct difference {
    const uint64_t *codes;
    uint64_t different;
} difference;

static void find_difference(void *argument, uint64_t first, uint64_t last)
{
    difference *d = argument;
    uint64_t different = 0;
    for (uint64_t i = first; i < last; i++) different |= d->codes[i] ^ d->codes[0];
    (void)__atomic_fetch_or(&d->different, different, __ATOMIC_RELAXED);
}

/* Bits from the lowest to the highest in which any two codes differ. */
static unsigned bits_that_differ(const uint64_t *codes, uint64_t count)
{
    difference d = {codes, 0};
    workload_parallel(count, WORKLOAD_PIECE, find_difference, &d);
    unsigned bits = 0;
    while (bits < 64 && d.different >> bits) bits++;
    return bits;
}

void workload_sort(uint64_t *codes, uint64_t *positions, uint64_t count, uint64_t *scratch_codes,
                   uint64_t *scratch_positions)
{
    pairs p = {codes, positions};
    pairs scratch = {scratch_codes, positions ? scratch_positions : NULL};
    if (is_sorted(codes, count)) return;
    unsigned bits = bits_that_differ(codes, count);
    int threads = (int)workload_threads();
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

typedef struct compaction {
    uint64_t *codes, *positions, count;
    uint64_t *ends, *firsts; /* of the stretches; their first codes, read before they are compacted */
} compaction;

static void compact_stretch(void *argument, uint64_t first, uint64_t end)
{
    const compaction *c = argument;
    uint64_t s = first / STRETCH;
    bool last = end == c->count;
    c->ends[s] = keep_last(c->codes, c->positions, first, end, !last, last ? 0 : c->firsts[s + 1]);
}

/* Every stretch on its own, then one behind the other; without duplicates nothing is moved. */
uint64_t workload_unique_last(uint64_t *codes, uint64_t *positions, uint64_t count)
{
    uint64_t stretches = (count + STRETCH - 1) / STRETCH;
    uint64_t *ends = stretches > 1 ? malloc(2 * stretches * sizeof *ends) : NULL;
    if (ends == NULL) return keep_last(codes, positions, 0, count, false, 0);
    compaction c = {codes, positions, count, ends, ends + stretches};
    for (uint64_t s = 0; s < stretches; s++) c.firsts[s] = codes[s * STRETCH];
    workload_parallel(count, STRETCH, compact_stretch, &c);
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
