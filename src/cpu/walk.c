/* The tables of batch walks, and which instruction sets this machine has. */
#include "core/internal.h"
#include "cpu/walk.h"

#include <string.h>

static bool machine_has(const char *name)
{
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (strcmp(name, "avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
    return strcmp(name, "scalar") == 0;
}

/* Best last. */
static const copse_walk walks[] = {
    {"scalar", COPSE_WIDTH_ROW(copse_walk_scalar)},
#if defined(__x86_64__)
    {"avx2", COPSE_WIDTH_ROW(copse_walk_avx2)},
    {"avx512", COPSE_WIDTH_ROW(copse_walk_avx512)},
#endif
};
#define WALKS (sizeof walks / sizeof *walks)

const copse_walk *copse_walk_best(void)
{
    const copse_walk *best = &walks[0];
    for (unsigned i = 0; i < WALKS; i++)
        if (machine_has(walks[i].name)) best = &walks[i];
    return best;
}

const copse_walk *copse_walk_find(const char *name)
{
    for (unsigned i = 0; i < WALKS; i++)
        if (strcmp(walks[i].name, name) == 0 && machine_has(name)) return &walks[i];
    return NULL;
}

bool copse_walk_known(const char *name)
{
    return strcmp(name, "scalar") == 0 || strcmp(name, "avx2") == 0 || strcmp(name, "avx512") == 0;
}

const char *copse_walk_offered(void)
{
    if (machine_has("avx512") && machine_has("avx2")) return "scalar avx2 avx512";
    return machine_has("avx2") ? "scalar avx2" : "scalar";
}
