/* The queries of one measurement. Each is drawn by its position in the model, so that its right answer is known.
 *
 * Queries are drawn in blocks, each from a generator of its own, so that all threads may draw and the queries do not
 * depend on how many threads there are. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_QUERIES (UINT64_C(1) << 20)
#define MOST_ENTRIES    (UINT64_C(1) << 26) /* that ranges return by default */
#define QUERY_SEED      0x9E4117u
#define CHANGE_SEED     0xC4A46Eu
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
    uint64_t count = options->queries > 0 ? options->queries : DEFAULT_QUERIES;
    if (op->code == BENCH_RANGE && options->queries == 0 && count * op->span > MOST_ENTRIES) {
        count = MOST_ENTRIES / op->span;
        if (count == 0) count = 1;
    }
    if (op->code == BENCH_ERASE && count > data->entries) count = data->entries;
    return count;
}

static void sort_positions(uint64_t *positions, uint64_t count)
{
    uint64_t *scratch = bench_memory(count, sizeof *scratch);
    workload_sort(positions, NULL, count, scratch, NULL);
    free(scratch);
}

/* Positions below `limit` by the distribution that was asked for. Popular entries of zipf lie all over the key space. */
static void draw_positions(bench_queries *queries, const bench_options *options, uint64_t limit)
{
    workload_permutation order;
    workload_permutation_init(&order, limit, options->seed);
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < (queries->count + BLOCK - 1) / BLOCK; b++) {
        workload_random random = block_random(options, DRAW_POSITIONS, b);
        for (uint64_t i = b * BLOCK; i < block_end(b, queries->count); i++) {
            uint64_t position = workload_pick(&random, options->query_dist, limit);
            if (options->query_dist == WORKLOAD_ZIPF) position = workload_permute(&order, position);
            queries->positions[i] = position;
        }
    }
    if (options->query_dist == WORKLOAD_ASCENDING) sort_positions(queries->positions, queries->count);
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

static bool make_points(bench_queries *queries, const bench_data *data, const bench_op *op,
                        const bench_options *options)
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

/* ---- changes: the batch, and what the index must hold afterwards ---- */

static void copy_element(void *to, uint64_t to_index, const void *from, uint64_t from_index, size_t size)
{
    memcpy((char *)to + to_index * size, (const char *)from + from_index * size, size);
}

static void make_update(bench_queries *queries, const bench_data *data)
{
    queries->after_entries = data->entries;
    queries->after_changed = 0;
    queries->after_keys = bench_memory(data->entries, data->key_size);
    queries->after_values = bench_memory(data->entries, data->value_size);
    memcpy(queries->after_keys, data->sorted_keys, data->entries * data->key_size);
    memcpy(queries->after_values, data->sorted_values, data->entries * data->value_size);
    for (uint64_t i = 0; i < queries->count; i++) {
        copy_element(queries->after_values, queries->positions[i], queries->values, i, data->value_size);
    }
}

static void make_erase(bench_queries *queries, const bench_data *data, const bench_options *options)
{
    workload_permutation order;
    workload_permutation_init(&order, data->entries, options->seed + 1);
    uint8_t *gone = bench_memory(data->entries, 1);
    memset(gone, 0, data->entries);
    for (uint64_t i = 0; i < queries->count; i++) {
        queries->positions[i] = workload_permute(&order, i);
        gone[queries->positions[i]] = 1;
    }
    if (options->query_dist == WORKLOAD_ASCENDING) sort_positions(queries->positions, queries->count);
    for (uint64_t i = 0; i < queries->count; i++) {
        copy_element(queries->keys, i, data->sorted_keys, queries->positions[i], data->key_size);
    }
    queries->after_changed = queries->count;
    queries->after_keys = bench_memory(data->entries - queries->count, data->key_size);
    queries->after_values = bench_memory(data->entries - queries->count, data->value_size);
    uint64_t left = 0;
    for (uint64_t i = 0; i < data->entries; i++) {
        if (gone[i]) continue;
        copy_element(queries->after_keys, left, data->sorted_keys, i, data->key_size);
        copy_element(queries->after_values, left++, data->sorted_values, i, data->value_size);
    }
    queries->after_entries = left;
    free(gone);
}

/* Merges sorted distinct new codes with the model; positions say which value of the batch a new code has. */
static void merge_after(bench_queries *queries, const bench_data *data, const uint64_t *codes,
                        const uint64_t *positions, uint64_t count)
{
    uint64_t old = 0;
    uint64_t new = 0;
    uint64_t place = 0;
    queries->after_keys = bench_memory(data->entries + count, data->key_size);
    queries->after_values = bench_memory(data->entries + count, data->value_size);
    for (; old < data->entries || new < count; place++) {
        if (new == count || (old < data->entries && data->codes[old] < codes[new])) {
            copy_element(queries->after_keys, place, data->sorted_keys, old, data->key_size);
            copy_element(queries->after_values, place, data->sorted_values, old++, data->value_size);
            continue;
        }
        if (old < data->entries && data->codes[old] == codes[new]) old++;
        copy_element(queries->after_keys, place, queries->keys, positions[new], data->key_size);
        copy_element(queries->after_values, place, queries->values, positions[new ++], data->value_size);
    }
    queries->after_entries = place;
    queries->after_changed = place - data->entries;
}

