/*
 * The B-link and the B+ tree on the emulated device, where trees go wrong: the sizes of full leaves and one beside them, every
 * order of growth, the ends of the key types, erasing everything, equal keys in a batch, and bad input. A subject compares
 * the whole content with the model after each batch.
 */
#include "unit.h"

#include <math.h>

#include "trees/blink/tree.h"
#include "random.h"
#include "subject.h"

static const copse_structure kinds[] = {COPSE_STRUCTURE_BLINK, COPSE_STRUCTURE_BPLUS};
#define FOR_EACH_KIND(kind) for (const copse_structure *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

/* Types of every pair of widths; entries of one full leaf, and of two packed ones. */
struct width {
    copse_type key, value;
    uint64_t slots, packed_two;
};
static const struct width widths[] = {{COPSE_U32, COPSE_U32, 14, 21},
                                      {COPSE_U64, COPSE_U64, 7, 11},
                                      {COPSE_F32, COPSE_I64, 9, 15},
                                      {COPSE_I64, COPSE_F32, 9, 15}};
#define FOR_EACH_WIDTH(width) for (const struct width *width = widths; width < widths + COUNT_OF(widths); width++)

#define WAYS 18u /* in which updates may go: see subject.c */

/* --- batches ------------------------------------------------------------------------------------------------------------- */

static void open_subject(struct subject *subject, copse_structure structure, copse_type key, copse_type value,
                         uint32_t ways)
{
    const struct subject_config config = {.structure = structure,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = key,
                                          .value_type = value,
                                          .ways = ways,
                                          .threads = 1,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
}

static void close_subject(struct subject *subject)
{
    if (!subject_close(subject)) fail_msg("%s", subject->why);
}

static void run(struct subject *subject, const struct operation *operation)
{
    if (subject_run(subject, operation)) return;
    print_error("%s of %llu on %s, %s to %s, ways %u: %s\n", operation_name(operation->kind),
                (unsigned long long)operation->n, copse_structure_name(subject->config.structure),
                typed_name(subject->config.key_type), typed_name(subject->config.value_type), subject->config.ways,
                subject->why);
    fail();
}

/* Runs one operation on these keys, with values that no other batch has. */
static void batch(struct subject *subject, enum operation_kind kind, const uint64_t *codes, uint64_t n)
{
    static uint64_t turn;
    struct operation operation;
    operation_init(&operation, kind, n);
    for (uint64_t i = 0; i < n; i++) {
        operation.first[i] = codes[i];
        if (operation.second) operation.second[i] = typed_position_bits(subject->config.value_type, ++turn % 1000000);
    }
    run(subject, &operation);
    operation_free(&operation);
}

static void one(struct subject *subject, enum operation_kind kind, uint64_t code)
{
    batch(subject, kind, &code, 1);
}

/* Codes first, first + step, ... */
static void run_of(struct subject *subject, enum operation_kind kind, uint64_t first, uint64_t step, uint64_t n)
{
    uint64_t *codes = must_malloc(n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) codes[i] = first + i * step;
    batch(subject, kind, codes, n);
    free(codes);
}

/* The first of n codes around the middle of the type: negative keys and positive ones. */
static uint64_t middle(copse_type type, uint64_t n)
{
    const uint64_t low = typed_lowest_code(type);
    return low + (typed_highest_code(type) - low) / 2 - n / 2;
}

/* --- growth ----------------------------------------------------------------------------------------------------------------- */

enum order { ASCENDING, DESCENDING, INWARDS, SHUFFLED, CLUSTERED, ORDERS };

/* Key i of n, in some order; all are different. */
static uint64_t place_of(enum order order, uint64_t i, uint64_t n)
{
    if (order == DESCENDING) return n - 1 - i;
    if (order == INWARDS) return i % 2 ? n - 1 - i / 2 : i / 2;
    if (order == SHUFFLED) return i * 7919 % n; /* n is no multiple of this prime */
    if (order == CLUSTERED) return i % 8 * (n / 8) + i / 8;
    return i;
}

/* Keys come one by one, and go one by one in another order. */
static void one_key_at_a_time(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (int order = 0; order < ORDERS; order++) {
        const uint64_t n = width->slots * 16;
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, 0);
        for (uint64_t i = 0; i < n; i++)
            one(&subject, OPERATION_INSERT, middle(width->key, n) + place_of((enum order)order, i, n));
        for (uint64_t i = 0; i < n; i += order == SHUFFLED ? 1 : 3)
            one(&subject, OPERATION_ERASE, middle(width->key, n) + place_of((enum order)(ORDERS - 1 - order), i, n));
        close_subject(&subject);
    }
}

