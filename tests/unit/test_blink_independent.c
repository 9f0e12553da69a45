/*
 * Batches that make a new version whose tiles do not wait for each other (blink/rebuild/independent.c), sorted by upper bits only, made
 * small enough for the emulator: what comes of them, against the model, and that those for which this way is none go another one.
 */
#include "blink_batches.h"

enum { entries = 8000, batch = 2000 };
/* Ways of subject.c: a batch that is larger than a 64th of the tree makes a new version; with even numbers memory is not taken
 * ahead. */
#define WAYS 7u

static const copse_structure kinds[] = {COPSE_STRUCTURE_BLINK, COPSE_STRUCTURE_BPLUS};
#define FOR_EACH_KIND(kind) for (const copse_structure *kind = kinds; kind < kinds + COUNT_OF(kinds); kind++)

static const enum operation_kind inserts[] = {OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT};

/* One of each pair of widths. */
static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_U64, COPSE_U64}, {COPSE_I32, COPSE_U64}, {COPSE_F64, COPSE_F32}};
#define FOR_EACH_WIDTH(width) for (const struct widths *width = widths; width < widths + COUNT_OF(widths); width++)

/* --- batches ------------------------------------------------------------------------------------------------------------- */

static void open_subject(struct subject *subject, copse_structure structure, copse_type key, copse_type value,
                         uint32_t turn)
{
    const struct subject_config config = {.structure = structure,
                                          .placement = COPSE_PLACEMENT_EMULATED,
                                          .key_type = key,
                                          .value_type = value,
                                          .memory = (enum placed_memory)(turn % PLACED_MEMORIES),
                                          .simt_seed = turn % 4 == 3 ? turn : 0,
                                          .processors = turn % 2 ? 1 : 8, /* warps with some tiles each, with one */
                                          .ways = WAYS + turn / 2 % 2,
                                          .threads = 1,
                                          .own_allocator = true,
                                          .huge_pages = COPSE_HUGE_PAGES_OFF};
    if (!subject_open(subject, &config)) fail_msg("%s", subject->why);
}

/* How a batch went. */
enum went {
    SPREAD,   /* by this way                                              */
    IN_VAIN,  /* ... but it turned out to be no batch for it: by another one */
    OTHERWISE /* by another way at once                                   */
};

/* An operation on these keys, with values that no other batch has. */
static void make(struct operation *operation, const struct subject *subject, enum operation_kind kind,
                 const uint64_t *codes, uint64_t n)
{
    static uint64_t turn;
    operation_init(operation, kind, n);
    operation->places = (uint32_t)(turn * 7);
    memcpy(operation->first, codes, n * sizeof *codes);
    for (uint64_t i = 0; i < n && operation->second; i++)
        operation->second[i] = typed_position_bits(subject->config.value_type, ++turn % 1000000);
}

static enum went watch(struct subject *subject, const struct operation *operation)
{
    enum { some = 40 }; /* batches that are to be sorted without a guess: the other ways count them */
    copse_blink *tree = tree_of(subject);
    const unsigned lost = tree->coarse.last_rest;
    tree->predictor.rest = some;
    run(subject, operation);
    if (tree->predictor.rest == some) return SPREAD;
    return tree->coarse.last_rest > lost ? IN_VAIN : OTHERWISE;
}

/* The bounds that a version knows are those of its keys. */
static bool bounds_fit(const struct subject *subject)
{
    const copse_blink_epoch *version = tree_of(subject)->current;
    const struct model *model = &subject->model;
    assert_true(version->low <= model->entries[0].key && version->high >= model->entries[model->n - 1].key);
    return version->low == model->entries[0].key && version->high == model->entries[model->n - 1].key;
}

/* Runs one. */
static enum went go(struct subject *subject, enum operation_kind kind, const uint64_t *codes, uint64_t n)
{
    struct operation operation;
    make(&operation, subject, kind, codes, n);
    const copse_blink_epoch *before = tree_of(subject)->current;
    const bool fit = bounds_fit(subject);
    const enum went went = watch(subject, &operation);
    operation_free(&operation);
    const bool fit_still = bounds_fit(subject);
    if (went != SPREAD) return went;
    assert_ptr_not_equal(tree_of(subject)->current, before);
    assert_int_equal(tree_of(subject)->current->pool_taken, 0);
    if (fit) assert_true(fit_still);
    return went;
}

