/* The CSV reader. A record is first found whole in the buffer, and only then unquoted in place, so that running out of
 * bytes in the middle of a record just means reading more and scanning that record again. */
#include "io/csv_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUFFER ((size_t)256 << 10)
#define FIRST_CELLS  ((size_t)16)

typedef enum scan_result { SCAN_RECORD, SCAN_MORE, SCAN_END, SCAN_FAILED } scan_result;

/* ---- memory ---- */

static void *plain_alloc(void *user, size_t size, size_t alignment)
{
    (void)user;
    (void)alignment;
    return malloc(size);
}

static void plain_free(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

static void *take(copse_csv *csv, size_t size)
{
    return csv->allocator.alloc(csv->allocator.user, size, sizeof(void *));
}

static void give(copse_csv *csv, void *memory, size_t size)
{
    if (memory) csv->allocator.free(csv->allocator.user, memory, size);
}

/* ---- sentences ---- */

static copse_status fail(copse_csv *csv, copse_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static copse_status fail(copse_csv *csv, copse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(csv->message, sizeof csv->message, format, arguments);
    va_end(arguments);
    csv->failed = status;
    return status;
}

static copse_status out_of_memory(copse_csv *csv, size_t size)
{
    return fail(csv, COPSE_ERR_MEMORY, "line %llu: no memory for a buffer of %zu bytes", (unsigned long long)csv->line,
                size);
}

/* Line breaks in the input as it is: CRLF is one. */
static uint64_t count_breaks(const char *text, size_t length)
{
    uint64_t breaks = 0;
    for (size_t i = 0; i < length; i++)
        breaks += text[i] == '\n' || (text[i] == '\r' && !(i + 1 < length && text[i + 1] == '\n'));
    return breaks;
}

/* ---- filling the buffer ---- */

static copse_status grow_buffer(copse_csv *csv)
{
    if (csv->capacity >= COPSE_CSV_MAX_RECORD)
        return fail(csv, COPSE_ERR_FORMAT,
                    "line %llu: the record that starts here is longer than %zu MiB; is a closing quote missing?",
                    (unsigned long long)csv->line, COPSE_CSV_MAX_RECORD >> 20);
    size_t capacity = csv->capacity * 2;
    char *buffer = take(csv, capacity + 1);
    if (!buffer) return out_of_memory(csv, capacity + 1);
    memcpy(buffer, csv->buffer, csv->end);
    give(csv, csv->buffer, csv->capacity + 1);
    csv->buffer = buffer;
    csv->capacity = capacity;
    return COPSE_OK;
}

static copse_status fill(copse_csv *csv)
{
    if (csv->begin > 0) {
        memmove(csv->buffer, csv->buffer + csv->begin, csv->end - csv->begin);
        csv->discarded += csv->begin;
        csv->end -= csv->begin;
        csv->begin = 0;
    }
    if (csv->end == csv->capacity && grow_buffer(csv) != COPSE_OK) return csv->failed;
    int error = 0;
    size_t got = csv->read(csv->user, csv->buffer + csv->end, csv->capacity - csv->end, &error);
    if (error)
        return fail(csv, COPSE_ERR_IO, "line %llu: reading the input failed: %s", (unsigned long long)csv->line,
                    strerror(error));
    csv->end += got;
    if (got == 0) csv->source_ended = 1;
    return COPSE_OK;
}

/* ---- scanning one record ---- */

static copse_status add_first_cell(copse_csv *csv, size_t start, size_t length, int quoted);

static inline copse_status add_cell(copse_csv *csv, size_t start, size_t length, int quoted)
{
    size_t index = csv->cell_count;
    if (index >= csv->columns) return add_first_cell(csv, start, length, quoted);
    csv->cells[index] = (copse_csv_cell){csv->buffer + start, length, quoted};
    csv->cell_count++;
    return COPSE_OK;
}

/* A cell of the first record, or one too many. */
static copse_status add_first_cell(copse_csv *csv, size_t start, size_t length, int quoted)
{
    size_t index = csv->cell_count++;
    if (csv->columns > 0) return COPSE_OK;
    if (index >= COPSE_CSV_MAX_COLUMNS)
        return fail(csv, COPSE_ERR_FORMAT, "line %llu: more than %u columns; is the delimiter right?",
                    (unsigned long long)csv->line, COPSE_CSV_MAX_COLUMNS);
    if (index == csv->cell_capacity) {
        size_t capacity = csv->cell_capacity * 2;
        copse_csv_cell *cells = take(csv, capacity * sizeof *cells);
        if (!cells) return out_of_memory(csv, capacity * sizeof *cells);
        memcpy(cells, csv->cells, index * sizeof *cells);
        give(csv, csv->cells, csv->cell_capacity * sizeof *cells);
        csv->cells = cells;
        csv->cell_capacity = capacity;
    }
    csv->cells[index] = (copse_csv_cell){csv->buffer + start, length, quoted};
    return COPSE_OK;
}

/* Moves *at from an opening quote to the byte after the closing one. */
static scan_result scan_quoted(copse_csv *csv, size_t *at)
{
    size_t start = *at + 1, from = start;
    for (;;) {
        const char *quote = from < csv->end ? memchr(csv->buffer + from, '"', csv->end - from) : NULL;
        if (!quote) {
            if (!csv->source_ended) return SCAN_MORE;
            fail(csv, COPSE_ERR_FORMAT,
                 "line %llu, column %zu: the quote that opens this cell is never closed before the end of the input",
                 (unsigned long long)csv->line, csv->cell_count + 1);
            return SCAN_FAILED;
        }
        size_t after = (size_t)(quote - csv->buffer) + 1;
        if (after == csv->end && !csv->source_ended) return SCAN_MORE;
        if (after == csv->end || csv->buffer[after] != '"') {
            *at = after;
            return add_cell(csv, start, after - 1 - start, 1) == COPSE_OK ? SCAN_RECORD : SCAN_FAILED;
        }
        from = after + 1;
    }
}

/* Eight bytes at once: bit 7 of each byte of `word` that may be a stop: a delimiter, or a byte below 16, as line ends and NUL are. Behind the
 * first of them there may be more such bits than such bytes; before it there are none. */
static inline uint64_t find_stops(const copse_csv *csv, uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), delimiter = word ^ csv->delimiters;
    return (((delimiter - ones) & ~delimiter) | ((word - ones * 16) & ~word)) & ones << 7;
}

/* The first stop at or behind `here`, or the end. */
static inline size_t skip_plain(const copse_csv *csv, size_t here)
{
    const char *text = csv->buffer;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (csv->end - here >= 8) {
        uint64_t word;
        memcpy(&word, text + here, sizeof word);
        uint64_t stops = find_stops(csv, word);
        here += stops ? (size_t)__builtin_ctzll(stops) / 8 : 8;
        if (!stops) continue;
        if (csv->stops[(unsigned char)text[here]]) return here;
        here++; /* a tab, or another byte that people have in cells */
    }
#endif
    while (here < csv->end && !csv->stops[(unsigned char)text[here]]) here++;
    return here;
}

static scan_result scan_plain(copse_csv *csv, size_t *at)
{
    size_t start = *at, here = skip_plain(csv, start), end = csv->end;
    if (here == end && !csv->source_ended) return SCAN_MORE;
    *at = here;
    return add_cell(csv, start, here - start, 0) == COPSE_OK ? SCAN_RECORD : SCAN_FAILED;
}

static scan_result bad_byte(copse_csv *csv, size_t at)
{
    csv->record_line = csv->line;
    csv->skip_to = at + 1;
    csv->skip_lines = count_breaks(csv->buffer + csv->begin, at - csv->begin);
    csv->skip_rest_of_line = 1;
    if (csv->buffer[at] == '\0')
        fail(csv, COPSE_ERR_FORMAT, "line %llu, column %zu: there is a NUL byte in the cell; is this a text file?",
             (unsigned long long)csv->line, csv->cell_count);
    else
        fail(csv, COPSE_ERR_FORMAT,
             "line %llu, column %zu: there is text after the closing quote; a quote inside a quoted cell is doubled",
             (unsigned long long)csv->line, csv->cell_count);
    return SCAN_FAILED;
}

/* The first cells of a record as most have them, not quoted and with a delimiter behind each; returns where the next one starts. */
static size_t scan_first_cells(copse_csv *csv)
{
    const size_t end = csv->end, columns = csv->columns;
    copse_csv_cell *cells = csv->cells;
    char *text = csv->buffer;
    size_t at = csv->begin, count = 0;
    while (count + 1 < columns && at < end && text[at] != '"') {
        size_t here = skip_plain(csv, at);
        if (here == end || text[here] != csv->delimiter) break;
        cells[count++] = (copse_csv_cell){text + at, here - at, 0};
        at = here + 1;
    }
    csv->cell_count = count;
    return at;
}

/* Finds the cells of the record at `begin` and, in *out_next, where the following one starts. */
static scan_result scan_record(copse_csv *csv, size_t *out_next)
{
    if (csv->begin == csv->end) return csv->source_ended ? SCAN_END : SCAN_MORE;
    size_t at = scan_first_cells(csv);
    for (;;) {
        int quoted = at < csv->end && csv->buffer[at] == '"';
        scan_result result = quoted ? scan_quoted(csv, &at) : scan_plain(csv, &at);
        if (result != SCAN_RECORD) return result;
        if (at == csv->end) break;
        char stop = csv->buffer[at];
        if (stop != csv->delimiter && stop != '\n' && stop != '\r') return bad_byte(csv, at);
        at++;
        if (stop == csv->delimiter) continue;
        csv->skip_line_feed = stop == '\r';
        break;
    }
    *out_next = at;
    return SCAN_RECORD;
}

/* ---- finishing a record ---- */

/* Undoubles quotes in place and counts line breaks. Returns 0 where there is a NUL byte. */
static int finish_quoted(copse_csv_cell *cell, uint64_t *breaks)
{
    size_t kept = 0;
    int clean = 1;
    for (size_t i = 0; i < cell->length; i++) {
        char byte = cell->text[i];
        if (byte == '"') i++;
        if (byte == '\n' || (byte == '\r' && !(i + 1 < cell->length && cell->text[i + 1] == '\n'))) ++*breaks;
        if (byte == '\0') clean = 0;
        cell->text[kept++] = byte;
    }
    cell->length = kept;
    return clean;
}

static copse_status wrong_cell_count(copse_csv *csv, size_t next)
{
    csv->skip_to = next;
    csv->skip_lines = count_breaks(csv->buffer + csv->begin, next - csv->begin);
    return fail(csv, COPSE_ERR_FORMAT, "line %llu: the record has %zu cell%s, but the %s has %zu",
                (unsigned long long)csv->record_line, csv->cell_count, csv->cell_count == 1 ? "" : "s",
                csv->names ? "header" : "first record", csv->columns);
}

/* next is where the following record starts. */
static copse_status finish_record(copse_csv *csv, size_t next)
{
    uint64_t breaks = 0;
    size_t bad = csv->cell_count;
    if (csv->columns > 0 && csv->cell_count != csv->columns) return wrong_cell_count(csv, next);
    for (size_t i = 0; i < csv->cell_count; i++) {
        if (csv->cells[i].quoted && !finish_quoted(&csv->cells[i], &breaks) && bad == csv->cell_count) bad = i;
        csv->cells[i].text[csv->cells[i].length] = '\0';
    }
    if (bad < csv->cell_count) {
        csv->skip_to = next;
        csv->skip_lines = breaks + 1;
        return fail(csv, COPSE_ERR_FORMAT,
                    "line %llu, column %zu: there is a NUL byte in the cell; is this a text file?",
                    (unsigned long long)csv->record_line, bad + 1);
    }
    csv->line += breaks;
    return COPSE_OK;
}

/* A record of no bytes at all, which is a blank line and not a record. */
static int is_blank(const copse_csv *csv)
{
    return csv->cell_count == 1 && csv->cells[0].length == 0 && !csv->cells[0].quoted;
}

static copse_status skip_line_feed(copse_csv *csv)
{
    if (!csv->skip_line_feed) return COPSE_OK;
    while (csv->begin == csv->end && !csv->source_ended)
        if (fill(csv) != COPSE_OK) return csv->failed;
    if (csv->begin < csv->end && csv->buffer[csv->begin] == '\n') csv->begin++;
    csv->skip_line_feed = 0;
    return COPSE_OK;
}

copse_status copse_csv_next(copse_csv *csv, copse_csv_cell **out_cells, size_t *out_count)
{
    *out_cells = NULL;
    *out_count = 0;
    if (csv->failed != COPSE_OK) return csv->failed;
    for (;;) {
        size_t next = 0;
        if (skip_line_feed(csv) != COPSE_OK) return csv->failed;
        scan_result result = scan_record(csv, &next);
        if (result == SCAN_FAILED) return csv->failed;
        if (result == SCAN_END) return COPSE_OK;
        if (result == SCAN_MORE) {
            if (fill(csv) != COPSE_OK) return csv->failed;
            continue;
        }
        csv->record_line = csv->line;
        int blank = is_blank(csv);
        if (!blank && finish_record(csv, next) != COPSE_OK) return csv->failed;
        csv->line++;
        csv->begin = next;
        if (blank) continue;
        csv->columns = csv->cell_count;
        *out_cells = csv->cells;
        *out_count = csv->cell_count;
        return COPSE_OK;
    }
}

/* Goes to the line behind the one that `begin` is on. */
static copse_status drop_line(copse_csv *csv)
{
    for (;;) {
        while (csv->begin < csv->end) {
            char byte = csv->buffer[csv->begin++];
            if (byte != '\n' && byte != '\r') continue;
            csv->line++;
            csv->skip_line_feed = byte == '\r';
            return COPSE_OK;
        }
        if (csv->source_ended) return COPSE_OK;
        if (fill(csv) != COPSE_OK) return csv->failed;
    }
}

int copse_csv_skip(copse_csv *csv)
{
    if (csv->failed == COPSE_OK || csv->skip_to == 0) return 0;
    int rest = csv->skip_rest_of_line;
    csv->failed = COPSE_OK;
    csv->line += csv->skip_lines;
    csv->begin = csv->skip_to;
    csv->skip_to = 0;
    csv->skip_rest_of_line = 0;
    return !rest || drop_line(csv) == COPSE_OK;
}

/* ---- opening ---- */

static size_t read_memory(void *user, void *buffer, size_t size, int *out_error)
{
    memory_source *source = user;
    size_t n = source->left < size ? source->left : size;
    (void)out_error;
    if (n > 0) memcpy(buffer, source->bytes, n);
    if (n > 0) source->bytes += n;
    source->left -= n;
    return n;
}

static copse_status skip_byte_order_mark(copse_csv *csv)
{
    while (csv->end < 3 && !csv->source_ended)
        if (fill(csv) != COPSE_OK) return csv->failed;
    const unsigned char *bytes = (const unsigned char *)csv->buffer;
    if (csv->end >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF) csv->begin = 3;
    if (csv->end >= 2 && ((bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF)))
        return fail(csv, COPSE_ERR_FORMAT, "the input is UTF-16 text; convert it to UTF-8 first");
    return COPSE_OK;
}

static char *trim(char *text, size_t length)
{
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) text[--length] = '\0';
    while (*text == ' ' || *text == '\t') text++;
    return text;
}

