/* The context: threads, instruction set, memory, progress, which card. */
#include "core/internal.h"
#include "core/pool.h"
#include "core/processors.h"
#include "core/structs.h"
#include "cpu/instruction_set.h"
#include "device/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS     1024u
#define DEEPEST_PIPELINE 256u

static copse_status threads_choose(uint32_t asked, uint32_t *out)
{
    const char *text = getenv("COPSE_THREADS");
    if (asked > MOST_THREADS)
        return copse_fail_argument(NULL, "options", "options->threads is %u; at most %u are supported", asked,
                                   MOST_THREADS);
    if (asked == 0 && text && *text) {
        char *end;
        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (errno || *end || n < 1 || n > MOST_THREADS || *text == '-')
            return copse_fail_argument(NULL, "COPSE_THREADS",
                                       "COPSE_THREADS is '%.40s'; it takes a number from 1 to %u", text, MOST_THREADS);
        asked = (uint32_t)n;
    }
    *out = asked ? asked : copse_processors(COPSE_PROC_SELF, COPSE_CGROUPS);
    return COPSE_OK;
}

static copse_status instruction_set_choose(const char *asked, copse_instruction_set *out)
{
    const char *argument = asked ? "options" : "COPSE_ISA", *where = asked ? "options->isa" : "COPSE_ISA";
    if (!asked) asked = getenv("COPSE_ISA");
    if (!asked || !*asked) {
        *out = copse_instruction_set_best();
        return COPSE_OK;
    }
    if (!copse_instruction_set_parse(asked, out))
        return copse_fail_argument(NULL, argument, "%s is '%.40s'; it takes scalar, avx2 or avx512", where, asked);
    if (!copse_instruction_set_present(*out))
        return copse_fail(NULL, COPSE_ERR_UNSUPPORTED, "%s asks for '%s', but this machine offers only: %s", where,
                          asked, copse_instruction_sets_offered());
    return COPSE_OK;
}

/* Only a caller who names a card that the emulator has not pays for the look at the others, which starts the driver. */
static copse_status device_exists(int32_t number)
{
    const char *why = "";
    if (number < copse_device_emulated.count(&why)) return COPSE_OK;
    const int count = copse_device_cuda.count(&why);
    if (number < count) return COPSE_OK;
    copse_status status = count == 0
                              ? copse_fail(NULL, COPSE_ERR_DEVICE, "there is no card %d: %s", number, why)
                              : copse_fail(NULL, COPSE_ERR_DEVICE,
                                           "there is no card %d: this machine has %d, counted from 0", number, count);
    return copse_error_at(status, "options", UINT64_MAX, 0);
}

/* The number of the card: what the program says, else COPSE_DEVICE, else -1. */
static copse_status device_choose(int32_t asked, int32_t *out)
{
    const char *text = getenv("COPSE_DEVICE");
    if (asked < -1)
        return copse_fail_argument(
            NULL, "options",
            "options->device is %d; it takes the number of a card, or -1 for the first that can be used", asked);
    if (asked == -1 && text && *text) {
        char *end;
        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (errno || *end || n > INT32_MAX || *text < '0' || *text > '9')
            return copse_fail_argument(NULL, "COPSE_DEVICE", "COPSE_DEVICE is '%.40s'; it takes the number of a card",
                                       text);
        asked = (int32_t)n;
    }
    *out = asked;
    return asked > 0 ? device_exists(asked) : COPSE_OK;
}

/* "8G", "512M", "1000000": bytes, 0 where that is no number of them. */
static uint64_t bytes_parse(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    uint64_t bytes = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (errno || end == text || *text < '0' || *text > '9' || (*end && (!unit || end[1]))) return 0;
    const unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
    return bytes << shift >> shift == bytes ? bytes << shift : 0;
}

static copse_status device_memory_choose(uint64_t asked, uint64_t *out)
{
    const char *text = getenv("COPSE_DEVICE_MEMORY");
    *out = asked;
    if (asked || !text || !*text) return COPSE_OK;
    *out = bytes_parse(text);
    if (*out) return COPSE_OK;
    return copse_fail_argument(NULL, "COPSE_DEVICE_MEMORY",
                               "COPSE_DEVICE_MEMORY is '%.40s'; it takes bytes, as 8G, 512M or 1000000", text);
}

static copse_status options_check_values(const copse_ctx_options *o)
{
    if (o->huge_pages != COPSE_HUGE_PAGES_AUTO && o->huge_pages != COPSE_HUGE_PAGES_OFF)
        return copse_fail_argument(NULL, "options", "options->huge_pages is %d, which is not a copse_huge_pages value",
                                   (int)o->huge_pages);
    if (o->pipeline > DEEPEST_PIPELINE)
        return copse_fail_argument(NULL, "options", "options->pipeline is %u; it goes from 1 to %u (0: the default)",
                                   o->pipeline, DEEPEST_PIPELINE);
    if (o->flags & ~COPSE_CTX_DEVICE_ARRAYS)
        return copse_fail_argument(NULL, "options", "options->flags is %u, which has a bit that is none of COPSE_CTX_*",
                                   o->flags);
    if (!o->allocator.alloc != !o->allocator.free)
        return copse_fail_argument(NULL, "options", "options->allocator needs both alloc and free, or neither");
    return COPSE_OK;
}

