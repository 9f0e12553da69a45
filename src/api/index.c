/* The index: making it, filling it, changing it, looking at it. */
#include "api/check.h"
#include "api/placement.h"
#include "core/structs.h"
#include "core/widths.h"
#include "device/device.h"
#include "trees/hybrid/mirror.h"
#include "trees/registry.h"

#include <string.h>

copse_status copse_index_options_take(const copse_ctx *ctx, const char *call, const copse_index_options *options,
                                      copse_index_options *out)
{
    const copse_index_options defaults = COPSE_INDEX_OPTIONS_INIT;
    *out = defaults;
    if (!options) return COPSE_OK;
    return copse_struct_take(ctx, call, "options", options, out, sizeof *out, copse_index_options_wide);
}

static copse_status options_check(const copse_ctx *ctx, const copse_index_options *o)
{
    if (!copse_type_is_key(o->key_type))
        return copse_fail_argument(ctx, "options", "options->key_type is %d, which is not a copse_type",
                                   (int)o->key_type);
    if (!copse_type_is_value(o->value_type) && o->value_type != COPSE_NONE)
        return copse_fail_argument(ctx, "options",
                                   "options->value_type is %d; values are u32, i32, f32, u64, i64, f64 or none",
                                   (int)o->value_type);
    if (o->structure != COPSE_STRUCTURE_AUTO && !copse_registry_find(o->structure))
        return copse_fail_argument(ctx, "options", "options->structure is %d, which is not a copse_structure",
                                   (int)o->structure);
    if ((unsigned)o->placement > COPSE_PLACEMENT_HYBRID_EMULATED)
        return copse_fail_argument(ctx, "options", "options->placement is %d, which is not a copse_placement",
                                   (int)o->placement);
    if ((unsigned)o->updates > COPSE_UPDATES_STREAMED)
        return copse_fail_argument(ctx, "options", "options->updates is %d, which is not a copse_updates value",
                                   (int)o->updates);
    if (o->schedule > COPSE_SCHEDULE_BALANCED)
        return copse_fail_argument(ctx, "options", "options->schedule is %u, which is not a copse_schedule",
                                   o->schedule);
    if (o->bucket > COPSE_HYBRID_LARGEST)
        return copse_fail_argument(ctx, "options",
                                   "options->bucket is %u; a bucket has at most %u queries (0: the default)", o->bucket,
                                   COPSE_HYBRID_LARGEST);
    if (o->page_order && (o->page_order < COPSE_PAGE_ORDER_LEAST || o->page_order > COPSE_PAGE_ORDER_MOST ||
                          (o->page_order & (o->page_order - 1))))
        return copse_fail_argument(ctx, "options",
                                   "options->page_order is %u; a page has a power of two of slots, from %u to %u (0: "
                                   "chosen automatically)",
                                   o->page_order, COPSE_PAGE_ORDER_LEAST, COPSE_PAGE_ORDER_MOST);
    if (o->long_keys > COPSE_LONG_KEYS_CPU)
        return copse_fail_argument(ctx, "options", "options->long_keys is %u, which is not a copse_long_keys",
                                   o->long_keys);
    if (o->duplicates > 1)
        return copse_fail_argument(ctx, "options", "options->duplicates is %u; it takes 0 or 1", o->duplicates);
    return COPSE_OK;
}

copse_status copse_index_create(copse_ctx *ctx, const copse_index_options *options, copse_index **out_index)
{
    copse_index_options o;
    copse_status status;
    if (out_index) *out_index = NULL;
    if (!ctx || !out_index) return copse_fail_missing(ctx, "copse_index_create", ctx ? "out_index" : "ctx");
    if ((status = copse_index_options_take(ctx, "copse_index_create", options, &o)) != COPSE_OK) return status;
    if ((status = options_check(ctx, &o)) != COPSE_OK) return status;
    copse_choice chosen;
    if ((status = copse_choose(ctx, &o, &chosen)) != COPSE_OK || !chosen.at) return status;
    if (o.duplicates && !copse_supports(chosen.structure, chosen.at->placement, o.key_type, COPSE_CAN_KEEP_DUPLICATES))
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "the %s tree does not keep duplicates",
                          copse_structure_name(chosen.structure));
    const unsigned widths = copse_width_pair(copse_type_size(o.key_type), copse_value_width(o.value_type));
    copse_index *index = copse_memory_alloc(ctx, sizeof *index);
    if (!index) return copse_fail_memory(ctx, sizeof *index, "the index");
    *index = (copse_index){.ctx = ctx,
                           .key_type = o.key_type,
                           .value_type = o.value_type,
                           .duplicates = o.duplicates,
                           .updates = o.updates,
                           .description = copse_registry_find(chosen.structure),
                           .placement = chosen.at->placement,
                           .calls = chosen.at->calls,
                           .by_width = chosen.at->by_width ? chosen.at->by_width[widths] : NULL,
                           .device = chosen.device,
                           .placement_why = chosen.why,
                           .grows_to = chosen.grows_to,
                           .automatic = o.placement == COPSE_PLACEMENT_AUTO,
                           .schedule = o.schedule,
                           .bucket = o.bucket,
                           .leaf_memory = o.leaf_memory,
                           .page_order = o.page_order,
                           .long_keys = o.long_keys};
    index->references = 1;
    index->version = &index->own_version;
    status = index->calls->create(index);
    if (status != COPSE_OK) {
        copse_memory_free(ctx, index, sizeof *index);
        return status;
    }
    copse_ctx_hold(ctx);
    *out_index = index;
    return COPSE_OK;
}

