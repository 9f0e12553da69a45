/* Byte strings against the model: updates, point reads, and input that has to be refused. */
#include "byte_subject.h"

#include <stdlib.h>
#include <string.h>

/* Values of n elements: small numbers, and of integers also the largest, so that sums overflow. */
static void *some_values(struct byte_subject *subject, uint64_t n)
{
    const copse_type type = subject->model.value_type;
    const bool few = byte_draw(subject, 2); /* so that pairs are met again */
    const bool large = !typed_is_float(type) && byte_draw(subject, 4) == 3;
    void *values = byte_values(subject, n);
    for (uint64_t i = 0; values && i < n; i++) {
        const uint64_t number = byte_draw(subject, few ? 3 : 250);
        typed_set_bits(type, values, i,
                       large && number % 2 ? typed_bits_of_code(type, typed_highest_code(type) - number)
                                           : typed_position_bits(type, number));
    }
    return values;
}

static void check_number(struct byte_subject *subject, const char *what, uint64_t got, uint64_t want)
{
    if (got != want)
        byte_differ(subject, "%s is %llu instead of %llu", what, (unsigned long long)got, (unsigned long long)want);
}

static void check_values(struct byte_subject *subject, const void *values, const uint64_t *want, uint64_t n)
{
    for (uint64_t i = 0; values && i < n; i++)
        if (typed_bits(subject->model.value_type, values, i) != want[i]) {
            byte_differ(subject, "value %llu", (unsigned long long)i);
            return;
        }
}

static void check_found(struct byte_subject *subject, const uint8_t *got, const uint8_t *want, uint64_t n)
{
    for (uint64_t i = 0; got && i < n; i++)
        if (got[i] != want[i]) {
            byte_differ(subject, "found %llu is %u", (unsigned long long)i, got[i]);
            return;
        }
}

/* --- updates --------------------------------------------------------------------------------------------------------- */

static void run_apply(struct byte_subject *subject, const struct byte_array *keys, const uint64_t *codes,
                      const void *values, uint64_t n)
{
    const size_t width = typed_size(subject->model.value_type);
    uint8_t *operations = must_malloc(n), *found = must_malloc(n), *want_found = must_malloc(n);
    uint64_t *want = must_malloc(n * sizeof *want);
    void *got = must_malloc(n * width);
    const bool set = subject->model.value_type == COPSE_NONE;
    const bool finds = byte_draw(subject, 6) == 5, no_values = byte_draw(subject, 4) == 3 || set;
    for (uint64_t i = 0; i < n; i++) operations[i] = finds ? COPSE_OP_FIND : (uint8_t)byte_draw(subject, set ? 4 : 5);
    byte_arm(subject);
    if (byte_went(subject,
                  copse_apply(subject->index, operations, &keys->bytes, values, n, no_values ? NULL : got, found),
                  COPSE_OK) &&
        n) {
        model_apply(&subject->model, operations, codes, values, n, want, want_found);
        check_values(subject, no_values ? NULL : got, want, n);
        check_found(subject, found, want_found, n);
    }
    free(operations);
    free(found);
    free(want_found);
    free(want);
    free(got);
}

void byte_run_update(struct byte_subject *subject)
{
    static const char *const names[] = {"build", "insert", "insert if absent", "erase", "apply", "erase pairs"};
    const uint64_t n = byte_draw(subject, subject->most + 1);
    const uint64_t which = byte_draw(subject, 7);
    if (which == 6) {
        byte_run_erase_range(subject);
        return;
    }
    uint64_t changed = 0;
    subject->operation = names[which];
    uint64_t *codes = byte_codes(subject, n);
    struct byte_array keys = byte_keys(subject, codes, n);
    void *all_values = some_values(subject, n);
    void *values = byte_draw(subject, 8) == 7 ? NULL : all_values; /* NULL: positions */
    if (which == 4) {
        run_apply(subject, &keys, codes, all_values, n);
    } else {
        byte_arm(subject);
        copse_status status = which == 0   ? copse_build(subject->index, &keys.bytes, values, n)
                              : which == 3 ? copse_erase(subject->index, &keys.bytes, n, &changed)
                              : which == 5
                                  ? copse_erase_pairs(subject->index, &keys.bytes, all_values, n, &changed)
                                  : copse_insert(subject->index, &keys.bytes, values, n,
                                                 which == 2 ? COPSE_INSERT_IF_ABSENT : COPSE_INSERT_UPSERT, &changed);
        if (byte_went(subject, status, COPSE_OK)) {
            if (which == 0) model_build(&subject->model, codes, values, n);
            if (which == 1 || which == 2)
                check_number(subject, "inserted", changed, model_insert(&subject->model, codes, values, n, which == 2));
            if (which == 3) check_number(subject, "erased", changed, model_erase(&subject->model, codes, n));
            if (which == 5)
                check_number(subject, "erased pairs", changed,
                             model_erase_pairs(&subject->model, codes, all_values, n));
        }
    }
    byte_check_content(subject);
    byte_array_free(&keys);
    free(all_values);
    free(codes);
}

