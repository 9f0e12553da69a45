/* The data set of a measurement, and the sorted array that knows the right answers. */
#define _DEFAULT_SOURCE
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE     (UINT64_C(2) << 20)
#define BLOCK_BITS    6 /* extremes are tabulated over blocks of 2^6 values */
#define BLOCK_ENTRIES (UINT64_C(1) << BLOCK_BITS)
#define VALUES_SEED   0x5EED0FA1u

void *bench_memory(uint64_t count, size_t size)
{
    uint64_t bytes = count * size;
    void *memory = NULL;
    if (size == 0 || count <= (UINT64_MAX >> 1) / size) {
        /* Large arrays on huge pages, for copse and its peers alike: the caller's arrays are not under test. */
        bytes = bytes < HUGE_PAGE ? (bytes + 64) & ~UINT64_C(63) : (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
        memory = aligned_alloc(bytes < HUGE_PAGE ? 64 : HUGE_PAGE, bytes);
    }
    if (memory == NULL) {
        cli_fail("bench", "no memory for %llu bytes of test data; try a smaller --n or --queries",
                 (unsigned long long)bytes);
        exit(CLI_FAILED);
    }
    if (bytes >= HUGE_PAGE) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

uint64_t bench_word(const void *array, size_t size, uint64_t i)
{
    return size == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

/* Keys of type u64 are their own codes. */
static bool codes_are_keys(const bench_data *data)
{
    return data->key_type == COPSE_U64;
}

static void number_positions(void *positions, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++) ((uint64_t *)positions)[i] = i;
}

/* Fills the model from data->codes in the order of arrival. A data set of 2^30 pairs of 16 bytes needs 48 GiB here, and
 * keeps 32. */
static void make_model(bench_data *data)
{
    uint64_t n = data->n;
    uint64_t *positions = bench_memory(n, sizeof *positions);
    uint64_t *scratch_codes = bench_memory(n, sizeof *scratch_codes);
    uint64_t *scratch_positions = bench_memory(n, sizeof *scratch_positions);
    workload_parallel(n, WORKLOAD_PIECE, number_positions, positions);
    workload_sort(data->codes, positions, n, scratch_codes, scratch_positions);
    free(scratch_codes);
    free(scratch_positions);

    data->entries = workload_unique_last(data->codes, positions, n);
    data->sorted_values = bench_memory(data->entries, data->value_size);
    workload_values(data->value_type, data->seed ^ VALUES_SEED, positions, data->entries, data->sorted_values);
    free(positions);
    data->sorted_keys = data->codes;
    if (codes_are_keys(data)) return;
    data->sorted_keys = bench_memory(data->entries, data->key_size);
    workload_keys_from_codes(data->key_type, data->codes, data->entries, data->sorted_keys);
}

void bench_data_make(bench_data *data, copse_type key_type, copse_type value_type, uint64_t n, workload_dist dist,
                     uint64_t seed)
{
    memset(data, 0, sizeof *data);
    data->key_type = key_type;
    data->value_type = value_type;
    data->key_size = copse_type_size(key_type);
    data->value_size = copse_type_size(value_type);
    data->n = n;
    data->seed = seed;
    data->dist = dist;
    data->keys = bench_memory(n, data->key_size);
    data->values = bench_memory(n, data->value_size);
    data->codes = bench_memory(n, sizeof *data->codes);
    workload_stream_init(&data->stream, dist, key_type, n, seed);
    workload_stream_codes(&data->stream, data->codes, n);
    workload_keys_from_codes(key_type, data->codes, n, data->keys);
    workload_values(value_type, seed ^ VALUES_SEED, NULL, n, data->values);
    make_model(data);
}

void bench_data_free(bench_data *data)
{
    free(data->keys);
    free(data->values);
    if (!codes_are_keys(data)) free(data->sorted_keys);
    free(data->codes);
    free(data->sorted_values);
    free(data->prefix);
    free(data->value_codes);
    for (int level = 0; level < 40; level++) {
        free(data->block_min[level]);
        free(data->block_max[level]);
    }
    memset(data, 0, sizeof *data);
}

const int64_t *bench_data_prefix(bench_data *data)
{
    if (data->prefix != NULL) return data->prefix;
    data->prefix = bench_memory(data->entries + 1, sizeof *data->prefix);
    data->prefix[0] = 0;
    for (uint64_t i = 0; i < data->entries; i++) {
        data->prefix[i + 1] = data->prefix[i] + workload_value_scaled(data->value_type, data->sorted_values, i);
    }
    return data->prefix;
}

/* ---- extremes: blocks of values, then a table of every power of two of blocks ---- */

static uint64_t better(uint64_t a, uint64_t b, bool largest)
{
    return (a > b) == largest ? a : b;
}

static uint64_t scan_extreme(const uint64_t *codes, uint64_t length, bool largest)
{
    uint64_t result = codes[0];
    for (uint64_t i = 1; i < length; i++) result = better(result, codes[i], largest);
    return result;
}

typedef struct lowest_level {
    uint64_t *out;
    const uint64_t *codes;
    bool largest;
} lowest_level;

static void fill_lowest(void *argument, uint64_t first, uint64_t last)
{
    const lowest_level *l = argument;
    for (uint64_t b = first; b < last; b++)
        l->out[b] = scan_extreme(l->codes + b * BLOCK_ENTRIES, BLOCK_ENTRIES, l->largest);
}

static void make_levels(uint64_t *levels[40], const uint64_t *codes, uint64_t blocks, bool largest)
{
    levels[0] = bench_memory(blocks, sizeof **levels);
    lowest_level lowest = {levels[0], codes, largest};
    workload_parallel(blocks, WORKLOAD_PIECE / BLOCK_ENTRIES, fill_lowest, &lowest);
    for (int level = 1; (UINT64_C(1) << level) <= blocks; level++) {
        uint64_t width = blocks - (UINT64_C(1) << level) + 1;
        uint64_t half = UINT64_C(1) << (level - 1);
        levels[level] = bench_memory(width, sizeof **levels);
        for (uint64_t b = 0; b < width; b++) {
            levels[level][b] = better(levels[level - 1][b], levels[level - 1][b + half], largest);
        }
    }
}

void bench_data_extremes(bench_data *data)
{
    if (data->value_codes != NULL) return;
    data->value_codes = bench_memory(data->entries, sizeof *data->value_codes);
    workload_codes_from_keys(data->value_type, data->sorted_values, data->entries, data->value_codes);
    uint64_t blocks = data->entries >> BLOCK_BITS;
    if (blocks == 0) return;
    make_levels(data->block_min, data->value_codes, blocks, false);
    make_levels(data->block_max, data->value_codes, blocks, true);
}

uint64_t bench_data_extreme(const bench_data *data, uint64_t first, uint64_t length, bool largest)
{
    const uint64_t *codes = data->value_codes;
    uint64_t last = first + length;
    uint64_t from = (first + BLOCK_ENTRIES - 1) >> BLOCK_BITS;
    uint64_t to = last >> BLOCK_BITS;
    if (from >= to) return scan_extreme(codes + first, length, largest);
    int level = 0;
    while ((UINT64_C(2) << level) <= to - from) level++;
    const uint64_t *blocks = largest ? data->block_max[level] : data->block_min[level];
    uint64_t result = better(blocks[from], blocks[to - (UINT64_C(1) << level)], largest);
    uint64_t head = (from << BLOCK_BITS) - first;
    uint64_t tail = last - (to << BLOCK_BITS);
    if (head > 0) result = better(result, scan_extreme(codes + first, head, largest), largest);
    if (tail > 0) result = better(result, scan_extreme(codes + (to << BLOCK_BITS), tail, largest), largest);
    return result;
}

uint64_t bench_data_rank(const bench_data *data, uint64_t code)
{
    uint64_t below = 0;
    uint64_t above = data->entries;
    while (below < above) {
        uint64_t middle = below + (above - below) / 2;
        if (data->codes[middle] < code) {
            below = middle + 1;
        } else {
            above = middle;
        }
    }
    return below;
}
