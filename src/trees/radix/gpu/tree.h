/*
 * The radix tree on a device: what its files share.
 *
 * It is there twice, in the same bytes: pools on the device, which kernels read and change, and the tree of trees/radix/cpu in host memory,
 * for what no kernel does. The host fetches the pages that kernels have written when it needs them; after an update of its own the pages of
 * the pools that it touched go to the device.
 */
#pragma once

#include "core/handle.h"
#include "device/device.h"
#include "gpu/scratch.h"
#include "trees/radix/cpu/tree.h"
#include "trees/radix/gpu/kernels.h"

#include <stdatomic.h>

/* Lookups of a batch that the device and the CPU have at a time, where the CPU finishes some. */
#define COPSE_RADIX_PIECE (UINT64_C(1) << 18)

/* Leaves of a range that one thread goes along: each is two or three accesses that wait for each other. */
#define COPSE_RADIX_WALK_MOST UINT64_C(256)

typedef struct copse_radix_device {
    copse_radix host;
    copse_radix_marks marks; /* of the host's tree: pages that the device does not have yet */
    copse_radix_view view;
    uint64_t bytes[COPSE_RADIX_TYPES]; /* of each pool on the device; whole pages */
    pthread_mutex_t lock;              /* of bringing the device up to date, which a read may have to do */
    atomic_bool behind;                /* an update found no memory for that */
    atomic_bool is_ahead;              /* kernels have written values that the host does not have, */
    copse_scratch ahead;               /* in the pages whose bits are set; and nodes and leaves,   */
    uint32_t *ahead_bits[COPSE_RADIX_TYPES];
    uint64_t ahead_bytes[COPSE_RADIX_TYPES]; /* of the bits                                        */
    uint64_t known[COPSE_RADIX_TYPES];       /* or which lie behind these items of the host's pools */
    uint64_t more[COPSE_RADIX_TYPES];        /* so many items behind the last that the host's pools have taken */
    /* Items that are free, and not in the lists of the host's pools: their indexes, of long leaves their links. Device memory. */
    uint64_t *spare[COPSE_RADIX_TYPES];
    uint64_t spare_n[COPSE_RADIX_TYPES], spare_room[COPSE_RADIX_TYPES];
    /* Leaves of the types of marks.without are in host memory only: apart.c. Then the host's tree is never behind. */
    atomic_uint idle;   /* updates by kernels since the host's tree was last used */
    uint64_t piece;     /* COPSE_RADIX_PIECE; tests lower both */
    uint64_t walk_most; /* COPSE_RADIX_WALK_MOST */
} copse_radix_device;

static inline bool copse_radix_is_apart(const copse_radix_device *tree, uint32_t type)
{
    return tree->marks.without >> type & 1;
}

static inline copse_radix_device *copse_radix_device_of(const copse_index *index)
{
    return index->tree;
}

const copse_radix_kernels *copse_radix_kernels_on(const copse_device *device);
/* Launches a kernel of n threads that reports, and waits for what it says. *report is a member of its arguments. */
copse_status copse_radix_report(copse_device *device, const copse_kernel *kernel, uint64_t n, const void *arguments,
                                uint64_t **report, uint64_t words[COPSE_REPORT_WORDS]);

/* The handle as the calls of the tree on the CPU want it: the host's tree. */
static inline copse_index copse_radix_host(const copse_index *index)
{
    copse_index host = copse_index_handle(index);
    host.tree = &copse_radix_device_of(index)->host;
    host.calls = &copse_radix_calls;
    host.device = NULL;
    return host;
}

/* --- the device's side: mirror.c --------------------------------------------------------------------------------------- */

/* Makes the pools of `tree`, which has none, from its host's tree. After a failure it has none. */
copse_status copse_radix_mirror_make(const copse_index *index, copse_radix_device *tree);
/* Makes pools of `tree`, which has none, for the items that kernels will take. After a failure it has some, or none. */
copse_status copse_radix_mirror_size(const copse_index *index, copse_radix_device *tree);
void copse_radix_mirror_free(const copse_index *index, copse_radix_device *tree);
/* Room on the device for so many more items of each type (units of long leaves). After it an update needs no device memory but for the
 * way there. */
copse_status copse_radix_mirror_reserve(const copse_index *index, const uint64_t *most);
/* The most items of each type that n keys take, of which some come, with these leaves, and some go; leaves NULL: all go. */
void copse_radix_items_most(const copse_radix_device *tree, uint64_t n, const uint64_t *leaves,
                            uint64_t most[COPSE_RADIX_TYPES]);
