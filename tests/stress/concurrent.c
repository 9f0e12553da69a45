/* Concurrent readers. One thread changes an index in batches of all sizes, while others read it through views, each
 * with a context of its own. Some keys stay for the whole round, others come and go; truth.h says what a reader may see
 * of them. The writer's own answers and what is left in the end must be exact. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "trees/blink/update/strategies.h"
#include "reader.h"

#define MOST_READERS 16u
/* Key positions that the batches of a round hold in all, and how many batches there are at most. */
#define EMULATED_WORK 16000
#define GPU_WORK      4000000
#define MOST_BATCHES  200u

struct writer {
    const struct stress_round *round;
    struct stress_result *result;
    struct random_source random;
    struct truth truth;
    copse_ctx *ctx;
    copse_index *index;
    pthread_rwlock_t lock;
    atomic_bool stop;
    unsigned size_bits;
    uint64_t work;     /* left */
    uint64_t wave;     /* where the ascending pattern goes on */
    uint8_t *touched;  /* by the batch that runs */
    uint64_t *changed; /* the positions of those */
    uint64_t changed_n;
    unsigned readers_n;
    struct reader readers[MOST_READERS];
    pthread_t threads[MOST_READERS];
    copse_index *views[MOST_READERS];
    /* a frozen handle and what it holds */
    copse_ctx *frozen_ctx;
    copse_index *frozen;
    struct truth_moment *kept;
};

/* A batch as the library takes it, and the answers that it must give. */
struct batch {
    uint64_t n;
    uint64_t *positions;
    uint8_t *operations;
    void *keys;
    void *values;
    uint8_t *was_there;
    uint64_t *old_bits;
    uint64_t before; /* entries before and after it */
    uint64_t after;
};

__attribute__((format(printf, 3, 4))) static bool fail(struct writer *writer, const char *where, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(writer->result->why, sizeof writer->result->why, format, arguments);
    va_end(arguments);
    (void)snprintf(writer->result->where, sizeof writer->result->where, "%s", where);
    return false;
}

static bool fail_status(struct writer *writer, const char *where, const copse_ctx *ctx, copse_status status)
{
    return fail(writer, where, "returned %s: %s", copse_status_name(status), copse_last_error(ctx));
}

/* --- contexts --------------------------------------------------------------------------------------------------------------- */

static copse_ctx *make_context(struct writer *writer)
{
    struct random_source *random = &writer->random;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    uint32_t threads = 1 + (uint32_t)random_below(random, 2);
    uint64_t seed = random_one_in(random, 8) ? 0 : random_next(random);
    uint32_t processors = (uint32_t)random_below(random, 4);
    options.threads = writer->round->threads ? writer->round->threads : threads;
    options.huge_pages = COPSE_HUGE_PAGES_OFF;
    copse_status status = copse_ctx_create(&options, &ctx);
    if (status != COPSE_OK) {
        (void)fail_status(writer, "copse_ctx_create", NULL, status);
        return NULL;
    }
    copse_device *device = placed_device(ctx, writer->round->placement);
    if (!device) return ctx;
    device->seed = seed;
    if (processors) device->multiprocessors = processors;
    return ctx;
}

/* --- batches ---------------------------------------------------------------------------------------------------------------- */

/* Which keys: one leaf's worth, a few, a wave that goes through all of them, or any; those that stay are among them. */
static void draw_positions(struct writer *writer, struct batch *batch)
{
    const struct truth *truth = &writer->truth;
    struct random_source *random = &writer->random;
    uint64_t way = random_below(random, 4), spot = random_below(random, truth->n);
    uint64_t width = way == 0 ? 1 + random_below(random, 6) : 20 + random_below(random, 80);
    for (uint64_t i = 0; i < batch->n; i++) {
        uint64_t at = way == 3 ? random_below(random, truth->n) : spot + random_below(random, width);
        if (way == 2) at = writer->wave++;
        at %= truth->n;
        if (truth->roles[at] == TRUTH_NEVER) at = truth->volatiles[random_below(random, truth->volatile_n)];
        batch->positions[i] = at;
    }
}

