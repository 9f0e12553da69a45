/* Files of byte strings: what is saved comes back, loaded and opened, whatever the values, the lengths and the number of keys are. */
#include "unit.h"

#include "answers.h"
#include "byte_pool.h"
#include "random.h"
#include "snapshot/format.h"
#include "snapshot_file.h"
#include "test_allocator.h"

#define QUESTIONS 40

static struct fixture {
    copse_ctx *ctx;
    char *folder;
    char path[512], again[512];
} t;

static int setup(void **state)
{
    (void)state;
    t = (struct fixture){.ctx = unit_context(2), .folder = folder_make()};
    (void)snprintf(t.path, sizeof t.path, "%s/strings.copse", t.folder);
    (void)snprintf(t.again, sizeof t.again, "%s/again.copse", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_ctx_free(t.ctx);
    return 0;
}

/* Strings in order, and questions: keys that are there, keys that are not. */
struct strings {
    struct byte_pool pool;
    struct byte_array keys, lows, highs;
    uint64_t n;
};

/* n strings (each twice with duplicates) that begin alike in groups; `longest` of them are as long as a key may be. */
static struct strings strings_make(uint64_t n, bool duplicates, unsigned longest)
{
    static unsigned char bytes[COPSE_LONGEST_KEY];
    struct random_source random = {n + longest};
    struct strings made = {.n = n};
    uint64_t *codes = must_malloc((n + QUESTIONS) * sizeof *codes), *others = must_malloc(QUESTIONS * sizeof *codes);
    byte_pool_add(&made.pool, "", 0);
    for (uint64_t i = 0; i < 2 * n + 1; i++) {
        size_t length = (size_t)snprintf((char *)bytes, 64, "%s%llu", i % 3 ? "https://example.org/" : "",
                                         (unsigned long long)(i * 7919 % (4 * n + 4)));
        if (i % 5 == 0) bytes[length++] = 0;
        if (i < longest) {
            memset(bytes + length, (int)i, sizeof bytes - length);
            length = sizeof bytes - (i & 1);
        }
        byte_pool_add(&made.pool, bytes, length);
    }
    byte_pool_sort(&made.pool);
    for (uint64_t i = 0; i < n; i++) codes[i] = duplicates ? i / 2 : i;
    made.keys = byte_array_of(&made.pool, codes, n, 64, 0, 0);
    for (uint64_t i = 0; i < QUESTIONS; i++) {
        codes[i] = random_below(&random, made.pool.n);
        others[i] = codes[i] + random_below(&random, made.pool.n - codes[i]);
    }
    made.lows = byte_array_of(&made.pool, codes, QUESTIONS, 32, 3, 0);
    made.highs = byte_array_of(&made.pool, others, QUESTIONS, 64, 0, 1);
    free(codes);
    free(others);
    return made;
}

static void strings_free(struct strings *strings)
{
    byte_array_free(&strings->keys);
    byte_array_free(&strings->lows);
    byte_array_free(&strings->highs);
    byte_pool_free(&strings->pool);
}

/* The tree that is saved now. */
static struct unit_tree saved = {COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};

static copse_index *index_make(const struct strings *strings, copse_type value, bool duplicates)
{
    copse_index *index = unit_index(t.ctx, saved, COPSE_BYTES, value, duplicates);
    assert_ok(t.ctx, copse_build(index, &strings->keys.bytes, NULL, strings->n));
    return index;
}

/* All answers of two indexes are the same, and there are some. */
static void same_answers(const struct strings *strings, const copse_index *one, const copse_index *other)
{
    struct answers a = answers_ask(one, &strings->lows.bytes, &strings->highs.bytes, QUESTIONS);
    struct answers b = answers_ask(other, &strings->lows.bytes, &strings->highs.bytes, QUESTIONS);
    /* Ranks are all that not every tree has. */
    const char *failed = answers_failed(&b, COPSE_ERR_UNSUPPORTED), *wrong = answers_differ(&a, &b);
    if (answers_failed(&a, COPSE_ERR_UNSUPPORTED) || failed) fail_msg("%s failed: %s", failed, copse_last_error(t.ctx));
    if (wrong) fail_msg("%s differs", wrong);
    answers_free(&a);
    answers_free(&b);
}

/* Saved, loaded and opened it gives the same answers, and saved again the same bytes. */
static void comes_back_as(uint64_t n, copse_type value, bool duplicates, unsigned longest)
{
    struct strings strings = strings_make(n, duplicates, longest);
    copse_index *index = index_make(&strings, value, duplicates), *loaded = NULL, *opened = NULL, *in_memory = NULL;
    copse_stats stats = {.struct_size = sizeof stats};
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    uint64_t size = 0;
    options.key_type = COPSE_BYTES;
    options.value_type = value;
    options.duplicates = duplicates;
    options.placement = saved.placement;
    assert_ok(t.ctx, copse_save(index, t.path));
    struct file_bytes file = file_read(t.path);
    assert_ok(t.ctx, copse_save_memory(index, NULL, 0, &size));
    assert_int_equal(size, file.size);
    void *memory = must_malloc(file.size);
    memset(memory, 0x55, file.size);
    assert_fails(t.ctx, COPSE_ERR_TOO_SMALL, copse_save_memory(index, memory, size - 1, &size));
    assert_ok(t.ctx, copse_save_memory(index, memory, file.size, &size));
    assert_memory_equal(memory, file.bytes, file.size);
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_ok(t.ctx, copse_load_memory(t.ctx, memory, size, &options, &in_memory));
    copse_index *const all[] = {loaded, opened, in_memory};
    for (unsigned i = 0; i < COUNT_OF(all); i++) {
        assert_ok(t.ctx, copse_verify(all[i]));
        assert_ok(t.ctx, copse_index_stats(all[i], &stats));
        assert_int_equal(stats.entries, n);
        assert_int_equal(stats.key_type, COPSE_BYTES);
        assert_int_equal(stats.value_type, value);
        assert_int_equal(stats.duplicates, duplicates);
        assert_int_equal(stats.structure, all[i] == opened ? COPSE_STRUCTURE_SORTED : saved.structure);
        assert_int_equal(stats.placement, all[i] == opened ? COPSE_PLACEMENT_CPU : saved.placement);
        same_answers(&strings, index, all[i]);
        assert_ok(t.ctx, copse_save(all[i], t.again));
        /* But for the structure, where an open file is read as another. */
        if (stats.structure == saved.structure) assert_true(file_equals(t.again, file));
        copse_index_free(all[i]);
    }
    copse_index_free(index);
    strings_free(&strings);
    free(file.bytes);
    free(memory);
}

/* ... of every tree that can hold it. */
static void comes_back(uint64_t n, copse_type value, bool duplicates, unsigned longest)
{
    comes_back_as(n, value, duplicates, longest);
    static const struct unit_tree radix[] = {{COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_CPU},
                                             {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_EMULATED}};
    for (size_t i = 0; i < COUNT_OF(radix) && !duplicates; i++) {
        saved = radix[i];
        if (n <= unit_fewer(saved, UINT64_MAX, 8200)) comes_back_as(n, value, false, longest);
    }
    saved = (struct unit_tree){COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};
}

static void every_type_of_values(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= TYPED_VALUE_TYPES; i++)
        for (int duplicates = 0; duplicates < 2; duplicates++)
            comes_back(301, i < TYPED_VALUE_TYPES ? typed_value_types[i] : COPSE_NONE, duplicates, 0);
}

