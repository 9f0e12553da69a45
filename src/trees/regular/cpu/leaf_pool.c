/* The pool of leaves. */
#include "trees/regular/cpu/leaf_pool.h"

#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

struct copse_leaf_slab {
    uint32_t capacity, used;
    uint32_t untouched;              /* leaves from here on were never handed out */
    bool leaving;                    /* being emptied by a compaction             */
    bool in_steps;                   /* cleared as it is touched                  */
    char *free;                      /* list through the first bytes of the leaves */
    copse_leaf_slab *before, *after; /* in the list of slabs with room; only there while listed */
    bool listed;
};

_Static_assert(sizeof(copse_leaf_slab) <= COPSE_LEAF_BYTES, "the header takes as much as one leaf");

static size_t slab_bytes(const copse_leaf_pool *pool, const copse_leaf_slab *slab)
{
    return (slab->capacity + 1) * pool->leaf_bytes;
}

static void room_add(copse_leaf_pool *pool, copse_leaf_slab *slab)
{
    if (slab->listed) return;
    slab->listed = true;
    slab->before = NULL;
    slab->after = pool->room;
    if (pool->room) pool->room->before = slab;
    pool->room = slab;
}

static void room_remove(copse_leaf_pool *pool, copse_leaf_slab *slab)
{
    if (!slab->listed) return;
    slab->listed = false;
    if (slab->after) slab->after->before = slab->before;
    if (slab->before)
        slab->before->after = slab->after;
    else
        pool->room = slab->after;
}

