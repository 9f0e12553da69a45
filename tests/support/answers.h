/* All answers of an index to a batch of questions, as bytes, so that two indexes that should hold the same are compared call by
 * call. */
#ifndef TESTS_ANSWERS_H
#define TESTS_ANSWERS_H

#include "copse.h"

#define ANSWERS_CALLS 24

struct answers {
    struct answer {
        const char *call;
        copse_status status;
        unsigned char *bytes; /* all outputs, one behind the other; where the call failed there are none */
        size_t size;
    } calls[ANSWERS_CALLS];
    unsigned n;
};

/* Asks every call that reads, with keys lows[i] or ranges lows[i] .. highs[i]; lists entries of the first few ranges only. Where the keys
 * of the index are byte strings, both are a copse_bytes. */
struct answers answers_ask(const copse_index *index, const void *lows, const void *highs, uint64_t n);
void answers_free(struct answers *answers);

/* The first call that both answered, and not alike; NULL: there is none. */
const char *answers_differ(const struct answers *one, const struct answers *other);
/* The first call that failed with another status than `status`, or (with COPSE_OK) at all. */
const char *answers_failed(const struct answers *answers, copse_status allowed);

#endif
