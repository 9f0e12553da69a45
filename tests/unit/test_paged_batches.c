/* The paged tree at all placements, with pages so small that batches touch many of them: pages that are patched, split and dropped, equal keys in
 * several pages, entries in front of a page, ranges that go, and an allocation that fails at every place. Each step is compared with the model. */
#include "unit.h"

#include "random.h"
#include "subject.h"

static void run(struct subject *subject, struct operation *operation)
{
    if (!subject_run(subject, operation))
        fail_msg("%s of %llu: %s", operation_name(operation->kind), (unsigned long long)operation->n, subject->why);
    operation_free(operation);
}

#define FIRST_BEHIND 4200u

/* Where keys of a batch are: all over, in some spot, in the one spot that fills up leaf by leaf, or behind all others, in
 * order; what is not an insert looks for those that came like that. */
enum where { ALL_OVER, SPOT, HOT_SPOT, BEHIND_ALL, WHERE };

struct source {
    struct random_source random;
    bool duplicates; /* most keys repeat */
    uint64_t behind; /* the next key behind all others */
    enum where last; /* where the batch before was: the next is there, too, in half of the cases */
    uint64_t largest;
};

static uint64_t key_make(struct source *source, enum where where, bool inserts, uint64_t spot, uint64_t i)
{
    struct random_source *random = &source->random;
    if (random_one_in(random, 60)) return source->largest; /* which looks like a free slot */
    if (where == SPOT) return spot + random_below(random, 30);
    if (where == HOT_SPOT) return 1000 + random_below(random, 150);
    if (where == BEHIND_ALL)
        return inserts ? source->behind + i : FIRST_BEHIND + random_below(random, source->behind - FIRST_BEHIND + 1);
    return random_below(random, source->duplicates ? 200 : 4000);
}

static struct operation batch_make(struct source *source, enum operation_kind kind)
{
    static const uint64_t sizes[] = {1, 1, 3, 20, 65, 130, 350};
    struct random_source *random = &source->random;
    struct operation operation;
    const uint64_t n = sizes[random_below(random, COUNT_OF(sizes))], spot = random_below(random, 4000);
    const enum where where = random_one_in(random, 2) ? source->last : (enum where)random_below(random, WHERE);
    const uint64_t repeated = random_one_in(random, 4) ? 2 : 1;
    const bool inserts = kind == OPERATION_INSERT || kind == OPERATION_INSERT_IF_ABSENT || kind == OPERATION_APPLY;
    operation_init(&operation, kind, n);
    for (uint64_t i = 0; i < n; i++) {
        operation.first[i] = key_make(source, where, inserts, spot, i / repeated);
        if (!operation.second) continue;
        if (operation_has_bounds(kind))
            operation.second[i] = operation.first[i] < source->largest - 90
                                      ? operation.first[i] + random_below(random, 90)
                                      : source->largest;
        else
            operation.second[i] = random_below(random, 5);
    }
    source->last = where;
    if (where == BEHIND_ALL && inserts) source->behind += n;
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
        struct source source = {.random = {seed},
                                .duplicates = seed % 3 == 0,
                                .behind = FIRST_BEHIND,
                                .largest = seed % 2 ? UINT64_MAX : UINT32_MAX};
        struct random_source *random = &source.random;
        struct subject_config config = {.structure = COPSE_STRUCTURE_PAGED,
                                        .placement = placement,
                                        .page_order = seed % 5 < 3 ? 64 : 256,
                                        .key_type = seed % 2 ? COPSE_U64 : COPSE_U32,
                                        .value_type = seed % 4 < 2 ? COPSE_U64 : COPSE_U32,
                                        .threads = 1 + (uint32_t)(seed % 2),
                                        .duplicates = source.duplicates,
                                        .own_allocator = true};
        struct subject subject;
        if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
        for (unsigned step = 0; step < 60; step++) {
            struct operation operation = batch_make(&source, changes[random_below(random, COUNT_OF(changes))]);
            if (random_one_in(random, 4)) operation.fail_at = (int64_t)random_below(random, 12);
            operation.fail_device = random_one_in(random, 2);
            run(&subject, &operation);
            operation = batch_make(&source, reads[step % COUNT_OF(reads)]);
            run(&subject, &operation);
        }
        if (!subject_close(&subject)) fail_msg("seed %llu: %s", (unsigned long long)seed, subject.why);
    }
}

/* A build leaves one free slot in a leaf of 16, two in one of 32. Keys fill those, in neighbours among the leaves, and go again, by one warp. */
static void full_leaves(void **state)
{
    (void)state;
    static const copse_type types[] = {COPSE_U32, COPSE_U64};
    for (unsigned t = 0; t < 4; t++) {
        const struct subject_config config = {.structure = COPSE_STRUCTURE_PAGED,
                                              .placement = COPSE_PLACEMENT_EMULATED,
                                              .page_order = 64,
                                              .key_type = types[t % 2],
                                              .value_type = types[t / 2],
                                              .threads = 1};
        const uint64_t apart = t % 2 ? 150 : 1;
        struct subject subject;
        struct operation operation;
        if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
        operation_init(&operation, OPERATION_BUILD, 480);
        for (uint64_t i = 0; i < 480; i++) operation.first[i] = operation.second[i] = 10 * i;
        run(&subject, &operation);
        for (uint64_t at = 1; at < 4600; at += 50)
            for (int goes = 0; goes < 2; goes++) {
                operation_init(&operation, goes ? OPERATION_ERASE : OPERATION_INSERT, 2);
                for (uint64_t i = 0; i < 2; i++) operation.first[i] = operation.second[i] = at + i * apart;
                run(&subject, &operation);
            }
        if (!subject_close(&subject)) fail_msg("%s", subject.why);
    }
}

/* Behind all keys and in order, but with equals among them, or with the key that was the last one before: no append to an index in which
 * keys come once. */
static void appends_with_equal_keys(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, repeated;
    } batches[] = {{0, 1}, {100, 1}, {200, 1}, {300, 2}, {400, 1}, {500, 1}, {599, 1}, {700, 1}, {800, 1}};
    for (int duplicates = 0; duplicates < 2; duplicates++) {
        const struct subject_config config = {.structure = COPSE_STRUCTURE_PAGED,
                                              .placement = COPSE_PLACEMENT_EMULATED,
                                              .page_order = 64,
                                              .key_type = COPSE_U64,
                                              .value_type = COPSE_U32,
                                              .threads = 1,
                                              .duplicates = duplicates};
        struct subject subject;
        struct operation operation;
        if (!subject_open(&subject, &config)) fail_msg("%s", subject.why);
        for (size_t b = 0; b < COUNT_OF(batches); b++) {
            operation_init(&operation, OPERATION_INSERT, 100);
            for (uint64_t i = 0; i < 100; i++) {
                operation.first[i] = batches[b].first + i / batches[b].repeated;
                operation.second[i] = 1000 * b + i;
            }
            run(&subject, &operation);
        }
        if (!subject_close(&subject)) fail_msg("%s", subject.why);
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
                                       cmocka_unit_test(on_both), cmocka_unit_test(full_leaves),
                                       cmocka_unit_test(appends_with_equal_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
