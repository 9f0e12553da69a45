/* The blocks of all emulated devices, sorted by address: few enough for an array. */
#define _POSIX_C_SOURCE 200809L
#include "device/emulated_memory.h"

#include <stdlib.h>
#include <string.h>

#ifdef COPSE_EMULATED_SHUTS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes)   ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#endif

typedef struct block {
    char *memory;
    uint64_t bytes;
    int number;
    copse_emulated_sort sort;
} block;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static block *blocks;
static size_t count, capacity;
static unsigned at_work;

/* How many blocks begin at or before the address. */
static size_t blocks_up_to(const char *memory)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle].memory <= memory)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void shut(const block *b)
{
    if (b->sort == COPSE_EMULATED_DEVICE) ASAN_POISON_MEMORY_REGION(b->memory, b->bytes);
}

static void unshut(const block *b)
{
    if (b->sort == COPSE_EMULATED_DEVICE) ASAN_UNPOISON_MEMORY_REGION(b->memory, b->bytes);
}

static bool room_for_one(void)
{
    if (count < capacity) return true;
    size_t larger = capacity ? 2 * capacity : 64;
    block *moved = realloc(blocks, larger * sizeof *moved);
    if (!moved) return false;
    blocks = moved;
    capacity = larger;
    return true;
}

bool copse_emulated_add(void *memory, uint64_t bytes, int number, copse_emulated_sort sort)
{
    pthread_rwlock_wrlock(&lock);
    bool added = room_for_one();
    if (added) {
        size_t at = blocks_up_to(memory);
        memmove(blocks + at + 1, blocks + at, (count - at) * sizeof *blocks);
        blocks[at] = (block){memory, bytes, number, sort};
        count++;
        if (at_work == 0) shut(&blocks[at]);
    }
    pthread_rwlock_unlock(&lock);
    return added;
}

void copse_emulated_remove(void *memory)
{
    pthread_rwlock_wrlock(&lock);
    size_t at = blocks_up_to(memory) - 1;
    unshut(&blocks[at]);
    count--;
    memmove(blocks + at, blocks + at + 1, (count - at) * sizeof *blocks);
    if (count == 0) {
        free(blocks);
        blocks = NULL;
        capacity = 0;
    }
    pthread_rwlock_unlock(&lock);
}

copse_memory_kind copse_emulated_kind(const void *memory, int number)
{
    copse_memory_kind kind = COPSE_MEMORY_PAGEABLE;
    pthread_rwlock_rdlock(&lock);
    size_t at = blocks_up_to(memory);
    if (at > 0 && (uint64_t)((const char *)memory - blocks[at - 1].memory) < blocks[at - 1].bytes) {
        const block *b = &blocks[at - 1];
        if (b->sort == COPSE_EMULATED_PINNED)
            kind = COPSE_MEMORY_PINNED;
        else
            kind = b->number == number ? COPSE_MEMORY_DEVICE : COPSE_MEMORY_FOREIGN;
    }
    pthread_rwlock_unlock(&lock);
    return kind;
}

#ifdef COPSE_EMULATED_SHUTS
void copse_emulated_begin(void)
{
    pthread_rwlock_wrlock(&lock);
    if (at_work++ == 0)
        for (size_t i = 0; i < count; i++) unshut(&blocks[i]);
    pthread_rwlock_unlock(&lock);
}

void copse_emulated_end(void)
{
    pthread_rwlock_wrlock(&lock);
    if (--at_work == 0)
        for (size_t i = 0; i < count; i++) shut(&blocks[i]);
    pthread_rwlock_unlock(&lock);
}
#else
void copse_emulated_begin(void) {}

void copse_emulated_end(void) {}
#endif
