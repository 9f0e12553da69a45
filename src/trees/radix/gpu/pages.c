/* Pages of the pools of a radix tree, between the host's tree and the device's: those that updates on the host have touched go there, and
 * those with values that kernels have written come back. */
#include "transfer/transfer.h"
#include "trees/radix/gpu/tree.h"

/* Pages that go at a time. */
#define STAGED_PAGES 1024u
#define TABLE_BYTES  (STAGED_PAGES * sizeof(void *))
#define STAGE_BYTES  (TABLE_BYTES + (uint64_t)STAGED_PAGES * COPSE_RADIX_PAGE)

_Static_assert(COPSE_RADIX_PAGE == 1u << COPSE_RADIX_PAGE_BITS, "a page is a page");

/* Pages on their way: addresses on the device, and behind them what the pages hold; in host memory and in device memory. */
typedef struct stage {
    const copse_index *index;
    bool back;
    unsigned char *host, *there;
    unsigned char *at[STAGED_PAGES]; /* back: where each belongs in host memory, and how much of it */
    uint16_t bytes[STAGED_PAGES];
    uint64_t n;
} stage;

static copse_status stage_open(const copse_index *index, bool back, stage *s)
{
    copse_device *device = index->device;
    void *there = NULL;
    s->index = index;
    s->back = back;
    s->n = 0;
    s->there = NULL;
    s->host = copse_memory_alloc(index->ctx, STAGE_BYTES);
    if (!s->host) return copse_fail_memory(index->ctx, STAGE_BYTES, "the radix tree");
    copse_status status = copse_device_alloc(device, device->main, STAGE_BYTES, "the radix tree", &there);
    s->there = there;
    return status;
}

static void stage_close(stage *s)
{
    copse_memory_free(s->index->ctx, s->host, STAGE_BYTES);
    copse_device_free(s->index->device, s->index->device->main, s->there, STAGE_BYTES);
}

/* Sends the pages that are there, and starts anew. */
static copse_status stage_send(stage *s)
{
    copse_device *device = s->index->device;
    const copse_radix_page_arguments arguments = {
        .pages = s->there + TABLE_BYTES, .at = (unsigned char *const *)(void *)s->there, .n = s->n, .back = s->back};
    const uint64_t pages = s->n * COPSE_RADIX_PAGE;
    if (s->n == 0) return COPSE_OK;
    copse_status status =
        copse_device_copy(device, device->main, s->there, s->host, TABLE_BYTES + (s->back ? 0 : pages));
    if (status == COPSE_OK)
        status = copse_device_launch(device, device->main, &copse_radix_kernels_on(device)->pages,
                                     (s->n + 7) / (COPSE_RADIX_THREADS / 32), &arguments);
    if (status == COPSE_OK && s->back)
        status = copse_device_copy(device, device->main, s->host + TABLE_BYTES, arguments.pages, pages);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main);
    for (uint64_t i = 0; i < s->n && s->back && status == COPSE_OK; i++)
        memcpy(s->at[i], s->host + TABLE_BYTES + i * COPSE_RADIX_PAGE, s->bytes[i]);
    s->n = 0;
    return status;
}

static copse_status page_add(stage *s, const copse_radix_device *tree, uint32_t type, uint64_t page)
{
    const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
    const uint64_t segment = (uint64_t)pool->stride << pool->shift, at = page * COPSE_RADIX_PAGE;
    const uint64_t end = pool->used * pool->stride;
    unsigned char *to = s->host + TABLE_BYTES + s->n * COPSE_RADIX_PAGE, *const address = tree->view.pool[type] + at;
    const size_t bytes = end - at < COPSE_RADIX_PAGE ? (size_t)(end - at) : COPSE_RADIX_PAGE;
    if (at >= end) return COPSE_OK;
    memcpy(s->host + s->n * sizeof(void *), &address, sizeof address);
    s->at[s->n] = pool->segments[at / segment] + at % segment;
    s->bytes[s->n] = (uint16_t)bytes;
    if (!s->back) {
        memcpy(to, s->at[s->n], bytes);
        memset(to + bytes, 0, COPSE_RADIX_PAGE - bytes);
    }
    return ++s->n == STAGED_PAGES ? stage_send(s) : COPSE_OK;
}

