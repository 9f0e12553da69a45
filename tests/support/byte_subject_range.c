/* Byte strings against the model: ranges, aggregates, passes, copies, cursors. */
#include "byte_subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Some ranges, as the call gets them and as codes. */
struct some_ranges {
    copse_ranges ranges;
    uint64_t *low_codes, *high_codes;
    struct byte_array lows, highs;
};

static struct some_ranges ranges_draw(struct byte_subject *subject, uint64_t n)
{
    struct some_ranges some = {.low_codes = byte_codes(subject, n), .high_codes = byte_codes(subject, n)};
    const uint64_t shape = byte_draw(subject, 32);
    for (uint64_t i = 0; i < n; i++)
        if (byte_draw(subject, 8) && some.low_codes[i] > some.high_codes[i]) {
            const uint64_t low = some.high_codes[i];
            some.high_codes[i] = some.low_codes[i];
            some.low_codes[i] = low;
        }
    some.lows = byte_keys(subject, some.low_codes, n);
    some.highs = byte_keys(subject, some.high_codes, n);
    const copse_ranges made = COPSE_BETWEEN(&some.lows.bytes, &some.highs.bytes, n);
    some.ranges = made;
    some.ranges.flags = (uint32_t)shape & 7;
    return some;
}

/* The ends are in the struct, which was copied: they are set where it stays. */
static void ranges_finish(struct byte_subject *subject, struct some_ranges *some)
{
    const uint64_t missing = byte_draw(subject, 6);
    some->ranges.lows = missing == 1 || missing == 3 ? NULL : &some->lows.bytes;
    some->ranges.highs = missing == 2 || missing == 3 ? NULL : &some->highs.bytes;
    if (missing != 2) return;
    some->ranges.flags = (some->ranges.flags & COPSE_RANGE_DESCENDING) | COPSE_RANGE_PREFIX;
}

static void ranges_free(struct some_ranges *some)
{
    byte_array_free(&some->lows);
    byte_array_free(&some->highs);
    free(some->low_codes);
    free(some->high_codes);
}

/* The entries that begin with the prefix of range i. */
static struct model_span prefix_span(const struct byte_subject *subject, const struct some_ranges *some, uint64_t i)
{
    const struct model *model = &subject->model;
    const struct byte_string prefix = subject->pool->strings[some->low_codes[i]];
    struct model_span span = {model_rank(model, some->low_codes[i]), 0};
    for (span.last = span.first; span.last < model->n; span.last++) {
        const struct byte_string key = subject->pool->strings[model->entries[span.last].key];
        if (key.n < prefix.n || memcmp(key.bytes, prefix.bytes, prefix.n) != 0) break;
    }
    return span;
}

static struct model_span span_of(const struct byte_subject *subject, const struct some_ranges *some, uint64_t i)
{
    const struct model *model = &subject->model;
    const uint32_t flags = some->ranges.flags;
    const uint64_t low = some->low_codes[i], high = some->high_codes[i], limit = some->ranges.limit;
    struct model_span span = {0, model->n};
    if (some->ranges.lows)
        span.first = flags & COPSE_RANGE_LOW_OPEN ? model_rank_after(model, low) : model_rank(model, low);
    if (some->ranges.highs)
        span.last = flags & COPSE_RANGE_HIGH_OPEN ? model_rank(model, high) : model_rank_after(model, high);
    if (span.last < span.first) span.last = span.first;
    if (flags & COPSE_RANGE_PREFIX) span = prefix_span(subject, some, i);
    if (limit && span.last - span.first > limit) {
        if (flags & COPSE_RANGE_DESCENDING) span.first = span.last - limit;
        span.last = span.first + limit;
    }
    return span;
}

/* --- rows ------------------------------------------------------------------------------------------------------------ */

/* Entries that rows have to hold. */
struct row_answer {
    uint64_t *offsets, *codes, *values, n;
};

