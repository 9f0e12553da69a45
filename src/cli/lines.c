/* Lines of a file or pipe. The C library's streams cannot say whether a read would wait, so this one reads by itself. */
#define _POSIX_C_SOURCE 200809L
#include "cli/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAPACITY ((size_t)1 << 16)

void cli_lines_start(cli_lines *lines, int file)
{
    memset(lines, 0, sizeof *lines);
    lines->file = file;
}

/* The length of the next line where all of it was read. */
static bool find_end(cli_lines *lines, size_t *out_length)
{
    size_t size = lines->to - lines->from;
    if (size == lines->seen) return false;
    const char *start = lines->buffer + lines->from;
    const char *end = memchr(start + lines->seen, '\n', size - lines->seen);
    lines->seen = size;
    if (end) *out_length = (size_t)(end - start);
    return end != NULL;
}

/* Makes room behind what is there, one byte more than it will use: for the NUL behind a last line without an end. */
static bool make_room(cli_lines *lines)
{
    if (lines->from > 0) {
        memmove(lines->buffer, lines->buffer + lines->from, lines->to - lines->from);
        lines->to -= lines->from;
        lines->from = 0;
    }
    if (lines->to + 1 < lines->capacity) return true;
    size_t capacity = lines->capacity ? 2 * lines->capacity : FIRST_CAPACITY;
    char *buffer = realloc(lines->buffer, capacity);
    if (!buffer) return false;
    lines->buffer = buffer;
    lines->capacity = capacity;
    return true;
}

static void give(cli_lines *lines, size_t length, size_t skip, char **out_line, size_t *out_length)
{
    *out_line = lines->buffer + lines->from;
    *out_length = length;
    (*out_line)[length] = '\0';
    lines->from += length + skip;
    lines->seen = 0;
    lines->number++;
}

int cli_lines_next(cli_lines *lines, char **out_line, size_t *out_length)
{
    size_t length = 0;
    while (!find_end(lines, &length)) {
        if (lines->ended && lines->from == lines->to) return 0;
        if (lines->ended) {
            give(lines, lines->to - lines->from, 0, out_line, out_length);
            return 1;
        }
        if (!make_room(lines)) {
            errno = ENOMEM;
            return -1;
        }
        /* Some programs leave a terminal behind that does not wait by itself. */
        struct pollfd about = {.fd = lines->file, .events = POLLIN};
        ssize_t got = read(lines->file, lines->buffer + lines->to, lines->capacity - lines->to - 1);
        if (got < 0 && (errno != EAGAIN || poll(&about, 1, -1) < 0)) return -1;
        if (got < 0) continue;
        lines->ended = got == 0;
        lines->to += (size_t)got;
    }
    give(lines, length, 1, out_line, out_length);
    return 1;
}

bool cli_lines_would_wait(cli_lines *lines)
{
    struct pollfd about = {.fd = lines->file, .events = POLLIN};
    size_t length = 0;
    if (lines->ended || find_end(lines, &length)) {
        lines->seen = 0; /* the end that was just found is to be found again */
        return false;
    }
    return poll(&about, 1, 0) == 0;
}

void cli_lines_free(cli_lines *lines)
{
    free(lines->buffer);
    lines->buffer = NULL;
}
