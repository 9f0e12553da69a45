/* Open files: every call answers as the loaded index does, in every type and at every border; updates are refused; save and load in
 * memory give the same bytes and entries as files. */
#include "unit.h"

#include "answers.h"
#include "random.h"
#include "snapshot_file.h"
#include "test_allocator.h"

static struct fixture {
    copse_ctx *ctx;
    char *folder;
    char path[512];
} t;

static int setup(void **state)
{
    (void)state;
    t.ctx = unit_context(2);
    t.folder = folder_make();
    (void)snprintf(t.path, sizeof t.path, "%s/index.copse", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_ctx_free(t.ctx);
    return 0;
}

/* --- content ---------------------------------------------------------------------------------------------------- */

/* n entries with room between the keys; with duplicates each key comes three times. Values are small numbers, so that sums of
 * floats are exact in any order. */
static copse_index *index_make(copse_type key, copse_type value, bool duplicates, uint64_t n, copse_structure structure)
{
    const struct unit_tree tree = {structure, COPSE_PLACEMENT_CPU};
    copse_index *index = unit_index(t.ctx, tree, key, value, duplicates);
    void *keys = typed_new(key, n + 1), *values = typed_new(value, n + 1);
    const uint64_t lowest = typed_lowest_code(key), step = (typed_highest_code(key) - lowest) / (n + 1);
    for (uint64_t i = 0; i < n; i++) {
        typed_set_code(key, keys, i, lowest + (duplicates ? i / 3 : i) * step);
        typed_set_bits(value, values, i, typed_position_bits(value, i % 1000));
    }
    assert_ok(t.ctx, copse_build(index, keys, values, n));
    free(keys);
    free(values);
    return index;
}

/* Keys that are there, their neighbours, the ends of the type, and any; ranges between them, some empty. */
static void questions_make(const copse_index *index, copse_type key, uint64_t n, void *lows, void *highs)
{
    const uint64_t entries = copse_size(index), lowest = typed_lowest_code(key), highest = typed_highest_code(key);
    void *keys = typed_new(key, entries + 1);
    struct random_source random = {entries + (uint64_t)key};
    assert_ok(t.ctx, copse_export(index, keys, NULL, entries));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t code = lowest + random_below(&random, highest - lowest);
        if (entries && i % 4) code = typed_code(key, keys, random_below(&random, entries));
        if (i % 4 == 2 && code > lowest) code--;
        if (i % 4 == 3 && code < highest) code++;
        if (i == 8) code = lowest;
        if (i == 9) code = highest;
        typed_set_code(key, lows, i, code);
        uint64_t width = (highest - lowest) / (entries + 1) * random_below(&random, i % 5 == 0 ? entries + 1 : 9);
        typed_set_code(key, highs, i, i % 7 == 6 ? lowest : highest - code < width ? highest : code + width);
    }
    free(keys);
}

/* Opens t.path and compares all that it answers with `loaded`. */
static void answers_compare(const copse_index *loaded, copse_type key)
{
    enum { QUESTIONS = 64 };
    copse_index *opened = NULL;
    void *lows = typed_new(key, QUESTIONS), *highs = typed_new(key, QUESTIONS);
    questions_make(loaded, key, QUESTIONS, lows, highs);
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_int_equal(copse_size(opened), copse_size(loaded));
    for (int round = 0; round < 2; round++) { /* blocks that nobody has looked at, and known ones */
        struct answers want = answers_ask(loaded, lows, highs, QUESTIONS);
        struct answers is = answers_ask(opened, lows, highs, QUESTIONS);
        const char *failed = answers_failed(&is, COPSE_OK), *different = answers_differ(&want, &is);
        if (failed) fail_msg("%s failed: %s", failed, copse_last_error(t.ctx));
        if (different) fail_msg("%s differs, key type %s", different, typed_name(key));
        answers_free(&want);
        answers_free(&is);
    }
    assert_ok(t.ctx, copse_verify(opened));
    copse_index_free(opened);
    free(lows);
    free(highs);
}

