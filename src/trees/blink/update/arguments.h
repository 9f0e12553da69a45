/* The operations of an update, what kernels count while they run them, and the arguments of the kernels that change
 * leaves in place. */
#pragma once

#include "trees/blink/layout.h"

/* What an update does with a key. */
typedef enum copse_action { COPSE_ACTION_UPSERT, COPSE_ACTION_IF_ABSENT, COPSE_ACTION_ERASE } copse_action;

/* The operations of an update. */
typedef struct copse_blink_operations {
    const void *keys;    /* encoded and sorted, unless a kernel says otherwise */
    const void *values;  /* may be NULL where nothing is inserted */
    const uint32_t *row; /* NULL, or which value (and flag) belongs to key i */
    const uint8_t *gone; /* NULL, or 1 where the key is erased, else it is upserted */
    copse_action action; /* where gone is NULL */
    /* NULL, or what is known about the bounds of the batch: a rebuild reads it back with its own totals. */
    const copse_pairs_speculation *speculation;
    uint32_t last_wins; /* 1: of equal keys the last one counts; 0: the first; 2: there are none, or all count */
    uint32_t coarse;    /* lowest bits of the keys that it is not sorted by; only tile_independent takes any but 0 */
    uint64_t n;
} copse_blink_operations;

/* What kernels that change a tree count, in device memory. All but `taken` is 0 at the start of every call. Of
 * positions and keys of which the smallest is wanted the kernels keep the complement, and of those the largest. */
typedef struct copse_blink_counters {
    uint32_t taken[COPSE_POOL_STRIPES];  /* leaves of each stripe of the pool */
    uint64_t came[COPSE_POOL_STRIPES];   /* entries that were inserted: the sum counts */
    uint64_t went[COPSE_POOL_STRIPES];   /* entries that were erased: the sum counts */
    uint64_t extra;                      /* leaves that splits may need */
    uint64_t dead;                       /* operations without effect: an equal key behind (before) them counts */
    uint64_t not_first_nan;              /* ~position of the first NaN; 0: there is none */
    uint64_t not_low, high;              /* ~smallest and largest key of a batch that is not sorted */
    copse_pairs_speculation speculation; /* plan: that of the batch; partition, bucket_sort: what they find */
    uint32_t crowded;                    /* 1: too many operations for one chain or branch; 2: the pool had no leaf */
    uint32_t winding;                    /* anchors in which operations passed along COPSE_CHAIN_MOST leaves or more */
    uint32_t deferred;                   /* runs that apply leaves to apply_splits */
    uint32_t through;                    /* blocks of apply_unsorted that are done */
    uint32_t placed;                     /* entries that the overflow directory got */
    uint32_t unused;
} copse_blink_counters;

/* To which base leaves the operations of a sorted batch belong. */
typedef struct copse_locate_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations;
    uint32_t *base_leaves; /* of each operation: the anchor; plan: the first leaf of it */
    uint32_t crowd;        /* plan: not 0: runs of so many operations are crowds, for others */
    uint64_t *effects;     /* NULL, or of each operation: 1 where it inserts an entry, 2^32 where it removes one */
    uint32_t *offsets;     /* with effects: entries of its base leaf in front of the key */
    const copse_pairs_speculation *speculation; /* plan: NULL, or whether the batch turned out to be sorted */
    uint32_t one_of; /* plan: one warp in so many counts the leaves that its operations need, and stands for all */
    copse_blink_counters *counters;
} copse_locate_arguments;

/* Large batches in the caller's order, which the separators of the tree put in order: `partition` distributes the
 * operations over buckets, each for a stretch of neighbouring base leaves; `bucket_sort` sorts each bucket. */
#define COPSE_PARTITION_TILE      8192u /* operations of a block of `partition`, at most */
#define COPSE_BUCKET_SORT_BUCKETS 2048u
#define COPSE_BUCKET_SORT_THREADS 576u  /* so that a usual bucket has four operations for each */
#define COPSE_BUCKET_SORT_ROOM    2816u /* operations of a bucket, at most */
/* ... and base leaves, in whole nodes of 17: as many separators as fit into the shared memory that keys and values need
 * later, and no more than a number of 13 bits counts. */
#define COPSE_BUCKET_SORT_BASE_LEAVES(key_bytes, value_bytes) ((key_bytes) + (value_bytes) == 16 ? 8177u : 6120u)
/* ... and groups of base leaves that are counted; longer keys and values leave less memory for them. */
#define COPSE_BUCKET_SORT_GROUPS(key_bytes, value_bytes)                                                               \
    (COPSE_BUCKET_SORT_THREADS * ((key_bytes) + (value_bytes) == 8 ? 8u : 4u))
