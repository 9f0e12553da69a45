/* The card's copy of the inner levels, and slots for buckets. */
#include "trees/hybrid/mirror.h"

#include "cpu/driver.h"
#include "transfer/transfer.h"

#include <string.h>

/* On a card (docs/LAB.md has the measurements); the emulator is there for tests, which want to see all of it at work. */
static const copse_hybrid_tuning on_card = {.schedule = COPSE_SCHEDULE_BALANCED,
                                            .bucket = UINT64_C(1) << 18,
                                            .least = UINT64_C(1) << 16,
                                            .levels = UINT64_C(1) << 20,
                                            .smallest = UINT64_C(1) << 13,
                                            .defer = UINT64_C(1) << 17,
                                            .rest = 64};
static const copse_hybrid_tuning on_emulator = {
    .schedule = COPSE_SCHEDULE_DOUBLE_BUFFERED, .bucket = 100, .least = 1, .levels = 1};

copse_status copse_mirror_make(copse_index *index)
{
    copse_ctx *ctx = index->ctx;
    copse_device *device = NULL;
    copse_status status = copse_device_get(ctx, index->placement, &device);
    if (status != COPSE_OK) return status;
    const bool card = device->backend->placement == COPSE_PLACEMENT_GPU;
    copse_mirror *mirror = copse_memory_alloc(ctx, sizeof *mirror);
    if (!mirror) return copse_fail_memory(ctx, sizeof *mirror, "the hybrid tree");
    *mirror = (copse_mirror){.device = device, .best = card ? on_card : on_emulator};
    if (pthread_mutex_init(&mirror->lock, NULL) != 0) {
        copse_memory_free(ctx, mirror, sizeof *mirror);
        return copse_fail(ctx, COPSE_ERR_MEMORY, "out of memory: the system gives no lock for the hybrid tree");
    }
    index->mirror = mirror;
    mirror->best.cache = index->leaf_memory;
    mirror->tuning = mirror->best;
    copse_hybrid_tune(index, (copse_schedule)index->schedule, index->bucket, 0, COPSE_REFRESH_AUTO);
    return COPSE_OK;
}

void copse_hybrid_tune(copse_index *index, copse_schedule schedule, uint64_t bucket, uint32_t slower,
                       copse_refresh refresh)
{
    copse_mirror *mirror = index->mirror;
    if (!mirror) return;
    mirror->tuning.schedule = schedule ? schedule : mirror->best.schedule;
    mirror->tuning.bucket = bucket ? bucket : mirror->best.bucket;
    mirror->tuning.smallest = bucket ? 0 : mirror->best.smallest;
    if (mirror->tuning.slower != slower) mirror->rest = 0;
    mirror->tuning.slower = slower;
    mirror->tuning.refresh = refresh;
}

static void slot_free(copse_device *device, copse_hybrid_slot *slot)
{
    const copse_device_backend *backend = device->backend;
    copse_device_free(device, device->main, slot->device, slot->bytes);
    if (copse_device_is_parents(device)) return;
    if (slot->pinned) backend->pinned_free(device, slot->pinned, slot->bytes);
    if (slot->through) backend->event_free(device, slot->through);
    if (slot->stream) backend->stream_free(device, slot->stream);
}

static void cached_free(copse_mirror *mirror)
{
    copse_device_free(mirror->device, mirror->device->main, mirror->cached, mirror->cached_bytes);
    mirror->cached = NULL;
    mirror->cached_units = mirror->cached_bytes = 0;
}

void copse_mirror_free(copse_index *index)
{
    copse_mirror *mirror = index->mirror;
    if (!mirror) return;
    if (!copse_device_is_parents(mirror->device)) (void)copse_mirror_wait(mirror);
    for (unsigned i = 0; i < COPSE_HYBRID_SLOTS; i++) slot_free(mirror->device, &mirror->slot[i]);
    copse_device_free(mirror->device, mirror->device->main, mirror->memory, mirror->bytes);
    copse_records_free(mirror);
    cached_free(mirror);
    pthread_mutex_destroy(&mirror->lock);
    copse_memory_free(index->ctx, mirror, sizeof *mirror);
    index->mirror = NULL;
}

void copse_mirror_failed(copse_mirror *mirror, const copse_kept_error *before)
{
    (void)snprintf(mirror->why_not, sizeof mirror->why_not, "%s", copse_last_error(mirror->device->ctx));
    mirror->current = mirror->behind = false;
    copse_error_put_back(before);
}

/* --- the copy ---------------------------------------------------------------------------------------------------------- */