/* --- point reads ----------------------------------------------------------------------------------------------------- */

/* Ranks of the entries that n point reads give; those that no entry has give nothing. */
struct point_answer {
    uint64_t *codes, *values;
    uint8_t *found;
};

static struct point_answer answer_of(const struct model *model, const uint64_t *ranks, uint64_t n)
{
    struct point_answer answer = {must_malloc(n * sizeof(uint64_t)), must_malloc(n * sizeof(uint64_t)), must_malloc(n)};
    for (uint64_t i = 0; i < n; i++) {
        answer.found[i] = ranks[i] < model->n;
        answer.codes[i] = answer.found[i] ? model->entries[ranks[i]].key : BYTE_ABSENT;
        answer.values[i] = answer.found[i] ? model->entries[ranks[i]].value : 0;
    }
    return answer;
}

static void answer_free(struct point_answer *answer)
{
    free(answer->codes);
    free(answer->values);
    free(answer->found);
}

enum {
    POINT_LOWER,
    POINT_UPPER,
    POINT_FLOOR,
    POINT_SUCCESSOR,
    POINT_PREDECESSOR,
    POINT_SELECT,
    POINT_FIND,
    POINT_PREFIX,
    POINTS
};

/* The rank of the longest key that the string of a code begins with; UINT64_MAX: there is none. */
static uint64_t prefix_rank(const struct byte_subject *subject, uint64_t code)
{
    const struct model *model = &subject->model;
    const struct byte_string whole = subject->pool->strings[code];
    for (uint64_t rank = model_rank_after(model, code); rank-- > 0;) {
        const struct byte_string key = subject->pool->strings[model->entries[rank].key];
        if (key.n <= whole.n && memcmp(key.bytes, whole.bytes, key.n) == 0)
            return model_rank(model, model->entries[rank].key);
    }
    return UINT64_MAX;
}

/* The rank that point read `which` finds for a code, and the bound that it reports. */
static uint64_t rank_for(const struct model *model, uint64_t which, uint64_t code, uint64_t *bound)
{
    const bool upper = which == POINT_UPPER || which == POINT_FLOOR || which == POINT_SUCCESSOR;
    const bool back = which == POINT_FLOOR || which == POINT_PREDECESSOR;
    *bound = upper ? model_rank_after(model, code) : model_rank(model, code);
    if (which == POINT_FIND) {
        uint64_t value;
        return model_find(model, code, &value) ? *bound : UINT64_MAX;
    }
    return back ? *bound - 1 : *bound;
}

static copse_status point_call(struct byte_subject *subject, uint64_t which, const struct byte_array *keys,
                               const uint64_t *ranks, uint64_t n, void *out_keys, void *values, uint8_t *found,
                               uint64_t *bounds)
{
    const copse_index *index = subject->index;
    switch (which) {
    case POINT_LOWER:
        return copse_lower_bound(index, &keys->bytes, n, out_keys, values, found, bounds);
    case POINT_UPPER:
        return copse_upper_bound(index, &keys->bytes, n, out_keys, values, found, bounds);
    case POINT_FLOOR:
        return copse_floor(index, &keys->bytes, n, out_keys, values, found);
    case POINT_SUCCESSOR:
        return copse_successor(index, &keys->bytes, n, out_keys, values, found);
    case POINT_PREDECESSOR:
        return copse_predecessor(index, &keys->bytes, n, out_keys, values, found);
    case POINT_SELECT:
        return copse_select(index, ranks, n, out_keys, values, found);
    case POINT_PREFIX:
        return copse_longest_prefix(index, &keys->bytes, n, out_keys, values, found);
    default:
        return values ? copse_find(index, &keys->bytes, n, values, found)
                      : copse_contains(index, &keys->bytes, n, found);
    }
}

