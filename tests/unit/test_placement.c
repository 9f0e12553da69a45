/* Placements: which there are, moving between them, memory that is not the index's to read, a device that is full or
 * broken, and errors that come late. All on the emulated device; tests/gpu has the same for a card. */
#include "unit.h"
#include "support/ranges.h"

#include <math.h>

#include "device/device.h"
#include "simt/simt.h"
#include "placed.h"
#include "trees/registry.h"

#define FOR_EACH_EMULATED(name) FOR_EACH_TREE_THAT(name, COPSE_PLACEMENT_EMULATED, COPSE_CAN_EXIST)
static const struct unit_tree cpu_tree = {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU};

static copse_device *emulated_device(copse_ctx *ctx)
{
    return placed_device(ctx, COPSE_PLACEMENT_EMULATED);
}

static copse_stats stats_of(const copse_ctx *ctx, const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_ok(ctx, copse_index_stats(index, &stats));
    return stats;
}

/* --- which there are ------------------------------------------------------------------------------------------------ */

static void auto_says_why(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const char *why = NULL;
    int32_t cards = copse_device_count(&why);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.structure = COPSE_STRUCTURE_IMPLICIT;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    copse_stats stats = stats_of(ctx, index);
    assert_non_null(stats.placement_why);
    if (cards == 0) {
        assert_true(why && *why);
        assert_int_equal(stats.placement, COPSE_PLACEMENT_CPU);
        assert_non_null(strstr(stats.placement_why, "65,536")); /* nobody has asked for a card yet */
        uint64_t *keys = must_malloc(65536 * sizeof *keys);
        for (uint64_t i = 0; i < 65536; i++) keys[i] = i;
        assert_ok(ctx, copse_insert(index, keys, keys, 65535, 0, NULL));
        assert_non_null(strstr(stats_of(ctx, index).placement_why, "65,536"));
        assert_ok(ctx, copse_insert(index, keys + 65535, keys, 1, 0, NULL));
        assert_non_null(strstr(stats_of(ctx, index).placement_why, why));
        free(keys);
        copse_index *refused = NULL;
        options.placement = COPSE_PLACEMENT_GPU;
        assert_fails_naming(ctx, COPSE_ERR_DEVICE, why, copse_index_create(ctx, &options, &refused));
        assert_null(refused);
        assert_fails_naming(ctx, COPSE_ERR_DEVICE, why, copse_move(index, COPSE_PLACEMENT_GPU));
        assert_int_equal(stats_of(ctx, index).placement, COPSE_PLACEMENT_CPU);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void structures_that_are_not_there(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    static const copse_placement placements[] = {COPSE_PLACEMENT_CPU, COPSE_PLACEMENT_EMULATED};
    for (size_t p = 0; p < COUNT_OF(placements); p++) {
        const struct trees absent = trees_absent(placements[p]);
        assert_true(absent.n > 0);
        for (unsigned i = 0; i < absent.n; i++) {
            options.structure = absent.structure[i];
            options.placement = placements[p];
            assert_fails_naming(ctx, COPSE_ERR_UNSUPPORTED, copse_structure_name(absent.structure[i]),
                                copse_index_create(ctx, &options, &index));
            assert_null(index);
        }
    }
    /* a structure that is left open is one that the placement has */
    static const struct {
        copse_placement placement;
        copse_updates updates;
        copse_structure structure;
    } open[] = {{COPSE_PLACEMENT_EMULATED, COPSE_UPDATES_EXPECTED, COPSE_STRUCTURE_BLINK},
                {COPSE_PLACEMENT_EMULATED, COPSE_UPDATES_RARE, COPSE_STRUCTURE_IMPLICIT},
                {COPSE_PLACEMENT_CPU, COPSE_UPDATES_EXPECTED, COPSE_STRUCTURE_REGULAR},
                {COPSE_PLACEMENT_CPU, COPSE_UPDATES_RARE, COPSE_STRUCTURE_IMPLICIT}};
    options.structure = COPSE_STRUCTURE_AUTO;
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        options.placement = open[i].placement;
        options.updates = open[i].updates;
        assert_ok(ctx, copse_index_create(ctx, &options, &index));
        assert_int_equal(stats_of(ctx, index).structure, open[i].structure);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Any tree moves to the other side and back; where it is not there, its counterpart takes the entries. */
static void every_tree_moves(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_TREE(tree)
    {
        const copse_placement from = tree->placement;
        const copse_placement to = from == COPSE_PLACEMENT_CPU ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_CPU;
        const copse_structure there = copse_registry_nearest(tree->structure, to);
        copse_index *index = unit_tens(ctx, *tree, 100);
        struct unit_content before = unit_content_of(index);
        assert_ok(ctx, copse_move(index, to));
        assert_int_equal(stats_of(ctx, index).structure, there);
        assert_ok(ctx, copse_move(index, from));
        assert_int_equal(stats_of(ctx, index).structure, copse_registry_nearest(there, from));
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* A move takes the structure that does the same on the other side. */
static void moves_take_the_nearest_structure(void **state)
{
    (void)state;
    static const struct {
        struct unit_tree from;
        copse_structure there, back;
    } moves[] = {{{COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU}, COPSE_STRUCTURE_IMPLICIT, COPSE_STRUCTURE_IMPLICIT},
                 {{COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU}, COPSE_STRUCTURE_BLINK, COPSE_STRUCTURE_REGULAR},
                 {{COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED}, COPSE_STRUCTURE_REGULAR, COPSE_STRUCTURE_BLINK},
                 {{COPSE_STRUCTURE_BPLUS, COPSE_PLACEMENT_EMULATED}, COPSE_STRUCTURE_REGULAR, COPSE_STRUCTURE_BLINK}};
    copse_ctx *ctx = unit_context(1);
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        const copse_placement home = moves[i].from.placement;
        copse_index *index = unit_tens(ctx, moves[i].from, 100);
        struct unit_content before = unit_content_of(index);
        assert_ok(ctx, copse_move(index, home == COPSE_PLACEMENT_CPU ? COPSE_PLACEMENT_EMULATED : COPSE_PLACEMENT_CPU));
        assert_int_equal(stats_of(ctx, index).structure, moves[i].there);
        assert_ok(ctx, copse_move(index, home));
        assert_int_equal(stats_of(ctx, index).structure, moves[i].back);
        unit_assert_content(ctx, index, before);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- moving --------------------------------------------------------------------------------------------------------- */

static void moves_keep_the_content(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 7, 1000, 5000};
    copse_ctx *ctx = unit_context(2);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        copse_index *index = unit_tens(ctx, cpu_tree, sizes[i]);
        for (int round = 0; round < 3; round++) {
            copse_placement target = round == 1 ? COPSE_PLACEMENT_CPU : COPSE_PLACEMENT_EMULATED;
            struct unit_content before = unit_content_of(index);
            assert_ok(ctx, copse_move(index, target));
            assert_int_equal(stats_of(ctx, index).placement, target);
            unit_assert_content(ctx, index, before);
            assert_ok(ctx, copse_move(index, target)); /* where it is already */
            assert_int_equal(copse_size(index), sizes[i]);
        }
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void impossible_moves(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, cpu_tree, 10);
    struct unit_content before = unit_content_of(index);
    assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, "copse_move: placement is 99", copse_move(index, (copse_placement)99));
    assert_fails_naming(NULL, COPSE_ERR_ARGUMENT, "index", copse_move(NULL, COPSE_PLACEMENT_CPU));
    unit_assert_content(ctx, index, before);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A cursor from before a move says that it is stale, or gives the right entries; after a seek it walks on. */
static void cursors_outlive_a_move(void **state)
{
    (void)state;
    static const uint64_t middle = 500;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, cpu_tree, 1000);
    copse_cursor *cursor = NULL;
    uint64_t key = 0, got = 0;
    assert_ok(ctx, copse_cursor_open(index, NULL, &cursor));
    for (int round = 0; round < 2; round++) {
        assert_ok(ctx, copse_cursor_seek(cursor, &middle));
        assert_ok(ctx, copse_cursor_next(cursor, &key, NULL, 1, &got));
        assert_ok(ctx, copse_move(index, round ? COPSE_PLACEMENT_CPU : COPSE_PLACEMENT_EMULATED));
        copse_status status = copse_cursor_next(cursor, &key, NULL, 1, &got);
        if (status != COPSE_ERR_STALE) assert_true(status == COPSE_OK && got == 1 && key == 510);
        assert_ok(ctx, copse_cursor_seek(cursor, &middle));
        assert_ok(ctx, copse_cursor_next(cursor, &key, NULL, 1, &got));
        assert_true(got == 1 && key == 500);
    }
    copse_cursor_free(cursor);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* --- memory that is not the index's to read ---------------------------------------------------------------------- */

/* Every array of every call is `bad` once; the index must be as it was. */
static void bad_memory_is_named(copse_ctx *ctx, copse_index *index, void *bad)
{
    uint64_t keys[4] = {0, 10, 20, 30}, out[8];
    uint8_t found[4], codes[4] = {COPSE_OP_UPSERT, COPSE_OP_INSERT_IF_ABSENT, COPSE_OP_ERASE, COPSE_OP_FIND};
    copse_int128 wide[4];
    double means[4];
    struct unit_content before = unit_content_of(index);
#define REFUSED(word, call) assert_fails_naming(ctx, COPSE_ERR_ARGUMENT, word, call)
    REFUSED("keys", copse_build(index, bad, keys, 4));
    REFUSED("values", copse_build(index, keys, bad, 4));
    REFUSED("keys", copse_insert(index, bad, keys, 4, 0, NULL));
    REFUSED("values", copse_insert(index, keys, bad, 4, 0, NULL));
    REFUSED("keys", copse_erase(index, bad, 4, NULL));
    REFUSED("operations", copse_apply(index, bad, keys, keys, 4, out, found));
    REFUSED("keys", copse_apply(index, codes, bad, keys, 4, out, found));
    REFUSED("values", copse_apply(index, codes, keys, bad, 4, out, found));
    REFUSED("out_values", copse_apply(index, codes, keys, keys, 4, bad, found));
    REFUSED("out_found", copse_apply(index, codes, keys, keys, 4, out, bad));
    REFUSED("keys", copse_find(index, bad, 4, out, found));
    REFUSED("out_values", copse_find(index, keys, 4, bad, found));
    REFUSED("out_found", copse_find(index, keys, 4, out, bad));
    REFUSED("keys", copse_contains(index, bad, 4, found));
    REFUSED("out_found", copse_contains(index, keys, 4, bad));
    REFUSED("keys", copse_lower_bound(index, bad, 4, out, out, found, out));
    REFUSED("out_keys", copse_lower_bound(index, keys, 4, bad, out, found, out));
    if (unit_can((struct unit_tree){stats_of(ctx, index).structure, COPSE_PLACEMENT_EMULATED}, COPSE_CAN_RANK))
        REFUSED("out_ranks", copse_lower_bound(index, keys, 4, NULL, NULL, found, bad));
    REFUSED("out_values", copse_successor(index, keys, 4, out, bad, found));
    REFUSED("out_keys", copse_predecessor(index, keys, 4, bad, out, found));
    REFUSED("lows", copse_range(index, BETWEEN(bad, keys, 4), ROWS(out, NULL, NULL, 0)));
    REFUSED("highs", copse_range(index, BETWEEN(keys, bad, 4), ROWS(out, NULL, NULL, 0)));
    REFUSED("out_offsets", copse_range(index, BETWEEN(keys, keys, 4), ROWS(bad, NULL, NULL, 0)));
    REFUSED("out_keys", copse_range(index, BETWEEN(keys, keys, 4), ROWS(out, bad, NULL, 4)));
    REFUSED("out_values", copse_range(index, BETWEEN(keys, keys, 4), ROWS(out, NULL, bad, 4)));
    REFUSED("lows", copse_count(index, BETWEEN(bad, keys, 4), out));
    REFUSED("out_counts", copse_count(index, BETWEEN(keys, keys, 4), bad));
    REFUSED("highs", copse_sum(index, BETWEEN(keys, bad, 4), out));
    REFUSED("out_sums", copse_sum(index, BETWEEN(keys, keys, 4), bad));
    REFUSED("lows", copse_sum128(index, BETWEEN(bad, keys, 4), wide));
    REFUSED("out_sums", copse_sum128(index, BETWEEN(keys, keys, 4), bad));
    REFUSED("highs", copse_min(index, BETWEEN(keys, bad, 4), out, found));
    REFUSED("out_values", copse_max(index, BETWEEN(keys, keys, 4), bad, found));
    REFUSED("lows", copse_avg(index, BETWEEN(bad, keys, 4), means));
    REFUSED("out_means", copse_avg(index, BETWEEN(keys, keys, 4), bad));
    REFUSED("out_keys", copse_export(index, bad, NULL, 1000));
    REFUSED("out_values", copse_export(index, NULL, bad, 1000));
#undef REFUSED
    unit_assert_content(ctx, index, before);
}

static void wild_pointers_are_not_followed(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    FOR_EACH_EMULATED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100);
        bad_memory_is_named(ctx, index, (void *)(uintptr_t)64);
        bad_memory_is_named(ctx, index, (void *)(uintptr_t)UINT64_C(0x7fff00000000dead));
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

static void memory_of_another_device_is_refused(void **state)
{
    (void)state;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = unit_context(1), *other = NULL;
    void *memory = NULL;
    options.device = 1;
    assert_ok(NULL, copse_ctx_create(&options, &other));
    copse_device *device = emulated_device(other);
    assert_ok(other, copse_device_alloc(device, device->main, 8192, "a test", &memory));
    FOR_EACH_EMULATED(tree)
    {
        copse_index *index = unit_tens(ctx, *tree, 100);
        bad_memory_is_named(ctx, index, memory);
        copse_index_free(index);
    }
    copse_device_free(device, device->main, memory, 8192);
    copse_ctx_free(other);
    copse_ctx_free(ctx);
}

/* --- a device that is full ----------------------------------------------------------------------------------------- */

static void failed_builds(struct unit_tree tree)
{
    enum { n = 6000 };
    copse_ctx *ctx = unit_context(1);
    copse_device *device = emulated_device(ctx);
    copse_index *index = unit_tens(ctx, tree, 1000);
    uint64_t *keys = must_malloc(n * sizeof *keys);
    for (uint64_t i = 0; i < n; i++) keys[i] = (i * 7919) % n;
    struct unit_content before = unit_content_of(index);
    uint64_t whole = device->memory, held = 0;
    index->long_keys = COPSE_LONG_KEYS_CARD; /* else the leaves of a radix tree go to host memory */
    for (int i = 0; i < 100; i++) {
        device->memory = device->allocated + (uint64_t)i * 16 * n / 100;
        assert_fails_naming(ctx, COPSE_ERR_MEMORY, "free", copse_build(index, keys, NULL, n));
        assert_fails(ctx, COPSE_ERR_MEMORY, copse_insert(index, keys, NULL, n, 0, NULL));
        /* the first call may have made what the context keeps for later ones */
        if (i > 0) assert_int_equal(device->allocated, held);
        held = device->allocated;
    }
    device->memory = whole;
    unit_assert_content(ctx, index, before);
    assert_ok(ctx, copse_build(index, keys, NULL, n));
    assert_int_equal(copse_size(index), n);
    free(keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void failed_builds_leave_no_trace(void **state)
{
    (void)state;
    FOR_EACH_EMULATED(tree) failed_builds(*tree);
}

/* --- a device that faults ------------------------------------------------------------------------------------------ */

typedef struct planted_arguments {
    uint32_t unused;
} planted_arguments;

/* Each lane waits for lanes that wait for others: no warp can get past it. */
SIMT_KERNEL(planted_fault, planted_arguments, 32, 1)
{
    (void)a;
    __syncwarp(simt_lane() < 16 ? 0xffff0000u : 0x0000ffffu);
}

static const copse_kernel planted_kernel = SIMT_KERNEL_ENTRY(planted_fault, 32);

static void fault_is_told(struct unit_tree tree)
{
    copse_ctx *ctx = unit_context(1);
    copse_device *device = emulated_device(ctx);
    copse_index *index = unit_tens(ctx, tree, 100), *other = NULL;
    copse_index *unharmed = unit_tens(ctx, cpu_tree, 100);
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    planted_arguments arguments = {0};
    uint64_t keys[2] = {10, 20}, out[4];
    uint8_t found[2];
    char sentence[512];
    copse_status status = copse_device_launch(device, device->main, &planted_kernel, 1, &arguments);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    assert_int_equal(status, COPSE_ERR_DEVICE);
    (void)snprintf(sentence, sizeof sentence, "%s", copse_last_error(ctx));
    assert_non_null(strstr(sentence, "planted_fault"));
    options.structure = tree.structure;
    options.placement = COPSE_PLACEMENT_EMULATED;
#define REFUSED(call) assert_fails_naming(ctx, COPSE_ERR_DEVICE, sentence, call)
    REFUSED(copse_find(index, keys, 2, out, found));
    REFUSED(copse_find(index, keys, 2, out, found));
    REFUSED(copse_count(index, BETWEEN(keys, keys, 2), out));
    REFUSED(copse_insert(index, keys, NULL, 2, 0, NULL));
    REFUSED(copse_build(index, keys, NULL, 2));
    REFUSED(copse_verify(index));
    REFUSED(copse_move(index, COPSE_PLACEMENT_CPU));
    REFUSED(copse_move(unharmed, COPSE_PLACEMENT_EMULATED));
    REFUSED(copse_index_create(ctx, &options, &other));
    REFUSED(copse_ctx_synchronize(ctx));
#undef REFUSED
    assert_ok(ctx, copse_find(unharmed, keys, 2, out, found)); /* the CPU goes on */
    assert_true(found[0] && out[0] == 11);
    copse_index_free(unharmed);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void a_fault_is_told_again_and_again(void **state)
{
    (void)state;
    FOR_EACH_EMULATED(tree) fault_is_told(*tree);
}

/* --- errors that come late ------------------------------------------------------------------------------------------ */

/* With a stream of the caller's, calls on device memory return before the kernels have run. */
static void late_errors(struct unit_tree tree)
{
    enum { n = 64 };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, tree, COPSE_F64, COPSE_U64, false);
    copse_device *device = emulated_device(ctx);
    double keys[n], with_nan[n], zeros[n];
    uint64_t values[n], sums[n];
    struct placed_call call = {.device = device, .reachable = true, .memory = PLACED_DEVICE};
    for (int i = 0; i < n; i++) {
        keys[i] = i;
        zeros[i] = 0;
        with_nan[i] = i == 37 ? NAN : 0;
        values[i] = UINT64_MAX / 2;
    }
    assert_ok(ctx, copse_build(index, keys, values, n));
    device->callers_stream = true;
    const double *own = placed_input(&call, keys, n, sizeof *keys);
    const double *lows = placed_input(&call, zeros, n, sizeof *zeros);
    const double *bad = placed_input(&call, with_nan, n, sizeof *with_nan);
    uint64_t *out = placed_output(&call, sums, n, sizeof *sums);
    assert_ok(ctx, copse_ctx_synchronize(ctx));
    assert_ok(ctx, copse_count(index, BETWEEN(bad, own, n), out));
    assert_ok(ctx, copse_sum(index, BETWEEN(own, own, n), out)); /* a later success hides nothing */
    assert_fails_naming(ctx, COPSE_ERR_NAN, "37", copse_ctx_synchronize(ctx));
    assert_ok(ctx, copse_ctx_synchronize(ctx)); /* told once */
    assert_ok(ctx, copse_sum(index, BETWEEN(lows, own, 5), out));
    assert_fails(ctx, COPSE_ERR_OVERFLOW, copse_ctx_synchronize(ctx));
    assert_ok(ctx, copse_sum(index, BETWEEN(own, own, n), out));
    assert_ok(ctx, copse_ctx_synchronize(ctx));
    const char *wrong = placed_end(&call);
    if (wrong) fail_msg("%s", wrong);
    for (int i = 0; i < n; i++) assert_true(sums[i] == UINT64_MAX / 2);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void late_errors_wait_for_synchronize(void **state)
{
    (void)state;
    /* A radix tree makes strings of the keys first, and says at once what is wrong with them. */
    FOR_EACH_TREE_THAT(tree, COPSE_PLACEMENT_EMULATED, COPSE_CAN_KEEP_DUPLICATES) late_errors(*tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_says_why),
        cmocka_unit_test(structures_that_are_not_there),
        cmocka_unit_test(every_tree_moves),
        cmocka_unit_test(moves_take_the_nearest_structure),
        cmocka_unit_test(moves_keep_the_content),
        cmocka_unit_test(impossible_moves),
        cmocka_unit_test(cursors_outlive_a_move),
        cmocka_unit_test(wild_pointers_are_not_followed),
        cmocka_unit_test(memory_of_another_device_is_refused),
        cmocka_unit_test(failed_builds_leave_no_trace),
        cmocka_unit_test(a_fault_is_told_again_and_again),
        cmocka_unit_test(late_errors_wait_for_synchronize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