static copse_status keep_header(copse_csv *csv, copse_csv_cell *cells, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += cells[i].length + 1;
    csv->name_text = take(csv, bytes);
    if (!csv->name_text) return out_of_memory(csv, bytes);
    csv->name_bytes = bytes;
    csv->names = take(csv, count * sizeof *csv->names);
    if (!csv->names) return out_of_memory(csv, count * sizeof *csv->names);
    char *at = csv->name_text;
    for (size_t i = 0; i < count; i++) {
        memcpy(at, cells[i].text, cells[i].length + 1);
        csv->names[i] = trim(at, cells[i].length);
        at += cells[i].length + 1;
    }
    return COPSE_OK;
}

static copse_status read_header(copse_csv *csv)
{
    copse_csv_cell *cells = NULL;
    size_t count = 0;
    copse_status status = copse_csv_next(csv, &cells, &count);
    if (status != COPSE_OK) return status;
    if (count == 0) return fail(csv, COPSE_ERR_FORMAT, "the input is empty: there is no header line");
    return keep_header(csv, cells, count);
}

static copse_status start(copse_csv *csv, const copse_csv_options *options)
{
    const size_t cells = options->columns > FIRST_CELLS ? options->columns : FIRST_CELLS;
    csv->buffer = take(csv, FIRST_BUFFER + 1);
    if (!csv->buffer) return out_of_memory(csv, FIRST_BUFFER + 1);
    csv->capacity = FIRST_BUFFER;
    csv->cells = take(csv, cells * sizeof *csv->cells);
    if (!csv->cells) return out_of_memory(csv, cells * sizeof *csv->cells);
    csv->cell_capacity = cells;
    csv->columns = options->columns;
    if (options->columns > 0) return COPSE_OK;
    copse_status status = skip_byte_order_mark(csv);
    if (status == COPSE_OK && !options->no_header) status = read_header(csv);
    return status;
}

