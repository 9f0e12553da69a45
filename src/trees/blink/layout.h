/*
 * The B-link tree, and the B+ tree that shares its nodes: what they look like in device memory, the arguments of their
 * kernels, and the table of kernels that each backend has per pair of widths. docs/BLINK.md tells the whole story.
 *
 * A leaf is one line of 128 bytes. Keys are sorted; free places hold the largest key and value 0.
 *
 *   u64 keys, u64 values: 7 entries               u32 keys, u32 values: 14 entries
 *     0  | k0 | k1 | ... | k6 | state next |        0  | k0 | k1 | ....... | k13 | state | next |
 *    64  | high | v0 | v1 | ......... | v6 |       64  | high | - | v0 | v1 | ............. | v13 |
 *
 *   u32 keys, u64 values: 9 entries               u64 keys, u32 values: 9 entries
 *     0  | k0 | ... | k8 | state | next | high |    0  | k0 | k1 | ...................... | k8 (to 71) |
 *    56  | v0 | v1 | .................... | v8 |   72  | state | next | high | v0 | ...... | v8 | - |
 *
 *   state   bit 31: latched by a writer; bit 30: a branch, see below; bits 8..29: version, grows with every change;
 *           bits 0..7: entries
 *   next    number of the leaf to the right, COPSE_LEAF_NONE for the last one
 *   high    no key of this leaf is greater, now or ever; the largest key in the last leaf
 *
 * Leaves 0 .. base_leaves - 1, the *base_leaf leaves*, are in key order, and pointer-free levels (core/levels.h) lead to them. Leaves
 * that come by splits are the *pool* and have numbers from `pool_first` on. The levels know nothing of them:
 *
 *   blink   a split leaf links to its right half, that one to what was right of both. A reader that finds its key greater
 *           than `high` steps right. All leaves from a base_leaf leaf up to the next one are its *chain*.
 *   bplus   there are no links to the right. A base_leaf leaf that splits moves into the pool and leaves a *branch* behind: keys
 *           are the `high` of up to as many leaves as a leaf has places, values are their numbers (32 bits each).
 *
 *   levels           [ . | . | . ]
 *                   /      |      \
 *   base_leaf leaves   [ 0 ] -> [ 1 ] -> [ 2 ]         blink: 1 was split, the chain of base_leaf 1 is 1, 3
 *                            \     /
 *   pool                      [ 3 ]
 *
 * Leaves lie in *chunks* of equal size, 2^chunk_shift leaves each, and a table has the addresses: leaf i is leaf
 * i % 2^chunk_shift of chunk i / 2^chunk_shift. The last chunk with base_leaves may be cut off behind them; where it is not, the pool
 * begins right there, else with the next chunk. Chunks stay where they are: readers may be in them.
 *
 *   table    [ . | . | . | . |   |   ]
 *              |   |   |   |
 *   chunks   [ base_leaves ][ base_leaves ][ base_leaves, pool ][ pool ]
 *
 * When chains or branches get too many, all leaves are packed anew into new chunks with new levels: a new *version*.
 */
#ifndef COPSE_BLINK_KERNELS_H
#define COPSE_BLINK_KERNELS_H

#include "gpu/kernel_rows.h"
#include "gpu/shared_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COPSE_LEAF_BYTES    128u
#define COPSE_LEAF_NONE     UINT32_MAX
#define COPSE_LEAF_LATCH    0x80000000u
#define COPSE_LEAF_BRANCH   0x40000000u
#define COPSE_LEAF_COUNT    0x000000ffu
#define COPSE_LEAF_SEQUENCE 0x00000100u /* what a change adds */
/* Most leaves of a chain: where longer ones are seen the tree is packed anew. A branch has as many as a leaf has entries, at most
 * this. */
#define COPSE_CHAIN_MOST 16u
/* ... and what a check takes for a circle. */
#define COPSE_CHAIN_CIRCLE 4096u
/* Leaves of the pool are taken through this many counters, so that many warps can do so at once: the k-th leaf of stripe s
 * is pool leaf k * COPSE_POOL_STRIPES + s. */
