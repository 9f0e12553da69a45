/*
 * Crowds: batches of which many keys belong to one leaf of a B-link tree. The leaf becomes as many leaves as they take, and the overflow
 * directory leads to these. Numbers of keys around all borders, behind, in front of and between the entries of a leaf, several times in
 * the same place, with equal keys, as erasures, and without memory.
 */
#include "blink_batches.h"

static const struct width {
    copse_type key, value;
    uint64_t slots;
} widths[] = {
    {COPSE_U32, COPSE_U32, 14}, {COPSE_U64, COPSE_U64, 7}, {COPSE_I32, COPSE_U64, 9}, {COPSE_I64, COPSE_U32, 9}};

enum { few = 400, many = 6000, crowd = 16 };
/* Between two neighbours of the tree is room for as many keys. */
#define GAP UINT64_C(4000)

static void open_tree_of(struct subject *subject, const struct width *width, uint64_t entries, bool duplicates)
{
    uint64_t *codes = must_malloc(entries * sizeof *codes);
    const struct subject_config config = {.structure = COPSE_STRUCTURE_BLINK,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = width->key,
                                          .value_type = width->value,
                                          .threads = 1,
                                          .duplicates = duplicates,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
    for (uint64_t i = 0; i < entries; i++) codes[i] = typed_lowest_code(width->key) + (i + 2) * GAP;
    run_codes(subject, OPERATION_BUILD, codes, entries);
    free(codes);
    tree_of(subject)->tuning.unsorted_most = 1;
    tree_of(subject)->tuning.in_place_share = 1;
}

static void open_tree(struct subject *subject, const struct width *width, uint64_t entries)
{
    open_tree_of(subject, width, entries, false);
}

static uint32_t directory_of(const struct subject *subject)
{
    return tree_of(subject)->current->view.directory_entries;
}

/* n keys from `first` on, `step` apart, counted from the least of the type. */
static void run_keys(struct subject *subject, enum operation_kind kind, uint64_t first, uint64_t step, uint64_t n)
{
    uint64_t *codes = must_malloc(n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) codes[i] = typed_lowest_code(subject->config.key_type) + first + i * step;
    struct operation operation;
    operation_init(&operation, kind, n);
    memcpy(operation.first, codes, n * sizeof *codes);
    for (uint64_t i = 0; operation.second && i < n; i++)
        operation.second[i] = typed_position_bits(subject->config.value_type, i);
    run(subject, &operation);
    operation_free(&operation);
    free(codes);
}

/* As many keys as make a leaf, or some leaves, just full, and one more or less: into a gap, in front of all, behind all. */
static void every_count(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++)
        for (uint64_t n = crowd - 1; n <= crowd + 2 * widths[w].slots + 1; n++) {
            struct subject subject;
            open_tree(&subject, &widths[w], few);
            const copse_blink_epoch *built = tree_of(&subject)->current;
            run_keys(&subject, OPERATION_INSERT, 50 * GAP + 1, 3, 2 * n); /* a crowd, so that the host expects more */
            assert_true(directory_of(&subject) > 0);
            run_keys(&subject, OPERATION_INSERT, 70 * GAP + 1, 1, n);
            run_keys(&subject, OPERATION_INSERT_IF_ABSENT, (few + 9) * GAP, 2, n);
            run_keys(&subject, OPERATION_INSERT, 1, 1, n);
            run_keys(&subject, OPERATION_INSERT, 69 * GAP + 1, GAP - 1, 3); /* beside the crowd */
            run_keys(&subject, OPERATION_FIND, 68 * GAP, 17, 600);
            run_keys(&subject, OPERATION_COUNT, 70 * GAP, 1, n);
            assert_ptr_equal(tree_of(&subject)->current, built);
            close_subject(&subject);
        }
}

