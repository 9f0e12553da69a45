/* Entries of a range, one after the other, and how one is printed. */
#pragma once

#include "cli/cli.h"

/* Receives consecutive entries, n at a time. Returns false to stop. */
typedef bool (*cli_entries_fn)(void *user, const char *keys, const char *values, uint64_t n);

/* Hands the entries of one range to fn, in the order of the range and at most range->limit of them (0: all). They pass through
 * a cursor, so that memory does not grow with the range. CANCELLED: after Ctrl-C, or fn stopped it. */
copse_status cli_entries_walk(cli_session *session, const copse_ranges *range, cli_entries_fn fn, void *user);

/* Range i of a batch of ranges. */
copse_ranges cli_entries_range(const cli_session *session, const copse_ranges *ranges, uint64_t i);

typedef struct cli_entry_style {
    FILE *out;
    bool json;
    bool bare;      /* values only */
    char separator; /* between key and value */
    bool numbered;  /* JSON begins with the number of the range */
    uint64_t range;
} cli_entry_style;

void cli_entry_print(const cli_session *session, const cli_entry_style *style, const void *key, const void *value);
