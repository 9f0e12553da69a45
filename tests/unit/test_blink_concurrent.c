/*
 * A concurrent reader, step by step: two host threads, of which one at a time runs, and the emulator lets them change places between
 * any two accesses of a lane to memory, by a seed. So a reader is stopped in the middle of a leaf while the writer changes all of it, and
 * the other way round, again and again, and each seed is one order that can be repeated.
 *
 * The writer shifts entries within leaves and splits leaves. Some keys stay for all the time, with their values: the reader must find each of
 * them, with its own value.
 */
#include "placed.h"
#include "support/ranges.h"
#include "unit.h"

#include <pthread.h>

#include "random.h"
#include "simt/emulator.h"
#include "trees/blink/tree.h"

#define STAYING 160u /* keys 0, 10, 20 ... */

/* --- taking turns ---------------------------------------------------------------------------------------------------------- */

enum { WRITER, READER };

/* How far one of them goes before the other one is on. */
enum pace {
    CREEPS, /* a few turns of lanes: it stops in the middle of a leaf, again and again   */
    STRIDES /* some whole batches or calls; but it may have to wait for the other one, who has a leaf */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t passed;
    int owner;            /* who runs                                      */
    bool ended[2];        /* who is done                                   */
    uint32_t left, calls; /* turns of lanes, and calls, until it passes on */
    enum pace pace[2];
    const copse_blink_kernels *kernels;
    unsigned passes[2]; /* turns that each had */
    struct random_source random;
} baton = {.lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER};

static _Thread_local int me = -1;

static void draw_turn(int who)
{
    const bool whole = baton.pace[who] == STRIDES;
    baton.calls = whole ? 1 + (uint32_t)random_below(&baton.random, 3) : UINT32_MAX;
    baton.left =
        whole ? 3000 : 1 + (uint32_t)random_below(&baton.random, UINT64_C(1) << random_below(&baton.random, 10));
}

static void wait_for_baton(void)
{
    while (baton.owner != me) (void)pthread_cond_wait(&baton.passed, &baton.lock);
}

static void pass_on(void)
{
    (void)pthread_mutex_lock(&baton.lock);
    if (!baton.ended[!me]) baton.owner = !me;
    baton.passes[me]++;
    draw_turn(baton.owner);
    (void)pthread_cond_broadcast(&baton.passed);
    wait_for_baton();
    (void)pthread_mutex_unlock(&baton.lock);
}

/* Of the writer only kernels that change leaves count. */
static void after_a_turn(const copse_kernel *kernel)
{
    const copse_blink_kernels *changing = baton.kernels;
    if (me < 0) return;
    if (me == WRITER && kernel != &changing->apply && kernel != &changing->apply_splits &&
        kernel != &changing->apply_unsorted && kernel != &changing->crowd_link &&
        kernel != &changing->directory_merge && kernel != &changing->directory_publish)
        return;
    if (--baton.left == 0) pass_on();
}

static void after_a_call(void)
{
    if (--baton.calls == 0) pass_on();
}

static void begin_as(int who)
{
    me = who;
    (void)pthread_mutex_lock(&baton.lock);
    wait_for_baton();
    (void)pthread_mutex_unlock(&baton.lock);
}

static void end(void)
{
    (void)pthread_mutex_lock(&baton.lock);
    baton.ended[me] = true;
    baton.owner = !me;
    (void)pthread_cond_broadcast(&baton.passed);
    (void)pthread_mutex_unlock(&baton.lock);
    me = -1;
}

/* --- the tree -------------------------------------------------------------------------------------------------------------- */

struct round {
    copse_ctx *ctx, *other;
    copse_index *index, *view;
    copse_type type; /* of keys and values */
    uint64_t seed;
    bool sorted;     /* batches are put in order, else they are changed as they come */
    uint64_t behind; /* of a sorted tree without branches: so many keys came behind the others, in crowds, and stay */
    char why[256];
};

static uint64_t value_of(uint64_t key)
{
    return key * 1000 + 7;
}

static void set(const struct round *r, void *array, uint64_t i, uint64_t number)
{
    typed_set_bits(r->type, array, i, number);
}

static void fill(const struct round *r, void *keys, void *values, uint64_t i, uint64_t key)
{
    set(r, keys, i, key);
    set(r, values, i, value_of(key));
}

/* Ways of updating in place for batches of any size. */
static void choose_way(const struct round *r)
{
    copse_device *devices[] = {r->index->device, r->view->device};
    for (unsigned i = 0; i < 2; i++) devices[i]->seed = r->seed + i;
    copse_blink_tuning *tuning = placed_tuning(r->index);
    tuning->unsorted_most = r->sorted ? 1 : 1000;
    tuning->in_place_share = 1;
}

