/* The CSV reader: what it takes, what it refuses, and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The line that the current record starts on: sentences name it. */
static uint64_t line_of(copse_csv *csv)
{
    (void)copse_csv_bad_cell(csv, SIZE_MAX, "");
    return strtoull(copse_csv_error(csv) + strlen("line "), NULL, 10);
}

/* Reads everything into one string: cells end in '|', records in '/'. On failure the sentence follows a '!'. */
static char *read_all(const void *bytes, size_t size, const copse_csv_options *options)
{
    copse_csv *csv = NULL;
    char message[512];
    size_t capacity = 4 * size + 2048, at = 0;
    char *out = calloc(1, capacity);
    assert_non_null(out);
    if (copse_csv_open_memory(bytes, size, options, &csv, message, sizeof message) != COPSE_OK) {
        assert_null(csv);
        snprintf(out, capacity, "!%s", message);
        return out;
    }
    for (;;) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        if (copse_csv_next(csv, &cells, &count) != COPSE_OK) {
            snprintf(out + at, capacity - at, "!%s", copse_csv_error(csv));
            break;
        }
        if (count == 0) break;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(cells[i].text[cells[i].length], 0);
            at += (size_t)snprintf(out + at, capacity - at, "%s|", cells[i].text);
        }
        at += (size_t)snprintf(out + at, capacity - at, "/");
    }
    copse_csv_close(csv);
    return out;
}

static const copse_csv_options plain = {.no_header = 1};

static void expect(const char *input, const char *expected)
{
    char *got = read_all(input, strlen(input), &plain);
    assert_string_equal(got, expected);
    free(got);
}

static copse_csv *open_text(const char *text)
{
    copse_csv *csv = NULL;
    char message[512];
    assert_int_equal(copse_csv_open_memory(text, strlen(text), NULL, &csv, message, sizeof message), COPSE_OK);
    assert_string_equal(message, "");
    return csv;
}

static void next_record(copse_csv *csv)
{
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_true(count > 0);
}

static void takes_plain_records(void **state)
{
    (void)state;
    expect("", "");
    expect("a,b\nc,d\n", "a|b|/c|d|/");
    expect("a,b\nc,d", "a|b|/c|d|/");
    expect("a,\n,b\n", "a||/|b|/");
    expect(",", "||/");
    expect("a b, c \n", "a b| c |/");
}

static void takes_every_line_end_also_mixed(void **state)
{
    (void)state;
    expect("a\r\nb\nc\rd", "a|/b|/c|/d|/");
    expect("a,b\r\nc,d\re,f\n", "a|b|/c|d|/e|f|/");
    expect("a\r\r\nb", "a|/b|/");
    expect("\n\r\n\ra\n\n\n", "a|/");
    expect("a\r", "a|/");
}

static void takes_quotes(void **state)
{
    (void)state;
    expect("\"a,b\",c\n", "a,b|c|/");
    expect("\"say \"\"hi\"\"\",x", "say \"hi\"|x|/");
    expect("\"two\nlines\",x\n", "two\nlines|x|/");
    expect("\"\"\n", "|/");
    expect("\"\"\"\"\n", "\"|/");
    expect("\"\",\"\"", "||/");
    expect("5\" pipe,x\n", "5\" pipe|x|/");
}

static void skips_a_byte_order_mark(void **state)
{
    (void)state;
    expect("\xEF\xBB\xBF"
           "a,b\n",
           "a|b|/");
    expect("\xEF\xBB\xBF\"a\",b\n", "a|b|/");
    expect("\xEF\xBB\xBF", "");
    expect("\xFF\xFE"
           "a",
           "!the input is UTF-16 text; convert it to UTF-8 first");
    expect("\xFE\xFF"
           "a",
           "!the input is UTF-16 text; convert it to UTF-8 first");
}

