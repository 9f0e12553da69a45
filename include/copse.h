/*
 * copse: an in-memory ordered index for batches.
 *
 * The header runs in tiers. Tier 1 is all most programs need: a context, an index, build, find, insert, erase, sum.
 * Tier 2 adds mixed batches, bounds, ranges, aggregates, whole-index passes, keys of several fields and snapshots.
 * Tier 3 is control: options, allocators, progress, inspection.
 *
 * Every operation takes arrays: one call, n independent operations, results in input order.
 *
 * What every call promises
 *   - It returns a status. COPSE_OK is 0; anything else is an error, and copse_last_error() holds a sentence that names
 *     the argument. The library never prints, exits or aborts.
 *   - A call that fails leaves the index as it was. Output arrays of a failed call hold unspecified values unless the
 *     function says otherwise.
 *   - n == 0 does nothing and succeeds, but for copse_build, which then leaves an empty index; array arguments may
 *     then be NULL.
 *   - No key and no value is reserved. NaN is refused as a key (COPSE_ERR_NAN, with its position); -0.0 equals 0.0.
 *   - Any call may return COPSE_ERR_ARGUMENT (a NULL or impossible argument) and, where it needs scratch memory,
 *     COPSE_ERR_MEMORY. Those two are not repeated below.
 *
 * Memory and streams
 *   Every array of an index on the GPU may be host memory or memory of that GPU, each array by itself; the library finds
 *   out. An index on the CPU takes host memory only. Without a stream of the caller's (copse_ctx_options.stream) every
 *   call is complete when it returns. With one, a reading call whose arrays are all device memory is only put on the
 *   stream, and what kernels find wrong (NAN, OVERFLOW, TOO_SMALL) is returned by copse_ctx_synchronize.
 *   A device that faults is reported once; from then on every call on it returns COPSE_ERR_DEVICE with that sentence.
 *
 * Threads
 *   Calls that only read (const copse_index *) may run at the same time from several threads. A call that changes an
 *   index must have it alone; reads through a view of it (copse_index_view) may go on meanwhile. Different indexes are
 *   independent, also when they share a context.
 *   A context has threads of its own, which sleep between calls. Where the system refuses one, calls do with fewer. A
 *   child after fork() may use contexts of its own, and those of its parent that were idle, on the CPU; what its parent
 *   had on a GPU returns COPSE_ERR_DEVICE there. docs/THREADS.md has the details.
 */
#ifndef COPSE_H
#define COPSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COPSE_VERSION_MAJOR 0
#define COPSE_VERSION_MINOR 2
#define COPSE_VERSION_PATCH 0
#define COPSE_VERSION       "0.2.0"

#if defined(__GNUC__) && !defined(COPSE_NO_EXPORT)
#define COPSE_API __attribute__((visibility("default")))
#else
#define COPSE_API
#endif

/* ------------------------------------------------------------------------------------------------------------------
 * Words shared by every tier
 * ------------------------------------------------------------------------------------------------------------------ */

typedef enum copse_status {
    COPSE_OK = 0,
    COPSE_ERR_ARGUMENT = 1,    /* NULL, an unknown enum value, a size that overflows                                 */
    COPSE_ERR_MEMORY = 2,      /* the allocator said no; nothing was changed                                         */
    COPSE_ERR_NAN = 3,         /* a NaN key; the sentence gives its position                                         */
    COPSE_ERR_TOO_SMALL = 4,   /* an output buffer is too small; the sentence gives the size needed                  */
    COPSE_ERR_OVERFLOW = 5,    /* an integer sum does not fit its result type, or keys the 32 bits of their offsets   */
    COPSE_ERR_TYPE = 6,        /* key or value type does not fit the call or the snapshot                            */
    COPSE_ERR_UNSUPPORTED = 7, /* this structure or placement cannot do that                                         */
    COPSE_ERR_IO = 8,          /* a file could not be read or written; the sentence says why                         */
    COPSE_ERR_FORMAT = 9,      /* not a copse snapshot, truncated or damaged                                         */
    COPSE_ERR_VERSION = 10,    /* a snapshot of a newer version than this library                                    */
    COPSE_ERR_CANCELLED = 11,  /* the progress callback asked to stop                                                */
    COPSE_ERR_STALE = 12,      /* the index changed under a cursor                                                   */
    COPSE_ERR_CORRUPT = 13,    /* copse_verify found a broken invariant                                              */
    COPSE_ERR_DEVICE = 14      /* no such device, or the device failed                                               */
} copse_status;

/* Key and value types. Dates are int32 days since 1970-01-01, timestamps int64 microseconds since then; they and
 * byte strings (copse_bytes) are key types only. An index with value type COPSE_NONE is a set: every `values` and
 * `out_values` of its calls, and `values` of copse_rows, has to be NULL (ARGUMENT), sums, extremes and
 * COPSE_OP_ADD return COPSE_ERR_TYPE, visitors get NULL. Inside a set keeps four bytes for each key that are
 * always 0, unless keys are byte strings: it takes the memory of an index with u32 values. */
typedef enum copse_type {
    COPSE_U32 = 1,
    COPSE_I32 = 2,
    COPSE_F32 = 3,
    COPSE_U64 = 4,
    COPSE_I64 = 5,
    COPSE_F64 = 6,
    COPSE_DATE = 7,
    COPSE_TIMESTAMP = 8,
    COPSE_BYTES = 9,
    COPSE_NONE = 10 /* value type only: a set of keys without values */
} copse_type;

/* The shape of the tree. AUTO picks by what the options say about updates and by what this build offers. */
typedef enum copse_structure {
    COPSE_STRUCTURE_AUTO = 0,
    COPSE_STRUCTURE_IMPLICIT = 1, /* fastest reads; an update merges and rebuilds                                     */
    COPSE_STRUCTURE_REGULAR = 2,  /* reads nearly as fast; batches of updates in place                                */
    COPSE_STRUCTURE_BLINK = 3,    /* the same on devices, where reads may run during updates                          */
    COPSE_STRUCTURE_BPLUS = 4,    /* as BLINK without side links: readers that run into a writer start again          */
    COPSE_STRUCTURE_SORTED = 5,   /* a plain sorted array on the CPU: the baseline, and the example for a new tree    */
    COPSE_STRUCTURE_RADIX = 6,    /* made for byte strings: finds as deep as keys differ; updates in place; no ranks  */
    COPSE_STRUCTURE_PAGED = 7     /* large pages, updates of any pattern at a like cost; made for devices             */
} copse_structure;

