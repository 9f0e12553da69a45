/* The queries of one measurement. Each is drawn by its position in the model, so that its right answer is known.
 *
 * Queries are drawn in blocks, each from a generator of its own, so that all threads may draw and the queries do not
 * depend on how many threads there are. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_QUERIES (UINT64_C(1) << 20)
#define MOST_ENTRIES    (UINT64_C(1) << 26) /* that ranges return by default */
#define QUERY_SEED      0x9E4117u
#define BLOCK           (UINT64_C(1) << 16)

/* What a generator is for: positions, then keys, must not follow the same numbers. */
typedef enum draw { DRAW_POSITIONS, DRAW_KEYS } draw;

static workload_random block_random(const bench_options *options, draw what, uint64_t block)
{
    workload_random random;
    workload_random_init(&random, workload_hash((options->seed ^ QUERY_SEED) * 2 + what) + block);
    return random;
}

static uint64_t block_end(uint64_t block, uint64_t count)
{
    return (block + 1) * BLOCK < count ? (block + 1) * BLOCK : count;
}

static uint64_t number_of_queries(const bench_data *data, const bench_op *op, const bench_options *options)
{
    uint64_t usual = options->query_dist == BENCH_ARRIVAL ? data->n : DEFAULT_QUERIES;
    uint64_t count = options->queries > 0 ? options->queries : usual;
    if (op->code == BENCH_RANGE && options->queries == 0 && count * op->span > MOST_ENTRIES) {
        count = MOST_ENTRIES / op->span;
        if (count == 0) count = 1;
    }
    if (op->code == BENCH_ERASE && count > data->entries) count = data->entries;
    return count;
}

void bench_sort_positions(uint64_t *positions, uint64_t count)
{
    uint64_t *scratch = bench_memory(count, sizeof *scratch);
    workload_sort(positions, NULL, count, scratch, NULL);
    free(scratch);
}

/* The entry that pair i became. Pairs come again when all were asked for. */
static uint64_t position_of_pair(const bench_data *data, uint64_t i)
{
    uint64_t code = 0;
    workload_codes_from_keys(data->key_type, (const char *)data->keys + i % data->n * data->key_size, 1, &code);
    return bench_data_rank(data, code);
}

static void positions_of_pairs(bench_queries *queries, const bench_data *data, uint64_t limit)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < queries->count; i++) {
        uint64_t position = position_of_pair(data, i);
        queries->positions[i] = position < limit ? position : limit - 1;
    }
}

/* Popular entries of zipf, and the few hot ones, lie all over the key space. */
void bench_draw_positions(bench_queries *queries, const bench_data *data, const bench_options *options, uint64_t limit,
                          uint64_t hot)
{
    workload_permutation order;
    uint64_t choices = hot > 0 && hot < limit ? hot : limit;
    workload_permutation_init(&order, limit, options->seed);
    if (options->query_dist == BENCH_ARRIVAL && hot == 0) {
        positions_of_pairs(queries, data, limit);
        return;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < (queries->count + BLOCK - 1) / BLOCK; b++) {
        workload_random random = block_random(options, DRAW_POSITIONS, b);
        for (uint64_t i = b * BLOCK; i < block_end(b, queries->count); i++) {
            uint64_t position = workload_pick(&random, options->query_dist, choices);
            if (hot > 0 || options->query_dist == WORKLOAD_ZIPF) position = workload_permute(&order, position);
            queries->positions[i] = position;
        }
    }
    if (options->query_dist == WORKLOAD_ASCENDING) bench_sort_positions(queries->positions, queries->count);
}

/* A key that is not there, from the gap behind entry `position` or, where keys are dense, behind the last or before the
 * first. */
static bool draw_missing(const bench_data *data, workload_random *random, uint64_t position, uint64_t *out_code)
{
    const uint64_t *codes = data->codes;
    uint64_t last = data->entries - 1;
    for (int attempt = 0; attempt < 32; attempt++) {
        if (position < last && codes[position + 1] - codes[position] > 1) {
            *out_code = codes[position] + 1 + workload_random_below(random, codes[position + 1] - codes[position] - 1);
            return true;
        }
        position = workload_random_below(random, data->entries);
    }
    uint64_t above = workload_code_max(data->key_type) - codes[last];
    if (above > 0) {
        *out_code = codes[last] + 1 + workload_random_below(random, above);
    } else if (codes[0] > 0) {
        *out_code = workload_random_below(random, codes[0]);
    }
    return above > 0 || codes[0] > 0;
}

