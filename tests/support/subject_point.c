/* Queries by one key: find, contains, lower bound, successor, predecessor; the cursor. */
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
    if (kind == OPERATION_SUCCESSOR) at = model_rank_after(model, code);
    if (kind == OPERATION_PREDECESSOR) return at ? at - 1 : NOWHERE;
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
    return true;
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

/* Reads from the cursor and expects the model's entries from `at` on. */
static bool check_cursor(struct subject *subject, copse_cursor *cursor, uint64_t at, uint64_t step)
{
    const struct model *model = &subject->model;
    void *keys = subject_rubbish(step * typed_size(model->key_type));
    void *values = subject_rubbish(step * typed_size(model->value_type));
    bool right = true;
    for (int round = 0; right && round < 4; round++) {
        uint64_t got = NOWHERE, expected = model->n - at < step ? model->n - at : step;
        struct placed_call call = subject_begin(subject);
        void *out_keys = placed_output(&call, keys, step, typed_size(model->key_type));
        void *out_values = placed_output(&call, values, step, typed_size(model->value_type));
        copse_status status = copse_cursor_next(cursor, out_keys, out_values, step, &got);
        status = subject_end(subject, &call, status);
        if (status != COPSE_OK)
            right = subject_fail(subject, "cursor_next: %s", copse_last_error(subject->ctx));
        else if (got > expected || (got == 0 && expected))
            right = subject_fail(subject, "cursor gave %llu entries, expected %llu", (unsigned long long)got,
                                 (unsigned long long)expected);
        for (uint64_t i = 0; right && i < got; i++, at++)
            if (typed_code(model->key_type, keys, i) != model->entries[at].key ||
                typed_bits(model->value_type, values, i) != model->entries[at].value)
                right = subject_fail(subject, "the cursor's entry %llu is wrong", (unsigned long long)at);
    }
    free(keys);
    free(values);
    return right;
}

bool subject_run_cursor(struct subject *subject, const struct operation *operation)
{
    void *keys = subject_keys(subject, operation);
    copse_type type = subject->config.key_type;
    copse_cursor *cursor = NULL;
    uint64_t step = operation->limit % 1000 + 1;
    int64_t nan_at = subject_nan_position(subject, operation);
    bool right = true;
    if (copse_cursor_open(subject->index, NULL, &cursor) != COPSE_OK)
        right = subject_fail(subject, "cursor_open: %s", copse_last_error(subject->ctx));
    if (right) right = check_cursor(subject, cursor, 0, step);
    for (uint64_t i = 0; right && i < operation->n; i++) {
        struct placed_call call = subject_begin(subject);
        const void *key = placed_input(&call, (char *)keys + i * typed_size(type), 1, typed_size(type));
        copse_status status = subject_end(subject, &call, copse_cursor_seek(cursor, key));
        if ((int64_t)i == nan_at) {
            if (status != COPSE_ERR_NAN)
                right = subject_fail(subject, "cursor_seek to NaN did not return the NaN status");
        } else if (status != COPSE_OK) {
            right = subject_fail(subject, "cursor_seek: %s", copse_last_error(subject->ctx));
        } else {
            right = check_cursor(subject, cursor, model_rank(&subject->model, typed_code(type, keys, i)), step);
        }
    }
    if (right && copse_cursor_seek(cursor, NULL) != COPSE_OK)
        right = subject_fail(subject, "cursor_seek to the start: %s", copse_last_error(subject->ctx));
    if (right) right = check_cursor(subject, cursor, 0, step);
    copse_cursor_free(cursor);
    free(keys);
    return right;
}
