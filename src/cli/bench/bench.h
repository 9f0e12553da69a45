/*
 * What the files of `copse bench` share.
 *
 * A run is a cross product. For every data set (key type, value type, n, distribution) the contestants are made: copse
 * with every combination of structure, placement, threads, instruction set, huge pages, pipeline depth, memory of
 * the caller and schedule of a hybrid tree, and the peers. For every operation and batch size they then take turns, `repeat` times, so that a machine that slows down
 * slows all of them. Answers are compared with a sorted array of the same data after every turn, outside of the timing.
 */
#pragma once

#include "cli/cli.h"
#include "peers.h"
#include "workload.h"

#define BENCH_NONE UINT64_MAX /* a position that means "no entry" */

/* Where the caller's arrays lie. */
typedef enum bench_memory_kind {
    BENCH_HOST,    /* ordinary memory, which a GPU calls pageable */
    BENCH_PINNED,  /* host memory that a GPU copies at full speed */
    BENCH_DEVICE,  /* memory of the GPU                           */
    BENCH_PROMISED /* the same, with COPSE_CTX_DEVICE_ARRAYS     */
} bench_memory_kind;

/* ---- cli/bench/ops.c: the operations ---- */

typedef enum bench_code {
    BENCH_BUILD,
    BENCH_BUILD_SORTED,
    BENCH_FILL,
    BENCH_INSERT,
    BENCH_INSERT_NEW,
    BENCH_APPEND, /* from here on in the order of workload_pattern */
    BENCH_APPEND_SHUFFLED,
    BENCH_APPEND_LATE,
    BENCH_PREPEND,
    BENCH_POINTS,
    BENCH_GAP,
    BENCH_HOT, /* up to here */
    BENCH_WINDOW,
    BENCH_UPDATE,
    BENCH_ERASE,
    BENCH_MIXED,
    BENCH_MIXED_UPDATE,
    BENCH_FIND,
    BENCH_MISS,
    BENCH_CONTAINS,
    BENCH_LOWER_BOUND,
    BENCH_RANK,
    BENCH_SUCCESSOR,
    BENCH_PREDECESSOR,
    BENCH_RANGE,
    BENCH_COUNT,
    BENCH_SUM,
    BENCH_MIN,
    BENCH_MAX,
    BENCH_AVG,
    BENCH_VISIT,
    BENCH_EXPORT,
    BENCH_SAVE,
    BENCH_LOAD,
    BENCH_OPEN,
    BENCH_VISIT_SUM, /* from here on visits with operations */
    BENCH_VISIT_MAP,
    BENCH_VISIT_FILTER,
    BENCH_VISIT_HISTOGRAM,
    BENCH_VISIT_TOP
} bench_code;

typedef enum bench_kind {
    BENCH_KIND_BUILD,  /* makes the index                          */
    BENCH_KIND_CHANGE, /* a batch changes a freshly made index     */
    BENCH_KIND_POINT,  /* one key in, one answer out               */
    BENCH_KIND_RANGE,  /* two bounds in, one answer or one row out */
    BENCH_KIND_PASS    /* all entries at once                      */
} bench_kind;

typedef struct bench_op {
    bench_code code;
    bench_kind kind;
    /* Ranges: entries of each, 0: of any width; updates: keys that they are all about, 0: any; BENCH_POINTS: how many. */
    uint64_t span;
    char name[32];
} bench_op;

/* The named operations in the order of the help text, NULL past the end. */
const char *bench_op_name(size_t i);
/* Also reads range followed by any number, as in range25, and updates of a few keys, as in update-hot10. */
bool bench_op_parse(const char *name, bench_op *out_op);
/* Does it insert or replace, one array of keys a call? */
bool bench_op_inserts(const bench_op *op);
/* Inserts keys that are new, by a pattern or as they come. */
bool bench_op_inserts_new(const bench_op *op);
/* Uses the sums that the index keeps beside its entries. */
bool bench_op_aggregates(const bench_op *op);
/* Finds and upserts in one batch, which copse_apply takes. */
bool bench_op_mixes(const bench_op *op);
/* Asked in batches, of which --batch gives the size. */
bool bench_op_batched(const bench_op *op);
/* Leaves another index than it found. */
bool bench_op_updates(const bench_op *op);

