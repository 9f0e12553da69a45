/* The paged tree on a device: making and freeing it, memory of pages, the directory. */
#include "trees/paged/hybrid.h"

#include <string.h>

/* Pages of the first slab; a later one has this share of what is there, so that little stays unused. */
#define CHUNK_LEAST 4u
#define CHUNK_SHARE 16u
/* ... but not more bytes than this: getting memory takes time with its size, and one call has to wait for it. */
#define CHUNK_BYTES (UINT64_C(8) << 20)
/* A directory has room for this share of its rows more, which appends fill. */
#define SPARE_SHARE 16u

static uint64_t line_up(uint64_t bytes)
{
    return (bytes + COPSE_PAGED_LEAF_BYTES - 1) / COPSE_PAGED_LEAF_BYTES * COPSE_PAGED_LEAF_BYTES;
}

/* --- memory of pages -------------------------------------------------------------------------------------------------------- */

static copse_status stack_grow(const copse_index *index, copse_paged_pool *pool, uint64_t places)
{
    copse_device *device = index->device;
    void *stack = NULL;
    if (places <= pool->stack_room) return COPSE_OK;
    const uint64_t room = places + places / 2;
    copse_status status = copse_device_alloc(device, device->main, room * sizeof *pool->stack, "free pages", &stack);
    if (status == COPSE_OK && pool->top)
        status = copse_device_copy(device, device->main, stack, pool->stack, pool->top * sizeof *pool->stack);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, stack, room * sizeof *pool->stack);
        return status;
    }
    copse_device_free(device, device->main, pool->stack, pool->stack_room * sizeof *pool->stack);
    pool->stack = stack;
    pool->stack_room = room;
    return COPSE_OK;
}

static copse_status slab_list_grow(const copse_index *index, copse_paged_pool *pool)
{
    if (pool->slab_count < pool->slab_room) return COPSE_OK;
    const uint32_t room = pool->slab_room ? pool->slab_room * 2 : 8;
    copse_paged_slab *slabs = copse_memory_alloc(index->ctx, room * sizeof *slabs);
    if (!slabs) return copse_fail_memory(index->ctx, room * sizeof *slabs, "the paged tree");
    if (pool->slab_count) memcpy(slabs, pool->slabs, pool->slab_count * sizeof *slabs);
    copse_memory_free(index->ctx, pool->slabs, pool->slab_room * sizeof *slabs);
    pool->slabs = slabs;
    pool->slab_room = room;
    return COPSE_OK;
}

/* Adds a slab of so many pages. */
static copse_status slab_add(const copse_index *index, copse_paged_pool *pool, uint64_t pages)
{
    copse_device *device = index->device;
    copse_paged_slab slab = {.bytes = pages * pool->page_bytes};
    copse_status status = slab_list_grow(index, pool);
    if (status == COPSE_OK) status = stack_grow(index, pool, pool->pages + pages);
    if (status == COPSE_OK)
        status = copse_device_alloc(device, device->main, slab.bytes, "pages of the tree", &slab.memory);
    if (status != COPSE_OK) return status;
    const copse_paged_pool_arguments arguments = {
        .memory = slab.memory, .page_bytes = pool->page_bytes, .n = pages, .stack = pool->stack + pool->top};
    status = copse_device_launch(device, device->main, &copse_paged_kernels_of(index)->push_pages,
                                 copse_device_blocks(device, pages), &arguments);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, slab.memory, slab.bytes);
        return status;
    }
    pool->slabs[pool->slab_count++] = slab;
    pool->pages += pages;
    pool->top += pages;
    return COPSE_OK;
}

copse_status copse_paged_pool_reserve(const copse_index *index, copse_paged_pool *pool, uint64_t pages)
{
    if (pages <= pool->top) return COPSE_OK;
    const uint64_t short_of = pages - pool->top, most = CHUNK_BYTES / pool->page_bytes;
    const uint64_t share = pool->pages / CHUNK_SHARE < most ? pool->pages / CHUNK_SHARE : most;
    const uint64_t least = share > CHUNK_LEAST ? share : CHUNK_LEAST;
    copse_kept_error kept;
    copse_error_keep(&kept);
    copse_status status = slab_add(index, pool, short_of > least ? short_of : least);
    if (status != COPSE_ERR_MEMORY || short_of >= least || pool->pages == 0) return status;
    copse_error_put_back(&kept);
    return slab_add(index, pool, short_of);
}

