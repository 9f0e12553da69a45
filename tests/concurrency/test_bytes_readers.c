/* Byte strings read from several threads at once: as in test_readers.c, and frozen while the index changes. What readers of a radix tree
 * share without a lock is what the first of them makes: the host's copy of a tree on a device, above all. */
#include "unit.h"

#include "answers.h"
#include "byte_pool.h"
#include "random.h"

#include <pthread.h>

#define READERS   4
#define ROUNDS    3
#define QUESTIONS 24

/* --- strings, and questions about them ---------------------------------------------------------------------------------- */

/* Short and long ones, some of which are the beginning of others. */
static struct byte_pool some_strings(uint64_t n)
{
    struct random_source random = {n};
    struct byte_pool pool = {NULL, 0};
    unsigned char bytes[120];
    while (pool.n < n) {
        size_t length = random_below(&random, pool.n % 9 ? 10 : sizeof bytes);
        memset(bytes, 'x', sizeof bytes);
        for (size_t i = 0; i < length; i++)
            if (i < 2 || i + 3 > length) bytes[i] = (unsigned char)random_below(&random, i < 2 ? 9 : 256);
        byte_pool_add(&pool, bytes, length);
    }
    byte_pool_sort(&pool);
    return pool;
}

/* Every `step`th string from `first` on; their codes are the values. */
static struct byte_array every(const struct byte_pool *pool, uint64_t first, uint64_t step, uint64_t *values)
{
    uint64_t n = 0;
    for (uint64_t code = first; code < pool->n; code += step) values[n++] = code;
    return byte_array_of(pool, values, n, 64, 0, 0);
}

struct reader {
    const copse_index *index;
    const struct byte_pool *pool;
    const struct answers *expected; /* of each round */
    pthread_barrier_t *barrier;
    unsigned first; /* the round that it begins with */
    const char *wrong;
};

static struct answers ask(const copse_index *index, const struct byte_pool *pool, unsigned round)
{
    struct random_source random = {round};
    uint64_t lows[QUESTIONS], highs[QUESTIONS];
    for (int i = 0; i < QUESTIONS; i++) {
        lows[i] = random_below(&random, pool->n);
        highs[i] = lows[i] + random_below(&random, pool->n - lows[i]);
    }
    struct byte_array from = byte_array_of(pool, lows, QUESTIONS, 32, 0, 0),
                      to = byte_array_of(pool, highs, QUESTIONS, 64, 0, 0);
    struct answers answers = answers_ask(index, &from.bytes, &to.bytes, QUESTIONS);
    byte_array_free(&from);
    byte_array_free(&to);
    return answers;
}

static void *read_all(void *user)
{
    struct reader *reader = user;
    (void)pthread_barrier_wait(reader->barrier);
    for (unsigned i = 0; i < ROUNDS && !reader->wrong; i++) {
        const unsigned round = (reader->first + i) % ROUNDS;
        struct answers answers = ask(reader->index, reader->pool, round);
        reader->wrong = answers_failed(&answers, COPSE_ERR_UNSUPPORTED);
        if (!reader->wrong) reader->wrong = answers_differ(&reader->expected[round], &answers);
        if (!reader->wrong && copse_verify(reader->index) != COPSE_OK) reader->wrong = "verify";
        answers_free(&answers);
    }
    return NULL;
}

/* Readers of one index, which has to have the entries of `like`, while this thread does `meanwhile`. */
static void read_together(const copse_index *index, const copse_index *like, const struct byte_pool *pool,
                          void (*meanwhile)(void *), void *user)
{
    struct answers expected[ROUNDS];
    struct reader readers[READERS];
    pthread_t ids[READERS];
    pthread_barrier_t barrier;
    for (unsigned round = 0; round < ROUNDS; round++) expected[round] = ask(like, pool, round);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, READERS + 1), 0);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){index, pool, expected, &barrier, i / 2, NULL};
        assert_int_equal(pthread_create(&ids[i], NULL, read_all, &readers[i]), 0);
    }
    (void)pthread_barrier_wait(&barrier);
    if (meanwhile) meanwhile(user);
    for (unsigned i = 0; i < READERS; i++) assert_int_equal(pthread_join(ids[i], NULL), 0);
    for (unsigned i = 0; i < READERS; i++)
        if (readers[i].wrong) fail_msg("reader %u: %s is wrong or failed", i, readers[i].wrong);
    for (unsigned round = 0; round < ROUNDS; round++) answers_free(&expected[round]);
    (void)pthread_barrier_destroy(&barrier);
}