/* The pages of the bits in a word. */
static copse_status word_add(stage *s, const copse_radix_device *tree, uint32_t type, uint64_t first, uint64_t bits)
{
    copse_status status = COPSE_OK;
    for (; bits && status == COPSE_OK; bits &= bits - 1)
        status = page_add(s, tree, type, first + (uint64_t)__builtin_ctzll(bits));
    return status;
}

/* --- there ---------------------------------------------------------------------------------------------------------------- */

copse_status copse_radix_pages_send(const copse_index *index, copse_radix_device *tree)
{
    const copse_radix_marks *marks = &tree->marks;
    stage s;
    copse_status status = stage_open(index, false, &s);
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++)
        for (uint64_t word = 0; word < marks->words[type] && status == COPSE_OK; word++) {
            status = word_add(&s, tree, type, word * 64, marks->bits[type][word]);
            marks->bits[type][word] = 0; /* a failure from here on is one of the device, after which nothing is read */
        }
    if (status == COPSE_OK) status = stage_send(&s);
    stage_close(&s);
    return status;
}

/* --- and back ------------------------------------------------------------------------------------------------------------- */

/* Copies the bits that are there into larger arrays. */
static copse_status ahead_keep(const copse_index *index, uint32_t *const *from, uint32_t *const *to,
                               const uint64_t *bytes)
{
    copse_status status = COPSE_OK;
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++)
        if (bytes[type])
            status = copse_device_copy(index->device, index->device->main, to[type], from[type], bytes[type]);
    return status;
}

copse_status copse_radix_ahead_make(const copse_index *index, copse_radix_device *tree,
                                    uint32_t *out[COPSE_RADIX_TYPES])
{
    copse_device *device = index->device;
    copse_scratch_array arrays[COPSE_RADIX_TYPES];
    uint32_t *bits[COPSE_RADIX_TYPES] = {NULL};
    uint64_t bytes[COPSE_RADIX_TYPES];
    bool enough = tree->ahead.memory != NULL;
    const bool first = !enough; /* the host has all that there is */
    for (uint32_t type = 0; type < COPSE_RADIX_TYPES; type++) {
        bytes[type] = (tree->bytes[type] / COPSE_RADIX_PAGE + 31) / 32 * sizeof(uint32_t);
        arrays[type] = (copse_scratch_array){(void **)&bits[type], bytes[type]};
        enough = enough && bytes[type] <= tree->ahead_bytes[type];
    }
    if (!enough) {
        copse_scratch made;
        copse_status status = copse_scratch_take(device, "the radix tree", arrays, COPSE_RADIX_TYPES, &made);
        if (status == COPSE_OK) status = copse_device_fill(device, device->main, made.memory, 0, made.bytes);
        if (status == COPSE_OK && tree->ahead.memory)
            status = ahead_keep(index, tree->ahead_bits, bits, tree->ahead_bytes);
        if (status != COPSE_OK) {
            copse_scratch_free(device, &made);
            return status;
        }
        copse_scratch_free(device, &tree->ahead);
        tree->ahead = made;
        memcpy(tree->ahead_bits, bits, sizeof bits);
        memcpy(tree->ahead_bytes, bytes, sizeof bytes);
        for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && first; type++)
            tree->known[type] = copse_radix_pool_of(&tree->host, type)->used;
        atomic_store_explicit(&tree->is_ahead, true, memory_order_release);
    }
    memcpy(out, tree->ahead_bits, sizeof tree->ahead_bits);
    return COPSE_OK;
}

