/* The transfer pipeline on a device that puts its work off (lazy_device.h): every mix of memory, chunk borders, failures
 * half way, the order of results, and where the host waits. */
#include "lazy_device.h"
#include "test_allocator.h"

#include "transfer/internal.h"

#define ARRAYS  5
#define LONGEST 64

/* A job over five arrays: two inputs, two outputs, and one that is not there. */
enum { WIDE_IN, NARROW_IN, ABSENT, WIDE_OUT, FLAG_OUT };
static const size_t elements[ARRAYS] = {8, 4, 8, 8, 1};

enum place { PAGEABLE, PINNED, DEVICE, PLACES };

struct trial {
    copse_ctx *ctx;
    copse_device *device;
    copse_transfer_job job;
    enum place places[ARRAYS];
    uint64_t chunks;       /* submitted */
    uint64_t fails_at;     /* this chunk's work fails; UINT64_MAX: none */
    uint64_t ran_by[1024]; /* works that had run when chunk i was submitted */
};

/* --- the work --------------------------------------------------------------------------------------------------------- */

struct work {
    uint64_t first, n;
    const uint64_t *wide;
    const uint32_t *narrow;
    uint64_t *sums;
    uint8_t *flags;
};

static uint64_t answer(uint64_t i, uint64_t wide, uint32_t narrow)
{
    return wide * 3 + narrow + i;
}

static void work_run(void *argument)
{
    const struct work *w = argument;
    for (uint64_t i = 0; i < w->n; i++) {
        uint64_t sum = answer(w->first + i, w->wide[i], w->narrow[i]);
        w->sums[i] = sum;
        w->flags[i] = (uint8_t)(sum >> 3);
    }
}

static copse_status work_submit(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    struct trial *t = user;
    assert_ptr_equal(stream, t->device->main);
    assert_null(memory[ABSENT]);
    if (t->chunks < COUNT_OF(t->ran_by)) t->ran_by[t->chunks] = lazy.works;
    if (t->chunks == t->fails_at) return copse_fail(t->ctx, COPSE_ERR_OVERFLOW, "the planted work failed");
    t->chunks++;
    struct work w = {first, n, memory[WIDE_IN], memory[NARROW_IN], memory[WIDE_OUT], memory[FLAG_OUT]};
    lazy_call(stream, work_run, &w, sizeof w);
    return COPSE_OK;
}

/* --- arrays in any memory ----------------------------------------------------------------------------------------------- */

static void *array_make(copse_device *device, enum place place, uint64_t bytes)
{
    void *memory = NULL;
    if (place == DEVICE)
        assert_ok(device->ctx, copse_device_alloc(device, device->main, bytes, "a test's array", &memory));
    else
        memory = place == PINNED ? device->backend->pinned_alloc(device, bytes) : must_malloc(bytes);
    assert_non_null(memory);
    return memory;
}

static void array_free(copse_device *device, enum place place, void *memory, uint64_t bytes)
{
    if (place == DEVICE)
        copse_device_free(device, device->main, memory, bytes);
    else if (place == PINNED)
        device->backend->pinned_free(device, memory, bytes);
    else
        free(memory);
}

/* By hand, at once: not what is tested. */
static void poke(void *to, const void *from, uint64_t bytes)
{
    copse_emulated_begin();
    memcpy(to, from, bytes);
    copse_emulated_end();
}

static void trial_open(struct trial *t, uint32_t threads, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->ctx = unit_context(threads);
    t->device = lazy_device(t->ctx, seed);
    t->fails_at = UINT64_MAX;
}

static void trial_close(struct trial *t)
{
    copse_transfer_close(t->device);
    assert_int_equal(lazy_pending(), 0);
    t->device->backend = &copse_device_emulated;
    copse_ctx_free(t->ctx);
}

static uint64_t wide_of(uint64_t i)
{
    return i * UINT64_C(0x9E3779B97F4A7C15);
}