/* Bytes of an operation in a bucket: update/partition.h. */
#define COPSE_PARTITION_BYTES(key_bytes, value_bytes) ((key_bytes) + (value_bytes) == 16 ? 20u : 16u)
typedef struct copse_bucket_sort_arguments {
    copse_blink_tree tree;             /* its separators have 32 bits */
    copse_blink_operations operations; /* raw keys in the caller's order; values NULL: positions, unless it erases */
    uint32_t each;                     /* partition: operations of a thread, COPSE_PARTITION_TILE a block at most */
    uint32_t buckets;                  /* how many there are */
    uint32_t bucket_nodes;             /* nodes of the lowest inner level in a bucket; the last one may have fewer */
    uint32_t bucket_base_leaves;       /* ... and base leaves */
    uint32_t group_shift;              /* bucket_sort: it counts 2^group_shift base leaves together */
    uint32_t room;                     /* operations that fit into a bucket */
    uint32_t one_of;                   /* bucket_sort: one base leaf in so many counts the leaves that it needs */
    uint32_t *cursors;                 /* operations of each bucket: room for COPSE_BUCKET_SORT_BUCKETS */
    uint32_t *boundaries;              /* ... and its last separator, likewise */
    uint32_t *bases;                   /* ... and the operations of the buckets in front of it, likewise */
    uint32_t *ticket;                  /* partition: blocks that have written their operations */
    void *partitions;                  /* `room` operations of each bucket, see update/partition.h */
    void *out_keys, *out_values;       /* bucket_sort: the operations in order; no values where it erases */
    uint32_t *out_base_leaves;
    copse_blink_counters *counters; /* its speculation says whether the batch is in order now */
} copse_bucket_sort_arguments;

/* Small batches in the caller's order: which of equal keys counts, and to which base leaves they belong. */
typedef struct copse_resolve_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations; /* keys are raw */
    uint32_t *base_leaves;
    uint32_t *slots;    /* of each operation the slot of `table` that has its key */
    uint32_t *table;    /* hash table: position + 1 of the operation that counts, 0 where there is none */
    uint32_t *crowds;   /* operations on base leaves, by a hash of their number */
    uint32_t mask;      /* size of the tables - 1, a power of two - 1 */
    uint32_t *touched;  /* bits of base leaves that may change, for read/ranks.c; may be NULL */
    uint64_t low, high; /* of the tree: only keys beyond these are reported */
    copse_blink_counters *counters;
} copse_resolve_arguments;

/* A leaf that a crowd of operations changes: it becomes `outs` + 1 leaves. */
typedef struct copse_crowd_item {
    uint32_t leaf, base_leaf;
    uint32_t first, end; /* operations */
    uint32_t outs, out;  /* new leaves, and how many new ones those of other items in front have */
    uint32_t right;      /* the first new leaf */
} copse_crowd_item;

/* Erasing by ranges (update/erase_range.h). */
typedef struct copse_erase_arguments {
    copse_blink_tree tree;
    const void *lows, *highs; /* encoded ends of ranges that are in order and apart */
    uint64_t n;
    uint64_t *anchors; /* of each range: those that are its own; then those in front; one more behind the last */
    uint32_t *firsts;  /* ... the first of them */
    uint32_t shared;   /* 1: concurrent readers may be at work */
    uint32_t *touched;
    copse_blink_counters *counters;
} copse_erase_arguments;

/* Crowds: runs of a sorted batch with many operations on one anchor (update/crowded.h). */
typedef struct copse_crowd_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations; /* sorted, one action for all */
    const uint32_t *leaves;            /* of each operation: the first leaf of its anchor */
    uint32_t crowd;                    /* operations from which on a run is one */
    uint32_t shared;                   /* 1: concurrent readers may be at work */
    uint64_t
        *sizes; /* of each crowd its items << 32 | new leaves, at its first operation; then those in front; n + 1 */
    copse_crowd_item *items;
    void *lows; /* of new leaves, in key order: what the directory gets */
    uint32_t *new_leaves, *new_base_leaves;
    uint32_t items_most, new_most, entries_most; /* room for items, new leaves, entries of the directory */
    copse_blink_directory to;                    /* memory of the next directory */
    uint64_t extra_most, dead_most;              /* as for apply */
    uint32_t *touched;
    copse_blink_counters *counters;
} copse_crowd_arguments;

/* Blocks of `apply` and of `apply_splits` that a multiprocessor has at a time. */
#define COPSE_APPLY_BLOCKS  6u
#define COPSE_SPLITS_BLOCKS 5u
/* ... and of `erase_anchors`. */
#define COPSE_ERASE_BLOCKS 8u

/* Changes leaves in place. */
typedef struct copse_apply_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations;    /* sorted; with `table` raw and in the caller's order */
    const uint32_t *base_leaves;          /* of all operations */
    const uint32_t *slots;                /* see copse_resolve_arguments; NULL: the batch is sorted */
    uint32_t *table, *crowds, mask;       /* likewise; crowds: NULL, or apply_unsorted leaves both tables empty */
    copse_blink_counters *delivered;      /* apply_unsorted: pinned memory, gets the counters, which are then reset */
    uint32_t shared;                      /* 1: concurrent readers may be at work */
    uint32_t chunk;                       /* apply: operations of a warp, a multiple of 32 */
    uint32_t crowd;                       /* apply: leaves out runs of so many operations; 0: none */
    uint32_t *deferred, *deferred_leaves; /* operations that apply leaves to apply_splits, and leaves to begin with */
    uint32_t *touched;                    /* bits of base leaves that may change, for read/ranks.c; may be NULL */
    uint64_t extra_most, dead_most;       /* apply: where the counters say more, or `crowded`, it changes nothing */
    copse_blink_counters *counters;
} copse_apply_arguments;
