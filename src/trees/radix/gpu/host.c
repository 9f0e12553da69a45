/* Calls that the host's tree answers or carries out. Arrays of the caller in device memory are borrowed: copied to host memory, and back
 * where they are outputs. */
#include "cpu/byte_reads.h"
#include "cpu/byte_runs.h"
#include "gpu/aggregates.h"
#include "gpu/call.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

#define BORROWED_MOST 8u

typedef struct borrowed {
    void *callers, *host;
    uint64_t bytes;
    bool output;
} borrowed;

/* The arrays of a call. */
typedef struct loan {
    const copse_index *index;
    copse_status status; /* of the first that failed */
    borrowed arrays[BORROWED_MOST];
    unsigned n;
    copse_index host; /* the handle for calls of the CPU's tree */
} loan;

static loan loan_open(const copse_index *index)
{
    return (loan){.index = index, .host = copse_radix_host(index)};
}

/* Where the CPU reads or writes an array of the caller. What is in device memory is looked up first, and copied by loan_begin. */
static void *borrow(loan *of, const void *array, uint64_t bytes, bool output, const char *name)
{
    bool there = false;
    if (!array || of->status != COPSE_OK) return (void *)(uintptr_t)array;
    of->status = copse_call_array(of->index, array, name, &there);
    if (of->status != COPSE_OK || !there) return (void *)(uintptr_t)array;
    borrowed *b = &of->arrays[of->n++];
    *b = (borrowed){(void *)(uintptr_t)array, copse_memory_alloc(of->index->ctx, bytes ? bytes : 1), bytes, output};
    if (!b->host) of->status = copse_fail_memory(of->index->ctx, bytes, "arrays in device memory");
    return b->host;
}

/* Byte strings of the caller, with arrays that the CPU reads. */
static const void *borrow_keys(loan *of, const char *name, const void *given, uint64_t n, copse_bytes *out)
{
    if (!given || of->status != COPSE_OK) return given;
    of->status = copse_bytes_take_keys(of->index->ctx, name, given, n, out);
    if (of->status != COPSE_OK) return given;
    out->offsets = borrow(of, out->offsets, (n + 1) * (out->offset_bits / 8), false, name);
    if (out->size) out->data = borrow(of, out->data, out->size, false, name);
    out->struct_size = sizeof *out;
    return out;
}

/* All arrays are known: brings those that are inputs, and the values that the host lacks. */
static copse_status loan_begin(loan *of)
{
    (void)copse_promise_end(COPSE_OK);
    if (of->status == COPSE_OK) of->status = copse_radix_values_fetch(of->index);
    for (unsigned i = 0; i < of->n && of->status == COPSE_OK; i++) {
        const borrowed *b = &of->arrays[i];
        if (!b->output) of->status = copse_transfer_to_host(of->index->device, b->host, b->callers, b->bytes);
    }
    if (of->n && of->status == COPSE_OK) of->status = copse_device_wait(of->index->device, of->index->device->main);
    return of->status;
}

/* Gives outputs back, where the call went well or has said what it wanted in them, and frees everything. */
static copse_status loan_end(loan *of, copse_status status)
{
    copse_device *device = of->index->device;
    const bool written = status == COPSE_OK || status == COPSE_ERR_OVERFLOW || status == COPSE_ERR_TOO_SMALL;
    copse_status given = COPSE_OK;
    for (unsigned i = 0; i < of->n; i++) {
        const borrowed *b = &of->arrays[i];
        if (written && given == COPSE_OK && b->output)
            given = copse_transfer_to_device(device, b->callers, b->host, b->bytes);
        copse_memory_free(of->index->ctx, b->host, b->bytes ? b->bytes : 1);
    }
    return status == COPSE_OK ? given : status;
}

/* --- change -------------------------------------------------------------------------------------------------------------- */