static void pool_free(const copse_index *index, copse_paged_pool *pool)
{
    copse_device *device = index->device;
    for (uint32_t i = 0; i < pool->slab_count; i++)
        copse_device_free(device, device->main, pool->slabs[i].memory, pool->slabs[i].bytes);
    copse_device_free(device, device->main, pool->stack, pool->stack_room * sizeof *pool->stack);
    copse_memory_free(index->ctx, pool->slabs, pool->slab_room * sizeof *pool->slabs);
}

/* --- the directory ------------------------------------------------------------------------------------------------------------ */

/* Sizes of the levels over so many rows, root first; returns their bytes. */
static uint64_t levels_plan(const copse_index *index, uint64_t rows, copse_paged_directory *out)
{
    const uint64_t fanout = 64 / copse_type_size(index->key_type) + 1;
    uint64_t sizes[COPSE_LEVELS_MOST] = {0}, bytes = 0;
    uint32_t height = 0;
    for (uint64_t n = rows; n > 1; n = sizes[height - 1]) sizes[height++] = (n + fanout - 1) / fanout;
    out->levels = (copse_device_levels){.height = height};
    for (uint32_t l = 0; l < height; l++) {
        out->nodes[l] = sizes[height - 1 - l];
        bytes += out->nodes[l] * 64;
    }
    return bytes;
}

copse_status copse_paged_directory_make(const copse_index *index, uint64_t rows, bool spare, copse_paged_directory *out)
{
    copse_device *device = index->device;
    const uint64_t room = spare ? rows + rows / SPARE_SHARE + 1 : rows;
    const uint64_t key_bytes = line_up(room * copse_type_size(index->key_type));
    const uint64_t page_bytes = line_up(room * sizeof *out->pages), count_bytes = line_up(room * sizeof *out->counts);
    *out = (copse_paged_directory){.rows = (uint32_t)rows, .room = (uint32_t)room};
    if (room > UINT32_MAX / 2)
        return copse_fail(index->ctx, COPSE_ERR_UNSUPPORTED, "the paged tree has at most %u pages", UINT32_MAX / 2);
    out->bytes = levels_plan(index, room, out) + key_bytes + page_bytes + count_bytes;
    copse_status status = copse_device_alloc(device, device->main, out->bytes, "the directory of pages", &out->memory);
    if (status != COPSE_OK) return status;
    char *at = out->memory;
    for (uint32_t l = 0; l < out->levels.height; at += out->nodes[l++] * 64) out->levels.level[l] = at;
    out->highs = at;
    out->pages = (uint64_t *)(void *)(at + key_bytes);
    out->counts = (uint32_t *)(void *)(at + key_bytes + page_bytes);
    return COPSE_OK;
}

void copse_paged_directory_free(const copse_index *index, copse_paged_directory *directory)
{
    copse_device_free(index->device, index->device->main, directory->memory, directory->bytes);
    directory->memory = NULL;
}

static void view_follow(copse_paged_tree *view, const copse_paged_directory *directory)
{
    view->rows = directory->rows;
    view->highs = directory->highs;
    view->pages = directory->pages;
    view->counts = directory->counts;
    view->levels = directory->levels;
}

copse_status copse_paged_levels_fill(const copse_index *index, const copse_paged *tree,
                                     const copse_paged_directory *directory, const copse_paged_seen *seen)
{
    copse_device *device = index->device;
    copse_paged_levels_arguments arguments = {.tree = tree->view, .room = directory->room, .seen = seen};
    view_follow(&arguments.tree, directory);
    if (seen) arguments.tree.rows = tree->view.rows;
    for (uint32_t l = 0; l < directory->levels.height; l++) {
        arguments.nodes[l] = directory->nodes[l];
        arguments.separators += directory->nodes[l] * (64 / copse_type_size(index->key_type));
    }
    return copse_device_launch(device, device->main, &copse_paged_kernels_of(index)->fill_levels,
                               copse_device_blocks(device, arguments.separators), &arguments);
}

