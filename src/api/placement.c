/* Where an index lives: the choice at its beginning, moving it, and the way of small ones to a GPU when they grow. */
#include "api/placement.h"
#include "api/check.h"
#include "trees/hybrid/mirror.h"
#include "trees/registry.h"

static copse_status no_such_tree(const copse_ctx *ctx, copse_type key_type, copse_structure structure,
                                 copse_placement placement)
{
    if (structure == COPSE_STRUCTURE_AUTO)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "no tree at the placement %s takes byte strings as keys",
                          copse_placement_name(placement));
    if (!copse_registry_takes(structure, key_type) && key_type != COPSE_BYTES)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "the %s tree only takes byte strings as keys",
                          copse_structure_name(structure));
    if (key_type == COPSE_BYTES && copse_registry_at(structure, placement))
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED,
                          "the %s tree does not take byte strings as keys; copse_supports says which do",
                          copse_structure_name(structure));
    return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "this build has no %s tree for the placement %s",
                      copse_structure_name(structure), copse_placement_name(placement));
}

static copse_status choose_asked(copse_ctx *ctx, copse_type key_type, copse_placement placement,
                                 copse_structure structure, copse_choice *out)
{
    *out = (copse_choice){
        .structure = structure, .at = copse_registry_at_for(key_type, structure, placement), .why = "asked for"};
    if (!out->at) return no_such_tree(ctx, key_type, structure, placement);
    if (placement != COPSE_PLACEMENT_GPU && placement != COPSE_PLACEMENT_EMULATED) return COPSE_OK;
    return copse_device_get(ctx, placement, &out->device);
}

/* A tree on the CPU for AUTO placement. */
static copse_status choose_cpu(const copse_ctx *ctx, const copse_index_options *o, unsigned use, const char *why,
                               copse_choice *out)
{
    const bool named = o->structure != COPSE_STRUCTURE_AUTO;
    copse_structure structure =
        named ? o->structure : copse_registry_automatic_for(o->key_type, COPSE_PLACEMENT_CPU, use, o->duplicates);
    if (named && o->key_type != COPSE_BYTES && copse_registry_takes(structure, o->key_type))
        structure =
            copse_registry_nearest(structure, COPSE_PLACEMENT_CPU); /* no tree of byte strings has a counterpart */
    *out = (copse_choice){
        .structure = structure, .at = copse_registry_at_for(o->key_type, structure, COPSE_PLACEMENT_CPU), .why = why};
    return out->at ? COPSE_OK : no_such_tree(ctx, o->key_type, structure, COPSE_PLACEMENT_CPU);
}

/*
 * AUTO structure: the tree that is AUTO's at the placement, for updates unless the caller says that they are rare. AUTO placement: the
 * CPU while the index is small, then a GPU if there is one that can be used and has the tree; at once where the context says that the
 * caller works on a GPU. Small indexes thus never start a driver, which takes longer than all that they are asked.
 */
copse_status copse_choose(copse_ctx *ctx, const copse_index_options *o, copse_choice *out)
{
    const unsigned use = o->updates == COPSE_UPDATES_RARE       ? COPSE_AUTO_READS
                         : o->updates == COPSE_UPDATES_STREAMED ? COPSE_AUTO_STREAMED
                                                                : COPSE_AUTO_UPDATES;
    const bool named = o->structure != COPSE_STRUCTURE_AUTO;
    const copse_type type = o->key_type;
    if (o->placement != COPSE_PLACEMENT_AUTO) {
        const unsigned uses = use | COPSE_AUTO_ASKED;
        const copse_structure asked =
            named ? o->structure : copse_registry_automatic_for(type, o->placement, uses, o->duplicates);
        if (asked == COPSE_STRUCTURE_AUTO && copse_registry_automatic_for(type, o->placement, uses, false) != asked)
            return copse_fail(ctx, COPSE_ERR_UNSUPPORTED,
                              "no tree of byte strings at the placement %s keeps duplicates",
                              copse_placement_name(o->placement));
        return choose_asked(ctx, type, o->placement, asked, out);
    }
    const copse_structure there =
        named ? o->structure : copse_registry_automatic_for(type, COPSE_PLACEMENT_GPU, use, o->duplicates);
    const copse_tree_at *at = copse_registry_at_for(type, there, COPSE_PLACEMENT_GPU);
    if (!at) return choose_cpu(ctx, o, use, "the structure is there for the CPU only", out);
    if (at->automatic == COPSE_AUTO_ASKED)
        return choose_cpu(ctx, o, use, "the structure goes to a GPU only where that is asked for", out);
    if (!ctx->stream && !ctx->device_arrays) {
        copse_status status = choose_cpu(ctx, o, use, COPSE_WHY_SMALL, out);
        out->grows_to = there;
        return status;
    }
    *out = (copse_choice){.structure = there, .at = at, .why = COPSE_WHY_GPU};
    if (copse_device_try_gpu(ctx, &out->device)) return COPSE_OK;
    return choose_cpu(ctx, o, use, copse_device_why_not(ctx), out);
}

