/* The B-link and the B+ tree where only a card can show it: 2^28 entries and 2^24 more, every pair of widths, views on other
 * streams while the index is updated, and a card without room. With --emulated the same runs small on the emulator, as a test of
 * the test. Indexes of 2^31 and 2^32 entries are in test_large_gpu.c.
 *
 * Key i of an index is i times an odd number, modulo the width: no two are equal, they are in no order, and whether a key is there
 * is arithmetic. Ends with "N passed, N failed"; exit status 77 and "no card" where there is none. */
#include "gpu_program.h"
#include "support/ranges.h"

#include <pthread.h>
#include <stdatomic.h>

#include "random.h"
#include "typed.h"
#include "workload.h"

static copse_placement placement;

/* A number for a card, and one for the emulator. */
static uint64_t fewer(uint64_t card, uint64_t emulated)
{
    return placement == COPSE_PLACEMENT_EMULATED ? emulated : card;
}

/* --- the truth ---------------------------------------------------------------------------------------------------------------- */

static uint64_t key_of(copse_type type, uint64_t i)
{
    const uint64_t key = i * UINT64_C(0x9e3779b97f4a7c15);
    return typed_size(type) == 4 ? key & UINT32_MAX : key;
}

static uint64_t value_of(copse_type type, uint64_t i)
{
    const uint64_t value = i * 7 + 1;
    return typed_size(type) == 4 ? value & UINT32_MAX : value;
}

static void set(copse_type type, void *array, uint64_t i, uint64_t bits)
{
    if (typed_size(type) == 4)
        ((uint32_t *)array)[i] = (uint32_t)bits;
    else
        ((uint64_t *)array)[i] = bits;
}

/* Pairs first .. first + n - 1. */
struct pairs {
    copse_type key, value;
    uint64_t n;
    void *keys, *values;
    uint64_t first;
};

static void pairs_fill(void *argument, uint64_t begin, uint64_t end)
{
    const struct pairs *pairs = argument;
    for (uint64_t i = begin; i < end; i++) {
        set(pairs->key, pairs->keys, i, key_of(pairs->key, pairs->first + i));
        set(pairs->value, pairs->values, i, value_of(pairs->value, pairs->first + i));
    }
}

static struct pairs pairs_make(copse_type key, copse_type value, uint64_t first, uint64_t n)
{
    struct pairs pairs = {key, value, n, must_malloc(n * typed_size(key)), must_malloc(n * typed_size(value)), first};
    workload_parallel(n, WORKLOAD_PIECE, pairs_fill, &pairs);
    return pairs;
}

static void pairs_free(struct pairs *pairs)
{
    free(pairs->keys);
    free(pairs->values);
}

/* The sentence with the failing call in front; NULL where it did not fail. */
static const char *wrong_status(const copse_ctx *ctx, const char *call, copse_status status)
{
    static char texts[16][512]; /* several threads may have one to tell */
    static atomic_uint taken;
    if (status == COPSE_OK) return NULL;
    char *text = texts[atomic_fetch_add(&taken, 1) % 16];
    (void)snprintf(text, sizeof texts[0], "%s: %s", call, copse_last_error(ctx));
    return text;
}

static copse_index *new_index(copse_ctx *ctx, copse_structure structure, copse_type key, copse_type value)
{
    copse_index *index = NULL;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = key;
    options.value_type = value;
    options.structure = structure;
    options.placement = placement;
    const char *wrong = wrong_status(ctx, "copse_index_create", copse_index_create(ctx, &options, &index));
    if (!wrong) return index;
    (void)fprintf(stderr, "test_blink_gpu: %s\n", wrong);
    exit(2);
}

/* --- what an index of pairs 0 .. n - 1 answers ----------------------------------------------------------------------------------- */

/* Lookups of keys that are there and of keys that are not. */
static const char *check_finds(const copse_ctx *ctx, const copse_index *index, copse_type key, copse_type value,
                               uint64_t n)
{
    const uint64_t queries = fewer(1u << 20, 500);
    struct random_source random = {n};
    uint64_t *places = must_malloc(queries * sizeof *places), wrong = 0;
    void *keys = typed_new(key, queries), *values = typed_new(value, queries);
    uint8_t *found = must_malloc(queries);
    for (uint64_t i = 0; i < queries; i++) {
        places[i] = random_below(&random, n + n / 2);
        set(key, keys, i, key_of(key, places[i]));
    }
    const char *failure = wrong_status(ctx, "copse_find", copse_find(index, keys, queries, values, found));
    for (uint64_t i = 0; i < queries && !failure; i++) {
        const bool there = places[i] < n;
        wrong += found[i] != there || typed_bits(value, values, i) != (there ? value_of(value, places[i]) : 0);
    }
    free(places);
    free(keys);
    free(values);
    free(found);
    return failure ? failure : wrong ? "an answer of find" : NULL;
}

