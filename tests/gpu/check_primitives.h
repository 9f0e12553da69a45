/*
 * Checks of the primitives on any device, against plain loops over the same data: for the unit test (emulated) and for
 * the card. Each function returns NULL, or a sentence on what is wrong.
 */
#ifndef TESTS_CHECK_PRIMITIVES_H
#define TESTS_CHECK_PRIMITIVES_H

#include "copse.h"
#include "primitives/mixed_state.h"
#include "primitives/primitives.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys and values in 64 bits, whatever the widths of the test. */
struct pairs {
    uint64_t n;
    uint64_t *keys, *values;
};

struct check {
    copse_device *device;
    const copse_primitives *primitives;
    unsigned pair; /* of widths */
    size_t key_bytes, value_bytes;
    uint64_t random;
    char wrong[256];
};

/* How keys are drawn. */
enum spread { SPREAD_FULL, SPREAD_FEW, SPREAD_ENDS, SPREAD_ONE, SPREADS };

static inline uint64_t check_random(struct check *c)
{
    c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (c->random >> 32) | (c->random << 32);
}

static inline const char *check_fails(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline const char *check_fails(struct check *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->wrong, sizeof c->wrong, format, arguments);
    va_end(arguments);
    return c->wrong;
}

static inline void *check_memory(uint64_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) abort();
    return memory;
}

/* What the test itself needs is there, or nothing can be said. */
static inline void check_need(const struct check *c, bool there)
{
    if (there) return;
    (void)fprintf(stderr, "the test has no memory: %s\n", copse_last_error(c->device->ctx));
    abort();
}

static inline struct pairs pairs_make(struct check *c, uint64_t n, enum spread spread)
{
    struct pairs p = {n, check_memory(n * 8), check_memory(n * 8)};
    uint64_t most = c->key_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t r = check_random(c);
        if (spread == SPREAD_FULL) p.keys[i] = r & most;
        if (spread == SPREAD_FEW) p.keys[i] = r % (n / 3 + 1);
        if (spread == SPREAD_ENDS) p.keys[i] = r % 4 < 2 ? r % 2 : most - r % 2;
        if (spread == SPREAD_ONE) p.keys[i] = 77;
        p.values[i] = i; /* shows whether a sort is stable, and which of equal keys was kept */
    }
    return p;
}

static inline void pairs_free(struct pairs *p)
{
    free(p->keys);
    free(p->values);
}

/* --- to the device and back ------------------------------------------------------------------------------------------- */

struct device_pairs {
    uint64_t n;
    void *keys, *values;
};

static inline bool numbers_up(struct check *c, const uint64_t *numbers, uint64_t n, size_t bytes, void **out)
{
    char *narrow = check_memory(n * bytes);
    for (uint64_t i = 0; i < n; i++) memcpy(narrow + i * bytes, &numbers[i], bytes); /* little endian */
    bool fine = copse_device_alloc(c->device, c->device->main, n * bytes, "a test's array", out) == COPSE_OK &&
                copse_device_copy(c->device, c->device->main, *out, narrow, n * bytes) == COPSE_OK &&
                copse_device_wait(c->device, c->device->main) == COPSE_OK;
    free(narrow);
    return fine;
}

static inline bool numbers_down(struct check *c, const void *from, uint64_t n, size_t bytes, uint64_t *numbers)
{
    char *narrow = check_memory(n * bytes);
    bool fine = copse_device_read(c->device, c->device->main, narrow, from, n * bytes) == COPSE_OK;
    for (uint64_t i = 0; i < n; i++) {
        numbers[i] = 0;
        memcpy(&numbers[i], narrow + i * bytes, bytes);
    }
    free(narrow);
    return fine;
}

static inline bool pairs_up(struct check *c, const struct pairs *p, struct device_pairs *out)
{
    *out = (struct device_pairs){p->n, NULL, NULL};
    return numbers_up(c, p->keys, p->n, c->key_bytes, &out->keys) &&
           numbers_up(c, p->values, p->n, c->value_bytes, &out->values);
}

/* Room for n pairs. */
static inline bool pairs_room(struct check *c, uint64_t n, struct device_pairs *out)
{
    *out = (struct device_pairs){n, NULL, NULL};
    return copse_device_alloc(c->device, c->device->main, n * c->key_bytes, "a test's keys", &out->keys) == COPSE_OK &&
           copse_device_alloc(c->device, c->device->main, n * c->value_bytes, "a test's values", &out->values) ==
               COPSE_OK;
}

