/* Joins of equal keys where those of the right side lie close together: an array has a place for each key that could be.
 *
 *   right.on   5 7 5 9         first   | 0 | - | 1 | - | 3 |     by key - 5: the first row with that key
 *   rows       0 1 2 3         next    | 2 | - | - | - |         by row: the next one with the same key; not there where keys are
 *                                                                unique
 */
#include "query/join/join.h"

#include "core/threads.h"

/* Keys are close together where there are not more places than so many for each right row, and some for small tables. */
#define PLACES_PER_ROW 8u
#define FEW_PLACES     4096u
/* The array is made of all right rows; lookups in an index are worth it where these are so many more than the left ones. */
#define RIGHT_SHARE 16u

typedef struct direct {
    copse_joined *join;
    const copse_stored_column *left, *right;
    uint64_t base; /* the smallest key, as a cell */
    uint64_t places;
    copse_buffer first, next;
    /* Of each block of left rows: its totals, or how many pairs it has. */
    copse_join_total *totals;
    uint64_t *kept;
    copse_polled polled;
} direct;

bool copse_column_is_whole(const copse_stored_column *column)
{
    return !copse_column_is_text(column) && !copse_column_is_float(column);
}

static bool is_used(const copse_table *table, const copse_stored_column *column, uint64_t row)
{
    return copse_row_lives(table, row) && copse_cell_valid(column, row);
}

/* Of no rows: the lowest is above the highest. */
typedef struct span {
    uint64_t low, high;
} span;

/* All cells of a step have a value: no branch inside, so that the compiler can take wide instructions. */
#define WIDEN(type, sign)                                                                                              \
    do {                                                                                                               \
        const type *cells = (const type *)column->cells.data + begin;                                                  \
        type low = (type)-1, high = 0;                                                                                 \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            type code = cells[i] ^ (sign);                                                                             \
            low = code < low ? code : low;                                                                             \
            high = code > high ? code : high;                                                                          \
        }                                                                                                              \
        s->low = low < s->low ? low : s->low;                                                                          \
        s->high = high > s->high ? high : s->high;                                                                     \
    } while (0)

static void widen_plain(const copse_stored_column *column, uint64_t begin, uint64_t n, span *s)
{
    const bool is_unsigned = column->type == COPSE_U32 || column->type == COPSE_U64;
    if (column->width == 8)
        WIDEN(uint64_t, is_unsigned ? 0 : UINT64_C(1) << 63);
    else
        WIDEN(uint32_t, is_unsigned ? 0 : 0x80000000u);
}

static void widen(const copse_table *table, const copse_stored_column *column, uint64_t begin, uint64_t n, span *s)
{
    if (!table->alive.data && column->nulls == 0 && column->width >= 4 && copse_column_is_whole(column)) {
        widen_plain(column, begin, n, s);
        return;
    }
    for (uint64_t i = begin; i < begin + n; i++) {
        if (!is_used(table, column, i)) continue;
        uint64_t code = copse_cell_code(column, i);
        s->low = code < s->low ? code : s->low;
        s->high = code > s->high ? code : s->high;
    }
}

typedef struct span_job {
    const copse_table *table;
    const copse_stored_column *column;
    uint64_t most;
    uint64_t low, not_high; /* of all threads */
} span_job;

static bool is_too_wide(const span *s, uint64_t most)
{
    return s->low <= s->high && s->high - s->low > most;
}

static void widen_chunk(void *user, uint64_t first, uint64_t end)
{
    span_job *job = user;
    span s = {__atomic_load_n(&job->low, __ATOMIC_RELAXED), ~__atomic_load_n(&job->not_high, __ATOMIC_RELAXED)};
    for (uint64_t begin = first; begin < end && !is_too_wide(&s, job->most); begin += COPSE_JOIN_STEP)
        widen(job->table, job->column, begin, end - begin < COPSE_JOIN_STEP ? end - begin : COPSE_JOIN_STEP, &s);
    copse_note_least(&job->low, s.low);
    copse_note_least(&job->not_high, ~s.high);
}

bool copse_column_span(const copse_table *table, const copse_stored_column *column, uint64_t most, uint64_t *out_least,
                       uint64_t *out_most)
{
    span_job job = {table, column, most, UINT64_MAX, UINT64_MAX};
    const uint32_t threads = copse_threads_for(table->ctx, table->slots);
    if (table->slots > 0)
        copse_parallel(table->ctx, threads, table->slots, copse_even_chunk(table->slots, threads), widen_chunk, &job);
    const span s = {job.low, ~job.not_high};
    *out_least = s.low;
    *out_most = s.high;
    return s.low <= s.high && !is_too_wide(&s, most);
}

