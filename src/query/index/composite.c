/* Several columns as one key of bytes: core/fields.h, each of them a field that may be NULL. */
#include "query/index/index.h"

#include "core/fields.h"

unsigned char *copse_composite_code(unsigned char *to, uint64_t code, uint32_t width)
{
    *to++ = 1;
    return copse_field_put_code(to, code, width);
}

unsigned char *copse_composite_text(unsigned char *to, copse_slice text)
{
    *to++ = 1;
    return copse_field_put_text(to, text);
}

size_t copse_composite_text_room(size_t length)
{
    return 1 + copse_field_text_room(length);
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
