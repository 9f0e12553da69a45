/* Several threads read one open file whose blocks nobody has checked. Run under ThreadSanitizer, this finds what they share without
 * care: the states of the blocks, above all. Where a block is damaged, just the calls that meet it say so. */
#include "unit.h"

#include <pthread.h>

#include "snapshot/format.h"
#include "snapshot_file.h"

#define READERS 4
#define ENTRIES 100000
#define QUERIES 500

struct reader {
    const copse_index *index;
    pthread_barrier_t *barrier;
    uint64_t first, step; /* looks up keys of entries first, first + step, ... */
    copse_status status;
    uint64_t wrong;
};

/* The index holds keys 0, 10, 20, ... with values key + 1 (unit_tens). */
static void *read_keys(void *argument)
{
    struct reader *reader = argument;
    uint64_t keys[QUERIES], values[QUERIES];
    uint8_t found[QUERIES];
    copse_cursor *cursor = NULL;
    for (uint64_t i = 0; i < QUERIES; i++) keys[i] = (reader->first + i * reader->step) * 10;
    pthread_barrier_wait(reader->barrier);
    reader->status = copse_find(reader->index, keys, QUERIES, values, found);
    for (uint64_t i = 0; reader->status == COPSE_OK && i < QUERIES; i++)
        reader->wrong += !found[i] || values[i] != keys[i] + 1;
    /* Cursors count references of the handle that the others read through. */
    if (copse_cursor_open(reader->index, NULL, &cursor) != COPSE_OK) reader->wrong++;
    copse_cursor_free(cursor);
    return NULL;
}

/* Runs the readers at the same time; reader r looks up entries first[r], first[r] + step[r], ... */
static void run(const copse_index *index, struct reader *readers, const uint64_t *first, const uint64_t *step)
{
    pthread_t threads[READERS];
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, READERS), 0);
    for (unsigned r = 0; r < READERS; r++) {
        readers[r] = (struct reader){.index = index, .barrier = &barrier, .first = first[r], .step = step[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, read_keys, &readers[r]), 0);
    }
    for (unsigned r = 0; r < READERS; r++) pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&barrier);
}

static void readers_of_one_file(void **state)
{
    static const struct unit_tree tree = {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU};
    const uint64_t everywhere[READERS] = {0, 1, 2, 3}, wide[READERS] = {199, 198, 197, 196};
    /* The first two stay in the first block, which has 8192 keys; the others begin behind it. */
    const uint64_t apart[READERS] = {0, 1, 9000, 20000}, near[READERS] = {10, 10, 10, 100};
    char *folder = folder_make(), path[512];
    copse_ctx *ctx = unit_context(1);
    copse_index *made = unit_tens(ctx, tree, ENTRIES), *opened = NULL;
    struct reader readers[READERS];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/index.copse", folder);
    assert_ok(ctx, copse_save(made, path));
    copse_index_free(made);
    for (int round = 0; round < 5; round++) {
        assert_ok(ctx, copse_open(ctx, path, NULL, &opened));
        run(opened, readers, everywhere, wide);
        for (unsigned r = 0; r < READERS; r++) assert_true(readers[r].status == COPSE_OK && readers[r].wrong == 0);
        copse_index_free(opened);
    }
    struct file_bytes f = file_read(path);
    f.bytes[((const snapshot_header *)f.bytes)->sections[SNAPSHOT_KEYS].offset + 5] ^= 1;
    file_write(path, f.bytes, f.size);
    for (int round = 0; round < 5; round++) {
        assert_ok(ctx, copse_open(ctx, path, NULL, &opened));
        run(opened, readers, apart, near);
        for (unsigned r = 0; r < READERS; r++) {
            assert_int_equal(readers[r].status, r < 2 ? COPSE_ERR_FORMAT : COPSE_OK);
            assert_int_equal(readers[r].wrong, 0);
        }
        copse_index_free(opened);
    }
    free(f.bytes);
    copse_ctx_free(ctx);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_of_one_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
