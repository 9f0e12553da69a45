/*
 * Large batches that the separators of the tree put in order (blink/update/bucket_sort.c), made small enough for the emulator: what
 * comes of them, against the model, and that those for which this way is none go another one.
 */
#include "blink_batches.h"

enum { entries = 6000, batch = 1500 };
/* Ways of subject.c: all batches in place, if they can, and by this way. */
#define WAYS 13u

static const copse_structure kinds[] = {COPSE_STRUCTURE_BLINK, COPSE_STRUCTURE_BPLUS};
#define FOR_EACH_KIND(kind) for (const copse_structure *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static const enum operation_kind updates[] = {OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT, OPERATION_ERASE};

/* One of each pair of widths. */
static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_U64, COPSE_U64}, {COPSE_I32, COPSE_U64}, {COPSE_F64, COPSE_F32}};
#define FOR_EACH_WIDTH(width) for (const struct widths *width = widths; width < widths + COUNT_OF(widths); width++)

/* --- batches ------------------------------------------------------------------------------------------------------------- */

static void open_subject(struct subject *subject, copse_structure structure, copse_type key, copse_type value,
                         uint32_t turn)
{
    const struct subject_config config = {.structure = structure,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = key,
                                          .value_type = value,
                                          .memory = (enum placed_memory)(turn % PLACED_MEMORIES),
                                          .simt_seed = turn % 4 == 3 ? turn : 0,
                                          .processors = turn % 2 ? 1 : 8, /* few buckets, many */
                                          .ways = WAYS,
                                          .threads = 1,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
}

/* How a batch went. */
enum went {
    SORTED,   /* by the bucket sort                   */
    IN_VAIN,  /* the bucket sort declined            */
    OTHERWISE /* the bucket sort was not even asked */
};

/* Runs an operation on these keys; values_too: with values that no other batch has, or with none. */
static enum went go(struct subject *subject, enum operation_kind kind, const uint64_t *codes, uint64_t n,
                    bool values_too)
{
    enum { some = 40 }; /* batches that are to be sorted without a guess: the other ways count them */
    static uint64_t turn;
    copse_blink *tree = tree_of(subject);
    struct operation operation;
    operation_init(&operation, kind, n);
    operation.places = (uint32_t)(turn * 7);
    memcpy(operation.first, codes, n * sizeof *codes);
    for (uint64_t i = 0; i < n && operation.second; i++)
        operation.second[i] = typed_position_bits(subject->config.value_type, ++turn % 1000000);
    if (!values_too) {
        free(operation.second);
        operation.second = NULL;
    }
    const unsigned lost = tree->bucket_sorted.last_rest;
    tree->predictor.rest = some;
    run(subject, &operation);
    operation_free(&operation);
    if (tree->predictor.rest == some) return SORTED;
    return tree->bucket_sorted.last_rest > lost ? IN_VAIN : OTHERWISE;
}

/* --- keys ------------------------------------------------------------------------------------------------------------------ */

static void build(struct subject *subject, struct random_source *random, double share)
{
    uint64_t *codes = codes_of(subject->config.key_type, random, share, entries);
    run_codes(subject, OPERATION_BUILD, codes, entries);
    free(codes);
    assert_true(tree_of(subject)->current->view.base_leaves > entries / 14);
}

/* --- tests ----------------------------------------------------------------------------------------------------------------- */

/* Every type and update; arrays anywhere; keys that are there and keys that are not. */
static void spread_keys(void **state)
{
    (void)state;
    struct random_source random = {1};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    for (unsigned t = 0; t < TYPED_KEY_TYPES; t++) {
        const copse_type key = typed_key_types[t], value = typed_value_types[(t * 5 + turn) % TYPED_VALUE_TYPES];
        struct subject subject;
        open_subject(&subject, *kind, key, value, turn++);
        build(&subject, &random, 0.5);
        for (unsigned u = 0; u < 6; u++) {
            uint64_t *codes = codes_of(key, &random, 0.5, batch);
            take_some(&subject, &random, codes, batch, updates[u % 3] == OPERATION_ERASE ? 1 : 2);
            assert_int_equal(go(&subject, updates[u % 3], codes, batch, u < 3), SORTED);
            free(codes);
        }
        close_subject(&subject);
    }
}

/* Sizes beside those of a warp, a tile and a bucket, into trees of few base_leaves and of more. */
static void sizes(void **state)
{
    (void)state;
    static const uint64_t of[] = {2, 31, 32, 33, 127, 128, 129, 511, 513, 1023, 1024, 1025, 1536, 1537, 2049, 4097};
    struct random_source random = {2};
    FOR_EACH_WIDTH(width)
    for (uint32_t turn = 0; turn < 2; turn++) {
        struct subject subject;
        open_subject(&subject, COPSE_STRUCTURE_BLINK, width->key, width->value, turn);
        build(&subject, &random, 0.5);
        for (size_t i = 0; i < COUNT_OF(of); i++) {
            uint64_t *codes = codes_of(width->key, &random, 0.5, of[i]);
            take_some(&subject, &random, codes, of[i], 3);
            assert_int_equal(go(&subject, updates[i % 3], codes, of[i], true), SORTED);
            free(codes);
        }
        close_subject(&subject);
    }
}

/* Keys that are smaller and greater than all that the tree ever had, and the smallest and greatest there are. */
static void beyond_both_ends(void **state)
{
    (void)state;
    struct random_source random = {3};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, turn++);
        build(&subject, &random, 0.4);
        for (unsigned u = 0; u < 4; u++) {
            const copse_type key = width->key;
            uint64_t *codes = codes_of(key, &random, 0.4, batch);
            for (uint64_t i = 0; i < 6; i++) { /* not so many that a base_leaf would get too many */
                codes[i * 100] = typed_lowest_code(key) + i / 2;
                codes[i * 200 + 1] = typed_highest_code(key) - i / 2;
                codes[i * 240 + 2] = spread(key, 0.4, 0, 1) - 1 - random_below(&random, 1000);
                codes[i * 200 + 3] = spread(key, 0.4, 1, 1) + 1 + random_below(&random, 1000);
            }
            assert_int_equal(go(&subject, updates[u % 3], codes, batch, true), SORTED);
            assert_int_equal(tree_of(&subject)->current->low, typed_lowest_code(key));
            assert_int_equal(tree_of(&subject)->current->high, typed_highest_code(key));
            free(codes);
        }
        close_subject(&subject);
    }
}