static void refuses_broken_quotes(void **state)
{
    (void)state;
    expect("a,b\nc,\"d\ne,f\n", "a|b|/!line 2, column 2: the quote that opens this cell is never closed before the end "
                                "of the input");
    expect("\"", "!line 1, column 1: the quote that opens this cell is never closed before the end of the input");
    expect("\"a\"b,c\n", "!line 1, column 1: there is text after the closing quote; a quote inside a quoted cell is "
                         "doubled");
    expect("x\n\"a\" \n",
           "x|/!line 2, column 1: there is text after the closing quote; a quote inside a quoted cell is "
           "doubled");
}

static void refuses_wrong_cell_counts(void **state)
{
    (void)state;
    expect("a,b\nc\n", "a|b|/!line 2: the record has 1 cell, but the first record has 2");
    expect("a,b\n\"x\ny\",d\n\ne,f,g\n", "a|b|/x\ny|d|/!line 5: the record has 3 cells, but the first record has 2");
    char *got = read_all("a,b\n1,2,3\n", 10, NULL);
    assert_string_equal(got, "!line 2: the record has 3 cells, but the header has 2");
    free(got);
}

static void refuses_nul_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } cases[] = {
        {"a,b\0c\n", 6, "!line 1, column 2: there is a NUL byte in the cell; is this a text file?"},
        {"x\n\0", 3, "x|/!line 2, column 1: there is a NUL byte in the cell; is this a text file?"},
        {"x\n\"q\0\"\n", 7, "x|/!line 2, column 1: there is a NUL byte in the cell; is this a text file?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *got = read_all(cases[i].bytes, cases[i].size, &plain);
        assert_string_equal(got, cases[i].expected);
        free(got);
    }
}

static void a_failed_reader_keeps_failing(void **state)
{
    copse_csv *csv = open_text("a,b\n1\n2,3\n");
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    (void)state;
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_ERR_FORMAT);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_ERR_FORMAT);
    assert_int_equal(count, 0);
    copse_csv_close(csv);
}

/* As read_all, but past bad records, which show as "?LINE/" and the line that copse_csv_next names. */
static char *read_past_bad(const void *bytes, size_t size)
{
    copse_csv *csv = NULL;
    size_t capacity = 4 * size + 2048, at = 0;
    char *out = calloc(1, capacity);
    assert_non_null(out);
    assert_int_equal(copse_csv_open_memory(bytes, size, &plain, &csv, NULL, 0), COPSE_OK);
    assert_int_equal(copse_csv_skip(csv), 0); /* nothing has failed */
    for (;;) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        if (copse_csv_next(csv, &cells, &count) != COPSE_OK) {
            unsigned line = 0;
            assert_int_equal(sscanf(copse_csv_error(csv), "line %u", &line), 1);
            at += (size_t)snprintf(out + at, capacity - at, "?%u/", line);
            if (copse_csv_skip(csv)) continue;
            at += (size_t)snprintf(out + at, capacity - at, "!");
            assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_ERR_FORMAT);
            break;
        }
        if (count == 0) break;
        at += (size_t)snprintf(out + at, capacity - at, "%llu:", (unsigned long long)line_of(csv));
        for (size_t i = 0; i < count; i++) at += (size_t)snprintf(out + at, capacity - at, "%s|", cells[i].text);
        at += (size_t)snprintf(out + at, capacity - at, "/");
    }
    copse_csv_close(csv);
    return out;
}