#define COPSE_POOL_STRIPES 64u

/* A tree as kernels see it. */
typedef struct copse_blink_tree {
    uint64_t entries;
    uint32_t base_leaves; /* at least one: an empty tree is one empty leaf       */
    uint32_t pool_first;  /* number of the first leaf of the pool                 */
    uint32_t pool_leaves; /* that the pool has room for, a multiple of the stripes */
    uint32_t branches;    /* 1: a B+ tree                                         */
    uint32_t unique;      /* 1: no two entries have equal keys                    */
    copse_type key_type, value_type;
    uint32_t chunk_shift;   /* a chunk has 2^chunk_shift leaves                     */
    uint32_t pool_grows;    /* 1: the pool may get chunks while a kernel runs       */
    const uint64_t *chunks; /* their addresses                                    */
    copse_device_levels levels;
} copse_blink_tree;

/* What kernels that change a tree count, in device memory. All but `taken` starts at 0 with every call: of
 * positions and keys that are to be the smallest, the complement is kept, and the largest of those. */
typedef struct copse_blink_counters {
    uint32_t taken[COPSE_POOL_STRIPES]; /* leaves of each stripe of the pool                */
    uint64_t came[COPSE_POOL_STRIPES];  /* entries that came: the sum counts */
    uint64_t went[COPSE_POOL_STRIPES];  /* entries that went                 */
    uint64_t extra;                     /* leaves that splits may need                                           */
    uint64_t dead;                      /* operations that an equal key behind (before) them makes pointless      */
    uint64_t not_first_nan;             /* ~position of the first NaN; 0: there is none                          */
    uint64_t not_low, high;             /* ~smallest and largest key of a batch that comes as it is              */
    copse_pairs_speculation
        speculation;   /* plan: what it said about the batch; part and bucket_sort: what they say         */
    uint32_t crowded;  /* 1: too many operations for one chain or branch; 2: the pool had no leaf    */
    uint32_t winding;  /* 1: some operation went along COPSE_CHAIN_MOST leaves of a chain, or one more */
    uint32_t deferred; /* runs that apply leaves to apply_splits                                     */
    uint32_t padding;
} copse_blink_counters;

/* Puts some addresses into the table of chunks. They come with the launch: a copy from the host's memory would wait. */
#define COPSE_PUBLISH_MOST 128u
typedef struct copse_publish_arguments {
    uint64_t *to;
    uint32_t n;
    uint64_t addresses[COPSE_PUBLISH_MOST];
} copse_publish_arguments;

/* What an update does with a key. */
typedef enum copse_action { COPSE_ACTION_UPSERT, COPSE_ACTION_IF_ABSENT, COPSE_ACTION_ERASE } copse_action;

/* The operations of an update. */
typedef struct copse_blink_operations {
    const void *keys;    /* encoded, sorted, unless a kernel says otherwise */
    const void *values;  /* may be NULL where nothing is inserted            */
    const uint32_t *row; /* NULL, or which value (and flag) belongs to key i */
    const uint8_t *gone; /* NULL, or 1 where the key is erased, else upserted */
    copse_action action; /* where gone is NULL                               */
    const copse_pairs_speculation
        *speculation;   /* NULL, or about the bounds of the batch: rebuilding reads it along with its own numbers */
    uint32_t last_wins; /* of equal keys the last one counts, else the first; 2: there are none, or all count */
    uint32_t coarse; /* bits of the keys, from the lowest on, that they are not sorted by: 0 but for tile_independent */
    uint64_t n;
} copse_blink_operations;

