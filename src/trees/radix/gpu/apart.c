/*
 * Leaves of a radix tree on a device that are in host memory only: those of long keys where that is asked for or the device has no room
 * for them, all where it has no room for those either. The device has all nodes, so that a lookup goes down there; what arrives at such a leaf is
 * left to the CPU, with the link. A batch goes in pieces: the CPU finishes one while the device has the next.
 */
#include "gpu/call.h"
#include "gpu/sort.h"
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

#define LONG_LEAVES (1u << COPSE_RADIX_LEAF_LONG)
#define ALL_LEAVES                                                                                                     \
    (1u << COPSE_RADIX_LEAF8 | 1u << COPSE_RADIX_LEAF16 | 1u << COPSE_RADIX_LEAF32 | 1u << COPSE_RADIX_LEAF_LONG)

/* --- which leaves ------------------------------------------------------------------------------------------------------------ */

uint32_t copse_radix_apart_first(const copse_index *index)
{
    return index->long_keys == COPSE_LONG_KEYS_LINKED || index->long_keys == COPSE_LONG_KEYS_CPU ? LONG_LEAVES : 0;
}

bool copse_radix_apart_more(const copse_index *index, uint32_t *without)
{
    if (index->long_keys == COPSE_LONG_KEYS_CARD || *without == ALL_LEAVES) return false;
    *without = *without ? ALL_LEAVES : LONG_LEAVES;
    return true;
}

bool copse_radix_retreat(copse_index *index, copse_status status)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_device *device = index->device;
    uint32_t without = tree->marks.without;
    copse_kept_error kept;
    if (status != COPSE_ERR_MEMORY || !copse_radix_apart_more(index, &without)) return false;
    copse_error_keep(&kept);
    if (copse_radix_values_fetch(index) != COPSE_OK) {
        copse_error_put_back(&kept);
        return false;
    }
    tree->marks.without = without;
    for (uint32_t type = COPSE_RADIX_LEAF8; type < COPSE_RADIX_TYPES; type++) {
        if (!copse_radix_is_apart(tree, type)) continue;
        copse_device_free(device, device->main, tree->view.pool[type], tree->bytes[type]);
        tree->view.pool[type] = NULL;
        tree->bytes[type] = 0;
        if (tree->marks.words[type]) memset(tree->marks.bits[type], 0, tree->marks.words[type] * sizeof(uint64_t));
    }
    copse_radix_spares_free(index, tree); /* the host has all that is free */
    return true;
}

/* --- finds ------------------------------------------------------------------------------------------------------------------- */

/* A batch on its way. */
typedef struct apart_call {
    const copse_index *index;
    copse_index host;
    copse_byte_keys keys;
    uint32_t width;
    char *values;
    uint8_t *found;
    bool values_there, found_there; /* in device memory */
    copse_radix_apart left;         /* by the piece that the device has */
    /* What the piece before has left, and its answers: in host memory, and on their way to the caller in device memory. */
    copse_radix_rest *rest;
    uint64_t n;
    bool answered;
    char *answers;
    uint8_t *there;
    copse_radix_rest *rest_sent;
    void *answers_sent;
    uint8_t *there_sent;
    void *memory;
    size_t memory_bytes;
    copse_scratch scratch;
} apart_call;

static copse_status apart_open(apart_call *call, uint64_t piece)
{
    const copse_ctx *ctx = call->index->ctx;
    const bool sends = call->values_there || call->found_there;
    const copse_scratch_array arrays[] = {{(void **)&call->left.rest, piece * sizeof *call->rest},
                                          {(void **)&call->left.rest_n, sizeof *call->left.rest_n},
                                          {(void **)&call->rest_sent, sends ? piece * sizeof *call->rest : 0},
                                          {&call->answers_sent, sends ? piece * call->width : 0},
                                          {(void **)&call->there_sent, sends ? piece : 0}};
    call->memory_bytes = piece * (sizeof *call->rest + 8 + 1);
    call->memory = copse_memory_alloc(ctx, call->memory_bytes);
    if (!call->memory) return copse_fail_memory(ctx, call->memory_bytes, "the keys");
    call->rest = call->memory;
    call->answers = (char *)(call->rest + piece);
    call->there = (uint8_t *)call->answers + 8 * piece;
    return copse_scratch_take(call->index->device, "the keys", arrays, 5, &call->scratch);
}

