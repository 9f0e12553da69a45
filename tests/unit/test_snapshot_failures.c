/* Saving and loading where the system or the caller says no: wrong paths, no permission, disk full, no memory, cancelled.
 * The old snapshot survives, no temporary file and no memory stays behind, and the sentence gives the reason. */
#include "snapshot_file.h"
#include "typed.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NEVER     (-1L)
#define NOBODY    65534
#define ENTRIES   300000               /* several blocks */
#define FILE_SIZE (192 + ENTRIES * 16) /* at least */

static struct fixture {
    copse_ctx *ctx;
    copse_index *index;
    char *folder;
    char path[512];
    long until_failure; /* allocations that still succeed; NEVER fails */
    long blocks;        /* allocated and not freed */
} t;

static void *failing_alloc(void *user, size_t size, size_t alignment)
{
    (void)user;
    if (t.until_failure == 0) return NULL;
    if (t.until_failure > 0) t.until_failure--;
    t.blocks++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void failing_free(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    t.blocks--;
    free(memory);
}

static int setup(void **state)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_index_options index_options = COPSE_INDEX_OPTIONS_INIT;
    uint64_t *keys = typed_new(COPSE_U64, ENTRIES);
    (void)state;
    for (uint64_t i = 0; i < ENTRIES; i++) keys[i] = 7 * i;
    options.threads = 2;
    options.allocator = (copse_allocator){failing_alloc, failing_free, NULL};
    t.until_failure = NEVER;
    t.blocks = 0;
    if (copse_ctx_create(&options, &t.ctx) != COPSE_OK ||
        copse_index_create(t.ctx, &index_options, &t.index) != COPSE_OK ||
        copse_build(t.index, keys, NULL, ENTRIES) != COPSE_OK)
        return 1;
    free(keys);
    t.folder = folder_make();
    snprintf(t.path, sizeof t.path, "%s/index.copse", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_index_free(t.index);
    copse_ctx_free(t.ctx);
    return t.blocks == 0 ? 0 : 1;
}

static void expect(copse_status is, copse_status status, const char *words)
{
    const char *sentence = is == COPSE_OK ? "" : copse_last_error(t.ctx);
    if (is != status || !strstr(sentence, words))
        fail_msg("status is %s, expected %s; sentence is '%s', expected '%s'", copse_status_name(is),
                 copse_status_name(status), sentence, words);
}

static void expect_load(const char *path, copse_status status, const char *words)
{
    copse_index *index = (copse_index *)&t;
    long blocks = t.blocks;
    expect(copse_load(t.ctx, path, NULL, &index), status, words);
    assert_null(index);
    assert_int_equal(t.blocks, blocks);
}

/* Saves over an old snapshot, which has to be the only file afterwards and as before. */
static void expect_old_survives(struct file_bytes old, copse_status status, const char *words)
{
    long blocks = t.blocks;
    expect(copse_save(t.index, t.path), status, words);
    assert_int_equal(folder_count(t.folder), 1);
    assert_true(file_equals(t.path, old));
    assert_int_equal(t.blocks, blocks);
}

/* A valid snapshot of another index at t.path. */
static struct file_bytes old_snapshot(void)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    int32_t keys[3] = {-1, 0, 1};
    options.key_type = COPSE_I32;
    assert_int_equal(copse_index_create(t.ctx, &options, &index), COPSE_OK);
    assert_int_equal(copse_build(index, keys, NULL, 3), COPSE_OK);
    assert_int_equal(copse_save(index, t.path), COPSE_OK);
    copse_index_free(index);
    return file_read(t.path);
}

/* --- arguments and paths ---------------------------------------------------------------------------------------- */

static void null_arguments(void **state)
{
    copse_index *index = (copse_index *)&t;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    expect(copse_save(t.index, NULL), COPSE_ERR_ARGUMENT, "copse_save: path is NULL");
    expect(copse_load(t.ctx, NULL, NULL, &index), COPSE_ERR_ARGUMENT, "copse_load: path is NULL");
    expect(copse_load(t.ctx, t.path, NULL, NULL), COPSE_ERR_ARGUMENT, "copse_load: out_index is NULL");
    options.struct_size = 3;
    expect(copse_load(t.ctx, t.path, &options, &index), COPSE_ERR_ARGUMENT, "copse_load: options->struct_size is 3");
    assert_null(index);
    assert_int_equal(copse_save(NULL, t.path), COPSE_ERR_ARGUMENT);
    assert_string_equal(copse_last_error(NULL), "copse_save: index is NULL");
    assert_int_equal(copse_load(NULL, t.path, NULL, &index), COPSE_ERR_ARGUMENT);
    assert_string_equal(copse_last_error(NULL), "copse_load: ctx is NULL");
    expect(copse_save(t.index, ""), COPSE_ERR_ARGUMENT, "copse_save: path is empty");
    assert_int_equal(folder_count(t.folder), 0);
}

