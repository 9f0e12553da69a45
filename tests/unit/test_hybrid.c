/* Hybrid trees: every way of scheduling buckets gives the CPU's answers; the card's copy is never stale; a card that fails at any of its
 * calls costs speed, not answers. */
#include "unit.h"

#include "device/device.h"
#include "random.h"
#include "support/ranges.h"
#include "transfer/transfer.h"
#include "trees/hybrid/mirror.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define KEYS    30000u
#define QUERIES 2500u

static uint64_t keys[KEYS], values[KEYS], queries[QUERIES], highs[QUERIES];

static void fill(void)
{
    struct random_source random = {7};
    for (uint64_t i = 0; i < KEYS; i++) values[i] = (keys[i] = i * 1000 + random_below(&random, 900)) * 3;
    for (uint64_t i = 0; i < QUERIES; i++) {
        queries[i] = random_one_in(&random, 3) ? random_next(&random) >> 39 : keys[random_below(&random, KEYS)];
        highs[i] = queries[i] + random_below(&random, 40000);
    }
}

static copse_index *make(copse_ctx *ctx, copse_structure structure, copse_placement placement)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = options.value_type = COPSE_U64;
    options.structure = structure;
    options.placement = placement;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_ok(ctx, copse_build(index, keys, values, KEYS));
    return index;
}

static copse_hybrid_tuning tuned(unsigned schedule, uint64_t bucket)
{
    return (copse_hybrid_tuning){.schedule = (copse_schedule)schedule, .bucket = bucket, .least = 1, .levels = 1};
}

/* --- the card's calls, counted, and one of them failing ------------------------------------------------------------- */

static const copse_device_backend *real;
static copse_device_backend faulty;
static _Atomic int64_t calls_left; /* until one fails; negative: none does */
static _Atomic uint64_t launches;
static copse_mirror *watched;
static _Atomic bool never_through; /* the card begins, and does not end */

static copse_status due(copse_device *device)
{
    if (calls_left < 0 || atomic_fetch_sub(&calls_left, 1) != 0) return COPSE_OK;
    return copse_fail(device->ctx, COPSE_ERR_DEVICE, "the card has gone");
}

static copse_status faulty_copy(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->copy(device, stream, to, from, bytes) : status;
}

static copse_status faulty_launch(copse_device *device, copse_stream *stream, const copse_kernel *kernel,
                                  uint64_t blocks, const void *arguments)
{
    copse_status status = due(device);
    launches++;
    return status == COPSE_OK ? real->launch(device, stream, kernel, blocks, arguments) : status;
}

static copse_status faulty_event_record(copse_device *device, copse_event *event, copse_stream *stream)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->event_record(device, event, stream) : status;
}

static copse_status faulty_event_wait(copse_device *device, copse_event *event)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->event_wait(device, event) : status;
}

/* What a card that has gone leaves where answers were to come. */
static void scribble(const copse_event *through)
{
    for (unsigned i = 0; i < COPSE_HYBRID_SLOTS; i++)
        if (watched->slot[i].through == through) memset(watched->slot[i].pinned, 0xEE, watched->slot[i].bytes);
}

static copse_status faulty_event_done(copse_device *device, copse_event *event, bool *out_done)
{
    copse_status status = due(device);
    if (status != COPSE_OK) scribble(event);
    if (status == COPSE_OK) status = real->event_done(device, event, out_done);
    if (never_through) *out_done = false;
    return status;
}

static copse_status faulty_wait(copse_device *device, copse_stream *stream)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->wait(device, stream) : status;
}

static copse_status faulty_stream_create(copse_device *device, copse_stream **out)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->stream_create(device, out) : status;
}

static copse_status faulty_event_create(copse_device *device, copse_event **out)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->event_create(device, out) : status;
}

static copse_status faulty_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                 void **out)
{
    copse_status status = due(device);
    return status == COPSE_OK ? real->alloc(device, stream, bytes, what, out) : status;
}

static void *faulty_pinned_alloc(copse_device *device, uint64_t bytes)
{
    return due(device) == COPSE_OK ? real->pinned_alloc(device, bytes) : NULL;
}

