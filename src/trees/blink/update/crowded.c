/* Crowds of a sorted batch, and the overflow directory that their leaves go into: memory and launches. */
#include "primitives/primitives.h"
#include "trees/blink/update/strategies.h"

/* Operations from which on a run is a crowd, in a batch that has large ones: most that split a leaf. Fewer are carried out by one lane. */
#define CROWD 4u
/* Leaves of an anchor that go into the directory at a time: ADOPT_MOST of update/directory_merge.h. */
#define ADOPT_MOST 64u

/* --- the memory of directories --------------------------------------------------------------------------------------------------- */

/* Bytes of a directory with room for so many entries: lower bounds, leaves, base leaves, nodes. */
static uint64_t directory_bytes(uint64_t key, uint64_t entries, uint64_t *out_nodes)
{
    const uint64_t separators = 64 / key;
    *out_nodes = entries * (key + 2 * sizeof(uint32_t));
    *out_nodes = (*out_nodes + 63) / 64 * 64;
    return *out_nodes + (entries / separators + COPSE_DIRECTORY_HEIGHT + 1) * 64;
}

/* Makes sure that the directory that is not in use has room for so many entries. Where there are views, one that is too small stays until
 * the epoch goes: a reader may still use it. Each is half again as large as the last, so that they are few. */
static copse_status directory_room(const copse_blink_update *u, uint64_t entries, copse_blink_directory *to)
{
    const copse_index *index = u->index;
    copse_device *device = index->device;
    copse_blink_epoch *epoch = u->epoch;
    copse_directory_memory *memory = &epoch->directory[!epoch->directory_used];
    const uint64_t key = copse_type_size(index->key_type);
    uint64_t nodes;
    if (memory->entries < entries) {
        void *fresh = NULL;
        if (u->tree->views && epoch->retired_count == COPSE_RETIRED_MOST)
            return copse_fail_memory(index->ctx, entries, "the overflow directory");
        const uint64_t more = memory->entries / 2 * 3, wanted = entries > more ? entries : more;
        const uint64_t bytes = directory_bytes(key, wanted, &nodes);
        copse_status status = copse_device_alloc(device, device->main, bytes, "the overflow directory", &fresh);
        if (status != COPSE_OK) return status;
        if (memory->memory && u->tree->views)
            epoch->retired[epoch->retired_count++] = *memory;
        else
            copse_device_free(device, device->main, memory->memory, memory->bytes);
        *memory = (copse_directory_memory){fresh, bytes, wanted};
    }
    (void)directory_bytes(key, memory->entries, &nodes);
    to->lows = (uint64_t)(uintptr_t)memory->memory;
    to->leaves = to->lows + memory->entries * key;
    to->base_leaves = to->leaves + memory->entries * sizeof(uint32_t);
    to->nodes = to->lows + nodes;
    return COPSE_OK;
}

void copse_blink_directory_free(const copse_index *index, copse_blink_epoch *epoch)
{
    copse_device *device = index->device;
    for (unsigned i = 0; i < epoch->retired_count; i++)
        copse_device_free(device, device->main, epoch->retired[i].memory, epoch->retired[i].bytes);
    for (unsigned i = 0; i < 2; i++)
        copse_device_free(device, device->main, epoch->directory[i].memory, epoch->directory[i].bytes);
}

uint64_t copse_blink_directory_bytes(const copse_blink_epoch *epoch)
{
    uint64_t bytes = epoch->directory[0].bytes + epoch->directory[1].bytes;
    for (unsigned i = 0; i < epoch->retired_count; i++) bytes += epoch->retired[i].bytes;
    return bytes;
}

void copse_blink_directory_grown(copse_blink_epoch *epoch, uint32_t placed)
{
    if (placed == 0) return;
    epoch->view.directory_entries += placed;
    epoch->directory_used = !epoch->directory_used;
}

/* Enqueues the kernels that make the next directory of the current one and up to `some` new entries. */
static copse_status directory_launch(const copse_index *index, const copse_crowd_arguments *arguments, uint64_t some)
{
    copse_device *device = index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(index);
    const uint64_t all = arguments->tree.directory_entries + some, blocks = copse_device_blocks(device, all);
    copse_status status = copse_device_launch(device, device->main, &kernels->directory_merge, blocks, arguments);
    if (status != COPSE_OK) return status;
    return copse_device_launch(device, device->main, &kernels->directory_nodes,
                               copse_device_blocks(device, all + all / 4), arguments);
}

/* ... and that which readers learn of it by. */
static copse_status directory_publish(const copse_index *index, const copse_crowd_arguments *arguments)
{
    copse_device *device = index->device;
    return copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->directory_publish, 1, arguments);
}

/* --- crowds ------------------------------------------------------------------------------------------------------------------------ */

