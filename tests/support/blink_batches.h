/* What tests of batches on a B-link or a B+ tree share: a subject that fails the test where something is wrong, and keys that are spread
 * over a part of their type. */
#ifndef COPSE_TESTS_BLINK_BATCHES_H
#define COPSE_TESTS_BLINK_BATCHES_H

#include "unit.h"

#include "trees/blink/update/strategies.h"
#include "random.h"
#include "subject.h"

static inline void close_subject(struct subject *subject)
{
    if (!subject_close(subject)) fail_msg("%s", subject->why);
}

static inline copse_blink *tree_of(const struct subject *subject)
{
    return copse_blink_handle_of(subject->index)->tree;
}

/* Runs it, which looks at all of the content and verifies the tree afterwards. */
static inline void run(struct subject *subject, const struct operation *operation)
{
    if (subject_run(subject, operation)) return;
    print_error("%s of %llu on %s, %s to %s: %s\n", operation_name(operation->kind), (unsigned long long)operation->n,
                copse_structure_name(subject->config.structure), typed_name(subject->config.key_type),
                typed_name(subject->config.value_type), subject->why);
    fail();
}

/* Builds of these codes, or inserts them; each has its position for a value. */
static inline void run_codes(struct subject *subject, enum operation_kind kind, const uint64_t *codes, uint64_t n)
{
    struct operation operation;
    operation_init(&operation, kind, n);
    memcpy(operation.first, codes, n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) operation.second[i] = typed_position_bits(subject->config.value_type, i);
    run(subject, &operation);
    operation_free(&operation);
}

/* Code i of n that are spread over `share` of the type, in order; the middle of it is that of the type. */
static inline uint64_t spread(copse_type type, double share, uint64_t i, uint64_t n)
{
    const uint64_t low = typed_lowest_code(type), all = typed_highest_code(type) - low;
    const uint64_t width = (uint64_t)((double)all * share * 0.999);
    return low + (all - width) / 2 + width / n * i;
}

/* Codes as if at random from such a spread. */
static inline uint64_t *codes_of(copse_type type, struct random_source *random, double share, uint64_t n)
{
    uint64_t *codes = must_malloc(n * sizeof *codes);
    const uint64_t first = spread(type, share, 0, 1), width = spread(type, share, 1, 1) - first;
    for (uint64_t i = 0; i < n; i++) codes[i] = first + random_below(random, width);
    return codes;
}

/* Every k-th code is one that the tree has. */
static inline void take_some(const struct subject *subject, struct random_source *random, uint64_t *codes, uint64_t n,
                             uint64_t k)
{
    const struct model *model = &subject->model;
    for (uint64_t i = 0; i < n && model->n; i += k) codes[i] = model->entries[random_below(random, model->n)].key;
}

#endif