static struct row_answer rows_of(const struct byte_subject *subject, const struct some_ranges *some)
{
    const struct model *model = &subject->model;
    const uint64_t n = some->ranges.n;
    struct row_answer answer = {.offsets = must_malloc((n + 1) * sizeof(uint64_t))};
    answer.offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct model_span span = span_of(subject, some, i);
        answer.offsets[i + 1] = answer.offsets[i] + span.last - span.first;
    }
    answer.n = answer.offsets[n];
    answer.codes = must_malloc(answer.n * sizeof(uint64_t));
    answer.values = must_malloc(answer.n * sizeof(uint64_t));
    for (uint64_t i = 0; i < n; i++) {
        const struct model_span span = span_of(subject, some, i);
        for (uint64_t j = 0; j < span.last - span.first; j++) {
            const bool back = some->ranges.flags & COPSE_RANGE_DESCENDING;
            const struct model_entry *entry = &model->entries[back ? span.last - 1 - j : span.first + j];
            answer.codes[answer.offsets[i] + j] = entry->key;
            answer.values[answer.offsets[i] + j] = entry->value;
        }
    }
    return answer;
}

static void rows_check(struct byte_subject *subject, const struct row_answer *want, const copse_rows *rows,
                       copse_status got)
{
    const copse_type type = subject->model.value_type;
    for (uint64_t i = 0; got == COPSE_OK && rows->values && i < want->n; i++)
        if (typed_bits(type, rows->values, i) != want->values[i]) {
            byte_differ(subject, "value %llu of the rows", (unsigned long long)i);
            return;
        }
}

/* One call whose rows are known: copse_range, or copse_find_all where the ends are the same keys. */
static void run_rows(struct byte_subject *subject, const struct some_ranges *some, bool find_all)
{
    const uint64_t n = some->ranges.n;
    struct row_answer want = rows_of(subject, some);
    struct byte_room room = byte_room_of(subject, want.codes, want.n);
    copse_rows rows = COPSE_ROWS_INIT;
    const bool no_values = byte_draw(subject, 4) == 3 || subject->model.value_type == COPSE_NONE,
               short_rows = byte_draw(subject, 6) == 5 && want.n;
    void *values = byte_values(subject, want.n);
    rows.offsets = must_malloc((n + 1) * sizeof(uint64_t));
    rows.keys = byte_room_keys(&room);
    rows.values = no_values ? NULL : values;
    rows.capacity = short_rows ? byte_draw(subject, want.n) : want.n;
    const bool copying = rows.values || (rows.keys && room.array.bytes.offsets);
    if (!rows.keys && !rows.values) rows.capacity = 0;
    copse_status expected = byte_room_status(&room);
    if (copying && rows.capacity < want.n) expected = COPSE_ERR_TOO_SMALL;
    byte_arm(subject);
    copse_status status = find_all ? copse_find_all(subject->index, &some->lows.bytes, n, &rows)
                                   : copse_range(subject->index, &some->ranges, &rows);
    if (byte_went(subject, status, expected)) {
        byte_room_check(subject, &room, status, want.codes, want.n);
        if (memcmp(rows.offsets, want.offsets, (n + 1) * sizeof(uint64_t)) != 0)
            byte_differ(subject, "offsets of rows");
        rows_check(subject, &want, &rows, status);
    } else {
        byte_array_free(&room.array);
    }
    free(rows.offsets);
    free(values);
    free(want.offsets);
    free(want.codes);
    free(want.values);
}

static void run_count(struct byte_subject *subject, const struct some_ranges *some)
{
    uint64_t *counts = must_malloc(some->ranges.n * sizeof *counts);
    byte_arm(subject);
    if (byte_went(subject, copse_count(subject->index, &some->ranges, counts), COPSE_OK))
        for (uint64_t i = 0; i < some->ranges.n; i++) {
            const struct model_span span = span_of(subject, some, i);
            if (counts[i] != span.last - span.first) byte_differ(subject, "count %llu", (unsigned long long)i);
        }
    free(counts);
}

