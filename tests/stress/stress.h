/* What the parts of the stress program share: a round, and what came of it. */
#ifndef TESTS_STRESS_H
#define TESTS_STRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "copse.h"
#include "random.h"

/* A wrong answer that --self-test puts in the place of a right one: each must be noticed. */
enum stress_lie {
    LIE_NONE,
    LIE_LOST,   /* a key that stays is not found              */
    LIE_TORN,   /* a key with the value of another            */
    LIE_OLD,    /* a value that has been written over         */
    LIE_POISON, /* the value of an insert that must not count */
    LIE_GHOST,  /* a key that is not there is found           */
    LIE_SKIP,   /* a range leaves an entry out                */
    LIE_TWICE,  /* a range has an entry twice                 */
    LIE_COUNT,  /* a count is too large                       */
    LIE_NEXT,   /* the entry after the next is given          */
    LIE_MODEL,  /* the model of a sequence is wrong           */
    LIE_FROZEN, /* a frozen handle is not as the index was    */
    STRESS_LIES
};

/* A round follows from its seed and the options. */
struct stress_round {
    uint64_t seed;
    copse_structure structure;
    copse_placement placement;
    uint32_t threads; /* of each context; 0: by the seed */
    uint32_t readers; /* 0: by the seed                  */
    uint32_t reads;   /* bits: which calls readers make, by the order of stress_read_names; 0: all */
    bool locked;      /* readers wait while an update runs: for structures without views */
    bool quiet;       /* says nothing of a failure: it was planted */
    enum stress_lie lie;
};

struct stress_result {
    bool right;
    bool run;             /* false: the structure has no views, `why` is the library's sentence        */
    bool freezing_absent; /* the structure has no frozen handles                                            */
    uint64_t operations;  /* calls whose answers were checked                                           */
    char what[160];       /* what it was: types, sizes                                                  */
    char where[64];       /* the operation that went wrong                                              */
    char why[512];
};

/* Sequences of batches against the model: warps that contend within a batch. */
void stress_inside(const struct stress_round *round, struct stress_result *result);
/* Readers through views while batches change the index. */
void stress_concurrent(const struct stress_round *round, struct stress_result *result);

/* The calls of readers, as --reads names them. */
#define STRESS_READS 7
extern const char *const stress_read_names[STRESS_READS];

/* 1 .. 2^bits, small ones as often as large ones. */
static inline uint64_t stress_size(struct random_source *random, unsigned bits)
{
    uint64_t size = UINT64_C(1) << random_below(random, bits + 1);
    return size / 2 + 1 + random_below(random, size - size / 2);
}

#endif