/* --- indexes ------------------------------------------------------------------------------------------------------------- */

static const struct unit_tree sorted = {COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};
static const struct unit_tree trees[] = {{COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU},
                                         {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_CPU},
                                         {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_EMULATED}};

static copse_index *bytes_index(copse_ctx *ctx, struct unit_tree tree, copse_long_keys way)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = COPSE_BYTES;
    options.structure = tree.structure;
    options.placement = tree.placement;
    options.long_keys = way;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    return index;
}

/* Built of two thirds of the strings; `changed`: then keys come and go, so that on a device the host's tree is behind. */
static void fill(copse_ctx *ctx, copse_index *index, const struct byte_pool *pool, bool changed)
{
    uint64_t *values = must_malloc(pool->n * sizeof *values);
    struct byte_array most = every(pool, 0, 2, values);
    assert_ok(ctx, copse_build(index, &most.bytes, values, most.n));
    byte_array_free(&most);
    for (int turn = 0; turn < 2 && changed; turn++) {
        struct byte_array some = every(pool, turn ? 4 : 1, turn ? 10 : 6, values);
        if (turn)
            assert_ok(ctx, copse_erase(index, &some.bytes, some.n, NULL));
        else
            assert_ok(ctx, copse_insert(index, &some.bytes, values, some.n, 0, NULL));
        byte_array_free(&some);
    }
    free(values);
}

static void readers_share_strings(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (int turn = 0; turn < 4; turn++) {
            const bool emulated = trees[t].placement == COPSE_PLACEMENT_EMULATED, changed = turn & 1;
            copse_ctx *ctx = unit_context(turn < 2 ? 1 : 2);
            struct byte_pool pool = some_strings(unit_fewer(trees[t], 3000, 400));
            copse_index *like = bytes_index(ctx, sorted, 0),
                        *index = bytes_index(ctx, trees[t],
                                             !emulated  ? COPSE_LONG_KEYS_AUTO
                                             : turn < 2 ? COPSE_LONG_KEYS_CARD
                                                        : COPSE_LONG_KEYS_LINKED + (copse_long_keys)(turn & 1));
            fill(ctx, like, &pool, changed);
            fill(ctx, index, &pool, changed);
            read_together(index, like, &pool, NULL, NULL);
            copse_index_free(index);
            copse_index_free(like);
            byte_pool_free(&pool);
            copse_ctx_free(ctx);
        }
}

/* --- while it changes ----------------------------------------------------------------------------------------------------- */

struct change {
    copse_ctx *ctx;
    copse_index *index;
    const struct byte_pool *pool;
};

static void change_all(void *user)
{
    const struct change *change = user;
    for (int round = 0; round < 3; round++) {
        fill(change->ctx, change->index, change->pool, true);
        assert_ok(change->ctx, copse_clear(change->index));
    }
}

/* Readers of what was frozen see none of what comes and goes afterwards, in the context of the index and in another one. */
static void frozen_strings_stay(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (int own = 0; own < 2; own++) {
            copse_ctx *ctx = unit_context(2), *other = unit_context(2);
            struct byte_pool pool = some_strings(unit_fewer(trees[t], 3000, 300));
            struct change change = {ctx, bytes_index(ctx, trees[t], COPSE_LONG_KEYS_AUTO), &pool};
            copse_index *like = bytes_index(other, sorted, 0), *frozen = NULL;
            fill(other, like, &pool, true);
            fill(ctx, change.index, &pool, true);
            assert_ok(ctx, copse_freeze(change.index, own ? ctx : other, &frozen));
            read_together(frozen, like, &pool, change_all, &change);
            copse_index_free(change.index);
            read_together(frozen, like, &pool, NULL, NULL);
            copse_index_free(frozen);
            copse_index_free(like);
            byte_pool_free(&pool);
            copse_ctx_free(other);
            copse_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_share_strings),
        cmocka_unit_test(frozen_strings_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