/* Into the same gap again and again: behind what came last, in between, the same keys; then some of them go. */
static void one_place(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        struct subject subject;
        open_tree(&subject, &widths[w], many);
        uint32_t before = 0;
        for (uint64_t turn = 0; turn < 5; turn++) {
            run_keys(&subject, OPERATION_INSERT, 100 * GAP + turn * 500 + 3, 4, 90);
            assert_true(directory_of(&subject) > before);
            before = directory_of(&subject);
        }
        run_keys(&subject, OPERATION_INSERT_IF_ABSENT, 100 * GAP + 1, 2, 700); /* half of them are there */
        run_keys(&subject, OPERATION_INSERT, 100 * GAP + 1, 3, 600);
        run_keys(&subject, OPERATION_PREDECESSOR, 100 * GAP, 7, 400);
        run_keys(&subject, OPERATION_ERASE, 100 * GAP + 2, 1, 900);
        run_keys(&subject, OPERATION_ERASE, 30 * GAP + 1, 1, 200); /* none is there */
        run_keys(&subject, OPERATION_INSERT, 100 * GAP + 2, 5, 200);
        run_keys(&subject, OPERATION_VISIT, 0, 1, 0);
        close_subject(&subject);
    }
}

/* Many places at once, and keys that are equal. */
static void many_places(void **state)
{
    (void)state;
    enum { places = 13, each = 60 };
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        struct subject subject;
        uint64_t codes[places * each];
        open_tree(&subject, &widths[w], many);
        for (uint64_t turn = 0; turn < 4; turn++) {
            for (uint64_t i = 0; i < places * each; i++)
                codes[i] = typed_lowest_code(widths[w].key) + i % places * 29 * GAP + 2 * GAP + 1 + turn * each +
                           i / places / (turn == 2 ? 2 : 1); /* in the third turn each key comes twice */
            run_codes(&subject, turn % 2 ? OPERATION_INSERT_IF_ABSENT : OPERATION_INSERT, codes, places * each);
            if (turn == 0) assert_true(directory_of(&subject) > places);
        }
        run_keys(&subject, OPERATION_RANGE, 0, GAP, 3);
        close_subject(&subject);
    }
}

/* A few keys a call, behind all others: the chain gets long, leaf by leaf, and then goes into the directory. */
static void few_at_a_time(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        struct subject subject;
        open_tree(&subject, &widths[w], few);
        const copse_blink_epoch *built = tree_of(&subject)->current;
        tree_of(&subject)->tuning.unsorted_most = 0;
        for (uint64_t turn = 0; turn < 50; turn++)
            run_keys(&subject, OPERATION_INSERT, (few + 5) * GAP + turn * 100, 1, widths[w].slots);
        assert_true(directory_of(&subject) > 0);
        assert_ptr_equal(tree_of(&subject)->current, built);
        close_subject(&subject);
    }
}

/* A tree with a directory is rebuilt by tiles of places: with nothing new, with upserts everywhere, with erasures and with a crowd that
 * no tile can take, after which another strategy does. */
static void by_tiles(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++)
        for (uint64_t turn = 0; turn < 4; turn++) {
            struct subject subject;
            open_tree(&subject, &widths[w], many);
            for (uint64_t place = 1; place < 6;
                 place++) /* at tile borders and within tiles, one chain right behind another */
                run_keys(&subject, OPERATION_INSERT, place * place * 7 * GAP + 1, 2, 16 * place);
            run_keys(&subject, OPERATION_INSERT, (many + 5) * GAP, 1, 100);
            assert_true(directory_of(&subject) > 5);
            tree_of(&subject)->tuning.forced = copse_blink_strategy_named("lookback-rebuild");
            if (turn == 0) run_keys(&subject, OPERATION_INSERT, 2 * GAP, 7 * GAP, 500);
            if (turn == 1) run_keys(&subject, OPERATION_INSERT_IF_ABSENT, 7 * GAP + 1, 1, 200);
            if (turn == 2) run_keys(&subject, OPERATION_ERASE, 175 * GAP, 1, 400);
            if (turn == 3) run_keys(&subject, OPERATION_INSERT, (many + 9) * GAP, 1, 6000);
            assert_string_equal(tree_of(&subject)->last->name, turn == 3 ? "leafwise-rebuild" : "lookback-rebuild");
            assert_int_equal(directory_of(&subject), 0);
            close_subject(&subject);
        }
}