static int by_code(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Operations that an equal key makes pointless, as the kernels counted them last, and as they are; sorts the codes. */
static void expect_dead(const struct subject *subject, uint64_t *codes, uint64_t n)
{
    copse_blink_counters seen;
    uint64_t dead = 0;
    assert_ok(subject->ctx, copse_blink_counters_read(subject->index, tree_of(subject)->current, &seen));
    qsort(codes, n, sizeof *codes, by_code);
    for (uint64_t i = 1; i < n; i++) dead += codes[i] == codes[i - 1];
    assert_int_equal(seen.dead, dead);
}

/* Of equal keys the first counts or the last, whether they are few or many. */
static void equal_keys(void **state)
{
    (void)state;
    struct random_source random = {4};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, turn++);
        build(&subject, &random, 0.5);
        for (unsigned u = 0; u < 6; u++) {
            const uint64_t different = u < 3 ? batch - batch / 5 : batch / 2; /* of the others there are two, or more */
            uint64_t *codes = codes_of(width->key, &random, 0.5, batch);
            take_some(&subject, &random, codes, different, 2);
            for (uint64_t i = different; i < batch; i++) codes[i] = codes[random_below(&random, i)];
            for (uint64_t i = batch; i > 1; i--) {
                const uint64_t j = random_below(&random, i), code = codes[j];
                codes[j] = codes[i - 1];
                codes[i - 1] = code;
            }
            const copse_blink_epoch *before = tree_of(&subject)->current;
            assert_int_equal(go(&subject, updates[u % 3], codes, batch, true), SORTED);
            if (u < 3 && tree_of(&subject)->current == before) expect_dead(&subject, codes, batch);
            free(codes);
        }
        close_subject(&subject);
    }
}

