/* CSV files on several threads give what one thread reads: rows, NULLs, rows that are left out, and the sentence on what is wrong. */
#include "unit.h"

#include "copse_query.h"
#include "random.h"
#include "test_allocator.h"

#include <unistd.h>

#define BYTES (6u << 20) /* more than one thread reads alone, and several pieces */

typedef struct dialect {
    const char *line_end;
    bool quoted_lines; /* texts with line ends in them, and with records that look right */
    bool inner_quotes; /* a quote in the middle of a cell that has none at its ends */
    bool blank_lines;
    bool bad_rows;
    bool long_texts;
} dialect;

static const char *text_of(const dialect *d, struct random_source *random, char text[400])
{
    switch (random_below(random, 6)) {
    case 0:
        return "";
    case 1:
        return d->quoted_lines ? "\"two\nlines, 5\n\"\"quoted\"\"\n1,2,x,2.5\n3,4,y,1\n\"" : "plain";
    case 2:
        return d->inner_quotes ? "5\" pipe" : "\"quoted, with a comma\"";
    case 3:
        if (!d->long_texts) return "NULL";
        memset(text, 'w', 399);
        text[399] = '\0';
        return text;
    default:
        (void)snprintf(text, 400, "word%u", (unsigned)random_below(random, 1000));
        return text;
    }
}

/* Returns the path, which the caller removes. */
static void write_file(const dialect *d, char path[64])
{
    struct random_source random = {5};
    (void)snprintf(path, 64, "/tmp/copse-csv-threads-XXXXXX");
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    (void)fprintf(file, "\xEF\xBB\xBFid,n,text,price%s", d->line_end);
    for (unsigned i = 0, written = 0; written < BYTES; i++) {
        char text[400], number[32] = "";
        if (random_below(&random, 9) > 0)
            (void)snprintf(number, sizeof number, "%d", (int)random_below(&random, 2000) - 1000);
        if (d->bad_rows && i > 2000 && random_one_in(&random, 500)) (void)snprintf(number, sizeof number, "seven");
        if (d->blank_lines && random_one_in(&random, 20)) (void)fputs(d->line_end, file);
        int n = fprintf(file, "%u,%s,%s,%u.%02u%s", i, number, text_of(d, &random, text),
                        (unsigned)random_below(&random, 100000), (unsigned)random_below(&random, 100), d->line_end);
        assert_true(n > 0);
        written += (unsigned)n;
    }
    (void)fclose(file);
}

static copse_status read_with(uint32_t threads, const char *path, uint32_t flags, copse_ctx **ctx, copse_table **table,
                              uint64_t *skipped)
{
    copse_table_csv_options options = COPSE_TABLE_CSV_OPTIONS_INIT;
    options.flags = flags;
    *ctx = unit_context(threads);
    return copse_table_read_csv(*ctx, path, &options, table, skipped);
}

static void compare(const copse_table *a, const copse_table *b)
{
    assert_int_equal(copse_table_rows(a), copse_table_rows(b));
    assert_true(copse_table_rows(a) > 1000);
    for (uint32_t c = 0; c < 4; c++) {
        assert_int_equal(copse_table_column_type(a, c), copse_table_column_type(b, c));
        for (uint64_t row = 0; row < copse_table_rows(a); row++) {
            copse_value x = copse_value_null(), y = copse_value_null();
            (void)copse_table_get(a, row, c, &x);
            (void)copse_table_get(b, row, c, &y);
            bool same = x.type == y.type && x.size == y.size;
            if (same && x.type == COPSE_STRING && x.size > 0) same = memcmp(x.as.text, y.as.text, x.size) == 0;
            if (same && x.type != COPSE_STRING) same = x.as.u64 == y.as.u64;
            assert_true(same);
        }
    }
}

/* One thread and four say the same of a file, which goes. */
static void read_both(const char *path, uint32_t flags)
{
    copse_ctx *one = NULL, *four = NULL;
    copse_table *a = NULL, *b = NULL;
    uint64_t skipped_a = 0, skipped_b = 0;
    copse_status first = read_with(1, path, flags, &one, &a, &skipped_a);
    char sentence[512];
    (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(one));
    copse_status second = read_with(4, path, flags, &four, &b, &skipped_b);
    (void)unlink(path);
    assert_int_equal(first, second);
    if (first == COPSE_OK) {
        compare(a, b);
        assert_int_equal(skipped_a, skipped_b);
        assert_true((skipped_a > 0) == (flags != 0));
        assert_ok(four, copse_table_verify(b));
    } else {
        assert_string_equal(sentence, copse_last_error(four));
        assert_non_null(strstr(sentence, "line "));
        assert_null(b);
    }
    copse_table_free(a);
    copse_table_free(b);
    copse_ctx_free(one);
    copse_ctx_free(four);
}

