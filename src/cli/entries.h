/* Entries of a range, one after the other, and how one is printed. */
#pragma once

#include "cli/cli.h"

/* Receives consecutive entries; those of a set have no values. Returns false to stop. */
typedef bool (*cli_entries_fn)(void *user, const cli_keys *keys, const char *values);

/* Hands the entries of range i of a batch to fn, in the order of the range and at most `limit` of them (0: all). They pass through
 * a cursor, so that memory does not grow with the range. CANCELLED: after Ctrl-C, or fn stopped it. */
copse_status cli_entries_walk(cli_session *session, const cli_query_batch *batch, uint64_t i, uint64_t limit,
                              cli_entries_fn fn, void *user);

typedef struct cli_entry_style {
    FILE *out;
    bool json;
    bool bare;     /* values only, unless there are none */
    bool csv;      /* else a tab stands between key and value */
    bool numbered; /* JSON begins with the number of the range */
    uint64_t range;
} cli_entry_style;

/* Entry i of an array of keys and one of values. */
void cli_entry_print(const cli_session *session, const cli_entry_style *style, const cli_keys *keys, const char *values,
                     uint64_t i);
