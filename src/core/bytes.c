/* Keys that are byte strings: checks of what callers give, and writing what they get. */
#include "core/bytes.h"
#include "core/structs.h"
#include "core/threads.h"

#include <stddef.h>

copse_status copse_bytes_take(const copse_ctx *ctx, const char *name, const void *given, copse_bytes *out)
{
    const copse_bytes defaults = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    *out = defaults;
    copse_status status = copse_struct_take_whole(ctx, "byte strings", name, given, out, sizeof *out);
    if (status != COPSE_OK) return status;
    if (out->offset_bits != 32 && out->offset_bits != 64)
        return copse_fail_argument(ctx, name, "%s->offset_bits is %u; offsets have 32 or 64 bits", name,
                                   out->offset_bits);
    if (!out->data && out->size)
        return copse_fail_argument(ctx, name, "%s->data is NULL, but %s->size is %llu", name, name,
                                   (unsigned long long)out->size);
    return COPSE_OK;
}

/* --- input ---------------------------------------------------------------------------------------------------------- */

/* Says what is wrong with offset i, which is. */
static copse_status fail_offset(const copse_ctx *ctx, const char *name, const copse_byte_keys *keys, uint64_t i,
                                uint64_t size)
{
    const long long offset = (long long)copse_byte_offset(keys, i);
    const long long before = i ? (long long)copse_byte_offset(keys, i - 1) : 0;
    copse_status status;
    if (offset < 0)
        status = copse_fail_argument(ctx, name, "%s->offsets[%llu] is %lld: no offset is negative", name,
                                     (unsigned long long)i, offset);
    else if ((uint64_t)offset > size)
        status = copse_fail_argument(ctx, name, "%s->offsets[%llu] is %lld, but %s->size is %llu", name,
                                     (unsigned long long)i, offset, name, (unsigned long long)size);
    else if (offset < before)
        status = copse_fail_argument(ctx, name, "%s->offsets[%llu] is %lld, less than the one before it, %lld", name,
                                     (unsigned long long)i, offset, before);
    else
        status = copse_fail_argument(ctx, name, "%s: key %llu has %lld bytes; keys have at most %u", name,
                                     (unsigned long long)(i - 1), offset - before, COPSE_LONGEST_KEY);
    return copse_error_at(status, name, i ? i - 1 : 0, 0); /* the key that ends there */
}

/* Up to so many keys are not worth threads. */
#define CHECK_ALONE 65536u

typedef struct check_job {
    const copse_byte_keys *keys;
    uint64_t size;
    uint64_t bad; /* the first key whose end is not sound */
} check_job;

static void check_chunk(void *of, uint64_t first, uint64_t last)
{
    check_job *job = of;
    int64_t before = copse_byte_offset(job->keys, first);
    for (uint64_t i = first; i < last; i++) {
        const int64_t offset = copse_byte_offset(job->keys, i + 1);
        if (offset < before || (uint64_t)offset > job->size || offset - before > (int64_t)COPSE_LONGEST_KEY) {
            copse_note_least(&job->bad, i);
            return;
        }
        before = offset;
    }
}

copse_status copse_bytes_take_keys(const copse_ctx *ctx, const char *name, const void *given, uint64_t n,
                                   copse_bytes *out)
{
    copse_status status = copse_bytes_take(ctx, name, given, out);
    if (status != COPSE_OK) return status;
    if (n > SIZE_MAX / 32)
        return copse_fail_argument(ctx, "n", "n is %llu: more than any array can hold", (unsigned long long)n);
    return out->offsets ? COPSE_OK : copse_fail_argument(ctx, name, "%s->offsets is NULL; it has n + 1 offsets", name);
}

copse_status copse_byte_keys_take(const copse_ctx *ctx, const char *name, const void *given, uint64_t n,
                                  copse_byte_keys *out)
{
    copse_bytes bytes;
    copse_status status = copse_bytes_take_keys(ctx, name, given, n, &bytes);
    if (status != COPSE_OK) return status;
    *out = (copse_byte_keys){.data = bytes.data, .offsets = bytes.offsets, .wide = bytes.offset_bits == 64};
    const int64_t start = copse_byte_offset(out, 0);
    if (start < 0 || (uint64_t)start > bytes.size) return fail_offset(ctx, name, out, 0, bytes.size);
    check_job job = {out, bytes.size, n};
    if (n < CHECK_ALONE) {
        check_chunk(&job, 0, n);
    } else {
        const uint32_t threads = copse_threads_for(ctx, n);
        copse_parallel(ctx, threads, n, copse_even_chunk(n, threads), check_chunk, &job);
    }
    return job.bad < n ? fail_offset(ctx, name, out, job.bad + 1, bytes.size) : COPSE_OK;
}

/* --- output --------------------------------------------------------------------------------------------------------- */

copse_status copse_byte_output_open(const copse_ctx *ctx, const char *name, void *given, copse_byte_output *out)
{
    *out = (copse_byte_output){.given = given, .name = name};
    if (!given) return COPSE_OK;
    copse_bytes bytes;
    copse_status status = copse_bytes_take(ctx, name, given, &bytes);
    if (status != COPSE_OK) return status;
    if (!bytes.offsets && bytes.data)
        return copse_fail_argument(ctx, name, "%s->offsets is NULL, but %s->data is not", name, name);
    out->data = bytes.data;
    out->offsets = bytes.offsets;
    out->wide = bytes.offset_bits == 64;
    out->size = bytes.size;
    return COPSE_OK;
}

static void offset_put(copse_byte_output *out)
{
    const int64_t wide = (int64_t)out->needed;
    const int32_t offset32 = (int32_t)wide;
    if (!out->offsets) return;
    if (out->wide) {
        memcpy(out->offsets + out->n * sizeof wide, &wide, sizeof wide);
    } else {
        out->overflow |= wide > INT32_MAX;
        memcpy(out->offsets + out->n * sizeof offset32, &offset32, sizeof offset32);
    }
}

void copse_byte_output_put(copse_byte_output *out, copse_slice key)
{
    if (!out->given) return;
    offset_put(out);
    if (key.length && out->needed <= out->size && key.length <= out->size - out->needed)
        memcpy(out->data + out->needed, key.start, key.length);
    out->needed += key.length;
    out->n++;
}

void copse_byte_output_skip(copse_byte_output *out, uint64_t bytes)
{
    out->needed += bytes;
}

copse_status copse_byte_output_fail(const copse_ctx *ctx, const copse_byte_output *out)
{
    return copse_error_at(copse_fail(ctx, COPSE_ERR_TOO_SMALL, "%s->size is %llu, but the keys take %llu bytes",
                                     out->name, (unsigned long long)out->size, (unsigned long long)out->needed),
                          out->name, UINT64_MAX, out->needed);
}

copse_status copse_byte_output_close(const copse_ctx *ctx, copse_byte_output *out)
{
    if (!out->given) return COPSE_OK;
    offset_put(out);
    ((copse_bytes *)out->given)->needed = out->needed;
    if (out->overflow)
        return copse_error_at(copse_fail(ctx, COPSE_ERR_OVERFLOW,
                                         "%s->offset_bits is 32, but the keys take %llu bytes; use 64 bits", out->name,
                                         (unsigned long long)out->needed),
                              out->name, UINT64_MAX, out->needed);
    return out->data && out->needed > out->size ? copse_byte_output_fail(ctx, out) : COPSE_OK;
}
