/* Dates and timestamps in the one form that copse writes, ISO 8601, and in what of it people and programs write. */
#include "io/times.h"
#include "io/digits.h"

#include <stdio.h>
#include <string.h>

bool copse_take_number(copse_span *text, int least, int most, int limit, int *out)
{
    int number = 0, digits = 0;
    for (; digits < most && text->at < text->end && copse_is_digit(*text->at); text->at++, digits++)
        number = number * 10 + (*text->at - '0');
    *out = number;
    return digits >= least && number <= limit;
}

bool copse_take_byte(copse_span *text, char byte)
{
    if (text->at == text->end || *text->at != byte) return false;
    text->at++;
    return true;
}

copse_cell_error copse_take_fraction(copse_span *text, int64_t *out_microseconds)
{
    int digits = 0;
    bool fine = false;
    *out_microseconds = 0;
    for (; text->at < text->end && copse_is_digit(*text->at); text->at++, digits++) {
        if (digits < 6)
            *out_microseconds = *out_microseconds * 10 + (*text->at - '0');
        else
            fine |= *text->at != '0';
    }
    for (int i = digits; i < 6; i++) *out_microseconds *= 10;
    if (digits == 0) return COPSE_CELL_FORM;
    return fine ? COPSE_CELL_FINE : COPSE_CELL_OK;
}

bool copse_take_zone(copse_span *text, int *out_minutes)
{
    int hours = 0, minutes = 0;
    *out_minutes = 0;
    if (copse_take_byte(text, 'Z') || copse_take_byte(text, 'z')) return true;
    if (text->end - text->at >= 3 && strncmp(text->at, "UTC", 3) == 0) {
        text->at += 3;
        return true;
    }
    bool west = copse_take_byte(text, '-');
    if (!west && !copse_take_byte(text, '+')) return false;
    if (!copse_take_number(text, 2, 2, 23, &hours)) return false;
    bool colon = copse_take_byte(text, ':');
    if (colon || (text->at < text->end && copse_is_digit(*text->at)))
        if (!copse_take_number(text, 2, 2, 59, &minutes)) return false;
    *out_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
    return true;
}

copse_cell_error copse_time_join(int64_t days, int64_t seconds, int64_t microseconds, int64_t *out)
{
    /* Steps of one sign: near the limits whole seconds alone can be out of range where the sum is not. */
    seconds += days * COPSE_SECONDS_PER_DAY;
    if (seconds < 0 && microseconds > 0) {
        seconds++;
        microseconds -= COPSE_MICROSECONDS_PER_SECOND;
    }
    if (__builtin_mul_overflow(seconds, COPSE_MICROSECONDS_PER_SECOND, &seconds)) return COPSE_CELL_RANGE;
    return __builtin_add_overflow(seconds, microseconds, out) ? COPSE_CELL_RANGE : COPSE_CELL_OK;
}

int64_t copse_time_days(int64_t microseconds)
{
    const int64_t day = COPSE_SECONDS_PER_DAY * COPSE_MICROSECONDS_PER_SECOND;
    return microseconds / day - (microseconds % day < 0);
}

/* ---- reading ---- */

/* Four digits, or a sign and four to seven. */
static bool take_year(copse_span *text, int64_t *out)
{
    bool is_signed = text->at < text->end && (*text->at == '-' || *text->at == '+');
    bool negative = is_signed && *text->at == '-';
    int number = 0;
    if (is_signed) text->at++;
    if (!copse_take_number(text, 4, is_signed ? 7 : 4, 9999999, &number)) return false;
    *out = negative ? -number : number;
    return true;
}

/* Ten bytes as most dates have them: YYYY-MM-DD. */
static bool take_plain_date(copse_span *text, int64_t *out_days)
{
    const char *at = text->at;
    uint64_t year = 0, month = 0, day = 0;
    if (text->end - at < 10 || at[4] != '-' || at[7] != '-') return false;
    if (!copse_digits(at, 4, &year) || !copse_digits(at + 5, 2, &month) || !copse_digits(at + 8, 2, &day)) return false;
    if (month < 1 || month > 12 || day < 1 || (int)day > copse_days_in_month((int64_t)year, (int)month)) return false;
    *out_days = copse_days_from_date((int64_t)year, (int)month, (int)day);
    text->at += 10;
    return true;
}

