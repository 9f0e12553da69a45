/* The calls that are timed, and those around them, on an index of copse or on a peer's container. */
#include "device/device.h"
#include "api/placement.h"
#include "cli/bench/bench.h"

#include <string.h>

static bool report(const bench_target *target, copse_status status)
{
    if (status == COPSE_OK) return true;
    if (status == COPSE_ERR_CANCELLED) return false; /* Ctrl-C, which is reported once */
    cli_fail("bench", "%s: %s", target->name, copse_last_error(target->ctx));
    return false;
}

static bool out_of_memory(const bench_target *target)
{
    cli_fail("bench", "%s: out of memory; try a smaller --n", target->name);
    return false;
}

bool bench_store_make(const bench_target *target, const bench_data *data, void **out_store)
{
    *out_store = NULL;
    if (target->peer) {
        *out_store = target->peer->create();
        return *out_store != NULL || out_of_memory(target);
    }
    copse_index_options wish = COPSE_INDEX_OPTIONS_INIT;
    wish.key_type = data->key_type;
    wish.value_type = data->value_type;
    wish.structure = target->structure;
    wish.placement = target->placement;
    wish.duplicates = data->duplicates;
    wish.schedule = (uint32_t)target->schedule;
    wish.bucket = target->bucket;
    wish.leaf_memory = target->leaf_memory;
    wish.page_order = target->page_order;
    copse_index *index = NULL;
    copse_status status = copse_index_create(target->ctx, &wish, &index);
    *out_store = index;
    return report(target, status);
}

bool bench_store_build(const bench_target *target, void *store, const void *keys, const void *values, uint64_t n,
                       bool sorted)
{
    if (target->peer) return target->peer->build(store, keys, values, n, sorted) || out_of_memory(target);
    return report(target, copse_build(store, keys, values, n));
}

/* ---- copse ---- */

typedef struct fold {
    size_t key_size;
    size_t value_size;
    uint64_t keys;
    uint64_t values;
} fold;

/* The work of the peers' visit: exclusive or of the keys, sum of the values. */
static int fold_entries(void *user, const void *keys, const void *values, uint64_t n)
{
    fold *sum = user;
    if (sum->key_size == 4) {
        for (uint64_t i = 0; i < n; i++) sum->keys ^= ((const uint32_t *)keys)[i];
    } else {
        for (uint64_t i = 0; i < n; i++) sum->keys ^= ((const uint64_t *)keys)[i];
    }
    if (sum->value_size == 4) {
        for (uint64_t i = 0; i < n; i++) sum->values += ((const uint32_t *)values)[i];
    } else {
        for (uint64_t i = 0; i < n; i++) sum->values += ((const uint64_t *)values)[i];
    }
    return 0;
}

static copse_status visit_copse(const copse_index *index, const bench_call *call)
{
    copse_stats stats = {.struct_size = sizeof stats};
    copse_status status = copse_index_stats(index, &stats);
    if (status != COPSE_OK) return status;
    fold sum = {copse_type_size(stats.key_type), copse_type_size(stats.value_type), 0, 0};
    status = copse_visit(index, fold_entries, &sum);
    call->out_words[0] = sum.keys;
    call->out_words[1] = sum.values;
    return status;
}

static copse_status point_copse(const copse_index *index, const bench_call *c)
{
    switch (c->op->code) {
    case BENCH_CONTAINS:
        return copse_contains(index, c->keys, c->n, c->out_found);
    case BENCH_LOWER_BOUND:
        return copse_lower_bound(index, c->keys, c->n, c->out_keys, c->out_values, c->out_found, NULL);
    case BENCH_RANK:
        return copse_lower_bound(index, c->keys, c->n, NULL, NULL, NULL, c->out_words);
    case BENCH_SUCCESSOR:
        return copse_successor(index, c->keys, c->n, c->out_keys, c->out_values, c->out_found);
    case BENCH_PREDECESSOR:
        return copse_predecessor(index, c->keys, c->n, c->out_keys, c->out_values, c->out_found);
    default:
        return copse_find(index, c->keys, c->n, c->out_values, c->out_found);
    }
}

