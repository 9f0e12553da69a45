/*
 * Batches that fill whole tiles and buckets of `part` and `arrange` (blink/update/partition.h, blink/update/bucket_sort.h), on a device with one
 * multiprocessor, so that the emulator has them with few operations.
 */
#include "blink_batches.h"

enum { entries = 50000, batch = 20000 };
/* Ways of subject.c: all batches in place, if they can, and put in order by the tree. */
#define WAYS 13u

/* One of each pair of widths. */
static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_I64, COPSE_U64}, {COPSE_F32, COPSE_F64}, {COPSE_U64, COPSE_I32}};

/* n operations on keys of half the type; of three keys two are any, and one is among some that come often. Updates have some more in
 * the first quarter: some buckets get more than is usual. */
static void operation_make(struct operation *operation, const struct subject *subject, enum operation_kind kind,
                           struct random_source *random, uint64_t n)
{
    const copse_type key = subject->config.key_type;
    const uint64_t low = typed_lowest_code(key), width = (typed_highest_code(key) - low) / 2;
    operation_init(operation, kind, n);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t any = random_below(random, kind != OPERATION_BUILD && i % 12 == 0 ? width / 4 : width);
        operation->first[i] = low + width / 2 + (i % 3 ? any : any / (width / 4096) * (width / 4096));
        if (operation->second)
            operation->second[i] = typed_position_bits(subject->config.value_type, random_below(random, 1000000));
    }
}

/* Runs a batch, which is to be put in order by the tree: the other ways count batches down. */
static void go(struct subject *subject, enum operation_kind kind, struct random_source *random)
{
    enum { some = 40 };
    struct operation operation;
    copse_blink *tree = tree_of(subject);
    operation_make(&operation, subject, kind, random, batch);
    tree->predictor.rest = some;
    run(subject, &operation);
    operation_free(&operation);
    assert_int_equal(tree->predictor.rest, some);
}

static void whole_tiles(void **state)
{
    (void)state;
    struct random_source random = {1};
    for (unsigned w = 0; w < COUNT_OF(widths); w++) {
        const struct subject_config config = {.structure = w % 2 ? COPSE_STRUCTURE_BPLUS : COPSE_STRUCTURE_BLINK,
                                              .placement = COPSE_PLACEMENT_EMULATED,
                                              .key_type = widths[w].key,
                                              .value_type = widths[w].value,
                                              .processors = 1,
                                              .ways = WAYS,
                                              .threads = 1,
                                              .huge_pages = COPSE_HUGE_PAGES_OFF};
        struct subject subject;
        struct operation operation;
        if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
        operation_make(&operation, &subject, OPERATION_BUILD, &random, entries);
        run(&subject, &operation);
        operation_free(&operation);
        go(&subject, OPERATION_INSERT, &random);
        go(&subject, OPERATION_ERASE, &random);
        go(&subject, OPERATION_INSERT_IF_ABSENT, &random);
        close_subject(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
