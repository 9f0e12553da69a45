/* One term over a list of rows. The loops keep no branch on the outcome: each row is written, and stays if it fits. */
#include "query/run/run.h"

/* Keeps rows for which `fits`, an expression over `row`, holds. */
#define KEEP(fits)                                                                                                     \
    do {                                                                                                               \
        uint64_t kept = 0;                                                                                             \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            uint32_t row = rows[i];                                                                                    \
            rows[kept] = row;                                                                                          \
            kept += (fits) ? 1 : 0;                                                                                    \
        }                                                                                                              \
        n = kept;                                                                                                      \
    } while (0)

static uint64_t keep_valid(const copse_stored_column *column, bool valid, uint32_t *rows, uint64_t n)
{
    if (column->nulls == 0) return valid ? n : 0;
    KEEP(copse_bit(&column->validity, row) == valid);
    return n;
}

/* Each type has a loop of its own, in which the encoding of cells is known. */
static uint64_t keep_codes(const copse_stored_column *column, uint64_t low, uint64_t high, uint32_t *rows, uint64_t n)
{
    const uint64_t width = high - low;
    const uint64_t *wide = column->cells.data;
    const uint32_t *words = column->cells.data;
    const uint8_t *bytes = column->cells.data;
    switch (column->type) {
    case COPSE_U64:
        KEEP(wide[row] - low <= width);
        break;
    case COPSE_I64:
    case COPSE_TIMESTAMP:
        KEEP((wide[row] ^ UINT64_C(1) << 63) - low <= width);
        break;
    case COPSE_F64:
        KEEP(copse_encode_f64(wide[row]) - low <= width);
        break;
    case COPSE_U32:
        KEEP(words[row] - low <= width);
        break;
    case COPSE_I32:
    case COPSE_DATE:
        KEEP((words[row] ^ 0x80000000u) - low <= width);
        break;
    case COPSE_F32:
        KEEP(copse_encode_f32(words[row]) - low <= width);
        break;
    default:
        KEEP(bytes[row] - low <= width);
    }
    return n;
}

static bool text_in_range(const copse_term *term, copse_slice text)
{
    if (term->low_text.given) {
        int order = copse_slice_compare(text, term->low_text.text);
        if (order < 0 || (order == 0 && term->low_text.open)) return false;
    }
    if (term->high_text.given) {
        int order = copse_slice_compare(text, term->high_text.text);
        if (order > 0 || (order == 0 && term->high_text.open)) return false;
    }
    return true;
}

static bool in_codes(const copse_term *term, uint64_t code)
{
    uint64_t low = 0, high = term->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (term->codes[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < term->count && term->codes[low] == code;
}

static bool in_texts(const copse_term *term, copse_slice text)
{
    uint64_t low = 0, high = term->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (copse_slice_compare(term->texts[middle], text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < term->count && copse_slice_compare(term->texts[low], text) == 0;
}

static uint64_t keep_listed(const copse_stored_column *column, const copse_term *term, bool listed, uint32_t *rows,
                            uint64_t n)
{
    if (term->is_text)
        KEEP(in_texts(term, copse_cell_text(column, row)) == listed);
    else
        KEEP(in_codes(term, copse_cell_code(column, row)) == listed);
    return n;
}

uint64_t copse_term_filter(const copse_table *table, const copse_term *term, uint32_t *rows, uint64_t n)
{
    const copse_stored_column *column = &table->columns[term->column];
    copse_cells_touch(column, rows, n);
    if (term->kind == COPSE_TERM_NULL) return keep_valid(column, false, rows, n);
    if (term->empty || n == 0) return 0;
    n = keep_valid(column, true, rows, n);
    if (term->kind == COPSE_TERM_LIST) return keep_listed(column, term, true, rows, n);
    if (term->kind == COPSE_TERM_NOT) return keep_listed(column, term, false, rows, n);
    if (term->kind == COPSE_TERM_NOT_NULL) return n;
    if (!term->is_text) return keep_codes(column, term->low, term->high, rows, n);
    KEEP(text_in_range(term, copse_cell_text(column, row)));
    return n;
}

uint64_t copse_conjunction_filter(const copse_table *table, const copse_conjunction *conjunction, uint64_t skipped,
                                  uint32_t *rows, uint64_t n)
{
    for (uint32_t i = 0; i < conjunction->count; i++)
        if (i >= COPSE_MOST_DRIVING || !(skipped >> i & 1))
            n = copse_term_filter(table, &copse_terms(conjunction)[i], rows, n);
    return n;
}
