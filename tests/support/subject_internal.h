/* What the files that run operations share. */
#ifndef TESTS_SUBJECT_INTERNAL_H
#define TESTS_SUBJECT_INTERNAL_H

#include "subject.h"

/* Writes the sentence into why; always false. */
__attribute__((format(printf, 2, 3))) bool subject_fail(struct subject *subject, const char *format, ...);

/* Tells a tree that was just made how its updates are to go, by config.ways. */
void subject_tune(struct subject *subject);
/* The arrays of a call, none yet: placed_input and placed_output add them. The faults of an operation are switched on
 * when all are there, right before the call. */
struct placed_call subject_begin(const struct subject *subject);
void subject_arm(struct subject *subject, const struct operation *operation);
/* Ends the call: faults off, the stream waited for, the outputs back. Returns the status of both. */
copse_status subject_end(struct subject *subject, struct placed_call *call, copse_status status);
/* The structure is there for the placement. */
bool subject_offered(copse_structure structure, copse_placement placement);
/* This status is what the faults of the operation may lead to. */
bool subject_excused(const struct subject *subject, const struct operation *operation, copse_status status);
/* This position of the keys, or of one of the bounds, is given as NaN; -1 where none is. */
int64_t subject_nan_position(const struct subject *subject, const struct operation *operation);
/* Status is OK, or it is a fault's and *out_skip is set. On anything else fails. */
bool subject_expect(struct subject *subject, const struct operation *operation, copse_status status, bool *out_skip);

/* The keys of the operation (first), its values or high bounds (second), with its NaN if it has one. */
void *subject_keys(const struct subject *subject, const struct operation *operation);
void *subject_values(const struct subject *subject, const struct operation *operation);
void *subject_highs(const struct subject *subject, const struct operation *operation);
/* size bytes of rubbish, so that an answer that was not written is noticed. */
void *subject_rubbish(size_t size);

/* What must hold after an update, whether it was one or not: the content, and that the version grew by one or, where
 * nothing is different from `before`, stayed. */
uint64_t subject_version(const struct subject *subject);
bool subject_check_update(struct subject *subject, const struct model *before, uint64_t version);

/* The index and the frozen handle, with their models, take each other's place. */
void subject_frozen_turn(struct subject *subject);
/* Looks at the frozen handle, if there is one, and frees it. */
bool subject_frozen_end(struct subject *subject);

bool subject_run_update(struct subject *subject, const struct operation *operation);
bool subject_run_erase_range(struct subject *subject, const struct operation *operation);
bool subject_run_apply(struct subject *subject, const struct operation *operation);
bool subject_run_point(struct subject *subject, const struct operation *operation);
bool subject_run_select(struct subject *subject, const struct operation *operation);
bool subject_run_ends(struct subject *subject, const struct operation *operation);
bool subject_run_cursor(struct subject *subject, const struct operation *operation);
bool subject_run_range(struct subject *subject, const struct operation *operation);
bool subject_run_count(struct subject *subject, const struct operation *operation);
bool subject_run_sum(struct subject *subject, const struct operation *operation);
bool subject_run_extreme(struct subject *subject, const struct operation *operation);
bool subject_run_average(struct subject *subject, const struct operation *operation);
/* Sums, extremes and averages of a set: refused. */
bool subject_run_no_values(struct subject *subject, const struct operation *operation);
bool subject_run_visit(struct subject *subject, const struct operation *operation);
/* Random visits with operations, by the seed that the operation is; and one in place. */
bool subject_run_questions(struct subject *subject, const struct operation *operation);
bool subject_run_map(struct subject *subject, const struct operation *operation);
bool subject_run_save_load(struct subject *subject, const struct operation *operation);
bool subject_run_save_memory(struct subject *subject, const struct operation *operation);
bool subject_run_copy(struct subject *subject, const struct operation *operation);
bool subject_run_freeze(struct subject *subject, const struct operation *operation);
bool subject_run_move(struct subject *subject, const struct operation *operation);

#endif