static uint64_t bytes_of(const copse_levels *levels)
{
    uint64_t nodes = 0;
    for (uint32_t l = 0; l < levels->height; l++) nodes += levels->nodes[l];
    return nodes * 64;
}

/* Room for the levels, with some to grow; what was there may be lost. */
static copse_status room_make(copse_mirror *mirror, uint64_t bytes)
{
    copse_device *device = mirror->device;
    if (bytes <= mirror->bytes && bytes >= mirror->bytes / 4) return COPSE_OK;
    copse_device_free(device, device->main, mirror->memory, mirror->bytes);
    mirror->memory = NULL;
    mirror->bytes = bytes + bytes / 8;
    void *memory = NULL;
    copse_status status = copse_device_alloc(device, device->main, mirror->bytes, "inner levels", &memory);
    mirror->memory = memory;
    if (status != COPSE_OK) mirror->bytes = 0;
    return status;
}

static copse_status levels_copy(copse_mirror *mirror, const copse_levels *levels)
{
    copse_device *device = mirror->device;
    copse_status status = copse_device_check(device);
    if (status == COPSE_OK) status = room_make(mirror, bytes_of(levels));
    mirror->levels = (copse_device_levels){
        .height = levels->height, .digest = levels->digest, .base = levels->base, .shift = levels->shift};
    char *to = mirror->memory;
    for (uint32_t l = 0; status == COPSE_OK && l < levels->height; to += levels->nodes[l++] * 64) {
        mirror->levels.level[l] = to;
        status = copse_transfer_to_device(device, to, levels->level[l], levels->nodes[l] * 64);
    }
    return status == COPSE_OK ? copse_device_wait(device, device->main) : status;
}

/* Copies as many of the first units as the budget and the card have room for: none is no failure. */
static copse_status cached_copy(copse_mirror *mirror, const copse_index *index)
{
    copse_device *device = mirror->device;
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    uint64_t units = 0, of_card = 0, bytes = 0;
    const char *from = tree->units ? tree->units(index, &units) : NULL;
    void *memory = NULL;
    copse_kept_error before;
    cached_free(mirror);
    if (!from || mirror->tuning.cache < 64) return COPSE_OK;
    device->backend->memory_info(device, &of_card, &bytes);
    bytes = mirror->tuning.cache < of_card ? mirror->tuning.cache : of_card;
    if (bytes / 64 > units) bytes = units * 64;
    copse_error_keep(&before);
    while (bytes >= 64 && copse_device_alloc(device, device->main, bytes, "copies of leaves", &memory) != COPSE_OK) {
        copse_error_put_back(&before);
        bytes = bytes * 7 / 8;
    }
    if (bytes < 64) return COPSE_OK;
    mirror->cached = memory;
    mirror->cached_bytes = bytes;
    mirror->cached_units = bytes / 64;
    return copse_transfer_to_device(device, memory, from, mirror->cached_units * 64);
}

/* What lies on the card against what it is a copy of, piece by piece. */
static copse_status array_verify(const copse_mirror *mirror, const char *there, const char *here, uint64_t bytes,
                                 const char *what, char *piece, uint64_t piece_bytes)
{
    for (uint64_t at = 0; at < bytes; at += piece_bytes) {
        const uint64_t part = bytes - at < piece_bytes ? bytes - at : piece_bytes;
        copse_status status = copse_transfer_to_host(mirror->device, piece, there + at, part);
        if (status != COPSE_OK) return status;
        if (memcmp(piece, here + at, part) != 0)
            return copse_fail(mirror->device->ctx, COPSE_ERR_CORRUPT,
                              "hybrid tree: %s on the card is not that of the tree", what);
    }
    return COPSE_OK;
}

static copse_status levels_verify(const copse_mirror *mirror, const copse_index *index)
{
    const copse_levels *levels = copse_cpu_tree_of(index)->levels(index);
    if (mirror->levels.height != levels->height)
        return copse_fail(index->ctx, COPSE_ERR_CORRUPT, "hybrid tree: the card has %u levels, the tree %u",
                          (unsigned)mirror->levels.height, (unsigned)levels->height);
    const uint64_t bytes = 1 << 20;
    char *piece = copse_memory_alloc(index->ctx, bytes);
    if (!piece) return copse_fail_memory(index->ctx, bytes, "checking the hybrid tree");
    copse_status status = COPSE_OK;
    for (uint32_t l = 0; status == COPSE_OK && l < levels->height; l++)
        status = array_verify(mirror, mirror->levels.level[l], levels->level[l], levels->nodes[l] * 64,
                              "an inner level", piece, bytes);
    uint64_t units = 0;
    if (status == COPSE_OK && mirror->cached_units)
        status = array_verify(mirror, mirror->cached, copse_cpu_tree_of(index)->units(index, &units),
                              mirror->cached_units * 64, "a copy of leaves", piece, bytes);
    copse_memory_free(index->ctx, piece, bytes);
    return status;
}