/* Appends at the right end, at the left end, and at eight places in the middle, in batches of a few. */
static void appended_batches(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (int order = 0; order < ORDERS; order++) {
        enum { n = 1600, most = 64 };
        uint64_t codes[most] = {0}, at = 0;
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, (uint32_t)order % WAYS);
        for (uint64_t size = 1; at < n; size = size * 5 / 3 + 1) {
            const uint64_t taken = size % most < n - at ? size % most : n - at;
            for (uint64_t i = 0; i < taken; i++)
                codes[i] = middle(width->key, n) + place_of((enum order)order, at + i, n);
            batch(&subject, OPERATION_INSERT, codes, taken);
            at += taken;
        }
        assert_true(copse_size(subject.index) + 1 >= n); /* of floats, -0.0 and 0.0 are one key */
        close_subject(&subject);
    }
}

static void random_batches(void **state)
{
    (void)state;
    static const enum operation_kind updates[] = {OPERATION_INSERT, OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT,
                                                  OPERATION_APPLY, OPERATION_ERASE};
    struct random_source random = {20};
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (uint32_t ways = 0; ways < WAYS; ways++) {
        enum { most = 300 };
        uint64_t codes[most] = {0};
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, ways);
        for (int i = 0; i < 14; i++) {
            const uint64_t n = random_below(&random, i % 3 ? 40 : most), domain = i % 2 ? 3000 : 300;
            for (uint64_t k = 0; k < n; k++) codes[k] = middle(width->key, domain) + random_below(&random, domain);
            batch(&subject, updates[random_below(&random, COUNT_OF(updates))], codes, n);
        }
        close_subject(&subject);
    }
}

/* --- sizes of full nodes ----------------------------------------------------------------------------------------------------- */

#define GAP 64u /* codes between two keys */

/* A tree of n packed entries meets what may happen to one leaf of it. */
static void around_one_size(struct subject *subject, uint64_t n, uint64_t slots)
{
    const uint64_t first = middle(subject->config.key_type, n * GAP), last = first + n * GAP;
    run_of(subject, OPERATION_BUILD, first, GAP, n);
    one(subject, OPERATION_INSERT, first - 1);
    one(subject, OPERATION_INSERT, last);
    run_of(subject, OPERATION_INSERT, first + n / 2 * GAP + 1, 1, slots - 1);
    run_of(subject, OPERATION_INSERT_IF_ABSENT, first + n / 2 * GAP + 1, 1, slots);
    run_of(subject, OPERATION_INSERT, first + n / 2 * GAP + 1, 1, 3 * slots + 1);
    one(subject, OPERATION_ERASE, first - 1);
    run_of(subject, OPERATION_ERASE, first + n / 2 * GAP, 1, GAP);
    if (n > 2) run_of(subject, OPERATION_ERASE, first, GAP, n / 2); /* the first half is empty */
}

static void sizes_beside_full_nodes(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        const uint64_t two = width->packed_two;
        /* leaves, full and packed; a tile of 32 base_leaves; nodes of 16 children, two levels of them */
        const uint64_t sizes[] = {width->slots, two / 2, two, 2 * two, 8 * two, 16 * two, 32 * two, 17 * 8 * two};
        struct subject subject;
        for (size_t i = 0; i < 3 * COUNT_OF(sizes); i++) {
            open_subject(&subject, *kind, width->key, width->value, (uint32_t)i % WAYS);
            around_one_size(&subject, sizes[i / 3] + i % 3 - 1, width->slots);
            close_subject(&subject);
        }
    }
}

/* Packed leaves get their share and no more: two of them an odd number of entries, the second one more than the first. */
static void packed_leaves(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, 0);
        assert_int_equal(copse_blink_slots(subject.index), width->slots);
        assert_int_equal(copse_blink_packed_two(subject.index), width->packed_two);
        for (uint64_t n = 1, base_leaves = 1, room = width->packed_two / 2; n < 3 * width->packed_two; n++) {
            if (n > room) base_leaves++;
            room = base_leaves / 2 * width->packed_two + base_leaves % 2 * (width->packed_two / 2);
            run_of(&subject, OPERATION_BUILD, typed_lowest_code(width->key) + 5, 1, n);
            assert_int_equal(copse_blink_handle_of(subject.index)->tree->current->view.base_leaves, base_leaves);
        }
        close_subject(&subject);
    }
}

