/* The device layer on the emulated device: memory, kinds of pointers, faults, reports, failures. */
#define _DEFAULT_SOURCE
#include "unit.h"

#include "device/device.h"
#include "device/emulated_memory.h"
#include "simt/simt.h"
#include "test_allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 1000u

typedef struct add_arguments {
    const uint32_t *in;
    uint32_t *out;
    uint64_t n;
    uint32_t more;
} add_arguments;

SIMT_KERNEL(add_them, add_arguments, 64, 1)
{
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.n) a.out[i] = a.in[i] + a.more;
}

typedef struct report_arguments {
    uint64_t *report;
    uint64_t position;
} report_arguments;

SIMT_KERNEL(report_it, report_arguments, 32, 1)
{
    (void)simt_atomic_min_u64(&a.report[COPSE_REPORT_NAN], a.position + threadIdx.x);
}

/* Lane 0 names lane 1 in a mask, and lane 1 has ended: not allowed on a card, and found by the emulator. */
SIMT_KERNEL(break_it, report_arguments, 32, 1)
{
    if (threadIdx.x == 0) __syncwarp(3u);
}

static const copse_kernel add_kernel = SIMT_KERNEL_ENTRY(add_them, 64);
static const copse_kernel report_kernel = SIMT_KERNEL_ENTRY(report_it, 32);
static const copse_kernel break_kernel = SIMT_KERNEL_ENTRY(break_it, 32);

static copse_ctx *context_with(int32_t number, void *stream, struct test_allocator *allocator)
{
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    options.threads = 2;
    options.device = number;
    options.stream = stream;
    if (allocator) options.allocator = test_allocator_hooks(allocator);
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    return ctx;
}

