/* Conditions as one range of an index of several columns: equal in the first ones, between two ends in the next. */
#include "core/fields.h"
#include "query/plan/plan.h"

static uint32_t find_range(const copse_conjunction *conjunction, uint32_t column)
{
    for (uint32_t i = 0; i < conjunction->count && i < COPSE_MOST_DRIVING; i++) {
        const copse_term *term = &copse_terms(conjunction)[i];
        if (term->kind == COPSE_TERM_RANGE && term->column == column && !term->empty) return i;
    }
    return UINT32_MAX;
}

static bool is_one_value(const copse_term *term)
{
    if (!term->is_text) return term->low == term->high;
    return term->low_text.given && term->high_text.given && !term->low_text.open && !term->high_text.open &&
           copse_slice_compare(term->low_text.text, term->high_text.text) == 0;
}

static size_t room_for(const copse_term *term)
{
    size_t low = term->low_text.text.length, high = term->high_text.text.length;
    return term->is_text ? copse_composite_text_room(low > high ? low : high) : 1 + sizeof(uint64_t);
}

/* Puts the ends of a term behind the equal columns, which are `at` bytes of both. The first byte is 0 or 1, so that there is always a key
 * behind. The low end is in the range, the high end is not. */
static void put_ends(const copse_table *table, const copse_term *term, unsigned char *low, unsigned char *high,
                     size_t at, size_t *low_size, size_t *high_size)
{
    uint32_t width = table->columns[term->column].width;
    bool any_low = term->is_text && !term->low_text.given, any_high = term->is_text && !term->high_text.given;
    unsigned char *low_end = low + at, *high_end = high + at;
    *low_end = *high_end = 1; /* not NULL */
    if (any_low)
        low_end++;
    else
        low_end = term->is_text ? copse_composite_text(low_end, term->low_text.text)
                                : copse_composite_code(low_end, term->low, width);
    if (any_high)
        high_end++;
    else
        high_end = term->is_text ? copse_composite_text(high_end, term->high_text.text)
                                 : copse_composite_code(high_end, term->high, width);
    *low_size = (size_t)(low_end - low);
    *high_size = (size_t)(high_end - high);
    if (!any_low && term->is_text && term->low_text.open) *low_size = copse_field_after(low, *low_size);
    if (any_high || !term->is_text || !term->high_text.open) *high_size = copse_field_after(high, *high_size);
}

static copse_status reserve(const copse_ctx *ctx, copse_term_ranges *out, size_t room)
{
    copse_status status = copse_buffer_reserve(ctx, &out->lows, room, 1, "the ranges of a condition");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &out->highs, room, 1, "the ranges of a condition");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &out->low_offsets, 2, sizeof(int64_t), "the ranges of a condition");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, &out->high_offsets, 2, sizeof(int64_t), "the ranges of a condition");
    return status;
}

static copse_bytes as_key(const copse_buffer *text, copse_buffer *offsets, size_t size)
{
    int64_t *offset = offsets->data;
    offset[0] = 0;
    offset[1] = (int64_t)size;
    copse_bytes bytes = COPSE_BYTES_INIT(text->data, (uint64_t)offset[1], offset, 64);
    return bytes;
}

copse_status copse_composite_ranges(const copse_table *table, const copse_conjunction *conjunction,
                                    const copse_stored_index *index, copse_term_ranges *out, uint64_t *out_driving)
{
    uint32_t used[COPSE_MOST_KEY_COLUMNS], count = 0;
    size_t room = 0, at = 0, low_size = 0, high_size = 0;
    *out_driving = 0;
    while (count < index->column_count) {
        used[count] = find_range(conjunction, index->columns[count]);
        if (used[count] == UINT32_MAX) break;
        const copse_term *term = &copse_terms(conjunction)[used[count++]];
        room += room_for(term);
        if (!is_one_value(term)) break;
    }
    if (count == 0) return COPSE_OK;
    copse_status status = reserve(table->ctx, out, room);
    if (status != COPSE_OK) return status;
    for (uint32_t i = 0; i < count; i++) {
        const copse_term *term = &copse_terms(conjunction)[used[i]];
        *out_driving |= UINT64_C(1) << used[i];
        if (i + 1 == count) {
            put_ends(table, term, out->lows.data, out->highs.data, at, &low_size, &high_size);
            break;
        }
        unsigned char *low = out->lows.data, *end = low + at;
        end = term->is_text ? copse_composite_text(end, term->low_text.text)
                            : copse_composite_code(end, term->low, table->columns[term->column].width);
        memcpy((char *)out->highs.data + at, low + at, (size_t)(end - low) - at);
        at = (size_t)(end - low);
    }
    if (low_size > COPSE_LONGEST_KEY || high_size > COPSE_LONGEST_KEY) {
        *out_driving = 0; /* no index takes such keys; other ways do */
        return COPSE_OK;
    }
    out->low_bytes = as_key(&out->lows, &out->low_offsets, low_size);
    out->high_bytes = as_key(&out->highs, &out->high_offsets, high_size);
    copse_ranges ranges = COPSE_BETWEEN(&out->low_bytes, &out->high_bytes, 1);
    ranges.flags |= COPSE_RANGE_HIGH_OPEN;
    out->ranges = ranges;
    return COPSE_OK;
}
