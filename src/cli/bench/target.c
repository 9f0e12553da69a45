/* Contestants: copse with given options, or a peer, behind the same calls. */
#include "cli/bench/bench.h"

#include "transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

/* ---- making the list ---- */

/* Else a save that Ctrl-C ends would leave its file. */
static int stop_if_interrupted(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    (void)what;
    (void)done;
    (void)total;
    return cli_interrupted();
}

static bool open_context(bench_target *target, const bench_options *options, int *out_exit)
{
    copse_ctx_options wish = COPSE_CTX_OPTIONS_INIT;
    wish.threads = target->threads;
    wish.isa = target->isa;
    wish.huge_pages = target->huge_pages;
    wish.pipeline = target->pipeline;
    wish.progress = stop_if_interrupted;
    copse_status status = copse_ctx_create(&wish, &target->ctx);
    if (status == COPSE_ERR_UNSUPPORTED && options->isa_all) {
        target->ctx = NULL;
        return true;
    }
    if (status != COPSE_OK) {
        *out_exit = cli_fail("bench", "%s", copse_last_error(NULL));
        return false;
    }
    copse_ctx_info info = {.struct_size = sizeof info};
    copse_ctx_describe(target->ctx, &info);
    target->threads = info.threads;
    target->isa = info.isa;
    target->pipeline = info.pipeline;
    return true;
}

/* The index itself tells which structure and placement `auto` has become. Of several structures those that are not there
 * for the placement get a remark and are passed over: *out_there is then false. */
static bool name_target(bench_target *target, const bench_options *options, const bench_data *data, bool *out_there,
                        int *out_exit)
{
    copse_index *index = NULL;
    copse_stats stats = {.struct_size = sizeof stats};
    copse_index_options wish = COPSE_INDEX_OPTIONS_INIT;
    wish.key_type = data->key_type;
    wish.value_type = data->value_type;
    wish.structure = target->structure;
    wish.placement = target->placement;
    copse_status status = copse_index_create(target->ctx, &wish, &index);
    *out_there = status != COPSE_ERR_UNSUPPORTED || options->structures.count == 1;
    if (!*out_there) {
        cli_note("bench", "%s", copse_last_error(target->ctx));
        return true;
    }
    if (status != COPSE_OK || copse_index_stats(index, &stats) != COPSE_OK) {
        *out_exit = cli_fail("bench", "%s", copse_last_error(target->ctx));
        copse_index_free(index);
        return false;
    }
    copse_index_free(index);
    target->structure = stats.structure;
    target->placement = stats.placement;
    snprintf(target->name, sizeof target->name, "%s", copse_structure_name(stats.structure));
    return true;
}

static void name_device(bench_target *target)
{
    copse_device_info info = {.struct_size = sizeof info};
    target->device->backend->describe(target->device->number, &info);
    snprintf(target->device_name, sizeof target->device_name, "%s", info.name);
}

/* An index in host memory takes no arrays on a device, and for one on the CPU alone pinned memory is like any other. */
static bool takes_memory(const bench_target *target)
{
    if (cli_placement_is_device(target->placement)) return true;
    return target->placement != COPSE_PLACEMENT_CPU && target->memory < BENCH_DEVICE;
}

static bool is_hybrid(const bench_target *target)
{
    return target->placement == COPSE_PLACEMENT_HYBRID || target->placement == COPSE_PLACEMENT_HYBRID_EMULATED;
}

/* A hybrid index takes another schedule or size of buckets from call to call: contestants that differ in nothing else share one. */
static bench_target *keeper_of(const bench_targets *targets, bench_target *target)
{
    for (bench_target *other = targets->target; other < target && is_hybrid(target); other++)
        if (other->ctx && other->structure == target->structure && other->placement == target->placement &&
            other->threads == target->threads && other->isa == target->isa && other->memory == target->memory &&
            other->huge_pages == target->huge_pages && other->pipeline == target->pipeline &&
            other->transfer == target->transfer && other->leaf_memory == target->leaf_memory &&
            other->page_order == target->page_order && !other->peer)
            return other->first;
    return target;
}

/* An index on the CPU takes ordinary memory only, and arrays on a device need no transfer: such contestants take part
 * once, however long the lists are. */