static copse_device *watch(const copse_index *index)
{
    watched = copse_mirror_of(index);
    copse_device *device = watched->device;
    real = device->backend;
    faulty = *real;
    faulty.copy = faulty_copy;
    faulty.launch = faulty_launch;
    faulty.event_record = faulty_event_record;
    faulty.event_wait = faulty_event_wait;
    faulty.event_done = faulty_event_done;
    faulty.wait = faulty_wait;
    faulty.event_create = faulty_event_create;
    faulty.stream_create = faulty_stream_create;
    faulty.alloc = faulty_alloc;
    faulty.pinned_alloc = faulty_pinned_alloc;
    calls_left = -1;
    launches = 0;
    never_through = false;
    device->backend = &faulty;
    return device;
}

/* --- answers --------------------------------------------------------------------------------------------------------- */

typedef struct answers {
    uint64_t values[QUERIES], counts[QUERIES], sums[QUERIES], ranks[QUERIES], next[QUERIES];
    uint8_t found[QUERIES], next_found[QUERIES];
    uint64_t offsets[QUERIES + 1], rows[QUERIES * 50];
} answers;

static answers *ask(const copse_ctx *ctx, const copse_index *index, uint64_t n)
{
    answers *a = calloc(1, sizeof *a);
    assert_non_null(a);
    assert_ok(ctx, copse_find(index, queries, n, a->values, a->found));
    assert_ok(ctx, copse_successor(index, queries, n, a->next, NULL, a->next_found));
    assert_ok(ctx, copse_lower_bound(index, queries, n, NULL, NULL, NULL, a->ranks));
    assert_ok(ctx, copse_count(index, BETWEEN(queries, highs, n), a->counts));
    assert_ok(ctx, copse_sum(index, BETWEEN(queries, highs, n), a->sums));
    assert_ok(ctx, copse_range(index, BETWEEN(queries, highs, n), ROWS(a->offsets, a->rows, NULL, QUERIES * 50)));
    return a;
}

static void assert_same(const copse_ctx *ctx, const copse_index *index, const answers *expected, uint64_t n)
{
    answers *got = ask(ctx, index, n);
    assert_memory_equal(got->values, expected->values, n * 8);
    assert_memory_equal(got->found, expected->found, n);
    assert_memory_equal(got->next, expected->next, n * 8);
    assert_memory_equal(got->ranks, expected->ranks, n * 8);
    assert_memory_equal(got->counts, expected->counts, n * 8);
    assert_memory_equal(got->sums, expected->sums, n * 8);
    assert_memory_equal(got->offsets, expected->offsets, (n + 1) * 8);
    assert_memory_equal(got->rows, expected->rows, expected->offsets[n] * 8);
    free(got);
}

static const copse_structure structures[] = {COPSE_STRUCTURE_IMPLICIT, COPSE_STRUCTURE_REGULAR};

static void every_schedule_and_bucket(void **state)
{
    (void)state;
    fill();
    static const uint64_t buckets[] = {1, 77, 500, QUERIES - 1, QUERIES, QUERIES + 1};
    for (unsigned s = 0; s < 2; s++) {
        copse_ctx *ctx = unit_context(3);
        copse_index *cpu = make(ctx, structures[s], COPSE_PLACEMENT_CPU);
        copse_index *index = make(ctx, structures[s], COPSE_PLACEMENT_HYBRID_EMULATED);
        answers *expected = ask(ctx, cpu, QUERIES);
        (void)watch(index);
        for (unsigned i = 0; i < 4 * COUNT_OF(buckets); i++) {
            const uint64_t before = launches;
            copse_mirror_of(index)->tuning = tuned(i % 4 + 1, buckets[i / 4]);
            assert_same(ctx, index, expected, i / 4 ? QUERIES : 100);
            assert_true(launches > before); /* the card was asked */
            if (i == 3) free(ask(ctx, index, 1));
        }
        free(expected);
        copse_mirror_of(index)->device->backend = real;
        copse_index_free(index);
        copse_index_free(cpu);
        copse_ctx_free(ctx);
    }
}

