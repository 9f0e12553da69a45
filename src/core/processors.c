/* How many processors this process may use: the affinity mask, and the quota of each control group above it. */
#define _GNU_SOURCE
#include "core/processors.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROCESSORS 65536 /* that an affinity mask is asked for */
#define PATH_BYTES      4096

static uint32_t affinity(void)
{
    for (int most = 1024; most <= MOST_PROCESSORS; most *= 4) {
        cpu_set_t *set = CPU_ALLOC(most);
        if (!set) break;
        int failed = sched_getaffinity(0, CPU_ALLOC_SIZE(most), set), reason = errno;
        int count = failed ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE(most), set);
        CPU_FREE(set);
        if (count > 0) return (uint32_t)count;
        if (reason != EINVAL) break; /* EINVAL: the machine has more than fit */
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

/* The first line of folder/name; false where there is none. */
static bool read_line(const char *folder, const char *name, char *line, int room)
{
    char path[PATH_BYTES + 64];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(line, room, file) != NULL;
    (void)fclose(file);
    return read;
}

/* What quota and period of one group allow; `most` where it has none. */
static uint32_t quota_of(const char *folder, bool version_2, uint32_t most)
{
    char line[128], period_line[128];
    long long quota = 0, period = 0;
    if (version_2) {
        /* "max 100000" is no number in front, and no quota */
        if (!read_line(folder, "cpu.max", line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2)
            return most;
    } else if (!read_line(folder, "cpu.cfs_quota_us", line, sizeof line) ||
               !read_line(folder, "cpu.cfs_period_us", period_line, sizeof period_line) ||
               sscanf(line, "%lld", &quota) != 1 || sscanf(period_line, "%lld", &period) != 1) {
        return most;
    }
    if (quota <= 0 || period <= 0 || quota / period >= most) return most;
    return quota < period ? 1 : (uint32_t)(quota / period);
}

/* The least of a group and all above it: each of them has a quota of its own. Inside a container the path may be one of the host,
 * which is not there; the folder that is shown as the root is the container's then. */
static uint32_t quota_up_from(const char *root, const char *group, bool version_2, uint32_t most)
{
    char folder[PATH_BYTES];
    int length = snprintf(folder, sizeof folder, "%s%s", root, group);
    size_t root_length = strlen(root);
    if (length < 0 || (size_t)length >= sizeof folder) return quota_of(root, version_2, most);
    for (char *slash; (slash = strrchr(folder, '/')) && (size_t)(slash - folder) >= root_length; *slash = '\0')
        most = quota_of(folder, version_2, most);
    return quota_of(root, version_2, most);
}

/* True for version 1's line "4:cpu,cpuacct:/group", whose middle is a list. */
static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; (at = strstr(at, "cpu")); at += 3)
        if ((at == controllers || at[-1] == ',') && (at[3] == '\0' || at[3] == ',')) return true;
    return false;
}

static uint32_t quota(const char *proc_self, const char *cgroups, uint32_t most)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/cgroup", proc_self);
    FILE *file = fopen(path, "re");
    if (!file) return most;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *controllers++ = *group++ = '\0';
        (void)snprintf(path, sizeof path, "%s%s", cgroups, *controllers ? "/cpu" : "");
        if (!*controllers || has_cpu(controllers)) most = quota_up_from(path, group, !*controllers, most);
    }
    (void)fclose(file);
    return most;
}

uint32_t copse_processors(const char *proc_self, const char *cgroups)
{
    uint32_t all = affinity();
    return all > 1 ? quota(proc_self, cgroups, all) : 1;
}
