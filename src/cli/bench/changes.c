/* Operations that change the index, and what it must hold afterwards. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#define CHANGE_SEED 0xC4A46Eu

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

/* Which entries go, and their keys. */
typedef struct erasing {
    bench_queries *queries;
    const bench_data *data;
    const workload_permutation *order;
    uint8_t *gone;
} erasing;

static void choose_erased(void *argument, uint64_t first, uint64_t last)
{
    const erasing *e = argument;
    for (uint64_t i = first; i < last; i++) {
        e->queries->positions[i] = workload_permute(e->order, i);
        e->gone[e->queries->positions[i]] = 1;
    }
}

static void copy_erased(void *argument, uint64_t first, uint64_t last)
{
    const erasing *e = argument;
    for (uint64_t i = first; i < last; i++) {
        copy_element(e->queries->keys, i, e->data->sorted_keys, e->queries->positions[i], e->data->key_size);
    }
}

static void make_erase(bench_queries *queries, const bench_data *data, const bench_options *options)
{
    workload_permutation order;
    workload_permutation_init(&order, data->entries, options->seed + 1);
    uint8_t *gone = bench_memory(data->entries, 1);
    memset(gone, 0, data->entries);
    erasing e = {queries, data, &order, gone};
    workload_parallel(queries->count, WORKLOAD_PIECE, choose_erased, &e);
    if (options->query_dist == WORKLOAD_ASCENDING) bench_sort_positions(queries->positions, queries->count);
    workload_parallel(queries->count, WORKLOAD_PIECE, copy_erased, &e);
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

/* ---- merging what is new with what was there, on all threads ---- */

#define MERGE_CHUNKS 256u

typedef struct merge {
    bench_queries *queries;
    const bench_data *data;
    const uint64_t *codes;     /* new ones, sorted and distinct                   */
    const uint64_t *positions; /* which pair of the batch each of them comes from */
    uint64_t count;
    uint64_t more[MERGE_CHUNKS + 1]; /* entries that the chunks before add */
} merge;

static bool is_there(const bench_data *data, uint64_t code)
{
    uint64_t rank = bench_data_rank(data, code);
    return rank < data->entries && data->codes[rank] == code;
}

/* Where chunk `chunk` of the new codes, and the entries that belong with it, begin. */
static uint64_t new_start(const merge *m, uint64_t chunk)
{
    return m->count * chunk / MERGE_CHUNKS;
}

static uint64_t old_start(const merge *m, uint64_t chunk)
{
    if (chunk == 0 || chunk == MERGE_CHUNKS) return chunk == 0 ? 0 : m->data->entries;
    return m->count > 0 ? bench_data_rank(m->data, m->codes[new_start(m, chunk)]) : m->data->entries;
}

static uint64_t new_ones_of_chunk(const merge *m, uint64_t chunk)
{
    uint64_t number = 0;
    for (uint64_t i = new_start(m, chunk); i < new_start(m, chunk + 1); i++) number += !is_there(m->data, m->codes[i]);
    return number;
}

/* Writes one chunk from `place` on. */
static void merge_chunk(const merge *m, uint64_t chunk, uint64_t place)
{
    const bench_data *data = m->data;
    bench_queries *queries = m->queries;
    uint64_t old_end = old_start(m, chunk + 1);
    uint64_t new_end = new_start(m, chunk + 1);
    uint64_t new = new_start(m, chunk);
    for (uint64_t old = old_start(m, chunk); old < old_end || new < new_end; place++) {
        if (new == new_end || (old < old_end && data->codes[old] < m->codes[new])) {
            copy_element(queries->after_keys, place, data->sorted_keys, old, data->key_size);
            copy_element(queries->after_values, place, data->sorted_values, old++, data->value_size);
            continue;
        }
        if (old < old_end && data->codes[old] == m->codes[new]) old++;
        copy_element(queries->after_keys, place, queries->keys, m->positions[new], data->key_size);
        copy_element(queries->after_values, place, queries->values, m->positions[new ++], data->value_size);
    }
}

static void count_chunks(void *argument, uint64_t first, uint64_t last)
{
    merge *m = argument;
    for (uint64_t chunk = first; chunk < last; chunk++) m->more[chunk + 1] = new_ones_of_chunk(m, chunk);
}

static void merge_chunks(void *argument, uint64_t first, uint64_t last)
{
    const merge *m = argument;
    for (uint64_t chunk = first; chunk < last; chunk++) merge_chunk(m, chunk, old_start(m, chunk) + m->more[chunk]);
}

/* Merges sorted distinct new codes with the model; positions say which value of the batch a new code has. */
static void merge_after(bench_queries *queries, const bench_data *data, const uint64_t *codes,
                        const uint64_t *positions, uint64_t count)
{
    merge m = {queries, data, codes, positions, count, {0}};
    workload_parallel(MERGE_CHUNKS, 1, count_chunks, &m);
    for (uint64_t chunk = 0; chunk < MERGE_CHUNKS; chunk++) m.more[chunk + 1] += m.more[chunk];
    queries->after_changed = m.more[MERGE_CHUNKS];
    queries->after_entries = data->entries + m.more[MERGE_CHUNKS];
    queries->after_keys = bench_memory(queries->after_entries, data->key_size);
    queries->after_values = bench_memory(queries->after_entries, data->value_size);
    workload_parallel(MERGE_CHUNKS, 1, merge_chunks, &m);
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

/* ---- keys that are all new ---- */

typedef struct arrivals {
    uint64_t count;
    uint64_t *codes;  /* in key order */
    uint64_t *places; /* when each of them came */
} arrivals;

/* The next `count` codes of the distribution, or by the pattern that an operation stands for. False: the pattern has no room for them. */
static bool next_codes(const bench_data *data, const bench_op *op, const bench_options *options, uint64_t *codes,
                       uint64_t count)
{
    if (op->code == BENCH_INSERT_NEW) {
        workload_stream stream = data->stream;
        workload_stream_codes(&stream, codes, count);
        return true;
    }
    const uint64_t equals = data->duplicates ? BENCH_EQUALS : 1;
    const workload_place place = {.pattern = op->code == BENCH_WINDOW ? WORKLOAD_APPEND
                                                                      : (workload_pattern)(op->code - BENCH_APPEND),
                                  .codes = data->codes,
                                  .entries = data->entries,
                                  .max = workload_code_max(data->key_type),
                                  .points = op->span,
                                  .batch = (options->batch + equals - 1) / equals,
                                  .seed = options->seed};
    return workload_pattern_codes(&place, codes, count);
}

/* ... sorted. */
static arrivals next_arrivals(const bench_data *data, const bench_op *op, const bench_options *options, uint64_t count)
{
    arrivals next = {count, bench_memory(count, sizeof(uint64_t)), bench_memory(count, sizeof(uint64_t))};
    uint64_t *scratch_codes = bench_memory(count, sizeof *scratch_codes);
    uint64_t *scratch_places = bench_memory(count, sizeof *scratch_places);
    if (!next_codes(data, op, options, next.codes, count)) next.count = count = 0;
    for (uint64_t i = 0; i < count; i++) next.places[i] = i;
    workload_sort(next.codes, next.places, count, scratch_codes, scratch_places);
    free(scratch_codes);
    free(scratch_places);
    return next;
}

static void free_arrivals(arrivals *next)
{
    free(next->codes);
    free(next->places);
}

typedef struct numbering {
    const bench_data *data;
    const arrivals *next;
    uint64_t *numbers;
} numbering;

static void note_new_keys(void *argument, uint64_t first, uint64_t last)
{
    const numbering *n = argument;
    const arrivals *next = n->next;
    for (uint64_t i = first; i < last; i++) {
        bool again = i > 0 && next->codes[i - 1] == next->codes[i];
        n->numbers[next->places[i]] = again || is_there(n->data, next->codes[i]) ? BENCH_NONE : 0;
    }
}

/* numbers[place] becomes the number of the new key that came then, BENCH_NONE where it was no new key: the index has it,
 * or it came before. Returns how many are new. */
static uint64_t number_new_keys(const bench_data *data, const arrivals *next, uint64_t *numbers)
{
    uint64_t count = 0;
    numbering n = {data, next, numbers};
    workload_parallel(next->count, WORKLOAD_PIECE, note_new_keys, &n);
    for (uint64_t i = 0; i < next->count; i++) {
        if (numbers[i] != BENCH_NONE) numbers[i] = count++;
    }
    return count;
}

typedef struct placing {
    const bench_queries *queries;
    size_t key_size;
    const char *ordered;
} placing;

static void place_keys(void *argument, uint64_t first, uint64_t last)
{
    const placing *p = argument;
    for (uint64_t i = first; i < last; i++) {
        copy_element(p->queries->keys, p->queries->positions[i], p->ordered, i, p->key_size);
    }
}

/* Leaves the first new keys, as many as there are queries, and puts them into the batch in the order of arrival. */
static void take_new_keys(bench_queries *queries, const bench_data *data, arrivals *next, const uint64_t *numbers)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < next->count; i++) {
        uint64_t number = numbers[next->places[i]];
        if (number >= queries->count) continue;
        next->codes[kept] = next->codes[i];
        queries->positions[kept++] = number;
    }
    char *ordered = bench_memory(kept, data->key_size);
    workload_keys_from_codes(data->key_type, next->codes, kept, ordered);
    placing p = {queries, data->key_size, ordered};
    workload_parallel(kept, WORKLOAD_PIECE, place_keys, &p);
    free(ordered);
}

