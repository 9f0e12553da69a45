/* The threads of a context: every chunk once, whoever else is at work; fewer threads where the system gives none. */
#include "unit.h"

#include "core/internal.h"
#include "core/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define ITEMS 10007u

static copse_pool *pool_make(uint32_t threads)
{
    return copse_pool_open(aligned_alloc(64, (copse_pool_bytes(threads) + 63) / 64 * 64), threads);
}

static void pool_free(copse_pool *pool)
{
    copse_pool_close(pool);
    free(pool);
}

/* --- each item once ------------------------------------------------------------------------------------------------- */

typedef struct visits {
    uint8_t seen[ITEMS];
    uint64_t largest; /* chunk; atomic */
} visits;

static void visit(void *argument, uint64_t first, uint64_t last)
{
    visits *v = argument;
    assert_true(first < last && last <= ITEMS);
    for (uint64_t i = first; i < last; i++) v->seen[i]++; /* a race where two threads have the same chunk */
    if (last - first > __atomic_load_n(&v->largest, __ATOMIC_RELAXED))
        __atomic_store_n(&v->largest, last - first, __ATOMIC_RELAXED);
}

static void check_visits(copse_pool *pool, uint32_t threads, uint64_t n, uint64_t chunk)
{
    visits *v = must_malloc(sizeof *v);
    memset(v, 0, sizeof *v);
    copse_pool_run(pool, threads, n, chunk, visit, v);
    for (uint64_t i = 0; i < ITEMS; i++) assert_int_equal(v->seen[i], i < n);
    assert_int_equal(v->largest, chunk < n ? chunk : n);
    free(v);
}

static void each_item_once(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 100, ITEMS}, chunks[] = {1, 3, 100, ITEMS, UINT64_MAX};
    check_visits(NULL, 4, ITEMS, 10);
    for (uint32_t threads = 1; threads < 6; threads++) {
        copse_pool *pool = pool_make(threads);
        for (size_t i = 0; i < COUNT_OF(sizes) * COUNT_OF(chunks); i++)
            for (uint32_t asked = 1; asked < 9; asked += 3)
                check_visits(pool, asked, sizes[i / COUNT_OF(chunks)], chunks[i % COUNT_OF(chunks)]);
        pool_free(pool);
    }
}

static void many_short_jobs(void **state)
{
    (void)state;
    copse_pool *pool = pool_make(4);
    for (int i = 0; i < 300; i++) check_visits(pool, 4, 64, 1);
    pool_free(pool);
}

/* --- jobs in jobs, and of several callers ----------------------------------------------------------------------------- */

typedef struct nest {
    copse_pool *pool;
    uint32_t depth;
    atomic_uint leaves;
} nest;

static void descend(void *argument, uint64_t first, uint64_t last)
{
    nest *outer = argument;
    for (; first < last; first++) {
        nest inner = {outer->pool, outer->depth - 1, 0};
        if (inner.depth == 0)
            atomic_fetch_add(&outer->leaves, 1);
        else
            copse_pool_run(outer->pool, 4, 3, 1, descend, &inner);
        atomic_fetch_add(&outer->leaves, atomic_load(&inner.leaves));
    }
}

/* Threads that look long for work do it, rest when nobody expects any, and end with the pool while they look. */
static void alerts(void **state)
{
    (void)state;
    copse_pool_alert_begin(NULL);
    copse_pool_alert_end(NULL);
    copse_pool *pool = pool_make(4);
    copse_pool_alert_begin(pool);
    copse_pool_alert_begin(pool);
    for (int i = 0; i < 100; i++) check_visits(pool, 4, ITEMS, 100);
    copse_pool_alert_end(pool);
    check_visits(pool, 4, ITEMS, 100);
    copse_pool_alert_end(pool);
    check_visits(pool, 4, ITEMS, 100);
    copse_pool_alert_begin(pool);
    check_visits(pool, 4, ITEMS, 100);
    pool_free(pool);
}

/* Deeper than there are slots: those that find none work alone. */
static void jobs_in_jobs(void **state)
{
    (void)state;
    nest all = {pool_make(4), 7, 0};
    copse_pool_run(all.pool, 4, 3, 1, descend, &all);
    assert_int_equal(atomic_load(&all.leaves), 3 * 3 * 3 * 3 * 3 * 3 * 3);
    pool_free(all.pool);
}

static void *call_often(void *pool)
{
    for (int i = 0; i < 100; i++) check_visits(pool, 3, 1000, 7);
    return NULL;
}

