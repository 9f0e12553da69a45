#include "test_allocator.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_ALIVE UINT64_C(0x636f7073656c6976)
#define BLOCK_FREED UINT64_C(0x636f707365676f6e)

/* Lies just before the memory that the library gets. */
struct block_header {
    uint64_t state;
    size_t size;
    void *base;
    uint64_t padding;
};

static bool refuses(struct test_allocator *allocator)
{
    atomic_fetch_add(&allocator->calls, 1);
    long long left = atomic_load(&allocator->until_failure);
    while (left > 0)
        if (atomic_compare_exchange_weak(&allocator->until_failure, &left, left - 1)) return false;
    if (left < 0) return false;
    if (atomic_load(&allocator->fail_once)) atomic_store(&allocator->until_failure, TEST_ALLOCATOR_NEVER);
    atomic_fetch_add(&allocator->failures, 1);
    return true;
}

static void *test_alloc(void *user, size_t size, size_t alignment)
{
    struct test_allocator *allocator = user;
    if (refuses(allocator)) return NULL;
    if (alignment < sizeof(struct block_header)) alignment = sizeof(struct block_header);
    if (size > SIZE_MAX - 2 * alignment) return NULL;
    char *base = malloc(size + 2 * alignment);
    if (!base) return NULL;
    char *memory = base + alignment;
    memory += (alignment - (uintptr_t)memory % alignment) % alignment;
    struct block_header header = {BLOCK_ALIVE, size, base, 0};
    memcpy(memory - sizeof header, &header, sizeof header);
    /* never zero: whoever relies on fresh memory being clear is found out */
    memset(memory, 0xa5, size < 4096 ? size : 4096);
    atomic_fetch_add(&allocator->live_blocks, 1);
    atomic_fetch_add(&allocator->live_bytes, (long long)size);
    return memory;
}

static void test_free(void *user, void *memory, size_t size)
{
    struct test_allocator *allocator = user;
    struct block_header header;
    if (!memory) {
        atomic_fetch_add(&allocator->wrong_frees, 1);
        return;
    }
    memcpy(&header, (char *)memory - sizeof header, sizeof header);
    if (header.state != BLOCK_ALIVE || header.size != size) {
        atomic_fetch_add(&allocator->wrong_frees, 1);
        if (header.state != BLOCK_ALIVE) return;
    }
    atomic_fetch_sub(&allocator->live_blocks, 1);
    atomic_fetch_sub(&allocator->live_bytes, (long long)header.size);
    uint64_t freed = BLOCK_FREED;
    memcpy((char *)memory - sizeof header, &freed, sizeof freed);
    free(header.base);
}

void test_allocator_init(struct test_allocator *allocator)
{
    memset(allocator, 0, sizeof *allocator);
    test_allocator_never_fail(allocator);
}

void test_allocator_fail_after(struct test_allocator *allocator, long long allowed, bool once)
{
    atomic_store(&allocator->fail_once, once);
    atomic_store(&allocator->until_failure, allowed);
}

void test_allocator_never_fail(struct test_allocator *allocator)
{
    atomic_store(&allocator->until_failure, TEST_ALLOCATOR_NEVER);
}

bool test_allocator_is_clean(struct test_allocator *allocator)
{
    return atomic_load(&allocator->live_blocks) == 0 && atomic_load(&allocator->live_bytes) == 0 &&
           atomic_load(&allocator->wrong_frees) == 0;
}

copse_allocator test_allocator_hooks(struct test_allocator *allocator)
{
    return (copse_allocator){test_alloc, test_free, allocator};
}
