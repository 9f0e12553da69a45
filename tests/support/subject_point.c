/* Queries by one key: find, contains, bounds and neighbours; entries by rank and at the ends; the cursor. */
#include "subject_internal.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT64_MAX

struct point_outputs {
    void *keys;
    void *values;
    uint8_t *found;
    uint64_t *ranks;
};

static copse_status call_point(const struct subject *subject, const struct operation *operation, const void *keys,
                               const struct point_outputs *out)
{
    const copse_index *index = subject->index;
    uint64_t n = operation->n;
    void *out_keys = operation->omit & 1 ? NULL : out->keys;
    void *out_values = operation->omit & 2 ? NULL : out->values;
    uint8_t *out_found = operation->omit & 4 ? NULL : out->found;
    switch (operation->kind) {
    case OPERATION_FIND:
        return copse_find(index, keys, n, out_values, out_found);
    case OPERATION_CONTAINS:
        return copse_contains(index, keys, n, out->found);
    case OPERATION_LOWER_BOUND:
        return copse_lower_bound(index, keys, n, out_keys, out_values, out_found,
                                 operation->omit & 8 ? NULL : out->ranks);
    case OPERATION_UPPER_BOUND:
        return copse_upper_bound(index, keys, n, out_keys, out_values, out_found,
                                 operation->omit & 8 ? NULL : out->ranks);
    case OPERATION_FLOOR:
        return copse_floor(index, keys, n, out_keys, out_values, out_found);
    case OPERATION_SUCCESSOR:
        return copse_successor(index, keys, n, out_keys, out_values, out_found);
    default:
        return copse_predecessor(index, keys, n, out_keys, out_values, out_found);
    }
}

/* The position in the model of the entry that answers the query, or NOWHERE. */
static uint64_t expected_position(const struct subject *subject, enum operation_kind kind, uint64_t code)
{
    const struct model *model = &subject->model;
    uint64_t at = model_rank(model, code);
    if (kind == OPERATION_SUCCESSOR || kind == OPERATION_UPPER_BOUND || kind == OPERATION_FLOOR)
        at = model_rank_after(model, code);
    if (kind == OPERATION_PREDECESSOR || kind == OPERATION_FLOOR) return at ? at - 1 : NOWHERE;
    if (at >= model->n) return NOWHERE;
    bool exact = kind == OPERATION_FIND || kind == OPERATION_CONTAINS;
    if (exact && subject->planted_bug && code % 8 == 3) return NOWHERE;
    return !exact || model->entries[at].key == code ? at : NOWHERE;
}

static bool wrong_answer(struct subject *subject, uint64_t i, uint64_t code, const char *what)
{
    char key[64];
    copse_type type = subject->config.key_type;
    return subject_fail(subject, "query %llu (key %s): wrong %s", (unsigned long long)i,
                        typed_print(type, typed_bits_of_code(type, code), key, sizeof key), what);
}

static bool check_point(struct subject *subject, const struct operation *operation, uint64_t i, uint64_t code,
                        const struct point_outputs *out)
{
    const struct model *model = &subject->model;
    enum operation_kind kind = operation->kind;
    uint64_t at = expected_position(subject, kind, code);
    bool found = at != NOWHERE, exact = kind == OPERATION_FIND || kind == OPERATION_CONTAINS;
    uint64_t value = found ? model->entries[at].value : 0;
    bool key_right = exact || operation->omit & 1 ||
                     (found ? typed_code(model->key_type, out->keys, i) == model->entries[at].key
                            : typed_bits(model->key_type, out->keys, i) == 0);
    if ((kind == OPERATION_CONTAINS || !(operation->omit & 4)) && out->found[i] != found)
        return wrong_answer(subject, i, code, found ? "found, it is there" : "found, it is not there");
    if (!key_right) return wrong_answer(subject, i, code, "key");
    if (kind != OPERATION_CONTAINS && !(operation->omit & 2) && typed_bits(model->value_type, out->values, i) != value)
        return wrong_answer(subject, i, code, "value");
    if (kind == OPERATION_LOWER_BOUND && !(operation->omit & 8) && out->ranks[i] != model_rank(model, code))
        return wrong_answer(subject, i, code, "rank");
    if (kind == OPERATION_UPPER_BOUND && !(operation->omit & 8) && out->ranks[i] != model_rank_after(model, code))
        return wrong_answer(subject, i, code, "rank");
    return true;
}