/* --- moving ----------------------------------------------------------------------------------------------------------- */

/* copy_to for keys that are byte strings: how many bytes they take is asked first. */
static copse_status copy_bytes_to(const copse_index *index, copse_index *to)
{
    const copse_ctx *ctx = index->ctx;
    const uint64_t n = copse_size(index);
    copse_bytes keys = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    copse_status status = copse_export(index, &keys, NULL, 0);
    if (status != COPSE_OK) return status;
    const size_t offset_bytes = copse_memory_product(n + 1, sizeof(int64_t));
    const size_t value_bytes = copse_memory_product(n + 1, copse_type_size(index->value_type));
    const size_t bytes = offset_bytes + value_bytes + keys.needed; /* less than what the index has */
    char *memory = copse_memory_alloc(ctx, bytes);
    if (!memory) return copse_fail_memory(ctx, bytes, "moving the index");
    char *values = value_bytes ? memory + offset_bytes : NULL;
    keys.offsets = memory;
    keys.data = memory + offset_bytes + value_bytes;
    keys.size = keys.needed;
    status = copse_export(index, &keys, values, n);
    if (status == COPSE_OK) status = to->calls->build(to, &keys, values, n);
    if (status == COPSE_OK) copse_version_advance(to);
    copse_memory_free(ctx, memory, bytes);
    return status;
}

/* A second index of the same kind at another placement, filled with the same entries through host memory. */
static copse_status copy_to(const copse_index *index, copse_index *to)
{
    if (index->key_type == COPSE_BYTES) return copy_bytes_to(index, to);
    const copse_ctx *ctx = index->ctx;
    uint64_t n = copse_size(index);
    size_t key_bytes = copse_memory_product(n, copse_type_size(index->key_type));
    size_t value_bytes = copse_memory_product(n, copse_type_size(index->value_type)); /* 0 for a set */
    void *keys = copse_memory_alloc(ctx, key_bytes);
    void *values = value_bytes ? copse_memory_alloc(ctx, value_bytes) : NULL;
    copse_status status = COPSE_OK;
    if (!keys || (value_bytes && !values)) status = copse_fail_memory(ctx, key_bytes + value_bytes, "moving the index");
    if (status == COPSE_OK) status = copse_export(index, keys, values, n);
    if (status == COPSE_OK) status = to->calls->build(to, keys, values, n);
    if (status == COPSE_OK) copse_version_advance(to);
    copse_memory_free(ctx, keys, key_bytes);
    copse_memory_free(ctx, values, value_bytes);
    return status;
}

static copse_status copy_as(const copse_index *index, copse_ctx *ctx, copse_structure structure,
                            copse_placement placement, copse_index **out)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = index->key_type;
    options.value_type = index->value_type;
    options.structure = structure;
    options.placement = placement;
    options.duplicates = index->duplicates;
    options.updates = index->updates;
    options.schedule = index->schedule;
    options.bucket = index->bucket;
    options.leaf_memory = index->leaf_memory;
    options.page_order = index->page_order;
    options.long_keys = index->long_keys;
    copse_index *copy = NULL;
    copse_status status = copse_index_create(ctx, &options, &copy);
    if (status == COPSE_OK && copse_size(index)) status = copy_to(index, copy);
    if (status != COPSE_OK) {
        copse_index_free(copy);
        copy = NULL;
    }
    *out = copy;
    return status;
}

copse_status copse_index_copy(const copse_index *index, copse_ctx *ctx, copse_placement placement, copse_index **out)
{
    const copse_structure structure = index->description->structure;
    /* No tree of byte strings has a counterpart. */
    const bool stays = index->key_type == COPSE_BYTES;
    return copy_as(index, ctx, stays ? structure : copse_registry_nearest(structure, placement), placement, out);
}

