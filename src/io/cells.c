/* One key or value between text and memory. Reading is on the path of every CSV cell, so whole numbers and short
 * decimals are read by hand; everything else goes to the C library. */
#include "io/cells.h"
#include "io/digits.h"
#include "io/locale.h"
#include "io/times.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_DECIMAL 1024 /* digits of a number with a decimal comma; more is no number that people write */

/* ---- whole numbers ---- */

typedef struct whole {
    uint64_t magnitude;
    bool negative;
} whole;

static copse_cell_error parse_whole(copse_span text, whole *out)
{
    const char *at = text.at;
    uint64_t magnitude = 0;
    out->negative = at < text.end && *at == '-';
    if (at < text.end && (*at == '-' || *at == '+')) at++;
    if (at == text.end) return COPSE_CELL_FORM;
    bool overflow = false;
    const size_t digits = (size_t)(text.end - at);
    if (digits <= 8) return copse_digits(at, digits, &out->magnitude) ? COPSE_CELL_OK : COPSE_CELL_FORM;
    if (digits <= 16) {
        uint64_t last = 0;
        if (!copse_digits(at, digits - 8, &magnitude) || !copse_digits(text.end - 8, 8, &last)) return COPSE_CELL_FORM;
        out->magnitude = magnitude * 100000000 + last;
        return COPSE_CELL_OK;
    }
    for (; at < text.end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit > 9) return COPSE_CELL_FORM;
        overflow |= magnitude > (UINT64_MAX - digit) / 10;
        magnitude = magnitude * 10 + digit;
    }
    out->magnitude = magnitude;
    return overflow ? COPSE_CELL_RANGE : COPSE_CELL_OK;
}

static copse_cell_error parse_unsigned(copse_span text, uint64_t limit, uint64_t *out)
{
    whole number;
    copse_cell_error error = parse_whole(text, &number);
    if (error != COPSE_CELL_OK) return error;
    if (number.magnitude > limit || (number.negative && number.magnitude > 0)) return COPSE_CELL_RANGE;
    *out = number.magnitude;
    return COPSE_CELL_OK;
}

/* limit is the largest positive number; the smallest negative one is one further from zero. */
static copse_cell_error parse_signed(copse_span text, int64_t limit, int64_t *out)
{
    whole number;
    copse_cell_error error = parse_whole(text, &number);
    if (error != COPSE_CELL_OK) return error;
    if (number.magnitude > (uint64_t)limit + number.negative) return COPSE_CELL_RANGE;
    *out = number.negative ? (int64_t)(0 - number.magnitude) : (int64_t)number.magnitude;
    return COPSE_CELL_OK;
}

/* ---- decimals ---- */

typedef struct decimal {
    uint64_t digits; /* of the number without its point; meaningless when `exact` is false */
    int exponent;
    bool exact;
    bool negative;
} decimal;

static const char *skip_digits(const char *at, const char *end, decimal *out, int *count)
{
    for (*count = 0; at < end && copse_is_digit(*at); at++, ++*count) {
        out->exact &= out->digits < UINT64_C(1) << 56;
        out->digits = out->digits * 10 + (uint64_t)(*at - '0');
    }
    return at;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit on at least one side of the point. */
static bool scan_decimal(copse_span text, decimal *out)
{
    const char *at = text.at;
    int before = 0, after = 0, exponent_digits = 0;
    *out = (decimal){0, 0, true, at < text.end && *at == '-'};
    if (at < text.end && (*at == '-' || *at == '+')) at++;
    at = skip_digits(at, text.end, out, &before);
    if (at < text.end && *at == '.') at = skip_digits(at + 1, text.end, out, &after);
    if (before + after == 0) return false;
    out->exponent = -after;
    if (at < text.end && (*at == 'e' || *at == 'E')) {
        bool negative = ++at < text.end && *at == '-';
        decimal exponent = {0, 0, true, false};
        if (at < text.end && (*at == '-' || *at == '+')) at++;
        at = skip_digits(at, text.end, &exponent, &exponent_digits);
        if (exponent_digits == 0) return false;
        if (exponent_digits > 3)
            out->exact = false;
        else
            out->exponent += negative ? -(int)exponent.digits : (int)exponent.digits;
    }
    return at == text.end;
}

static bool is_word(copse_span text, const char *word)
{
    size_t length = (size_t)(text.end - text.at);
    if (strlen(word) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)text.at[i]) != word[i]) return false;
    return true;
}

