/* Sequences of batches on one index beside its model (tests/support). The batches are made for contention: many operations
 * on few keys or on one leaf, waves that split leaves at one end and empty them at the other, sizes from one key to more
 * than the index holds, so that every way of applying a batch is met. Frozen handles and views of the index are held for a
 * while and asked, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "shrink.h"
#include "stress.h"
#include "subject.h"

#define SHARES         3 /* frozen handles and views held at a time */
#define SHRINK_SECONDS 30.0
#define PRINTED_STEPS  12
/* Entries that the steps of a round handle in all: those of the batch, and those of the index when all are compared. */
#define EMULATED_WORK 60000
#define GPU_WORK      6000000
#define MOST_STEPS    150u
/* Entries that the answers of one range or aggregate operation may visit. */
#define SPAN_BUDGET 300000

/* A frozen handle or a view: an index that is only read, with a model of its own. */
struct share {
    struct subject subject;
    bool held;
    bool view;
    bool own_context;
};

struct sequence {
    const struct stress_round *round;
    struct stress_result *result;
    struct random_source random;
    struct subject subject;
    struct scenario done; /* the operations so far, for shrinking */
    struct key_source keys;
    struct share shares[SHARES];
    bool views_absent;
    bool emulated;
    unsigned size_bits;
    uint64_t most_entries;
    uint64_t updates; /* of ten steps, so many change the index */
    uint64_t work;    /* left */
};

static const struct model *model_of(const struct sequence *sequence)
{
    return &sequence->subject.model;
}

/* --- configuration ------------------------------------------------------------------------------------------------------------ */

static struct subject_config draw_config(struct sequence *sequence)
{
    struct random_source *random = &sequence->random;
    struct subject_config config = {.structure = sequence->round->structure, .placement = sequence->round->placement};
    config.key_type = typed_key_types[random_below(random, TYPED_KEY_TYPES)];
    config.value_type = typed_value_types[random_below(random, TYPED_VALUE_TYPES)];
    config.memory = (enum placed_memory)random_below(random, PLACED_MEMORIES);
    uint32_t threads = 1u << random_below(random, 3);
    config.threads = sequence->round->threads ? sequence->round->threads : threads;
    config.huge_pages = COPSE_HUGE_PAGES_OFF;
    config.simt_seed = random_one_in(random, 8) ? 0 : random_next(random) >> 32;
    config.processors = (uint32_t)random_below(random, 4);
    config.stream = random_one_in(random, 4);
    config.transfer = random_one_in(random, 4) ? (uint32_t)random_below(random, 512) : 0;
    config.own_allocator = random_one_in(random, 4);
    config.ways = random_one_in(random, 2) ? (uint32_t)random_below(random, 18) : 0;
    return config;
}

/* Few keys more often than the patterns alone would have it, in spaces from one key to thousands. */
static void draw_keys(struct sequence *sequence)
{
    static const uint64_t spaces[] = {1, 2, 7, 31, 33, 64, 130, 1000, 5000, 40000};
    struct random_source *random = &sequence->random;
    struct key_source *keys = &sequence->keys;
    key_source_init(keys, sequence->subject.config.key_type, false, random);
    keys->domain = spaces[random_below(random, sizeof spaces / sizeof *spaces)];
    if (random_one_in(random, 3)) keys->main_pattern = random_one_in(random, 3) ? KEYS_FEW : KEYS_HOT;
}

/* --- batches ------------------------------------------------------------------------------------------------------------------- */

static uint64_t draw_present(struct sequence *sequence)
{
    const struct model *model = model_of(sequence);
    struct random_source *random = &sequence->random;
    if (!model->n) return key_draw(&sequence->keys, random);
    uint64_t code = model->entries[random_below(random, model->n)].key, step = random_below(random, 8);
    return key_clip(&sequence->keys, step == 0 ? code - 1 : step == 1 ? code + 1 : code);
}

/* Fills `few` with keys that all operations of a batch will be on; 0: anywhere. */
static uint64_t draw_few(struct sequence *sequence, uint64_t few[64])
{
    struct random_source *random = &sequence->random;
    const struct model *model = model_of(sequence);
    uint64_t n = random_one_in(random, 2) ? 1 + random_below(random, random_one_in(random, 2) ? 3 : 64) : 0;
    bool neighbours = random_one_in(random, 2) && model->n;
    uint64_t start = random_below(random, model->n);
    for (uint64_t i = 0; i < n; i++)
        few[i] = neighbours ? key_clip(&sequence->keys, model->entries[(start + i / 2) % model->n].key + i % 2)
                            : draw_present(sequence);
    return n;
}