static copse_device *device_of(copse_ctx *ctx)
{
    copse_device *device = NULL;
    assert_ok(ctx, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    assert_non_null(device);
    return device;
}

static void *take(copse_device *device, uint64_t bytes)
{
    void *memory = NULL;
    assert_ok(device->ctx, copse_device_alloc(device, device->main, bytes, "the test's array", &memory));
    assert_non_null(memory);
    return memory;
}

static void a_context_has_one_device(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    assert_ptr_equal(device_of(ctx), device);
    assert_int_equal(device->number, 0);
    assert_false(device->callers_stream);
    assert_true(device->multiprocessors > 0);
    assert_non_null(device->main);
    copse_ctx_free(ctx);
}

static void memory_goes_there_and_back(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    uint32_t here[N], back[N];
    uint32_t *in = take(device, sizeof here), *out = take(device, sizeof here);
    assert_int_equal(device->allocated, 2 * sizeof here);
    for (uint32_t i = 0; i < N; i++) here[i] = i * i;
    assert_ok(ctx, copse_device_copy(device, device->main, in, here, sizeof here));
    add_arguments arguments = {in, out, N, 7};
    assert_ok(ctx, copse_device_launch(device, device->main, &add_kernel, (N + 63) / 64, &arguments));
    assert_ok(ctx, copse_device_read(device, device->main, back, out, sizeof back));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(back[i], i * i + 7);
    assert_ok(ctx, copse_device_fill(device, device->main, out, 0x11, 8));
    assert_ok(ctx, copse_device_read(device, device->main, back, out, 12));
    assert_int_equal(back[1], 0x11111111);
    assert_int_equal(back[2], 4 + 7);
    copse_device_free(device, device->main, in, sizeof here);
    copse_device_free(device, device->main, out, sizeof here);
    assert_int_equal(device->allocated, 0);
    copse_ctx_free(ctx);
}

static void nothing_is_fine(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    void *memory = take(device, 0);
    copse_device_free(device, device->main, memory, 0);
    copse_device_free(device, device->main, NULL, 100);
    assert_int_equal(device->allocated, 0);
    assert_ok(ctx, copse_device_copy(device, device->main, NULL, NULL, 0));
    assert_ok(ctx, copse_device_fill(device, device->main, NULL, 1, 0));
    assert_ok(ctx, copse_device_launch(device, device->main, &break_kernel, 0, NULL));
    assert_ok(ctx, copse_ctx_synchronize(ctx));
    copse_ctx_free(ctx);
}

static void new_memory_is_not_zero(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    uint8_t back[64];
    void *memory = take(device, sizeof back);
    assert_ok(ctx, copse_device_read(device, device->main, back, memory, sizeof back));
    for (size_t i = 0; i < sizeof back; i++) assert_int_not_equal(back[i], 0);
    copse_device_free(device, device->main, memory, sizeof back);
    copse_ctx_free(ctx);
}

static void pointers_are_recognised(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(0, NULL, NULL), *other = context_with(1, NULL, NULL);
    copse_device *device = device_of(ctx), *second = device_of(other);
    char here[16];
    char *large = take(device, 3 << 20), *small = take(device, 100), *foreign = take(second, 64);
    char *pinned = device->backend->pinned_alloc(device, 128);
    assert_int_equal(copse_device_kind(device, large), COPSE_MEMORY_DEVICE);
    assert_int_equal(copse_device_kind(device, large + (3 << 20) - 1), COPSE_MEMORY_DEVICE);
    assert_int_equal(copse_device_kind(device, small + 99), COPSE_MEMORY_DEVICE);
    assert_int_not_equal(copse_device_kind(device, small + 100), COPSE_MEMORY_DEVICE);
    assert_int_equal(copse_device_kind(device, pinned + 127), COPSE_MEMORY_PINNED);
    assert_int_equal(copse_device_kind(second, pinned), COPSE_MEMORY_PINNED);
    assert_int_equal(copse_device_kind(device, here), COPSE_MEMORY_PAGEABLE);
    assert_int_equal(copse_device_kind(device, foreign), COPSE_MEMORY_FOREIGN);
    assert_int_equal(copse_device_kind(second, foreign), COPSE_MEMORY_DEVICE);
    assert_true(device->backend->pin(device, here, sizeof here));
    assert_int_equal(copse_device_kind(device, here), COPSE_MEMORY_PINNED);
    device->backend->unpin(device, here);
    assert_int_equal(copse_device_kind(device, here), COPSE_MEMORY_PAGEABLE);
    copse_device_free(device, device->main, small, 100);
    copse_device_free(device, device->main, large, 3 << 20);
    copse_device_free(second, second->main, foreign, 64);
    device->backend->pinned_free(device, pinned, 128);
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* A pointer into a page that nothing may read is neither host nor device memory. */
static void a_pointer_to_nowhere_is_seen(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(copse_device_kind(device, page), COPSE_MEMORY_NOWHERE);
    assert_int_equal(munmap(page, 4096), 0);
    assert_int_equal(copse_device_kind(device, page), COPSE_MEMORY_NOWHERE);
    assert_int_equal(copse_device_kind(device, (void *)64), COPSE_MEMORY_NOWHERE);
    copse_ctx_free(ctx);
}

static void too_little_memory_is_said_in_numbers(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    void *kept = take(device, 1000), *memory;
    device->memory = 5000;
    for (int i = 0; i < 100; i++) {
        memory = kept;
        assert_fails_naming(ctx, COPSE_ERR_MEMORY,
                            "out of device memory: 4001 bytes are needed for the leaves, 4000 of 5000 are free",
                            copse_device_alloc(device, device->main, 4001, "the leaves", &memory));
        assert_null(memory);
    }
    assert_int_equal(device->allocated, 1000);
    memory = take(device, 4000);
    copse_device_free(device, device->main, memory, 4000);
    copse_device_free(device, device->main, kept, 1000);
    assert_int_equal(device->allocated, 0);
    copse_ctx_free(ctx);
}

static void a_failure_can_be_planted(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    void *memory[3];
    device->allocations_left = 1;
    memory[0] = take(device, 10);
    assert_fails(ctx, COPSE_ERR_MEMORY, copse_device_alloc(device, device->main, 10, "a test", &memory[1]));
    memory[2] = take(device, 10); /* one fails, not all from then on */
    copse_device_free(device, device->main, memory[0], 10);
    copse_device_free(device, device->main, memory[2], 10);
    copse_ctx_free(ctx);
}

/* Whatever allocation of the host fails, opening a device and taking memory fails cleanly or succeeds. */
static void host_memory_may_run_out_anywhere(void **state)
{
    (void)state;
    struct test_allocator allocator;
    test_allocator_init(&allocator);
    copse_ctx *ctx = context_with(-1, NULL, &allocator);
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        copse_device *device = NULL;
        void *memory = NULL;
        assert_true(allowed < 20);
        test_allocator_fail_after(&allocator, allowed, false);
        copse_status status = copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device);
        if (status == COPSE_OK) status = copse_device_alloc(device, device->main, 100, "a test", &memory);
        done = status == COPSE_OK;
        if (!done) assert_int_equal(status, COPSE_ERR_MEMORY);
        if (done) copse_device_free(device, device->main, memory, 100);
    }
    test_allocator_never_fail(&allocator);
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

static void a_fault_stays(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL), *other = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx), *healthy = device_of(other), *again = NULL;
    char sentence[512];
    void *memory = take(device, 16), *more;
    uint64_t words[COPSE_REPORT_WORDS];
    int report;
    uint64_t *report_words;
    assert_ok(ctx, copse_report_take(device, &report, &report_words));
    report_arguments arguments = {report_words, 0};
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, "break_it",
                        copse_device_launch(device, device->main, &break_kernel, 1, &arguments));
    (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(ctx));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_device_fault(device, "a second fault"));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_device_alloc(device, device->main, 1, "x", &more));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_device_copy(device, device->main, memory, words, 8));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_device_fill(device, device->main, memory, 0, 8));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence,
                        copse_device_launch(device, device->main, &add_kernel, 1, &arguments));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_device_wait(device, device->main));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_ctx_synchronize(ctx));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_report_read(device, report, words));
    assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &again));
    assert_int_equal(copse_device_kind(device, (void *)64), COPSE_MEMORY_DEVICE); /* the fault is what is to be told */
    copse_device_free(device, device->main, memory, 16);
    assert_int_equal(device->allocated, 0);
    assert_ok(other, copse_device_check(healthy));
    copse_ctx_free(ctx);
    copse_ctx_free(other);
}

