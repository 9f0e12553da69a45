#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "typed.h"

#define RANGES_LISTED 6

/* What one batch of questions needs. */
struct questions {
    const copse_index *index;
    const void *lows, *highs;
    uint64_t n, listed, entries;
    size_t key_size, value_size;
};

/* Notes an answer whose outputs lie one behind the other in `bytes`, which it takes over. */
static void note(struct answers *to, const char *call, copse_status status, void *bytes, size_t size)
{
    const bool answered = status == COPSE_OK || status == COPSE_ERR_OVERFLOW;
    to->calls[to->n++] = (struct answer){call, status, bytes, answered ? size : 0};
}

static unsigned char *zeros(size_t size)
{
    unsigned char *bytes = must_malloc(size + 1);
    memset(bytes, 0, size + 1);
    return bytes;
}

/* Where values go; of a set nowhere. */
static void *room_of(const struct questions *q, unsigned char *values)
{
    return q->value_size ? values : NULL;
}

static void ask_finds(const struct questions *q, struct answers *to)
{
    const size_t n = (size_t)q->n, values = n * 8;
    unsigned char *out = zeros(values + n);
    note(to, "find", copse_find(q->index, q->lows, n, room_of(q, out), out + values), out, values + n);
    out = zeros(n);
    note(to, "contains", copse_contains(q->index, q->lows, n, out), out, n);
}

static void ask_points(const struct questions *q, struct answers *to)
{
    const size_t n = (size_t)q->n, keys = n * 8, values = n * 8;
    unsigned char *out = zeros(keys + values + n * 8 + n);
    note(to, "lower_bound",
         copse_lower_bound(q->index, q->lows, n, out, room_of(q, out + keys), out + keys + values + n * 8,
                           (uint64_t *)(void *)(out + keys + values)),
         out, keys + values + n * 8 + n);
    out = zeros(keys + values + n);
    note(to, "floor", copse_floor(q->index, q->lows, n, out, room_of(q, out + keys), out + keys + values), out,
         keys + values + n);
    out = zeros(keys + values + n);
    note(to, "successor", copse_successor(q->index, q->lows, n, out, room_of(q, out + keys), out + keys + values), out,
         keys + values + n);
    out = zeros(keys + values + n);
    note(to, "predecessor", copse_predecessor(q->index, q->lows, n, out, room_of(q, out + keys), out + keys + values),
         out, keys + values + n);
}

static void ask_aggregates(const struct questions *q, struct answers *to)
{
    const size_t n = (size_t)q->n;
    const copse_ranges ranges = COPSE_BETWEEN(q->lows, q->highs, n);
    copse_stats stats = {.struct_size = sizeof stats};
    unsigned char *out = zeros(n * 8);
    note(to, "count", copse_count(q->index, &ranges, (uint64_t *)(void *)out), out, n * 8);
    if (q->value_size == 0) return; /* a set */
    out = zeros(n * 8);
    note(to, "sum", copse_sum(q->index, &ranges, out), out, n * 8);
    if (copse_index_stats(q->index, &stats) == COPSE_OK && !typed_is_float(stats.value_type)) {
        out = zeros(n * sizeof(copse_int128));
        note(to, "sum128", copse_sum128(q->index, &ranges, (copse_int128 *)(void *)out), out, n * sizeof(copse_int128));
    }
    out = zeros(n * 9);
    note(to, "min", copse_min(q->index, &ranges, out, out + n * 8), out, n * 9);
    out = zeros(n * 9);
    note(to, "max", copse_max(q->index, &ranges, out, out + n * 8), out, n * 9);
    out = zeros(n * 8);
    note(to, "avg", copse_avg(q->index, &ranges, (double *)(void *)out), out, n * 8);
}

static void ask_range(const struct questions *q, uint64_t limit, uint32_t flags, const char *name, struct answers *to)
{
    const uint64_t n = q->listed;
    uint64_t offsets[RANGES_LISTED + 1] = {0};
    copse_ranges ranges = COPSE_BETWEEN(q->lows, q->highs, n);
    copse_rows rows = COPSE_ROWS_INIT;
    ranges.limit = limit;
    ranges.flags = flags;
    rows.offsets = offsets;
    copse_status status = copse_range(q->index, &ranges, &rows);
    /* A bad answer may be any number, but not one that there is no room for. */
    const size_t capacity = status == COPSE_OK ? (size_t)offsets[n] : 0;
    if (capacity > n * q->entries) abort();
    const size_t keys = sizeof offsets + capacity * q->key_size;
    const size_t values = (keys + 7) / 8 * 8, size = values + capacity * q->value_size;
    unsigned char *out = zeros(size);
    rows.offsets = (uint64_t *)(void *)out;
    rows.keys = out + sizeof offsets;
    rows.values = room_of(q, out + values);
    rows.capacity = capacity;
    if (status == COPSE_OK) status = copse_range(q->index, &ranges, &rows);
    note(to, name, status, out, size);
}