static void goes_on_behind_a_bad_record(void **state)
{
    static const struct {
        const char *bytes;
        size_t size; /* 0: up to the NUL */
        const char *expected;
    } cases[] = {
        {"a,b\nc\nd,e,f\ng,h\n", 0, "1:a|b|/?2/?3/4:g|h|/"},
        {"a,b\r\nc\r\ng,h\r\n", 0, "1:a|b|/?2/3:g|h|/"},
        {"a,b\rc\rg,h\r", 0, "1:a|b|/?2/3:g|h|/"},
        {"a,b\nc", 0, "1:a|b|/?2/"},
        {"a,b\n\"x\ny\",\"z\r\nz\",\"\n\"\ng,h\n", 0, "1:a|b|/?2/6:g|h|/"},
        {"a,b\n\"x\ny\"z,2\ng,h\n", 0, "1:a|b|/?2/4:g|h|/"},
        {"a,b\n\"x\"z,2\r\ng,h\n", 0, "1:a|b|/?2/3:g|h|/"},
        {"a,b\n\"x\"z", 0, "1:a|b|/?2/"},
        {"a,b\n1,\0002\n3,\"\000\n\"\ng,h\n", 20, "1:a|b|/?2/?3/5:g|h|/"},
        {"a,b\nc\n1,\"2\n3,4\n", 0, "1:a|b|/?2/?3/!"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = cases[i].size ? cases[i].size : strlen(cases[i].bytes);
        char *got = read_past_bad(cases[i].bytes, size);
        assert_string_equal(got, cases[i].expected);
        free(got);
    }
}

/* The rest of a line that is dropped can be longer than the buffer. */
static void drops_a_long_line(void **state)
{
    size_t size = (size_t)3 << 20;
    char *text = malloc(size);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, "a,b\n\"1\"", 7);
    memcpy(text + size - 5, "\n1,2\n", 5);
    char *got = read_past_bad(text, size);
    assert_string_equal(got, "1:a|b|/?2/3:1|2|/");
    free(got);
    free(text);
}

static void hints_at_numbers(void **state)
{
    copse_csv *csv = open_text("a,b,a,a\n");
    size_t column = 0;
    (void)state;
    assert_int_equal(copse_csv_find_column(csv, "2", &column), COPSE_ERR_ARGUMENT);
    assert_non_null(strstr(copse_csv_error(csv), "; column number 2 is '#2', in quotes"));
    assert_int_equal(copse_csv_find_column(csv, "5", &column), COPSE_ERR_ARGUMENT);
    assert_null(strstr(copse_csv_error(csv), "column number"));
    assert_int_equal(copse_csv_find_column(csv, "a", &column), COPSE_ERR_ARGUMENT);
    assert_non_null(strstr(copse_csv_error(csv), "columns 1, 3 and 4 are all named \"a\": say '#1', '#3' or '#4'"));
    copse_csv_close(csv);
}

static void lists_few_of_many_equal_names(void **state)
{
    char text[401];
    size_t column = 0;
    (void)state;
    for (size_t i = 0; i < 200; i++) memcpy(text + 2 * i, "a,", 2);
    text[399] = '\n';
    text[400] = '\0';
    copse_csv *csv = open_text(text);
    assert_int_equal(copse_csv_find_column(csv, "a", &column), COPSE_ERR_ARGUMENT);
    assert_non_null(strstr(copse_csv_error(csv), "7, 8 and more are all named \"a\""));
    copse_csv_close(csv);
}

static void uses_the_delimiter(void **state)
{
    copse_csv_options options = {.no_header = 1, .delimiter = ';'};
    char *got = read_all("a,b;c\n", 6, &options);
    (void)state;
    assert_string_equal(got, "a,b|c|/");
    free(got);
    for (const char *bad = "\"\n\r"; *bad; bad++) {
        options.delimiter = *bad;
        got = read_all("a", 1, &options);
        assert_string_equal(got, "!the delimiter cannot be a quote or a line end");
        free(got);
    }
}

