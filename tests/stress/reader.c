#include "reader.h"
#include "support/ranges.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that the ranges of one call may cover in all. */
#define SPAN_BUDGET 100000

/* The queries of one call and the answers to it. */
struct question {
    uint64_t n;
    uint64_t *lows; /* codes: of keys, or bounds */
    uint64_t *highs;
    void *low_keys; /* the same as keys */
    void *high_keys;
    uint64_t limit;    /* of ranges                                  */
    uint64_t capacity; /* entries that the answer has room for       */
    void *keys;
    void *values;
    uint8_t *found;
    uint64_t *numbers; /* counts, ranks or offsets, n + 1 of them    */
    bool no_values;    /* they were not asked for                    */
    bool no_keys;      /* the same of a range's keys                 */
};

__attribute__((format(printf, 2, 3))) static bool fail(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->why, sizeof reader->why, format, arguments);
    va_end(arguments);
    return false;
}

/* "key 17 (a stable one): what" */
static bool fail_key(struct reader *reader, uint64_t at, const char *what)
{
    static const char *const roles[] = {"never erased", "volatile", "never inserted"};
    const struct truth *truth = reader->truth;
    char text[64];
    (void)typed_print(truth->key_type, typed_bits_of_code(truth->key_type, truth->codes[at]), text, sizeof text);
    return fail(reader, "key %s (number %llu of %llu, %s) %s", text, (unsigned long long)at,
                (unsigned long long)truth->n, roles[truth->roles[at]], what);
}

/* --- questions ------------------------------------------------------------------------------------------------------------ */

/* A key of the round, or one beside it; -0.0 is 0.0. */
static uint64_t draw_code(struct reader *reader, uint64_t at)
{
    const struct truth *truth = reader->truth;
    uint64_t code = truth->codes[at < truth->n ? at : truth->n - 1], step = random_below(&reader->random, 12);
    if (step == 0 && code > typed_lowest_code(truth->key_type)) code--;
    if (step == 1 && code < typed_highest_code(truth->key_type)) code++;
    return typed_code_of_bits(truth->key_type, typed_bits_of_code(truth->key_type, code));
}

/* From anywhere, or from a narrow part, where the writer may be at work. */
static void draw_codes(struct reader *reader, struct question *question)
{
    const struct truth *truth = reader->truth;
    struct random_source *random = &reader->random;
    uint64_t first = random_below(random, truth->n), width = random_one_in(random, 2) ? truth->n : 40;
    uint64_t budget = SPAN_BUDGET;
    for (uint64_t i = 0; i < question->n; i++) {
        uint64_t at = (first + random_below(random, width)) % truth->n;
        uint64_t span = random_below(random, random_one_in(random, 16) ? truth->n : 60);
        if (span > budget) span = 0;
        budget -= span;
        question->lows[i] = draw_code(reader, at);
        question->highs[i] = draw_code(reader, at + span);
        if (random_one_in(random, 64)) question->lows[i] = typed_lowest_code(truth->key_type);
        if (random_one_in(random, 64)) question->highs[i] = typed_highest_code(truth->key_type);
    }
}

static void question_make(struct reader *reader, struct question *question)
{
    const struct truth *truth = reader->truth;
    struct random_source *random = &reader->random;
    memset(question, 0, sizeof *question);
    uint64_t n = question->n = stress_size(random, reader->size_bits);
    question->lows = must_malloc(n * sizeof *question->lows);
    question->highs = must_malloc(n * sizeof *question->highs);
    question->low_keys = typed_new(truth->key_type, n);
    question->high_keys = typed_new(truth->key_type, n);
    question->found = must_malloc(n);
    question->numbers = must_malloc((n + 1) * sizeof *question->numbers);
    question->limit = random_one_in(random, 3) ? 1 + random_below(random, 12) : 0;
    question->no_values = random_one_in(random, 8);
    question->no_keys = random_one_in(random, 8);
    draw_codes(reader, question);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t first = truth_position(truth, question->lows[i]), last = truth_position(truth, question->highs[i]);
        question->capacity += last < first ? 1 : last - first + 1;
        typed_set_code(truth->key_type, question->low_keys, i, question->lows[i]);
        typed_set_code(truth->key_type, question->high_keys, i, question->highs[i]);
    }
    question->keys = typed_new(truth->key_type, question->capacity);
    question->values = typed_new(truth->value_type, question->capacity);
}