/* --- keys ------------------------------------------------------------------------------------------------------------------ */

static void build_of(struct subject *subject, uint64_t *codes)
{
    struct operation operation;
    make(&operation, subject, OPERATION_BUILD, codes, entries);
    run(subject, &operation);
    operation_free(&operation);
    free(codes);
    copse_blink_epoch *built = tree_of(subject)->current;
    built->low = subject->model.entries[0].key; /* building may not have looked */
    built->high = subject->model.entries[subject->model.n - 1].key;
    assert_true(built->view.base_leaves >= 256);
}

static void build(struct subject *subject, struct random_source *random, double share)
{
    build_of(subject, codes_of(subject->config.key_type, random, share, entries));
}

static void shuffle(struct random_source *random, uint64_t *codes, uint64_t n)
{
    for (uint64_t i = n; i > 1; i--) {
        const uint64_t j = random_below(random, i), code = codes[j];
        codes[j] = codes[i - 1];
        codes[i - 1] = code;
    }
}

/* --- trees with other leaves behind base_leaves ------------------------------------------------------------------------------------ */

/* Runs an operation in place. */
static void stay(struct subject *subject, enum operation_kind kind, const uint64_t *codes, uint64_t n)
{
    copse_blink_tuning *tuning = &tree_of(subject)->tuning;
    const uint64_t share = tuning->in_place_share;
    const copse_blink_epoch *before = tree_of(subject)->current;
    struct operation operation;
    make(&operation, subject, kind, codes, n);
    tuning->in_place_share = 1;
    run(subject, &operation);
    tuning->in_place_share = share;
    operation_free(&operation);
    assert_ptr_equal(tree_of(subject)->current, before);
}

/* Keys between two that are neighbours: all of them are for one base_leaf. */
struct gap {
    uint64_t first, n;
};

static struct gap gap_at(const struct subject *subject, uint64_t i)
{
    const struct model_entry *entry = &subject->model.entries[i];
    while (entry[1].key - entry[0].key < 1000) entry++;
    return (struct gap){entry->key + 1, entry[1].key - entry->key - 1};
}

/* Puts `each` keys into the gaps at entries `from` and so on, `step` at a time. */
static void crowd(struct subject *subject, struct random_source *random, uint64_t from, uint64_t each, uint64_t step)
{
    enum { places = 8 };
    struct gap gaps[places];
    for (uint64_t i = 0; i < places; i++) gaps[i] = gap_at(subject, from + i * (entries / places));
    for (uint64_t done = 0; done < each; done += step) {
        const uint64_t some = each - done < step ? each - done : step;
        uint64_t codes[1000];
        for (uint64_t i = 0; i < places * some; i++)
            codes[i] = gaps[i / some].first + random_below(random, gaps[i / some].n);
        shuffle(random, codes, places * some); /* or they would be taken to come sorted */
        stay(subject, OPERATION_INSERT, codes, places * some);
    }
}

/* Some base_leaves get a second leaf, and some more than that. */
static void make_chains(struct subject *subject, struct random_source *random)
{
    const uint64_t two = copse_blink_packed_two(subject->index), slots = copse_blink_slots(subject->index);
    const copse_blink_epoch *version = tree_of(subject)->current;
    crowd(subject, random, 40, slots - two / 2 + 1, slots); /* none has room for these */
    assert_in_range(version->pool_taken, 8, 16);
    const uint64_t before = version->pool_taken;
    /* Nor have two leaves room for those. Where a branch has few slots, they come one by one. */
    crowd(subject, random, 400, 2 * slots - two / 2 + 1, version->view.branches && slots < 9 ? 1 : 2 * slots);
    assert_true(version->pool_taken >= before + 16);
}

/* --- tests ----------------------------------------------------------------------------------------------------------------- */