static void round_open(struct round *r, copse_structure structure, copse_type type, bool sorted, uint64_t seed)
{
    const struct unit_tree tree = {structure, COPSE_PLACEMENT_EMULATED};
    uint64_t keys[STAYING + STAYING / 4], values[STAYING + STAYING / 4];
    *r = (struct round){.ctx = unit_context(1), .other = unit_context(1), .type = type, .seed = seed, .sorted = sorted};
    r->index = unit_index(r->ctx, tree, type, type, false);
    for (uint64_t i = 0; i < STAYING; i++) fill(r, keys, values, i, i * 10);
    for (uint64_t i = 0; i < STAYING / 4; i++) fill(r, keys, values, STAYING + i, i * 40 + 5); /* guests */
    assert_ok(r->ctx, copse_build(r->index, keys, values, STAYING + STAYING / 4));
    assert_ok(r->other, copse_index_view(r->index, r->other, &r->view));
    choose_way(r);
    baton.random = (struct random_source){seed};
    baton.owner = WRITER;
    baton.ended[WRITER] = baton.ended[READER] = false;
    baton.pace[WRITER] = seed % 3 == 0 ? STRIDES : CREEPS;
    baton.pace[READER] = seed % 3 == 1 ? STRIDES : CREEPS;
    baton.kernels = copse_blink_kernels_of(r->index);
    baton.passes[WRITER] = baton.passes[READER] = 0;
    draw_turn(WRITER);
}

static void round_close(struct round *r)
{
    assert_ok(r->ctx, copse_verify(r->index));
    copse_index_free(r->view);
    copse_index_free(r->index);
    copse_ctx_free(r->other);
    copse_ctx_free(r->ctx);
}

/* --- the writer ------------------------------------------------------------------------------------------------------------ */

/*
 * Guests are keys in every fourth gap between those that stay. They move on by two gaps, in one batch or in two: then a leaf has as
 * many entries as before, but those in between are in other places. Other keys come for good, so that leaves split.
 */
struct writer {
    struct random_source random;
    unsigned at; /* guests are in gaps at, at + 4 ... */
};

enum { GUESTS = STAYING / 4, FILLERS = 12 };

static void put_guests(const struct round *r, void *keys, void *values, uint64_t from, unsigned at)
{
    for (uint64_t i = 0; i < GUESTS; i++) fill(r, keys, values, from + i, (4 * i + at) * 10 + 5);
}

static copse_status guests_move(const struct round *r, struct writer *w, bool at_once)
{
    uint64_t keys[2 * GUESTS], values[2 * GUESTS];
    uint8_t operations[2 * GUESTS];
    const unsigned to = (w->at + 2) % 4;
    copse_status status;
    put_guests(r, keys, values, 0, to);
    if (at_once) {
        put_guests(r, keys, values, GUESTS, w->at);
        memset(operations, COPSE_OP_UPSERT, GUESTS);
        memset(operations + GUESTS, COPSE_OP_ERASE, GUESTS);
        status = copse_apply(r->index, operations, keys, values, 2 * GUESTS, NULL, NULL);
    } else {
        status = copse_insert(r->index, keys, values, GUESTS, COPSE_INSERT_UPSERT, NULL);
        after_a_call();
        put_guests(r, keys, values, 0, w->at);
        if (status == COPSE_OK) status = copse_erase(r->index, keys, GUESTS, NULL);
    }
    w->at = to;
    return status;
}

static copse_status fillers_come(const struct round *r, struct writer *w)
{
    static const uint64_t places[] = {1, 2, 3, 4, 6, 7, 8, 9};
    uint64_t keys[FILLERS], values[FILLERS];
    for (uint64_t i = 0; i < FILLERS; i++) {
        const uint64_t gap = random_below(&w->random, STAYING - 1);
        fill(r, keys, values, i, gap * 10 + places[random_below(&w->random, COUNT_OF(places))]);
    }
    return copse_insert(r->index, keys, values, FILLERS, COPSE_INSERT_UPSERT, NULL);
}

/* A crowd behind all keys: leaf by leaf the reader finds its way there, or through the directory. */
static copse_status crowd_comes(struct round *r)
{
    enum { crowd = 150 };
    uint64_t keys[crowd], values[crowd];
    for (uint64_t i = 0; i < crowd; i++) fill(r, keys, values, i, (STAYING + r->behind + i) * 10);
    const copse_status status = copse_insert(r->index, keys, values, crowd, COPSE_INSERT_UPSERT, NULL);
    if (status == COPSE_OK) r->behind += crowd; /* the baton orders it before what the reader does next */
    return status;
}

static void write_all(struct round *r, copse_status *out)
{
    struct writer w = {{r->seed * 3}, 0};
    begin_as(WRITER);
    *out = COPSE_OK;
    const unsigned batches = baton.pace[WRITER] == STRIDES ? 120 : r->sorted ? 9 : 4;
    for (unsigned turn = 0; turn < batches && *out == COPSE_OK; turn++) {
        *out = turn % 3 == 2 ? fillers_come(r, &w) : guests_move(r, &w, turn % 3 == 1);
        after_a_call();
        if (r->sorted && turn < 9 && turn % 3 == 0 && *out == COPSE_OK) {
            *out = crowd_comes(r);
            after_a_call();
        }
    }
    end();
}

