/* Joins of equal keys: one batch of lookups. */
#include "query/join/join.h"

copse_status copse_join_equal(copse_joined *join)
{
    copse_buffer offsets = {0}, rows = {0};
    const copse_cells keys = {&join->left->columns[join->left_on], join->left_rows.data};
    copse_status status = copse_index_find_rows(join->right, join->index, keys, join->left->live, &offsets, &rows);
    if (status == COPSE_OK) status = copse_join_list(join, offsets.data, rows.data);
    copse_buffer_free(join->left->ctx, &offsets);
    copse_buffer_free(join->left->ctx, &rows);
    return status;
}