/* ---- the array ---- */

/* Cells as far from the smallest key as unsigned numbers are from each other: the sign, which codes turn over, cancels out. */
static inline uint64_t place_of(const direct *d, const copse_stored_column *column, uint64_t row)
{
    const void *cells = column->cells.data;
    if (column->width == 8) return ((const uint64_t *)cells)[row] - d->base;
    if (column->width == 4) return (uint32_t)(((const uint32_t *)cells)[row] - (uint32_t)d->base);
    return (uint8_t)(((const uint8_t *)cells)[row] - (uint8_t)d->base);
}

static copse_status make_next(direct *d)
{
    uint64_t slots = d->join->right->slots;
    copse_status status =
        copse_buffer_reserve(d->join->left->ctx, &d->next, slots, sizeof(uint32_t), "the rows of a join");
    if (status == COPSE_OK) memset(d->next.data, 0xFF, slots * sizeof(uint32_t)); /* COPSE_ROW_NONE */
    return status;
}

/* From the last row to the first, so that rows of a key ascend. Semi and anti joins ask for one row of a key only. */
static copse_status fill(direct *d)
{
    uint32_t *first = d->first.data;
    const bool chains = d->join->options.kind <= COPSE_JOIN_LEFT;
    for (uint64_t row = d->join->right->slots; row-- > 0;) {
        copse_status status =
            copse_poll(d->join->left->ctx, "joining", d->join->right->slots - row - 1, d->join->right->slots);
        if (status != COPSE_OK) return status;
        if (!is_used(d->join->right, d->right, row)) continue;
        uint64_t place = place_of(d, d->right, row);
        if (chains && first[place] != COPSE_ROW_NONE && !d->next.data) {
            status = make_next(d);
            if (status != COPSE_OK) return status;
        }
        if (d->next.data) ((uint32_t *)d->next.data)[row] = first[place];
        first[place] = (uint32_t)row;
    }
    return COPSE_OK;
}

static bool is_worth_it(const copse_joined *join)
{
    const copse_table *right = join->right;
    if (join->options.kind > COPSE_JOIN_ANTI || !copse_column_is_whole(&right->columns[join->right_on])) return false;
    return right->live / RIGHT_SHARE <= join->left->live || !copse_index_on(right, join->right_on, COPSE_NO_COLUMN);
}

static copse_status make(direct *d, bool *out_made)
{
    const copse_joined *join = d->join;
    uint64_t low = 0, high = 0;
    *out_made = false;
    copse_cells_touch(d->right, NULL, join->right->slots);
    if (!copse_column_span(join->right, d->right, PLACES_PER_ROW * join->right->live + FEW_PLACES, &low, &high))
        return COPSE_OK;
    copse_code_store(d->right, low, &d->base);
    d->places = high - low + 1;
    copse_status status =
        copse_buffer_reserve(join->left->ctx, &d->first, d->places, sizeof(uint32_t), "the keys of a join");
    if (status != COPSE_OK) return status;
    memset(d->first.data, 0xFF, d->places * sizeof(uint32_t)); /* COPSE_ROW_NONE */
    *out_made = true;
    return fill(d);
}

/* ---- probes ---- */

/* The first right row for each of n left rows. */
static void look_up(const direct *d, uint64_t from, uint64_t n, uint32_t *out)
{
    const uint32_t *first = d->first.data;
    const uint64_t places = d->places;
    if (d->left->width == 8) {
        const uint64_t *cells = (const uint64_t *)d->left->cells.data + from;
        for (uint64_t i = 0; i < n; i++)
            out[i] = cells[i] - d->base < places ? first[cells[i] - d->base] : COPSE_ROW_NONE;
    } else if (d->left->width == 4) {
        const uint32_t *cells = (const uint32_t *)d->left->cells.data + from, base = (uint32_t)d->base;
        for (uint64_t i = 0; i < n; i++)
            out[i] = (uint32_t)(cells[i] - base) < places ? first[(uint32_t)(cells[i] - base)] : COPSE_ROW_NONE;
    } else {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t place = place_of(d, d->left, from + i);
            out[i] = place < places ? first[place] : COPSE_ROW_NONE;
        }
    }
    for (uint64_t i = 0; d->left->nulls > 0 && i < n; i++)
        if (!copse_cell_valid(d->left, from + i)) out[i] = COPSE_ROW_NONE;
}