/* Fences come every 8192 keys, and the last block of offsets may have nothing but the end of the last key. */
static void borders(void **state)
{
    static const uint64_t counts[] = {0, 1, 2, 3, 8190, 8191, 8192, 8193, 16383, 16384, 16385};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(counts); i++)
        for (int duplicates = 0; duplicates < 2; duplicates++) comes_back(counts[i], COPSE_U32, duplicates, 0);
}

static void long_strings(void **state)
{
    (void)state;
    comes_back(1, COPSE_U64, false, 3);
    comes_back(20, COPSE_U64, true, 20);
    comes_back(200, COPSE_F64, false, 100); /* more than the writer gathers at once */
}

/* The keys section is empty, though there are entries. */
static void nothing_but_the_empty_string(void **state)
{
    enum { N = 9000 };
    const int64_t offsets[N + 1] = {0};
    const copse_bytes keys = COPSE_BYTES_INIT(NULL, 0, (void *)(uintptr_t)offsets, 64);
    const struct unit_tree tree = {COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};
    (void)state;
    for (int all = 0; all < 2; all++) {
        copse_index *index = unit_index(t.ctx, tree, COPSE_BYTES, COPSE_NONE, all), *loaded = NULL, *opened = NULL;
        uint8_t found = 0;
        assert_ok(t.ctx, copse_build(index, &keys, NULL, N));
        assert_ok(t.ctx, copse_save(index, t.path));
        assert_ok(t.ctx, copse_load(t.ctx, t.path, NULL, &loaded));
        assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
        assert_int_equal(copse_size(loaded), all ? N : 1);
        assert_int_equal(copse_size(opened), all ? N : 1);
        assert_ok(t.ctx, copse_verify(opened));
        assert_ok(t.ctx, copse_contains(opened, &keys, 1, &found));
        assert_int_equal(found, 1);
        copse_index_free(index);
        copse_index_free(loaded);
        copse_index_free(opened);
    }
}