void copse_index_release(copse_index *index)
{
    if (!copse_reference_drop(&index->references)) return;
    copse_ctx *ctx = index->ctx;
    copse_memory_free(ctx, index, sizeof *index);
    copse_ctx_release(ctx);
}

void copse_index_free(copse_index *index)
{
    if (!index) return;
    index->calls->destroy(index);
    index->freed = true;
    copse_index_release(index);
}

copse_status copse_check_change(const copse_index *index, const char *call)
{
    if (!index) {
        (void)copse_fail_argument(NULL, "index", "%s: index is NULL", call);
        return COPSE_ERR_ARGUMENT; /* said here, so that an analyzer knows that it is never COPSE_OK */
    }
    if (!index->read_only) return COPSE_OK;
    return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "%s: index is %s, which only reads", call, index->read_only);
}

copse_status copse_build(copse_index *index, const void *keys, const void *values, uint64_t n)
{
    copse_status status = copse_check_change(index, "copse_build");
    if (status != COPSE_OK) return status;
    if (!keys && n) return copse_fail_null(index->ctx, "copse_build", "keys");
    if ((status = copse_check_values(index, "copse_build", values, "values")) != COPSE_OK) return status;
    if ((status = copse_grow(index, keys, n)) != COPSE_OK) return status;
    do {
        copse_promise_begin(index);
        status = copse_promise_end(index->calls->build(index, keys, values, n));
    } while (copse_retreat(index, keys, status));
    if (status == COPSE_OK) copse_version_advance(index);
    return status;
}

copse_status copse_clear(copse_index *index)
{
    copse_status status = copse_check_change(index, "copse_clear");
    if (status == COPSE_OK) status = index->calls->build(index, NULL, NULL, 0);
    if (status == COPSE_OK) copse_version_advance(index);
    return status;
}

copse_status copse_insert(copse_index *index, const void *keys, const void *values, uint64_t n, uint32_t flags,
                          uint64_t *out_inserted)
{
    uint64_t inserted = 0;
    if (out_inserted) *out_inserted = 0;
    copse_status status = copse_check_change(index, "copse_insert");
    if (status != COPSE_OK) return status;
    if (flags > COPSE_INSERT_IF_ABSENT)
        return copse_fail_argument(index->ctx, "flags", "copse_insert: flags is %u, which is none of COPSE_INSERT_*",
                                   flags);
    if (n == 0) return COPSE_OK;
    if (!keys) return copse_fail_null(index->ctx, "copse_insert", "keys");
    if ((status = copse_check_values(index, "copse_insert", values, "values")) != COPSE_OK) return status;
    if ((status = copse_grow(index, keys, n)) != COPSE_OK) return status;
    do {
        copse_promise_begin(index);
        status = copse_promise_end(index->calls->insert(index, keys, values, n, flags, &inserted));
    } while (copse_retreat(index, keys, status));
    if (status != COPSE_OK) return status;
    copse_version_advance(index);
    if (out_inserted) *out_inserted = inserted;
    return COPSE_OK;
}

copse_status copse_erase(copse_index *index, const void *keys, uint64_t n, uint64_t *out_erased)
{
    uint64_t erased = 0;
    if (out_erased) *out_erased = 0;
    copse_status status = copse_check_change(index, "copse_erase");
    if (status != COPSE_OK) return status;
    if (n == 0) return COPSE_OK;
    if (!keys) return copse_fail_null(index->ctx, "copse_erase", "keys");
    copse_promise_begin(index);
    status = copse_promise_end(index->calls->erase(index, keys, n, &erased));
    if (status != COPSE_OK) return status;
    copse_version_advance(index);
    if (out_erased) *out_erased = erased;
    return COPSE_OK;
}

copse_status copse_index_stats(const copse_index *index, copse_stats *out_stats)
{
    static const copse_wide_member wide[] = {COPSE_WIDE(copse_stats, entries),
                                             COPSE_WIDE(copse_stats, bytes),
                                             COPSE_WIDE(copse_stats, aggregate_bytes),
                                             COPSE_WIDE(copse_stats, fill),
                                             COPSE_WIDE(copse_stats, version),
                                             COPSE_WIDE(copse_stats, placement_why),
                                             {0, 0}};
    if (!index || !out_stats)
        return copse_fail_missing(index ? index->ctx : NULL, "copse_index_stats", index ? "out_stats" : "index");
    copse_stats stats = {.structure = index->description->structure,
                         .placement = index->placement,
                         .key_type = index->key_type,
                         .value_type = index->value_type,
                         .duplicates = index->duplicates,
                         .version = copse_version_of(index),
                         .placement_why = index->placement_why};
    index->calls->stats(index, &stats);
    stats.bytes += sizeof *index;
    return copse_struct_give(index->ctx, "copse_index_stats", "out_stats", out_stats, &stats, sizeof stats, wide);
}

uint64_t copse_size(const copse_index *index)
{
    return index ? index->calls->size(index) : 0;
}

copse_status copse_verify(const copse_index *index)
{
    if (!index) return copse_fail_argument(NULL, "index", "copse_verify: index is NULL");
    return index->calls->verify(index);
}