/* The operation at this position happens: on the writer's own view, with the value that the batch gives. */
static void happen(struct writer *writer, struct batch *batch, uint64_t i)
{
    struct truth *truth = &writer->truth;
    uint64_t at = batch->positions[i], bits = truth_poison(truth, at);
    struct truth_moment *moment = &truth->now[at];
    uint8_t operation = batch->operations[i];
    bool stable = truth->roles[at] == TRUTH_STABLE;
    batch->was_there[i] = moment->present;
    batch->old_bits[i] = moment->present ? truth_value(truth, at, moment->writes) : 0;
    if (operation == COPSE_OP_UPSERT || (operation == COPSE_OP_INSERT_IF_ABSENT && !moment->present)) {
        moment->writes += !stable; /* those that stay get the value that they have */
        batch->after += !moment->present;
        moment->present = true;
        bits = truth_value(truth, at, moment->writes);
    } else if (operation == COPSE_OP_ERASE && moment->present) {
        moment->erases++;
        batch->after--;
        moment->present = false;
    }
    typed_set_code(truth->key_type, batch->keys, i, truth->codes[at]);
    typed_set_bits(truth->value_type, batch->values, i, bits);
}

/* The kinds of batches: the code of an operation, or one of these. */
enum { MIXED = 4, REBUILD = 5 };

/* Operation i of a batch; the first `kept` of a rebuild are those that it builds from. */
static uint8_t draw_operation(struct writer *writer, unsigned kind, uint64_t i, uint64_t kept)
{
    if (kind == REBUILD) return i < kept ? COPSE_OP_UPSERT : COPSE_OP_ERASE;
    return kind == MIXED ? (uint8_t)random_below(&writer->random, 4) : (uint8_t)kind;
}

/* Draws the operations, follows them, and tells the readers what is going on before it does. */
static void follow(struct writer *writer, struct batch *batch, unsigned kind, uint64_t kept)
{
    struct truth *truth = &writer->truth;
    struct random_source *random = &writer->random;
    writer->changed_n = 0;
    for (uint64_t i = 0; i < batch->n; i++) {
        uint64_t at = batch->positions[i];
        uint8_t operation = draw_operation(writer, kind, i, kept);
        if (operation == COPSE_OP_ERASE && truth->roles[at] == TRUTH_STABLE) {
            operation = kind == MIXED ? COPSE_OP_UPSERT : COPSE_OP_ERASE;
            if (kind != MIXED) at = batch->positions[i] = truth->volatiles[random_below(random, truth->volatile_n)];
        }
        batch->operations[i] = operation;
        struct truth_moment before = truth->now[at];
        if (!writer->touched[at] && operation != COPSE_OP_FIND) {
            writer->touched[at] = 1 + before.present;
            writer->changed[writer->changed_n++] = at;
        }
        happen(writer, batch, i);
        /* 2: was there and stays; a disappearance in between counts, even if the key comes back */
        if (truth->now[at].erases != before.erases) writer->touched[at] = 1;
    }
    for (uint64_t i = 0; i < writer->changed_n; i++) {
        uint64_t at = writer->changed[i];
        struct truth_moment moment = truth->now[at];
        moment.moving = true;
        moment.present = writer->touched[at] == 2;
        truth_publish(truth, at, moment);
    }
}

static void batch_is_over(struct writer *writer)
{
    for (uint64_t i = 0; i < writer->changed_n; i++) {
        uint64_t at = writer->changed[i];
        truth_publish(&writer->truth, at, writer->truth.now[at]);
        writer->touched[at] = 0;
    }
}

static void batch_make(struct writer *writer, struct batch *batch, uint64_t n)
{
    *batch = (struct batch){.n = n};
    batch->positions = must_malloc(n * sizeof *batch->positions);
    batch->operations = must_malloc(n);
    batch->keys = typed_new(writer->truth.key_type, n);
    batch->values = typed_new(writer->truth.value_type, n);
    batch->was_there = must_malloc(n);
    batch->old_bits = must_malloc(n * sizeof *batch->old_bits);
    for (uint64_t i = 0; i < writer->truth.n; i++) batch->before += writer->truth.now[i].present;
    batch->after = batch->before;
}