static void what_is_refused(void **state)
{
    struct strings strings = strings_make(10, true, 0);
    copse_index *index = index_make(&strings, COPSE_U32, true), *other = NULL;
    copse_index_options options = {.struct_size = sizeof options, .duplicates = 1};
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    options.key_type = COPSE_U64;
    assert_fails_naming(t.ctx, COPSE_ERR_TYPE, "options->key_type is u64, but",
                        copse_load(t.ctx, t.path, &options, &other));
    options.key_type = COPSE_BYTES;
    options.structure = COPSE_STRUCTURE_IMPLICIT;
    assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "byte strings", copse_load(t.ctx, t.path, &options, &other));
    assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "an open file of byte strings is read as the sorted tree is",
                        copse_open(t.ctx, t.path, &options, &other));
    options.structure = COPSE_STRUCTURE_SORTED;
    assert_ok(t.ctx, copse_open(t.ctx, t.path, &options, &other));
    assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "an open file",
                        copse_insert(other, &strings.keys.bytes, NULL, 1, 0, NULL));
    copse_index_free(other);
    options.duplicates = 0;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "duplicates", copse_load(t.ctx, t.path, &options, &other));
    assert_null(other);
    copse_index_free(index);
    strings_free(&strings);
}

/* A file that names a structure which has no place for byte strings, as one of a later copse may, loads into one that has. */
static void another_structure(void **state)
{
    struct strings strings = strings_make(10, false, 0);
    copse_index *index = index_make(&strings, COPSE_U32, false), *loaded = NULL;
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    struct file_bytes file = file_read(t.path);
    ((snapshot_header *)(void *)file.bytes)->structure = COPSE_STRUCTURE_BLINK;
    assert_true(snapshot_repair(file.bytes, file.size));
    assert_ok(t.ctx, copse_load_memory(t.ctx, file.bytes, file.size, NULL, &loaded));
    same_answers(&strings, index, loaded);
    copse_index_free(index);
    copse_index_free(loaded);
    strings_free(&strings);
    free(file.bytes);
    index = NULL;
    strings = strings_make(10, false, 0);
    saved.structure =
        COPSE_STRUCTURE_RADIX; /* which keeps no duplicates, so that a load that wants them takes another */
    index = index_make(&strings, COPSE_U32, false);
    saved.structure = COPSE_STRUCTURE_SORTED;
    assert_ok(t.ctx, copse_save(index, t.path));
    const copse_index_options options = {.struct_size = sizeof options, .duplicates = 1};
    copse_stats stats = {.struct_size = sizeof stats};
    assert_ok(t.ctx, copse_load(t.ctx, t.path, &options, &loaded));
    assert_ok(t.ctx, copse_index_stats(loaded, &stats));
    assert_true(stats.duplicates && stats.structure == COPSE_STRUCTURE_SORTED);
    same_answers(&strings, index, loaded);
    copse_index_free(index);
    copse_index_free(loaded);
    strings_free(&strings);
}

