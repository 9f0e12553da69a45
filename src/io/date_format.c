/* Dates and times in a form that the user describes, as strptime does, but the same in every locale and without days that do not
 * exist. */
#include "io/times.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define KNOWN "%Y %y %m %d %e %b %B %a %A %j %H %I %p %M %S %f %z %F %T %R %D %%"

/* ---- numbers since 1970 ---- */

/* A number of units times `multiply`, divided by `divide`, is microseconds. */
typedef struct unit {
    const char *name;
    int64_t multiply;
    int64_t divide;
} unit;

static const unit *find_unit(const char *format)
{
    static const unit units[] = {{"s", 1000000, 1}, {"ms", 1000, 1}, {"us", 1, 1}, {"ns", 1, 1000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(format, units[i].name) == 0) return &units[i];
    return NULL;
}

static copse_cell_error read_number(copse_span text, const unit *u, int64_t *out)
{
    int64_t number = 0;
    copse_cell_error error = copse_cell_parse(COPSE_I64, text.at, (size_t)(text.end - text.at), &number);
    if (error != COPSE_CELL_OK) return error;
    if (__builtin_mul_overflow(number, u->multiply, &number)) return COPSE_CELL_RANGE;
    *out = number / u->divide - (number % u->divide < 0);
    return number % u->divide ? COPSE_CELL_FINE : COPSE_CELL_OK;
}

/* ---- parts ---- */

typedef struct moment {
    int64_t microseconds; /* behind the second */
    int year, month, day, day_of_year;
    int hours, minutes, seconds;
    int zone;
    int afternoon; /* 0: not said, 1: a.m., 2: p.m. */
    bool fine;
} moment;

/* One of the names, whole or its first three letters. Returns its number from 1, 0 if none is there. */
static int take_name(copse_span *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        size_t whole = strlen(names[i]), left = (size_t)(text->end - text->at), same = 0;
        while (same < whole && same < left && tolower((unsigned char)text->at[same]) == names[i][same]) same++;
        if (same < 3) continue;
        text->at += same == whole ? whole : 3;
        return i + 1;
    }
    return 0;
}

static bool take_month_name(copse_span *text, moment *out)
{
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    out->month = take_name(text, names, 12);
    return out->month > 0;
}