static void finds_columns(void **state)
{
    copse_csv *csv = open_text(" id , amount,\"twice\",twice,#9,\n");
    size_t column = 99;
    (void)state;
    assert_int_equal(copse_csv_columns(csv), 6);
    assert_string_equal(copse_csv_column_name(csv, 0), "id");
    assert_string_equal(copse_csv_column_name(csv, 99), "");
    assert_int_equal(copse_csv_find_column(csv, "amount", &column), COPSE_OK);
    assert_int_equal(column, 1);
    assert_int_equal(copse_csv_find_column(csv, "#6", &column), COPSE_OK);
    assert_int_equal(column, 5);
    assert_int_equal(copse_csv_find_column(csv, "#9", &column), COPSE_OK);
    assert_int_equal(column, 4);
    assert_int_equal(copse_csv_find_column(csv, "twice", &column), COPSE_ERR_ARGUMENT);
    assert_string_equal(copse_csv_error(csv),
                        "columns 3 and 4 are both named \"twice\": say '#3' or '#4' instead, in quotes for "
                        "the shell");
    for (size_t i = 0; i < 4; i++) {
        static const char *const missing[] = {"#7", "#0", "Amount", "#99999999999999999999"};
        assert_int_equal(copse_csv_find_column(csv, missing[i], &column), COPSE_ERR_ARGUMENT);
    }
    assert_int_equal(copse_csv_find_column(csv, "price", &column), COPSE_ERR_ARGUMENT);
    assert_string_equal(copse_csv_error(csv), "there is no column \"price\"; the columns are \"id\", \"amount\", "
                                              "\"twice\", \"twice\", \"#9\", \"\"");
    copse_csv_close(csv);
}

static void names_columns_without_a_header(void **state)
{
    copse_csv *csv = NULL;
    size_t column = 0;
    (void)state;
    assert_int_equal(copse_csv_open_memory("1,2,3", 5, &plain, &csv, NULL, 0), COPSE_OK);
    next_record(csv);
    assert_int_equal(copse_csv_find_column(csv, "#3", &column), COPSE_OK);
    assert_int_equal(column, 2);
    assert_int_equal(copse_csv_find_column(csv, "id", &column), COPSE_ERR_ARGUMENT);
    assert_string_equal(copse_csv_error(csv), "there is no column \"id\"; without a header they are #1 to #3");
    copse_csv_close(csv);
}

static void lists_few_of_many_columns(void **state)
{
    copse_csv *csv = open_text("a,b,c,d,e,f,g,h,i,j,k,l,m,n\n");
    size_t column = 0;
    (void)state;
    assert_int_equal(copse_csv_find_column(csv, "z", &column), COPSE_ERR_ARGUMENT);
    assert_non_null(strstr(copse_csv_error(csv), "\"l\" and 2 more"));
    copse_csv_close(csv);
}

static void names_a_bad_cell(void **state)
{
    copse_csv *csv = open_text("id,price\n1,\"x\ny\"\n\n2,12a\n3,\n4,0123456789012345678901234567890123456789ABC\n");
    (void)state;
    next_record(csv);
    assert_int_equal(copse_csv_bad_cell(csv, 1, "is odd"), COPSE_ERR_FORMAT);
    assert_string_equal(copse_csv_error(csv), "line 2, column 2 (\"price\"): \"x\\ny\" is odd");
    next_record(csv);
    assert_int_equal(line_of(csv), 5);
    copse_csv_bad_cell(csv, 1, "is not a whole number");
    assert_string_equal(copse_csv_error(csv), "line 5, column 2 (\"price\"): \"12a\" is not a whole number");
    next_record(csv);
    copse_csv_bad_cell(csv, 1, "is empty");
    assert_string_equal(copse_csv_error(csv), "line 6, column 2 (\"price\"): the cell is empty");
    next_record(csv);
    copse_csv_bad_cell(csv, 1, "is long");
    assert_string_equal(copse_csv_error(csv),
                        "line 7, column 2 (\"price\"): \"0123456789012345678901234567890123456789...\" is long");
    copse_csv_bad_cell(csv, 7, "is nowhere");
    assert_string_equal(copse_csv_error(csv), "line 7: there is no column 8");
    copse_csv_close(csv);
}

static void refuses_an_input_without_a_header(void **state)
{
    static const char *const inputs[] = {"", "\n\r\n", "\xEF\xBB\xBF"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *got = read_all(inputs[i], strlen(inputs[i]), NULL);
        assert_string_equal(got, "!the input is empty: there is no header line");
        free(got);
    }
    char *got = read_all("a,b\n", 4, NULL);
    assert_string_equal(got, "");
    free(got);
}

