/* Keys and values between text and memory, the calendar, and counts and names on the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 12345;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state ^ random_state >> 29;
}

static copse_cell_error parse(copse_type type, const char *text, void *out)
{
    return copse_cell_parse(type, text, strlen(text), out);
}

static void every_bit_pattern_comes_back(void **state)
{
    static const copse_type types[] = {COPSE_U32, COPSE_I32, COPSE_F32,  COPSE_U64,
                                       COPSE_I64, COPSE_F64, COPSE_DATE, COPSE_TIMESTAMP};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int i = 0; i < 20000; i++) {
            /* Shifts give short numbers as often as long ones. */
            uint64_t bits = next_random() >> (next_random() % 64), back = 0;
            char text[COPSE_CELL_TEXT];
            if (i % 2) bits = ~bits;
            if (copse_cell_is_nan(types[t], &bits)) continue;
            size_t length = copse_cell_format(types[t], &bits, text);
            assert_int_equal(length, strlen(text));
            assert_int_equal(copse_cell_parse(types[t], text, length, &back), COPSE_CELL_OK);
            if (memcmp(&bits, &back, copse_type_size(types[t])) != 0)
                fail_msg("%s: %s", copse_type_name(types[t]), text);
        }
    }
}

/* What is read by hand must be what the C library reads. */
static void short_decimals_are_rounded_right(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double got = 0;
        float got32 = 0;
        snprintf(text, sizeof text, "%s%llu.%0*llue%d", next_random() % 2 ? "-" : "",
                 (unsigned long long)(next_random() >> (next_random() % 64)), 1 + (int)(next_random() % 18),
                 (unsigned long long)(next_random() % 1000), (int)(next_random() % 60) - 30);
        if (i % 3 == 0) *strchr(text, 'e') = '\0';
        assert_int_equal(parse(COPSE_F64, text, &got), COPSE_CELL_OK);
        if (got != strtod(text, NULL)) fail_msg("%s gives %.17g", text, got);
        assert_int_equal(parse(COPSE_F32, text, &got32), isinf(strtof(text, NULL)) ? COPSE_CELL_RANGE : COPSE_CELL_OK);
        if (got32 != strtof(text, NULL)) fail_msg("%s gives %.9g", text, (double)got32);
    }
}

static void refuses_what_is_not_of_the_type(void **state)
{
    static const struct {
        const char *text;
        copse_type type;
        copse_cell_error error;
    } cases[] = {
        {"", COPSE_U32, COPSE_CELL_EMPTY},
        {" \t ", COPSE_U32, COPSE_CELL_EMPTY},
        {"-", COPSE_U32, COPSE_CELL_FORM},
        {"+", COPSE_U32, COPSE_CELL_FORM},
        {"1 2", COPSE_U32, COPSE_CELL_FORM},
        {"0x10", COPSE_U32, COPSE_CELL_FORM},
        {"1e3", COPSE_U32, COPSE_CELL_FORM},
        {"4294967296", COPSE_U32, COPSE_CELL_RANGE},
        {"-1", COPSE_U32, COPSE_CELL_RANGE},
        {"99999999999999999999999", COPSE_U32, COPSE_CELL_RANGE},
        {"99999999999999999999999x", COPSE_U32, COPSE_CELL_FORM},
        {"2147483648", COPSE_I32, COPSE_CELL_RANGE},
        {"-2147483649", COPSE_I32, COPSE_CELL_RANGE},
        {"18446744073709551616", COPSE_U64, COPSE_CELL_RANGE},
        {"9223372036854775808", COPSE_I64, COPSE_CELL_RANGE},
        {"-9223372036854775809", COPSE_I64, COPSE_CELL_RANGE},
        {".", COPSE_F64, COPSE_CELL_FORM},
        {"1e", COPSE_F64, COPSE_CELL_FORM},
        {"1e+", COPSE_F64, COPSE_CELL_FORM},
        {"0x1p3", COPSE_F64, COPSE_CELL_FORM},
        {"1,5", COPSE_F64, COPSE_CELL_FORM},
        {"infinite", COPSE_F64, COPSE_CELL_FORM},
        {"1e999", COPSE_F64, COPSE_CELL_RANGE},
        {"1e39", COPSE_F32, COPSE_CELL_RANGE},
        {"2026-13-01", COPSE_DATE, COPSE_CELL_FORM},
        {"2026-00-01", COPSE_DATE, COPSE_CELL_FORM},
        {"2026-04-31", COPSE_DATE, COPSE_CELL_FORM},
        {"2026-04-00", COPSE_DATE, COPSE_CELL_FORM},
        {"2100-02-29", COPSE_DATE, COPSE_CELL_FORM},
        {"26-04-01", COPSE_DATE, COPSE_CELL_FORM},
        {"12026-04-01", COPSE_DATE, COPSE_CELL_FORM},
        {"2026-4-1", COPSE_DATE, COPSE_CELL_FORM},
        {"2026-04-01T00:00", COPSE_DATE, COPSE_CELL_FORM},
        {"20260401", COPSE_DATE, COPSE_CELL_FORM},
        {"+9999999-01-01", COPSE_DATE, COPSE_CELL_RANGE},
        {"2026-04-01T", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T24:00", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T23:60", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T23:59:60", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T23:59:59.", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T23:59:59Zx", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T23:59:59+1", COPSE_TIMESTAMP, COPSE_CELL_FORM},
        {"2026-04-01T23:59:59.0000001", COPSE_TIMESTAMP, COPSE_CELL_FINE},
        {"+294247-01-10T04:00:54.775808Z", COPSE_TIMESTAMP, COPSE_CELL_RANGE},
        {"-290308-12-21T19:59:05.224191Z", COPSE_TIMESTAMP, COPSE_CELL_RANGE},
        {"1.5", COPSE_TIMESTAMP, COPSE_CELL_FORM},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t cell = 0;
        copse_cell_error error = parse(cases[i].type, cases[i].text, &cell);
        if (error != cases[i].error)
            fail_msg("%s '%s' gives %d", copse_type_name(cases[i].type), cases[i].text, (int)error);
        assert_true(strlen(copse_cell_problem(cases[i].type, error)) > 5);
    }
}