/* Where the nodes live and who walks them. AUTO keeps an index on the CPU while it has fewer than 65,536 entries,
 * and takes it to a GPU when it gets that large, or when its keys come in device memory, where one can be used and
 * has the structure; at once where the context has a stream or COPSE_CTX_DEVICE_ARRAYS. copse_stats.placement_why
 * says why it is where it is. Arrays of reads may be device memory only where the index is on a GPU: name that
 * placement where all yours are. A HYBRID index is in host memory, its inner levels also on a card, and its arrays
 * are host memory; the card helps with large batches, and where it fails the CPU answers alone. Of a HYBRID paged
 * tree the pages are on the card, and the CPU finds the page of each key. */
typedef enum copse_placement {
    COPSE_PLACEMENT_AUTO = 0,
    COPSE_PLACEMENT_CPU = 1,
    COPSE_PLACEMENT_GPU = 2,            /* a CUDA card                                             */
    COPSE_PLACEMENT_EMULATED = 3,       /* the GPU's kernels run by the CPU: slow, for tests       */
    COPSE_PLACEMENT_HYBRID = 4,         /* host memory and a CUDA card: may be larger than the card */
    COPSE_PLACEMENT_HYBRID_EMULATED = 5 /* the same with the emulator for the card, for tests      */
} copse_placement;

/* Keys of the type COPSE_BYTES, in Arrow's layout: key i is data[offsets[i]] up to data[offsets[i + 1]]. Where a
 * call on an index of such keys takes `const void *keys`, or one key, that is a const copse_bytes *; where it has
 * `void *out_keys`, a copse_bytes *.
 *
 * A key is any string of 0 to COPSE_LONGEST_KEY bytes; no byte is reserved. Keys are ordered by their bytes as
 * unsigned numbers (memcmp), and a key comes before those that it is the beginning of.
 *
 * Inputs: n + 1 offsets that do not fall and do not pass `size`; the first need not be 0. ARGUMENT says which of
 * them is wrong. Outputs: the call writes n + 1 offsets, from 0 on, and the bytes; an entry that is not there
 * gives an empty string. `needed` is set to the bytes that all of the keys take, also where the call returns
 * COPSE_ERR_TOO_SMALL because that is more than `size`.
 * Sizing: with data NULL and size 0 no bytes are written, and that is no error; offsets may then be NULL, too.
 * Where keys take more than 2^31 - 1 bytes, offsets of 32 bits return COPSE_ERR_OVERFLOW. The struct is host memory;
 * data and offsets may be device memory where the index is on a GPU. */
typedef struct copse_bytes {
    uint32_t struct_size; /* sizeof(copse_bytes)                     */
    uint32_t offset_bits; /* 32 or 64: offsets are int32_t or int64_t */
    void *data;
    void *offsets;
    /* Bytes of data: what inputs hold, what outputs have room for. */
    uint64_t size;
    /* Set in outputs. */
    uint64_t needed;
} copse_bytes;

#define COPSE_BYTES_INIT(data, size, offsets, offset_bits)                                                             \
    {                                                                                                                  \
        sizeof(copse_bytes), offset_bits, data, offsets, size, 0                                                       \
    }

#define COPSE_LONGEST_KEY 65536u

typedef struct copse_ctx copse_ctx;
typedef struct copse_index copse_index;
typedef struct copse_cursor copse_cursor;
typedef struct copse_ctx_options copse_ctx_options;
typedef struct copse_index_options copse_index_options;

/* ------------------------------------------------------------------------------------------------------------------
 * Tier 1: build, find, insert, erase, sum
 * ------------------------------------------------------------------------------------------------------------------ */

/* Makes a context: threads, memory, instruction set. options may be NULL for the defaults.
 * Errors: ARGUMENT (a member of options, or a variable such as COPSE_THREADS, that has no meaning), MEMORY, DEVICE
 * (options->device is not there), UNSUPPORTED (an instruction set that this machine lacks). */
COPSE_API copse_status copse_ctx_create(const copse_ctx_options *options, copse_ctx **out_ctx);

/* Frees a context; where indexes of it are left, with the last of them. NULL is fine. */
COPSE_API void copse_ctx_free(copse_ctx *ctx);

/* The sentence of the last call that failed on this thread, "" if none did. Valid until the next failing call on this
 * thread. ctx may be NULL: then it speaks of a failed copse_ctx_create. */
COPSE_API const char *copse_last_error(const copse_ctx *ctx);

/* Makes an empty index. options may be NULL: u64 keys and values, everything else automatic.
 * Errors: ARGUMENT (unknown type, structure or placement, or strategy in COPSE_BLINK_STRATEGY), UNSUPPORTED (this
 * structure is not there for this placement, or does not take such keys or duplicates: copse_supports), DEVICE (no
 * card can be used; the sentence says why), MEMORY. */
COPSE_API copse_status copse_index_create(copse_ctx *ctx, const copse_index_options *options, copse_index **out_index);

/* Frees an index. Its cursors can then only be freed: every other call on them returns COPSE_ERR_STALE. NULL is
 * fine. */
COPSE_API void copse_index_free(copse_index *index);

/* Replaces the content by n pairs, in any order; sorted input is noticed and is faster. Of equal keys the highest
 * array position wins, unless the index keeps duplicates. values may be NULL: then every value is its array
 * position, as a number of the value type.
 * Errors: NAN, MEMORY, CANCELLED. */
COPSE_API copse_status copse_build(copse_index *index, const void *keys, const void *values, uint64_t n);

/* Looks up n keys. out_values[i] is the value (0 where there is none), out_found[i] 1 or 0; either may be NULL. With
 * duplicates it is the value that was inserted first. Errors: NAN. */
COPSE_API copse_status copse_find(const copse_index *index, const void *keys, uint64_t n, void *out_values,
                                  uint8_t *out_found);

/* copse_find without the values. Errors: NAN. */
COPSE_API copse_status copse_contains(const copse_index *index, const void *keys, uint64_t n, uint8_t *out_found);

#define COPSE_INSERT_UPSERT    0u /* an existing key gets the new value; in a batch the highest position wins */
#define COPSE_INSERT_IF_ABSENT 1u /* an existing key keeps its value; in a batch the lowest position wins     */

/* Inserts n pairs as if one after the other in array order. An index with duplicates adds every pair behind its
 * equals (IF_ABSENT: only where the key was not there). values may be NULL: then every value is its array
 * position, as a number of the value type. out_inserted (may be NULL) receives the number of entries that the
 * index has more than before.
 * Errors: NAN, MEMORY, CANCELLED, ARGUMENT (unknown flags). */
