/* Snapshots that are well: what is saved comes back, in every type, at every border, from every golden file. */
#include "snapshot_file.h"
#include "trees.h"
#include "trees/registry.h"
#include "typed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define assert_ok(ctx, call)                                                                                           \
    do {                                                                                                               \
        copse_status assert_ok_status = (call);                                                                        \
        if (assert_ok_status != COPSE_OK)                                                                              \
            fail_msg("%s: %s: %s", #call, copse_status_name(assert_ok_status), copse_last_error(ctx));                 \
    } while (0)

/* Entries in arrays of the caller's types. */
struct entries {
    copse_type key_type;
    copse_type value_type;
    bool duplicates;
    uint64_t n;
    void *keys;
    void *values;
};

static struct fixture {
    copse_ctx *ctx;
    char *folder;
    char path[512];
} t;

static int setup(void **state)
{
    (void)state;
    if (copse_ctx_create(NULL, &t.ctx) != COPSE_OK) return 1;
    t.folder = folder_make();
    snprintf(t.path, sizeof t.path, "%s/index.copse", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_ctx_free(t.ctx);
    return 0;
}

/* n entries spread over the whole range of the key type, in order; with duplicates each key comes three times. */
static struct entries entries_make(copse_type key_type, copse_type value_type, bool duplicates, uint64_t n)
{
    struct entries e = {key_type, value_type, duplicates, n, typed_new(key_type, n + 1), typed_new(value_type, n + 1)};
    uint64_t lowest = typed_lowest_code(key_type), highest = typed_highest_code(key_type);
    uint64_t step = n > 1 ? (highest - lowest) / (n - 1) : 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t code = lowest + (duplicates ? i / 3 : i) * step;
        /* -0.0 would come back as 0.0, which is right, and is not what is compared here. */
        if (typed_is_float(key_type) && code == typed_zero_code(key_type) - 1) code--;
        typed_set_code(key_type, e.keys, i, code);
        typed_set_bits(value_type, e.values, i, (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
    }
    return e;
}

static void entries_free(struct entries *e)
{
    free(e->keys);
    free(e->values);
}

static copse_index *index_build_on(const struct entries *e, copse_structure structure, copse_placement placement)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.key_type = e->key_type;
    options.value_type = e->value_type;
    options.structure = structure;
    options.placement = placement;
    options.duplicates = e->duplicates;
    assert_ok(t.ctx, copse_index_create(t.ctx, &options, &index));
    assert_ok(t.ctx, copse_build(index, e->keys, e->values, e->n));
    return index;
}

static copse_index *index_build(const struct entries *e, copse_structure structure)
{
    return index_build_on(e, structure, COPSE_PLACEMENT_CPU);
}

/* The index holds exactly these entries, bit for bit, and is sound. */
static void index_compare(const copse_index *index, const struct entries *e, copse_structure structure)
{
    copse_stats stats = {.struct_size = sizeof stats};
    void *keys = typed_new(e->key_type, e->n + 1), *values = typed_new(e->value_type, e->n + 1);
    assert_ok(t.ctx, copse_index_stats(index, &stats));
    assert_int_equal(stats.entries, e->n);
    assert_int_equal(stats.key_type, e->key_type);
    assert_int_equal(stats.value_type, e->value_type);
    assert_int_equal(stats.structure, structure);
    assert_int_equal(stats.duplicates, e->duplicates);
    assert_ok(t.ctx, copse_export(index, keys, values, e->n));
    assert_memory_equal(keys, e->keys, e->n * typed_size(e->key_type));
    assert_memory_equal(values, e->values, e->n * typed_size(e->value_type));
    assert_ok(t.ctx, copse_verify(index));
    free(keys);
    free(values);
}

/* Saves, loads, compares, saves what was loaded, and compares the files. */
static void round_trip(struct entries e, copse_structure structure)
{
    copse_index *index = index_build(&e, structure), *loaded = NULL;
    assert_ok(t.ctx, copse_save(index, t.path));
    copse_index_free(index);
    struct file_bytes first = file_read(t.path);
    assert_ok(t.ctx, copse_load(t.ctx, t.path, NULL, &loaded));
    index_compare(loaded, &e, structure);
    assert_ok(t.ctx, copse_save(loaded, t.path));
    assert_true(file_equals(t.path, first));
    assert_int_equal(folder_count(t.folder), 1);
    free(first.bytes);
    copse_index_free(loaded);
    entries_free(&e);
}

static void every_type_comes_back(void **state)
{
    static const uint64_t sizes[] = {0, 1, 1000};
    const struct trees trees = trees_that(COPSE_PLACEMENT_CPU, COPSE_CAN_EXIST);
    const struct trees with_duplicates = trees_that(COPSE_PLACEMENT_CPU, COPSE_CAN_KEEP_DUPLICATES);
    (void)state;
    for (int k = 0; k < TYPED_KEY_TYPES; k++)
        for (int v = 0; v < TYPED_VALUE_TYPES; v++)
            for (int size = 0; size < 3; size++) {
                for (unsigned i = 0; i < trees.n; i++)
                    round_trip(entries_make(typed_key_types[k], typed_value_types[v], false, sizes[size]),
                               trees.structure[i]);
                for (unsigned i = 0; i < with_duplicates.n; i++)
                    round_trip(entries_make(typed_key_types[k], typed_value_types[v], true, sizes[size]),
                               with_duplicates.structure[i]);
            }
}

/* Where an index lives does not show in its file, and does not matter to whoever loads it. */
static void placements_do_not_show(void **state)
{
    static const copse_placement placements[] = {COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_EMULATED};
    static const uint64_t sizes[] = {0, 1, 600, 9001};
    (void)state;
    for (int k = 0; k < TYPED_KEY_TYPES; k++)
        for (int turn = 0; turn < 8; turn++) {
            struct entries e = entries_make(typed_key_types[k], typed_value_types[(k + turn) % TYPED_VALUE_TYPES],
                                            turn & 1, sizes[turn / 2]);
            struct file_bytes first = {NULL, 0};
            for (int from = 0; from < 2; from++) {
                copse_index *index = index_build_on(&e, COPSE_STRUCTURE_IMPLICIT, placements[from]);
                assert_ok(t.ctx, copse_save(index, t.path));
                if (!first.bytes) first = file_read(t.path);
                assert_true(file_equals(t.path, first));
                copse_index_free(index);
                for (int to = 0; to < 2; to++) {
                    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
                    copse_index *loaded = NULL;
                    copse_stats stats = {.struct_size = sizeof stats};
                    options.key_type = e.key_type;
                    options.value_type = e.value_type;
                    options.duplicates = e.duplicates;
                    options.placement = placements[to];
                    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
                    index_compare(loaded, &e, COPSE_STRUCTURE_IMPLICIT);
                    assert_ok(t.ctx, copse_index_stats(loaded, &stats));
                    assert_int_equal(stats.placement, placements[to]);
                    copse_index_free(loaded);
                }
            }
            free(first.bytes);
            entries_free(&e);
        }
}

/* A snapshot of a structure that the placement lacks can still be loaded as another. */
/* A file knows the structures of devices, too; on the CPU they become the one that does the same. */
static void structures_of_devices(void **state)
{
    (void)state;
    const struct trees trees = trees_absent(COPSE_PLACEMENT_CPU);
    for (unsigned i = 0; i < trees.n; i++) {
        const copse_structure structure = trees.structure[i];
        struct entries e = entries_make(COPSE_U64, COPSE_U32, false, 500);
        copse_index *index = index_build_on(&e, structure, COPSE_PLACEMENT_EMULATED), *loaded = NULL;
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        assert_ok(t.ctx, copse_save(index, t.path));
        options.value_type = COPSE_U32;
        for (int there = 0; there < 2; there++) {
            options.placement = there ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_CPU;
            assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
            index_compare(loaded, &e, copse_registry_nearest(structure, options.placement));
            copse_index_free(loaded);
        }
        copse_index_free(index);
        entries_free(&e);
    }
}

static void a_structure_that_the_placement_lacks(void **state)
{
    struct entries e = entries_make(COPSE_U64, COPSE_U32, false, 500);
    copse_index *index = index_build(&e, COPSE_STRUCTURE_REGULAR), *loaded = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    options.value_type = COPSE_U32;
    options.placement = COPSE_PLACEMENT_EMULATED;
    options.structure = COPSE_STRUCTURE_REGULAR; /* by name: refused */
    assert_int_equal(copse_load(t.ctx, t.path, &options, &loaded), COPSE_ERR_UNSUPPORTED);
    assert_non_null(strstr(copse_last_error(t.ctx), "regular"));
    assert_null(loaded);
    options.structure = COPSE_STRUCTURE_AUTO; /* the file's, or the one that does the same there */
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    index_compare(loaded, &e, COPSE_STRUCTURE_BLINK);
    copse_index_free(loaded);
    options.structure = COPSE_STRUCTURE_IMPLICIT;
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    index_compare(loaded, &e, COPSE_STRUCTURE_IMPLICIT);
    copse_index_free(loaded);
    copse_index_free(index);
    entries_free(&e);
}

/* A block has 2^16 bytes: 2^13 or 2^14 elements. The checksums of 2^13 blocks are a block, which is too much for a test. */
static void block_borders(void **state)
{
    static const copse_type types[2] = {COPSE_U32, COPSE_F64};
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int v = 0; v < 2; v++)
            for (uint64_t border = 1 << 13; border <= 1 << 15; border *= 2)
                for (uint64_t n = border - 1; n <= border + 1; n++)
                    round_trip(entries_make(types[k], types[v], n % 2, n), COPSE_STRUCTURE_IMPLICIT);
}

/* The writer goes through 2^20 entries at a time. */
static void step_borders(void **state)
{
    (void)state;
    for (uint64_t n = (1 << 20) - 1; n <= (1 << 20) + 1; n++)
        round_trip(entries_make(COPSE_I32, COPSE_I32, false, n), COPSE_STRUCTURE_REGULAR);
    round_trip(entries_make(COPSE_U64, COPSE_U32, true, (1 << 20) + 12345), COPSE_STRUCTURE_IMPLICIT);
}

static void threads_do_not_show(void **state)
{
    struct entries e = entries_make(COPSE_U64, COPSE_U64, false, 1100000);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *usual = t.ctx;
    struct file_bytes first = {NULL, 0};
    (void)state;
    for (options.threads = 1; options.threads <= 3; options.threads++) {
        assert_ok(NULL, copse_ctx_create(&options, &t.ctx));
        copse_index *index = index_build(&e, COPSE_STRUCTURE_IMPLICIT), *loaded = NULL;
        assert_ok(t.ctx, copse_save(index, t.path));
        copse_index_free(index);
        if (!first.bytes) first = file_read(t.path);
        assert_true(file_equals(t.path, first));
        assert_ok(t.ctx, copse_load(t.ctx, t.path, NULL, &loaded));
        index_compare(loaded, &e, COPSE_STRUCTURE_IMPLICIT);
        copse_index_free(loaded);
        copse_ctx_free(t.ctx);
    }
    t.ctx = usual;
    free(first.bytes);
    entries_free(&e);
}

static void saving_replaces(void **state)
{
    struct entries large = entries_make(COPSE_U64, COPSE_U64, false, 5000),
                   small = entries_make(COPSE_U32, COPSE_F32, true, 9);
    copse_index *first = index_build(&large, COPSE_STRUCTURE_IMPLICIT), *loaded = NULL;
    copse_index *second = index_build(&small, COPSE_STRUCTURE_REGULAR);
    (void)state;
    assert_ok(t.ctx, copse_save(first, t.path));
    assert_ok(t.ctx, copse_save(second, t.path));
    assert_ok(t.ctx, copse_load(t.ctx, t.path, NULL, &loaded));
    index_compare(loaded, &small, COPSE_STRUCTURE_REGULAR);
    assert_int_equal(folder_count(t.folder), 1);
    copse_index_free(first);
    copse_index_free(second);
    copse_index_free(loaded);
    entries_free(&large);
    entries_free(&small);
}

static unsigned permissions(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 0777;
}

static void permissions_follow_the_umask_then_stay(void **state)
{
    struct entries e = entries_make(COPSE_U64, COPSE_U64, false, 3);
    copse_index *index = index_build(&e, COPSE_STRUCTURE_IMPLICIT);
    (void)state;
    mode_t before = umask(027);
    assert_ok(t.ctx, copse_save(index, t.path));
    assert_int_equal(permissions(t.path), 0640);
    assert_int_equal(chmod(t.path, 0604), 0);
    assert_ok(t.ctx, copse_save(index, t.path));
    assert_int_equal(permissions(t.path), 0604);
    umask(before);
    copse_index_free(index);
    entries_free(&e);
}

/* --- options ---------------------------------------------------------------------------------------------------- */

static void options_override_structure_and_duplicates(void **state)
{
    struct entries e = entries_make(COPSE_DATE, COPSE_I64, false, 700);
    copse_index *index = index_build(&e, COPSE_STRUCTURE_IMPLICIT), *loaded = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    /* 0: whatever the file has. */
    options.key_type = (copse_type)0;
    options.value_type = (copse_type)0;
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    index_compare(loaded, &e, COPSE_STRUCTURE_IMPLICIT);
    copse_index_free(loaded);
    options.key_type = COPSE_DATE;
    options.value_type = COPSE_I64;
    options.structure = COPSE_STRUCTURE_REGULAR;
    options.duplicates = 1;
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    e.duplicates = true;
    index_compare(loaded, &e, COPSE_STRUCTURE_REGULAR);
    copse_index_free(loaded);
    copse_index_free(index);
    entries_free(&e);
}

/* A caller built against a header whose options ended after key_type. */
static void options_of_an_older_caller(void **state)
{
    struct entries e = entries_make(COPSE_F64, COPSE_F32, true, 30);
    copse_index *index = index_build(&e, COPSE_STRUCTURE_REGULAR), *loaded = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    options.key_type = COPSE_F64;
    options.struct_size = offsetof(copse_index_options, value_type);
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    index_compare(loaded, &e, COPSE_STRUCTURE_REGULAR);
    copse_index_free(loaded);
    copse_index_free(index);
    entries_free(&e);
}

/* --- progress --------------------------------------------------------------------------------------------------- */

struct watch {
    const char *what;
    unsigned calls;
    uint64_t done;
    uint64_t total;
};

static int watch_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct watch *w = user;
    if (strcmp(what, w->what) != 0) return 0; /* the build inside of a load */
    assert_true(done > w->done && done <= total);
    assert_true(w->calls == 0 || total == w->total);
    w->calls++;
    w->done = done;
    w->total = total;
    return 0;
}

