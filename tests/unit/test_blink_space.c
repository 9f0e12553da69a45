/*
 * Memory that the B-link and the B+ tree take: bytes of a key after random inserts, churn that must not make the tree grow, room
 * that comes back when entries go; and the ways in which a batch may go, which must all lead to the same content.
 */
#include "unit.h"

#include "trees/blink/tree.h"
#include "placed.h"
#include "random.h"

static const struct unit_tree kinds[] = {{COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
                                         {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED}};
#define FOR_EACH_KIND(kind) for (const struct unit_tree *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static const copse_type types[] = {COPSE_U32, COPSE_U64};

static uint64_t bytes_of(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(copse_index_stats(index, &stats), COPSE_OK);
    return stats.bytes;
}

static const copse_blink_epoch *version_of(const copse_index *index)
{
    return copse_blink_handle_of(index)->tree->current;
}

/* Scrambles numbers below 2^32, each to another one: keys in no order, none twice. */
static uint64_t scrambled(uint64_t i)
{
    return i * UINT64_C(2654435761) & UINT32_MAX;
}

/* Keys scrambled(first) .. scrambled(first + n - 1). */
static void *keys_of(copse_type type, uint64_t first, uint64_t n)
{
    void *keys = typed_new(type, n);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(type, keys, i, scrambled(first + i));
    return keys;
}

static void insert(copse_ctx *ctx, copse_index *index, copse_type type, uint64_t first, uint64_t n)
{
    void *keys = keys_of(type, first, n);
    uint64_t inserted = 0;
    assert_ok(ctx, copse_insert(index, keys, NULL, n, COPSE_INSERT_UPSERT, &inserted));
    assert_int_equal(inserted, n);
    free(keys);
}

static void erase(copse_ctx *ctx, copse_index *index, copse_type type, uint64_t first, uint64_t n)
{
    void *keys = keys_of(type, first, n);
    uint64_t erased = 0;
    assert_ok(ctx, copse_erase(index, keys, n, &erased));
    assert_int_equal(erased, n);
    free(keys);
}

/* --- bytes of a key --------------------------------------------------------------------------------------------------------------- */

#define GROWN 64000u

static void assert_light(const copse_index *index, struct unit_tree tree, copse_type type, uint64_t batch)
{
    const uint64_t most = typed_size(type) == 4 ? 13 : 26, entries = copse_size(index);
    if (bytes_of(index) <= entries * most) return;
    fail_msg("%s, %s: %.2f bytes of a key at %llu entries, batches of %llu", copse_structure_name(tree.structure),
             typed_name(type), (double)bytes_of(index) / (double)entries, (unsigned long long)entries,
             (unsigned long long)batch);
}

/* Large batches make new versions, whose leaves are packed; small ones split leaves, until so many are loose that the tree is packed.
 * A batch in place sets room aside for as many leaves as it has keys: what counts is one that is small beside the tree. */
static void bytes_of_a_key(void **state)
{
    (void)state;
    enum { large = 16000, small = 100 };
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        copse_index *index = unit_index(ctx, *kind, types[t], types[t], false);
        for (uint64_t n = 0; n < GROWN; n += large) {
            insert(ctx, index, types[t], n, large);
            assert_light(index, *kind, types[t], large);
        }
        for (uint64_t n = GROWN; n < GROWN * 3 / 2; n += small) {
            insert(ctx, index, types[t], n, small);
            assert_light(index, *kind, types[t], small);
        }
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- churn ------------------------------------------------------------------------------------------------------------------------- */

/* n keys come and n go, a hundred times: the oldest go, so that after a few rounds all leaves are others. */
static void churn(copse_ctx *ctx, struct unit_tree tree, copse_type type, uint64_t n)
{
    enum { rounds = 100, settled = 20, base = 3000 };
    copse_index *index = unit_index(ctx, tree, type, type, false);
    uint64_t first = 0, next = base, early = 0, late = 0;
    insert(ctx, index, type, 0, base);
    for (int round = 0; round < rounds; round++) {
        insert(ctx, index, type, next, n);
        next += n;
        if (round < settled && bytes_of(index) > early) early = bytes_of(index);
        if (round >= settled && bytes_of(index) > late) late = bytes_of(index);
        erase(ctx, index, type, first, n);
        first += n;
        assert_int_equal(copse_size(index), base);
        if (round % 25 == 24) assert_ok(ctx, copse_verify(index));
    }
    /* A version may be caught at a moment when it is fuller or emptier than before, but it does not grow and grow. */
    if (late > early + early / 8)
        fail_msg("%s, %s, %llu at a time: %llu bytes at first, %llu later", copse_structure_name(tree.structure),
                 typed_name(type), (unsigned long long)n, (unsigned long long)early, (unsigned long long)late);
    copse_index_free(index);
}

static void churn_does_not_grow(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    FOR_EACH_KIND(kind)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        const uint64_t before = device->allocated;
        churn(ctx, *kind, types[t], 60);
        churn(ctx, *kind, types[t], 900);
        if (kind != kinds)
            assert_int_equal(device->allocated, before); /* the first call makes what the context keeps */
    }
    copse_ctx_free(ctx);
}

/* Everything comes and goes, a hundred times, and the tree is empty in between. */
static void empty_between(void **state)
{
    (void)state;
    enum { rounds = 100, n = 400 };
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_KIND(kind)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        copse_index *index = unit_index(ctx, *kind, types[t], types[t], false);
        uint64_t full = 0, empty = 0;
        for (int round = 0; round < rounds; round++) {
            insert(ctx, index, types[t], (uint64_t)round * n, n);
            if (round < 5 && bytes_of(index) > full) full = bytes_of(index);
            assert_true(bytes_of(index) <= full);
            erase(ctx, index, types[t], (uint64_t)round * n, n);
            if (round < 5 && bytes_of(index) > empty) empty = bytes_of(index);
            assert_true(bytes_of(index) <= empty);
        }
        assert_ok(ctx, copse_verify(index));
        assert_int_equal(copse_size(index), 0);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- room that comes back -------------------------------------------------------------------------------------------------------- */

/* Most entries go, a few at a time or all at once: the tree takes room for those that are left, not for those that were there. */
static void shrunken_trees(void **state)
{
    (void)state;
    static const uint64_t batches[] = {150, 2000, 19000};
    enum { n = 20000, left = 1000 };
    copse_ctx *ctx = unit_context(1);
    const copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
    FOR_EACH_KIND(kind)
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        const copse_type type = types[i % 2];
        copse_index *index = unit_index(ctx, *kind, type, type, false);
        insert(ctx, index, type, 0, n);
        const uint64_t held = device->allocated, bytes = bytes_of(index);
        for (uint64_t gone = 0; gone < n - left; gone += batches[i])
            erase(ctx, index, type, gone, batches[i] < n - left - gone ? batches[i] : n - left - gone);
        assert_int_equal(copse_size(index), left);
        assert_true(bytes_of(index) < bytes / 5);
        assert_true(device->allocated < held - bytes * 3 / 4);
        assert_ok(ctx, copse_verify(index));
        erase(ctx, index, type, n - left, left);
        copse_index *empty = unit_index(ctx, *kind, type, type, false);
        /* 64 leaves are never worth packing, nor is one segment of the pool */
        assert_true(bytes_of(index) <= bytes_of(empty) + 128 * COPSE_LEAF_BYTES + 1024);
        copse_index_free(empty);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- ways ---------------------------------------------------------------------------------------------------------------------------- */

enum way { UNSORTED, SORTED, REBUILT, WAYS };

static copse_index *index_of(copse_ctx *ctx, struct unit_tree kind, uint64_t entries, enum way way)
{
    copse_index *index = unit_tens(ctx, kind, entries);
    copse_blink_tuning *tuning = placed_tuning(index);
    tuning->unsorted_most = way == UNSORTED ? UINT64_MAX : 1;
    tuning->in_place_share = way == REBUILT ? UINT64_MAX : 1;
    return index;
}

/* One batch of `n` keys, of which many are equal or there already: inserts, conditional inserts, erasures, or a mix. */
static void run_batch(copse_ctx *ctx, copse_index *index, unsigned which, uint64_t n)
{
    struct random_source random = {which + n};
    uint64_t *keys = must_malloc(n * sizeof *keys), *values = must_malloc(n * sizeof *values);
    uint8_t *codes = must_malloc(n);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = random_below(&random, which % 3 ? 400 : 10000) * 3;
        values[i] = random_next(&random);
        codes[i] = (uint8_t)random_below(&random, 4);
    }
    if (which % 4 == 0) assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_UPSERT, NULL));
    if (which % 4 == 1) assert_ok(ctx, copse_apply(index, codes, keys, values, n, NULL, NULL));
    if (which % 4 == 2) assert_ok(ctx, copse_insert(index, keys, values, n, COPSE_INSERT_IF_ABSENT, NULL));
    if (which % 4 == 3) assert_ok(ctx, copse_erase(index, keys, n, NULL));
    free(keys);
    free(values);
    free(codes);
}