static void job_make(struct trial *t, uint64_t n, uint64_t chunk)
{
    t->chunks = 0;
    t->job = (copse_transfer_job){
        .device = t->device, .arrays = ARRAYS, .n = n, .work = work_submit, .user = t, .chunk = chunk};
    for (unsigned i = 0; i < ARRAYS; i++) {
        void *memory = i == ABSENT ? NULL : array_make(t->device, t->places[i], n * elements[i]);
        t->job.array[i] = (copse_transfer_array){memory, elements[i], i >= WIDE_OUT, NULL, NULL};
    }
    uint64_t *wide = must_malloc(n * 8);
    uint32_t *narrow = must_malloc(n * 4);
    for (uint64_t i = 0; i < n; i++) {
        wide[i] = wide_of(i);
        narrow[i] = (uint32_t)(i * 7);
    }
    poke(t->job.array[WIDE_IN].memory, wide, n * 8);
    poke(t->job.array[NARROW_IN].memory, narrow, n * 4);
    free(wide);
    free(narrow);
}

static void job_free(struct trial *t)
{
    for (unsigned i = 0; i < ARRAYS; i++) {
        if (i != ABSENT) array_free(t->device, t->places[i], t->job.array[i].memory, t->job.n * elements[i]);
    }
}

static void job_check(const struct trial *t)
{
    uint64_t n = t->job.n, *sums = must_malloc(n * 8);
    uint8_t *flags = must_malloc(n);
    poke(sums, t->job.array[WIDE_OUT].memory, n * 8);
    poke(flags, t->job.array[FLAG_OUT].memory, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t expected = answer(i, wide_of(i), (uint32_t)(i * 7));
        assert_int_equal(sums[i], expected);
        assert_int_equal(flags[i], (uint8_t)(expected >> 3));
    }
    free(sums);
    free(flags);
}

/* Makes a job, runs it, checks the answers and that nothing is left on the way. */
static void job_run(struct trial *t, uint64_t n, uint64_t chunk)
{
    job_make(t, n, chunk);
    assert_ok(t->ctx, copse_transfer_run(&t->job));
    assert_int_equal(lazy_pending(), 0);
    job_check(t);
    job_free(t);
}

static void settings_change(const struct trial *t, unsigned slots, uint64_t small, uint64_t direct,
                            copse_transfer_mode mode)
{
    copse_transfer_settings settings;
    assert_ok(t->ctx, copse_transfer_settings_get(t->device, &settings));
    settings.slots = slots;
    settings.small_bytes = small;
    settings.direct_bytes = direct;
    settings.mode = mode;
    assert_ok(t->ctx, copse_transfer_settings_set(t->device, &settings));
}

/* --- tests -------------------------------------------------------------------------------------------------------------- */

/* Array i's place is digit i of `mix`, to the base of PLACES. */
static void places_choose(struct trial *t, unsigned mix)
{
    for (unsigned i = 0; i < ARRAYS; i++) {
        if (i == ABSENT) continue;
        t->places[i] = (enum place)(mix % PLACES);
        mix /= PLACES;
    }
}

static void test_mixes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 6, 7, 8, 13, 14, 15, 21, 50, LONGEST};
    for (unsigned mix = 0; mix < PLACES * PLACES * PLACES * PLACES; mix++) {
        struct trial t;
        trial_open(&t, 1 + mix % 2, mix);
        places_choose(&t, mix);
        for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
            lazy.eagerness = (mix + i) % 3 * 7;
            settings_change(&t, 2 + (mix + i) % 5, 1 << 20, 0, COPSE_TRANSFER_STAGED);
            job_run(&t, sizes[i], 7); /* chunks */
            job_run(&t, sizes[i], 0); /* packed */
            settings_change(&t, 3, 1 << 20, 1 << 20, COPSE_TRANSFER_STAGED);
            job_run(&t, sizes[i], 0); /* packed, worked on where it lies */
        }
        trial_close(&t);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 1);
    t.job = (copse_transfer_job){.device = t.device, .arrays = ARRAYS, .n = 0, .work = work_submit, .user = &t};
    assert_ok(t.ctx, copse_transfer_run(&t.job));
    assert_int_equal(t.chunks, 0);
    assert_ok(t.ctx, copse_transfer_to_device(t.device, NULL, NULL, 0));
    assert_ok(t.ctx, copse_transfer_to_host(t.device, NULL, NULL, 0));
    trial_close(&t);
}