/* --- the ends of the key types --------------------------------------------------------------------------------------------- */

static void read_around(struct subject *subject, const uint64_t *codes, uint64_t n)
{
    static const enum operation_kind points[] = {OPERATION_FIND, OPERATION_LOWER_BOUND, OPERATION_SUCCESSOR,
                                                 OPERATION_PREDECESSOR};
    static const enum operation_kind spans[] = {OPERATION_RANGE, OPERATION_COUNT, OPERATION_SUM, OPERATION_MIN};
    for (size_t i = 0; i < COUNT_OF(points); i++) batch(subject, points[i], codes, n);
    for (size_t i = 0; i < COUNT_OF(spans); i++) {
        struct operation operation;
        operation_init(&operation, spans[i], n * n);
        for (uint64_t k = 0; k < n * n; k++) {
            operation.first[k] = codes[k / n];
            operation.second[k] = codes[k % n];
        }
        run(subject, &operation);
        operation_free(&operation);
    }
}

/* 0, the maximum, negative keys, both zeros, infinities: none is special, and none is in the way of the padding. */
static void ends_of_the_key_types(void **state)
{
    (void)state;
    FOR_EACH_KIND(kind)
    for (int t = 0; t < TYPED_KEY_TYPES; t++) {
        const copse_type type = typed_key_types[t];
        const uint64_t low = typed_lowest_code(type), high = typed_highest_code(type), zero = typed_zero_code(type);
        const uint64_t codes[] = {high, low, zero, zero ? zero - 1 : 0, zero + 1, high - 1, low + 1, high, low};
        for (uint32_t ways = 0; ways < 2; ways++) {
            struct subject subject;
            open_subject(&subject, *kind, type, t % 2 ? COPSE_U32 : COPSE_I64, ways);
            read_around(&subject, codes, COUNT_OF(codes)); /* of an empty tree */
            for (size_t i = 0; i < COUNT_OF(codes); i++) one(&subject, OPERATION_INSERT, codes[i]);
            read_around(&subject, codes, COUNT_OF(codes));
            batch(&subject, OPERATION_ERASE, codes, 5);
            batch(&subject, OPERATION_INSERT_IF_ABSENT, codes, COUNT_OF(codes));
            run_of(&subject, OPERATION_INSERT, high - 40, 1, 41);
            run_of(&subject, OPERATION_INSERT, low, 1, 41);
            read_around(&subject, codes, COUNT_OF(codes));
            batch(&subject, OPERATION_APPLY, codes, COUNT_OF(codes));
            batch(&subject, OPERATION_ERASE, codes, COUNT_OF(codes));
            read_around(&subject, codes, COUNT_OF(codes));
            close_subject(&subject);
        }
    }
}

/* --- erasing ------------------------------------------------------------------------------------------------------------------ */

static void erase_everything(void **state)
{
    (void)state;
    enum { n = 1000 };
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (uint32_t ways = 0; ways < WAYS; ways += 2) {
        const uint64_t first = middle(width->key, n);
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, ways);
        run_of(&subject, OPERATION_BUILD, first, 1, n);
        run_of(&subject, OPERATION_ERASE, first, 1, n); /* at once */
        assert_int_equal(copse_size(subject.index), 0);
        run_of(&subject, OPERATION_INSERT, first, 1, n);
        run_of(&subject, OPERATION_ERASE, first, 2, n / 2);
        for (uint64_t i = 0; i < 10; i++) run_of(&subject, OPERATION_ERASE, first + n / 10 * i, 1, n / 10);
        assert_int_equal(copse_size(subject.index), 0);
        run_of(&subject, OPERATION_ERASE, first, 1, 30); /* there is nothing */
        run_of(&subject, OPERATION_INSERT, first, 3, n / 3);
        for (uint64_t i = 20; i-- > 0;) run_of(&subject, OPERATION_ERASE, first + n / 20 * i, 1, n / 20 + 1);
        assert_int_equal(copse_size(subject.index), 0);
        one(&subject, OPERATION_INSERT, first);
        close_subject(&subject);
    }
}

/* --- equal keys in a batch ---------------------------------------------------------------------------------------------------- */

