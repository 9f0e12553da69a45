/* gzip data through zlib, which knows one member at a time: what lies between and behind members is handled here. */
#include "io/gzip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(char *message, size_t size, const char *sentence)
{
    if (message && size > 0) snprintf(message, size, "%s", sentence);
}

int copse_gzip_is(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    return size >= 2 && at[0] == 0x1F && at[1] == 0x8B;
}

#ifdef COPSE_HAVE_ZLIB

#include <zlib.h>

#define INPUT_SIZE   ((size_t)64 << 10)
#define MOST_AT_ONCE ((size_t)1 << 30) /* zlib counts in unsigned int */
#define GZIP_ONLY    (16 + MAX_WBITS)

struct copse_gzip {
    copse_csv_read_fn read;
    void *user;
    z_stream stream;
    int inside;  /* a member has begun and not ended */
    int members; /* that have ended, 1 for many */
    int source_ended;
    char message[192];
    unsigned char input[INPUT_SIZE];
};

copse_status copse_gzip_open(copse_csv_read_fn read, void *user, copse_gzip **out_gzip, char *message,
                             size_t message_size)
{
    copse_gzip *gzip = calloc(1, sizeof *gzip);
    *out_gzip = NULL;
    say(message, message_size, "");
    if (!gzip || inflateInit2(&gzip->stream, GZIP_ONLY) != Z_OK) {
        free(gzip);
        say(message, message_size, "no memory to read gzip data");
        return COPSE_ERR_MEMORY;
    }
    gzip->read = read;
    gzip->user = user;
    *out_gzip = gzip;
    return COPSE_OK;
}

void copse_gzip_close(copse_gzip *gzip)
{
    if (!gzip) return;
    inflateEnd(&gzip->stream);
    free(gzip);
}

const char *copse_gzip_error(const copse_gzip *gzip)
{
    return gzip->message;
}

static int fail(copse_gzip *gzip, const char *sentence)
{
    snprintf(gzip->message, sizeof gzip->message, "%s", sentence);
    return EIO;
}

/* Returns 0 or an errno. */
static int fill(copse_gzip *gzip)
{
    int error = 0;
    if (gzip->stream.avail_in > 0 || gzip->source_ended) return 0;
    size_t got = gzip->read(gzip->user, gzip->input, INPUT_SIZE, &error);
    if (error) return error;
    gzip->stream.next_in = gzip->input;
    gzip->stream.avail_in = (uInt)got;
    gzip->source_ended = got == 0;
    return 0;
}

/* Between two members: passes over padding, and begins the next member where one is. */
static int begin_member(copse_gzip *gzip)
{
    z_stream *stream = &gzip->stream;
    int error = fill(gzip);
    while (!error && gzip->members && stream->avail_in > 0 && *stream->next_in == 0) {
        stream->next_in++;
        if (--stream->avail_in == 0) error = fill(gzip);
    }
    if (error || stream->avail_in == 0) return error;
    gzip->inside = inflateReset(stream) == Z_OK;
    return gzip->inside ? 0 : fail(gzip, "zlib could not begin with gzip data");
}

static int inflate_some(copse_gzip *gzip)
{
    z_stream *stream = &gzip->stream;
    uInt room = stream->avail_out;
    int result = inflate(stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
        gzip->inside = 0;
        gzip->members = 1;
        return 0;
    }
    if (result == Z_MEM_ERROR) return fail(gzip, "no memory to read gzip data");
    if (result != Z_OK && result != Z_BUF_ERROR) {
        if (gzip->members && stream->total_out == 0 && stream->msg && strstr(stream->msg, "header"))
            return fail(gzip, "there is something behind the end of the gzip data that is not gzip data");
        snprintf(gzip->message, sizeof gzip->message, "the gzip data is damaged: %s",
                 stream->msg ? stream->msg : "zlib cannot read it");
        return EIO;
    }
    if (stream->avail_out == room && stream->avail_in == 0 && gzip->source_ended)
        return fail(gzip, "the gzip data ends in the middle: the file is not complete");
    return 0;
}

size_t copse_gzip_read(void *user, void *buffer, size_t size, int *out_error)
{
    copse_gzip *gzip = user;
    size_t room = size < MOST_AT_ONCE ? size : MOST_AT_ONCE;
    int error = gzip->message[0] ? EIO : 0;
    gzip->stream.next_out = buffer;
    gzip->stream.avail_out = (uInt)room;
    while (!error && gzip->stream.avail_out == room) {
        error = gzip->inside ? fill(gzip) : begin_member(gzip);
        if (error || !gzip->inside) break;
        error = inflate_some(gzip);
    }
    if (error) *out_error = error;
    return error ? 0 : room - gzip->stream.avail_out;
}

#else

copse_status copse_gzip_open(copse_csv_read_fn read, void *user, copse_gzip **out_gzip, char *message,
                             size_t message_size)
{
    (void)read;
    (void)user;
    *out_gzip = NULL;
    say(message, message_size,
        "this is gzip data, and copse was built without zlib; pipe it through zcat, or install zlib (on Debian: "
        "apt-get "
        "install zlib1g-dev) and build copse again");
    return COPSE_ERR_UNSUPPORTED;
}

void copse_gzip_close(copse_gzip *gzip)
{
    (void)gzip;
}

const char *copse_gzip_error(const copse_gzip *gzip)
{
    (void)gzip;
    return "";
}

size_t copse_gzip_read(void *user, void *buffer, size_t size, int *out_error)
{
    (void)user;
    (void)buffer;
    (void)size;
    *out_error = ENOTSUP;
    return 0;
}

#endif