/* Batches larger than the small ones are cut by bytes, by several threads, in both modes. */
static void test_default_chunks(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 2, 3);
    copse_transfer_settings settings;
    assert_ok(t.ctx, copse_transfer_settings_get(t.device, &settings));
    for (int streaming = 0; streaming <= 1; streaming++) {
        for (int mode = COPSE_TRANSFER_AUTO; mode <= COPSE_TRANSFER_REGISTERED; mode++) {
            settings.mode = (copse_transfer_mode)mode;
            settings.streaming = streaming;
            settings.chunk_bytes = 1 << 20;
            assert_ok(t.ctx, copse_transfer_settings_set(t.device, &settings));
            job_run(&t, 300001, 0); /* 6 MB */
            assert_in_range(t.chunks, 6, 8);
            job_run(&t, 60000, 0); /* a few chunks: a quarter each */
            assert_int_equal(t.chunks, 4);
            job_run(&t, 40000, 0); /* packed */
            assert_int_equal(t.chunks, 1);
        }
    }
    trial_close(&t);
}

/* Pinned for the time of the job: chunks are then copied from the array itself, and afterwards it is as before. */
static void test_registered(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 4);
    settings_change(&t, 3, 1 << 20, 0, COPSE_TRANSFER_REGISTERED);
    job_make(&t, 300001, 40000);
    assert_ok(t.ctx, copse_transfer_run(&t.job));
    job_check(&t);
    /* The flags are too small to be pinned, so they are staged, and the host waited. Without them it does not. */
    assert_true(t.ran_by[7] > 0);
    t.chunks = 0;
    t.job.array[FLAG_OUT].element = 8;
    array_free(t.device, PAGEABLE, t.job.array[FLAG_OUT].memory, 0);
    t.job.array[FLAG_OUT].memory = must_malloc(t.job.n * 8);
    uint64_t ran = lazy.works;
    assert_ok(t.ctx, copse_transfer_run(&t.job));
    assert_int_equal(t.ran_by[7], ran);
    for (unsigned i = 0; i < ARRAYS; i++) {
        if (i != ABSENT) assert_int_equal(copse_device_kind(t.device, t.job.array[i].memory), COPSE_MEMORY_PAGEABLE);
    }
    job_free(&t);
    trial_close(&t);
}

/* Memory that another job has pinned for its own time is not counted on. */
static void test_pins_of_others(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 5);
    settings_change(&t, 3, 0, 0, COPSE_TRANSFER_REGISTERED);
    char *memory = must_malloc(3 << 20), *middle = memory + (1 << 20);
    copse_transfer_pin pin, second;
    assert_false(copse_transfer_is_pinned(t.device, middle, 1 << 20));
    assert_true(copse_transfer_pin_take(t.device, middle, 1 << 20, &pin));
    assert_int_equal(copse_device_kind(t.device, middle), COPSE_MEMORY_PINNED);
    assert_false(copse_transfer_is_pinned(t.device, middle, 1 << 20));
    assert_false(copse_transfer_pin_take(t.device, memory, (1 << 20) + 1, &second));
    assert_false(copse_transfer_pin_take(t.device, middle + (1 << 20) - 1, 100, &second));
    assert_true(copse_transfer_pin_take(t.device, middle + (1 << 20), 100, &second));
    copse_transfer_pin_drop(t.device, &pin);
    copse_transfer_pin_drop(t.device, &second);
    assert_int_equal(copse_device_kind(t.device, middle), COPSE_MEMORY_PAGEABLE);
    free(memory);
    trial_close(&t);
}

/* What overlaps: with pinned arrays nothing has run when the last chunk is submitted; staged chunks wait for the chunk
 * that was in their slot, and for no other. */
static void test_where_the_host_waits(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 6);
    settings_change(&t, 3, 1 << 20, 0, COPSE_TRANSFER_STAGED);
    places_choose(&t, PINNED + PINNED * 3 + PINNED * 9 + PINNED * 27);
    job_run(&t, 50, 5);
    assert_int_equal(t.chunks, 10);
    assert_int_equal(t.ran_by[9], 0);
    uint64_t ran = lazy.works;
    places_choose(&t, 0);
    job_run(&t, 50, 5);
    for (unsigned chunk = 0; chunk < 10; chunk++) {
        assert_true(t.ran_by[chunk] - ran <= chunk);
        assert_true(t.ran_by[chunk] - ran >= (chunk < 3 ? 0 : chunk - 2));
    }
    assert_int_equal(t.ran_by[2], ran);
    trial_close(&t);
}

