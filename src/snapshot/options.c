/* What the callers of copse_load and copse_open ask for, against what the file has. */
#include "snapshot/options.h"

#include "core/structs.h"

copse_status snapshot_arguments_check(const copse_ctx *ctx, const char *call, const void *from, const char *from_name,
                                      const copse_index_options *options, copse_index **out_index)
{
    const char *missing = !ctx ? "ctx" : !from ? from_name : !out_index ? "out_index" : NULL;
    if (out_index) *out_index = NULL;
    if (missing) {
        (void)copse_fail_argument(ctx, missing, "%s: %s is NULL", call, missing);
        return COPSE_ERR_ARGUMENT; /* said here, so that an analyzer knows that it is never COPSE_OK */
    }
    copse_index_options seen; /* what is wrong with the options is said before the file is looked at */
    if (options &&
        copse_struct_take(ctx, call, "options", options, &seen, sizeof seen, copse_index_options_wide) != COPSE_OK)
        return COPSE_ERR_ARGUMENT;
    return COPSE_OK;
}

static copse_status type_check(const snapshot_source *source, const char *what, copse_type asked, uint32_t is)
{
    if (asked == 0 || (uint32_t)asked == is) return COPSE_OK;
    return copse_fail(source->ctx, COPSE_ERR_TYPE, "options->%s_type is %s, but the snapshot '%s' has %ss of type %s",
                      what, copse_type_name(asked), snapshot_shown(source->path), what,
                      copse_type_name((copse_type)is));
}

copse_status snapshot_options_take(const snapshot_source *source, const copse_index_options *options,
                                   copse_index_options *out)
{
    const snapshot_header *h = &source->header;
    copse_index_options o = {.duplicates = h->flags & SNAPSHOT_FLAG_DUPLICATES};
    copse_status status;
    if (options && (status = copse_struct_take(source->ctx, "options", "options", options, &o, sizeof o,
                                               copse_index_options_wide)) != COPSE_OK)
        return status;
    o.struct_size = sizeof o;
    if ((status = type_check(source, "key", o.key_type, h->key_type)) != COPSE_OK) return status;
    if ((status = type_check(source, "value", o.value_type, h->value_type)) != COPSE_OK) return status;
    if (h->flags & SNAPSHOT_FLAG_DUPLICATES && !o.duplicates)
        return copse_fail_argument(
            source->ctx, "options",
            "options->duplicates is 0, but the snapshot '%s' keeps entries with equal keys: set it to 1",
            snapshot_shown(source->path));
    o.key_type = (copse_type)h->key_type;
    o.value_type = (copse_type)h->value_type;
    *out = o;
    return COPSE_OK;
}
