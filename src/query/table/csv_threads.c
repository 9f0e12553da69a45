/* A CSV file on several threads, in rounds.
 *
 *   file     | rows that are in the table | piece 0 | piece 1 | piece 2 | piece 3 | ..
 *                                         ^ known   ^ guessed: a line end behind which records have as many cells as they should
 *
 * 1. A place to begin is guessed for each piece but the first.
 * 2. Each piece becomes a small table of its own, up to the first record that begins where the next piece does, or behind it.
 * 3. A piece counts if it begins where the one before it ended: then its guess was right, whatever quotes and line ends there are. Those
 *    that count are put behind the rows of the table, each column by one thread; the next round begins where the last of them ended.
 *
 * A guess that was wrong costs time and nothing else. The small tables stay from round to round, so that most of their memory is in the cache.
 */
#define _POSIX_C_SOURCE 200809L
#include "query/table/csv.h"

#include "core/threads.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES     ((uint64_t)1 << 20)
#define LEAST_BYTES     (4 * PIECE_BYTES) /* a smaller file is read by one thread */
#define PIECES_A_THREAD 2u
#define LOOKED_AT       ((size_t)16 << 10) /* bytes that a guess is made of */
#define MOST_LINES      16                 /* line ends that are tried */
#define TRIED_RECORDS   2
#define MOST_BAD_ROUNDS 4
#define FIRST_ROOM      1.06
#define NO_PLACE        UINT64_MAX

typedef struct bytes_at {
    int file;
    uint64_t at;
} bytes_at;

typedef struct piece {
    copse_csv_loading loading;
    uint64_t begin, end, stopped;
    copse_status status;
} piece;

typedef struct reading {
    copse_csv_loading *to;
    int file;
    uint64_t size;
    copse_csv_options csv; /* of readers of pieces */
    piece *pieces;
    uint64_t count, most;
    uint64_t counting; /* pieces that count */
    uint64_t at;       /* where the round begins */
} reading;

static size_t read_at(void *user, void *buffer, size_t size, int *out_error)
{
    bytes_at *from = user;
    ssize_t got;
    do got = pread(from->file, buffer, size, (off_t)from->at);
    while (got < 0 && errno == EINTR);
    if (got < 0) *out_error = errno;
    if (got > 0) from->at += (uint64_t)got;
    return got > 0 ? (size_t)got : 0;
}

/* ---- 1: where pieces begin ---- */

/* Whether the first records there have as many cells as they should. */
static bool looks_right(const copse_csv_options *options, const char *text, size_t size)
{
    copse_csv *csv = NULL;
    copse_csv_cell *cells = NULL;
    size_t count = 1;
    if (copse_csv_open_memory(text, size, options, &csv, NULL, 0) != COPSE_OK) return false;
    bool right = true;
    for (int i = 0; right && i < TRIED_RECORDS; i++)
        right = copse_csv_next(csv, &cells, &count) == COPSE_OK && count > 0;
    copse_csv_close(csv);
    return right;
}

static uint64_t guess(const reading *r, uint64_t from)
{
    char text[LOOKED_AT];
    int error = 0;
    bytes_at place = {r->file, from};
    size_t size = read_at(&place, text, sizeof text, &error);
    const char *at = text, *end = text + size;
    for (int i = 0; i < MOST_LINES && at < end; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end) break;
        at = line_end + 1;
        if (looks_right(&r->csv, at, (size_t)(end - at))) return from + (uint64_t)(at - text);
    }
    return NO_PLACE;
}

static void guess_pieces(void *job, uint64_t first, uint64_t last)
{
    reading *r = job;
    for (uint64_t i = first; i < last; i++) {
        uint64_t from = r->at + i * PIECE_BYTES;
        r->pieces[i].begin = i == 0 ? r->at : from < r->size ? guess(r, from) : NO_PLACE;
    }
}

/* Pieces without a place to begin are not there; one before the end of the file goes on to the end. */
static void cut_pieces(reading *r)
{
    uint64_t kept = 0, to = r->at + r->most * PIECE_BYTES;
    for (uint64_t i = 0; i < r->most; i++) {
        uint64_t begin = r->pieces[i].begin;
        if (begin == NO_PLACE || (kept > 0 && begin <= r->pieces[kept - 1].begin)) continue;
        r->pieces[kept++].begin = begin;
    }
    for (uint64_t i = 0; i + 1 < kept; i++) r->pieces[i].end = r->pieces[i + 1].begin;
    r->pieces[kept - 1].end = to < r->size ? to : NO_PLACE;
    r->count = kept;
}

