/* Every construct of simt.h on a card, against the plain loops that the emulator is held to: what the emulator says a
 * kernel computes is what the card computes. --emulated runs the same on the emulated device.
 * Ends with "N passed, N failed"; exit status 77 and "no card" where there is none. */
#include "copse.h"
#include "device/device.h"
#include "simt/kernels.h"
#include "simt/model.inc.h"

#define NO_CARD 77
#define ROUNDS  5u

struct place {
    copse_device *device;
    const copse_kernel *kernels;
    uint64_t *in, *out, *counter;
};

#define IN_BYTES      ((uint64_t)SIMT_TEST_MOST * sizeof(uint64_t))
#define OUT_BYTES     (IN_BYTES * SIMT_TEST_WORDS)
#define COUNTER_BYTES ((uint64_t)SIMT_TEST_COUNTERS * sizeof(uint64_t))

static bool run_on_device(void *user, enum simt_test_kernel which, uint64_t blocks, struct simt_model *m)
{
    const struct place *place = user;
    copse_device *device = place->device;
    copse_stream *stream = device->main;
    struct simt_test_arguments arguments = {place->in, place->out, place->counter, m->n};
    uint64_t out_bytes = m->n * SIMT_TEST_WORDS * sizeof(uint64_t);
    return copse_device_copy(device, stream, place->in, m->in, m->n * sizeof(uint64_t)) == COPSE_OK &&
           copse_device_copy(device, stream, place->out, m->out, out_bytes) == COPSE_OK &&
           copse_device_copy(device, stream, place->counter, m->counter, COUNTER_BYTES) == COPSE_OK &&
           copse_device_launch(device, stream, &place->kernels[which], blocks, &arguments) == COPSE_OK &&
           copse_device_read(device, stream, m->out, place->out, out_bytes) == COPSE_OK &&
           copse_device_read(device, stream, m->counter, place->counter, COUNTER_BYTES) == COPSE_OK;
}

static unsigned run_all(copse_ctx *ctx, struct place *place, struct simt_model *model, unsigned *passed)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < ROUNDS * SIMT_TEST_KERNELS; i++) {
        enum simt_test_kernel which = (enum simt_test_kernel)(i % SIMT_TEST_KERNELS);
        if (simt_model_check(model, which, place->kernels[which].threads, i, run_on_device, place)) {
            (*passed)++;
        } else {
            (void)printf("FAILED %s; the last sentence is '%s'\n", simt_models[which].name, copse_last_error(ctx));
            failed++;
        }
    }
    return failed;
}

static bool allocate(struct place *place)
{
    copse_stream *stream = place->device->main;
    return copse_device_alloc(place->device, stream, IN_BYTES, "a test", (void **)&place->in) == COPSE_OK &&
           copse_device_alloc(place->device, stream, OUT_BYTES, "a test", (void **)&place->out) == COPSE_OK &&
           copse_device_alloc(place->device, stream, COUNTER_BYTES, "a test", (void **)&place->counter) == COPSE_OK;
}

static void release(struct place *place)
{
    copse_stream *stream = place->device->main;
    copse_device_free(place->device, stream, place->in, IN_BYTES);
    copse_device_free(place->device, stream, place->out, OUT_BYTES);
    copse_device_free(place->device, stream, place->counter, COUNTER_BYTES);
}

int main(int argc, char **argv)
{
    bool emulated = argc > 1 && strcmp(argv[1], "--emulated") == 0;
    copse_placement placement = emulated ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_GPU;
    struct place place = {0};
    struct simt_model model = {0};
    unsigned passed = 0, failed = 1;
    copse_ctx *ctx = NULL;
    place.kernels = emulated ? simt_test_kernels_emulated : simt_test_kernels_cuda;
    if (copse_ctx_create(NULL, &ctx) != COPSE_OK) return 1;
    if (copse_device_get(ctx, placement, &place.device) != COPSE_OK) {
        (void)printf("no card: %s\n", copse_last_error(ctx));
        copse_ctx_free(ctx);
        return NO_CARD;
    }
    if (simt_model_create(&model) && allocate(&place)) failed = run_all(ctx, &place, &model, &passed);
    release(&place);
    simt_model_free(&model);
    copse_ctx_free(ctx);
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