/* n keys of which `distinct` are different, here and there: the model says which position wins. */
static void equal_batch(struct subject *subject, enum operation_kind kind, uint64_t n, uint64_t distinct)
{
    uint64_t *codes = must_malloc(n * sizeof *codes);
    struct random_source random = {n + distinct};
    for (uint64_t i = 0; i < n; i++)
        codes[i] = middle(subject->config.key_type, 3000) + 5 * random_below(&random, distinct);
    batch(subject, kind, codes, n);
    free(codes);
}

static void equal_keys_in_a_batch(void **state)
{
    (void)state;
    static const enum operation_kind updates[] = {OPERATION_INSERT_IF_ABSENT, OPERATION_INSERT, OPERATION_ERASE,
                                                  OPERATION_INSERT_IF_ABSENT, OPERATION_APPLY};
    static const uint64_t sizes[][2] = {{2, 1}, {40, 1}, {40, 20}, {33, 32}, {300, 1}, {300, 9}, {300, 280}};
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (uint32_t ways = 0; ways < WAYS; ways++) {
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, ways);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            const enum operation_kind update = updates[(i + ways) % COUNT_OF(updates)];
            equal_batch(&subject, update, sizes[i][0], sizes[i][1]);
            if (i == 3) run_of(&subject, OPERATION_INSERT, middle(width->key, 3000), 2, 600);
        }
        close_subject(&subject);
    }
}

/* --- bad input ---------------------------------------------------------------------------------------------------------------- */

/* A NaN, or a code that is none, at either end of a batch of any size and way: it is named, and nothing changes. */
static void bad_input_changes_nothing(void **state)
{
    (void)state;
    static const enum operation_kind updates[] = {OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT, OPERATION_ERASE,
                                                  OPERATION_APPLY};
    static const uint64_t sizes[] = {1, 2, 31, 32, 33, 90, 257};
    FOR_EACH_KIND(kind)
    for (uint32_t ways = 0; ways < WAYS; ways++) {
        const copse_type type = ways % 2 ? COPSE_F32 : COPSE_F64;
        struct subject subject;
        open_subject(&subject, *kind, type, COPSE_U32, ways);
        run_of(&subject, OPERATION_BUILD, middle(type, 500), 2, 250);
        for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
            struct operation operation;
            const uint64_t n = sizes[i / 2];
            operation_init(&operation, updates[(i + ways) % COUNT_OF(updates)], n);
            for (uint64_t k = 0; k < n; k++) {
                operation.first[k] = middle(type, 500) + k;
                operation.second[k] = k;
            }
            operation.nan_at = i % 2 ? (int64_t)n - 1 : 0;
            run(&subject, &operation);
            operation.nan_at = OPERATION_NO_FAULT;
            if (operation.kind == OPERATION_APPLY) {
                operation.limit = i % 2 ? n : 1;
                run(&subject, &operation);
            }
            assert_int_equal(copse_size(subject.index), 250);
            operation_free(&operation);
        }
        close_subject(&subject);
    }
}

/* The same without the model, so that the sentences can be seen here. */
static void bad_input_is_named(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    {
        const struct unit_tree tree = {*kind, COPSE_PLACEMENT_EMULATED};
        const double keys[] = {1.5, -0.0, 2.5, NAN}, good[] = {1.5, 0.5, 2.5, 3.5};
        const uint32_t values[] = {1, 2, 3, 4};
        const uint8_t codes[] = {COPSE_OP_UPSERT, COPSE_OP_ERASE, 5, 255};
        copse_index *index = unit_index(ctx, tree, COPSE_F64, COPSE_U32, false);
        assert_ok(ctx, copse_build(index, good, values, 2));
        struct unit_content before = unit_content_of(index);
        assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[3]", copse_insert(index, keys, values, 4, 0, NULL));
        assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[3]", copse_erase(index, keys, 4, NULL));
        assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[1]", copse_insert(index, keys + 2, values, 2, 1, NULL));
        assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[3]", copse_build(index, keys, values, 4));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[2]",
                            copse_apply(index, codes, good, values, 4, NULL, NULL));
        assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[0]",
                            copse_apply(index, codes, good, NULL, 2, NULL, NULL));
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_key_at_a_time),
        cmocka_unit_test(appended_batches),
        cmocka_unit_test(random_batches),
        cmocka_unit_test(sizes_beside_full_nodes),
        cmocka_unit_test(packed_leaves),
        cmocka_unit_test(ends_of_the_key_types),
        cmocka_unit_test(erase_everything),
        cmocka_unit_test(equal_keys_in_a_batch),
        cmocka_unit_test(bad_input_changes_nothing),
        cmocka_unit_test(bad_input_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
