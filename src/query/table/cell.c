/* One cell as a number, a value, or compared with another. */
#include "query/table/table.h"

void copse_code_store(const copse_stored_column *column, uint64_t code, void *out)
{
    copse_type type = (copse_type)column->type;
    if (column->width == 8)
        copse_decode_k64(type, code, out, 0);
    else if (column->width == 4)
        copse_decode_k32(type, (uint32_t)code, out, 0);
    else
        *(uint8_t *)out = (uint8_t)code;
}

copse_wide copse_cell_whole(const copse_stored_column *column, uint64_t row)
{
    const void *cells = column->cells.data;
    switch (column->type) {
    case COPSE_U32:
        return ((const uint32_t *)cells)[row];
    case COPSE_U64:
        return ((const uint64_t *)cells)[row];
    case COPSE_I32:
    case COPSE_DATE:
        return ((const int32_t *)cells)[row];
    case COPSE_BOOL:
        return ((const uint8_t *)cells)[row];
    default:
        return ((const int64_t *)cells)[row];
    }
}

double copse_cell_float(const copse_stored_column *column, uint64_t row)
{
    if (column->type == COPSE_F32) return (double)((const float *)column->cells.data)[row];
    if (column->type == COPSE_F64) return ((const double *)column->cells.data)[row];
    return (double)copse_cell_whole(column, row);
}

copse_value copse_cell_value(const copse_stored_column *column, uint64_t row)
{
    if (row == COPSE_ROW_NONE || !copse_cell_valid(column, row)) return copse_value_null();
    if (copse_column_is_text(column)) {
        copse_slice text = copse_cell_text(column, row);
        return copse_value_text((const char *)text.start, (uint32_t)text.length);
    }
    if (copse_column_is_float(column)) return copse_value_f64(copse_cell_float(column, row));
    if (column->type == COPSE_U32 || column->type == COPSE_U64)
        return copse_value_u64((uint64_t)copse_cell_whole(column, row));
    return copse_value_i64((int64_t)copse_cell_whole(column, row));
}

int copse_cell_compare(const copse_stored_column *a, uint64_t row_a, const copse_stored_column *b, uint64_t row_b)
{
    bool valid_a = copse_cell_valid(a, row_a), valid_b = copse_cell_valid(b, row_b);
    if (!valid_a || !valid_b) return (int)valid_a - (int)valid_b;
    if (copse_column_is_text(a)) return copse_slice_compare(copse_cell_text(a, row_a), copse_cell_text(b, row_b));
    uint64_t code_a = copse_cell_code(a, row_a), code_b = copse_cell_code(b, row_b);
    return (code_a > code_b) - (code_a < code_b);
}