COPSE_API copse_status copse_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                    uint32_t flags, uint64_t *out_inserted);

/* Erases every entry with one of the n keys; keys that are not there are no error. out_erased (may be NULL) receives
 * the number of entries that went. Errors: NAN, MEMORY, CANCELLED. */
COPSE_API copse_status copse_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);

/* Takes all entries away. */
COPSE_API copse_status copse_clear(copse_index *index);

/* Ranges of keys: range i reaches from lows[i] to highs[i]. Start from COPSE_BETWEEN(lows, highs, n), which has
 * both ends included, and change what is to be different. lows[i] > highs[i] is an empty range, and no error. */
typedef struct copse_ranges {
    uint32_t struct_size; /* sizeof(copse_ranges) */
    /* COPSE_RANGE_LOW_OPEN and those below, or 0. */
    uint32_t flags;
    /* n keys; NULL: the ranges have no lower end. */
    const void *lows;
    /* n keys; NULL: no upper end. */
    const void *highs;
    uint64_t n;
    /* copse_range only, else 0: at most so many entries of each range, the first in the order asked for; 0: all. */
    uint64_t limit;
} copse_ranges;

#define COPSE_RANGE_LOW_OPEN   1u /* lows[i] itself is not in range i                                        */
#define COPSE_RANGE_HIGH_OPEN  2u /* highs[i] is not                                                         */
#define COPSE_RANGE_DESCENDING 4u /* largest key first, for copse_range and cursors; without effect on others */
/* Of byte strings: range i is all keys that begin with lows[i], itself included. highs is NULL and no end open. */
#define COPSE_RANGE_PREFIX 8u

#define COPSE_BETWEEN(lows, highs, n)                                                                                  \
    {                                                                                                                  \
        sizeof(copse_ranges), 0, lows, highs, n, 0                                                                     \
    }

/* Sums the values of n ranges; 0 for an empty one. out_sums is an array of uint64_t (value types u32 u64), int64_t
 * (i32 i64) or double (f32 f64). Integer sums are exact; where one does not fit, it is set to the nearest limit,
 * all others are still right, and the call returns COPSE_ERR_OVERFLOW naming the first. copse_sum128 always fits.
 * Errors: NAN, OVERFLOW. */
COPSE_API copse_status copse_sum(const copse_index *index, const copse_ranges *ranges, void *out_sums);

/* ------------------------------------------------------------------------------------------------------------------
 * Tier 2: mixed batches, order, ranges, aggregates, passes, snapshots
 * ------------------------------------------------------------------------------------------------------------------ */

/* The operations of copse_apply. */
typedef enum copse_operation {
    COPSE_OP_FIND = 0,
    COPSE_OP_UPSERT = 1,           /* the key gets the value, whether it was there or not */
    COPSE_OP_INSERT_IF_ABSENT = 2, /* a key that is there keeps its value                 */
    COPSE_OP_ERASE = 3,
    COPSE_OP_ADD = 4 /* adds to the value of the key; a key that is not there gets the value as it is */
} copse_operation;

/* Runs n point operations as if one after the other in array order: operations[i] is a copse_operation on keys[i],
 * and sees what those before it did. values[i] is for UPSERT, INSERT_IF_ABSENT and ADD only; values may be NULL
 * where the batch has none of them, and in a set. out_found[i] is 1 or 0: the key was there just before operation
 * i; out_values[i] is the value that it had then (0 where there was none); either may be NULL. All of the batch is
 * applied or nothing. ADD wraps integers modulo 2^32 or 2^64 and adds floats in their type, one after the other; a
 * sum that is no number is the quiet NaN without a payload. So the result is the same on every placement, bit by
 * bit. With duplicates UPSERT adds an entry behind its equals, INSERT_IF_ABSENT one where the key is not there,
 * ERASE takes all entries of the key; FIND and ADD see the first entry, as do out_found and out_values. On a
 * device such a batch costs a pass over the index.
 * Errors: NAN, MEMORY, CANCELLED, ARGUMENT (a code that is no copse_operation; the sentence gives its position),
 * TYPE (ADD in a set), UNSUPPORTED (on a device more than 2^32 - 1 operations). */
COPSE_API copse_status copse_apply(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                                   uint64_t n, void *out_values, uint8_t *out_found);

/* Erases entries by key and value: each of n pairs, in array order, takes away the first entry with that key and
 * that value, if there is one left. Values are equal where their bits are: 0.0 is not -0.0, and a NaN is itself.
 * In a set values is NULL and each key takes one entry. out_erased as in copse_erase. With duplicates it reads and
 * writes all entries of the keys of the batch, on a device all of the index.
 * Errors: NAN (keys), MEMORY, CANCELLED. */
COPSE_API copse_status copse_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                         uint64_t *out_erased);

/* Erases every entry that is in one of the ranges, which may overlap; none of them has a limit, and the order asked
 * for is without effect. Ranges that have no lower and no upper end take all entries away. out_erased (may be NULL)
 * receives the number of entries that went. Errors: NAN, MEMORY, CANCELLED. */
COPSE_API copse_status copse_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);

/* A second, read-only handle on the same index, through another context, and so on another stream. Its calls may
 * run while the index is updated through the first handle: they see every key that was there before and stays, and
 * never a key with a value that it did not have; which of the keys that come and go they see is open. They are
 * complete when they return. copse_index_free frees the handle; it may outlive the first one. ctx must use the
 * device that the index is on.
 * Errors: UNSUPPORTED (structures other than blink and bplus; updates through a view). */
COPSE_API copse_status copse_index_view(const copse_index *index, copse_ctx *ctx, copse_index **out_view);

/* A read-only index with the content that `index` has now; later updates do not change it. On blink and bplus it
 * shares memory with the index until the first update after it; on the others it is a copy. It belongs to ctx, may
 * outlive the index, and is freed with copse_index_free.
 * Errors: UNSUPPORTED (updates of a frozen index). */
COPSE_API copse_status copse_freeze(const copse_index *index, copse_ctx *ctx, copse_index **out_frozen);

/* A second index of the same structure and placement with the same entries, which may be changed. It belongs to
 * ctx. */
COPSE_API copse_status copse_copy(const copse_index *index, copse_ctx *ctx, copse_index **out_copy);

/* For each of n keys: the first entry with a key >= it. Each of the outputs may be NULL: out_keys (key type),
 * out_values, out_found (0: no such entry, key and value are then 0), out_ranks (entries with a smaller key; always
 * set). Errors: NAN, UNSUPPORTED (out_ranks of the radix tree, which has none). */
