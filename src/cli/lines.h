/* Lines of a file or pipe, with a look ahead: is there more, or would the next line have to be waited for? */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_lines {
    int file;
    char *buffer;
    size_t capacity;
    size_t from; /* what was read and not yet given reaches from here */
    size_t to;   /* up to here                                         */
    size_t seen; /* bytes from `from` on that hold no line end         */
    bool ended;
    uint64_t number; /* of the line that was given last, from 1 */
} cli_lines;

void cli_lines_start(cli_lines *lines, int file);
/* The next line without its end, closed by a NUL; it lives until the next call. 1: there it is; 0: there is none; -1: reading
 * failed, and errno says why. */
int cli_lines_next(cli_lines *lines, char **out_line, size_t *out_length);
/* Whether cli_lines_next would have to wait for somebody to write. */
bool cli_lines_would_wait(cli_lines *lines);
void cli_lines_free(cli_lines *lines);