/* The pipeline comes after what was put on main before. */
struct late_input {
    uint64_t *memory;
    uint64_t n;
};

static void late_input_run(void *argument)
{
    const struct late_input *late = argument;
    for (uint64_t i = 0; i < late->n; i++) late->memory[i] = wide_of(i);
}

static void test_follows_main(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++) {
        struct trial t;
        trial_open(&t, 1, seed);
        places_choose(&t, PINNED);
        settings_change(&t, 3, 1 << 20, 0, COPSE_TRANSFER_STAGED);
        job_make(&t, 50, 5);
        uint64_t *wide = t.job.array[WIDE_IN].memory;
        memset(wide, 0, 50 * sizeof *wide);
        struct late_input late = {wide, 50};
        lazy_call(t.device->main, late_input_run, &late, sizeof late);
        assert_ok(t.ctx, copse_transfer_run(&t.job));
        job_check(&t);
        job_free(&t);
        trial_close(&t);
    }
}

static void test_callers_stream(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 8);
    places_choose(&t, DEVICE + DEVICE * 3 + DEVICE * 9 + DEVICE * 27);
    job_make(&t, 50, 0);
    assert_ok(t.ctx, copse_transfer_run(&t.job));
    assert_int_equal(lazy_pending(), 0);
    t.device->callers_stream = true;
    assert_ok(t.ctx, copse_transfer_run(&t.job));
    assert_int_equal(lazy_pending(), 1);
    assert_ok(t.ctx, copse_device_wait(t.device, t.device->main));
    job_check(&t);
    job_free(&t);
    t.device->callers_stream = true;
    places_choose(&t, DEVICE + DEVICE * 3 + DEVICE * 9); /* one host output: complete on return */
    job_run(&t, 50, 0);
    t.device->callers_stream = false;
    trial_close(&t);
}

/* A failed job has ended on the device, too; its sentence is that of the failure; the next job works. */
static void expect_failure(struct trial *t, copse_status status, const char *word)
{
    assert_fails_naming(t->ctx, status, word, copse_transfer_run(&t->job));
    assert_int_equal(lazy_pending(), 0);
    t->fails_at = UINT64_MAX;
    lazy.copies_left = -1;
    lazy.waits_fail = false;
    t->chunks = 0;
    assert_ok(t->ctx, copse_transfer_run(&t->job));
    job_check(t);
}

static void test_failing_work(void **state)
{
    (void)state;
    for (unsigned mix = 0; mix < 81; mix += 8) {
        struct trial t;
        trial_open(&t, 1, mix);
        places_choose(&t, mix);
        for (int direct = 0; direct <= 1; direct++) {
            settings_change(&t, 3, 1 << 20, direct ? 1 << 20 : 0, COPSE_TRANSFER_STAGED);
            for (uint64_t chunk = 0; chunk < 9; chunk++) {
                bool pieces = chunk > 0 && mix != 80; /* all on the device: one piece */
                job_make(&t, 50, pieces ? 6 : 0);
                t.fails_at = pieces ? chunk : 0;
                lazy.waits_fail = chunk % 2;
                expect_failure(&t, COPSE_ERR_OVERFLOW, "planted work");
                job_free(&t);
            }
        }
        trial_close(&t);
    }
}

static void test_failing_copies(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 11);
    settings_change(&t, 3, 1 << 20, 0, COPSE_TRANSFER_STAGED);
    job_make(&t, 50, 7);
    for (int copy = 0; copy < 4 * 8; copy++) { /* two in and two out for each of 8 chunks */
        lazy.copies_left = copy;
        expect_failure(&t, COPSE_ERR_DEVICE, "planted copy");
    }
    lazy.waits_fail = true;
    expect_failure(&t, COPSE_ERR_DEVICE, "planted wait");
    job_free(&t);
    trial_close(&t);
}