static bool parse_special(copse_span text, double *out)
{
    bool negative = text.at < text.end && *text.at == '-';
    copse_span word = text;
    if (word.at < word.end && (*word.at == '-' || *word.at == '+')) word.at++;
    if (is_word(word, "inf") || is_word(word, "infinity"))
        *out = negative ? -INFINITY : INFINITY;
    else if (is_word(word, "nan"))
        *out = NAN;
    else
        return false;
    return true;
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* [-] 1 to 7 digits . 1 to 8 digits: what most cells are. */
static bool parse_short_f64(copse_span text, double *out)
{
    static const uint32_t shifts[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const bool negative = text.at < text.end && *text.at == '-';
    const char *at = text.at + negative;
    const size_t length = (size_t)(text.end - at);
    uint64_t first = 0, rest = 0;
    if (length < 3 || length > 16) return false;
    const unsigned before = copse_find_byte(copse_short_word(at, length < 8 ? length : 8), '.');
    const size_t after = length - before - 1;
    if (before == 0 || before >= 8 || after == 0 || after > 8) return false;
    if (!copse_digits(at, before, &first) || !copse_digits(at + before + 1, after, &rest)) return false;
    const uint64_t digits = first * shifts[after] + rest; /* below 10^15: exact, and so is the power of ten */
    *out = (negative ? -(double)digits : (double)digits) / powers[after];
    return true;
}

static copse_cell_error parse_f64(copse_span text, double *out)
{
    decimal number;
    if (parse_short_f64(text, out)) return COPSE_CELL_OK;
    if (!scan_decimal(text, &number)) return parse_special(text, out) ? COPSE_CELL_OK : COPSE_CELL_FORM;
    if (number.exact && number.digits <= UINT64_C(1) << 53 && number.exponent >= -22 && number.exponent <= 22) {
        /* Both operands are exact, so that the one rounding here is the right one. */
        double digits = number.negative ? -(double)number.digits : (double)number.digits;
        *out = number.exponent < 0 ? digits / powers[-number.exponent] : digits * powers[number.exponent];
        return COPSE_CELL_OK;
    }
    *out = copse_strtod(text.at);
    return isinf(*out) ? COPSE_CELL_RANGE : COPSE_CELL_OK;
}

static copse_cell_error parse_f32(copse_span text, float *out)
{
    decimal number;
    double special = 0;
    if (!scan_decimal(text, &number)) {
        if (!parse_special(text, &special)) return COPSE_CELL_FORM;
        *out = (float)special;
        return COPSE_CELL_OK;
    }
    *out = copse_strtof(text.at); /* not through a double: that would round twice */
    return isinf(*out) ? COPSE_CELL_RANGE : COPSE_CELL_OK;
}

/* ---- dates and timestamps ---- */

/* A date and time, or microseconds since 1970. */
static copse_cell_error parse_timestamp(copse_span text, bool ends_range, int64_t *out)
{
    copse_cell_error error = parse_signed(text, INT64_MAX, out);
    return error == COPSE_CELL_FORM ? copse_time_read(text, ends_range, out) : error;
}

/* ---- any type ---- */

static inline copse_span trim(const char *text, size_t length)
{
    copse_span span = {text, text + length};
    while (span.at < span.end && (*span.at == ' ' || *span.at == '\t')) span.at++;
    while (span.at < span.end && (span.end[-1] == ' ' || span.end[-1] == '\t')) span.end--;
    return span;
}

static copse_cell_error parse_u32(copse_span text, uint32_t *out)
{
    uint64_t wide = 0;
    copse_cell_error error = parse_unsigned(text, UINT32_MAX, &wide);
    *out = (uint32_t)wide;
    return error;
}

static copse_cell_error parse_i32(copse_span text, int32_t *out)
{
    int64_t wide = 0;
    copse_cell_error error = parse_signed(text, INT32_MAX, &wide);
    *out = (int32_t)wide;
    return error;
}

copse_cell_error copse_cell_parse(copse_type type, const char *text, size_t length, void *out)
{
    copse_span span = trim(text, length);
    if (type == COPSE_BYTES) return length > COPSE_LONGEST_KEY ? COPSE_CELL_RANGE : COPSE_CELL_OK;
    if (span.at == span.end) return COPSE_CELL_EMPTY;
    switch (type) {
    case COPSE_U32:
        return parse_u32(span, out);
    case COPSE_I32:
        return parse_i32(span, out);
    case COPSE_F32:
        return parse_f32(span, out);
    case COPSE_U64:
        return parse_unsigned(span, UINT64_MAX, out);
    case COPSE_I64:
        return parse_signed(span, INT64_MAX, out);
    case COPSE_F64:
        return parse_f64(span, out);
    case COPSE_DATE:
        return copse_date_read(span, out);
    case COPSE_TIMESTAMP:
        return parse_timestamp(span, false, out);
    default:
        return COPSE_CELL_FORM;
    }
}

/* A decimal comma becomes a point, and a point is an error. */
static copse_cell_error parse_with_comma(copse_type type, const char *text, size_t length, void *out)
{
    char copy[LONGEST_DECIMAL];
    if (length >= sizeof copy || memchr(text, '.', length)) return COPSE_CELL_FORM;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *comma = memchr(copy, ',', length);
    if (comma) *comma = '.';
    return copse_cell_parse(type, copy, length, out);
}

static copse_cell_error parse_with_format(copse_type type, const char *format, const char *text, size_t length,
                                          void *out)
{
    int64_t microseconds = 0;
    copse_span span = trim(text, length);
    if (span.at == span.end) return COPSE_CELL_EMPTY;
    copse_cell_error error = copse_date_format_read(format, span, &microseconds);
    if (type == COPSE_TIMESTAMP)
        *(int64_t *)out = microseconds;
    else
        *(int32_t *)out = (int32_t)copse_time_days(microseconds);
    return error;
}

copse_cell_error copse_cell_parse_as(const copse_cell_form *form, copse_type type, const char *text, size_t length,
                                     void *out)
{
    if (form->decimal == ',' && (type == COPSE_F32 || type == COPSE_F64))
        return parse_with_comma(type, text, length, out);
    if (form->date_format && (type == COPSE_DATE || type == COPSE_TIMESTAMP))
        return parse_with_format(type, form->date_format, text, length, out);
    return copse_cell_parse(type, text, length, out);
}

copse_cell_error copse_cell_parse_end(copse_type type, const char *text, size_t length, void *out)
{
    copse_span span = trim(text, length);
    if (type != COPSE_TIMESTAMP || span.at == span.end) return copse_cell_parse(type, text, length, out);
    return parse_timestamp(span, true, out);
}

static const char *range_problem(copse_type type)
{
    switch (type) {
    case COPSE_U32:
        return "does not fit u32 (0 to 4294967295)";
    case COPSE_I32:
        return "does not fit i32 (-2147483648 to 2147483647)";
    case COPSE_F32:
        return "is too large for f32";
    case COPSE_U64:
        return "does not fit u64 (0 to 18446744073709551615)";
    case COPSE_I64:
        return "does not fit i64 (-9223372036854775808 to 9223372036854775807)";
    case COPSE_F64:
        return "is too large for f64";
    case COPSE_DATE:
        return "is too far from 1970 for a date";
    case COPSE_TIMESTAMP:
        return "is too far from 1970 for a timestamp";
    case COPSE_BYTES:
        return "is longer than 65536 bytes, the most that a key may have";
    default:
        return "is of no known type";
    }
}

const char *copse_cell_problem(copse_type type, copse_cell_error error)
{
    if (error == COPSE_CELL_EMPTY) return "is empty";
    if (error == COPSE_CELL_FINE) return "is finer than a microsecond";
    if (error == COPSE_CELL_MEMORY) return "finds no memory";
    if (error == COPSE_CELL_RANGE) return range_problem(type);
    switch (type) {
    case COPSE_F32:
    case COPSE_F64:
        return "is not a number";
    case COPSE_DATE:
        return "is not a date (YYYY-MM-DD)";
    case COPSE_TIMESTAMP:
        return "is not a timestamp (YYYY-MM-DDTHH:MM:SS, or microseconds since 1970)";
    default:
        return "is not a whole number";
    }
}

static size_t format_whole(uint64_t magnitude, bool negative, char *text)
{
    char digits[24];
    size_t length = 0, at = 0;
    do digits[length++] = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) > 0);
    if (negative) text[at++] = '-';
    while (length > 0) text[at++] = digits[--length];
    text[at] = '\0';
    return at;
}