static void batch_free(struct batch *batch)
{
    free(batch->positions);
    free(batch->operations);
    free(batch->keys);
    free(batch->values);
    free(batch->was_there);
    free(batch->old_bits);
}

/* Each operation of a mixed batch saw what those before it did. */
static bool apply(struct writer *writer, const struct batch *batch)
{
    copse_type type = writer->truth.value_type;
    void *old = typed_new(type, batch->n);
    uint8_t *found = must_malloc(batch->n);
    bool right = true;
    copse_status status =
        copse_apply(writer->index, batch->operations, batch->keys, batch->values, batch->n, old, found);
    if (status != COPSE_OK) right = fail_status(writer, "copse_apply", writer->ctx, status);
    for (uint64_t i = 0; right && i < batch->n; i++)
        if (found[i] != batch->was_there[i] || typed_bits(type, old, i) != batch->old_bits[i])
            right = fail(writer, "copse_apply", "operation %llu of %llu: wrong %s", (unsigned long long)i,
                         (unsigned long long)batch->n, found[i] == batch->was_there[i] ? "value" : "found");
    free(old);
    free(found);
    return right;
}

/* The operations of what goes are the last ones; a build leaves them out. */
static bool rebuild(struct writer *writer, const struct batch *batch)
{
    uint64_t n = batch->n;
    while (n && batch->operations[n - 1] == COPSE_OP_ERASE) n--;
    copse_status status = copse_build(writer->index, batch->keys, batch->values, n);
    return status == COPSE_OK || fail_status(writer, "copse_build", writer->ctx, status);
}

static bool call(struct writer *writer, const struct batch *batch, unsigned kind)
{
    uint64_t change = 0,
             expected = kind == COPSE_OP_ERASE ? batch->before - batch->after : batch->after - batch->before;
    const char *name = kind == COPSE_OP_ERASE ? "copse_erase" : "copse_insert";
    copse_status status;
    if (kind == MIXED) return apply(writer, batch);
    if (kind == REBUILD) return rebuild(writer, batch);
    if (kind == COPSE_OP_ERASE)
        status = copse_erase(writer->index, batch->keys, batch->n, &change);
    else
        status = copse_insert(writer->index, batch->keys, batch->values, batch->n,
                              kind == COPSE_OP_UPSERT ? COPSE_INSERT_UPSERT : COPSE_INSERT_IF_ABSENT, &change);
    if (status != COPSE_OK) return fail_status(writer, name, writer->ctx, status);
    return change == expected || fail(writer, name, "reports %llu entries, expected %llu", (unsigned long long)change,
                                      (unsigned long long)expected);
}

/* All keys that stay and some of the others, in any order; what is not among them goes. */
static uint64_t draw_rebuild(struct writer *writer, struct batch *batch)
{
    const struct truth *truth = &writer->truth;
    uint64_t n = 0, end = batch->n;
    for (uint64_t i = 0; i < truth->n; i++) {
        bool stays = truth->roles[i] == TRUTH_STABLE || random_one_in(&writer->random, 2);
        if (truth->roles[i] == TRUTH_NEVER) continue;
        if (stays)
            batch->positions[n++] = i;
        else
            batch->positions[--end] = i;
    }
    memmove(batch->positions + n, batch->positions + end, (batch->n - end) * sizeof *batch->positions);
    batch->n = n + batch->n - end;
    for (uint64_t i = n; i > 1; i--) {
        uint64_t other = random_below(&writer->random, i), at = batch->positions[i - 1];
        batch->positions[i - 1] = batch->positions[other];
        batch->positions[other] = at;
    }
    return n;
}

/* One batch, of a random kind. */
static bool write_once(struct writer *writer, bool mixes)
{
    struct batch batch;
    uint64_t n = stress_size(&writer->random, writer->size_bits), kept = 0;
    unsigned kind = 1 + (unsigned)random_below(&writer->random, mixes ? 4 : 3);
    if (random_one_in(&writer->random, 20)) kind = REBUILD;
    if (writer->round->locked) (void)pthread_rwlock_wrlock(&writer->lock);
    batch_make(writer, &batch, kind == REBUILD ? writer->truth.n : n);
    if (kind == REBUILD)
        kept = draw_rebuild(writer, &batch);
    else
        draw_positions(writer, &batch);
    follow(writer, &batch, kind, kept);
    bool right = call(writer, &batch, kind);
    batch_is_over(writer);
    if (writer->round->locked) (void)pthread_rwlock_unlock(&writer->lock);
    batch_free(&batch);
    writer->work = writer->work > n ? writer->work - n : 0;
    writer->result->operations++;
    return right;
}