/* Whether a left row may have more than one pair. */
static bool has_chains(const direct *d)
{
    return d->next.data;
}

/* Pairs of left rows from .. from + n - 1, at most one for each; right[] holds what look_up found and is packed in place. */
static uint64_t pair_one_each(const direct *d, uint64_t from, uint64_t n, uint32_t *left, uint32_t *right)
{
    const uint32_t kind = d->join->options.kind;
    const copse_table *table = d->join->left;
    const bool with = kind != COPSE_JOIN_ANTI, without = kind == COPSE_JOIN_LEFT || kind == COPSE_JOIN_ANTI;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t partner = right[i];
        left[kept] = (uint32_t)(from + i);
        right[kept] = partner;
        kept += copse_row_lives(table, from + i) && (partner != COPSE_ROW_NONE ? with : without);
    }
    return kept;
}

/* ---- totals ---- */

typedef struct step {
    uint32_t left[COPSE_JOIN_STEP], right[COPSE_JOIN_STEP], found[COPSE_JOIN_STEP];
    uint64_t n;
} step;

static void add_chains(const direct *d, uint64_t from, uint64_t n, step *s, copse_join_total *block)
{
    const uint32_t *next = d->next.data;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t partner = s->found[i];
        if (!copse_row_lives(d->join->left, from + i)) continue;
        if (partner == COPSE_ROW_NONE && d->join->options.kind != COPSE_JOIN_LEFT) continue;
        do {
            s->left[s->n] = (uint32_t)(from + i);
            s->right[s->n++] = partner;
            if (s->n == COPSE_JOIN_STEP) {
                copse_join_totals_add(d->join->totals, block, s->left, s->right, s->n);
                s->n = 0;
            }
            if (partner != COPSE_ROW_NONE) partner = next[partner];
        } while (partner != COPSE_ROW_NONE);
    }
    copse_join_totals_add(d->join->totals, block, s->left, s->right, s->n);
    s->n = 0;
}

static void add_block(direct *d, uint64_t begin, uint64_t end, copse_join_total *block)
{
    step s = {.n = 0};
    for (uint64_t from = begin; from < end; from += COPSE_JOIN_STEP) {
        uint64_t n = end - from < COPSE_JOIN_STEP ? end - from : COPSE_JOIN_STEP;
        if ((from == begin || has_chains(d)) && !copse_polled_goes_on(&d->polled, from)) return;
        if (has_chains(d)) {
            look_up(d, from, n, s.found);
            add_chains(d, from, n, &s, block);
        } else {
            look_up(d, from, n, s.right);
            n = pair_one_each(d, from, n, s.left, s.right);
            copse_join_totals_add(d->join->totals, block, s.left, s.right, n);
        }
    }
}

static void add_blocks(void *job, uint64_t first, uint64_t last)
{
    direct *d = job;
    for (uint64_t begin = first; begin < last; begin += COPSE_JOIN_BLOCK) {
        copse_join_total *block = d->totals + begin / COPSE_JOIN_BLOCK * d->join->totals->count;
        copse_join_totals_clear(block, d->join->totals->count);
        add_block(d, begin, begin + COPSE_JOIN_BLOCK < last ? begin + COPSE_JOIN_BLOCK : last, block);
    }
}

static copse_status run_blocks(direct *d, copse_chunk_fn body)
{
    const copse_table *left = d->join->left;
    return copse_parallel_polled(&d->polled, left->ctx, "joining", left->slots, COPSE_JOIN_BLOCK, body, d);
}

static copse_status total(direct *d)
{
    const copse_ctx *ctx = d->join->left->ctx;
    copse_join_totals *totals = d->join->totals;
    uint64_t blocks = d->join->left->slots / COPSE_JOIN_BLOCK + 1;
    copse_buffer memory = {0};
    copse_status status =
        copse_buffer_reserve(ctx, &memory, blocks * totals->count, sizeof(copse_join_total), "the totals of a join");
    if (status != COPSE_OK) return status;
    d->totals = memory.data;
    status = run_blocks(d, add_blocks);
    for (uint64_t row = 0; status == COPSE_OK && row < d->join->left->slots; row += COPSE_JOIN_BLOCK)
        copse_join_totals_merge(totals, totals->sums, d->totals + row / COPSE_JOIN_BLOCK * totals->count);
    copse_buffer_free(ctx, &memory);
    return status;
}

/* ---- pairs ---- */