/* Every type; arrays anywhere; keys that are there and keys that are not. */
static void all_types(void **state)
{
    (void)state;
    struct random_source random = {1};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    for (unsigned t = 0; t < TYPED_KEY_TYPES; t++) {
        const copse_type key = typed_key_types[t], value = typed_value_types[(t * 5 + turn) % TYPED_VALUE_TYPES];
        struct subject subject;
        open_subject(&subject, *kind, key, value, turn++);
        build(&subject, &random, 0.5);
        for (unsigned u = 0; u < 4; u++) {
            uint64_t *codes = codes_of(key, &random, 0.5, batch);
            if (u >= 2) take_some(&subject, &random, codes, batch, 2);
            assert_int_equal(go(&subject, inserts[u % 2], codes, batch), SPREAD);
            free(codes);
        }
        close_subject(&subject);
    }
}

/* A few operations on each tile, and many; trees that a batch is small beside, and others. */
static void sizes(void **state)
{
    (void)state;
    static const uint64_t of[] = {300, 513, 700, 1024, 1537, 3000};
    struct random_source random = {2};
    uint32_t turn = 0;
    FOR_EACH_WIDTH(width)
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct subject subject;
        open_subject(&subject, kinds[turn % 2], width->key, width->value, turn);
        turn++;
        build(&subject, &random, 0.9);
        uint64_t *codes = codes_of(width->key, &random, 0.9, of[i]);
        take_some(&subject, &random, codes, of[i], 3);
        assert_int_equal(go(&subject, inserts[i % 2], codes, of[i]), SPREAD);
        free(codes);
        close_subject(&subject);
    }
}

/* Keys that are there: the next batch is taken to be of that kind, and gets leaves for the others only. */
static void known_keys(void **state)
{
    (void)state;
    struct random_source random = {3};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        uint64_t known[batch];
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, turn++);
        build(&subject, &random, 0.5);
        const uint64_t packed = tree_of(&subject)->current->view.base_leaves;
        take_some(&subject, &random, known, batch, 1);
        assert_int_equal(go(&subject, OPERATION_INSERT_IF_ABSENT, known, batch), SPREAD);
        assert_int_equal(tree_of(&subject)->current->known, 256);
        assert_true(tree_of(&subject)->current->view.base_leaves >
                    packed + packed / 8); /* more came than was to be done */
        take_some(&subject, &random, known, batch, 1);
        assert_int_equal(go(&subject, OPERATION_INSERT, known, batch), SPREAD);
        assert_true(tree_of(&subject)->current->view.base_leaves <= packed + 1);
        /* Now so many come that they do not fit. */
        uint64_t *codes = codes_of(width->key, &random, 0.5, 2 * batch);
        assert_int_equal(go(&subject, OPERATION_INSERT, codes, 2 * batch), IN_VAIN);
        assert_true(tree_of(&subject)->current->known < 8);
        free(codes);
        close_subject(&subject);
    }
}

/* Of equal keys the first counts or the last, whether they are next to each other or not. */
static void equal_keys(void **state)
{
    (void)state;
    struct random_source random = {4};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (unsigned u = 0; u < 4; u++) {
        const uint64_t n = u < 2 ? batch : batch / 4, different = n - n / 3; /* of the others there are two, or more */
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, turn++);
        build(&subject, &random, 0.5);
        uint64_t *codes = codes_of(width->key, &random, 0.5, n);
        take_some(&subject, &random, codes, different, 2);
        for (uint64_t i = different; i < n; i++)
            codes[i] = codes[i % 4 ? random_below(&random, i) : 7 * (i / 20)]; /* some are there five times and more */
        shuffle(&random, codes, n);
        assert_int_equal(go(&subject, inserts[u % 2], codes, n), SPREAD);
        free(codes);
        close_subject(&subject);
    }
}

/* Keys that are smaller and greater than all that the tree has, and the smallest and greatest there are; then batches in place, which
 * rest on the bounds. Where the last tile is a small one, they may be too many for it. */
