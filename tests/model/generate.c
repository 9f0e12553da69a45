#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "random.h"
#include "trees.h"

/* Entries that the answers of one range or aggregate operation may visit: bounds the work of the model. */
#define SPAN_BUDGET 1000000

struct generator {
    struct scenario *scenario;
    struct random_source random;
    enum profile profile;
    struct key_source keys;
    struct model shadow; /* what the index should hold by now: to query and erase what is there */
    bool away;           /* a device's index has gone to the CPU, or to another structure */
};

static bool on_device(const struct generator *generator)
{
    return generator->scenario->config.placement != COPSE_PLACEMENT_CPU;
}

static uint64_t boundary_size(struct random_source *random, bool slow)
{
    static const uint64_t bases[] = {1, 4, 5, 8, 60, 64, 72, 75, 80, 120, 128, 136};
    static const uint64_t factors[] = {1, 1, 1, 2, 8, 9, 16, 17, 64, 72, 81, 136, 144, 256, 289};
    /* seldom the large ones */
    uint64_t kinds = random_one_in(random, 4) && !slow ? sizeof factors / sizeof *factors : 10;
    uint64_t size = bases[random_below(random, sizeof bases / sizeof *bases)] * factors[random_below(random, kinds)];
    return size + random_below(random, 3) - 1;
}

/* The emulator takes some hundred times as long as a core for an operation, and so does a card under a sanitizer. */
static uint64_t small_batch_size(struct generator *generator, bool first)
{
    struct random_source *random = &generator->random;
    switch (generator->profile) {
    case PROFILE_TINY:
        return random_below(random, random_one_in(random, 4) ? 60 : 12);
    case PROFILE_BOUNDARY:
        if (first) return boundary_size(random, true);
        return random_one_in(random, 6) ? boundary_size(random, true) % 3000 : random_below(random, 200);
    case PROFILE_MEDIUM:
        return random_below(random, first ? 3000 : random_one_in(random, 3) ? 1200 : 200);
    case PROFILE_LARGE:
        if (first) return 10000 + random_below(random, 20001);
        return random_one_in(random, 4) ? 4000 + random_below(random, 5000) : random_below(random, 1000);
    }
    return 0;
}

static uint64_t batch_size(struct generator *generator, bool first)
{
    struct random_source *random = &generator->random;
    if (generator->scenario->small) return small_batch_size(generator, first);
    switch (generator->profile) {
    case PROFILE_TINY:
        return random_below(random, random_one_in(random, 4) ? 60 : 12);
    case PROFILE_BOUNDARY:
        return first || random_one_in(random, 3) ? boundary_size(random, false) : random_below(random, 200);
    case PROFILE_MEDIUM:
        return random_below(random, first ? 8000 : random_one_in(random, 2) ? 3000 : 300);
    case PROFILE_LARGE:
        if (first) return 50000 + random_below(random, 150001);
        return random_one_in(random, 3) ? 100000 + random_below(random, 60000) : random_below(random, 5000);
    }
    return 0;
}

static uint64_t draw_value(struct generator *generator)
{
    struct random_source *random = &generator->random;
    copse_type type = generator->scenario->config.value_type;
    if (type == COPSE_NONE) return 0;
    uint64_t draw = random_next(random), mask = typed_size(type) == 4 ? UINT64_C(0xffffffff) : UINT64_MAX;
    if (typed_is_float(type)) {
        uint64_t choice = random_below(random, 400);
        if (choice == 0) return typed_nan_bits(type);
        if (choice == 1) return typed_bits_of_code(type, typed_highest_code(type));
        if (choice == 2) return typed_bits_of_code(type, typed_lowest_code(type));
        if (choice == 3) return typed_bits_of_code(type, typed_zero_code(type) - 1);
        /* random bits for any magnitude, else a number near 1000; never so large that every sum overflows */
        if (choice < 40) return type == COPSE_F32 ? draw & UINT64_C(0xbfffffff) : draw & UINT64_C(0xdfffffffffffffff);
        uint64_t bits = typed_position_bits(type, draw % 100000 + 1);
        return choice & 1 ? bits : bits | (type == COPSE_F32 ? UINT64_C(0x80000000) : UINT64_C(1) << 63);
    }
    switch (random_below(random, 4)) {
    case 0:
        return draw & mask;
    case 1:
        return (draw & 1 ? mask : mask >> 1) - draw % 3 / 2;
    case 2:
        return (0 - draw % 100) & mask;
    default:
        return draw % 1000;
    }
}

