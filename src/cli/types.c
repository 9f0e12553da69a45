/* What the command calls types. */
#include "cli/cli.h"

#include <string.h>

const char *cli_type_names(bool for_values)
{
    return for_values ? "u32, i32, f32, u64, i64, f64 or none"
                      : "u32, i32, f32, u64, i64, f64, date, timestamp or text";
}

static bool is_value(copse_type type)
{
    return type >= COPSE_U32 && type <= COPSE_F64;
}

const char *cli_type_name(copse_type type)
{
    return type == COPSE_BYTES ? "text" : copse_type_name(type);
}

/* "bytes" is what the C interface calls text, and is taken, too. */
bool cli_type_parse(const char *name, bool for_values, copse_type *out)
{
    copse_type type = COPSE_BYTES;
    if (strcmp(name, "text") != 0 && copse_type_parse(name, &type) != COPSE_OK) return false;
    if (for_values ? !is_value(type) && type != COPSE_NONE : type == COPSE_NONE) return false;
    *out = type;
    return true;
}
