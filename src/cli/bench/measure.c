/* One operation, all contestants in turn: prepare, time, check. */
#define _DEFAULT_SOURCE
#include "cli/bench/bench.h"

#include "api/placement.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_WALKED    (UINT64_C(1) << 25) /* entries that count, sum and the like may walk in one measurement */
#define FEW_CALLS      1024u
#define FEW_OPERATIONS 8u /* of a batch whose calls are not timed each */

typedef struct measurement {
    bench_group *group;
    const bench_queries *queries;
    uint64_t count; /* queries in use */
    bench_layout layout;
    char path[512];
} measurement;

/* ---- the timed loop ---- */

static uint64_t batch_size(const measurement *m, const bench_result *result)
{
    return m->group->batch ? m->group->batch : result->queries;
}

static void *element(void *array, uint64_t i, size_t size)
{
    return array ? (char *)array + i * size : NULL;
}

/* The call for `n` queries from `first` on, the k-th call of its measurement. */
static bench_call make_call(const measurement *m, const bench_result *result, uint64_t first, uint64_t n, uint64_t k)
{
    const bench_group *group = m->group;
    const bench_data *data = group->data;
    void *const *at = result->arrays.at;
    bool rows = group->op->code == BENCH_RANGE;
    uint64_t place = rows ? first * m->queries->lengths[0] : first;
    bench_call call = {.op = group->op, .n = n, .key_size = data->key_size, .value_size = data->value_size};
    call.keys = element(at[BENCH_IN_KEYS], first, data->key_size);
    call.highs = element(at[BENCH_IN_HIGHS], first, data->key_size);
    call.values = element(at[BENCH_IN_VALUES], first, data->value_size);
    call.operations = element(at[BENCH_IN_OPERATIONS], first, 1);
    call.out_keys = element(at[BENCH_OUT_KEYS], place, data->key_size);
    call.out_values = element(at[BENCH_OUT_VALUES], place, data->value_size);
    call.out_found = element(at[BENCH_OUT_FOUND], first, 1);
    call.out_words = element(at[BENCH_OUT_WORDS], first + (rows ? k : 0), sizeof(uint64_t));
    call.capacity = rows ? n * m->queries->lengths[0] : m->layout.capacity;
    call.path = m->path;
    return call;
}

/* A look at Ctrl-C before calls that take their time; before short ones it would be felt, and one in many is soon enough. */
static bool stops_before(uint64_t call, uint64_t batch)
{
    return (batch >= FEW_CALLS || call % FEW_CALLS == 0) && cli_interrupted();
}

/* Upserts random entries with what they have, so that the next call comes right after an update. *out_seconds: what that took. */
static bool upsert_some(const measurement *m, bench_result *result, void **store, uint64_t turn, double *out_seconds)
{
    static const bench_op fill = {BENCH_FILL, BENCH_KIND_BUILD, 0, "fill"};
    const bench_data *data = m->group->data;
    const uint64_t n = m->group->options->after;
    const double begun = cli_clock();
    char *keys = bench_memory(n, data->key_size), *values = bench_memory(n, data->value_size);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = workload_hash(turn << 32 ^ i) % data->entries;
        memcpy(keys + i * data->key_size, element(data->sorted_keys, at, data->key_size), data->key_size);
        memcpy(values + i * data->value_size, element(data->sorted_values, at, data->value_size), data->value_size);
    }
    bench_call call = {.op = &fill, .n = n, .keys = keys, .values = values};
    const bool done = bench_store_call(result->target, store, &call);
    free(keys);
    free(values);
    *out_seconds = cli_clock() - begun;
    return done;
}