static bool is_repeated(const bench_target *target, const bench_options *options)
{
    bool cpu = target->placement == COPSE_PLACEMENT_CPU;
    bool other_memory = !takes_memory(target) && (uint64_t)target->memory != options->memories.item[0];
    bool other_transfer = target->transfer != &options->transfer[0];
    bool other_buckets =
        (uint64_t)target->schedule != options->schedules.item[0] ||
        (uint64_t)target->bucket != options->buckets.item[0] || target->leaf_memory != options->leaf_memories.item[0] ||
        (uint64_t)target->slower != options->slowers.item[0] || (uint64_t)target->refresh != options->refreshes.item[0];
    return other_memory || (other_transfer && (cpu || target->memory >= BENCH_DEVICE)) ||
           (other_buckets && !is_hybrid(target)) ||
           (target->page_order != options->page_orders.item[0] && target->structure != COPSE_STRUCTURE_PAGED);
}

static copse_status set_transfer(const bench_target *target)
{
    copse_transfer_settings settings;
    const bench_transfer *wish = target->transfer;
    copse_status status = copse_transfer_settings_get(target->device, &settings);
    if (status != COPSE_OK) return status;
    if (wish->mode != COPSE_TRANSFER_AUTO) settings.mode = (copse_transfer_mode)wish->mode;
    if (wish->chunk_bytes > 0) settings.chunk_bytes = wish->chunk_bytes;
    if (wish->slots > 0) settings.slots = wish->slots;
    if (wish->streaming) settings.streaming = true;
    return copse_transfer_settings_set(target->device, &settings);
}

static bool place_target(bench_target *target, int *out_exit)
{
    if (target->placement == COPSE_PLACEMENT_CPU) {
        target->memory = BENCH_HOST;
        return true;
    }
    if (!takes_memory(target)) target->memory = BENCH_HOST;
    copse_status status = copse_device_get(target->ctx, target->placement, &target->device);
    if (status == COPSE_OK) status = set_transfer(target);
    if (status != COPSE_OK) {
        *out_exit = cli_fail("bench", "%s", copse_last_error(target->ctx));
        return false;
    }
    name_device(target);
    return true;
}

static bool add_copse(bench_targets *targets, const bench_target *wish, const bench_options *options,
                      const bench_data *data, int *out_exit)
{
    bench_target *target = &targets->target[targets->count];
    *target = *wish;
    if (!open_context(target, options, out_exit)) return false;
    if (target->ctx == NULL) return true; /* an instruction set that this machine lacks, asked for by `all` */
    targets->count++;
    bool there;
    if (!name_target(target, options, data, &there, out_exit)) return false;
    if (there && !is_repeated(target, options)) {
        target->first = keeper_of(targets, target);
        if (target->first != target) {
            copse_ctx_free(target->ctx);
            target->ctx = target->first->ctx;
        }
        return place_target(target, out_exit);
    }
    targets->count--;
    copse_ctx_free(target->ctx);
    return true;
}

/* A peer on a GPU has one contestant, in device memory, and a context only for that memory. */
static void add_device_peer(bench_targets *targets, const char *name, const bench_peer *peer)
{
    bench_target *target = &targets->target[targets->count];
    memset(target, 0, sizeof *target);
    if (copse_ctx_create(NULL, &target->ctx) != COPSE_OK ||
        copse_device_get(target->ctx, COPSE_PLACEMENT_GPU, &target->device) != COPSE_OK) {
        cli_note("bench", "%s: %s", name, copse_last_error(target->ctx));
        copse_ctx_free(target->ctx);
        return;
    }
    name_device(target);
    snprintf(target->name, sizeof target->name, "%s", name);
    target->peer = peer;
    target->placement = COPSE_PLACEMENT_GPU;
    target->memory = BENCH_DEVICE;
    target->threads = 1;
    target->first = target;
    target->device->backend->enter(target->device); /* peers work on the current device, from here on this one */
    targets->count++;
}