/* Every key comes BENCH_EQUALS times, one behind the other; `next` has all of them once, `distinct` in number. */
static void repeat_keys(bench_queries *queries, const bench_data *data, arrivals *next, uint64_t distinct)
{
    const uint64_t count = queries->count;
    arrivals all = {count, bench_memory(count, sizeof(uint64_t)), bench_memory(count, sizeof(uint64_t))};
    uint64_t made = 0;
    for (uint64_t i = count; i-- > 0;) copy_element(queries->keys, i, queries->keys, i / BENCH_EQUALS, data->key_size);
    for (uint64_t i = 0; i < distinct; i++)
        for (uint64_t r = 0; r < BENCH_EQUALS && queries->positions[i] * BENCH_EQUALS + r < count; r++) {
            all.codes[made] = next->codes[i];
            all.places[made++] = queries->positions[i] * BENCH_EQUALS + r;
        }
    memcpy(queries->positions, all.places, made * sizeof *all.places);
    free_arrivals(next);
    free(all.places);
    *next = (arrivals){made, all.codes, NULL};
}

/* Call by call as many of the oldest entries go as new ones come. */
static void slide_window(bench_queries *queries, const bench_data *data)
{
    const uint64_t count = queries->count;
    queries->highs = bench_memory(count, data->key_size);
    memcpy(queries->highs, data->sorted_keys, count * data->key_size);
    queries->after_entries -= count;
    queries->after_changed += count;
    memmove(queries->after_keys, (char *)queries->after_keys + count * data->key_size,
            queries->after_entries * data->key_size);
    memmove(queries->after_values, (char *)queries->after_values + count * data->value_size,
            queries->after_entries * data->value_size);
}

