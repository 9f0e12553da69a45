/* A process that may make no more threads, or has no memory for their stacks: calls do with fewer, and never end it. */
#define _GNU_SOURCE
#include "unit.h"

#include "child.h"
#include "simt/emulator.h"
#include "simt/sanitizers.h"

#include <dirent.h>
#include <sys/resource.h>

#define KEYS 60000u

static uint64_t keys[KEYS], values[KEYS];

static unsigned threads_now(void)
{
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHILD_EXPECT(tasks != NULL);
    for (const struct dirent *entry; (entry = readdir(tasks));) threads += entry->d_name[0] != '.';
    (void)closedir(tasks);
    return threads;
}

static void work_with_8_threads(struct unit_tree tree)
{
    static uint64_t got[KEYS];
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_index_options of_index = COPSE_INDEX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_index *index = NULL;
    options.threads = 8;
    of_index.key_type = of_index.value_type = COPSE_U64;
    of_index.structure = tree.structure;
    of_index.placement = tree.placement;
    CHILD_EXPECT(copse_ctx_create(&options, &ctx) == COPSE_OK);
    CHILD_EXPECT(copse_index_create(ctx, &of_index, &index) == COPSE_OK);
    CHILD_EXPECT(copse_build(index, keys, values, KEYS) == COPSE_OK);
    CHILD_EXPECT(copse_find(index, keys, KEYS, got, NULL) == COPSE_OK);
    CHILD_EXPECT(memcmp(got, values, sizeof got) == 0);
    CHILD_EXPECT(copse_insert(index, keys, values, KEYS, 0, NULL) == COPSE_OK);
    CHILD_EXPECT(copse_verify(index) == COPSE_OK);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void fill(void)
{
    for (uint64_t i = 0; i < KEYS; i++) values[i] = (keys[i] = i * 7919 % KEYS * 5) + 1;
}

static struct unit_tree on_cpu(copse_structure structure)
{
    return (struct unit_tree){structure, COPSE_PLACEMENT_CPU};
}

/* The limit counts the threads of a user, of all processes, and does not hold for the superuser. */
static void no_more_threads(void *argument)
{
    const struct rlimit none = {0, 0};
    if (geteuid() == 0) CHILD_EXPECT(setgid(54321) == 0 && setuid(54321) == 0);
    CHILD_EXPECT(setrlimit(RLIMIT_NPROC, &none) == 0);
    work_with_8_threads(*(const struct unit_tree *)argument);
    CHILD_EXPECT(threads_now() == 1);
}

static uint64_t bytes_mapped(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHILD_EXPECT(file && fscanf(file, "%llu", &pages) == 1);
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit_memory(uint64_t more)
{
    const struct rlimit limit = {bytes_mapped() + more, RLIM_INFINITY};
    CHILD_EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* What the calls need, and stacks for some of the threads. */
static void little_memory(void *argument)
{
    limit_memory(UINT64_C(18) << 20);
    work_with_8_threads(*(const struct unit_tree *)argument);
}

static void process_limit(void **state)
{
    (void)state;
    fill();
    FOR_EACH_TREE(tree) assert_int_equal(child_run(120, no_more_threads, tree), 0);
}

static void memory_limit(void **state)
{
    (void)state;
    if (COPSE_ASAN || COPSE_TSAN) skip(); /* they map terabytes */
    fill();
    struct unit_tree trees[] = {on_cpu(COPSE_STRUCTURE_IMPLICIT), on_cpu(COPSE_STRUCTURE_REGULAR)};
    for (size_t i = 0; i < COUNT_OF(trees); i++) assert_int_equal(child_run(60, little_memory, &trees[i]), 0);
}

/* --- stacks of the emulator's lanes -------------------------------------------------------------------------------------- */

/* No stacks: MEMORY, no fault; with them everything works. */
static void no_stacks(void *argument)
{
    (void)argument;
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_index_options of_index = COPSE_INDEX_OPTIONS_INIT;
    copse_ctx *ctx = NULL;
    copse_index *index = NULL;
    options.threads = 2;
    of_index.key_type = of_index.value_type = COPSE_U64;
    of_index.placement = COPSE_PLACEMENT_EMULATED;
    CHILD_EXPECT(copse_ctx_create(&options, &ctx) == COPSE_OK);
    for (uint64_t more = 0; more < 64; more += 8) {
        limit_memory(more << 20);
        CHILD_EXPECT(copse_index_create(ctx, &of_index, &index) == COPSE_ERR_MEMORY);
        CHILD_EXPECT(index == NULL && copse_last_error(ctx)[0] != '\0');
    }
    limit_memory(UINT64_C(1) << 30);
    CHILD_EXPECT(copse_index_create(ctx, &of_index, &index) == COPSE_OK);
    CHILD_EXPECT(copse_build(index, keys, values, 5000) == COPSE_OK);
    /* From here on stacks are there, and calls need no more of them, also where other threads would like some. */
    limit_memory(UINT64_C(6) << 20);
    static uint64_t got[KEYS];
    for (int i = 0; i < 5; i++) {
        CHILD_EXPECT(copse_find(index, keys, 5000, got, NULL) == COPSE_OK);
        CHILD_EXPECT(memcmp(got, values, 5000 * sizeof *got) == 0);
    }
    copse_index_free(index);
    copse_ctx_free(ctx);
}

static void stacks_of_lanes(void **state)
{
    (void)state;
    if (COPSE_ASAN || COPSE_TSAN) skip();
    fill();
    assert_int_equal(child_run(60, no_stacks, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_limit),
        cmocka_unit_test(memory_limit),
        cmocka_unit_test(stacks_of_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