/* With leaves of the types `without` in host memory only. */
static copse_status build_apart(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t without)
{
    copse_radix_device *tree = copse_radix_device_of(index), made = {.marks.without = without};
    copse_bytes given;
    bool done = false;
    copse_status status = without ? COPSE_OK : copse_radix_device_grow(index, keys, values, n, 0, &done);
    if (status != COPSE_OK || done) return status;
    loan of = loan_open(index);
    copse_radix_init(&made.host, tree->host.width);
    const uint64_t value_bytes = copse_memory_product(n, tree->host.width);
    const void *host_keys = n ? borrow_keys(&of, "keys", keys, n, &given) : NULL;
    const void *host_values = n ? borrow(&of, values, value_bytes, false, "values") : NULL;
    status = loan_begin(&of);
    of.host.tree = &made.host;
    if (status == COPSE_OK) status = copse_radix_build(&of.host, host_keys, host_values, n);
    if (status == COPSE_OK) status = copse_radix_mirror_make(index, &made);
    status = loan_end(&of, status);
    if (status != COPSE_OK) {
        copse_radix_release(index->ctx, &made.host);
        return status;
    }
    copse_radix_mirror_free(index, tree);
    copse_radix_release(index->ctx, &tree->host);
    tree->host = made.host;
    tree->host.marks = &tree->marks;
    tree->marks.without = without;
    tree->view = made.view;
    atomic_store_explicit(&tree->is_ahead, false, memory_order_release);
    memcpy(tree->bytes, made.bytes, sizeof tree->bytes);
    atomic_store_explicit(&tree->behind, false, memory_order_release);
    return COPSE_OK;
}

copse_status copse_radix_device_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    uint32_t without = copse_radix_apart_first(index);
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = build_apart(index, keys, values, n, without);
    while (status == COPSE_ERR_MEMORY && copse_radix_apart_more(index, &without))
        status = build_apart(index, keys, values, n, without);
    if (status == COPSE_OK) copse_error_put_back(&kept);
    return status;
}

/* Room on the device for n keys that may be new; NULL: none is. */
static copse_status room_make(const copse_index *index, const void *given, uint64_t n)
{
    const uint32_t width = copse_radix_device_of(index)->host.width;
    uint64_t leaves[COPSE_RADIX_TYPES] = {0}, most[COPSE_RADIX_TYPES];
    copse_byte_keys keys;
    if (given) {
        copse_status status = copse_byte_keys_take(index->ctx, "keys", given, n, &keys);
        if (status != COPSE_OK) return status;
        for (uint64_t i = 0; i < n; i++) {
            const size_t length = copse_byte_key(&keys, i).length;
            const uint32_t type = copse_radix_leaf_type(length);
            leaves[type] +=
                type == COPSE_RADIX_LEAF_LONG ? copse_radix_heap_units(copse_radix_units((uint32_t)length, width)) : 1;
        }
        leaves[COPSE_RADIX_LEAF_LONG] += leaves[COPSE_RADIX_LEAF_LONG] / 8; /* what segments leave over at their ends */
    }
    copse_radix_items_most(copse_radix_device_of(index), n, given ? leaves : NULL, most);
    return copse_radix_mirror_reserve(index, most);
}

/* An update has changed the host's tree, or has failed and changed it back, perhaps with other nodes. */
static copse_status change_end(const copse_index *index, copse_status status)
{
    const copse_status updated = copse_radix_mirror_update(index);
    return status == COPSE_OK ? updated : status;
}

/* An update that kernels were to do. True: they have, or it failed, and the call ends. */
static bool done_there(const copse_index *index, copse_status status, bool done)
{
    if (status == COPSE_OK && done) copse_radix_host_rests(index);
    return status != COPSE_OK || done;
}