void byte_run_range(struct byte_subject *subject)
{
    const uint64_t n = 1 + byte_draw(subject, 12), which = byte_draw(subject, 4);
    struct some_ranges some = ranges_draw(subject, n);
    ranges_finish(subject, &some);
    subject->operation = which == 0 ? "count" : which == 1 ? "find all" : "range";
    if (which == 1) {
        some.ranges.flags = 0;
        some.ranges.lows = some.ranges.highs = &some.lows.bytes;
        memcpy(some.high_codes, some.low_codes, n * sizeof *some.low_codes);
    }
    if (which == 3) some.ranges.limit = 1 + byte_draw(subject, 6);
    if (which == 0)
        run_count(subject, &some);
    else
        run_rows(subject, &some, which == 1);
    ranges_free(&some);
}

void byte_run_erase_range(struct byte_subject *subject)
{
    const uint64_t n = byte_draw(subject, 12);
    struct some_ranges some = ranges_draw(subject, n);
    struct model_span *spans = must_malloc(n * sizeof *spans);
    uint64_t erased = 0;
    subject->operation = "erase range";
    if (byte_draw(subject, 3)) /* short ones, so that something is left */
        for (uint64_t i = 0; i < n; i++) some.high_codes[i] = some.low_codes[i] + byte_draw(subject, 3);
    for (uint64_t i = 0; i < n; i++)
        if (some.high_codes[i] >= subject->pool->n) some.high_codes[i] = subject->pool->n - 1;
    byte_array_free(&some.highs);
    some.highs = byte_keys(subject, some.high_codes, n);
    ranges_finish(subject, &some);
    for (uint64_t i = 0; i < n; i++) spans[i] = span_of(subject, &some, i);
    byte_arm(subject);
    if (byte_went(subject, copse_erase_range(subject->index, &some.ranges, &erased), COPSE_OK) &&
        erased != model_erase_spans(&subject->model, spans, n))
        byte_differ(subject, "%llu entries erased by ranges", (unsigned long long)erased);
    byte_check_content(subject);
    free(spans);
    ranges_free(&some);
}

/* --- aggregates ------------------------------------------------------------------------------------------------------ */

static void check_sum(struct byte_subject *subject, struct model_span span, uint64_t i, const uint64_t *sums,
                      bool *overflow)
{
    const copse_type type = subject->model.value_type;
    long double magnitude;
    if (typed_is_float(type)) {
        double sum;
        memcpy(&sum, &sums[i], sizeof sum);
        if (sum != (double)model_sum_real(&subject->model, span, &magnitude))
            byte_differ(subject, "sum %llu", (unsigned long long)i);
        return;
    }
    const test_int128 low = typed_is_signed(type) ? INT64_MIN : 0;
    const test_int128 high = typed_is_signed(type) ? (test_int128)INT64_MAX : (test_int128)UINT64_MAX;
    test_int128 sum = model_sum_integer(&subject->model, span);
    *overflow |= sum < low || sum > high;
    sum = sum < low ? low : sum > high ? high : sum;
    if (sums[i] != (uint64_t)sum) byte_differ(subject, "sum %llu", (unsigned long long)i);
}

static void run_sums(struct byte_subject *subject, const struct some_ranges *some)
{
    uint64_t *sums = must_malloc(some->ranges.n * sizeof *sums);
    bool overflow = false;
    byte_arm(subject);
    copse_status status = copse_sum(subject->index, &some->ranges, sums);
    for (uint64_t i = 0; status != COPSE_ERR_MEMORY && i < some->ranges.n; i++)
        check_sum(subject, span_of(subject, some, i), i, sums, &overflow);
    (void)byte_went(subject, status, overflow ? COPSE_ERR_OVERFLOW : COPSE_OK);
    free(sums);
}

