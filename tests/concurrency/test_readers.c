/* Reads may run at the same time from several threads, and different indexes are independent. Run under
 * ThreadSanitizer, this finds what readers share without a lock: the aggregates that the first sum makes, above all. */
#include "unit.h"
#include "support/ranges.h"

#include <pthread.h>
#include <stdatomic.h>

#define READERS 4
#define ENTRIES 30000
#define ROUNDS  6
#define QUERIES 600

struct reader {
    const copse_index *index;
    pthread_barrier_t *barrier;
    bool ranked;    /* the tree has ranks */
    unsigned first; /* the kind of query that this reader starts with */
    const char *wrong;
};

/* The index holds keys 0, 10, 20, ... with values key + 1 (unit_tens), so that every answer can be computed. */
static uint64_t entries_in(uint64_t low, uint64_t high)
{
    uint64_t first = (low + 9) / 10, last = high / 10 + 1;
    if (last > ENTRIES) last = ENTRIES;
    return last > first ? last - first : 0;
}

static uint64_t sum_in(uint64_t low, uint64_t high)
{
    uint64_t sum = 0, count = entries_in(low, high);
    for (uint64_t i = 0; i < count; i++) sum += ((low + 9) / 10 + i) * 10 + 1;
    return sum;
}

static const char *check_points(const copse_index *index, const uint64_t *keys, bool ranked)
{
    uint64_t values[QUERIES], ranks[QUERIES] = {0}, next[QUERIES];
    uint8_t found[QUERIES], has_next[QUERIES];
    if (copse_find(index, keys, QUERIES, values, found) != COPSE_OK) return "find failed";
    if (copse_lower_bound(index, keys, QUERIES, next, NULL, NULL, ranked ? ranks : NULL) != COPSE_OK)
        return "lower_bound failed";
    for (int i = 0; i < QUERIES; i++)
        if (keys[i] < (ENTRIES - 1) * 10 && next[i] != (keys[i] + 9) / 10 * 10) return "lower_bound is wrong";
    if (copse_successor(index, keys, QUERIES, next, NULL, has_next) != COPSE_OK) return "successor failed";
    for (int i = 0; i < QUERIES; i++) {
        bool there = keys[i] % 10 == 0 && keys[i] / 10 < ENTRIES;
        if (found[i] != there || values[i] != (there ? keys[i] + 1 : 0)) return "find is wrong";
        uint64_t rank = (keys[i] + 9) / 10;
        if (ranked && ranks[i] != (rank < ENTRIES ? rank : ENTRIES)) return "a rank is wrong";
        if (has_next[i] && next[i] != keys[i] / 10 * 10 + 10) return "successor is wrong";
    }
    return NULL;
}

static const char *check_sums(const copse_index *index, const uint64_t *lows, const uint64_t *highs)
{
    uint64_t sums[QUERIES], counts[QUERIES], least[QUERIES], most[QUERIES];
    copse_int128 wide[QUERIES];
    uint8_t found[QUERIES];
    if (copse_sum(index, BETWEEN(lows, highs, QUERIES), sums) != COPSE_OK) return "sum failed";
    if (copse_sum128(index, BETWEEN(lows, highs, QUERIES), wide) != COPSE_OK) return "sum128 failed";
    if (copse_count(index, BETWEEN(lows, highs, QUERIES), counts) != COPSE_OK) return "count failed";
    if (copse_min(index, BETWEEN(lows, highs, QUERIES), least, found) != COPSE_OK) return "min failed";
    if (copse_max(index, BETWEEN(lows, highs, QUERIES), most, found) != COPSE_OK) return "max failed";
    for (int i = 0; i < QUERIES; i++) {
        uint64_t count = entries_in(lows[i], highs[i]), first = (lows[i] + 9) / 10;
        if (counts[i] != count || found[i] != (count > 0)) return "count is wrong";
        if (sums[i] != wide[i].low) return "sum and sum128 differ";
        if (i % 16 == 0 && sums[i] != sum_in(lows[i], highs[i])) return "sum is wrong";
        if (count && (least[i] != first * 10 + 1 || most[i] != (first + count - 1) * 10 + 1))
            return "min or max is wrong";
    }
    return NULL;
}

static const char *check_ranges(const copse_index *index, const uint64_t *lows, const uint64_t *highs)
{
    uint64_t offsets[QUERIES + 1];
    static const uint64_t limit = 5;
    uint64_t rows[QUERIES * 5];
    double means[QUERIES];
    if (copse_range(index, AT_MOST(limit, lows, highs, QUERIES), ROWS(offsets, rows, NULL, COUNT_OF(rows))) != COPSE_OK)
        return "range failed";
    if (copse_avg(index, BETWEEN(lows, highs, QUERIES), means) != COPSE_OK) return "avg failed";
    for (int i = 0; i < QUERIES; i++) {
        uint64_t count = entries_in(lows[i], highs[i]);
        if (offsets[i + 1] - offsets[i] != (count < limit ? count : limit)) return "range has the wrong length";
        if (count && rows[offsets[i]] != (lows[i] + 9) / 10 * 10) return "range has a wrong key";
    }
    return NULL;
}

static int add_entries(void *user, const void *keys, const void *values, uint64_t n)
{
    (void)keys;
    (void)values;
    *(uint64_t *)user += n;
    return 0;
}

