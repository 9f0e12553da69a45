/* Names and sizes of key types, value types and placements. */
#include "core/internal.h"

#include <string.h>

typedef struct type_row {
    const char *name;
    size_t size;
} type_row;

static const type_row types[] = {
    [COPSE_U32] = {"u32", 4},     [COPSE_I32] = {"i32", 4},
    [COPSE_F32] = {"f32", 4},     [COPSE_U64] = {"u64", 8},
    [COPSE_I64] = {"i64", 8},     [COPSE_F64] = {"f64", 8},
    [COPSE_DATE] = {"date", 4},   [COPSE_TIMESTAMP] = {"timestamp", 8},
    [COPSE_BYTES] = {"bytes", 0}, [COPSE_NONE] = {"none", 0},
};
static const char *const placements[] = {"auto", "cpu", "gpu", "emulated", "hybrid", "hybrid-emulated"};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const type_row *type_find(copse_type type)
{
    unsigned i = (unsigned)type;
    return i < COUNT_OF(types) && types[i].name ? &types[i] : NULL;
}

const char *copse_version(void)
{
    return COPSE_VERSION;
}

const char *copse_type_name(copse_type type)
{
    const type_row *row = type_find(type);
    return row ? row->name : "unknown";
}

size_t copse_type_size(copse_type type)
{
    const type_row *row = type_find(type);
    return row ? row->size : 0;
}

bool copse_type_is_float(copse_type type)
{
    return type == COPSE_F32 || type == COPSE_F64;
}

bool copse_type_is_key(copse_type type)
{
    return type >= COPSE_U32 && type <= COPSE_BYTES;
}

bool copse_type_is_value(copse_type type)
{
    return type >= COPSE_U32 && type <= COPSE_F64;
}

size_t copse_value_width(copse_type value_type)
{
    return value_type == COPSE_NONE ? sizeof(uint32_t) : copse_type_size(value_type);
}

copse_status copse_fail_set(const copse_index *index, const char *call)
{
    return copse_fail(index->ctx, COPSE_ERR_TYPE, "%s: the index is a set, which has no values (value type none)",
                      call);
}

const char *copse_placement_name(copse_placement placement)
{
    unsigned i = (unsigned)placement;
    return i < COUNT_OF(placements) ? placements[i] : "unknown";
}

copse_status copse_type_parse(const char *name, copse_type *out_type)
{
    if (!name || !out_type) return copse_fail_missing(NULL, "copse_type_parse", name ? "out_type" : "name");
    for (unsigned i = 1; i < COUNT_OF(types); i++)
        if (types[i].name && strcmp(types[i].name, name) == 0) {
            *out_type = (copse_type)i;
            return COPSE_OK;
        }
    return copse_fail_argument(
        NULL, "name", "'%.40s' is not a type: use u32, i32, f32, u64, i64, f64, date, timestamp, bytes or none", name);
}

copse_status copse_placement_parse(const char *name, copse_placement *out_placement)
{
    if (!name || !out_placement)
        return copse_fail_missing(NULL, "copse_placement_parse", name ? "out_placement" : "name");
    for (unsigned i = 0; i < COUNT_OF(placements); i++)
        if (strcmp(placements[i], name) == 0) {
            *out_placement = (copse_placement)i;
            return COPSE_OK;
        }
    return copse_fail_argument(
        NULL, "name", "'%.40s' is not a placement: use auto, cpu, gpu, emulated, hybrid or hybrid-emulated", name);
}