static void say(char *message, size_t size, const char *sentence)
{
    if (message && size > 0) snprintf(message, size, "%s", sentence);
}

static copse_status open_reader(const copse_csv *source, const copse_csv_options *options, copse_csv **out_csv,
                                char *message, size_t message_size)
{
    const copse_csv_options defaults = {0};
    const copse_csv_options *chosen = options ? options : &defaults;
    copse_allocator allocator = chosen->allocator;
    char delimiter = chosen->delimiter ? chosen->delimiter : ',';
    *out_csv = NULL;
    say(message, message_size, "");
    if (!allocator.alloc) allocator = (copse_allocator){plain_alloc, plain_free, NULL};
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r') {
        say(message, message_size, "the delimiter cannot be a quote or a line end");
        return COPSE_ERR_ARGUMENT;
    }
    copse_csv *csv = allocator.alloc(allocator.user, sizeof *csv, sizeof(void *));
    if (!csv) {
        say(message, message_size, "no memory for the CSV reader");
        return COPSE_ERR_MEMORY;
    }
    *csv = *source;
    if (csv->read == read_memory) csv->user = &csv->memory;
    csv->allocator = allocator;
    csv->delimiter = delimiter;
    csv->delimiters = (unsigned char)delimiter * UINT64_C(0x0101010101010101);
    csv->line = 1;
    csv->stops[(unsigned char)delimiter] = csv->stops['\n'] = csv->stops['\r'] = csv->stops[0] = 1;
    copse_status status = start(csv, chosen);
    if (status == COPSE_OK) {
        *out_csv = csv;
    } else {
        say(message, message_size, csv->message);
        copse_csv_close(csv);
    }
    return status;
}