static copse_status insert_once(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                                uint64_t *out_inserted)
{
    copse_bytes given;
    bool done = false;
    copse_status status = COPSE_OK;
    if (!copse_size(index) && !copse_radix_device_of(index)->marks.without) {
        status = copse_radix_device_grow(index, keys, values, n, flags, &done);
        *out_inserted = copse_size(index);
    } else {
        status = copse_radix_device_upsert(index, keys, values, n, flags, out_inserted, &done);
    }
    if (done_there(index, status, done)) return status;
    loan of = loan_open(index);
    const void *host_keys = borrow_keys(&of, "keys", keys, n, &given);
    const void *host_values = borrow(&of, values, n * copse_radix_device_of(index)->host.width, false, "values");
    status = loan_begin(&of);
    if (status == COPSE_OK) status = room_make(index, host_keys, n);
    if (status == COPSE_OK)
        status = change_end(index, copse_radix_insert(&of.host, host_keys, host_values, n, flags, out_inserted));
    return loan_end(&of, status);
}

static copse_status erase_once(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    copse_bytes given;
    bool done = false;
    copse_status status = copse_radix_device_take(index, keys, NULL, n, out_erased, &done);
    if (done_there(index, status, done)) return status;
    loan of = loan_open(index);
    const void *host_keys = borrow_keys(&of, "keys", keys, n, &given);
    status = loan_begin(&of);
    if (status == COPSE_OK) status = room_make(index, NULL, n);
    if (status == COPSE_OK) status = change_end(index, copse_radix_erase(&of.host, host_keys, n, out_erased));
    return loan_end(&of, status);
}

static copse_status erase_pairs_once(copse_index *index, const void *keys, const void *values, uint64_t n,
                                     uint64_t *out_erased)
{
    copse_bytes given;
    bool done = false;
    copse_status status =
        copse_radix_device_take(index, keys, index->value_type == COPSE_NONE ? NULL : values, n, out_erased, &done);
    if (done_there(index, status, done)) return status;
    loan of = loan_open(index);
    const void *host_keys = borrow_keys(&of, "keys", keys, n, &given);
    const void *host_values = borrow(&of, values, n * copse_radix_device_of(index)->host.width, false, "values");
    status = loan_begin(&of);
    if (status == COPSE_OK) status = room_make(index, NULL, n);
    if (status == COPSE_OK)
        status = change_end(index, copse_radix_erase_pairs(&of.host, host_keys, host_values, n, out_erased));
    return loan_end(&of, status);
}

/* The ends of ranges, as the CPU reads them. */
static copse_ranges borrow_ranges(loan *of, const copse_ranges *asked, copse_bytes ends[2])
{
    copse_ranges host = *asked;
    if (asked->n) host.lows = borrow_keys(of, "lows", asked->lows, asked->n, &ends[0]);
    if (asked->n) host.highs = borrow_keys(of, "highs", asked->highs, asked->n, &ends[1]);
    return host;
}

static copse_status erase_range_once(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    copse_bytes ends[2];
    bool done = false;
    const uint64_t all = copse_size(index);
    copse_status status = COPSE_OK;
    if (!ranges->lows && !ranges->highs) {
        status = copse_radix_device_build(index, NULL, NULL, 0);
        if (status == COPSE_OK) *out_erased = all;
        return status;
    }
    status = copse_radix_device_take_ranges(index, ranges, out_erased, &done);
    if (done_there(index, status, done)) return status;
    loan of = loan_open(index);
    const copse_ranges host = borrow_ranges(&of, ranges, ends);
    status = loan_begin(&of);
    if (status == COPSE_OK) status = room_make(index, NULL, copse_radix_device_of(index)->host.entries);
    if (status == COPSE_OK) status = change_end(index, copse_byte_erase_range(&of.host, &host, out_erased));
    return loan_end(&of, status);
}