static void beyond_both_ends(void **state)
{
    (void)state;
    struct random_source random = {5};
    uint32_t turn = 0, spreads = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        const copse_type key = width->key;
        struct subject subject;
        open_subject(&subject, *kind, key, width->value, turn++);
        for (unsigned u = 0; u < 4; u++) {
            build(&subject, &random, 0.6);
            uint64_t *codes = codes_of(key, &random, 0.6, batch);
            for (uint64_t i = 0; i < 3; i++) {
                codes[i * 100 + 2] = spread(key, 0.6, 0, 1) - 1 - random_below(&random, 1000);
                codes[i * 200 + 3] = spread(key, 0.6, 1, 1) + 1 + random_below(&random, 1000);
                if (u >= 2) codes[i * 240] = typed_lowest_code(key) + i / 2;
                if (u >= 2) codes[i * 200 + 1] = typed_highest_code(key) - i / 2;
            }
            tree_of(&subject)->coarse.rest = 0;
            spreads += go(&subject, inserts[u % 2], codes, batch) == SPREAD; /* which looks at the bounds */
            stay(&subject, OPERATION_INSERT, codes, 60);
            free(codes);
        }
        close_subject(&subject);
    }
    assert_true(spreads > 2 * turn);
}

/* The same where keys outside differ in bits that are not sorted by: noticed, and done another way. */
static void beyond_the_bits(void **state)
{
    (void)state;
    struct random_source random = {6};
    FOR_EACH_WIDTH(width)
    for (uint32_t turn = 0; turn < 2; turn++) {
        const uint64_t step = spread(width->key, 0.5, 1, 1) / 64;
        uint64_t *codes = must_malloc(entries * sizeof *codes), more[batch];
        const uint64_t first = (spread(width->key, 0.5, 0, 1) / step + 8) * step;
        struct subject subject;
        open_subject(&subject, kinds[turn], width->key, width->value, turn);
        for (uint64_t i = 0; i < entries; i++) codes[i] = first + random_below(&random, step);
        build_of(&subject, codes);
        for (uint64_t i = 0; i < batch; i++) more[i] = first + random_below(&random, step);
        for (uint64_t i = 0; i < 9; i++) {
            more[i * 50] = spread(width->key, 0.9, i, 9);
            more[i * 50 + 1] = first + random_below(&random, step) + 4 * step * (i % 2);
        }
        assert_int_not_equal(go(&subject, inserts[turn], more, batch), OTHERWISE);
        for (uint64_t i = 0; i < batch; i++) more[i] = first + random_below(&random, step);
        tree_of(&subject)->coarse.rest = 0;
        (void)go(&subject, inserts[turn], more, batch);
        close_subject(&subject);
    }
}

/* NaN anywhere: the first is named, and nothing changes. It is no reason to lose predictor. */
static void not_a_number(void **state)
{
    (void)state;
    static const copse_type floats[] = {COPSE_F32, COPSE_F64};
    struct random_source random = {7};
    FOR_EACH_KIND(kind)
    for (unsigned f = 0; f < COUNT_OF(floats); f++) {
        struct subject subject;
        open_subject(&subject, *kind, floats[f], COPSE_U32, f);
        build(&subject, &random, 0.5);
        for (unsigned u = 0; u < 6; u++) {
            const copse_blink_epoch *before = tree_of(&subject)->current;
            uint64_t *codes = codes_of(floats[f], &random, 0.5, batch);
            void *keys = typed_new(floats[f], batch);
            const uint64_t at = u < 2 ? 0 : u < 4 ? batch - 2 : 1100;
            const uint32_t flags = u % 2 ? COPSE_INSERT_IF_ABSENT : COPSE_INSERT_UPSERT;
            char name[32];
            for (uint64_t i = 0; i < batch; i++) typed_set_code(floats[f], keys, i, codes[i]);
            typed_set_bits(floats[f], keys, at, typed_nan_bits(floats[f]));
            typed_set_bits(floats[f], keys, batch - 1, typed_nan_bits(floats[f]));
            (void)snprintf(name, sizeof name, "keys[%llu]", (unsigned long long)at);
            assert_fails_naming(subject.ctx, COPSE_ERR_NAN, name,
                                copse_insert(subject.index, keys, NULL, batch, flags, NULL));
            if (!subject_check_content(&subject)) fail_msg("%s", subject.why);
            assert_ptr_equal(tree_of(&subject)->current, before);
            assert_int_equal(tree_of(&subject)->coarse.last_rest, 0);
            free(codes);
            free(keys);
        }
        uint64_t *codes = codes_of(floats[f], &random, 0.5, batch);
        assert_int_equal(go(&subject, OPERATION_INSERT, codes, batch), SPREAD);
        free(codes);
        close_subject(&subject);
    }
}

