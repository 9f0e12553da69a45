/*
 * The list of all leaves in the order of their keys (blink/rebuild/leaf_lists.h), against a walk of the host along the same leaves: over
 * the bounds of blocks and tiles, with chains and branches of any length wherever they matter.
 */
#define _POSIX_C_SOURCE 200809L
#include "blink_batches.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { block_leaves = COPSE_LIST_THREADS * COPSE_LIST_EACH, guard = 64 };

static const copse_structure kinds[] = {COPSE_STRUCTURE_BLINK, COPSE_STRUCTURE_BPLUS};
#define FOR_EACH_KIND(kind) for (const copse_structure *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

/* One of each pair of widths, and where a leaf has what; see blink/layout.h. */
static const struct widths {
    copse_type key, value;
    size_t state, values;
} widths[] = {{COPSE_U32, COPSE_U32, 56, 72},
              {COPSE_U64, COPSE_U64, 56, 72},
              {COPSE_U32, COPSE_U64, 36, 56},
              {COPSE_U64, COPSE_U32, 72, 88}};
#define FOR_EACH_WIDTH(width) for (const struct widths *width = widths; width < widths + COUNT_OF(widths); width++)

/* Device memory, which the host may not touch but here: AddressSanitizer would be told of it. */
#define UNCHECKED __attribute__((no_sanitize("address"), noinline))

UNCHECKED static uint32_t peek(const void *device)
{
    return *(const volatile uint32_t *)device;
}

UNCHECKED static uint64_t peek_wide(const void *device)
{
    return *(const volatile uint64_t *)device;
}

UNCHECKED static void poke(uint64_t *device, uint64_t word)
{
    __atomic_store_n(device, word, __ATOMIC_RELAXED);
}

/* --- trees ------------------------------------------------------------------------------------------------------------------- */

