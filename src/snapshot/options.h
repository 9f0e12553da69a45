/* What the callers of copse_load and copse_open ask for, against what the file has. */
#pragma once

#include "snapshot/source.h"

/* NULL arguments and a struct that is too small. Sets *out_index to NULL. */
copse_status snapshot_arguments_check(const copse_ctx *ctx, const char *call, const void *from, const char *from_name,
                                      const copse_index_options *options, copse_index **out_index);

/* The options of the caller, which may be NULL, with what they leave open taken from the header. */
copse_status snapshot_options_take(const snapshot_source *source, const copse_index_options *options,
                                   copse_index_options *out);