static void run_sums128(struct byte_subject *subject, const struct some_ranges *some)
{
    copse_int128 *sums = must_malloc(some->ranges.n * sizeof *sums);
    const bool reals = typed_is_float(subject->model.value_type);
    byte_arm(subject);
    if (byte_went(subject, copse_sum128(subject->index, &some->ranges, sums), reals ? COPSE_ERR_TYPE : COPSE_OK))
        for (uint64_t i = 0; !reals && i < some->ranges.n; i++) {
            const test_int128 sum = model_sum_integer(&subject->model, span_of(subject, some, i));
            if (sums[i].low != (uint64_t)sum || sums[i].high != (int64_t)(sum >> 64))
                byte_differ(subject, "sum128 %llu", (unsigned long long)i);
        }
    free(sums);
}

static void run_extremes(struct byte_subject *subject, const struct some_ranges *some, bool largest)
{
    const copse_type type = subject->model.value_type;
    const uint64_t n = some->ranges.n;
    void *values = typed_new(type, n);
    uint8_t *found = must_malloc(n);
    byte_arm(subject);
    copse_status status = largest ? copse_max(subject->index, &some->ranges, values, found)
                                  : copse_min(subject->index, &some->ranges, values, found);
    if (byte_went(subject, status, COPSE_OK))
        for (uint64_t i = 0; i < n; i++) {
            uint64_t bits;
            const bool there = model_extreme(&subject->model, span_of(subject, some, i), largest, &bits);
            if (found[i] != there || typed_bits(type, values, i) != bits)
                byte_differ(subject, "%s %llu", largest ? "max" : "min", (unsigned long long)i);
        }
    free(values);
    free(found);
}

static void run_means(struct byte_subject *subject, const struct some_ranges *some)
{
    const copse_type type = subject->model.value_type;
    double *means = must_malloc(some->ranges.n * sizeof *means);
    byte_arm(subject);
    if (byte_went(subject, copse_avg(subject->index, &some->ranges, means), COPSE_OK))
        for (uint64_t i = 0; i < some->ranges.n; i++) {
            const struct model_span span = span_of(subject, some, i);
            long double magnitude;
            const double sum = typed_is_float(type) ? (double)model_sum_real(&subject->model, span, &magnitude)
                                                    : (double)model_sum_integer(&subject->model, span);
            const bool empty = span.first == span.last;
            if (empty ? !isnan(means[i]) : means[i] != sum / (double)(span.last - span.first))
                byte_differ(subject, "mean %llu", (unsigned long long)i);
        }
    free(means);
}

void byte_run_aggregate(struct byte_subject *subject)
{
    const uint64_t n = 1 + byte_draw(subject, 12), which = byte_draw(subject, 5);
    struct some_ranges some = ranges_draw(subject, n);
    ranges_finish(subject, &some);
    subject->operation = "aggregate";
    if (subject->model.value_type == COPSE_NONE) {
        double means[13];
        (void)byte_went(subject, copse_avg(subject->index, &some.ranges, means), COPSE_ERR_TYPE);
        ranges_free(&some);
        return;
    }
    if (which == 0) run_sums(subject, &some);
    if (which == 1) run_sums128(subject, &some);
    if (which == 2 || which == 3) run_extremes(subject, &some, which == 3);
    if (which == 4) run_means(subject, &some);
    ranges_free(&some);
}

/* --- the whole ------------------------------------------------------------------------------------------------------- */

struct visit_state {
    struct byte_subject *subject;
    uint64_t seen, stop;
};

static int visit_one(void *user, const void *keys, const void *values, uint64_t n)
{
    struct visit_state *state = user;
    const struct model *model = &state->subject->model;
    for (uint64_t i = 0; i < n; i++, state->seen++) {
        if (state->seen >= model->n) {
            byte_differ(state->subject, "visit goes past the end");
            return 1;
        }
        const struct model_entry *entry = &model->entries[state->seen];
        if (byte_string_compare(byte_array_at(keys, i), state->subject->pool->strings[entry->key]) != 0 ||
            typed_bits(model->value_type, values, i) != entry->value)
            byte_differ(state->subject, "visited entry %llu", (unsigned long long)state->seen);
    }
    return state->seen > state->stop;
}