static void open_subject(struct subject *subject, copse_structure structure, const struct widths *width, uint32_t turn)
{
    const struct subject_config config = {.structure = structure,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = width->key,
                                          .value_type = width->value,
                                          .simt_seed = turn % 2 ? turn : 0,
                                          .processors = 1,
                                          .ways = 1,
                                          .threads = 1,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
    tree_of(subject)->tuning.in_place_share = 1;
}

/* A tree with so many base_leaves, or one more. */
static void build(struct subject *subject, uint64_t base_leaves)
{
    const uint64_t n = base_leaves * copse_blink_packed_two(subject->index) / 2;
    uint64_t *codes = must_malloc((n + 1) * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) codes[i] = spread(subject->config.key_type, 0.5, i, n);
    run_codes(subject, OPERATION_BUILD, codes, n);
    free(codes);
    assert_in_range(tree_of(subject)->current->view.base_leaves, base_leaves ? base_leaves : 1, base_leaves + 1);
    assert_int_equal(tree_of(subject)->current->pool_taken, 0);
}

static const char *leaf_at(const copse_blink_tree *tree, uint32_t number)
{
    const uint32_t mask = (1u << tree->segment_shift) - 1;
    return (const char *)(uintptr_t)peek_wide(&tree->segments[number >> tree->segment_shift]) +
           (size_t)(number & mask) * COPSE_LEAF_BYTES;
}

static uint32_t word_of(const char *leaf, size_t offset)
{
    return peek(leaf + offset);
}

/* Puts n keys behind the first one of each of these base_leaves, in place; they come behind `there` that did so before. */
static void crowd(struct subject *subject, const uint32_t *base_leaves, uint64_t some, uint64_t there, uint64_t n)
{
    const copse_blink_epoch *version = tree_of(subject)->current;
    uint64_t *codes = must_malloc(some * n * sizeof *codes);
    for (uint64_t i = 0; i < some; i++) {
        const char *base_leaf = leaf_at(&version->view, base_leaves[i]);
        const uint64_t code = copse_type_size(subject->config.key_type) == 4 ? peek(base_leaf) : peek_wide(base_leaf);
        for (uint64_t k = 0; k < n; k++) codes[k * some + i] = code + 1 + there + k;
    }
    run_codes(subject, OPERATION_INSERT, codes, some * n);
    free(codes);
    assert_ptr_equal(tree_of(subject)->current, version);
}

/* Fills all base_leaves, but for a place or two: a tree that is loose besides would not keep many chains. Returns how many keys each got. */
static uint64_t fill(struct subject *subject)
{
    const copse_blink_epoch *version = tree_of(subject)->current;
    const uint64_t each = copse_blink_slots(subject->index) - (copse_blink_packed_two(subject->index) + 1) / 2;
    uint32_t *base_leaves = must_malloc(version->view.base_leaves * sizeof *base_leaves);
    for (uint32_t i = 0; i < version->view.base_leaves; i++) base_leaves[i] = i;
    crowd(subject, base_leaves, version->view.base_leaves, 0, each);
    free(base_leaves);
    assert_int_equal(version->pool_taken, 0);
    return each;
}

/* --- the list -------------------------------------------------------------------------------------------------------------- */

/* What the kernel is given, and what it made of it. */
struct lists {
    copse_rebuild_arguments arguments;
    copse_rebuild_totals totals;
    uint32_t *order;
    uint64_t *before;
};

static void *take(copse_device *device, uint64_t bytes)
{
    void *memory = NULL;
    assert_int_equal(copse_device_alloc(device, device->main, bytes, "the list", &memory), COPSE_OK);
    assert_int_equal(copse_device_fill(device, device->main, memory, 0xee, bytes), COPSE_OK);
    return memory;
}

static void *fetch(copse_device *device, void *memory, uint64_t bytes)
{
    void *own = must_malloc(bytes);
    assert_int_equal(copse_device_read(device, device->main, own, memory, bytes), COPSE_OK);
    copse_device_free(device, device->main, memory, bytes);
    return own;
}

/* Blocks that are through already, and what they said; but for one of them, which is late. */
struct past {
    uint64_t blocks, late;
    const uint64_t *words;
};

/* Says what is late, once others have looked. */
struct late {
    uint64_t *at, word;
};

static void *say_late(void *argument)
{
    const struct late *late = argument;
    const struct timespec a_while = {.tv_nsec = 2000000};
    (void)nanosleep(&a_while, NULL);
    poke(late->at, late->word);
    return NULL;
}

/* Lists with tiles of so many leaves, and room for so many leaves; behind that there are some more that must stay as they are. */
static struct lists list_on(const struct subject *subject, const copse_blink_tree *tree, uint32_t tile, uint64_t room,
                            struct past past)
{
    copse_device *device = subject->index->device;
    const uint64_t blocks = (tree->base_leaves + block_leaves - 1) / block_leaves, tiles = (room + tile - 1) / tile;
    const uint64_t order = (room + guard) * sizeof(uint32_t), before = (tiles + guard) * sizeof(uint64_t);
    const uint64_t totals = sizeof(copse_rebuild_totals) + blocks * sizeof(uint64_t);
    struct lists lists = {.arguments = {.from = *tree,
                                        .tile_base_leaves = tile,
                                        .tiles = (uint32_t)tiles,
                                        .leaves = (uint32_t)room,
                                        .order = take(device, order),
                                        .before = take(device, before),
                                        .totals = take(device, totals)}};
    lists.arguments.words = (uint64_t *)(lists.arguments.totals + 1);
    assert_int_equal(copse_device_fill(device, device->main, lists.arguments.totals, 0, totals), COPSE_OK);
    const uint32_t begun = (uint32_t)past.blocks;
    assert_int_equal(copse_device_copy(device, device->main, &lists.arguments.totals->lists, &begun, sizeof begun),
                     COPSE_OK);
    struct late late;
    pthread_t thread;
    for (uint64_t i = 0; i < past.blocks; i++) poke(&lists.arguments.words[i], i == past.late ? 0 : past.words[i]);
    if (past.blocks) late = (struct late){lists.arguments.words + past.late, past.words[past.late]};
    if (past.blocks) assert_int_equal(pthread_create(&thread, NULL, say_late, &late), 0);
    assert_int_equal(copse_device_launch(device, device->main, &copse_blink_kernels_of(subject->index)->base_leaf_lists,
                                         blocks - past.blocks, &lists.arguments),
                     COPSE_OK);
    if (past.blocks) (void)pthread_join(thread, NULL);
    copse_rebuild_totals *counted = fetch(device, lists.arguments.totals, totals);
    lists.totals = *counted;
    free(counted);
    lists.order = fetch(device, lists.arguments.order, order);
    lists.before = fetch(device, lists.arguments.before, before);
    for (uint64_t i = 0; i < guard; i++) {
        assert_int_equal(lists.order[room + i], 0xeeeeeeee);
        assert_int_equal(lists.before[tiles + i], 0xeeeeeeeeeeeeeeee);
    }
    return lists;
}

static struct lists list(const struct subject *subject, const copse_blink_tree *tree, uint32_t tile, uint64_t room)
{
    return list_on(subject, tree, tile, room, (struct past){0, 0, NULL});
}

static void lists_free(struct lists *lists)
{
    free(lists->order);
    free(lists->before);
}

/* One leaf of the list. */
static void expect(const struct lists *lists, uint64_t at, uint32_t leaf, uint64_t entries)
{
    const uint32_t tile = lists->arguments.tile_base_leaves;
    assert_int_equal(lists->order[at], leaf);
    if (at % tile == 0) assert_int_equal(lists->before[at / tile], entries);
}

/* Walks along the leaves of a base_leaf. Returns how many there are. */
static uint64_t walk(const struct lists *lists, const struct widths *width, uint32_t base_leaf, uint64_t at,
                     uint64_t *entries)
{
    const copse_blink_tree *tree = &lists->arguments.from;
    const char *first = leaf_at(tree, base_leaf);
    const uint32_t state = word_of(first, width->state);
    const bool branch = state & COPSE_LEAF_BRANCH;
    uint32_t leaf = base_leaf;
    for (uint64_t n = 0;; n++) {
        if (branch && n == (state & COPSE_LEAF_COUNT)) return n;
        if (branch) leaf = word_of(first, width->values + 4 * n);
        expect(lists, at + n, leaf, *entries);
        *entries += word_of(leaf_at(tree, leaf), width->state) & COPSE_LEAF_COUNT;
        if (branch) continue;
        leaf = word_of(leaf_at(tree, leaf), width->state + 4);
        if (tree->branches || leaf < tree->base_leaves || leaf == COPSE_LEAF_NONE) return n + 1;
    }
}

/* Looks at all of a list. Returns how many leaves there are. */
static uint64_t lists_check(const struct lists *lists, const struct widths *width)
{
    const copse_blink_tree *tree = &lists->arguments.from;
    uint64_t at = 0, entries = 0;
    assert_int_equal(lists->totals.ticket, 0);
    for (uint32_t base_leaf = 0; base_leaf < tree->base_leaves; base_leaf++)
        at += walk(lists, width, base_leaf, at, &entries);
    assert_int_equal(entries, tree->entries);
    assert_int_equal(lists->totals.leaves, at);
    assert_int_equal(lists->totals.tiles,
                     (at + lists->arguments.tile_base_leaves - 1) / lists->arguments.tile_base_leaves);
    if (lists->totals.tiles < lists->arguments.tiles) assert_int_equal(lists->before[lists->totals.tiles], entries);
    return at;
}

/* Lists, where there are at most so many leaves. */
static uint64_t check(const struct subject *subject, const struct widths *width, uint32_t tile, uint64_t room)
{
    struct lists lists = list(subject, &tree_of(subject)->current->view, tile, room);
    const uint64_t leaves = lists_check(&lists, width);
    lists_free(&lists);
    return leaves;
}

/* The same with several sizes of tiles, and as much room as the host gives. */
static uint64_t check_all(const struct subject *subject, const struct widths *width)
{
    static const uint32_t tiles[] = {32, 19, 3, 1};
    const copse_blink_epoch *version = tree_of(subject)->current;
    const uint64_t most = version->view.base_leaves + version->pool_taken;
    uint64_t leaves = 0;
    for (size_t i = 0; i < COUNT_OF(tiles); i++) leaves = check(subject, width, tiles[i], most);
    return leaves;
}

/* --- tests ----------------------------------------------------------------------------------------------------------------- */

/* Trees that fill blocks, or nearly, down to one base_leaf; and one without entries. */
static void no_chains(void **state)
{
    (void)state;
    static const uint64_t base_leaves[] = {
        0, 1, 5, block_leaves - 2, block_leaves, 2 * block_leaves, 5 * block_leaves + 3};
    uint32_t turn = 0;
    FOR_EACH_WIDTH(width)
    for (size_t i = 0; i < COUNT_OF(base_leaves); i++) {
        struct subject subject;
        open_subject(&subject, kinds[turn % 2], width, turn);
        turn++;
        build(&subject, base_leaves[i]);
        assert_int_equal(check_all(&subject, width), tree_of(&subject)->current->view.base_leaves);
        close_subject(&subject);
    }
}

/* Chains of two leaves and more at both ends of blocks, and of the tree. */
static void at_bounds(void **state)
{
    (void)state;
    static const uint32_t of[] = {0, 3, block_leaves - 1, block_leaves, 2 * block_leaves - 1, 2 * block_leaves};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width, turn++);
        build(&subject, 2 * block_leaves + 7);
        const copse_blink_epoch *version = tree_of(&subject)->current;
        const uint64_t slots = copse_blink_slots(subject.index);
        uint32_t base_leaves[COUNT_OF(of) + 1];
        memcpy(base_leaves, of, sizeof of);
        base_leaves[COUNT_OF(of)] = version->view.base_leaves - 1;
        crowd(&subject, base_leaves, COUNT_OF(base_leaves), 0, slots);
        const uint64_t more = check_all(&subject, width) - version->view.base_leaves;
        assert_true(more >= COUNT_OF(base_leaves));
        for (uint64_t i = 0; i < slots; i++)
            crowd(&subject, base_leaves + turn % 3, 3, slots + i, 1); /* a branch has an end */
        assert_true(check_all(&subject, width) > version->view.base_leaves + more);
        close_subject(&subject);
    }
}

