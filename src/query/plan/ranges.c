/* A term as ranges of an index. */
#include "query/plan/plan.h"

void copse_term_ranges_free(const copse_ctx *ctx, copse_term_ranges *ranges)
{
    copse_buffer_free(ctx, &ranges->lows);
    copse_buffer_free(ctx, &ranges->highs);
    copse_buffer_free(ctx, &ranges->low_offsets);
    copse_buffer_free(ctx, &ranges->high_offsets);
}

/* Bools are keys of 32 bits. */
static void store_key(const copse_stored_column *column, uint64_t code, void *keys, uint64_t at)
{
    if (column->width == 1)
        ((uint32_t *)keys)[at] = (uint32_t)code;
    else
        copse_code_store(column, code, (char *)keys + at * column->width);
}

static copse_status make_codes(const copse_ctx *ctx, const copse_stored_column *column, const copse_term *term,
                               copse_term_ranges *out)
{
    bool list = term->kind == COPSE_TERM_LIST;
    uint64_t n = list ? term->count : 1;
    copse_status status = copse_buffer_reserve(ctx, &out->lows, n, 8, "the ranges of a condition");
    if (status == COPSE_OK) status = copse_buffer_reserve(ctx, &out->highs, n, 8, "the ranges of a condition");
    if (status != COPSE_OK) return status;
    for (uint64_t i = 0; i < n; i++) {
        store_key(column, list ? term->codes[i] : term->low, out->lows.data, i);
        store_key(column, list ? term->codes[i] : term->high, out->highs.data, i);
    }
    copse_ranges ranges = COPSE_BETWEEN(out->lows.data, out->highs.data, n);
    out->ranges = ranges;
    return COPSE_OK;
}

static copse_status make_bytes(const copse_ctx *ctx, const copse_slice *texts, uint64_t n, copse_buffer *text,
                               copse_buffer *offsets, copse_bytes *out)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < n; i++) bytes += texts[i].length;
    copse_status status = copse_buffer_reserve(ctx, text, bytes + 1, 1, "the ranges of a condition");
    if (status == COPSE_OK)
        status = copse_buffer_reserve(ctx, offsets, n + 1, sizeof(int64_t), "the ranges of a condition");
    if (status != COPSE_OK) return status;
    int64_t *offset = offsets->data;
    offset[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        memcpy((char *)text->data + offset[i], texts[i].start, texts[i].length);
        offset[i + 1] = offset[i] + (int64_t)texts[i].length;
    }
    copse_bytes made = COPSE_BYTES_INIT(text->data, bytes, offset, 64);
    *out = made;
    return COPSE_OK;
}

static copse_status make_texts(const copse_ctx *ctx, const copse_term *term, copse_term_ranges *out)
{
    bool list = term->kind == COPSE_TERM_LIST;
    uint64_t n = list ? term->count : 1;
    copse_status status = COPSE_OK;
    copse_ranges ranges = COPSE_BETWEEN(NULL, NULL, n);
    if (list || term->low_text.given) {
        status = make_bytes(ctx, list ? term->texts : &term->low_text.text, n, &out->lows, &out->low_offsets,
                            &out->low_bytes);
        ranges.lows = &out->low_bytes;
        if (!list && term->low_text.open) ranges.flags |= COPSE_RANGE_LOW_OPEN;
    }
    if (status == COPSE_OK && (list || term->high_text.given)) {
        status = make_bytes(ctx, list ? term->texts : &term->high_text.text, n, &out->highs, &out->high_offsets,
                            &out->high_bytes);
        ranges.highs = &out->high_bytes;
        if (!list && term->high_text.open) ranges.flags |= COPSE_RANGE_HIGH_OPEN;
    }
    out->ranges = ranges;
    return status;
}

copse_status copse_term_ranges_make(const copse_table *table, const copse_term *term, copse_term_ranges *out)
{
    return term->is_text ? make_texts(table->ctx, term, out)
                         : make_codes(table->ctx, &table->columns[term->column], term, out);
}

copse_status copse_driver_ranges(const copse_table *table, const copse_conjunction *conjunction, copse_term_ranges *out)
{
    uint64_t driving = 0;
    if (copse_index_is_composite(conjunction->driver))
        return copse_composite_ranges(table, conjunction, conjunction->driver, out, &driving);
    return copse_term_ranges_make(table, &copse_terms(conjunction)[__builtin_ctzll(conjunction->driving)], out);
}
