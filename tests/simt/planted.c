/* Usage: planted KERNEL [fixed]
 * Runs one of the kernels of broken.inc.h in a few orders, under the sanitizer that this is built with, which is expected
 * to end the program with a report; `fixed` runs the same kernel without its fault. `planted right` runs the kernels of
 * kernels.inc.h, where nothing is to be reported. tests/simt/run says what to expect of which. */
#include "simt/emulator.h"
#include "broken.inc.h"
#include "kernels.inc.h"
#include "model.inc.h"

#define BLOCKS  6u
#define THREADS (BLOCKS * 64u)

static const copse_kernel right[] = SIMT_TEST_TABLE;

static const copse_kernel broken[] = {
    SIMT_KERNEL_ENTRY(broken_missing_syncwarp, 64),    SIMT_KERNEL_ENTRY(broken_vote_for_barrier, 64),
    SIMT_KERNEL_ENTRY(broken_missing_syncthreads, 64), SIMT_KERNEL_ENTRY(broken_early_overwrite, 64),
    SIMT_KERNEL_ENTRY(broken_plain_update, 64),        SIMT_KERNEL_ENTRY(broken_late_message, 64),
    SIMT_KERNEL_ENTRY(broken_behind_shared, 64),       SIMT_KERNEL_ENTRY(broken_before_shared, 64),
    SIMT_KERNEL_ENTRY(broken_reads_behind_shared, 64), SIMT_KERNEL_ENTRY(broken_behind_global, 64),
    SIMT_KERNEL_ENTRY(broken_lane_ends_after, 64),
};

static copse_pool *pool; /* to the end of the program */
#define HOST_THREADS 3u

static bool launch(const copse_kernel *kernel, uint32_t host_threads, uint64_t seed, uint64_t blocks,
                   const void *arguments)
{
    char sentence[256] = "";
    copse_emulator_launch_options options = {
        .threads = host_threads, .pool = pool, .seed = seed, .error = sentence, .error_bytes = sizeof sentence};
    if (copse_emulator_launch(&options, kernel, blocks, arguments)) return true;
    (void)printf("%s\n", sentence);
    return false;
}

static bool run_right(void *user, enum simt_test_kernel which, uint64_t blocks, struct simt_model *m)
{
    uint64_t seed = *(const uint64_t *)user;
    struct simt_test_arguments arguments = {m->in, m->out, m->counter, m->n};
    return launch(&right[which], 1 + (uint32_t)seed % 3, seed, blocks, &arguments);
}

static int all_right(void)
{
    struct simt_model model;
    bool good = simt_model_create(&model);
    for (uint64_t seed = 0; good && seed < 6; seed++) {
        for (int i = 0; good && i < SIMT_TEST_KERNELS; i++) {
            good = simt_model_check(&model, (enum simt_test_kernel)i, right[i].threads, seed, run_right, &seed);
        }
    }
    simt_model_free(&model);
    copse_emulator_trim();
    return good ? 0 : 1;
}

/* The memory is no larger than the kernel may use, so that AddressSanitizer sees what is beside it. */
static int one_broken(const copse_kernel *kernel, uint32_t fixed)
{
    bool good = true;
    for (uint64_t seed = 0; seed < 3; seed++) {
        uint32_t *out = aligned_alloc(16, THREADS * sizeof *out);
        struct broken_arguments arguments = {out, THREADS, fixed};
        if (!out) return 2;
        memset(out, 0, THREADS * sizeof *out);
        good = launch(kernel, 1, seed, BLOCKS, &arguments) && good;
        free(out);
    }
    copse_emulator_trim();
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    pool = copse_pool_open(aligned_alloc(64, (copse_pool_bytes(HOST_THREADS) + 63) / 64 * 64), HOST_THREADS);
    if (strcmp(name, "right") == 0) return all_right();
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        if (strcmp(broken[i].name + strlen("broken_"), name) == 0) return one_broken(&broken[i], argc > 2);
    }
    (void)fprintf(stderr, "planted: no kernel '%s'\n", name);
    return 2;
}
