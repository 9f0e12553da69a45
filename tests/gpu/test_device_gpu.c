/* The device layer on a card: what tests/unit/test_device.c checks on the emulator, and what only a card can get wrong.
 *
 *   test_device_gpu              the tests
 *   test_device_gpu --emulated   the same on the emulator: a test of the test
 *
 * Ends with "N passed, N failed"; exit status 77 and "no card" where there is none. */
#include "batch_kernels.h"
#include "gpu_program.h"
#include "planted_kernels.h"
#include "report_kernels.h"

#include <sys/mman.h>

#define N   100000u
#define GIB (UINT64_C(1) << 30)

static copse_device *device;
static copse_ctx *ctx;
static bool on_card;

#define CHECK(right)         count_test(#right, (right) ? NULL : copse_last_error(ctx))
#define CHECK_OK(call)       count_test(#call, (call) == COPSE_OK ? NULL : copse_last_error(ctx))
#define CHECK_FAILS(s, call) count_test(#call " fails", (call) == (s) ? NULL : copse_last_error(ctx))

static bool said(const copse_ctx *whose, const char *word)
{
    return strstr(copse_last_error(whose), word) != NULL;
}

static void *take(uint64_t bytes)
{
    void *memory = NULL;
    CHECK_OK(copse_device_alloc(device, device->main, bytes, "the test's array", &memory));
    return memory;
}

/* --- memory ------------------------------------------------------------------------------------------------------------ */

/* There, through a kernel, and back. */
static void round_trip(void)
{
    uint64_t *here = malloc(N * sizeof *here), *back = malloc(N * sizeof *back), wrong = 0;
    uint8_t *flags = malloc(N);
    if (!here || !back || !flags) exit(2);
    for (uint64_t i = 0; i < N; i++) here[i] = i * i;
    uint64_t *keys = take(N * sizeof *keys), *values = take(N * sizeof *values);
    uint8_t *found = take(N);
    CHECK(device->allocated == N * 17);
    batch_arguments arguments = {keys, values, found, 5, N};
    CHECK_OK(copse_device_copy(device, device->main, keys, here, N * sizeof *here));
    CHECK_OK(copse_device_launch(device, device->main, on_card ? &batch_kernel_cuda : &batch_kernel_emulated,
                                 (N + BATCH_THREADS - 1) / BATCH_THREADS, &arguments));
    CHECK_OK(copse_device_read(device, device->main, back, values, N * sizeof *back));
    CHECK_OK(copse_device_read(device, device->main, flags, found, N));
    for (uint64_t i = 0; i < N; i++) wrong += back[i] != i * i * 3 + 5 + i || flags[i] != (i * i & 1);
    CHECK(wrong == 0);
    CHECK_OK(copse_device_fill(device, device->main, values, 0x22, 8));
    CHECK_OK(copse_device_read(device, device->main, back, values, 16));
    CHECK(back[0] == UINT64_C(0x2222222222222222) && back[1] == 3 + 5 + 1);
    copse_device_free(device, device->main, keys, N * sizeof *keys);
    copse_device_free(device, device->main, values, N * sizeof *values);
    copse_device_free(device, device->main, found, N);
    copse_device_free(device, device->main, take(0), 0);
    CHECK(device->allocated == 0);
    free(here);
    free(back);
    free(flags);
}

static void kinds(void)
{
    char *memory = take(3 << 20), *pinned = device->backend->pinned_alloc(device, 4096);
    char *pageable = malloc(1 << 20), local[8];
    void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!pageable) exit(2);
    memset(pageable, 1, 1 << 20);
    CHECK(copse_device_kind(device, memory) == COPSE_MEMORY_DEVICE);
    CHECK(copse_device_kind(device, memory + (3 << 20) - 1) == COPSE_MEMORY_DEVICE);
    CHECK(pinned && copse_device_kind(device, pinned + 4095) == COPSE_MEMORY_PINNED);
    CHECK(copse_device_kind(device, pageable) == COPSE_MEMORY_PAGEABLE);
    CHECK(copse_device_kind(device, local) == COPSE_MEMORY_PAGEABLE);
    CHECK(copse_device_kind(device, closed) == COPSE_MEMORY_NOWHERE);
    CHECK(copse_device_kind(device, (void *)64) == COPSE_MEMORY_NOWHERE);
    CHECK(device->backend->pin(device, pageable, 1 << 20));
    CHECK(copse_device_kind(device, pageable + 5000) == COPSE_MEMORY_PINNED);
    CHECK(!on_card || !device->backend->pin(device, pageable, 1 << 20)); /* it is already */
    device->backend->unpin(device, pageable);
    CHECK(copse_device_kind(device, pageable) == COPSE_MEMORY_PAGEABLE);
    CHECK_OK(copse_device_wait(device, device->main)); /* the refused pin is not met again */
    device->backend->pinned_free(device, pinned, 4096);
    copse_device_free(device, device->main, memory, 3 << 20);
    (void)munmap(closed, 4096);
    free(pageable);
}