/* Does the tree that the index has by now have ranks? */
static bool subject_ranked(const struct subject *subject)
{
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(subject->index, &stats) != COPSE_OK) return false;
    return copse_supports((copse_structure)stats.structure, (copse_placement)stats.placement, subject->config.key_type,
                          COPSE_CAN_RANK);
}

bool subject_run_point(struct subject *subject, const struct operation *operation)
{
    void *keys = subject_keys(subject, operation);
    uint64_t n = operation->n;
    struct point_outputs out = {subject_rubbish(n * 8), subject_rubbish(n * typed_size(subject->config.value_type)),
                                subject_rubbish(n), subject_rubbish(n * 8)};
    bool skip = false;
    struct placed_call call = subject_begin(subject);
    size_t key_size = typed_size(subject->config.key_type);
    const void *in_keys = placed_input(&call, keys, n, key_size);
    struct point_outputs given = {placed_output(&call, out.keys, n, key_size),
                                  placed_output(&call, out.values, n, typed_size(subject->config.value_type)),
                                  placed_output(&call, out.found, n, 1), placed_output(&call, out.ranks, n, 8)};
    struct operation asked = *operation;
    if (!subject_ranked(subject)) asked.omit |= 8;
    operation = &asked;
    subject_arm(subject, operation);
    copse_status status = call_point(subject, operation, in_keys, &given);
    status = subject_end(subject, &call, status);
    bool right = subject_expect(subject, operation, status, &skip);
    for (uint64_t i = 0; right && !skip && i < n; i++)
        right = check_point(subject, operation, i, typed_code(subject->config.key_type, keys, i), &out);
    free(keys);
    free(out.keys);
    free(out.values);
    free(out.found);
    free(out.ranks);
    return right;
}

/* --- entries by rank, and at the ends ------------------------------------------------------------------------------- */

/* Is entry i of the outputs the model's entry `at`? Either array may be NULL. */
static bool is_entry(const struct model *model, const void *keys, const void *values, uint64_t i, uint64_t at)
{
    return (!keys || typed_code(model->key_type, keys, i) == model->entries[at].key) &&
           (!values || typed_bits(model->value_type, values, i) == model->entries[at].value);
}

bool subject_run_select(struct subject *subject, const struct operation *operation)
{
    const struct model *model = &subject->model;
    const uint64_t n = operation->n;
    const size_t key_size = typed_size(model->key_type), value_size = typed_size(model->value_type);
    uint64_t *ranks = must_malloc(n * sizeof *ranks);
    for (uint64_t i = 0; i < n; i++)
        ranks[i] = operation->first[i] % 37 == 0 ? UINT64_MAX - i : operation->first[i] % (model->n + 3);
    void *keys = operation->omit & 1 ? NULL : subject_rubbish(n * key_size);
    void *values = operation->omit & 2 ? NULL : subject_rubbish(n * value_size);
    uint8_t *found = operation->omit & 4 ? NULL : subject_rubbish(n);
    struct placed_call call = subject_begin(subject);
    const uint64_t *in = placed_input(&call, ranks, n, sizeof *ranks);
    void *out_keys = placed_output(&call, keys, n, key_size), *out_values = placed_output(&call, values, n, value_size);
    uint8_t *out_found = placed_output(&call, found, n, 1);
    subject_arm(subject, operation);
    copse_status status = copse_select(subject->index, in, n, out_keys, out_values, out_found);
    status = subject_end(subject, &call, status);
    const bool ranked = subject_ranked(subject);
    bool skip = subject_excused(subject, operation, status) || (!ranked && status == COPSE_ERR_UNSUPPORTED);
    bool right = skip || ((ranked || n == 0) && status == COPSE_OK) ||
                 subject_fail(subject, "select: %s", copse_last_error(subject->ctx));
    for (uint64_t i = 0; right && !skip && i < n; i++) {
        const bool there = ranks[i] < model->n;
        if (found && found[i] != there) right = subject_fail(subject, "rank %llu: wrong found", (unsigned long long)i);
        if (there ? !is_entry(model, keys, values, i, ranks[i])
                  : (keys && typed_bits(model->key_type, keys, i)) ||
                        (values && typed_bits(model->value_type, values, i)))
            right = subject_fail(subject, "select %llu: wrong entry for rank %llu", (unsigned long long)i,
                                 (unsigned long long)ranks[i]);
    }
    free(ranks);
    free(keys);
    free(values);
    free(found);
    return right;
}