static copse_status range_copse(const copse_index *index, const bench_call *c)
{
    switch (c->op->code) {
    case BENCH_RANGE:
        return copse_range(
            index,
            &(copse_ranges){
                .struct_size = sizeof(copse_ranges), .lows = c->keys, .highs = c->highs, .n = c->n, .limit = 0},
            &(copse_rows){.struct_size = sizeof(copse_rows),
                          .offsets = c->out_words,
                          .keys = c->out_keys,
                          .values = c->out_values,
                          .capacity = c->capacity});
    case BENCH_COUNT:
        return copse_count(index, &(copse_ranges)COPSE_BETWEEN(c->keys, c->highs, c->n), c->out_words);
    case BENCH_SUM:
        return copse_sum(index, &(copse_ranges)COPSE_BETWEEN(c->keys, c->highs, c->n), c->out_words);
    case BENCH_MIN:
        return copse_min(index, &(copse_ranges)COPSE_BETWEEN(c->keys, c->highs, c->n), c->out_values, c->out_found);
    case BENCH_MAX:
        return copse_max(index, &(copse_ranges)COPSE_BETWEEN(c->keys, c->highs, c->n), c->out_values, c->out_found);
    default:
        return copse_avg(index, &(copse_ranges)COPSE_BETWEEN(c->keys, c->highs, c->n), (double *)(void *)c->out_words);
    }
}

/* Makes *store of the file. Whatever tree is measured, an open file is read as it lies. */
static copse_status file_copse(const bench_target *target, void **store, const bench_call *c)
{
    copse_index *made = NULL;
    copse_index_options wish = COPSE_INDEX_OPTIONS_INIT;
    wish.key_type = wish.value_type = (copse_type)0; /* those of the file */
    wish.placement = target->placement;
    if (c->op->code == BENCH_LOAD) wish.structure = target->structure;
    copse_status status = c->op->code == BENCH_LOAD ? copse_load(target->ctx, c->path, &wish, &made)
                                                    : copse_open(target->ctx, c->path, &wish, &made);
    *store = made;
    return status;
}

/* New entries come, and as many of the oldest go. */
static copse_status slide_copse(copse_index *index, bench_call *c)
{
    const void *last = (const char *)c->highs + (c->n - 1) * c->key_size;
    uint64_t erased = 0;
    copse_status status = copse_insert(index, c->keys, c->values, c->n, COPSE_INSERT_UPSERT, &c->changed);
    if (status == COPSE_OK) status = copse_erase_range(index, &(copse_ranges)COPSE_BETWEEN(NULL, last, 1), &erased);
    c->changed += erased;
    return status;
}

static copse_status run_copse(const bench_target *target, void **store, bench_call *c)
{
    copse_index *index = *store;
    if (bench_op_inserts(c->op)) return copse_insert(index, c->keys, c->values, c->n, COPSE_INSERT_UPSERT, &c->changed);
    switch (c->op->code) {
    case BENCH_WINDOW:
        return slide_copse(index, c);
    case BENCH_ERASE:
        return copse_erase(index, c->keys, c->n, &c->changed);
    case BENCH_MIXED:
    case BENCH_MIXED_UPDATE: {
        uint64_t before = copse_size(index);
        copse_status status = copse_apply(index, c->operations, c->keys, c->values, c->n, c->out_values, c->out_found);
        c->changed = copse_size(index) - before;
        return status;
    }
    case BENCH_VISIT:
        return visit_copse(index, c);
    case BENCH_VISIT_SUM:
    case BENCH_VISIT_MAP:
    case BENCH_VISIT_FILTER:
    case BENCH_VISIT_HISTOGRAM:
    case BENCH_VISIT_TOP:
        return bench_visit_run(index, c);
    case BENCH_EXPORT:
        return copse_export(index, c->out_keys, c->out_values, c->capacity);
    case BENCH_SAVE:
        return copse_save(index, c->path);
    case BENCH_LOAD:
    case BENCH_OPEN:
        return file_copse(target, store, c);
    default:
        return c->op->kind == BENCH_KIND_POINT ? point_copse(index, c) : range_copse(index, c);
    }
}

