/* The radix tree: nodes that grow and shrink, keys that are made to hurt it, memory, and what happens where there is none. */
#include "unit.h"

#include "answers.h"
#include "byte_pool.h"
#include "random.h"
#include "test_allocator.h"
#include "trees/radix/gpu/tree.h"

static struct unit_tree radix = {COPSE_STRUCTURE_RADIX, COPSE_PLACEMENT_CPU};

static copse_index *radix_index(copse_ctx *ctx)
{
    return unit_index(ctx, radix, COPSE_BYTES, COPSE_U64, false);
}

/* --- one node -------------------------------------------------------------------------------------------------------- */

/* A node of any type. */
union any_node {
    copse_radix_node head;
    copse_radix_node256 largest;
};

static copse_radix_link link_number(uint32_t byte)
{
    return copse_radix_link_of(COPSE_RADIX_LEAF8, 1, byte + 1);
}

/* The node has exactly the links of the bytes in `has`, in order, both ways. */
static void assert_node(uint32_t type, union any_node *node, const bool *has)
{
    int last = COPSE_RADIX_END;
    for (int byte = 0; byte < 256; byte++) {
        const copse_radix_link *link = copse_radix_child(type, node, (uint32_t)byte);
        assert_int_equal(link != NULL, has[byte]);
        if (!link) continue;
        assert_int_equal(*link, link_number((uint32_t)byte));
        assert_int_equal(copse_radix_next(type, node, last), byte);
        for (int between = last + 1; between <= byte; between++)
            assert_int_equal(copse_radix_previous(type, node, between), last < 0 ? COPSE_RADIX_BEFORE_FIRST : last);
        last = byte;
    }
    assert_int_equal(copse_radix_next(type, node, last), COPSE_RADIX_BEHIND_LAST);
}

static void nodes_find_what_was_put(void **state)
{
    (void)state;
    struct random_source random = {5};
    for (uint32_t type = COPSE_RADIX_NODE2; type <= COPSE_RADIX_NODE256; type++)
        for (int round = 0; round < 40; round++) {
            union any_node node;
            bool has[256] = {false};
            memset(&node, 0, sizeof node);
            for (int step = 0; step < 400; step++) {
                const uint32_t byte = (uint32_t)random_below(&random, round % 2 ? 256 : copse_radix_room(type) + 1);
                if (byte > 255) continue;
                if (has[byte])
                    copse_radix_take(type, &node, byte);
                else if (node.head.count < copse_radix_room(type))
                    copse_radix_put(type, &node, byte, link_number(byte));
                else
                    continue;
                has[byte] = !has[byte];
                if (step % 16 == 0) assert_node(type, &node, has);
            }
            assert_node(type, &node, has);
        }
}

static void nodes_keep_their_links_in_another_type(void **state)
{
    (void)state;
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_NODE256; type++) {
        union any_node small, large, again;
        bool has[256] = {false};
        memset(&small, 0, sizeof small);
        memset(&large, 0, sizeof large);
        memset(&again, 0, sizeof again);
        for (uint32_t i = 0; i < copse_radix_room(type); i++) {
            has[255 - 5 * i] = true;
            copse_radix_put(type, &small, 255 - 5 * i, link_number(255 - 5 * i));
        }
        small.head.end = 77;
        copse_radix_copy(type + 1, &large, type, &small);
        copse_radix_copy(type, &again, type + 1, &large);
        assert_true(large.head.end == 77 && again.head.end == 77);
        small.head.end = large.head.end = 0;
        assert_node(type, &small, has);
        assert_node(type + 1, &large, has);
        again.head.end = 0;
        assert_node(type, &again, has);
    }
}

/* --- a tree ---------------------------------------------------------------------------------------------------------- */

static uint64_t nodes_in_use(const copse_index *index, uint32_t type)
{
    const copse_radix_pool *pool = copse_radix_pool_of(index->tree, type);
    return pool->used - pool->free_count;
}

