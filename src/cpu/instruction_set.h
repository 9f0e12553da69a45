/* The instruction sets that batch walks are compiled for: their names, and which of them this machine has. */
#pragma once

#include "core/internal.h"

/* The best that this machine has. */
copse_instruction_set copse_instruction_set_best(void);
bool copse_instruction_set_present(copse_instruction_set set);
/* "scalar", "avx2", "avx512". */
const char *copse_instruction_set_name(copse_instruction_set set);
/* The set of a name. False: no set is called that. */
bool copse_instruction_set_parse(const char *name, copse_instruction_set *out);
/* The names of all that this machine has. */
const char *copse_instruction_sets_offered(void);