/* Point queries, n < 2^31 of them a launch. Every output may be NULL. */
typedef struct copse_blink_point_arguments {
    copse_blink_tree tree;
    const void *keys;
    uint64_t first; /* position of keys[0] in the caller's batch, for reports */
    uint32_t n;
    uint32_t per_warp;      /* queries that one warp takes: 32, or 8 for small batches */
    uint32_t which;         /* copse_neighbour                              */
    const uint64_t *before; /* entries in front of each base_leaf, for ranks     */
    void *out_keys, *out_values;
    uint8_t *out_found;
    uint64_t *out_ranks;
    uint64_t *report;
} copse_blink_point_arguments;

/* Where the operations of a sorted batch belong. */
typedef struct copse_locate_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations;
    uint32_t *base_leaves; /* of each operation                                                                     */
    uint64_t *effects;     /* NULL, or of each operation: 1 where it inserts an entry, 2^32 where it removes one    */
    uint32_t *offsets; /* with effects: entries of its base_leaf in front of the key                                 */
    const copse_pairs_speculation *speculation; /* plan: NULL, or whether the operations are sorted at all            */
    uint32_t one_of; /* plan: one warp in so many asks how many leaves its operations need, for all of them   */
    copse_blink_counters *counters;
} copse_locate_arguments;

/* Large batches as the caller gave them, put in order by the separators of the tree: first into buckets, each of them the
 * operations of so many base_leaves side by side; then each bucket. */
#define COPSE_PARTITION_TILE                                                                                           \
    8192u /* operations of a block of `part`, at most                                          */
#define COPSE_BUCKET_SORT_BUCKETS 2048u
#define COPSE_BUCKET_SORT_THREADS                                                                                      \
    576u /* so that four operations of each are a usual bucket                                */
#define COPSE_BUCKET_SORT_ROOM                                                                                         \
    2816u /* operations of a bucket, at most                                                   */
/* ... and base_leaves, whole nodes of 17: as many as the memory holds that keys and values need later, and a number of 13 bits counts. */
#define COPSE_BUCKET_SORT_BASE_LEAVES(key_bytes, value_bytes) ((key_bytes) + (value_bytes) == 16 ? 8177u : 6120u)
/* ... and groups of base_leaves that are counted; longer keys and values leave less memory for them. */
#define COPSE_BUCKET_SORT_GROUPS(key_bytes, value_bytes)                                                               \
    (COPSE_BUCKET_SORT_THREADS * ((key_bytes) + (value_bytes) == 8 ? 8u : 4u))
typedef struct copse_bucket_sort_arguments {
    copse_blink_tree tree;             /* its separators have 32 bits                                             */
    copse_blink_operations operations; /* keys are raw, and as they came; values NULL: positions, unless erased   */
    uint32_t each;               /* part: operations of a thread, so that a block has COPSE_PARTITION_TILE at most */
    uint32_t buckets;            /* how many                                                                */
    uint32_t bucket_nodes;       /* nodes of the lowest level of a bucket; the last one may have fewer      */
    uint32_t bucket_base_leaves; /* ... and base_leaves                                                           */
    uint32_t group_shift;        /* bucket_sort: 2^group_shift base_leaves are counted together                       */
    uint32_t room;               /* operations that fit into a bucket                                       */
    uint32_t one_of;             /* bucket_sort: one base_leaf in so many asks how many leaves it needs, for all     */
    uint32_t *cursors;           /* operations of each bucket: room for COPSE_BUCKET_SORT_BUCKETS               */
    uint32_t *boundaries;        /* ... and its last separator, likewise                                    */
    uint32_t *bases;             /* ... and the operations of those in front of it, likewise                */
    uint32_t *ticket;            /* part: blocks that have taken their places                               */
    void *partitions;            /* `room` places for each bucket, see blink/update/partition.h                     */
    void *out_keys, *out_values; /* bucket_sort: the operations in order; erased: no values                     */
    uint32_t *out_base_leaves;
    copse_blink_counters *counters; /* its speculation says whether it came to anything */
} copse_bucket_sort_arguments;

/* Bytes of a place in a bucket. */
#define COPSE_PARTITION_BYTES(key_bytes, value_bytes) ((key_bytes) + (value_bytes) == 16 ? 20u : 16u)

