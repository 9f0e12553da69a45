/* Every allocation of every call fails once, of host memory and of device memory. The call then says so and the index is
 * as before (or it manages without), nothing leaks, and free is told the right sizes. */
#include "unit.h"

#include <unistd.h>

#include "random.h"
#include "subject.h"

/* Loops to the first number of allocations with which a call gets through; more than this is a hang. */
#define MOST_ALLOCATIONS 100000

static void fill(struct operation *operation, struct random_source *random, uint64_t domain)
{
    for (uint64_t i = 0; i < operation->n; i++) {
        operation->first[i] = random_below(random, domain);
        if (operation->second) operation->second[i] = random_below(random, domain);
    }
}

/* Every other entry, and what is not there where there are not enough. */
static void fill_pairs(struct operation *operation, const struct model *model)
{
    for (uint64_t i = 0; i < operation->n && 2 * i < model->n; i++) {
        operation->first[i] = model->entries[2 * i].key;
        operation->second[i] = model->entries[2 * i].value;
    }
}

/* Short ranges, so that much is left; or long ones, of which leaves go whole. */
static void narrow_ranges(struct operation *operation, struct random_source *random, uint64_t domain)
{
    for (uint64_t i = 0; i < operation->n; i++)
        operation->second[i] = operation->first[i] + random_below(random, i % 50 ? 2 : domain / 50);
}

/* A set takes none. */
static void without_adds(const struct operation *operation)
{
    for (uint64_t i = 0; i < operation->n; i++)
        if (operation->codes[i] == COPSE_OP_ADD) operation->codes[i] = COPSE_OP_UPSERT;
}

static void assert_runs(struct subject *subject, const struct operation *operation)
{
    if (subject_run(subject, operation)) return;
    print_error("%s on %s, %s, key %s, %u threads, failing after %lld %sallocations%s: %s\n",
                operation_name(operation->kind), copse_structure_name(subject->config.structure),
                copse_placement_name(subject->config.placement), typed_name(subject->config.key_type),
                subject->config.threads, (long long)operation->fail_at, operation->fail_device ? "device " : "",
                operation->fail_once ? " (once)" : "", subject->why);
    fail();
}

static long long failures_of(struct subject *subject)
{
    return atomic_load(&subject->allocator.failures) + subject->device_failures;
}

/* Fails allocation 0, 1, 2, ... of the operation until it needs no more. Returns how many failed. */
static long long fail_each_allocation(struct subject *subject, struct operation *operation)
{
    long long before = failures_of(subject), seen = before;
    for (operation->fail_at = 0; operation->fail_at < MOST_ALLOCATIONS; operation->fail_at++) {
        assert_runs(subject, operation);
        if (!subject_check_content(subject)) fail_msg("%s", subject->why);
        if (failures_of(subject) == seen) return seen - before;
        seen = failures_of(subject);
    }
    fail_msg("%s allocates for ever", operation_name(operation->kind));
    return 0;
}

static void open_filled(struct subject *subject, const struct subject_config *config, uint64_t entries)
{
    struct random_source random = {entries};
    struct operation build;
    if (!subject_open(subject, config)) fail_msg("%s", subject->why);
    operation_init(&build, OPERATION_BUILD, entries);
    fill(&build, &random, entries * 2);
    assert_runs(subject, &build);
    operation_free(&build);
}

/* COPSE_TEST_SHARE=N: one operation in N, which `make test` has time for. */
static bool left_out(void)
{
    static unsigned long asked;
    const char *share = getenv("COPSE_TEST_SHARE");
    const unsigned long n = share ? strtoul(share, NULL, 10) : 1;
    return n > 1 && asked++ % n;
}

enum way { FOR_EVER, ONCE, DEVICE, WAYS };