/* Items of a type that were ever taken. */
uint64_t copse_radix_items_used(const copse_radix_device *tree, uint32_t type);
/* Takes the pages that changed to the device. Where there is no memory for that, the next call that needs the device tries again. */
copse_status copse_radix_mirror_update(const copse_index *index);
/* Before kernels read: the device has what the host has. */
copse_status copse_radix_mirror_ready(const copse_index *index);
/* Do both sides have the same bytes? */
copse_status copse_radix_mirror_verify(const copse_index *index);

/* --- pages: pages.c ------------------------------------------------------------------------------------------------------ */

copse_status copse_radix_pages_send(const copse_index *index, copse_radix_device *tree);
/* Bits for a kernel that writes. */
copse_status copse_radix_ahead_make(const copse_index *index, copse_radix_device *tree,
                                    uint32_t *out[COPSE_RADIX_TYPES]);
/* Before the host's tree is read or changed: it has what the device has. */
copse_status copse_radix_values_fetch(const copse_index *index);
/* After an update by kernels: the host's copy goes where it has not been used for many of them. The next use fetches all of it. */
void copse_radix_host_rests(const copse_index *index);

/* --- byte strings of a call: strings.c ----------------------------------------------------------------------------------- */

/* Keys of a caller on their way to kernels. All zero: none. */
typedef struct copse_radix_input {
    const char *name;
    uint64_t n;
    copse_bytes bytes;
    bool offsets_there, data_there; /* in device memory */
    uint64_t first;                 /* position of key 0 in the caller's batch */
    copse_radix_strings strings;
    copse_scratch scratch;
} copse_radix_input;

/* Where the arrays are. Offsets in host memory are checked here, others by kernels. */
copse_status copse_radix_input_look(const copse_index *index, const char *name, const void *given, uint64_t n,
                                    copse_radix_input *out);
/* All of them as kernels read them; the scratch memory has to be freed in any case. */
copse_status copse_radix_input_bring(const copse_index *index, copse_radix_input *input);
/* The offset of string i, of an array in host memory. */
int64_t copse_radix_input_offset(const copse_radix_input *input, uint64_t i);
/* The error for offsets in device memory that are not sound; `position`: what kernels reported. */
copse_status copse_radix_input_fail(const copse_index *index, const copse_radix_input *input, uint64_t position);

/* Entries on their way to a caller. */
typedef struct copse_radix_output {
    copse_byte_output keys;
    void *values;
    uint8_t *found;
    bool offsets_there, data_there, values_there, found_there; /* in device memory */
} copse_radix_output;

copse_status copse_radix_output_look(const copse_index *index, void *keys, void *values, uint8_t *found,
                                     copse_radix_output *out);
/* Gives the entries of leaves that kernels have found, whose sizes are not summed up yet. */
copse_status copse_radix_output_give(const copse_index *index, copse_radix_output *out,
                                     const copse_radix_leaves *leaves);
/* Says how many bytes the keys of a caller take, and what is wrong with the room for them. */
copse_status copse_radix_output_close(const copse_index *index, copse_radix_output *out, uint64_t needed);

/* --- calls ------------------------------------------------------------------------------------------------------------- */

extern const copse_calls copse_radix_gpu_calls;

copse_status copse_radix_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                     uint8_t *found);
copse_status copse_radix_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                           copse_neighbour which, void *out_keys, void *out_values, uint8_t *out_found,
                                           uint64_t *out_ranks);
copse_status copse_radix_device_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_radix_device_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);

/* The leaves of all ranges, of which some may be there several times. *out_done: false where the host has to list them. The scratch memory has to be
 * freed in any case. */
copse_status copse_radix_device_leaves(const copse_index *index, const copse_ranges *ranges, copse_radix_leaves *out,
                                       copse_scratch *out_scratch, bool *out_done);

/* --- ranges that are wide: wide.c ------------------------------------------------------------------------------------------ */

#define COPSE_RADIX_LIST_PARTS 5u

/* The leaves of all ranges with more entries than a thread goes along. */
typedef struct copse_radix_list {
    copse_radix_list_arguments a;
    copse_scratch scratch[COPSE_RADIX_LIST_PARTS];
} copse_radix_list;