static void open_compare(copse_type key, copse_type value, bool duplicates, uint64_t n, copse_structure structure)
{
    copse_index *index = index_make(key, value, duplicates, n, structure);
    assert_ok(t.ctx, copse_save(index, t.path));
    answers_compare(index, key);
    copse_index_free(index);
}

static void every_type(void **state)
{
    static const uint64_t sizes[] = {0, 1, 2, 1000};
    (void)state;
    for (int k = 0; k < TYPED_KEY_TYPES; k++)
        for (int v = 0; v < TYPED_VALUE_TYPES; v++)
            for (size_t turn = 0; turn < 2 * COUNT_OF(sizes); turn++)
                open_compare(typed_key_types[k], typed_value_types[v], turn % 2, sizes[turn / 2],
                             COPSE_STRUCTURE_REGULAR);
}

/* A block has 2^13 elements of 8 bytes or 2^14 of 4. */
static void block_borders(void **state)
{
    static const copse_type types[2] = {COPSE_I32, COPSE_U64};
    (void)state;
    for (int turn = 0; turn < 8; turn++)
        for (uint64_t border = 1 << 13; border <= 1 << 15; border *= 2)
            for (uint64_t n = border - 1; n <= border + 1; n++)
                open_compare(types[turn & 1], types[turn >> 1 & 1], turn >> 2, n, COPSE_STRUCTURE_IMPLICIT);
}

/* Of the same keys more than a block has: all fences in the middle are equal. */
static void one_key_over_several_blocks(void **state)
{
    enum { ENTRIES = 50000 };
    copse_index *index = unit_index(t.ctx, (struct unit_tree){COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU}, COPSE_U64,
                                    COPSE_U32, true);
    uint64_t *keys = must_malloc(ENTRIES * sizeof *keys);
    (void)state;
    for (uint64_t i = 0; i < ENTRIES; i++) keys[i] = i < 7000 ? i : i < 40000 ? 7000 : i;
    assert_ok(t.ctx, copse_build(index, keys, NULL, ENTRIES));
    assert_ok(t.ctx, copse_save(index, t.path));
    answers_compare(index, COPSE_U64);
    free(keys);
    copse_index_free(index);
}

/* A batch that several threads share, over blocks that none has checked. */
static void threads(void **state)
{
    enum { ENTRIES = 300000, QUERIES = 200000 };
    copse_index *opened = NULL, *index = index_make(COPSE_U32, COPSE_U64, false, ENTRIES, COPSE_STRUCTURE_IMPLICIT);
    uint32_t *keys = typed_new(COPSE_U32, ENTRIES), *queries = typed_new(COPSE_U32, QUERIES);
    uint64_t *values = typed_new(COPSE_U64, QUERIES);
    uint8_t *found = must_malloc(QUERIES);
    (void)state;
    assert_ok(t.ctx, copse_export(index, keys, NULL, ENTRIES));
    assert_ok(t.ctx, copse_save(index, t.path));
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    for (uint64_t i = 0; i < QUERIES; i++) queries[i] = keys[i * 7919 % ENTRIES];
    assert_ok(t.ctx, copse_find(opened, queries, QUERIES, values, found));
    for (uint64_t i = 0; i < QUERIES; i++) {
        assert_int_equal(found[i], 1);
        assert_int_equal(values[i], i * 7919 % ENTRIES % 1000);
    }
    copse_index_free(opened);
    copse_index_free(index);
    free(keys);
    free(queries);
    free(values);
    free(found);
}

/* --- what an open file does not do ------------------------------------------------------------------------------ */