/* The context, and behind it its threads. */
#define POOL_AT ((sizeof(copse_ctx) + COPSE_CACHE_LINE - 1) / COPSE_CACHE_LINE * COPSE_CACHE_LINE)

static size_t context_bytes(uint32_t threads)
{
    return POOL_AT + copse_pool_bytes(threads);
}

copse_status copse_ctx_create(const copse_ctx_options *options, copse_ctx **out_ctx)
{
    static const copse_wide_member wide[] = {COPSE_WIDE(copse_ctx_options, isa),
                                             COPSE_WIDE(copse_ctx_options, allocator),
                                             COPSE_WIDE(copse_ctx_options, progress),
                                             COPSE_WIDE(copse_ctx_options, progress_user),
                                             COPSE_WIDE(copse_ctx_options, stream),
                                             COPSE_WIDE(copse_ctx_options, device_memory),
                                             {0, 0}};
    copse_ctx_options o = COPSE_CTX_OPTIONS_INIT;
    copse_ctx made;
    copse_status status;
    if (!out_ctx) return copse_fail_argument(NULL, "out_ctx", "copse_ctx_create: out_ctx is NULL");
    *out_ctx = NULL;
    if (options) {
        status = copse_struct_take(NULL, "copse_ctx_create", "options", options, &o, sizeof o, wide);
        if (status != COPSE_OK) return status;
    }
    if ((status = options_check_values(&o)) != COPSE_OK) return status;
    memset(&made, 0, sizeof made);
    if ((status = threads_choose(o.threads, &made.threads)) != COPSE_OK) return status;
    if ((status = instruction_set_choose(o.isa, &made.instruction_set)) != COPSE_OK) return status;
    if ((status = device_choose(o.device, &made.device_number)) != COPSE_OK) return status;
    if ((status = device_memory_choose(o.device_memory, &made.device_memory)) != COPSE_OK) return status;
    made.stream = o.stream;
    made.device_arrays = o.flags & COPSE_CTX_DEVICE_ARRAYS;
    made.pipeline = o.pipeline;
    made.huge_pages = o.huge_pages;
    made.allocator = o.allocator;
    made.progress = o.progress;
    made.progress_user = o.progress_user;
    made.references = 1;
    size_t bytes = context_bytes(made.threads);
    copse_ctx *ctx = copse_memory_alloc(&made, bytes);
    if (!ctx) return copse_fail_memory(NULL, bytes, "the context");
    *ctx = made;
    ctx->pool = copse_pool_open((char *)ctx + POOL_AT, made.threads);
    if (pthread_mutex_init(&ctx->device_lock, NULL) != 0) {
        copse_memory_free(&made, ctx, bytes);
        return copse_fail(NULL, COPSE_ERR_MEMORY, "out of memory: the system gives no lock for the context");
    }
    copse_error_forget(ctx);
    *out_ctx = ctx;
    return COPSE_OK;
}

void copse_ctx_hold(copse_ctx *ctx)
{
    copse_reference_add(&ctx->references);
}

void copse_ctx_release(copse_ctx *ctx)
{
    if (!copse_reference_drop(&ctx->references)) return;
    copse_device_close_all(ctx);
    copse_pool_close(ctx->pool);
    pthread_mutex_destroy(&ctx->device_lock);
    copse_ctx copy = *ctx; /* the allocator is needed to free what holds it */
    copse_memory_free(&copy, ctx, context_bytes(copy.threads));
}

void copse_ctx_free(copse_ctx *ctx)
{
    if (ctx) copse_ctx_release(ctx);
}

copse_status copse_ctx_set_progress(copse_ctx *ctx, copse_progress_fn progress, void *user)
{
    if (!ctx) return copse_fail_argument(NULL, "ctx", "copse_ctx_set_progress: ctx is NULL");
    ctx->progress = progress;
    ctx->progress_user = user;
    return COPSE_OK;
}

copse_status copse_ctx_describe(const copse_ctx *ctx, copse_ctx_info *out_info)
{
    static const copse_wide_member wide[] = {
        COPSE_WIDE(copse_ctx_info, isa), COPSE_WIDE(copse_ctx_info, isa_offered), {0, 0}};
    if (!ctx || !out_info) return copse_fail_missing(ctx, "copse_ctx_describe", ctx ? "out_info" : "ctx");
    const copse_ctx_info info = {.threads = ctx->threads,
                                 .isa = copse_instruction_set_name(ctx->instruction_set),
                                 .isa_offered = copse_instruction_sets_offered(),
                                 .pipeline = ctx->pipeline,
                                 .huge_pages = ctx->huge_pages};
    return copse_struct_give(ctx, "copse_ctx_describe", "out_info", out_info, &info, sizeof info, wide);
}
