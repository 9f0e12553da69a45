/* Lines of a pipe, and whether the next one would have to be waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct writer {
    int read_end;
    int write_end;
    cli_lines lines;
} writer;

static void start(writer *w)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    w->read_end = ends[0];
    w->write_end = ends[1];
    cli_lines_start(&w->lines, w->read_end);
}

static void put(const writer *w, const char *text)
{
    assert_int_equal(write(w->write_end, text, strlen(text)), (ssize_t)strlen(text));
}

static void end(writer *w)
{
    cli_lines_free(&w->lines);
    close(w->read_end);
}

static void expect(writer *w, const char *text)
{
    char *line = NULL;
    size_t length = 0;
    assert_int_equal(cli_lines_next(&w->lines, &line, &length), 1);
    assert_int_equal(length, strlen(text));
    assert_string_equal(line, text);
}

static void expect_end(writer *w)
{
    char *line = NULL;
    size_t length = 0;
    assert_false(cli_lines_would_wait(&w->lines));
    assert_int_equal(cli_lines_next(&w->lines, &line, &length), 0);
    assert_int_equal(cli_lines_next(&w->lines, &line, &length), 0);
}

static void waits_only_where_no_line_is_there(void **state)
{
    writer w;
    (void)state;
    start(&w);
    assert_true(cli_lines_would_wait(&w.lines));
    put(&w, "one\ntwo\nthr");
    assert_false(cli_lines_would_wait(&w.lines));
    expect(&w, "one");
    assert_false(cli_lines_would_wait(&w.lines));
    assert_false(cli_lines_would_wait(&w.lines));
    expect(&w, "two");
    assert_true(cli_lines_would_wait(&w.lines)); /* half a line was read, and nothing is ready */
    put(&w, "ee\n\nlast");
    assert_false(cli_lines_would_wait(&w.lines));
    expect(&w, "three");
    expect(&w, "");
    assert_int_equal(w.lines.number, 4);
    assert_true(cli_lines_would_wait(&w.lines));
    close(w.write_end);
    assert_false(cli_lines_would_wait(&w.lines));
    expect(&w, "last");
    expect_end(&w);
    end(&w);
}

static void nothing_has_no_lines(void **state)
{
    writer w;
    (void)state;
    start(&w);
    close(w.write_end);
    expect_end(&w);
    end(&w);
}

/* Lines of every length around the size of the buffer, from a file. */
static void long_lines_come_whole(void **state)
{
    static const size_t sizes[] = {0, 1, 65533, 65534, 65535, 65536, 65537, 3, 200000, 0, 131072, 7};
    const size_t count = sizeof sizes / sizeof sizes[0];
    FILE *file = tmpfile();
    cli_lines lines;
    char *line = NULL;
    size_t length = 0;
    (void)state;
    assert_non_null(file);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizes[i]; k++) fputc((int)('a' + (i + k) % 26), file);
        if (i + 1 < count) fputc('\n', file);
    }
    rewind(file);
    cli_lines_start(&lines, fileno(file));
    for (size_t i = 0; i < count; i++) {
        assert_false(cli_lines_would_wait(&lines));
        assert_int_equal(cli_lines_next(&lines, &line, &length), 1);
        assert_int_equal(length, sizes[i]);
        for (size_t k = 0; k < length; k++) assert_int_equal(line[k], 'a' + (i + k) % 26);
        assert_int_equal(line[length], '\0');
    }
    assert_int_equal(cli_lines_next(&lines, &line, &length), 0);
    cli_lines_free(&lines);
    fclose(file);
}

static void a_folder_has_no_lines(void **state)
{
    cli_lines lines;
    char *line = NULL;
    size_t length = 0;
    int folder = open("/", O_RDONLY);
    (void)state;
    assert_true(folder >= 0);
    cli_lines_start(&lines, folder);
    assert_int_equal(cli_lines_next(&lines, &line, &length), -1);
    cli_lines_free(&lines);
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_only_where_no_line_is_there),
        cmocka_unit_test(nothing_has_no_lines),
        cmocka_unit_test(long_lines_come_whole),
        cmocka_unit_test(a_folder_has_no_lines),
    };
    return cmocka_run_group_tests_name("cli lines", tests, NULL, NULL);
}