static void reports_come_and_go(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    for (int round = 0; round < 3 * COPSE_REPORTS; round++) {
        int report;
        uint64_t *place, words[COPSE_REPORT_WORDS];
        assert_ok(ctx, copse_report_take(device, &report, &place));
        for (int i = 0; i < COPSE_REPORT_WORDS; i++) assert_true(place[i] == UINT64_MAX);
        if (round % 3 == 0) {
            copse_report_drop(device, report);
            continue;
        }
        report_arguments arguments = {place, 40 + (uint64_t)round};
        assert_ok(ctx, copse_device_launch(device, device->main, &report_kernel, 2, &arguments));
        assert_ok(ctx, copse_report_read(device, report, words));
        assert_int_equal(words[COPSE_REPORT_NAN], 40 + round);
        assert_true(words[COPSE_REPORT_OVERFLOW] == UINT64_MAX);
    }
    assert_int_equal(device->reports_taken, 0);
    copse_ctx_free(ctx);
}

static copse_status judge(const copse_ctx *ctx, const char *call, const uint64_t *words)
{
    if (words[COPSE_REPORT_NAN] == UINT64_MAX) return COPSE_OK;
    return copse_fail(ctx, COPSE_ERR_NAN, "%s: key %llu is NaN", call, (unsigned long long)words[COPSE_REPORT_NAN]);
}

/* One call on the caller's stream that does not wait; position UINT64_MAX: it has nothing to report. */
static void call_late(copse_device *device, const char *name, uint64_t position)
{
    int report;
    uint64_t *place;
    assert_ok(device->ctx, copse_report_take(device, &report, &place));
    report_arguments arguments = {place, position};
    if (position != UINT64_MAX)
        assert_ok(device->ctx, copse_device_launch(device, device->main, &report_kernel, 1, &arguments));
    copse_report_defer(device, report, judge, name);
}

