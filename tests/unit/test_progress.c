/* Progress: long calls report on the calling thread, and a callback that says stop leaves the index as it was. */
#include "unit.h"

#include <pthread.h>
#include <unistd.h>

#define ENTRIES 200000
#define FEWER   4000 /* on an emulated device */

struct watcher {
    uint64_t calls;
    uint64_t stop_at; /* the call that says stop; UINT64_MAX: none */
    pthread_t thread;
    bool sane;
};

static int watch(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct watcher *watcher = user;
    if (!what || !*what || done > total || !pthread_equal(watcher->thread, pthread_self())) watcher->sane = false;
    return watcher->calls++ == watcher->stop_at;
}

enum long_call { BUILD, INSERT, INSERT_IF_ABSENT, ERASE, SAVE, LOAD, VERIFY, EXPORT, LONG_CALLS };

struct progress_fixture {
    copse_ctx *ctx;
    copse_placement placement;
    copse_index *index;
    uint64_t n;
    uint64_t *keys; /* n of them, about half of them in the index */
    uint64_t *out;
    char path[64];
};

static copse_status call(struct progress_fixture *fixture, enum long_call which)
{
    copse_index *index = fixture->index, *loaded = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_status status = COPSE_OK;
    options.placement = fixture->placement;
    switch (which) {
    case BUILD:
        return copse_build(index, fixture->keys, NULL, fixture->n);
    case INSERT:
        return copse_insert(index, fixture->keys, NULL, fixture->n, COPSE_INSERT_UPSERT, NULL);
    case INSERT_IF_ABSENT:
        return copse_insert(index, fixture->keys, NULL, fixture->n, COPSE_INSERT_IF_ABSENT, NULL);
    case ERASE:
        return copse_erase(index, fixture->keys, fixture->n, NULL);
    case SAVE:
        return copse_save(index, fixture->path);
    case LOAD:
        status = copse_load(fixture->ctx, fixture->path, &options, &loaded);
        if (status != COPSE_OK) assert_null(loaded);
        copse_index_free(loaded);
        return status;
    case VERIFY:
        return copse_verify(index);
    default:
        return copse_export(index, fixture->out, NULL, fixture->n);
    }
}

static struct progress_fixture open_fixture(struct unit_tree tree, uint32_t threads)
{
    struct progress_fixture fixture = {.ctx = unit_context(threads),
                                       .placement = tree.placement,
                                       .n = unit_fewer(tree, ENTRIES, FEWER),
                                       .path = "/tmp/copse-progress-XXXXXX"};
    int file = mkstemp(fixture.path);
    assert_true(file >= 0);
    (void)close(file);
    fixture.index = unit_tens(fixture.ctx, tree, fixture.n);
    fixture.keys = must_malloc(fixture.n * sizeof *fixture.keys);
    fixture.out = must_malloc(fixture.n * sizeof *fixture.out);
    for (uint64_t i = 0; i < fixture.n; i++) fixture.keys[i] = (i * 7919) % fixture.n * 5;
    assert_ok(fixture.ctx, copse_save(fixture.index, fixture.path));
    return fixture;
}

static void close_fixture(struct progress_fixture *fixture)
{
    (void)unlink(fixture->path);
    copse_index_free(fixture->index);
    copse_ctx_free(fixture->ctx);
    free(fixture->keys);
    free(fixture->out);
}

static struct watcher watched(struct progress_fixture *fixture, enum long_call which, uint64_t stop_at,
                              copse_status expected)
{
    struct watcher watcher = {0, stop_at, pthread_self(), true};
    assert_ok(fixture->ctx, copse_ctx_set_progress(fixture->ctx, watch, &watcher));
    if (call(fixture, which) != expected) {
        print_error("call %d, stopped at %llu: expected %s; sentence '%s'\n", which, (unsigned long long)stop_at,
                    copse_status_name(expected), copse_last_error(fixture->ctx));
        fail();
    }
    assert_ok(fixture->ctx, copse_ctx_set_progress(fixture->ctx, NULL, NULL));
    assert_true(watcher.sane);
    return watcher;
}

static void every_long_call_reports(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int which = 0; which < LONG_CALLS; which++) {
        struct progress_fixture fixture = open_fixture(*tree, 2);
        struct watcher watcher = watched(&fixture, (enum long_call)which, UINT64_MAX, COPSE_OK);
        if (!watcher.calls)
            print_error("%s on %s: call %d never reported\n", copse_structure_name(tree->structure),
                        copse_placement_name(tree->placement), which);
        assert_true(watcher.calls > 0);
        close_fixture(&fixture);
    }
}

/* Stops each call at each of its reports; whatever it had done by then must be undone. */
static void stopping_leaves_the_index_as_it_was(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int turn = 0; turn < 2 * LONG_CALLS; turn++) {
        enum long_call which = (enum long_call)(turn % LONG_CALLS);
        struct progress_fixture fixture = open_fixture(*tree, turn < LONG_CALLS ? 1 : 2);
        struct progress_fixture rehearsal = open_fixture(*tree, turn < LONG_CALLS ? 1 : 2);
        uint64_t reports = watched(&rehearsal, which, UINT64_MAX, COPSE_OK).calls;
        uint64_t stride = reports / 10 + 1;
        close_fixture(&rehearsal);
        for (uint64_t stop_at = 0; stop_at < reports; stop_at += stride) {
            struct unit_content before = unit_content_of(fixture.index);
            struct watcher watcher = watched(&fixture, which, stop_at, COPSE_ERR_CANCELLED);
            assert_int_equal(watcher.calls, stop_at + 1); /* nobody is asked again */
            unit_assert_content(fixture.ctx, fixture.index, before);
        }
        /* the file that a cancelled save would have replaced is still whole */
        assert_ok(fixture.ctx, call(&fixture, LOAD));
        close_fixture(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_long_call_reports),
        cmocka_unit_test(stopping_leaves_the_index_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
