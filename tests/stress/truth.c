#include "truth.h"

#include <stdlib.h>
#include <string.h>

/* A word: writes in the upper 31 bits, erases in 31 more, moving, present. */
static uint64_t pack(struct truth_moment moment)
{
    return (uint64_t)moment.writes << 33 | (uint64_t)moment.erases << 2 | (moment.moving ? 2u : 0u) |
           (moment.present ? 1u : 0u);
}

static struct truth_moment unpack(uint64_t word)
{
    return (struct truth_moment){(uint32_t)(word >> 33), (uint32_t)(word >> 2 & 0x7fffffff), word & 2, word & 1};
}

/* --- keys -------------------------------------------------------------------------------------------------------------- */

/* Neighbours, or with gaps of one size or of any; in the middle of the type or at either end of it. */
static void choose_codes(struct truth *truth, struct random_source *random)
{
    uint64_t low = typed_lowest_code(truth->key_type), high = typed_highest_code(truth->key_type);
    uint64_t room = (high - low) / truth->n;
    uint64_t stride = random_one_in(random, 2) ? 1 : 1 + random_below(random, room < 1000 ? room : 1000);
    bool ragged = random_one_in(random, 3), ends = random_one_in(random, 2);
    if (random_one_in(random, 6)) stride = room;
    uint64_t span = stride * (truth->n - 1), start = low;
    switch (random_below(random, 4)) {
    case 0:
        break;
    case 1:
        start = high - span;
        break;
    case 2:
        start = typed_zero_code(truth->key_type) < low + span / 2 ? low : typed_zero_code(truth->key_type) - span / 2;
        break;
    default:
        start = low + random_below(random, high - low - span);
        break;
    }
    if (start > high - span) start = high - span;
    for (uint64_t i = 0; i < truth->n; i++)
        truth->codes[i] = start + stride * i + (ragged && i + 1 < truth->n ? random_below(random, stride) : 0);
    if (ends) {
        truth->codes[0] = low;
        truth->codes[truth->n - 1] = high;
    }
}

/* The code below that of 0.0 is the one of -0.0, which is the same key. */
static void leave_out_negative_zero(struct truth *truth)
{
    uint64_t zero = typed_zero_code(truth->key_type), at = truth_position(truth, zero - 1);
    if (!typed_is_float(truth->key_type) || at == truth->n || truth->codes[at] != zero - 1) return;
    for (uint64_t i = 0; i <= at; i++)
        if (truth->codes[i] != typed_lowest_code(truth->key_type)) truth->codes[i]--;
}

/* Taking turns, in blocks, or at random; one key in eight never comes. */
static void choose_roles(struct truth *truth, struct random_source *random)
{
    uint64_t way = random_below(random, 3), block = 1 + random_below(random, 200), share = 1 + random_below(random, 7);
    for (uint64_t i = 0; i < truth->n; i++) {
        bool stable = way == 0 ? i % 2 == 0 : way == 1 ? i / block % 2 == 0 : random_below(random, 8) < share;
        truth->roles[i] = stable ? TRUTH_STABLE : TRUTH_VOLATILE;
        if (random_one_in(random, 8)) truth->roles[i] = TRUTH_NEVER;
    }
    /* both roles have at least one key */
    truth->roles[truth->n / 3] = TRUTH_STABLE;
    truth->roles[truth->n / 3 + 1] = TRUTH_VOLATILE;
}

void truth_make(struct truth *truth, copse_type key_type, copse_type value_type, uint64_t n,
                struct random_source *random)
{
    *truth = (struct truth){.key_type = key_type, .value_type = value_type, .salt = random_next(random), .n = n};
    truth->codes = must_malloc(n * sizeof *truth->codes);
    truth->roles = must_malloc(n);
    truth->now = must_malloc(n * sizeof *truth->now);
    truth->words = must_malloc(n * sizeof *truth->words);
    truth->stables = must_malloc(n * sizeof *truth->stables);
    truth->volatiles = must_malloc(n * sizeof *truth->volatiles);
    choose_codes(truth, random);
    leave_out_negative_zero(truth);
    choose_roles(truth, random);
    for (uint64_t i = 0; i < n; i++) {
        bool there = truth->roles[i] == TRUTH_STABLE || (truth->roles[i] == TRUTH_VOLATILE && random_one_in(random, 2));
        truth->now[i] = (struct truth_moment){.writes = there, .present = there};
        atomic_init(&truth->words[i], pack(truth->now[i]));
        if (truth->roles[i] == TRUTH_STABLE) truth->stables[truth->stable_n++] = i;
        if (truth->roles[i] == TRUTH_VOLATILE) truth->volatiles[truth->volatile_n++] = i;
    }
}