/* A move goes to the CPU and comes back; a snapshot is loaded into the placement that it came from. */
static void check_operation(const struct subject_config *config, enum operation_kind kind, uint64_t entries, uint64_t n)
{
    for (int way = 0; way < WAYS; way++) {
        if (way == DEVICE && config->placement == COPSE_PLACEMENT_CPU) continue;
        if (left_out()) continue;
        struct subject subject;
        struct operation operation;
        struct random_source random = {(uint64_t)kind + 1000 * n};
        open_filled(&subject, config, entries);
        operation_init(&operation, kind, operation_has_keys(kind) ? n : 0);
        fill(&operation, &random, entries * 2);
        if (kind == OPERATION_ERASE_PAIRS) fill_pairs(&operation, &subject.model);
        if (kind == OPERATION_ERASE_RANGE) narrow_ranges(&operation, &random, entries * 2);
        if (kind == OPERATION_APPLY && config->value_type == COPSE_NONE) without_adds(&operation);
        operation.places = (uint32_t)random_next(&random);
        operation.fail_once = way == ONCE;
        operation.fail_device = way == DEVICE;
        if (kind == OPERATION_SAVE_LOAD || kind == OPERATION_SAVE_MEMORY) operation.target = config->placement;
        long long failures = fail_each_allocation(&subject, &operation);
        if (kind == OPERATION_MOVE) failures += fail_each_allocation(&subject, &operation);
        /* an update of an index needs memory: were none asked for through the allocator, nothing would be tested */
        bool device = config->placement != COPSE_PLACEMENT_CPU, moves = kind == OPERATION_MOVE && device && entries;
        bool mixes =
            kind == OPERATION_APPLY || ((kind == OPERATION_ERASE_PAIRS || kind == OPERATION_ERASE_RANGE) && entries);
        /* of a hybrid index the card has what grows seldom */
        const bool seldom = way == DEVICE && config->placement == COPSE_PLACEMENT_HYBRID_EMULATED;
        if ((((kind == OPERATION_BUILD || kind == OPERATION_INSERT || mixes) && n > 1) || moves) && !seldom)
            assert_true(failures > 0);
        operation_free(&operation);
        if (!subject_close(&subject)) fail_msg("%s: %s", operation_name(kind), subject.why);
    }
}

static void every_operation_survives(const struct subject_config *config, uint64_t entries, uint64_t n)
{
    for (int kind = 0; kind < OPERATION_KINDS; kind++) check_operation(config, (enum operation_kind)kind, entries, n);
}

static struct subject_config config_of(struct unit_tree tree, copse_type key, copse_type value, uint32_t threads,
                                       bool duplicates)
{
    return (struct subject_config){.structure = tree.structure,
                                   .placement = tree.placement,
                                   .memory = PLACED_MIXED,
                                   .key_type = key,
                                   .value_type = value,
                                   .threads = threads,
                                   .duplicates = duplicates,
                                   .own_allocator = true};
}

static void small_indexes(void **state)
{
    (void)state;
    static const copse_type keys[] = {COPSE_U32, COPSE_U64}, values[] = {COPSE_I64, COPSE_U32};
    FOR_EACH_TREE(tree)
    for (int turn = 0; turn < 8; turn++) {
        if (turn % unit_fewer(*tree, 1, 5)) continue;
        struct subject_config config =
            config_of(*tree, keys[turn & 1], values[turn >> 1 & 1], 1, unit_duplicates(*tree) && (turn >> 2 & 1));
        every_operation_survives(&config, 0, 40);
        every_operation_survives(&config, 3, 1);
        every_operation_survives(&config, 500, unit_fewer(*tree, 300, 70));
    }
}

/* Sets, and float values, whose additions go another way on a device. */
static void sets_and_floats(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int turn = 0; turn < 4; turn++) {
        if (turn % unit_fewer(*tree, 1, 3)) continue;
        struct subject_config config =
            config_of(*tree, COPSE_U64, turn & 1 ? COPSE_F64 : COPSE_NONE, 1, unit_duplicates(*tree) && turn >> 1 == 1);
        for (int kind = OPERATION_BUILD; kind <= OPERATION_APPLY; kind++)
            check_operation(&config, (enum operation_kind)kind, unit_fewer(*tree, 500, 100),
                            unit_fewer(*tree, 300, 60));
    }
}

