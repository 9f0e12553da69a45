/*
 * The pipeline proper: chunks on their way through slots.
 *
 *   host       | stage 0 | stage 1 | stage 2 | deliver 0, stage 3 | deliver 1, stage 4 | ...
 *   in                   | copy 0  | copy 1  | copy 2             | copy 3             | ...
 *   main                           | work 0  | work 1             | work 2             | ...
 *   out                                      | copy 0             | copy 1             | ...
 *
 * Chunk c uses slot c % slots, so it has to wait for chunk c - slots to be through. Where a chunk is staged, the host
 * waits for that, since it is about to overwrite the pinned memory. Where nothing is, the streams wait for each other and
 * the host puts all chunks on them at once.
 */
#include "transfer/internal.h"

#include "core/pool.h"

#include <string.h>

/* Arrays begin at multiples of this inside a slot, as memory from an allocator would. */
#define SLOT_ALIGNMENT 256u
/* Chunks are multiples of this many elements where the batch is long enough: kernels like full blocks. */
#define CHUNK_GRAIN 4096u
/* Smaller arrays are not worth pinning. */
#define SMALLEST_PIN (1u << 20)

typedef enum way {
    WAY_NONE,   /* there is no such array       */
    WAY_DEVICE, /* device memory: nothing to do */
    WAY_COPIED, /* pinned: copied by the device */
    WAY_STAGED  /* by threads through the slot  */
} way;

typedef struct plan {
    copse_transfer *transfer;
    const copse_transfer_job *job;
    copse_device *device;
    const copse_device_backend *backend;
    way ways[COPSE_TRANSFER_ARRAYS];
    uint64_t device_offset[COPSE_TRANSFER_ARRAYS], pinned_offset[COPSE_TRANSFER_ARRAYS]; /* inside a slot */
    uint64_t device_bytes, pinned_bytes;                                                 /* of a slot     */
    uint64_t chunk, chunks;
    unsigned slots;
    bool staged, inputs, outputs; /* whether any array is staged; is a host input, a host output */
    copse_transfer_pin pin[COPSE_TRANSFER_ARRAYS];
    bool pinned[COPSE_TRANSFER_ARRAYS]; /* by us: pin[i] is taken */
} plan;

/* --- the plan ------------------------------------------------------------------------------------------------------- */

static bool is_host(const plan *p, unsigned array)
{
    return p->ways[array] == WAY_COPIED || p->ways[array] == WAY_STAGED;
}

static way choose_way(plan *p, unsigned i, bool on_device)
{
    const copse_transfer_array *array = &p->job->array[i];
    if (!array->memory) return WAY_NONE;
    if (on_device) return WAY_DEVICE;
    uint64_t bytes = p->job->n * array->element;
    if (copse_transfer_is_pinned(p->device, array->memory, bytes)) return WAY_COPIED;
    if (p->transfer->settings.mode == COPSE_TRANSFER_REGISTERED && bytes >= SMALLEST_PIN)
        p->pinned[i] = copse_transfer_pin_take(p->device, array->memory, bytes, &p->pin[i]);
    return p->pinned[i] ? WAY_COPIED : WAY_STAGED;
}

static uint64_t choose_chunk(const plan *p)
{
    uint64_t row = 0, n = p->job->n;
    if (p->job->chunk) return p->job->chunk < n ? p->job->chunk : n;
    for (unsigned i = 0; i < p->job->arrays; i++) row += is_host(p, i) ? p->job->array[i].element : 0;
    if (row == 0) return n; /* no host array, so no slot: any chunk will do */
    uint64_t chunk = p->transfer->settings.chunk_bytes / row / CHUNK_GRAIN * CHUNK_GRAIN;
    if (chunk < CHUNK_GRAIN) chunk = CHUNK_GRAIN;
    /* A batch of few chunks is cut finer: with one chunk nothing would overlap. */
    uint64_t quarter = (n / 4 + CHUNK_GRAIN) / CHUNK_GRAIN * CHUNK_GRAIN;
    if (chunk > quarter) chunk = quarter;
    return chunk < n ? chunk : n;
}