static bool take_weekday_name(copse_span *text)
{
    static const char *const names[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
    return take_name(text, names, 7) > 0;
}

static bool take_half_of_day(copse_span *text, moment *out)
{
    if (text->end - text->at < 2 || tolower((unsigned char)text->at[1]) != 'm') return false;
    char letter = (char)tolower((unsigned char)text->at[0]);
    out->afternoon = letter == 'a' ? 1 : letter == 'p' ? 2 : 0;
    text->at += 2;
    return out->afternoon > 0;
}

static bool take_short_year(copse_span *text, moment *out)
{
    if (!copse_take_number(text, 2, 2, 99, &out->year)) return false;
    out->year += out->year < 69 ? 2000 : 1900; /* as POSIX has it */
    return true;
}

static bool take_parts(copse_span *text, const char *format, moment *out);

static bool take_second_fraction(copse_span *text, moment *out)
{
    copse_cell_error error = copse_take_fraction(text, &out->microseconds);
    out->fine |= error == COPSE_CELL_FINE;
    return error != COPSE_CELL_FORM;
}

static bool take_part(copse_span *text, char part, moment *out)
{
    switch (part) {
    case 'Y':
        return copse_take_number(text, 4, 4, 9999, &out->year);
    case 'y':
        return take_short_year(text, out);
    case 'm':
        return copse_take_number(text, 1, 2, 12, &out->month);
    case 'e':
        copse_take_byte(text, ' ');
        return copse_take_number(text, 1, 2, 31, &out->day);
    case 'd':
        return copse_take_number(text, 1, 2, 31, &out->day);
    case 'j':
        return copse_take_number(text, 1, 3, 366, &out->day_of_year);
    case 'b':
    case 'B':
        return take_month_name(text, out);
    case 'a':
    case 'A':
        return take_weekday_name(text);
    case 'H':
        return copse_take_number(text, 1, 2, 23, &out->hours);
    case 'I':
        return copse_take_number(text, 1, 2, 12, &out->hours) && out->hours > 0;
    case 'p':
        return take_half_of_day(text, out);
    case 'M':
        return copse_take_number(text, 1, 2, 59, &out->minutes);
    case 'S':
        return copse_take_number(text, 1, 2, 59, &out->seconds);
    case 'f':
        return take_second_fraction(text, out);
    case 'z':
        return copse_take_zone(text, &out->zone);
    case 'F':
        return take_parts(text, "%Y-%m-%d", out);
    case 'T':
        return take_parts(text, "%H:%M:%S", out);
    case 'R':
        return take_parts(text, "%H:%M", out);
    case 'D':
        return take_parts(text, "%m/%d/%y", out);
    default:
        return copse_take_byte(text, part); /* %% */
    }
}

static bool take_parts(copse_span *text, const char *format, moment *out)
{
    for (; *format; format++) {
        if (*format == ' ') {
            while (copse_take_byte(text, ' ')) continue;
        } else if (*format == '%') {
            if (!take_part(text, *++format, out)) return false;
        } else if (!copse_take_byte(text, *format)) {
            return false;
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool find_day(const moment *m, int64_t *out_days)
{
    if (m->day_of_year > 0) {
        *out_days = copse_days_from_date(m->year, 1, 1) + m->day_of_year - 1;
        return m->day_of_year < 366 || copse_days_in_month(m->year, 2) == 29;
    }
    if (m->month < 1 || m->day < 1 || m->day > copse_days_in_month(m->year, m->month)) return false;
    *out_days = copse_days_from_date(m->year, m->month, m->day);
    return true;
}

copse_cell_error copse_date_format_read(const char *format, copse_span text, int64_t *out)
{
    moment m = {0};
    int64_t days = 0;
    const unit *u = find_unit(format);
    if (u) return read_number(text, u, out);
    if (!take_parts(&text, format, &m) || text.at != text.end || !find_day(&m, &days)) return COPSE_CELL_FORM;
    if (m.afternoon) m.hours = m.hours % 12 + (m.afternoon == 2 ? 12 : 0);
    int64_t seconds = (int64_t)m.hours * 3600 + (int64_t)(m.minutes - m.zone) * 60 + m.seconds;
    copse_cell_error error = copse_time_join(days, seconds, m.microseconds, out);
    return error == COPSE_CELL_OK && m.fine ? COPSE_CELL_FINE : error;
}

/* Which parts the format names, each by a letter; false at one that is not known. */
static bool list_parts(const char *format, bool has[128], char *unknown)
{
    for (const char *at = strchr(format, '%'); at; at = strchr(at + 2, '%')) {
        *unknown = at[1];
        if (at[1] == '\0' || !isgraph((unsigned char)at[1]) || (unsigned char)at[1] >= 128) return false;
        const char part[] = {'%', at[1], '\0'};
        if (!strstr(KNOWN, part)) return false;
        has[(unsigned char)at[1]] = true;
    }
    return true;
}

bool copse_date_format_check(const char *format, bool *has_time, char *problem, size_t problem_size)
{
    bool has[128] = {false};
    char unknown = 0;
    *has_time = true;
    if (find_unit(format)) return true;
    if (!list_parts(format, has, &unknown)) {
        snprintf(problem, problem_size, "%%%c is not known; there are %s, and s, ms, us and ns alone",
                 isgraph((unsigned char)unknown) ? unknown : '?', KNOWN);
        return false;
    }
    *has_time = has['H'] || has['I'] || has['M'] || has['S'] || has['f'] || has['z'] || has['T'] || has['R'];
    bool year = has['Y'] || has['y'] || has['F'] || has['D'];
    bool month = has['m'] || has['b'] || has['B'] || has['F'] || has['D'] || has['j'];
    bool day = has['d'] || has['e'] || has['F'] || has['D'] || has['j'];
    if (year && month && day) return true;
    snprintf(problem, problem_size, "it does not say where the %s is; %%d/%%m/%%Y, for instance, does",
             !year    ? "year"
             : !month ? "month"
                      : "day");
    return false;
}
