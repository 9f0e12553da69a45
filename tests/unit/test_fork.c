/* After fork() the child has no threads but its own: it works with contexts of its own and with those of its parent, on the
 * CPU and on the emulator; a card stays with the parent. */
#include "unit.h"

#include "child.h"
#include "core/pool.h"
#include "device/device.h"

#include <pthread.h>

/* Parallel on both placements, and fewer than take the emulator long. */
#define KEYS 20000u

typedef struct family {
    copse_ctx *ctx;     /* the parent's */
    copse_index *index; /* the parent's */
    struct unit_tree tree;
} family;

static uint64_t keys[KEYS], values[KEYS];

static void fill(void)
{
    for (uint64_t i = 0; i < KEYS; i++) values[i] = (keys[i] = i * 7919 % KEYS * 5) + 1;
}

static copse_status make(copse_ctx *ctx, struct unit_tree tree, copse_index **out)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = options.value_type = COPSE_U64;
    options.structure = tree.structure;
    options.placement = tree.placement;
    copse_status status = copse_index_create(ctx, &options, out);
    return status == COPSE_OK ? copse_build(*out, keys, values, KEYS) : status;
}

static bool answers(const copse_index *index)
{
    uint64_t *got = calloc(KEYS, sizeof *got);
    uint8_t *found = calloc(KEYS, 1);
    bool right = got && found && copse_size(index) == KEYS && copse_find(index, keys, KEYS, got, found) == COPSE_OK &&
                 memcmp(got, values, sizeof values) == 0 && memchr(found, 0, KEYS) == NULL;
    free(got);
    free(found);
    return right;
}

static bool changes(copse_index *index)
{
    uint64_t erased = 0;
    return copse_erase(index, keys, KEYS / 2, &erased) == COPSE_OK && erased == KEYS / 2 &&
           copse_insert(index, keys, values, KEYS / 2, 0, NULL) == COPSE_OK && copse_verify(index) == COPSE_OK;
}

static void work_in_child(void *argument)
{
    const family *f = argument;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *own = NULL;
    copse_index *index = NULL;
    options.threads = 4;
    CHILD_EXPECT(copse_ctx_create(&options, &own) == COPSE_OK);
    CHILD_EXPECT(make(own, f->tree, &index) == COPSE_OK);
    CHILD_EXPECT(answers(index));
    CHILD_EXPECT(answers(f->index));
    CHILD_EXPECT(changes(f->index));
    CHILD_EXPECT(answers(f->index));
    copse_index_free(index);
    copse_ctx_free(own);
    copse_index_free(f->index);
    copse_ctx_free(f->ctx);
}

static void work_in_grandchild(void *argument)
{
    CHILD_EXPECT(answers(((const family *)argument)->index));
    CHILD_EXPECT(child_run(60, work_in_child, argument) == 0);
    work_in_child(argument);
}

static void child_works(void **state)
{
    (void)state;
    fill();
    FOR_EACH_TREE(tree)
    {
        family f = {unit_context(4), NULL, *tree};
        assert_ok(f.ctx, make(f.ctx, *tree, &f.index));
        assert_true(answers(f.index));
        assert_int_equal(child_run(60, work_in_child, &f), 0);
        assert_true(answers(f.index)); /* and the parent goes on */
        copse_index_free(f.index);
        copse_ctx_free(f.ctx);
    }
}

static void grandchild_works(void **state)
{
    (void)state;
    fill();
    family f = {unit_context(4), NULL, {COPSE_STRUCTURE_REGULAR, COPSE_PLACEMENT_CPU}};
    assert_ok(f.ctx, make(f.ctx, f.tree, &f.index));
    assert_int_equal(child_run(100, work_in_grandchild, &f), 0);
    copse_index_free(f.index);
    copse_ctx_free(f.ctx);
}

/* The child's threads, too, find the pool of the parent without threads, at the same time. */
static void *find_in_thread(void *index)
{
    return answers(index) ? index : NULL;
}

static void threads_of_child(void *argument)
{
    const family *f = argument;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHILD_EXPECT(pthread_create(&threads[i], NULL, find_in_thread, f->index) == 0);
    for (int i = 0; i < 4; i++) {
        void *right = NULL;
        CHILD_EXPECT(pthread_join(threads[i], &right) == 0 && right);
    }
    CHILD_EXPECT(answers(f->index));
    copse_index_free(f->index);
    copse_ctx_free(f->ctx);
}

static void several_threads_of_a_child(void **state)
{
    (void)state;
    fill();
    family f = {unit_context(4), NULL, {COPSE_STRUCTURE_IMPLICIT, COPSE_PLACEMENT_CPU}};
    assert_ok(f.ctx, make(f.ctx, f.tree, &f.index));
    assert_true(answers(f.index));
    for (int i = 0; i < 10; i++) assert_int_equal(child_run(60, threads_of_child, &f), 0);
    copse_index_free(f.index);
    copse_ctx_free(f.ctx);
}

/* --- a device that does not follow ------------------------------------------------------------------------------------- */

static void use_parents_card(void *argument)
{
    const family *f = argument;
    static uint64_t got[KEYS];
    copse_index *another = NULL;
    CHILD_EXPECT(copse_find(f->index, keys, KEYS, got, NULL) == COPSE_ERR_DEVICE);
    CHILD_EXPECT(strstr(copse_last_error(f->ctx), "forked"));
    CHILD_EXPECT(make(f->ctx, f->tree, &another) == COPSE_ERR_DEVICE);
    copse_index_free(f->index); /* nothing is called for it */
    copse_ctx_free(f->ctx);
}

/* As a card would be, which this machine need not have. */
static void card_stays_with_the_parent(void **state)
{
    (void)state;
    fill();
    family f = {unit_context(2), NULL, {COPSE_STRUCTURE_BLINK, COPSE_PLACEMENT_EMULATED}};
    assert_ok(f.ctx, make(f.ctx, f.tree, &f.index));
    copse_device *device = NULL;
    assert_ok(f.ctx, copse_device_get(f.ctx, COPSE_PLACEMENT_EMULATED, &device));
    copse_device_backend card = *device->backend;
    card.survives_fork = false;
    device->backend = &card;
    assert_int_equal(child_run(60, use_parents_card, &f), 0);
    assert_true(answers(f.index));
    copse_index_free(f.index);
    copse_ctx_free(f.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_works),
        cmocka_unit_test(grandchild_works),
        cmocka_unit_test(several_threads_of_a_child),
        cmocka_unit_test(card_stays_with_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
