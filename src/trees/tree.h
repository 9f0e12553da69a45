/*
 * The one interface that every tree has: a table of whole calls per placement, and a description by which everything else
 * in the library and around it knows the tree.
 *
 *   copse.h function   ->  src/api: checks arguments  ->  index->calls->find(...)  ->  the tree
 *                                                            |
 *        CPU trees: copse_cpu_calls (cpu/driver.h), which cuts the batch and runs threads
 *        GPU trees: their own functions, one kernel for a batch
 *
 * A new tree is a folder under src/trees/ and a line in registry.c; src/trees/sorted/ is the one to copy (CONTRIBUTING.md).
 */
#pragma once

#include "core/internal.h"
#include "core/reads.h"

/* A pass over values: core/pass.h. */
typedef struct copse_pass copse_pass;

/*
 * Entries in key order, from a key or from where the last scan stopped. Cursors, visits, exports and files stand on it, so
 * that a tree needs no ranks to have them.
 */
typedef struct copse_scan {
    bool backwards;      /* from the larger keys to the smaller                           */
    const void *from;    /* the first key that is wanted; NULL: go on at `position`       */
    const void *to;      /* the last key that is wanted; NULL: all that follow            */
    bool from_open;      /* of byte strings: `from` itself is not wanted                  */
    bool to_open;        /* ... nor is `to`; keys of fixed width come without open ends   */
    uint64_t most;       /* entries; 0: only find the position                            */
    void *keys, *values; /* arrays of `most` entries; either may be NULL               */
    /* The gap between two entries where the scan begins, and where it stopped; all zero is the one in front of the first entry.
     * Only the tree reads it: one with ranks keeps the rank of the entry behind the gap, one without the key of that and how many of
     * its equals are in front. It holds while the index does not change. */
    struct copse_scan_position {
        uint64_t rank;
        uint64_t key, equals;
    } position;
    /* Entries that came; fewer than `most`: there are no more. Of byte strings it may also be that the next one does not fit; where
     * not even one does, the scan returns TOO_SMALL and the position stays. */
    uint64_t n;
} copse_scan;

/*
 * What a tree does, at one placement. Every function has the meaning of the call in copse.h; the API has checked pointers, flags
 * and sizes before, and n is not 0 but for build and range. On a device each array may be host or device memory. After a failure
 * the tree is as before.
 *
 * Where keys are byte strings, arrays of keys and single keys are a caller's copse_bytes, which the tree reads through
 * copse_byte_keys_take and writes through copse_byte_output (core/bytes.h): those check it.
 */
typedef struct copse_calls {
    /* Life. A new tree is empty; `create` sets index->tree. */
    copse_status (*create)(copse_index *index);
    void (*destroy)(copse_index *index);

    /* Change. */
    copse_status (*build)(copse_index *index, const void *keys, const void *values, uint64_t n);
    copse_status (*insert)(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                           uint64_t *out_inserted);
    copse_status (*erase)(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
    copse_status (*erase_pairs)(copse_index *index, const void *keys, const void *values, uint64_t n,
                                uint64_t *out_erased);
    /* Ranges of keys of fixed width come closed, in order, without overlaps and none of them with its low above its high, in host
     * memory (api/erase_range.c); those of byte strings as the caller's. */
    copse_status (*erase_range)(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);
    /* Counts the version of the index itself, because a batch may change nothing. */
    copse_status (*apply)(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                          uint64_t n, void *out_values, uint8_t *out_found);

    /* Read. */
    copse_status (*find)(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found);
    copse_status (*neighbours)(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                               void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
    /* The entries with n ranks; NULL where the tree lacks COPSE_CAN_RANK. */
    copse_status (*select)(const copse_index *index, const uint64_t *ranks, uint64_t n, void *keys, void *values,
                           uint8_t *found);
    /* Keys of fixed width come as closed ranges that have both ends, whatever the caller's flags were (api/ranges.h); only
     * COPSE_RANGE_DESCENDING is left, for `range`. Byte strings, between any two of which there are others, come as the caller's. */
    copse_status (*count)(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
    copse_status (*range)(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
    copse_status (*aggregate)(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                              void *out, uint8_t *found);
    copse_status (*scan)(const copse_index *index, copse_scan *scan);
    uint64_t scan_step; /* entries of one scan that make it worth its start, for passes over everything */
    /* Optional (COPSE_CAN_VISIT): a pass over values where they lie (core/pass.h). Without it the API goes over a scan. The second one is
     * a MAP that changes the values themselves; without it the API writes the entries anew. */
    copse_status (*visit)(const copse_index *index, copse_pass *pass);
    copse_status (*visit_in_place)(copse_index *index, copse_pass *pass);
    /* Optional: the pages of the tree, for kernels of the caller's; the API has filled in types and version. */
    copse_status (*pages)(const copse_index *index, copse_page_table *out);

    /* Another handle on the tree of `index`, which follows it (COPSE_CAN_VIEW) or stays as it is now (COPSE_CAN_FREEZE).
     * The API has set the other members of *other, whose context may be another one. NULL: the tree can do neither. */
    copse_status (*share)(const copse_index *index, copse_index *other, bool frozen);

    /* Inspect. */
    uint64_t (*size)(const copse_index *index);
    void (*stats)(const copse_index *index, copse_stats *out);
    copse_status (*verify)(const copse_index *index);
} copse_calls;

/* What AUTO takes a tree for. ASKED: only where the caller has named the placement. STREAMED: updates in patterns; where no tree is for
 * those, one for updates. */
enum { COPSE_AUTO_UPDATES = 1, COPSE_AUTO_READS = 2, COPSE_AUTO_ASKED = 4, COPSE_AUTO_STREAMED = 8 };

/* A tree at one placement. */
typedef struct copse_tree_at {
    copse_placement placement;
    unsigned automatic; /* COPSE_AUTO_*: AUTO takes this tree here where updates are expected, where they are rare */
    const copse_calls *calls;
    /* index->by_width: what the calls need that depends on the widths of keys and values, one per pair (core/widths.h); NULL:
     * nothing. For trees on the CPU: const copse_cpu_tree * (cpu/driver.h). */
    const void *const *by_width;
} copse_tree_at;

#define COPSE_CAPABILITY(what) (1u << (what))

/* All that the library, the command and the tests know of a tree. */
typedef struct copse_tree_description {
    copse_structure structure;
    const char *name;
    const char *summary;           /* some words for people: "fastest reads; an update rebuilds"            */
    unsigned capabilities;         /* COPSE_CAPABILITY(...) of those that it has, besides COPSE_CAN_EXIST   */
    copse_structure counterpart;   /* does the same at placements where this tree is not there              */
    bool baseline;                 /* there to compare with: `copse bench` measures it, the demo leaves it out */
    const copse_tree_at *at;       /* ends with a row of zeros                                              */
    const copse_tree_at *bytes_at; /* the same for keys that are byte strings; NULL: it takes none          */
} copse_tree_description;