static void progress_runs_to_the_end(void **state)
{
    struct entries e = entries_make(COPSE_U32, COPSE_U32, false, 3 << 20);
    copse_index *index = index_build(&e, COPSE_STRUCTURE_IMPLICIT), *loaded = NULL;
    struct watch saving = {.what = "saving"}, loading = {.what = "loading"};
    (void)state;
    assert_ok(t.ctx, copse_ctx_set_progress(t.ctx, watch_progress, &saving));
    assert_ok(t.ctx, copse_save(index, t.path));
    assert_ok(t.ctx, copse_ctx_set_progress(t.ctx, watch_progress, &loading));
    assert_ok(t.ctx, copse_load(t.ctx, t.path, NULL, &loaded));
    assert_ok(t.ctx, copse_ctx_set_progress(t.ctx, NULL, NULL));
    assert_true(saving.calls >= 3 && saving.done == saving.total);
    assert_true(loading.calls >= 2 && loading.done == loading.total);
    copse_index_free(loaded);
    copse_index_free(index);
    entries_free(&e);
}

/* --- golden files ----------------------------------------------------------------------------------------------- */

/* Written by tests/golden/make_golden.py, from docs/FORMAT.md alone; the content is worked out again here. */
static const char *golden_path(const char *name)
{
    static char path[1024];
    const char *source = getenv("COPSE_SOURCE_DIR");
#ifdef COPSE_SOURCE_DIR
    if (!source) source = COPSE_SOURCE_DIR;
#endif
    snprintf(path, sizeof path, "%s/tests/golden/%s", source ? source : ".", name);
    return path;
}