/* ---- 2: pieces as tables ---- */

static void clear(copse_csv_loading *l)
{
    l->rows = l->skipped = 0;
    l->table->slots = l->table->live = 0;
    for (uint32_t i = 0; i < l->table->column_count; i++)
        l->table->columns[i].nulls = l->table->columns[i].text_used = 0;
}

static copse_status read_piece(const reading *r, piece *p)
{
    bytes_at place = {r->file, p->begin};
    copse_status status = copse_csv_open(read_at, &place, &r->csv, &p->loading.csv, NULL, 0);
    uint64_t position = 0;
    clear(&p->loading);
    if (status == COPSE_OK)
        status = copse_csv_loading_rows(&p->loading, p->end == NO_PLACE ? NO_PLACE : p->end - p->begin);
    if (status == COPSE_OK) status = copse_csv_next_position(p->loading.csv, &position);
    p->stopped = p->begin + position;
    copse_csv_close(p->loading.csv);
    p->loading.csv = NULL;
    return status;
}

static void read_pieces(void *job, uint64_t first, uint64_t last)
{
    const reading *r = job;
    for (uint64_t i = first; i < last; i++) r->pieces[i].status = read_piece(r, &r->pieces[i]);
}

/* ---- 3: putting them together ---- */

static void append_bits(copse_buffer *to, uint64_t at, const copse_buffer *from, uint64_t n)
{
    const uint8_t *bits = from->data;
    uint8_t *out = (uint8_t *)to->data + at / 8;
    const unsigned shift = at % 8;
    if (n == 0) return;
    if (shift > 0) *out &= (uint8_t)((1u << shift) - 1);
    for (uint64_t i = 0; i < (n + 7) / 8; i++) {
        if (shift == 0) {
            out[i] = bits[i];
            continue;
        }
        out[i] |= (uint8_t)(bits[i] << shift);
        if ((i + 1) * 8 - shift < n) out[i + 1] = (uint8_t)(bits[i] >> (8 - shift));
    }
}

static void append_piece(copse_stored_column *to, uint64_t at, const copse_stored_column *from, uint64_t n)
{
    if (n == 0) return;
    append_bits(&to->validity, at, &from->validity, n);
    to->nulls += from->nulls;
    memcpy((char *)to->cells.data + at * to->width, from->cells.data, n * to->width);
    if (!copse_column_is_text(to)) return;
    copse_text *texts = (copse_text *)to->cells.data + at;
    for (uint64_t i = 0; i < n; i++) texts[i] += copse_text_at(to->text_used, 0);
    if (from->text_used > 0) memcpy((char *)to->text.data + to->text_used, from->text.data, from->text_used);
    to->text_used += from->text_used;
}

static void append_columns(void *job, uint64_t first, uint64_t last)
{
    const reading *r = job;
    for (uint64_t c = first; c < last; c++) {
        uint64_t at = r->to->rows;
        for (uint64_t i = 0; i < r->counting; i++) {
            const copse_csv_loading *from = &r->pieces[i].loading;
            append_piece(&r->to->table->columns[c], at, &from->table->columns[c], from->rows);
            at += from->rows;
        }
    }
}

/* Room for what a round adds; the first makes it for the whole file, as if that went on so: a column that does not move lies on huge pages. */
static uint64_t room_for(const reading *r, uint64_t added)
{
    const uint64_t looked_at = r->pieces[r->counting - 1].stopped - r->at;
    if (r->to->rows > 0 || looked_at == 0) return added;
    return (uint64_t)((double)added * (double)(r->size - r->at) / (double)looked_at * FIRST_ROOM);
}

static copse_status append(reading *r, uint32_t threads)
{
    copse_table *table = r->to->table;
    const copse_ctx *ctx = r->to->source->ctx;
    uint64_t rows = 0;
    copse_status status = COPSE_OK;
    for (uint64_t i = 0; i < r->counting; i++) rows += r->pieces[i].loading.rows;
    if (r->to->rows + rows > COPSE_MOST_ROWS)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "%s: more rows than a table holds", r->to->source->path);
    for (uint32_t c = 0; status == COPSE_OK && c < table->column_count; c++) {
        uint64_t text = 0;
        for (uint64_t i = 0; i < r->counting; i++) text += r->pieces[i].loading.table->columns[c].text_used;
        status = copse_column_reserve(ctx, &table->columns[c], r->to->rows + room_for(r, rows) + 8, room_for(r, text));
    }
    if (status != COPSE_OK) return status;
    copse_parallel(ctx, threads, table->column_count, 1, append_columns, r);
    for (uint64_t i = 0; i < r->counting; i++) r->to->skipped += r->pieces[i].loading.skipped;
    r->to->rows += rows;
    table->slots = table->live = r->to->rows;
    return COPSE_OK;
}

