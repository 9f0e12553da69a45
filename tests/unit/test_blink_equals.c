/*
 * Batches into a B-link tree whose keys may repeat, in place: new entries of a key go behind its others, whether these are in one leaf, reach
 * into the next one, fill many, or are no longer there.
 */
#include "blink_batches.h"

static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_U64, COPSE_U64}, {COPSE_I32, COPSE_U64}, {COPSE_I64, COPSE_U32}};

static const char *const ways[] = {"sorted-in-place", "bucket-sort"};

enum { groups = 3000, batch = 300 };

/* Entries of group g: mostly a few, some fill leaves. The first and the last key of the type have some, too. */
static uint64_t group_size(uint64_t g)
{
    if (g == 0 || g + 1 == groups || g % 200 == 7) return 37;
    return 1 + g % 4;
}

static uint64_t code_of(const struct subject *subject, uint64_t g)
{
    const copse_type type = subject->config.key_type;
    if (g + 1 == groups) return typed_highest_code(type);
    return typed_lowest_code(type) + (typed_highest_code(type) - typed_lowest_code(type)) / groups * g;
}

static void open_tree(struct subject *subject, const struct widths *width, const char *way)
{
    const struct subject_config config = {.structure = COPSE_STRUCTURE_BLINK,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = width->key,
                                          .value_type = width->value,
                                          .duplicates = true,
                                          .processors = 1,
                                          .threads = 1,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    uint64_t n = 0;
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
    for (uint64_t g = 0; g < groups; g++) n += group_size(g);
    uint64_t *codes = must_malloc(n * sizeof *codes);
    n = 0;
    for (uint64_t g = 0; g < groups; g++)
        for (uint64_t i = 0; i < group_size(g); i++) codes[n++] = code_of(subject, g);
    run_codes(subject, OPERATION_BUILD, codes, n);
    free(codes);
    tree_of(subject)->tuning.forced = copse_blink_strategy_named(way);
    tree_of(subject)->tuning.in_place_share = 1;
}

/* A batch of keys that are there and of new ones, some several times. Was it done in place? */
static bool insert(struct subject *subject, enum operation_kind kind, struct random_source *random, uint64_t n,
                   uint64_t of)
{
    const copse_blink_epoch *before = tree_of(subject)->current;
    uint64_t *codes = must_malloc(n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++)
        codes[i] = i % 3 == 2 ? codes[i - 1] : code_of(subject, random_below(random, of)) + (of < groups && i % 5 == 4);
    run_codes(subject, kind, codes, n);
    free(codes);
    return tree_of(subject)->current == before;
}

static void erase_groups(struct subject *subject, uint64_t first, uint64_t n)
{
    struct operation erase;
    operation_init(&erase, OPERATION_ERASE_RANGE, 1);
    erase.first[0] = code_of(subject, first);
    erase.second[0] = code_of(subject, first + n);
    run(subject, &erase);
    operation_free(&erase);
}

/* A group that filled leaves and was erased comes back: its entries belong to the first of these leaves, where a lookup finds them. */
static void insert_again(struct subject *subject, uint64_t g)
{
    const uint64_t code = code_of(subject, g), codes[] = {code, code, code, code, code};
    struct operation find;
    run_codes(subject, OPERATION_INSERT, codes, COUNT_OF(codes));
    operation_init(&find, OPERATION_FIND, 1);
    find.first[0] = code;
    run(subject, &find);
    operation_free(&find);
}

static void behind_their_equals(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++)
        for (size_t way = 0; way < COUNT_OF(ways); way++) {
            struct subject subject;
            struct random_source random = {w + 1};
            unsigned in_place = 0;
            open_tree(&subject, &widths[w], ways[way]);
            for (uint64_t turn = 0; turn < 8; turn++) {
                in_place += insert(&subject, OPERATION_INSERT, &random, batch, groups - turn % 2);
                (void)insert(&subject, OPERATION_INSERT_IF_ABSENT, &random, batch / 3, groups - 1);
                if (turn != 3) continue;
                erase_groups(&subject, 190, 40); /* leaves without entries, some of one key only */
                insert_again(&subject, 207);
            }
            assert_in_range(in_place, 5, 8);
            close_subject(&subject);
        }
}

/* The same few keys again and again: leaves split within a group, and the chain of a base leaf is full of one key. */
static void groups_that_grow(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        struct subject subject;
        struct random_source random = {w + 7};
        unsigned in_place = 0;
        open_tree(&subject, &widths[w], "sorted-in-place");
        for (uint64_t turn = 0; turn < 12; turn++) in_place += insert(&subject, OPERATION_INSERT, &random, 40, 9);
        erase_groups(&subject, 7, 1);
        for (uint64_t turn = 0; turn < 4; turn++) in_place += insert(&subject, OPERATION_INSERT, &random, 40, 9);
        assert_in_range(in_place, 6, 16);
        close_subject(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(behind_their_equals), cmocka_unit_test(groups_that_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
