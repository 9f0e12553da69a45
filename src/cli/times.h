/* Dates and timestamps as text: the one form that copse writes (times.c), and forms that users describe (date_format.c). Inside
 * the command only keys.c and these two need it. */
#pragma once

#include "cli/cli.h"

#define CLI_MICROSECONDS_PER_SECOND ((int64_t)1000000)
#define CLI_SECONDS_PER_DAY         ((int64_t)86400)

/* Text from `at` to before `end`; takers move `at` behind what they took. */
typedef struct cli_span {
    const char *at;
    const char *end;
} cli_span;

static inline bool cli_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* A number of `least` to `most` digits, as many as there are, that is no larger than `limit`. */
bool cli_take_number(cli_span *text, int least, int most, int limit, int *out);
bool cli_take_byte(cli_span *text, char byte);
/* Digits of a fraction of a second, at least one. Those below a microsecond are cut off, which is FINE if they are not 0. */
cli_cell_error cli_take_fraction(cli_span *text, int64_t *out_microseconds);
/* Z, UTC, +02, +0200 or +02:00. */
bool cli_take_zone(cli_span *text, int *out_minutes);

/* Microseconds since 1970; RANGE where they do not fit. seconds may be negative and more than a day. */
cli_cell_error cli_time_join(int64_t days, int64_t seconds, int64_t microseconds, int64_t *out);
/* The day that a moment lies in. */
int64_t cli_time_days(int64_t microseconds);

/* YYYY-MM-DD, and the same with THH:MM[:SS[.FRACTION]][ZONE]. A date alone is its first moment, at the end of a range its last.
 * FINE: *out is set, without the digits below a microsecond. */
cli_cell_error cli_date_read(cli_span text, int32_t *out);
cli_cell_error cli_time_read(cli_span text, bool ends_range, int64_t *out);
size_t cli_date_write(int64_t days, char *text, size_t size);
size_t cli_time_write(int64_t microseconds, char *text, size_t size);

/* By a format that cli_date_format_check has found right. */
cli_cell_error cli_date_format_read(const char *format, cli_span text, int64_t *out);
