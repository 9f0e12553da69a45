/* A thread that reads while another one updates, and judges every answer. */
#ifndef TESTS_READER_H
#define TESTS_READER_H

#include <pthread.h>

#include "placed.h"
#include "stress.h"
#include "truth.h"

struct reader {
    const struct truth *truth;
    const copse_index *index; /* a view, or with a lock the index itself */
    copse_ctx *ctx;
    struct copse_device *device; /* of the context; NULL: the arrays are ordinary memory */
    pthread_rwlock_t *lock;      /* NULL: reads run during updates                       */
    atomic_bool *stop;           /* also set where an answer was wrong                   */
    struct random_source random;
    uint32_t reads;     /* as in struct stress_round */
    unsigned size_bits; /* most queries of a call, as a power of two                      */
    enum placed_memory memory;
    enum stress_lie lie; /* not told yet */
    uint64_t calls;
    char where[64];
    char why[512]; /* empty: all right */
};

/* Reads until *stop. For pthread_create; the argument is a struct reader. */
void *reader_run(void *user);

#endif