/* Failed calls give everything back, also what they held when they failed, and to the whole machine. */
static void failures_leave_memory_as_it_was(void)
{
    uint64_t before, after, total, raw_before = 0;
    copse_device_info info = {.struct_size = sizeof info};
    if (!on_card) device->memory = 16 << 20;
    device->backend->trim(device);
    device->backend->memory_info(device, &before, &total);
    CHECK(before > 0 && before <= total);
    if (on_card && copse_device_describe(device->number, &info) == COPSE_OK) raw_before = info.memory_free;
    unsigned refused = 0;
    for (int i = 0; i < 100; i++) {
        void *held = NULL, *none = NULL;
        if (copse_device_alloc(device, device->main, before / 64, "what a build holds", &held) != COPSE_OK) continue;
        refused += copse_device_alloc(device, device->main, total, "the leaves", &none) == COPSE_ERR_MEMORY &&
                   said(ctx, "out of device memory") && said(ctx, "the leaves") && said(ctx, "are free") && !none;
        copse_device_free(device, device->main, held, before / 64);
    }
    CHECK(refused == 100);
    device->backend->memory_info(device, &after, &total);
    CHECK(after >= before);
    CHECK(device->allocated == 0);
    if (on_card) {
        CHECK(copse_device_describe(device->number, &info) == COPSE_OK && info.memory_free >= raw_before);
        (void)printf("free before %llu, after %llu\n", (unsigned long long)raw_before,
                     (unsigned long long)info.memory_free);
    }
    device->allocations_left = 0;
    void *memory = NULL;
    CHECK_FAILS(COPSE_ERR_MEMORY, copse_device_alloc(device, device->main, 1, "a test", &memory));
    copse_device_free(device, device->main, take(1), 1);
}

/* --- order of work --------------------------------------------------------------------------------------------------- */

/* Long work on a second stream, which main must follow; and the host waits for an event, not for all. */
static void streams_follow_each_other(void)
{
    const copse_device_backend *backend = device->backend;
    uint64_t bytes = on_card ? 4 * GIB : 1 << 20, seen = 0;
    copse_stream *stream = NULL;
    copse_event *event = NULL;
    char *memory = take(bytes);
    CHECK_OK(copse_device_fill(device, device->main, memory, 1, bytes));
    CHECK_OK(backend->event_create(device, &event));
    CHECK_OK(backend->stream_create(device, &stream));
    CHECK_OK(backend->event_record(device, event, device->main));
    CHECK_OK(backend->stream_follow(device, stream, event));
    for (int i = 2; i <= 9; i++) CHECK_OK(copse_device_fill(device, stream, memory, (uint8_t)i, bytes));
    CHECK_OK(backend->event_record(device, event, stream));
    CHECK_OK(backend->stream_follow(device, device->main, event));
    CHECK_OK(copse_device_read(device, device->main, &seen, memory + bytes - 8, sizeof seen));
    CHECK(seen == UINT64_C(0x0909090909090909));
    CHECK_OK(backend->event_wait(device, event));
    backend->event_free(device, event);
    backend->stream_free(device, stream);
    copse_device_free(device, device->main, memory, bytes);
}

/* --- reports ------------------------------------------------------------------------------------------------------------ */

static copse_status judge(const copse_ctx *whose, const char *call, const uint64_t *words)
{
    if (words[COPSE_REPORT_NAN] == UINT64_MAX) return COPSE_OK;
    return copse_fail(whose, COPSE_ERR_NAN, "%s: key %llu is NaN", call, (unsigned long long)words[COPSE_REPORT_NAN]);
}

static copse_status report_at(copse_device *where, uint64_t position, uint64_t threads, int *out_report)
{
    uint64_t *place;
    copse_status status = copse_report_take(where, out_report, &place);
    report_arguments arguments = {place, position, threads};
    if (status == COPSE_OK)
        status = copse_device_launch(where, where->main, on_card ? &report_kernel_cuda : &report_kernel_emulated,
                                     (threads + 127) / 128, &arguments);
    return status;
}

static void reports(void)
{
    uint64_t words[COPSE_REPORT_WORDS], threads = on_card ? 1000000 : 1000;
    int report;
    for (int round = 0; round < 5; round++) {
        CHECK_OK(report_at(device, 70 + (uint64_t)round, threads, &report));
        CHECK_OK(copse_report_read(device, report, words));
        CHECK(words[COPSE_REPORT_NAN] == 70 + (uint64_t)round && words[COPSE_REPORT_OVERFLOW] == UINT64_MAX);
    }
    CHECK(device->reports_taken == 0);
}

