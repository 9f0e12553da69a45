/* Damaged files that are open: whatever byte is wrong, a call names the damage, or gives the right answer because the damage is not
 * on its way. With checksums that somebody made right again the answers are those of the file as it is now, or the damage is named. */
#include "unit.h"

#include "answers.h"
#include "byte_pool.h"
#include "random.h"
#include "snapshot/format.h"
#include "snapshot_file.h"

#include <fcntl.h>
#include <unistd.h>

#define QUESTIONS 24

static struct fixture {
    copse_ctx *ctx;
    char *folder;
    char path[512];
    copse_type key;
    copse_structure tree; /* that byte strings are saved from and loaded into */
    struct file_bytes sound;
    struct answers truth; /* of the sound file */
    void *lows, *highs;
    struct byte_array low_strings, high_strings; /* the questions to byte strings */
    uint64_t named, answered; /* damaged files of which a call said so; of which all answers were right */
} t;

static int setup(void **state)
{
    (void)state;
    t = (struct fixture){.ctx = unit_context(1), .tree = COPSE_STRUCTURE_SORTED, .folder = folder_make()};
    (void)snprintf(t.path, sizeof t.path, "%s/damaged.copse", t.folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(t.folder);
    copse_ctx_free(t.ctx);
    return 0;
}

/* Questions that fit the keys of an index, whose type may be forged where it is empty. */
static struct answers ask(const copse_index *index)
{
    copse_stats stats = {.struct_size = sizeof stats};
    assert_ok(t.ctx, copse_index_stats(index, &stats));
    if (stats.key_type == COPSE_BYTES)
        return answers_ask(index, &t.low_strings.bytes, &t.high_strings.bytes, QUESTIONS);
    return answers_ask(index, t.lows, t.highs, QUESTIONS);
}

/* String i of a file: some are empty, or begin alike for longer than a fence is, or are long. */
static void pool_add(struct byte_pool *pool, uint64_t i, bool small)
{
    static unsigned char bytes[COPSE_LONGEST_KEY];
    const bool longest = i % 5000 == 4999;
    const size_t length = longest ? sizeof bytes : i == 0 ? 0 : i % 7 == 0 ? 3 : small ? 9 : 20;
    memset(bytes, 'k', length);
    for (size_t at = length, rest = i; at > 0 && rest; rest /= 200) bytes[--at] = (unsigned char)(rest % 200 + 20);
    byte_pool_add(pool, bytes, length);
}

static void questions_make(const struct byte_pool *pool)
{
    struct random_source random = {pool->n};
    uint64_t lows[QUESTIONS], highs[QUESTIONS];
    for (uint64_t i = 0; i < QUESTIONS; i++) {
        lows[i] = random_below(&random, pool->n);
        highs[i] = lows[i] + random_below(&random, 200);
        if (highs[i] >= pool->n) highs[i] = pool->n - 1;
    }
    t.low_strings = byte_array_of(pool, lows, QUESTIONS, 64, 0, 0);
    t.high_strings = byte_array_of(pool, highs, QUESTIONS, 64, 0, 0);
}

/* A sound file of byte strings at t.path: every second one of the pool (with duplicates each of them twice). */
static void strings_make(copse_type value, bool duplicates, uint64_t n)
{
    const struct unit_tree tree = {t.tree, COPSE_PLACEMENT_CPU};
    copse_index *index = unit_index(t.ctx, tree, COPSE_BYTES, value, duplicates);
    struct byte_pool pool = {NULL, 0};
    uint64_t *codes = must_malloc((n + 1) * sizeof *codes), kept = 0;
    for (uint64_t i = 0; i < 2 * n + 2; i++) pool_add(&pool, i, n < 100);
    byte_pool_sort(&pool);
    for (uint64_t i = 0; kept < n && i < pool.n; i += 2) {
        codes[kept++] = i;
        if (duplicates && kept < n) codes[kept++] = i;
    }
    struct byte_array keys = byte_array_of(&pool, codes, kept, 64, 0, 0);
    assert_ok(t.ctx, copse_build(index, &keys.bytes, NULL, kept));
    assert_ok(t.ctx, copse_save(index, t.path));
    questions_make(&pool);
    t.key = COPSE_BYTES;
    t.lows = typed_new(COPSE_U64, QUESTIONS);
    t.highs = typed_new(COPSE_U64, QUESTIONS);
    t.truth = ask(index);
    t.sound = file_read(t.path);
    byte_array_free(&keys);
    byte_pool_free(&pool);
    free(codes);
    copse_index_free(index);
}

/* A sound file at t.path, with questions and their answers. Keys 10, 12, 14, ... (with duplicates each of them twice). */
static void file_make(copse_type key, copse_type value, bool duplicates, uint64_t n)
{
    const struct unit_tree tree = {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU};
    if (key == COPSE_BYTES) {
        strings_make(value, duplicates, n);
        return;
    }
    copse_index *index = unit_index(t.ctx, tree, key, value, duplicates);
    struct byte_pool pool = {NULL, 0};
    pool_add(&pool, 0, true);
    questions_make(&pool);
    byte_pool_free(&pool);
    void *keys = typed_new(key, n + 1);
    struct random_source random = {n};
    for (uint64_t i = 0; i < n; i++)
        typed_set_bits(key, keys, i, typed_position_bits(key, 10 + (duplicates ? i / 2 * 2 : i) * 2));
    assert_ok(t.ctx, copse_build(index, keys, NULL, n));
    assert_ok(t.ctx, copse_save(index, t.path));
    t.key = key;
    /* Wide enough for any type: that of an empty file may be forged. */
    t.lows = typed_new(COPSE_U64, QUESTIONS);
    t.highs = typed_new(COPSE_U64, QUESTIONS);
    for (uint64_t i = 0; i < QUESTIONS; i++) {
        uint64_t low = random_below(&random, 2 * n + 20);
        typed_set_bits(key, t.lows, i, typed_position_bits(key, low));
        typed_set_bits(key, t.highs, i, typed_position_bits(key, low + random_below(&random, 200)));
    }
    t.truth = ask(index);
    t.sound = file_read(t.path);
    copse_index_free(index);
    free(keys);
}

static void file_forget(void)
{
    answers_free(&t.truth);
    free(t.sound.bytes);
    free(t.lows);
    free(t.highs);
    byte_array_free(&t.low_strings);
    byte_array_free(&t.high_strings);
}

static void sentence_check(copse_status status, size_t at)
{
    const char *sentence = copse_last_error(t.ctx);
    if (status != COPSE_ERR_FORMAT && status != COPSE_ERR_VERSION)
        fail_msg("byte %zu: status %s: %s", at, copse_status_name(status), sentence);
    if (!strstr(sentence, "damaged.copse")) fail_msg("byte %zu: the sentence names no file: '%s'", at, sentence);
}

/* The file at t.path, of which byte `at` is wrong, is refused, or found out by verify; calls name the damage or are right. */
static void damage_check(size_t at)
{
    copse_index *opened = NULL;
    copse_status status = copse_open(t.ctx, t.path, NULL, &opened);
    if (status != COPSE_OK) {
        sentence_check(status, at);
        assert_null(opened);
        t.named++;
        return;
    }
    struct answers is = ask(opened);
    const char *failed = answers_failed(&is, COPSE_ERR_FORMAT), *wrong = answers_differ(&t.truth, &is);
    if (failed) fail_msg("byte %zu: %s failed: %s", at, failed, copse_last_error(t.ctx));
    if (wrong) fail_msg("byte %zu: %s is wrong and did not say so", at, wrong);
    if (answers_failed(&is, COPSE_OK))
        t.named++;
    else
        t.answered++;
    answers_free(&is);
    status = copse_verify(opened);
    if (status == COPSE_OK) fail_msg("byte %zu: verify did not find it", at);
    sentence_check(status, at);
    copse_index_free(opened);
}

/* The same where nobody loads the file to compare with: it is sound, and then every call answers, or it is not. */
static void forged_check_quickly(size_t at)
{
    copse_index *opened = NULL;
    copse_status status = copse_open(t.ctx, t.path, NULL, &opened);
    if (status != COPSE_OK) {
        sentence_check(status, at);
        t.named++;
        return;
    }
    status = copse_verify(opened);
    if (status != COPSE_OK) sentence_check(status, at);
    struct answers is = ask(opened);
    const char *failed = answers_failed(&is, status == COPSE_OK ? COPSE_OK : COPSE_ERR_FORMAT);
    if (failed) fail_msg("byte %zu: %s failed: %s", at, failed, copse_last_error(t.ctx));
    answers_free(&is);
    copse_index_free(opened);
}

/* A tree that takes the entries of the file at t.path, whose header may be forged. */
static copse_structure tree_for_file(void)
{
    snapshot_header header;
    FILE *file = fopen(t.path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    (void)fclose(file);
    if (header.key_type != COPSE_BYTES) return COPSE_STRUCTURE_IMPLICIT;
    return header.flags & SNAPSHOT_FLAG_DUPLICATES ? COPSE_STRUCTURE_SORTED : t.tree; /* the radix tree keeps none */
}

/* The file at t.path, which has a wrong byte and right checksums: it either loads, and then an open file gives the same answers, or
 * it does not, and then verify says why, and calls give some answer or say so. */
static void forged_check(size_t at)
{
    copse_index *opened = NULL, *loaded = NULL;
    /* The structure, which the file names for loading, does not matter to an open file. */
    const copse_index_options options = {.struct_size = offsetof(copse_index_options, updates),
                                         .structure = tree_for_file()};
    copse_status load = copse_load(t.ctx, t.path, &options, &loaded), open = copse_open(t.ctx, t.path, NULL, &opened);
    if (open != COPSE_OK) {
        sentence_check(open, at);
        if (load == COPSE_OK) fail_msg("byte %zu: it loads and does not open: %s", at, copse_last_error(t.ctx));
        t.named++;
        return;
    }
    struct answers is = ask(opened);
    const char *failed = answers_failed(&is, load == COPSE_OK ? COPSE_OK : COPSE_ERR_FORMAT);
    if (failed) fail_msg("byte %zu: %s failed: %s", at, failed, copse_last_error(t.ctx));
    if (load == COPSE_OK) {
        struct answers want = ask(loaded);
        const char *wrong = answers_differ(&want, &is);
        if (wrong) fail_msg("byte %zu: %s of the open file differs from the loaded one", at, wrong);
        answers_free(&want);
        t.answered++;
    } else {
        t.named++;
    }
    answers_free(&is);
    copse_status status = copse_verify(opened);
    if ((status == COPSE_OK) != (load == COPSE_OK)) fail_msg("byte %zu: verify and load disagree", at);
    if (status != COPSE_OK) sentence_check(status, at);
    copse_index_free(opened);
    copse_index_free(loaded);
}

static void byte_write(int file, size_t at, unsigned char byte)
{
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
}

/* Each bit of a byte, then all of them. */
static unsigned char flipped(unsigned char byte, int change)
{
    return (unsigned char)(byte ^ (change < 8 ? 1u << change : 0xffu));
}

static void every_byte_of(copse_type key, copse_type value, bool duplicates, uint64_t n)
{
    file_make(key, value, duplicates, n);
    int file = open(t.path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    for (size_t at = 0; at < t.sound.size; at++)
        for (int change = 0; change < 9; change++) {
            byte_write(file, at, flipped(t.sound.bytes[at], change));
            damage_check(at);
            byte_write(file, at, t.sound.bytes[at]);
        }
    close(file);
    unsigned char *copy = must_malloc(t.sound.size);
    for (size_t at = 0; at < t.sound.size; at++)
        for (int change = 0; change < 9; change++) {
            memcpy(copy, t.sound.bytes, t.sound.size);
            copy[at] = flipped(copy[at], change);
            uint32_t version;
            memcpy(&version, copy + 8, sizeof version);
            if (version == 1) continue; /* would be repaired as such */
            snapshot_repair(copy, t.sound.size);
            if (memcmp(copy, t.sound.bytes, t.sound.size) == 0) continue; /* it was one of the checksums */
            file_write(t.path, copy, t.sound.size);
            forged_check(at);
        }
    free(copy);
    file_forget();
}

static void every_byte(void **state)
{
    (void)state;
    every_byte_of(COPSE_U64, COPSE_U32, false, 21);
    every_byte_of(COPSE_F32, COPSE_F64, true, 6);
    every_byte_of(COPSE_DATE, COPSE_I64, false, 0);
    every_byte_of(COPSE_BYTES, COPSE_U32, false, 11);
    every_byte_of(COPSE_BYTES, COPSE_F64, true, 6);
    every_byte_of(COPSE_BYTES, COPSE_NONE, false, 5);
    every_byte_of(COPSE_BYTES, COPSE_I64, false, 0);
}

/* Neither does it load. */
static void load_check(size_t at)
{
    copse_index *loaded = NULL;
    copse_status status = copse_load(t.ctx, t.path, NULL, &loaded);
    if (status == COPSE_OK) fail_msg("byte %zu: it loads", at);
    assert_null(loaded);
    sentence_check(status, at);
}

/* Ten thousand damages; of byte strings, which take longer, from a radix tree only, and fewer where COPSE_TEST_SHARE says so. */
static unsigned flips_of(copse_type key)
{
    const bool all = key != COPSE_BYTES || (t.tree == COPSE_STRUCTURE_RADIX && !getenv("COPSE_TEST_SHARE"));
    return all ? 10000 : 500;
}

/* Random bytes of a file of many blocks. */
static void random_bytes_of(copse_type key, uint64_t n)
{
    const unsigned flips = flips_of(key);
    struct random_source random = {7};
    file_make(key, COPSE_U32, false, n);
    int file = open(t.path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    for (unsigned i = 0; i < flips; i++) {
        size_t at = random_below(&random, t.sound.size);
        byte_write(file, at, flipped(t.sound.bytes[at], (int)random_below(&random, 9)));
        damage_check(at);
        if (i % 10 == 0) load_check(at);
        byte_write(file, at, t.sound.bytes[at]);
    }
    close(file);
    assert_true(t.named > 0 && t.named + t.answered == flips);
    file_forget();
}

static void random_bytes(void **state)
{
    (void)state;
    random_bytes_of(COPSE_U64, 30000);
}

static void random_bytes_of_strings(void **state)
{
    (void)state;
    random_bytes_of(COPSE_BYTES, 20000);
}

static void random_bytes_of_a_radix_tree(void **state)
{
    (void)state;
    t.tree = COPSE_STRUCTURE_RADIX;
    random_bytes_of(COPSE_BYTES, 20000);
}

/* The same with checksums made right. The front of the file, where its tables are, gets its share. */
static void random_forged_bytes_of(copse_type key, uint64_t n)
{
    const unsigned flips = flips_of(key);
    struct random_source random = {8};
    file_make(key, COPSE_U32, t.tree != COPSE_STRUCTURE_RADIX, n);
    unsigned char *copy = must_malloc(t.sound.size);
    for (unsigned i = 0; i < flips; i++) {
        size_t at = random_below(&random, i % 4 ? t.sound.size : 1024);
        memcpy(copy, t.sound.bytes, t.sound.size);
        copy[at] = flipped(copy[at], (int)random_below(&random, 9));
        uint32_t version;
        memcpy(&version, copy + 8, sizeof version);
        if (version == 1) continue;
        snapshot_repair(copy, t.sound.size);
        file_write(t.path, copy, t.sound.size);
        if (i % 10 == 0)
            forged_check(at);
        else
            forged_check_quickly(at);
    }
    assert_true(t.named > 0 && t.answered > 0);
    free(copy);
    file_forget();
}

static void random_forged_bytes(void **state)
{
    (void)state;
    random_forged_bytes_of(COPSE_I32, 40000);
}

static void random_forged_bytes_of_strings(void **state)
{
    (void)state;
    random_forged_bytes_of(COPSE_BYTES, 20000);
}

static void random_forged_bytes_of_a_radix_tree(void **state)
{
    (void)state;
    t.tree = COPSE_STRUCTURE_RADIX;
    random_forged_bytes_of(COPSE_BYTES, 20000);
}

/* A call names the damage on its way, another one answers, and the cursor stays where it was. */
static void damage_is_named_where_it_lies(void **state)
{
    file_make(COPSE_U64, COPSE_U64, false, 3 * 8192);
    const snapshot_header *h = (const snapshot_header *)t.sound.bytes;
    const uint64_t keys_at = h->sections[SNAPSHOT_KEYS].offset, values_at = h->sections[SNAPSHOT_VALUES].offset;
    copse_index *opened = NULL;
    copse_cursor *cursor = NULL;
    char words[128];
    uint64_t keys[8], got = 0, value = 0;
    uint8_t found = 0;
    (void)state;
    t.sound.bytes[keys_at + 65536 + 77] ^= 4;      /* the second block of the keys  */
    t.sound.bytes[values_at + 2 * 65536 + 1] ^= 4; /* the third block of the values */
    file_write(t.path, t.sound.bytes, t.sound.size);
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    const uint64_t first = 10, second = 10 + 2 * 9000, third = 10 + 2 * 20000;
    assert_ok(t.ctx, copse_find(opened, &first, 1, &value, &found));
    assert_true(found && value == 0);
    (void)snprintf(words, sizeof words, "keys section, bytes %llu..%llu: their checksum does not match",
                   (unsigned long long)keys_at + 65536, (unsigned long long)keys_at + 2 * 65536 - 1);
    for (int twice = 0; twice < 2; twice++)
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, words, copse_find(opened, &second, 1, &value, &found));
    assert_ok(t.ctx, copse_contains(opened, &third, 1, &found));
    assert_true(found);
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "values section, bytes",
                        copse_find(opened, &third, 1, &value, &found));
    assert_ok(t.ctx, copse_find(opened, &first, 1, &value, &found));
    assert_ok(t.ctx, copse_cursor_open(opened, NULL, &cursor));
    assert_ok(t.ctx, copse_cursor_seek(cursor, &(uint64_t){10 + 2 * 8190}));
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, words, copse_cursor_next(cursor, keys, NULL, 8, &got));
    assert_ok(t.ctx, copse_cursor_next(cursor, keys, NULL, 2, &got)); /* those in front of the damage */
    assert_int_equal(got, 2);
    assert_int_equal(keys[0], 10 + 2 * 8190);
    for (int twice = 0; twice < 2; twice++)
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, words, copse_cursor_next(cursor, keys, NULL, 2, &got));
    copse_cursor_free(cursor);
    copse_index_free(opened);
    file_forget();
}

