/* Dates and timestamps in the one form that copse writes, ISO 8601, and in what of it people and programs write. */
#include "cli/times.h"

#include <string.h>

bool cli_take_number(cli_span *text, int least, int most, int limit, int *out)
{
    int number = 0, digits = 0;
    for (; digits < most && text->at < text->end && cli_is_digit(*text->at); text->at++, digits++)
        number = number * 10 + (*text->at - '0');
    *out = number;
    return digits >= least && number <= limit;
}

bool cli_take_byte(cli_span *text, char byte)
{
    if (text->at == text->end || *text->at != byte) return false;
    text->at++;
    return true;
}

cli_cell_error cli_take_fraction(cli_span *text, int64_t *out_microseconds)
{
    int digits = 0;
    bool fine = false;
    *out_microseconds = 0;
    for (; text->at < text->end && cli_is_digit(*text->at); text->at++, digits++) {
        if (digits < 6)
            *out_microseconds = *out_microseconds * 10 + (*text->at - '0');
        else
            fine |= *text->at != '0';
    }
    for (int i = digits; i < 6; i++) *out_microseconds *= 10;
    if (digits == 0) return CLI_CELL_FORM;
    return fine ? CLI_CELL_FINE : CLI_CELL_OK;
}

bool cli_take_zone(cli_span *text, int *out_minutes)
{
    int hours = 0, minutes = 0;
    *out_minutes = 0;
    if (cli_take_byte(text, 'Z') || cli_take_byte(text, 'z')) return true;
    if (text->end - text->at >= 3 && strncmp(text->at, "UTC", 3) == 0) {
        text->at += 3;
        return true;
    }
    bool west = cli_take_byte(text, '-');
    if (!west && !cli_take_byte(text, '+')) return false;
    if (!cli_take_number(text, 2, 2, 23, &hours)) return false;
    bool colon = cli_take_byte(text, ':');
    if (colon || (text->at < text->end && cli_is_digit(*text->at)))
        if (!cli_take_number(text, 2, 2, 59, &minutes)) return false;
    *out_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
    return true;
}

cli_cell_error cli_time_join(int64_t days, int64_t seconds, int64_t microseconds, int64_t *out)
{
    /* Steps of one sign: near the limits whole seconds alone can be out of range where the sum is not. */
    seconds += days * CLI_SECONDS_PER_DAY;
    if (seconds < 0 && microseconds > 0) {
        seconds++;
        microseconds -= CLI_MICROSECONDS_PER_SECOND;
    }
    if (__builtin_mul_overflow(seconds, CLI_MICROSECONDS_PER_SECOND, &seconds)) return CLI_CELL_RANGE;
    return __builtin_add_overflow(seconds, microseconds, out) ? CLI_CELL_RANGE : CLI_CELL_OK;
}

int64_t cli_time_days(int64_t microseconds)
{
    const int64_t day = CLI_SECONDS_PER_DAY * CLI_MICROSECONDS_PER_SECOND;
    return microseconds / day - (microseconds % day < 0);
}

/* ---- reading ---- */

/* Four digits, or a sign and four to seven. */
static bool take_year(cli_span *text, int64_t *out)
{
    bool is_signed = text->at < text->end && (*text->at == '-' || *text->at == '+');
    bool negative = is_signed && *text->at == '-';
    int number = 0;
    if (is_signed) text->at++;
    if (!cli_take_number(text, 4, is_signed ? 7 : 4, 9999999, &number)) return false;
    *out = negative ? -number : number;
    return true;
}

static bool take_date(cli_span *text, int64_t *out_days)
{
    int64_t year = 0;
    int month = 0, day = 0;
    if (!take_year(text, &year) || !cli_take_byte(text, '-') || !cli_take_number(text, 2, 2, 12, &month) || month < 1 ||
        !cli_take_byte(text, '-') || !cli_take_number(text, 2, 2, 31, &day) || day < 1 ||
        day > cli_days_in_month(year, month))
        return false;
    *out_days = cli_days_from_date(year, month, day);
    return true;
}