/* Ranges side by side over all keys: their counts add up, and the entries of some are in order and there. */
static const char *check_order(const copse_ctx *ctx, const copse_index *index, copse_type key, uint64_t n)
{
    enum { parts = 1024, limit = 100 };
    const uint64_t width = (typed_size(key) == 4 ? UINT64_C(1) << 32 : UINT64_MAX) / parts;
    uint64_t counts[parts] = {0}, offsets[parts + 1] = {0}, sum = 0, wrong = 0;
    void *lows = typed_new(key, parts), *highs = typed_new(key, parts), *keys = typed_new(key, parts * limit);
    uint8_t *found = must_malloc(parts * limit);
    for (uint64_t i = 0; i < parts; i++) {
        set(key, lows, i, i * width);
        set(key, highs, i, i + 1 < parts ? (i + 1) * width - 1 : UINT64_MAX);
    }
    const char *failure = wrong_status(ctx, "copse_count", copse_count(index, BETWEEN(lows, highs, parts), counts));
    if (!failure)
        failure = wrong_status(
            ctx, "copse_range",
            copse_range(index, AT_MOST(limit, lows, highs, parts), ROWS(offsets, keys, NULL, parts * limit)));
    if (!failure) failure = wrong_status(ctx, "copse_contains", copse_contains(index, keys, offsets[parts], found));
    for (uint64_t i = 0; i < parts && !failure; i++) {
        sum += counts[i];
        wrong += offsets[i + 1] - offsets[i] != (counts[i] < limit ? counts[i] : limit);
        for (uint64_t at = offsets[i]; at < offsets[i + 1]; at++) {
            const uint64_t bits = typed_bits(key, keys, at);
            wrong += !found[at] || bits < i * width || (at > offsets[i] && bits <= typed_bits(key, keys, at - 1));
        }
    }
    free(lows);
    free(highs);
    free(keys);
    free(found);
    return failure ? failure : wrong ? "an answer of range" : sum != n ? "counts that do not add up" : NULL;
}

static void check_content(const char *name, const copse_ctx *ctx, const copse_index *index, copse_type key,
                          copse_type value, uint64_t n)
{
    const char *wrong = copse_size(index) == n ? NULL : "the size";
    if (!wrong) wrong = wrong_status(ctx, "copse_verify", copse_verify(index));
    if (!wrong) wrong = check_finds(ctx, index, key, value, n);
    if (!wrong) wrong = check_order(ctx, index, key, n);
    count_test(name, wrong);
}

/* --- sizes -------------------------------------------------------------------------------------------------------------------- */

static copse_status insert_pairs(copse_index *index, copse_type key, copse_type value, uint64_t first, uint64_t n)
{
    struct pairs pairs = pairs_make(key, value, first, n);
    uint64_t inserted = 0;
    copse_status status = copse_insert(index, pairs.keys, pairs.values, n, COPSE_INSERT_UPSERT, &inserted);
    pairs_free(&pairs);
    return status == COPSE_OK && inserted != n ? COPSE_ERR_CORRUPT : status;
}

/* `built` pairs, then `more`, in batches of which the first ones are small. What was inserted then goes again. */
static void run_size(copse_ctx *ctx, copse_structure structure, copse_type key, copse_type value, uint64_t built,
                     uint64_t more)
{
    char name[96];
    copse_index *index = new_index(ctx, structure, key, value);
    struct pairs pairs = pairs_make(key, value, 0, built);
    uint64_t n = built, erased = 0;
    double start = now();
    (void)snprintf(name, sizeof name, "%s, %s to %s, %llu entries", copse_structure_name(structure), typed_name(key),
                   typed_name(value), (unsigned long long)built);
    count_test(name, wrong_status(ctx, "copse_build", copse_build(index, pairs.keys, pairs.values, built)));
    pairs_free(&pairs);
    copse_status status = COPSE_OK;
    for (uint64_t batch = 1; n < built + more && status == COPSE_OK; batch *= 16) {
        const uint64_t taken = batch < built + more - n ? batch : built + more - n;
        status = insert_pairs(index, key, value, n, taken);
        n += taken;
    }
    count_test(name, wrong_status(ctx, "copse_insert", status));
    check_content(name, ctx, index, key, value, n);
    pairs = pairs_make(key, value, built, more);
    count_test(name, wrong_status(ctx, "copse_erase", copse_erase(index, pairs.keys, more, &erased)));
    count_test(name, erased == more ? NULL : "the number of entries that went");
    pairs_free(&pairs);
    check_content(name, ctx, index, key, value, built);
    copse_index_free(index);
    (void)printf("%s: %.1f s\n", name, now() - start);
}