static const char *check_passes(const copse_index *index)
{
    uint64_t visited = 0, got = 0;
    static const uint64_t middle = 150000;
    uint64_t key = 0;
    copse_cursor *cursor = NULL;
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_visit(index, add_entries, &visited) != COPSE_OK || visited != ENTRIES) return "visit is wrong";
    if (copse_verify(index) != COPSE_OK) return "verify failed";
    if (copse_index_stats(index, &stats) != COPSE_OK || stats.entries != ENTRIES) return "stats are wrong";
    if (copse_cursor_open(index, NULL, &cursor) != COPSE_OK || copse_cursor_seek(cursor, &middle) != COPSE_OK ||
        copse_cursor_next(cursor, &key, NULL, 1, &got) != COPSE_OK || got != 1 || key != middle)
        return "the cursor is wrong";
    copse_cursor_free(cursor);
    return NULL;
}

static void *read_all(void *user)
{
    struct reader *reader = user;
    uint64_t lows[QUERIES], highs[QUERIES];
    (void)pthread_barrier_wait(reader->barrier);
    for (unsigned round = 0; round < ROUNDS && !reader->wrong; round++) {
        for (uint64_t i = 0; i < QUERIES; i++) {
            lows[i] = (i * 7919 + round * 31 + reader->first) % (ENTRIES * 10);
            highs[i] = lows[i] + (i * i * 13) % 90000;
        }
        switch ((reader->first + round) % 4) {
        case 0:
            reader->wrong = check_sums(reader->index, lows, highs);
            break;
        case 1:
            reader->wrong = check_points(reader->index, lows, reader->ranked);
            break;
        case 2:
            reader->wrong = check_ranges(reader->index, lows, highs);
            break;
        default:
            reader->wrong = check_passes(reader->index);
            break;
        }
    }
    return NULL;
}

/* first_step 0: all readers begin with the sums, whose lazy part they then make at the same time. */
static void read_together(struct unit_tree tree, uint32_t threads, unsigned first_step)
{
    copse_ctx *ctx = unit_context(threads);
    copse_index *index = unit_tens(ctx, tree, ENTRIES);
    struct reader readers[READERS];
    pthread_t ids[READERS];
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, READERS), 0);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){index, &barrier, unit_can(tree, COPSE_CAN_RANK), i * first_step, NULL};
        assert_int_equal(pthread_create(&ids[i], NULL, read_all, &readers[i]), 0);
    }
    for (unsigned i = 0; i < READERS; i++) assert_int_equal(pthread_join(ids[i], NULL), 0);
    for (unsigned i = 0; i < READERS; i++)
        if (readers[i].wrong) fail_msg("reader %u: %s", i, readers[i].wrong);
    (void)pthread_barrier_destroy(&barrier);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void readers_share_an_index(void **state)
{
    (void)state;
    FOR_EACH_TREE(tree)
    for (uint32_t threads = 1; threads <= 2; threads++) {
        read_together(*tree, threads, 0);
        read_together(*tree, threads, 1);
    }
}

struct writer {
    copse_ctx *ctx;
    struct unit_tree tree;
    const char *wrong;
};

/* Grows and shrinks an index of its own, failing now and then: the sentences must not mix either. */
static void *update_own_index(void *user)
{
    struct writer *writer = user;
    enum { n = 3000 };
    uint64_t keys[n], change = 0;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.structure = writer->tree.structure;
    options.placement = writer->tree.placement;
    if (copse_index_create(writer->ctx, &options, &index) != COPSE_OK) writer->wrong = "index_create failed";
    for (uint64_t round = 0; round < 10 && !writer->wrong; round++) {
        for (uint64_t i = 0; i < n; i++) keys[i] = (i * 7919 + round * 1000) % 50000;
        if (copse_insert(index, keys, NULL, n, 0, NULL) != COPSE_OK) writer->wrong = "insert failed";
        if (copse_insert(index, NULL, NULL, n, 0, NULL) != COPSE_ERR_ARGUMENT) writer->wrong = "NULL keys were taken";
        if (!strstr(copse_last_error(writer->ctx), "keys")) writer->wrong = "the sentence is another thread's";
        if (copse_erase(index, keys, n / 2, &change) != COPSE_OK || change == 0) writer->wrong = "erase is wrong";
        if (copse_verify(index) != COPSE_OK) writer->wrong = "verify failed";
    }
    copse_index_free(index);
    return NULL;
}

static void indexes_of_one_context_are_independent(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(2);
    const struct unit_tree read_tree = {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU};
    copse_index *index = unit_tens(ctx, read_tree, ENTRIES);
    struct writer writers[2 * TREES_MOST];
    pthread_t ids[2 * TREES_MOST], reads;
    unsigned n = 0;
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 1), 0);
    struct reader reader = {index, &barrier, true, 0, NULL};
    FOR_EACH_TREE(tree)
    {
        writers[n] = (struct writer){ctx, *tree, NULL};
        assert_int_equal(pthread_create(&ids[n], NULL, update_own_index, &writers[n]), 0);
        n++;
    }
    assert_int_equal(pthread_create(&reads, NULL, read_all, &reader), 0);
    for (unsigned i = 0; i < n; i++) assert_int_equal(pthread_join(ids[i], NULL), 0);
    assert_int_equal(pthread_join(reads, NULL), 0);
    for (unsigned i = 0; i < n; i++)
        if (writers[i].wrong) fail_msg("writer %u: %s", i, writers[i].wrong);
    if (reader.wrong) fail_msg("the reader: %s", reader.wrong);
    (void)pthread_barrier_destroy(&barrier);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_share_an_index),
        cmocka_unit_test(indexes_of_one_context_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
