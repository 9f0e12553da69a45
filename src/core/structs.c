/* Structs with a struct_size. */
#include "core/structs.h"

#include <string.h>

/* No version of any struct is larger: what claims to be was never set. */
#define LARGEST_STRUCT 4096u

const copse_wide_member copse_index_options_wide[] = {COPSE_WIDE(copse_index_options, leaf_memory), {0, 0}};

static copse_status size_check(const copse_ctx *ctx, const char *call, const char *what, uint32_t size, uint32_t least)
{
    if (size >= least && size <= LARGEST_STRUCT) return COPSE_OK;
    return copse_fail_argument(ctx, what, "%s: %s->struct_size is %u; it must be the sizeof of the struct", call, what,
                               size);
}

/* Reads the size of a struct that may be older or newer than this version's, which has known_size bytes. */
static copse_status size_take(const copse_ctx *ctx, const char *call, const char *what, const void *given,
                              uint32_t known_size, const copse_wide_member *wide, uint32_t *out)
{
    memcpy(out, given, sizeof *out);
    copse_status status = size_check(ctx, call, what, *out, sizeof *out);
    if (status != COPSE_OK || *out >= known_size) return status;
    bool inside = *out % 4 != 0;
    for (; !inside && wide->end; wide++) inside = *out > wide->start && *out < wide->end;
    if (!inside) return COPSE_OK;
    return copse_fail_argument(ctx, what,
                               "%s: %s->struct_size is %u, which ends inside of a member; it must be the sizeof of "
                               "the struct",
                               call, what, *out);
}

copse_status copse_struct_take(const copse_ctx *ctx, const char *call, const char *what, const void *given, void *known,
                               uint32_t known_size, const copse_wide_member *wide)
{
    uint32_t size;
    copse_status status = size_take(ctx, call, what, given, known_size, wide, &size);
    if (status != COPSE_OK) return status;
    for (uint32_t at = known_size; at < size; at++)
        if (((const unsigned char *)given)[at])
            return copse_fail_argument(
                ctx, what,
                "%s: %s->struct_size is %u, and a byte behind the %u that copse %s knows is not 0: "
                "it asks for something that this version does not have",
                call, what, size, known_size, COPSE_VERSION);
    memcpy(known, given, size < known_size ? size : known_size);
    memcpy(known, &known_size, sizeof known_size);
    return COPSE_OK;
}

copse_status copse_struct_take_whole(const copse_ctx *ctx, const char *call, const char *what, const void *given,
                                     void *known, uint32_t known_size)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    copse_status status = size_check(ctx, call, what, size, known_size);
    return status == COPSE_OK ? copse_struct_take(ctx, call, what, given, known, known_size, NULL) : status;
}

copse_status copse_struct_give(const copse_ctx *ctx, const char *call, const char *what, void *given, const void *made,
                               uint32_t made_size, const copse_wide_member *wide)
{
    uint32_t size;
    copse_status status = size_take(ctx, call, what, given, made_size, wide, &size);
    if (status != COPSE_OK) return status;
    memcpy((char *)given + sizeof size, (const char *)made + sizeof size,
           (size < made_size ? size : made_size) - sizeof size);
    if (size > made_size) memset((char *)given + made_size, 0, size - made_size);
    return COPSE_OK;
}