static void question_free(struct question *question)
{
    free(question->lows);
    free(question->highs);
    free(question->low_keys);
    free(question->high_keys);
    free(question->keys);
    free(question->values);
    free(question->found);
    free(question->numbers);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

enum reading { FIND, CONTAINS, LOWER_BOUND, SUCCESSOR, PREDECESSOR, RANGE, COUNT };

const char *const stress_read_names[STRESS_READS] = {"find",        "contains", "lower_bound", "successor",
                                                     "predecessor", "range",    "count"};

static enum reading draw_reading(struct reader *reader)
{
    uint64_t reading;
    do reading = random_below(&reader->random, STRESS_READS);
    while (reader->reads && !(reader->reads >> reading & 1));
    return (enum reading)reading;
}

static copse_status ask(const struct reader *reader, enum reading reading, const struct question *question,
                        struct placed_call *call)
{
    const copse_index *index = reader->index;
    const size_t key = typed_size(reader->truth->key_type), value = typed_size(reader->truth->value_type);
    uint64_t n = question->n, room = reading == RANGE ? question->capacity : n;
    if (reading == RANGE && question->no_keys && question->no_values) room = 0; /* only the offsets */
    const void *lows = placed_input(call, question->low_keys, n, key);
    const void *highs = reading >= RANGE ? placed_input(call, question->high_keys, n, key) : NULL;
    bool entries = reading != COUNT && reading != CONTAINS;
    void *values = entries && !question->no_values ? placed_output(call, question->values, room, value) : NULL;
    bool wants_keys = reading == RANGE ? !question->no_keys : entries && reading != FIND;
    void *keys = wants_keys ? placed_output(call, question->keys, room, key) : NULL;
    uint8_t *found = reading < RANGE ? placed_output(call, question->found, n, 1) : NULL;
    uint64_t *numbers = reading == LOWER_BOUND || reading >= RANGE
                            ? placed_output(call, question->numbers, reading == RANGE ? n + 1 : n, sizeof *numbers)
                            : NULL;
    if (reading == FIND) return copse_find(index, lows, n, values, found);
    if (reading == CONTAINS) return copse_contains(index, lows, n, found);
    if (reading == LOWER_BOUND) return copse_lower_bound(index, lows, n, keys, values, found, numbers);
    if (reading == SUCCESSOR) return copse_successor(index, lows, n, keys, values, found);
    if (reading == PREDECESSOR) return copse_predecessor(index, lows, n, keys, values, found);
    if (reading == COUNT) return copse_count(index, BETWEEN(lows, highs, n), numbers);
    return copse_range(index, AT_MOST(question->limit, lows, highs, n), ROWS(numbers, keys, values, room));
}

/* --- judgement ---------------------------------------------------------------------------------------------------------- */

static uint64_t value_at(const struct reader *reader, const struct question *question, uint64_t i)
{
    return typed_bits(reader->truth->value_type, question->values, i);
}

static uint64_t key_at(const struct reader *reader, const struct question *question, uint64_t i)
{
    return typed_code(reader->truth->key_type, question->keys, i);
}

/* Key number `at` was found (or not) as entry i of the answer. */
static bool judge_entry(struct reader *reader, const struct truth_window *window, const struct question *question,
                        uint64_t at, bool found, uint64_t i)
{
    const char *wrong = question->no_values ? truth_judge_found(window, at, found)
                                            : truth_judge(window, at, found, found ? value_at(reader, question, i) : 0);
    return !wrong || fail_key(reader, at, wrong);
}

static bool judge_finds(struct reader *reader, const struct truth_window *window, const struct question *question)
{
    const struct truth *truth = reader->truth;
    for (uint64_t i = 0; i < question->n; i++) {
        uint64_t at = truth_position(truth, question->lows[i]);
        bool known = at < truth->n && truth->codes[at] == question->lows[i];
        if (!known && question->found[i])
            return fail(reader, "query %llu finds a key of nobody", (unsigned long long)i);
        if (question->found[i] > 1)
            return fail(reader, "query %llu has found %u", (unsigned long long)i, question->found[i]);
        if (known && !judge_entry(reader, window, question, at, question->found[i], i)) return false;
    }
    return true;
}

/* Keys that must be there, and may be there, among those from position first to before last. */
static uint64_t must_in(const struct truth_window *window, uint64_t first, uint64_t last)
{
    return last > first ? window->must_before[last] - window->must_before[first] : 0;
}

static uint64_t may_in(const struct truth_window *window, uint64_t first, uint64_t last)
{
    return last > first ? window->may_before[last] - window->may_before[first] : 0;
}

static bool judge_number(struct reader *reader, const struct truth_window *window, const char *what, uint64_t i,
                         uint64_t first, uint64_t last, uint64_t number)
{
    uint64_t least = must_in(window, first, last), most = may_in(window, first, last);
    if (number >= least && number <= most) return true;
    return fail(reader, "%s %llu is %llu; between %llu and %llu keys were there", what, (unsigned long long)i,
                (unsigned long long)number, (unsigned long long)least, (unsigned long long)most);
}

/* The position after the last key of a range. */
static uint64_t end_position(const struct truth *truth, uint64_t high)
{
    uint64_t at = truth_position(truth, high);
    return at < truth->n && truth->codes[at] == high ? at + 1 : at;
}

static bool judge_counts(struct reader *reader, const struct truth_window *window, const struct question *question)
{
    for (uint64_t i = 0; i < question->n; i++)
        if (!judge_number(reader, window, "count", i, truth_position(reader->truth, question->lows[i]),
                          end_position(reader->truth, question->highs[i]), question->numbers[i]))
            return false;
    return true;
}

/* The neighbour that was found is one, and no key lies between that was there all the time. */
static bool judge_neighbours(struct reader *reader, const struct truth_window *window, const struct question *question,
                             enum reading reading)
{
    const struct truth *truth = reader->truth;
    for (uint64_t i = 0; i < question->n; i++) {
        uint64_t code = question->lows[i], from = truth_position(truth, code), first, last;
        if (reading == SUCCESSOR) from = end_position(truth, code);
        uint64_t at = question->found[i] ? truth_position(truth, key_at(reader, question, i)) : truth->n;
        if (question->found[i] && (at == truth->n || truth->codes[at] != key_at(reader, question, i)))
            return fail(reader, "query %llu gives a key of nobody", (unsigned long long)i);
        if (question->found[i] && !judge_entry(reader, window, question, at, true, i)) return false;
        first = reading == PREDECESSOR ? (question->found[i] ? at + 1 : 0) : from;
        last = reading == PREDECESSOR ? from : at;
        if (question->found[i] && (reading == PREDECESSOR ? at >= from : at < from))
            return fail_key(reader, at, "is given, but lies on the other side of the query");
        if (must_in(window, first, last)) {
            while (!truth_must(window, first)) first++;
            return fail_key(reader, first, "is passed over, but was there all the time");
        }
        if (reading == LOWER_BOUND && !judge_number(reader, window, "rank", i, 0, from, question->numbers[i]))
            return false;
    }
    return true;
}

/* The entries of range i are in order, each once; those that must be there are, up to where a limit ends it. */
static bool judge_range(struct reader *reader, const struct truth_window *window, const struct question *question,
                        uint64_t i)
{
    const struct truth *truth = reader->truth;
    uint64_t entry = question->numbers[i], end = question->numbers[i + 1], limit = question->limit;
    uint64_t last = end_position(truth, question->highs[i]);
    bool limited = limit && end - entry == limit;
    if (limit && end - entry > limit) return fail(reader, "range %llu is longer than its limit", (unsigned long long)i);
    for (uint64_t at = truth_position(truth, question->lows[i]); at < last && !(limited && entry == end); at++) {
        if (entry < end && key_at(reader, question, entry) < truth->codes[at]) break;
        bool found = entry < end && key_at(reader, question, entry) == truth->codes[at];
        if (!judge_entry(reader, window, question, at, found, entry)) return false;
        entry += found;
    }
    if (entry == end) return true;
    char text[64];
    return fail(reader,
                "range %llu: key %s at its entry %llu of %llu is none of the range, not in order or there twice",
                (unsigned long long)i,
                typed_print(truth->key_type, typed_bits(truth->key_type, question->keys, entry), text, sizeof text),
                (unsigned long long)(entry - question->numbers[i]), (unsigned long long)(end - question->numbers[i]));
}

/* Without keys only the lengths can be judged. */
static bool judge_ranges(struct reader *reader, const struct truth_window *window, const struct question *question)
{
    const struct truth *truth = reader->truth;
    for (uint64_t i = 0; i < question->n; i++) {
        uint64_t first = truth_position(truth, question->lows[i]), last = end_position(truth, question->highs[i]);
        uint64_t length = question->numbers[i + 1] - question->numbers[i];
        if (question->numbers[0] != 0 || question->numbers[i + 1] < question->numbers[i])
            return fail(reader, "the offsets of range %llu go backwards", (unsigned long long)i);
        if (question->numbers[i + 1] > question->capacity)
            return fail(reader, "the offsets of range %llu are beyond the capacity", (unsigned long long)i);
        bool cut = question->limit && length == question->limit; /* there may be more */
        if (question->no_keys && !cut && !judge_number(reader, window, "range", i, first, last, length)) return false;
        if (!question->no_keys && !judge_range(reader, window, question, i)) return false;
    }
    return true;
}

/* --- lies of --self-test ------------------------------------------------------------------------------------------------ */

static void set_value(const struct reader *reader, struct question *question, uint64_t i, uint64_t bits)
{
    typed_set_bits(reader->truth->value_type, question->values, i, bits);
}

static bool lie_about_find(struct reader *reader, const struct truth_window *window, struct question *question,
                           uint64_t i)
{
    const struct truth *truth = reader->truth;
    uint64_t at = truth_position(truth, question->lows[i]);
    if (at == truth->n || truth->codes[at] != question->lows[i] || question->no_values) return false;
    uint64_t bits = value_at(reader, question, i);
    bool found = question->found[i], old = found && truth_value(truth, at, 1) != bits;
    switch (reader->lie) {
    case LIE_LOST:
        question->found[i] = 0;
        set_value(reader, question, i, 0);
        return found;
    case LIE_TORN:
        set_value(reader, question, i, truth_value(truth, (at + 1) % truth->n, 1));
        return found;
    case LIE_OLD:
        set_value(reader, question, i, old ? bits - 1 : bits);
        return old;
    case LIE_POISON:
        set_value(reader, question, i, found ? truth_poison(truth, at) : bits);
        return found;
    case LIE_GHOST:
        if (found || truth_may(window, at)) return false;
        question->found[i] = 1;
        set_value(reader, question, i, truth_value(truth, at, 1));
        return true;
    default:
        return false;
    }
}

static void copy_entry(const struct reader *reader, struct question *question, uint64_t to, uint64_t from)
{
    copse_type type = reader->truth->key_type;
    typed_set_bits(type, question->keys, to, typed_bits(type, question->keys, from));
    if (!question->no_values) set_value(reader, question, to, value_at(reader, question, from));
}

/* The last range with its entry 1 left out, or there twice. */
static bool lie_about_range(struct reader *reader, struct question *question)
{
    uint64_t first = question->numbers[question->n - 1], end = question->numbers[question->n];
    if (question->limit || question->no_keys || end < first + 3 || end == question->capacity) return false;
    if (reader->lie == LIE_SKIP) {
        for (uint64_t entry = first + 1; entry + 1 < end; entry++) copy_entry(reader, question, entry, entry + 1);
        question->numbers[question->n]--;
    } else {
        for (uint64_t entry = end; entry > first + 1; entry--) copy_entry(reader, question, entry, entry - 1);
        question->numbers[question->n]++;
    }
    return true;
}

static bool lie_about_neighbour(struct reader *reader, const struct truth_window *window, struct question *question,
                                uint64_t i)
{
    const struct truth *truth = reader->truth;
    if (!question->found[i] || question->no_values) return false;
    uint64_t at = truth_position(truth, key_at(reader, question, i));
    if (!truth_must(window, at)) return false;
    do at++;
    while (at < truth->n && !truth_must(window, at));
    if (at >= truth->n) return false;
    typed_set_code(truth->key_type, question->keys, i, truth->codes[at]);
    set_value(reader, question, i, truth_value(truth, at, truth->now[at].writes));
    return true;
}

/* Tells the lie once, with the first answer that it can be told of. The reader holds the lock: nothing changes. */
static void lie(struct reader *reader, const struct truth_window *window, struct question *question,
                enum reading reading)
{
    bool told = false;
    for (uint64_t i = 0; reader->lie != LIE_NONE && !told && i < question->n; i++) {
        if (reading == FIND) told = lie_about_find(reader, window, question, i);
        if (reading == RANGE && (reader->lie == LIE_SKIP || reader->lie == LIE_TWICE))
            told = lie_about_range(reader, question);
        if (reading == COUNT && reader->lie == LIE_COUNT) told = ++question->numbers[i] != 0;
        if (reading == LOWER_BOUND && reader->lie == LIE_NEXT) told = lie_about_neighbour(reader, window, question, i);
    }
    if (told) reader->lie = LIE_NONE;
}

/* --- the thread ------------------------------------------------------------------------------------------------------------ */

static bool judge(struct reader *reader, struct truth_window *window, struct question *question, enum reading reading)
{
    lie(reader, window, question, reading);
    if (reading == COUNT) return judge_counts(reader, window, question);
    if (reading == RANGE) return judge_ranges(reader, window, question);
    if (reading == CONTAINS) question->no_values = true;
    if (reading <= CONTAINS) return judge_finds(reader, window, question);
    return judge_neighbours(reader, window, question, reading);
}

static bool read_once(struct reader *reader, struct truth_window *window)
{
    enum reading reading = draw_reading(reader);
    struct question question;
    struct placed_call call = {.device = reader->device, .reachable = true, .memory = reader->memory};
    call.places = (uint32_t)random_next(&reader->random);
    question_make(reader, &question);
    (void)snprintf(reader->where, sizeof reader->where, "copse_%s of %llu", stress_read_names[reading],
                   (unsigned long long)question.n);
    if (reader->lock) (void)pthread_rwlock_rdlock(reader->lock);
    truth_look(reader->truth, window->before);
    copse_status status = ask(reader, reading, &question, &call);
    if (status == COPSE_OK) status = copse_ctx_synchronize(reader->ctx);
    truth_look(reader->truth, window->after);
    const char *misplaced = placed_end(&call);
    truth_window_close(window);
    bool right =
        status == COPSE_OK || fail(reader, "returned %s: %s", copse_status_name(status), copse_last_error(reader->ctx));
    if (right && misplaced) right = fail(reader, "%s", misplaced);
    if (right) right = judge(reader, window, &question, reading);
    if (reader->lock) (void)pthread_rwlock_unlock(reader->lock);
    question_free(&question);
    reader->calls++;
    return right;
}

void *reader_run(void *user)
{
    struct reader *reader = user;
    struct truth_window window;
    truth_window_make(&window, reader->truth);
    while (!atomic_load(reader->stop))
        if (!read_once(reader, &window)) atomic_store(reader->stop, true);
    truth_window_free(&window);
    return NULL;
}