void copse_paged_directory_put(const copse_index *index, copse_paged *tree, const copse_paged_directory *directory)
{
    if (tree->directory.memory != directory->memory) copse_paged_directory_free(index, &tree->directory);
    tree->directory = *directory;
    atomic_store_explicit(&tree->host_levels_ready, false, memory_order_relaxed);
    view_follow(&tree->view, directory);
}

/* --- a tree --------------------------------------------------------------------------------------------------------------------- */

/* Where things are in a page. Returns its bytes. */
static uint64_t page_plan(const copse_index *index, uint32_t slots, copse_paged_tree *view)
{
    const uint64_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
    const uint64_t leaves = slots * key / COPSE_PAGED_LEAF_BYTES, lines = (leaves * key + 63) / 64;
    view->slots = slots;
    view->leaves = (uint32_t)leaves;
    view->top_lines = (uint32_t)((lines * key + 63) / 64);
    view->separators_at = COPSE_PAGED_TOP_AT + view->top_lines * 64;
    view->ends_at = (uint32_t)(view->separators_at + lines * 64);
    view->keys_at = (uint32_t)line_up(view->ends_at + leaves * sizeof(uint16_t));
    view->values_at = (uint32_t)(view->keys_at + slots * key);
    return line_up(view->values_at + slots * value);
}

/* The one page of an empty tree: free slots and separators are the largest key. */
static copse_status page_blank(const copse_index *index, const copse_paged *tree, void *page)
{
    copse_device *device = index->device;
    copse_status status = copse_device_fill(device, device->main, page, 0xff, tree->pool.page_bytes);
    if (status == COPSE_OK)
        status = copse_device_fill(device, device->main, (char *)page + tree->view.ends_at, 0,
                                   tree->view.leaves * sizeof(uint16_t));
    return status;
}

static copse_status tree_start(const copse_index *index, copse_paged *tree)
{
    copse_device *device = index->device;
    copse_paged_directory directory;
    copse_status status = copse_paged_pool_reserve(index, &tree->pool, 1);
    if (status != COPSE_OK) return status;
    tree->pool.top--; /* the top of the stack is the last page of the only slab */
    const uint64_t last = (uint64_t)(uintptr_t)tree->pool.slabs[0].memory + tree->pool.top * tree->pool.page_bytes;
    status = page_blank(index, tree, (void *)(uintptr_t)last);
    if (status == COPSE_OK) status = copse_paged_directory_make(index, 1, true, &directory);
    if (status != COPSE_OK) return status;
    status = copse_device_fill(device, device->main, directory.counts, 0, sizeof *directory.counts);
    if (status == COPSE_OK) status = copse_device_copy(device, device->main, directory.pages, &last, sizeof last);
    if (status == COPSE_OK) status = copse_paged_levels_fill(index, tree, &directory, NULL);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main); /* `last` is copied */
    if (status == COPSE_OK)
        copse_paged_directory_put(index, tree, &directory);
    else
        copse_paged_directory_free(index, &directory);
    return status;
}

copse_status copse_paged_make(const copse_index *index, uint32_t slots, copse_paged **out)
{
    copse_paged *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return copse_fail_memory(index->ctx, sizeof *tree, "the paged tree");
    memset(tree, 0, sizeof *tree);
    pthread_mutex_init(&tree->lock, NULL);
    tree->view.unique = !index->duplicates;
    tree->view.packs_from = index->updates == COPSE_UPDATES_RARE ? 0 : 1;
    tree->view.key_type = index->key_type;
    tree->view.value_type = index->value_type;
    tree->pool.page_bytes = page_plan(index, slots, &tree->view);
    copse_status status = tree_start(index, tree);
    if (status == COPSE_OK)
        *out = tree;
    else
        copse_paged_free(index, tree);
    return status;
}

void copse_paged_free(const copse_index *index, copse_paged *tree)
{
    if (!tree) return;
    copse_paged_forget(index, tree);
    copse_paged_host_levels_free(index, tree);
    copse_paged_directory_free(index, &tree->directory);
    pool_free(index, &tree->pool);
    pthread_mutex_destroy(&tree->lock);
    copse_memory_free(index->ctx, tree, sizeof *tree);
}