/* More chains than a block has threads. */
static void many_chains(void **state)
{
    (void)state;
    enum { some = COPSE_LIST_THREADS + COPSE_LIST_THREADS / 2 };
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        uint32_t base_leaves[some];
        open_subject(&subject, *kind, width, turn++);
        build(&subject, 3 * block_leaves);
        for (uint32_t i = 0; i < some; i++) base_leaves[i] = block_leaves + i * 2;
        const uint64_t there = fill(&subject);
        crowd(&subject, base_leaves, some, there, 2);
        assert_true(check_all(&subject, width) >= 3 * block_leaves + some);
        close_subject(&subject);
    }
}

/* A chain that takes some tiles. */
static void long_chain(void **state)
{
    (void)state;
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        const uint32_t base_leaf = block_leaves - 1;
        open_subject(&subject, COPSE_STRUCTURE_BLINK, width, 0);
        build(&subject, block_leaves + block_leaves / 2);
        const uint64_t slots = copse_blink_slots(subject.index);
        for (uint64_t i = 0; i < 5 * slots; i++) crowd(&subject, &base_leaf, 1, i, 1);
        assert_true(tree_of(&subject)->current->pool_taken >= 5);
        (void)check_all(&subject, width);
        close_subject(&subject);
    }
}

/* There is more room than needed, or less: that is noticed, and nothing is written behind it. */
static void other_room(void **state)
{
    (void)state;
    static const uint32_t base_leaves[] = {5, block_leaves, block_leaves + 9};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width, turn++);
        build(&subject, 2 * block_leaves);
        crowd(&subject, base_leaves, COUNT_OF(base_leaves), 0, copse_blink_slots(subject.index));
        const uint64_t leaves = check_all(&subject, width);
        static const uint64_t less[] = {1, 40, 2 * block_leaves};
        (void)check(&subject, width, 8, leaves);
        (void)check(&subject, width, 8, leaves + 100);
        for (size_t i = 0; i < COUNT_OF(less); i++) {
            struct lists lists = list(&subject, &tree_of(&subject)->current->view, 8, leaves - less[i]);
            assert_true(lists.totals.ticket & COPSE_TILES_STOP);
            assert_int_equal(lists.totals.leaves, 0);
            assert_int_equal(lists.totals.tiles, 0);
            lists_free(&lists);
        }
        close_subject(&subject);
    }
}