static void run_sizes(copse_ctx *ctx)
{
    static const copse_type types[] = {COPSE_U32, COPSE_U64};
    run_size(ctx, COPSE_STRUCTURE_BLINK, COPSE_U32, COPSE_U32, fewer(1u << 28, 5000), fewer(1u << 24, 700));
    run_size(ctx, COPSE_STRUCTURE_BPLUS, COPSE_U32, COPSE_U32, fewer(1u << 26, 5000), fewer(1u << 22, 700));
    for (unsigned i = 0; i < 4; i++)
        for (copse_structure structure = COPSE_STRUCTURE_BLINK; structure <= COPSE_STRUCTURE_BPLUS; structure++)
            run_size(ctx, structure, types[i & 1], types[i >> 1], fewer(1u << 22, 1500), fewer(1u << 19, 300));
}

/* --- concurrent readers ---------------------------------------------------------------------------------------------------------- */

/* Pairs below `kept` stay; others come and go meanwhile. */
struct shared {
    copse_index *index;
    uint64_t kept;
    atomic_bool over;
};

struct reader {
    pthread_t thread;
    struct shared *shared;
    copse_ctx *ctx;
    copse_index *view;
    const char *wrong;
    uint64_t calls;
};

/* Keys that stay are found, with their values, and are their own lower bounds. */
static const char *read_once(struct reader *reader, struct random_source *random)
{
    enum { queries = 4096 };
    static _Thread_local uint64_t keys[queries], values[queries], bounds[queries], bound_values[queries];
    static _Thread_local uint8_t found[queries], bound_found[queries];
    const uint64_t n = fewer(queries, 64);
    uint64_t wrong = 0;
    const uint64_t from = random_next(random);
    for (uint64_t i = 0; i < n; i++) keys[i] = key_of(COPSE_U64, (from + i * 977) % reader->shared->kept);
    const char *failure = wrong_status(reader->ctx, "copse_find", copse_find(reader->view, keys, n, values, found));
    if (!failure)
        failure = wrong_status(reader->ctx, "copse_lower_bound",
                               copse_lower_bound(reader->view, keys, n, bounds, bound_values, bound_found, NULL));
    for (uint64_t i = 0; i < n && !failure; i++) {
        const uint64_t value = value_of(COPSE_U64, (from + i * 977) % reader->shared->kept);
        wrong += !found[i] || values[i] != value || !bound_found[i] || bounds[i] != keys[i] || bound_values[i] != value;
    }
    return failure ? failure : wrong ? "a key that stays was not read as it is" : NULL;
}

static void *reader_run(void *argument)
{
    struct reader *reader = argument;
    struct random_source random = {(uint64_t)(uintptr_t)reader};
    while (!atomic_load(&reader->shared->over) && !reader->wrong) {
        reader->wrong = read_once(reader, &random);
        reader->calls++;
    }
    return NULL;
}

/* Small and large batches by turns: in place, and into new versions. */
static const char *write_for(copse_ctx *ctx, struct shared *shared, double seconds)
{
    const double end = now() + seconds;
    for (unsigned turn = 0; now() < end; turn++) {
        const uint64_t n = turn % 4 == 3 ? fewer(1u << 19, 300) : fewer(1u << (turn % 12), 20);
        struct pairs pairs = pairs_make(COPSE_U64, COPSE_U64, shared->kept, n);
        const char *wrong =
            wrong_status(ctx, "copse_insert", copse_insert(shared->index, pairs.keys, pairs.values, n, 0, NULL));
        if (!wrong) wrong = wrong_status(ctx, "copse_erase", copse_erase(shared->index, pairs.keys, n, NULL));
        pairs_free(&pairs);
        if (wrong) return wrong;
    }
    return NULL;
}

static void run_concurrent(copse_ctx *ctx, copse_structure structure)
{
    enum { readers = 2 };
    struct reader reader[readers];
    struct shared shared = {new_index(ctx, structure, COPSE_U64, COPSE_U64), fewer(1u << 20, 2000), false};
    struct pairs pairs = pairs_make(COPSE_U64, COPSE_U64, 0, shared.kept);
    count_test("concurrent readers, build",
               wrong_status(ctx, "copse_build", copse_build(shared.index, pairs.keys, pairs.values, shared.kept)));
    pairs_free(&pairs);
    for (int i = 0; i < readers; i++) {
        reader[i] = (struct reader){.shared = &shared};
        if (copse_ctx_create(NULL, &reader[i].ctx) != COPSE_OK ||
            copse_index_view(shared.index, reader[i].ctx, &reader[i].view) != COPSE_OK ||
            pthread_create(&reader[i].thread, NULL, reader_run, &reader[i]) != 0) {
            (void)fprintf(stderr, "test_blink_gpu: a reader: %s\n", copse_last_error(reader[i].ctx));
            exit(2);
        }
    }
    count_test("the writer", write_for(ctx, &shared, placement == COPSE_PLACEMENT_EMULATED ? 0.5 : 2.0));
    atomic_store(&shared.over, true);
    for (int i = 0; i < readers; i++) {
        (void)pthread_join(reader[i].thread, NULL);
        count_test("a concurrent reader", reader[i].wrong);
        count_test("a reader that read", reader[i].calls ? NULL : "no call");
        copse_index_free(reader[i].view);
        copse_ctx_free(reader[i].ctx);
    }
    check_content("after readers and a writer", ctx, shared.index, COPSE_U64, COPSE_U64, shared.kept);
    copse_index_free(shared.index);
}