/* --- what must be exact ------------------------------------------------------------------------------------------------------ */

/* The index holds just the keys that are there at these moments. */
static bool holds(struct writer *writer, const char *where, const copse_index *index, const copse_ctx *ctx,
                  const struct truth_moment *moments)
{
    const struct truth *truth = &writer->truth;
    uint64_t n = copse_size(index), entry = 0;
    void *keys = typed_new(truth->key_type, n), *values = typed_new(truth->value_type, n);
    copse_status status = copse_verify(index);
    if (status == COPSE_OK) status = copse_export(index, keys, values, n);
    bool right = status == COPSE_OK || fail_status(writer, where, ctx, status);
    for (uint64_t i = 0; right && i < truth->n; i++) {
        if (!moments[i].present) continue;
        if (entry == n || typed_code(truth->key_type, keys, entry) != truth->codes[i] ||
            typed_bits(truth->value_type, values, entry) != truth_value(truth, i, moments[i].writes))
            right = fail(writer, where, "entry %llu of %llu is not as it must be: key number %llu is expected",
                         (unsigned long long)entry, (unsigned long long)n, (unsigned long long)i);
        entry++;
    }
    if (right && entry != n)
        right = fail(writer, where, "%llu entries, expected %llu", (unsigned long long)n, (unsigned long long)entry);
    free(keys);
    free(values);
    return right;
}

static bool end_frozen(struct writer *writer)
{
    if (!writer->frozen) return true;
    uint64_t key = 0;
    bool right = holds(writer, "a frozen handle, after updates", writer->frozen, writer->frozen_ctx, writer->kept);
    copse_status status = copse_erase(writer->frozen, &key, 1, NULL);
    if (right && status != COPSE_ERR_UNSUPPORTED)
        right = fail(writer, "copse_erase of a frozen handle", "returned %s", copse_status_name(status));
    copse_index_free(writer->frozen);
    copse_ctx_free(writer->frozen_ctx);
    writer->frozen = NULL;
    writer->frozen_ctx = NULL;
    writer->result->operations++;
    return right;
}

/* Taken between two batches, while readers go on; held until the next one. */
static bool take_frozen(struct writer *writer)
{
    if (!end_frozen(writer)) return false;
    writer->frozen_ctx = make_context(writer);
    if (!writer->frozen_ctx) return false;
    copse_status status = copse_freeze(writer->index, writer->frozen_ctx, &writer->frozen);
    writer->result->operations++;
    if (status == COPSE_OK) {
        memcpy(writer->kept, writer->truth.now, writer->truth.n * sizeof *writer->kept);
        if (writer->round->lie == LIE_FROZEN) writer->kept[writer->truth.stables[0]].present = false;
        return holds(writer, "a frozen handle", writer->frozen, writer->frozen_ctx, writer->kept);
    }
    writer->frozen = NULL;
    bool absent = status == COPSE_ERR_UNSUPPORTED;
    if (!absent) (void)fail_status(writer, "copse_freeze", writer->frozen_ctx, status);
    writer->result->freezing_absent = absent;
    copse_ctx_free(writer->frozen_ctx);
    writer->frozen_ctx = NULL;
    return absent;
}

/* --- a round ----------------------------------------------------------------------------------------------------------------- */

static bool build(struct writer *writer)
{
    const struct truth *truth = &writer->truth;
    void *keys = typed_new(truth->key_type, truth->n), *values = typed_new(truth->value_type, truth->n);
    uint64_t n = 0;
    for (uint64_t i = 0; i < truth->n; i++) {
        if (!truth->now[i].present) continue;
        typed_set_code(truth->key_type, keys, n, truth->codes[i]);
        typed_set_bits(truth->value_type, values, n++, truth_value(truth, i, 1));
    }
    copse_status status = copse_build(writer->index, keys, values, n);
    free(keys);
    free(values);
    return status == COPSE_OK || fail_status(writer, "copse_build", writer->ctx, status);
}