/* All keys in one place: done another way, and the next batches go that way at once, for longer each time; batches that are spread
 * make up for it. */
static void one_place(void **state)
{
    (void)state;
    static const enum went went[] = {IN_VAIN, OTHERWISE, IN_VAIN, OTHERWISE, OTHERWISE, IN_VAIN};
    struct random_source random = {8};
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, 0);
        build(&subject, &random, 0.5);
        for (size_t i = 0; i < COUNT_OF(went); i++) {
            const uint64_t first = spread(width->key, 0.5, 5 * i + 1, 400),
                           end = spread(width->key, 0.5, 5 * i + 2, 400);
            uint64_t codes[batch];
            for (uint64_t k = 0; k < batch; k++) codes[k] = first + random_below(&random, end - first);
            assert_int_equal(go(&subject, inserts[i % 2], codes, batch), went[i]);
        }
        assert_int_equal(tree_of(&subject)->coarse.last_rest, 4);
        tree_of(&subject)->coarse.rest = 0;
        uint64_t *codes = codes_of(width->key, &random, 0.5, batch / 2);
        assert_int_equal(go(&subject, OPERATION_INSERT, codes, batch / 2), SPREAD);
        assert_int_equal(tree_of(&subject)->coarse.last_rest, 2);
        free(codes);
        close_subject(&subject);
    }
}

/* Base leaves with other leaves behind them, or with branches: leaves are listed. */
static void chains(void **state)
{
    (void)state;
    struct random_source random = {9};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, turn++);
        build(&subject, &random, 0.5);
        for (unsigned u = 0; u < 4; u++) {
            uint64_t *codes = codes_of(width->key, &random, 0.5, batch / (u + 1));
            take_some(&subject, &random, codes, batch / (u + 1), 2 + u);
            make_chains(&subject, &random);
            assert_int_equal(go(&subject, inserts[u % 2], codes, batch / (u + 1)), SPREAD);
            free(codes);
            build(&subject, &random, 0.5);
        }
        close_subject(&subject);
    }
}

/* Base leaves that have lost most of their entries among others that have all: leaves are listed, too. */
static void thin_places(void **state)
{
    (void)state;
    struct random_source random = {10};
    uint32_t turn = 0;
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    {
        uint64_t gone[entries / 3], n = 0; /* if they were more, the tree would be packed */
        struct subject subject;
        open_subject(&subject, *kind, width->key, width->value, turn++);
        build(&subject, &random, 0.5);
        for (uint64_t i = entries / 4; n < 2600; i++)
            if (i % 3) gone[n++] = subject.model.entries[i].key;
        shuffle(&random, gone, n);
        stay(&subject, OPERATION_ERASE, gone, n);
        uint64_t *codes = codes_of(width->key, &random, 0.5, batch / 2);
        take_some(&subject, &random, codes, batch / 2, 2);
        assert_int_equal(go(&subject, inserts[turn % 2], codes, batch / 2), SPREAD);
        free(codes);
        close_subject(&subject);
    }
}

/* A batch that comes sorted makes the next one go another way, which does not sort what is, but spreads tiles as well. */
static void ascending_keys(void **state)
{
    (void)state;
    struct random_source random = {11};
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        open_subject(&subject, COPSE_STRUCTURE_BLINK, width->key, width->value, 0);
        build(&subject, &random, 0.5);
        for (unsigned turn = 0; turn < 5; turn++) {
            uint64_t codes[batch];
            for (uint64_t i = 0; i < batch; i++)
                codes[turn == 2 ? batch - 1 - i : i] = spread(width->key, 0.5, i, batch) + turn;
            assert_int_equal(go(&subject, inserts[turn % 2], codes, batch),
                             turn == 0 || turn == 3 ? SPREAD : OTHERWISE);
            assert_int_equal(tree_of(&subject)->predictor.ascending, turn != 2);
        }
        close_subject(&subject);
    }
}