/* The file of version 1 loads; that of version 2 loads and opens, and is what an index with the content of either saves. */
static void golden(const char *name, struct entries e, copse_structure structure)
{
    char first[128], second[128];
    (void)snprintf(first, sizeof first, "v1-%s.copse", name);
    (void)snprintf(second, sizeof second, "v2-%s.copse", name);
    struct file_bytes bytes = file_read(golden_path(second));
    for (int version = 1; version <= 2; version++) {
        copse_index *loaded = NULL;
        assert_ok(t.ctx, copse_load(t.ctx, golden_path(version == 1 ? first : second), NULL, &loaded));
        index_compare(loaded, &e, structure);
        assert_ok(t.ctx, copse_save(loaded, t.path));
        assert_true(file_equals(t.path, bytes));
        copse_index_free(loaded);
    }
    /* And from an index that never saw the file. */
    copse_index *built = index_build(&e, structure), *opened = NULL;
    assert_ok(t.ctx, copse_save(built, t.path));
    assert_true(file_equals(t.path, bytes));
    copse_index_free(built);
    assert_ok(t.ctx, copse_open(t.ctx, golden_path(second), NULL, &opened));
    index_compare(opened, &e, COPSE_STRUCTURE_IMPLICIT);
    copse_index_free(opened);
    free(bytes.bytes);
}