/* Asks for keys (half of them, where there is room, just behind a key) and notes where the answer is. */
static void bound_query(const bench_data *data, bench_code code, bool behind, uint64_t *position, uint64_t *query)
{
    uint64_t p = *position;
    *query = data->codes[p];
    behind = behind && *query < workload_code_max(data->key_type);
    if (behind) ++*query;
    bool next_is_hit = behind && p + 1 < data->entries && data->codes[p + 1] == *query;
    if (code == BENCH_PREDECESSOR) {
        *position = behind ? p : p - 1; /* p == 0 gives BENCH_NONE */
        return;
    }
    uint64_t answer = p + (behind || code == BENCH_SUCCESSOR) + (next_is_hit && code == BENCH_SUCCESSOR);
    *position = answer < data->entries || code == BENCH_RANK ? answer : BENCH_NONE;
}

/* The key of one query, from the position that was drawn for it; the position becomes that of the answer. */
static bool point_query(const bench_data *data, bench_code code, workload_random *random, uint64_t *position,
                        uint64_t *query)
{
    bool coin = workload_random_next(random) >> 63;
    if (code == BENCH_MISS || (code == BENCH_CONTAINS && coin)) {
        bool made = draw_missing(data, random, *position, query);
        *position = BENCH_NONE;
        return made;
    }
    if (code == BENCH_FIND || code == BENCH_CONTAINS || code == BENCH_UPDATE) {
        *query = data->codes[*position];
    } else {
        bound_query(data, code, coin, position, query);
    }
    return true;
}

bool bench_draw_points(bench_queries *queries, const bench_data *data, const bench_op *op, const bench_options *options)
{
    uint64_t *codes = bench_memory(queries->count, sizeof *codes);
    uint64_t failed = 0;
#pragma omp parallel for schedule(static) reduction(+ : failed)
    for (uint64_t b = 0; b < (queries->count + BLOCK - 1) / BLOCK; b++) {
        workload_random random = block_random(options, DRAW_KEYS, b);
        for (uint64_t i = b * BLOCK; i < block_end(b, queries->count); i++) {
            failed += !point_query(data, op->code, &random, &queries->positions[i], &codes[i]);
        }
    }
    if (failed == 0) workload_keys_from_codes(data->key_type, codes, queries->count, queries->keys);
    free(codes);
    if (failed > 0) cli_note("bench", "%s: every key of the type is in the index, there is nothing to miss", op->name);
    return failed == 0;
}

static void make_ranges(bench_queries *queries, const bench_data *data, uint64_t span, const bench_options *options)
{
    uint64_t *lows = bench_memory(queries->count, sizeof *lows);
    uint64_t *highs = bench_memory(queries->count, sizeof *highs);
    queries->highs = bench_memory(queries->count, data->key_size);
    queries->lengths = bench_memory(queries->count, sizeof *queries->lengths);
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < (queries->count + BLOCK - 1) / BLOCK; b++) {
        workload_random random = block_random(options, DRAW_KEYS, b);
        for (uint64_t i = b * BLOCK; i < block_end(b, queries->count); i++) {
            uint64_t one = queries->positions[i];
            uint64_t other = span > 0 ? one + span - 1 : workload_random_below(&random, data->entries);
            uint64_t first = one < other ? one : other;
            uint64_t last = one < other ? other : one;
            queries->positions[i] = first;
            queries->lengths[i] = last - first + 1;
            lows[i] = data->codes[first];
            highs[i] = data->codes[last];
        }
    }
    workload_keys_from_codes(data->key_type, lows, queries->count, queries->keys);
    workload_keys_from_codes(data->key_type, highs, queries->count, queries->highs);
    free(lows);
    free(highs);
}

bool bench_queries_make(bench_queries *queries, bench_data *data, const bench_op *op, const bench_options *options)
{
    memset(queries, 0, sizeof *queries);
    if (op->kind == BENCH_KIND_BUILD || op->kind == BENCH_KIND_PASS) return true;
    queries->count = number_of_queries(data, op, options);
    queries->keys = bench_memory(queries->count, data->key_size);
    queries->positions = bench_memory(queries->count, sizeof *queries->positions);
    if (op->kind == BENCH_KIND_CHANGE) return bench_changes_make(queries, data, op, options);
    if (op->kind == BENCH_KIND_POINT) {
        bench_draw_positions(queries, data, options, data->entries, 0);
        return bench_draw_points(queries, data, op, options);
    }
    uint64_t span = op->span < data->entries ? op->span : data->entries;
    bench_draw_positions(queries, data, options, data->entries - (span > 0 ? span - 1 : 0), 0);
    make_ranges(queries, data, span, options);
    return true;
}

void bench_queries_free(bench_queries *queries)
{
    free(queries->keys);
    free(queries->highs);
    free(queries->values);
    free(queries->operations);
    free(queries->seen_values);
    free(queries->seen_found);
    free(queries->positions);
    free(queries->lengths);
    free(queries->after_keys);
    free(queries->after_values);
    memset(queries, 0, sizeof *queries);
}