static uint64_t take_space(uint64_t *end, uint64_t bytes)
{
    uint64_t at = *end;
    *end += (bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
    return at;
}

static void plan_make(plan *p, copse_transfer *transfer, const copse_transfer_job *job, const bool *on_device)
{
    memset(p, 0, sizeof *p);
    p->transfer = transfer;
    p->job = job;
    p->device = job->device;
    p->backend = job->device->backend;
    for (unsigned i = 0; i < job->arrays; i++) {
        p->ways[i] = choose_way(p, i, on_device[i]);
        p->staged |= p->ways[i] == WAY_STAGED;
        p->inputs |= is_host(p, i) && !job->array[i].output;
        p->outputs |= is_host(p, i) && job->array[i].output;
    }
    p->chunk = choose_chunk(p);
    p->chunks = (job->n + p->chunk - 1) / p->chunk;
    p->slots = p->chunks < transfer->settings.slots ? (unsigned)p->chunks : transfer->settings.slots;
    if (p->slots == 0) p->slots = 1; /* never, since n > 0; said for the analyzer */
    for (unsigned i = 0; i < job->arrays; i++) {
        uint64_t bytes = p->chunk * job->array[i].element;
        if (is_host(p, i) && !job->array[i].resident) p->device_offset[i] = take_space(&p->device_bytes, bytes);
        if (p->ways[i] == WAY_STAGED) p->pinned_offset[i] = take_space(&p->pinned_bytes, bytes);
    }
}

static void plan_end(plan *p)
{
    for (unsigned i = 0; i < p->job->arrays; i++) {
        if (p->pinned[i]) copse_transfer_pin_drop(p->device, &p->pin[i]);
    }
}

/* --- one chunk ------------------------------------------------------------------------------------------------------ */

typedef struct chunk {
    copse_transfer_slot *slot;
    uint64_t first, n;
} chunk;

static chunk chunk_of(const plan *p, uint64_t number)
{
    uint64_t first = number * p->chunk, rest = p->job->n - first;
    return (chunk){&p->transfer->slot[number % p->slots], first, rest < p->chunk ? rest : p->chunk};
}

static char *callers(const plan *p, unsigned i, uint64_t first)
{
    return (char *)p->job->array[i].memory + first * p->job->array[i].element;
}

/* Where the caller's side of a copy to or from the device lies: in the slot, or in the array itself. */
static char *host_side(const plan *p, unsigned i, const chunk *c)
{
    return p->ways[i] == WAY_STAGED ? c->slot->pinned + p->pinned_offset[i] : callers(p, i, c->first);
}

static char *device_side(const plan *p, unsigned i, const chunk *c)
{
    const copse_transfer_array *array = &p->job->array[i];
    if (p->ways[i] == WAY_NONE) return NULL;
    if (p->ways[i] == WAY_DEVICE) return callers(p, i, c->first);
    if (array->resident) return (char *)array->resident + c->first * array->element;
    return c->slot->device + p->device_offset[i];
}

/* Adds the copies between the caller's arrays and the slot to a list: of outputs or of inputs. */
static unsigned list_staging(const plan *p, const chunk *c, bool outputs, copse_transfer_copy *list)
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->job->arrays; i++) {
        if (p->ways[i] != WAY_STAGED || p->job->array[i].output != outputs) continue;
        char *array = callers(p, i, c->first), *slot = host_side(p, i, c);
        uint64_t bytes = c->n * p->job->array[i].element;
        list[count++] = outputs ? (copse_transfer_copy){array, slot, bytes} : (copse_transfer_copy){slot, array, bytes};
    }
    return count;
}

/* Brings the outputs of chunk `going` to the caller and the inputs of chunk `coming` into the same slot. Either may be
 * NULL. The device is through with `going` when this begins. */
static void stage(const plan *p, const chunk *going, const chunk *coming)
{
    copse_transfer_copy list[COPSE_TRANSFER_ARRAYS];
    unsigned count = going ? list_staging(p, going, true, list) : 0;
    if (coming) count += list_staging(p, coming, false, list + count);
    copse_transfer_copies(p->device->ctx, list, count, p->transfer->settings.streaming);
}

static copse_status copy_arrays(const plan *p, const chunk *c, bool outputs)
{
    copse_stream *stream = outputs ? p->transfer->out : p->transfer->in;
    copse_status status = COPSE_OK;
    for (unsigned i = 0; status == COPSE_OK && i < p->job->arrays; i++) {
        if (!is_host(p, i) || p->job->array[i].output != outputs) continue;
        char *host = host_side(p, i, c), *device = device_side(p, i, c);
        uint64_t bytes = c->n * p->job->array[i].element;
        status = outputs ? copse_device_copy(p->device, stream, host, device, bytes)
                         : copse_device_copy(p->device, stream, device, host, bytes);
    }
    return status;
}

static copse_status submit_inputs(const plan *p, const chunk *c, bool reused)
{
    copse_status status = COPSE_OK;
    if (reused && !p->staged) status = p->backend->stream_follow(p->device, p->transfer->in, c->slot->worked);
    if (status == COPSE_OK) status = copy_arrays(p, c, false);
    if (status == COPSE_OK) status = p->backend->event_record(p->device, c->slot->arrived, p->transfer->in);
    if (status == COPSE_OK) status = p->backend->stream_follow(p->device, p->device->main, c->slot->arrived);
    return status;
}