/* ---- rounds ---- */

/* Which pieces count, and what is wrong with the first that does not go on. */
static copse_status count_pieces(reading *r)
{
    for (r->counting = 0; r->counting < r->count; r->counting++) {
        const piece *p = &r->pieces[r->counting];
        if (r->counting > 0 && p->begin != p[-1].stopped) return COPSE_OK;
        if (p->status != COPSE_OK) return p->status;
    }
    return COPSE_OK;
}

static copse_status run_rounds(reading *r, uint32_t threads)
{
    const copse_ctx *ctx = r->to->source->ctx;
    copse_status status = COPSE_OK;
    for (unsigned bad = 0; status == COPSE_OK && r->at < r->size;) {
        status = copse_progress((copse_ctx *)(uintptr_t)ctx, "reading", r->at, r->size);
        if (status != COPSE_OK) return status;
        if (bad == MOST_BAD_ROUNDS) r->most = 1; /* guesses are no good in this file */
        copse_parallel(ctx, threads, r->most, 1, guess_pieces, r);
        cut_pieces(r);
        copse_parallel(ctx, threads, r->count, 1, read_pieces, r);
        status = count_pieces(r);
        if (r->counting > 1) bad = 0;
        bad += r->counting == 1 && r->most > 1;
        if (r->counting == 0) break;
        copse_status appended = append(r, threads);
        if (appended != COPSE_OK) return appended;
        r->at = r->pieces[r->counting - 1].stopped;
        if (status == COPSE_OK && r->pieces[r->counting - 1].end == NO_PLACE) break;
    }
    return status;
}

/* Where the first record behind the header begins. */
static bool find_rows(reading *r)
{
    bytes_at place = {r->file, 0};
    copse_csv *csv = NULL;
    bool found = copse_csv_open(read_at, &place, &r->to->source->csv, &csv, NULL, 0) == COPSE_OK &&
                 copse_csv_next_position(csv, &r->at) == COPSE_OK;
    copse_csv_close(csv);
    return found;
}

static copse_status open_pieces(reading *r, copse_buffer *memory, uint32_t threads)
{
    copse_csv_source *source = r->to->source;
    r->most = (uint64_t)threads * PIECES_A_THREAD;
    copse_status status = copse_buffer_reserve(source->ctx, memory, r->most, sizeof(piece), "reading a file");
    if (status != COPSE_OK) return status;
    r->pieces = memory->data;
    memset(r->pieces, 0, r->most * sizeof(piece));
    for (uint64_t i = 0; status == COPSE_OK && i < r->most; i++) {
        status = copse_csv_loading_open(source, &r->pieces[i].loading);
        r->pieces[i].loading.is_piece = true;
    }
    return status;
}

copse_status copse_csv_read_threads(copse_csv_loading *loading, bool *out_done)
{
    copse_csv_source *source = loading->source;
    reading r = {.to = loading, .csv = source->csv};
    uint32_t threads = copse_threads_for(source->ctx, UINT64_MAX);
    copse_buffer memory = {0};
    struct stat about;
    *out_done = false;
    if (!source->file || threads < 2 || fstat(fileno(source->file), &about) != 0 || !S_ISREG(about.st_mode))
        return COPSE_OK;
    r.file = fileno(source->file);
    r.size = (uint64_t)about.st_size;
    if (r.size < LEAST_BYTES || !find_rows(&r)) return COPSE_OK;
    r.csv.columns = source->column_count;
    copse_status status = open_pieces(&r, &memory, threads);
    const uint64_t opened = memory.data ? r.most : 0;
    if (status == COPSE_OK) status = run_rounds(&r, threads);
    for (uint64_t i = 0; i < opened; i++) copse_csv_loading_close(&r.pieces[i].loading);
    copse_buffer_free(source->ctx, &memory);
    if (status == COPSE_ERR_FORMAT || status == COPSE_ERR_IO) return COPSE_OK;
    if (status == COPSE_ERR_MEMORY) return copse_no_memory(source->ctx, PIECE_BYTES, "reading a file");
    *out_done = status == COPSE_OK;
    return status;
}