cli_cell_error cli_date_read(cli_span text, int32_t *out)
{
    int64_t days = 0;
    if (!take_date(&text, &days) || text.at != text.end) return CLI_CELL_FORM;
    if (days < INT32_MIN || days > INT32_MAX) return CLI_CELL_RANGE;
    *out = (int32_t)days;
    return CLI_CELL_OK;
}

static cli_cell_error take_time(cli_span *text, int64_t *out_seconds, int64_t *out_microseconds)
{
    int hours = 0, minutes = 0, seconds = 0, zone = 0;
    cli_cell_error fraction = CLI_CELL_OK;
    if (!cli_take_byte(text, 'T') && !cli_take_byte(text, 't') && !cli_take_byte(text, ' ')) return CLI_CELL_FORM;
    if (!cli_take_number(text, 2, 2, 23, &hours) || !cli_take_byte(text, ':') ||
        !cli_take_number(text, 2, 2, 59, &minutes))
        return CLI_CELL_FORM;
    if (cli_take_byte(text, ':')) {
        if (!cli_take_number(text, 2, 2, 59, &seconds)) return CLI_CELL_FORM;
        if (cli_take_byte(text, '.')) fraction = cli_take_fraction(text, out_microseconds);
        if (fraction == CLI_CELL_FORM) return fraction;
    }
    if (text->at < text->end) {
        cli_take_byte(text, ' ');
        if (!cli_take_zone(text, &zone)) return CLI_CELL_FORM;
    }
    *out_seconds = (int64_t)hours * 3600 + (int64_t)(minutes - zone) * 60 + seconds;
    return fraction;
}

/* The last microsecond of a day, which is the last there can be where the day is cut short. */
static cli_cell_error end_of_day(int64_t days, int64_t *out)
{
    cli_cell_error error = cli_time_join(days, 0, 0, out);
    if (error == CLI_CELL_OK && cli_time_join(days + 1, 0, -1, out) != CLI_CELL_OK) *out = INT64_MAX;
    return error;
}

cli_cell_error cli_time_read(cli_span text, bool ends_range, int64_t *out)
{
    int64_t days = 0, seconds = 0, microseconds = 0;
    if (!take_date(&text, &days)) return CLI_CELL_FORM;
    if (text.at == text.end) return ends_range ? end_of_day(days, out) : cli_time_join(days, 0, 0, out);
    cli_cell_error error = take_time(&text, &seconds, &microseconds);
    if (error != CLI_CELL_OK && error != CLI_CELL_FINE) return error;
    if (text.at != text.end) return CLI_CELL_FORM;
    cli_cell_error joined = cli_time_join(days, seconds, microseconds, out);
    return joined == CLI_CELL_OK ? error : joined;
}

/* ---- writing ---- */

size_t cli_date_write(int64_t days, char *text, size_t size)
{
    int64_t year = 0;
    int month = 0, day = 0;
    cli_date_from_days(days, &year, &month, &day);
    const char *sign = year < 0 ? "-" : year > 9999 ? "+" : "";
    return (size_t)snprintf(text, size, "%s%04lld-%02d-%02d", sign, (long long)(year < 0 ? -year : year), month, day);
}

size_t cli_time_write(int64_t microseconds, char *text, size_t size)
{
    int64_t days = cli_time_days(microseconds);
    /* In two steps, because the first moment of the first day there is may be out of range. */
    int64_t rest = microseconds % (CLI_SECONDS_PER_DAY * CLI_MICROSECONDS_PER_SECOND);
    if (rest < 0) rest += CLI_SECONDS_PER_DAY * CLI_MICROSECONDS_PER_SECOND;
    int seconds = (int)(rest / CLI_MICROSECONDS_PER_SECOND), fraction = (int)(rest % CLI_MICROSECONDS_PER_SECOND);
    size_t at = cli_date_write(days, text, size);
    at += (size_t)snprintf(text + at, size - at, "T%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if (fraction) at += (size_t)snprintf(text + at, size - at, ".%06d", fraction);
    return at + (size_t)snprintf(text + at, size - at, "Z");
}
