/* Buckets on their way: keys to the card, nodes back, leaves on the CPU. */
#include "trees/hybrid/buckets.h"

#include "trees/hybrid/kernels.h"
#include "transfer/transfer.h"

#include <string.h>

COPSE_PICK_KERNEL_ROW(copse_hybrid_kernels)

/* --- a bucket ---------------------------------------------------------------------------------------------------------- */

static uint64_t bucket_first(const copse_hybrid_call *call, uint64_t b)
{
    return b * call->bucket < call->n ? b * call->bucket : call->n;
}

static copse_hybrid_slot *slot_of(const copse_hybrid_call *call, uint64_t b)
{
    return &call->mirror->slot[b % (call->slots ? call->slots : 1)];
}

/* Where in a slot the keys and the nodes of a side begin. */
static uint64_t keys_at(const copse_hybrid_call *call, unsigned side)
{
    return side * call->bucket * sizeof(uint64_t);
}

static uint64_t nodes_at(const copse_hybrid_call *call, unsigned side)
{
    return call->sides * call->bucket * sizeof(uint64_t) + side * call->bucket * sizeof(uint32_t);
}

static uint64_t slot_bytes(const copse_hybrid_call *call)
{
    return nodes_at(call, call->sides);
}

static copse_status keys_send(const copse_hybrid_call *call, copse_hybrid_slot *slot, uint64_t first, uint64_t n)
{
    copse_device *device = call->mirror->device;
    const uint64_t width = copse_type_size(call->handle.key_type), bytes = n * width;
    copse_transfer_copy copies[2];
    const char *from[2];
    unsigned staged = 0;
    for (unsigned i = 0; i < call->sides; i++) {
        from[i] = (const char *)call->walked.side[i].keys + first * width;
        if (copse_transfer_is_pinned(device, from[i], bytes)) continue;
        copies[staged++] = (copse_transfer_copy){slot->pinned + keys_at(call, i), from[i], bytes};
        from[i] = slot->pinned + keys_at(call, i);
    }
    copse_transfer_copies(device->ctx, copies, staged, false);
    copse_status status = COPSE_OK;
    for (unsigned i = 0; status == COPSE_OK && i < call->sides; i++)
        status = copse_device_copy(device, slot->stream, slot->device + keys_at(call, i), from[i], bytes);
    return status;
}

static copse_status descend(const copse_hybrid_call *call, const copse_hybrid_slot *slot, unsigned side, uint64_t n)
{
    const copse_index *index = &call->handle;
    copse_device *device = call->mirror->device;
    const unsigned pair = copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type));
    const copse_descend_arguments arguments = {.levels = call->mirror->levels,
                                               .key_type = index->key_type,
                                               .unique = !index->duplicates,
                                               .upper = call->walked.side[side].upper,
                                               .n = (uint32_t)n,
                                               .keys = slot->device + keys_at(call, side),
                                               .nodes = (uint32_t *)(slot->device + nodes_at(call, side))};
    const copse_kernel *kernel = &copse_hybrid_kernels_on(device, pair)->descend[arguments.levels.digest];
    return copse_device_launch(device, slot->stream, kernel, (n + kernel->threads - 1) / kernel->threads, &arguments);
}

/* Puts bucket b on the stream of its slot. */
static copse_status submit(const copse_hybrid_call *call, uint64_t b)
{
    copse_device *device = call->mirror->device;
    copse_hybrid_slot *slot = slot_of(call, b);
    const uint64_t first = bucket_first(call, b), n = bucket_first(call, b + 1) - first;
    copse_status status = keys_send(call, slot, first, n);
    for (unsigned i = 0; status == COPSE_OK && i < call->sides; i++) status = descend(call, slot, i, n);
    for (unsigned i = 0; status == COPSE_OK && i < call->sides; i++)
        status = copse_device_copy(device, slot->stream, slot->pinned + nodes_at(call, i),
                                   slot->device + nodes_at(call, i), n * sizeof(uint32_t));
    return status == COPSE_OK ? device->backend->event_record(device, slot->through, slot->stream) : status;
}

/* --- all of them --------------------------------------------------------------------------------------------------------- */

/* What the CPU does with a bucket whose nodes have come, or never will. */
typedef void (*bucket_work)(copse_hybrid_call *call, uint64_t first, uint64_t last, void *user);

static void note_failure(copse_hybrid_call *call, copse_status status, const copse_kept_error *before)
{
    if (status == COPSE_OK) return;
    call->failed = true;
    copse_mirror_failed(call->mirror, before);
}

static void try_submit(copse_hybrid_call *call, uint64_t b)
{
    copse_kept_error before;
    if (call->failed || bucket_first(call, b) >= call->n) return;
    copse_error_keep(&before);
    note_failure(call, submit(call, b), &before);
}

/* Waits for bucket b and says where its nodes are. */
static void await(copse_hybrid_call *call, uint64_t b)
{
    copse_device *device = call->mirror->device;
    copse_hybrid_slot *slot = slot_of(call, b);
    copse_kept_error before;
    copse_error_keep(&before);
    if (!call->failed) note_failure(call, device->backend->event_wait(device, slot->through), &before);
    call->walked.first = bucket_first(call, b);
    for (unsigned i = 0; i < 2; i++) {
        const bool there = i < call->sides && !call->failed;
        call->walked.side[i].nodes = there ? (const uint32_t *)(const void *)(slot->pinned + nodes_at(call, i)) : NULL;
    }
}

