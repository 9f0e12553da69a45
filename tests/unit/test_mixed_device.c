/* Mixed batches on a device: every pair of types, keys that meet often, arrays in any memory, tags of both widths, errors
 * that are found late, and memory that runs out at every place. test_mixed.c has what all placements share. */
#include "unit.h"

#include "trees/blink/tree.h"
#include "trees/implicit/gpu/tree.h"
#include "placed.h"
#include "random.h"

enum { FIND = COPSE_OP_FIND, UPSERT = COPSE_OP_UPSERT, ABSENT = COPSE_OP_INSERT_IF_ABSENT, ERASE = COPSE_OP_ERASE };

#define MOST_KEYS 600

/* Keys that operations are drawn from, as codes in ascending order, and how each stands. */
struct domain {
    uint64_t n;
    uint64_t codes[MOST_KEYS];
    bool there[MOST_KEYS];
    uint64_t values[MOST_KEYS]; /* bits */
};

/* A batch, with what it should answer. */
struct batch {
    copse_type key_type, value_type;
    uint64_t n;
    uint8_t *operations, *found, *expected_found;
    void *keys, *values, *out, *expected;
};

static const struct unit_tree trees[] = {
    {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_EMULATED},
    {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED},
    {COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED},
};

/* How a structure takes part, to run a batch past the API. */
static const copse_mixed_structure *structure_of(struct unit_tree tree)
{
    return tree.structure == COPSE_STRUCTURE_IMPLICIT ? &copse_implicit_device_mixed : &copse_blink_mixed;
}

static uint64_t most_of(copse_type type)
{
    return typed_size(type) == 8 ? UINT64_MAX : UINT32_MAX;
}

/* Spread over all of the type's range, or neighbours; the ends of the range are always there. */
static void domain_make(struct domain *domain, copse_type type, uint64_t n, bool spread)
{
    const uint64_t low = typed_lowest_code(type), high = typed_highest_code(type);
    const uint64_t step = spread ? (high - low) / (n + 1) : 1, base = spread ? low : low + (high - low) / 2;
    *domain = (struct domain){.n = n};
    for (uint64_t i = 0; i < n; i++)
        domain->codes[i] = i == 0 ? low : i == n - 1 ? high : base + i * step + (spread && i % 2);
}

static void domain_put(struct domain *domain, uint64_t at, bool there, uint64_t value)
{
    domain->there[at] = there;
    domain->values[at] = there ? value : 0;
}

static struct batch batch_make(copse_type key_type, copse_type value_type, uint64_t n)
{
    return (struct batch){key_type,
                          value_type,
                          n,
                          must_malloc(n),
                          must_malloc(n),
                          must_malloc(n),
                          typed_new(key_type, n),
                          typed_new(value_type, n),
                          typed_new(value_type, n),
                          typed_new(value_type, n)};
}

static void batch_free(struct batch *batch)
{
    free(batch->operations);
    free(batch->found);
    free(batch->expected_found);
    free(batch->keys);
    free(batch->values);
    free(batch->out);
    free(batch->expected);
}

/* Which of 4 operations an operation is, by a set of bits. */
static uint8_t draw_operation(struct random_source *random, unsigned allowed)
{
    for (;;) {
        uint8_t operation = (uint8_t)random_below(random, 4);
        if (allowed >> operation & 1) return operation;
    }
}

/* Draws operations one after the other and plays them on the domain. */
static void batch_draw(struct batch *batch, struct domain *domain, struct random_source *random, unsigned allowed,
                       bool sorted)
{
    for (uint64_t i = 0; i < batch->n; i++) {
        const uint64_t at = sorted ? i * domain->n / batch->n : random_below(random, domain->n);
        const uint64_t value = random_next(random) & most_of(batch->value_type);
        const uint8_t operation = draw_operation(random, allowed);
        const uint64_t given =
            random_below(random, 4) ? value : domain->values[at]; /* what is there already, at times */
        batch->operations[i] = operation;
        typed_set_code(batch->key_type, batch->keys, i, domain->codes[at]);
        typed_set_bits(batch->value_type, batch->values, i, given);
        batch->expected_found[i] = domain->there[at];
        typed_set_bits(batch->value_type, batch->expected, i, domain->values[at]);
        if (operation == UPSERT || (operation == ABSENT && !domain->there[at])) domain_put(domain, at, true, given);
        if (operation == ERASE) domain_put(domain, at, false, 0);
    }
}

