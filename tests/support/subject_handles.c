/* Other indexes made of the one that there is: copies, and a frozen handle, which stays what it was. */
#include "subject_internal.h"

void subject_frozen_turn(struct subject *subject)
{
    const struct subject_frozen held = subject->frozen;
    subject->frozen =
        (struct subject_frozen){subject->index, subject->model, subject->config.structure, subject->config.placement};
    subject->index = held.index;
    subject->model = held.model;
    subject->config.structure = held.structure;
    subject->config.placement = held.placement;
}

bool subject_frozen_end(struct subject *subject)
{
    if (!subject->frozen.index) return true;
    subject_frozen_turn(subject);
    bool right = subject_check_content(subject);
    if (!right) (void)subject_fail(subject, "a frozen handle: %.400s", subject->why);
    const copse_status status = copse_clear(subject->index);
    if (right && status != COPSE_ERR_UNSUPPORTED)
        right = subject_fail(subject, "an update of a frozen handle gave %s", copse_status_name(status));
    copse_index_free(subject->index);
    model_free(&subject->model);
    subject_frozen_turn(subject);
    subject->frozen = (struct subject_frozen){0};
    return right;
}

bool subject_run_freeze(struct subject *subject, const struct operation *operation)
{
    copse_index *frozen = NULL;
    bool skip = false;
    if (!subject_frozen_end(subject)) return false;
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = subject_end(subject, &call, copse_freeze(subject->index, subject->ctx, &frozen));
    if (!subject_expect(subject, operation, status, &skip)) return false;
    if (skip) return !frozen || subject_fail(subject, "a failed freeze gave an index");
    subject->frozen.index = frozen;
    model_copy(&subject->frozen.model, &subject->model);
    subject->frozen.structure = subject->config.structure;
    subject->frozen.placement = subject->config.placement;
    return true;
}

bool subject_run_copy(struct subject *subject, const struct operation *operation)
{
    copse_index *copy = NULL;
    bool skip = false;
    struct placed_call call = subject_begin(subject);
    subject_arm(subject, operation);
    copse_status status = subject_end(subject, &call, copse_copy(subject->index, subject->ctx, &copy));
    if (!subject_expect(subject, operation, status, &skip)) return false;
    if (skip) return !copy || subject_fail(subject, "a failed copy gave an index");
    copse_index *other = copy;
    if (operation->limit & 1) {
        other = subject->index;
        subject->index = copy;
        subject_tune(subject);
    }
    if (copse_clear(other) != COPSE_OK) return subject_fail(subject, "clear: %s", copse_last_error(subject->ctx));
    const bool right = subject_check_content(subject); /* before the other one is gone, and after */
    copse_index_free(other);
    return right && subject_check_content(subject);
}
