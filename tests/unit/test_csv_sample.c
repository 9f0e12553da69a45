/* Types are guessed from the first megabyte of a CSV file. The record that its end cuts in two must not count, wherever the cut falls. */
#include "unit.h"

#include "cli/rows.h"
#include "snapshot_file.h"

#define SAMPLE     ((size_t)1 << 20)
#define NOTE_BYTES 3000u
#define RECORDS    400u /* more than the sample, and fewer than the rows that are looked at */

struct text {
    char *bytes;
    size_t size;
};

static void append(struct text *text, const char *bytes, size_t n)
{
    memcpy(text->bytes + text->size, bytes, n);
    text->size += n;
}

/* Records of the line as their last cells, behind a cell of filler. The sample ends `inside` bytes into the line of one of them. */
static struct text records_cut_at(const char *header, const char *line, size_t inside)
{
    static char note[2 * NOTE_BYTES];
    const size_t record = NOTE_BYTES + strlen(line);
    struct text text = {must_malloc(strlen(header) + (RECORDS + 2) * record), 0};
    memset(note, 'x', sizeof note);
    append(&text, header, strlen(header));
    /* The first record is longer, such that the cut comes out right. */
    const size_t others = (SAMPLE - text.size) / record - 1;
    const size_t first = SAMPLE - text.size - others * record - inside;
    append(&text, note, first);
    append(&text, line, strlen(line));
    for (unsigned i = 1; i < RECORDS; i++) {
        append(&text, note, NOTE_BYTES);
        append(&text, line, strlen(line));
    }
    return text;
}

static void check_cut(const char *path, const char *header, const char *line, size_t inside, copse_type key,
                      copse_type value)
{
    const cli_rows_args args = {.input = path, .key = "k", .value = "v", .quiet = true};
    struct text text = records_cut_at(header, line, inside);
    assert_true(text.size > SAMPLE + NOTE_BYTES);
    assert_memory_equal(text.bytes + SAMPLE - inside, line, strlen(line));
    file_write(path, text.bytes, text.size);
    free(text.bytes);
    cli_session session;
    cli_pairs pairs = {0};
    assert_int_equal(cli_session_open(&session, "build", 1, true, NULL), CLI_OK);
    cli_rows *rows = NULL;
    if (cli_rows_open(&session, &args, &rows) != CLI_OK || cli_rows_next(rows, UINT64_MAX, &pairs) != CLI_OK)
        fail_msg("cut %zu bytes into '%s'", inside, line);
    cli_rows_close(rows);
    assert_int_equal(pairs.keys.type, key);
    assert_int_equal(pairs.value_type, value);
    assert_int_equal(pairs.keys.count, RECORDS);
    cli_pairs_free(&pairs);
    cli_session_close(&session);
}

static void a_cut_anywhere_in_a_record(void **state)
{
    static const struct {
        const char *header, *line;
        copse_type key, value;
    } cases[] = {
        {"note,k,v\n", ",2026-04-01,-1.5e-3\n", COPSE_DATE, COPSE_F64},
        {"note,v,k\r\n", ",18446744073709551615,2026-04-01T10:20:30Z\r\n", COPSE_TIMESTAMP, COPSE_U64},
        {"note,v,k\n", ",\"7\",\"-12\"\n", COPSE_I64, COPSE_I64},
    };
    (void)state;
    char path[512], *folder = folder_make();
    (void)snprintf(path, sizeof path, "%s/table.csv", folder);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t inside = 0; inside <= strlen(cases[i].line); inside++)
            check_cut(path, cases[i].header, cases[i].line, inside, cases[i].key, cases[i].value);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cut_anywhere_in_a_record)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