/* Hands out one byte at a time, so that every state meets the end of the buffer. */
typedef struct drip {
    const char *text;
    size_t left;
    int error;
} drip;

static size_t read_drip(void *user, void *buffer, size_t size, int *out_error)
{
    drip *source = user;
    if (source->left == 0) {
        *out_error = source->error;
        return 0;
    }
    assert_true(size > 0);
    *(char *)buffer = *source->text++;
    source->left--;
    return 1;
}

static void byte_by_byte_gives_the_same(void **state)
{
    static const char text[] = "\xEF\xBB\xBFid,\"na\"\"me\"\r\n1,\"a\r\nb\"\r2,\"\"\n\n3,x";
    drip source = {text, sizeof text - 1, 0};
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    (void)state;
    assert_int_equal(copse_csv_open(read_drip, &source, NULL, &csv, NULL, 0), COPSE_OK);
    assert_string_equal(copse_csv_column_name(csv, 1), "na\"me");
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_string_equal(cells[1].text, "a\r\nb");
    assert_int_equal(line_of(csv), 2);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_int_equal(line_of(csv), 4);
    assert_int_equal(cells[1].length, 0);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_int_equal(line_of(csv), 6);
    assert_string_equal(cells[1].text, "x");
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_int_equal(count, 0);
    assert_int_equal(copse_csv_position(csv), sizeof text - 1);
    copse_csv_close(csv);
}

static void reports_a_read_error(void **state)
{
    drip source = {"a,b\n1,2\n3", 9, 5};
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    (void)state;
    assert_int_equal(copse_csv_open(read_drip, &source, NULL, &csv, NULL, 0), COPSE_OK);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_ERR_IO);
    assert_string_equal(copse_csv_error(csv), "line 3: reading the input failed: Input/output error");
    copse_csv_close(csv);
}

static size_t read_file(void *file, void *buffer, size_t size, int *out_error)
{
    (void)out_error;
    return fread(buffer, 1, size, file);
}

static void reads_a_file(void **state)
{
    FILE *file = tmpfile();
    copse_csv *csv = NULL;
    uint64_t sum = 0, rows = 0;
    (void)state;
    assert_non_null(file);
    fputs("n\n", file);
    for (int i = 0; i < 200000; i++) fprintf(file, "%d\n", i);
    rewind(file);
    assert_int_equal(copse_csv_open(read_file, file, NULL, &csv, NULL, 0), COPSE_OK);
    for (;;) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
        if (count == 0) break;
        sum += strtoull(cells[0].text, NULL, 10);
        rows++;
        assert_int_equal(line_of(csv), rows + 1);
    }
    assert_int_equal(rows, 200000);
    assert_int_equal(sum, 199999ull * 200000 / 2);
    copse_csv_close(csv);
    fclose(file);
}

static void takes_a_record_longer_than_the_buffer(void **state)
{
    size_t size = (size_t)3 << 20;
    char *text = malloc(size);
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, "a,b\n1,\"", 7);
    memcpy(text + size - 2, "\"\n", 2);
    text[100000] = '\n';
    assert_int_equal(copse_csv_open_memory(text, size, NULL, &csv, NULL, 0), COPSE_OK);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_OK);
    assert_int_equal(cells[1].length, size - 9);
    copse_csv_close(csv);
    free(text);
}

static size_t read_endless(void *user, void *buffer, size_t size, int *out_error)
{
    int *begun = user;
    (void)out_error;
    memset(buffer, 'x', size);
    if (!*begun) memcpy(buffer, "a\n\"", 3);
    *begun = 1;
    return size;
}