static int by_code(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* A code of an entry that is there, or beside one. */
static uint64_t draw_present(struct generator *generator)
{
    struct random_source *random = &generator->random;
    if (!generator->shadow.n) return key_draw(&generator->keys, random);
    uint64_t code = generator->shadow.entries[random_below(random, generator->shadow.n)].key;
    uint64_t step = random_below(random, 6);
    if (step == 0) code--;
    if (step == 1) code++;
    return key_clip(&generator->keys, code);
}

static void fill_insert_keys(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    bool present = operation->kind != OPERATION_BUILD && random_one_in(random, 3);
    key_source_vary(&generator->keys, random);
    for (uint64_t i = 0; i < operation->n; i++)
        operation->first[i] =
            present && random_one_in(random, 2) ? draw_present(generator) : key_draw(&generator->keys, random);
    if (operation->n && random_one_in(random, 3)) qsort(operation->first, operation->n, sizeof(uint64_t), by_code);
    for (uint64_t i = 0; i < operation->n; i++) operation->second[i] = draw_value(generator);
    if (random_one_in(random, 8)) {
        free(operation->second);
        operation->second = NULL;
    }
}

/* Operations of every kind, or mostly of one; and many on each of a few keys, that are there or not. */
static void fill_mixed(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    uint64_t few[64], keys = random_one_in(random, 2) ? 1 + random_below(random, 64) : 0;
    const bool set = generator->scenario->config.value_type == COPSE_NONE;
    const bool adds = random_one_in(random, set ? 40 : 2); /* a set takes none, and is seldom asked for one */
    uint8_t favourite = (uint8_t)random_below(random, adds ? 5 : 4);
    uint64_t favour = random_one_in(random, 2) ? 1 + random_below(random, 8) : 0;
    fill_insert_keys(generator, operation);
    for (uint64_t i = 0; i < keys; i++)
        few[i] = random_one_in(random, 2) ? draw_present(generator) : key_draw(&generator->keys, random);
    for (uint64_t i = 0; i < operation->n; i++) {
        if (keys) operation->first[i] = few[random_below(random, keys)];
        operation->codes[i] = (uint8_t)random_below(random, adds ? 5 : 4);
        if (favour && !random_one_in(random, favour + 1)) operation->codes[i] = favourite;
        if (!operation->second && operation->codes[i] != COPSE_OP_ERASE && !random_one_in(random, 2000))
            operation->codes[i] = COPSE_OP_FIND; /* no values: mostly finds and erases, seldom a mistake */
    }
    if (random_one_in(random, 40)) operation->limit = 1 + random_below(random, 1 << 20);
}

/* Pairs that are there, some of them twice, and pairs that are not. */
static void fill_pairs(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    const struct model *shadow = &generator->shadow;
    uint64_t start = random_below(random, shadow->n), step = random_below(random, 3), others = random_below(random, 4);
    for (uint64_t i = 0; i < operation->n; i++) {
        uint64_t at = shadow->n ? (start + i * step) % shadow->n : 0;
        if (shadow->n && random_one_in(random, 8)) at = random_below(random, shadow->n);
        operation->first[i] = shadow->n ? shadow->entries[at].key : key_draw(&generator->keys, random);
        operation->second[i] = shadow->n ? shadow->entries[at].value : draw_value(generator);
        if (others && random_one_in(random, 1 + others)) operation->first[i] = draw_present(generator);
        if (others && random_one_in(random, 1 + others)) operation->second[i] = draw_value(generator);
    }
}

/* Erase single keys, a run of neighbours, everything, or what is not there. */
static void fill_erase_keys(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    const struct model *shadow = &generator->shadow;
    uint64_t choice = random_below(random, 4);
    uint64_t start = random_below(random, shadow->n);
    for (uint64_t i = 0; i < operation->n; i++) {
        if (choice == 0 && shadow->n)
            operation->first[i] = shadow->entries[(start + i) % shadow->n].key;
        else if (choice == 1 && random_one_in(random, 2))
            operation->first[i] = key_draw(&generator->keys, random);
        else
            operation->first[i] = draw_present(generator);
    }
    free(operation->second);
    operation->second = NULL;
}

static void fill_bounds(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    const struct model *shadow = &generator->shadow;
    uint64_t budget = SPAN_BUDGET;
    /* Without an end a range may hold everything: few of them, or where the limit does not keep them short, none. */
    const uint64_t most = operation->limit ? operation->limit : shadow->n;
    if (operation->kind != OPERATION_COUNT && operation->n * (most + 1) > SPAN_BUDGET)
        operation->ends &= ~(OPERATION_NO_LOWS | OPERATION_NO_HIGHS);
    for (uint64_t i = 0; i < operation->n; i++) {
        uint64_t low = draw_present(generator), high = draw_present(generator);
        uint64_t at = model_rank(shadow, low), width = random_below(random, 40);
        if (i >= 8 && at + width < shadow->n) high = shadow->entries[at + width].key;
        if (random_one_in(random, 16)) low = typed_lowest_code(shadow->key_type);
        if (random_one_in(random, 16)) high = typed_highest_code(shadow->key_type);
        if (low > high && !random_one_in(random, 4)) {
            uint64_t swap = low;
            low = high;
            high = swap;
        }
        struct model_span span = model_range(shadow, low, high, operation->limit);
        if (operation->kind != OPERATION_COUNT && span.last - span.first > budget) {
            low = typed_highest_code(shadow->key_type);
            high = typed_lowest_code(shadow->key_type);
        } else {
            budget -= operation->kind != OPERATION_COUNT ? span.last - span.first : 0;
        }
        operation->first[i] = low;
        operation->second[i] = high;
    }
}

/* Erase a stretch anywhere or at one end, many short ones that overlap, or everything. */
static void fill_erase_ranges(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    const struct model *shadow = &generator->shadow;
    const uint64_t choice = random_below(random, 8), entries = shadow->n;
    const bool many = choice < 3, end = choice == 3 || choice == 4, all = choice == 5 && random_one_in(random, 4);
    if (!many && operation->n > 1) operation->n = 1 + random_below(random, 2);
    if (!random_one_in(random, 6)) operation->ends &= ~(OPERATION_NO_LOWS | OPERATION_NO_HIGHS);
    for (uint64_t i = 0; i < operation->n; i++) {
        const uint64_t width = random_below(random, many ? 8 : 1 + entries / (1 + random_below(random, 8)));
        uint64_t low = draw_present(generator), high = draw_present(generator);
        const uint64_t at = end ? choice == 3 ? 0 : entries - width : model_rank(shadow, low);
        if (entries && at < entries) low = shadow->entries[at].key;
        if (entries && at < entries) high = shadow->entries[at + width < entries ? at + width : entries - 1].key;
        if (all || (end && choice == 3)) low = typed_lowest_code(shadow->key_type);
        if (all || (end && choice == 4)) high = typed_highest_code(shadow->key_type);
        const bool falls = random_one_in(random, 16); /* an empty range */
        operation->first[i] = falls ? high : low;
        operation->second[i] = falls ? low : high;
    }
}

static void add_faults(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    if (random_one_in(random, 24)) operation->nan_at = (int64_t)random_below(random, 1 << 20);
    if (generator->scenario->config.own_allocator && random_one_in(random, 5))
        operation->fail_at = (int64_t)random_below(random, random_one_in(random, 3) ? 40 : 6);
    operation->fail_once = random_one_in(random, 2);
    if (on_device(generator) && random_one_in(random, 6)) {
        operation->fail_at = (int64_t)random_below(random, random_one_in(random, 3) ? 20 : 4);
        operation->fail_device = true;
    }
    if (operation_updates(operation->kind) && random_one_in(random, 12))
        operation->cancel_at = (int64_t)random_below(random, random_one_in(random, 3) ? 12 : 2);
}

static bool will_succeed(const struct generator *generator, const struct operation *operation)
{
    if (operation->codes && (operation->limit || !operation->second)) return false;
    for (uint64_t i = 0; operation->codes && generator->shadow.value_type == COPSE_NONE && i < operation->n; i++)
        if (operation->codes[i] == COPSE_OP_ADD) return false;
    bool nan = operation->nan_at >= 0 && typed_is_float(generator->scenario->config.key_type) && operation->n;
    return !nan && operation->fail_at < 0 && operation->cancel_at < 0;
}

static void follow_mixed(struct model *shadow, const struct operation *operation, const void *keys, const void *values)
{
    uint64_t *old = must_malloc(operation->n * sizeof *old);
    uint8_t *found = must_malloc(operation->n);
    model_apply(shadow, operation->codes, keys, values, operation->n, old, found);
    free(old);
    free(found);
}

/* The shadow follows the updates, so that later operations meet what is there. */
static void follow(struct generator *generator, const struct operation *operation)
{
    struct model *shadow = &generator->shadow;
    if (!operation_updates(operation->kind) || !will_succeed(generator, operation)) return;
    if (operation->kind == OPERATION_MAP) return; /* keys stay as they are */
    if (operation->kind == OPERATION_ERASE_RANGE) {
        (void)operation_erase_range(operation, shadow);
        return;
    }
    void *keys = typed_new(shadow->key_type, operation->n);
    for (uint64_t i = 0; i < operation->n; i++) typed_set_code(shadow->key_type, keys, i, operation->first[i]);
    void *values = operation->second ? typed_new(shadow->value_type, operation->n) : NULL;
    for (uint64_t i = 0; values && i < operation->n; i++)
        typed_set_bits(shadow->value_type, values, i, operation->second[i]);
    if (operation->kind == OPERATION_APPLY) follow_mixed(shadow, operation, keys, values);
    if (operation->kind == OPERATION_BUILD || operation->kind == OPERATION_CLEAR)
        model_build(shadow, keys, values, operation->n);
    if (operation->kind == OPERATION_ERASE_PAIRS) (void)model_erase_pairs(shadow, keys, values, operation->n);
    if (operation->kind == OPERATION_ERASE) (void)model_erase(shadow, keys, operation->n);
    if (operation->kind == OPERATION_INSERT) (void)model_insert(shadow, keys, values, operation->n, 0);
    if (operation->kind == OPERATION_INSERT_IF_ABSENT)
        (void)model_insert(shadow, keys, values, operation->n, COPSE_INSERT_IF_ABSENT);
    free(values);
    free(keys);
}

/* One that keeps what there is. */
static copse_structure draw_structure(struct generator *generator, copse_placement placement)
{
    const bool duplicates = generator->scenario->config.duplicates;
    const struct trees trees = trees_that(placement, duplicates ? COPSE_CAN_KEEP_DUPLICATES : COPSE_CAN_EXIST);
    return trees.structure[random_below(&generator->random, trees.n)];
}

/* Where to load a snapshot or move an index of a device to; mostly the way back, when it is away. */
static void fill_target(struct generator *generator, struct operation *operation)
{
    struct random_source *random = &generator->random;
    uint32_t made_at = generator->scenario->config.placement;
    if (operation->kind == OPERATION_MOVE) {
        operation->target = generator->away || random_one_in(random, 8) ? made_at : COPSE_PLACEMENT_CPU;
        generator->away = operation->target != made_at;
        return;
    }
    static const uint32_t others[] = {COPSE_PLACEMENT_AUTO, COPSE_PLACEMENT_CPU};
    bool other = random_one_in(random, 6);
    operation->target = random_one_in(random, 2) ? made_at : others[random_below(random, 2)];
    operation->limit = other ? draw_structure(generator, COPSE_PLACEMENT_CPU) : generator->scenario->config.structure;
    generator->away = other || operation->target != made_at;
}

/* Keys that repeat often may be too many entries together. */
static void limit_rows(const struct generator *generator, struct operation *operation)
{
    const struct model *shadow = &generator->shadow;
    uint64_t n = 0;
    for (uint64_t rows = 0; n < operation->n; n++) {
        rows += model_rank_after(shadow, operation->first[n]) - model_rank(shadow, operation->first[n]);
        if (rows > SPAN_BUDGET) break;
    }
    operation->n = n;
}

static void add_operation(struct generator *generator, enum operation_kind kind, uint64_t n, bool faults)
{
    struct random_source *random = &generator->random;
    struct operation operation;
    if (!operation_has_keys(kind)) n = 0;
    if (kind == OPERATION_CURSOR && n > (on_device(generator) ? 4 : 16)) n = on_device(generator) ? 4 : 16;
    operation_init(&operation, kind, n);
    operation.omit = random_one_in(random, 4) ? (uint32_t)random_below(random, 16) : 0;
    if (kind == OPERATION_RANGE && random_one_in(random, 2)) operation.limit = random_below(random, 12);
    if (kind == OPERATION_CURSOR) operation.limit = random_below(random, random_one_in(random, 2) ? 1000 : 10);
    if (kind == OPERATION_ENDS) operation.limit = random_below(random, random_one_in(random, 2) ? 3000 : 20);
    if (random_one_in(random, 2)) operation.ends = (uint32_t)random_below(random, OPERATION_ALL_ENDS + 1);
    if (kind == OPERATION_VISIT && random_one_in(random, 3)) operation.limit = random_below(random, 300);
    if (kind == OPERATION_MAP) operation.limit = random_below(random, 1000);
    if (kind == OPERATION_COPY) operation.limit = random_below(random, 2);
    const bool loads = kind == OPERATION_SAVE_LOAD || kind == OPERATION_SAVE_MEMORY;
    if (loads && random_one_in(random, 3)) operation.limit = draw_structure(generator, COPSE_PLACEMENT_CPU);
    if (on_device(generator)) operation.places = random_one_in(random, 8) ? 0 : (uint32_t)random_next(random);
    if (on_device(generator) && (loads || kind == OPERATION_MOVE)) fill_target(generator, &operation);
    if (kind == OPERATION_ERASE)
        fill_erase_keys(generator, &operation);
    else if (kind == OPERATION_ERASE_PAIRS)
        fill_pairs(generator, &operation);
    else if (kind == OPERATION_ERASE_RANGE)
        fill_erase_ranges(generator, &operation);
    else if (kind == OPERATION_APPLY)
        fill_mixed(generator, &operation);
    else if (operation_updates(kind) && kind != OPERATION_MAP)
        fill_insert_keys(generator, &operation);
    else if (operation_has_bounds(kind))
        fill_bounds(generator, &operation);
    else
        for (uint64_t i = 0; i < n; i++)
            operation.first[i] =
                random_one_in(random, 3) ? key_draw(&generator->keys, random) : draw_present(generator);
    if (kind == OPERATION_FIND_ALL) limit_rows(generator, &operation);
    if (faults) add_faults(generator, &operation);
    follow(generator, &operation);
    scenario_add(generator->scenario, &operation);
}

/* Every entry goes, in one batch or a few; then the empty index answers and is filled again. */
static void add_emptying(struct generator *generator)
{
    struct random_source *random = &generator->random;
    for (uint64_t parts = 1 + random_below(random, 3); parts; parts--) {
        const struct model *shadow = &generator->shadow;
        uint64_t n = shadow->n / parts;
        struct operation operation;
        operation_init(&operation, OPERATION_ERASE, n);
        free(operation.second);
        operation.second = NULL;
        bool from_end = random_one_in(random, 2);
        for (uint64_t i = 0; i < n; i++) operation.first[i] = shadow->entries[from_end ? shadow->n - 1 - i : i].key;
        follow(generator, &operation);
        scenario_add(generator->scenario, &operation);
    }
    for (int i = 0; i < 3; i++)
        add_operation(generator,
                      OPERATION_FIND + (enum operation_kind)random_below(random, OPERATION_KINDS - OPERATION_FIND),
                      random_below(random, 20), false);
    add_operation(generator, OPERATION_INSERT, batch_size(generator, true) % 30000, false);
}

/* A window: step by step keys come at one end, and the oldest ones, about as many, go by a range at the other. */
static void add_window(struct generator *generator)
{
    struct random_source *random = &generator->random;
    const uint64_t each = 1 + batch_size(generator, false) % (on_device(generator) ? 200 : 2000);
    for (uint64_t steps = 4 + random_below(random, 12); steps; steps--) {
        struct operation operation;
        generator->keys.pattern = KEYS_WINDOW;
        operation_init(&operation, OPERATION_INSERT, each);
        for (uint64_t i = 0; i < each; i++) {
            operation.first[i] = key_draw(&generator->keys, random);
            operation.second[i] = draw_value(generator);
        }
        follow(generator, &operation);
        scenario_add(generator->scenario, &operation);
        const struct model *shadow = &generator->shadow;
        if (!shadow->n) continue;
        operation_init(&operation, OPERATION_ERASE_RANGE, 1);
        operation.first[0] = typed_lowest_code(shadow->key_type);
        operation.second[0] = shadow->entries[each < shadow->n ? each - 1 : shadow->n - 1].key;
        operation.ends = random_one_in(random, 2) ? OPERATION_NO_LOWS : 0;
        follow(generator, &operation);
        scenario_add(generator->scenario, &operation);
        add_operation(generator, OPERATION_FIND, random_below(random, 30), false);
    }
}

static enum operation_kind draw_kind(struct generator *generator)
{
    struct random_source *random = &generator->random;
    uint64_t choice = random_below(random, 100);
    static const enum operation_kind away[] = {OPERATION_MOVE, OPERATION_MOVE, OPERATION_SAVE_LOAD,
                                               OPERATION_SAVE_MEMORY};
    if (on_device(generator) && random_one_in(random, generator->away ? 3 : 24)) return away[random_below(random, 4)];
    if (choice < 2) return random_one_in(random, 4) ? OPERATION_CLEAR : OPERATION_BUILD;
    if (choice < 18) return OPERATION_INSERT;
    if (choice < 22) return OPERATION_INSERT_IF_ABSENT;
    if (choice < 32) return OPERATION_ERASE;
    if (choice < 36) return OPERATION_ERASE_PAIRS;
    if (choice < 42) return OPERATION_ERASE_RANGE;
    if (choice < 47) return OPERATION_APPLY;
    if (choice < 48) return random_one_in(random, 2) ? OPERATION_SAVE_LOAD : OPERATION_SAVE_MEMORY;
    if (choice < 49) return OPERATION_MAP;
    if (choice < 50) return random_one_in(random, 2) ? OPERATION_COPY : OPERATION_FREEZE;
    const uint64_t read = random_below(random, OPERATION_SAVE_LOAD - OPERATION_FIND + 1);
    return read ? OPERATION_SAVE_LOAD - (enum operation_kind)read : OPERATION_FIND_ALL;
}

void generate(struct scenario *scenario, enum profile profile, uint64_t seed)
{
    static const unsigned lengths[] = {60, 24, 24, 14};
    struct generator generator = {scenario, {seed}, profile, {0}, {0}, false};
    const struct subject_config *config = &scenario->config;
    model_init(&generator.shadow, config->key_type, config->value_type, config->duplicates);
    key_source_init(&generator.keys, config->key_type, profile == PROFILE_BOUNDARY, &generator.random);
    if (scenario->pattern) {
        generator.keys.main_pattern = generator.keys.pattern = (enum key_pattern)(scenario->pattern - 1);
        generator.keys.only_main = true;
    }
    if (!random_one_in(&generator.random, 8))
        add_operation(&generator, random_one_in(&generator.random, 3) ? OPERATION_INSERT : OPERATION_BUILD,
                      batch_size(&generator, true), false);
    if (generator.keys.main_pattern == KEYS_WINDOW) add_window(&generator);
    for (unsigned i = 0; i < lengths[profile]; i++)
        add_operation(&generator, draw_kind(&generator), batch_size(&generator, false), true);
    if (random_one_in(&generator.random, 3)) add_emptying(&generator);
    model_free(&generator.shadow);
}