static int by_code(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Small numbers, so that sums stay exact in every type; each value tells which batch and position it came from. */
static uint64_t draw_value(const struct sequence *sequence, uint64_t i)
{
    return typed_position_bits(sequence->subject.config.value_type, (sequence->done.n * 977 + i) % 1000000);
}

static void fill_update(struct sequence *sequence, struct operation *operation)
{
    struct random_source *random = &sequence->random;
    const struct model *model = model_of(sequence);
    uint64_t few[64], few_n = draw_few(sequence, few), start = random_below(random, model->n);
    bool run = operation->kind == OPERATION_ERASE && random_one_in(random, 3) && model->n;
    bool present = operation->kind == OPERATION_ERASE || random_one_in(random, 3);
    key_source_vary(&sequence->keys, random);
    for (uint64_t i = 0; i < operation->n; i++) {
        uint64_t code = few_n ? few[random_below(random, few_n)] : 0;
        if (!few_n) code = present ? draw_present(sequence) : key_draw(&sequence->keys, random);
        if (run) code = model->entries[(start + i) % model->n].key;
        operation->first[i] = code;
        operation->second[i] = draw_value(sequence, i);
        if (operation->codes) operation->codes[i] = (uint8_t)random_below(random, 4);
    }
    if (operation->n && random_one_in(random, 4)) qsort(operation->first, operation->n, sizeof(uint64_t), by_code);
    if (operation->kind != OPERATION_ERASE) return;
    free(operation->second);
    operation->second = NULL;
}

static void fill_bounds(struct sequence *sequence, struct operation *operation)
{
    struct random_source *random = &sequence->random;
    const struct model *model = model_of(sequence);
    uint64_t budget = SPAN_BUDGET;
    if (operation->kind == OPERATION_RANGE && random_one_in(random, 2)) operation->limit = random_below(random, 12);
    for (uint64_t i = 0; i < operation->n; i++) {
        uint64_t low = draw_present(sequence), at = model_rank(model, low);
        uint64_t width = random_below(random, random_one_in(random, 8) ? model->n + 1 : 60);
        if (at + width > model->n) width = model->n - at;
        if (width > budget) width = 0;
        budget -= width;
        operation->first[i] = low;
        operation->second[i] = at + width < model->n ? model->entries[at + width].key : draw_present(sequence);
        struct model_span span = model_range(model, low, operation->second[i], operation->limit);
        if (span.last - span.first > width + 1) operation->second[i] = low;
    }
}

static enum operation_kind draw_kind(struct sequence *sequence)
{
    static const enum operation_kind updates[] = {OPERATION_INSERT, OPERATION_INSERT, OPERATION_INSERT_IF_ABSENT,
                                                  OPERATION_ERASE,  OPERATION_ERASE,  OPERATION_APPLY,
                                                  OPERATION_APPLY,  OPERATION_APPLY};
    struct random_source *random = &sequence->random;
    bool away = sequence->subject.config.placement != sequence->round->placement;
    if (random_one_in(random, away ? 3 : 40)) return OPERATION_MOVE;
    if (random_one_in(random, 40)) return OPERATION_SAVE_LOAD;
    if (random_one_in(random, 40)) return OPERATION_BUILD;
    if (random_below(random, 10) < sequence->updates) return updates[random_below(random, 8)];
    return OPERATION_FIND + (enum operation_kind)random_below(random, OPERATION_SAVE_LOAD - OPERATION_FIND);
}

static void draw_operation(struct sequence *sequence, enum operation_kind kind, uint64_t n, struct operation *operation)
{
    struct random_source *random = &sequence->random;
    if (kind >= OPERATION_VISIT) n = 0;
    if (kind == OPERATION_CURSOR && n > 4) n = 4;
    if (operation_updates(kind) && model_of(sequence)->n > sequence->most_entries && kind != OPERATION_BUILD)
        kind = OPERATION_ERASE;
    operation_init(operation, kind, n);
    operation->places = (uint32_t)random_next(random);
    operation->omit = random_one_in(random, 6) ? (uint32_t)random_below(random, 16) : 0;
    if (kind == OPERATION_CURSOR) operation->limit = 1 + random_below(random, 300);
    if (kind == OPERATION_MOVE || kind == OPERATION_SAVE_LOAD) operation->target = sequence->round->placement;
    if (kind == OPERATION_SAVE_LOAD) operation->limit = sequence->round->structure;
    if (kind == OPERATION_MOVE && sequence->subject.config.placement == sequence->round->placement)
        operation->target = COPSE_PLACEMENT_CPU;
    if (operation_updates(kind))
        fill_update(sequence, operation);
    else if (operation_has_bounds(kind))
        fill_bounds(sequence, operation);
    else
        for (uint64_t i = 0; i < n; i++)
            operation->first[i] = random_one_in(random, 4) ? key_draw(&sequence->keys, random) : draw_present(sequence);
}

/* --- frozen handles and views -------------------------------------------------------------------------------------------------- */

static bool fail(struct sequence *sequence, const char *where, const char *why)
{
    (void)snprintf(sequence->result->where, sizeof sequence->result->where, "%s", where);
    (void)snprintf(sequence->result->why, sizeof sequence->result->why, "%s", why);
    return false;
}

static bool share_close(struct sequence *sequence, struct share *share)
{
    if (!share->held) return true;
    share->held = false;
    if (share->own_context)
        return subject_close(&share->subject) || fail(sequence, "freeing a frozen handle or view", share->subject.why);
    copse_index_free(share->subject.index);
    model_free(&share->subject.model);
    return true;
}

static bool close_shares(struct sequence *sequence, bool views_only)
{
    bool right = true;
    for (int i = 0; i < SHARES; i++)
        if (sequence->shares[i].view || !views_only) right = share_close(sequence, &sequence->shares[i]) && right;
    return right;
}

/* A subject with a context, for the index that is to come; or in the index's own context. */
static bool share_open(struct sequence *sequence, struct share *share)
{
    struct subject_config config = sequence->subject.config;
    memset(share, 0, sizeof *share);
    share->view = !sequence->views_absent && random_one_in(&sequence->random, 2);
    share->own_context = share->view || random_one_in(&sequence->random, 2);
    if (share->own_context) {
        config.simt_seed = random_next(&sequence->random) >> 32;
        if (!subject_open(&share->subject, &config)) return fail(sequence, "a second index", share->subject.why);
        copse_index_free(share->subject.index);
        share->subject.index = NULL;
        model_free(&share->subject.model);
    } else {
        share->subject = sequence->subject;
        share->subject.index = NULL;
        share->subject.file = NULL; /* that of the index, which closes it with its next update */
    }
    model_copy(&share->subject.model, model_of(sequence));
    share->held = true;
    return true;
}

static bool share_take(struct sequence *sequence, struct share *share)
{
    if (!share_close(sequence, share) || !share_open(sequence, share)) return false;
    struct subject *subject = &share->subject;
    const char *name = share->view ? "copse_index_view" : "copse_freeze";
    copse_status status = share->view ? copse_index_view(sequence->subject.index, subject->ctx, &subject->index)
                                      : copse_freeze(sequence->subject.index, subject->ctx, &subject->index);
    sequence->result->operations++;
    if (status == COPSE_OK) {
        if (sequence->round->lie == LIE_FROZEN && subject->model.n) subject->model.entries[0].value ^= 1;
        return true;
    }
    if (status != COPSE_ERR_UNSUPPORTED) (void)fail(sequence, name, copse_last_error(subject->ctx));
    subject->index = NULL;
    if (share->view)
        sequence->views_absent = true;
    else
        sequence->result->freezing_absent = true;
    return share_close(sequence, share) && status == COPSE_ERR_UNSUPPORTED;
}

/* Asks a frozen handle, which is as it was, or a view, which is as the index is now. */
static bool share_ask(struct sequence *sequence, struct share *share)
{
    struct operation operation;
    uint64_t zero = 0;
    if (share->view) {
        model_free(&share->subject.model);
        model_copy(&share->subject.model, model_of(sequence));
    }
    enum operation_kind kind =
        OPERATION_FIND + (enum operation_kind)random_below(&sequence->random, OPERATION_SAVE_LOAD - OPERATION_FIND);
    draw_operation(sequence, kind, stress_size(&sequence->random, sequence->size_bits), &operation);
    bool right = subject_run(&share->subject, &operation) && subject_check_content(&share->subject);
    operation_free(&operation);
    sequence->result->operations += 2;
    sequence->work -= sequence->work > share->subject.model.n ? share->subject.model.n : sequence->work;
    if (!right) return fail(sequence, share->view ? "a view" : "a frozen handle", share->subject.why);
    if (copse_erase(share->subject.index, &zero, 1, NULL) == COPSE_ERR_UNSUPPORTED) return true;
    return fail(sequence, share->view ? "a view" : "a frozen handle", "takes an update");
}

/* Now and then takes one, asks one, or lets one go. */
static bool share_step(struct sequence *sequence)
{
    struct share *share = &sequence->shares[random_below(&sequence->random, SHARES)];
    if (!share->held && sequence->result->freezing_absent && sequence->views_absent) return true;
    if (!share->held) return share_take(sequence, share);
    if (random_one_in(&sequence->random, 6)) return share_close(sequence, share);
    return share_ask(sequence, share);
}

/* --- a round --------------------------------------------------------------------------------------------------------------- */

static bool step(struct sequence *sequence, enum operation_kind kind, uint64_t n)
{
    struct operation operation;
    draw_operation(sequence, kind, n, &operation);
    /* what a view sees of these is not said */
    bool apart = operation.kind == OPERATION_MOVE || operation.kind == OPERATION_SAVE_LOAD;
    scenario_add(&sequence->done, &operation);
    if (apart && !close_shares(sequence, true)) return false;
    (void)snprintf(sequence->result->where, sizeof sequence->result->where, "step %zu, %s of %llu", sequence->done.n,
                   operation_name(operation.kind), (unsigned long long)operation.n);
    bool right = subject_run(&sequence->subject, &operation);
    if (!right) memcpy(sequence->result->why, sequence->subject.why, sizeof sequence->result->why);
    sequence->result->operations++;
    uint64_t cost = operation.n + (operation_updates(operation.kind) ? model_of(sequence)->n : 0) + 20;
    sequence->work -= sequence->work > cost ? cost : sequence->work;
    return right;
}

static bool run(struct sequence *sequence)
{
    struct random_source *random = &sequence->random;
    uint64_t first = random_one_in(random, 4) ? 0 : stress_size(random, sequence->size_bits + 1);
    bool right = step(sequence, random_one_in(random, 2) ? OPERATION_BUILD : OPERATION_INSERT, first);
    for (unsigned i = 0; right && i < MOST_STEPS && sequence->work; i++) {
        right = step(sequence, draw_kind(sequence), stress_size(random, sequence->size_bits));
        if (right && random_one_in(random, 5)) right = share_step(sequence);
    }
    for (int i = 0; right && i < SHARES; i++)
        if (sequence->shares[i].held && sequence->shares[i].subject.index)
            right = share_ask(sequence, &sequence->shares[i]);
    return right;
}

/* Prints the smallest sequence that still fails. One that depends on how threads ran may not fail again. */
static void print_shrunken(struct sequence *sequence)
{
    struct scenario_result result = scenario_run(&sequence->done, false);
    if (result.right) {
        (void)printf("  the same operations did not fail when they were repeated by themselves\n");
        return;
    }
    shrink(&sequence->done, &result, false, SHRINK_SECONDS);
    (void)printf("  shrunken to %zu operations:\n", sequence->done.n);
    if (sequence->done.n <= PRINTED_STEPS) scenario_print(&sequence->done, stdout);
    (void)printf("    -> %s\n", result.why);
    (void)fflush(stdout);
}

static void describe(struct sequence *sequence)
{
    const struct subject_config *config = &sequence->subject.config;
    (void)snprintf(sequence->result->what, sizeof sequence->result->what,
                   "keys %s, values %s, batches up to 2^%u, memory %s, %u thread%s, ways %u, order %llu",
                   typed_name(config->key_type), typed_name(config->value_type), sequence->size_bits,
                   placed_memory_name(config->memory), config->threads, config->threads == 1 ? "" : "s", config->ways,
                   (unsigned long long)config->simt_seed);
}

void stress_inside(const struct stress_round *round, struct stress_result *result)
{
    struct sequence *sequence = must_malloc(sizeof *sequence);
    memset(sequence, 0, sizeof *sequence);
    sequence->round = round;
    sequence->result = result;
    sequence->random.state = round->seed;
    sequence->emulated = round->placement == COPSE_PLACEMENT_EMULATED;
    struct subject_config config = draw_config(sequence);
    sequence->size_bits = 3 + (unsigned)random_below(&sequence->random, sequence->emulated ? 10 : 15);
    if (sequence->emulated && random_one_in(&sequence->random, 50)) sequence->size_bits = 17; /* takes seconds */
    sequence->most_entries = sequence->emulated ? 10000 : 400000;
    sequence->updates = 3 + random_below(&sequence->random, 7);
    sequence->work = sequence->emulated ? EMULATED_WORK : GPU_WORK;
    scenario_init(&sequence->done, &config);
    result->run = true;
    result->right = subject_open(&sequence->subject, &config) || fail(sequence, "opening", sequence->subject.why);
    sequence->subject.planted_bug = round->lie == LIE_MODEL;
    describe(sequence);
    draw_keys(sequence);
    if (result->right) result->right = run(sequence);
    if (!close_shares(sequence, false)) result->right = false;
    if (!subject_close(&sequence->subject) && result->right)
        result->right = fail(sequence, "freeing all", sequence->subject.why);
    if (!result->right && !round->quiet) print_shrunken(sequence);
    scenario_free(&sequence->done);
    free(sequence);
}