/* Checksums are right, but a block does not go on where the one before it ends. */
static void forged_borders(void **state)
{
    file_make(COPSE_U64, COPSE_U64, false, 3 * 8192);
    const snapshot_header *h = (const snapshot_header *)t.sound.bytes;
    uint64_t *keys = (uint64_t *)(void *)(t.sound.bytes + h->sections[SNAPSHOT_KEYS].offset);
    uint64_t *fences = (uint64_t *)(void *)(t.sound.bytes + h->sections[SNAPSHOT_FENCES].offset);
    copse_index *opened = NULL;
    const uint64_t key = 10 + 2 * 100;
    uint8_t found;
    (void)state;
    keys[8191] = keys[8192]; /* in order inside, and not in front of the second block */
    assert_true(snapshot_repair(t.sound.bytes, t.sound.size));
    file_write(t.path, t.sound.bytes, t.sound.size);
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "keys section, entry 8192: its key is not larger",
                        copse_contains(opened, &key, 1, &found));
    copse_index_free(opened);
    keys[8191] -= 2;
    fences[0]--;
    assert_true(snapshot_repair(t.sound.bytes, t.sound.size));
    file_write(t.path, t.sound.bytes, t.sound.size);
    assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "keys section, entry 0: the fences have another key for it",
                        copse_contains(opened, &key, 1, &found));
    copse_index_free(opened);
    fences[2] = 5; /* fences out of order are never searched */
    assert_true(snapshot_repair(t.sound.bytes, t.sound.size));
    file_write(t.path, t.sound.bytes, t.sound.size);
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "fences section, entry 2: its key is not larger",
                        copse_open(t.ctx, t.path, NULL, &opened));
    assert_null(opened);
    file_forget();
}