/* Lays out the arrays of the kernels in `memory`; NULL: only says how many bytes they take. */
static uint64_t arrays_lay_out(uint64_t key, uint64_t n, uint64_t some, char *memory, copse_crowd_arguments *out)
{
    const uint64_t lows = (n + 1) * sizeof(uint64_t), leaves = lows + some * key,
                   base_leaves = leaves + some * sizeof(uint32_t), items = base_leaves + some * sizeof(uint32_t);
    if (memory) {
        out->sizes = (uint64_t *)memory;
        out->lows = memory + lows;
        out->new_leaves = (uint32_t *)(memory + leaves);
        out->new_base_leaves = (uint32_t *)(memory + base_leaves);
        out->items = n ? (copse_crowd_item *)(memory + items) : NULL;
        out->new_most = out->items_most = (uint32_t)some;
    }
    return items + (n ? some * sizeof(copse_crowd_item) : 0);
}

copse_status copse_blink_crowds_take(const copse_blink_update *u, const copse_blink_operations *operations,
                                     const uint32_t *leaves, copse_blink_crowds *out)
{
    copse_blink_epoch *epoch = u->epoch;
    copse_device *device = u->index->device;
    copse_crowd_arguments *arguments = &out->arguments;
    const uint64_t n = operations->n, some = n / 2 + 64, key = copse_type_size(u->index->key_type);
    void *memory = NULL;
    out->bytes = arrays_lay_out(key, n, some, NULL, arguments);
    copse_status status = directory_room(u, epoch->view.directory_entries + some, &arguments->to);
    if (status == COPSE_OK) status = copse_device_alloc(device, device->main, out->bytes, "the update", &memory);
    if (status != COPSE_OK) return status;
    out->memory = memory;
    (void)arrays_lay_out(key, n, some, memory, arguments);
    arguments->tree = epoch->view;
    arguments->operations = *operations;
    arguments->leaves = leaves;
    arguments->crowd = CROWD;
    arguments->shared = u->tree->views != 0;
    arguments->entries_most = (uint32_t)epoch->directory[!epoch->directory_used].entries;
    arguments->touched = copse_blink_ranks_touched(epoch);
    arguments->counters = epoch->counters;
    return COPSE_OK;
}

copse_status copse_blink_crowds_launch(const copse_blink_update *u, copse_blink_crowds *crowds)
{
    copse_device *device = u->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(u->index);
    copse_crowd_arguments *arguments = &crowds->arguments;
    const uint64_t n = arguments->operations.n, blocks = copse_device_blocks(device, n + 1);
    arguments->tree = u->epoch->view; /* the host may have made the pool larger */
    copse_status status = copse_device_launch(device, device->main, &kernels->crowd_count, blocks, arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, arguments->sizes, arguments->sizes, n + 1);
    if (status == COPSE_OK) status = copse_device_launch(device, device->main, &kernels->crowd_list, blocks, arguments);
    if (status == COPSE_OK && u->action != COPSE_ACTION_ERASE) {
        status = copse_device_launch(device, device->main, &kernels->crowd_spill, copse_device_blocks(device, n * 4),
                                     arguments);
        if (status == COPSE_OK) status = directory_launch(u->index, arguments, n / 5);
    }
    return status;
}

copse_status copse_blink_crowds_link(const copse_blink_update *u, const copse_blink_crowds *crowds)
{
    copse_device *device = u->index->device;
    copse_status status =
        copse_device_launch(device, device->main, &copse_blink_kernels_of(u->index)->crowd_link,
                            copse_device_blocks(device, crowds->arguments.operations.n), &crowds->arguments);
    if (status != COPSE_OK || u->action == COPSE_ACTION_ERASE) return status;
    return directory_publish(u->index, &crowds->arguments);
}

void copse_blink_crowds_free(const copse_index *index, copse_blink_crowds *crowds)
{
    copse_device_free(index->device, index->device->main, crowds->memory, crowds->bytes);
    crowds->memory = NULL;
}

/* --- anchors that have become long -------------------------------------------------------------------------------------------------- */

copse_status copse_blink_directory_adopt(const copse_blink_update *u, uint32_t winding)
{
    const copse_index *index = u->index;
    copse_device *device = index->device;
    copse_blink_epoch *epoch = u->epoch;
    const uint64_t noted = winding < COPSE_WINDERS ? winding : COPSE_WINDERS, some = noted * ADOPT_MOST;
    const uint64_t key = copse_type_size(index->key_type);
    copse_crowd_arguments arguments = {
        .tree = epoch->view, .extra_most = UINT64_MAX, .dead_most = UINT64_MAX, .counters = epoch->counters};
    void *memory = NULL;
    copse_blink_counters seen;
    const uint64_t bytes = arrays_lay_out(key, 0, some, NULL, &arguments);
    copse_status status = directory_room(u, epoch->view.directory_entries + some, &arguments.to);
    if (status == COPSE_OK) status = copse_device_alloc(device, device->main, bytes, "the overflow directory", &memory);
    if (status != COPSE_OK) return status;
    (void)arrays_lay_out(key, 0, some, memory, &arguments);
    epoch->counters_reset = false;
    status = copse_blink_counters_reset(index, epoch);
    if (status == COPSE_OK)
        status =
            copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->directory_adopt, 1, &arguments);
    if (status == COPSE_OK) status = directory_launch(index, &arguments, some);
    if (status == COPSE_OK) status = directory_publish(index, &arguments);
    if (status == COPSE_OK) status = copse_blink_counters_read(index, epoch, &seen);
    if (status == COPSE_OK) copse_blink_directory_grown(epoch, seen.placed);
    copse_device_free(device, device->main, memory, bytes);
    return status;
}