static void late_reports_are_returned_once(void **state)
{
    (void)state;
    int stream;
    copse_ctx *ctx = context_with(-1, &stream, NULL);
    copse_device *device = device_of(ctx);
    assert_true(device->callers_stream);
    assert_ok(ctx, copse_ctx_synchronize(ctx));
    call_late(device, "first", UINT64_MAX);
    call_late(device, "second", 5);
    call_late(device, "third", 3);
    assert_fails_naming(ctx, COPSE_ERR_NAN, "second: key 5", copse_ctx_synchronize(ctx));
    assert_ok(ctx, copse_ctx_synchronize(ctx));
    assert_int_equal(device->reports_taken, 0);
    copse_ctx_free(ctx);
}

/* More calls than reports: the oldest are looked at to make room, and an error among them is not lost. */
static void late_reports_make_room(void **state)
{
    (void)state;
    int stream;
    copse_ctx *ctx = context_with(-1, &stream, NULL);
    copse_device *device = device_of(ctx);
    for (int i = 0; i < 3 * COPSE_REPORTS; i++)
        call_late(device, "a call", i == 10 || i == 100 ? UINT64_C(1000) + (unsigned)i : UINT64_MAX);
    assert_fails_naming(ctx, COPSE_ERR_NAN, "key 1010", copse_ctx_synchronize(ctx));
    assert_ok(ctx, copse_ctx_synchronize(ctx));
    copse_ctx_free(ctx);
}

static void *take_one(void *user)
{
    copse_device *device = user;
    int report;
    uint64_t *place;
    if (copse_report_take(device, &report, &place) != COPSE_OK) return user;
    copse_report_drop(device, report);
    return NULL;
}

static void a_call_waits_for_a_report(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    int report[COPSE_REPORTS];
    uint64_t *place;
    void *trouble;
    pthread_t thread;
    for (int i = 0; i < COPSE_REPORTS; i++) assert_ok(ctx, copse_report_take(device, &report[i], &place));
    assert_int_equal(pthread_create(&thread, NULL, take_one, device), 0);
    (void)usleep(20000); /* so that it most likely waits already */
    copse_report_drop(device, report[17]);
    assert_int_equal(pthread_join(thread, &trouble), 0);
    assert_null(trouble);
    for (int i = 0; i < COPSE_REPORTS; i++)
        if (i != 17) copse_report_drop(device, report[i]);
    assert_int_equal(device->reports_taken, 0);
    copse_ctx_free(ctx);
}

static void impossible_launches_are_refused(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    add_arguments arguments = {0};
    assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "add_them",
                        copse_device_launch(device, device->main, &add_kernel, UINT64_C(1) << 31, &arguments));
    assert_ok(ctx, copse_device_check(device));
    copse_ctx_free(ctx);
}

static void streams_and_events_can_be_made(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    const copse_device_backend *backend = device->backend;
    copse_stream *stream = NULL;
    copse_event *event = NULL;
    assert_ok(ctx, backend->stream_create(device, &stream));
    assert_ok(ctx, backend->event_create(device, &event));
    assert_ok(ctx, backend->event_record(device, event, stream));
    assert_ok(ctx, backend->stream_follow(device, device->main, event));
    assert_ok(ctx, backend->event_wait(device, event));
    backend->event_free(device, event);
    backend->stream_free(device, stream);
    copse_ctx_free(ctx);
}

static void the_seed_comes_from_the_environment(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = NULL;
    assert_int_equal(setenv("COPSE_SIMT_SEED", "12x", 1), 0);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "COPSE_SIMT_SEED",
                        copse_device_get(ctx, COPSE_PLACEMENT_EMULATED, &device));
    assert_int_equal(setenv("COPSE_SIMT_SEED", "77", 1), 0);
    assert_int_equal(device_of(ctx)->seed, 77);
    assert_int_equal(unsetenv("COPSE_SIMT_SEED"), 0);
    copse_ctx_free(ctx);
}