/* Small batches as the caller gave them: which of equal keys counts, and where they belong. */
typedef struct copse_resolve_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations; /* keys are raw */
    uint32_t *base_leaves;
    uint32_t *slots;  /* of each operation: where `table` has its key                               */
    uint32_t *table;  /* hash table: position + 1 of the operation that counts, 0 where there is none */
    uint32_t *crowds; /* operations that base_leaves get, by a hash of their number                       */
    uint32_t mask;    /* size of the tables - 1, a power of two - 1                                 */
    copse_blink_counters *counters;
} copse_resolve_arguments;

/* Blocks of `apply` and of `apply_splits` that a multiprocessor has at a time. */
#define COPSE_APPLY_BLOCKS  6u
#define COPSE_SPLITS_BLOCKS 5u

/* Changes leaves where they are. */
typedef struct copse_apply_arguments {
    copse_blink_tree tree;
    copse_blink_operations operations;    /* sorted; raw and in the caller's order where `table` is there */
    const uint32_t *base_leaves;          /* of all operations                                          */
    const uint32_t *table, *slots;        /* see copse_resolve_arguments; NULL: sorted                    */
    uint32_t shared;                      /* 1: readers may be at work at the same time                 */
    uint32_t chunk;                       /* apply: operations of a warp, a multiple of 32               */
    uint32_t *deferred, *deferred_leaves; /* operations that apply leaves to apply_splits, leaves to begin with  */
    uint64_t extra_most, dead_most;       /* apply: where the counters say more, or `crowded`, nothing is done */
    copse_blink_counters *counters;
} copse_apply_arguments;

/* What rebuilding counts, all 0 before. */
typedef struct copse_rebuild_totals {
    uint32_t leaves,
        tiles; /* base_leaf_lists: leaves that are listed, and tiles that makes. In front: read often, and what changes often
                               is not concurrent them */
    uint64_t came[COPSE_POOL_STRIPES]; /* entries that the operations bring: the sum counts */
    uint64_t went[COPSE_POOL_STRIPES]; /* ... and take                                      */
    uint64_t entries;                  /* of the new version                                */
    uint64_t took;                     /* operations that tiles found (tile_independent)         */
    uint64_t not_low,
        high; /* ~smallest and largest key beyond the bounds of the old version, where there are some (tile_independent) */
    uint32_t ticket;                     /* the next tile that is to be done, or COPSE_TILES_STOP and some more */
    uint32_t lists;                      /* base_leaf_lists: blocks that have begun                                  */
    copse_pairs_speculation speculation; /* that of the operations                            */
} copse_rebuild_totals;

/* Some tile has more than fits: no more are begun, and what was made is no tree. */
#define COPSE_TILES_STOP 0x80000000u

/* Leaves that a tile (blink/rebuild/tile.h) has at most, one for each lane of a warp, and entries, by the bytes of one. */
#define COPSE_TILE_LEAVES         32u
#define COPSE_TILE_ENTRIES(bytes) (4608u / (bytes) / 32u * 32u)

#define COPSE_LEAVES_BITS 24u

/* Blocks of tile_independent that a multiprocessor has at a time. */
#define COPSE_INDEPENDENT_BLOCKS 6u

/* Threads of a block of base_leaf_lists, base_leaves of each, and leaves concurrent the base_leaves that it can count. */
#define COPSE_LIST_THREADS 512u
#define COPSE_LIST_EACH    4u
#define COPSE_LIST_MOST    0x3fffffffu

/* Where a tile begins, or all of them end (tile_independent). */
typedef struct copse_tile_edge {
    uint64_t high;     /* the largest key of the tile in front                                          */
    uint32_t from, to; /* operations whose keys, but for the bits that they are not sorted by, are that */
    uint32_t first;    /* leaf of the new version that belongs to the tile                              */
    uint32_t usual;    /* 1: `high` lies between the keys of the tree, and has the bits of `alike`      */
} copse_tile_edge;

