/*
 * The strategies of updates (blink/update/strategies.c), each forced by its name: the same batches, against the model, and which
 * strategy carried them out. And the environment variable that forces one.
 */
#include "blink_batches.h"

enum { entries = 8000, batch = 400 };

static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_U64, COPSE_U64}, {COPSE_I32, COPSE_U64}, {COPSE_F64, COPSE_F32}};

static const enum operation_kind updates[] = {OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT, OPERATION_ERASE,
                                              OPERATION_APPLY};

static void open_subject(struct subject *subject, const struct widths *width, copse_structure structure, uint32_t ways,
                         bool duplicates)
{
    const struct subject_config config = {.structure = structure,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = width->key,
                                          .value_type = width->value,
                                          .duplicates = duplicates,
                                          .processors = 1,
                                          .ways = ways,
                                          .threads = 1,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
}

/* A batch of keys as the tree has them, every fifth one there already, every ninth one twice; run checks all of the content. */
static void update(struct subject *subject, enum operation_kind kind, uint64_t seed, uint64_t n)
{
    struct random_source random = {seed};
    struct operation operation;
    uint64_t *codes = codes_of(subject->config.key_type, &random, 0.5, n);
    operation_init(&operation, kind, n);
    for (uint64_t i = 0; i < n; i++) {
        operation.first[i] = i % 9 == 8 ? codes[i - 1] : codes[i];
        if (i % 5 == 0)
            operation.first[i] = spread(subject->config.key_type, 0.5, random_below(&random, entries), entries);
        if (operation.second)
            operation.second[i] = typed_position_bits(subject->config.value_type, random_below(&random, 1000000));
        if (operation.codes) operation.codes[i] = (uint8_t)random_below(&random, 4);
    }
    run(subject, &operation);
    operation_free(&operation);
    free(codes);
}

static void build(struct subject *subject)
{
    uint64_t *codes = must_malloc(entries * sizeof *codes);
    for (uint64_t i = 0; i < entries; i++) codes[i] = spread(subject->config.key_type, 0.5, i, entries);
    run_codes(subject, OPERATION_BUILD, codes, entries);
    free(codes);
}

/* May this strategy take such a batch of a tree without duplicates? */
static bool takes(const char *name, enum operation_kind kind)
{
    const bool mixed = kind == OPERATION_APPLY, erases = kind == OPERATION_ERASE;
    if (strcmp(name, "append") == 0) return false; /* these come in no order: test_blink_crowds has those that do */
    if (strcmp(name, "unsorted") == 0 || strcmp(name, "bucket-sort") == 0) return !mixed;
    if (strcmp(name, "coarse-rebuild") == 0 || strcmp(name, "independent-rebuild") == 0) return !mixed && !erases;
    return true;
}

/* The forced strategy carried out the last update, unless it is none for that. Those that sort and stay in place decline where a new epoch
 * costs less than the splits. Returns whether it did. */
static bool expect_strategy(struct subject *subject, const char *name, enum operation_kind kind,
                            const copse_blink_epoch *before)
{
    const copse_blink_strategy *last = tree_of(subject)->last;
    assert_non_null(last);
    const bool did = strcmp(last->name, name) == 0;
    if (!takes(name, kind))
        assert_false(did);
    else if (strcmp(name, "bucket-sort") != 0 && strcmp(name, "sorted-in-place") != 0)
        assert_true(did);
    else if (!did)
        assert_ptr_not_equal(tree_of(subject)->current, before);
    return did;
}

static void strategy_on(uint32_t strategy, const struct widths *width, copse_structure structure)
{
    const char *name = placed_strategies[strategy];
    struct subject subject;
    unsigned did = 0, could = 0;
    open_subject(&subject, width, structure, SUBJECT_LIMITS + strategy, false);
    build(&subject);
    for (unsigned u = 0; u < 2 * COUNT_OF(updates); u++) {
        const enum operation_kind kind = updates[u % COUNT_OF(updates)];
        const copse_blink_epoch *before = tree_of(&subject)->current;
        update(&subject, kind, u + 1, u % 2 ? batch : batch / 4);
        did += expect_strategy(&subject, name, kind, before);
        could += takes(name, kind);
    }
    assert_in_range(did, could / 2, could);
    close_subject(&subject);
}

static void each_strategy_by_name(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < PLACED_STRATEGIES; s++)
        for (unsigned w = 0; w < COUNT_OF(widths); w++) {
            strategy_on(s, &widths[w], COPSE_STRUCTURE_BLINK);
            strategy_on(s, &widths[w], COPSE_STRUCTURE_BPLUS);
        }
}

/* Where the forced strategy cannot take a batch, another one does: with duplicates, in an empty tree, of many keys for one leaf. */
static void others_follow(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < PLACED_STRATEGIES; s++)
        for (unsigned duplicates = 0; duplicates < 2; duplicates++) {
            struct subject subject;
            open_subject(&subject, &widths[1], COPSE_STRUCTURE_BLINK, SUBJECT_LIMITS + s, duplicates != 0);
            update(&subject, OPERATION_INSERT, 1, batch);
            update(&subject, OPERATION_ERASE, 2, batch);
            uint64_t codes[batch];
            for (uint64_t i = 0; i < batch; i++) codes[i] = spread(COPSE_U64, 0.5, 0, 1) + i;
            run_codes(&subject, OPERATION_INSERT, codes, batch);
            update(&subject, OPERATION_INSERT_IF_ABSENT, 3, batch);
            close_subject(&subject);
        }
}

/* --- by the environment -------------------------------------------------------------------------------------------------------- */

static void named_by_the_environment(void **state)
{
    (void)state;
    const struct unit_tree kind = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};
    const uint64_t key = 7;
    for (uint32_t s = 0; s < PLACED_STRATEGIES; s++) {
        assert_int_equal(setenv("COPSE_BLINK_STRATEGY", placed_strategies[s], 1), 0);
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_tens(ctx, kind, 100);
        assert_string_equal(copse_blink_handle_of(index)->tree->tuning.forced->name, placed_strategies[s]);
        assert_ok(ctx, copse_insert(index, &key, NULL, 1, COPSE_INSERT_UPSERT, NULL));
        assert_int_equal(copse_size(index), 101);
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
    assert_int_equal(setenv("COPSE_BLINK_STRATEGY", "", 1), 0); /* as if it were not there */
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, kind, 100);
    assert_null(copse_blink_handle_of(index)->tree->tuning.forced);
    copse_index_free(index);
    copse_ctx_free(ctx);
    (void)unsetenv("COPSE_BLINK_STRATEGY");
}

static void unknown_names(void **state)
{
    (void)state;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = options.value_type = COPSE_U64;
    options.structure = COPSE_STRUCTURE_BPLUS;
    options.placement = COPSE_PLACEMENT_EMULATED;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = NULL;
    assert_int_equal(setenv("COPSE_BLINK_STRATEGY", "fastest", 1), 0);
    assert_int_equal(copse_index_create(ctx, &options, &index), COPSE_ERR_ARGUMENT);
    assert_null(index);
    assert_string_equal(copse_last_error(ctx),
                        "COPSE_BLINK_STRATEGY is 'fastest'; it takes one of unsorted, append, coarse-rebuild, "
                        "bucket-sort, sorted-in-place, independent-rebuild, lookback-rebuild, leafwise-rebuild");
    (void)unsetenv("COPSE_BLINK_STRATEGY");
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_strategy_by_name), cmocka_unit_test(others_follow),
                                       cmocka_unit_test(named_by_the_environment), cmocka_unit_test(unknown_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
