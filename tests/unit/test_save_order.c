/* What saving does to the file system, call by call: a snapshot that was renamed before it was synced may be empty after a power cut. The
 * program's own fsync and rename stand in front of the C library's and write down who was called. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot_file.h"

enum call { SYNC_FILE, RENAME, SYNC_DIRECTORY };

static struct {
    enum call call[16];
    unsigned n;
    ino_t synced; /* the file that was synced */
    off_t synced_size;
    ino_t renamed;    /* ... and renamed          */
    int fail_sync_of; /* SYNC_FILE or SYNC_DIRECTORY: that one fails; -1: none */
} seen;

static void note(enum call call)
{
    assert_true(seen.n < COUNT_OF(seen.call));
    seen.call[seen.n++] = call;
}

static int fsync_noted(int file)
{
    int (*next)(int) = (int (*)(int))(uintptr_t)dlsym(RTLD_NEXT, "fsync");
    struct stat about;
    assert_int_equal(fstat(file, &about), 0);
    const enum call call = S_ISDIR(about.st_mode) ? SYNC_DIRECTORY : SYNC_FILE;
    note(call);
    if (call == SYNC_FILE) {
        seen.synced = about.st_ino;
        seen.synced_size = about.st_size;
    }
    if (seen.fail_sync_of == (int)call) {
        errno = EIO;
        return -1;
    }
    return next(file);
}

static int rename_noted(const char *from, const char *to)
{
    int (*next)(const char *, const char *) =
        (int (*)(const char *, const char *))(uintptr_t)dlsym(RTLD_NEXT, "rename");
    struct stat about;
    assert_int_equal(stat(from, &about), 0);
    seen.renamed = about.st_ino;
    note(RENAME);
    return next(from, to);
}

/* The library's calls come here. */
int fsync(int) __attribute__((alias("fsync_noted")));
int rename(const char *, const char *) __attribute__((alias("rename_noted")));

static copse_status save_tens(const char *folder, uint64_t n, copse_ctx *ctx)
{
    static const struct unit_tree tree = {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/snapshot", folder);
    copse_index *index = unit_tens(ctx, tree, n);
    seen.n = 0;
    const copse_status status = copse_save(index, path);
    copse_index_free(index);
    return status;
}

static void synced_then_renamed_then_the_folder(void **state)
{
    (void)state;
    char *folder = folder_make();
    copse_ctx *ctx = unit_context(1);
    seen.fail_sync_of = -1;
    for (unsigned round = 0; round < 2; round++) { /* a new file, then one in the place of another */
        assert_ok(ctx, save_tens(folder, 1000 + round, ctx));
        assert_int_equal(seen.n, 3);
        assert_int_equal(seen.call[0], SYNC_FILE);
        assert_int_equal(seen.call[1], RENAME);
        assert_int_equal(seen.call[2], SYNC_DIRECTORY);
        assert_int_equal(seen.synced, seen.renamed);
        /* All of it was there when it was synced: nothing is written behind that. */
        char path[512];
        struct stat about;
        (void)snprintf(path, sizeof path, "%s/snapshot", folder);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_size, seen.synced_size);
        assert_int_equal(about.st_ino, seen.synced);
    }
    copse_ctx_free(ctx);
    folder_remove(folder);
}

static void what_cannot_be_synced_is_not_renamed(void **state)
{
    (void)state;
    char *folder = folder_make();
    copse_ctx *ctx = unit_context(1);
    seen.fail_sync_of = SYNC_FILE;
    assert_fails_naming(ctx, COPSE_ERR_IO, "syncing the temporary file failed", save_tens(folder, 100, ctx));
    assert_int_equal(seen.n, 1);
    assert_int_equal(folder_count(folder), 0);
    seen.fail_sync_of = SYNC_DIRECTORY;
    assert_fails_naming(ctx, COPSE_ERR_IO, "power cut", save_tens(folder, 100, ctx));
    assert_int_equal(folder_count(folder), 1);
    copse_ctx_free(ctx);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synced_then_renamed_then_the_folder),
        cmocka_unit_test(what_cannot_be_synced_is_not_renamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
