/* The paged tree at all placements, with pages so small that batches touch many of them: pages that are patched, split and dropped, equal keys in
 * several pages, entries in front of a page, ranges that go, and an allocation that fails at every place. Each step is compared with the model. */
#include "unit.h"

#include "random.h"
#include "subject.h"

#define MOST 700u

static void run(struct subject *subject, struct operation *operation)
{
    if (!subject_run(subject, operation))
        fail_msg("%s of %llu: %s", operation_name(operation->kind), (unsigned long long)operation->n, subject->why);
    operation_free(operation);
}

/* A batch in one spot of the keys or all over them, of a few keys or many; with duplicates most keys repeat. */
static struct operation batch_make(struct random_source *random, enum operation_kind kind, bool duplicates)
{
    static const uint64_t sizes[] = {1, 3, 20, 65, 130, MOST};
    struct operation operation;
    const uint64_t n = sizes[random_below(random, COUNT_OF(sizes))], domain = duplicates ? 200 : 4000;
    const uint64_t spot = random_below(random, domain), span = random_one_in(random, 2) ? 30 : domain;
    operation_init(&operation, kind, n);
    for (uint64_t i = 0; i < n; i++) {
        operation.first[i] = spot + random_below(random, span);
        if (operation_has_bounds(kind))
            operation.second[i] = operation.first[i] + random_below(random, 90);
        else if (operation.second)
            operation.second[i] = random_below(random, 5);
    }
    return operation;
}

static void changes_and_reads(copse_placement placement, uint64_t seeds)
{
    static const enum operation_kind changes[] = {OPERATION_INSERT, OPERATION_INSERT,      OPERATION_INSERT_IF_ABSENT,
                                                  OPERATION_ERASE,  OPERATION_ERASE_RANGE, OPERATION_APPLY};
    static const enum operation_kind reads[] = {OPERATION_FIND,  OPERATION_LOWER_BOUND, OPERATION_SUCCESSOR,
                                                OPERATION_FLOOR, OPERATION_PREDECESSOR, OPERATION_SELECT,
                                                OPERATION_RANGE, OPERATION_COUNT,       OPERATION_SUM};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct random_source random = {seed};
        const bool duplicates = seed % 3 == 0;
        struct subject_config config = {.structure = COPSE_STRUCTURE_PAGED,
                                        .placement = placement,
                                        .page_order = 64,
                                        .key_type = seed % 2 ? COPSE_U64 : COPSE_U32,
                                        .value_type = seed % 4 < 2 ? COPSE_U64 : COPSE_U32,
                                        .threads = 1 + (uint32_t)(seed % 2),
                                        .duplicates = duplicates,
                                        .own_allocator = true};
        struct subject subject;
        if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
        for (unsigned step = 0; step < 60; step++) {
            struct operation operation =
                batch_make(&random, changes[random_below(&random, COUNT_OF(changes))], duplicates);
            if (random_one_in(&random, 4)) operation.fail_at = (int64_t)random_below(&random, 12);
            operation.fail_device = random_one_in(&random, 2);
            run(&subject, &operation);
            operation = batch_make(&random, reads[step % COUNT_OF(reads)], duplicates);
            run(&subject, &operation);
        }
        if (!subject_close(&subject)) fail_msg("seed %llu: %s", (unsigned long long)seed, subject.why);
    }
}

static void on_the_cpu(void **state)
{
    (void)state;
    changes_and_reads(COPSE_PLACEMENT_CPU, 48);
}

static void on_a_device(void **state)
{
    (void)state;
    changes_and_reads(COPSE_PLACEMENT_EMULATED, 12);
}

static void on_both(void **state)
{
    (void)state;
    changes_and_reads(COPSE_PLACEMENT_HYBRID_EMULATED, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_the_cpu), cmocka_unit_test(on_a_device),
                                       cmocka_unit_test(on_both)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
