/* Point reads of the radix tree on a device. */
#include "gpu/call.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* Keys of one chunk of a batch in host memory, and the bytes that it may have: enough to keep the link busy, small enough that copies and
 * kernels overlap. */
#define CHUNK_KEYS  (UINT64_C(1) << 19)
#define CHUNK_BYTES (UINT64_C(32) << 20)
/* Where the device has no memory for a batch, no piece of it has fewer keys. */
#define FEWEST_KEYS UINT64_C(256)

/* A batch of lookups on its way. */
typedef struct find_call {
    const copse_index *index;
    copse_radix_input *input;
    copse_radix_find_arguments arguments;
    copse_radix_apart *apart; /* NULL: all leaves are on the device */
    bool chunked;             /* the bytes of keys go there chunk by chunk, through two rooms in turns: */
    unsigned char *room[2];   /* device memory for those of one chunk                                   */
    copse_stream *copies;     /* on which they go, while kernels work on the chunk before               */
    copse_event *arrived[2], *worked[2];
    uint64_t turn;
} find_call;

enum { FIND_OFFSETS, FIND_VALUES, FIND_FOUND, FIND_ARRAYS };

/* Brings the bytes of a chunk; `stream` waits for them. Its room is free once the kernel of the chunk before the last is through. */
static copse_status chunk_bring(find_call *call, copse_stream *stream, uint64_t first)
{
    copse_device *device = call->index->device;
    const copse_device_backend *backend = device->backend;
    copse_radix_strings *keys = &call->arguments.keys;
    const unsigned turn = call->turn % 2;
    copse_status status = COPSE_OK;
    keys->low = copse_radix_input_offset(call->input, first);
    keys->high = keys->end;
    keys->data = call->room[turn];
    if (call->turn >= 2) status = backend->stream_follow(device, call->copies, call->worked[turn]);
    if (status == COPSE_OK)
        status =
            copse_device_copy(device, call->copies, call->room[turn], (const char *)call->input->bytes.data + keys->low,
                              (uint64_t)(keys->high - keys->low));
    if (status == COPSE_OK) status = backend->event_record(device, call->arrived[turn], call->copies);
    return status == COPSE_OK ? backend->stream_follow(device, stream, call->arrived[turn]) : status;
}

/* The stream and events of a batch that goes in chunks; the rooms are memory of the main stream. */
static copse_status chunks_open(find_call *call)
{
    copse_device *device = call->index->device;
    const copse_device_backend *backend = device->backend;
    copse_status status = backend->stream_create(device, &call->copies);
    for (unsigned i = 0; i < 2 && status == COPSE_OK; i++) {
        status = backend->event_create(device, &call->arrived[i]);
        if (status == COPSE_OK) status = backend->event_create(device, &call->worked[i]);
    }
    if (status == COPSE_OK) status = backend->event_record(device, call->worked[0], device->main);
    return status == COPSE_OK ? backend->stream_follow(device, call->copies, call->worked[0]) : status;
}

static void chunks_close(find_call *call)
{
    copse_device *device = call->index->device;
    const copse_device_backend *backend = device->backend;
    copse_kept_error kept;
    if (!call->copies) return;
    copse_error_keep(&kept);
    (void)backend->wait(device, call->copies); /* after a failure something may be under way */
    copse_error_put_back(&kept);
    for (unsigned i = 0; i < 2; i++) {
        if (call->arrived[i]) backend->event_free(device, call->arrived[i]);
        if (call->worked[i]) backend->event_free(device, call->worked[i]);
    }
    backend->stream_free(device, call->copies);
}

/* Puts the lookups of a chunk on the stream: copse_transfer_work. */
static copse_status find_launch(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    find_call *call = user;
    copse_device *device = call->index->device;
    copse_radix_find_arguments *a = &call->arguments;
    copse_radix_strings *keys = &a->keys;
    copse_status status = COPSE_OK;
    a->n = n;
    a->values = memory[FIND_VALUES];
    a->found = memory[FIND_FOUND];
    keys->offsets = memory[FIND_OFFSETS];
    keys->first = call->input->first + first;
    if (!call->input->offsets_there) keys->end = copse_radix_input_offset(call->input, first + n);
    if (call->chunked) status = chunk_bring(call, stream, first);
    const copse_radix_kernels *kernels = copse_radix_kernels_on(device);
    if (status == COPSE_OK)
        status = copse_device_launch(device, stream, call->apart ? &kernels->find_apart : &kernels->find,
                                     (n + COPSE_RADIX_THREADS - 1) / COPSE_RADIX_THREADS, a);
    if (status == COPSE_OK && call->chunked)
        status = device->backend->event_record(device, call->worked[call->turn++ % 2], stream);
    return status == COPSE_OK && call->apart ? call->apart->meanwhile(call->apart->user) : status;
}