/* Keys of one byte come and go: the root is of every type in turn, and what it leaves is free for others. */
static void the_root_grows_and_shrinks(void **state)
{
    (void)state;
    static const uint32_t grows[] = {2, 4, 16, 48, 256}, shrinks[] = {0, 1, 3, 12, 40};
    copse_ctx *ctx = unit_context(1);
    copse_index *index = radix_index(ctx);
    const copse_radix *tree = index->tree;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 256; i++) {
            unsigned char byte = (unsigned char)(i * 7);
            int32_t offsets[] = {0, 1};
            const copse_bytes key = COPSE_BYTES_INIT(&byte, 1, offsets, 32);
            assert_ok(ctx, copse_insert(index, &key, NULL, 1, 0, NULL));
            uint32_t type = COPSE_RADIX_NODE2;
            while (grows[type - 1] < i + 1) type++;
            if (i) assert_int_equal(copse_radix_type_of(tree->root), type);
            if (i) assert_int_equal(nodes_in_use(index, type), 1);
        }
        assert_ok(ctx, copse_verify(index));
        uint32_t type = COPSE_RADIX_NODE256;
        for (uint32_t left = 255; left > 0; left--) {
            unsigned char byte = (unsigned char)((255 - left) * 11);
            int32_t offsets[] = {0, 1};
            const copse_bytes key = COPSE_BYTES_INIT(&byte, 1, offsets, 32);
            assert_ok(ctx, copse_erase(index, &key, 1, NULL));
            if (left <= shrinks[type - 1]) type--;
            if (left > 1) assert_int_equal(copse_radix_type_of(tree->root), type);
            assert_ok(ctx, copse_verify(index));
        }
        assert_int_equal(copse_radix_type_of(tree->root), COPSE_RADIX_LEAF8);
        assert_ok(ctx, copse_clear(index));
        assert_int_equal(tree->root, 0);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Strings that were erased leave room for others, of every size. */