/* ---- cli/bench/options.c: the command line ---- */

#define BENCH_LIST 64

typedef struct bench_list {
    size_t count;
    uint64_t item[BENCH_LIST];
} bench_list;

/* How host arrays reach a device: MODE[:CHUNK[:SLOTS[:streaming]]], see transfer/transfer.h. */
typedef struct bench_transfer {
    char text[48];
    unsigned mode;        /* copse_transfer_mode */
    uint64_t chunk_bytes; /* 0: the library's    */
    unsigned slots;       /* 0: the library's    */
    bool streaming;
} bench_transfer;

/* What stands behind the name of an operation, as in insert-new:2^25:2^20. */
typedef struct bench_op_size {
    uint64_t queries; /* 0: --queries */
    bool has_batch;   /* else --batch */
    uint64_t batch;
} bench_op_size;

#define BENCH_EQUALS UINT64_C(3)

/* Queries in the order in which the pairs came: one more value of query_dist. */
#define BENCH_ARRIVAL WORKLOAD_DIST_COUNT

typedef struct bench_options {
    bench_list structures; /* copse_structure       */
    bench_list placements; /* copse_placement       */
    bench_list keys;       /* copse_type            */
    bench_list values;     /* copse_type            */
    bench_list sizes;
    bench_list batches;    /* 0: all in one batch   */
    bench_list threads;    /* 0: the library's own  */
    bench_list dists;      /* workload_dist         */
    bench_list isas;       /* for bench_isa_name    */
    bool isa_all;          /* those of this machine */
    bench_list huge_pages; /* copse_huge_pages   */
    bench_list pipelines;  /* 0: the library's   */
    bench_list memories;   /* bench_memory_kind  */
    bench_list transfers;  /* numbers of those below */
    bench_transfer transfer[BENCH_LIST];
    bench_list schedules; /* copse_schedule     */
    bench_list buckets;   /* 0: the library's   */
    bench_list leaf_memories;
    bench_list slowers;
    bench_list refreshes;   /* copse_refresh      */
    bench_list page_orders; /* 0: the tree's own */
    bench_list peers;       /* for bench_peer_at  */
    bench_op ops[BENCH_LIST];
    bench_op_size op_sizes[BENCH_LIST];
    size_t op_count;
    uint64_t queries;      /* 0: a default by operation */
    uint64_t batch;        /* of the measurement that is made; 0: all in one */
    bool duplicates;       /* the index keeps them, and every new key comes BENCH_EQUALS times */
    uint64_t peer_queries; /* at most so many reads of a peer in one measurement; 0: no limit */
    uint64_t grown;        /* pairs per insert that the index is made by; 0: it is built; BENCH_NONE: all in one */
    uint64_t after;        /* entries that are upserted, untimed, before each call of reads; 0: none */
    uint64_t calls;        /* at most so many of them in one measurement; 0: no limit */
    uint64_t seed;
    uint64_t repeat;
    workload_dist query_dist; /* WORKLOAD_ASCENDING stands for sorted queries; also BENCH_ARRIVAL */
    const char *query_dist_name;
    bool json;
    bool progress;
} bench_options;

/* Returns true to go on; else *out_exit is the code to leave with. */
bool bench_options_read(bench_options *options, int argc, char **argv, int *out_exit);
/* NULL past the end; 0 is "auto". */
const char *bench_isa_name(uint64_t i);
const char *bench_schedule_name(uint64_t i);
const char *bench_refresh_name(uint64_t i);
/* As --memory spells it; host memory is "pageable" for an index on a device. */
const char *bench_memory_name(bench_memory_kind kind, bool on_device);

/* ---- cli/bench/peers.c: the list of peers ---- */