static inline void pairs_drop(struct check *c, struct device_pairs *p)
{
    copse_device_free(c->device, c->device->main, p->keys, p->n * c->key_bytes);
    copse_device_free(c->device, c->device->main, p->values, p->n * c->value_bytes);
}

/* The first expected->n pairs on the device are those expected. */
static inline const char *pairs_compare(struct check *c, const struct device_pairs *got, const struct pairs *expected,
                                        const char *what)
{
    uint64_t n = expected->n;
    struct pairs seen = {n, check_memory(n * 8), check_memory(n * 8)};
    const char *wrong = NULL;
    if (!numbers_down(c, got->keys, n, c->key_bytes, seen.keys) ||
        !numbers_down(c, got->values, n, c->value_bytes, seen.values))
        wrong = check_fails(c, "%s: %s", what, copse_last_error(c->device->ctx));
    for (uint64_t i = 0; !wrong && i < n; i++) {
        if (seen.keys[i] != expected->keys[i] || seen.values[i] != expected->values[i])
            wrong = check_fails(c, "%s: entry %llu of %llu is (%llu, %llu), expected (%llu, %llu)", what,
                                (unsigned long long)i, (unsigned long long)n, (unsigned long long)seen.keys[i],
                                (unsigned long long)seen.values[i], (unsigned long long)expected->keys[i],
                                (unsigned long long)expected->values[i]);
    }
    pairs_free(&seen);
    return wrong;
}

/* --- sort --------------------------------------------------------------------------------------------------------------- */

static inline uint64_t bits_of(uint64_t key, unsigned first, unsigned last)
{
    unsigned bits = last - first;
    return bits == 0 ? 0 : (key >> first) & (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
}

/* Stable, by merging: not how either device does it. */
static inline void pairs_sort(struct pairs *p, unsigned first, unsigned last)
{
    struct pairs other = {p->n, check_memory(p->n * 8), check_memory(p->n * 8)};
    for (uint64_t width = 1; width < p->n; width *= 2) {
        for (uint64_t low = 0; low < p->n; low += 2 * width) {
            uint64_t middle = low + width < p->n ? low + width : p->n;
            uint64_t high = low + 2 * width < p->n ? low + 2 * width : p->n;
            for (uint64_t at = low, i = low, j = middle; at < high; at++) {
                bool left =
                    j == high || (i < middle && bits_of(p->keys[i], first, last) <= bits_of(p->keys[j], first, last));
                uint64_t from = left ? i++ : j++;
                other.keys[at] = p->keys[from];
                other.values[at] = p->values[from];
            }
        }
        struct pairs swap = *p;
        *p = other;
        other = swap;
    }
    pairs_free(&other);
}

static inline const char *check_sort(struct check *c, uint64_t n, enum spread spread, unsigned first, unsigned last)
{
    copse_device *device = c->device;
    struct pairs p = pairs_make(c, n, spread);
    struct device_pairs in, out;
    const char *wrong = NULL;
    check_need(c, pairs_up(c, &p, &in) && pairs_room(c, n, &out));
    struct pairs before = {n, p.keys, p.values};
    if (c->primitives->sort_pairs(device, device->main, c->pair, in.keys, in.values, out.keys, out.values, n, first,
                                  last) != COPSE_OK)
        wrong = check_fails(c, "sort: %s", copse_last_error(device->ctx));
    if (!wrong) wrong = pairs_compare(c, &in, &before, "sort, its input afterwards");
    pairs_sort(&p, first, last);
    if (!wrong) wrong = pairs_compare(c, &out, &p, "sort");
    void *keys[2] = {in.keys, out.keys}, *values[2] = {in.values, out.values};
    unsigned where = 2;
    if (!wrong && c->primitives->sort_pairs_between(device, device->main, c->pair, keys, values, n, first, last,
                                                    &where) != COPSE_OK)
        wrong = check_fails(c, "sort between: %s", copse_last_error(device->ctx));
    if (!wrong && where > 1) wrong = check_fails(c, "sort between: the result is in array %u", where);
    if (!wrong) wrong = pairs_compare(c, where ? &out : &in, &p, "sort between");
    pairs_drop(c, &in);
    pairs_drop(c, &out);
    pairs_free(&p);
    return wrong;
}

/* --- unique, select, merge -------------------------------------------------------------------------------------------- */

/* Reads the count and compares the kept pairs. */
static inline const char *check_kept(struct check *c, const struct device_pairs *out, const struct pairs *expected,
                                     const uint64_t *device_count, const char *what)
{
    uint64_t count = 0;
    if (copse_device_read(c->device, c->device->main, &count, device_count, 8) != COPSE_OK)
        return check_fails(c, "%s: %s", what, copse_last_error(c->device->ctx));
    if (count != expected->n)
        return check_fails(c, "%s kept %llu pairs, expected %llu", what, (unsigned long long)count,
                           (unsigned long long)expected->n);
    return pairs_compare(c, out, expected, what);
}

/* Positions whose flag is set. */
static inline const char *check_flagged(struct check *c, uint64_t n)
{
    copse_device *device = c->device;
    uint64_t *flags = check_memory(n * 8), kept = 0, count = 0;
    uint32_t *expected = check_memory(n * 4), *got = check_memory(n * 4);
    void *device_flags = NULL, *out = NULL, *device_count = NULL;
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++) {
        flags[i] = check_random(c) % 3;
        if (flags[i]) expected[kept++] = (uint32_t)i;
    }
    check_need(c, numbers_up(c, flags, n, 1, &device_flags) &&
                      copse_device_alloc(device, device->main, n * 4, "a test's positions", &out) == COPSE_OK &&
                      copse_device_alloc(device, device->main, 8, "a test's count", &device_count) == COPSE_OK);
    copse_status status = c->primitives->select_flagged(device, device->main, device_flags, out, n, device_count);
    if (status == COPSE_OK) status = copse_device_read(device, device->main, &count, device_count, 8);
    if (status == COPSE_OK && count == kept) status = copse_device_read(device, device->main, got, out, kept * 4);
    if (status != COPSE_OK)
        wrong = check_fails(c, "select by flags: %s", copse_last_error(device->ctx));
    else if (count != kept || memcmp(got, expected, kept * 4) != 0)
        wrong = check_fails(c, "select by flags kept %llu positions, or others; expected %llu",
                            (unsigned long long)count, (unsigned long long)kept);
    copse_device_free(device, device->main, device_count, 8);
    copse_device_free(device, device->main, out, n * 4);
    copse_device_free(device, device->main, device_flags, n);
    free(flags);
    free(expected);
    free(got);
    return wrong;
}