static void memory_is_used_again(void **state)
{
    (void)state;
    enum { N = 2000, MOST = 300 };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = radix_index(ctx);
    unsigned char *data = must_malloc(N * MOST);
    int64_t *offsets = must_malloc((N + 1) * sizeof *offsets);
    uint64_t bytes = 0;
    for (int round = 0; round < 12; round++) {
        struct random_source random = {(uint64_t)round % 3};
        offsets[0] = 0;
        for (int i = 0; i < N; i++) {
            const uint64_t n = 4 + (uint64_t)i % (MOST - 4);
            for (uint64_t j = 0; j < n; j++) data[offsets[i] + (int64_t)j] = (unsigned char)random_next(&random);
            offsets[i + 1] = offsets[i] + (int64_t)n;
        }
        const copse_bytes keys = COPSE_BYTES_INIT(data, N * MOST, offsets, 64);
        copse_stats stats = {.struct_size = sizeof stats};
        uint64_t changed = 0;
        assert_ok(ctx, copse_insert(index, &keys, NULL, N, 0, &changed));
        assert_int_equal(changed, N);
        assert_ok(ctx, copse_verify(index));
        assert_ok(ctx, copse_index_stats(index, &stats));
        if (round > 3) assert_true(stats.bytes <= bytes);
        bytes = stats.bytes;
        assert_ok(ctx, copse_erase(index, &keys, N, &changed));
        assert_int_equal(changed, N);
        assert_ok(ctx, copse_verify(index));
    }
    free(data);
    free(offsets);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* --- keys that are made to hurt ---------------------------------------------------------------------------------------- */

/* n keys of one shape. */
struct hard_keys {
    unsigned char *data;
    int64_t *offsets;
    uint64_t n;
    copse_bytes bytes;
};

static struct hard_keys hard_room(uint64_t n, uint64_t size)
{
    struct hard_keys keys = {must_malloc(size + 1), must_malloc((n + 1) * sizeof(int64_t)), n, {0}};
    memset(keys.data, 0, size + 1);
    keys.offsets[0] = 0;
    const copse_bytes bytes = COPSE_BYTES_INIT(keys.data, size, keys.offsets, 64);
    keys.bytes = bytes;
    return keys;
}

/* Keys that are all equal but for the last byte. */
static struct hard_keys last_byte_differs(int64_t length)
{
    struct hard_keys keys = hard_room(256, UINT64_C(256) * (uint64_t)length);
    for (int i = 0; i < 256; i++) {
        keys.offsets[i + 1] = keys.offsets[i] + length;
        keys.data[keys.offsets[i + 1] - 1] = (unsigned char)i;
    }
    return keys;
}

/* Keys that differ in one byte of a row of zeros: which byte, and what it is. All are 255 * length + 1. */
static struct hard_keys one_byte_differs(uint64_t n, int64_t length)
{
    struct hard_keys keys = hard_room(n, n * (uint64_t)length);
    for (uint64_t i = 0; i < n; i++) {
        const int64_t byte = (int64_t)i % length;
        keys.offsets[i + 1] = keys.offsets[i] + length;
        if (i < n - 1) keys.data[keys.offsets[i] + byte] = (unsigned char)(1 + i / (uint64_t)length);
    }
    return keys;
}

/* Every prefix of a long string, of zeros: a tree as deep as there are keys. */
static struct hard_keys every_prefix(uint64_t longest)
{
    struct hard_keys keys = hard_room(longest + 1, longest * (longest + 1) / 2);
    for (uint64_t i = 0; i <= longest; i++) keys.offsets[i + 1] = keys.offsets[i] + (int64_t)i;
    return keys;
}

/* One more key: so many times `byte`, and then the bytes of `end`. */
static void hard_add(struct hard_keys *keys, uint64_t times, int byte, const void *end, size_t n)
{
    const int64_t at = keys->offsets[keys->n];
    memset(keys->data + at, byte, times);
    memcpy(keys->data + at + times, end, n);
    keys->offsets[++keys->n] = at + (int64_t)(times + n);
}

/* All strings of 0x00 and 0xff with up to nine bytes, the shortest first. */
static struct hard_keys two_letters(void)
{
    enum { LONGEST = 9 };
    struct hard_keys keys = hard_room(1 << (LONGEST + 1), LONGEST << (LONGEST + 1));
    unsigned char bytes[LONGEST] = {0};
    keys.n = 0;
    for (unsigned n = 0; n <= LONGEST; n++)
        for (unsigned number = 0; number < 1u << n; number++) {
            for (unsigned i = 0; i < n; i++) bytes[i] = number >> i & 1 ? 0xff : 0;
            hard_add(&keys, 0, 0, bytes, n);
        }
    return keys;
}

/* A node of a single other link in each byte of the longest key that kernels take, and keys that end there. */
static struct hard_keys comb(void)
{
    enum { DEEP = 255 };
    struct hard_keys keys = hard_room(2 * DEEP, 2 * DEEP * (DEEP + 1));
    keys.n = 0;
    for (uint64_t i = 0; i < DEEP; i++) {
        hard_add(&keys, i, 0xff, "", 1);
        hard_add(&keys, i, 0xff, "", 0);
    }
    return keys;
}

/* Two keys of each length at which leaves are of another type, or the host's. */
static struct hard_keys borders_of_lengths(void)
{
    static const uint64_t lengths[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 41, 255, 256};
    struct hard_keys keys = hard_room(2 * COUNT_OF(lengths) + 1, 3000);
    keys.n = 0;
    hard_add(&keys, 0, 0, "", 0);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        hard_add(&keys, lengths[i] - 1, 'p', "\xff", 1);
        hard_add(&keys, lengths[i] - 1, 'p', "", 1);
    }
    return keys;
}

/* Nodes with a link more and one less than each type has room for, behind beginnings of some length, with and without a key that ends
 * there. All grow together, and lose their links in the same order. */
static struct hard_keys fan_outs(void)
{
    static const unsigned counts[] = {1, 2, 3, 4, 5, 12, 13, 15, 16, 17, 40, 41, 47, 48, 49, 255, 256};
    struct hard_keys keys = hard_room(256 * COUNT_OF(counts), 256 * COUNT_OF(counts) * 70);
    keys.n = 0;
    for (unsigned i = 0; i <= 256; i++)
        for (unsigned group = 0; group < COUNT_OF(counts); group++) {
            const unsigned char next = (unsigned char)(i == 0 ? 0 : i == 1 ? 255 : i - 1);
            unsigned char bytes[64] = {(unsigned char)group, next, 0xff, 0};
            memset(bytes + 1, 0xff, group % 5 * 7);
            bytes[1 + group % 5 * 7] = next;
            if (i < counts[group]) hard_add(&keys, 0, 0, bytes, 2 + group % 5 * 7 + i % 4 * 8);
            if (i == 3 && group & 1) hard_add(&keys, 0, 0, bytes, 1 + group % 5 * 7); /* ends at the node */
        }
    return keys;
}

static void hard_free(struct hard_keys *keys)
{
    free(keys->data);
    free(keys->offsets);
}