/* Neighbouring anchors with so many leaves each that not even four of them are a tile: it is moved piece by piece, at the first try. */
static void tiles_in_pieces(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        struct subject subject;
        const uint64_t slots = widths[w].slots, first = 300;
        open_tree(&subject, &widths[w], many);
        tree_of(&subject)->tuning.unsorted_most = 64;
        for (uint64_t place = 0; place < 8; place++)
            for (uint64_t turn = 0; turn < slots / 3 + 1; turn++)
                run_keys(&subject, OPERATION_INSERT, (first + place * slots) * GAP + 1 + 14 * turn, 1, 14);
        assert_int_equal(directory_of(&subject), 0);
        assert_true(tree_of(&subject)->current->pool_taken > 60);
        tree_of(&subject)->tuning.forced = copse_blink_strategy_named("lookback-rebuild");
        run_keys(&subject, OPERATION_INSERT, many / 2 * GAP + 1, 7 * GAP, 200);
        assert_string_equal(tree_of(&subject)->last->name, "lookback-rebuild");
        assert_int_equal(tree_of(&subject)->current->pool_taken, 0);
        run_keys(&subject, OPERATION_FIND, first * GAP, 1, 60);
        run_keys(&subject, OPERATION_RANGE, (first + 1) * GAP, GAP, 3);
        close_subject(&subject);
    }
}

/* Batch upon batch into one gap: when the tree has become loose it is packed, and the batch goes in place all the same. */
static void packed_between_batches(void **state)
{
    (void)state;
    for (size_t w = 2; w < COUNT_OF(widths);
         w++) { /* of the others some batches would split too many leaves of a packed tree */
        struct subject subject;
        open_tree(&subject, &widths[w], many);
        const copse_blink_epoch *epoch = tree_of(&subject)->current;
        unsigned packed = 0;
        for (uint64_t turn = 0; turn < 12; turn++) {
            run_keys(&subject, OPERATION_INSERT, 3000 * GAP + 1 + turn % 3 + turn / 3 * 900, 3, 290);
            assert_string_equal(tree_of(&subject)->last->name, "sorted-in-place");
            packed += tree_of(&subject)->current != epoch;
            epoch = tree_of(&subject)->current;
        }
        assert_in_range(packed, 1, 6);
        run_keys(&subject, OPERATION_RANGE, 2999 * GAP, GAP, 3);
        close_subject(&subject);
    }
}

/* Every allocation fails once: the tree has what it had, or all of the batch. */
static void without_memory(void **state)
{
    (void)state;
    struct subject subject;
    open_tree(&subject, &widths[1], few);
    for (int64_t fail_at = 0; fail_at < 40; fail_at++) {
        struct operation operation;
        operation_init(&operation, OPERATION_INSERT, 100);
        for (uint64_t i = 0; i < 100; i++) {
            operation.first[i] = (40 + (uint64_t)fail_at) * GAP + 1 + i;
            operation.second[i] = i;
        }
        operation.fail_at = fail_at / 2;
        operation.fail_device = fail_at % 2;
        operation.fail_once = true;
        run(&subject, &operation);
        operation_free(&operation);
    }
    close_subject(&subject);
}

/* Appends n keys. Did the strategy for that do it? Where there would be too many leaves another one makes a new epoch. */
static bool append_keys(struct subject *subject, uint64_t first, uint64_t step, uint64_t n)
{
    run_keys(subject, OPERATION_INSERT, first, step, n);
    return strcmp(tree_of(subject)->last->name, "append") == 0;
}

/* Reads all around the keys that were appended last. */
static void look_at_end(struct subject *subject, uint64_t last)
{
    run_keys(subject, OPERATION_FIND, last - 100, 1, 200);
    run_keys(subject, OPERATION_COUNT, last - 100, 3, 60);
    run_keys(subject, OPERATION_UPPER_BOUND, last - 20, 1, 40);
}

/* Batches behind all entries and in order, of any size; equal keys within them and beside those that are there; and batches that only
 * look like that. */