/* NaN anywhere: the first is named, and nothing changes. It is no reason to lose predictor. */
static void not_a_number(void **state)
{
    (void)state;
    static const copse_type floats[] = {COPSE_F32, COPSE_F64};
    struct random_source random = {5};
    FOR_EACH_KIND(kind)
    for (unsigned f = 0; f < COUNT_OF(floats); f++) {
        struct subject subject;
        open_subject(&subject, *kind, floats[f], COPSE_U32, f);
        build(&subject, &random, 0.5);
        for (unsigned u = 0; u < 9; u++) {
            uint64_t *codes = codes_of(floats[f], &random, 0.5, batch);
            void *keys = typed_new(floats[f], batch);
            const uint64_t at = u < 3 ? 0 : u < 6 ? batch - 2 : 1100;
            const uint32_t flags = u % 3 == 1 ? COPSE_INSERT_IF_ABSENT : COPSE_INSERT_UPSERT;
            char name[32];
            for (uint64_t i = 0; i < batch; i++) typed_set_code(floats[f], keys, i, codes[i]);
            typed_set_bits(floats[f], keys, at, typed_nan_bits(floats[f]));
            typed_set_bits(floats[f], keys, batch - 1, typed_nan_bits(floats[f]));
            (void)snprintf(name, sizeof name, "keys[%llu]", (unsigned long long)at);
            if (u % 3 < 2)
                assert_fails_naming(subject.ctx, COPSE_ERR_NAN, name,
                                    copse_insert(subject.index, keys, NULL, batch, flags, NULL));
            else
                assert_fails_naming(subject.ctx, COPSE_ERR_NAN, name, copse_erase(subject.index, keys, batch, NULL));
            if (!subject_check_content(&subject)) fail_msg("%s", subject.why);
            assert_int_equal(tree_of(&subject)->bucket_sorted.rest, 0);
            assert_int_equal(tree_of(&subject)->bucket_sorted.last_rest, 0);
            free(codes);
            free(keys);
        }
        close_subject(&subject);
    }
}

/* Keys for a few buckets, which have no room for them, though no base_leaf gets many. */
static void few_buckets(void **state)
{
    (void)state;
    struct random_source random = {12};
    FOR_EACH_WIDTH(width)
    for (unsigned u = 0; u < COUNT_OF(updates); u++) {
        const uint64_t first = spread(width->key, 0.5, 5, 40), end = spread(width->key, 0.5, 12, 40);
        struct subject subject;
        uint64_t codes[batch];
        open_subject(&subject, COPSE_STRUCTURE_BLINK, width->key, width->value, 2 * u);
        build(&subject, &random, 0.5);
        for (uint64_t i = 0; i < batch; i++) codes[i] = first + random_below(&random, end - first);
        assert_int_equal(go(&subject, updates[u], codes, batch, true), IN_VAIN);
        close_subject(&subject);
    }
}

/* All keys where one bucket would have to take them: done another way, and the next batches go that way at once, for longer each time;
 * batches that are spread make up for it. */
static void one_bucket(void **state)
{
    (void)state;
    struct random_source random = {6};
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        static const bool tried[] = {true, false, true, false, false, true, false, false, false, false, true};
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, 0);
        build(&subject, &random, 0.5);
        for (size_t i = 0; i < COUNT_OF(tried);
             i++) { /* each time somewhere else: there the tree gets more base_leaves */
            const uint64_t first = spread(width->key, 0.5, i, 40), end = spread(width->key, 0.5, i + 1, 40);
            uint64_t codes[batch];
            for (uint64_t k = 0; k < batch; k++) codes[k] = first + random_below(&random, end - first);
            tree_of(&subject)->crowds = false; /* what counts here is the predictor */
            assert_int_equal(go(&subject, updates[i % 3], codes, batch, true), tried[i] ? IN_VAIN : OTHERWISE);
        }
        assert_int_equal(tree_of(&subject)->bucket_sorted.last_rest, 8);
        tree_of(&subject)->bucket_sorted.rest = 0;
        tree_of(&subject)->crowds = false;
        const bool crowds =
            tree_of(&subject)->current->view.directory_entries != 0; /* then it may be time to rebuild */
        for (unsigned i = 0; i < 2 && !crowds; i++) {
            uint64_t codes[batch];
            take_some(&subject, &random, codes, batch, 1);
            assert_int_equal(go(&subject, OPERATION_INSERT, codes, batch, true), SORTED);
        }
        if (!crowds) assert_int_equal(tree_of(&subject)->bucket_sorted.last_rest, 2);
        close_subject(&subject);
    }
}