/* Makes the list after `asked` has been counted, puts right the counts and sizes of wide ranges, and makes their starts 0. *out_done: false where
 * the tree is too deep for it. It has to be freed in any case. */
copse_status copse_radix_list_make(const copse_index *index, const copse_radix_range_arguments *asked,
                                   copse_radix_list *out, bool *out_done);
/* Puts the leaves of those ranges where the entries of all ranges go. */
copse_status copse_radix_list_rows(const copse_index *index, copse_radix_list *list, const uint64_t *offsets,
                                   const copse_radix_leaves *to);
/* Their aggregates, among those of all ranges. */
copse_status copse_radix_list_totals(const copse_index *index, copse_radix_list *list, copse_radix_total *results);
void copse_radix_list_free(const copse_index *index, copse_radix_list *list);

/* Finds of a piece of a batch, after which `meanwhile` is called while the device is at work: find.c. NULL: the whole batch. */
typedef struct copse_radix_apart copse_radix_apart;
copse_status copse_radix_find_run(const copse_index *index, copse_radix_input *input, void *values, uint8_t *found,
                                  copse_radix_apart *apart);

/* After a piece of finds of keys in host memory: is there to be another try, with fewer keys at a time, for want of device memory? */
bool copse_radix_find_fewer(const copse_radix_input *input, copse_status status, uint64_t *each);
/* Keys of the batch from `first` on, at most so many. */
copse_radix_input copse_radix_input_piece(const copse_radix_input *input, uint64_t first, uint64_t most);

/* --- leaves in host memory: apart.c --------------------------------------------------------------------------------------- */

/* What a piece of lookups leaves to the CPU. */
struct copse_radix_apart {
    copse_radix_rest *rest; /* device memory */
    uint64_t *rest_n;
    uint32_t long_skipped;
    void *user; /* for this, which the device's work is not waited for: */
    copse_status (*meanwhile)(void *user);
};

/* Which types of leaves a new tree keeps in host memory; and more of them, where there is no device memory. False: there are no more. */
uint32_t copse_radix_apart_first(const copse_index *index);
bool copse_radix_apart_more(const copse_index *index, uint32_t *without);
/* After an update found no memory: leaves go to host memory, and the update may be tried again. False: that does not help. */
bool copse_radix_retreat(copse_index *index, copse_status status);
/* Finds in a tree some of whose leaves are in host memory; `keys` are the caller's as the CPU reads them. */
copse_status copse_radix_find_apart(const copse_index *index, copse_radix_input *input, const copse_bytes *keys,
                                    void *values, uint8_t *found);

/* An insert by kernels: upsert.c. *out_done: false where the host has to do it, and nothing has changed. */
copse_status copse_radix_device_upsert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted, bool *out_done);
/* The part of it that adds keys: insert.c. `batch` is what the first kernel was called with; there will be room for what becomes free where so many
 * keys go behind it. */
copse_status copse_radix_device_add(copse_index *index, const copse_radix_upsert_arguments *batch, uint32_t flags,
                                    uint64_t going, uint64_t *out_inserted, bool *out_done);
/* A mixed batch by kernels: apply.c. *out_done: false where the host has to do it, and nothing has changed. */
copse_status copse_radix_device_mix(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                                    uint64_t n, void *out_values, uint8_t *out_found, bool *out_done);

/* --- batches in order: order.c ------------------------------------------------------------------------------------------ */

/* Keys of a batch, different ones in order. */
typedef struct copse_radix_ordered {
    copse_radix_strings keys;
    uint64_t keys_n;
    uint64_t n; /* different keys that are wanted: */
    uint32_t *unique;
    int32_t *common;
    uint32_t *sorted, *ends; /* where runs are wanted: see copse_radix_order_arguments */
    uint64_t longest, shortest;
    copse_scratch scratch;
} copse_radix_ordered;

/* Orders those keys whose place is UINT32_MAX (NULL: all). The scratch memory has to be freed in any case. */
copse_status copse_radix_order(const copse_index *index, const copse_radix_strings *keys, uint64_t keys_n,
                               const uint32_t *places, bool first, bool runs, copse_radix_ordered *out);

/* --- trees of them: forest.c --------------------------------------------------------------------------------------------- */

typedef struct copse_radix_forest {
    copse_radix_forest_arguments a;
    uint64_t leaves[COPSE_RADIX_TYPES]; /* new items that they take */
    bool has_long;
    copse_radix_tally tally;
    copse_scratch scratch;
} copse_radix_forest;

