/* The transfer pipeline on a card: every mix of memory, chunk borders, settings.
 *
 *   test_transfer_gpu              the tests
 *   test_transfer_gpu --table      and how fast it is: chunk sizes, slots and modes; small batches
 *   test_transfer_gpu --emulated   the same on the emulator, smaller: a test of the test
 *
 * The batch is that of a lookup: 8 bytes in, 8 + 1 bytes out, by a kernel that does next to nothing.
 * Ends with "N passed, N failed"; exit status 77 and "no card" where there is none. */
#include "batch_kernels.h"
#include "gpu_program.h"

#include "transfer/transfer.h"

enum place { PAGEABLE, PINNED, DEVICE, PLACES };
static const char *const place_names[] = {"pageable", "pinned", "device"};

struct batch {
    copse_device *device;
    uint64_t n;
    enum place places[3];
    uint64_t *keys, *values;
    uint8_t *found;
    char wrong[160];
};

static copse_status work(void *user, copse_stream *stream, uint64_t first, uint64_t n, void *const *memory)
{
    const struct batch *b = user;
    bool card = b->device->backend->placement == COPSE_PLACEMENT_GPU;
    batch_arguments arguments = {memory[0], memory[1], memory[2], first, n};
    return copse_device_launch(b->device, stream, card ? &batch_kernel_cuda : &batch_kernel_emulated,
                               (n + BATCH_THREADS - 1) / BATCH_THREADS, &arguments);
}

/* --- batches in any memory -------------------------------------------------------------------------------------------- */

static void *place_alloc(copse_device *device, enum place place, uint64_t bytes)
{
    void *memory = NULL;
    if (place == DEVICE)
        (void)copse_device_alloc(device, device->main, bytes, "a test's array", &memory);
    else
        memory = place == PINNED ? device->backend->pinned_alloc(device, bytes) : malloc(bytes);
    if (memory) return memory;
    (void)printf("test_transfer_gpu: no memory for %llu bytes\n", (unsigned long long)bytes);
    exit(2);
}

static void place_free(copse_device *device, enum place place, void *memory, uint64_t bytes)
{
    if (place == DEVICE)
        copse_device_free(device, device->main, memory, bytes);
    else if (place == PINNED)
        device->backend->pinned_free(device, memory, bytes);
    else
        free(memory);
}

static uint64_t key_of(uint64_t i)
{
    return i * UINT64_C(0x9E3779B97F4A7C15);
}

/* Moves between an array in any memory and one in host memory, not through the pipeline. */
static void move(copse_device *device, void *to, const void *from, uint64_t bytes)
{
    if (copse_device_copy(device, device->main, to, from, bytes) == COPSE_OK &&
        copse_device_wait(device, device->main) == COPSE_OK)
        return;
    (void)printf("test_transfer_gpu: %s\n", copse_last_error(device->ctx));
    exit(2);
}

static void batch_make(struct batch *b, copse_device *device, uint64_t n, unsigned mix)
{
    *b = (struct batch){.device = device, .n = n};
    for (unsigned i = 0; i < 3; i++, mix /= PLACES) b->places[i] = (enum place)(mix % PLACES);
    b->keys = place_alloc(device, b->places[0], n * 8);
    b->values = place_alloc(device, b->places[1], n * 8);
    b->found = place_alloc(device, b->places[2], n);
    uint64_t *keys = b->places[0] == DEVICE ? place_alloc(device, PAGEABLE, n * 8) : b->keys;
    for (uint64_t i = 0; i < n; i++) keys[i] = key_of(i);
    if (keys != b->keys) {
        move(device, b->keys, keys, n * 8);
        free(keys);
    }
    for (unsigned i = 1; i < 3; i++) { /* touched, so that a figure does not measure the system's paging */
        if (b->places[i] != DEVICE) memset(i == 1 ? (void *)b->values : b->found, 0xEE, i == 1 ? n * 8 : n);
    }
}

static void batch_free(struct batch *b)
{
    place_free(b->device, b->places[0], b->keys, b->n * 8);
    place_free(b->device, b->places[1], b->values, b->n * 8);
    place_free(b->device, b->places[2], b->found, b->n);
}