static void ask_ranks(const struct questions *q, struct answers *to)
{
    enum { RANKS = 5, MOST = 7 };
    const uint64_t ranks[RANKS] = {0, q->entries / 2, q->entries / 3, q->entries - 1, q->entries};
    uint64_t got = 0;
    unsigned char *out = zeros((size_t)RANKS * 17);
    note(to, "select",
         copse_select(q->index, ranks, RANKS, out, room_of(q, out + (size_t)RANKS * 8), out + (size_t)RANKS * 16), out,
         (size_t)RANKS * 17);
    out = zeros((size_t)MOST * 16);
    note(to, "last", copse_last(q->index, MOST, out, room_of(q, out + (size_t)MOST * 8), &got), out, (size_t)MOST * 16);
}

static void ask_whole(const struct questions *q, struct answers *to)
{
    const size_t keys = ((size_t)q->entries * q->key_size + 7) / 8 * 8, size = keys + q->entries * q->value_size;
    unsigned char *out = zeros(size);
    note(to, "export", copse_export(q->index, out, room_of(q, out + keys), q->entries), out, size);
    copse_cursor *cursor = NULL;
    uint64_t got = 0;
    enum { STEP = 100 };
    out = zeros((size_t)STEP * 16);
    copse_status status = copse_cursor_open(q->index, NULL, &cursor);
    if (status == COPSE_OK && q->n) status = copse_cursor_seek(cursor, q->lows);
    if (status == COPSE_OK) status = copse_cursor_next(cursor, out, room_of(q, out + (size_t)STEP * 8), STEP, &got);
    copse_cursor_free(cursor);
    note(to, "cursor", status, out, (size_t)STEP * 16);
}

/* --- byte strings ---------------------------------------------------------------------------------------------------- */

enum entries_call {
    LOWER_BOUND,
    RANKS,
    FLOOR,
    SUCCESSOR,
    PREDECESSOR,
    PREFIX,
    SELECT,
    LAST,
    EXPORT,
    CURSOR,
    ENTRIES_CALLS
};

static copse_status cursor_ask(const struct questions *q, uint64_t n, copse_bytes *keys, void *values)
{
    copse_cursor *cursor = NULL;
    uint64_t got = 0;
    copse_status status = copse_cursor_open(q->index, NULL, &cursor);
    if (status == COPSE_OK) status = copse_cursor_seek(cursor, q->lows);
    if (status == COPSE_OK && keys->data) status = copse_cursor_next(cursor, keys, values, n, &got);
    copse_cursor_free(cursor);
    if (!keys->data) keys->needed = COPSE_LONGEST_KEY; /* a cursor tells no size before it gives something */
    return status;
}

/* One call that gives n entries. */
static copse_status entries_ask(const struct questions *q, enum entries_call call, uint64_t n, copse_bytes *keys,
                                void *values, uint8_t *found, uint64_t *ranks)
{
    const uint64_t some[] = {0, q->entries / 2, q->entries / 3, q->entries - 1, q->entries};
    uint64_t got = 0;
    switch (call) {
    case LOWER_BOUND:
        return copse_lower_bound(q->index, q->lows, n, keys, values, found, NULL);
    case RANKS: /* which not every tree has */
        return copse_lower_bound(q->index, q->lows, n, keys, values, found, ranks);
    case PREFIX:
        return copse_longest_prefix(q->index, q->lows, n, keys, values, found);
    case FLOOR:
        return copse_floor(q->index, q->lows, n, keys, values, found);
    case SUCCESSOR:
        return copse_successor(q->index, q->lows, n, keys, values, found);
    case PREDECESSOR:
        return copse_predecessor(q->index, q->lows, n, keys, values, found);
    case SELECT:
        return copse_select(q->index, some, n, keys, values, found);
    case LAST:
        return copse_last(q->index, n, keys, values, &got);
    case CURSOR:
        return cursor_ask(q, n, keys, values);
    default:
        return copse_export(q->index, keys, values, n);
    }
}

/* The sizes first, then the entries: offsets, values, ranks, found and the bytes. */
static void ask_entries(const struct questions *q, enum entries_call call, uint64_t n, const char *name,
                        struct answers *to)
{
    const size_t offsets = (size_t)(n + 1) * 8, values = (size_t)n * 8, ranks = values, found = (size_t)(n + 8) / 8 * 8;
    copse_bytes size = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    unsigned char *out = zeros(values + ranks + found);
    void *into = q->value_size ? out : NULL;
    copse_status status =
        entries_ask(q, call, n, &size, into, out + values + ranks, (uint64_t *)(void *)(out + values));
    free(out);
    const size_t all = offsets + values + ranks + found, needed = status == COPSE_OK ? (size_t)size.needed : 0;
    out = zeros(all + needed);
    copse_bytes keys = COPSE_BYTES_INIT(out + all, needed, out, 64);
    into = q->value_size ? out + offsets : NULL;
    if (status == COPSE_OK)
        status = entries_ask(q, call, n, &keys, into, out + offsets + values + ranks,
                             (uint64_t *)(void *)(out + offsets + values));
    note(to, name, status, out, all + needed);
}

