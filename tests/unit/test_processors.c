/* How many threads a context has where nobody says: the affinity mask, and the quota of control groups of both versions. */
#define _GNU_SOURCE
#include "unit.h"

#include "child.h"
#include "core/processors.h"

#include <sched.h>
#include <sys/stat.h>

static char folder[64];

static void write_file(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/copse-processors-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static uint32_t processors(void)
{
    char groups[128];
    (void)snprintf(groups, sizeof groups, "%s/groups", folder);
    return copse_processors(folder, groups);
}

static uint32_t allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return (uint32_t)CPU_COUNT(&set);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void without_groups(void **state)
{
    (void)state;
    assert_int_equal(processors(), allowed());
    write_file("cgroup", "nonsense\n0:\n");
    assert_int_equal(processors(), allowed());
    write_file("cgroup", "0::/not/there\n");
    assert_int_equal(processors(), allowed());
}

static void version_2(void **state)
{
    (void)state;
    write_file("cgroup", "0::/a/b\n");
    write_file("groups/a/b/cpu.max", "max 100000\n");
    assert_int_equal(processors(), allowed());
    write_file("groups/a/b/cpu.max", "100000 100000\n");
    assert_int_equal(processors(), 1);
    write_file("groups/a/b/cpu.max", "30000 100000\n"); /* less than one is one */
    assert_int_equal(processors(), 1);
    write_file("groups/a/b/cpu.max", "250000 100000\n");
    assert_int_equal(processors(), least(allowed(), 2));
    write_file("groups/a/b/cpu.max", "99900000000 100000\n");
    assert_int_equal(processors(), allowed());
    write_file("groups/a/cpu.max", "150000 100000\n"); /* the parent counts, too */
    assert_int_equal(processors(), 1);
    write_file("groups/a/cpu.max", "0 0\n");
    assert_int_equal(processors(), allowed());
    write_file("groups/cpu.max", "100000 100000\n"); /* what a container is shown as the root */
    assert_int_equal(processors(), 1);
    write_file("cgroup", "0::/another/path/of/the/host\n");
    assert_int_equal(processors(), 1);
}

static void version_1(void **state)
{
    (void)state;
    write_file("groups/cpu.max", "max 100000\n");
    write_file("cgroup", "12:cpuset:/a\n4:cpu,cpuacct:/job\n0::/\n");
    write_file("groups/cpu/job/cpu.cfs_quota_us", "-1\n");
    write_file("groups/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(processors(), allowed());
    write_file("groups/cpu/job/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(processors(), 1);
    write_file("cgroup", "12:cpuset:/job\n4:cpuacct:/job\n");
    assert_int_equal(processors(), allowed());
}

static void one_processor(void *argument)
{
    cpu_set_t all, one;
    copse_ctx *ctx = NULL;
    copse_ctx_info info = {.struct_size = sizeof info};
    (void)argument;
    CHILD_EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    CHILD_EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
    (void)unsetenv("COPSE_THREADS");
    CHILD_EXPECT(copse_ctx_create(NULL, &ctx) == COPSE_OK);
    CHILD_EXPECT(copse_ctx_describe(ctx, &info) == COPSE_OK && info.threads == 1);
    copse_ctx_free(ctx);
}

static void affinity(void **state)
{
    (void)state;
    assert_int_equal(child_run(20, one_processor, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_groups),
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(affinity),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
