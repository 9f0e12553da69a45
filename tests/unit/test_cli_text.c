/* Lists of keys of any type, and keys that are text on their way to lines, terminals, CSV and sentences. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/key_text.h"

#include <stdlib.h>
#include <string.h>

static const copse_cell_form plain_form = {NULL, '.'};

static cli_key text_key(const char *text, size_t length)
{
    return (cli_key){COPSE_BYTES, text, length};
}

/* ---- characters ---- */

static void only_well_formed_characters_have_a_length(void **state)
{
    static const struct {
        const char *text;
        size_t length, expected;
    } cases[] = {
        {"", 0, 0},
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\x7F", 1, 1},
        {"\x80", 1, 0}, /* a continuation alone */
        {"\xC2\x80", 2, 2},
        {"\xC2", 1, 0},
        {"\xC2\x41", 2, 0},
        {"\xC0\x80", 2, 0}, /* overlong */
        {"\xC1\xBF", 2, 0},
        {"\xE0\xA0\x80", 3, 3},
        {"\xE0\x9F\xBF", 3, 0}, /* overlong */
        {"\xED\x9F\xBF", 3, 3},
        {"\xED\xA0\x80", 3, 0}, /* a surrogate */
        {"\xEF\xBF\xBD", 3, 3},
        {"\xEF\xBF", 2, 0},
        {"\xF0\x90\x80\x80", 4, 4},
        {"\xF0\x8F\xBF\xBF", 4, 0}, /* overlong */
        {"\xF4\x8F\xBF\xBF", 4, 4},
        {"\xF4\x90\x80\x80", 4, 0}, /* above U+10FFFF */
        {"\xF5\x80\x80\x80", 4, 0},
        {"\xFF", 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cli_utf8_length(cases[i].text, cases[i].length) != cases[i].expected) fail_msg("case %zu", i);
}

/* ---- styles ---- */

static void check_written(cli_key_style style, const char *text, size_t length, const char *expected, size_t size)
{
    char *got = NULL;
    size_t got_size = 0;
    FILE *out = open_memstream(&got, &got_size);
    assert_non_null(out);
    cli_key_write(out, style, text_key(text, length));
    fclose(out);
    if (got_size != size || memcmp(got, expected, size) != 0)
        fail_msg("style %d: '%s', not '%s'", style, got, expected);
    free(got);
}

static void each_style_writes_its_own_bytes(void **state)
{
    static const struct {
        const char *text, *line, *terminal, *csv;
    } cases[] = {
        {"", "", "", "\"\""},
        {"plain", "plain", "plain", "plain"},
        {"a,b", "a,b", "a,b", "\"a,b\""},
        {"say \"x\"", "say \"x\"", "say \"x\"", "\"say \"\"x\"\"\""},
        {"\"", "\"", "\"", "\"\"\"\""},
        {" x", " x", " x", "\" x\""},
        {"x ", "x ", "x ", "\"x \""},
        {"a\tb", "a\\tb", "a\\tb", "a\tb"},
        {"a\r\nb", "a\\r\\nb", "a\\r\\nb", "\"a\r\nb\""},
        {"\033[31m", "\\x1B[31m", "\\x1B[31m", "\033[31m"},
        {"\x7F", "\\x7F", "\\x7F", "\x7F"},
        {"b\\n", "b\\n", "b\\n", "b\\n"},
        {"Zo\xC3\xAB", "Zo\xC3\xAB", "Zo\xC3\xAB", "Zo\xC3\xAB"},
        {"\xF0\x9F\x8C\xB2", "\xF0\x9F\x8C\xB2", "\xF0\x9F\x8C\xB2", "\xF0\x9F\x8C\xB2"},
        /* What is no UTF-8, or a control character of it, passes through a pipe and not to a terminal. */
        {"M\xFC"
         "ller",
         "M\xFC"
         "ller",
         "M\\xFCller",
         "M\xFC"
         "ller"},
        {"\xC2\x9B"
         "31m",
         "\xC2\x9B"
         "31m",
         "\\xC2\\x9B31m",
         "\xC2\x9B"
         "31m"},
        {"\xE6\x9D", "\xE6\x9D", "\\xE6\\x9D", "\xE6\x9D"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length = strlen(cases[i].text);
        check_written(CLI_KEY_LINE, cases[i].text, length, cases[i].line, strlen(cases[i].line));
        check_written(CLI_KEY_TERMINAL, cases[i].text, length, cases[i].terminal, strlen(cases[i].terminal));
        check_written(CLI_KEY_CSV, cases[i].text, length, cases[i].csv, strlen(cases[i].csv));
    }
    check_written(CLI_KEY_LINE, "a\0b", 3, "a\\x00b", 6);
    check_written(CLI_KEY_TERMINAL, "\0", 1, "\\x00", 4);
    check_written(CLI_KEY_CSV, "a\0b", 3, "a\0b", 3);
}

static void a_sentence_has_room_for_the_beginning(void **state)
{
    char text[CLI_KEY_SHOWN], key[1000];
    const int32_t day = 20000;
    (void)state;
    assert_string_equal(cli_key_show(text_key("it's", 4), text), "'it's'");
    assert_string_equal(cli_key_show(text_key("", 0), text), "''");
    assert_string_equal(cli_key_show(text_key("\033\n", 2), text), "'\\x1B\\n'");
    assert_string_equal(cli_key_show((cli_key){COPSE_DATE, (const char *)&day, sizeof day}, text), "2024-10-04");
    /* Cut between characters, whatever their length, and never too long. */
    for (size_t length = 0; length < sizeof key; length++) {
        for (size_t i = 0; i < length; i++) key[i] = "\xE6\x9D\xB1"[i % 3];
        cli_key_show(text_key(key, length - length % 3), text);
        size_t shown = strlen(text);
        assert_true(shown < CLI_KEY_SHOWN && text[0] == '\'' && text[shown - 1] == '\'');
        for (size_t at = 0; at < shown;) {
            assert_true(cli_utf8_length(text + at, shown - at) > 0);
            at += cli_utf8_length(text + at, shown - at);
        }
        cli_key_show(text_key(key, length), text); /* the last character may be cut in the key itself */
        assert_true(strlen(text) < CLI_KEY_SHOWN);
    }
}

/* ---- lists ---- */

static void a_list_gives_back_what_was_added(void **state)
{
    cli_keys keys;
    char text[64];
    (void)state;
    cli_keys_start(&keys, COPSE_BYTES);
    for (uint64_t i = 0; i < 20000; i++) {
        int length = snprintf(text, sizeof text, "%0*llu", (int)(i % 40), (unsigned long long)i);
        if (i % 7 == 0) length = 0;
        assert_int_equal(cli_keys_parse(&keys, &plain_form, text, (size_t)length), COPSE_CELL_OK);
    }
    assert_true(cli_keys_reverse(&keys));
    for (uint64_t i = 0; i < 20000; i++) {
        int length = snprintf(text, sizeof text, "%0*llu", (int)(i % 40), (unsigned long long)i);
        if (i % 7 == 0) length = 0;
        const cli_key key = cli_keys_at(&keys, 20000 - 1 - i);
        assert_int_equal(key.length, length);
        assert_memory_equal(key.start, text, key.length);
    }
    cli_keys_free(&keys);
    cli_keys_start(&keys, COPSE_DATE);
    assert_int_equal(cli_keys_parse_end(&keys, "2026-11-15", 10), COPSE_CELL_OK);
    assert_int_equal(cli_keys_parse(&keys, &plain_form, "soon", 4), COPSE_CELL_FORM);
    assert_true(cli_keys_add_limit(&keys, true) && cli_keys_reverse(&keys));
    assert_int_equal(keys.count, 2);
    assert_true(cli_key_compare(cli_keys_at(&keys, 0), cli_keys_at(&keys, 1)) > 0);
    cli_keys_free(&keys);
}

static void text_has_a_longest_key(void **state)
{
    char *text = calloc(1, COPSE_LONGEST_KEY + 1);
    cli_keys keys;
    (void)state;
    assert_non_null(text);
    cli_keys_start(&keys, COPSE_BYTES);
    assert_int_equal(cli_keys_parse(&keys, &plain_form, text, COPSE_LONGEST_KEY + 1), COPSE_CELL_RANGE);
    assert_int_equal(keys.count, 0);
    assert_int_equal(cli_keys_parse(&keys, &plain_form, text, COPSE_LONGEST_KEY), COPSE_CELL_OK);
    assert_int_equal(cli_keys_bytes(&keys), COPSE_LONGEST_KEY);
    cli_keys_free(&keys);
    free(text);
}

static void keys_are_ordered_as_the_index_orders_them(void **state)
{
    static const struct {
        copse_type type;
        const char *low, *high;
    } cases[] = {
        {COPSE_U32, "2", "4294967295"},
        {COPSE_I32, "-1", "0"},
        {COPSE_F32, "-inf", "-0.5"},
        {COPSE_U64, "2", "18446744073709551615"},
        {COPSE_I64, "-5", "3"},
        {COPSE_F64, "1e-300", "inf"},
        {COPSE_DATE, "1969-12-31", "2026-11-15"},
        {COPSE_TIMESTAMP, "1969-12-31", "1970-01-01T00:00:00.000001"},
        {COPSE_BYTES, "", "a"},
        {COPSE_BYTES, "a", "aa"},
        {COPSE_BYTES, "ab", "b"},
        {COPSE_BYTES, "z", "\xC3\xA9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cli_keys keys;
        cli_keys_start(&keys, cases[i].type);
        assert_int_equal(cli_keys_parse(&keys, &plain_form, cases[i].low, strlen(cases[i].low)), COPSE_CELL_OK);
        assert_int_equal(cli_keys_parse(&keys, &plain_form, cases[i].high, strlen(cases[i].high)), COPSE_CELL_OK);
        const cli_key low = cli_keys_at(&keys, 0), high = cli_keys_at(&keys, 1);
        if (cli_key_compare(low, high) >= 0 || cli_key_compare(high, low) <= 0 || cli_key_compare(low, low) != 0)
            fail_msg("%s: %s and %s", cli_type_name(cases[i].type), cases[i].low, cases[i].high);
        cli_keys_free(&keys);
    }
}

/* ---- types ---- */

static bool is_text(const char *const *cells, size_t count)
{
    copse_guess guess;
    copse_guess_start(&guess, &plain_form, false);
    for (size_t i = 0; i < count; i++) copse_guess_add(&guess, cells[i], strlen(cells[i]));
    return copse_guess_is_text(&guess);
}

static void text_is_what_is_mostly_of_no_type(void **state)
{
    const char *const words[] = {"Rome", "5", "Oslo"}, *const numbers[] = {"1", "2", "x"};
    const char *const even[] = {"2026-11-15", "soon"}, *const mixed[] = {"2026-11-15", "5", "7", "2026-11-16"};
    copse_type type = 0;
    (void)state;
    assert_true(is_text(words, 3));
    assert_true(is_text(words, 1));
    assert_false(is_text(numbers, 3));
    assert_false(is_text(even, 2));
    assert_false(is_text(mixed, 4)); /* each of them is of some type */
    assert_false(is_text(words, 0));
    assert_true(cli_type_parse("text", false, &type) && type == COPSE_BYTES);
    assert_true(cli_type_parse("bytes", false, &type) && type == COPSE_BYTES);
    assert_true(cli_type_parse("none", true, &type) && type == COPSE_NONE);
    assert_false(cli_type_parse("none", false, &type));
    assert_false(cli_type_parse("text", true, &type));
    assert_false(cli_type_parse("date", true, &type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_well_formed_characters_have_a_length),
        cmocka_unit_test(each_style_writes_its_own_bytes),
        cmocka_unit_test(a_sentence_has_room_for_the_beginning),
        cmocka_unit_test(a_list_gives_back_what_was_added),
        cmocka_unit_test(text_has_a_longest_key),
        cmocka_unit_test(keys_are_ordered_as_the_index_orders_them),
        cmocka_unit_test(text_is_what_is_mostly_of_no_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