static bool timed_calls(const measurement *m, bench_result *result, void **store, double *out_seconds,
                        uint64_t *out_changed)
{
    uint64_t count = result->queries;
    uint64_t batch = batch_size(m, result);
    uint64_t changed = 0;
    uint64_t k = 0;
    uint64_t timed_before = result->timed_calls;
    double *each = result->call_seconds;
    double begun = cli_clock();
    double before = begun;
    double pauses = 0;
    const bool updates = m->group->options->after && m->group->data->entries &&
                         (m->group->op->kind == BENCH_KIND_POINT || m->group->op->kind == BENCH_KIND_RANGE);
    for (uint64_t first = 0; first < count; first += batch) {
        double pause = 0;
        if (updates && !upsert_some(m, result, store, result->runs * count + first, &pause)) return false;
        pauses += pause;
        bench_call call = make_call(m, result, first, batch < count - first ? batch : count - first, k++);
        if (stops_before(k, batch) || !bench_store_call(result->target, store, &call)) {
            result->timed_calls = timed_before;
            return false;
        }
        changed += call.changed;
        if (!each) continue;
        double now = cli_clock();
        each[result->timed_calls++] = now - before;
        before = now;
    }
    *out_seconds = cli_clock() - begun - pauses;
    *out_changed = changed;
    return true;
}

/* ---- one turn ---- */

static void note_store(bench_result *result, const void *store)
{
    result->entries = bench_store_size(result->target, store);
    bench_store_bytes(result->target, store, &result->bytes, &result->aggregate_bytes);
    if (!result->target->peer) result->card_share = copse_hybrid_share(store);
}

static bool turn_build(measurement *m, bench_result *result, double *out_seconds)
{
    const bench_data *data = m->group->data;
    bool sorted = m->group->op->code == BENCH_BUILD_SORTED;
    void *const *at = result->arrays.at;
    void *store = NULL;
    bool done = bench_store_make(result->target, data, &store);
    if (done) {
        double begun = cli_clock();
        done =
            bench_store_build(result->target, store, at[BENCH_IN_KEYS], at[BENCH_IN_VALUES], result->queries, sorted);
        *out_seconds = cli_clock() - begun;
    }
    if (done) {
        note_store(result, store);
        result->wrong +=
            bench_check_store(result->target, store, data, data->sorted_keys, data->sorted_values, data->entries);
    }
    bench_store_free(result->target, store);
    return done;
}

/* Pairs per insert of an index that is made by inserts. */
static uint64_t grown_by(const bench_options *options, const bench_data *data)
{
    return options->grown < data->n ? options->grown : data->n;
}

static bool grow_store(const bench_target *target, const bench_data *data, uint64_t step, void **store)
{
    static const bench_op fill = {BENCH_FILL, BENCH_KIND_BUILD, 0, "fill"};
    for (uint64_t first = 0; first < data->n; first += step) {
        bench_call call = {.op = &fill, .n = step < data->n - first ? step : data->n - first};
        call.keys = element(data->keys, first, data->key_size);
        call.values = element(data->values, first, data->value_size);
        if (cli_interrupted() || !bench_store_call(target, store, &call)) return false;
    }
    return true;
}

/* An index over the whole data set, made from host memory: the fast way, or as it would have grown. */
static bool fresh_store(const bench_target *target, const bench_options *options, const bench_data *data,
                        void **out_store)
{
    if (!bench_store_make(target, data, out_store)) return false;
    bool grown = options->grown > 0 && (!target->peer || target->peer->insert);
    if (grown) return grow_store(target, data, grown_by(options, data), out_store);
    return bench_store_build(target, *out_store, data->sorted_keys, data->sorted_values, data->entries, true);
}

/* All pairs, in the order of arrival, into an empty index. An index that has grown as --grown says serves the reads that
 * come after: a container that takes minutes to grow then does so once. */
