/* What the other rooms ask of tables on a device, without knowing devices. */
#pragma once

#include "query/table/table.h"

struct copse_joined;
struct copse_row_list;

/* ---- image.c ---- */

/* An image of the table for a placement, of its rows as they are; COPSE_PLACEMENT_CPU: none. */
copse_status copse_image_make(const copse_table *table, copse_placement placement, copse_table_image **out);
void copse_image_free(copse_table_image *image);
/* After rows were appended, changed (columns whose of[] is not UINT32_MAX) or deleted. A failure leaves the image stale. */
void copse_image_append(copse_table *table);
void copse_image_update(copse_table *table, const uint32_t *of, const uint32_t *rows, uint64_t n);
void copse_image_delete(copse_table *table);
/* An array of the caller's, in host or device memory, to host memory. */
copse_status copse_take_array(copse_ctx *ctx, void *to, const void *from, uint64_t bytes);

/* ---- rows.c, output.c, groups.c ---- */

/* Whether the device of the table runs the query, of which indexes know no answer. Where it cannot, query->why_host says why. */
bool copse_card_runs(copse_query *query);
copse_status copse_card_run_rows(copse_query *query, copse_table **out);
copse_status copse_card_run_row_numbers(copse_query *query, struct copse_row_list *out);
/* Adds the groups of a query, or one row for all rows, to a table that copse_output_begin made. */
copse_status copse_card_run_groups(copse_query *query, copse_table *out);

/* ---- equal.c, asof.c, spans.c ---- */

/* Whether a device runs the join: both tables are on it. */
bool copse_card_can_join(const struct copse_joined *join);
copse_status copse_card_join_equal(struct copse_joined *join);
/* limited: partners are no further away than `whole`, or `number` where keys are floats. */
copse_status copse_card_join_asof(struct copse_joined *join, bool limited, uint64_t whole, double number);

/* Distances as whole numbers, or where keys are floats as those. */
copse_status copse_card_join_band(struct copse_joined *join, uint64_t below, uint64_t above, double below_float,
                                  double above_float);
/* Joins of equal keys whose pairs are added up. */
copse_status copse_card_join_totals(struct copse_joined *join);

/* ---- totals.c ---- */

/* Adds up the pairs that a join left on a device, where it wants totals. */
copse_status copse_card_join_drain(struct copse_joined *join);

/* ---- pairs.c ---- */

/* Pairs that a join left on a device: copied to the host when that first asks; and given back. */
copse_status copse_pairs_fetch(const copse_pairs *pairs);
void copse_pairs_drop(copse_pairs *pairs);
/* Fills columns of `out`, which are open, from the rows of one side of pairs that a device made, there. *out_done: false where it cannot: the
 * table is elsewhere, or lacks one of the rows. */
copse_status copse_card_gather_side(const copse_pairs *pairs, const copse_table *from, bool right, copse_table *out,
                                    uint32_t first, bool *out_done);