/* The tree has another number of entries than it says. */
static void other_entries(void **state)
{
    (void)state;
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, COPSE_STRUCTURE_BLINK, width, 0);
        build(&subject, 300);
        copse_blink_tree tree = tree_of(&subject)->current->view;
        tree.entries++;
        struct lists lists = list(&subject, &tree, 8, tree.base_leaves);
        assert_true(lists.totals.ticket & COPSE_TILES_STOP);
        assert_int_equal(lists.totals.tiles, 0);
        lists_free(&lists);
        close_subject(&subject);
    }
}

/* --- many blocks ----------------------------------------------------------------------------------------------------------- */

/* A tree whose segments are all the first one: it has as many base_leaves as one likes. */
static copse_blink_tree repeated(const struct subject *subject, uint64_t **table, const struct widths *width,
                                 uint32_t base_leaves)
{
    copse_blink_tree tree = tree_of(subject)->current->view;
    const uint32_t segment = 1u << tree.segment_shift, segments = base_leaves / segment;
    uint64_t entries = 0;
    for (uint32_t i = 0; i < segment; i++) entries += word_of(leaf_at(&tree, i), width->state) & COPSE_LEAF_COUNT;
    *table = take(subject->index->device, segments * sizeof **table);
    for (uint32_t i = 0; i < segments; i++) poke(&(*table)[i], peek_wide(tree.segments));
    tree.base_leaves = segments * segment;
    tree.segments = *table;
    tree.entries = entries * segments;
    return tree;
}

