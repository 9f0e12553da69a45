/* Which character stands between the cells of a table: each one that people use is tried on the first rows. */
#include "io/cells.h"
#include "io/csv.h"

#define DELIMITER_ROWS 100

typedef struct trial {
    char delimiter;
    size_t columns;    /* of the first record */
    uint64_t records;  /* that were looked at */
    uint64_t matching; /* that have as many cells */
    uint64_t cells;
    uint64_t numbers; /* cells that are numbers, dates or timestamps */
} trial;

static bool is_number(const copse_csv_cell *cell)
{
    static const copse_cell_form point = {NULL, '.'}, comma = {NULL, ','};
    int64_t out = 0;
    return copse_cell_parse_as(&point, COPSE_F64, cell->text, cell->length, &out) == COPSE_CELL_OK ||
           copse_cell_parse_as(&comma, COPSE_F64, cell->text, cell->length, &out) == COPSE_CELL_OK ||
           copse_cell_parse(COPSE_TIMESTAMP, cell->text, cell->length, &out) == COPSE_CELL_OK;
}

static trial try_delimiter(const char *text, size_t size, char delimiter)
{
    const copse_csv_options options = {.delimiter = delimiter, .no_header = 1};
    trial t = {.delimiter = delimiter};
    copse_csv *csv = NULL;
    if (copse_csv_open_memory(text, size, &options, &csv, NULL, 0) != COPSE_OK) return t;
    while (t.records < DELIMITER_ROWS) {
        copse_csv_cell *cells = NULL;
        size_t count = 0;
        copse_status status = copse_csv_next(csv, &cells, &count);
        if (status == COPSE_OK && count == 0) break;
        if (status != COPSE_OK && !copse_csv_skip(csv)) break;
        t.records++;
        if (status != COPSE_OK) continue;
        t.matching++;
        t.cells += count;
        for (size_t i = 0; i < count; i++) t.numbers += is_number(&cells[i]);
    }
    t.columns = copse_csv_columns(csv);
    copse_csv_close(csv);
    return t;
}

/* Where all but a few records have as many cells as the first. */
static bool is_regular(const trial *t)
{
    return t->columns > 1 && t->matching * 10 >= t->records * 9;
}

/* Regular before irregular; then more of its cells are numbers (in "1,5;2,5" a semicolon leaves only numbers, in "1,a;b" a
 * comma leaves more of them); then more columns. */
static bool is_better(const trial *a, const trial *b)
{
    if (is_regular(a) != is_regular(b)) return is_regular(a);
    if ((a->columns > 1) != (b->columns > 1)) return a->columns > 1;
    if (!is_regular(a)) return a->matching * b->records > b->matching * a->records;
    uint64_t mine = a->numbers * b->cells, other = b->numbers * a->cells;
    return mine != other ? mine > other : a->columns > b->columns;
}

char copse_delimiter_guess(const char *text, size_t size)
{
    static const char others[] = ";\t|";
    trial best = try_delimiter(text, size, ',');
    for (const char *c = others; *c; c++) {
        const trial t = try_delimiter(text, size, *c);
        if (is_better(&t, &best)) best = t;
    }
    return best.delimiter;
}