/* The pages of a pool that kernels have written: those that have a bit, and those of items that the host never had. */
static copse_status pool_fetch(stage *s, const copse_radix_device *tree, uint32_t type)
{
    copse_device *device = s->index->device;
    const copse_radix_pool *pool = copse_radix_pool_of(&tree->host, type);
    const uint64_t bytes = tree->ahead_bytes[type], fresh = tree->known[type] * pool->stride / COPSE_RADIX_PAGE;
    if (bytes == 0) return COPSE_OK;
    uint32_t *bits = copse_memory_alloc(s->index->ctx, bytes);
    if (!bits) return copse_fail_memory(s->index->ctx, bytes, "the radix tree");
    copse_status status = copse_transfer_to_host(device, bits, tree->ahead_bits[type], bytes);
    for (uint64_t page = 0; page < fresh && status == COPSE_OK; page += 32) {
        const uint32_t all = fresh - page < 32 ? (1u << (fresh - page)) - 1 : UINT32_MAX;
        status = word_add(s, tree, type, page, bits[page / 32] & all);
    }
    for (uint64_t page = fresh; page * COPSE_RADIX_PAGE < pool->used * pool->stride && status == COPSE_OK; page++)
        status = page_add(s, tree, type, page);
    copse_memory_free(s->index->ctx, bits, bytes);
    return status;
}

static copse_radix_pool *pool_of(copse_radix_device *tree, uint32_t type)
{
    return type == COPSE_RADIX_LEAF_LONG ? &tree->host.heap.pool : &tree->host.pools[type];
}

/* Room in the host's pools for the items that kernels have taken. */
static copse_status pools_extend(const copse_index *index, copse_radix_device *tree)
{
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        copse_radix_pool *pool = pool_of(tree, type);
        if (tree->more[type] && !copse_radix_pool_extend(index->ctx, pool, tree->more[type]))
            return copse_fail_memory(index->ctx, tree->more[type] * pool->stride, "the radix tree");
    }
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        pool_of(tree, type)->used += tree->more[type];
        tree->more[type] = 0;
    }
    return COPSE_OK;
}

static copse_status pages_fetch(const copse_index *index, copse_radix_device *tree)
{
    stage s;
    copse_status status = stage_open(index, true, &s);
    if (status == COPSE_OK) status = pools_extend(index, tree);
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES && status == COPSE_OK; type++)
        status = pool_fetch(&s, tree, type);
    if (status == COPSE_OK) status = stage_send(&s);
    stage_close(&s);
    if (status == COPSE_OK) status = copse_radix_spares_give(index, tree);
    if (status != COPSE_OK) return status;
    copse_scratch_free(index->device, &tree->ahead);
    if (tree->marks.any) atomic_store_explicit(&tree->behind, true, memory_order_release);
    return COPSE_OK;
}

copse_status copse_radix_values_fetch(const copse_index *index)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    atomic_store_explicit(&tree->idle, 0, memory_order_relaxed);
    if (!atomic_load_explicit(&tree->is_ahead, memory_order_acquire)) return COPSE_OK;
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&tree->lock);
    if (atomic_load_explicit(&tree->is_ahead, memory_order_relaxed)) {
        status = pages_fetch(index, tree);
        if (status == COPSE_OK) atomic_store_explicit(&tree->is_ahead, false, memory_order_release);
    }
    pthread_mutex_unlock(&tree->lock);
    return status;
}

/* Updates by kernels after which the host's copy is taken not to be needed: they have written most of its pages anyway. */
#define IDLE_MOST 16u

void copse_radix_host_rests(const copse_index *index)
{
    copse_radix_device *tree = copse_radix_device_of(index);
    copse_kept_error kept;
    if (atomic_fetch_add_explicit(&tree->idle, 1, memory_order_relaxed) + 1 < IDLE_MOST) return;
    atomic_store_explicit(&tree->idle, 0, memory_order_relaxed);
    copse_error_keep(&kept);
    if (!tree->is_ahead || tree->behind || copse_radix_spares_all(index) != COPSE_OK) {
        copse_error_put_back(&kept);
        return;
    }
    for (uint32_t type = COPSE_RADIX_NODE2; type < COPSE_RADIX_TYPES; type++) {
        copse_radix_pool *pool = pool_of(tree, type);
        tree->more[type] += pool->used;
        tree->known[type] = 0;
        copse_radix_pool_free(index->ctx, pool);
    }
}
