/* A subject is an index under test beside its model. Operations are plain data, so that they can be generated, run,
 * dropped, halved and printed; running one drives both and compares the answers. */
#ifndef TESTS_SUBJECT_H
#define TESTS_SUBJECT_H

#include "model.h"
#include "placed.h"
#include "test_allocator.h"

enum operation_kind {
    OPERATION_BUILD,
    OPERATION_INSERT,
    OPERATION_INSERT_IF_ABSENT,
    OPERATION_ERASE,
    OPERATION_ERASE_PAIRS,
    OPERATION_ERASE_RANGE, /* has low and high bounds, too */
    OPERATION_APPLY,       /* the last that changes the index, but for MAP */
    OPERATION_FIND,
    OPERATION_CONTAINS,
    OPERATION_LOWER_BOUND,
    OPERATION_SUCCESSOR,
    OPERATION_PREDECESSOR,
    OPERATION_UPPER_BOUND,
    OPERATION_FLOOR,
    OPERATION_SELECT, /* the keys' codes, modulo a little more than there are entries, are ranks */
    OPERATION_ENDS,   /* copse_first or, where `ends` says so, copse_last, with `limit` */
    OPERATION_CURSOR,
    OPERATION_RANGE, /* the first with low and high bounds */
    OPERATION_COUNT,
    OPERATION_SUM,
    OPERATION_SUM128,
    OPERATION_MIN,
    OPERATION_MAX,
    OPERATION_AVG, /* the last of them */
    OPERATION_VISIT,
    OPERATION_SAVE_LOAD,
    OPERATION_MOVE,
    OPERATION_MAP, /* a visit in place */
    OPERATION_FIND_ALL,
    OPERATION_CLEAR,
    OPERATION_SAVE_MEMORY, /* as SAVE_LOAD, through memory                                                        */
    OPERATION_COPY,        /* the index goes on as the copy where `limit` is odd; the other one is emptied          */
    OPERATION_FREEZE,      /* from then on, what reads is asked of the frozen handle, too                           */
    OPERATION_KINDS
};

#define OPERATION_NO_FAULT (-1)

/* Bits of `ends` behind those of the library. */
#define OPERATION_NO_LOWS  8u
#define OPERATION_NO_HIGHS 16u
#define OPERATION_ALL_ENDS 31u

struct operation {
    enum operation_kind kind;
    uint64_t n;
    uint64_t *first;   /* n codes: keys, or low bounds                                                             */
    uint64_t *second;  /* n values (raw bits) of an update, NULL: none given; n codes of high bounds               */
    uint64_t limit;    /* of a range; entries per step of a cursor; entries after which a visit stops (0: never);
                         structure to load a snapshot as (0: the file's); of a mixed batch, if not 0: the code at
                         position limit - 1 (modulo n) is no operation                                           */
    uint8_t *codes;    /* n operations of a mixed batch                                                            */
    uint32_t target;   /* placement to load a snapshot into (0: automatic) or to move to (0: away to the CPU, or
                         back)                                                                                    */
    uint32_t places;   /* where the arrays of the call lie, see placed.h                                           */
    uint32_t ends;     /* of ranges, a cursor: COPSE_RANGE_*, OPERATION_NO_LOWS, OPERATION_NO_HIGHS                  */
    uint32_t omit;     /* bit i: leave out the i-th output that may be left out                                    */
    int64_t nan_at;    /* float keys: a NaN stands at this position (modulo n), see also operation_nan_in_highs    */
    bool fail_once;    /* the allocation after the failing one succeeds again */
    bool fail_device;  /* fail_at counts allocations of device memory                                              */
    int64_t fail_at;   /* allocations that succeed before one fails                                                */
    int64_t cancel_at; /* progress calls that say go on before one says stop                                      */
};

/* Limits between the strategies of updates, and behind these each strategy forced. */
#define SUBJECT_LIMITS 18u
#define SUBJECT_WAYS   (SUBJECT_LIMITS + PLACED_STRATEGIES)

struct subject_config {
    copse_structure structure;
    copse_placement placement; /* 0: the CPU */
    enum placed_memory memory; /* of the arrays that the library gets, while the index is not on the CPU */
    uint64_t simt_seed;        /* emulated: the order of warps and lanes; 0: in turn                         */
    bool stream;               /* a device's work goes through a stream of the caller's                      */
    uint32_t transfer;         /* how host arrays travel, see subject.c; 0: as always */
    uint32_t ways;       /* below SUBJECT_WAYS: how a device's trees are updated; 0: as they choose, see subject.c */
    uint32_t page_order; /* of the paged tree; 0: its own                                                        */
    uint32_t processors; /* multiprocessors that the device is taken to have; 0: its own                  */
    copse_type key_type;
    copse_type value_type;
    bool duplicates;
    const char *isa; /* NULL: the default */
    uint32_t threads;
    uint32_t pipeline;
    copse_huge_pages huge_pages;
    bool own_allocator; /* memory through the test allocator: needed for fail_at */
};

/* A frozen handle, and what it has to hold; NULL: none. */
struct subject_frozen {
    copse_index *index;
    struct model model;
    copse_structure structure;
    copse_placement placement;
};

struct subject {
    struct subject_config config;
    copse_placement made_at; /* where the index was made; config.placement is where it is */
    copse_ctx *ctx;
    copse_ctx *stream_ctx; /* owns the caller's stream, if there is one */
    void *stream;
    copse_index *index;
    copse_index *file; /* the same content as an open file, from a save until the next update; else NULL */
    struct model model;
    struct subject_frozen frozen;
    struct test_allocator allocator;
    int64_t progress_left;
    uint32_t places;       /* of the operation that runs                        */
    const char *misplaced; /* a call wrote where it must not, or NULL           */
    bool device_armed;
    long long device_failures; /* allocations of device memory that were refused */
    bool planted_bug;          /* the model lies about some keys: shows that a difference is noticed */
    char why[512];             /* what was wrong, when a call below returned false */
};

bool operation_updates(enum operation_kind kind);
bool operation_has_bounds(enum operation_kind kind);
/* Only asks; such operations have n keys or bounds, or none (operation_has_keys). */
bool operation_reads(enum operation_kind kind);
bool operation_has_keys(enum operation_kind kind);
/* The ends that the library gets: an array with a NaN in it is always there. */
uint32_t operation_ends(const struct operation *operation);
/* The entries of range i, and the model without those of all ranges; returns how many went. */
struct model_span operation_span(const struct operation *operation, const struct model *model, uint64_t i);
uint64_t operation_erase_range(const struct operation *operation, struct model *model);
/* Of two bounds the NaN is the upper one. */
bool operation_nan_in_highs(const struct operation *operation);
const char *operation_name(enum operation_kind kind);
void operation_init(struct operation *operation, enum operation_kind kind, uint64_t n);
void operation_free(struct operation *operation);
void operation_copy(struct operation *to, const struct operation *from);

/* Makes context, empty index and empty model. */
bool subject_open(struct subject *subject, const struct subject_config *config);
/* Runs one operation on both. */
bool subject_run(struct subject *subject, const struct operation *operation);
/* The whole content, the size, the stats and the invariants. */
bool subject_check_content(struct subject *subject);
/* Frees all; false where the test allocator saw a leak or a wrong free. */
bool subject_close(struct subject *subject);

#endif