/* --- the strategy "append" ----------------------------------------------------------------------------------------------------------- */

/* A batch in order behind all entries needs no sort and no plan: it is one crowd, of the last leaf. The host expects one after others
 * with crowds, and where the other ways are a new epoch, as keys may repeat. */
static bool append_may(const copse_blink_update *u)
{
    const copse_index *index = u->index;
    if (u->mixed || u->sorted || u->epoch->view.branches || copse_type_is_float(index->key_type)) return false;
    if (u->action == COPSE_ACTION_ERASE || u->pairs.n < 2 || u->pairs.n >= UINT32_MAX / 8) return false;
    if (index->duplicates ? u->action != COPSE_ACTION_UPSERT : !u->tree->crowds && !u->forced) return false;
    return copse_blink_leaves_may(u) && (u->forced || copse_predictor_ask(&u->tree->appended));
}

/* Enqueues everything, and reads what came of it. */
static copse_status append_launch(const copse_blink_update *u, const copse_device_pairs *pairs,
                                  copse_blink_crowds *crowds, copse_blink_counters *seen)
{
    const copse_index *index = u->index;
    copse_device *device = index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(index);
    const copse_blink_operations operations = copse_blink_update_operations(u, pairs);
    copse_crowd_arguments *arguments = &crowds->arguments;
    const uint64_t n = pairs->n, leaves = n / copse_blink_slots(index) + 1,
                   uneven = u->epoch->pool_used - u->epoch->pool_taken;
    copse_status status = copse_blink_counters_reset(index, u->epoch);
    if (status == COPSE_OK) status = copse_blink_pool_reserve(index, u->epoch, uneven + leaves + COPSE_POOL_STRIPES);
    if (status == COPSE_OK) status = copse_blink_crowds_take(u, &operations, NULL, crowds);
    arguments->extra_most = copse_blink_extra_most(u);
    arguments->dead_most = 0;
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->crowd_append, copse_device_blocks(device, n),
                                     arguments);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &kernels->crowd_spill, copse_device_blocks(device, n * 4),
                                     arguments);
    if (status == COPSE_OK) status = directory_launch(index, arguments, leaves);
    if (status == COPSE_OK) status = copse_device_launch(device, device->main, &kernels->crowd_link, 1, arguments);
    if (status == COPSE_OK) status = directory_publish(index, arguments);
    return status == COPSE_OK ? copse_blink_counters_read(index, u->epoch, seen) : status;
}

static bool append_done(const copse_blink_counters *seen, const copse_blink_crowds *crowds)
{
    return seen->crowded != 1 && seen->extra <= crowds->arguments.extra_most;
}

static int append_run(copse_blink_update *u)
{
    copse_blink_crowds crowds = {.memory = NULL};
    copse_blink_counters seen = {.crowded = 1};
    copse_kept_error kept;
    copse_status status = copse_blink_update_bring(u);
    if (status != COPSE_OK) return status;
    copse_device_pairs pairs = {
        .n = u->pairs.n, .keys = u->pairs.keys, .values = u->pairs.values, .key_type = u->pairs.key_type};
    copse_error_keep(&kept);
    status = copse_device_pairs_encode(u->index, &pairs);
    if (status == COPSE_OK) status = append_launch(u, &pairs, &crowds, &seen);
    copse_blink_crowds_free(u->index, &crowds);
    copse_device_pairs_free(u->index, &pairs);
    if (status == COPSE_ERR_MEMORY || (status == COPSE_OK && !append_done(&seen, &crowds))) {
        if (status != COPSE_OK) copse_error_put_back(&kept);
        if (status == COPSE_OK && seen.crowded == 1) copse_predictor_lost(&u->tree->appended);
        copse_blink_pool_trim(u->index, u->epoch);
        return COPSE_DECLINED;
    }
    if (status != COPSE_OK) return status;
    u->tree->appended.last_rest = 0;
    if (seen.high > u->epoch->high) u->epoch->high = seen.high;
    u->epoch->grown_by = u->pairs.n;
    u->tree->crowds = seen.placed != 0;
    return copse_blink_in_place_finish(u, &seen);
}

const copse_blink_strategy copse_blink_append = {"append", append_may, append_run};