typedef const bench_peer *(*bench_peer_fn)(unsigned key_bytes, unsigned value_bytes);
/* Name of peer i, NULL past the end. *out_peer is NULL when it is not built in. */
const char *bench_peer_at(size_t i, bench_peer_fn *out_peer);
/* What it takes to have that peer in a build, as the end of a sentence. */
const char *bench_peer_needs(size_t i);
bool bench_peer_can(const bench_peer *peer, const bench_op *op);

/* ---- cli/bench/data.c: the data set and its model ---- */

typedef struct bench_data {
    copse_type key_type;
    copse_type value_type;
    size_t key_size;
    size_t value_size;
    uint64_t n;
    uint64_t seed;
    workload_dist dist;
    bool duplicates;        /* what indexes are made with */
    workload_stream stream; /* stands behind the n keys: more of the same */
    void *keys;             /* n pairs in the order of arrival */
    void *values;
    uint64_t entries; /* the model: distinct keys, sorted */
    uint64_t *codes;
    void *sorted_keys; /* for u64 the same array as codes */
    void *sorted_values;
    int64_t *prefix;         /* entries + 1 sums of scaled values, made on first use */
    uint64_t *value_codes;   /* values as sortable numbers, made on first use        */
    uint64_t *block_min[40]; /* smallest and largest of 2^level blocks of values     */
    uint64_t *block_max[40];
} bench_data;

/* Memory for test data; a failure ends the program with a sentence, since there is nothing to go on with. */
void *bench_memory(uint64_t count, size_t size);
void bench_data_make(bench_data *data, copse_type key_type, copse_type value_type, uint64_t n, workload_dist dist,
                     uint64_t seed);
void bench_data_free(bench_data *data);
const int64_t *bench_data_prefix(bench_data *data);
/* The code of the smallest or largest value among `length` entries from `first`; bench_data_extremes comes before. */
void bench_data_extremes(bench_data *data);
uint64_t bench_data_extreme(const bench_data *data, uint64_t first, uint64_t length, bool largest);
/* Element i of an array of elements of 4 or 8 bytes, as a number. */
uint64_t bench_word(const void *array, size_t size, uint64_t i);

/* The first entry of the model with a code that is not below this one. */
uint64_t bench_data_rank(const bench_data *data, uint64_t code);

/* ---- cli/bench/queries.c: the operations of one measurement ---- */

typedef struct bench_queries {
    uint64_t count;
    void *keys;          /* keys, or low bounds */
    void *highs;         /* ranges              */
    void *values;        /* insert, update, mixed */
    uint8_t *operations; /* mixed: copse_operation */
    void *seen_values;   /* mixed: the value that each operation meets, 0 where there is none ... */
    uint8_t *seen_found; /* ... and whether there is one                                       */
    uint64_t *positions; /* where the answer is in the model; BENCH_NONE: there is none; ranges: the first entry */
    uint64_t *lengths;   /* ranges: entries */
    /* What a change leaves behind. */
    uint64_t after_entries;
    uint64_t after_changed; /* entries more or fewer */
    void *after_keys;
    void *after_values;
} bench_queries;

/* False, after a remark, when the data set cannot give such queries (misses where every key is taken). */
bool bench_queries_make(bench_queries *queries, bench_data *data, const bench_op *op, const bench_options *options);
void bench_queries_free(bench_queries *queries);
/* Positions below `limit`, by the distribution that was asked for; `hot` > 0: of no more than so many entries. */
void bench_draw_positions(bench_queries *queries, const bench_data *data, const bench_options *options, uint64_t limit,
                          uint64_t hot);
/* Keys for the positions that were drawn, which become those of the answers. */
bool bench_draw_points(bench_queries *queries, const bench_data *data, const bench_op *op,
                       const bench_options *options);
void bench_sort_positions(uint64_t *positions, uint64_t count);

/* ---- cli/bench/changes.c: the operations of one measurement that change the index, and what they leave ---- */

bool bench_changes_make(bench_queries *queries, const bench_data *data, const bench_op *op,
                        const bench_options *options);

/* ---- cli/bench/target.c: contestants ---- */

