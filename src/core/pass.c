/* Passes over values: what does not depend on the widths. */
#include "core/pass.h"

COPSE_DECLARE_WIDTHS(const copse_pass_loops, copse_pass_loops);

const copse_pass_loops *copse_pass_loops_of(const copse_index *index)
{
    static const copse_pass_loops *const loops[COPSE_WIDTH_PAIRS] = COPSE_WIDTH_ROW(copse_pass_loops);
    return loops[copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type))];
}

void copse_pass_sums_merge(copse_pass_sums *to, const copse_pass_sums *from)
{
    copse_aggregate_merge(&to->all, &from->all);
    to->squares += from->squares;
    to->count += from->count;
}

copse_status copse_pass_room(const copse_ctx *ctx, const copse_pass *pass)
{
    const uint64_t n = pass->n < pass->most ? pass->n : pass->most;
    if (!copse_pass_writes(pass) && pass->capacity == 0) return COPSE_OK;
    return n <= pass->capacity ? COPSE_OK : copse_fail_room(ctx, "request", pass->capacity, n);
}
