/* New versions of the B-link and the B+ tree: of sorted pairs, or of an old version and a batch of operations. */
#include "cuda/blink_device.h"

/* Device memory that packing needs for a while. */
typedef struct packer {
    const copse_index *index;
    copse_pack_arguments arguments;
    copse_blink_version *made;
    copse_blink_counters *counters; /* of the old version */
    void *memory[6];
    uint64_t bytes[6];
} packer;

enum { PACK_HOMES, PACK_OFFSETS, PACK_EFFECTS, PACK_BEFORE, PACK_STARTS, PACK_LAST };

static copse_status take(packer *p, unsigned which, uint64_t bytes)
{
    copse_device *device = p->index->device;
    p->bytes[which] = bytes;
    return copse_device_alloc(device, device->main, bytes, "packing the tree", &p->memory[which]);
}

static void give_back(packer *p)
{
    copse_device *device = p->index->device;
    for (unsigned i = 0; i < sizeof p->memory / sizeof *p->memory; i++)
        copse_device_free(device, device->main, p->memory[i], p->bytes[i]);
}

static copse_status launch(const packer *p, const copse_kernel *kernel, uint64_t items)
{
    copse_device *device = p->index->device;
    return copse_device_launch(device, device->main, kernel, copse_device_blocks(device, items), &p->arguments);
}

/* The new version's memory, and its levels once its leaves are filled by the kernels that `fill` puts on the stream. */
static copse_status version_fill(packer *p, uint64_t entries, uint64_t low, uint64_t high,
                                 copse_status (*fill)(packer *p))
{
    const copse_index *index = p->index;
    copse_status status = copse_blink_version_make(index, entries, low, high, &p->made);
    if (status != COPSE_OK || !p->made) return status;
    copse_blink_tree *view = &p->made->view;
    status = take(p, PACK_LAST, view->homes * sizeof(uint32_t));
    p->arguments.to = *view;
    p->arguments.last = p->memory[PACK_LAST];
    if (status == COPSE_OK && entries == 0) status = launch(p, &copse_blink_kernels_of(index)->pack_empty, 1);
    if (status == COPSE_OK && entries) status = fill(p);
    if (status != COPSE_OK) return status;
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    copse_levels_source source = {.children = view->homes,
                                  .last = p->memory[PACK_LAST],
                                  .keys = view->home + (key == value ? 64
                                                        : key == 4   ? 44
                                                                     : 80),
                                  .stride = COPSE_LEAF_BYTES};
    return copse_device_levels_make(index, &source, &view->levels, &p->made->levels);
}

static copse_status finish(packer *p, copse_status status, copse_blink_version **out)
{
    give_back(p);
    if (status == COPSE_OK)
        *out = p->made;
    else
        copse_blink_version_free(p->index, p->made);
    return status;
}

/* --- sorted pairs --------------------------------------------------------------------------------------------------------- */

static copse_status fill_new(packer *p)
{
    return launch(p, &copse_blink_kernels_of(p->index)->pack_new, p->arguments.operations.n);
}

copse_status copse_blink_fill(const copse_index *index, const copse_device_pairs *pairs, copse_blink_version **out)
{
    packer p = {.index = index,
                .arguments.operations = {
                    .keys = pairs->keys, .values = pairs->values, .n = pairs->n, .action = COPSE_ACTION_UPSERT}};
    return finish(&p, version_fill(&p, pairs->n, pairs->low, pairs->high, fill_new), out);
}

/* --- an old version and operations ---------------------------------------------------------------------------------------- */

/* Where each operation belongs, and what it will do. */
static copse_status locate(packer *p)
{
    const copse_index *index = p->index;
    copse_device *device = index->device;
    const uint64_t n = p->arguments.operations.n;
    copse_status status = take(p, PACK_HOMES, n * sizeof(uint32_t));
    if (status == COPSE_OK) status = take(p, PACK_OFFSETS, n * sizeof(uint32_t));
    if (status == COPSE_OK) status = take(p, PACK_EFFECTS, (n + 1) * sizeof(uint64_t));
    if (status != COPSE_OK) return status;
    uint64_t *effects = p->memory[PACK_EFFECTS];
    copse_locate_arguments arguments = {.tree = p->arguments.from,
                                        .operations = p->arguments.operations,
                                        .homes = p->memory[PACK_HOMES],
                                        .offsets = p->memory[PACK_OFFSETS],
                                        .effects = effects,
                                        .counters = p->counters};
    status = copse_device_fill(device, device->main, effects + n, 0, sizeof *effects);
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->locate,
                                     copse_device_blocks(device, n), &arguments);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, effects, effects, n + 1);
    p->arguments.homes = arguments.homes;
    p->arguments.offsets = arguments.offsets;
    p->arguments.effects = effects;
    return status;
}

/* How many entries there will be, and how many of each home in front of the next. */
static copse_status count(packer *p, uint64_t *out_entries, uint64_t *out_effects)
{
    const copse_index *index = p->index;
    copse_device *device = index->device;
    const uint64_t homes = p->arguments.from.homes, n = p->arguments.operations.n;
    copse_status status = take(p, PACK_BEFORE, (homes + 1) * sizeof(uint64_t));
    if (status == COPSE_OK && n) status = take(p, PACK_STARTS, (homes + 1) * sizeof(uint32_t));
    p->arguments.before = p->memory[PACK_BEFORE];
    p->arguments.starts = p->memory[PACK_STARTS];
    if (status == COPSE_OK) status = launch(p, &copse_blink_kernels_of(index)->pack_count, homes + 1);
    if (status == COPSE_OK)
        status = device->backend->primitives->scan_u64(device, device->main, p->arguments.before, p->arguments.before,
                                                       homes + 1);
    if (status == COPSE_OK && n)
        status = copse_device_copy(device, device->main, out_effects, p->arguments.effects + n, sizeof *out_effects);
    if (status == COPSE_OK)
        status = copse_device_read(device, device->main, out_entries, p->arguments.before + homes, sizeof *out_entries);
    return status;
}

static copse_status fill_both(packer *p)
{
    const copse_blink_kernels *kernels = copse_blink_kernels_of(p->index);
    const uint64_t lanes = 16; /* of a leaf, at most */
    copse_status status = launch(p, &kernels->pack_old, p->arguments.from.homes * lanes);
    if (status == COPSE_OK && p->arguments.operations.n && p->arguments.operations.values)
        status = launch(p, &kernels->pack_new, p->arguments.operations.n);
    return status;
}

copse_status copse_blink_pack(const copse_index *index, const copse_blink_version *from,
                              const copse_blink_operations *operations, uint64_t low, uint64_t high,
                              copse_blink_version **out, uint64_t *out_changed)
{
    packer p = {.index = index, .arguments = {.from = from->view}, .counters = from->counters};
    uint64_t entries = 0, effects = 0;
    copse_status status = COPSE_OK;
    if (operations) p.arguments.operations = *operations;
    const bool any = operations && operations->n, some = from->view.entries != 0;
    if (any) status = locate(&p);
    if (status == COPSE_OK) status = count(&p, &entries, &effects);
    const uint64_t lowest = any && (!some || low < from->low) ? low : from->low;
    const uint64_t highest = any && (!some || high > from->high) ? high : from->high;
    if (status == COPSE_OK) status = version_fill(&p, entries, lowest, highest, fill_both);
    /* With duplicates an erased key may take many entries, which the effects do not count. */
    *out_changed = index->duplicates
                       ? (entries > from->view.entries ? entries - from->view.entries : from->view.entries - entries)
                       : (uint32_t)effects + (effects >> 32);
    return finish(&p, status, out);
}
