/* What the commands that change a snapshot share: load it, change it in memory, save it in one piece, and say what was done. */
#pragma once

#include "cli/cli.h"
#include "cli/files.h"

typedef struct cli_update {
    const char *path;   /* the snapshot                                      */
    const char *output; /* as given: where the result goes; NULL: to path    */
    char *target;       /* what path is a link to, or path itself            */
    bool dry_run;
    bool json;
    bool quiet;
    int lock; /* a file descriptor, -1: none */
    uint64_t entries_before;
    bool written;
} cli_update;

#define CLI_UPDATE_INIT                                                                                                \
    {                                                                                                                  \
        .lock = -1                                                                                                     \
    }

#define CLI_UPDATE_OUTPUT_HELP  "write the result to FILE and leave SNAPSHOT as it is\n(-: standard output)"
#define CLI_UPDATE_DRY_RUN_HELP "say what would be done, and write nothing"

/* Whether the result can go where it shall go. */
int cli_update_check(const char *command, const cli_update *update);
/* Loads the snapshot, which no other command changes until the session ends. keep_duplicates: also where the file does not. */
int cli_update_load(cli_session *session, cli_update *update, bool keep_duplicates);
/* Saves the result unless nothing was changed and it would go to where it came from. */
int cli_update_save(cli_session *session, cli_update *update, bool changed);
void cli_update_end(cli_update *update);

/* One number of the report. */
typedef struct cli_update_count {
    const char *name; /* in JSON; _ is a blank elsewhere */
    uint64_t count;
    bool always; /* in the text also where it is 0 */
} cli_update_count;

void cli_update_report(const cli_session *session, const cli_update *update, const cli_update_count *counts,
                       size_t count);