static bool turn_fill(measurement *m, bench_result *result, bench_target *target, double *out_seconds)
{
    const bench_options *options = m->group->options;
    const bench_data *data = m->group->data;
    void *store = NULL;
    uint64_t changed = 0;
    bool done = bench_store_make(target, data, &store) && timed_calls(m, result, &store, out_seconds, &changed);
    if (done) {
        note_store(result, store);
        result->wrong += changed != data->entries;
        result->wrong += bench_check_store(target, store, data, data->sorted_keys, data->sorted_values, data->entries);
    }
    uint64_t step = m->group->batch && m->group->batch < data->n ? m->group->batch : data->n;
    bench_target *keeper = target->first;
    if (done && options->grown > 0 && step == grown_by(options, data) && keeper->store == NULL) {
        keeper->store = store;
    } else {
        bench_store_free(target, store);
    }
    return done;
}

static bool turn_change(measurement *m, bench_result *result, double *out_seconds)
{
    const bench_data *data = m->group->data;
    const bench_queries *queries = m->queries;
    void *store = NULL;
    uint64_t changed = 0;
    bench_outputs outputs;
    bool done = fresh_store(result->target, m->group->options, data, &store) && bench_arrays_poison(&result->arrays) &&
                timed_calls(m, result, &store, out_seconds, &changed) && bench_arrays_read(&result->arrays, &outputs);
    if (done) {
        note_store(result, store);
        if (bench_op_mixes(m->group->op)) {
            result->wrong += bench_check_answers(m->group->data, m->group->op, queries, &outputs, result->queries,
                                                 batch_size(m, result));
        }
        result->wrong += changed != queries->after_changed;
        if (m->group->op->code == BENCH_ERASE) {
            result->wrong += bench_check_gone(result->target, store, data, queries->keys, queries->count);
        }
        result->wrong += bench_check_store(result->target, store, data, queries->after_keys, queries->after_values,
                                           queries->after_entries);
    }
    bench_store_free(result->target, store);
    return done;
}

/* Sums and extremes are prepared by the first call that needs them; that is told apart from the rate. */
static bool prepare_aggregates(const measurement *m, bench_result *result, void **store)
{
    bench_call call = make_call(m, result, 0, 1, 0);
    double begun = cli_clock();
    if (!bench_store_call(result->target, store, &call)) return false;
    result->prepare_seconds = cli_clock() - begun;
    return true;
}

static bool turn_read(measurement *m, bench_result *result, void **store, double *out_seconds)
{
    const bench_op *op = m->group->op;
    uint64_t unused = 0;
    bench_outputs outputs;
    bool first = result->runs == 0 && !result->target->peer;
    if (first && bench_op_aggregates(op) && !prepare_aggregates(m, result, store)) return false;
    if (!bench_arrays_poison(&result->arrays)) return false;
    if (!timed_calls(m, result, store, out_seconds, &unused)) return false;
    if (!bench_arrays_read(&result->arrays, &outputs)) return false;
    note_store(result, *store);
    result->wrong +=
        bench_check_answers(m->group->data, op, m->queries, &outputs, result->queries, batch_size(m, result));
    return true;
}

/* ---- passes over everything ---- */

