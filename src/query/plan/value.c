/* What a value means in a column: its place among the codes. */
#include "query/plan/plan.h"

#include "io/cells.h"

#include <math.h>

/* ---- the ends of a type ---- */

uint64_t copse_smallest_code(const copse_stored_column *column)
{
    if (column->type == COPSE_F64) return copse_encode_f64(UINT64_C(0xfff0000000000000)); /* -inf */
    if (column->type == COPSE_F32) return copse_encode_f32(0xff800000u);
    return 0;
}

uint64_t copse_largest_code(const copse_stored_column *column)
{
    if (column->type == COPSE_F64) return copse_encode_f64(UINT64_C(0x7ff0000000000000)); /* inf */
    if (column->type == COPSE_F32) return copse_encode_f32(0x7f800000u);
    if (column->width == 1) return 1;
    return column->width == 4 ? UINT32_MAX : UINT64_MAX;
}

/* ---- numbers ---- */

static uint64_t code_of_bits(const copse_stored_column *column, uint64_t bits)
{
    if (column->width == 8) return copse_encode_one_k64((copse_type)column->type, bits);
    if (column->width == 4) return copse_encode_one_k32((copse_type)column->type, (uint32_t)bits);
    return bits;
}

static bool is_signed(const copse_stored_column *column)
{
    return column->type != COPSE_U32 && column->type != COPSE_U64 && column->type != COPSE_BOOL;
}

/* No bool and no day. */
static bool is_number(const copse_stored_column *column)
{
    return column->type != COPSE_BOOL && column->type != COPSE_DATE && column->type != COPSE_TIMESTAMP;
}

static copse_position place_whole(const copse_stored_column *column, copse_wide number)
{
    unsigned bits = column->width == 1 ? 1 : column->width * 8u;
    copse_wide least = is_signed(column) ? -((copse_wide)1 << (bits - 1)) : 0;
    copse_wide most = is_signed(column) ? -least - 1 : ((copse_wide)1 << bits) - 1;
    if (number < least) return (copse_position){copse_smallest_code(column), false, false};
    if (number > most) return (copse_position){copse_largest_code(column), false, true};
    return (copse_position){code_of_bits(column, (uint64_t)number), true, false};
}

static copse_position place_float(const copse_stored_column *column, double number)
{
    uint64_t bits;
    if (column->type == COPSE_F64) {
        memcpy(&bits, &number, sizeof bits);
        return (copse_position){copse_encode_f64(bits), true, false};
    }
    float nearest = (float)number;
    uint32_t bits32;
    memcpy(&bits32, &nearest, sizeof bits32);
    copse_position at = {copse_encode_f32(bits32), (double)nearest == number, false};
    if ((double)nearest < number) at.code++; /* the largest is infinity, which is not smaller than any number */
    return at;
}

/* A floating number among whole ones: 1.5 lies between 1 and 2. */
static copse_position place_between(const copse_stored_column *column, double number)
{
    const double up = ceil(number);
    copse_wide whole = (copse_wide)1 << 64; /* larger than any cell */
    if (up < 0x1p64) whole = up > -0x1p64 ? (copse_wide)up : -whole;
    copse_position at = place_whole(column, whole);
    at.exact = at.exact && up == number;
    return at;
}

/* ---- values ---- */

static copse_status unfit(const copse_query *query, const copse_stored_column *column, const char *what)
{
    return copse_fail(query->ctx, COPSE_ERR_TYPE, "column \"%.40s\" (%s) cannot be compared with %s", column->name,
                      copse_column_type_name(column->type), what);
}

static copse_status place_f64(const copse_query *query, const copse_stored_column *column, double number,
                              copse_position *out)
{
    if (isnan(number)) return copse_fail(query->ctx, COPSE_ERR_NAN, "column \"%.40s\": NaN has no order", column->name);
    if (copse_column_is_float(column))
        *out = place_float(column, number);
    else if (is_number(column))
        *out = place_between(column, number);
    else
        return unfit(query, column, "a floating number");
    return COPSE_OK;
}

/* Whole numbers compared with floats: doubles hold those up to 2^53. */
static copse_status place_number(const copse_query *query, const copse_stored_column *column, copse_wide number,
                                 copse_position *out)
{
    if (!copse_column_is_float(column)) {
        *out = place_whole(column, number);
        return COPSE_OK;
    }
    double rounded = (double)number;
    if ((copse_wide)rounded != number)
        return copse_fail(query->ctx, COPSE_ERR_TYPE,
                          "column \"%.40s\" (%s): the whole number has more digits than floats hold", column->name,
                          copse_column_type_name(column->type));
    *out = place_float(column, rounded);
    return COPSE_OK;
}

static copse_status parse_bool(const copse_query *query, const copse_stored_column *column, copse_value value,
                               copse_position *out)
{
    static const char *const words[] = {"false", "true", "0", "1"};
    for (unsigned i = 0; i < 4; i++)
        if (value.size == strlen(words[i]) && memcmp(words[i], value.as.text, value.size) == 0) {
            *out = place_whole(column, i % 2);
            return COPSE_OK;
        }
    return copse_fail_argument(query->ctx, "value", "column \"%.40s\" (bool): \"%.*s\" is not true or false",
                               column->name, (int)(value.size < 40 ? value.size : 40), value.as.text);
}

static copse_status place_text(const copse_query *query, const copse_stored_column *column, copse_value value,
                               bool ends, copse_position *out)
{
    char text[64];
    uint64_t cell = 0;
    if (column->type == COPSE_BOOL) return parse_bool(query, column, value, out);
    copse_type type = (copse_type)column->type;
    copse_cell_error error = COPSE_CELL_FORM;
    if (value.size < sizeof text) {
        memcpy(text, value.as.text, value.size);
        text[value.size] = '\0';
        error = ends ? copse_cell_parse_end(type, text, value.size, &cell)
                     : copse_cell_parse(type, text, value.size, &cell);
    }
    double number = 0;
    /* 1.5, 1e3, or more digits than the type has: what no cell says may be compared all the same. */
    if (error != COPSE_CELL_OK && is_number(column) && !copse_column_is_float(column) && value.size < sizeof text &&
        copse_cell_parse(COPSE_F64, text, value.size, &number) == COPSE_CELL_OK && isfinite(number))
        return place_f64(query, column, number, out);
    if (error != COPSE_CELL_OK)
        return copse_fail_argument(query->ctx, "value", "column \"%.40s\" (%s): \"%.*s\" %s", column->name,
                                   copse_column_type_name(column->type), (int)(value.size < 40 ? value.size : 40),
                                   value.as.text, copse_cell_problem(type, error));
    if (copse_cell_is_nan(type, &cell))
        return copse_fail(query->ctx, COPSE_ERR_NAN, "column \"%.40s\": NaN has no order", column->name);
    *out = (copse_position){code_of_bits(column, cell), true, false};
    return COPSE_OK;
}

copse_status copse_value_position(const copse_query *query, const copse_stored_column *column, copse_value value,
                                  bool ends, copse_position *out)
{
    switch (value.type) {
    case COPSE_I64:
        return place_number(query, column, value.as.i64, out);
    case COPSE_U64:
        return place_number(query, column, value.as.u64, out);
    case COPSE_F64:
        return place_f64(query, column, value.as.f64, out);
    case COPSE_BYTES:
        return place_text(query, column, value, ends, out);
    case 0:
        return unfit(query, column, "NULL; COPSE_IS_NULL asks for it");
    default:
        return copse_fail_argument(query->ctx, "value",
                                   "column \"%.40s\": %u is not the type of a value (i64, u64, f64, string)",
                                   column->name, value.type);
    }
}
