/* What the programs of tests/gpu share: counting, the clock, a context with a device. Included by one file of each. */
#ifndef TESTS_GPU_PROGRAM_H
#define TESTS_GPU_PROGRAM_H

#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_CARD 77

static unsigned passed, failed;

/* Counts one test; `wrong` is NULL or what is wrong. */
static void count_test(const char *name, const char *wrong)
{
    if (!wrong) {
        passed++;
        return;
    }
    failed++;
    (void)printf("FAILED %s: %s\n", name, wrong);
}

static inline double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool has_argument(int count, char **arguments, const char *name)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], name) == 0) return true;
    }
    return false;
}

/* Opens the card, or with --emulated the emulator. Ends the program where there is none. */
static copse_device *open_device(int count, char **arguments, copse_ctx **out_ctx)
{
    bool emulated = has_argument(count, arguments, "--emulated");
    const char *why = "";
    copse_device *device = NULL;
    if (!emulated && copse_device_count(&why) == 0) {
        (void)printf("no card: %s\n", why);
        exit(NO_CARD);
    }
    if (copse_ctx_create(NULL, out_ctx) == COPSE_OK)
        (void)copse_device_get(*out_ctx, emulated ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_GPU, &device);
    if (device) return device;
    (void)printf("%s: %s\n", arguments[0], copse_last_error(*out_ctx));
    exit(2);
}

static int finish(copse_ctx *ctx)
{
    copse_ctx_free(ctx);
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}

#endif