COPSE_API copse_status copse_lower_bound(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                         void *out_values, uint8_t *out_found, uint64_t *out_ranks);

/* The same for the first entry with a key > keys[i]; its rank is the number of entries with a key <= keys[i].
 * Errors: NAN, UNSUPPORTED (as above). */
COPSE_API copse_status copse_upper_bound(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                         void *out_values, uint8_t *out_found, uint64_t *out_ranks);

/* The last entry with a key <= keys[i]; of equal keys, the one inserted last. Errors: NAN. */
COPSE_API copse_status copse_floor(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                   void *out_values, uint8_t *out_found);

/* The first entry with a key > keys[i]. Errors: NAN. */
COPSE_API copse_status copse_successor(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                       void *out_values, uint8_t *out_found);

/* The last entry with a key < keys[i]; of equal keys, the one inserted last. Errors: NAN. */
COPSE_API copse_status copse_predecessor(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                         void *out_values, uint8_t *out_found);

/* Of byte strings: for each of n keys the entry with the longest key that keys[i] begins with; the key itself where
 * it is there. With duplicates it is the one inserted first. Errors: TYPE (keys that are no byte strings). */
COPSE_API copse_status copse_longest_prefix(const copse_index *index, const void *keys, uint64_t n, void *out_keys,
                                            void *out_values, uint8_t *out_found);

/* The entries with n ranks, counted from 0 in key order; out_found[i] is 0 where there are no more than ranks[i]
 * entries, and key and value are then 0. Each of the outputs may be NULL. Errors: UNSUPPORTED (a structure without
 * COPSE_CAN_RANK). */
COPSE_API copse_status copse_select(const copse_index *index, const uint64_t *ranks, uint64_t n, void *out_keys,
                                    void *out_values, uint8_t *out_found);

/* The first entries in ascending order, and the last ones in descending order, up to `max` of them; out_n says how
 * many came. out_n is host memory; out_keys and out_values may be NULL. */
COPSE_API copse_status copse_first(const copse_index *index, uint64_t max, void *out_keys, void *out_values,
                                   uint64_t *out_n);
COPSE_API copse_status copse_last(const copse_index *index, uint64_t max, void *out_keys, void *out_values,
                                  uint64_t *out_n);

/* Where the entries of ranges go, in rows: range i owns positions offsets[i] up to offsets[i + 1] of keys and
 * values. */
typedef struct copse_rows {
    uint32_t struct_size; /* sizeof(copse_rows) */
    uint32_t reserved;    /* 0                  */
    /* n + 1 places, all of which the call fills. */
    uint64_t *offsets;
    /* Either may be NULL when not wanted. */
    void *keys;
    void *values;
    /* Entries that keys and values have room for; a copse_bytes then has capacity + 1 offsets. */
    uint64_t capacity;
} copse_rows;
#define COPSE_ROWS_INIT                                                                                                \
    {                                                                                                                  \
        sizeof(copse_rows), 0, NULL, NULL, NULL, 0                                                                     \
    }

/* All entries of n ranges, each row in ascending order, or descending where the flag says so.
 * Sizing: with capacity 0 and keys and values NULL only the offsets are computed; offsets[n] is the capacity to
 * come back with. If capacity is less than that, the call returns COPSE_ERR_TOO_SMALL with all of the offsets
 * filled. To learn the bytes of byte strings at the same time, let keys point to a copse_bytes without data and
 * offsets: its `needed` is set in either case.
 * Errors: NAN, TOO_SMALL. */
COPSE_API copse_status copse_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *out_rows);

/* All entries of n keys, those of a key in the order of insertion: copse_range where both ends are the key.
 * Errors: NAN, TOO_SMALL. */
COPSE_API copse_status copse_find_all(const copse_index *index, const void *keys, uint64_t n,
                                      const copse_rows *out_rows);

/* Entries in each of n ranges. The width of a range does not matter, where the structure has COPSE_CAN_RANK.
 * Errors: NAN. */
COPSE_API copse_status copse_count(const copse_index *index, const copse_ranges *ranges, uint64_t *out_counts);

/* A signed 128-bit integer in two halves: high * 2^64 + low. */
typedef struct copse_int128 {
    uint64_t low;
    int64_t high;
} copse_int128;

/* copse_sum in 128 bits, for integer value types. Errors: NAN, TYPE (value type f32 or f64). */
COPSE_API copse_status copse_sum128(const copse_index *index, const copse_ranges *ranges, copse_int128 *out_sums);

/* Smallest and largest value (in the order of the value type) of n ranges. out_values has the value type,
 * out_found (may be NULL) is 0 where the range is empty and the value then 0. NaN values are passed over; a range
 * of nothing but NaN counts as empty. Errors: NAN (a bound). */
COPSE_API copse_status copse_min(const copse_index *index, const copse_ranges *ranges, void *out_values,
                                 uint8_t *out_found);
COPSE_API copse_status copse_max(const copse_index *index, const copse_ranges *ranges, void *out_values,
                                 uint8_t *out_found);

/* Mean value of n ranges, NaN where a range is empty. Errors: NAN (a bound). */
COPSE_API copse_status copse_avg(const copse_index *index, const copse_ranges *ranges, double *out_means);

/* Receives consecutive entries in key order, n at a time; byte strings as a const copse_bytes * with offsets of 64
 * bits. Return 0 to go on, anything else to stop. */
typedef int (*copse_visit_fn)(void *user, const void *keys, const void *values, uint64_t n);

/* Visits all entries in order, on the calling thread. Errors: CANCELLED (fn returned non-zero). */
COPSE_API copse_status copse_visit(const copse_index *index, copse_visit_fn fn, void *user);

/* One value: the member of the index's value type counts. */
typedef union copse_number {
    uint32_t u32;
    int32_t i32;
    float f32;
    uint64_t u64;
    int64_t i64;
    double f64;
} copse_number;

/* What a visit does with the values of the entries that it comes to.
 *
 * Maps give each value another one. ADD and MULTIPLY are as COPSE_OP_ADD is: integers wrap, floats are rounded to
 * their type, what is no number is the quiet NaN without a payload. MIN, MAX and CLAMP leave a NaN as it is, and a
 * value that equals the bound. Filter, histogram, largest and smallest pass over NaN. */