bool subject_run_ends(struct subject *subject, const struct operation *operation)
{
    const struct model *model = &subject->model;
    const bool last = operation->ends & COPSE_RANGE_DESCENDING;
    const uint64_t max = operation->limit, expected = max < model->n ? max : model->n;
    const size_t key_size = typed_size(model->key_type), value_size = typed_size(model->value_type);
    void *keys = operation->omit & 1 ? NULL : subject_rubbish(max * key_size);
    void *values = operation->omit & 2 ? NULL : subject_rubbish(max * value_size);
    uint64_t got = NOWHERE;
    struct placed_call call = subject_begin(subject);
    void *out_keys = placed_output(&call, keys, max, key_size);
    void *out_values = placed_output(&call, values, max, value_size);
    subject_arm(subject, operation);
    copse_status status = (last ? copse_last : copse_first)(subject->index, max, out_keys, out_values, &got);
    status = subject_end(subject, &call, status);
    bool skip = subject_excused(subject, operation, status);
    bool right = skip || status == COPSE_OK || subject_fail(subject, "ends: %s", copse_last_error(subject->ctx));
    if (right && !skip && got != expected)
        right = subject_fail(subject, "ends: %llu entries, expected %llu", (unsigned long long)got,
                             (unsigned long long)expected);
    for (uint64_t i = 0; right && !skip && i < got; i++)
        if (!is_entry(model, keys, values, i, last ? model->n - 1 - i : i))
            right = subject_fail(subject, "ends: entry %llu is wrong", (unsigned long long)i);
    free(keys);
    free(values);
    return right;
}

/* --- the cursor ----------------------------------------------------------------------------------------------------- */

/* A cursor and what the model says of it: it stands in front of entry `at`, and keeps to those from `first` up to `last`. */
struct walk {
    copse_cursor *cursor;
    uint64_t at, first, last;
    bool descending;
};

/* One step with the cursor's direction or against it, and the model's entries expected. */
static bool check_step(struct subject *subject, struct walk *walk, bool against, uint64_t step, void *keys,
                       void *values)
{
    const struct model *model = &subject->model;
    const bool back = walk->descending != against;
    const uint64_t left = back ? walk->at - walk->first : walk->last - walk->at, expected = left < step ? left : step;
    uint64_t got = NOWHERE;
    struct placed_call call = subject_begin(subject);
    void *out_keys = placed_output(&call, keys, step, typed_size(model->key_type));
    void *out_values = placed_output(&call, values, step, typed_size(model->value_type));
    copse_status status =
        (against ? copse_cursor_previous : copse_cursor_next)(walk->cursor, out_keys, out_values, step, &got);
    status = subject_end(subject, &call, status);
    if (status != COPSE_OK) return subject_fail(subject, "a cursor's step: %s", copse_last_error(subject->ctx));
    if (got != expected)
        return subject_fail(subject, "cursor gave %llu entries, expected %llu", (unsigned long long)got,
                            (unsigned long long)expected);
    for (uint64_t i = 0; i < got; i++) {
        const uint64_t entry = back ? walk->at - 1 - i : walk->at + i;
        if (!is_entry(model, keys, values, i, entry))
            return subject_fail(subject, "the cursor's entry %llu is wrong", (unsigned long long)entry);
    }
    walk->at = back ? walk->at - got : walk->at + got;
    return true;
}

/* Some steps there, and one back now and then. */
static bool check_cursor(struct subject *subject, struct walk *walk, uint64_t step)
{
    const struct model *model = &subject->model;
    void *keys = subject_rubbish(step * typed_size(model->key_type));
    void *values = subject_rubbish(step * typed_size(model->value_type));
    bool right = true;
    for (int round = 0; right && round < 5; round++)
        right = check_step(subject, walk, round == 1 || round == 3, round == 3 ? step / 2 + 1 : step, keys, values);
    free(keys);
    free(values);
    return right;
}