static copse_status apply_once(copse_index *index, const uint8_t *operations, const void *keys, const void *values,
                               uint64_t n, void *out_values, uint8_t *out_found)
{
    const uint64_t value_bytes = copse_memory_product(n, copse_radix_device_of(index)->host.width);
    copse_bytes given;
    bool done = false;
    copse_status status = copse_radix_device_mix(index, operations, keys, values, n, out_values, out_found, &done);
    if (done_there(index, status, done)) return status;
    loan of = loan_open(index);
    const uint8_t *host_operations = borrow(&of, operations, n, false, "operations");
    const void *host_keys = borrow_keys(&of, "keys", keys, n, &given);
    const void *host_values = borrow(&of, values, value_bytes, false, "values");
    void *host_out = borrow(&of, out_values, value_bytes, true, "out_values");
    uint8_t *host_found = borrow(&of, out_found, n, true, "out_found");
    status = loan_begin(&of);
    if (status == COPSE_OK) status = room_make(index, host_keys, n);
    if (status == COPSE_OK)
        status = change_end(
            index, copse_radix_apply(&of.host, host_operations, host_keys, host_values, n, host_out, host_found));
    return loan_end(&of, status);
}

/* An update, again where leaves that go to host memory make room for it. */
#define RETREATING(index, call)                                                                                        \
    copse_kept_error kept;                                                                                             \
    copse_status status;                                                                                               \
    copse_error_keep(&kept);                                                                                           \
    do {                                                                                                               \
        status = (call);                                                                                               \
    } while (copse_radix_retreat(index, status));                                                                      \
    if (status == COPSE_OK) copse_error_put_back(&kept);                                                               \
    return status

copse_status copse_radix_device_insert(copse_index *index, const void *keys, const void *values, uint64_t n,
                                       uint32_t flags, uint64_t *out_inserted)
{
    RETREATING(index, insert_once(index, keys, values, n, flags, out_inserted));
}

copse_status copse_radix_device_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    RETREATING(index, erase_once(index, keys, n, out_erased));
}

copse_status copse_radix_device_erase_pairs(copse_index *index, const void *keys, const void *values, uint64_t n,
                                            uint64_t *out_erased)
{
    RETREATING(index, erase_pairs_once(index, keys, values, n, out_erased));
}

copse_status copse_radix_device_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    RETREATING(index, erase_range_once(index, ranges, out_erased));
}

copse_status copse_radix_device_apply(copse_index *index, const uint8_t *operations, const void *keys,
                                      const void *values, uint64_t n, void *out_values, uint8_t *out_found)
{
    RETREATING(index, apply_once(index, operations, keys, values, n, out_values, out_found));
}

/* --- read ---------------------------------------------------------------------------------------------------------------- */

copse_status copse_radix_host_aggregate(const copse_index *index, copse_aggregate_kind kind, const copse_ranges *ranges,
                                        void *out, uint8_t *found)
{
    copse_bytes ends[2];
    loan of = loan_open(index);
    const copse_ranges host = borrow_ranges(&of, ranges, ends);
    void *host_out = borrow(&of, out, ranges->n * copse_aggregate_bytes(index, kind), true, copse_aggregate_name(kind));
    uint8_t *host_found = borrow(&of, found, ranges->n, true, "out_found");
    copse_status status = loan_begin(&of);
    if (status == COPSE_OK) status = copse_radix_aggregate(&of.host, kind, &host, host_out, host_found);
    return loan_end(&of, status);
}

/* The room that a caller has for keys, as the CPU writes it. */
static void *borrow_room(loan *of, void *given, uint64_t n, copse_bytes *out)
{
    if (!given || of->status != COPSE_OK) return given;
    of->status = copse_bytes_take(of->index->ctx, "out_keys", given, out);
    if (of->status != COPSE_OK) return given;
    const uint64_t bytes = copse_memory_product(n + 1, out->offset_bits / 8);
    out->offsets = borrow(of, out->offsets, bytes, true, "out_keys");
    if (out->size) out->data = borrow(of, out->data, out->size, true, "out_keys");
    out->struct_size = sizeof *out;
    return out;
}

/* Says to the caller what its keys take. */
static void room_needed(void *given, const copse_bytes *host)
{
    uint32_t size;
    if (!given) return;
    memcpy(&size, given, sizeof size);
    if (size >= sizeof(copse_bytes)) ((copse_bytes *)given)->needed = host->needed;
}