size_t copse_cell_format(copse_type type, const void *cell, char text[COPSE_CELL_TEXT])
{
    union {
        uint32_t u32;
        int32_t i32;
        float f32;
        uint64_t u64;
        int64_t i64;
        double f64;
    } v;
    memcpy(&v, cell, copse_type_size(type));
    switch (type) {
    case COPSE_U32:
        return format_whole(v.u32, false, text);
    case COPSE_I32:
        return format_whole((uint64_t)(v.i32 < 0 ? -(int64_t)v.i32 : v.i32), v.i32 < 0, text);
    case COPSE_F32:
        return strlen(copse_double((double)v.f32, 1, text));
    case COPSE_U64:
        return format_whole(v.u64, false, text);
    case COPSE_I64:
        return format_whole(v.i64 < 0 ? 0 - (uint64_t)v.i64 : (uint64_t)v.i64, v.i64 < 0, text);
    case COPSE_F64:
        return strlen(copse_double(v.f64, 0, text));
    case COPSE_DATE:
        return copse_date_write(v.i32, text, COPSE_CELL_TEXT);
    case COPSE_TIMESTAMP:
        return copse_time_write(v.i64, text, COPSE_CELL_TEXT);
    default:
        text[0] = '\0';
        return 0;
    }
}

static void put_limit(copse_type type, bool largest, void *out)
{
    switch (type) {
    case COPSE_U32:
        *(uint32_t *)out = largest ? UINT32_MAX : 0;
        break;
    case COPSE_U64:
        *(uint64_t *)out = largest ? UINT64_MAX : 0;
        break;
    case COPSE_F32:
        *(float *)out = largest ? INFINITY : -INFINITY;
        break;
    case COPSE_F64:
        *(double *)out = largest ? (double)INFINITY : -(double)INFINITY;
        break;
    case COPSE_I32:
    case COPSE_DATE:
        *(int32_t *)out = largest ? INT32_MAX : INT32_MIN;
        break;
    case COPSE_I64:
    case COPSE_TIMESTAMP:
        *(int64_t *)out = largest ? INT64_MAX : INT64_MIN;
        break;
    default:
        break;
    }
}

void copse_cell_smallest(copse_type type, void *out)
{
    put_limit(type, false, out);
}

void copse_cell_largest(copse_type type, void *out)
{
    put_limit(type, true, out);
}