typedef enum copse_visit_operation {
    COPSE_VISIT_ADD = 1,       /* value + low                                                            */
    COPSE_VISIT_MULTIPLY = 2,  /* value * low                                                            */
    COPSE_VISIT_MIN = 3,       /* the smaller one of value and high                                      */
    COPSE_VISIT_MAX = 4,       /* the larger one of value and low                                        */
    COPSE_VISIT_CLAMP = 5,     /* value, but not below low nor above high                                */
    COPSE_VISIT_REDUCE = 6,    /* count, sum, extremes, mean, variance: `wanted`, `reduction`            */
    COPSE_VISIT_FILTER = 7,    /* the entries with a value from low to high, both included, in key order */
    COPSE_VISIT_HISTOGRAM = 8, /* how many values fall into each of `bins` bins                          */
    /* The `capacity` entries with the largest values, the largest first, and those with the smallest values; of
     * equal values the first in key order comes first. */
    COPSE_VISIT_LARGEST = 9,
    COPSE_VISIT_SMALLEST = 10
} copse_visit_operation;

#define COPSE_REDUCE_SUM      1u /* `sum`; only where it is wanted an overflow is an error */
#define COPSE_REDUCE_SUM128   2u /* `sum128`, of integer value types                       */
#define COPSE_REDUCE_MIN      4u
#define COPSE_REDUCE_MAX      8u
#define COPSE_REDUCE_MEAN     16u
#define COPSE_REDUCE_VARIANCE 32u /* reads the values twice */

/* What a reduction found; members that were not wanted are 0. */
typedef struct copse_reduction {
    uint64_t count;      /* of entries; always set */
    copse_number sum;    /* u64, i64 or f64 as the results of copse_sum; 0 of no entries */
    copse_int128 sum128; /* exact */
    /* As copse_min and copse_max: `any` is 0 where there was no value, NaN left aside, and both are 0 then. */
    uint32_t any;
    uint32_t reserved;
    copse_number min, max;
    double mean;     /* NaN of no entries */
    double variance; /* the mean of (value - mean)^2; NaN of no entries */
} copse_reduction;

/* A visit. Start from COPSE_VISIT_INIT(operation) and set what the operation has a use for; the rest stays 0. The
 * struct, the scalars, the ends of the range, edges and counts are host memory; keys and values may be device memory
 * where the index is on a GPU. */
typedef struct copse_visit_request {
    uint32_t struct_size; /* sizeof(copse_visit_request)   */
    uint32_t operation;   /* copse_visit_operation         */
    /* REDUCE: COPSE_REDUCE_*, or 0: only the count. */
    uint32_t wanted;
    /* HISTOGRAM: 1 .. COPSE_VISIT_MOST_BINS. */
    uint32_t bins;
    /* The keys whose entries are visited: one range, n being 1; NULL: all. */
    const copse_ranges *range;
    /* Scalars of the value type. FILTER: NULL is no end. HISTOGRAM: where the first bin begins and the last one ends;
     * both included, where edges is NULL. */
    const void *low, *high;
    /* HISTOGRAM: bins + 1 values that do not fall: bin i has edges[i] <= value < edges[i + 1], the last one its upper
     * edge, too. NULL: bins of equal width from low to high. */
    const void *edges;
    /* HISTOGRAM: bins + 3 counts: of each bin, of values below them, above them, and NaN. */
    uint64_t *counts;
    /* Maps into arrays, FILTER, LARGEST, SMALLEST: where the entries go, either may be NULL, and room for how many. */
    void *keys, *values;
    uint64_t capacity;
    /* Set: entries that were visited (maps, REDUCE, HISTOGRAM), that fit the filter (FILTER), that came (LARGEST,
     * SMALLEST). */
    uint64_t n;
    copse_reduction reduction;
} copse_visit_request;
#define COPSE_VISIT_INIT(operation)                                                                                    \
    {                                                                                                                  \
        sizeof(copse_visit_request), operation, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0,                  \
        {                                                                                                              \
            0, {0}, {0, 0}, 0, 0, {0}, {0}, 0.0, 0.0                                                                   \
        }                                                                                                              \
    }
#define COPSE_VISIT_MOST_BINS 65536u

/* One pass over the values of all entries or of a range of keys; the index stays as it is. Maps put the new values,
 * and the keys, into arrays. Sizing (maps, FILTER): with capacity 0 and keys and values NULL the call only sets n;
 * where capacity is less than n it returns COPSE_ERR_TOO_SMALL. A sum that does not fit 64 bits is set to the nearest
 * limit, and the call returns COPSE_ERR_OVERFLOW; everything else that was wanted is right then. It waits for its
 * end, also on a stream of the caller's.
 * Errors: ARGUMENT (an unknown operation; a bound above the other one, edges that fall), NAN (the range, a scalar or
 * an edge where NaN has no order), TYPE (a set), OVERFLOW, TOO_SMALL. */
COPSE_API copse_status copse_visit_values(const copse_index *index, copse_visit_request *request);

/* A map in place: each value of the entries that are visited becomes the new one, of all of them or, where the call
 * fails, of none. keys, values and capacity are 0. A tree with COPSE_CAN_VISIT on a device needs no memory for it;
 * the others take a copy of what is visited.
 * Errors: as above, UNSUPPORTED (a view, a frozen index, an open file). */
COPSE_API copse_status copse_visit_in_place(copse_index *index, copse_visit_request *request);

/* The pages of a paged index, for a kernel of the caller's own: copse_device.cuh reads them. The addresses are those
 * of the memory where the index is (a GPU's, or the host's on the emulator), and hold until the next call that
 * changes the index. Keys are encoded; copse_device.cuh turns them back.
 * Errors: UNSUPPORTED (another structure, or a placement that has no such pages). */
typedef struct copse_page_table {
    uint32_t struct_size; /* sizeof(copse_page_table), set by the caller      */
    uint32_t pages;       /* in key order                                     */
    uint64_t entries;
    uint32_t key_type, value_type; /* copse_type                              */
    uint32_t key_bytes, value_bytes;
    uint32_t slots;                       /* of a page                                        */
    uint32_t leaf_slots;                  /* of a leaf: its entries come first, then free slots */
    uint32_t ends_at, keys_at, values_at; /* bytes from the beginning of a page               */
    uint32_t reserved;
    const uint64_t *addresses; /* of the pages   */
    const uint32_t *counts;    /* their entries  */
    uint64_t version;          /* copse_stats.version that they belong to     */
} copse_page_table;
COPSE_API copse_status copse_pages(const copse_index *index, copse_page_table *out_table);