/* Numbers: the emulator has 64 devices, the machine has as many cards as it has. */
static void numbers_out_of_range_are_named(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = context_with(63, NULL, NULL), *beyond = NULL;
    copse_device *device = NULL;
    assert_int_equal(device_of(ctx)->number, 63);
    if (copse_device_count(NULL) <= 63) {
        assert_fails_naming(ctx, COPSE_ERR_DEVICE, "63", copse_device_get(ctx, COPSE_PLACEMENT_GPU, &device));
        assert_null(device);
        assert_string_equal(copse_device_why_not(ctx), copse_last_error(ctx));
    }
    options.device = 99999;
    assert_fails_naming(NULL, COPSE_ERR_DEVICE, "99999", copse_ctx_create(&options, &beyond));
    assert_null(beyond);
    copse_ctx_free(ctx);
}

static void cards_describe_themselves(void **state)
{
    (void)state;
    const char *why = NULL;
    copse_device_info info = {.struct_size = sizeof info};
    int32_t count = copse_device_count(&why);
    assert_true(count >= 0);
    assert_int_equal(copse_device_count(NULL), count);
    assert_int_equal(why[0] == '\0', count > 0);
    for (int32_t i = 0; i < count; i++) {
        memset(&info, 0x77, sizeof info);
        assert_ok(NULL, copse_device_describe(i, &info));
        assert_true(info.usable == 0 || info.usable == 1);
        assert_int_equal(info.why[0] == '\0', info.usable);
        assert_true(info.name[0] != '\0');
        assert_true(info.memory > 0);
    }
    assert_fails_naming(NULL, COPSE_ERR_DEVICE, "no card", copse_device_describe(count, &info));
    assert_fails_naming(NULL, COPSE_ERR_DEVICE, "no card", copse_device_describe(-1, &info));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "out_info", copse_device_describe(0, NULL));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "ctx", copse_ctx_synchronize(NULL));
}

/* Host code that follows a device pointer works by accident in the emulator; AddressSanitizer is told to find it. */
static void host_code_must_not_touch_device_memory(void **state)
{
    (void)state;
    copse_ctx *ctx = context_with(-1, NULL, NULL);
    copse_device *device = device_of(ctx);
    volatile char *memory = take(device, 64);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)freopen("/dev/null", "w", stderr);
        char byte = memory[8];
        _exit(byte == 0 ? 3 : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool survived = WIFEXITED(status) && WEXITSTATUS(status) == 0;
#ifdef COPSE_EMULATED_SHUTS
    assert_false(survived);
#else
    assert_true(survived);
#endif
    copse_device_free(device, device->main, (void *)(uintptr_t)memory, 64);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_has_one_device),
        cmocka_unit_test(memory_goes_there_and_back),
        cmocka_unit_test(nothing_is_fine),
        cmocka_unit_test(new_memory_is_not_zero),
        cmocka_unit_test(pointers_are_recognised),
        cmocka_unit_test(a_pointer_to_nowhere_is_seen),
        cmocka_unit_test(too_little_memory_is_said_in_numbers),
        cmocka_unit_test(a_failure_can_be_planted),
        cmocka_unit_test(host_memory_may_run_out_anywhere),
        cmocka_unit_test(a_fault_stays),
        cmocka_unit_test(reports_come_and_go),
        cmocka_unit_test(late_reports_are_returned_once),
        cmocka_unit_test(late_reports_make_room),
        cmocka_unit_test(a_call_waits_for_a_report),
        cmocka_unit_test(impossible_launches_are_refused),
        cmocka_unit_test(streams_and_events_can_be_made),
        cmocka_unit_test(the_seed_comes_from_the_environment),
        cmocka_unit_test(numbers_out_of_range_are_named),
        cmocka_unit_test(cards_describe_themselves),
        cmocka_unit_test(host_code_must_not_touch_device_memory),
    };
    (void)unsetenv("COPSE_SIMT_SEED");
    (void)unsetenv("COPSE_DEVICE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