/* A second context on a stream that is not its own; calls are only put on it. */
static void callers_stream(void)
{
    copse_stream *stream = NULL;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *second = NULL;
    copse_device *same = NULL;
    int report;
    CHECK_OK(device->backend->stream_create(device, &stream));
    options.stream = stream;
    CHECK_OK(copse_ctx_create(&options, &second));
    CHECK_OK(copse_device_get(second, device->backend->placement, &same));
    CHECK(same && same->callers_stream && same->number == device->number && (!on_card || same->main == stream));
    for (uint64_t i = 0; i < 3 * COPSE_REPORTS; i++) {
        copse_status status = report_at(same, 1000 + i, 300, &report);
        if (status != COPSE_OK) count_test("a call on the caller's stream", copse_last_error(second));
        copse_report_defer(same, report, judge, "a call");
    }
    CHECK(copse_ctx_synchronize(second) == COPSE_ERR_NAN && said(second, "a call: key 1000 is NaN"));
    CHECK(copse_ctx_synchronize(second) == COPSE_OK);
    copse_ctx_free(second);
    device->backend->stream_free(device, stream);
}

static void cards(void)
{
    copse_device_info info = {.struct_size = sizeof info};
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *wrong = NULL;
    copse_device *none = NULL;
    int32_t count = copse_device_count(NULL);
    for (int32_t i = 0; i < count; i++) {
        CHECK(copse_device_describe(i, &info) == COPSE_OK && info.name[0] && info.memory > 0 && info.multiprocessors);
        (void)printf("card %d: %s, %u.%u, %u multiprocessors, %llu of %llu bytes free, %s%s\n", i, info.name,
                     info.capability_major, info.capability_minor, info.multiprocessors,
                     (unsigned long long)info.memory_free, (unsigned long long)info.memory,
                     info.usable ? "usable" : "not usable: ", info.why);
    }
    CHECK(copse_device_describe(count, &info) == COPSE_ERR_DEVICE && said(NULL, "no card"));
    options.device = 1000;
    CHECK(copse_ctx_create(&options, &wrong) == COPSE_ERR_DEVICE && said(NULL, "no card 1000") && !wrong);
    options.device = 63; /* the emulator has it, so that only the first use of a card can tell */
    CHECK_OK(copse_ctx_create(&options, &wrong));
    CHECK(count > 63 ||
          (copse_device_get(wrong, COPSE_PLACEMENT_GPU, &none) == COPSE_ERR_DEVICE && said(wrong, "no card 63")));
    copse_ctx_free(wrong);
}

/* Must be last: the card does nothing more for this process afterwards. */
static void a_fault_stays(void)
{
    char sentence[512];
    void *memory = take(64), *more = NULL;
    copse_ctx *other = NULL;
    copse_device *another = NULL;
    fault_arguments arguments = {on_card ? 64 : 0};
    copse_status status = copse_device_launch(
        device, device->main, on_card ? &planted_kernels_cuda.fault : &planted_kernels_emulated.fault, 1, &arguments);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    CHECK(status == COPSE_ERR_DEVICE && said(ctx, "planted_fault"));
    (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(ctx));
    (void)printf("the fault: %s\n", sentence);
    CHECK(copse_device_wait(device, device->main) == COPSE_ERR_DEVICE && said(ctx, sentence));
    CHECK(copse_device_alloc(device, device->main, 1, "x", &more) == COPSE_ERR_DEVICE && said(ctx, sentence));
    CHECK(copse_device_copy(device, device->main, memory, sentence, 8) == COPSE_ERR_DEVICE && said(ctx, sentence));
    CHECK(copse_ctx_synchronize(ctx) == COPSE_ERR_DEVICE && said(ctx, sentence));
    copse_device_free(device, device->main, memory, 64);
    CHECK(device->allocated == 0);
    /* A context that comes later fails, too, or works: but it does not crash. */
    if (copse_ctx_create(NULL, &other) == COPSE_OK) {
        status = copse_device_get(other, device->backend->placement, &another);
        CHECK(status == COPSE_ERR_DEVICE || (status == COPSE_OK && !on_card));
        if (status != COPSE_OK) (void)printf("afterwards: %s\n", copse_last_error(other));
        copse_ctx_free(other);
    }
}

/* Long steps say what they are before they begin. */
static void step(const char *name, void (*run)(void))
{
    (void)printf("%s\n", name);
    (void)fflush(stdout);
    run();
}

int main(int count, char **arguments)
{
    device = open_device(count, arguments, &ctx);
    on_card = device->backend->placement == COPSE_PLACEMENT_GPU;
    step("cards", cards);
    step("round trip", round_trip);
    step("kinds of memory", kinds);
    step("failures leave memory as it was", failures_leave_memory_as_it_was);
    step("streams follow each other", streams_follow_each_other);
    step("reports", reports);
    step("the caller's stream", callers_stream);
    step("a fault stays", a_fault_stays);
    return finish(ctx);
}