/* Copies all entries in order into arrays of `capacity` entries each (either may be NULL), on all threads;
 * copse_size gives the capacity that it takes. With capacity 0 and both NULL it does nothing. Of byte strings it
 * gives the bytes that they take, as copse_range does. Errors: TOO_SMALL. */
COPSE_API copse_status copse_export(const copse_index *index, void *out_keys, void *out_values, uint64_t capacity);

/* A cursor stands between two entries and walks them in order, in both directions. An update of the index makes it
 * stale until the next seek.
 * open: one range that the cursor keeps to, n being 1 and its ends host memory; NULL: all entries. It stands
 * before the first of them, or with COPSE_RANGE_DESCENDING, where everything goes the other way, behind the last.
 * seek: before the first entry with a key >= *key (descending: behind the last one <= *key); NULL: where it began.
 * next, previous: copy up to max entries, in the direction of the cursor and against it, and move past them; out_n
 * says how many; 0 means the end. What next gave, previous gives again, the last one first. Of byte strings come
 * as many as their bytes fit: where that is not one, the call returns COPSE_ERR_TOO_SMALL, with the bytes of that
 * one in `needed`, and the cursor stays.
 * Errors: NAN (open, seek), STALE, TOO_SMALL. */
COPSE_API copse_status copse_cursor_open(const copse_index *index, const copse_ranges *range,
                                         copse_cursor **out_cursor);
COPSE_API copse_status copse_cursor_seek(copse_cursor *cursor, const void *key);
COPSE_API copse_status copse_cursor_next(copse_cursor *cursor, void *out_keys, void *out_values, uint64_t max,
                                         uint64_t *out_n);
COPSE_API copse_status copse_cursor_previous(copse_cursor *cursor, void *out_keys, void *out_values, uint64_t max,
                                             uint64_t *out_n);
COPSE_API void copse_cursor_free(copse_cursor *cursor);

/* One field of keys that have several (copse_encode_fields): an array with its value for each of them. The layout
 * of this struct does not change. */
typedef struct copse_field {
    uint32_t type;  /* copse_type of a key: numbers, dates, timestamps, COPSE_BYTES */
    uint32_t flags; /* COPSE_FIELD_DESCENDING and COPSE_FIELD_NULLABLE, or 0        */
    /* One element for each key; of strings a copse_bytes *. Elements that are NULL may hold anything. */
    void *data;
    /* Of a field that may be NULL: bit i % 8 of byte i / 8 is 1 where key i has a value. NULL: all have. */
    uint8_t *validity;
} copse_field;

#define COPSE_FIELD_DESCENDING 1u /* larger values first, and NULL last        */
#define COPSE_FIELD_NULLABLE   2u /* it takes one byte more; NULL comes first  */

#define COPSE_MOST_FIELDS 64u

/* For copse_encode_fields: keys behind all that begin with the fields, as open upper ends of ranges. */
#define COPSE_ENCODE_BEHIND 1u

/* Makes keys for an index of type COPSE_BYTES: n strings that are ordered as the first field, where that is equal as
 * the second, and so on. The first fields alone, encoded, are a prefix that just the keys with these values have:
 * ranges with COPSE_RANGE_PREFIX take it. A range of the field behind them goes from the first fields and its low end
 * up to the first fields and its high end encoded with COPSE_ENCODE_BEHIND, with COPSE_RANGE_HIGH_OPEN.
 * flags: COPSE_ENCODE_BEHIND or 0. A number takes 4 or 8 bytes; a string its bytes, one more for each byte 0, and
 * two. All arrays are host memory; out_keys is an output as copse_bytes has it, with sizing.
 * Errors: ARGUMENT (a field that is wrong, a key that is longer than COPSE_LONGEST_KEY), NAN, TOO_SMALL, OVERFLOW,
 * MEMORY. */
COPSE_API copse_status copse_encode_fields(copse_ctx *ctx, const copse_field *fields, uint32_t field_count, uint64_t n,
                                           uint32_t flags, copse_bytes *out_keys);

/* The way back: the values of n keys, which have these fields, or these and more behind them. `data` of a field that
 * is not wanted is NULL; strings are outputs as copse_bytes has it, with sizing. validity, where it is not NULL, is
 * filled.
 * Errors: ARGUMENT (a key that does not have the fields, with its position), TOO_SMALL, OVERFLOW, MEMORY. */
COPSE_API copse_status copse_decode_fields(copse_ctx *ctx, const copse_bytes *keys, uint64_t n,
                                           const copse_field *fields, uint32_t field_count);

/* Writes a snapshot: to a temporary file next to `path`, synced, then renamed over it, so that a failure leaves the
 * old file. docs/FORMAT.md is the format. Errors: IO, CANCELLED. */
COPSE_API copse_status copse_save(const copse_index *index, const char *path);

/* Reads a snapshot into a new index. options may be NULL: types, duplicates and structure are then the file's. If
 * given, key_type and value_type must be the file's or 0, and duplicates must not drop what the file keeps.
 * Errors: IO, FORMAT, VERSION, TYPE, ARGUMENT (duplicates), UNSUPPORTED (the structure), MEMORY, CANCELLED. */
COPSE_API copse_status copse_load(copse_ctx *ctx, const char *path, const copse_index_options *options,
                                  copse_index **out_index);

/* Opens a snapshot as it lies in the file: the file is mapped, nothing is read ahead, and each part is checked
 * when it is first looked at, so that a file of gigabytes answers in milliseconds. The index only reads, on the
 * CPU, and is searched as the implicit tree is (byte strings as the sorted array is), whatever was saved. Damage
 * that a call meets makes it return COPSE_ERR_FORMAT with a sentence on the place; copse_verify looks at all of
 * the file. options as in copse_load; structure may only be AUTO or that one, placement AUTO or CPU. The file must
 * not be cut or written to while it is open (replace it by renaming, as copse_save does): docs/FORMAT.md.
 * Errors: IO, FORMAT, VERSION, TYPE, ARGUMENT (duplicates), UNSUPPORTED (a file of format version 1; structure,
 * placement). */
COPSE_API copse_status copse_open(copse_ctx *ctx, const char *path, const copse_index_options *options,
                                  copse_index **out_index);

/* copse_save and copse_load with memory in the place of a file, and the same bytes. out_size receives the size of
 * the snapshot; out NULL and capacity 0 only ask for it. Errors: TOO_SMALL, CANCELLED; as copse_load without IO. */
COPSE_API copse_status copse_save_memory(const copse_index *index, void *out, uint64_t capacity, uint64_t *out_size);
COPSE_API copse_status copse_load_memory(copse_ctx *ctx, const void *bytes, uint64_t size,
                                         const copse_index_options *options, copse_index **out_index);

