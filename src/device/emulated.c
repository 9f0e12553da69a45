/*
 * The emulated device: its memory is memory of the process, its streams do all work at once, and the emulator runs its
 * kernels. There are as many devices as a context may ask for by number, so that tests can pass memory of another device.
 */
#define _GNU_SOURCE
#include "device/device.h"
#include "device/emulated_memory.h"
#include "simt/emulator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES         64
#define MULTIPROCESSORS 4u   /* few, so that kernels which fill the device go round their loops */
#define GARBAGE         0xA5 /* fills new memory: a card's memory is not zero either */

struct copse_stream {
    uint64_t launches; /* each launch of a seeded run gets an order of its own */
};
struct copse_event {
    char unused;
};

/* --- which devices there are ----------------------------------------------------------------------------------------- */

static int emulated_count(const char **out_why)
{
    *out_why = "";
    return DEVICES;
}

static uint64_t memory_of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
}

static void emulated_describe(int number, copse_device_info *out)
{
    memset(out, 0, sizeof *out);
    (void)snprintf(out->name, sizeof out->name, "emulated device %d", number);
    out->multiprocessors = MULTIPROCESSORS;
    out->memory = memory_of_machine();
    out->usable = 1;
}

static int emulated_stream_device(void *stream)
{
    (void)stream;
    return 0;
}

/* --- open and close -------------------------------------------------------------------------------------------------- */