/* Position of the first slab that starts behind an address. */
static uint64_t slab_behind(const copse_leaf_pool *pool, const char *address)
{
    uint64_t low = 0, high = pool->slabs;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if ((const char *)pool->slab[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool slab_list_grow(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    uint64_t room = pool->slab_room ? pool->slab_room * 2 : 16;
    copse_leaf_slab **list = copse_memory_alloc(ctx, room * sizeof *list);
    if (!list) return false;
    if (pool->slabs) memcpy(list, pool->slab, pool->slabs * sizeof *list);
    copse_memory_free(ctx, pool->slab, pool->slab_room * sizeof *list);
    pool->bytes += (room - pool->slab_room) * sizeof *list;
    pool->slab = list;
    pool->slab_room = room;
    return true;
}

/* Leaves of the next slab, the header included. An eighth more each time: what is not used yet stays a small share of the whole. */
static uint64_t slab_size(const copse_leaf_pool *pool, uint64_t capacity)
{
    const uint64_t leaves = capacity / 8 < pool->smallest_slab ? pool->smallest_slab : capacity / 8;
    const uint64_t most = COPSE_HUGE_PAGE / pool->leaf_bytes;
    return leaves < most ? leaves : most;
}

/* Adds a slab whose header is written. There is room for it in the list. */
static void slab_link(copse_leaf_pool *pool, copse_leaf_slab *slab)
{
    uint64_t at = slab_behind(pool, (const char *)slab);
    memmove(pool->slab + at + 1, pool->slab + at, (pool->slabs - at) * sizeof *pool->slab);
    pool->slab[at] = slab;
    pool->slabs++;
    pool->capacity += slab->capacity;
    pool->bytes += slab_bytes(pool, slab);
    room_add(pool, slab);
}

static bool slab_add(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    if (pool->slabs == pool->slab_room && !slab_list_grow(ctx, pool)) return false;
    const uint64_t leaves = slab_size(pool, pool->capacity);
    copse_leaf_slab *slab = copse_memory_alloc(ctx, leaves * pool->leaf_bytes);
    if (!slab) return false;
    if (pool->in_steps) copse_memory_in_steps(ctx, slab, leaves * pool->leaf_bytes, true);
    *slab = (copse_leaf_slab){.capacity = (uint32_t)leaves - 1, .in_steps = pool->in_steps};
    slab_link(pool, slab);
    return true;
}

/* New slabs of the same size, whose headers all threads write. */
typedef struct slab_job {
    copse_leaf_slab **slab;
    uint32_t capacity;
} slab_job;

static void slabs_touch(void *argument, uint64_t first, uint64_t last)
{
    const slab_job *job = argument;
    for (uint64_t i = first; i < last; i++) *job->slab[i] = (copse_leaf_slab){.capacity = job->capacity};
}

bool copse_leaf_reserve(const copse_ctx *ctx, copse_leaf_pool *pool, uint32_t threads, uint64_t leaves)
{
    const uint64_t left = pool->capacity - pool->used, missing = leaves > left ? leaves - left : 0;
    const uint64_t size = slab_size(pool, pool->capacity + missing), slabs = (missing + size - 2) / (size - 1);
    if (slabs < 2) return true; /* copse_leaf_take gets it */
    while (pool->slab_room < pool->slabs + slabs)
        if (!slab_list_grow(ctx, pool)) return false;
    slab_job job = {copse_memory_alloc(ctx, slabs * sizeof *job.slab), (uint32_t)size - 1};
    uint64_t made = 0;
    while (job.slab && made < slabs && (job.slab[made] = copse_memory_alloc(ctx, size * pool->leaf_bytes))) made++;
    if (made == slabs) copse_parallel(ctx, threads, slabs, 1, slabs_touch, &job);
    for (uint64_t i = 0; i < made; i++) {
        if (made == slabs)
            slab_link(pool, job.slab[i]);
        else
            copse_memory_free(ctx, job.slab[i], size * pool->leaf_bytes);
    }
    copse_memory_free(ctx, job.slab, slabs * sizeof *job.slab);
    return made == slabs;
}

static void slab_drop(const copse_ctx *ctx, copse_leaf_pool *pool, copse_leaf_slab *slab)
{
    uint64_t at = slab_behind(pool, (const char *)slab) - 1;
    room_remove(pool, slab);
    memmove(pool->slab + at, pool->slab + at + 1, (pool->slabs - at - 1) * sizeof *pool->slab);
    pool->slabs--;
    pool->capacity -= slab->capacity;
    pool->bytes -= slab_bytes(pool, slab);
    copse_memory_free(ctx, slab, slab_bytes(pool, slab));
}

char *copse_leaf_take(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    if (!pool->room && !slab_add(ctx, pool)) return NULL;
    copse_leaf_slab *slab = pool->room;
    char *leaf = slab->free;
    if (leaf)
        memcpy(&slab->free, leaf, sizeof slab->free);
    else
        leaf = (char *)slab + (++slab->untouched) * pool->leaf_bytes;
    slab->used++;
    pool->used++;
    if (slab->in_steps && slab->untouched == slab->capacity) {
        slab->in_steps = false;
        copse_memory_in_steps(ctx, slab, slab_bytes(pool, slab), false);
    }
    if (slab->used == slab->capacity) room_remove(pool, slab);
    return leaf;
}

/* Puts a leaf on its slab's free list. */
static copse_leaf_slab *leaf_release(copse_leaf_pool *pool, char *leaf)
{
    copse_leaf_slab *slab = pool->slab[slab_behind(pool, leaf) - 1];
    memcpy(leaf, &slab->free, sizeof slab->free);
    slab->free = leaf;
    slab->used--;
    pool->used--;
    return slab;
}

void copse_leaf_give(const copse_ctx *ctx, copse_leaf_pool *pool, char *leaf)
{
    copse_leaf_slab *slab = leaf_release(pool, leaf);
    if (slab->used == 0)
        slab_drop(ctx, pool, slab);
    else
        room_add(pool, slab);
}

void copse_leaf_pool_free(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    for (uint64_t i = 0; i < pool->slabs; i++) copse_memory_free(ctx, pool->slab[i], slab_bytes(pool, pool->slab[i]));
    copse_memory_free(ctx, pool->slab, pool->slab_room * sizeof *pool->slab);
    *pool = (copse_leaf_pool){.leaf_bytes = pool->leaf_bytes, .smallest_slab = pool->smallest_slab};
}

bool copse_leaf_pool_sparse(const copse_leaf_pool *pool)
{
    return pool->slabs > 1 && pool->used < pool->capacity - pool->capacity / 4;
}

/* Marks the emptiest slabs as leaving, as many as the others have room for. Fullness is bucketed in 64ths, which
 * needs no memory and is close enough to sorting. */
static void slabs_choose(copse_leaf_pool *pool)
{
    uint64_t keep_capacity = 0;
    for (uint64_t i = 0; i < pool->slabs; i++) pool->slab[i]->leaving = true;
    for (int level = 64; level >= 0 && keep_capacity < pool->used; level--)
        for (uint64_t i = 0; i < pool->slabs && keep_capacity < pool->used; i++) {
            copse_leaf_slab *slab = pool->slab[i];
            if (!slab->leaving || (int)((uint64_t)slab->used * 64 / slab->capacity) < level) continue;
            slab->leaving = false;
            keep_capacity += slab->capacity;
        }
}

void copse_leaf_pool_compact_begin(copse_leaf_pool *pool)
{
    slabs_choose(pool);
    for (uint64_t i = 0; i < pool->slabs; i++)
        if (pool->slab[i]->leaving) room_remove(pool, pool->slab[i]);
}

void copse_leaf_pool_compact_move(const copse_ctx *ctx, copse_leaf_pool *pool, char **leaf, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!leaf[i] || !pool->slab[slab_behind(pool, leaf[i]) - 1]->leaving) continue;
        char *to = copse_leaf_take(ctx, pool); /* there is room in the slabs that stay */
        memcpy(to, leaf[i], pool->leaf_bytes);
        leaf_release(pool, leaf[i]);
        leaf[i] = to;
    }
}

void copse_leaf_pool_compact_end(const copse_ctx *ctx, copse_leaf_pool *pool)
{
    for (uint64_t i = pool->slabs; i-- > 0;) {
        copse_leaf_slab *slab = pool->slab[i];
        if (slab->leaving) slab_drop(ctx, pool, slab);
    }
}