/* All entries come in order, forward, backward and in small steps from the middle. */
static void assert_hard_order(copse_ctx *ctx, const copse_index *index, const struct hard_keys *keys)
{
    uint64_t *values = typed_new(COPSE_U64, keys->n), offsets[2], n;
    uint8_t *found = must_malloc(keys->n);
    assert_ok(ctx, copse_find(index, &keys->bytes, keys->n, values, found));
    for (uint64_t i = 0; i < keys->n; i++) assert_true(found[i] && values[i] == i);
    for (uint32_t flags = 0; flags <= COPSE_RANGE_DESCENDING; flags += COPSE_RANGE_DESCENDING) {
        copse_ranges all = COPSE_BETWEEN(NULL, NULL, 1);
        copse_rows rows = COPSE_ROWS_INIT;
        all.flags = flags;
        rows.offsets = offsets;
        rows.values = values;
        rows.capacity = keys->n;
        assert_ok(ctx, copse_range(index, &all, &rows));
        assert_int_equal(offsets[1], keys->n);
        copse_cursor *cursor = NULL;
        assert_ok(ctx, copse_cursor_open(index, &all, &cursor));
        for (uint64_t i = 0; i < keys->n; i += n) {
            uint64_t some[1000];
            assert_ok(ctx, copse_cursor_next(cursor, NULL, some, 1000, &n));
            assert_true(n > 0);
            for (uint64_t j = 0; j < n; j++) assert_int_equal(some[j], values[i + j]);
        }
        copse_cursor_free(cursor);
        for (uint64_t i = 1; i < keys->n && !flags; i++) assert_true(i > 300 || values[i] != values[i - 1]);
    }
    free(values);
    free(found);
}

/* What the sorted array answers about some of the keys, and about strings that are like them. */
static void assert_like_sorted(copse_ctx *ctx, const copse_index *index, const struct hard_keys *keys)
{
    const struct unit_tree tree = {COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU};
    const uint64_t n = keys->n / 2 < 200 ? keys->n / 2 : 200;
    copse_index *sorted = unit_index(ctx, tree, COPSE_BYTES, COPSE_U64, false);
    int64_t *moved = must_malloc((keys->n + 1) * sizeof *moved);
    for (uint64_t i = 0; i <= keys->n; i++) moved[i] = keys->offsets[i] + 1;
    assert_ok(ctx, copse_build(sorted, &keys->bytes, NULL, keys->n));
    copse_bytes here = keys->bytes, others = here;
    others.offsets = moved;
    others.size++; /* hard_room has one more */
    for (int turn = 0; turn < 3; turn++) {
        copse_bytes lows = turn == 1 ? others : here, highs = turn == 2 ? others : here;
        highs.offsets = (int64_t *)highs.offsets + n;
        struct answers want = answers_ask(sorted, &lows, &highs, n), got = answers_ask(index, &lows, &highs, n);
        const char *wrong = answers_failed(&got, COPSE_ERR_UNSUPPORTED);
        if (!wrong) wrong = answers_differ(&want, &got);
        if (wrong) fail_msg("%s: %s", wrong, copse_last_error(ctx));
        answers_free(&want);
        answers_free(&got);
    }
    free(moved);
    copse_index_free(sorted);
}

/* Kernels have just changed a tree on a device: its host does not have that yet. */
static void assert_by_kernels(copse_ctx *ctx, const copse_index *index)
{
    assert_true(copse_radix_device_of(index)->is_ahead);
    assert_ok(ctx, copse_verify(index));
}