/* A file of byte strings: damage of each part is named where a call meets it, and forged tables are. */
static void damage_of_strings(void **state)
{
    strings_make(COPSE_U64, false, 3 * 8192);
    const snapshot_header *h = (const snapshot_header *)t.sound.bytes;
    uint64_t *offsets = (uint64_t *)(void *)(t.sound.bytes + h->sections[SNAPSHOT_OFFSETS].offset);
    uint64_t *fences = (uint64_t *)(void *)(t.sound.bytes + h->sections[SNAPSHOT_FENCES].offset);
    const uint64_t keys_at = h->sections[SNAPSHOT_KEYS].offset, rank = 8200, border = 8191;
    copse_index *opened = NULL, *loaded = NULL;
    (void)state;
#define FORGED(change, undo, words, call)                                                                              \
    do {                                                                                                               \
        change;                                                                                                        \
        assert_true(snapshot_repair(t.sound.bytes, t.sound.size));                                                     \
        file_write(t.path, t.sound.bytes, t.sound.size);                                                               \
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, words, copse_load(t.ctx, t.path, NULL, &loaded));                 \
        assert_ok(t.ctx, copse_open(t.ctx, t.path, NULL, &opened));                                                    \
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, words, call);                                                     \
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, words, copse_verify(opened));                                     \
        copse_index_free(opened);                                                                                      \
        undo;                                                                                                          \
    } while (0)
    copse_bytes size = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    FORGED(offsets[9000] += 100, offsets[9000] -= 100, "offsets section, entry 9000: its offsets give no string",
           copse_select(opened, &rank, 1, &size, NULL, NULL));
    FORGED(offsets[0] = 1, offsets[0] = 0, "offsets section, entry 0: its offsets give no string",
           copse_select(opened, &(uint64_t){5}, 1, &size, NULL, NULL));
    const uint64_t was = offsets[8192]; /* fits its own block, and not the one before */
    const uint64_t fence = fences[1];
    offsets[8192] = offsets[8190];
    memcpy(&fences[1], t.sound.bytes + keys_at + offsets[8192], sizeof *fences);
    fences[1] = __builtin_bswap64(fences[1]);
    FORGED((void)0, (offsets[8192] = was, fences[1] = fence), "offsets section, entry 8191: its offsets give",
           copse_select(opened, &border, 1, &size, NULL, NULL));
    FORGED(fences[1]--, fences[1]++, "keys section, entry 8192: the fences have another key for it",
           copse_select(opened, &rank, 1, &size, NULL, NULL));