/* Whatever fails, at whichever call: the answers are the CPU's, no error is left behind, and the next update brings the card back. */
static void a_card_that_fails(void **state)
{
    (void)state;
    fill();
    for (unsigned s = 0; s < 2; s++) {
        copse_ctx *ctx = unit_context(2);
        copse_index *index = make(ctx, structures[s], COPSE_PLACEMENT_CPU);
        answers *expected = ask(ctx, index, 300);
        copse_index_free(index);
        for (int64_t at = 0, more = 1; more; at++) {
            index = make(ctx, structures[s], COPSE_PLACEMENT_HYBRID_EMULATED);
            copse_mirror *mirror = copse_mirror_of(index);
            mirror->tuning = tuned((unsigned)at % 4 + 1, 70);
            copse_device *device = watch(index);
            assert_int_equal(copse_find(index, NULL, 3, NULL, NULL), COPSE_ERR_ARGUMENT); /* this one is to stay */
            char sentence[200];
            (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(ctx));
            calls_left = at;
            assert_same(ctx, index, expected, 300);
            more = calls_left < 0;
            if (more) {
                assert_false(mirror->current);
                assert_true(mirror->why_not[0] != '\0');
            }
            assert_string_equal(copse_last_error(ctx), sentence);
            calls_left = -1;
            assert_ok(ctx, copse_insert(index, keys, values, 1, 0, NULL));
            assert_true(mirror->current);
            assert_ok(ctx, copse_verify(index));
            assert_same(ctx, index, expected, 300);
            device->backend = real;
            copse_index_free(index);
        }
        free(expected);
        copse_ctx_free(ctx);
    }
}

