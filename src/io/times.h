/* Dates and timestamps as text: the one form that copse writes (times.c), and forms that users describe (date_format.c). Inside
 * this folder only cells.c and these two need it. */
#pragma once

#include "io/cells.h"

#define COPSE_MICROSECONDS_PER_SECOND ((int64_t)1000000)
#define COPSE_SECONDS_PER_DAY         ((int64_t)86400)

/* Text from `at` to before `end`; takers move `at` behind what they took. */
typedef struct copse_span {
    const char *at;
    const char *end;
} copse_span;

static inline bool copse_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* A number of `least` to `most` digits, as many as there are, that is no larger than `limit`. */
bool copse_take_number(copse_span *text, int least, int most, int limit, int *out);
bool copse_take_byte(copse_span *text, char byte);
/* Digits of a fraction of a second, at least one. Those below a microsecond are cut off, which is FINE if they are not 0. */
copse_cell_error copse_take_fraction(copse_span *text, int64_t *out_microseconds);
/* Z, UTC, +02, +0200 or +02:00. */
bool copse_take_zone(copse_span *text, int *out_minutes);

/* Microseconds since 1970; RANGE where they do not fit. seconds may be negative and more than a day. */
copse_cell_error copse_time_join(int64_t days, int64_t seconds, int64_t microseconds, int64_t *out);
/* The day that a moment lies in. */
int64_t copse_time_days(int64_t microseconds);

/* YYYY-MM-DD, and the same with THH:MM[:SS[.FRACTION]][ZONE]. A date alone is its first moment, at the end of a range its last.
 * FINE: *out is set, without the digits below a microsecond. */
copse_cell_error copse_date_read(copse_span text, int32_t *out);
copse_cell_error copse_time_read(copse_span text, bool ends_range, int64_t *out);
size_t copse_date_write(int64_t days, char *text, size_t size);
size_t copse_time_write(int64_t microseconds, char *text, size_t size);

/* By a format that copse_date_format_check has found right. */
copse_cell_error copse_date_format_read(const char *format, copse_span text, int64_t *out);
