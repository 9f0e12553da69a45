/* Any bytes at all through the CSV reader, and through gzip in front of it where they begin as such data does. The first three
 * bytes choose delimiter, header, what becomes of bad records, forms of numbers and dates, and how the source hands out the
 * rest; the result must not depend on the latter. */
#include "cli/key_text.h"
#include "cli/rows.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct slow_source {
    const uint8_t *bytes;
    size_t left;
    size_t step;
} slow_source;

/* The line that the current record starts on: sentences name it. */
static uint64_t line_of(copse_csv *csv)
{
    (void)copse_csv_bad_cell(csv, SIZE_MAX, "");
    return strtoull(copse_csv_error(csv) + strlen("line "), NULL, 10);
}

static size_t read_slowly(void *user, void *buffer, size_t size, int *out_error)
{
    slow_source *source = user;
    size_t n = source->left < source->step ? source->left : source->step;
    (void)out_error;
    if (n > size) n = size;
    if (n > 0) memcpy(buffer, source->bytes, n);
    source->bytes += n;
    source->left -= n;
    return n;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return hash * 31 + size;
}

static uint64_t ask(copse_csv *csv, uint64_t hash)
{
    static const char *const names[] = {"a", "", "#1", "#2", "#65537", "#x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t column = 0;
        copse_status status = copse_csv_find_column(csv, names[i], &column);
        if (status == COPSE_OK && column >= copse_csv_columns(csv)) abort();
        if (status != COPSE_OK) hash = mix(hash, copse_csv_error(csv), strlen(copse_csv_error(csv)));
    }
    return hash;
}

/* A cell as every type, in the forms that the command line can ask for. What can be read can be written and read again. */
static uint64_t read_cell(const copse_csv_cell *cell, const copse_cell_form *form, uint64_t hash)
{
    char shown[CLI_KEY_SHOWN];
    cli_key_show((cli_key){COPSE_BYTES, cell->text, cell->length}, shown);
    if (strlen(shown) < 2 || shown[strcspn(shown, "\n\r\t\033")] != '\0') abort();
    hash = mix(hash, shown, strlen(shown));
    for (int type = COPSE_U32; type <= COPSE_TIMESTAMP; type++) {
        uint64_t out = 0, again = 0;
        char text[COPSE_CELL_TEXT];
        copse_cell_error error = copse_cell_parse_as(form, (copse_type)type, cell->text, cell->length, &out);
        hash = hash * 31 + (uint64_t)error;
        if (error != COPSE_CELL_OK && error != COPSE_CELL_FINE) continue;
        size_t length = copse_cell_format((copse_type)type, &out, text);
        if (copse_cell_parse((copse_type)type, text, length, &again) != COPSE_CELL_OK) abort();
        if (!copse_cell_is_nan((copse_type)type, &out) && memcmp(&out, &again, copse_type_size((copse_type)type)) != 0)
            abort();
        if (copse_cell_parse_end((copse_type)type, text, length, &again) != COPSE_CELL_OK) abort();
    }
    return hash;
}

/* flags: 1: go on behind bad records. The other bits choose a form. */
static uint64_t read_all(copse_csv *csv, unsigned flags)
{
    static const char *const formats[] = {NULL, NULL,   "%d.%m.%Y %H:%M:%S.%f%z", "%a %e %b %y %I%p", "%Y%j", "ns",
                                          "s",  "%D %T"};
    const copse_cell_form form = {formats[flags >> 2 & 7], flags & 2 ? ',' : '.'};
    const cli_words given = {.words = {"-,x", "NA", ""}, .count = flags >> 5 & 3};
    uint64_t hash = 14695981039346656037u, line = 0;
    copse_nulls nulls;
    if (cli_nulls_start(&nulls, "fuzz", &given) != CLI_OK) abort();
    for (;;) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        if (copse_csv_next(csv, &cells, &count) != COPSE_OK) {
            uint64_t before = copse_csv_position(csv);
            hash = mix(hash, copse_csv_error(csv), strlen(copse_csv_error(csv)));
            if (!(flags & 1) || !copse_csv_skip(csv)) return hash;
            if (copse_csv_position(csv) <= before) abort();
            continue;
        }
        if (count == 0) return ask(csv, hash);
        if (count != copse_csv_columns(csv) || line_of(csv) <= line) abort();
        line = line_of(csv);
        for (size_t i = 0; i < count; i++) {
            if (strlen(cells[i].text) != cells[i].length) abort();
            hash = mix(hash, cells[i].text, cells[i].length);
            hash = hash * 31 + copse_nulls_has(&nulls, cells[i].text, cells[i].length);
            hash = read_cell(&cells[i], &form, hash);
        }
        if (line % 16 == 1 && copse_csv_bad_cell(csv, count - 1, "is fine") == COPSE_OK) abort();
        hash = mix(hash, &line, sizeof line);
    }
}

#define MOST_EXPANDED ((uint64_t)4 << 20) /* a few bytes can stand for very many */

static uint64_t expand(const uint8_t *bytes, size_t size, size_t step)
{
    static char buffer[1 << 16];
    slow_source source = {bytes, size, step};
    copse_gzip *gzip = NULL;
    uint64_t hash = 14695981039346656037u, total = 0;
    if (copse_gzip_open(read_slowly, &source, &gzip, NULL, 0) != COPSE_OK) return 0;
    while (total < MOST_EXPANDED) {
        int error = 0;
        size_t got = copse_gzip_read(gzip, buffer, sizeof buffer, &error);
        if (error) hash = mix(hash, copse_gzip_error(gzip), strlen(copse_gzip_error(gzip)));
        if (error && (got > 0 || !*copse_gzip_error(gzip))) abort();
        if (got == 0) break;
        for (size_t i = 0; i < got; i++) hash = (hash ^ (uint8_t)buffer[i]) * 1099511628211u;
        total += got;
    }
    copse_gzip_close(gzip);
    return hash + total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    const uint8_t *text = data + 3;
    size -= 3;
    if (copse_gzip_is(text, size)) {
        /* Text may end early where the data is bad, and the steps decide where: only whole data has to give the same. */
        (void)expand(text, size, size);
        (void)expand(text, size, 1 + data[1] / 2);
        return 0;
    }
    copse_csv_options options = {.delimiter = (char)(data[0] < 128 ? ',' : data[0] & 127), .no_header = data[1] & 1};
    if (data[0] == 1) options.delimiter = copse_delimiter_guess((const char *)text, size);
    if (data[0] == 1 && !strchr(",;|\t", options.delimiter)) abort();
    slow_source source = {text, size, 1 + data[1] / 2};
    copse_csv *whole = NULL, *slow = NULL;
    char message[2][256];
    copse_status status = copse_csv_open_memory(text, size, &options, &whole, message[0], sizeof message[0]);
    if (copse_csv_open(read_slowly, &source, &options, &slow, message[1], sizeof message[1]) != status) abort();
    if (strcmp(message[0], message[1]) != 0) abort();
    if (status == COPSE_OK && read_all(whole, data[2]) != read_all(slow, data[2])) abort();
    copse_csv_close(whole);
    copse_csv_close(slow);
    return 0;
}