static void updates_are_refused(void **state)
{
    copse_index *opened = NULL, *index = index_make(COPSE_U64, COPSE_U64, false, 100, COPSE_STRUCTURE_REGULAR);
    const uint64_t key = 5, value = 6;
    const uint8_t operation = COPSE_OP_UPSERT;
    copse_stats stats = {.struct_size = sizeof stats};
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    struct file_bytes before = file_read(t.path);
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_ok(t.ctx, copse_index_stats(opened, &stats));
    assert_int_equal(stats.structure, COPSE_STRUCTURE_IMPLICIT);
    assert_int_equal(stats.placement, COPSE_PLACEMENT_CPU);
    assert_int_equal(stats.entries, 100);
#define REFUSED(call) assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "an open file, which only reads", call)
    REFUSED(copse_build(opened, &key, &value, 1));
    REFUSED(copse_insert(opened, &key, &value, 1, 0, NULL));
    REFUSED(copse_erase(opened, &key, 1, NULL));
    REFUSED(copse_erase_range(opened, &(copse_ranges)COPSE_BETWEEN(&key, NULL, 1), NULL));
    REFUSED(copse_apply(opened, &operation, &key, &value, 1, NULL, NULL));
    REFUSED(copse_clear(opened));
    REFUSED(copse_move(opened, COPSE_PLACEMENT_EMULATED));
#undef REFUSED
    assert_true(file_equals(t.path, before));
    free(before.bytes);
    copse_index_free(opened);
    copse_index_free(index);
}

static void bad_questions(void **state)
{
    copse_index *opened = NULL, *index = index_make(COPSE_F64, COPSE_U64, false, 100, COPSE_STRUCTURE_REGULAR);
    double keys[2] = {1, 0};
    uint8_t found[2];
    (void)state;
    typed_set_bits(COPSE_F64, keys, 1, typed_nan_bits(COPSE_F64));
    assert_ok(t.ctx, copse_save(index, t.path));
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_fails_naming(t.ctx, COPSE_ERR_NAN, "keys[1]", copse_find(opened, keys, 2, NULL, found));
    assert_fails_naming(t.ctx, COPSE_ERR_NAN, "keys[1]", copse_lower_bound(opened, keys, 2, NULL, NULL, found, NULL));
    copse_index_free(opened);
    copse_index_free(index);
}

static void options(void **state)
{
    copse_index *opened = NULL, *index = index_make(COPSE_I32, COPSE_F32, true, 100, COPSE_STRUCTURE_REGULAR);
    copse_index_options o = COPSE_INDEX_OPTIONS_INIT;
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    assert_fails_naming(t.ctx, COPSE_ERR_TYPE, "options->key_type is u64", copse_open(t.ctx, t.path, &o, &opened));
    o.key_type = COPSE_I32;
    assert_fails_naming(t.ctx, COPSE_ERR_TYPE, "options->value_type", copse_open(t.ctx, t.path, &o, &opened));
    o.value_type = COPSE_F32;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "options->duplicates", copse_open(t.ctx, t.path, &o, &opened));
    o.duplicates = 1;
    o.placement = COPSE_PLACEMENT_EMULATED;
    assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "options->placement is emulated",
                        copse_open(t.ctx, t.path, &o, &opened));
    o.placement = COPSE_PLACEMENT_CPU;
    o.structure = COPSE_STRUCTURE_REGULAR;
    assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "options->structure is regular",
                        copse_open(t.ctx, t.path, &o, &opened));
    assert_null(opened);
    o.structure = COPSE_STRUCTURE_IMPLICIT;
    assert_ok(t.ctx, copse_open(t.ctx, t.path, &o, &opened));
    assert_int_equal(copse_size(opened), 100);
    copse_index_free(opened);
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "path", copse_open(t.ctx, NULL, NULL, &opened));
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "out_index", copse_open(t.ctx, t.path, NULL, NULL));
    assert_fails_naming(t.ctx, COPSE_ERR_IO, "No such file", copse_open(t.ctx, "/nowhere/at.all", NULL, &opened));
    assert_fails_naming(t.ctx, COPSE_ERR_IO, "directory", copse_open(t.ctx, t.folder, NULL, &opened));
    copse_index_free(index);
}

