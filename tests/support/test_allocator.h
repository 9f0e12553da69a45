/* An allocator for copse_ctx_options that counts, checks what free is told, and fails when asked to. */
#ifndef TESTS_TEST_ALLOCATOR_H
#define TESTS_TEST_ALLOCATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "copse.h"

#define TEST_ALLOCATOR_NEVER (-1)

struct test_allocator {
    atomic_llong until_failure; /* allocations that still succeed; below 0: all of them do        */
    atomic_bool fail_once;      /* after the failure succeed again, instead of failing for ever   */
    atomic_llong calls;         /* allocations asked for                                          */
    atomic_llong failures;      /* allocations refused                                            */
    atomic_llong live_blocks;
    atomic_llong live_bytes;
    atomic_llong wrong_frees; /* frees of a wrong size, of a foreign block or of one freed before */
};

void test_allocator_init(struct test_allocator *allocator);
/* The next `allowed` allocations succeed, the one after them fails, and (unless once) all later ones too. */
void test_allocator_fail_after(struct test_allocator *allocator, long long allowed, bool once);
void test_allocator_never_fail(struct test_allocator *allocator);
/* Nothing is live and every free was right. */
bool test_allocator_is_clean(struct test_allocator *allocator);
copse_allocator test_allocator_hooks(struct test_allocator *allocator);

#endif