static void run_visit(struct byte_subject *subject)
{
    struct visit_state state = {subject, 0, byte_draw(subject, 4) ? UINT64_MAX : byte_draw(subject, subject->model.n)};
    byte_arm(subject);
    copse_status status = copse_visit(subject->index, visit_one, &state);
    const bool stopped = state.seen > state.stop;
    if (byte_went(subject, status, stopped ? COPSE_ERR_CANCELLED : COPSE_OK) && !stopped &&
        state.seen != subject->model.n)
        byte_differ(subject, "visited %llu of %llu entries", (unsigned long long)state.seen,
                    (unsigned long long)subject->model.n);
}

/* The first or the last entries: ranges without ends. */
static void run_ends(struct byte_subject *subject)
{
    const bool last = byte_draw(subject, 2);
    const uint64_t max = byte_draw(subject, subject->model.n + 3);
    const uint64_t n = max < subject->model.n ? max : subject->model.n;
    uint64_t *codes = must_malloc(max * sizeof *codes), got = 99;
    for (uint64_t i = 0; i < max; i++)
        codes[i] = i < n ? subject->model.entries[last ? subject->model.n - 1 - i : i].key : BYTE_ABSENT;
    struct byte_room room = byte_room_of(subject, codes, max);
    void *values = byte_values(subject, max);
    byte_arm(subject);
    copse_status status = last ? copse_last(subject->index, max, byte_room_keys(&room), values, &got)
                               : copse_first(subject->index, max, byte_room_keys(&room), values, &got);
    if (max == 0) room.kind = ROOM_NOT_WANTED;
    if (byte_went(subject, status, byte_room_status(&room))) {
        byte_room_check(subject, &room, status, codes, n);
        if (status == COPSE_OK && got != n) byte_differ(subject, "%llu entries came", (unsigned long long)got);
    } else {
        byte_array_free(&room.array);
    }
    free(codes);
    free(values);
}

/* Goes on with a copy, and looks at a frozen one. */
static void run_copy(struct byte_subject *subject)
{
    copse_index *made = NULL, *kept = subject->index;
    const bool frozen = byte_draw(subject, 2);
    byte_arm(subject);
    copse_status status = frozen ? copse_freeze(kept, subject->ctx, &made) : copse_copy(kept, subject->ctx, &made);
    if (!byte_went(subject, status, COPSE_OK)) return;
    subject->index = made;
    byte_check_content(subject);
    if (!frozen) {
        copse_index_free(kept);
        return;
    }
    if (copse_clear(made) != COPSE_ERR_UNSUPPORTED) byte_differ(subject, "a frozen index was changed");
    copse_index_free(made);
    subject->index = kept;
}

void byte_run_whole(struct byte_subject *subject)
{
    const uint64_t which = byte_draw(subject, 6);
    subject->operation = which < 2 ? "visit" : which < 4 ? "first or last" : which == 4 ? "copy" : "move";
    if (which < 2) run_visit(subject);
    if (which == 2 || which == 3) run_ends(subject);
    if (which == 4) run_copy(subject);
    if (which < 5) return;
    byte_arm(subject);
    (void)byte_went(subject,
                    copse_move(subject->index, byte_draw(subject, 2) ? COPSE_PLACEMENT_CPU : COPSE_PLACEMENT_AUTO),
                    COPSE_OK);
    byte_check_content(subject);
}

/* --- cursors --------------------------------------------------------------------------------------------------------- */

/* A cursor and where the model has it. */
struct walk {
    copse_cursor *cursor;
    struct model_span span;
    bool descending;
    uint64_t at; /* the gap in front of entry `at` */
};

