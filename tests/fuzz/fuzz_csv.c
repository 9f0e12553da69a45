/* Any bytes at all through the CSV reader. The first two bytes choose delimiter, header and how the source hands out
 * the rest; the result must not depend on the latter. */
#include "io/csv.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct slow_source {
    const uint8_t *bytes;
    size_t left;
    size_t step;
} slow_source;

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

static uint64_t read_all(copse_csv *csv)
{
    uint64_t hash = 14695981039346656037u, line = 0;
    for (;;) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        if (copse_csv_next(csv, &cells, &count) != COPSE_OK)
            return mix(hash, copse_csv_error(csv), strlen(copse_csv_error(csv)));
        if (count == 0) return ask(csv, hash);
        if (count != copse_csv_columns(csv) || copse_csv_line(csv) <= line) abort();
        line = copse_csv_line(csv);
        for (size_t i = 0; i < count; i++) {
            if (strlen(cells[i].text) != cells[i].length) abort();
            hash = mix(hash, cells[i].text, cells[i].length);
        }
        if (line % 16 == 1 && copse_csv_bad_cell(csv, count - 1, "is fine") == COPSE_OK) abort();
        hash = mix(hash, &line, sizeof line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    copse_csv_options options = {.delimiter = (char)(data[0] < 128 ? ',' : data[0] & 127), .no_header = data[1] & 1};
    slow_source source = {data + 2, size - 2, 1 + data[1] / 2};
    copse_csv *whole = NULL, *slow = NULL;
    char message[2][256];
    copse_status status = copse_csv_open_memory(data + 2, size - 2, &options, &whole, message[0], sizeof message[0]);
    if (copse_csv_open(read_slowly, &source, &options, &slow, message[1], sizeof message[1]) != status) abort();
    if (strcmp(message[0], message[1]) != 0) abort();
    if (status == COPSE_OK && read_all(whole) != read_all(slow)) abort();
    copse_csv_close(whole);
    copse_csv_close(slow);
    return 0;
}