static copse_status submit_work(const plan *p, const chunk *c, bool reused)
{
    copse_status status = COPSE_OK;
    void *memory[COPSE_TRANSFER_ARRAYS] = {NULL};
    for (unsigned i = 0; i < p->job->arrays; i++) memory[i] = device_side(p, i, c);
    if (reused && !p->staged && p->outputs)
        status = p->backend->stream_follow(p->device, p->device->main, c->slot->left);
    if (status == COPSE_OK && p->job->work)
        status = p->job->work(p->job->user, p->device->main, c->first, c->n, memory);
    if (status == COPSE_OK) status = p->backend->event_record(p->device, c->slot->worked, p->device->main);
    return status;
}

static copse_status submit_outputs(const plan *p, const chunk *c)
{
    copse_status status = p->backend->stream_follow(p->device, p->transfer->out, c->slot->worked);
    if (status == COPSE_OK) status = copy_arrays(p, c, true);
    if (status == COPSE_OK) status = p->backend->event_record(p->device, c->slot->left, p->transfer->out);
    return status;
}

/* Puts a chunk on the streams. `reused`: another chunk of this job was in the slot. */
static copse_status submit(const plan *p, const chunk *c, bool reused)
{
    copse_status status = p->inputs ? submit_inputs(p, c, reused) : COPSE_OK;
    if (status == COPSE_OK) status = submit_work(p, c, reused);
    if (status == COPSE_OK && p->outputs) status = submit_outputs(p, c);
    return status;
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

/* Rounds 0 .. chunks + slots: in each a chunk comes, or one goes, or both, through the same slot. */
static copse_status run_round(const plan *p, uint64_t round)
{
    bool comes = round < p->chunks, goes = round >= p->slots;
    chunk coming = {0}, going = {0};
    if (comes) coming = chunk_of(p, round);
    if (goes) going = chunk_of(p, round - p->slots);
    copse_status status = COPSE_OK;
    if (p->staged) {
        if (goes) status = p->backend->event_wait(p->device, p->outputs ? going.slot->left : going.slot->worked);
        if (status == COPSE_OK) stage(p, goes ? &going : NULL, comes ? &coming : NULL);
    }
    if (status == COPSE_OK && comes) status = submit(p, &coming, goes);
    return status;
}

/* Gives the slots memory: enough for any other job at once, since getting pinned memory takes long. */
static copse_status reserve_slots(const plan *p)
{
    uint64_t most = p->job->chunk ? 0 : p->transfer->settings.chunk_bytes + COPSE_TRANSFER_ARRAYS * SLOT_ALIGNMENT;
    uint64_t device_bytes = p->device_bytes && p->device_bytes < most ? most : p->device_bytes;
    uint64_t pinned_bytes = p->pinned_bytes && p->pinned_bytes < most ? most : p->pinned_bytes;
    copse_status status = COPSE_OK;
    for (unsigned i = 0; status == COPSE_OK && i < p->slots; i++)
        status = copse_transfer_slot_reserve(p->device, &p->transfer->slot[i], device_bytes, pinned_bytes);
    return status;
}

static copse_status begin(const plan *p)
{
    copse_status status = reserve_slots(p);
    /* What was put on main before may write what is copied now, or free what the slots are made of. */
    if (status == COPSE_OK) status = p->backend->event_record(p->device, p->transfer->begun, p->device->main);
    if (status == COPSE_OK) status = p->backend->stream_follow(p->device, p->transfer->in, p->transfer->begun);
    return status;
}

copse_status copse_transfer_finish(copse_transfer *transfer, copse_device *device, copse_status status)
{
    copse_stream *const streams[] = {device->main, transfer ? transfer->in : NULL, transfer ? transfer->out : NULL};
    copse_kept_error first;
    copse_error_keep(&first);
    bool failed = status != COPSE_OK;
    for (unsigned i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (!streams[i]) continue;
        /* Not copse_device_wait: that would not wait for a device with a fault. */
        copse_status waited = device->backend->wait(device, streams[i]);
        if (status == COPSE_OK) status = waited;
    }
    if (failed) copse_error_put_back(&first);
    return status;
}

copse_status copse_transfer_pipeline(copse_transfer *transfer, const copse_transfer_job *job, const bool *on_device)
{
    plan p;
    plan_make(&p, transfer, job, on_device);
    copse_pool *pool = job->device->ctx->pool;
    copse_status status = begin(&p);
    copse_pool_alert_begin(pool); /* the threads that stage a chunk are wanted again for the next one */
    for (uint64_t round = 0; status == COPSE_OK && round < p.chunks + p.slots; round++) status = run_round(&p, round);
    copse_pool_alert_end(pool);
    status = copse_transfer_finish(transfer, job->device, status);
    plan_end(&p);
    return status;
}
