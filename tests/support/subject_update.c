/* Build, insert, erase by key and by pair, clear, and what must hold after each. */
#include "subject_internal.h"

#include <stdlib.h>
#include <string.h>

static bool check_stats(struct subject *subject)
{
    const struct subject_config *config = &subject->config;
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(subject->index, &stats) != COPSE_OK)
        return subject_fail(subject, "stats: %s", copse_last_error(subject->ctx));
    if (stats.entries != subject->model.n || copse_size(subject->index) != subject->model.n)
        return subject_fail(subject, "stats say %llu entries, copse_size %llu, expected %llu",
                            (unsigned long long)stats.entries, (unsigned long long)copse_size(subject->index),
                            (unsigned long long)subject->model.n);
    if (stats.key_type != config->key_type || stats.value_type != config->value_type ||
        (stats.duplicates != 0) != config->duplicates)
        return subject_fail(subject, "stats name other types or duplicates than the index was made with");
    if (config->structure != COPSE_STRUCTURE_AUTO && stats.structure != config->structure)
        return subject_fail(subject, "stats name structure %d", (int)stats.structure);
    if (stats.placement != config->placement)
        return subject_fail(subject, "stats name placement %s, it should be %s", copse_placement_name(stats.placement),
                            copse_placement_name(config->placement));
    if ((stats.height == 0) != (stats.entries == 0) || stats.height > 64)
        return subject_fail(subject, "height %u with %llu entries", stats.height, (unsigned long long)stats.entries);
    if (stats.entries && !(stats.fill > 0 && stats.fill <= 1)) return subject_fail(subject, "fill %g", stats.fill);
    if (stats.bytes < stats.entries * (typed_size(config->key_type) + typed_size(config->value_type)) ||
        stats.bytes < stats.aggregate_bytes)
        return subject_fail(subject, "%llu bytes cannot hold %llu entries", (unsigned long long)stats.bytes,
                            (unsigned long long)stats.entries);
    return true;
}

static copse_status export_all(struct subject *subject, void *keys, void *values)
{
    const struct model *model = &subject->model;
    struct placed_call call = subject_begin(subject);
    void *out_keys = placed_output(&call, keys, model->n, typed_size(model->key_type));
    void *out_values = placed_output(&call, values, model->n, typed_size(model->value_type));
    return subject_end(subject, &call, copse_export(subject->index, out_keys, out_values, model->n));
}

bool subject_check_content(struct subject *subject)
{
    const struct model *model = &subject->model;
    if (!check_stats(subject)) return false;
    void *keys = subject_rubbish(typed_size(model->key_type) * model->n);
    void *values = subject_rubbish(typed_size(model->value_type) * model->n);
    bool right = true;
    if (copse_verify(subject->index) != COPSE_OK)
        right = subject_fail(subject, "verify: %s", copse_last_error(subject->ctx));
    else if (export_all(subject, keys, values) != COPSE_OK)
        right = subject_fail(subject, "export: %s", copse_last_error(subject->ctx));
    for (uint64_t i = 0; right && i < model->n; i++) {
        char got[64], want[64];
        const struct model_entry *entry = &model->entries[i];
        if (typed_code(model->key_type, keys, i) != entry->key)
            right = subject_fail(
                subject, "entry %llu of %llu has key %s, expected %s", (unsigned long long)i,
                (unsigned long long)model->n,
                typed_print(model->key_type, typed_bits(model->key_type, keys, i), got, sizeof got),
                typed_print(model->key_type, typed_bits_of_code(model->key_type, entry->key), want, sizeof want));
        else if (typed_bits(model->value_type, values, i) != entry->value)
            right =
                subject_fail(subject, "entry %llu of %llu has value %s, expected %s", (unsigned long long)i,
                             (unsigned long long)model->n,
                             typed_print(model->value_type, typed_bits(model->value_type, values, i), got, sizeof got),
                             typed_print(model->value_type, entry->value, want, sizeof want));
    }
    free(keys);
    free(values);
    return right;
}

