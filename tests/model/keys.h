/* Draws key codes from distributions that trees find hard. */
#ifndef TESTS_KEYS_H
#define TESTS_KEYS_H

#include "random.h"
#include "typed.h"

/* Names in key_pattern_names, in the same order. */
enum key_pattern {
    KEYS_FEW,             /* a handful of neighbours: heavy duplicates within a batch       */
    KEYS_ASCENDING,       /* an append workload, dense or with gaps                         */
    KEYS_DESCENDING,      /* every insert in front                                          */
    KEYS_CLUSTERED,       /* dense around a few far centres                                 */
    KEYS_UNIFORM,         /* anywhere                                                       */
    KEYS_EXTREME,         /* limits, zeros, infinities, denormals and neighbours            */
    KEYS_HOT,             /* mostly one small spot, sometimes anywhere                      */
    KEYS_APPEND_SHUFFLED, /* an append workload, in any order within stretches              */
    KEYS_APPEND_LATE,     /* an append workload with late arrivals                          */
    KEYS_POINTS,          /* many places, each of which gets its next key in turn           */
    KEYS_GAP,             /* all in one gap, whose ends are keys of other batches           */
    KEYS_WINDOW,          /* ascending; a scenario of these also erases from the other end  */
    KEY_PATTERNS
};

extern const char *const key_pattern_names[KEY_PATTERNS];

#define KEY_CENTRES 8

struct key_source {
    copse_type type;
    enum key_pattern main_pattern;
    enum key_pattern pattern;
    uint64_t base;
    uint64_t domain;
    uint64_t stride;
    uint64_t next;
    uint64_t points; /* KEYS_POINTS: 10, 1000 or 100,000 of them */
    bool only_main;  /* no batch has another pattern             */
    uint64_t centres[KEY_CENTRES];
};

/* distinct: prefer patterns whose batches hold few equal keys, so that the sizes come out as asked. */
void key_source_init(struct key_source *source, copse_type type, bool distinct, struct random_source *random);
/* Chooses the pattern of the next batch: mostly the main one. */
void key_source_vary(struct key_source *source, struct random_source *random);
uint64_t key_draw(struct key_source *source, struct random_source *random);
/* The code, brought into the range of codes that are numbers. */
uint64_t key_clip(const struct key_source *source, uint64_t code);

#endif