static bool take_date(copse_span *text, int64_t *out_days)
{
    int64_t year = 0;
    int month = 0, day = 0;
    if (take_plain_date(text, out_days)) return true;
    if (!take_year(text, &year) || !copse_take_byte(text, '-') || !copse_take_number(text, 2, 2, 12, &month) ||
        month < 1 || !copse_take_byte(text, '-') || !copse_take_number(text, 2, 2, 31, &day) || day < 1 ||
        day > copse_days_in_month(year, month))
        return false;
    *out_days = copse_days_from_date(year, month, day);
    return true;
}

copse_cell_error copse_date_read(copse_span text, int32_t *out)
{
    int64_t days = 0;
    if (!take_date(&text, &days) || text.at != text.end) return COPSE_CELL_FORM;
    if (days < INT32_MIN || days > INT32_MAX) return COPSE_CELL_RANGE;
    *out = (int32_t)days;
    return COPSE_CELL_OK;
}

static copse_cell_error take_time(copse_span *text, int64_t *out_seconds, int64_t *out_microseconds)
{
    int hours = 0, minutes = 0, seconds = 0, zone = 0;
    copse_cell_error fraction = COPSE_CELL_OK;
    if (!copse_take_byte(text, 'T') && !copse_take_byte(text, 't') && !copse_take_byte(text, ' '))
        return COPSE_CELL_FORM;
    if (!copse_take_number(text, 2, 2, 23, &hours) || !copse_take_byte(text, ':') ||
        !copse_take_number(text, 2, 2, 59, &minutes))
        return COPSE_CELL_FORM;
    if (copse_take_byte(text, ':')) {
        if (!copse_take_number(text, 2, 2, 59, &seconds)) return COPSE_CELL_FORM;
        if (copse_take_byte(text, '.')) fraction = copse_take_fraction(text, out_microseconds);
        if (fraction == COPSE_CELL_FORM) return fraction;
    }
    if (text->at < text->end) {
        copse_take_byte(text, ' ');
        if (!copse_take_zone(text, &zone)) return COPSE_CELL_FORM;
    }
    *out_seconds = (int64_t)hours * 3600 + (int64_t)(minutes - zone) * 60 + seconds;
    return fraction;
}

/* The last microsecond of a day, which is the last there can be where the day is cut short. */
static copse_cell_error end_of_day(int64_t days, int64_t *out)
{
    copse_cell_error error = copse_time_join(days, 0, 0, out);
    if (error == COPSE_CELL_OK && copse_time_join(days + 1, 0, -1, out) != COPSE_CELL_OK) *out = INT64_MAX;
    return error;
}

copse_cell_error copse_time_read(copse_span text, bool ends_range, int64_t *out)
{
    int64_t days = 0, seconds = 0, microseconds = 0;
    if (!take_date(&text, &days)) return COPSE_CELL_FORM;
    if (text.at == text.end) return ends_range ? end_of_day(days, out) : copse_time_join(days, 0, 0, out);
    copse_cell_error error = take_time(&text, &seconds, &microseconds);
    if (error != COPSE_CELL_OK && error != COPSE_CELL_FINE) return error;
    if (text.at != text.end) return COPSE_CELL_FORM;
    copse_cell_error joined = copse_time_join(days, seconds, microseconds, out);
    return joined == COPSE_CELL_OK ? error : joined;
}

/* ---- writing ---- */

size_t copse_date_write(int64_t days, char *text, size_t size)
{
    int64_t year = 0;
    int month = 0, day = 0;
    copse_date_from_days(days, &year, &month, &day);
    const char *sign = year < 0 ? "-" : year > 9999 ? "+" : "";
    return (size_t)snprintf(text, size, "%s%04lld-%02d-%02d", sign, (long long)(year < 0 ? -year : year), month, day);
}

size_t copse_time_write(int64_t microseconds, char *text, size_t size)
{
    int64_t days = copse_time_days(microseconds);
    /* In two steps, because the first moment of the first day there is may be out of range. */
    int64_t rest = microseconds % (COPSE_SECONDS_PER_DAY * COPSE_MICROSECONDS_PER_SECOND);
    if (rest < 0) rest += COPSE_SECONDS_PER_DAY * COPSE_MICROSECONDS_PER_SECOND;
    int seconds = (int)(rest / COPSE_MICROSECONDS_PER_SECOND), fraction = (int)(rest % COPSE_MICROSECONDS_PER_SECOND);
    size_t at = copse_date_write(days, text, size);
    at += (size_t)snprintf(text + at, size - at, "T%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if (fraction) at += (size_t)snprintf(text + at, size - at, ".%06d", fraction);
    return at + (size_t)snprintf(text + at, size - at, "Z");
}