/* The library's call; *out_change is what it reports to have added or taken away. */
static copse_status call_update(struct subject *subject, const struct operation *operation, const void *keys,
                                const void *values, uint64_t *out_change)
{
    uint64_t *change = operation->omit & 1 ? NULL : out_change;
    uint32_t flags = operation->kind == OPERATION_INSERT_IF_ABSENT ? COPSE_INSERT_IF_ABSENT : COPSE_INSERT_UPSERT;
    if (operation->kind == OPERATION_BUILD) return copse_build(subject->index, keys, values, operation->n);
    if (operation->kind == OPERATION_CLEAR) return copse_clear(subject->index);
    if (operation->kind == OPERATION_ERASE_PAIRS)
        return copse_erase_pairs(subject->index, keys, values, operation->n, change);
    if (operation->kind == OPERATION_ERASE) return copse_erase(subject->index, keys, operation->n, change);
    return copse_insert(subject->index, keys, values, operation->n, flags, change);
}

static uint64_t update_model(struct model *model, const struct operation *operation, const void *keys,
                             const void *values)
{
    uint32_t flags = operation->kind == OPERATION_INSERT_IF_ABSENT ? COPSE_INSERT_IF_ABSENT : COPSE_INSERT_UPSERT;
    if (operation->kind == OPERATION_ERASE) return model_erase(model, keys, operation->n);
    if (operation->kind == OPERATION_ERASE_PAIRS) return model_erase_pairs(model, keys, values, operation->n);
    if (operation->kind != OPERATION_BUILD && operation->kind != OPERATION_CLEAR)
        return model_insert(model, keys, values, operation->n, flags);
    model_build(model, keys, values, operation->kind == OPERATION_CLEAR ? 0 : operation->n);
    return 0;
}

static bool same_entries(const struct model *a, const struct model *b)
{
    if (a->n != b->n) return false;
    for (uint64_t i = 0; i < a->n; i++)
        if (a->entries[i].key != b->entries[i].key || a->entries[i].value != b->entries[i].value) return false;
    return true;
}

uint64_t subject_version(const struct subject *subject)
{
    copse_stats stats = {.struct_size = sizeof stats};
    (void)copse_index_stats(subject->index, &stats);
    return stats.version;
}

bool subject_check_update(struct subject *subject, const struct model *before, uint64_t version)
{
    if (!subject_check_content(subject)) return false;
    uint64_t now = subject_version(subject);
    if (now == version + 1 || (now == version && same_entries(before, &subject->model))) return true;
    return subject_fail(subject, "the version went from %llu to %llu", (unsigned long long)version,
                        (unsigned long long)now);
}

bool subject_run_update(struct subject *subject, const struct operation *operation)
{
    void *keys = subject_keys(subject, operation);
    void *values = subject_values(subject, operation);
    uint64_t reported = 0, version = subject_version(subject);
    bool skip = false;
    struct model before;
    model_copy(&before, &subject->model);
    struct placed_call call = subject_begin(subject);
    const void *in_keys = placed_input(&call, keys, operation->n, typed_size(subject->config.key_type));
    const void *in_values = placed_input(&call, values, operation->n, typed_size(subject->config.value_type));
    subject_arm(subject, operation);
    copse_status status = call_update(subject, operation, in_keys, in_values, &reported);
    status = subject_end(subject, &call, status);
    bool right = subject_expect(subject, operation, status, &skip);
    if (right && !skip) {
        uint64_t expected = update_model(&subject->model, operation, keys, values);
        const bool reports = operation->kind != OPERATION_BUILD && operation->kind != OPERATION_CLEAR;
        if (!(operation->omit & 1) && reports && reported != expected)
            right = subject_fail(subject, "reports %llu entries, expected %llu", (unsigned long long)reported,
                                 (unsigned long long)expected);
    }
    if (right) right = subject_check_update(subject, &before, version);
    model_free(&before);
    free(keys);
    free(values);
    return right;
}