/* Built, grown by inserts in calls of `step`, and emptied again so, all as quickly as the bytes of the keys allow. */
static void hard_life(struct hard_keys keys, uint64_t step, double most_bytes_per_key)
{
    copse_ctx *ctx = unit_context(1);
    copse_index *built = radix_index(ctx), *grown = radix_index(ctx);
    copse_stats stats = {.struct_size = sizeof stats};
    uint64_t erased = 0;
    assert_ok(ctx, copse_build(built, &keys.bytes, NULL, keys.n));
    assert_int_equal(copse_size(built), keys.n);
    assert_ok(ctx, copse_verify(built));
    assert_hard_order(ctx, built, &keys);
    assert_ok(ctx, copse_index_stats(built, &stats));
    const bool on_device = radix.placement == COPSE_PLACEMENT_EMULATED;
    const double own = (double)keys.offsets[keys.n] + 8.0 * (double)keys.n;
    assert_true(((double)stats.bytes - own) / (double)keys.n < most_bytes_per_key);
    for (uint64_t i = 0; i < keys.n; i += step) {
        const uint64_t n = keys.n - i < step ? keys.n - i : step;
        uint64_t *values = typed_new(COPSE_U64, n);
        for (uint64_t j = 0; j < n; j++) values[j] = i + j;
        copse_bytes some = keys.bytes;
        some.offsets = keys.offsets + i;
        assert_ok(ctx, copse_insert(grown, &some, values, n, 0, NULL));
        free(values);
        if (on_device) assert_by_kernels(ctx, grown);
    }
    assert_ok(ctx, copse_verify(grown));
    assert_hard_order(ctx, grown, &keys);
    assert_like_sorted(ctx, grown, &keys);
    for (uint64_t i = 0; i < keys.n; i += step) {
        const uint64_t n = keys.n - i < step ? keys.n - i : step;
        copse_bytes some = keys.bytes;
        some.offsets = keys.offsets + i;
        assert_ok(ctx, copse_erase(grown, &some, n, &erased));
        assert_int_equal(erased, n);
        if (on_device) assert_by_kernels(ctx, grown);
    }
    assert_int_equal(copse_size(grown), 0);
    assert_ok(ctx, copse_verify(grown));
    copse_index_free(built);
    copse_index_free(grown);
    copse_ctx_free(ctx);
    hard_free(&keys);
}

static void keys_that_differ_at_the_end(void **state)
{
    (void)state;
    hard_life(last_byte_differs(COPSE_LONGEST_KEY), 7,
              10000); /* a block of the heap may have an eighth more than it needs, and chunks end */
}

static void keys_that_differ_in_one_byte(void **state)
{
    (void)state;
    hard_life(one_byte_differs(65536, 258), 5000, 64);
}

static void every_prefix_of_a_string(void **state)
{
    (void)state;
    hard_life(every_prefix(3000), 17, 600);
}

/* As deep as a tree can be: the longest string, and every sixteenth of its prefixes. What needs a way back up goes down again. */
static void as_deep_as_can_be(void **state)
{
    (void)state;
    enum { STEP = 16 };
    const uint64_t n = COPSE_LONGEST_KEY / STEP + 1;
    struct hard_keys keys = hard_room(n, n * (n + 1) / 2 * STEP);
    for (uint64_t i = 0; i < n; i++) keys.offsets[i + 1] = keys.offsets[i] + (int64_t)(i * STEP);
    hard_life(keys, 1024, 9000);
}

/* Keys as long as kernels take them at most, on the CPU and by kernels. What is there counts twice on a device, for the host has a copy, and with
 * the room that a pool leaves. */
static void hard_keys_for_kernels(void **state)
{
    (void)state;
    for (int device = 0; device < 2; device++) {
        struct hard_keys some[] = {
            last_byte_differs(256), one_byte_differs(2000, 256), every_prefix(256), two_letters(), comb(), fan_outs(),
            borders_of_lengths()};
        if (device) radix.placement = COPSE_PLACEMENT_EMULATED;
        for (size_t i = 0; i < COUNT_OF(some); i++) {
            const double each = (double)some[i].offsets[some[i].n] / (double)some[i].n;
            hard_life(some[i], some[i].n / 40 + 1, 2 * each + 1000);
        }
    }
    radix.placement = COPSE_PLACEMENT_CPU;
}

/* --- no memory -------------------------------------------------------------------------------------------------------- */

static void assert_same(copse_ctx *ctx, const copse_index *index, const struct hard_keys *keys, uint64_t n)
{
    uint64_t *values = typed_new(COPSE_U64, keys->n);
    uint8_t *found = must_malloc(keys->n);
    assert_ok(ctx, copse_verify(index));
    assert_int_equal(copse_size(index), n);
    assert_ok(ctx, copse_find(index, &keys->bytes, keys->n, values, found));
    for (uint64_t i = 0; i < keys->n; i++) assert_true(i < n ? found[i] && values[i] == i : !found[i]);
    free(values);
    free(found);
}