/* which: COPSE_UNIQUE_FIRST, COPSE_UNIQUE_LAST, or 2 for select by flags. */
static inline const char *check_select(struct check *c, uint64_t n, enum spread spread, int which)
{
    static const char *const names[] = {"unique, first", "unique, last", "select"};
    copse_device *device = c->device;
    struct pairs p = pairs_make(c, n, spread), kept = {0, check_memory(n * 8), check_memory(n * 8)};
    uint64_t *flags = check_memory(n * 8);
    pairs_sort(&p, 0, 64);
    for (uint64_t i = 0; i < n; i++) {
        flags[i] = check_random(c) % 3;
        bool stays = which == COPSE_UNIQUE_FIRST  ? i == 0 || p.keys[i] != p.keys[i - 1]
                     : which == COPSE_UNIQUE_LAST ? i == n - 1 || p.keys[i] != p.keys[i + 1]
                                                  : flags[i] != 0;
        if (!stays) continue;
        kept.keys[kept.n] = p.keys[i];
        kept.values[kept.n++] = p.values[i];
    }
    struct device_pairs in, out;
    void *device_flags = NULL, *count = NULL;
    const char *wrong = NULL;
    check_need(c, pairs_up(c, &p, &in) && pairs_room(c, n, &out) && numbers_up(c, flags, n, 1, &device_flags) &&
                      copse_device_alloc(device, device->main, 8, "a test's count", &count) == COPSE_OK);
    copse_status status = which == 2 ? c->primitives->select_pairs(device, device->main, c->pair, in.keys, in.values,
                                                                   device_flags, out.keys, out.values, n, count)
                                     : c->primitives->unique_pairs(device, device->main, c->pair, in.keys, in.values,
                                                                   out.keys, out.values, n, (copse_unique)which, count);
    if (status != COPSE_OK) wrong = check_fails(c, "%s: %s", names[which], copse_last_error(device->ctx));
    if (!wrong) wrong = check_kept(c, &out, &kept, count, names[which]);
    copse_device_free(device, device->main, count, 8);
    copse_device_free(device, device->main, device_flags, n);
    pairs_drop(c, &in);
    pairs_drop(c, &out);
    pairs_free(&p);
    pairs_free(&kept);
    free(flags);
    return wrong;
}