static void golden_u64_u64(void **state)
{
    uint64_t keys[100], values[100];
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        keys[i] = i == 99 ? UINT64_MAX : i * UINT64_C(0x028F5C28F5C28F5C);
        values[i] = UINT64_MAX - i * i;
    }
    golden("u64-u64", (struct entries){COPSE_U64, COPSE_U64, false, 100, keys, values}, COPSE_STRUCTURE_IMPLICIT);
}

static void golden_f32_i32_duplicates(void **state)
{
    float keys[] = {-INFINITY, -1.5f, -1.5f, 0, 0, 0, 0x1p-149f, 0.25f, 0.25f, 1, 3.0e38f, INFINITY, INFINITY};
    int32_t values[] = {-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6};
    (void)state;
    golden("f32-i32-duplicates", (struct entries){COPSE_F32, COPSE_I32, true, 13, keys, values},
           COPSE_STRUCTURE_REGULAR);
}

static void golden_timestamp_f64(void **state)
{
    int64_t keys[37];
    double values[37];
    (void)state;
    for (int i = 0; i < 37; i++) {
        keys[i] = i * INT64_C(86400000000) - INT64_C(1000000000000000);
        values[i] = i / 8.0 - 2;
    }
    golden("timestamp-f64", (struct entries){COPSE_TIMESTAMP, COPSE_F64, false, 37, keys, values},
           COPSE_STRUCTURE_IMPLICIT);
}

