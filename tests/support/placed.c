#include "placed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "trees/blink/tree.h"
#include "random.h"
#include "typed.h"

#define GUARD_BYTES 48u
#define GUARD_BYTE  0x5c

const char *placed_memory_name(enum placed_memory memory)
{
    static const char *const names[PLACED_MEMORIES] = {"host", "pinned", "device", "mixed"};
    return names[memory];
}

/* The tests cannot go on without their arrays, and these are not the library's to report. */
static void need(copse_device *device, bool good, const char *what)
{
    if (good) return;
    (void)fprintf(stderr, "test support: cannot %s: %s\n", what, copse_last_error(device ? device->ctx : NULL));
    abort();
}

copse_device *placed_device(copse_ctx *ctx, copse_placement placement)
{
    copse_device *device = NULL;
    if (placement == COPSE_PLACEMENT_HYBRID) placement = COPSE_PLACEMENT_GPU;
    if (placement == COPSE_PLACEMENT_HYBRID_EMULATED) placement = COPSE_PLACEMENT_EMULATED;
    if (placement != COPSE_PLACEMENT_GPU && placement != COPSE_PLACEMENT_EMULATED) return NULL;
    /* one that faulted is still there to be taken apart */
    if (copse_device_get(ctx, placement, &device) == COPSE_OK || device) return device;
    (void)fprintf(stderr, "test support: no device: %s\n", copse_last_error(ctx));
    abort();
}

copse_blink_tuning *placed_tuning(const copse_index *index)
{
    const copse_structure structure = index->description->structure;
    if (structure != COPSE_STRUCTURE_BLINK && structure != COPSE_STRUCTURE_BPLUS) return NULL;
    return &copse_blink_handle_of(index)->tree->tuning;
}

const char *const placed_strategies[PLACED_STRATEGIES] = {
    "unsorted",         "coarse-rebuild",   "bucket-sort", "sorted-in-place", "independent-rebuild",
    "lookback-rebuild", "leafwise-rebuild", "append"};

static enum placed_memory choose(const struct placed_call *call, unsigned which)
{
    static const enum placed_memory choices[] = {PLACED_HOST, PLACED_PINNED, PLACED_DEVICE, PLACED_DEVICE};
    enum placed_memory memory = call->memory;
    if (memory == PLACED_MIXED) memory = choices[call->places >> 2 * which & 3];
    if (!call->device || (memory == PLACED_DEVICE && !call->reachable)) return PLACED_HOST;
    return memory;
}

static void *allocate(copse_device *device, enum placed_memory memory, uint64_t size)
{
    void *base = NULL;
    if (memory == PLACED_HOST) return must_malloc(size);
    int before = device->backend->enter(device);
    if (memory == PLACED_PINNED) {
        base = device->backend->pinned_alloc(device, size);
        need(device, base != NULL, "pin memory");
    } else {
        need(device, copse_device_alloc(device, device->main, size, "an array of the tests", &base) == COPSE_OK,
             "allocate device memory");
    }
    device->backend->leave(device, before);
    return base;
}

static void release(copse_device *device, struct placed *array)
{
    if (array->memory == PLACED_HOST) {
        free(array->base);
        return;
    }
    int before = device->backend->enter(device);
    if (array->memory == PLACED_PINNED)
        device->backend->pinned_free(device, array->base, array->size);
    else
        copse_device_free(device, device->main, array->base, array->size);
    device->backend->leave(device, before);
}

/* Copies between ordinary memory and an array of any kind; false where the device failed. */
static bool move(copse_device *device, enum placed_memory memory, void *to, const void *from, uint64_t bytes)
{
    if (memory != PLACED_DEVICE) {
        memcpy(to, from, bytes);
        return true;
    }
    int before = device->backend->enter(device);
    bool moved = copse_device_copy(device, device->main, to, from, bytes) == COPSE_OK &&
                 copse_device_wait(device, device->main) == COPSE_OK;
    device->backend->leave(device, before);
    return moved;
}

static void *place(struct placed_call *call, void *host, uint64_t n, size_t element, bool output)
{
    unsigned which = call->n++;
    if (which >= PLACED_ARRAYS) abort();
    if (element == 0) host = NULL; /* of a set */
    struct placed *array = &call->arrays[which];
    *array = (struct placed){.host = host, .given = host, .bytes = n * element, .output = output};
    if (!host || !n || !call->device) return host;
    struct random_source random = {call->places + UINT64_C(0x100000000) * which};
    uint64_t draw = call->places ? random_next(&random) : 0;
    uint64_t shift = (draw & 3) * element;
    array->memory = choose(call, which);
    array->guarded = (draw & 4) != 0;
    if (array->memory == PLACED_HOST && !shift && !array->guarded) return host;
    array->size = shift + array->bytes + (array->guarded ? GUARD_BYTES : 0);
    array->base = allocate(call->device, array->memory, array->size);
    array->given = (char *)array->base + shift;
    char *image = must_malloc(array->bytes + GUARD_BYTES);
    memcpy(image, host, array->bytes);
    memset(image + array->bytes, GUARD_BYTE, GUARD_BYTES);
    need(call->device, move(call->device, array->memory, array->given, image, array->size - shift), "copy an array");
    free(image);
    return array->given;
}

const void *placed_input(struct placed_call *call, const void *host, uint64_t n, size_t element)
{
    return place(call, (void *)(uintptr_t)host, n, element, false);
}

void *placed_output(struct placed_call *call, void *host, uint64_t n, size_t element)
{
    return place(call, host, n, element, true);
}

static const char *end_one(struct placed_call *call, struct placed *array)
{
    const char *wrong = NULL;
    uint64_t bytes = array->bytes + (array->guarded ? GUARD_BYTES : 0);
    char *image = must_malloc(bytes);
    bool moved = move(call->device, array->memory, image, array->given, bytes);
    if (!moved) wrong = "an array cannot be brought back from the device";
    for (uint64_t i = array->bytes; moved && i < bytes; i++)
        if (image[i] != GUARD_BYTE) wrong = "a byte behind an array was written";
    if (moved && array->output)
        memcpy(array->host, image, array->bytes);
    else if (moved && memcmp(array->host, image, array->bytes) != 0)
        wrong = "an input array was changed";
    free(image);
    release(call->device, array);
    return wrong;
}

const char *placed_end(struct placed_call *call)
{
    const char *wrong = NULL;
    for (unsigned i = 0; i < call->n; i++) {
        const char *other = call->arrays[i].base ? end_one(call, &call->arrays[i]) : NULL;
        if (other) wrong = other;
    }
    call->n = 0;
    return wrong;
}
