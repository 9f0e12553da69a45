/* What a concurrent reader may see. Every key of a round has a word that says how often it was written and erased
 * so far; the writer changes it before and after each batch, and a reader looks at it before and after each call. From
 * the two words follows whether the key must have been found, may have been found, and with which values. Nothing here
 * calls the library. */
#ifndef TESTS_TRUTH_H
#define TESTS_TRUTH_H

#include <stdatomic.h>

#include "random.h"
#include "typed.h"

enum truth_role {
    TRUTH_STABLE,   /* there from the beginning, never erased, always with the same value */
    TRUTH_VOLATILE, /* comes and goes                                                      */
    TRUTH_NEVER     /* is asked for, but never inserted                                    */
};

/* A moment of a key. */
struct truth_moment {
    uint32_t writes; /* values written so far, those of the batch that runs included    */
    uint32_t erases; /* the same of its disappearances                                  */
    bool moving;     /* a batch that writes or erases it runs                           */
    bool present;    /* it is there; moving: it was there before and the batch leaves it */
};

struct truth {
    copse_type key_type;
    copse_type value_type; /* u32 or u64 */
    uint64_t salt;
    uint64_t n;
    uint64_t *codes; /* of the keys, ascending */
    uint8_t *roles;
    struct truth_moment *now; /* the writer's own view: after the batch */
    _Atomic uint64_t *words;  /* the moments for readers                */
    uint64_t *stables;        /* positions of each role, for drawing    */
    uint64_t *volatiles;
    uint64_t stable_n;
    uint64_t volatile_n;
};

void truth_make(struct truth *truth, copse_type key_type, copse_type value_type, uint64_t n,
                struct random_source *random);
void truth_free(struct truth *truth);

/* The value of write number `write` of key i; poison: one that no key ever has. */
uint64_t truth_value(const struct truth *truth, uint64_t i, uint32_t write);
uint64_t truth_poison(const struct truth *truth, uint64_t i);
/* Writes to one key that values can tell apart. */
uint32_t truth_most_writes(const struct truth *truth);

/* The first key (its position) with a code >= this; n where there is none. */
uint64_t truth_position(const struct truth *truth, uint64_t code);

/* The writer tells the readers about a key. */
void truth_publish(struct truth *truth, uint64_t i, struct truth_moment moment);
/* All words as they are. */
void truth_look(const struct truth *truth, uint64_t *out_words);

/* What follows from two looks, one before a call and one after it. */
struct truth_window {
    const struct truth *truth;
    uint64_t *before;
    uint64_t *after;
    uint64_t *must_before; /* must_before[i]: keys below i that must have been there; n + 1 of them */
    uint64_t *may_before;
};

void truth_window_make(struct truth_window *window, const struct truth *truth);
void truth_window_free(struct truth_window *window);
/* Call truth_look into before, make the call, truth_look into after; then this. */
void truth_window_close(struct truth_window *window);

bool truth_must(const struct truth_window *window, uint64_t i);
bool truth_may(const struct truth_window *window, uint64_t i);
/* NULL, or what is wrong about finding key i (found, with the bits of a value), or about not finding it. */
const char *truth_judge(const struct truth_window *window, uint64_t i, bool found, uint64_t bits);
/* The same where the values were not asked for. */
const char *truth_judge_found(const struct truth_window *window, uint64_t i, bool found);

#endif