/* The same batches, one index for each way; small ones are in place also where a new epoch is asked for. */
static void all_ways_lead_to_the_same(void **state)
{
    (void)state;
    enum { batches = 12, entries = 3000 };
    FOR_EACH_KIND(kind)
    {
        copse_ctx *ctx[WAYS];
        copse_index *index[WAYS];
        for (int way = 0; way < WAYS; way++) {
            ctx[way] = unit_context(1);
            index[way] = index_of(ctx[way], *kind, entries, (enum way)way);
        }
        for (unsigned i = 0; i < batches; i++) {
            const uint64_t n = 65 + i * 40; /* packs where more than 64 do */
            for (int way = 0; way < WAYS; way++) {
                const copse_blink_epoch *before = version_of(index[way]);
                run_batch(ctx[way], index[way], i, n);
                const bool mixed = i % 4 == 1; /* of these, finds and equal keys are no updates */
                if (way == REBUILT && !mixed) assert_ptr_not_equal(version_of(index[way]), before);
                if (i == 0 && way != REBUILT) assert_ptr_equal(version_of(index[way]), before);
            }
            for (int way = 1; way < WAYS; way++)
                unit_assert_content(ctx[way], index[way], unit_content_of(index[UNSORTED]));
        }
        for (int way = 0; way < WAYS; way++) {
            copse_index_free(index[way]);
            copse_ctx_free(ctx[way]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_key), cmocka_unit_test(churn_does_not_grow),       cmocka_unit_test(empty_between),
        cmocka_unit_test(shrunken_trees), cmocka_unit_test(all_ways_lead_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