static void gives_up_on_an_endless_record(void **state)
{
    int begun = 0;
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    (void)state;
    assert_int_equal(copse_csv_open(read_endless, &begun, NULL, &csv, NULL, 0), COPSE_OK);
    assert_int_equal(copse_csv_next(csv, &cells, &count), COPSE_ERR_FORMAT);
    assert_string_equal(copse_csv_error(csv),
                        "line 2: the record that starts here is longer than 64 MiB; is a closing quote missing?");
    copse_csv_close(csv);
}

static void refuses_too_many_columns(void **state)
{
    size_t size = COPSE_CSV_MAX_COLUMNS;
    char *text = malloc(size);
    copse_csv *csv = NULL;
    char message[512];
    (void)state;
    assert_non_null(text);
    memset(text, ',', size);
    assert_int_equal(copse_csv_open_memory(text, size - 1, NULL, &csv, message, sizeof message), COPSE_OK);
    assert_int_equal(copse_csv_columns(csv), COPSE_CSV_MAX_COLUMNS);
    copse_csv_close(csv);
    assert_int_equal(copse_csv_open_memory(text, size, NULL, &csv, message, sizeof message), COPSE_ERR_FORMAT);
    assert_string_equal(message, "line 1: more than 65536 columns; is the delimiter right?");
    free(text);
}

/* An allocator that fails at the n-th request and counts what is not given back. */
typedef struct limited {
    int left;
    int open;
} limited;

static void *limited_alloc(void *user, size_t size, size_t alignment)
{
    limited *limit = user;
    (void)alignment;
    if (limit->left-- <= 0) return NULL;
    limit->open++;
    return malloc(size);
}

static void limited_free(void *user, void *memory, size_t size)
{
    limited *limit = user;
    /* Writing the size that is given back shows AddressSanitizer a wrong one. */
    memset(memory, 0, size);
    limit->open--;
    free(memory);
}

static void survives_every_failed_allocation(void **state)
{
    static char text[600000];
    int failures = 0, done = 0;
    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\n1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,", 78);
    for (int allowed = 0; !done; allowed++) {
        limited limit = {allowed, 0};
        copse_csv_options options = {.allocator = {limited_alloc, limited_free, &limit}};
        copse_csv *csv = NULL;
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        copse_status status = copse_csv_open_memory(text, sizeof text, &options, &csv, NULL, 0);
        if (status == COPSE_OK) status = copse_csv_next(csv, &cells, &count);
        done = status == COPSE_OK;
        if (!done) assert_int_equal(status, COPSE_ERR_MEMORY);
        failures += !done;
        copse_csv_close(csv);
        assert_int_equal(limit.open, 0);
    }
    assert_in_range(failures, 7, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_plain_records),
        cmocka_unit_test(takes_every_line_end_also_mixed),
        cmocka_unit_test(takes_quotes),
        cmocka_unit_test(skips_a_byte_order_mark),
        cmocka_unit_test(refuses_broken_quotes),
        cmocka_unit_test(refuses_wrong_cell_counts),
        cmocka_unit_test(refuses_nul_bytes),
        cmocka_unit_test(a_failed_reader_keeps_failing),
        cmocka_unit_test(goes_on_behind_a_bad_record),
        cmocka_unit_test(drops_a_long_line),
        cmocka_unit_test(hints_at_numbers),
        cmocka_unit_test(lists_few_of_many_equal_names),
        cmocka_unit_test(uses_the_delimiter),
        cmocka_unit_test(finds_columns),
        cmocka_unit_test(names_columns_without_a_header),
        cmocka_unit_test(lists_few_of_many_columns),
        cmocka_unit_test(names_a_bad_cell),
        cmocka_unit_test(refuses_an_input_without_a_header),
        cmocka_unit_test(byte_by_byte_gives_the_same),
        cmocka_unit_test(reports_a_read_error),
        cmocka_unit_test(reads_a_file),
        cmocka_unit_test(takes_a_record_longer_than_the_buffer),
        cmocka_unit_test(gives_up_on_an_endless_record),
        cmocka_unit_test(refuses_too_many_columns),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