/* Many operations on a base leaf: more than 30, and a B+ tree is packed, while a B-link tree has kernels for crowds; more than 64, and the
 * batch is sorted. */
static void crowded_base_leaf(void **state)
{
    (void)state;
    static const uint64_t crowds[] = {20, 40, 64, 65, 200};
    struct random_source random = {7};
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (size_t c = 0; c < 3 * COUNT_OF(crowds); c++) {
        const uint64_t crowd = crowds[c / 3];
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, (uint32_t)c);
        build(&subject, &random, 0.5);
        const copse_blink_epoch *before = tree_of(&subject)->current;
        const struct model_entry *entry = &subject.model.entries[entries / 2];
        uint64_t *codes = codes_of(width->key, &random, 0.5, batch);
        for (uint64_t i = 0; i < batch; i++) /* the base_leaf has no others */
            if (codes[i] > entry[-20].key && codes[i] < entry[20].key) codes[i] = subject.model.entries[i].key;
        for (uint64_t i = 0; i < crowd; i++)
            codes[i * 7 + 5] = entry->key - random_below(&random, c % 2 ? entry->key - entry[-1].key : 8);
        const enum went went = go(&subject, updates[c % 3], codes, batch, true);
        assert_int_equal(went, crowd > 64 ? IN_VAIN : SORTED);
        if (crowd >= 30 && *kind == COPSE_STRUCTURE_BPLUS) assert_ptr_not_equal(tree_of(&subject)->current, before);
        free(codes);
        close_subject(&subject);
    }
}

/* Keys of 64 bits that separators cannot tell apart: base_leaves of equal digests, also where a bucket ends. */
static void equal_digests(void **state)
{
    (void)state;
    enum { cluster = 12, clusters = 30 };
    struct random_source random = {8};
    uint64_t behind = 0, in_vain = 0;
    FOR_EACH_KIND(kind)
    for (uint32_t turn = 0; turn < 16; turn++) {
        struct subject subject;
        open_subject(&subject, *kind, COPSE_I64, turn % 2 ? COPSE_U64 : COPSE_I32, 2 * turn);
        uint64_t *codes = codes_of(COPSE_I64, &random, 0.9, entries);
        for (uint64_t i = 0; i < clusters * cluster; i++) /* a few base_leaves each, with the same upper bits */
            codes[i] = codes[i / cluster * cluster] / 4096 * 4096 + i % cluster * 100;
        struct operation operation;
        operation_init(&operation, OPERATION_BUILD, entries);
        memcpy(operation.first, codes, entries * sizeof *codes);
        memset(operation.second, 0, entries * sizeof *codes);
        run(&subject, &operation);
        operation_free(&operation);
        assert_true(tree_of(&subject)->current->view.levels.digest);
        for (unsigned u = 0; u < 3; u++) {
            uint64_t *keys = codes_of(COPSE_I64, &random, 0.9, batch);
            for (uint64_t i = 0; i < clusters; i++)
                for (uint64_t k = 0; k < 4; k++)
                    keys[i * 40 + k * 9] = codes[i * cluster] + random_below(&random, cluster) * 100 + k / 2;
            const enum went went = go(&subject, updates[u], keys, batch, true);
            assert_int_not_equal(went, OTHERWISE);
            in_vain += went == IN_VAIN;
            behind += went == SORTED;
            tree_of(&subject)->bucket_sorted = (copse_predictor){0};
            free(keys);
        }
        free(codes);
        close_subject(&subject);
    }
    assert_true(behind > in_vain);
}