static void appended(void **state)
{
    (void)state;
    for (size_t w = 0; w < 2 * COUNT_OF(widths); w++) {
        struct subject subject;
        const bool duplicates = w >= COUNT_OF(widths);
        const uint64_t slots = widths[w % COUNT_OF(widths)].slots;
        open_tree_of(&subject, &widths[w % COUNT_OF(widths)], few, duplicates);
        tree_of(&subject)->tuning.forced = copse_blink_strategy_named("append");
        uint64_t last = (few + 1) * GAP;
        unsigned did = 0, of = 0;
        for (uint64_t n = 2; n < 4 * slots; n += slots / 3, of++) {
            did += append_keys(&subject, last + 1, 2, n);
            last += 1 + 2 * (n - 1);
            assert_true(!append_keys(&subject, last, 1, n) || duplicates); /* the first one is there */
            last += n - 1;
        }
        assert_in_range(did, of / 2, of);
        assert_true(!append_keys(&subject, last + 1, 0, 5 * slots) || duplicates); /* all equal */
        assert_true(!append_keys(&subject, last + 1, 0, 3 * slots) || duplicates);
        (void)append_keys(&subject, last + 1, 1, 7);
        look_at_end(&subject, last);
        run_keys(&subject, OPERATION_ERASE, last, 1, 3); /* with all of its equals, in many leaves */
        look_at_end(&subject, last);
        (void)append_keys(&subject, last + 20, 0, 6 * slots);
        run_keys(&subject, OPERATION_INSERT, last - 9, 3, 20); /* before, among and behind them */
        (void)append_keys(&subject, last + 60, 0, 6 * slots);
        run_keys(&subject, OPERATION_ERASE_PAIRS, last + 20, 1, 60);
        assert_false(append_keys(&subject, last + 99, UINT64_MAX, 8)); /* falling */
        assert_false(append_keys(&subject, 70 * GAP + 1, 1, 30));
        assert_false(append_keys(&subject, 70 * GAP + 1, 400 * GAP, 2));
        look_at_end(&subject, last);
        close_subject(&subject);
    }
}

/* Through a view all entries of a key count, also where its group went on in leaves behind the one that it was in. */
static void equal_keys_beside(void **state)
{
    (void)state;
    struct subject subject;
    copse_index *view = NULL;
    const uint64_t last = (few + 1) * GAP, lows[] = {last, last - GAP, last + 1}, highs[] = {last, last, UINT64_MAX};
    uint64_t counts[3];
    copse_ctx *other = unit_context(1);
    open_tree_of(&subject, &widths[1], few, true);
    assert_ok(other, copse_index_view(subject.index, other, &view));
    for (unsigned turn = 1; turn <= 4; turn++) {
        assert_true(append_keys(&subject, last, 0, 10)); /* the greatest key that there is */
        assert_ok(other, copse_count(view, &(copse_ranges)COPSE_BETWEEN(lows, highs, 3), counts));
        assert_int_equal(counts[0], 10 * turn + 1);
        assert_int_equal(counts[1], 10 * turn + 2);
        assert_int_equal(counts[2], 0);
    }
    copse_index_free(view);
    copse_ctx_free(other);
    close_subject(&subject);
}

/* The greatest keys go by range, and come again: a leaf may be responsible for a key that it has no more. */
static void appended_again(void **state)
{
    (void)state;
    for (size_t w = 0; w < 2 * COUNT_OF(widths); w++) {
        struct subject subject;
        open_tree_of(&subject, &widths[w % COUNT_OF(widths)], few, w >= COUNT_OF(widths));
        tree_of(&subject)->tuning.forced = copse_blink_strategy_named("append");
        const uint64_t first = (few + 2) * GAP, lowest = typed_lowest_code(subject.config.key_type);
        for (uint64_t gone = 0; gone < 30; gone++) {
            struct operation erase;
            (void)append_keys(&subject, first + 100 * gone, 1, 40);
            operation_init(&erase, OPERATION_ERASE_RANGE, 1);
            erase.first[0] = lowest + first + 100 * gone + 40 - (gone + 1) % 10 * 4 - ((gone + 1) % 10 == 0 ? 200 : 0);
            erase.second[0] = lowest + first + 100 * gone + 90;
            run(&subject, &erase);
            operation_free(&erase);
            run_keys(&subject, OPERATION_INSERT, first + 100 * gone + 30, 1, 12);
            run_keys(&subject, OPERATION_FIND, first + 100 * gone, 1, 60);
        }
        close_subject(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count),
        cmocka_unit_test(one_place),
        cmocka_unit_test(many_places),
        cmocka_unit_test(few_at_a_time),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(by_tiles),
        cmocka_unit_test(appended),
        cmocka_unit_test(appended_again),
        cmocka_unit_test(equal_keys_beside),
        cmocka_unit_test(tiles_in_pieces),
        cmocka_unit_test(packed_between_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