/* Works out the shape: what trees there are, and how many nodes and leaves of each type. */
copse_status copse_radix_forest_shape(const copse_index *index, const copse_radix_ordered *keys, const void *values,
                                      const copse_radix_blocks *blocks, copse_radix_forest *out);
/* Makes them, of items for which there is memory; `a.tree`, `a.items` and the tally are set. */
copse_status copse_radix_forest_make(const copse_index *index, copse_radix_forest *forest);

/* --- free items: spares.c ------------------------------------------------------------------------------------------------ */

/* Hands free items out to kernels: at most so many of each type, with room for those that become free. Errors: MEMORY, and some may have
 * gone from the host's lists to the device. */
copse_status copse_radix_spares_hand(const copse_index *index, const uint64_t *most, const uint64_t *freed,
                                     copse_radix_items *out);
/* What kernels have taken, and freed; `there` is the tally in device memory. It needs no memory. */
copse_status copse_radix_spares_account(const copse_index *index, const copse_radix_items *items,
                                        const copse_radix_tally *tally, copse_radix_tally *there,
                                        const copse_radix_link *freed);
/* All that is in the lists of the host's pools goes to the arrays. Errors: MEMORY, and some may have gone. */
copse_status copse_radix_spares_all(const copse_index *index);
/* Free blocks for at most so many long leaves, in groups; and after leaves have taken theirs, which needs no memory. The scratch memory has to be
 * freed in any case. */
copse_status copse_radix_blocks_group(const copse_index *index, uint64_t most, copse_radix_blocks *out,
                                      copse_scratch *out_scratch);
copse_status copse_radix_blocks_leave(const copse_index *index, copse_radix_blocks *blocks);
/* All of them go to the lists of the host's pools, which have the pages of the device. */
copse_status copse_radix_spares_give(const copse_index *index, copse_radix_device *tree);
void copse_radix_spares_free(const copse_index *index, copse_radix_device *tree);

/* The part of erases that takes keys away, of each of which one position is pending: erase.c. */
typedef struct copse_radix_taking {
    copse_radix_erase_arguments a;
    copse_radix_tally tally;
    copse_scratch scratch;
} copse_radix_taking;

/* Memory for the rounds in which n keys go; then items. `late`: it must not fail, and lacks smaller nodes where there is no memory for them; what
 * becomes free has room. The scratch memory has to be freed in any case. */
copse_status copse_radix_taking_open(const copse_index *index, uint64_t n, copse_radix_taking *taking);
copse_status copse_radix_taking_items(const copse_index *index, bool late, copse_radix_taking *taking);
copse_status copse_radix_taking_run(copse_index *index, copse_radix_taking *taking, uint64_t *out_erased);

/* Erases by kernels: erase.c; with `values`, only keys that have them. *out_done: false where the host has to do it. */
copse_status copse_radix_device_take(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased, bool *out_done);
copse_status copse_radix_device_take_ranges(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased,
                                            bool *out_done);
/* A build by kernels, or an insert, with its flags, into a tree that is empty: build.c. *out_done: false where the host has to do it. */
copse_status copse_radix_device_grow(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint32_t flags, bool *out_done);
/* The same of the keys of a batch that are missing, into a tree that is empty. */
copse_status copse_radix_device_plant(copse_index *index, const copse_radix_upsert_arguments *batch);

/* By the host's tree, with arrays in any memory: host.c. */
copse_status copse_radix_host_find(const copse_index *index, copse_radix_input *input, const void *keys, void *values,
                                   uint8_t *found);
copse_status copse_radix_host_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                         void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks);
copse_status copse_radix_device_build(copse_index *index, const void *keys, const void *values, uint64_t n);
copse_status copse_radix_device_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted);
copse_status copse_radix_device_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased);
copse_status copse_radix_device_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                            uint64_t *out_erased);
copse_status copse_radix_device_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased);
copse_status copse_radix_device_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                      const void *values, uint64_t n, void *out_values, uint8_t *out_found);
copse_status copse_radix_device_aggregate(const copse_index *index, copse_aggregate_kind kind,
                                          const copse_ranges *ranges, void *out, uint8_t *found);
copse_status copse_radix_device_scan(const copse_index *index, copse_scan *scan);
copse_status copse_radix_host_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                        void *out, uint8_t *found);
copse_status copse_radix_host_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts);
copse_status copse_radix_host_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows);
