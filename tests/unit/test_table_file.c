/* Tables in files: what is saved comes back, whatever byte is wrong is named, and no forged number is followed. Answers of open files are
 * compared with SQLite's in tests/query. */
#include "unit.h"

#include "copse_query.h"
#include "query/file/file.h"
#include "random.h"
#include "snapshot_file.h"
#include "table_file.h"
#include "test_allocator.h"

#include <unistd.h>

static struct fixture {
    copse_ctx *ctx;
    char *folder;
    char path[512];
} t;

static int setup(void **state)
{
    (void)state;
    t = (struct fixture){.ctx = unit_context(2), .folder = folder_make()};
    (void)snprintf(t.path, sizeof t.path, "%s/a.table", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_ctx_free(t.ctx);
    return 0;
}

static void save(uint64_t rows, uint64_t *digest)
{
    copse_table *table = table_of_all(t.ctx, rows);
    assert_ok(t.ctx, table_ask(table, digest));
    assert_ok(t.ctx, copse_table_save(table, t.path));
    copse_table_free(table);
}

static void what_is_saved_comes_back(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 3, 4, 1000, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t truth = 0, digest = 0;
        copse_table *table = NULL;
        save(sizes[i], &truth);
        assert_ok(t.ctx, copse_table_open(t.ctx, t.path, &table));
        assert_ok(t.ctx, copse_table_verify(table));
        assert_ok(t.ctx, table_ask(table, &digest));
        assert_true(digest == truth);
        copse_table_free(table);
        assert_ok(t.ctx, copse_table_load(t.ctx, t.path, &table));
        assert_ok(t.ctx, table_ask(table, &digest));
        assert_true(digest == truth);
        /* A second time from what was loaded, onto the same path. */
        struct file_bytes first = file_read(t.path);
        assert_ok(t.ctx, copse_table_save(table, t.path));
        assert_true(file_equals(t.path, first));
        free(first.bytes);
        copse_table_free(table);
    }
}

static void tables_may_end_as_files(void **state)
{
    (void)state;
    uint64_t truth = 0, digest = 0;
    copse_table *table = NULL;
    save(20000, &truth);
    struct file_bytes kept = file_read(t.path);
    assert_ok(t.ctx, copse_table_save_and_free(table_of_all(t.ctx, 20000), t.path));
    assert_true(file_equals(t.path, kept));
    free(kept.bytes);
    /* One that is open, onto its own file. */
    assert_ok(t.ctx, copse_table_open(t.ctx, t.path, &table));
    assert_ok(t.ctx, copse_table_save_and_free(table, t.path));
    assert_ok(t.ctx, copse_table_open(t.ctx, t.path, &table));
    assert_ok(t.ctx, table_ask(table, &digest));
    assert_true(digest == truth);
    copse_table_free(table);
    /* Freed all the same where nothing can be written. */
    assert_fails(t.ctx, COPSE_ERR_IO, copse_table_save_and_free(table_of_all(t.ctx, 1000), "/no/such/folder/a.table"));
    assert_int_equal(copse_table_save_and_free(NULL, t.path), COPSE_ERR_ARGUMENT);
}

static void open_files_are_not_changed(void **state)
{
    (void)state;
    uint64_t digest = 0;
    const int64_t key = 14;
    const copse_column column = {"id", COPSE_I64, 0, &key, NULL};
    copse_table *table = NULL;
    save(100, &digest);
    assert_ok(t.ctx, copse_table_open(t.ctx, t.path, &table));
    assert_int_equal(copse_table_append(table, &column, 1, 1), COPSE_ERR_UNSUPPORTED);
    assert_non_null(strstr(copse_last_error(t.ctx), "copse_table_load"));
    assert_int_equal(copse_table_update(table, &column, 1, &column, 1, NULL), COPSE_ERR_UNSUPPORTED);
    assert_int_equal(copse_table_delete(table, &column, 1, NULL), COPSE_ERR_UNSUPPORTED);
    assert_int_equal(copse_table_compact(table), COPSE_ERR_UNSUPPORTED);
    /* Further indexes are made in memory, and saved with it elsewhere. */
    assert_ok(t.ctx, copse_table_index(table, "price", NULL));
    assert_ok(t.ctx, copse_table_verify(table));
    assert_ok(t.ctx, copse_table_save(table, t.path));
    copse_table_free(table);
    assert_ok(t.ctx, copse_table_load(t.ctx, t.path, &table));
    assert_ok(t.ctx, copse_table_delete(table, &column, 1, NULL));
    copse_table_free(table);
}

/* Whichever byte is flipped: opening, a question or verify names the damage; questions that were answered have the right answers. */
static void every_wrong_byte_is_named(void **state)
{
    (void)state;
    uint64_t truth = 0, answered = 0;
    struct random_source random = {41};
    save(700, &truth);
    struct file_bytes sound = file_read(t.path);
    for (size_t at = 0; at < sound.size; at += at < 600 ? 1 : 1 + random_below(&random, 150)) {
        copse_table *table = NULL;
        uint64_t digest = 0;
        const unsigned char bit = (unsigned char)(1u << random_below(&random, 8));
        sound.bytes[at] ^= bit;
        file_write(t.path, sound.bytes, sound.size);
        sound.bytes[at] ^= bit;
        copse_status status = copse_table_open(t.ctx, t.path, &table);
        if (status == COPSE_OK) {
            copse_status asked = table_ask(table, &digest);
            assert_true(asked == COPSE_OK ? digest == truth : asked == COPSE_ERR_FORMAT);
            answered += asked == COPSE_OK;
            status = copse_table_verify(table);
        }
        assert_true(status == COPSE_ERR_FORMAT || status == COPSE_ERR_VERSION);
        assert_non_null(strstr(copse_last_error(t.ctx), "a.table"));
        copse_table_free(table);
        table = NULL;
        assert_int_not_equal(copse_table_load(t.ctx, t.path, &table), COPSE_OK);
        assert_null(table);
    }
    assert_true(answered > 0); /* damage that was not on the way */
    free(sound.bytes);
}