/* A batch that comes sorted makes the next one go another way, which does not sort what is. */
static void ascending_keys(void **state)
{
    (void)state;
    struct random_source random = {9};
    struct subject subject;
    open_subject(&subject, COPSE_STRUCTURE_BLINK, COPSE_I32, COPSE_U32, 0);
    build(&subject, &random, 0.5);
    for (unsigned turn = 0; turn < 5; turn++) {
        uint64_t codes[batch];
        for (uint64_t i = 0; i < batch; i++)
            codes[turn == 2 ? batch - 1 - i : i] = spread(COPSE_I32, 0.5, i, batch) + turn;
        const enum went went = go(&subject, OPERATION_INSERT, codes, batch, true);
        assert_int_equal(went, turn == 0 || turn == 3 ? SORTED : OTHERWISE);
        assert_int_equal(tree_of(&subject)->predictor.ascending, turn != 2);
    }
    close_subject(&subject);
}

/* Wherever memory fails, the batch goes another way, or not at all, and nothing is lost. */
static void without_memory(void **state)
{
    (void)state;
    struct random_source random = {10};
    FOR_EACH_KIND(kind)
    for (unsigned u = 0; u < 9; u++) {
        const struct widths *width = &widths[u % COUNT_OF(widths)];
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, 0);
        build(&subject, &random, 0.5);
        const uint64_t first = spread(width->key, 0.5, 7, 40), end = spread(width->key, 0.5, 8, 40);
        struct operation operation;
        uint64_t *codes = codes_of(width->key, &random, 0.5, batch);
        operation_init(&operation, updates[u % 3], batch);
        memcpy(operation.first, codes, batch * sizeof *codes);
        take_some(&subject, &random, operation.first, batch, 2);
        for (uint64_t i = 0; i < batch; i++) {
            operation.second[i] = i;
            if (u / 3 == 1) operation.first[i] = operation.first[i % (batch / 2)];           /* equal keys, in pairs */
            if (u / 3 == 2) operation.first[i] = first + random_below(&random, end - first); /* not spread */
        }
        operation.fail_device = true;
        bool failed = true;
        for (operation.fail_at = 0; failed && operation.fail_at < 400; operation.fail_at++) {
            const long long failures = subject.device_failures;
            tree_of(&subject)->bucket_sorted = (copse_predictor){0};
            run(&subject, &operation);
            failed = subject.device_failures > failures;
        }
        assert_false(failed);
        assert_true(operation.fail_at > 4);
        operation_free(&operation);
        free(codes);
        close_subject(&subject);
    }
}

/* A view reads while the tree is changed this way. */
static void beside_a_view(void **state)
{
    (void)state;
    struct random_source random = {11};
    FOR_EACH_KIND(kind)
    {
        struct subject subject;
        copse_index *view = NULL;
        open_subject(&subject, *kind, COPSE_U64, COPSE_U32, 1);
        build(&subject, &random, 0.5);
        assert_ok(subject.ctx, copse_index_view(subject.index, subject.ctx, &view));
        uint64_t *codes = codes_of(COPSE_U64, &random, 0.5, batch);
        assert_int_equal(go(&subject, OPERATION_INSERT, codes, batch, true), SORTED);
        assert_int_equal(copse_size(view), subject.model.n);
        copse_index_free(view);
        free(codes);
        close_subject(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_keys),      cmocka_unit_test(sizes),
        cmocka_unit_test(beyond_both_ends), cmocka_unit_test(equal_keys),
        cmocka_unit_test(not_a_number),     cmocka_unit_test(few_buckets),
        cmocka_unit_test(one_bucket),       cmocka_unit_test(crowded_base_leaf),
        cmocka_unit_test(equal_digests),    cmocka_unit_test(ascending_keys),
        cmocka_unit_test(without_memory),   cmocka_unit_test(beside_a_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