/* The promise holds for the calls that are measured; the index itself was filled from host memory. */
static copse_status call_copse(const bench_target *target, void **store, bench_call *c)
{
    const bool pass = c->op->kind == BENCH_KIND_PASS && c->op->code != BENCH_EXPORT;
    target->ctx->device_arrays = target->memory == BENCH_PROMISED && !pass;
    if (*store) copse_tune_hybrid(*store, target->schedule, target->bucket, target->slower, target->refresh);
    copse_status status = run_copse(target, store, c);
    target->ctx->device_arrays = false;
    return status;
}

/* ---- peers ---- */

static void read_peer(const bench_peer *peer, const void *store, const bench_call *c)
{
    switch (c->op->code) {
    case BENCH_CONTAINS:
        peer->find(store, c->keys, c->n, NULL, c->out_found);
        break;
    case BENCH_LOWER_BOUND:
        peer->lower_bound(store, c->keys, c->n, c->out_keys, c->out_values, c->out_found);
        break;
    case BENCH_SUCCESSOR:
        peer->successor(store, c->keys, c->n, c->out_keys, c->out_values, c->out_found);
        break;
    case BENCH_PREDECESSOR:
        peer->predecessor(store, c->keys, c->n, c->out_keys, c->out_values, c->out_found);
        break;
    case BENCH_RANGE:
        peer->range(store, c->keys, c->highs, c->n, c->range_start, c->out_words, c->out_keys, c->out_values);
        break;
    case BENCH_COUNT:
        peer->count(store, c->keys, c->highs, c->n, c->out_words);
        break;
    case BENCH_SUM:
        peer->sum(store, c->keys, c->highs, c->n, c->out_words);
        break;
    default:
        peer->find(store, c->keys, c->n, c->out_values, c->out_found);
        break;
    }
}

static const void *input_at(const void *array, uint64_t elements, size_t size)
{
    return array ? (const char *)array + elements * size : NULL;
}

static void *output_at(void *array, uint64_t elements, size_t size)
{
    return array ? (char *)array + elements * size : NULL;
}

/* The part of a read that starts at query `first`. Ranges all hold equally many entries, so that the place of a part in
 * the output is known beforehand. */
static bench_call part_of(const bench_call *whole, uint64_t first, uint64_t n)
{
    bench_call part = *whole;
    part.n = n;
    part.keys = input_at(whole->keys, first, whole->key_size);
    part.highs = input_at(whole->highs, first, whole->key_size);
    if (whole->op->code == BENCH_RANGE) {
        part.range_start = first * (whole->capacity / whole->n);
        part.out_words = whole->out_words + first + 1;
        return part;
    }
    part.out_keys = output_at(whole->out_keys, first, whole->key_size);
    part.out_values = output_at(whole->out_values, first, whole->value_size);
    part.out_found = output_at(whole->out_found, first, 1);
    part.out_words = output_at(whole->out_words, first, sizeof(uint64_t));
    return part;
}

typedef struct peer_read {
    const bench_peer *peer;
    const void *store;
    const bench_call *whole;
} peer_read;

static void read_peer_chunk(void *argument, uint64_t first, uint64_t last)
{
    const peer_read *r = argument;
    bench_call part = part_of(r->whole, first, last - first);
    read_peer(r->peer, r->store, &part);
}