/* What blocks in front of the last one may have said: those up to `summed` the sum, the others what they have. */
static void say(const copse_blink_tree *tree, uint64_t *words, uint64_t n, uint64_t summed)
{
    const uint64_t each = tree->entries / (tree->base_leaves / block_leaves);
    for (uint64_t i = 0; i < n; i++)
        words[i] = i <= summed ? (uint64_t)2 << 62 | (i + 1) * each : (uint64_t)1 << 62 | each;
}

/* The place of a block that finds the next sum far in front of it, and one on the way that has said nothing yet. */
static void far_back(void **state)
{
    (void)state;
    enum { blocks = 150, tile = 24 };
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        uint64_t *table, words[blocks], turn = 0;
        open_subject(&subject, COPSE_STRUCTURE_BLINK, width, 0);
        build(&subject, block_leaves);
        const copse_blink_tree tree = repeated(&subject, &table, width, blocks * block_leaves);
        struct lists all = list(&subject, &tree, tile, tree.base_leaves);
        assert_int_equal(lists_check(&all, width), tree.base_leaves);
        for (uint64_t summed = 0; summed < blocks - 1; summed += summed < 3 || summed > 143 ? 1 : 6) {
            turn++;
            say(&tree, words, blocks, summed);
            struct lists last = list_on(&subject, &tree, tile, tree.base_leaves,
                                        (struct past){blocks - 1, summed + turn % (blocks - 1 - summed), words});
            assert_int_equal(last.totals.leaves, tree.base_leaves); /* and the entries are as many */
            for (uint64_t i = (blocks - 1) * block_leaves; i < tree.base_leaves; i++) {
                assert_int_equal(last.order[i], i);
                if (i % tile == 0) assert_int_equal(last.before[i / tile], all.before[i / tile]);
            }
            lists_free(&last);
        }
        lists_free(&all);
        copse_device_free(subject.index->device, subject.index->device->main, table,
                          (tree.base_leaves >> tree.segment_shift) * sizeof *table);
        close_subject(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_chains),  cmocka_unit_test(at_bounds),  cmocka_unit_test(many_chains),
        cmocka_unit_test(long_chain), cmocka_unit_test(other_room), cmocka_unit_test(other_entries),
        cmocka_unit_test(far_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
