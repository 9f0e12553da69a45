/* What the files of `copse build` share: its command line, and the reader of binary input. */
#pragma once

#include "cli/cli.h"
#include "cli/rows.h"

/* What becomes of rows that share a key. */
typedef enum cli_duplicates {
    CLI_DUPLICATES_UNSAID, /* all are kept, and a remark says so */
    CLI_DUPLICATES_KEEP,
    CLI_DUPLICATES_LAST,
    CLI_DUPLICATES_FIRST,
    CLI_DUPLICATES_FAIL,
} cli_duplicates;

typedef struct cli_build_args {
    cli_rows_args rows;
    const char *output;
    const char *format;
    const char *values_file;
    const char *structure_name;
    const char *duplicates_name;
    cli_duplicates duplicates;
    cli_placement where;
    uint64_t threads;
    bool pairs;
    bool json;
    bool no_timing;
} cli_build_args;

/* build_raw.c */
int cli_read_raw(cli_session *session, const cli_build_args *args, cli_pairs *out_pairs);