/* More than one block of keys, so that there are several fences. */
static void golden_blocks(void **state)
{
    struct entries e = {COPSE_I32, COPSE_U32, true, 20000, typed_new(COPSE_I32, 20000), typed_new(COPSE_U32, 20000)};
    struct file_bytes bytes = file_read(golden_path("v2-i32-u32-blocks.copse"));
    copse_index *opened = NULL;
    (void)state;
    for (int32_t i = 0; i < 20000; i++) {
        ((int32_t *)e.keys)[i] = i / 3 - 3000;
        ((uint32_t *)e.values)[i] = (uint32_t)i * 2654435761u;
    }
    copse_index *built = index_build(&e, COPSE_STRUCTURE_REGULAR);
    assert_ok(t.ctx, copse_save(built, t.path));
    assert_true(file_equals(t.path, bytes));
    copse_index_free(built);
    assert_ok(t.ctx, copse_open(t.ctx, golden_path("v2-i32-u32-blocks.copse"), NULL, &opened));
    index_compare(opened, &e, COPSE_STRUCTURE_IMPLICIT);
    copse_index_free(opened);
    entries_free(&e);
    free(bytes.bytes);
}

static void golden_empty(void **state)
{
    int32_t keys[1] = {0};
    uint32_t values[1] = {0};
    (void)state;
    golden("date-u32-empty", (struct entries){COPSE_DATE, COPSE_U32, false, 0, keys, values}, COPSE_STRUCTURE_REGULAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(placements_do_not_show, setup, teardown),
        cmocka_unit_test_setup_teardown(a_structure_that_the_placement_lacks, setup, teardown),
        cmocka_unit_test_setup_teardown(structures_of_devices, setup, teardown),
        cmocka_unit_test_setup_teardown(block_borders, setup, teardown),
        cmocka_unit_test_setup_teardown(step_borders, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_do_not_show, setup, teardown),
        cmocka_unit_test_setup_teardown(saving_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(permissions_follow_the_umask_then_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(options_override_structure_and_duplicates, setup, teardown),
        cmocka_unit_test_setup_teardown(options_of_an_older_caller, setup, teardown),
        cmocka_unit_test_setup_teardown(progress_runs_to_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(golden_u64_u64, setup, teardown),
        cmocka_unit_test_setup_teardown(golden_f32_i32_duplicates, setup, teardown),
        cmocka_unit_test_setup_teardown(golden_timestamp_f64, setup, teardown),
        cmocka_unit_test_setup_teardown(golden_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(golden_empty, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
