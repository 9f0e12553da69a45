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
#define BLOCK           WORKLOAD_PIECE

/* What a generator is for: positions, then keys, must not follow the same numbers. */
typedef enum draw { DRAW_POSITIONS, DRAW_KEYS } draw;

static workload_random block_random(const bench_options *options, draw what, uint64_t block)
{
    workload_random random;
    workload_random_init(&random, workload_hash((options->seed ^ QUERY_SEED) * 2 + what) + block);
    return random;
}

static uint64_t number_of_queries(const bench_data *data, const bench_op *op, const bench_options *options)
{
    uint64_t usual = options->query_dist == BENCH_ARRIVAL ? data->n : DEFAULT_QUERIES;
    uint64_t count = options->queries > 0 ? options->queries : usual;
    if (op->code == BENCH_RANGE && options->queries == 0 && count * op->span > MOST_ENTRIES) {
        count = MOST_ENTRIES / op->span;
        if (count == 0) count = 1;
    }
    if ((op->code == BENCH_ERASE || op->code == BENCH_WINDOW) && count > data->entries) count = data->entries;
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

/* Queries being drawn, block by block. */
typedef struct drawing {
    bench_queries *queries;
    const bench_data *data;
    const bench_options *options;
    const workload_permutation *order;
    uint64_t limit;  /* of the positions */
    uint64_t hot;    /* draw only so many of them; 0: all */
    uint64_t span;   /* of ranges; 0: any */
    bench_code code; /* of points */
    uint64_t *codes; /* keys of points, lows of ranges */
    uint64_t *highs;
} drawing;

static void positions_of_pairs(void *argument, uint64_t first, uint64_t last)
{
    const drawing *d = argument;
    for (uint64_t i = first; i < last; i++) {
        uint64_t position = position_of_pair(d->data, i);
        d->queries->positions[i] = position < d->limit ? position : d->limit - 1;
    }
}

static void draw_positions(void *argument, uint64_t first, uint64_t last)
{
    const drawing *d = argument;
    uint64_t choices = d->hot > 0 && d->hot < d->limit ? d->hot : d->limit;
    workload_random random = block_random(d->options, DRAW_POSITIONS, first / BLOCK);
    for (uint64_t i = first; i < last; i++) {
        uint64_t position = workload_pick(&random, d->options->query_dist, choices);
        if (d->hot > 0 || d->options->query_dist == WORKLOAD_ZIPF) position = workload_permute(d->order, position);
        d->queries->positions[i] = position;
    }
}

/* Popular entries of zipf, and the few hot ones, lie all over the key space. */
void bench_draw_positions(bench_queries *queries, const bench_data *data, const bench_options *options, uint64_t limit,
                          uint64_t hot)
{
    workload_permutation order;
    drawing d = {.queries = queries, .data = data, .options = options, .order = &order, .limit = limit, .hot = hot};
    workload_permutation_init(&order, limit, options->seed);
    bool of_pairs = options->query_dist == BENCH_ARRIVAL && hot == 0;
    workload_parallel(queries->count, BLOCK, of_pairs ? positions_of_pairs : draw_positions, &d);
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

/* Returns for how many there is no key. */
static uint64_t draw_points(const void *argument, uint64_t first, uint64_t last)
{
    const drawing *d = argument;
    uint64_t failed = 0;
    workload_random random = block_random(d->options, DRAW_KEYS, first / BLOCK);
    for (uint64_t i = first; i < last; i++) {
        failed += !point_query(d->data, d->code, &random, &d->queries->positions[i], &d->codes[i]);
    }
    return failed;
}

bool bench_draw_points(bench_queries *queries, const bench_data *data, const bench_op *op, const bench_options *options)
{
    uint64_t *codes = bench_memory(queries->count, sizeof *codes);
    drawing d = {.queries = queries, .data = data, .options = options, .code = op->code, .codes = codes};
    uint64_t failed = workload_count(queries->count, draw_points, &d);
    if (failed == 0) workload_keys_from_codes(data->key_type, codes, queries->count, queries->keys);
    free(codes);
    if (failed > 0) cli_note("bench", "%s: every key of the type is in the index, there is nothing to miss", op->name);
    return failed == 0;
}

static void draw_ranges(void *argument, uint64_t begin, uint64_t end)
{
    const drawing *d = argument;
    bench_queries *queries = d->queries;
    workload_random random = block_random(d->options, DRAW_KEYS, begin / BLOCK);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t one = queries->positions[i];
        uint64_t other = d->span > 0 ? one + d->span - 1 : workload_random_below(&random, d->data->entries);
        uint64_t first = one < other ? one : other;
        uint64_t last = one < other ? other : one;
        queries->positions[i] = first;
        queries->lengths[i] = last - first + 1;
        d->codes[i] = d->data->codes[first];
        d->highs[i] = d->data->codes[last];
    }
}

static void make_ranges(bench_queries *queries, const bench_data *data, uint64_t span, const bench_options *options)
{
    uint64_t *lows = bench_memory(queries->count, sizeof *lows);
    uint64_t *highs = bench_memory(queries->count, sizeof *highs);
    queries->highs = bench_memory(queries->count, data->key_size);
    queries->lengths = bench_memory(queries->count, sizeof *queries->lengths);
    drawing d = {.queries = queries, .data = data, .options = options, .span = span, .codes = lows, .highs = highs};
    workload_parallel(queries->count, BLOCK, draw_ranges, &d);
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
        bench_draw_positions(queries, data, options, data->entries, op->span);
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