copse_status copse_radix_host_find(const copse_index *index, copse_radix_input *input, const void *keys, void *values,
                                   uint8_t *found)
{
    copse_bytes given;
    loan of = loan_open(index);
    const void *host_keys = borrow_keys(&of, "keys", keys, input->n, &given);
    copse_status status = loan_begin(&of);
    if (status == COPSE_OK) status = copse_radix_find_apart(index, input, host_keys, values, found);
    return loan_end(&of, status);
}

copse_status copse_radix_host_neighbours(const copse_index *index, const void *keys, uint64_t n, copse_neighbour which,
                                         void *out_keys, void *out_values, uint8_t *out_found, uint64_t *out_ranks)
{
    const uint64_t value_bytes = copse_memory_product(n, copse_radix_device_of(index)->host.width);
    copse_bytes given, room;
    loan of = loan_open(index);
    const void *host_keys = borrow_keys(&of, "keys", keys, n, &given);
    void *host_room = borrow_room(&of, out_keys, n, &room);
    void *host_values = borrow(&of, out_values, value_bytes, true, "out_values");
    uint8_t *host_found = borrow(&of, out_found, n, true, "out_found");
    copse_status status = loan_begin(&of);
    if (status == COPSE_OK)
        status = copse_radix_neighbours(&of.host, host_keys, n, which, host_room, host_values, host_found, out_ranks);
    if (host_room == &room) room_needed(out_keys, &room);
    return loan_end(&of, status);
}

copse_status copse_radix_device_scan(const copse_index *index, copse_scan *scan)
{
    copse_bytes from, to, room;
    copse_scan host = *scan;
    loan of = loan_open(index);
    host.from = borrow_keys(&of, "key", scan->from, 1, &from);
    host.to = borrow_keys(&of, "key", scan->to, 1, &to);
    if (scan->most) host.keys = borrow_room(&of, scan->keys, scan->most, &room);
    const uint64_t bytes = copse_memory_product(scan->most, copse_radix_device_of(index)->host.width);
    if (scan->most) host.values = borrow(&of, scan->values, bytes, true, "out_values");
    copse_status status = loan_begin(&of);
    if (status == COPSE_OK) status = copse_radix_scan(&of.host, &host);
    if (host.keys == &room) room_needed(scan->keys, &room);
    scan->n = host.n;
    scan->position = host.position;
    return loan_end(&of, status);
}

copse_status copse_radix_host_count(const copse_index *index, const copse_ranges *ranges, uint64_t *counts)
{
    copse_bytes ends[2];
    loan of = loan_open(index);
    const copse_ranges host = borrow_ranges(&of, ranges, ends);
    uint64_t *host_counts = borrow(&of, counts, ranges->n * sizeof *counts, true, "out_counts");
    copse_status status = loan_begin(&of);
    if (status == COPSE_OK) status = copse_radix_count(&of.host, &host, host_counts);
    return loan_end(&of, status);
}

copse_status copse_radix_host_range(const copse_index *index, const copse_ranges *ranges, const copse_rows *rows)
{
    const uint64_t value_bytes = copse_memory_product(rows->capacity, copse_radix_device_of(index)->host.width);
    copse_bytes ends[2], room;
    copse_rows host = *rows;
    loan of = loan_open(index);
    const copse_ranges host_ranges = borrow_ranges(&of, ranges, ends);
    host.offsets = borrow(&of, rows->offsets, (ranges->n + 1) * sizeof(uint64_t), true, "out_offsets");
    host.keys = borrow_room(&of, rows->keys, rows->capacity, &room);
    host.values = borrow(&of, rows->values, value_bytes, true, "out_values");
    copse_status status = loan_begin(&of);
    if (status == COPSE_OK) status = copse_radix_range(&of.host, &host_ranges, &host);
    if (host.keys == &room) room_needed(rows->keys, &room);
    return loan_end(&of, status);
}