/* Takes the index to another placement, with the same structure, or where that is not there the one that does the
 * same: regular on the CPU, blink on devices. On failure it stays where it was. Errors: DEVICE, MEMORY. */
COPSE_API copse_status copse_move(copse_index *index, copse_placement placement);

/* ------------------------------------------------------------------------------------------------------------------
 * Tier 3: options, memory, progress, inspection
 * ------------------------------------------------------------------------------------------------------------------ */

/* alloc returns `size` bytes aligned to `alignment` (a power of two), or NULL. free gets what alloc gave. Both may be
 * called from any thread. */
typedef struct copse_allocator {
    void *(*alloc)(void *user, size_t size, size_t alignment);
    void (*free)(void *user, void *memory, size_t size);
    void *user;
} copse_allocator;

/* Called now and then, on the thread of the call, to say how far a long call is (build, insert, erase, apply, save,
 * load, verify, export, and the queries and joins of copse_query.h). Return 0 to go on; anything else ends the call
 * with COPSE_ERR_CANCELLED and the index as it was. */
typedef int (*copse_progress_fn)(void *user, const char *what, uint64_t done, uint64_t total);

typedef enum copse_huge_pages {
    COPSE_HUGE_PAGES_AUTO = 0, /* ask for them, do without where refused                                              */
    COPSE_HUGE_PAGES_OFF = 1
} copse_huge_pages;

struct copse_ctx_options {
    uint32_t struct_size; /* sizeof(copse_ctx_options) */
    /* Threads for one call; 0: COPSE_THREADS, else the processors that this process may use. */
    uint32_t threads;
    /* "scalar", "avx2", "avx512"; NULL: COPSE_ISA, else the best of this machine. */
    const char *isa;
    uint32_t huge_pages; /* copse_huge_pages */
    /* Queries that one thread keeps in flight, 1..256; 0: the measured best. */
    uint32_t pipeline;
    /* All zero: the library's own, with huge pages. */
    copse_allocator allocator;
    /* May be NULL. */
    copse_progress_fn progress;
    void *progress_user;
    /* Number of the card, see copse_device_count; -1: COPSE_DEVICE, else the first that can be used. */
    int32_t device;
    uint32_t flags; /* COPSE_CTX_* */
    /* A cudaStream_t of that card that all work goes through, and that outlives the context; NULL: one of the
     * library's, ordered with the legacy default stream. */
    void *stream;
    /* Bytes of a card's memory that the context may take; 0: COPSE_DEVICE_MEMORY, else all. */
    uint64_t device_memory;
};
#define COPSE_CTX_OPTIONS_INIT                                                                                         \
    {                                                                                                                  \
        sizeof(copse_ctx_options), 0, NULL, COPSE_HUGE_PAGES_AUTO, 0, {NULL, NULL, NULL}, NULL, NULL, -1, 0, NULL, 0   \
    }

/* The caller promises that every array of every call on a GPU through this context is memory of that GPU, which
 * saves the library a look at each pointer. An array that is not makes the device fault. Indexes on the CPU take
 * host memory as ever. */
#define COPSE_CTX_DEVICE_ARRAYS 1u

typedef enum copse_updates {
    /* Batches will change the index; AUTO then picks an updatable structure. */
    COPSE_UPDATES_EXPECTED = 0,
    /* Built once, read often; AUTO then picks the fastest reader, and the paged tree builds full pages. */
    COPSE_UPDATES_RARE = 1,
    /* Batches come in patterns: time stamps, windows that slide, crowded places; AUTO then picks the paged tree where
     * it is the fastest, on a GPU, and elsewhere what it picks for updates. */
    COPSE_UPDATES_STREAMED = 2
} copse_updates;

/* What card and CPU do with the buckets of a batch on a hybrid index. */
typedef enum copse_schedule {
    COPSE_SCHEDULE_AUTO = 0,
    COPSE_SCHEDULE_SEQUENTIAL = 1,      /* in turns: the shortest time for one bucket               */
    COPSE_SCHEDULE_PIPELINED = 2,       /* the card has the next bucket while the CPU has one       */
    COPSE_SCHEDULE_DOUBLE_BUFFERED = 3, /* the card has the next two, so that copies overlap, too   */
    COPSE_SCHEDULE_BALANCED = 4         /* the next three, and the CPU waits for none of them      */
} copse_schedule;

/* Where a radix tree on a device keeps keys of more than 32 bytes. Answers do not depend on it. */
typedef enum copse_long_keys {
    COPSE_LONG_KEYS_AUTO = 0,   /* CARD while it has room for them, then LINKED; then all leaves are in host memory  */
    COPSE_LONG_KEYS_CARD = 1,   /* leaves of their own size on the card; an update that finds no room there fails    */
    COPSE_LONG_KEYS_LINKED = 2, /* leaves in host memory, links to them on the card: the CPU compares                */
    COPSE_LONG_KEYS_CPU = 3     /* the same leaves, and the CPU looks such keys up alone while the card has others   */
} copse_long_keys;

struct copse_index_options {
    uint32_t struct_size; /* sizeof(copse_index_options) */
    uint32_t key_type;    /* copse_type                  */
    uint32_t value_type;  /* copse_type: u32 i32 f32 u64 i64 f64 none */
    uint32_t structure;   /* copse_structure             */
    uint32_t placement;   /* copse_placement             */
    uint32_t updates;     /* copse_updates               */
    /* 1: keep entries with equal keys, in insertion order. */
    uint32_t duplicates;
    /* Hybrid placements: how buckets of queries follow each other, and queries of a bucket; 0: the measured best. */
    uint32_t schedule; /* copse_schedule */
    uint32_t bucket;
    /* The same: bytes of the card's memory for copies of leaves, of as many as fit; 0: none. */
    uint64_t leaf_memory;
    /* The paged tree: slots of a page, a power of two from 64 to 16384; 0: the tree picks it, and picks again as it
     * grows. */
    uint32_t page_order;
    uint32_t long_keys; /* copse_long_keys: of the radix tree on devices */
};
#define COPSE_INDEX_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        sizeof(copse_index_options), COPSE_U64, COPSE_U64, COPSE_STRUCTURE_AUTO, COPSE_PLACEMENT_AUTO,                 \
            COPSE_UPDATES_EXPECTED, 0, COPSE_SCHEDULE_AUTO, 0, 0, 0, 0                                                 \
    }