static inline const char *check_merge(struct check *c, uint64_t n_a, uint64_t n_b, enum spread spread)
{
    copse_device *device = c->device;
    uint64_t n = n_a + n_b;
    struct pairs all = pairs_make(c, n, spread);
    struct pairs a = {n_a, check_memory(n_a * 8), check_memory(n_a * 8)};
    struct pairs b = {n_b, check_memory(n_b * 8), check_memory(n_b * 8)};
    memcpy(a.keys, all.keys, n_a * 8);
    memcpy(a.values, all.values, n_a * 8);
    memcpy(b.keys, all.keys + n_a, n_b * 8);
    memcpy(b.values, all.values + n_a, n_b * 8);
    pairs_sort(&a, 0, 64);
    pairs_sort(&b, 0, 64);
    pairs_sort(&all, 0, 64); /* stable, so it is also the merge with a's equals in front */
    struct device_pairs in_a, in_b, out;
    const char *wrong = NULL;
    check_need(c, pairs_up(c, &a, &in_a) && pairs_up(c, &b, &in_b) && pairs_room(c, n, &out));
    if (c->primitives->merge_pairs(device, device->main, c->pair, in_a.keys, in_a.values, n_a, in_b.keys, in_b.values,
                                   n_b, out.keys, out.values) != COPSE_OK)
        wrong = check_fails(c, "merge: %s", copse_last_error(device->ctx));
    if (!wrong) wrong = pairs_compare(c, &out, &all, "merge");
    pairs_drop(c, &in_a);
    pairs_drop(c, &in_b);
    pairs_drop(c, &out);
    pairs_free(&all);
    pairs_free(&a);
    pairs_free(&b);
    return wrong;
}

/* --- scan and reductions ---------------------------------------------------------------------------------------------- */

static inline const char *check_result(struct check *c, copse_status status, const void *result, uint64_t expected,
                                       const char *what)
{
    uint64_t seen = 0;
    if (status != COPSE_OK || copse_device_read(c->device, c->device->main, &seen, result, 8) != COPSE_OK)
        return check_fails(c, "%s: %s", what, copse_last_error(c->device->ctx));
    if (seen != expected)
        return check_fails(c, "%s is %llu, expected %llu", what, (unsigned long long)seen,
                           (unsigned long long)expected);
    return NULL;
}

static inline const char *check_numbers(struct check *c, uint64_t n)
{
    copse_device *device = c->device;
    uint64_t *numbers = check_memory(n * 8), *sums = check_memory(n * 8), *seen = check_memory(n * 8);
    uint64_t sum = 0, least = UINT64_MAX, largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        numbers[i] = check_random(c);
        sums[i] = sum;
        sum += numbers[i];
        least = numbers[i] < least ? numbers[i] : least;
        largest = numbers[i] > largest ? numbers[i] : largest;
    }
    void *in, *out, *one = NULL;
    check_need(c, numbers_up(c, numbers, n, 8, &in) && numbers_up(c, numbers, n, 8, &out) &&
                      copse_device_alloc(device, device->main, 8, "a test's result", &one) == COPSE_OK);
    const copse_primitives *f = c->primitives;
    const char *wrong = check_result(c, f->sum_u64(device, device->main, in, n, one), one, sum, "sum");
    if (!wrong) wrong = check_result(c, f->min_u64(device, device->main, in, n, one), one, least, "min");
    if (!wrong) wrong = check_result(c, f->max_u64(device, device->main, in, n, one), one, largest, "max");
    for (int in_place = 0; !wrong && in_place <= 1; in_place++) {
        void *to = in_place ? in : out;
        if (f->scan_u64(device, device->main, in, to, n) != COPSE_OK || !numbers_down(c, to, n, 8, seen))
            wrong = check_fails(c, "scan: %s", copse_last_error(device->ctx));
        if (!wrong && memcmp(seen, sums, n * 8) != 0)
            wrong = check_fails(c, "scan of %llu is wrong, in place: %d", (unsigned long long)n, in_place);
    }
    copse_device_free(device, device->main, one, 8);
    copse_device_free(device, device->main, in, n * 8);
    copse_device_free(device, device->main, out, n * 8);
    free(numbers);
    free(sums);
    free(seen);
    return wrong;
}