#undef FORGED
    unsigned char *key = t.sound.bytes + keys_at + offsets[100];
    const unsigned char first = *key;
    *key = 0xff;
    assert_true(snapshot_repair(t.sound.bytes, t.sound.size));
    file_write(t.path, t.sound.bytes, t.sound.size);
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "keys section, entry 101: its key is not larger than the one before",
                        copse_load(t.ctx, t.path, NULL, &loaded));
    *key = first;
    fences[2] = 0;
    assert_true(snapshot_repair(t.sound.bytes, t.sound.size));
    file_write(t.path, t.sound.bytes, t.sound.size);
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "fences section, entry 2", copse_open(t.ctx, t.path, NULL, &opened));
    file_forget();
}

static void cut_and_lengthened(void **state)
{
    file_make(COPSE_U32, COPSE_U32, false, 21);
    copse_index *opened = NULL;
    unsigned char *longer = must_malloc(t.sound.size + 1);
    (void)state;
    for (size_t size = 0; size < t.sound.size; size++) {
        file_write(t.path, t.sound.bytes, size);
        assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, size ? "is truncated" : "it is empty",
                            copse_open(t.ctx, t.path, NULL, &opened));
        assert_null(opened);
    }
    memcpy(longer, t.sound.bytes, t.sound.size);
    longer[t.sound.size] = 0;
    file_write(t.path, longer, t.sound.size + 1);
    assert_fails_naming(t.ctx, COPSE_ERR_FORMAT, "trailing data", copse_open(t.ctx, t.path, NULL, &opened));
    free(longer);
    file_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(random_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(random_forged_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(random_bytes_of_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(random_forged_bytes_of_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(random_bytes_of_a_radix_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(random_forged_bytes_of_a_radix_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_of_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_named_where_it_lies, setup, teardown),
        cmocka_unit_test_setup_teardown(forged_borders, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_and_lengthened, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