/* Packs all entries, and those of a batch, into a new version: tile by tile, or base_leaf by base_leaf. */
typedef struct copse_rebuild_arguments {
    copse_blink_tree from;
    copse_blink_tree to;
    copse_blink_operations operations;
    const uint32_t *base_leaves, *offsets;
    const uint64_t *effects;   /* summed up in front of each operation, one more behind the last */
    uint32_t tile_base_leaves; /* base_leaves of the old version in a tile; the last one may have fewer         */
    uint32_t tiles;            /* 0: base_leaf by base_leaf                                                          */
    uint32_t chains;           /* 0: there are no leaves but base_leaf leaves                                   */
    /* Leaves of the new version, times 2^COPSE_LEAVES_BITS (tile_independent) */
    uint64_t leaves_per_base_leaf, leaves_per_entry, leaves_per_operation;
    uint64_t *
        before; /* entries of the new version in front of each base_leaf of the old one; tile_independent: NULL, or entries of the old one
                       * in front of each tile, and of all */
    uint64_t *
        words; /* what each tile, or block of base_leaf_lists, tells those behind it (blink/rebuild/tile.h), all 0 before */
    uint32_t *starts;       /* first operation of each tile or base_leaf, and one more                      */
    copse_tile_edge *edges; /* of all tiles, and one more                                              */
    /* tile_independent, where a tile has leaves wherever they lie: */
    uint32_t *order;    /* NULL, or numbers of all leaves in the order of their keys                                 */
    uint32_t leaves;    /* that it has room for: of all, or more (totals->leaves), and `tiles` is what that makes    */
    const void *input;  /* NULL, or keys as they came: do they look sorted? The speculation gets to know */
    uint64_t low, high; /* bounds of the keys of the old version */
    /* tile_independent: keys are sorted only where they have the bits of `alike` that the mask names. */
    uint64_t alike, alike_mask;
    copse_rebuild_totals *totals; /* tiles                                                                  */
    uint32_t *last;               /* of each new leaf the digest of `high`, or `high` itself where it has 32 bits */
} copse_rebuild_arguments;

/* What checks find wrong, as positions in `trouble` of the survey. */
enum { COPSE_TROUBLE_ORDER = 0, COPSE_TROUBLE_LEAF = 1, COPSE_TROUBLE_LEVELS = 2, COPSE_TROUBLE_LINK = 3 };

/* Checks. */
typedef struct copse_blink_check_arguments {
    copse_blink_tree tree;
    void *highs;           /* largest key that each base_leaf may have */
    uint32_t *base_leaves; /* per leaf of the pool: how often it was met */
    copse_device_survey *survey;
} copse_blink_check_arguments;

typedef struct copse_blink_kernels {
    copse_kernel find[2][2];   /* copse_blink_point_arguments; [digest][branches]; nobody changes the tree */
    copse_kernel locate, plan; /* copse_locate_arguments */
    copse_kernel partition_bounds, partition; /* copse_bucket_sort_arguments */
    copse_kernel bucket_sort;                 /* ... then                */
    copse_kernel resolve;                     /* copse_resolve_arguments   */
    copse_kernel apply, apply_splits;         /* copse_apply_arguments: sorted */
    copse_kernel apply_unsorted;              /* ... as they come              */
    copse_kernel rebuild_fill, rebuild_empty; /* copse_rebuild_arguments: sorted pairs, nothing */
    copse_kernel tile_starts, tile_lookback, tile_finish, base_leaf_lists, tile_edges,
        tile_independent;                                 /* ... tile by tile */
    copse_kernel rebuild_count, rebuild_old, rebuild_new; /* ... base_leaf by base_leaf      */
    copse_kernel publish;                                 /* copse_publish_arguments */
    copse_kernel check_highs, check_leaves;               /* copse_blink_check_arguments */
} copse_blink_kernels;

COPSE_KERNEL_ROWS(copse_blink_kernels);

#ifdef __cplusplus
}
#endif
#endif