/* What version 1 wrote loads, and after it is saved again it opens. */
static void first_version(void **state)
{
    copse_index *loaded = NULL, *index = index_make(COPSE_U64, COPSE_U32, false, 1000, COPSE_STRUCTURE_REGULAR);
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    struct file_bytes f = snapshot_as_version_1(file_read(t.path));
    file_write(t.path, f.bytes, f.size);
    assert_fails_naming(t.ctx, COPSE_ERR_UNSUPPORTED, "format version 1", copse_open(t.ctx, t.path, NULL, &loaded));
    assert_null(loaded);
    assert_ok(t.ctx, copse_load(t.ctx, t.path, NULL, &loaded));
    assert_ok(t.ctx, copse_save(loaded, t.path));
    answers_compare(index, COPSE_U64);
    copse_index_free(loaded);
    copse_index_free(index);
    free(f.bytes);
}

/* --- the file goes on ------------------------------------------------------------------------------------------- */

/* Saving replaces the name, not the file that is open. */
static void replaced_while_open(void **state)
{
    copse_index *opened = NULL, *large = index_make(COPSE_U64, COPSE_U64, false, 50000, COPSE_STRUCTURE_IMPLICIT);
    copse_index *small = index_make(COPSE_U32, COPSE_F32, true, 3, COPSE_STRUCTURE_REGULAR);
    const copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
    uint64_t sums[2] = {0, 1};
    (void)state;
    assert_ok(t.ctx, copse_save(large, t.path));
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_ok(t.ctx, copse_save(small, t.path));
    copse_index_free(small);
    assert_ok(t.ctx, copse_sum(large, &all, &sums[0]));
    assert_ok(t.ctx, copse_sum(opened, &all, &sums[1]));
    assert_int_equal(sums[0], sums[1]);
    copse_index_free(large);
    copse_index_free(opened);
}

/* An open file is saved, and copied, as any index. */
static void saved_and_copied(void **state)
{
    copse_index *opened = NULL, *copy = NULL, *again = NULL;
    copse_index *index = index_make(COPSE_I64, COPSE_F64, true, 40000, COPSE_STRUCTURE_IMPLICIT);
    char second[600];
    (void)state;
    (void)snprintf(second, sizeof second, "%s/second.copse", t.folder);
    assert_ok(t.ctx, copse_save(index, t.path));
    struct file_bytes f = file_read(t.path);
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_ok(t.ctx, copse_save(opened, second));
    assert_true(file_equals(second, f));
    assert_ok(t.ctx, copse_save(opened, t.path)); /* over itself */
    assert_true(file_equals(t.path, f));
    assert_ok(t.ctx, copse_copy(opened, t.ctx, &copy));
    copse_index_free(opened);
    answers_compare(copy, COPSE_I64);
    copse_index_free(copy);
    copse_index_free(again);
    copse_index_free(index);
    free(f.bytes);
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

static void memory_is_as_the_file(void **state)
{
    static const uint64_t sizes[] = {0, 1, 1000, 20000};
    (void)state;
    for (size_t turn = 0; turn < 2 * COUNT_OF(sizes); turn++) {
        copse_index *loaded = NULL;
        copse_index *index = index_make(COPSE_F32, COPSE_I64, turn % 2, sizes[turn / 2], COPSE_STRUCTURE_REGULAR);
        uint64_t size = 1, second = 1;
        assert_ok(t.ctx, copse_save(index, t.path));
        struct file_bytes f = file_read(t.path);
        assert_ok(t.ctx, copse_save_memory(index, NULL, 0, &size));
        assert_int_equal(size, f.size);
        /* Not aligned, and not zero before. */
        unsigned char *room = must_malloc((size_t)size + 1), *bytes = room + 1;
        memset(room, 0xa5, (size_t)size + 1);
        assert_fails_naming(t.ctx, COPSE_ERR_TOO_SMALL, "capacity is",
                            copse_save_memory(index, bytes, size - 1, &second));
        assert_int_equal(second, size);
        assert_ok(t.ctx, copse_save_memory(index, bytes, size, &second));
        assert_int_equal(second, size);
        assert_memory_equal(bytes, f.bytes, f.size);
        assert_ok(t.ctx, copse_load_memory(t.ctx, bytes, size, NULL, &loaded));
        answers_compare(loaded, COPSE_F32);
        copse_index_free(loaded);
        bytes[size - 1] ^= 1;
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "'in memory' is damaged",
                            copse_load_memory(t.ctx, bytes, size, NULL, &loaded));
        assert_null(loaded);
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "'in memory' is truncated",
                            copse_load_memory(t.ctx, bytes, size - 1, NULL, &loaded));
        free(room);
        free(f.bytes);
        copse_index_free(index);
    }
}