/* A frozen handle is held: every batch makes a new epoch, also a small one, and the handle stays what it was. */
static void beside_a_snapshot(void **state)
{
    (void)state;
    static const uint64_t of[] = {1, 31, 33, 200, batch};
    struct random_source random = {12};
    FOR_EACH_KIND(kind)
    FOR_EACH_WIDTH(width)
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct subject subject;
        copse_index *frozen = NULL;
        open_subject(&subject, *kind, width->key, width->value, (uint32_t)i);
        build(&subject, &random, 0.5);
        if (i % 2) make_chains(&subject, &random);
        const struct unit_content before = unit_content_of(subject.index);
        assert_ok(subject.ctx, copse_freeze(subject.index, subject.ctx, &frozen));
        uint64_t *codes = codes_of(width->key, &random, 0.5, of[i]);
        assert_int_equal(go(&subject, inserts[i / 2 % 2], codes, of[i]), SPREAD);
        unit_assert_content(subject.ctx, frozen, before);
        copse_index_free(frozen);
        free(codes);
        close_subject(&subject);
    }
}

/* Fails allocation 0, 1 ... until a batch needs no more. Returns how many there were. */
static int64_t fail_each(struct subject *subject, struct random_source *random, enum operation_kind kind, bool listed,
                         bool on_device)
{
    for (int64_t at = 0; at < 150; at++) {
        uint64_t codes[batch];
        struct operation operation;
        build(subject, random, 0.5);
        if (listed) make_chains(subject, random);
        take_some(subject, random, codes, batch, 1);
        for (uint64_t i = 0; i < batch; i += 2)
            codes[i] = spread(subject->config.key_type, 0.5, i, batch) + (uint64_t)at;
        tree_of(subject)->coarse = (copse_predictor){0};
        make(&operation, subject, kind, codes, batch);
        operation.fail_device = on_device;
        operation.fail_at = at;
        operation.fail_once = true;
        operation.places = 0;
        const long long failures = subject->device_failures;
        const long long refused = atomic_load(&subject->allocator.failures);
        const enum went went = watch(subject, &operation);
        operation_free(&operation);
        if (subject->device_failures > failures || atomic_load(&subject->allocator.failures) > refused) continue;
        assert_int_equal(went, SPREAD);
        return at;
    }
    fail();
    return 0;
}

/* Wherever memory fails, the batch goes another way, or not at all, and nothing is lost. */
static void without_memory(void **state)
{
    (void)state;
    struct random_source random = {13};
    for (unsigned u = 0; u < 8; u++) {
        const struct widths *width = &widths[u % COUNT_OF(widths)];
        struct subject subject;
        open_subject(&subject, kinds[u / 2 % 2], width->key, width->value, 2);
        assert_true(fail_each(&subject, &random, inserts[u % 2], u >= 4, true) > 6);
        (void)fail_each(&subject, &random, inserts[u % 2], u >= 4, false);
        close_subject(&subject);
    }
}

/* --- tiles that are full ------------------------------------------------------------------------------------------------------- */

/* Entries of a base leaf, which lies in the emulated device's memory: this process has it, too. */
static uint32_t entries_of_base_leaf(const struct subject *subject, uint32_t base_leaf)
{
    const copse_blink_epoch *version = tree_of(subject)->current;
    const uint32_t shift = version->view.segment_shift;
    const size_t key = typed_size(subject->config.key_type), value = typed_size(subject->config.value_type);
    const size_t at = key == value ? 56 : key == 4 ? 36 : 72; /* of the state: blink/layout.h */
    const char *leaf = (const char *)(uintptr_t)version->segments[base_leaf >> shift];
    leaf += (size_t)(base_leaf & ((1u << shift) - 1u)) * COPSE_LEAF_BYTES;
    uint32_t state = 0;
    copse_device *device = subject->index->device;
    assert_ok(subject->ctx, copse_device_read(device, device->main, &state, leaf + at, sizeof state));
    return state & COPSE_LEAF_COUNT;
}

/* Full base leaves from the first one on. */
static uint32_t full_base_leaves(const struct subject *subject)
{
    const uint32_t slots = (uint32_t)copse_blink_slots(subject->index);
    uint32_t full = 0;
    while (full < tree_of(subject)->current->view.base_leaves && entries_of_base_leaf(subject, full) == slots) full++;
    return full;
}

/* A batch of keys that the tree has, but for some that come to its first entries, and so to its first tile. It is taken to bring nothing
 * new, and gets no leaves for what it brings. */