/* Some keys are there; the batch has others, which need nodes and leaves of every type. Each request for memory fails in turn. */
static void without_memory_a_batch_leaves_no_trace(void **state)
{
    (void)state;
    enum { N = 700, HALF = 200 };
    struct test_allocator allocator;
    struct random_source random = {11};
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    test_allocator_init(&allocator);
    options.allocator = test_allocator_hooks(&allocator);
    options.threads = 1;
    assert_ok(NULL, copse_ctx_create(&options, &ctx));
    struct hard_keys keys = hard_room(N, (uint64_t)N * 100);
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t n = 2 + random_below(&random, 90);
        unsigned char *at = keys.data + keys.offsets[i];
        at[0] = (unsigned char)(i % 5);
        at[1] = (unsigned char)(i / 5);
        for (uint64_t j = 2; j < n; j++) at[j] = (unsigned char)random_next(&random);
        keys.offsets[i + 1] = keys.offsets[i] + (int64_t)n;
    }
    for (int once = 0; once < 2; once++) {
        copse_index *index = radix_index(ctx);
        assert_ok(ctx, copse_build(index, &keys.bytes, NULL, HALF));
        copse_bytes rest = keys.bytes;
        uint64_t values[N], failed = 0;
        for (uint64_t i = 0; i < N; i++) values[i] = HALF + i;
        rest.offsets = keys.offsets + HALF;
        for (;; failed++) {
            test_allocator_fail_after(&allocator, (long long)failed, once);
            copse_status status = copse_insert(index, &rest, values, N - HALF, 0, NULL);
            test_allocator_never_fail(&allocator);
            if (status == COPSE_OK) break;
            assert_int_equal(status, COPSE_ERR_MEMORY);
            assert_same(ctx, index, &keys, HALF);
        }
        assert_true(failed >= 8);
        assert_same(ctx, index, &keys, N);
        test_allocator_fail_after(&allocator, 4,
                                  false); /* what erasing needs for itself; smaller nodes it does without */
        copse_status status = copse_erase(index, &rest, N - HALF, NULL);
        test_allocator_never_fail(&allocator);
        assert_int_equal(status, COPSE_OK);
        assert_same(ctx, index, &keys, HALF);
        copse_index_free(index);
    }
    hard_free(&keys);
    copse_ctx_free(ctx);
    assert_true(test_allocator_is_clean(&allocator));
}

/* --- memory for each key --------------------------------------------------------------------------------------------- */