static void impossible_options(void **state)
{
    copse_index *index = (copse_index *)&t;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    assert_int_equal(copse_save(t.index, t.path), COPSE_OK);
    options.structure = (copse_structure)99;
    expect(copse_load(t.ctx, t.path, &options, &index), COPSE_ERR_ARGUMENT, "structure");
    assert_null(index);
}

static void wrong_paths(void **state)
{
    char path[600];
    (void)state;
    expect_load(t.path, COPSE_ERR_IO, "cannot open it: No such file or directory");
    expect_load("", COPSE_ERR_IO, "No such file or directory");
    expect_load(t.folder, COPSE_ERR_IO, "the path names a directory: Is a directory");
    expect_load("/dev/null", COPSE_ERR_IO, "it is not a regular file");
    expect(copse_save(t.index, t.folder), COPSE_ERR_IO, "the path names a directory: Is a directory");
    snprintf(path, sizeof path, "%s/", t.path);
    expect(copse_save(t.index, path), COPSE_ERR_IO, "the path names a directory: Is a directory");
    snprintf(path, sizeof path, "%s/none/index.copse", t.folder);
    expect(copse_save(t.index, path), COPSE_ERR_IO, "cannot open its directory: No such file or directory");
    assert_int_equal(folder_count(t.folder), 0);
    struct file_bytes old = old_snapshot();
    snprintf(path, sizeof path, "%s/index.copse", t.path);
    expect(copse_save(t.index, path), COPSE_ERR_IO, "cannot open its directory: Not a directory");
    expect_load(path, COPSE_ERR_IO, "cannot open it: Not a directory");
    free(old.bytes);
}

/* Opening a pipe without a writer would wait for ever. Saving over a device is the same case as saving over a pipe; it is
 * not tried on one, because a library that fails this test would replace it. */
static void pipes(void **state)
{
    (void)state;
    if (mkfifo(t.path, 0600) != 0) skip();
    expect_load(t.path, COPSE_ERR_IO, "it is not a regular file");
    expect(copse_save(t.index, t.path), COPSE_ERR_IO, "what is there is not a regular file");
}

/* The longest name that there is leaves no room for a suffix; the longest path must not push out the reason. */
static void long_names(void **state)
{
    copse_index *index = NULL;
    char path[1024], name[256];
    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(path, sizeof path, "%s/%s", t.folder, name);
    assert_int_equal(copse_save(t.index, path), COPSE_OK);
    assert_int_equal(copse_load(t.ctx, path, NULL, &index), COPSE_OK);
    copse_index_free(index);
    snprintf(path, sizeof path, "%s/%s/%s", t.folder, name, name);
    expect(copse_save(t.index, path), COPSE_ERR_IO, "Not a directory");
    expect_load(path, COPSE_ERR_IO, "Not a directory");
}

static void relative_paths(void **state)
{
    char before[1024];
    copse_index *index = NULL;
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(t.folder), 0);
    copse_status saved = copse_save(t.index, "here.copse"), loaded = copse_load(t.ctx, "./here.copse", NULL, &index);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(saved, COPSE_OK);
    assert_int_equal(loaded, COPSE_OK);
    copse_index_free(index);
}

/* Root may do everything, so root becomes somebody else for a moment. */
static void no_permission(void **state)
{
    struct file_bytes old = old_snapshot();
    bool root = geteuid() == 0;
    (void)state;
    assert_int_equal(chmod(t.path, root ? 0600 : 0000), 0);
    assert_int_equal(chmod(t.folder, 0555), 0);
    if (root && seteuid(NOBODY) != 0) skip();
    copse_index *index = NULL;
    copse_status saved = copse_save(t.index, t.path);
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", copse_last_error(t.ctx));
    copse_status loaded = copse_load(t.ctx, t.path, NULL, &index);
    if (root) assert_int_equal(seteuid(0), 0);
    chmod(t.folder, 0755);
    chmod(t.path, 0644);
    expect(loaded, COPSE_ERR_IO, "cannot open it: Permission denied");
    assert_int_equal(saved, COPSE_ERR_IO);
    assert_non_null(strstr(sentence, "cannot make a temporary file in its folder: Permission denied"));
    assert_int_equal(folder_count(t.folder), 1);
    assert_true(file_equals(t.path, old));
    free(old.bytes);
}