static void ask_string_range(const struct questions *q, uint64_t limit, uint32_t flags, const char *name,
                             struct answers *to)
{
    const uint64_t n = q->listed;
    uint64_t offsets[RANGES_LISTED + 1] = {0};
    copse_ranges ranges = COPSE_BETWEEN(q->lows, q->highs, n);
    copse_rows rows = COPSE_ROWS_INIT;
    copse_bytes size = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    ranges.limit = limit;
    ranges.flags = flags;
    rows.offsets = offsets;
    rows.keys = &size;
    copse_status status = copse_range(q->index, &ranges, &rows);
    const size_t capacity = status == COPSE_OK ? (size_t)offsets[n] : 0;
    const size_t needed = status == COPSE_OK ? (size_t)size.needed : 0;
    if (capacity > n * q->entries) abort();
    const size_t values = sizeof offsets + (capacity + 1) * 8, data = values + capacity * 8;
    unsigned char *out = zeros(data + needed);
    copse_bytes keys = COPSE_BYTES_INIT(out + data, needed, out + sizeof offsets, 64);
    rows.offsets = (uint64_t *)(void *)out;
    rows.keys = &keys;
    rows.values = q->value_size ? out + values : NULL;
    rows.capacity = capacity;
    if (status == COPSE_OK) status = copse_range(q->index, &ranges, &rows);
    note(to, name, status, out, data + needed);
}

static void ask_strings(const struct questions *q, struct answers *to)
{
    static const char *const names[ENTRIES_CALLS] = {"lower_bound",    "ranks",  "floor", "successor", "predecessor",
                                                     "longest_prefix", "select", "last",  "export",    "cursor"};
    ask_finds(q, to);
    ask_aggregates(q, to);
    ask_string_range(q, 0, COPSE_RANGE_LOW_OPEN, "range", to);
    ask_string_range(q, 3, COPSE_RANGE_DESCENDING, "descending range with a limit", to);
    for (int i = 0; i < ENTRIES_CALLS; i++)
        ask_entries(q, (enum entries_call)i, i < SELECT ? q->n : i == EXPORT ? q->entries : 5, names[i], to);
}

struct answers answers_ask(const copse_index *index, const void *lows, const void *highs, uint64_t n)
{
    struct answers answers = {.n = 0};
    struct questions q = {.index = index, .lows = lows, .highs = highs, .n = n, .entries = copse_size(index)};
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(index, &stats) != COPSE_OK) abort();
    q.key_size = typed_size(stats.key_type);
    q.value_size = typed_size(stats.value_type);
    q.listed = n < RANGES_LISTED ? n : RANGES_LISTED;
    if (stats.key_type == COPSE_BYTES) {
        ask_strings(&q, &answers);
        return answers;
    }
    ask_finds(&q, &answers);
    ask_points(&q, &answers);
    ask_aggregates(&q, &answers);
    ask_range(&q, 0, COPSE_RANGE_LOW_OPEN, "range", &answers);
    ask_range(&q, 3, COPSE_RANGE_DESCENDING, "descending range with a limit", &answers);
    ask_ranks(&q, &answers);
    ask_whole(&q, &answers);
    return answers;
}

void answers_free(struct answers *answers)
{
    for (unsigned i = 0; i < answers->n; i++) free(answers->calls[i].bytes);
    answers->n = 0;
}

const char *answers_differ(const struct answers *one, const struct answers *other)
{
    if (one->n != other->n) return "a call that only one of them has";
    for (unsigned i = 0; i < one->n; i++) {
        const struct answer *a = &one->calls[i], *b = &other->calls[i];
        if (a->size == 0 || b->size == 0) continue; /* one of them failed, or there is nothing to say */
        if (a->size != b->size || memcmp(a->bytes, b->bytes, a->size) != 0) return a->call;
    }
    return NULL;
}

const char *answers_failed(const struct answers *answers, copse_status allowed)
{
    for (unsigned i = 0; i < answers->n; i++)
        if (answers->calls[i].status != COPSE_OK && answers->calls[i].status != COPSE_ERR_OVERFLOW &&
            answers->calls[i].status != allowed)
            return answers->calls[i].call;
    return NULL;
}