static void cuts_digits_below_a_microsecond(void **state)
{
    static const copse_cell_form plain = {NULL, '.'}, formatted = {"%Y-%m-%dT%H:%M:%S.%f", '.'},
                                 nanoseconds = {"ns", '.'};
    static const struct {
        const copse_cell_form *form;
        const char *text;
        int64_t microseconds;
        copse_cell_error error;
    } cases[] = {
        {&plain, "1970-01-01T00:00:00.000001999", 1, COPSE_CELL_FINE},
        {&plain, "1969-12-31T23:59:59.9999999Z", -1, COPSE_CELL_FINE},
        {&plain, "1970-01-01T00:00:00.000001000", 1, COPSE_CELL_OK},
        {&formatted, "1970-01-01T00:00:00.000001999", 1, COPSE_CELL_FINE},
        {&formatted, "1970-01-01T00:00:00.5", 500000, COPSE_CELL_OK},
        {&nanoseconds, "1999", 1, COPSE_CELL_FINE},
        {&nanoseconds, "-1", -1, COPSE_CELL_FINE},
        {&nanoseconds, "-2000", -2, COPSE_CELL_OK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = 77;
        assert_int_equal(
            copse_cell_parse_as(cases[i].form, COPSE_TIMESTAMP, cases[i].text, strlen(cases[i].text), &got),
            cases[i].error);
        assert_int_equal(got, cases[i].microseconds);
    }
}

static void reads_decimal_commas(void **state)
{
    static const copse_cell_form comma = {NULL, ','};
    static const struct {
        const char *text;
        double number;
        copse_cell_error error;
    } cases[] = {
        {"1,5", 1.5, COPSE_CELL_OK},
        {" -0,25 ", -0.25, COPSE_CELL_OK},
        {"1,5e2", 150, COPSE_CELL_OK},
        {"7", 7, COPSE_CELL_OK},
        {",5", 0.5, COPSE_CELL_OK},
        {"1.5", 0, COPSE_CELL_FORM},
        {"1.000,5", 0, COPSE_CELL_FORM},
        {"1,000,5", 0, COPSE_CELL_FORM},
        {",", 0, COPSE_CELL_FORM},
        {"1,5x", 0, COPSE_CELL_FORM},
        {"", 0, COPSE_CELL_EMPTY},
        {"1e999", 0, COPSE_CELL_RANGE},
        {"123456789,12345678901234567890", 123456789.12345678901234567890, COPSE_CELL_OK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = 0;
        copse_cell_error error = copse_cell_parse_as(&comma, COPSE_F64, cases[i].text, strlen(cases[i].text), &got);
        if (error != cases[i].error) fail_msg("'%s' gives %d", cases[i].text, (int)error);
        if (error == COPSE_CELL_OK && got != cases[i].number) fail_msg("'%s' gives %.17g", cases[i].text, got);
    }
    /* Longer than any number. */
    char digits[5000];
    double out = 0;
    memset(digits, '1', sizeof digits);
    assert_int_equal(copse_cell_parse_as(&comma, COPSE_F64, digits, sizeof digits - 1, &out), COPSE_CELL_FORM);
}

static void reads_dates_by_a_format(void **state)
{
    static const struct {
        const char *format, *text, *expected; /* NULL: does not fit */
    } cases[] = {
        {"%d/%m/%Y", "15/11/2026", "2026-11-15T00:00:00Z"},
        {"%d/%m/%Y", "5/1/2026", "2026-01-05T00:00:00Z"},
        {"%d/%m/%Y", "05/01/26", NULL},
        {"%d/%m/%Y", "29/2/2100", NULL},
        {"%d/%m/%Y", "0/2/2100", NULL},
        {"%d/%m/%Y", "1/0/2100", NULL},
        {"%d/%m/%Y", "1/13/2100", NULL},
        {"%d/%m/%Y", "1/12/2100 ", "2100-12-01T00:00:00Z"}, /* blanks around a cell do not count */
        {"%y%m%d", "690101", "1969-01-01T00:00:00Z"},
        {"%y%m%d", "680101", "2068-01-01T00:00:00Z"},
        {"%e-%B-%Y", " 1-MARCH-2026", "2026-03-01T00:00:00Z"},
        {"%d-%b-%Y", "1-marc-2026", NULL},
        {"%d %b %Y", "1   may   2026", "2026-05-01T00:00:00Z"},
        {"%d %b %Y", "1 ma 2026", NULL},
        {"%F %T", "2026-11-15 23:59:59", "2026-11-15T23:59:59Z"},
        {"%F %T", "2026-11-15 24:00:00", NULL},
        {"%F %T", "2026-11-15 23:59:60", NULL},
        {"%F %I %p", "2026-11-15 12 AM", "2026-11-15T00:00:00Z"},
        {"%F %I %p", "2026-11-15 12 pm", "2026-11-15T12:00:00Z"},
        {"%F %I %p", "2026-11-15 0 pm", NULL},
        {"%F %I %p", "2026-11-15 13 pm", NULL},
        {"%F %I %p", "2026-11-15 1 xm", NULL},
        {"%FT%R%z", "2026-11-15T00:30+01:00", "2026-11-14T23:30:00Z"},
        {"%FT%R%z", "2026-11-15T00:30", NULL},
        {"%FT%R%z", "2026-11-15T00:30+1", NULL},
        {"%FT%R %z", "2026-11-15T00:30 UTC", "2026-11-15T00:30:00Z"},
        {"%A %d.%m.%Y", "Sunday 15.11.2026", "2026-11-15T00:00:00Z"},
        {"%A %d.%m.%Y", "Sontag 15.11.2026", NULL},
        {"%Y%%%m%%%d", "2026%11%15", "2026-11-15T00:00:00Z"},
        {"%Y %j", "2024 366", "2024-12-31T00:00:00Z"},
        {"%Y %j", "2025 366", NULL},
        {"%Y %j", "2025 0", NULL},
        {"ms", "-1", "1969-12-31T23:59:59.999000Z"},
        {"ms", "1.5", NULL},
        {"s", "9223372036854775807", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const copse_cell_form form = {cases[i].format, '.'};
        int64_t got = 0;
        char text[COPSE_CELL_TEXT] = "", problem[256];
        bool has_time = false;
        assert_true(copse_date_format_check(cases[i].format, &has_time, problem, sizeof problem));
        copse_cell_error error =
            copse_cell_parse_as(&form, COPSE_TIMESTAMP, cases[i].text, strlen(cases[i].text), &got);
        if (error == COPSE_CELL_OK) copse_cell_format(COPSE_TIMESTAMP, &got, text);
        if (strcmp(text, cases[i].expected ? cases[i].expected : "") != 0)
            fail_msg("'%s' as '%s' gives '%s', error %d", cases[i].text, cases[i].format, text, (int)error);
    }
}

static void checks_formats(void **state)
{
    static const char *const bad[] = {"", "%Y", "%Y-%m", "%m-%d", "%d-%Y", "%Q", "%", "%Y-%m-%d%", "%Y-%m-% d", "sec"};
    bool has_time = false;
    char problem[256];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        problem[0] = '\0';
        if (copse_date_format_check(bad[i], &has_time, problem, sizeof problem)) fail_msg("'%s' passes", bad[i]);
        assert_true(strlen(problem) > 10);
    }
    assert_true(copse_date_format_check("%d.%m.%y", &has_time, problem, sizeof problem) && !has_time);
    assert_true(copse_date_format_check("%d.%m.%y %R", &has_time, problem, sizeof problem) && has_time);
    assert_true(copse_date_format_check("ns", &has_time, problem, sizeof problem) && has_time);
}

static void a_day_ends_with_its_last_moment(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"2024-01-31", "2024-01-31T23:59:59.999999Z"},       {" 1969-12-31 ", "1969-12-31T23:59:59.999999Z"},
        {"2024-01-31T00:00", "2024-01-31T00:00:00Z"},        {"1000000", "1970-01-01T00:00:01Z"},
        {"+294247-01-10", "+294247-01-10T04:00:54.775807Z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = 0;
        char text[COPSE_CELL_TEXT];
        assert_int_equal(copse_cell_parse_end(COPSE_TIMESTAMP, cases[i].text, strlen(cases[i].text), &got),
                         COPSE_CELL_OK);
        copse_cell_format(COPSE_TIMESTAMP, &got, text);
        assert_string_equal(text, cases[i].expected);
    }
    int32_t day = 0;
    assert_int_equal(copse_cell_parse_end(COPSE_DATE, "1970-01-02", 10, &day), COPSE_CELL_OK);
    assert_int_equal(day, 1);
    int64_t got = 0;
    assert_int_equal(copse_cell_parse_end(COPSE_TIMESTAMP, "", 0, &got), COPSE_CELL_EMPTY);
    assert_int_equal(copse_cell_parse_end(COPSE_TIMESTAMP, "+294247-01-11", 13, &got), COPSE_CELL_RANGE);
}

static void reads_times_of_every_form(void **state)
{
    static const struct {
        const char *text;
        int64_t microseconds;
    } cases[] = {
        {"1970-01-01", 0},
        {"1970-01-02T00:00", INT64_C(86400000000)},
        {"1970-01-01 00:00:01.5", 1500000},
        {"1970-01-01T00:00:00.000001Z", 1},
        {"1970-01-01T00:00:00.100000000", 100000},
        {"1969-12-31T23:59:59.75", -250000},
        {"1970-01-01T02:00+02:00", 0},
        {"1970-01-01T02:00+02", 0},
        {"1969-12-31T22:30-0130", 0},
        {"  -42 ", -42},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = 0;
        assert_int_equal(parse(COPSE_TIMESTAMP, cases[i].text, &got), COPSE_CELL_OK);
        if (got != cases[i].microseconds) fail_msg("%s gives %lld", cases[i].text, (long long)got);
    }
}

/* The smallest and the largest whole number of each type, and what lies one further. */
static void the_ends_of_whole_numbers(void **state)
{
    static const struct {
        copse_type type;
        copse_cell_error error;
        const char *text;
        int64_t number;
    } cases[] = {
        {COPSE_I64, COPSE_CELL_OK, "-9223372036854775808", INT64_MIN},
        {COPSE_I64, COPSE_CELL_RANGE, "-9223372036854775809", 0},
        {COPSE_I64, COPSE_CELL_OK, "9223372036854775807", INT64_MAX},
        {COPSE_I64, COPSE_CELL_RANGE, "9223372036854775808", 0},
        {COPSE_TIMESTAMP, COPSE_CELL_OK, "-9223372036854775808", INT64_MIN},
        {COPSE_I32, COPSE_CELL_OK, "-2147483648", INT32_MIN},
        {COPSE_I32, COPSE_CELL_RANGE, "-2147483649", 0},
        {COPSE_I32, COPSE_CELL_RANGE, "2147483648", 0},
        {COPSE_U64, COPSE_CELL_OK, "18446744073709551615", -1},
        {COPSE_U64, COPSE_CELL_RANGE, "18446744073709551616", 0},
        {COPSE_U32, COPSE_CELL_RANGE, "4294967296", 0},
        {COPSE_U32, COPSE_CELL_RANGE, "-1", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t wide = 0;
        int32_t narrow = 0;
        const bool is_wide = copse_type_size(cases[i].type) == 8;
        const copse_cell_error error = parse(cases[i].type, cases[i].text, is_wide ? (void *)&wide : (void *)&narrow);
        if (error != cases[i].error) fail_msg("%s as %s", cases[i].text, copse_type_name(cases[i].type));
        if (error == COPSE_CELL_OK) assert_int_equal(is_wide ? wide : narrow, cases[i].number);
    }
}

/* The first and the last moment that there are, as text and back. */
static void the_ends_of_time_come_back(void **state)
{
    static const struct {
        copse_type type;
        int64_t number;
        const char *text;
    } cases[] = {
        {COPSE_TIMESTAMP, INT64_MIN, "-290308-12-21T19:59:05.224192Z"},
        {COPSE_TIMESTAMP, INT64_MIN + 1, "-290308-12-21T19:59:05.224193Z"},
        {COPSE_TIMESTAMP, INT64_MIN + 775808, "-290308-12-21T19:59:06Z"}, /* the first whole second */
        {COPSE_TIMESTAMP, INT64_MAX, "+294247-01-10T04:00:54.775807Z"},
        {COPSE_TIMESTAMP, -1, "1969-12-31T23:59:59.999999Z"},
        {COPSE_DATE, INT32_MIN, "-5877641-06-23"},
        {COPSE_DATE, INT32_MAX, "+5881580-07-11"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[COPSE_CELL_TEXT];
        const int32_t narrow = (int32_t)cases[i].number;
        const bool wide = cases[i].type == COPSE_TIMESTAMP;
        int64_t got = 0;
        int32_t got_narrow = 0;
        assert_int_equal(parse(cases[i].type, cases[i].text, wide ? (void *)&got : (void *)&got_narrow), COPSE_CELL_OK);
        assert_int_equal(wide ? got : got_narrow, cases[i].number);
        const size_t length =
            copse_cell_format(cases[i].type, wide ? (const void *)&cases[i].number : (const void *)&narrow, text);
        assert_int_equal(length, strlen(text));
        assert_string_equal(text, cases[i].text);
    }
}

/* Day by day over two cycles of the calendar, against counting. */
static void the_calendar_counts_like_a_calendar(void **state)
{
    int64_t year = -400, days = copse_days_from_date(-400, 1, 1);
    int month = 1, day = 1;
    (void)state;
    assert_int_equal(copse_days_from_date(1970, 1, 1), 0);
    assert_int_equal(copse_days_from_date(2000, 3, 1), 11017);
    for (; year < 402; days++) {
        int64_t got_year = 0;
        int got_month = 0, got_day = 0;
        assert_int_equal(copse_days_from_date(year, month, day), days);
        copse_date_from_days(days, &got_year, &got_month, &got_day);
        assert_true(got_year == year && got_month == month && got_day == day);
        if (++day <= copse_days_in_month(year, month)) continue;
        day = 1;
        if (++month <= 12) continue;
        month = 1;
        year++;
    }
}

static void limits_are_in_order(void **state)
{
    (void)state;
    for (copse_type type = COPSE_U32; type <= COPSE_TIMESTAMP; type = (copse_type)(type + 1)) {
        uint64_t low = 0, high = 0;
        char text[COPSE_CELL_TEXT];
        copse_cell_smallest(type, &low);
        copse_cell_largest(type, &high);
        assert_int_not_equal(low, high);
        assert_true(copse_cell_format(type, &low, text) > 0 && copse_cell_format(type, &high, text) > 0);
    }
}

static void reads_counts(void **state)
{
    static const struct {
        const char *text;
        int good;
        uint64_t count;
    } cases[] = {{"0", 1, 0},          {"1000", 1, 1000},     {"16k", 1, 16384},
                 {"16M", 1, 16777216}, {"2^24", 1, 16777216}, {"2^4K", 1, 16384},
                 {"1G", 1, 1u << 30},  {"10^3", 1, 1000},     {"18446744073709551615", 1, UINT64_MAX},
                 {"0^3", 1, 0},        {"5^0", 1, 1},         {"1^99999999999", 1, 1},
                 {"", 0, 0},           {"-1", 0, 0},          {" 1", 0, 0},
                 {"1 ", 0, 0},         {"K", 0, 0},           {"1KB", 0, 0},
                 {"2^64", 0, 0},       {"2^", 0, 0},          {"18446744073709551616", 0, 0},
                 {"1.5M", 0, 0},       {"17179869184G", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t count = 0;
        if (cli_parse_count(cases[i].text, &count) != (cases[i].good != 0)) fail_msg("'%s'", cases[i].text);
        if (cases[i].good) assert_int_equal(count, cases[i].count);
    }
}

static void finds_the_nearest_name(void **state)
{
    static const char *const names[] = {"build", "bench", "get", "range", "verify", "no-header"};
    static const struct {
        const char *word;
        const char *nearest;
    } cases[] = {{"buidl", "build"},   {"buil", "build"},         {"gte", "get"},  {"rnge", "range"}, {"ver", "verify"},
                 {"veryfi", "verify"}, {"noheader", "no-header"}, {"xyzzy", NULL}, {"", NULL},        {"x", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *nearest = copse_nearest(cases[i].word, names, sizeof names / sizeof names[0]);
        if (!cases[i].nearest)
            assert_null(nearest);
        else if (!nearest || strcmp(nearest, cases[i].nearest) != 0)
            fail_msg("%s gives %s", cases[i].word, nearest ? nearest : "nothing");
    }
}

static void writes_numbers_for_people(void **state)
{
    char text[CLI_NUMBER_SIZE];
    (void)state;
    assert_string_equal(cli_group(0, text), "0");
    assert_string_equal(cli_group(999, text), "999");
    assert_string_equal(cli_group(1000, text), "1,000");
    assert_string_equal(cli_group(UINT64_MAX, text), "18,446,744,073,709,551,615");
    assert_string_equal(cli_bytes(1023, text), "1023 bytes");
    assert_string_equal(cli_bytes(1024, text), "1.0 KiB");
    assert_string_equal(cli_bytes((1 << 20) - 1, text), "1.0 MiB");
    assert_string_equal(cli_bytes(UINT64_MAX, text), "16777216.0 TiB");
    assert_string_equal(cli_seconds(0.0000123, text), "12 us");
    assert_string_equal(cli_seconds(0.0123, text), "12.3 ms");
    assert_string_equal(cli_seconds(1.234, text), "1.23 s");
    assert_string_equal(cli_seconds(125, text), "2 min 05 s");
    assert_string_equal(cli_rate(41.5e6, text), "41.5 M/s");
    assert_string_equal(cli_int128((copse_int128){0, INT64_MIN}, text), "-170141183460469231731687303715884105728");
    assert_string_equal(cli_int128((copse_int128){UINT64_MAX, -1}, text), "-1");
    assert_string_equal(cli_int128((copse_int128){UINT64_MAX, INT64_MAX}, text),
                        "170141183460469231731687303715884105727");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_pattern_comes_back),
        cmocka_unit_test(short_decimals_are_rounded_right),
        cmocka_unit_test(refuses_what_is_not_of_the_type),
        cmocka_unit_test(cuts_digits_below_a_microsecond),
        cmocka_unit_test(reads_decimal_commas),
        cmocka_unit_test(reads_dates_by_a_format),
        cmocka_unit_test(checks_formats),
        cmocka_unit_test(a_day_ends_with_its_last_moment),
        cmocka_unit_test(reads_times_of_every_form),
        cmocka_unit_test(the_ends_of_whole_numbers),
        cmocka_unit_test(the_ends_of_time_come_back),
        cmocka_unit_test(the_calendar_counts_like_a_calendar),
        cmocka_unit_test(limits_are_in_order),
        cmocka_unit_test(reads_counts),
        cmocka_unit_test(finds_the_nearest_name),
        cmocka_unit_test(writes_numbers_for_people),
    };
    return cmocka_run_group_tests_name("cli keys", tests, NULL, NULL);
}