/* What an index has beyond its keys and values, for each entry. */
static void memory_per_key(void **state)
{
    (void)state;
    enum { N = 1 << 17 };
    copse_ctx *ctx = unit_context(2);
    copse_index *index = radix_index(ctx);
    copse_stats stats = {.struct_size = sizeof stats};
    struct random_source random = {3};
    struct hard_keys keys = hard_room(N, (uint64_t)N * 32);
    for (uint64_t i = 0; i < N; i++) {
        for (int j = 0; j < 32; j++) keys.data[32 * i + (uint64_t)j] = (unsigned char)random_next(&random);
        keys.offsets[i + 1] = 32 * (int64_t)(i + 1);
    }
    assert_ok(ctx, copse_build(index, &keys.bytes, NULL, N));
    assert_ok(ctx, copse_index_stats(index, &stats));
    assert_true((double)stats.bytes / N < 40 + 24);
    assert_true(stats.height >= 3 && stats.height <= 6);
    assert_same(ctx, index, &keys, N); /* in chunks, on two threads */
    hard_free(&keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* A tree that was just built has room: the keys that come next, one by one, wait for no memory, whatever the type of their leaves. */
static void a_built_tree_has_room(void **state)
{
    (void)state;
    enum { N = 1 << 18, MORE = N / 200 };
    static const uint64_t lengths[] = {8, 16, 32, 250};
    copse_ctx *ctx = unit_context(2);
    for (size_t l = 0; l < COUNT_OF(lengths); l++) {
        const uint64_t length = lengths[l];
        copse_index *index = radix_index(ctx);
        struct hard_keys keys = hard_room(N + MORE, (N + MORE) * length);
        struct random_source random = {length};
        for (uint64_t i = 0; i < keys.n; i++) {
            const uint64_t number = random_next(&random);
            memcpy(keys.data + i * length, &number, sizeof number);
            keys.offsets[i + 1] = (int64_t)((i + 1) * length);
        }
        assert_ok(ctx, copse_build(index, &keys.bytes, NULL, N));
        copse_bytes one = keys.bytes;
        for (uint64_t i = N; i < keys.n; i++) {
            one.offsets = keys.offsets + i;
            assert_ok(ctx, copse_insert(index, &one, &i, 1, 0, NULL));
        }
        assert_int_equal(copse_radix_pool_of(index->tree, copse_radix_leaf_type(length))->block_count, 1);
        assert_same(ctx, index, &keys, keys.n);
        hard_free(&keys);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* Counts of ranges and prefixes: as the sorted array has them, where leaves are an interval of each pool, and after a change, where they are not. */
static void counts_of_leaves_in_order(void **state)
{
    (void)state;
    enum { STRINGS = 900, RANGES = 600 };
    static const unsigned char letters[] = {0x00, 0x01, 'a', 0xff};
    copse_ctx *ctx = unit_context(2);
    copse_index *index = radix_index(ctx),
                *sorted = unit_index(ctx, (struct unit_tree){COPSE_STRUCTURE_SORTED, COPSE_PLACEMENT_CPU}, COPSE_BYTES,
                                     COPSE_U64, false);
    struct random_source random = {9};
    struct byte_pool pool = {NULL, 0};
    unsigned char bytes[40];
    while (pool.n < STRINGS) { /* of all types of leaves but the long ones, many the beginning of others */
        const size_t n = random_below(&random, 33), same = random_below(&random, n + 1);
        memset(bytes, 0, sizeof bytes);
        for (size_t i = same; i < n; i++) bytes[i] = letters[random_below(&random, sizeof letters)];
        byte_pool_add(&pool, bytes, n);
    }
    byte_pool_sort(&pool);
    uint64_t codes[RANGES], others[RANGES], want[RANGES], got[RANGES];
    for (int round = 0; round < 12; round++) {
        for (uint64_t i = 0; i < RANGES; i++) {
            codes[i] = random_below(&random, pool.n);
            others[i] = random_below(&random, pool.n);
        }
        struct byte_array lows = byte_array_of(&pool, codes, RANGES, 64, 0, 0),
                          highs = byte_array_of(&pool, others, RANGES, 64, 0, 0);
        if (round % 4 == 0) {
            assert_ok(ctx, copse_build(index, &highs.bytes, NULL, RANGES / 2));
            assert_ok(ctx, copse_build(sorted, &highs.bytes, NULL, RANGES / 2));
        } else if (round % 4 == 3) {
            assert_ok(ctx, copse_erase(index, &lows.bytes, RANGES / 2, NULL));
            assert_ok(ctx, copse_erase(sorted, &lows.bytes, RANGES / 2, NULL));
        }
        assert_int_equal(((const copse_radix *)index->tree)->ordered, round % 4 != 3);
        for (uint32_t flags = 0; flags < 5; flags++) {
            copse_ranges ranges = COPSE_BETWEEN(&lows.bytes, flags == 4 ? NULL : &highs.bytes, RANGES);
            ranges.flags = flags == 4
                               ? COPSE_RANGE_PREFIX
                               : (flags & 1 ? COPSE_RANGE_LOW_OPEN : 0) | (flags & 2 ? COPSE_RANGE_HIGH_OPEN : 0);
            assert_ok(ctx, copse_count(sorted, &ranges, want));
            assert_ok(ctx, copse_count(index, &ranges, got));
            assert_memory_equal(got, want, sizeof want);
        }
        byte_array_free(&lows);
        byte_array_free(&highs);
    }
    byte_pool_free(&pool);
    copse_index_free(sorted);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_find_what_was_put),
        cmocka_unit_test(nodes_keep_their_links_in_another_type),
        cmocka_unit_test(the_root_grows_and_shrinks),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(keys_that_differ_at_the_end),
        cmocka_unit_test(keys_that_differ_in_one_byte),
        cmocka_unit_test(every_prefix_of_a_string),
        cmocka_unit_test(as_deep_as_can_be),
        cmocka_unit_test(hard_keys_for_kernels),
        cmocka_unit_test(without_memory_a_batch_leaves_no_trace),
        cmocka_unit_test(memory_per_key),
        cmocka_unit_test(a_built_tree_has_room),
        cmocka_unit_test(counts_of_leaves_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
