/* Several columns as one key of bytes.
 *
 *   (Oslo, 7, NULL)   ->   1 O s l o 0 0   1 80 00 00 07   0
 *
 * A byte says whether there is a value: NULL comes first. Numbers are their codes, the most significant byte first. A text ends in two
 * zeros, and a zero inside of it is followed by 255, so that no text is the beginning of another. */
#include "query/index/index.h"

unsigned char *copse_composite_code(unsigned char *to, uint64_t code, uint32_t width)
{
    *to++ = 1;
    for (uint32_t i = width; i-- > 0;) *to++ = (unsigned char)(code >> (8 * i));
    return to;
}

unsigned char *copse_composite_text(unsigned char *to, copse_slice text)
{
    *to++ = 1;
    for (size_t i = 0; i < text.length; i++) {
        *to++ = text.start[i];
        if (text.start[i] == 0) *to++ = 0xFF;
    }
    *to++ = 0;
    *to++ = 0;
    return to;
}

size_t copse_composite_text_room(size_t length)
{
    return 2 * length + 3;
}

size_t copse_composite_room(const copse_stored_column *column, uint64_t row)
{
    if (!column || !copse_cell_valid(column, row)) return 1;
    return copse_column_is_text(column) ? copse_composite_text_room(copse_cell_text(column, row).length)
                                        : 1 + column->width;
}

unsigned char *copse_composite_cell(unsigned char *to, const copse_stored_column *column, uint64_t row)
{
    if (!column || !copse_cell_valid(column, row)) {
        *to++ = 0;
        return to;
    }
    return copse_column_is_text(column) ? copse_composite_text(to, copse_cell_text(column, row))
                                        : copse_composite_code(to, copse_cell_code(column, row), column->width);
}