static copse_status batch_run(struct batch *b, uint64_t chunk)
{
    copse_transfer_job job = {.device = b->device, .arrays = 3, .n = b->n, .work = work, .user = b, .chunk = chunk};
    job.array[0] = (copse_transfer_array){b->keys, 8, false, "keys", NULL};
    job.array[1] = (copse_transfer_array){b->values, 8, true, "values", NULL};
    job.array[2] = (copse_transfer_array){b->found, 1, true, "found", NULL};
    return copse_transfer_run(&job);
}

static const char *batch_check(struct batch *b)
{
    uint64_t *values = place_alloc(b->device, PAGEABLE, b->n * 8);
    uint8_t *found = place_alloc(b->device, PAGEABLE, b->n);
    move(b->device, values, b->values, b->n * 8);
    move(b->device, found, b->found, b->n);
    uint64_t i = 0;
    while (i < b->n && values[i] == key_of(i) * 3 + i && found[i] == (key_of(i) & 1)) i++;
    free(values);
    free(found);
    if (i == b->n) return NULL;
    (void)snprintf(b->wrong, sizeof b->wrong, "answer %llu of %llu is wrong (keys %s, values %s, found %s)",
                   (unsigned long long)i, (unsigned long long)b->n, place_names[b->places[0]],
                   place_names[b->places[1]], place_names[b->places[2]]);
    return b->wrong;
}

/* --- tests -------------------------------------------------------------------------------------------------------------- */

static void set(copse_device *device, const copse_transfer_settings *settings)
{
    if (copse_transfer_settings_set(device, settings) != COPSE_OK)
        count_test("settings", copse_last_error(device->ctx));
}

static void test_one(copse_device *device, uint64_t n, uint64_t chunk, unsigned mix)
{
    struct batch b;
    batch_make(&b, device, n, mix);
    copse_status status = batch_run(&b, chunk);
    count_test("mixes", status == COPSE_OK ? batch_check(&b) : copse_last_error(device->ctx));
    batch_free(&b);
}

static void test_mixes(copse_device *device, copse_transfer_settings settings, bool emulated)
{
    uint64_t chunk = emulated ? 64 : 50000;
    for (unsigned mix = 0; mix < PLACES * PLACES * PLACES; mix++) {
        settings.mode = mix % 2 ? COPSE_TRANSFER_REGISTERED : COPSE_TRANSFER_STAGED;
        settings.streaming = mix % 4 < 2;
        settings.slots = 2 + mix % 5;
        set(device, &settings);
        for (int more = -1; more <= 1; more++) {
            test_one(device, chunk + (uint64_t)(int64_t)more, chunk, mix);
            test_one(device, 9 * chunk + (uint64_t)(int64_t)more, chunk, mix);
        }
        test_one(device, 1, 0, mix);
        settings.direct_bytes = mix % 2 ? 0 : UINT64_C(1) << 20;
        set(device, &settings);
        test_one(device, emulated ? 777 : 50001, 0, mix);
        if (!emulated) test_one(device, 3000001, 0, mix);
    }
}

static void test_whole(copse_device *device, uint64_t bytes, enum place place)
{
    unsigned char *host = place_alloc(device, place, bytes), *there = place_alloc(device, DEVICE, bytes);
    for (uint64_t i = 0; i < bytes; i++) host[i] = (unsigned char)(i * 31 + i / 251);
    copse_status status = copse_transfer_to_device(device, there, host, bytes);
    memset(host, 0, bytes);
    if (status == COPSE_OK) status = copse_transfer_to_host(device, host, there, bytes);
    uint64_t i = 0;
    while (i < bytes && host[i] == (unsigned char)(i * 31 + i / 251)) i++;
    const char *wrong = i == bytes ? NULL : "the array came back changed";
    count_test("whole arrays", status == COPSE_OK ? wrong : copse_last_error(device->ctx));
    place_free(device, place, host, bytes);
    place_free(device, DEVICE, there, bytes);
}

/* --- figures ------------------------------------------------------------------------------------------------------------ */

/* The best of a few runs, in seconds. */
static double measure(struct batch *b, int runs)
{
    double best = 1e9;
    for (int run = 0; run < runs; run++) {
        double start = now();
        if (batch_run(b, 0) != COPSE_OK) return 1e9;
        double seconds = now() - start;
        if (seconds < best) best = seconds;
    }
    return best;
}