static enum went fill_first_tile(struct subject *subject, struct random_source *random, uint64_t new_keys)
{
    enum { known = 400, near = 60 };
    uint64_t codes[known + 200];
    build(subject, random, 0.5);
    const struct model *model = &subject->model;
    for (uint64_t i = 0; i < known; i++) codes[i] = model->entries[entries / 2 + i * 7].key;
    for (uint64_t i = 0; i < new_keys; i++) codes[known + i] = model->entries[i % near].key + 1 + i / near;
    shuffle(random, codes, known + new_keys);
    tree_of(subject)->current->known = 256;
    tree_of(subject)->coarse = (copse_predictor){0};
    return go(subject, inserts[new_keys % 2], codes, known + new_keys);
}

/* As many entries as the leaves of a tile hold are stored, and fill them; one more goes another way. */
static void full_tiles(void **state)
{
    (void)state;
    uint32_t turn = 0;
    FOR_EACH_WIDTH(width)
    {
        struct subject subject;
        enum went went = OTHERWISE;
        open_subject(&subject, kinds[turn / 2 % 2], width->key, width->value, 2 * turn);
        turn++;
        const uint64_t slots = copse_blink_slots(subject.index);
        const uint64_t packed = COPSE_TILE_LEAVES / 2 * copse_blink_packed_two(subject.index);
        /* A tile gets a leaf for each that it has, or one less. */
        uint64_t n = COPSE_TILE_LEAVES * slots - packed + 1;
        while (went != SPREAD) {
            struct random_source random = {14};
            went = fill_first_tile(&subject, &random, --n);
            assert_int_not_equal(went, OTHERWISE);
        }
        assert_true(n > (COPSE_TILE_LEAVES - 2) * slots - packed);
        assert_int_equal(packed + n, full_base_leaves(&subject) * slots);
        close_subject(&subject);
    }
}

/* --- keys that the sort did not expect ------------------------------------------------------------------------------------------ */

/* All keys of the tree are below 2^16, and one of the batch is not: a sort by 16 bits puts it among those of the last tile, where it
 * would be in range, but out of order. */
static void stray_key(void **state)
{
    (void)state;
    enum { keys = 31000, more = 26000, stray = 0x10000 };
    static uint32_t tree[keys], come[more], found[more];
    static uint8_t there[more];
    copse_ctx *ctx = unit_context(1);
    struct random_source random = {11};
    for (uint32_t near = 9; near < 80; near += 10) {
        const struct unit_tree kind = {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED};
        copse_index *index = unit_index(ctx, kind, COPSE_U32, COPSE_U32, false);
        for (uint32_t i = 0; i < keys; i++) tree[i] = i == 0 ? 0 : 2 * i + 1000;
        assert_ok(ctx, copse_build(index, tree, tree, keys));
        const uint32_t last = tree[keys - 1];
        for (uint32_t i = 0; i < more; i++) come[i] = i == 1 ? stray + last - near : last - 1 - 2 * i;
        for (uint32_t i = more - 1; i > 0; i--) {
            const uint32_t j = (uint32_t)random_below(&random, i + 1), key = come[i];
            come[i] = come[j];
            come[j] = key;
        }
        uint64_t inserted = 0;
        assert_ok(ctx, copse_insert(index, come, come, more, 0, &inserted));
        assert_int_equal(inserted, more);
        assert_ok(ctx, copse_verify(index));
        assert_ok(ctx, copse_find(index, come, more, found, there));
        for (uint32_t i = 0; i < more; i++) assert_true(there[i] && found[i] == come[i]);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),        cmocka_unit_test(sizes),
        cmocka_unit_test(known_keys),       cmocka_unit_test(equal_keys),
        cmocka_unit_test(beyond_both_ends), cmocka_unit_test(beyond_the_bits),
        cmocka_unit_test(not_a_number),     cmocka_unit_test(one_place),
        cmocka_unit_test(chains),           cmocka_unit_test(thin_places),
        cmocka_unit_test(ascending_keys),   cmocka_unit_test(beside_a_snapshot),
        cmocka_unit_test(without_memory),   cmocka_unit_test(stray_key),
        cmocka_unit_test(full_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
