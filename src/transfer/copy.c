/* Copies between host memory and pinned slots, by several threads: one core alone is slower than the link. */
#include "transfer/internal.h"

#include "core/threads.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* What one thread takes at a time: small enough to share out evenly, large enough that handing it out costs nothing. */
#define PIECE (128u << 10)
/* Less than this per thread is not worth waking one for. */
#define BYTES_PER_THREAD (256u << 10)

#if defined(__SSE2__)
/* Stores that go past the caches: the lines are not read first, and what the caches hold stays there. Worth it where
 * nobody on this side reads the copy soon, as with pinned memory that the device fetches. */
static void copy_streaming(char *to, const char *from, size_t bytes)
{
    size_t head = (size_t)(-(uintptr_t)to & 63);
    if (head > bytes) head = bytes;
    memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)from + 1);
        __m128i c = _mm_loadu_si128((const __m128i *)from + 2), d = _mm_loadu_si128((const __m128i *)from + 3);
        _mm_stream_si128((__m128i *)to, a);
        _mm_stream_si128((__m128i *)to + 1, b);
        _mm_stream_si128((__m128i *)to + 2, c);
        _mm_stream_si128((__m128i *)to + 3, d);
    }
    memcpy(to, from, bytes);
    _mm_sfence(); /* other threads and the device are to see it */
}
#else
static void copy_streaming(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

static uint64_t pieces_of(const copse_transfer_copy *copy)
{
    return (copy->bytes + PIECE - 1) / PIECE;
}

/* Piece `piece` of all copies, counted through. */
static void copy_piece(const copse_transfer_copy *copy, uint64_t piece, bool streaming)
{
    for (; piece >= pieces_of(copy); copy++) piece -= pieces_of(copy);
    uint64_t at = piece * PIECE, bytes = copy->bytes - at < PIECE ? copy->bytes - at : PIECE;
    char *to = (char *)copy->to + at;
    const char *from = (const char *)copy->from + at;
    if (streaming)
        copy_streaming(to, from, (size_t)bytes);
    else
        memcpy(to, from, (size_t)bytes);
}

typedef struct copy_job {
    const copse_transfer_copy *copies;
    bool streaming;
} copy_job;

static void copy_pieces(void *argument, uint64_t first, uint64_t last)
{
    const copy_job *job = argument;
    for (uint64_t i = first; i < last; i++) copy_piece(job->copies, i, job->streaming);
}

void copse_transfer_copies(const copse_ctx *ctx, const copse_transfer_copy *copies, unsigned count, bool streaming)
{
    uint64_t bytes = 0, pieces = 0;
    for (unsigned i = 0; i < count; i++) {
        bytes += copies[i].bytes;
        pieces += pieces_of(&copies[i]);
    }
    uint64_t useful = bytes / BYTES_PER_THREAD + 1;
    uint32_t threads = useful < ctx->threads ? (uint32_t)useful : ctx->threads;
    copy_job job = {copies, streaming};
    copse_parallel(ctx, threads, pieces, 1, copy_pieces, &job);
}
