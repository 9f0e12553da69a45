/* Mixed batches: what each operation saw, and what is left. */
#include "subject_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct apply_call {
    void *keys;
    void *values;
    uint8_t *codes; /* with the one that is no operation, if there is one */
    void *out_values;
    uint8_t *out_found;
};

/* The position of the code that is no operation, or -1. */
static int64_t wrong_code_at(const struct operation *operation)
{
    return operation->limit && operation->n ? (int64_t)((operation->limit - 1) % operation->n) : -1;
}

static bool lacks_values(const struct operation *operation)
{
    for (uint64_t i = 0; !operation->second && i < operation->n; i++)
        if (operation->codes[i] != COPSE_OP_FIND && operation->codes[i] != COPSE_OP_ERASE) return true;
    return false;
}

static bool adds(const struct operation *operation)
{
    for (uint64_t i = 0; i < operation->n; i++)
        if (operation->codes[i] == COPSE_OP_ADD && (int64_t)i != wrong_code_at(operation)) return true;
    return false;
}

static bool writes(const struct operation *operation)
{
    for (uint64_t i = 0; i < operation->n; i++)
        if (operation->codes[i] != COPSE_OP_FIND) return true;
    return false;
}

/* The status that the call must have where it can not succeed whatever else happens. */
static copse_status refusal(const struct subject *subject, const struct operation *operation)
{
    if (wrong_code_at(operation) >= 0) return COPSE_ERR_ARGUMENT;
    if (subject->config.value_type == COPSE_NONE) return adds(operation) ? COPSE_ERR_TYPE : COPSE_OK;
    return lacks_values(operation) ? COPSE_ERR_ARGUMENT : COPSE_OK;
}

static bool check_refusal(struct subject *subject, const struct operation *operation, copse_status status)
{
    char position[64];
    if (status != refusal(subject, operation))
        return subject_fail(subject, "a batch that cannot be run gave %s", copse_status_name(status));
    (void)snprintf(position, sizeof position, "operations[%lld]", (long long)wrong_code_at(operation));
    if (wrong_code_at(operation) < 0) return true;
    return strstr(copse_last_error(subject->ctx), position) ||
           subject_fail(subject, "%s is not named in: %s", position, copse_last_error(subject->ctx));
}

static copse_status run_call(struct subject *subject, const struct operation *operation, const struct apply_call *apply)
{
    const size_t key_size = typed_size(subject->config.key_type), value_size = typed_size(subject->config.value_type);
    struct placed_call call = subject_begin(subject);
    uint64_t n = operation->n;
    const uint8_t *codes = placed_input(&call, apply->codes, n, 1);
    const void *keys = placed_input(&call, apply->keys, n, key_size);
    const void *values = placed_input(&call, apply->values, n, value_size);
    void *out_values = operation->omit & 2 ? NULL : placed_output(&call, apply->out_values, n, value_size);
    uint8_t *out_found = operation->omit & 4 ? NULL : placed_output(&call, apply->out_found, n, 1);
    subject_arm(subject, operation);
    return subject_end(subject, &call, copse_apply(subject->index, codes, keys, values, n, out_values, out_found));
}

/* Runs the operations on the model and compares what they saw. */
static bool check_answers(struct subject *subject, const struct operation *operation, const struct apply_call *apply)
{
    uint64_t *values = must_malloc(operation->n * sizeof *values);
    uint8_t *found = must_malloc(operation->n);
    bool right = true;
    model_apply(&subject->model, apply->codes, apply->keys, apply->values, operation->n, values, found);
    for (uint64_t i = 0; right && i < operation->n; i++) {
        bool found_right = operation->omit & 4 || apply->out_found[i] == found[i];
        bool value_right =
            operation->omit & 2 || typed_bits(subject->config.value_type, apply->out_values, i) == values[i];
        if (!found_right || !value_right)
            right = subject_fail(subject, "operation %llu of the batch: wrong %s", (unsigned long long)i,
                                 found_right ? "value" : "found");
    }
    free(values);
    free(found);
    return right;
}

bool subject_run_apply(struct subject *subject, const struct operation *operation)
{
    struct apply_call apply = {
        subject_keys(subject, operation), subject_values(subject, operation), must_malloc(operation->n),
        subject_rubbish(operation->n * typed_size(subject->config.value_type)), subject_rubbish(operation->n)};
    uint64_t version = subject_version(subject);
    struct model before;
    bool skip = false, right;
    memcpy(apply.codes, operation->codes, operation->n);
    if (wrong_code_at(operation) >= 0) apply.codes[wrong_code_at(operation)] = (uint8_t)(5 + operation->limit % 251);
    model_copy(&before, &subject->model);
    copse_status status = run_call(subject, operation, &apply);
    if (refusal(subject, operation) != COPSE_OK) /* a device needs memory to look at the operations */
        right = subject_excused(subject, operation, status) || check_refusal(subject, operation, status);
    else {
        right = subject_expect(subject, operation, status, &skip);
        if (right && !skip) right = check_answers(subject, operation, &apply);
    }
    if (right) right = subject_check_update(subject, &before, version);
    if (right && !writes(operation) && subject_version(subject) != version)
        right = subject_fail(subject, "finds changed the version");
    model_free(&before);
    free(apply.keys);
    free(apply.values);
    free(apply.codes);
    free(apply.out_values);
    free(apply.out_found);
    return right;
}