/* --- the reader ------------------------------------------------------------------------------------------------------------ */

static bool wrong(struct round *r, const char *what, uint64_t key, uint64_t got)
{
    (void)snprintf(r->why, sizeof r->why, "%s of key %llu gave %llu", what, (unsigned long long)key,
                   (unsigned long long)got);
    return false;
}

/* Every key that stays is found, by two kinds of reads, with its value. */
static bool look(struct round *r, uint64_t first, uint64_t n)
{
    uint64_t keys[STAYING] = {0}, got_keys[STAYING] = {0}, values[STAYING] = {0};
    uint8_t found[STAYING] = {0};
    for (uint64_t i = 0; i < n; i++) set(r, keys, i, (first + i) * 10);
    if (copse_find(r->view, keys, n, values, found) != COPSE_OK) return wrong(r, copse_last_error(r->other), 0, 0);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t key = (first + i) * 10;
        if (!found[i]) return wrong(r, "find", key, 0);
        if (typed_bits(r->type, values, i) != value_of(key))
            return wrong(r, "find", key, typed_bits(r->type, values, i));
    }
    after_a_call();
    if (copse_lower_bound(r->view, keys, n, got_keys, values, found, NULL) != COPSE_OK)
        return wrong(r, copse_last_error(r->other), 0, 0);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t key = (first + i) * 10;
        if (!found[i] || typed_bits(r->type, got_keys, i) != key)
            return wrong(r, "lower_bound", key, typed_bits(r->type, got_keys, i));
        if (typed_bits(r->type, values, i) != value_of(key))
            return wrong(r, "lower_bound", key, typed_bits(r->type, values, i));
    }
    return true;
}

/* Keys between those that stay may come and go: a range has the others, and as many more as there are at most. */
static bool look_at_ranges(struct round *r, uint64_t first)
{
    enum { span = 30, most = 9 };
    uint64_t low[1], high[1], count = 0;
    set(r, low, 0, first * 10);
    set(r, high, 0, (first + span) * 10);
    if (copse_count(r->view, BETWEEN(low, high, 1), &count) != COPSE_OK)
        return wrong(r, copse_last_error(r->other), 0, 0);
    if (first + span < STAYING + r->behind && (count < span + 1 || count > span + 1 + span * most))
        return wrong(r, "count", first * 10, count);
    return true;
}

static void *read_all(void *user)
{
    struct round *r = user;
    struct random_source random = {r->seed * 5};
    begin_as(READER);
    for (bool right = true; right && !baton.ended[WRITER];) {
        const uint64_t n = 1 + random_below(&random, 40), first = random_below(&random, STAYING + r->behind - 40);
        right = look(r, first, n) && look_at_ranges(r, first);
        after_a_call();
    }
    end();
    return NULL;
}

/* --- rounds ---------------------------------------------------------------------------------------------------------------- */

static void run_round(copse_structure structure, copse_type type, bool sorted, uint64_t seed)
{
    struct round r;
    pthread_t reader;
    copse_status status;
    round_open(&r, structure, type, sorted, seed);
    copse_emulator_between_turns = after_a_turn;
    assert_int_equal(pthread_create(&reader, NULL, read_all, &r), 0);
    write_all(&r, &status);
    assert_int_equal(pthread_join(reader, NULL), 0);
    copse_emulator_between_turns = NULL;
    assert_ok(r.ctx, status);
    assert_true(baton.passes[WRITER] > 20 && baton.passes[READER] > 20); /* or they hardly met */
    if (*r.why)
        fail_msg("%s, %s, %s, seed %llu: %s", copse_structure_name(structure), copse_type_name(type),
                 sorted ? "sorted" : "as it comes", (unsigned long long)seed, r.why);
    round_close(&r);
}

static void run_rounds(copse_structure structure, bool sorted)
{
    enum { rounds = 9 };
    for (uint64_t seed = 1; seed <= rounds; seed++)
        run_round(structure, seed % 2 ? COPSE_U64 : COPSE_U32, sorted, seed);
}

static void blink_as_it_comes(void **state)
{
    (void)state;
    run_rounds(COPSE_STRUCTURE_BLINK, false);
}

static void blink_sorted(void **state)
{
    (void)state;
    run_rounds(COPSE_STRUCTURE_BLINK, true);
}

static void bplus_as_it_comes(void **state)
{
    (void)state;
    run_rounds(COPSE_STRUCTURE_BPLUS, false);
}

static void bplus_sorted(void **state)
{
    (void)state;
    run_rounds(COPSE_STRUCTURE_BPLUS, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blink_as_it_comes),
        cmocka_unit_test(blink_sorted),
        cmocka_unit_test(bplus_as_it_comes),
        cmocka_unit_test(bplus_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