/* Every allocation on the way fails once: on the device, and on the host, from which streams and events come here. */
static void test_failing_allocations(void **state)
{
    (void)state;
    struct test_allocator allocator;
    test_allocator_init(&allocator);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = 1;
    for (int device_side = 0; device_side <= 1; device_side++) {
        bool through = false;
        unsigned failed = 0;
        for (int site = 0; !through; site++) {
            struct trial t = {.fails_at = UINT64_MAX};
            assert_ok(NULL, copse_ctx_create(&options, &t.ctx));
            t.device = lazy_device(t.ctx, (uint64_t)site);
            job_make(&t, 50, 7);
            uint64_t before = t.device->allocated;
            t.device->allocations_left = device_side ? site : -1;
            if (!device_side) test_allocator_fail_after(&allocator, site, true);
            copse_status status = copse_transfer_run(&t.job);
            through = status == COPSE_OK;
            failed += !through;
            t.device->allocations_left = -1;
            test_allocator_never_fail(&allocator);
            if (!through) {
                assert_int_equal(status, COPSE_ERR_MEMORY);
                assert_ok(t.ctx, copse_transfer_run(&t.job));
            }
            job_check(&t);
            job_free(&t);
            copse_transfer_close(t.device);
            assert_int_equal(t.device->allocated, before);
            trial_close(&t);
            assert_true(test_allocator_is_clean(&allocator));
        }
        assert_true(failed >= 3); /* the slots at least */
    }
}

static void test_refused_arrays(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 12);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    options.device = 1;
    copse_ctx *other_ctx;
    copse_device *other;
    void *foreign;
    assert_ok(NULL, copse_ctx_create(&options, &other_ctx));
    assert_ok(other_ctx, copse_device_get(other_ctx, COPSE_PLACEMENT_EMULATED, &other));
    assert_ok(other_ctx, copse_device_alloc(other, other->main, 400, "a test's array", &foreign));
    job_make(&t, 50, 0);
    copse_transfer_array kept = t.job.array[WIDE_OUT];
    t.job.array[WIDE_OUT].memory = foreign;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "array 3", copse_transfer_run(&t.job));
    t.job.array[WIDE_OUT].name = "out_values";
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "out_values is memory of another device",
                        copse_transfer_run(&t.job));
    t.job.array[WIDE_OUT].memory = (void *)(uintptr_t)8;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "out_values", copse_transfer_run(&t.job));
    t.job.array[WIDE_OUT] = kept;
    t.job.n = UINT64_MAX / 8;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "array 0", copse_transfer_run(&t.job));
    t.job.n = 50;
    assert_int_equal(t.chunks, 0);
    job_free(&t);
    copse_device_free(other, other->main, foreign, 400);
    copse_ctx_free(other_ctx);
    trial_close(&t);
}

static void whole_arrays(const struct trial *t, enum place place, uint64_t bytes)
{
    char *host = array_make(t->device, place, bytes), *there = array_make(t->device, DEVICE, bytes);
    char *expected = must_malloc(bytes), *seen = must_malloc(bytes);
    for (uint64_t i = 0; i < bytes; i++) expected[i] = (char)(i * 31 + i / 251);
    poke(host, expected, bytes);
    assert_ok(t->ctx, copse_transfer_to_device(t->device, there, host, bytes));
    if (place != DEVICE) assert_int_equal(lazy_pending(), 0);
    assert_ok(t->ctx, copse_device_wait(t->device, t->device->main));
    poke(seen, there, bytes);
    assert_memory_equal(seen, expected, bytes);
    memset(seen, 0, bytes);
    poke(host, seen, bytes);
    assert_ok(t->ctx, copse_transfer_to_host(t->device, host, there, bytes));
    if (place != DEVICE) assert_int_equal(lazy_pending(), 0);
    assert_ok(t->ctx, copse_device_wait(t->device, t->device->main));
    poke(seen, host, bytes);
    assert_memory_equal(seen, expected, bytes);
    array_free(t->device, place, host, bytes);
    array_free(t->device, DEVICE, there, bytes);
    free(expected);
    free(seen);
}

