/* The registry: which structures this build has. Adding a structure is one row. */
#include "trees/tree.h"

#define DECLARE(name) extern const copse_operations name##_k32v32, name##_k32v64, name##_k64v32, name##_k64v64
#define ROW(name)                                                                                                      \
    {                                                                                                                  \
        &name##_k32v32, &name##_k32v64, &name##_k64v32, &name##_k64v64                                                 \
    }
/* Structures on a device have one table for all widths. */
#define ROW_OF_ONE(name)                                                                                               \
    {                                                                                                                  \
        &name, &name, &name, &name                                                                                     \
    }

DECLARE(copse_implicit_cpu);
DECLARE(copse_regular_cpu);
extern const copse_operations copse_implicit_gpu, copse_implicit_emulated;
extern const copse_operations copse_blink_gpu, copse_blink_emulated, copse_bplus_gpu, copse_bplus_emulated;

static const copse_operations *const rows[][COPSE_WIDTH_PAIRS] = {
    ROW(copse_implicit_cpu),        ROW(copse_regular_cpu),
    ROW_OF_ONE(copse_implicit_gpu), ROW_OF_ONE(copse_implicit_emulated),
    ROW_OF_ONE(copse_blink_gpu),    ROW_OF_ONE(copse_blink_emulated),
    ROW_OF_ONE(copse_bplus_gpu),    ROW_OF_ONE(copse_bplus_emulated),
};

const copse_operations *copse_registry_find(copse_structure structure, copse_placement placement, size_t key_bytes,
                                            size_t value_bytes)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const copse_operations *row = rows[i][copse_width_pair(key_bytes, value_bytes)];
        if (row->structure == structure && row->placement == placement) return row;
    }
    return NULL;
}

/* Trees that do the same on the CPU and on devices. */
static copse_structure sibling(copse_structure structure, copse_placement placement)
{
    const bool on_cpu = placement == COPSE_PLACEMENT_CPU;
    if (on_cpu && (structure == COPSE_STRUCTURE_BLINK || structure == COPSE_STRUCTURE_BPLUS))
        return COPSE_STRUCTURE_REGULAR;
    return !on_cpu && structure == COPSE_STRUCTURE_REGULAR ? COPSE_STRUCTURE_BLINK : structure;
}

copse_structure copse_registry_nearest(copse_structure structure, copse_placement placement)
{
    return copse_registry_find(structure, placement, 8, 8) ? structure : sibling(structure, placement);
}