/* --- disk full -------------------------------------------------------------------------------------------------- */

/* A limit on the size of files makes writes fail in the middle, as a full disk does. */
static void disk_full(void **state)
{
    static const rlim_t limits[] = {0, 1, 191, 192, 1 << 20, (1 << 20) + 192, 3 << 20, FILE_SIZE - 1, FILE_SIZE};
    struct file_bytes old = old_snapshot();
    struct rlimit before, limited;
    (void)state;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        limited = before;
        limited.rlim_cur = limits[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
        copse_status saved = copse_save(t.index, t.path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0); /* before anything is printed */
        expect(saved, COPSE_ERR_IO, "writing the temporary file failed: File too large");
        assert_int_equal(folder_count(t.folder), 1);
        assert_true(file_equals(t.path, old));
    }
    signal(SIGXFSZ, handler);
    free(old.bytes);
}

/* --- cancelled, no memory --------------------------------------------------------------------------------------- */

static int cancel_after(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;
    (void)what;
    (void)done;
    (void)total;
    return (*calls)-- <= 0;
}

static void cancelled(void **state)
{
    struct file_bytes old = old_snapshot();
    int calls = 0;
    (void)state;
    assert_int_equal(copse_ctx_set_progress(t.ctx, cancel_after, &calls), COPSE_OK);
    expect_old_survives(old, COPSE_ERR_CANCELLED, "while saving");
    free(old.bytes);
    calls = 1000000;
    assert_int_equal(copse_save(t.index, t.path), COPSE_OK);
    int used = 1000000 - calls;
    assert_true(used >= 1);
    /* Loading is cancelled at every call that it makes, the ones of the build included. */
    copse_index *index = NULL;
    calls = 1000000;
    assert_int_equal(copse_load(t.ctx, t.path, NULL, &index), COPSE_OK);
    copse_index_free(index);
    used = 1000000 - calls;
    assert_true(used >= 1);
    for (int i = 0; i < used; i++) {
        calls = i;
        expect_load(t.path, COPSE_ERR_CANCELLED, i == 0 ? "while loading" : "cancelled");
    }
}

static void no_memory_to_save(void **state)
{
    struct file_bytes old = old_snapshot();
    long allowed = 0;
    (void)state;
    for (;; allowed++) {
        t.until_failure = allowed;
        copse_status status = copse_save(t.index, t.path);
        t.until_failure = NEVER;
        if (status == COPSE_OK) break;
        expect(status, COPSE_ERR_MEMORY, "out of memory");
        assert_int_equal(folder_count(t.folder), 1);
        assert_true(file_equals(t.path, old));
        assert_true(allowed < 1000);
    }
    assert_true(allowed >= 4);
    free(old.bytes);
}

static void no_memory_to_load(void **state)
{
    copse_index *index = NULL;
    long allowed = 0;
    (void)state;
    assert_int_equal(copse_save(t.index, t.path), COPSE_OK);
    long blocks = t.blocks;
    for (;; allowed++) {
        t.until_failure = allowed;
        copse_status status = copse_load(t.ctx, t.path, NULL, &index);
        t.until_failure = NEVER;
        if (status == COPSE_OK) break;
        expect(status, COPSE_ERR_MEMORY, "out of memory");
        assert_null(index);
        assert_int_equal(t.blocks, blocks);
        assert_true(allowed < 10000);
    }
    assert_true(allowed >= 4);
    assert_int_equal(copse_size(index), ENTRIES);
    copse_index_free(index);
}

/* What a killed process left behind does not stop a later one with the same number. */
static void left_over_temporary_files(void **state)
{
    char path[600];
    (void)state;
    for (unsigned i = 0; i < 90; i++) {
        snprintf(path, sizeof path, "%s/.copse-%ld-%u.tmp", t.folder, (long)getpid(), i);
        file_write(path, "left", 4);
    }
    assert_int_equal(copse_save(t.index, t.path), COPSE_OK);
    assert_int_equal(folder_count(t.folder), 91);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(left_over_temporary_files, setup, teardown),
        cmocka_unit_test_setup_teardown(null_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_options, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names, setup, teardown),
        cmocka_unit_test_setup_teardown(relative_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(no_permission, setup, teardown),
        cmocka_unit_test_setup_teardown(disk_full, setup, teardown),
        cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory_to_save, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory_to_load, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