static void test_whole_arrays(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 2, 13);
    copse_transfer_settings settings;
    assert_ok(t.ctx, copse_transfer_settings_get(t.device, &settings));
    settings.chunk_bytes = 100000;
    assert_ok(t.ctx, copse_transfer_settings_set(t.device, &settings));
    uint64_t slots_before = t.device->allocated;
    for (int place = PAGEABLE; place < PLACES; place++) {
        whole_arrays(&t, (enum place)place, 1);
        whole_arrays(&t, (enum place)place, 65536);
        whole_arrays(&t, (enum place)place, 65537);
        whole_arrays(&t, (enum place)place, 1234567);
    }
    assert_int_equal(t.device->allocated, slots_before); /* no way through slots of the device */
    void *memory = array_make(t.device, DEVICE, 100);
    assert_fails(t.ctx, COPSE_ERR_ARGUMENT, copse_transfer_to_device(t.device, memory, (void *)(uintptr_t)8, 100));
    array_free(t.device, DEVICE, memory, 100);
    trial_close(&t);
}

static void test_settings(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 14);
    copse_transfer_settings settings;
    assert_int_equal(setenv("COPSE_TRANSFER", "fast", 1), 0);
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "COPSE_TRANSFER", copse_transfer_settings_get(t.device, &settings));
    assert_int_equal(setenv("COPSE_TRANSFER", "pinned", 1), 0);
    assert_ok(t.ctx, copse_transfer_settings_get(t.device, &settings));
    assert_int_equal(settings.mode, COPSE_TRANSFER_REGISTERED);
    assert_int_equal(unsetenv("COPSE_TRANSFER"), 0);
    settings.slots = 1;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "slots", copse_transfer_settings_set(t.device, &settings));
    settings.slots = COPSE_TRANSFER_SLOTS + 1;
    assert_fails_naming(t.ctx, COPSE_ERR_ARGUMENT, "slots", copse_transfer_settings_set(t.device, &settings));
    trial_close(&t);
}

/* Slots are kept for the next job, and given back by close. */
static void test_slots_are_kept(void **state)
{
    (void)state;
    struct trial t;
    trial_open(&t, 1, 15);
    uint64_t before = t.device->allocated;
    settings_change(&t, 3, 0, 0, COPSE_TRANSFER_STAGED);
    job_run(&t, 200000, 0);
    uint64_t after = t.device->allocated;
    assert_true(after > before);
    t.device->allocations_left = 0; /* none from here on */
    job_run(&t, 150000, 0);
    t.device->allocations_left = -1;
    assert_int_equal(t.device->allocated, after);
    copse_transfer_close(t.device);
    assert_int_equal(t.device->allocated, before);
    trial_close(&t);
}

static void test_host_copies(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 63, 64, 200, 131071, 131072, 131073, 700000};
    copse_ctx *ctx = unit_context(3);
    char *from = must_malloc(1 << 20), *to = must_malloc(1 << 20);
    for (unsigned i = 0; i < 1 << 20; i++) from[i] = (char)(i * 13 + i / 255);
    for (int streaming = 0; streaming <= 1; streaming++) {
        for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
            for (unsigned shift = 0; shift < 3; shift++) {
                uint64_t n = sizes[i];
                memset(to, 0x55, 1 << 20);
                copse_transfer_copy copies[] = {
                    {to + 8 + shift, from, n}, {to, from + 5, 7}, {to + 800000, from + shift, n / 4}};
                copse_transfer_copies(ctx, copies, 3, streaming);
                assert_memory_equal(to + 8 + shift, from, n);
                assert_memory_equal(to, from + 5, 7);
                assert_memory_equal(to + 800000, from + shift, n / 4);
                assert_int_equal(to[7], 0x55);
                assert_int_equal(to[8 + shift + n], 0x55);
                assert_int_equal(to[800000 + n / 4], 0x55);
            }
        }
    }
    free(from);
    free(to);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixes),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_default_chunks),
        cmocka_unit_test(test_registered),
        cmocka_unit_test(test_pins_of_others),
        cmocka_unit_test(test_where_the_host_waits),
        cmocka_unit_test(test_follows_main),
        cmocka_unit_test(test_callers_stream),
        cmocka_unit_test(test_failing_work),
        cmocka_unit_test(test_failing_copies),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_refused_arrays),
        cmocka_unit_test(test_whole_arrays),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_slots_are_kept),
        cmocka_unit_test(test_host_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
