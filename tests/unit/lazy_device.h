/*
 * A device for tests of the transfer pipeline: an emulated one that puts its work off. Work on a stream waits in a queue
 * until the host waits for it; then streams go on in a random order, as far as their events allow and no further than
 * they must. Whoever reads too early reads what was there before, so a wait that is missing shows in the result, and
 * the host is seen to wait where it need not.
 */
#ifndef TESTS_LAZY_DEVICE_H
#define TESTS_LAZY_DEVICE_H

#include "unit.h"

#include "device/device.h"
#include "device/emulated_memory.h"

struct lazy_operation {
    void (*run)(void *argument); /* NULL: a copy, or only an event */
    char argument[128];
    void *to;
    const void *from;
    uint64_t bytes;
    copse_event *record, *follow;
    uint64_t moment; /* of the event */
    struct lazy_operation *next;
};

struct lazy_stream {
    copse_stream *name;
    struct lazy_operation *first, **end;
};

struct copse_event {
    uint64_t recorded, reached; /* moments */
};

#define LAZY_STREAMS 8
static struct lazy {
    struct lazy_stream streams[LAZY_STREAMS];
    unsigned count;
    uint64_t random;
    unsigned eagerness; /* of 16: how often work goes on by itself */
    uint64_t works;     /* functions that ran */
    int copies_left;    /* then a copy fails; below 0: none does */
    bool waits_fail;
} lazy;

static uint64_t lazy_random(uint64_t below)
{
    lazy.random = lazy.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (lazy.random >> 33) % below;
}

static struct lazy_stream *lazy_stream_of(copse_stream *name)
{
    for (unsigned i = 0; i < lazy.count; i++) {
        if (lazy.streams[i].name == name) return &lazy.streams[i];
    }
    assert_true(lazy.count < LAZY_STREAMS);
    struct lazy_stream *stream = &lazy.streams[lazy.count++];
    *stream = (struct lazy_stream){name, NULL, &stream->first};
    return stream;
}

static bool lazy_may_run(const struct lazy_stream *stream)
{
    const struct lazy_operation *first = stream->first;
    return first && (!first->follow || first->follow->reached >= first->moment);
}

static void lazy_run_first(struct lazy_stream *stream)
{
    struct lazy_operation *operation = stream->first;
    stream->first = operation->next;
    if (!stream->first) stream->end = &stream->first;
    copse_emulated_begin();
    if (operation->run) {
        operation->run(operation->argument);
        lazy.works++;
    }
    if (operation->bytes) memcpy(operation->to, operation->from, operation->bytes);
    copse_emulated_end();
    if (operation->record) operation->record->reached = operation->moment;
    free(operation);
}

/* One step of a stream chosen at random; false where none can go on. */
static bool lazy_step(void)
{
    unsigned start = (unsigned)lazy_random(lazy.count ? lazy.count : 1);
    for (unsigned i = 0; i < lazy.count; i++) {
        struct lazy_stream *stream = &lazy.streams[(start + i) % lazy.count];
        if (!lazy_may_run(stream)) continue;
        lazy_run_first(stream);
        return true;
    }
    return false;
}

static struct lazy_operation *lazy_add(copse_stream *name)
{
    struct lazy_stream *stream = lazy_stream_of(name);
    struct lazy_operation *operation = calloc(1, sizeof *operation);
    assert_non_null(operation);
    while (lazy.eagerness > lazy_random(16) && lazy_step()) {
    }
    *stream->end = operation;
    stream->end = &operation->next;
    return operation;
}

/* Puts a call of `run` with a copy of the argument on a stream, as a kernel would be. */
static void lazy_call(copse_stream *stream, void (*run)(void *), const void *argument, size_t bytes)
{
    struct lazy_operation *operation = lazy_add(stream);
    assert_true(bytes <= sizeof operation->argument);
    memcpy(operation->argument, argument, bytes);
    operation->run = run;
}

static uint64_t lazy_pending(void)
{
    uint64_t pending = 0;
    for (unsigned i = 0; i < lazy.count; i++) {
        for (const struct lazy_operation *o = lazy.streams[i].first; o; o = o->next) pending++;
    }
    return pending;
}

static copse_status lazy_copy(copse_device *device, copse_stream *stream, void *to, const void *from, uint64_t bytes)
{
    if (lazy.copies_left == 0) return copse_fail(device->ctx, COPSE_ERR_DEVICE, "the planted copy failed");
    if (lazy.copies_left > 0) lazy.copies_left--;
    struct lazy_operation *operation = lazy_add(stream);
    operation->to = to;
    operation->from = from;
    operation->bytes = bytes;
    return COPSE_OK;
}

static copse_status lazy_wait(copse_device *device, copse_stream *name)
{
    const struct lazy_stream *stream = lazy_stream_of(name);
    while (stream->first) assert_true(lazy_step());
    if (lazy.waits_fail) return copse_fail(device->ctx, COPSE_ERR_DEVICE, "the planted wait failed");
    return COPSE_OK;
}

static void lazy_stream_free(copse_device *device, copse_stream *name)
{
    struct lazy_stream *stream = lazy_stream_of(name);
    assert_null(stream->first);
    *stream = lazy.streams[--lazy.count];
    if (!stream->first) stream->end = &stream->first;
    copse_device_emulated.stream_free(device, name);
}

static copse_status lazy_event_create(copse_device *device, copse_event **out)
{
    *out = copse_memory_alloc(device->ctx, sizeof **out);
    if (!*out) return copse_fail_memory(device->ctx, sizeof **out, "an event");
    **out = (copse_event){0, 0};
    return COPSE_OK;
}

static void lazy_event_free(copse_device *device, copse_event *event)
{
    copse_memory_free(device->ctx, event, sizeof *event);
}

static copse_status lazy_event_record(copse_device *device, copse_event *event, copse_stream *stream)
{
    (void)device;
    struct lazy_operation *operation = lazy_add(stream);
    operation->record = event;
    operation->moment = ++event->recorded;
    return COPSE_OK;
}

static copse_status lazy_event_wait(copse_device *device, copse_event *event)
{
    (void)device;
    while (event->reached < event->recorded) assert_true(lazy_step());
    return COPSE_OK;
}

static copse_status lazy_stream_follow(copse_device *device, copse_stream *stream, copse_event *event)
{
    (void)device;
    struct lazy_operation *operation = lazy_add(stream);
    operation->follow = event;
    operation->moment = event->recorded;
    return COPSE_OK;
}

static copse_device_backend lazy_backend;

/* Makes the emulated device of a context lazy. Before the context is freed it has to be made ordinary again. */
static copse_device *lazy_device(copse_ctx *ctx, uint64_t seed)
{
    copse_device *device;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    lazy_backend = copse_device_emulated;
    lazy_backend.copy = lazy_copy;
    lazy_backend.wait = lazy_wait;
    lazy_backend.stream_free = lazy_stream_free;
    lazy_backend.event_create = lazy_event_create;
    lazy_backend.event_free = lazy_event_free;
    lazy_backend.event_record = lazy_event_record;
    lazy_backend.event_wait = lazy_event_wait;
    lazy_backend.stream_follow = lazy_stream_follow;
    device->backend = &lazy_backend;
    memset(&lazy, 0, sizeof lazy);
    lazy.random = seed;
    lazy.copies_left = -1;
    return device;
}

#endif