/* --- states of mixed batches ------------------------------------------------------------------------------------------ */

/* A key as the operations before left it: the position of the operation that put its value, or that it had one before. */
enum { KEY_GONE = -1, KEY_AS_BEFORE = -2 };

static inline int64_t key_after(int64_t key, uint64_t does, uint64_t position)
{
    const bool absent = does == COPSE_OP_INSERT_IF_ABSENT || does == COPSE_OP_ADD;
    if (does == COPSE_OP_UPSERT || (absent && key == KEY_GONE)) return (int64_t)position;
    return does == COPSE_OP_ERASE ? KEY_GONE : key;
}

/* What the state says of a key that was there and of one that was not is what the operations do to them one by one. */
static inline const char *check_states(struct check *c, uint64_t n, enum spread spread)
{
    copse_device *device = c->device;
    struct pairs p = pairs_make(c, n, spread);
    struct device_pairs in;
    void *out = NULL;
    uint64_t *states = check_memory(n * 8);
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++) p.values[i] = i << COPSE_MIXED_SHIFT | (check_random(c) >> 7) % 5;
    pairs_sort(&p, 0, 64);
    check_need(c, pairs_up(c, &p, &in) && copse_device_alloc(device, device->main, n * c->value_bytes,
                                                             "a test's states", &out) == COPSE_OK);
    if (c->primitives->scan_states(device, device->main, c->pair, in.keys, in.values, out, n) != COPSE_OK ||
        !numbers_down(c, out, n, c->value_bytes, states))
        wrong = check_fails(c, "states: %s", copse_last_error(device->ctx));
    int64_t there = KEY_AS_BEFORE, absent = KEY_GONE;
    for (uint64_t i = 0; !wrong && i < n; i++) {
        if (i == 0 || p.keys[i] != p.keys[i - 1]) {
            there = KEY_AS_BEFORE;
            absent = KEY_GONE;
        }
        const uint64_t does = p.values[i] & COPSE_MIXED_TAG, position = p.values[i] >> COPSE_MIXED_SHIFT;
        there = key_after(there, does, position);
        absent = key_after(absent, does, position);
        if (key_after(KEY_AS_BEFORE, states[i] & 3, states[i] >> 3) != there ||
            key_after(KEY_GONE, states[i] & 3, states[i] >> 3) != absent)
            wrong = check_fails(c, "state %llu of %llu is %#llx", (unsigned long long)i, (unsigned long long)n,
                                (unsigned long long)states[i]);
    }
    copse_device_free(device, device->main, out, n * c->value_bytes);
    pairs_drop(c, &in);
    pairs_free(&p);
    free(states);
    return wrong;
}

/* --- everything of one size --------------------------------------------------------------------------------------------- */

static inline struct check check_make(copse_device *device, unsigned pair, uint64_t seed)
{
    return (struct check){.device = device,
                          .primitives = device->backend->primitives,
                          .pair = pair,
                          .key_bytes = pair & 2 ? 8 : 4,
                          .value_bytes = pair & 1 ? 8 : 4,
                          .random = seed};
}

static inline const char *check_all_of(struct check *c, uint64_t n)
{
    unsigned bits = (unsigned)c->key_bytes * 8;
    const char *wrong = check_numbers(c, n);
    for (int spread = 0; !wrong && spread < SPREADS; spread++) {
        enum spread s = (enum spread)spread;
        wrong = check_sort(c, n, s, 0, bits);
        if (!wrong) wrong = check_sort(c, n, s, 3, bits - 5);
        if (!wrong) wrong = check_sort(c, n, s, 8, 8);
        if (!wrong) wrong = check_sort(c, n, s, 0, 9);
        for (int which = 0; !wrong && which <= 2; which++) wrong = check_select(c, n, s, which);
        if (!wrong) wrong = check_flagged(c, n);
        if (!wrong) wrong = check_states(c, n, s);
        if (!wrong) wrong = check_merge(c, n, n, s);
        if (!wrong) wrong = check_merge(c, n / 7, n, s);
        if (!wrong) wrong = check_merge(c, n, 0, s);
        if (!wrong) wrong = check_merge(c, 0, n, s);
    }
    return wrong;
}

#endif