static copse_status seed_read(copse_device *device)
{
    const char *text = getenv("COPSE_SIMT_SEED");
    if (!text || !*text) return COPSE_OK;
    char *end;
    errno = 0;
    device->seed = strtoull(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9')
        return copse_fail_argument(device->ctx, "COPSE_SIMT_SEED", "COPSE_SIMT_SEED is '%.40s'; it takes a number",
                                   text);
    return COPSE_OK;
}

static copse_status emulated_stream_create(copse_device *device, copse_stream **out)
{
    *out = copse_memory_alloc(device->ctx, sizeof **out);
    if (!*out) return copse_fail_memory(device->ctx, sizeof **out, "a stream");
    (*out)->launches = 0;
    return COPSE_OK;
}

static void emulated_stream_free(copse_device *device, copse_stream *stream)
{
    copse_memory_free(device->ctx, stream, sizeof *stream);
}

/* A caller's stream means here only that calls do not wait; nothing follows the pointer. */
static copse_status emulated_open(copse_device *device, void *stream)
{
    (void)stream;
    device->multiprocessors = MULTIPROCESSORS;
    device->memory = memory_of_machine();
    copse_status status = seed_read(device);
    if (status == COPSE_OK && !copse_emulator_reserve())
        return copse_fail(device->ctx, COPSE_ERR_MEMORY,
                          "out of memory: the emulated device needs stacks for its threads");
    if (status == COPSE_OK && (status = emulated_stream_create(device, &device->main)) != COPSE_OK)
        copse_emulator_release();
    return status;
}

static void emulated_close(copse_device *device)
{
    emulated_stream_free(device, device->main);
    copse_emulator_release();
}

/* Every launch is complete when it returns, whatever the stream. */
static copse_status emulated_set_main(copse_device *device, void *stream)
{
    (void)device;
    (void)stream;
    return COPSE_OK;
}

static int emulated_enter(copse_device *device)
{
    (void)device;
    return 0;
}

static void emulated_leave(copse_device *device, int before)
{
    (void)device;
    (void)before;
}

/* --- memory ------------------------------------------------------------------------------------------------------------ */

static void emulated_memory_info(copse_device *device, uint64_t *out_free, uint64_t *out_total)
{
    pthread_mutex_lock(&device->lock);
    *out_total = device->memory;
    *out_free = device->allocated < device->memory ? device->memory - device->allocated : 0;
    pthread_mutex_unlock(&device->lock);
}

static bool has_room(copse_device *device, uint64_t bytes)
{
    uint64_t available, total;
    emulated_memory_info(device, &available, &total);
    return bytes <= available;
}

static void *block_make(copse_device *device, uint64_t bytes, copse_emulated_sort sort)
{
    void *memory = copse_memory_alloc(device->ctx, bytes);
    if (!memory) return NULL;
    memset(memory, GARBAGE, bytes);
    if (copse_emulated_add(memory, bytes, device->number, sort)) return memory;
    copse_memory_free(device->ctx, memory, bytes);
    return NULL;
}

static void block_free(copse_device *device, void *memory, uint64_t bytes)
{
    copse_emulated_remove(memory);
    copse_memory_free(device->ctx, memory, bytes);
}

static copse_status emulated_alloc(copse_device *device, copse_stream *stream, uint64_t bytes, const char *what,
                                   void **out)
{
    (void)stream;
    *out = has_room(device, bytes) ? block_make(device, bytes, COPSE_EMULATED_DEVICE) : NULL;
    return *out ? COPSE_OK : copse_device_out_of_memory(device, bytes, what);
}

static void emulated_free(copse_device *device, copse_stream *stream, void *memory, uint64_t bytes)
{
    (void)stream;
    block_free(device, memory, bytes);
}

static void emulated_trim(copse_device *device)
{
    (void)copse_block_cache_drop(device);
    copse_emulator_trim();
}

static void *emulated_pinned_alloc(copse_device *device, uint64_t bytes)
{
    return block_make(device, bytes, COPSE_EMULATED_PINNED);
}

static void emulated_pinned_free(copse_device *device, void *memory, uint64_t bytes)
{
    if (memory) block_free(device, memory, bytes);
}

static bool emulated_pin(copse_device *device, const void *memory, uint64_t bytes)
{
    return copse_emulated_add((void *)(uintptr_t)memory, bytes, device->number, COPSE_EMULATED_PINNED);
}

static void emulated_unpin(copse_device *device, const void *memory)
{
    (void)device;
    copse_emulated_remove((void *)(uintptr_t)memory);
}

static copse_memory_kind emulated_kind(copse_device *device, const void *memory)
{
    return copse_emulated_kind(memory, device->number);
}

/* --- work ------------------------------------------------------------------------------------------------------------------ */

static copse_status emulated_copy(copse_device *device, copse_stream *stream, void *to, const void *from,
                                  uint64_t bytes)
{
    (void)device;
    (void)stream;
    copse_emulated_begin();
    memmove(to, from, bytes);
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status emulated_fill(copse_device *device, copse_stream *stream, void *memory, uint8_t byte,
                                  uint64_t bytes)
{
    (void)device;
    (void)stream;
    copse_emulated_begin();
    memset(memory, byte, bytes);
    copse_emulated_end();
    return COPSE_OK;
}

static copse_status emulated_launch(copse_device *device, copse_stream *stream, const copse_kernel *kernel,
                                    uint64_t blocks, const void *arguments)
{
    char sentence[192] = "";
    copse_emulator_launch_options options = {.threads = device->ctx->threads,
                                             .pool = device->ctx->pool,
                                             .seed = device->seed,
                                             .error = sentence,
                                             .error_bytes = sizeof sentence};
    uint64_t launch = __atomic_add_fetch(&stream->launches, 1, __ATOMIC_RELAXED);
    if (options.seed) options.seed += launch * UINT64_C(0x9E3779B97F4A7C15);
    if (options.seed == 0) options.seed = device->seed;
    copse_emulated_begin();
    bool right = copse_emulator_launch(&options, kernel, blocks, arguments);
    copse_emulated_end();
    return right ? COPSE_OK : copse_device_fault(device, "the emulated device failed: %s", sentence);
}

static copse_status emulated_wait(copse_device *device, copse_stream *stream)
{
    (void)device;
    (void)stream;
    return COPSE_OK;
}

static copse_status emulated_event_create(copse_device *device, copse_event **out)
{
    *out = copse_memory_alloc(device->ctx, sizeof **out);
    return *out ? COPSE_OK : copse_fail_memory(device->ctx, sizeof **out, "an event");
}

static void emulated_event_free(copse_device *device, copse_event *event)
{
    copse_memory_free(device->ctx, event, sizeof *event);
}

static copse_status emulated_event_record(copse_device *device, copse_event *event, copse_stream *stream)
{
    (void)device;
    (void)event;
    (void)stream;
    return COPSE_OK;
}

static copse_status emulated_event_wait(copse_device *device, copse_event *event)
{
    (void)device;
    (void)event;
    return COPSE_OK;
}

static copse_status emulated_event_done(copse_device *device, copse_event *event, bool *out_done)
{
    *out_done = true;
    return emulated_event_wait(device, event);
}

static copse_status emulated_stream_follow(copse_device *device, copse_stream *stream, copse_event *event)
{
    return emulated_event_record(device, event, stream);
}

const copse_device_backend copse_device_emulated = {
    .name = "emulated",
    .placement = COPSE_PLACEMENT_EMULATED,
    .survives_fork = true,
    .count = emulated_count,
    .describe = emulated_describe,
    .stream_device = emulated_stream_device,
    .open = emulated_open,
    .close = emulated_close,
    .set_main = emulated_set_main,
    .enter = emulated_enter,
    .leave = emulated_leave,
    .alloc = emulated_alloc,
    .free = emulated_free,
    .memory_info = emulated_memory_info,
    .trim = emulated_trim,
    .pinned_alloc = emulated_pinned_alloc,
    .pinned_free = emulated_pinned_free,
    .pin = emulated_pin,
    .unpin = emulated_unpin,
    .kind = emulated_kind,
    .copy = emulated_copy,
    .fill = emulated_fill,
    .launch = emulated_launch,
    .wait = emulated_wait,
    .stream_create = emulated_stream_create,
    .stream_free = emulated_stream_free,
    .event_create = emulated_event_create,
    .event_free = emulated_event_free,
    .event_record = emulated_event_record,
    .event_wait = emulated_event_wait,
    .event_done = emulated_event_done,
    .stream_follow = emulated_stream_follow,
    .primitives = &copse_primitives_host,
};