/* Where the model's cursor stands after a seek to a key, or for NULL to its begin. */
static void walk_place(const struct subject *subject, struct walk *walk, const uint64_t *code)
{
    const struct model *model = &subject->model;
    uint64_t at = walk->descending ? walk->last : walk->first;
    if (code) at = walk->descending ? model_rank_after(model, *code) : model_rank(model, *code);
    walk->at = at < walk->first ? walk->first : at > walk->last ? walk->last : at;
}

/* A cursor over everything, or where the operation has ends, over the range between its first two keys. */
static copse_status walk_open(struct subject *subject, const struct operation *operation, const void *keys,
                              struct walk *walk)
{
    const struct model *model = &subject->model;
    const copse_type type = model->key_type;
    const uint32_t ends = operation_ends(operation);
    const bool bounded = operation->ends && operation->n >= 2 && operation->nan_at < 0;
    *walk = (struct walk){.last = model->n};
    if (!bounded) return copse_cursor_open(subject->index, NULL, &walk->cursor);
    const uint64_t low = typed_code(type, keys, 0), high = typed_code(type, keys, 1);
    copse_ranges range = COPSE_BETWEEN(keys, (const char *)keys + typed_size(type), 1);
    range.flags = ends & (COPSE_RANGE_LOW_OPEN | COPSE_RANGE_HIGH_OPEN | COPSE_RANGE_DESCENDING);
    if (ends & OPERATION_NO_LOWS)
        range.lows = NULL;
    else
        walk->first = ends & COPSE_RANGE_LOW_OPEN ? model_rank_after(model, low) : model_rank(model, low);
    if (ends & OPERATION_NO_HIGHS)
        range.highs = NULL;
    else
        walk->last = ends & COPSE_RANGE_HIGH_OPEN ? model_rank(model, high) : model_rank_after(model, high);
    if (walk->last < walk->first) walk->first = walk->last = 0; /* nothing to see, wherever it stands */
    walk->descending = ends & COPSE_RANGE_DESCENDING;
    return copse_cursor_open(subject->index, &range, &walk->cursor);
}

static bool seek_and_check(struct subject *subject, const struct operation *operation, struct walk *walk,
                           const void *keys, uint64_t i, uint64_t step)
{
    const copse_type type = subject->config.key_type;
    struct placed_call call = subject_begin(subject);
    const void *key = placed_input(&call, (const char *)keys + i * typed_size(type), 1, typed_size(type));
    copse_status status = subject_end(subject, &call, copse_cursor_seek(walk->cursor, key));
    if ((int64_t)i == subject_nan_position(subject, operation))
        return status == COPSE_ERR_NAN || subject_fail(subject, "cursor_seek to NaN did not return the NaN status");
    if (status != COPSE_OK) return subject_fail(subject, "cursor_seek: %s", copse_last_error(subject->ctx));
    const uint64_t code = typed_code(type, keys, i);
    walk_place(subject, walk, &code);
    return check_cursor(subject, walk, step);
}

bool subject_run_cursor(struct subject *subject, const struct operation *operation)
{
    void *keys = subject_keys(subject, operation);
    uint64_t step = operation->limit % 1000 + 1;
    struct walk walk;
    bool right = true;
    if (walk_open(subject, operation, keys, &walk) != COPSE_OK)
        right = subject_fail(subject, "cursor_open: %s", copse_last_error(subject->ctx));
    walk_place(subject, &walk, NULL);
    if (right) right = check_cursor(subject, &walk, step);
    for (uint64_t i = 0; right && i < operation->n; i++)
        right = seek_and_check(subject, operation, &walk, keys, i, step);
    if (right && copse_cursor_seek(walk.cursor, NULL) != COPSE_OK)
        right = subject_fail(subject, "cursor_seek to the start: %s", copse_last_error(subject->ctx));
    walk_place(subject, &walk, NULL);
    if (right) right = check_cursor(subject, &walk, step);
    copse_cursor_free(walk.cursor);
    free(keys);
    return right;
}