static void several_callers(void **state)
{
    (void)state;
    enum { CALLERS = 12 }; /* more than there are slots */
    pthread_t callers[CALLERS];
    copse_pool *pool = pool_make(3);
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&callers[i], NULL, call_often, pool), 0);
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(callers[i], NULL), 0);
    pool_free(pool);
}

/* A caller whose job goes on and on does not hold up another. */
typedef struct long_job {
    copse_pool *pool;
    atomic_bool begun, may_end;
} long_job;

static void wait_for_end(void *argument, uint64_t first, uint64_t last)
{
    long_job *job = argument;
    (void)first;
    (void)last;
    atomic_store(&job->begun, true);
    while (!atomic_load(&job->may_end)) sched_yield();
}

static void *call_long(void *argument)
{
    long_job *job = argument;
    copse_pool_run(job->pool, 2, 2, 1, wait_for_end, job);
    return NULL;
}

static void nobody_waits_for_another(void **state)
{
    (void)state;
    long_job job = {pool_make(2), false, false};
    pthread_t caller;
    assert_int_equal(pthread_create(&caller, NULL, call_long, &job), 0);
    while (!atomic_load(&job.begun)) sched_yield();
    for (int i = 0; i < 50; i++) check_visits(job.pool, 2, 1000, 10);
    atomic_store(&job.may_end, true);
    assert_int_equal(pthread_join(caller, NULL), 0);
    pool_free(job.pool);
}

/* --- threads that cannot be made --------------------------------------------------------------------------------------- */

static uint32_t threads_left, threads_refused;

static int create_some(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    if (threads_left == 0) {
        threads_refused++;
        return EAGAIN;
    }
    threads_left--;
    return pthread_create(thread, attributes, start, argument);
}

static void fewer_threads_will_do(void **state)
{
    (void)state;
    copse_pool_thread_create = create_some;
    for (uint32_t given = 0; given < 5; given++) {
        copse_pool *pool = pool_make(8);
        threads_left = given;
        threads_refused = 0;
        for (int i = 0; i < 20; i++) check_visits(pool, 8, ITEMS, 100);
        assert_int_equal(threads_refused, 1); /* not with every call */
        threads_left = 100;
        for (int i = 0; i < 300; i++) check_visits(pool, 8, 100, 1);
        assert_int_equal(threads_left, 100 - (7 - given)); /* but it tries again */
        pool_free(pool);
    }
    copse_pool_thread_create = NULL;
}

/* --- readers of one index ------------------------------------------------------------------------------------------------ */

#define KEYS 100000u

static void *read_index(void *index)
{
    uint64_t *keys = must_malloc(KEYS * sizeof *keys), *values = must_malloc(KEYS * sizeof *values);
    for (uint64_t i = 0; i < KEYS; i++) keys[i] = i * 7919 % KEYS * 3;
    for (int turn = 0; turn < 5; turn++) {
        assert_int_equal(copse_find(index, keys, KEYS, values, NULL), COPSE_OK);
        for (uint64_t i = 0; i < KEYS; i++) assert_int_equal(values[i], keys[i] + 1);
        assert_int_equal(copse_export(index, NULL, values, KEYS), COPSE_OK);
        for (uint64_t i = 0; i < KEYS; i++) assert_int_equal(values[i], i * 3 + 1);
    }
    free(keys);
    free(values);
    return NULL;
}

static void readers_of_one_index(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(3);
    uint64_t *keys = must_malloc(KEYS * sizeof *keys), *values = must_malloc(KEYS * sizeof *values);
    for (uint64_t i = 0; i < KEYS; i++) values[i] = (keys[i] = i * 3) + 1;
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_CPU, COPSE_CAN_EXIST)
    {
        pthread_t readers[4];
        copse_index *index = unit_index(ctx, *tree, COPSE_U64, COPSE_U64, false);
        assert_ok(ctx, copse_build(index, keys, values, KEYS));
        for (size_t i = 0; i < COUNT_OF(readers); i++)
            assert_int_equal(pthread_create(&readers[i], NULL, read_index, index), 0);
        for (size_t i = 0; i < COUNT_OF(readers); i++) assert_int_equal(pthread_join(readers[i], NULL), 0);
        copse_index_free(index);
    }
    free(keys);
    free(values);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_once),
        cmocka_unit_test(many_short_jobs),
        cmocka_unit_test(alerts),
        cmocka_unit_test(jobs_in_jobs),
        cmocka_unit_test(several_callers),
        cmocka_unit_test(nobody_waits_for_another),
        cmocka_unit_test(fewer_threads_will_do),
        cmocka_unit_test(readers_of_one_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