/* The keys that the distribution or a pattern gives next, without those that are there already. */
static bool make_insert_new(bench_queries *queries, const bench_data *data, const bench_op *op,
                            const bench_options *options)
{
    const uint64_t count = queries->count;
    const uint64_t distinct = data->duplicates ? (count + BENCH_EQUALS - 1) / BENCH_EQUALS : count;
    bool made = false;
    for (uint64_t more = 16; more > 0 && !made; more /= 4) {
        arrivals next = next_arrivals(data, op, options, distinct + distinct / more + 1024);
        uint64_t *numbers = bench_memory(next.count, sizeof *numbers);
        made = number_new_keys(data, &next, numbers) >= distinct;
        if (made) {
            queries->count = distinct;
            take_new_keys(queries, data, &next, numbers);
            queries->count = count;
            if (data->duplicates) repeat_keys(queries, data, &next, distinct);
            merge_after(queries, data, next.codes, queries->positions, count);
            if (op->code == BENCH_WINDOW) slide_window(queries, data);
        }
        free(numbers);
        free_arrivals(&next);
    }
    if (!made) cli_note("bench", "%s: the keys leave no room for so many new ones there", op->name);
    return made;
}

/* ---- mixed batches ---- */

typedef struct mixing {
    bench_queries *queries;
    const bench_data *data;
    uint64_t salt;
    bool updates;
    uint64_t *codes;
} mixing;

static void mix(void *argument, uint64_t first, uint64_t last)
{
    const mixing *m = argument;
    for (uint64_t i = first; i < last; i++) {
        bool upsert = workload_hash(i ^ m->salt) & 1;
        m->queries->operations[i] = upsert ? COPSE_OP_UPSERT : COPSE_OP_FIND;
        if (!upsert || m->updates) m->codes[i] = m->data->codes[m->queries->positions[i]];
    }
}

/* Half finds of entries, half upserts: of the same entries, or of the keys that the distribution gives next. */
static void draw_mixed(bench_queries *queries, const bench_data *data, const bench_op *op, const bench_options *options,
                       uint64_t *codes)
{
    workload_stream stream = data->stream;
    bench_draw_positions(queries, data, options, data->entries, op->span);
    workload_stream_codes(&stream, codes, queries->count);
    mixing m = {queries, data, options->seed << 40, op->code == BENCH_MIXED_UPDATE, codes};
    workload_parallel(queries->count, WORKLOAD_PIECE, mix, &m);
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

bool bench_changes_make(bench_queries *queries, const bench_data *data, const bench_op *op,
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
    if (bench_op_inserts_new(op)) return make_insert_new(queries, data, op, options);
    if (bench_op_mixes(op)) {
        make_mixed(queries, data, op, options);
        return true;
    }
    bench_draw_positions(queries, data, options, data->entries, op->span);
    if (!bench_draw_points(queries, data, op, options)) return false;
    make_update(queries, data);
    return true;
}