/* The containers know nothing of threads, but may be read by several. */
static void read_peer_in_parallel(const bench_target *target, const void *store, const bench_call *c)
{
    peer_read r = {target->peer, store, c};
    if (c->op->code == BENCH_RANGE) c->out_words[0] = 0;
    if (c->n == 0) return;
    if (target->threads == 1 || target->device) {
        read_peer_chunk(&r, 0, c->n);
        return;
    }
    uint64_t share = (c->n + target->threads - 1) / target->threads;
    workload_parallel_on(target->threads, c->n, share, read_peer_chunk, &r);
}

static bool call_peer(const bench_target *target, void *store, bench_call *c)
{
    const bench_peer *peer = target->peer;
    if (bench_op_inserts(c->op))
        return peer->insert(store, c->keys, c->values, c->n, &c->changed) || out_of_memory(target);
    switch (c->op->code) {
    case BENCH_ERASE:
        c->changed = peer->erase(store, c->keys, c->n);
        return true;
    case BENCH_VISIT_SUM:
        peer->pass(store, BENCH_PASS_SUM, target->threads, &c->out_words[0]);
        c->out_words[1] = peer->size(store);
        return true;
    case BENCH_VISIT_MAP: {
        uint64_t none;
        peer->pass(store, c->n == 1 ? BENCH_PASS_ADD : BENCH_PASS_SUBTRACT, target->threads, &none);
        return true;
    }
    case BENCH_VISIT:
        peer->visit(store, &c->out_words[0], &c->out_words[1]);
        return true;
    case BENCH_EXPORT:
        peer->copy(store, c->out_keys, c->out_values);
        return true;
    default:
        read_peer_in_parallel(target, store, c);
        return true;
    }
}

/* ---- both ---- */

bool bench_store_call(const bench_target *target, void **store, bench_call *call)
{
    if (target->peer) return call_peer(target, *store, call);
    return report(target, call_copse(target, store, call));
}

bool bench_store_copy(const bench_target *target, void *store, void *out_keys, void *out_values, uint64_t capacity)
{
    if (!target->peer) return report(target, copse_export(store, out_keys, out_values, capacity));
    target->peer->copy(store, out_keys, out_values);
    return true;
}

bool bench_store_verify(const bench_target *target, void *store)
{
    return target->peer || report(target, copse_verify(store));
}

bool bench_store_find(const bench_target *target, const void *store, const void *keys, uint64_t n, void *out_values,
                      uint8_t *out_found, bool *out_asked)
{
    const bench_peer *peer = target->peer;
    *out_asked = !peer || (peer->find && !peer->on_device);
    if (!peer) return report(target, copse_find(store, keys, n, out_values, out_found));
    if (*out_asked) peer->find(store, keys, n, out_values, out_found);
    return true;
}

bool bench_store_mixes(const bench_target *target, const bench_data *data)
{
    static const uint64_t key = 0;
    static const uint8_t find = COPSE_OP_FIND;
    void *store = NULL;
    if (target->peer || !bench_store_make(target, data, &store)) return false;
    copse_status status = copse_apply(store, &find, &key, NULL, 1, NULL, NULL);
    if (status != COPSE_OK) cli_note("bench", "%s", copse_last_error(target->ctx));
    bench_store_free(target, store);
    return status == COPSE_OK;
}

uint64_t bench_store_size(const bench_target *target, const void *store)
{
    return target->peer ? target->peer->size(store) : copse_size(store);
}

void bench_store_bytes(const bench_target *target, const void *store, uint64_t *out_bytes, uint64_t *out_aggregate)
{
    copse_stats stats = {.struct_size = sizeof stats};
    *out_bytes = 0;
    *out_aggregate = 0;
    if (target->peer) {
        *out_bytes = target->peer->bytes(store);
    } else if (copse_index_stats(store, &stats) == COPSE_OK) {
        *out_bytes = stats.bytes;
        *out_aggregate = stats.aggregate_bytes;
    }
}

void bench_store_free(const bench_target *target, void *store)
{
    if (store == NULL) return;
    if (target->peer) {
        target->peer->destroy(store);
    } else {
        copse_index_free(store);
    }
}