/* Batches here are small: in half of the rounds the limits between the strategies of updates are such that all of them run, and in some
 * of these one is forced. */
static void draw_strategies(struct writer *writer)
{
    static const uint64_t shares[] = {0, 1, 64};
    copse_blink_tuning *tuning = placed_tuning(writer->index);
    if (!tuning || random_one_in(&writer->random, 2)) return;
    tuning->unsorted_most = random_below(&writer->random, 2);
    tuning->in_place_share = shares[random_below(&writer->random, sizeof shares / sizeof *shares)];
    tuning->bucket_sort_least = random_below(&writer->random, 2);
    if (!random_one_in(&writer->random, 3)) return;
    tuning->forced = copse_blink_strategy_named(placed_strategies[random_below(&writer->random, PLACED_STRATEGIES)]);
}

static bool make_index(struct writer *writer)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = writer->truth.key_type;
    options.value_type = writer->truth.value_type;
    options.structure = writer->round->structure;
    options.placement = writer->round->placement;
    copse_status status = copse_index_create(writer->ctx, &options, &writer->index);
    if (status != COPSE_OK) return fail_status(writer, "copse_index_create", writer->ctx, status);
    draw_strategies(writer);
    return build(writer);
}

/* A reader and its view; `run` of the result is false where there are no views. */
static bool make_reader(struct writer *writer, unsigned which)
{
    struct reader *reader = &writer->readers[which];
    bool locked = writer->round->locked;
    memset(reader, 0, sizeof *reader);
    reader->truth = &writer->truth;
    reader->stop = &writer->stop;
    reader->random.state = random_next(&writer->random);
    reader->size_bits = writer->round->placement == COPSE_PLACEMENT_EMULATED ? 8 : 13;
    reader->reads = writer->round->reads;
    reader->memory = (enum placed_memory)random_below(&writer->random, PLACED_MEMORIES);
    reader->lie = writer->round->lie;
    reader->lock = locked ? &writer->lock : NULL;
    reader->ctx = locked ? writer->ctx : make_context(writer);
    reader->index = writer->index;
    if (locked || !reader->ctx) return reader->ctx != NULL;
    reader->device = placed_device(reader->ctx, writer->round->placement);
    copse_status status = copse_index_view(writer->index, reader->ctx, &writer->views[which]);
    reader->index = writer->views[which];
    if (status == COPSE_OK) return true;
    writer->result->run = status != COPSE_ERR_UNSUPPORTED;
    return fail_status(writer, "copse_index_view", reader->ctx, status);
}

static bool open_round(struct writer *writer)
{
    struct random_source *random = &writer->random;
    bool emulated = writer->round->placement == COPSE_PLACEMENT_EMULATED;
    static const uint64_t few[] = {12, 60, 300, 2000, 5000}, many[] = {60, 2000, 20000, 100000, 400000};
    copse_type key_type = typed_key_types[random_below(random, TYPED_KEY_TYPES)];
    copse_type value_type = random_one_in(random, 2) ? COPSE_U32 : COPSE_U64;
    truth_make(&writer->truth, key_type, value_type, (emulated ? few : many)[random_below(random, 5)], random);
    writer->size_bits = 2 + (unsigned)random_below(random, emulated ? 10 : 16);
    writer->work = emulated ? EMULATED_WORK : GPU_WORK;
    writer->touched = calloc(writer->truth.n, 1);
    writer->changed = must_malloc(writer->truth.n * sizeof *writer->changed);
    writer->kept = must_malloc(writer->truth.n * sizeof *writer->kept);
    uint32_t readers = 1 + (uint32_t)random_below(random, 3);
    writer->readers_n = writer->round->readers ? writer->round->readers : readers;
    if (writer->readers_n > MOST_READERS) writer->readers_n = MOST_READERS;
    (void)snprintf(writer->result->what, sizeof writer->result->what, "keys %s, values %s, %llu keys, %u readers%s",
                   typed_name(key_type), typed_name(value_type), (unsigned long long)writer->truth.n, writer->readers_n,
                   writer->round->locked ? " that wait for the writer" : "");
    writer->ctx = make_context(writer);
    if (!writer->touched || !writer->ctx || !make_index(writer)) return false;
    for (unsigned i = 0; i < writer->readers_n; i++)
        if (!make_reader(writer, i)) return false;
    return true;
}