/* The index gets the tree of another one, which is freed; the handle, which the caller has, stays. */
static void take_tree(copse_index *index, copse_index *moved)
{
    const copse_index old = *index;
    const uint64_t version = copse_version_of(index);
    index->description = moved->description;
    index->placement = moved->placement;
    index->calls = moved->calls;
    index->by_width = moved->by_width;
    index->device = moved->device;
    index->placement_why = moved->placement_why;
    index->tree = moved->tree;
    index->mirror = moved->mirror;
    /* Cursors look at it; a version that the moved tree keeps goes on from there. */
    index->version = moved->version == &moved->own_version ? &index->own_version : moved->version;
    __atomic_store_n(index->version, version + 1, __ATOMIC_RELEASE);
    moved->calls = old.calls;
    moved->by_width = old.by_width;
    moved->device = old.device;
    moved->tree = old.tree;
    moved->mirror = old.mirror;
    moved->version = &moved->own_version;
    copse_index_free(moved);
}

copse_status copse_move(copse_index *index, copse_placement placement)
{
    copse_status status = copse_check_change(index, "copse_move");
    if (status != COPSE_OK) return status;
    if ((unsigned)placement > COPSE_PLACEMENT_HYBRID_EMULATED)
        return copse_fail_argument(index->ctx, "placement",
                                   "copse_move: placement is %d, which is not a copse_placement", (int)placement);
    copse_index *moved = NULL;
    if (index->placement != placement) status = copse_index_copy(index, index->ctx, placement, &moved);
    if (status != COPSE_OK) return status;
    if (moved) take_tree(index, moved);
    index->grows_to = COPSE_STRUCTURE_AUTO; /* the caller has decided */
    index->automatic = false;
    return COPSE_OK;
}

/* From the CPU or the GPU to both: the tree itself, or its counterpart where AUTO does not take it there, since its pages would be on the
 * card again. A failure changes nothing, and leaves the last error as it was. */
static bool retreat_to_hybrid(copse_index *index)
{
    const copse_tree_at *there = copse_registry_at(index->description->structure, COPSE_PLACEMENT_HYBRID);
    const copse_structure structure =
        there && there->automatic ? index->description->structure : index->description->counterpart;
    copse_index *moved = NULL;
    copse_kept_error kept;
    copse_error_keep(&kept);
    if (index->key_type == COPSE_BYTES ||
        copy_as(index, index->ctx, structure, COPSE_PLACEMENT_HYBRID, &moved) != COPSE_OK) {
        copse_error_put_back(&kept);
        return false;
    }
    take_tree(index, moved);
    index->placement_why = COPSE_WHY_HYBRID;
    return true;
}

copse_status copse_grow(copse_index *index, const void *keys, uint64_t n)
{
    if (index->grows_to == COPSE_STRUCTURE_AUTO) return COPSE_OK;
    if (copse_size(index) + n < COPSE_AUTO_GPU_ENTRIES && !copse_device_owns(keys)) return COPSE_OK;
    const copse_structure structure = index->grows_to;
    copse_device *device;
    copse_index *moved = NULL;
    copse_kept_error kept;
    index->grows_to = COPSE_STRUCTURE_AUTO; /* it is decided once */
    if (!copse_device_try_gpu(index->ctx, &device)) {
        index->placement_why = copse_device_why_not(index->ctx);
        return COPSE_OK;
    }
    copse_error_keep(&kept);
    copse_status status = copy_as(index, index->ctx, structure, COPSE_PLACEMENT_GPU, &moved);
    if (status == COPSE_OK) {
        take_tree(index, moved);
        index->placement_why = COPSE_WHY_GPU;
        return COPSE_OK;
    }
    copse_error_put_back(&kept);
    index->placement_why = "the GPU had no room for it";
    if (status == COPSE_ERR_MEMORY) (void)retreat_to_hybrid(index);
    return COPSE_OK;
}

bool copse_retreat(copse_index *index, const void *keys, copse_status status)
{
    if (status != COPSE_ERR_MEMORY || !index->automatic || index->placement != COPSE_PLACEMENT_GPU) return false;
    return !copse_device_owns(keys) && retreat_to_hybrid(index);
}

void copse_tune_hybrid(copse_index *index, copse_schedule schedule, uint64_t bucket, uint32_t slower, uint32_t refresh)
{
    copse_hybrid_tune(index, schedule, bucket, slower, (copse_refresh)refresh);
}

double copse_hybrid_share(const copse_index *index)
{
    const copse_mirror *mirror = index ? copse_mirror_of(index) : NULL;
    const uint64_t together = mirror ? mirror->last.together : 0;
    return together ? (double)together / (double)(together + mirror->last.alone) : 0;
}
