/* Where the arrays of a call lie. The tests make and compare arrays in ordinary memory; on the way into the library an
 * array may become pinned or device memory, stand at an odd element, or have a guard behind it, and outputs come back. */
#ifndef TESTS_PLACED_H
#define TESTS_PLACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copse.h"

struct copse_device;
struct copse_blink_tuning;

enum placed_memory {
    PLACED_HOST,
    PLACED_PINNED,
    PLACED_DEVICE,
    PLACED_MIXED, /* each array by two bits of `places` */
    PLACED_MEMORIES
};

#define PLACED_ARRAYS 8

struct placed {
    void *host; /* the test's array                              */
    void *base; /* what was allocated for it; NULL: host is used */
    uint64_t size;
    void *given; /* what the library gets: inside of base         */
    size_t bytes;
    bool output;
    bool guarded;
    enum placed_memory memory;
};

/* The arrays of one call. */
struct placed_call {
    struct copse_device *device; /* NULL: everything is ordinary memory          */
    bool reachable;              /* the index lies there: it takes device memory */
    enum placed_memory memory;
    uint32_t places; /* 0: at the start of an allocation of just its size; mixed: host */
    unsigned n;
    struct placed arrays[PLACED_ARRAYS];
};

const char *placed_memory_name(enum placed_memory memory);

/* The array to give to the library for n elements at `host`; NULL stays NULL. An output starts with what is at host. */
const void *placed_input(struct placed_call *call, const void *host, uint64_t n, size_t element);
void *placed_output(struct placed_call *call, void *host, uint64_t n, size_t element);
/* Brings the outputs back to where they belong and frees what was made. Returns NULL, or what was wrong: a byte behind
 * an array was changed, or an input was. */
const char *placed_end(struct placed_call *call);

/* The device that an index of this placement uses, NULL on the CPU. The program ends where it cannot be had. */
struct copse_device *placed_device(copse_ctx *ctx, copse_placement placement);
/* What steers updates of a B-link or a B+ tree, NULL for other structures. */
struct copse_blink_tuning *placed_tuning(const copse_index *index);
/* The names of the strategies that it may force. */
#define PLACED_STRATEGIES 8u
extern const char *const placed_strategies[PLACED_STRATEGIES];

#endif
