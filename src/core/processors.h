/* How many processors this process may use. */
#pragma once

#include <stdint.h>

/* Where Linux tells; tests have folders of their own. */
#define COPSE_PROC_SELF "/proc/self"
#define COPSE_CGROUPS   "/sys/fs/cgroup"

/* Those that the system may run this thread on (taskset, cpusets), but no more than the quota of its control groups pays for
 * (containers: `docker run --cpus`, limits of Kubernetes), rounded down: above its quota a process is stopped for the rest of each
 * tenth of a second. At least 1. */
uint32_t copse_processors(const char *proc_self, const char *cgroups);