/* --- a card without room ---------------------------------------------------------------------------------------------------------- */

#define FILLERS 256

/* Memory that the tests hold so that nobody else can have it. */
struct filler {
    void *memory[FILLERS];
    uint64_t bytes[FILLERS];
    unsigned n;
    uint64_t card; /* emulated: what the device had before */
};

static void fill_card(copse_device *device, struct filler *filler)
{
    uint64_t available = 0, total = 0;
    filler->n = 0;
    filler->card = device->memory;
    if (placement == COPSE_PLACEMENT_EMULATED) {
        device->memory = device->allocated + 1000;
        return;
    }
    device->backend->trim(device);
    device->backend->memory_info(device, &available, &total);
    for (uint64_t bytes = available; bytes >= 2u << 20 && filler->n < FILLERS;) {
        filler->bytes[filler->n] = bytes;
        if (copse_device_alloc(device, device->main, bytes, "the filler", &filler->memory[filler->n]) == COPSE_OK)
            filler->n++;
        else
            bytes /= 2;
    }
}

static void empty_card(copse_device *device, struct filler *filler)
{
    for (unsigned i = 0; i < filler->n; i++)
        copse_device_free(device, device->main, filler->memory[i], filler->bytes[i]);
    if (placement == COPSE_PLACEMENT_EMULATED) device->memory = filler->card;
}

/* Every kind of update fails with MEMORY, again and again, and leaves all as it was. */
static void run_without_room(copse_ctx *ctx, copse_device *device, copse_structure structure)
{
    const uint64_t n = fewer(1u << 22, 2000), more = fewer(1u << 22, 2000);
    copse_index *index = new_index(ctx, structure, COPSE_U32, COPSE_U64);
    uint8_t *codes = must_malloc(more);
    struct filler filler;
    struct pairs pairs = pairs_make(COPSE_U32, COPSE_U64, 0, n);
    count_test("a card without room, build",
               wrong_status(ctx, "copse_build", copse_build(index, pairs.keys, pairs.values, n)));
    pairs_free(&pairs);
    pairs = pairs_make(COPSE_U32, COPSE_U64, n, more);
    memset(codes, COPSE_OP_UPSERT, more);
    fill_card(device, &filler);
    bool refused = true;
    for (int i = 0; i < 10; i++) {
        refused &= copse_insert(index, pairs.keys, pairs.values, more, 0, NULL) == COPSE_ERR_MEMORY;
        refused &= strstr(copse_last_error(ctx), "memory") != NULL;
        refused &= copse_erase(index, pairs.keys, more, NULL) == COPSE_ERR_MEMORY;
        refused &= copse_apply(index, codes, pairs.keys, pairs.values, more, NULL, NULL) == COPSE_ERR_MEMORY;
        refused &= copse_build(index, pairs.keys, pairs.values, more) == COPSE_ERR_MEMORY;
    }
    count_test("updates without room", refused ? NULL : copse_last_error(ctx));
    empty_card(device, &filler);
    check_content("after updates without room", ctx, index, COPSE_U32, COPSE_U64, n);
    count_test("an insert with room again",
               wrong_status(ctx, "copse_insert", copse_insert(index, pairs.keys, pairs.values, more, 0, NULL)));
    check_content("after an insert with room again", ctx, index, COPSE_U32, COPSE_U64, n + more);
    free(codes);
    pairs_free(&pairs);
    copse_index_free(index);
}

int main(int argc, char **argv)
{
    copse_ctx *ctx = NULL;
    copse_device *device = open_device(argc, argv, &ctx);
    placement = device->backend->placement;
    run_sizes(ctx);
    for (copse_structure structure = COPSE_STRUCTURE_BLINK; structure <= COPSE_STRUCTURE_BPLUS; structure++) {
        double start = now();
        run_concurrent(ctx, structure);
        run_without_room(ctx, device, structure);
        (void)printf("%s, concurrent readers and a card without room: %.1f s\n", copse_structure_name(structure),
                     now() - start);
    }
    return finish(ctx);
}
