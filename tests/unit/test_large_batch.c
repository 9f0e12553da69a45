/* Batches whose sizes cross the blocks that the library cuts them into, on several threads. */
#include "unit.h"

#include "random.h"
#include "subject.h"

static void run(struct subject *subject, struct operation *operation)
{
    if (!subject_run(subject, operation)) {
        print_error("%s of %llu on %s with %u threads: %s\n", operation_name(operation->kind),
                    (unsigned long long)operation->n, copse_structure_name(subject->config.structure),
                    subject->config.threads, subject->why);
        fail();
    }
    operation_free(operation);
}

/* Updates draw from the whole domain; ranges hold a few entries each, and those that are erased so few that half of all stay. */
static void run_batch(struct subject *subject, enum operation_kind kind, uint64_t n, struct random_source *random)
{
    struct operation operation;
    uint64_t domain = n * 2 + 1;
    operation_init(&operation, kind, n);
    operation.places = (uint32_t)random_next(random);
    for (uint64_t i = 0; i < n; i++) {
        operation.first[i] = random_below(random, domain);
        if (operation_updates(kind)) operation.second[i] = random_next(random) % 1000;
        if (operation_has_bounds(kind))
            operation.second[i] = operation.first[i] + random_below(random, kind == OPERATION_ERASE_RANGE ? 2 : 20);
    }
    run(subject, &operation);
}

static void crosses_blocks(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {4095, 4096, 4097, 8191, 8193, 16384, 32769, 65535, 65537, 131073};
    static const uint32_t thread_counts[] = {2, 4};
    FOR_EACH_TREE(tree)
    for (size_t turn = 0; turn < COUNT_OF(sizes); turn++) {
        uint64_t n = sizes[turn];
        if (n > unit_fewer(*tree, UINT64_MAX, 5000)) continue;
        struct random_source random = {turn};
        struct subject_config config = {.structure = tree->structure,
                                        .placement = tree->placement,
                                        .memory = (enum placed_memory)(turn % PLACED_MEMORIES),
                                        .key_type = turn % 3 ? COPSE_U64 : COPSE_U32,
                                        .value_type = turn % 5 ? COPSE_U32 : COPSE_I64,
                                        .threads = thread_counts[turn % 2],
                                        .duplicates = unit_duplicates(*tree) && turn % 4 == 3};
        struct subject subject;
        if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
        for (int kind = 0; kind < OPERATION_VISIT; kind++)
            if (kind != OPERATION_CURSOR) run_batch(&subject, (enum operation_kind)kind, n, &random);
        /* the tree is shaped by updates now: read all of it once more */
        run_batch(&subject, OPERATION_INSERT, n / 2, &random);
        run_batch(&subject, OPERATION_FIND, n, &random);
        run_batch(&subject, OPERATION_VISIT, 0, &random);
        if (!subject_close(&subject)) fail_msg("%s", subject.why);
    }
}

/* Sorted, reversed and constant batches take paths of their own. */
static void special_orders(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (int order = 0; order < 4; order++)
        for (int duplicates = 0; duplicates <= unit_duplicates(*tree); duplicates++) {
            uint64_t n = unit_fewer(*tree, 70000, 3000);
            struct subject_config config = {.structure = tree->structure,
                                            .placement = tree->placement,
                                            .key_type = COPSE_I64,
                                            .value_type = COPSE_U64,
                                            .threads = 4,
                                            .duplicates = duplicates};
            struct subject subject;
            struct operation operation;
            if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
            for (int kind = OPERATION_BUILD; kind <= OPERATION_APPLY; kind++) {
                operation_init(&operation, (enum operation_kind)kind, n);
                for (uint64_t i = 0; i < n; i++) {
                    uint64_t shift = (uint64_t)kind * (n / 3);
                    operation.first[i] = order == 0   ? i + shift
                                         : order == 1 ? n - i + shift
                                         : order == 2 ? 7
                                                      : i / 50 + shift;
                    operation.second[i] = i;
                }
                run(&subject, &operation);
            }
            if (!subject_close(&subject)) fail_msg("%s", subject.why);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crosses_blocks),
        cmocka_unit_test(special_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