static bool write_all(struct writer *writer)
{
    bool mixes = true, right = true;
    uint8_t find = COPSE_OP_FIND, found;
    void *key = typed_new(writer->truth.key_type, 1);
    typed_set_code(writer->truth.key_type, key, 0, writer->truth.codes[0]);
    mixes = copse_apply(writer->index, &find, key, NULL, 1, NULL, &found) != COPSE_ERR_UNSUPPORTED;
    free(key);
    for (unsigned i = 0; right && i < MOST_BATCHES && writer->work && !atomic_load(&writer->stop); i++) {
        right = write_once(writer, mixes);
        if (right && !writer->result->freezing_absent && random_one_in(&writer->random, 8)) right = take_frozen(writer);
        for (uint64_t at = 0; at < writer->truth.n; at++)
            if (writer->truth.now[at].writes > truth_most_writes(&writer->truth) / 2) writer->work = 0;
    }
    return right && end_frozen(writer);
}

/* Takes what a reader found wrong, unless the writer was wrong before. */
static bool join_reader(struct writer *writer, unsigned which, bool right)
{
    struct reader *reader = &writer->readers[which];
    (void)pthread_join(writer->threads[which], NULL);
    writer->result->operations += reader->calls;
    if (right && reader->why[0]) {
        (void)snprintf(writer->result->where, sizeof writer->result->where, "%s", reader->where);
        memcpy(writer->result->why, reader->why, sizeof reader->why);
        return false;
    }
    return right;
}

static bool run(struct writer *writer)
{
    unsigned started = 0;
    bool right = true;
    while (started < writer->readers_n &&
           pthread_create(&writer->threads[started], NULL, reader_run, &writer->readers[started]) == 0)
        started++;
    if (started < writer->readers_n) right = fail(writer, "pthread_create", "cannot start a reader");
    if (right) right = write_all(writer);
    atomic_store(&writer->stop, true);
    for (unsigned i = 0; i < started; i++) right = join_reader(writer, i, right);
    if (right) right = holds(writer, "the index in the end", writer->index, writer->ctx, writer->truth.now);
    copse_index_free(writer->index); /* views outlive it */
    writer->index = NULL;
    for (unsigned i = 0; right && i < writer->readers_n && !writer->round->locked; i++)
        right = holds(writer, "a view in the end", writer->views[i], writer->readers[i].ctx, writer->truth.now);
    return right;
}

static void close_round(struct writer *writer)
{
    copse_index_free(writer->frozen);
    copse_ctx_free(writer->frozen_ctx);
    for (unsigned i = 0; i < writer->readers_n; i++) {
        copse_index_free(writer->views[i]);
        if (!writer->round->locked) copse_ctx_free(writer->readers[i].ctx);
    }
    copse_index_free(writer->index);
    copse_ctx_free(writer->ctx);
    truth_free(&writer->truth);
    free(writer->touched);
    free(writer->changed);
    free(writer->kept);
}

/* Readers that never pause must not keep the writer out. */
static void make_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    (void)pthread_rwlockattr_init(&attributes);
    (void)pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(lock, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
}

void stress_concurrent(const struct stress_round *round, struct stress_result *result)
{
    struct writer *writer = must_malloc(sizeof *writer);
    memset(writer, 0, sizeof *writer);
    writer->round = round;
    writer->result = result;
    writer->random.state = round->seed;
    atomic_init(&writer->stop, false);
    make_lock(&writer->lock);
    result->run = true;
    result->right = open_round(writer) && run(writer);
    close_round(writer);
    (void)pthread_rwlock_destroy(&writer->lock);
    free(writer);
}