void byte_run_point(struct byte_subject *subject)
{
    static const char *const names[] = {"lower bound", "upper bound", "floor", "successor",
                                        "predecessor", "select",      "find",  "longest prefix"};
    const uint64_t which = byte_draw(subject, POINTS), n = 1 + byte_draw(subject, subject->most);
    subject->operation = names[which];
    uint64_t *codes = byte_codes(subject, n), *ranks = must_malloc(n * sizeof *ranks);
    uint64_t *want_bounds = must_malloc(n * sizeof *ranks), *bounds = must_malloc(n * sizeof *ranks);
    for (uint64_t i = 0; i < n; i++) {
        if (which == POINT_SELECT) ranks[i] = codes[i] = byte_draw(subject, subject->model.n + 2);
        if (which != POINT_SELECT) ranks[i] = rank_for(&subject->model, which, codes[i], &want_bounds[i]);
        if (which == POINT_PREFIX) ranks[i] = prefix_rank(subject, codes[i]);
        if (which == POINT_SELECT) codes[i] = 0;
    }
    struct byte_array keys = byte_keys(subject, codes, n);
    struct point_answer want = answer_of(&subject->model, ranks, n);
    struct byte_room room = byte_room_of(subject, want.codes, n);
    if (which == POINT_FIND) room.kind = ROOM_NOT_WANTED;
    void *values = byte_draw(subject, 4) ? byte_values(subject, n) : NULL;
    uint8_t *found = must_malloc(n);
    const bool bounded = which == POINT_LOWER || which == POINT_UPPER;
    byte_arm(subject);
    const bool with_ranks = which == POINT_SELECT || (bounded && byte_draw(subject, 2));
    copse_status status =
        point_call(subject, which, &keys, ranks, n, byte_room_keys(&room), values, found, with_ranks ? bounds : NULL);
    const bool refused = with_ranks && !byte_has_ranks(subject);
    if (byte_went(subject, status, refused ? COPSE_ERR_UNSUPPORTED : byte_room_status(&room)) && !refused) {
        byte_room_check(subject, &room, status, want.codes, n);
        if (status == COPSE_OK) {
            check_values(subject, values, want.values, n);
            check_found(subject, found, want.found, n);
            if (bounded && with_ranks && memcmp(bounds, want_bounds, n * sizeof *bounds) != 0)
                byte_differ(subject, "ranks");
        }
    } else {
        byte_array_free(&room.array);
    }
    answer_free(&want);
    byte_array_free(&keys);
    free(codes);
    free(ranks);
    free(want_bounds);
    free(bounds);
    free(values);
    free(found);
}

/* --- input that has to be refused ------------------------------------------------------------------------------------ */

/* Breaks an array of n > 0 keys in one of several ways. */
static void damage(struct byte_subject *subject, struct byte_array *keys, copse_bytes *broken)
{
    *broken = keys->bytes;
    const uint64_t at = byte_draw(subject, keys->n + 1);
    const int64_t size = (int64_t)keys->bytes.size;
    switch (byte_draw(subject, 8)) {
    case 0:
        broken->struct_size = 3;
        break;
    case 1:
        broken->offset_bits = (uint32_t)byte_draw(subject, 32);
        break;
    case 2:
        broken->offsets = NULL;
        break;
    case 3:
        byte_array_set_offset(&keys->bytes, at, -1 - (int64_t)byte_draw(subject, 100));
        break;
    case 4:
        byte_array_set_offset(&keys->bytes, at, size + 1 + (int64_t)byte_draw(subject, 100));
        break;
    case 5: /* falls at the end, or passes it */
        if (at == 0) byte_array_set_offset(&keys->bytes, 0, size + 1);
        if (at) byte_array_set_offset(&keys->bytes, at - 1, byte_array_offset(&keys->bytes, at) + 1);
        break;
    case 6:
        broken->data = NULL;
        broken->size = keys->bytes.size + 1;
        break;
    default: /* a key that is too long, or passes the end */
        byte_array_set_offset(&keys->bytes, keys->n, byte_array_offset(&keys->bytes, keys->n - 1) + 65537);
        broken->size += byte_draw(subject, 2) ? 100000 : 0;
        break;
    }
}

void byte_run_bad(struct byte_subject *subject)
{
    const uint64_t n = 1 + byte_draw(subject, subject->most), which = byte_draw(subject, 7);
    subject->operation = "bad keys";
    uint64_t *codes = byte_codes(subject, n), *ranks = must_malloc((n + 1) * sizeof *ranks);
    struct byte_array keys = byte_keys(subject, codes, n);
    copse_bytes broken;
    damage(subject, &keys, &broken);
    uint8_t *bytes = must_malloc(n);
    memset(bytes, COPSE_OP_ERASE, n);
    copse_ranges ranges = COPSE_BETWEEN(&broken, NULL, n);
    if (which == 5) ranges.lows = NULL;
    if (which == 5) ranges.highs = &broken;
    copse_index *index = subject->index;
    copse_status status = which == 0                 ? copse_build(index, &broken, NULL, n)
                          : which == 1               ? copse_insert(index, &broken, NULL, n, 0, NULL)
                          : which == 2               ? copse_erase(index, &broken, n, NULL)
                          : which == 3               ? copse_contains(index, &broken, n, bytes)
                          : which == 4 || which == 5 ? copse_count(index, &ranges, ranks)
                                                     : copse_lower_bound(index, &broken, n, NULL, NULL, NULL, ranks);
    if (byte_went(subject, status, COPSE_ERR_ARGUMENT)) byte_check_content(subject);
    byte_array_free(&keys);
    free(codes);
    free(ranks);
    free(bytes);
}