static void buckets_run(copse_hybrid_call *call, bucket_work work, void *user)
{
    const bool in_turns = call->slots == call->ahead; /* the CPU has to be through before a slot is free */
    copse_pool_alert_begin(call->handle.ctx->pool);
    for (uint64_t b = 0; b < call->ahead; b++) try_submit(call, b);
    for (uint64_t b = 0; bucket_first(call, b) < call->n; b++) {
        await(call, b);
        if (!in_turns) try_submit(call, b + call->ahead);
        work(call, bucket_first(call, b), bucket_first(call, b + 1), user);
        if (in_turns) try_submit(call, b + call->ahead);
    }
    copse_pool_alert_end(call->handle.ctx->pool);
}

/* --- calls by position ----------------------------------------------------------------------------------------------------- */

/* Parts of a driver's call, which count from 0, inside a bucket. */
typedef struct bucket_parts {
    uint32_t threads;
    uint64_t chunk, first;
    copse_chunk_fn part;
    void *job;
} bucket_parts;

static void part_run(void *argument, uint64_t first, uint64_t last)
{
    const bucket_parts *parts = argument;
    parts->part(parts->job, parts->first + first, parts->first + last);
}

static void parts_run(copse_hybrid_call *call, uint64_t first, uint64_t last, void *user)
{
    bucket_parts *parts = user;
    const uint64_t n = last - first;
    parts->first = first;
    copse_parallel(call->handle.ctx, parts->threads, n, parts->chunk < n ? parts->chunk : n, part_run, parts);
}

static void run(copse_walked *walked, const copse_ctx *ctx, uint32_t threads, uint64_t n, uint64_t chunk,
                copse_chunk_fn part, void *job)
{
    (void)ctx;
    (void)n;
    bucket_parts parts = {threads, chunk, 0, part, job};
    buckets_run((copse_hybrid_call *)walked, parts_run, &parts);
}

/* --- calls that need all nodes --------------------------------------------------------------------------------------------- */

static void nodes_keep(copse_hybrid_call *call, uint64_t first, uint64_t last, void *user)
{
    (void)user;
    for (unsigned i = 0; i < 2 && i < call->sides && !call->failed; i++)
        memcpy(call->whole + i * call->n + first, call->walked.side[i].nodes, (last - first) * sizeof(uint32_t));
}

void copse_hybrid_walk_all(copse_hybrid_call *call)
{
    call->walked.run = NULL;
    call->whole = copse_memory_alloc(call->handle.ctx, copse_memory_product(call->n, call->sides * sizeof(uint32_t)));
    if (call->whole) buckets_run(call, nodes_keep, NULL);
    call->walked.first = 0;
    for (unsigned i = 0; i < 2; i++) {
        const bool there = i < call->sides && call->whole && !call->failed;
        call->walked.side[i].nodes = there ? call->whole + i * call->n : NULL;
    }
}

/* --- begin and end ----------------------------------------------------------------------------------------------------------- */

static copse_status slots_make(const copse_hybrid_call *call)
{
    copse_status status = copse_device_check(call->mirror->device);
    for (unsigned i = 0; status == COPSE_OK && i < call->slots; i++)
        status = copse_mirror_slot(call->mirror, i, slot_bytes(call));
    return status;
}

bool copse_hybrid_begin(copse_hybrid_call *call, const copse_index *index, uint64_t n, const void *keys, bool upper,
                        const void *highs)
{
    copse_mirror *mirror = copse_mirror_of(index);
    const copse_hybrid_tuning *tuning = &mirror->tuning;
    if (!mirror->current || n < tuning->least || pthread_mutex_trylock(&mirror->lock) != 0) return false;
    const bool in_turns = tuning->schedule == COPSE_SCHEDULE_SEQUENTIAL;
    const unsigned ahead = in_turns ? 1 : (unsigned)tuning->schedule - COPSE_SCHEDULE_SEQUENTIAL;
    /* Member by member: other threads may count references meanwhile. */
    const copse_index handle = {.ctx = index->ctx,
                                .key_type = index->key_type,
                                .value_type = index->value_type,
                                .duplicates = index->duplicates,
                                .version = index->version,
                                .description = index->description,
                                .placement = index->placement,
                                .calls = index->calls,
                                .by_width = index->by_width,
                                .placement_why = index->placement_why,
                                .read_only = index->read_only,
                                .tree = index->tree,
                                .mirror = index->mirror};
    *call = (copse_hybrid_call){.walked = {.side = {{keys, upper, NULL}, {highs, true, NULL}}, .run = run},
                                .handle = handle,
                                .mirror = mirror,
                                .sides = highs ? 2 : 1,
                                .n = n,
                                .bucket = tuning->bucket < n ? tuning->bucket : n,
                                .slots = in_turns ? 1 : ahead + 1,
                                .ahead = ahead};
    call->handle.walked = &call->walked;
    copse_kept_error before;
    copse_error_keep(&before);
    if (slots_make(call) == COPSE_OK) return true;
    copse_mirror_failed(mirror, &before);
    pthread_mutex_unlock(&mirror->lock);
    return false;
}

copse_status copse_hybrid_end(copse_hybrid_call *call, copse_status status)
{
    copse_device *device = call->mirror->device;
    copse_kept_error kept;
    copse_error_keep(&kept);
    for (unsigned i = 0; call->failed && i < call->slots; i++)
        (void)device->backend->wait(device, call->mirror->slot[i].stream);
    if (call->failed) copse_error_put_back(&kept);
    copse_memory_free(call->handle.ctx, call->whole, copse_memory_product(call->n, call->sides * sizeof(uint32_t)));
    pthread_mutex_unlock(&call->mirror->lock);
    return status;
}