/* The index holds what the domain says. */
static void assert_stands(copse_ctx *ctx, const copse_index *index, const struct batch *batch,
                          const struct domain *domain)
{
    struct unit_content expected = {0, typed_size(batch->key_type), typed_size(batch->value_type),
                                    typed_new(batch->key_type, domain->n), typed_new(batch->value_type, domain->n)};
    for (uint64_t i = 0; i < domain->n; i++) {
        if (!domain->there[i]) continue;
        typed_set_code(batch->key_type, expected.keys, expected.n, domain->codes[i]);
        typed_set_bits(batch->value_type, expected.values, expected.n++, domain->values[i]);
    }
    unit_assert_content(ctx, index, expected);
}

/* Runs the batch with its arrays in memory of this kind. wide: with tags of 64 bits. */
static copse_status batch_run(copse_index *index, struct batch *batch, enum placed_memory memory, uint32_t places,
                              const copse_mixed_structure *wide)
{
    struct placed_call placed = {.device = index->device, .reachable = true, .memory = memory, .places = places};
    const size_t value = typed_size(batch->value_type);
    copse_mixed_call call = {.operations = placed_input(&placed, batch->operations, batch->n, 1),
                             .keys = placed_input(&placed, batch->keys, batch->n, typed_size(batch->key_type)),
                             .values = placed_input(&placed, batch->values, batch->n, value),
                             .n = batch->n,
                             .out_values = placed_output(&placed, batch->out, batch->n, value),
                             .out_found = placed_output(&placed, batch->found, batch->n, 1),
                             .wide = true};
    copse_status status =
        wide ? copse_device_mixed(index, wide, &call)
             : copse_apply(index, call.operations, call.keys, call.values, call.n, call.out_values, call.out_found);
    assert_null(placed_end(&placed));
    return status;
}

static void assert_answers(const struct batch *batch)
{
    assert_memory_equal(batch->found, batch->expected_found, batch->n);
    assert_memory_equal(batch->out, batch->expected, batch->n * typed_size(batch->value_type));
}

/* Three batches in a row: all operations, none that erases, and in the order of the keys. */
static void run_types(struct unit_tree tree, copse_type key, copse_type value, unsigned turn)
{
    static const uint64_t keys[] = {1, 2, 40, MOST_KEYS}, sizes[] = {1, 300, 2500};
    static const unsigned sets[] = {15, 7, 15, 9, 11};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, tree, key, value, false);
    struct random_source random = {turn * 1000 + (unsigned)key * 10 + (unsigned)value};
    struct domain domain;
    domain_make(&domain, key, keys[turn % COUNT_OF(keys)], turn % 2 == 1);
    for (unsigned i = 0; i < COUNT_OF(sets); i++) {
        struct batch batch = batch_make(key, value, sizes[(turn + i) % COUNT_OF(sizes)]);
        batch_draw(&batch, &domain, &random, sets[i], i == 2);
        assert_ok(ctx, batch_run(index, &batch, (enum placed_memory)((turn + i) % PLACED_MEMORIES),
                                 (uint32_t)random_next(&random), turn / 2 % 2 ? structure_of(tree) : NULL));
        assert_answers(&batch);
        assert_stands(ctx, index, &batch, &domain);
        batch_free(&batch);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void every_pair_of_types(void **state)
{
    (void)state;
    unsigned turn = 0;
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (unsigned k = 0; k < TYPED_KEY_TYPES; k++)
            for (unsigned v = 0; v < TYPED_VALUE_TYPES; v++, turn++)
                run_types(trees[t], typed_key_types[k], typed_value_types[v], turn);
}

/* Keys of 64 bits that the first bits of the sort do not tell apart, with one that is met all the time. */
static void keys_that_look_alike(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (unsigned wide = 0; wide < 2; wide++) {
            copse_ctx *ctx = unit_context(1);
            copse_index *index = unit_index(ctx, trees[t], COPSE_U64, COPSE_U32, false);
            struct random_source random = {7};
            struct batch batch = batch_make(COPSE_U64, COPSE_U32, 4000);
            struct domain domain;
            domain_make(&domain, COPSE_U64, 300, false); /* neighbours, and both ends of the range */
            batch_draw(&batch, &domain, &random, 15, false);
            assert_ok(ctx, batch_run(index, &batch, PLACED_HOST, 0, wide ? structure_of(trees[t]) : NULL));
            assert_answers(&batch);
            assert_stands(ctx, index, &batch, &domain);
            batch_free(&batch);
            copse_index_free(index);
            copse_ctx_free(ctx);
        }
}

/* An error anywhere in the batch, also behind operations that are fine, changes nothing. */
static void late_errors(void **state)
{
    (void)state;
    enum { n = 1000 };
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (unsigned memory = 0; memory < PLACED_MEMORIES; memory++) {
            copse_ctx *ctx = unit_context(1);
            copse_index *index = unit_index(ctx, trees[t], COPSE_F64, COPSE_U32, false);
            struct random_source random = {memory};
            struct batch batch = batch_make(COPSE_F64, COPSE_U32, n), other = batch_make(COPSE_F64, COPSE_U32, n);
            struct domain domain, unused;
            domain_make(&domain, COPSE_F64, 200, true);
            batch_draw(&batch, &domain, &random, 15, false);
            assert_ok(ctx, batch_run(index, &batch, PLACED_HOST, 0, NULL));
            unused = domain;
            batch_draw(&other, &unused, &random, 15, false);
            other.operations[n - 1] = 5;
            assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[999] is 5,",
                                batch_run(index, &other, memory, 5, NULL));
            other.operations[n - 2] = 255;
            assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "operations[998] is 255,",
                                batch_run(index, &other, memory, 5, NULL));
            other.operations[n - 1] = other.operations[n - 2] = FIND;
            typed_set_bits(COPSE_F64, other.keys, n - 1, typed_nan_bits(COPSE_F64));
            assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[999]", batch_run(index, &other, memory, 5, NULL));
            memset(other.operations, FIND, n);
            assert_fails_naming(ctx, COPSE_ERR_NAN, "keys[999]", batch_run(index, &other, memory, 5, NULL));
            typed_set_code(COPSE_F64, other.keys, n - 1, domain.codes[0]);
            other.operations[n - 3] = ABSENT;
            void *values = other.values;
            other.values = NULL;
            assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "values is NULL, but operations[997]",
                                batch_run(index, &other, memory, 5, NULL));
            other.values = values;
            assert_stands(ctx, index, &batch, &domain);
            batch_free(&batch);
            batch_free(&other);
            copse_index_free(index);
            copse_ctx_free(ctx);
        }
}