/* What the CPU does while the device has the next piece. */
static copse_status answer(void *user)
{
    apart_call *call = user;
    if (call->n && !call->answered)
        copse_radix_find_rest(&call->host, &call->keys, call->rest, call->n, call->width ? call->answers : NULL,
                              call->there);
    call->answered = true;
    return COPSE_OK;
}

static copse_status answers_send(apart_call *call)
{
    copse_device *device = call->index->device;
    const copse_radix_scatter_arguments a = {.rest = call->rest_sent,
                                             .n = call->n,
                                             .width = call->width,
                                             .answers = call->answers_sent,
                                             .there = call->there_sent,
                                             .values = call->values_there ? call->values : NULL,
                                             .found = call->found_there ? call->found : NULL};
    copse_status status = copse_transfer_to_device(device, call->rest_sent, call->rest, call->n * sizeof *call->rest);
    if (status == COPSE_OK && call->width)
        status = copse_transfer_to_device(device, call->answers_sent, call->answers, call->n * call->width);
    if (status == COPSE_OK) status = copse_transfer_to_device(device, call->there_sent, call->there, call->n);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->scatter,
                                     copse_device_blocks(device, call->n), &a);
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

/* Gives the caller what the CPU has found out. The device has nothing of the batch meanwhile. */
static copse_status answers_give(apart_call *call)
{
    copse_status status = answer(call);
    for (uint64_t i = 0; i < call->n; i++) {
        const uint64_t to = call->rest[i].position;
        if (call->found && !call->found_there) call->found[to] = call->there[i];
        if (call->values && !call->values_there)
            memcpy(call->values + to * call->width, call->answers + i * call->width, call->width);
    }
    if (call->n && (call->values_there || call->found_there)) status = answers_send(call);
    call->n = 0;
    return status;
}

/* A piece of a batch on the device; then the answers to what the one before it has left, and what this one leaves. */
static copse_status piece_run(apart_call *call, copse_radix_input *piece)
{
    copse_device *device = call->index->device;
    const uint64_t first = piece->first;
    uint64_t n = 0;
    copse_status status = copse_device_fill(device, device->main, call->left.rest_n, 0, sizeof n);
    if (status == COPSE_OK)
        status = copse_radix_find_run(call->index, piece, call->values ? call->values + first * call->width : NULL,
                                      call->found ? call->found + first : NULL, &call->left);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &n, call->left.rest_n, sizeof n);
    if (status == COPSE_OK) status = answers_give(call);
    if (status == COPSE_OK && n)
        status = copse_transfer_to_host(device, call->rest, call->left.rest, n * sizeof *call->rest);
    call->n = n;
    call->answered = false;
    return status;
}

/* All pieces of a batch, each of so many lookups. */
static copse_status pieces_run(apart_call *call, const copse_radix_input *input, uint64_t each)
{
    copse_status status = apart_open(call, each);
    for (uint64_t first = 0; first < input->n && status == COPSE_OK; first += each) {
        copse_radix_input piece = copse_radix_input_piece(input, first, each);
        status = piece_run(call, &piece);
    }
    if (status == COPSE_OK) status = answers_give(call);
    copse_scratch_free(call->index->device, &call->scratch);
    copse_memory_free(call->index->ctx, call->memory, call->memory_bytes);
    call->n = 0;
    return status;
}

copse_status copse_radix_find_apart(const copse_index *index, copse_radix_input *input, const copse_bytes *keys,
                                    void *values, uint8_t *found)
{
    const copse_radix_device *tree = copse_radix_device_of(index);
    const uint64_t n = input->n;
    uint64_t each = n < tree->piece ? n : tree->piece;
    apart_call call = {.index = index,
                       .host = copse_radix_host(index),
                       .width = tree->view.width,
                       .values = values,
                       .found = found,
                       .left = {.long_skipped = index->long_keys == COPSE_LONG_KEYS_CPU, .meanwhile = answer}};
    copse_radix_input there = *input;
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &call.keys);
    if (status == COPSE_OK && values) status = copse_call_array(index, values, "out_values", &call.values_there);
    if (status == COPSE_OK && found) status = copse_call_array(index, found, "out_found", &call.found_there);
    if (status != COPSE_OK) return status;
    call.left.user = &call;
    there.offsets_there = false;
    there.bytes.offsets = keys->offsets;
    do status = pieces_run(&call, &there, each);
    while (copse_radix_find_fewer(&there, status, &each));
    if (status == COPSE_OK) copse_error_put_back(&kept);
    return status;
}
