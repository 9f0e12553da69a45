/* Open and missing ends of ranges whose keys lie in device memory: a kernel makes closed ranges of them. */
#pragma once

#include "gpu/scratch.h"

/* Puts closed ranges with the entries of `asked` (core/closed_range.h) into device memory; *out has them, and the scratch block has to be
 * freed when their call is over. */
copse_status copse_gpu_close(const copse_index *index, const copse_ranges *asked, copse_ranges *out,
                             copse_scratch *scratch);