/* More operations than rows can be numbered: said before any of them is looked at. */
static void too_many(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(trees); t++) {
        copse_ctx *ctx = unit_context(1);
        copse_index *index = unit_index(ctx, trees[t], COPSE_U64, COPSE_U64, false);
        const uint64_t key = 1;
        const uint8_t operation = ERASE;
        assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, "n is 4294967296",
                            copse_apply(index, &operation, &key, NULL, UINT64_C(1) << 32, NULL, NULL));
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* Each allocation on the device fails once: nothing has changed then, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(trees); t++)
        for (unsigned turn = 0; turn < 4; turn++) {
            copse_ctx *ctx = unit_context(1);
            copse_index *index = unit_index(ctx, trees[t], COPSE_U64, COPSE_U32, false);
            struct random_source random = {turn};
            struct batch batch = batch_make(COPSE_U64, COPSE_U32, 900), other = batch_make(COPSE_U64, COPSE_U32, 700);
            struct domain domain, after;
            domain_make(&domain, COPSE_U64, 500, turn % 2 == 1);
            batch_draw(&batch, &domain, &random, 15, false);
            assert_ok(ctx, batch_run(index, &batch, PLACED_DEVICE, 0, NULL));
            after = domain;
            batch_draw(&other, &after, &random, turn / 2 ? 15 : 7, false);
            copse_status status = COPSE_ERR_MEMORY;
            int64_t allowed = 0;
            for (; status == COPSE_ERR_MEMORY && allowed < 1000; allowed++) {
                const uint64_t held = index->device->allocated; /* more once the tree has been read */
                index->device->allocations_left = allowed;
                status =
                    copse_apply(index, other.operations, other.keys, other.values, other.n, other.out, other.found);
                index->device->allocations_left = -1;
                if (status == COPSE_OK) break;
                assert_int_equal(status, COPSE_ERR_MEMORY);
                assert_int_equal(index->device->allocated, held);
                assert_stands(ctx, index, &batch, &domain);
            }
            assert_ok(ctx, status);
            assert_true(allowed > 5);
            assert_answers(&other);
            assert_stands(ctx, index, &other, &after);
            batch_free(&batch);
            batch_free(&other);
            copse_index_free(index);
            copse_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_types), cmocka_unit_test(keys_that_look_alike),
        cmocka_unit_test(late_errors),         cmocka_unit_test(too_many),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
