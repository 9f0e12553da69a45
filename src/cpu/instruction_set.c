/* Which instruction sets this machine has. */
#include "cpu/instruction_set.h"

#include <string.h>

static const char *const names[COPSE_INSTRUCTION_SETS] = {
    [COPSE_SCALAR] = "scalar",
    [COPSE_AVX2] = "avx2",
    [COPSE_AVX512] = "avx512",
};

bool copse_instruction_set_present(copse_instruction_set set)
{
#if defined(__x86_64__)
    if (set == COPSE_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (set == COPSE_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
    return set == COPSE_SCALAR;
}

copse_instruction_set copse_instruction_set_best(void)
{
    unsigned best = COPSE_INSTRUCTION_SETS - 1;
    while (!copse_instruction_set_present((copse_instruction_set)best)) best--;
    return (copse_instruction_set)best;
}

const char *copse_instruction_set_name(copse_instruction_set set)
{
    return names[set];
}

bool copse_instruction_set_parse(const char *name, copse_instruction_set *out)
{
    for (unsigned i = 0; i < COPSE_INSTRUCTION_SETS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (copse_instruction_set)i;
            return true;
        }
    return false;
}

const char *copse_instruction_sets_offered(void)
{
    if (!copse_instruction_set_present(COPSE_AVX2)) return "scalar";
    return copse_instruction_set_present(COPSE_AVX512) ? "scalar avx2 avx512" : "scalar avx2";
}