/* The keys that the distribution gives next; where it repeats itself some are in the index already. */
static void make_insert(bench_queries *queries, const bench_data *data)
{
    uint64_t count = queries->count;
    uint64_t *codes = bench_memory(count, sizeof *codes);
    uint64_t *scratch_codes = bench_memory(count, sizeof *scratch_codes);
    uint64_t *scratch_positions = bench_memory(count, sizeof *scratch_positions);
    workload_stream stream = data->stream;
    workload_stream_codes(&stream, codes, count);
    workload_keys_from_codes(data->key_type, codes, count, queries->keys);
    for (uint64_t i = 0; i < count; i++) queries->positions[i] = i;
    workload_sort(codes, queries->positions, count, scratch_codes, scratch_positions);
    uint64_t distinct = workload_unique_last(codes, queries->positions, count);
    merge_after(queries, data, codes, queries->positions, distinct);
    free(codes);
    free(scratch_codes);
    free(scratch_positions);
}

/* Half finds of entries, half upserts: of the same entries, or of the keys that the distribution gives next. */
static void draw_mixed(bench_queries *queries, const bench_data *data, const bench_op *op, const bench_options *options,
                       uint64_t *codes)
{
    workload_stream stream = data->stream;
    draw_positions(queries, options, data->entries);
    workload_stream_codes(&stream, codes, queries->count);
    for (uint64_t i = 0; i < queries->count; i++) {
        bool upsert = workload_hash(i ^ options->seed << 40) & 1;
        queries->operations[i] = upsert ? COPSE_OP_UPSERT : COPSE_OP_FIND;
        if (!upsert || op->code == BENCH_MIXED_UPDATE) codes[i] = data->codes[queries->positions[i]];
    }
    workload_keys_from_codes(data->key_type, codes, queries->count, queries->keys);
}

/* What the operations of one key meet, one after the other; `order` holds their positions, `old` is the place of the
 * key in the model if it is there. Returns the position of the last upsert, or BENCH_NONE. */
static uint64_t replay_mixed(const bench_queries *queries, const bench_data *data, const uint64_t *order, uint64_t n,
                             uint64_t old)
{
    uint64_t last = BENCH_NONE;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = order[i];
        queries->seen_found[at] = last != BENCH_NONE || old != BENCH_NONE;
        if (last != BENCH_NONE) {
            copy_element(queries->seen_values, at, queries->values, last, data->value_size);
        } else if (old != BENCH_NONE) {
            copy_element(queries->seen_values, at, data->sorted_values, old, data->value_size);
        }
        if (queries->operations[at] == COPSE_OP_UPSERT) last = at;
    }
    return last;
}

static void make_mixed(bench_queries *queries, const bench_data *data, const bench_op *op, const bench_options *options)
{
    uint64_t count = queries->count;
    uint64_t *codes = bench_memory(count, sizeof *codes);
    uint64_t *scratch_codes = bench_memory(count, sizeof *scratch_codes);
    uint64_t *scratch_positions = bench_memory(count, sizeof *scratch_positions);
    queries->operations = bench_memory(count, 1);
    queries->seen_found = bench_memory(count, 1);
    queries->seen_values = bench_memory(count, data->value_size);
    memset(queries->seen_values, 0, count * data->value_size);
    draw_mixed(queries, data, op, options, codes);
    for (uint64_t i = 0; i < count; i++) queries->positions[i] = i;
    workload_sort(codes, queries->positions, count, scratch_codes, scratch_positions);
    uint64_t old = 0;
    uint64_t upserted = 0;
    for (uint64_t first = 0, end = 0; first < count; first = end) {
        while (end < count && codes[end] == codes[first]) end++;
        while (old < data->entries && data->codes[old] < codes[first]) old++;
        bool there = old < data->entries && data->codes[old] == codes[first];
        uint64_t last = replay_mixed(queries, data, queries->positions + first, end - first, there ? old : BENCH_NONE);
        if (last == BENCH_NONE) continue;
        codes[upserted] = codes[first];
        queries->positions[upserted++] = last;
    }
    merge_after(queries, data, codes, queries->positions, upserted);
    free(codes);
    free(scratch_codes);
    free(scratch_positions);
}

static bool make_change(bench_queries *queries, const bench_data *data, const bench_op *op,
                        const bench_options *options)
{
    if (op->code == BENCH_ERASE) {
        make_erase(queries, data, options);
        return true;
    }
    queries->values = bench_memory(queries->count, data->value_size);
    workload_values(data->value_type, options->seed ^ CHANGE_SEED, NULL, queries->count, queries->values);
    if (op->code == BENCH_INSERT) {
        make_insert(queries, data);
        return true;
    }
    if (bench_op_mixes(op)) {
        make_mixed(queries, data, op, options);
        return true;
    }
    draw_positions(queries, options, data->entries);
    if (!make_points(queries, data, op, options)) return false;
    make_update(queries, data);
    return true;
}

bool bench_queries_make(bench_queries *queries, bench_data *data, const bench_op *op, const bench_options *options)
{
    memset(queries, 0, sizeof *queries);
    if (op->kind == BENCH_KIND_BUILD || op->kind == BENCH_KIND_PASS) return true;
    queries->count = number_of_queries(data, op, options);
    queries->keys = bench_memory(queries->count, data->key_size);
    queries->positions = bench_memory(queries->count, sizeof *queries->positions);
    if (op->kind == BENCH_KIND_CHANGE) return make_change(queries, data, op, options);
    if (op->kind == BENCH_KIND_POINT) {
        draw_positions(queries, options, data->entries);
        return make_points(queries, data, op, options);
    }
    uint64_t span = op->span < data->entries ? op->span : data->entries;
    draw_positions(queries, options, data->entries - (span > 0 ? span - 1 : 0));
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
