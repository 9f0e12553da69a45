/* Numbers in text: millions of random ones as the C library reads them, and none that depends on the locale of the program. */
#include "unit.h"

#include "io/cells.h"
#include "io/times.h"
#include "random.h"

#include <locale.h>
#include <math.h>

#define NUMBERS 2000000

/* Digits with or without a point, an exponent, a sign; most of them short, as people write them. */
static size_t write_number(struct random_source *random, char text[64])
{
    size_t at = 0;
    uint64_t before = random_below(random, random_one_in(random, 10) ? 22 : 8),
             after = random_below(random, before ? 12 : 20) + !before;
    if (random_one_in(random, 3)) text[at++] = '-';
    for (uint64_t i = 0; i < before; i++) text[at++] = (char)('0' + random_below(random, 10));
    if (after > 0) text[at++] = '.';
    for (uint64_t i = 0; i < after; i++) text[at++] = (char)('0' + random_below(random, 10));
    if (random_one_in(random, 4))
        at += (size_t)snprintf(text + at, 16, "e%d",
                               (int)random_below(random, random_one_in(random, 3) ? 640 : 50) -
                                   (int)random_below(random, 340));
    text[at] = '\0';
    return at;
}

static void numbers_are_read_as_the_c_library_does(void **state)
{
    (void)state;
    struct random_source random = {11};
    for (int i = 0; i < NUMBERS; i++) {
        char text[64];
        double number = 0;
        float single = 0;
        size_t length = write_number(&random, text);
        copse_cell_error error = copse_cell_parse(COPSE_F64, text, length, &number);
        double want = strtod(text, NULL);
        if (isinf(want) ? error != COPSE_CELL_RANGE
                        : error != COPSE_CELL_OK || number != want || signbit(number) != signbit(want))
            fail_msg("%s gives %.17g, not %.17g", text, number, want);
        error = copse_cell_parse(COPSE_F32, text, length, &single);
        float want_single = strtof(text, NULL);
        if (isinf(want_single)
                ? error != COPSE_CELL_RANGE
                : error != COPSE_CELL_OK || single != want_single || signbit(single) != signbit(want_single))
            fail_msg("%s gives %.9g, not %.9g", text, (double)single, (double)want_single);
    }
}

/* Digits are read eight at a time: every length, and every byte in the place of a digit. */
static void whole_numbers_are_digits_and_nothing_else(void **state)
{
    (void)state;
    struct random_source random = {19};
    for (int i = 0; i < NUMBERS / 4; i++) {
        char text[32];
        uint64_t number = 0, length = 1 + random_below(&random, 19), bad = random_below(&random, 2 * length);
        double decimal = 0;
        for (uint64_t d = 0; d < length; d++) text[d] = (char)('0' + random_below(&random, 10));
        text[length] = '\0';
        assert_int_equal(copse_cell_parse(COPSE_U64, text, length, &number), COPSE_CELL_OK);
        assert_true(number == strtoull(text, NULL, 10));
        if (bad >= length) continue;
        text[bad] = (char)random_below(&random, 256);
        if ((text[bad] >= '0' && text[bad] <= '9') || (bad == 0 && (text[0] == '+' || text[0] == '-'))) continue;
        if ((bad == 0 || bad == length - 1) && (text[bad] == ' ' || text[bad] == '\t')) continue; /* blanks around it */
        if (copse_cell_parse(COPSE_U64, text, length, &number) != COPSE_CELL_FORM) fail_msg("%s is a number", text);
        if (text[bad] != '.' && text[bad] != 'e' && text[bad] != 'E' &&
            copse_cell_parse(COPSE_F64, text, length, &decimal) != COPSE_CELL_FORM)
            fail_msg("%s is a decimal", text);
    }
}

static void dates_are_ten_bytes_and_nothing_else(void **state)
{
    (void)state;
    struct random_source random = {23};
    for (int i = 0; i < NUMBERS / 4; i++) {
        char text[COPSE_CELL_TEXT];
        int32_t day = (int32_t)random_below(&random, 3000000) - 700000, back = 0;
        size_t length = copse_date_write(day, text, sizeof text), bad = random_below(&random, length);
        assert_int_equal(copse_cell_parse(COPSE_DATE, text, length, &back), COPSE_CELL_OK);
        assert_int_equal(day, back);
        if (length != 10) continue;
        text[bad] = (char)random_below(&random, 256);
        if (copse_cell_parse(COPSE_DATE, text, length, &back) != COPSE_CELL_OK) continue;
        char again[COPSE_CELL_TEXT]; /* whatever is read is written so */
        copse_date_write(back, again, sizeof again);
        if (strcmp(text, again) != 0) fail_msg("%s is read as %s", text, again);
    }
}

static void numbers_come_back(void **state)
{
    (void)state;
    struct random_source random = {13};
    for (int i = 0; i < NUMBERS / 10; i++) {
        uint64_t bits = random_next(&random);
        double number, back;
        char text[COPSE_CELL_TEXT];
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) continue;
        size_t length = copse_cell_format(COPSE_F64, &number, text);
        assert_int_equal(copse_cell_parse(COPSE_F64, text, length, &back), COPSE_CELL_OK);
        assert_memory_equal(&number, &back, sizeof back);
    }
}

/* Short numbers are written without the C library, and as it would. */
static void short_numbers_are_written_as_by_printf(void **state)
{
    (void)state;
    struct random_source random = {17};
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    for (int i = 0; i < NUMBERS / 4; i++) {
        char want[64], text[COPSE_CELL_TEXT];
        double number = (double)random_below(&random, random_one_in(&random, 2) ? 100000000 : 1000000) /
                        powers[random_below(&random, 9)];
        if (random_one_in(&random, 2)) number = -number;
        if (random_one_in(&random, 8)) number = nextafter(number, 1e9);
        (void)copse_cell_format(COPSE_F64, &number, text);
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(want, sizeof want, "%.*g", digits, number);
            if (strtod(want, NULL) == number) break;
        }
        assert_string_equal(text, want);
    }
}

/* With a comma for a point, where the machine has such a locale. */
static void the_locale_of_the_program_does_not_matter(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                          "fr_FR.utf8",  "nb_NO.UTF-8", "ru_RU.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; !set && i < sizeof locales / sizeof *locales; i++) set = setlocale(LC_NUMERIC, locales[i]);
    const double number = 0.1 + 0.2;
    double back = 0;
    char text[COPSE_CELL_TEXT];
    size_t length = copse_cell_format(COPSE_F64, &number, text);
    assert_string_equal(text, "0.30000000000000004");
    assert_int_equal(copse_cell_parse(COPSE_F64, text, length, &back), COPSE_CELL_OK);
    assert_true(back == number);
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_the_c_library_does),
        cmocka_unit_test(whole_numbers_are_digits_and_nothing_else),
        cmocka_unit_test(dates_are_ten_bytes_and_nothing_else),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(short_numbers_are_written_as_by_printf),
        cmocka_unit_test(the_locale_of_the_program_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