/* One per thread count, all reading the same container. */
static bool add_peers(bench_targets *targets, const bench_options *options, const bench_data *data,
                      uint32_t default_threads)
{
    bool plain = (data->key_type == COPSE_U32 || data->key_type == COPSE_U64) &&
                 (data->value_type == COPSE_U32 || data->value_type == COPSE_U64);
    for (size_t p = 0; p < options->peers.count; p++) {
        bench_peer_fn peer = NULL;
        const char *name = bench_peer_at((size_t)options->peers.item[p], &peer);
        if (!plain) {
            cli_note("bench", "%s: only for keys and values of type u32 and u64", name);
            continue;
        }
        const bench_peer *table = peer((unsigned)data->key_size, (unsigned)data->value_size);
        if (table->on_device) {
            add_device_peer(targets, name, table);
            continue;
        }
        size_t first = targets->count;
        for (size_t t = 0; t < options->threads.count; t++) {
            bench_target *target = &targets->target[targets->count++];
            memset(target, 0, sizeof *target);
            snprintf(target->name, sizeof target->name, "%s", name);
            target->peer = table;
            target->threads = options->threads.item[t] ? (uint32_t)options->threads.item[t] : default_threads;
            target->first = &targets->target[first];
        }
    }
    return true;
}

static uint32_t threads_by_default(void)
{
    copse_ctx *ctx = NULL;
    copse_ctx_info info = {.struct_size = sizeof info};
    if (copse_ctx_create(NULL, &ctx) == COPSE_OK) copse_ctx_describe(ctx, &info);
    copse_ctx_free(ctx);
    return info.threads ? info.threads : 1;
}

/* Number c of the cross product of all options that make a contestant. */
static bench_target combination(const bench_options *o, size_t c)
{
    const bench_list *lists[] = {&o->structures,    &o->placements, &o->threads,   &o->isas,       &o->huge_pages,
                                 &o->pipelines,     &o->memories,   &o->transfers, &o->schedules,  &o->buckets,
                                 &o->leaf_memories, &o->slowers,    &o->refreshes, &o->page_orders};
    uint64_t chosen[14];
    for (int i = 13; i >= 0; i--) {
        chosen[i] = lists[i]->item[c % lists[i]->count];
        c /= lists[i]->count;
    }
    bench_target target = {.structure = (copse_structure)chosen[0], .placement = (copse_placement)chosen[1]};
    target.threads = (uint32_t)chosen[2];
    target.isa = chosen[3] ? bench_isa_name(chosen[3]) : NULL;
    target.huge_pages = (copse_huge_pages)chosen[4];
    target.pipeline = (uint32_t)chosen[5];
    target.memory = (bench_memory_kind)chosen[6];
    target.transfer = &o->transfer[chosen[7]];
    target.schedule = (copse_schedule)chosen[8];
    target.bucket = (uint32_t)chosen[9];
    target.leaf_memory = chosen[10];
    target.slower = (uint32_t)chosen[11];
    target.refresh = (uint32_t)chosen[12];
    target.page_order = (uint32_t)chosen[13];
    return target;
}

/* Memory of a GPU without an index on one is a mistake of the caller, which silence would hide. */
static bool memory_is_used(const bench_targets *targets, const bench_options *options, int *out_exit)
{
    bool on_device = false;
    for (size_t i = 0; i < targets->count; i++) on_device = on_device || targets->target[i].device != NULL;
    for (size_t i = 0; i < options->memories.count && !on_device; i++) {
        bench_memory_kind kind = (bench_memory_kind)options->memories.item[i];
        if (kind == BENCH_HOST) continue;
        *out_exit = cli_fail("bench", "--memory %s is for an index on a GPU, and none of the contestants is on one",
                             bench_memory_name(kind, true));
        return false;
    }
    return true;
}

bool bench_targets_open(bench_targets *targets, const bench_options *options, const bench_data *data, int *out_exit)
{
    size_t combinations = options->structures.count * options->placements.count * options->threads.count *
                          options->isas.count * options->huge_pages.count * options->pipelines.count *
                          options->memories.count * options->transfers.count * options->schedules.count *
                          options->buckets.count * options->leaf_memories.count * options->slowers.count *
                          options->refreshes.count * options->page_orders.count;
    targets->count = 0;
    targets->target =
        bench_memory(combinations + options->peers.count * options->threads.count, sizeof *targets->target);
    for (size_t c = 0; c < combinations; c++) {
        bench_target wish = combination(options, c);
        if (!add_copse(targets, &wish, options, data, out_exit)) return false;
    }
    return add_peers(targets, options, data, threads_by_default()) && memory_is_used(targets, options, out_exit);
}

void bench_targets_close(bench_targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        bench_target *target = &targets->target[i];
        if (target->store) bench_store_free(target, target->store);
        if (target->ctx && target->first == target) copse_ctx_free(target->ctx);
    }
    free(targets->target);
    memset(targets, 0, sizeof *targets);
}