static void walk_step(struct byte_subject *subject, struct walk *walk)
{
    const struct model *model = &subject->model;
    const bool against = byte_draw(subject, 3) == 2, back = walk->descending != against;
    const uint64_t max = byte_draw(subject, 9);
    const uint64_t left = back ? walk->at - walk->span.first : walk->span.last - walk->at;
    uint64_t codes[9], n = left < max ? left : max, got = 99, size = byte_draw(subject, 60), used = 0, fit = 0;
    for (uint64_t i = 0; i < n; i++) codes[i] = model->entries[back ? walk->at - 1 - i : walk->at + i].key;
    while (fit < n && subject->pool->strings[codes[fit]].n <= size - used)
        used += subject->pool->strings[codes[fit++]].n;
    const bool small = n && fit == 0;
    struct byte_array room = byte_array_room(max, size, byte_draw(subject, 2) ? 32 : 64);
    void *values = byte_values(subject, max);
    byte_arm(subject);
    copse_status status = against ? copse_cursor_previous(walk->cursor, &room.bytes, values, max, &got)
                                  : copse_cursor_next(walk->cursor, &room.bytes, values, max, &got);
    if (byte_went(subject, status, small ? COPSE_ERR_TOO_SMALL : COPSE_OK)) {
        if (got != fit)
            byte_differ(subject, "cursor gave %llu of %llu", (unsigned long long)got, (unsigned long long)fit);
        if (max && room.bytes.needed != (small ? subject->pool->strings[codes[0]].n : used))
            byte_differ(subject, "needed of a cursor is %llu", (unsigned long long)room.bytes.needed);
        for (uint64_t i = 0; i < fit && !subject->wrong; i++)
            if (byte_string_compare(byte_array_at(&room.bytes, i), subject->pool->strings[codes[i]]) != 0 ||
                typed_bits(model->value_type, values, i) !=
                    model->entries[back ? walk->at - 1 - i : walk->at + i].value)
                byte_differ(subject, "entry %llu of a cursor", (unsigned long long)i);
        walk->at = back ? walk->at - fit : walk->at + fit;
    }
    byte_array_free(&room);
    free(values);
}

static void walk_seek(struct byte_subject *subject, struct walk *walk)
{
    const struct model *model = &subject->model;
    uint64_t *codes = byte_codes(subject, 1);
    struct byte_array key = byte_keys(subject, codes, 1);
    const bool home = byte_draw(subject, 4) == 3;
    uint64_t at = walk->descending ? model_rank_after(model, codes[0]) : model_rank(model, codes[0]);
    if (home) at = walk->descending ? walk->span.last : walk->span.first;
    if (at < walk->span.first) at = walk->span.first;
    if (at > walk->span.last) at = walk->span.last;
    byte_arm(subject);
    if (byte_went(subject, copse_cursor_seek(walk->cursor, home ? NULL : &key.bytes), COPSE_OK)) walk->at = at;
    byte_array_free(&key);
    free(codes);
}

void byte_run_cursor(struct byte_subject *subject)
{
    struct some_ranges some = ranges_draw(subject, 1);
    ranges_finish(subject, &some);
    subject->operation = "cursor";
    struct walk walk = {.span = span_of(subject, &some, 0), .descending = some.ranges.flags & COPSE_RANGE_DESCENDING};
    walk.at = walk.descending ? walk.span.last : walk.span.first;
    byte_arm(subject);
    if (byte_went(subject, copse_cursor_open(subject->index, &some.ranges, &walk.cursor), COPSE_OK)) {
        /* The cursor has copies of its ends. */
        memset(some.lows.bytes.data, 0xee, some.lows.bytes.size);
        memset(some.highs.bytes.data, 0xee, some.highs.bytes.size);
        for (uint64_t steps = byte_draw(subject, 12); steps && !subject->wrong; steps--)
            if (byte_draw(subject, 4) == 3)
                walk_seek(subject, &walk);
            else
                walk_step(subject, &walk);
        copse_cursor_free(walk.cursor);
    }
    ranges_free(&some);
}