void truth_free(struct truth *truth)
{
    free(truth->codes);
    free(truth->roles);
    free(truth->now);
    free(truth->words);
    free(truth->stables);
    free(truth->volatiles);
}

uint64_t truth_position(const struct truth *truth, uint64_t code)
{
    uint64_t low = 0, high = truth->n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (truth->codes[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- values ------------------------------------------------------------------------------------------------------------ */

/* A value is a mark of its key above the number of the write: a pair that was put together from two keys, or a value from
 * two writes, shows. */
static unsigned write_bits(const struct truth *truth)
{
    return typed_size(truth->value_type) == 4 ? 20 : 28;
}

static uint64_t mark_of(const struct truth *truth, uint64_t code)
{
    struct random_source source = {truth->salt ^ code * UINT64_C(0x9e3779b97f4a7c15)};
    uint64_t bits = 8 * typed_size(truth->value_type);
    return random_next(&source) >> (64 - bits + write_bits(truth));
}

uint32_t truth_most_writes(const struct truth *truth)
{
    return (UINT32_C(1) << write_bits(truth)) - 1;
}

uint64_t truth_value(const struct truth *truth, uint64_t i, uint32_t write)
{
    return mark_of(truth, truth->codes[i]) << write_bits(truth) | write;
}

/* Write number 0 never happens. */
uint64_t truth_poison(const struct truth *truth, uint64_t i)
{
    return truth_value(truth, i, 0);
}

/* --- what a reader may see --------------------------------------------------------------------------------------------- */

void truth_publish(struct truth *truth, uint64_t i, struct truth_moment moment)
{
    atomic_store(&truth->words[i], pack(moment));
}

void truth_look(const struct truth *truth, uint64_t *out_words)
{
    for (uint64_t i = 0; i < truth->n; i++) out_words[i] = atomic_load(&truth->words[i]);
}

void truth_window_make(struct truth_window *window, const struct truth *truth)
{
    window->truth = truth;
    window->before = must_malloc(truth->n * sizeof(uint64_t));
    window->after = must_malloc(truth->n * sizeof(uint64_t));
    window->must_before = must_malloc((truth->n + 1) * sizeof(uint64_t));
    window->may_before = must_malloc((truth->n + 1) * sizeof(uint64_t));
}

void truth_window_free(struct truth_window *window)
{
    free(window->before);
    free(window->after);
    free(window->must_before);
    free(window->may_before);
}

/* It was there before, or is left there by the batch that runs, and nothing erased it until the call had ended. */
bool truth_must(const struct truth_window *window, uint64_t i)
{
    struct truth_moment before = unpack(window->before[i]), after = unpack(window->after[i]);
    return before.present && before.erases == after.erases;
}

bool truth_may(const struct truth_window *window, uint64_t i)
{
    struct truth_moment before = unpack(window->before[i]), after = unpack(window->after[i]);
    return before.present || before.moving || after.writes != before.writes;
}

void truth_window_close(struct truth_window *window)
{
    uint64_t must = 0, may = 0;
    for (uint64_t i = 0; i < window->truth->n; i++) {
        window->must_before[i] = must;
        window->may_before[i] = may;
        must += truth_must(window, i);
        may += truth_may(window, i);
    }
    window->must_before[window->truth->n] = must;
    window->may_before[window->truth->n] = may;
}

const char *truth_judge_found(const struct truth_window *window, uint64_t i, bool found)
{
    if (found && !truth_may(window, i)) return "is found, but was not there";
    if (!found && truth_must(window, i)) return "is not found, but was there all the time";
    return NULL;
}

const char *truth_judge(const struct truth_window *window, uint64_t i, bool found, uint64_t bits)
{
    const struct truth *truth = window->truth;
    struct truth_moment before = unpack(window->before[i]), after = unpack(window->after[i]);
    const char *wrong = truth_judge_found(window, i, found);
    if (wrong) return wrong;
    if (!found) return bits ? "is not found, but has a value" : NULL;
    uint64_t write = bits & truth_most_writes(truth);
    if (bits >> write_bits(truth) != mark_of(truth, truth->codes[i])) return "has the value of another key";
    if (write == 0) return "has a value whose insert must not count";
    if (write > after.writes) return "has a value that was not written yet";
    if (!before.moving && write < before.writes + !before.present) return "has a value that was gone before the call";
    return NULL;
}