static void write_and_read(const dialect *d, uint32_t flags)
{
    char path[64];
    write_file(d, path);
    read_both(path, flags);
}

static void dialects(void **state)
{
    (void)state;
    const dialect all[] = {{.line_end = "\n"},
                           {.line_end = "\r\n", .quoted_lines = true},
                           {.line_end = "\n", .quoted_lines = true, .inner_quotes = true, .blank_lines = true},
                           {.line_end = "\r", .blank_lines = true},
                           {.line_end = "\r\n", .long_texts = true, .quoted_lines = true}};
    for (size_t i = 0; i < COUNT_OF(all); i++) write_and_read(&all[i], 0);
}

static void bad_rows(void **state)
{
    (void)state;
    const dialect plain = {.line_end = "\n", .bad_rows = true},
                  lines = {.line_end = "\r\n", .quoted_lines = true, .bad_rows = true};
    write_and_read(&plain, 0);
    write_and_read(&lines, 0);
    write_and_read(&plain, COPSE_CSV_SKIP_BAD);
    write_and_read(&lines, COPSE_CSV_SKIP_BAD);
}

/* A quote that only the end of the file, or one far behind it, closes: what it swallows is more than a piece. */
static void an_open_quote(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        const dialect d = {.line_end = "\n", .inner_quotes = plain};
        char path[64];
        write_file(&d, path);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, BYTES / 2, SEEK_SET), 0);
        assert_true(fputs("\n1,2,\"open,3\n", file) >= 0);
        (void)fclose(file);
        read_both(path, COPSE_CSV_SKIP_BAD);
    }
}

/* ---- how far it is ---- */

struct heard {
    uint64_t done, total, times, left; /* times that may still be heard before it is enough */
};

static int hear(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct heard *heard = user;
    assert_string_equal(what, "reading");
    assert_true(done >= heard->done && (total == 0 || done <= total));
    heard->done = done;
    heard->total = total;
    heard->times++;
    return heard->left-- == 0;
}

static size_t read_file(void *user, void *buffer, size_t size, int *out_error)
{
    *out_error = 0;
    return fread(buffer, 1, size, user);
}

static copse_status read_heard(copse_ctx *ctx, const char *path, bool function, struct heard *heard,
                               copse_table **table)
{
    copse_table_csv_options csv = COPSE_TABLE_CSV_OPTIONS_INIT;
    FILE *file = function ? fopen(path, "rb") : NULL;
    csv.read = file ? read_file : NULL;
    csv.read_user = file;
    assert_ok(ctx, copse_ctx_set_progress(ctx, hear, heard));
    const copse_status status = copse_table_read_csv(ctx, path, &csv, table, NULL);
    if (file) (void)fclose(file);
    return status;
}

static void hear_and_stop(const char *path, uint32_t threads, bool function)
{
    struct test_allocator allocator;
    struct heard all = {.left = UINT64_MAX};
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_table *table = NULL;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = threads;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    const long long before = atomic_load(&allocator.live_blocks);
    assert_ok(ctx, read_heard(ctx, path, function, &all, &table));
    if (function || threads == 1)
        assert_true(all.times > 10 && all.done > BYTES / 2);
    else
        assert_true(all.times > 0 && all.total > BYTES); /* a round of all threads reads megabytes */
    copse_table_free(table);
    for (uint64_t left = 0; left < all.times; left += 1 + all.times / 16) {
        struct heard some = {.left = left};
        assert_fails(ctx, COPSE_ERR_CANCELLED, read_heard(ctx, path, function, &some, &table));
        assert_null(table);
        assert_int_equal(atomic_load(&allocator.live_blocks), before);
    }
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

/* On threads, where the size is known, and from a function. At any time the caller may have heard enough: then there is no table, and no memory. */
static void reading_is_heard_of(void **state)
{
    (void)state;
    const dialect plain = {.line_end = "\n"};
    char path[64];
    write_file(&plain, path);
    for (uint32_t threads = 1; threads <= 4; threads += 3)
        for (int function = 0; function < 2; function++) hear_and_stop(path, threads, function);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dialects), cmocka_unit_test(bad_rows),
                                       cmocka_unit_test(an_open_quote), cmocka_unit_test(reading_is_heard_of)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