typedef struct bench_target {
    char name[32];
    copse_structure structure;
    copse_placement placement;
    uint32_t threads;
    const char *isa;
    copse_huge_pages huge_pages;
    uint32_t pipeline;
    bench_memory_kind memory;
    const bench_transfer *transfer;
    copse_schedule schedule;     /* hybrid placements                                   */
    uint32_t bucket;             /* the same; 0: the library's                          */
    uint64_t leaf_memory;        /* the same                                            */
    uint32_t slower;             /* the same: times that the card seems slower; 0: it does not */
    uint32_t page_order;         /* the paged tree; 0: its own                          */
    uint32_t refresh;            /* the same: for bench_refresh_name                    */
    struct copse_device *device; /* NULL on the CPU                                     */
    char device_name[128];
    copse_ctx *ctx;             /* for a peer only that of its device                   */
    const bench_peer *peer;     /* NULL for copse                                       */
    struct bench_target *first; /* the contestant that keeps context and index or container */
    void *store;                /* copse_index * or the peer's container, for reads     */
} bench_target;

/* One call of the interface under test: `n` operations, arrays in and out. */
typedef struct bench_call {
    const bench_op *op;
    uint64_t n;
    size_t key_size;
    size_t value_size;
    const void *keys;
    const void *highs;
    const void *values;
    const uint8_t *operations;
    void *out_keys;
    void *out_values;
    uint8_t *out_found;
    uint64_t *out_words;  /* ranks, counts, sums, means, offsets */
    uint64_t capacity;    /* of out_keys and out_values, in entries */
    uint64_t range_start; /* peers: place of the first entry in the output */
    uint64_t changed;     /* out: entries inserted or erased */
    const char *path;     /* save, load, open */
} bench_call;

typedef struct bench_targets {
    bench_target *target;
    size_t count;
} bench_targets;

bool bench_targets_open(bench_targets *targets, const bench_options *options, const bench_data *data, int *out_exit);
void bench_targets_close(bench_targets *targets);

/* ---- cli/bench/store.c: what a contestant keeps and how it is called ---- */

/* Each says why it failed and returns false. */
bool bench_store_make(const bench_target *target, const bench_data *data, void **out_store);
/* From n pairs; sorted: by key, and no key twice. */
bool bench_store_build(const bench_target *target, void *store, const void *keys, const void *values, uint64_t n,
                       bool sorted);
bool bench_store_call(const bench_target *target, void **store, bench_call *call);
bool bench_store_copy(const bench_target *target, void *store, void *out_keys, void *out_values, uint64_t capacity);
bool bench_store_verify(const bench_target *target, void *store);
/* Looks up keys that lie in host memory. *out_asked is false for a peer that cannot be asked so. */
bool bench_store_find(const bench_target *target, const void *store, const void *keys, uint64_t n, void *out_values,
                      uint8_t *out_found, bool *out_asked);
/* Whether a contestant takes mixed batches; a remark says why not. */
bool bench_store_mixes(const bench_target *target, const bench_data *data);
uint64_t bench_store_size(const bench_target *target, const void *store);
/* All bytes, and those of them that only aggregates use. */
void bench_store_bytes(const bench_target *target, const void *store, uint64_t *out_bytes, uint64_t *out_aggregate);
void bench_store_free(const bench_target *target, void *store);

/* ---- cli/bench/check.c: answers against the model ---- */

typedef struct bench_outputs {
    void *keys;
    void *values;
    uint8_t *found;
    uint64_t *words;
    uint64_t capacity;
} bench_outputs;

/* Number of wrong answers among the first `count` queries, which were asked `batch` at a time. */
uint64_t bench_check_answers(bench_data *data, const bench_op *op, const bench_queries *queries,
                             const bench_outputs *outputs, uint64_t count, uint64_t batch);
/* Number of entries of the store that differ from the expected ones; missing and surplus ones count too. Entries are read
 * in order, and many of them looked up one by one. */
uint64_t bench_check_store(const bench_target *target, void *store, const bench_data *data, const void *keys,
                           const void *values, uint64_t entries);