/* What bindings want to know of the last error on this thread besides its sentence. */
typedef struct copse_error_info {
    uint32_t struct_size; /* sizeof(copse_error_info), set by the caller */
    int32_t status;       /* copse_status; COPSE_OK: no call failed      */
    /* What was wrong with ARGUMENT, and with other errors where it is known: an argument, such as "keys" or
     * "options", or a variable of the environment, "COPSE_ISA"; else "". */
    char argument[32];
    /* The element of that array; UINT64_MAX: none. */
    uint64_t position;
    /* TOO_SMALL: the capacity to come back with; else 0. */
    uint64_t needed;
} copse_error_info;
COPSE_API copse_status copse_last_error_info(const copse_ctx *ctx, copse_error_info *out_info);

/* Replaces the progress callback of a context (NULL: none). */
COPSE_API copse_status copse_ctx_set_progress(copse_ctx *ctx, copse_progress_fn progress, void *user);

/* Takes all work to another cudaStream_t (NULL: one of the library's), behind what is under way on the one before.
 * No call on the context may run meanwhile. Errors: ARGUMENT (a stream of another card), DEVICE. */
COPSE_API copse_status copse_ctx_set_stream(copse_ctx *ctx, void *stream);

/* Waits for the stream of the context and returns the first error that work on it met since the last call; see
 * "Memory and streams" above. Without a GPU it does nothing. Errors: DEVICE, NAN, OVERFLOW, TOO_SMALL. */
COPSE_API copse_status copse_ctx_synchronize(copse_ctx *ctx);

/* Cards. copse_device_count gives 0 on a machine without one; out_why (may be NULL) then receives a sentence that
 * says why: built without CUDA, no driver, a driver that is too old, no card. copse_device_describe is about
 * card `device`; `usable` is 0 where copse cannot use it, and `why` says why. Errors: ARGUMENT, DEVICE (no such
 * card). */
typedef struct copse_device_info {
    uint32_t struct_size; /* sizeof(copse_device_info), set by the caller */
    int32_t usable;
    char name[128];
    char why[256];
    uint32_t capability_major, capability_minor;
    uint32_t multiprocessors;
    uint32_t reserved;
    uint64_t memory;      /* bytes                                     */
    uint64_t memory_free; /* bytes; 0 where it could not be found out  */
    uint64_t cache;       /* bytes of the second-level cache           */
} copse_device_info;
COPSE_API int32_t copse_device_count(const char **out_why);
COPSE_API copse_status copse_device_describe(int32_t device, copse_device_info *out_info);

typedef struct copse_ctx_info {
    uint32_t struct_size; /* sizeof(copse_ctx_info), set by the caller */
    uint32_t threads;
    /* The instruction set in use, and those that this machine has, separated by spaces. */
    const char *isa;
    const char *isa_offered;
    uint32_t pipeline;
    uint32_t huge_pages; /* copse_huge_pages */
} copse_ctx_info;
COPSE_API copse_status copse_ctx_describe(const copse_ctx *ctx, copse_ctx_info *out_info);

typedef struct copse_stats {
    uint32_t struct_size; /* sizeof(copse_stats), set by the caller */
    /* Levels that a lookup walks, the leaf included; 0 when empty. */
    uint32_t height;
    uint64_t entries;
    /* All memory that the index holds, and the part of it that only sums, minima and maxima use, which the first
     * of them makes. */
    uint64_t bytes;
    uint64_t aggregate_bytes;
    /* Entries / entry slots of the leaves. */
    double fill;
    uint32_t structure;  /* copse_structure */
    uint32_t placement;  /* copse_placement */
    uint32_t key_type;   /* copse_type      */
    uint32_t value_type; /* copse_type      */
    uint32_t duplicates;
    /* copse_structure: of an open file, what copse_load makes of it; else AUTO. */
    uint32_t saved_structure;
    /* Grows with every change. */
    uint64_t version;
    /* Why the index is where it is, as a sentence; valid as long as the context. */
    const char *placement_why;
} copse_stats;
COPSE_API copse_status copse_index_stats(const copse_index *index, copse_stats *out_stats);

/* The number of entries. 0 for NULL. */
COPSE_API uint64_t copse_size(const copse_index *index);

/* Checks every structural invariant: order, node bounds, separators, counts, padding, aggregates. Errors: CORRUPT,
 * with a sentence on the first thing that is wrong; CANCELLED. */
COPSE_API copse_status copse_verify(const copse_index *index);

/* What a tree can do beyond what all of them can. */
typedef enum copse_capability {
    COPSE_CAN_EXIST = 0,           /* the structure is there for this placement and key type at all           */
    COPSE_CAN_RANK = 1,            /* ranks cost no more than a lookup, and so do counts of any width          */
    COPSE_CAN_VIEW = 2,            /* copse_index_view: readers concurrent with a writer                      */
    COPSE_CAN_FREEZE = 3,          /* copse_freeze without a copy                                             */
    COPSE_CAN_KEEP_DUPLICATES = 4, /* the option `duplicates`                                                 */
    COPSE_CAN_AGGREGATE = 5,       /* sums, minima and maxima do not look at every entry of a wide range      */
    COPSE_CAN_TAKE_BYTES = 6,      /* keys that are byte strings                                              */
    COPSE_CAN_VISIT = 7            /* copse_visit_values works where entries lie: on all threads, by kernels  */
} copse_capability;

/* 1 where the tree of that structure, at that placement and for keys of that type, has the capability, else 0. It
 * asks what this build has, not whether a card can be used. Neither structure nor placement is AUTO: those give 0. */
COPSE_API int copse_supports(copse_structure structure, copse_placement placement, copse_type key_type,
                             copse_capability what);

/* Names and sizes. copse_type_parse and copse_structure_parse return COPSE_ERR_ARGUMENT for an unknown name. */
COPSE_API const char *copse_version(void);
COPSE_API const char *copse_status_name(copse_status status);
COPSE_API const char *copse_type_name(copse_type type);
COPSE_API size_t copse_type_size(copse_type type); /* 0 for COPSE_BYTES and for an unknown type */
COPSE_API const char *copse_structure_name(copse_structure structure);
COPSE_API const char *copse_placement_name(copse_placement placement);
COPSE_API copse_status copse_type_parse(const char *name, copse_type *out_type);
COPSE_API copse_status copse_structure_parse(const char *name, copse_structure *out_structure);
COPSE_API copse_status copse_placement_parse(const char *name, copse_placement *out_placement);

#ifdef __cplusplus
}
#endif
#endif /* COPSE_H */
