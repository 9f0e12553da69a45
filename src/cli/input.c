/* The bytes of a file or of standard input. gzip data is known by its first two bytes, so that it may come through a pipe and have
 * any name. */
#define _POSIX_C_SOURCE 200809L
#include "cli/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint64_t cli_stream_size(FILE *file)
{
    struct stat about;
    return fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
}

/* The file as it is. */
static size_t read_plain(void *user, void *buffer, size_t size, int *out_error)
{
    cli_input *input = user;
    size_t left = input->start_size - input->start_used;
    if (left > 0) {
        size_t n = left < size ? left : size;
        memcpy(buffer, input->start + input->start_used, n);
        input->start_used += n;
        return n;
    }
    size_t n = fread(buffer, 1, size, input->file);
    input->taken += n;
    if (n == 0 && ferror(input->file)) *out_error = errno ? errno : EIO;
    return n;
}

static size_t read_text(cli_input *input, void *buffer, size_t size, int *out_error)
{
    return input->gzip ? copse_gzip_read(input->gzip, buffer, size, out_error)
                       : read_plain(input, buffer, size, out_error);
}

size_t cli_input_read(void *user, void *buffer, size_t size, int *out_error)
{
    cli_input *input = user;
    size_t left = input->head_size - input->head_used;
    if (left == 0) return read_text(input, buffer, size, out_error);
    size_t n = left < size ? left : size;
    memcpy(buffer, input->head + input->head_used, n);
    input->head_used += n;
    return n;
}

const char *cli_input_problem(const cli_input *input)
{
    return input->gzip ? copse_gzip_error(input->gzip) : "";
}

static int fail(const cli_input *input, cli_session *session, int error)
{
    const char *problem = cli_input_problem(input);
    if (cli_interrupted()) return cli_session_fail(session, COPSE_ERR_CANCELLED);
    if (*problem) return cli_fail(session->command, "%s: %s", input->name, problem);
    return cli_fail(session->command, "cannot read '%s': %s", input->name, strerror(error));
}

static int read_head(cli_input *input, cli_session *session)
{
    input->head = malloc(CLI_INPUT_HEAD);
    if (!input->head) return cli_fail(session->command, "out of memory");
    while (input->head_size < CLI_INPUT_HEAD) {
        int error = 0;
        size_t got = read_text(input, input->head + input->head_size, CLI_INPUT_HEAD - input->head_size, &error);
        if (error || cli_interrupted()) return fail(input, session, error);
        if (got == 0) break;
        input->head_size += got;
    }
    return CLI_OK;
}

int cli_input_open(cli_input *input, cli_session *session, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    char message[256];
    memset(input, 0, sizeof *input);
    input->name = is_stdin ? "standard input" : path;
    input->file = is_stdin ? stdin : fopen(path, "rb");
    if (!input->file) return cli_fail(session->command, "cannot open '%s': %s", input->name, strerror(errno));
    input->size = cli_stream_size(input->file);
    errno = 0;
    input->start_size = input->taken = fread(input->start, 1, sizeof input->start, input->file);
    if (ferror(input->file)) return fail(input, session, errno);
    if (copse_gzip_is(input->start, input->start_size) &&
        copse_gzip_open(read_plain, input, &input->gzip, message, sizeof message) != COPSE_OK)
        return cli_fail(session->command, "%s: %s", input->name, message);
    return read_head(input, session);
}

void cli_input_close(cli_input *input)
{
    copse_gzip_close(input->gzip);
    if (input->file && input->file != stdin) fclose(input->file);
    free(input->head);
    memset(input, 0, sizeof *input);
}