/* Number of keys, of a good many among n, that are still there. */
uint64_t bench_check_gone(const bench_target *target, void *store, const bench_data *data, const void *keys,
                          uint64_t n);
/* All entries of the data set, seen through copse_visit. */
uint64_t bench_check_visit(const bench_target *target, void *store, const bench_data *data);

/* ---- cli/bench/visits.c: visits with operations ---- */

bool bench_op_visits(const bench_op *op);
/* One visit of all entries; call->n == 2 takes a map back. */
copse_status bench_visit_run(copse_index *index, const bench_call *c);
/* Number of wrong words, where `added` was added to each value before. */
uint64_t bench_check_visits(const bench_data *data, const bench_op *op, uint64_t added, const uint64_t *words);

/* ---- cli/bench/arrays.c: the caller's arrays, in the memory that a contestant is given ---- */

typedef enum bench_array {
    BENCH_IN_KEYS, /* inputs */
    BENCH_IN_HIGHS,
    BENCH_IN_VALUES,
    BENCH_IN_OPERATIONS,
    BENCH_OUT_KEYS, /* outputs */
    BENCH_OUT_VALUES,
    BENCH_OUT_FOUND,
    BENCH_OUT_WORDS,
    BENCH_ARRAYS
} bench_array;

/* What one measurement needs: sizes, and the arrays in host memory. Inputs belong to the queries or the data set. */
typedef struct bench_layout {
    uint64_t bytes[BENCH_ARRAYS]; /* 0: not used */
    void *host[BENCH_ARRAYS];
    uint64_t capacity; /* of the outputs for keys and values, in entries */
} bench_layout;

typedef struct bench_arrays {
    const bench_layout *layout;
    const bench_target *target;
    bench_memory_kind memory;
    void *at[BENCH_ARRAYS];
} bench_arrays;

/* The first `count` queries, asked `batch` at a time. */
void bench_layout_make(bench_layout *layout, const bench_data *data, const bench_op *op, const bench_queries *queries,
                       uint64_t count, uint64_t batch);
void bench_layout_free(bench_layout *layout);

/* Makes the arrays and copies the inputs. Says why it failed and returns false. */
bool bench_arrays_make(bench_arrays *arrays, const bench_layout *layout, const bench_target *target,
                       const bench_op *op);
/* Old answers must not pass for new ones: outputs are filled with a pattern, which also touches every page. */
bool bench_arrays_poison(const bench_arrays *arrays);
/* The outputs where the host can read them: device memory is copied to the arrays of the layout. */
bool bench_arrays_read(const bench_arrays *arrays, bench_outputs *out);
void bench_arrays_free(bench_arrays *arrays);

/* ---- cli/bench/measure.c: one operation, all contestants ---- */

typedef struct bench_result {
    const bench_target *target;
    bench_arrays arrays;
    uint32_t threads;
    uint64_t queries;
    uint64_t wrong;
    uint64_t runs;
    double *seconds;      /* one per repeat */
    double *call_seconds; /* of updates: one per call, those of all repeats; NULL where calls are not timed each */
    uint64_t timed_calls;
    double prepare_seconds;
    uint64_t entries;
    uint64_t bytes;
    uint64_t aggregate_bytes;
    double card_share; /* of the queries of the last call of a hybrid index: those that its card has walked */
} bench_result;

typedef struct bench_group {
    const bench_options *options;
    bench_data *data;
    const bench_op *op;
    uint64_t batch;
    bench_result *result;
    size_t count;
} bench_group;

typedef struct bench_progress {
    cli_progress bar;
    uint64_t done;
    uint64_t total;
} bench_progress;

/* CLI_OK or the code to leave with. The caller frees. */
int bench_measure(bench_group *group, bench_targets *targets, const bench_queries *queries, bench_progress *progress);
void bench_group_free(bench_group *group);

/* ---- cli/bench/report.c: JSON lines or a table ---- */

/* Operations per second in millions: the median, and the slowest and fastest repeat. */
double bench_result_mops(const bench_result *result);
void bench_report(const bench_group *group);
/* Processor model and number of cores. */
const char *bench_machine(void);