copse_status copse_csv_open(copse_csv_read_fn read, void *user, const copse_csv_options *options, copse_csv **out_csv,
                            char *message, size_t message_size)
{
    const copse_csv source = {.read = read, .user = user};
    return open_reader(&source, options, out_csv, message, message_size);
}

copse_status copse_csv_open_memory(const void *bytes, size_t size, const copse_csv_options *options,
                                   copse_csv **out_csv, char *message, size_t message_size)
{
    const copse_csv source = {.read = read_memory, .memory = {bytes, size}};
    return open_reader(&source, options, out_csv, message, message_size);
}

void copse_csv_close(copse_csv *csv)
{
    if (!csv) return;
    give(csv, csv->buffer, csv->capacity + 1);
    give(csv, csv->cells, csv->cell_capacity * sizeof *csv->cells);
    give(csv, csv->names, csv->columns * sizeof *csv->names);
    give(csv, csv->name_text, csv->name_bytes);
    csv->allocator.free(csv->allocator.user, csv, sizeof *csv);
}

/* ---- asking ---- */

const char *copse_csv_error(const copse_csv *csv)
{
    return csv->message;
}

size_t copse_csv_columns(const copse_csv *csv)
{
    return csv->columns;
}

const char *copse_csv_column_name(const copse_csv *csv, size_t column)
{
    return csv->names && column < csv->columns ? csv->names[column] : "";
}

uint64_t copse_csv_position(const copse_csv *csv)
{
    return csv->discarded + csv->begin;
}

copse_status copse_csv_next_position(copse_csv *csv, uint64_t *out_position)
{
    if (csv->failed == COPSE_OK) (void)skip_line_feed(csv);
    *out_position = copse_csv_position(csv);
    return csv->failed;
}

copse_status copse_csv_bad_cell(copse_csv *csv, size_t column, const char *problem)
{
    char where[320], shown[256] = "the cell";
    if (column >= csv->cell_count) {
        snprintf(csv->message, sizeof csv->message, "line %llu: there is no column %zu",
                 (unsigned long long)csv->record_line, column + 1);
        return COPSE_ERR_FORMAT;
    }
    copse_csv_show_column(csv, column, where, sizeof where);
    if (csv->cells[column].length > 0)
        copse_csv_show_text(shown, sizeof shown, csv->cells[column].text, csv->cells[column].length);
    snprintf(csv->message, sizeof csv->message, "line %llu, %s: %s %s", (unsigned long long)csv->record_line, where,
             shown, problem);
    return COPSE_ERR_FORMAT;
}