static void cut_files_are_named(void **state)
{
    (void)state;
    uint64_t truth = 0;
    save(300, &truth);
    struct file_bytes sound = file_read(t.path);
    for (size_t size = 0; size < sound.size; size += size < 200 ? 1 : 997) {
        copse_table *table = NULL;
        file_write(t.path, sound.bytes, size);
        assert_int_equal(copse_table_open(t.ctx, t.path, &table), COPSE_ERR_FORMAT);
        assert_int_equal(copse_table_load(t.ctx, t.path, &table), COPSE_ERR_FORMAT);
    }
    free(sound.bytes);
    copse_table *table = NULL;
    assert_int_equal(copse_table_open(t.ctx, "/nowhere/at.all", &table), COPSE_ERR_IO);
    assert_int_equal(copse_table_open(t.ctx, t.folder, &table), COPSE_ERR_IO);
    assert_int_equal(copse_table_open(t.ctx, NULL, &table), COPSE_ERR_ARGUMENT);
    assert_int_equal(copse_table_open(NULL, t.path, &table), COPSE_ERR_ARGUMENT);
}

/* With checksums that somebody made right, anything may come out, but nothing is read that is not there (the sanitizers look). */
static void forged_numbers_are_not_followed(void **state)
{
    (void)state;
    uint64_t truth = 0;
    struct random_source random = {43};
    save(500, &truth);
    struct file_bytes sound = file_read(t.path);
    unsigned char *bytes = malloc(sound.size);
    assert_non_null(bytes);
    for (int round = 0; round < 600; round++) {
        copse_table *table = NULL;
        uint64_t digest = 0;
        memcpy(bytes, sound.bytes, sound.size);
        for (uint64_t changes = 1 + random_below(&random, 4); changes > 0; changes--) {
            size_t at = random_below(&random, round % 2 ? sound.size : 400);
            bytes[at] = random_one_in(&random, 2) ? 0xFF : (unsigned char)random_below(&random, 256);
        }
        table_file_repair(bytes, sound.size);
        file_write(t.path, bytes, sound.size);
        if (copse_table_open(t.ctx, t.path, &table) != COPSE_OK) continue;
        (void)table_ask(table, &digest);
        (void)copse_table_verify(table);
        copse_table_free(table);
        table = NULL;
        if (copse_table_load(t.ctx, t.path, &table) == COPSE_OK) assert_ok(t.ctx, copse_table_verify(table));
        copse_table_free(table);
    }
    free(bytes);
    free(sound.bytes);
}

static void an_index_file_is_no_table(void **state)
{
    (void)state;
    copse_index *index = NULL;
    copse_table *table = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = COPSE_U32;
    options.value_type = COPSE_U32;
    assert_ok(t.ctx, copse_index_create(t.ctx, &options, &index));
    assert_ok(t.ctx, copse_save(index, t.path));
    copse_index_free(index);
    assert_int_equal(copse_table_open(t.ctx, t.path, &table), COPSE_ERR_FORMAT);
    assert_non_null(strstr(copse_last_error(t.ctx), "snapshot of an index"));
}

static void memory_runs_out_at_every_place(void **state)
{
    (void)state;
    struct test_allocator allocator;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = 1;
    assert_int_equal(copse_ctx_create(&options, &ctx), COPSE_OK);
    copse_table *table = table_of_all(ctx, 200);
    assert_ok(ctx, copse_table_save(table, t.path));
    struct file_bytes sound = file_read(t.path);
    for (int call = 0; call < 4; call++) {
        copse_status status = COPSE_ERR_MEMORY;
        for (long long after = 0; status == COPSE_ERR_MEMORY; after++) {
            copse_table *other = NULL;
            const char *const two[] = {"flag", "price"};
            test_allocator_fail_after(&allocator, after, false);
            if (call == 0) status = copse_table_save(table, t.path);
            if (call == 1) status = copse_table_open(ctx, t.path, &other);
            if (call == 2) status = copse_table_load(ctx, t.path, &other);
            if (call == 3) status = copse_table_index_columns(table, two, 2, NULL);
            test_allocator_never_fail(&allocator);
            assert_true(status == COPSE_OK || status == COPSE_ERR_MEMORY);
            assert_true((other != NULL) == (status == COPSE_OK && (call == 1 || call == 2)));
            assert_true(call != 0 || file_equals(t.path, sound));
            copse_table_free(other);
        }
    }
    assert_ok(ctx, copse_table_verify(table));
    copse_table_free(table);
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
    free(sound.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_saved_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_may_end_as_files, setup, teardown),
        cmocka_unit_test_setup_teardown(open_files_are_not_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(every_wrong_byte_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_files_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(forged_numbers_are_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_index_file_is_no_table, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_runs_out_at_every_place, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