static void table_line(struct batch *b, const char *name, copse_transfer_settings settings)
{
    (void)printf("%-22s %u slots", name, settings.slots);
    for (unsigned shift = 20; shift <= 26; shift++) {
        settings.chunk_bytes = UINT64_C(1) << shift;
        set(b->device, &settings);
        (void)printf(" %7.3f", (double)b->n / measure(b, 3) / 1e9);
        (void)fflush(stdout);
    }
    (void)printf("\n");
}

static void table_chunks(copse_device *device, copse_transfer_settings settings, uint64_t n)
{
    struct batch pinned, pageable;
    batch_make(&pinned, device, n, PINNED + PINNED * PLACES + PINNED * PLACES * PLACES);
    batch_make(&pageable, device, n, PAGEABLE);
    (void)printf("G elements/s of %llu, 8 bytes in and 9 out, by MiB of a chunk:\n%-30s", (unsigned long long)n, "");
    for (unsigned shift = 20; shift <= 26; shift++) (void)printf(" %7u", 1u << (shift - 20));
    (void)printf("\n");
    for (settings.slots = 2; settings.slots <= 4; settings.slots++) {
        settings.mode = COPSE_TRANSFER_STAGED;
        settings.streaming = false;
        table_line(&pinned, "pinned", settings);
        table_line(&pageable, "pageable staged", settings);
        settings.streaming = true;
        table_line(&pageable, "pageable streaming", settings);
        settings.mode = COPSE_TRANSFER_REGISTERED;
        if (settings.slots == 3) table_line(&pageable, "pageable registered", settings);
    }
    batch_free(&pinned);
    batch_free(&pageable);
}

/* Microseconds of one call of a small batch, on average over many. */
static double small_call(struct batch *b, int calls)
{
    if (batch_run(b, 0) != COPSE_OK) return -1;
    double start = now();
    for (int i = 0; i < calls; i++) {
        if (batch_run(b, 0) != COPSE_OK) return -1;
    }
    return (now() - start) / calls * 1e6;
}

static void table_small(copse_device *device, copse_transfer_settings settings, unsigned largest, int calls)
{
    copse_transfer_settings direct = settings, packed = settings, pipeline = settings;
    direct.small_bytes = direct.direct_bytes = packed.small_bytes = UINT64_C(64) << 20;
    packed.direct_bytes = pipeline.direct_bytes = pipeline.small_bytes = 0;
    const copse_transfer_settings *const ways[] = {&direct, &packed, &pipeline};
    (void)printf("microseconds a call, pageable:\n%10s %10s %10s %10s %10s\n", "elements", "direct", "packed",
                 "pipeline", "on device");
    for (unsigned shift = 4; shift <= largest; shift += 2) {
        struct batch pageable, resident;
        batch_make(&pageable, device, UINT64_C(1) << shift, PAGEABLE);
        batch_make(&resident, device, UINT64_C(1) << shift, DEVICE + DEVICE * PLACES + DEVICE * PLACES * PLACES);
        (void)printf("%10u", 1u << shift);
        for (unsigned way = 0; way < 3; way++) {
            set(device, ways[way]);
            (void)printf(" %10.2f", small_call(&pageable, calls));
        }
        (void)printf(" %10.2f\n", small_call(&resident, calls));
        batch_free(&pageable);
        batch_free(&resident);
    }
}

int main(int count, char **arguments)
{
    copse_ctx *ctx = NULL;
    copse_device *device = open_device(count, arguments, &ctx);
    bool emulated = has_argument(count, arguments, "--emulated");
    copse_transfer_settings settings;
    if (copse_transfer_settings_get(device, &settings) != COPSE_OK) {
        count_test("settings", copse_last_error(ctx));
        return finish(ctx);
    }
    test_mixes(device, settings, emulated);
    set(device, &settings);
    for (int place = PAGEABLE; place <= PINNED; place++) {
        test_whole(device, 1, (enum place)place);
        test_whole(device, 100000, (enum place)place);
        test_whole(device, emulated ? 1000000 : 100000001, (enum place)place);
    }
    if (has_argument(count, arguments, "--table")) {
        table_small(device, settings, emulated ? 8 : 20, emulated ? 10 : 500);
        table_chunks(device, settings, emulated ? 1 << 16 : 1 << 27);
    }
    return finish(ctx);
}