/* Whichever request for memory fails, the call says so, the old file stays and nothing is lost. */
static void without_memory(void **state)
{
    struct strings strings = strings_make(50, false, 1);
    struct test_allocator allocator;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL, *plain = t.ctx;
    copse_status status = COPSE_ERR_MEMORY;
    (void)state;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    t.ctx = ctx;
    copse_index *index = index_make(&strings, COPSE_U32, false), *other = NULL;
    assert_ok(ctx, copse_save(index, t.path));
    struct file_bytes file = file_read(t.path);
    for (int call = 0; call < 3; call++) {
        long long failures = 0;
        for (status = COPSE_ERR_MEMORY; status == COPSE_ERR_MEMORY; failures++) {
            test_allocator_fail_after(&allocator, failures, false);
            status = call == 0   ? copse_save(index, t.path)
                     : call == 1 ? copse_load(ctx, t.path, NULL, &other)
                                 : copse_open(ctx, t.path, NULL, &other);
            test_allocator_never_fail(&allocator);
            assert_true(status == COPSE_ERR_MEMORY || status == COPSE_OK);
            if (status == COPSE_ERR_MEMORY) assert_null(other);
            assert_true(file_equals(t.path, file));
            assert_int_equal(folder_count(t.folder), 1);
        }
        assert_true(failures > 3);
        copse_index_free(other);
        other = NULL;
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
    t.ctx = plain;
    assert_true(test_allocator_is_clean(&allocator));
    strings_free(&strings);
    free(file.bytes);
}

/* --- a golden file --------------------------------------------------------------------------------------------------- */

/* Written by tests/golden/make_golden.py, from docs/FORMAT.md alone; the content is worked out again here. */
static void golden(void **state)
{
    enum { N = 9000 };
    char path[1024];
    const char *source = getenv("COPSE_SOURCE_DIR");
#ifdef COPSE_SOURCE_DIR
    if (!source) source = COPSE_SOURCE_DIR;
#endif
    (void)state;
    (void)snprintf(path, sizeof path, "%s/tests/golden/v2-bytes-u32.copse", source ? source : ".");
    struct byte_array keys = byte_array_room(N, (uint64_t)N * 16, 64);
    uint32_t *values = must_malloc(N * sizeof *values);
    char *data = keys.bytes.data;
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
        byte_array_set_offset(&keys.bytes, (uint64_t)i, at);
        /* "", then twice each: a key that is the beginning of the one with a zero behind it. */
        if (i) at += snprintf(data + at, 16, "key%05d", i / 4);
        if (i % 4 > 1) data[at++] = 0;
        values[i] = (uint32_t)i * 2654435761u;
    }
    byte_array_set_offset(&keys.bytes, N, at);
    const struct unit_tree tree = {COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};
    copse_index *index = unit_index(t.ctx, tree, COPSE_BYTES, COPSE_U32, true), *loaded = NULL, *opened = NULL;
    assert_ok(t.ctx, copse_build(index, &keys.bytes, values, N));
    assert_ok(t.ctx, copse_save(index, t.path));
    struct file_bytes file = file_read(path);
    assert_true(file_equals(t.path, file));
    assert_ok(t.ctx, copse_load(t.ctx, path, NULL, &loaded));
    assert_ok(t.ctx, copse_open(t.ctx, path, NULL, &opened));
    assert_ok(t.ctx, copse_verify(opened));
    struct strings strings = strings_make(QUESTIONS, false, 0);
    same_answers(&strings, index, loaded);
    same_answers(&strings, index, opened);
    strings_free(&strings);
    copse_index_free(index);
    copse_index_free(loaded);
    copse_index_free(opened);
    byte_array_free(&keys);
    free(values);
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_of_values, setup, teardown),
        cmocka_unit_test_setup_teardown(borders, setup, teardown),
        cmocka_unit_test_setup_teardown(long_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_but_the_empty_string, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(another_structure, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(golden, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
