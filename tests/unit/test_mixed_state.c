/* Joining the effects of operations on a key (primitives/mixed_state.h): a scan may join them in any grouping, so every grouping must say
 * the same, and the same as one operation after the other. */
#include "unit.h"

#include "primitives/mixed_state.h"

/* What a state does to a key, which was there or not: which position's value it ends with. */
struct end {
    bool there;
    uint64_t position; /* of the value; BEFORE: the one that it had */
};
#define BEFORE UINT64_MAX

static struct end end_of(uint64_t effect, bool was)
{
    const uint64_t position = effect >> 3;
    switch (effect & COPSE_MIXED_OPERATION) {
    case COPSE_OP_UPSERT:
        return (struct end){true, position};
    case COPSE_OP_INSERT_IF_ABSENT:
        return (struct end){true, was ? BEFORE : position};
    case COPSE_OP_ERASE:
        return (struct end){false, BEFORE};
    default:
        return (struct end){was, BEFORE};
    }
}

static struct end after(struct end end, uint8_t operation, uint64_t position)
{
    if (operation == COPSE_OP_ERASE) return (struct end){false, BEFORE};
    if (operation == COPSE_OP_UPSERT || (operation == COPSE_OP_INSERT_IF_ABSENT && !end.there))
        return (struct end){true, position};
    return end;
}

static uint64_t state_at(uint64_t position, unsigned operation, bool first)
{
    return copse_mixed_state(position << COPSE_MIXED_SHIFT | operation, first);
}

/* All operations, with and without a key that begins, at positions that have all bits. */
static void grouping_does_not_matter(void **state)
{
    (void)state;
    static const uint64_t bases[] = {0, 1000, COPSE_MIXED_POSITIONS_32 - 4, UINT64_C(1) << 60};
    for (size_t base = 0; base < COUNT_OF(bases); base++)
        for (unsigned code = 0; code < 10 * 10 * 10 * 10; code++) {
            uint64_t s[4];
            for (unsigned i = 0, rest = code; i < 4; i++, rest /= 10)
                s[i] = state_at(bases[base] + i, rest % 5, rest / 5 % 2);
            const uint64_t in_order = copse_mixed_join(copse_mixed_join(copse_mixed_join(s[0], s[1]), s[2]), s[3]);
            const uint64_t groupings[] = {
                copse_mixed_join(s[0], copse_mixed_join(s[1], copse_mixed_join(s[2], s[3]))),
                copse_mixed_join(copse_mixed_join(s[0], s[1]), copse_mixed_join(s[2], s[3])),
                copse_mixed_join(copse_mixed_join(s[0], copse_mixed_join(s[1], s[2])), s[3]),
                copse_mixed_join(s[0], copse_mixed_join(copse_mixed_join(s[1], s[2]), s[3])),
            };
            for (size_t g = 0; g < COUNT_OF(groupings); g++)
                if (groupings[g] != in_order) fail_msg("grouping %zu of operations %u differs", g, code);
        }
}

/* Five operations on one key, which was there or not, against one after the other. Of a key that is gone, or was never touched, the position
 * does not count. */
static void joined_is_one_after_the_other(void **state)
{
    (void)state;
    enum { length = 5 };
    for (unsigned code = 0; code < 1u << 2 * length; code++)
        for (int was = 0; was < 2; was++) {
            struct end want = {was != 0, BEFORE};
            uint64_t joined = 0;
            for (unsigned i = 0; i < length; i++) {
                const unsigned operation = code >> 2 * i & 3;
                const uint64_t now = state_at(i + 1, operation, i == 0);
                joined = i == 0 ? now : copse_mixed_join(joined, now);
                want = after(want, (uint8_t)operation, i + 1);
                const struct end got = end_of(joined, was != 0);
                assert_int_equal(got.there, want.there);
                if (want.there) assert_int_equal(got.position, want.position);
                assert_true(joined & COPSE_MIXED_FIRST);
            }
        }
}

/* Six operations, ADD among them, by states and prefix sums (the formula of mixed_state.h), against one after the other. */
static void adds_by_states_and_sums(void **state)
{
    (void)state;
    enum { length = 6, cases = 5 * 5 * 5 * 5 * 5 * 5 };
    static const uint64_t values[length] = {3, UINT64_MAX, 70, 1000, UINT64_MAX - 5, 9};
    for (unsigned code = 0; code < cases; code++)
        for (int was = 0; was < 2; was++) {
            uint64_t value = was ? 500 : 0, sums[length + 1] = {0}, joined = 0;
            bool there = was != 0;
            unsigned rest = code;
            for (unsigned i = 0; i < length; i++, rest /= 5) {
                const unsigned does = rest % 5;
                const bool adds = does == COPSE_OP_ADD;
                sums[i + 1] = sums[i] + (adds ? values[i] : 0);
                joined = i ? copse_mixed_join(joined, state_at(i, does, false)) : state_at(i, does, true);
                if (does == COPSE_OP_UPSERT || (does == COPSE_OP_INSERT_IF_ABSENT && !there) || (adds && !there)) {
                    value = values[i];
                    there = true;
                } else if (adds) {
                    value += values[i];
                } else if (does == COPSE_OP_ERASE) {
                    there = false;
                }
                const uint64_t end = joined & COPSE_MIXED_OPERATION, from = joined >> COPSE_MIXED_SHIFT;
                uint64_t got = was ? 500 : 0;
                if (end == COPSE_OP_UPSERT || (end == COPSE_OP_INSERT_IF_ABSENT && !was))
                    got = values[from] + sums[i + 1] - sums[from + 1];
                else if (end == COPSE_OP_INSERT_IF_ABSENT)
                    got += sums[i + 1] - sums[from];
                assert_int_equal(end == COPSE_OP_FIND ? was : end != COPSE_OP_ERASE, there);
                if (there) assert_int_equal(got, value);
            }
        }
}

/* A key that begins forgets everything before it. */
static void a_new_key_begins_anew(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 10; before++)
        for (unsigned now = 0; now < 5; now++) {
            const uint64_t first = state_at(9, now, true);
            assert_int_equal(copse_mixed_join(state_at(8, before % 5, before / 5), first), first);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grouping_does_not_matter),
        cmocka_unit_test(joined_is_one_after_the_other),
        cmocka_unit_test(adds_by_states_and_sums),
        cmocka_unit_test(a_new_key_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