/* Each block writes where its first row would be alone. */
static void pair_blocks(void *job, uint64_t first, uint64_t last)
{
    direct *d = job;
    uint64_t *left = d->join->pairs->left.data, *right = d->join->pairs->right.data;
    uint32_t rows[COPSE_JOIN_STEP], partners[COPSE_JOIN_STEP];
    for (uint64_t begin = first; begin < last; begin += COPSE_JOIN_BLOCK) {
        uint64_t end = begin + COPSE_JOIN_BLOCK < last ? begin + COPSE_JOIN_BLOCK : last, at = begin;
        if (!copse_polled_goes_on(&d->polled, begin)) return;
        for (uint64_t from = begin; from < end; from += COPSE_JOIN_STEP) {
            uint64_t n = end - from < COPSE_JOIN_STEP ? end - from : COPSE_JOIN_STEP;
            look_up(d, from, n, partners);
            n = pair_one_each(d, from, n, rows, partners);
            for (uint64_t i = 0; i < n; i++) left[at + i] = rows[i];
            for (uint64_t i = 0; right && i < n; i++)
                right[at + i] = partners[i] == COPSE_ROW_NONE ? COPSE_NO_ROW : partners[i];
            at += n;
        }
        d->kept[begin / COPSE_JOIN_BLOCK] = at - begin;
    }
}

static copse_status list_one_each(direct *d)
{
    copse_pairs *pairs = d->join->pairs;
    const uint64_t slots = d->join->left->slots;
    copse_buffer kept = {0};
    copse_status status = copse_pairs_reserve(pairs, slots);
    if (status == COPSE_OK)
        status = copse_buffer_reserve(pairs->ctx, &kept, slots / COPSE_JOIN_BLOCK + 1, sizeof(uint64_t), "a join");
    if (status != COPSE_OK) return status;
    d->kept = kept.data;
    status = run_blocks(d, pair_blocks);
    for (uint64_t begin = 0; status == COPSE_OK && begin < slots; begin += COPSE_JOIN_BLOCK) {
        uint64_t n = d->kept[begin / COPSE_JOIN_BLOCK], *left = pairs->left.data, *right = pairs->right.data;
        if (pairs->n < begin) memmove(left + pairs->n, left + begin, n * sizeof *left);
        if (pairs->n < begin && right) memmove(right + pairs->n, right + begin, n * sizeof *right);
        pairs->n += n;
    }
    copse_buffer_free(pairs->ctx, &kept);
    return status;
}

static copse_status list_chains(const direct *d)
{
    const uint32_t *next = d->next.data;
    copse_pairs *pairs = d->join->pairs;
    uint32_t found[COPSE_JOIN_STEP];
    uint64_t asked = 0;
    copse_status status = COPSE_OK;
    for (uint64_t from = 0; from < d->join->left->slots; from += COPSE_JOIN_STEP) {
        uint64_t left = d->join->left->slots - from, n = left < COPSE_JOIN_STEP ? left : COPSE_JOIN_STEP, most = n;
        if (from + pairs->n >= asked) {
            status = copse_progress(pairs->ctx, "joining", from, d->join->left->slots);
            asked = from + pairs->n + COPSE_POLL_ROWS;
        }
        if (status != COPSE_OK) break;
        look_up(d, from, n, found);
        for (uint64_t i = 0; i < n; i++)
            for (uint32_t row = found[i]; row != COPSE_ROW_NONE; row = next[row]) most++;
        status = copse_pairs_reserve(pairs, pairs->n + most);
        if (status != COPSE_OK) break;
        for (uint64_t i = 0; i < n; i++) {
            if (!copse_row_lives(d->join->left, from + i)) continue;
            for (uint32_t row = found[i]; row != COPSE_ROW_NONE; row = next[row]) copse_pairs_add(pairs, from + i, row);
            if (found[i] == COPSE_ROW_NONE && d->join->options.kind == COPSE_JOIN_LEFT)
                copse_pairs_add(pairs, from + i, COPSE_NO_ROW);
        }
    }
    return status;
}

copse_status copse_join_direct(copse_joined *join, bool *out_done)
{
    direct d = {.join = join, .left = &join->left->columns[join->left_on]};
    d.right = &join->right->columns[join->right_on];
    *out_done = false;
    if (!is_worth_it(join)) return COPSE_OK;
    copse_status status = make(&d, out_done);
    if (status == COPSE_OK && *out_done) {
        copse_cells_touch(d.left, NULL, join->left->slots);
        status = join->totals ? total(&d) : has_chains(&d) ? list_chains(&d) : list_one_each(&d);
    }
    copse_buffer_free(join->left->ctx, &d.first);
    copse_buffer_free(join->left->ctx, &d.next);
    return status;
}