/* The most bytes of a chunk. */
static uint64_t chunk_most(const copse_radix_input *input, uint64_t chunk)
{
    uint64_t most = 1;
    for (uint64_t first = 0; first < input->n; first += chunk) {
        const uint64_t last = input->n - first < chunk ? input->n : first + chunk;
        const uint64_t bytes =
            (uint64_t)(copse_radix_input_offset(input, last) - copse_radix_input_offset(input, first));
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Brings the bytes of keys to the device, or makes room through which pinned ones go chunk by chunk. */
static copse_status data_open(find_call *call, uint64_t *chunk, copse_scratch *scratch)
{
    copse_device *device = call->index->device;
    copse_radix_input *input = call->input;
    const copse_bytes *bytes = &input->bytes;
    copse_radix_strings *keys = &call->arguments.keys;
    void *room = NULL;
    *keys = (copse_radix_strings){
        .high = (int64_t)bytes->size, .data = bytes->data, .end = -1, .wide = bytes->offset_bits == 64};
    if (!bytes->data) keys->data = bytes->offsets; /* all keys are empty; an address all the same */
    if (input->data_there || !bytes->size) return COPSE_OK;
    if (!input->offsets_there) {
        keys->low = copse_radix_input_offset(input, 0);
        keys->high = copse_radix_input_offset(input, input->n);
    }
    const char *from = (const char *)bytes->data + keys->low;
    uint64_t size = (uint64_t)(keys->high - keys->low);
    const bool chunked = !input->offsets_there && size > CHUNK_BYTES && copse_transfer_is_pinned(device, from, size);
    if (chunked) {
        const uint64_t each = size / input->n + 1; /* the length of most */
        *chunk = CHUNK_BYTES / each < CHUNK_KEYS ? CHUNK_BYTES / each : CHUNK_KEYS;
        if (*chunk == 0) *chunk = 1;
        size = chunk_most(input, *chunk);
    }
    call->chunked = chunked;
    const copse_scratch_array arrays[] = {{&room, size + 16}, {(void **)&call->room[1], chunked ? size + 16 : 0}};
    copse_status status = copse_scratch_take(device, "the keys", arrays, 2, scratch);
    call->room[0] = room;
    keys->data = room;
    if (status == COPSE_OK && chunked)
        status = chunks_open(call);
    else if (status == COPSE_OK && size)
        status = copse_transfer_to_device(device, room, from, size);
    return status;
}

static copse_status report_unsound(const copse_ctx *ctx, const char *call, const uint64_t *words)
{
    (void)call;
    if (words[COPSE_RADIX_UNSOUND] == UINT64_MAX) return COPSE_OK;
    return copse_fail_argument(ctx, "keys", "keys: the offsets of key %llu fall, pass keys->size, or are too far apart",
                               (unsigned long long)words[COPSE_RADIX_UNSOUND]);
}

/* What kernels found wrong: at once where the call waits, else for copse_ctx_synchronize. */
static copse_status find_end(const find_call *call, int report, copse_status status, bool waits)
{
    const copse_index *index = call->index;
    uint64_t words[COPSE_REPORT_WORDS];
    if (status == COPSE_OK && !waits) {
        copse_report_defer(index->device, report, report_unsound, "");
        return COPSE_OK;
    }
    copse_status read = copse_report_read(index->device, report, words);
    if (status != COPSE_OK || read != COPSE_OK) return status != COPSE_OK ? status : read;
    if (words[COPSE_RADIX_UNSOUND] == UINT64_MAX) return COPSE_OK;
    return copse_radix_input_fail(index, call->input, words[COPSE_RADIX_UNSOUND]);
}

copse_status copse_radix_find_run(const copse_index *index, copse_radix_input *input, void *values, uint8_t *found,
                                  copse_radix_apart *apart)
{
    const copse_bytes *bytes = &input->bytes;
    copse_scratch scratch = {0};
    int report;
    find_call call = {
        .index = index, .input = input, .apart = apart, .arguments.tree = copse_radix_device_of(index)->view};
    copse_transfer_job job = {
        .device = index->device,
        .array = {{.memory = bytes->offsets, .element = bytes->offset_bits / 8, .name = "keys"},
                  {.memory = values, .element = call.arguments.tree.width, .output = true, .name = "out_values"},
                  {.memory = found, .element = 1, .output = true, .name = "out_found"}},
        .arrays = FIND_ARRAYS,
        .n = input->n,
        .work = find_launch,
        .user = &call};
    const void *all[] = {bytes->offsets, bytes->size ? bytes->data : NULL, values, found};
    const bool waits = apart || copse_call_waits(index, all, 4);
    copse_status status = data_open(&call, &job.chunk, &scratch);
    if (apart) {
        call.arguments.rest = apart->rest;
        call.arguments.rest_n = apart->rest_n;
        call.arguments.long_skipped = apart->long_skipped;
    }
    if (status == COPSE_OK) status = copse_report_take(index->device, &report, &call.arguments.report);
    if (status == COPSE_OK) status = find_end(&call, report, copse_transfer_run(&job), waits);
    chunks_close(&call);
    copse_scratch_free(index->device, &scratch);
    return status;
}

bool copse_radix_find_fewer(const copse_radix_input *input, copse_status status, uint64_t *each)
{
    if (status != COPSE_ERR_MEMORY || input->offsets_there || *each <= FEWEST_KEYS) return false;
    *each /= 2;
    return true;
}

copse_radix_input copse_radix_input_piece(const copse_radix_input *input, uint64_t first, uint64_t most)
{
    copse_radix_input piece = *input;
    piece.first = first;
    piece.n = input->n - first < most ? input->n - first : most;
    piece.bytes.offsets = (char *)input->bytes.offsets + first * (input->bytes.offset_bits / 8);
    return piece;
}

/* The whole batch at once, or in pieces where the device has no room for it. */
static copse_status find_all(const copse_index *index, const copse_radix_input *input, char *values, uint8_t *found)
{
    const uint64_t width = copse_radix_device_of(index)->view.width;
    uint64_t each = input->n, first = 0;
    copse_status status = COPSE_OK;
    copse_kept_error kept;
    copse_error_keep(&kept);
    do {
        copse_radix_input piece = copse_radix_input_piece(input, first, each);
        status = copse_radix_find_run(index, &piece, values ? values + first * width : NULL,
                                      found ? found + first : NULL, NULL);
        if (status == COPSE_OK) first += piece.n;
    } while (status == COPSE_OK ? first < input->n : copse_radix_find_fewer(input, status, &each));
    if (status == COPSE_OK) copse_error_put_back(&kept);
    return status;
}

copse_status copse_radix_device_find(const copse_index *index, const void *keys, uint64_t n, void *values,
                                     uint8_t *found)
{
    copse_radix_input input;
    copse_status status = copse_radix_input_look(index, "keys", keys, n, &input);
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    return copse_radix_device_of(index)->marks.without ? copse_radix_host_find(index, &input, keys, values, found)
                                                       : find_all(index, &input, values, found);
}

/* --- neighbours ----------------------------------------------------------------------------------------------------------- */

static copse_status neighbours_run(const copse_index *index, copse_radix_input *input, copse_neighbour which,
                                   copse_radix_output *out)
{
    copse_device *device = index->device;
    const uint64_t n = input->n;
    copse_radix_neighbour_arguments a = {
        .tree = copse_radix_device_of(index)->view, .which = (uint32_t)which, .to.n = n};
    const copse_scratch_array arrays[] = {{(void **)&a.to.links, n * sizeof(uint64_t)},
                                          {(void **)&a.to.sizes, (n + 1) * sizeof(uint64_t)}};
    copse_scratch scratch = {0};
    uint64_t words[COPSE_REPORT_WORDS];
    int report;
    copse_status status = copse_radix_input_bring(index, input);
    if (status == COPSE_OK) status = copse_scratch_take(device, "the entries", arrays, 2, &scratch);
    a.keys = input->strings;
    if (status == COPSE_OK) status = copse_report_take(device, &report, &a.report);
    if (status == COPSE_OK) {
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->neighbours,
                                     copse_device_blocks(device, n), &a);
        const copse_status read = copse_report_read(device, report, words);
        if (status == COPSE_OK) status = read;
        if (status == COPSE_OK && words[COPSE_RADIX_UNSOUND] != UINT64_MAX)
            status = copse_radix_input_fail(index, input, words[COPSE_RADIX_UNSOUND]);
    }
    if (status == COPSE_OK) status = copse_radix_output_give(index, out, &a.to);
    copse_scratch_free(device, &scratch);
    return status;
}

copse_status copse_radix_device_neighbours(const copse_index *index, const void *keys, uint64_t n,
                                           copse_neighbour which, void *out_keys, void *out_values, uint8_t *out_found,
                                           uint64_t *out_ranks)
{
    copse_radix_input input;
    copse_radix_output out;
    if (copse_radix_device_of(index)->marks.without)
        return copse_radix_host_neighbours(index, keys, n, which, out_keys, out_values, out_found, out_ranks);
    copse_status status = copse_radix_input_look(index, "keys", keys, n, &input);
    if (status == COPSE_OK && out_ranks)
        status =
            copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "out_ranks is not NULL, but the radix tree has no ranks");
    if (status == COPSE_OK) status = copse_radix_output_look(index, out_keys, out_values, out_found, &out);
    (void)copse_promise_end(COPSE_OK); /* it is known now where all arrays are */
    if (status == COPSE_OK) status = copse_radix_mirror_ready(index);
    if (status != COPSE_OK) return status;
    status = neighbours_run(index, &input, which, &out);
    copse_scratch_free(index->device, &input.scratch);
    return status;
}