/* An update is right in host memory, whether the copy to the card succeeds or not. */
static void an_update_that_does_not_reach_the_card(void **state)
{
    (void)state;
    fill();
    for (unsigned s = 0; s < 2; s++) {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = make(ctx, structures[s], COPSE_PLACEMENT_HYBRID_EMULATED);
        copse_device *device = watch(index);
        uint64_t more[5000], erased = 0;
        for (uint64_t i = 0; i < COUNT_OF(more); i++) more[i] = i * 5 + 40000000;
        for (int64_t at = 0; at < 4; at++) {
            calls_left = at;
            assert_ok(ctx, copse_insert(index, more, more, COUNT_OF(more), 0, NULL));
            calls_left = -1;
            assert_int_equal(copse_size(index), KEYS + COUNT_OF(more));
            assert_ok(ctx, copse_verify(index));
            uint64_t got[COUNT_OF(more)];
            assert_ok(ctx, copse_find(index, more, COUNT_OF(more), got, NULL));
            assert_memory_equal(got, more, sizeof more);
            assert_ok(ctx, copse_erase(index, more, COUNT_OF(more), &erased));
            assert_int_equal(erased, COUNT_OF(more));
            assert_true(copse_mirror_of(index)->current);
        }
        device->backend = real;
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

static void small_calls_stay_on_the_cpu(void **state)
{
    (void)state;
    fill();
    copse_ctx *ctx = unit_context(2);
    copse_index *index = make(ctx, COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_HYBRID_EMULATED);
    copse_device *device = watch(index);
    copse_mirror_of(index)->tuning.least = 1000;
    free(ask(ctx, index, 999));
    assert_int_equal(launches, 0);
    free(ask(ctx, index, 1000));
    assert_true(launches > 0);
    device->backend = real;
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A card that takes a million times as long is not waited for, and the calls that follow do without it. */
static void a_card_that_is_slow(void **state)
{
    (void)state;
    fill();
    for (unsigned s = 0; s < 2; s++) {
        copse_ctx *ctx = unit_context(2);
        copse_index *cpu = make(ctx, structures[s], COPSE_PLACEMENT_CPU);
        copse_index *index = make(ctx, structures[s], COPSE_PLACEMENT_HYBRID_EMULATED);
        copse_mirror *mirror = copse_mirror_of(index);
        answers *expected = ask(ctx, cpu, QUERIES);
        copse_device *device = watch(index);
        uint64_t got[QUERIES];
        mirror->tuning = tuned(COPSE_SCHEDULE_BALANCED, 50);
        mirror->tuning.slower = 1000000;
        mirror->tuning.rest = 2;
        assert_ok(ctx, copse_find(index, queries, QUERIES, got, NULL));
        assert_memory_equal(got, expected->values, sizeof got);
        assert_true(launches > 0);
        assert_int_equal(mirror->rest, 2);
        const uint64_t before = launches;
        for (int i = 0; i < 2; i++) assert_ok(ctx, copse_find(index, queries, QUERIES, got, NULL));
        assert_int_equal(launches, before);
        assert_ok(ctx, copse_find(index, queries, QUERIES, got, NULL)); /* it gets another chance */
        assert_true(launches > before);
        assert_memory_equal(got, expected->values, sizeof got);
        mirror->tuning.rest = mirror->rest = 0; /* all calls have it, and do without what it has not finished */
        assert_same(ctx, index, expected, QUERIES);
        assert_int_equal(mirror->last.together + mirror->last.alone, QUERIES);
        device->backend = real;
        free(expected);
        copse_index_free(index);
        copse_index_free(cpu);
        copse_ctx_free(ctx);
    }
}

/* What one index has learned of the card, another one of its kind and size in the context knows; one of the other kind finds out. */
static void what_is_learned_stays_in_the_context(void **state)
{
    (void)state;
    fill();
    copse_ctx *ctx = unit_context(2);
    copse_index *first = make(ctx, COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_HYBRID_EMULATED);
    copse_device *device = watch(first);
    uint64_t got[QUERIES];
    copse_mirror_of(first)->tuning = tuned(COPSE_SCHEDULE_BALANCED, 50);
    copse_mirror_of(first)->tuning.rest = 3;
    never_through = true;
    assert_ok(ctx, copse_find(first, queries, QUERIES, got, NULL));
    never_through = false;
    copse_index_free(first);
    for (unsigned s = 0; s < 2; s++) {
        copse_index *second = make(ctx, structures[s], COPSE_PLACEMENT_HYBRID_EMULATED);
        copse_mirror_of(second)->tuning = tuned(COPSE_SCHEDULE_BALANCED, 50);
        launches = 0;
        for (int i = 0; i < 3; i++) {
            assert_ok(ctx, copse_find(second, queries, QUERIES, got, NULL));
            assert_true(structures[s] == COPSE_STRUCTURE_IMPLICIT ? launches == 0 : launches > 0);
        }
        assert_ok(ctx, copse_find(second, queries, QUERIES, got, NULL));
        assert_true(launches > 0); /* it gets another chance */
        copse_index_free(second);
    }
    device->backend = real;
    copse_ctx_free(ctx);
}

/* Small updates cost the card nothing until a read needs it, and then what they changed. */
static void the_copy_follows_what_changed(void **state)
{
    (void)state;
    fill();
    copse_ctx *ctx = unit_context(2);
    copse_index *index = make(ctx, COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_HYBRID_EMULATED);
    copse_mirror *mirror = copse_mirror_of(index);
    copse_device *device = watch(index);
    const uint64_t fresh[] = {keys[100] + 1, keys[100] + 2}, worth = 7;
    uint64_t got[2] = {0, 0}, pages = mirror->records.copied;
    assert_true(pages > 4);
    mirror->tuning.defer = 2;
    assert_ok(ctx, copse_insert(index, &keys[5], &worth, 1, 0, NULL)); /* a value: nothing that the card has */
    assert_true(mirror->behind && launches == 0);
    assert_ok(ctx, copse_find(index, &keys[5], 1, got, NULL));
    assert_true(mirror->current && got[0] == worth);
    assert_int_equal(mirror->records.copied, 0);
    assert_ok(ctx, copse_insert(index, fresh, fresh, 1, 0, NULL));
    assert_true(mirror->behind);
    assert_ok(ctx, copse_verify(index));
    assert_true(mirror->current && !mirror->behind);
    assert_int_equal(mirror->records.copied, 1);
    assert_ok(ctx, copse_insert(index, fresh, fresh, 2, 0, NULL));
    assert_true(mirror->current);
    assert_int_equal(mirror->records.copied, 1);
    assert_ok(ctx, copse_find(index, fresh, 2, got, NULL));
    assert_memory_equal(got, fresh, sizeof got);
    assert_ok(ctx, copse_erase(index, keys, KEYS, NULL));
    assert_ok(ctx, copse_erase(index, fresh, 2, NULL));
    assert_false(mirror->current);
    assert_ok(ctx, copse_build(index, keys, values, KEYS));
    assert_int_equal(mirror->records.copied, pages);
    assert_ok(ctx, copse_verify(index));
    device->backend = real;
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* The paper's two methods, where they are asked for: every update brings what has changed, or all. */
static void updates_by_either_method(void **state)
{
    (void)state;
    fill();
    copse_ctx *ctx = unit_context(2);
    copse_index *index = make(ctx, COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_HYBRID_EMULATED);
    copse_mirror *mirror = copse_mirror_of(index);
    const uint64_t pages = mirror->records.copied, fresh[] = {keys[100] + 1, keys[200] + 1};
    mirror->best.defer = mirror->tuning.defer = 1000;
    copse_hybrid_tune(index, COPSE_SCHEDULE_AUTO, 0, 0, COPSE_REFRESH_SYNCHRONOUS);
    assert_ok(ctx, copse_insert(index, &fresh[0], &fresh[0], 1, 0, NULL));
    assert_true(mirror->current);
    assert_int_equal(mirror->records.copied, 1);
    copse_hybrid_tune(index, COPSE_SCHEDULE_AUTO, 0, 0, COPSE_REFRESH_ASYNCHRONOUS);
    assert_ok(ctx, copse_insert(index, &fresh[1], &fresh[1], 1, 0, NULL));
    assert_true(mirror->current);
    assert_int_equal(mirror->records.copied, pages);
    assert_ok(ctx, copse_verify(index));
    copse_hybrid_tune(index, COPSE_SCHEDULE_AUTO, 0, 0, COPSE_REFRESH_AUTO);
    assert_ok(ctx, copse_erase(index, fresh, 2, NULL));
    assert_true(mirror->behind);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A NaN is refused by its position also where the card answers, which takes it for a key like any other. */
static void nan_among_cached(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    double some[3000];
    uint64_t got[3000];
    for (unsigned i = 0; i < 3000; i++) got[i] = (uint64_t)(some[i] = i);
    options.key_type = COPSE_F64;
    options.structure = COPSE_STRUCTURE_IMPLICIT;
    options.placement = COPSE_PLACEMENT_HYBRID_EMULATED;
    options.leaf_memory = 1500 * 16;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_ok(ctx, copse_build(index, some, got, 3000));
    memset(got, 0xFF, sizeof got);
    assert_ok(ctx, copse_find(index, some, 3000, got, NULL));
    for (unsigned i = 0; i < 3000; i++) assert_int_equal(got[i], i);
    some[2222] = some[2333] = (double)NAN;
    assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[2222]", copse_find(index, some, 3000, got, NULL));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Leaves on the card: none, one unit, some, all; with a budget above the memory of the card as many as fit. */
static void leaves_on_the_card(void **state)
{
    (void)state;
    fill();
    static const uint64_t budgets[] = {0, 63, 64, 6400, KEYS * 8, UINT64_MAX};
    for (unsigned i = 0; i < COUNT_OF(budgets); i++) {
        copse_ctx *ctx = unit_context(2);
        copse_index *cpu = make(ctx, COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU), *index = NULL;
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        options.structure = COPSE_STRUCTURE_IMPLICIT;
        options.placement = COPSE_PLACEMENT_HYBRID_EMULATED;
        options.leaf_memory = budgets[i];
        options.schedule = i % 2 ? COPSE_SCHEDULE_BALANCED : COPSE_SCHEDULE_PIPELINED;
        assert_ok(ctx, copse_index_create(ctx, &options, &index));
        assert_ok(ctx, copse_build(index, keys, values, KEYS));
        const uint64_t units = KEYS / 4, fit = budgets[i] / 64 < units ? budgets[i] / 64 : units;
        assert_int_equal(copse_mirror_of(index)->cached_units, fit);
        answers *expected = ask(ctx, cpu, QUERIES);
        assert_same(ctx, index, expected, QUERIES);
        assert_ok(ctx, copse_verify(index));
        assert_ok(ctx,
                  copse_find(index, queries, QUERIES, NULL, expected->next_found)); /* either array may be missing */
        assert_memory_equal(expected->next_found, expected->found, QUERIES);
        free(expected);
        copse_index_free(index);
        copse_index_free(cpu);
        copse_ctx_free(ctx);
    }
}

/* --- several readers; other placements --------------------------------------------------------------------------------- */

static void *find_often(void *index)
{
    uint64_t *got = must_malloc(sizeof keys);
    void *right = index;
    for (int i = 0; i < 20; i++)
        if (copse_find(index, keys, 2000, got, NULL) != COPSE_OK || memcmp(got, values, 2000 * 8) != 0) right = NULL;
    free(got);
    return right;
}

static void readers_share_the_card(void **state)
{
    (void)state;
    fill();
    copse_ctx *ctx = unit_context(2);
    copse_index *index = make(ctx, COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_HYBRID_EMULATED);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, find_often, index), 0);
    for (int i = 0; i < 3; i++) {
        void *right = NULL;
        assert_int_equal(pthread_join(threads[i], &right), 0);
        assert_non_null(right);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void moves_and_copies(void **state)
{
    (void)state;
    fill();
    static const copse_placement ways[] = {COPSE_PLACEMENT_HYBRID_EMULATED, COPSE_PLACEMENT_EMULATED,
                                           COPSE_PLACEMENT_HYBRID_EMULATED, COPSE_PLACEMENT_CPU};
    for (unsigned s = 0; s < 2; s++) {
        copse_ctx *ctx = unit_context(2);
        copse_index *index = make(ctx, structures[s], COPSE_PLACEMENT_CPU), *copy = NULL;
        answers *expected = ask(ctx, index, 200);
        for (unsigned i = 0; i < COUNT_OF(ways); i++) {
            assert_ok(ctx, copse_move(index, ways[i]));
            assert_same(ctx, index, expected, 200);
            assert_ok(ctx, copse_freeze(index, ctx, &copy));
            assert_same(ctx, copy, expected, 200);
            copse_index_free(copy);
        }
        free(expected);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* --- AUTO: a GPU, both, the CPU, as the memory goes ------------------------------------------------------------------------ */

/* A context whose GPU is the emulator, with so many bytes. */
static copse_ctx *context_with_card(uint64_t bytes)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_device *device = NULL;
    options.threads = 2;
    options.device_memory = bytes;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    copse_transfer_settings settings;
    assert_ok(ctx, copse_transfer_settings_get(device, &settings));
    settings.chunk_bytes = 16384; /* the card is as small as the index */
    assert_ok(ctx, copse_transfer_settings_set(device, &settings));
    ctx->gpu = device;
    ctx->emulated = NULL;
    return ctx;
}

static copse_stats grow_to(copse_ctx *ctx, copse_updates updates, uint64_t first, uint64_t n, copse_index **out)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_stats stats = {.struct_size = sizeof stats};
    uint64_t *more = must_malloc(n * sizeof *more), *got = must_malloc(n * sizeof *got);
    for (uint64_t i = 0; i < n; i++) more[i] = i * 11;
    options.updates = updates;
    assert_ok(ctx, copse_index_create(ctx, &options, out));
    assert_ok(ctx, copse_insert(*out, more, more, first, 0, NULL));
    assert_ok(ctx, copse_insert(*out, more + first, more + first, n - first, 0, NULL));
    assert_int_equal(copse_size(*out), n);
    assert_ok(ctx, copse_find(*out, more, n, got, NULL));
    assert_memory_equal(got, more, n * sizeof *got);
    assert_ok(ctx, copse_verify(*out));
    assert_ok(ctx, copse_index_stats(*out, &stats));
    free(more);
    free(got);
    return stats;
}

static void auto_goes_where_there_is_room(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory, first;
        copse_placement placement;
        const char *why;
        copse_updates updates;
        copse_structure structure;
    } cases[] = {
        {0, 70000, COPSE_PLACEMENT_GPU, "can be used", COPSE_UPDATES_EXPECTED, COPSE_STRUCTURE_BLINK},
        {0, 70000, COPSE_PLACEMENT_GPU, "can be used", COPSE_UPDATES_STREAMED, COPSE_STRUCTURE_PAGED},
        /* it grows out of the card */
        {6 << 20, 70000, COPSE_PLACEMENT_HYBRID, "no room for all", COPSE_UPDATES_EXPECTED, COPSE_STRUCTURE_REGULAR},
        {3 << 20, 70000, COPSE_PLACEMENT_HYBRID, "no room for all", COPSE_UPDATES_STREAMED, COPSE_STRUCTURE_REGULAR},
        /* it never gets there */
        {1 << 20, 60000, COPSE_PLACEMENT_HYBRID, "no room for all", COPSE_UPDATES_EXPECTED, COPSE_STRUCTURE_REGULAR},
        /* not even the levels do */
        {300, 60000, COPSE_PLACEMENT_HYBRID, "of the 300 that the context", COPSE_UPDATES_EXPECTED,
         COPSE_STRUCTURE_REGULAR},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        copse_ctx *ctx = context_with_card(cases[i].memory);
        copse_index *index = NULL;
        copse_stats stats = grow_to(ctx, cases[i].updates, cases[i].first, 140000, &index);
        if (!strstr(stats.placement_why, cases[i].why)) fail_msg("%u: %s", i, stats.placement_why);
        assert_int_equal(stats.placement, cases[i].placement);
        assert_int_equal(stats.structure, cases[i].structure);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

static void limits_from_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } cases[] = {{"1000000", 1000000},
                 {"8K", 8192},
                 {"3M", 3 << 20},
                 {"2G", UINT64_C(2) << 30},
                 {"0", 0},
                 {"G", 0},
                 {"-1", 0},
                 {"8GB", 0},
                 {"99999999T", 0},
                 {"", UINT64_MAX}};
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        copse_ctx *ctx = NULL;
        copse_device *device = NULL;
        assert_int_equal(setenv("COPSE_DEVICE_MEMORY", cases[i].text, 1), 0);
        copse_status status = copse_ctx_create(NULL, &ctx);
        assert_int_equal(unsetenv("COPSE_DEVICE_MEMORY"), 0);
        assert_int_equal(status, cases[i].bytes ? COPSE_OK : COPSE_ERR_ARGUMENT);
        if (!cases[i].bytes) {
            assert_non_null(strstr(copse_last_error(NULL), "COPSE_DEVICE_MEMORY"));
            continue;
        }
        assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
        assert_int_equal(device->limit, cases[i].bytes);
        copse_ctx_free(ctx);
    }
}

static void bad_options(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.placement = COPSE_PLACEMENT_HYBRID_EMULATED;
    options.schedule = 5;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "options->schedule is 5", copse_index_create(ctx, &options, &index));
    options.schedule = COPSE_SCHEDULE_BALANCED;
    options.bucket = UINT32_MAX;
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "options->bucket", copse_index_create(ctx, &options, &index));
    options.bucket = 17;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    assert_int_equal(copse_mirror_of(index)->tuning.bucket, 17);
    assert_int_equal(copse_mirror_of(index)->tuning.schedule, COPSE_SCHEDULE_BALANCED);
    copse_index_free(index);
    options.structure = COPSE_STRUCTURE_BLINK;
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "hybrid", copse_index_create(ctx, &options, &index));
    copse_ctx_free(ctx);
}

static void placements_and_names(void **state)
{
    (void)state;
    copse_placement parsed;
    assert_ok(NULL, copse_placement_parse("hybrid", &parsed));
    assert_int_equal(parsed, COPSE_PLACEMENT_HYBRID);
    assert_string_equal(copse_placement_name(COPSE_PLACEMENT_HYBRID_EMULATED), "hybrid-emulated");
    assert_true(copse_supports(COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_HYBRID, COPSE_U32, COPSE_CAN_EXIST));
    assert_false(copse_supports(COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_HYBRID, COPSE_U64, COPSE_CAN_EXIST));
    assert_false(copse_supports(COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_HYBRID, COPSE_U64, COPSE_CAN_EXIST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_and_bucket),
        cmocka_unit_test(a_card_that_fails),
        cmocka_unit_test(an_update_that_does_not_reach_the_card),
        cmocka_unit_test(small_calls_stay_on_the_cpu),
        cmocka_unit_test(a_card_that_is_slow),
        cmocka_unit_test(what_is_learned_stays_in_the_context),
        cmocka_unit_test(the_copy_follows_what_changed),
        cmocka_unit_test(updates_by_either_method),
        cmocka_unit_test(leaves_on_the_card),
        cmocka_unit_test(nan_among_cached),
        cmocka_unit_test(readers_share_the_card),
        cmocka_unit_test(moves_and_copies),
        cmocka_unit_test(auto_goes_where_there_is_room),
        cmocka_unit_test(limits_from_the_environment),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(placements_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