static void indexes_with_several_levels(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int turn = 0; turn < 2; turn++) {
        struct subject_config config = config_of(*tree, turn ? COPSE_U32 : COPSE_I64, turn ? COPSE_F32 : COPSE_U64, 1,
                                                 unit_duplicates(*tree) && turn);
        every_operation_survives(&config, unit_fewer(*tree, 6000, 1200), unit_fewer(*tree, 3000, 200));
    }
}

/* Batches on the B-link and the B+ tree go in place as they come, in place when sorted, or into a new version; each of these
 * asks for memory of its own. */
static void every_way_of_updating(void **state)
{
    (void)state;
    static const copse_structure structures[] = {COPSE_STRUCTURE_BLINK, COPSE_STRUCTURE_BPLUS};
    for (uint32_t turn = 0; turn < 18; turn++) {
        const struct unit_tree tree = {structures[turn % 2], COPSE_PLACEMENT_EMULATED};
        struct subject_config config =
            config_of(tree, turn % 4 < 2 ? COPSE_U32 : COPSE_I64, turn % 3 ? COPSE_U64 : COPSE_F32, 1, false);
        config.ways = turn / 2;
        for (int kind = OPERATION_INSERT; kind <= OPERATION_APPLY; kind++) {
            check_operation(&config, (enum operation_kind)kind, 600, 20);
            check_operation(&config, (enum operation_kind)kind, 600, 200);
        }
    }
}

static void several_threads(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    {
        struct subject_config config = config_of(*tree, COPSE_U64, COPSE_U64, 2, false);
        uint64_t entries = unit_fewer(*tree, 20000, 2000), n = unit_fewer(*tree, 30000, 1000);
        check_operation(&config, OPERATION_BUILD, entries, n);
        check_operation(&config, OPERATION_INSERT, entries, n);
        check_operation(&config, OPERATION_ERASE, entries, n);
        check_operation(&config, OPERATION_ERASE_PAIRS, entries, n);
        check_operation(&config, OPERATION_ERASE_RANGE, entries, n);
        check_operation(&config, OPERATION_APPLY, entries, n);
        config.duplicates = unit_duplicates(*tree);
        check_operation(&config, OPERATION_ERASE_PAIRS, entries, n);
        check_operation(&config, OPERATION_APPLY, entries, n);
        config.duplicates = false;
        check_operation(&config, OPERATION_FIND, entries, n);
        check_operation(&config, OPERATION_LOWER_BOUND, entries, n);
        check_operation(&config, OPERATION_SAVE_LOAD, entries, 0);
    }
}

static void contexts_and_indexes(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int once = 0; once < 2; once++) {
        long long failed = 1;
        for (long long allowed = 0; failed; allowed++) {
            struct test_allocator allocator;
            copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
            copse_index_options index_options = COPSE_INDEX_OPTIONS_INIT;
            copse_ctx *ctx = NULL;
            copse_index *index = NULL;
            copse_cursor *cursor = NULL;
            index_options.structure = tree->structure;
            index_options.placement = tree->placement;
            test_allocator_init(&allocator);
            options.allocator = test_allocator_hooks(&allocator);
            test_allocator_fail_after(&allocator, allowed, once);
            copse_status status = copse_ctx_create(&options, &ctx);
            if (status == COPSE_OK) status = copse_index_create(ctx, &index_options, &index);
            if (status == COPSE_OK) status = copse_cursor_open(index, NULL, &cursor);
            failed = atomic_load(&allocator.failures);
            assert_int_equal(status, failed ? COPSE_ERR_MEMORY : COPSE_OK);
            if (failed) assert_null(cursor);
            copse_cursor_free(cursor);
            copse_index_free(index);
            copse_ctx_free(ctx);
            assert_true(test_allocator_is_clean(&allocator));
            assert_true(allowed < MOST_ALLOCATIONS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_and_indexes),  cmocka_unit_test(small_indexes),
        cmocka_unit_test(sets_and_floats),       cmocka_unit_test(indexes_with_several_levels),
        cmocka_unit_test(every_way_of_updating), cmocka_unit_test(several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