static bool name_file(measurement *m)
{
    const char *folder = getenv("TMPDIR");
    if (m->path[0]) return true;
    snprintf(m->path, sizeof m->path, "%s/copse-bench-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(m->path);
    if (file < 0) {
        cli_fail("bench", "no temporary file %s can be made", m->path);
        m->path[0] = '\0';
        return false;
    }
    close(file);
    cli_interrupts_remove(m->path);
    return true;
}

static uint64_t check_fold(const bench_data *data, const bench_outputs *outputs)
{
    uint64_t keys = 0;
    uint64_t values = 0;
    for (uint64_t i = 0; i < data->entries; i++) {
        keys ^= bench_word(data->sorted_keys, data->key_size, i);
        values += bench_word(data->sorted_values, data->value_size, i);
    }
    return (outputs->words[0] != keys) + (outputs->words[1] != values);
}

typedef struct copied {
    const bench_data *data;
    const bench_outputs *outputs;
} copied;

static uint64_t check_copied(const void *argument, uint64_t first, uint64_t last)
{
    const bench_data *data = ((const copied *)argument)->data;
    const bench_outputs *outputs = ((const copied *)argument)->outputs;
    uint64_t wrong = 0;
    for (uint64_t i = first; i < last; i++) {
        wrong +=
            bench_word(outputs->keys, data->key_size, i) != bench_word(data->sorted_keys, data->key_size, i) ||
            bench_word(outputs->values, data->value_size, i) != bench_word(data->sorted_values, data->value_size, i);
    }
    return wrong;
}

static uint64_t check_copy(const bench_data *data, const bench_outputs *outputs)
{
    return workload_count(data->entries, check_copied, &(copied){data, outputs});
}

/* A lookup of the entry in the middle, which is the first that an open file is asked. */
static bool first_lookup(const measurement *m, bench_result *result, const void *store)
{
    const bench_data *data = m->group->data;
    const uint64_t middle = data->entries / 2;
    uint64_t value = 0;
    uint8_t found = 0;
    bool asked;
    if (data->entries == 0) return true;
    if (!bench_store_find(result->target, store, element(data->sorted_keys, middle, data->key_size), 1, &value, &found,
                          &asked))
        return false;
    result->wrong +=
        !found || bench_word(&value, data->value_size, 0) != bench_word(data->sorted_values, data->value_size, middle);
    return true;
}

/* The file is read back, whichever of save, load and open was timed. */
static bool turn_file(measurement *m, bench_result *result, void *store, double *out_seconds)
{
    static const bench_op save = {BENCH_SAVE, BENCH_KIND_PASS, 0, "save"};
    static const bench_op load = {BENCH_LOAD, BENCH_KIND_PASS, 0, "load"};
    const bool saving = m->group->op->code == BENCH_SAVE, opening = m->group->op->code == BENCH_OPEN;
    const bench_data *data = m->group->data;
    bench_call call = make_call(m, result, 0, 1, 0);
    void *loaded = store;
    if (!name_file(m)) return false;
    call.path = m->path;
    double begun = cli_clock();
    call.op = &save;
    if (!bench_store_call(result->target, &store, &call)) return false;
    double saved = cli_clock();
    call.op = saving ? &load : m->group->op;
    if (!bench_store_call(result->target, &loaded, &call)) return false;
    if (opening && !first_lookup(m, result, loaded)) return false;
    *out_seconds = saving ? saved - begun : cli_clock() - saved;
    result->wrong +=
        bench_check_store(result->target, loaded, data, data->sorted_keys, data->sorted_values, data->entries);
    bench_store_free(result->target, loaded);
    return true;
}

/* The sum shows what a map has done; then it is taken back. */
static bool check_map(measurement *m, bench_result *result, void **store)
{
    static const bench_op sums = {BENCH_VISIT_SUM, BENCH_KIND_PASS, 0, "visit-sum"};
    bench_call sum = make_call(m, result, 0, 1, 0), back = sum;
    sum.op = &sums;
    back.n = 2;
    if (!bench_store_call(result->target, store, &sum)) return false;
    result->wrong += bench_check_visits(m->group->data, &sums, 1, sum.out_words);
    if (!bench_store_call(result->target, store, &back) || !bench_store_call(result->target, store, &sum)) return false;
    result->wrong += bench_check_visits(m->group->data, &sums, 0, sum.out_words);
    return true;
}

static bool turn_pass(measurement *m, bench_result *result, void **store, double *out_seconds)
{
    bench_code code = m->group->op->code;
    const bench_data *data = m->group->data;
    note_store(result, *store);
    if (code == BENCH_SAVE || code == BENCH_LOAD || code == BENCH_OPEN)
        return turn_file(m, result, *store, out_seconds);
    if (!bench_arrays_poison(&result->arrays)) return false;
    bench_call call = make_call(m, result, 0, 1, 0);
    double begun = cli_clock();
    if (!bench_store_call(result->target, store, &call)) return false;
    *out_seconds = cli_clock() - begun;
    bench_outputs outputs;
    if (code == BENCH_VISIT_MAP) return check_map(m, result, store);
    if (!bench_arrays_read(&result->arrays, &outputs)) return false;
    if (bench_op_visits(m->group->op)) {
        result->wrong += bench_check_visits(data, m->group->op, 0, outputs.words);
        return true;
    }
    result->wrong += code == BENCH_EXPORT ? check_copy(data, &outputs) : check_fold(data, &outputs);
    if (code == BENCH_VISIT) result->wrong += bench_check_visit(result->target, *store, data);
    return true;
}

/* ---- all turns ---- */

/* Reads share one index per contestant, and one container among the contestants of a peer. */
static void **shared_store(const measurement *m, bench_target *target)
{
    bench_target *keeper = target->first;
    if (keeper->store != NULL) return &keeper->store;
    void *store = NULL;
    if (fresh_store(keeper, m->group->options, m->group->data, &store)) {
        keeper->store = store;
        return &keeper->store;
    }
    bench_store_free(keeper, store);
    return NULL;
}

static bool take_turn(measurement *m, bench_result *result, bench_target *target)
{
    bench_kind kind = m->group->op->kind;
    double *seconds = &result->seconds[result->runs];
    bool done = false;
    if (m->group->op->code == BENCH_FILL) {
        done = turn_fill(m, result, target, seconds);
    } else if (kind == BENCH_KIND_BUILD) {
        done = turn_build(m, result, seconds);
    } else if (kind == BENCH_KIND_CHANGE) {
        done = turn_change(m, result, seconds);
    } else {
        void **store = shared_store(m, target);
        if (store == NULL) return false;
        done = kind == BENCH_KIND_PASS ? turn_pass(m, result, store, seconds) : turn_read(m, result, store, seconds);
    }
    result->runs += done;
    return done;
}

/* Whether a count or an aggregate of any width looks at every entry of the range. */
static bool walks(const bench_target *target, const bench_data *data, const bench_op *op)
{
    if (op->kind != BENCH_KIND_RANGE || op->span != 0) return false;
    const bool counts = op->code == BENCH_COUNT;
    if (target->peer) return counts ? !target->peer->counts_by_rank : op->code == BENCH_SUM;
    return !copse_supports(target->structure, target->placement, data->key_type,
                           counts ? COPSE_CAN_RANK : COPSE_CAN_AGGREGATE);
}

/* How many operations a contestant does in one turn. A tree that has to walk its entries is given as many ranges as it
 * can walk in reasonable time; the rate stays comparable. */
static uint64_t operations(const measurement *m, const bench_target *target)
{
    const bench_op *op = m->group->op;
    const bench_data *data = m->group->data;
    if (op->code == BENCH_BUILD || op->code == BENCH_FILL) return data->n;
    if (op->kind == BENCH_KIND_BUILD || op->kind == BENCH_KIND_PASS) return data->entries;
    bool reads = op->kind == BENCH_KIND_POINT || op->kind == BENCH_KIND_RANGE;
    uint64_t most = target->peer && reads ? m->group->options->peer_queries : 0;
    if (!walks(target, data, op)) return most > 0 && most < m->count ? most : m->count;
    uint64_t walked = 0;
    uint64_t count = 0;
    while (count < m->count && (count == 0 || walked < MOST_WALKED)) walked += m->queries->lengths[count++];
    return count;
}

/* The calls of updates are timed each, since a tree that reorganizes itself now and then has slow ones among the fast.
 * Where a call takes less than a microsecond the clock would be felt. */
static double *memory_for_calls(const measurement *m, const bench_result *result)
{
    uint64_t batch = batch_size(m, result);
    if (!bench_op_updates(m->group->op) || batch < FEW_OPERATIONS) return NULL;
    uint64_t calls = (result->queries + batch - 1) / batch;
    return bench_memory(calls * m->group->options->repeat, sizeof(double));
}

static void choose_contestants(measurement *m, bench_targets *targets)
{
    bench_group *group = m->group;
    bool reads =
        group->op->kind == BENCH_KIND_POINT || group->op->kind == BENCH_KIND_RANGE || bench_op_visits(group->op);
    group->result = bench_memory(targets->count, sizeof *group->result);
    group->count = 0;
    for (size_t i = 0; i < targets->count; i++) {
        bench_target *target = &targets->target[i];
        if (target->peer && (!bench_peer_can(target->peer, group->op) || (!reads && target->first != target))) continue;
        if (bench_op_visits(group->op) &&
            (group->data->value_type == COPSE_F32 || group->data->value_type == COPSE_F64)) {
            cli_note("bench", "%s takes integer values only", group->op->name);
            continue;
        }
        if (bench_op_mixes(group->op) && !bench_store_mixes(target, group->data)) continue;
        if (group->op->code == BENCH_RANK && !target->peer &&
            !copse_supports(target->structure, target->placement, group->data->key_type, COPSE_CAN_RANK))
            continue;
        bench_result *result = &group->result[group->count++];
        memset(result, 0, sizeof *result);
        result->target = target;
        result->threads = target->peer && !reads ? 1 : target->threads;
        result->queries = operations(m, target);
        result->seconds = bench_memory(group->options->repeat, sizeof *result->seconds);
        result->call_seconds = memory_for_calls(m, result);
    }
}

static void show_progress(bench_progress *progress, const bench_group *group, const bench_target *target)
{
    char what[64];
    snprintf(what, sizeof what, "%s %s", group->op->name, target->name);
    cli_progress_show(&progress->bar, what, progress->done++, progress->total);
}

static bool make_arrays(const measurement *m)
{
    const bench_group *group = m->group;
    for (size_t i = 0; i < group->count; i++) {
        bench_result *result = &group->result[i];
        if (!bench_arrays_make(&result->arrays, &m->layout, result->target, group->op)) return false;
    }
    return true;
}

static void free_measurement(measurement *m)
{
    for (size_t i = 0; i < m->group->count; i++) bench_arrays_free(&m->group->result[i].arrays);
    bench_layout_free(&m->layout);
    cli_interrupts_remove(NULL);
    if (m->path[0]) unlink(m->path);
}

/* What a change leaves behind is known for all of its queries together, so that --calls cannot cut it short. */
static uint64_t queries_in_use(const bench_group *group, const bench_queries *queries)
{
    uint64_t calls = group->op->kind == BENCH_KIND_CHANGE ? 0 : group->options->calls;
    bool cut = calls > 0 && group->batch > 0 && queries->count / group->batch > calls;
    return cut ? calls * group->batch : queries->count;
}

int bench_measure(bench_group *group, bench_targets *targets, const bench_queries *queries, bench_progress *progress)
{
    measurement m = {.group = group, .queries = queries, .count = queries_in_use(group, queries)};
    choose_contestants(&m, targets);
    bench_layout_make(&m.layout, group->data, group->op, queries, m.count, group->batch ? group->batch : m.count);
    int code = make_arrays(&m) ? CLI_OK : CLI_FAILED;
    for (uint64_t r = 0; r < group->options->repeat && code == CLI_OK; r++) {
        for (size_t i = 0; i < group->count && code == CLI_OK; i++) {
            bench_result *result = &group->result[i];
            bench_target *target = &targets->target[result->target - targets->target];
            show_progress(progress, group, target);
            if (!take_turn(&m, result, target)) code = CLI_FAILED;
            if (cli_interrupted()) code = CLI_INTERRUPTED; /* the turns that were complete count */
        }
    }
    free_measurement(&m);
    return code;
}

void bench_group_free(bench_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        free(group->result[i].seconds);
        free(group->result[i].call_seconds);
    }
    free(group->result);
    group->result = NULL;
    group->count = 0;
}