copse_status copse_mirror_verify(const copse_index *index)
{
    copse_mirror *mirror = copse_mirror_of(index);
    copse_status status = COPSE_OK;
    pthread_mutex_lock(&mirror->lock);
    if (mirror->behind) copse_mirror_refresh(index);
    if (mirror->current) status = levels_verify(mirror, index);
    if (mirror->current && status == COPSE_OK) status = copse_records_verify(mirror, index);
    pthread_mutex_unlock(&mirror->lock);
    return status;
}

/* Whether the tree is large enough for a card, and has what a card can walk. */
static bool is_worth_it(const copse_mirror *mirror, const copse_index *index)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    if (tree->size(index) == 0) return false;
    const uint64_t bytes =
        tree->copies ? tree->copies->pages(index) * tree->copies->bytes : bytes_of(tree->levels(index));
    return bytes >= mirror->tuning.levels && (tree->copies || tree->levels(index)->height > 0);
}

void copse_mirror_refresh(const copse_index *index)
{
    copse_mirror *mirror = copse_mirror_of(index);
    mirror->current = mirror->behind = false;
    if (!is_worth_it(mirror, index)) return;
    copse_kept_error before;
    copse_error_keep(&before);
    copse_status status = copse_mirror_wait(mirror);
    if (status == COPSE_OK) status = levels_copy(mirror, copse_cpu_tree_of(index)->levels(index));
    if (status == COPSE_OK) status = copse_records_refresh(mirror, index);
    if (status == COPSE_OK) status = cached_copy(mirror, index);
    if (status == COPSE_OK) status = copse_device_wait(mirror->device, mirror->device->main);
    if (status == COPSE_OK)
        mirror->current = true;
    else
        copse_mirror_failed(mirror, &before);
}

void copse_mirror_changed(copse_index *index, uint64_t n)
{
    copse_mirror *mirror = index->mirror;
    if (n >= mirror->tuning.defer || mirror->tuning.refresh != COPSE_REFRESH_AUTO) {
        copse_mirror_refresh(index);
        return;
    }
    mirror->current = false;
    mirror->behind = true;
}

/* --- slots --------------------------------------------------------------------------------------------------------------- */

copse_status copse_mirror_wait(copse_mirror *mirror)
{
    copse_device *device = mirror->device;
    copse_status status = COPSE_OK;
    for (unsigned i = 0; i < COPSE_HYBRID_SLOTS; i++) {
        copse_hybrid_slot *slot = &mirror->slot[i];
        copse_status waited = slot->busy && slot->stream ? device->backend->wait(device, slot->stream) : COPSE_OK;
        slot->busy = false;
        if (status == COPSE_OK) status = waited;
    }
    return status;
}

copse_status copse_mirror_slot(copse_mirror *mirror, unsigned i, uint64_t bytes)
{
    copse_device *device = mirror->device;
    const copse_device_backend *backend = device->backend;
    copse_hybrid_slot *slot = &mirror->slot[i];
    copse_status status = COPSE_OK;
    if (!slot->stream) status = backend->stream_create(device, &slot->stream);
    if (status == COPSE_OK && !slot->through) status = backend->event_create(device, &slot->through);
    if (status != COPSE_OK || bytes <= slot->bytes) return status;
    copse_device_free(device, device->main, slot->device, slot->bytes);
    if (slot->pinned) backend->pinned_free(device, slot->pinned, slot->bytes);
    slot->device = slot->pinned = NULL;
    slot->bytes = 0;
    void *memory = NULL;
    status = copse_device_alloc(device, device->main, bytes, "a bucket", &memory);
    if (status == COPSE_OK) status = copse_device_wait(device, device->main); /* the slot has a stream of its own */
    if (status != COPSE_OK) return status;
    slot->pinned = backend->pinned_alloc(device, bytes);
    if (!slot->pinned) {
        copse_device_free(device, device->main, memory, bytes);
        return copse_fail(device->ctx, COPSE_ERR_MEMORY, "out of memory: a bucket needs %llu pinned bytes",
                          (unsigned long long)bytes);
    }
    slot->device = memory;
    slot->bytes = bytes;
    return COPSE_OK;
}
