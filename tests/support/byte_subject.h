/* An index of byte strings and the model beside it: operations that a source of numbers chooses run on both, and every answer is
 * compared. The differential tester of byte strings takes the numbers from a seed, the fuzz target from its input.
 *
 * The model (model.h) knows numbers only: a string is its number in the pool, which sorts as the string does. */
#ifndef TESTS_BYTE_SUBJECT_H
#define TESTS_BYTE_SUBJECT_H

#include "byte_pool.h"
#include "model.h"
#include "test_allocator.h"

/* Where choices come from. */
struct byte_source {
    uint64_t (*below)(void *user, uint64_t bound); /* 0 .. bound - 1; 0 where bound is 0 */
    void *user;
};

struct byte_subject {
    struct byte_source source;
    const struct byte_pool *pool;
    uint64_t most; /* elements of one batch */
    struct test_allocator allocator;
    copse_ctx *ctx;
    copse_index *index;
    struct copse_device *device; /* once it was used */
    struct model model;
    long long failures_before; /* of the allocator */
    bool device_armed;         /* an allocation of device memory may fail */
    bool device_small;         /* it has so little that any may           */
    bool wrong;
    const char *operation; /* the last one          */
    char why[512];         /* what was wrong        */
};

/* The device that some indexes are on: the emulated one, unless a program chooses a card. */
extern copse_placement byte_device_placement;

/* Chooses the type of values, duplicates and the memory. False: why says what was wrong. */
bool byte_subject_open(struct byte_subject *subject, struct byte_source source, const struct byte_pool *pool,
                       uint64_t most);
/* One operation, which may be one that has to fail. */
bool byte_subject_step(struct byte_subject *subject);
bool byte_subject_close(struct byte_subject *subject);

/* --- what its files share --------------------------------------------------------------------------------------------- */

#define BYTE_ABSENT UINT64_MAX /* the code of no entry: an empty string comes */

uint64_t byte_draw(struct byte_subject *subject, uint64_t bound);
__attribute__((format(printf, 2, 3))) void byte_differ(struct byte_subject *subject, const char *format, ...);
/* Arms the allocator, now and then, for the call that follows. */
void byte_arm(struct byte_subject *subject);
/* What came of it: true where the call did what it should, false where it had no memory, or else is wrong. */
bool byte_went(struct byte_subject *subject, copse_status got, copse_status want);

/* Room for n values; NULL for a set, which has none. */
void *byte_values(const struct byte_subject *subject, uint64_t n);
/* n codes that most likely are there, and their strings, in an array of some shape. Free both. */
uint64_t *byte_codes(struct byte_subject *subject, uint64_t n);
struct byte_array byte_keys(struct byte_subject *subject, const uint64_t *codes, uint64_t n);

/* Room for keys: as much as they take, less, more, none. */
enum byte_room_kind { ROOM_EXACT, ROOM_AMPLE, ROOM_SHORT, ROOM_SIZING, ROOM_ONLY_NEEDED, ROOM_NOT_WANTED, ROOM_KINDS };
struct byte_room {
    enum byte_room_kind kind;
    struct byte_array array;
    uint64_t needed; /* what the call has to say */
};
/* For the strings of n codes. */
struct byte_room byte_room_of(struct byte_subject *subject, const uint64_t *codes, uint64_t n);
/* What goes into a call as out_keys; and what the call returns. */
void *byte_room_keys(struct byte_room *room);
copse_status byte_room_status(const struct byte_room *room);
/* Compares what came with the n codes, and frees the room. */
void byte_room_check(struct byte_subject *subject, struct byte_room *room, copse_status got, const uint64_t *codes,
                     uint64_t n);

/* Does the tree have ranks? It may be another one after a file was read. */
bool byte_has_ranks(struct byte_subject *subject);

/* The whole index against the model. */
void byte_check_content(struct byte_subject *subject);

void byte_run_update(struct byte_subject *subject);
void byte_run_point(struct byte_subject *subject);
void byte_run_erase_range(struct byte_subject *subject);
void byte_run_range(struct byte_subject *subject);
void byte_run_aggregate(struct byte_subject *subject);
void byte_run_whole(struct byte_subject *subject);
void byte_run_cursor(struct byte_subject *subject);
void byte_run_file(struct byte_subject *subject);
void byte_run_bad(struct byte_subject *subject);

#endif
