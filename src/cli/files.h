/* Where results go that are files: written next to the path and then renamed, or to standard output. */
#pragma once

#include "cli/cli.h"

/* ---- text ---- */

typedef struct cli_text_file {
    const char *command;
    const char *path; /* NULL or "-": standard output */
    FILE *out;
    char *temporary; /* next to the path, until it is complete; NULL: written where it is, as a pipe has to be */
} cli_text_file;

int cli_text_file_open(cli_text_file *file, const char *command, const char *path);
/* With CLI_OK the file takes its place, with any other code it goes away. Returns the code to leave with. */
int cli_text_file_close(cli_text_file *file, int code);

/* ---- snapshots ---- */

bool cli_is_stdout(const char *path); /* "-" */
/* Whether a snapshot can be written there: to standard output only where that is no terminal and nothing else goes there. */
int cli_snapshot_check(const char *command, const char *path, bool json);
/* Saves the index at the path, or to standard output. out_bytes: the size of the file. */
int cli_snapshot_save(cli_session *session, const char *path, uint64_t *out_bytes);