static void memory_arguments(void **state)
{
    copse_index *loaded = NULL, *index = index_make(COPSE_U32, COPSE_U32, false, 3, COPSE_STRUCTURE_REGULAR);
    uint64_t size = 1;
    (void)state;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "out_size", copse_save_memory(index, NULL, 0, NULL));
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "out is NULL", copse_save_memory(index, NULL, 7, &size));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "index", copse_save_memory(NULL, NULL, 0, &size));
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "bytes", copse_load_memory(t.ctx, NULL, 0, NULL, &loaded));
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "it is empty", copse_load_memory(t.ctx, "", 0, NULL, &loaded));
    copse_index_free(index);
}

/* --- no memory -------------------------------------------------------------------------------------------------- */

static copse_status open_again(copse_ctx *ctx, copse_index **out)
{
    return copse_open(ctx, t.path, NULL, out);
}

static struct file_bytes kept;

static copse_status load_again(copse_ctx *ctx, copse_index **out)
{
    return copse_load_memory(ctx, kept.bytes, kept.size, NULL, out);
}

/* Fails the first, the second, the third allocation of a call, until it needs no more. */
static void every_allocation_fails(copse_status (*call)(copse_ctx *, copse_index **))
{
    struct test_allocator allocator;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_status status = COPSE_ERR_MEMORY;
    long long allowed = 0;
    test_allocator_init(&allocator);
    options.threads = 1;
    options.allocator = test_allocator_hooks(&allocator);
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    for (; status != COPSE_OK; allowed++) {
        copse_index *index = NULL;
        long long before = atomic_load(&allocator.live_blocks);
        test_allocator_fail_after(&allocator, allowed, false);
        status = call(ctx, &index);
        test_allocator_never_fail(&allocator);
        if (status != COPSE_OK) {
            assert_fails_naming(ctx, COPSE_ERR_MEMORY, "out of memory", status);
            assert_null(index);
            assert_int_equal(atomic_load(&allocator.live_blocks), before);
        }
        copse_index_free(index);
        assert_true(allowed < 1000);
    }
    assert_true(allowed > 3);
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

static void no_memory(void **state)
{
    copse_index *index = index_make(COPSE_U64, COPSE_U32, false, 20000, COPSE_STRUCTURE_REGULAR);
    (void)state;
    assert_ok(t.ctx, copse_save(index, t.path));
    kept = file_read(t.path);
    every_allocation_fails(open_again);
    every_allocation_fails(load_again);
    free(kept.bytes);
    copse_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(block_borders, setup, teardown),
        cmocka_unit_test_setup_teardown(one_key_over_several_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(threads, setup, teardown),
        cmocka_unit_test_setup_teardown(updates_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_questions, setup, teardown),
        cmocka_unit_test_setup_teardown(options, setup, teardown),
        cmocka_unit_test_setup_teardown(first_version, setup, teardown),
        cmocka_unit_test_setup_teardown(replaced_while_open, setup, teardown),
        cmocka_unit_test_setup_teardown(saved_and_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_as_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
