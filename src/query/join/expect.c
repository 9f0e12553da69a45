/* How many pairs a join is thought to have, from cells at equal distances. */
#include "query/join/join.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLE 1024u

/* Of cells that are not NULL. */
typedef struct sample {
    uint64_t hashes[SAMPLE]; /* ascending */
    double numbers[SAMPLE];  /* ascending; of a band */
    uint64_t n;
    double rows;     /* of the column that have a value */
    double distinct; /* values of the column */
} sample;

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Values that the sample has once stand for as many as the square root of its share says, the others are all there are of them: no estimate
 * from so few can be wrong by a smaller factor at worst (Charikar and others, 2000). */
static double count_distinct(const sample *s)
{
    double once = 0, more = 0;
    for (uint64_t i = 0, end = 0; i < s->n; i = end) {
        for (end = i + 1; end < s->n && s->hashes[end] == s->hashes[i];) end++;
        once += end - i == 1;
        more += end - i > 1;
    }
    return sqrt(s->rows / (double)s->n) * once + more;
}

static void take(const copse_table *table, const copse_stored_column *column, bool band, sample *out)
{
    const uint64_t step = table->slots / SAMPLE + 1;
    uint64_t looked_at = 0;
    out->n = 0;
    for (uint64_t i = 0; i < table->slots; i += step, looked_at++) {
        const uint32_t row = (uint32_t)i;
        copse_cells_touch(column, &row, 1);
        if (!copse_row_lives(table, i) || !copse_cell_valid(column, i)) continue;
        if (band) out->numbers[out->n] = copse_cell_float(column, i);
        if (!copse_column_is_text(column)) {
            out->hashes[out->n++] = copse_mix(copse_cell_code(column, i));
            continue;
        }
        copse_slice text = copse_cell_text(column, i);
        out->hashes[out->n++] = copse_text_hash(text, copse_slice_prefix(text));
    }
    qsort(out->hashes, out->n, sizeof *out->hashes, by_hash);
    if (band) qsort(out->numbers, out->n, sizeof *out->numbers, by_value);
    out->rows = looked_at ? (double)table->slots * (double)out->n / (double)looked_at : 0;
    out->distinct = out->n ? count_distinct(out) : 0;
}

static double number_of(copse_value value)
{
    if (value.type == COPSE_F64) return value.as.f64;
    return value.type == COPSE_U64 ? (double)value.as.u64 : (double)value.as.i64;
}

/* Numbers of the right sample near those of the left one: both ascend, and so do the ends. */
static double near(const sample *left, const sample *right, double below, double above)
{
    uint64_t low = 0, high = 0, pairs = 0;
    for (uint64_t i = 0; i < left->n; i++) {
        while (low < right->n && right->numbers[low] < left->numbers[i] - below) low++;
        while (high < right->n && right->numbers[high] <= left->numbers[i] + above) high++;
        pairs += high > low ? high - low : 0;
    }
    if (pairs == 0) return 0;
    return (double)pairs * (left->rows / (double)left->n) * (right->rows / (double)right->n);
}

/* The values of the side that has fewer are thought to be among those of the other one. */
static double expect(const copse_joined *join, const sample *left, const sample *right)
{
    const copse_join_options *options = &join->options;
    const double all = (double)join->left->live;
    double partner = left->distinct > right->distinct ? right->distinct / left->distinct : right->n > 0;
    double alone = all - left->rows * partner, most = fmax(left->distinct, right->distinct);
    double pairs = most > 0 ? left->rows * right->rows / most : 0;
    if (options->kind == COPSE_JOIN_ASOF) return all;
    if (options->kind == COPSE_JOIN_BAND)
        return near(left, right, number_of(options->below), number_of(options->above));
    if (options->kind == COPSE_JOIN_SEMI) return all - alone;
    if (options->kind == COPSE_JOIN_ANTI) return alone;
    return options->kind == COPSE_JOIN_LEFT ? pairs + alone : pairs;
}

copse_status copse_join_expected(const copse_table *left, const copse_table *right, const copse_join_options *options,
                                 uint64_t *out_pairs)
{
    copse_joined join;
    copse_status status = copse_join_begin("copse_join_expected", left, right, options, &join);
    if (status == COPSE_OK && !out_pairs) status = copse_fail_null(left->ctx, "copse_join_expected", "out_pairs");
    const bool band = status == COPSE_OK && join.options.kind == COPSE_JOIN_BAND;
    if (band && copse_column_is_text(&left->columns[join.left_on])) status = copse_join_band(&join); /* says why not */
    sample *samples = status == COPSE_OK ? copse_memory_alloc(left->ctx, 2 * sizeof *samples) : NULL;
    if (status == COPSE_OK && !samples) status = copse_no_memory(left->ctx, 2 * sizeof *samples, "a sample of a join");
    if (samples && out_pairs) {
        take(left, &left->columns[join.left_on], band, &samples[0]);
        take(right, &right->columns[join.right_on], band, &samples[1]);
        *out_pairs = (uint64_t)llround(expect(&join, &samples[0], &samples[1]));
        copse_memory_free(left->ctx, samples, 2 * sizeof *samples);
    }
    copse_join_end(&join);
    return status;
}
