/* The card's copies of pages: which of them have to be made, and making them. */
#include "trees/hybrid/records.h"

#include "core/threads.h"
#include "cpu/driver.h"
#include "transfer/transfer.h"
#include "trees/hybrid/kernels.h"
#include "trees/hybrid/mirror.h"

#include <string.h>

/* Pages are copied in pieces of about so many bytes, two of them under way. */
#define PIECE_BYTES (UINT64_C(8) << 20)
#define PIECES      2u

uint64_t copse_records_bytes(const copse_page_records *records)
{
    return records->room * records->bytes + records->room * sizeof(uint32_t);
}

void copse_records_free(copse_mirror *mirror)
{
    copse_page_records *records = &mirror->records;
    copse_device *device = mirror->device;
    copse_device_free(device, device->main, records->memory, records->room * records->bytes);
    copse_device_free(device, device->main, records->record_of, records->room * sizeof(uint32_t));
    *records = (copse_page_records){.bytes = records->bytes};
}

/* --- records ---------------------------------------------------------------------------------------------------------------- */

/* What a refresh has to do. */
typedef struct refresh_plan {
    const copse_index *index;
    const copse_page_copies *copies;
    uint64_t pages;
    uint32_t *record; /* of every page          */
    uint32_t *list;   /* pages that are to be copied */
    uint64_t n;
    uint8_t *taken; /* a bit for each record   */
    uint64_t room;
    /* The piece that is being written. */
    char *to;
    const uint32_t *piece;
} refresh_plan;

static size_t plan_bytes(const refresh_plan *plan)
{
    return plan->pages * 2 * sizeof(uint32_t) + (plan->room + 7) / 8;
}

/* The card's memory for so many pages. */
static copse_status records_make(copse_mirror *mirror, uint64_t room)
{
    copse_page_records *records = &mirror->records;
    copse_device *device = mirror->device;
    void *memory = NULL, *record_of = NULL;
    const uint64_t number_bytes = room * sizeof(uint32_t);
    copse_records_free(mirror);
    copse_status status = copse_device_alloc(device, device->main, number_bytes, "the numbers of records", &record_of);
    if (status != COPSE_OK) return status;
    status = copse_device_alloc(device, device->main, room * records->bytes, "the inner nodes of pages", &memory);
    if (status != COPSE_OK) {
        copse_device_free(device, device->main, record_of, number_bytes);
        return status;
    }
    records->memory = memory;
    records->record_of = record_of;
    records->room = room;
    return copse_device_wait(device, device->main); /* slots have streams of their own */
}

/* Memory for the plan, and the card's for the pages. What is there may be lost. */
static copse_status room_make(copse_mirror *mirror, refresh_plan *plan)
{
    const copse_page_records *records = &mirror->records;
    copse_status status = COPSE_OK;
    if (plan->pages > records->room || plan->pages < records->room / 4)
        status = records_make(mirror, plan->pages + plan->pages / 8 + 8);
    if (status != COPSE_OK) return status;
    plan->room = records->room;
    plan->record = copse_memory_alloc(plan->index->ctx, plan_bytes(plan));
    if (!plan->record) return copse_fail_memory(plan->index->ctx, plan_bytes(plan), "the inner nodes of pages");
    plan->list = plan->record + plan->pages;
    plan->taken = (uint8_t *)(plan->list + plan->pages);
    memset(plan->taken, 0, (plan->room + 7) / 8);
    return COPSE_OK;
}

static bool is_taken(const refresh_plan *plan, uint64_t record)
{
    return plan->taken[record / 8] >> record % 8 & 1u;
}

static void take_record(refresh_plan *plan, uint64_t record)
{
    plan->taken[record / 8] = (uint8_t)(plan->taken[record / 8] | 1u << record % 8);
}

/* Gives every page a record, and lists those that are to be copied. */
static void records_give(refresh_plan *plan, bool all)
{
    for (uint64_t p = 0; p < plan->pages; p++) {
        copse_page_mark *mark = plan->copies->mark(plan->index, p);
        if (all) *mark = COPSE_PAGE_UNMARKED;
        if (mark->record != UINT32_MAX) take_record(plan, mark->record);
        plan->record[p] = mark->record;
        if (mark->changed) plan->list[plan->n++] = (uint32_t)p;
    }
    uint64_t free = 0;
    for (uint64_t i = 0; i < plan->n; i++) {
        uint32_t *record = &plan->record[plan->list[i]];
        if (*record != UINT32_MAX) continue;
        while (is_taken(plan, free)) free++;
        *record = (uint32_t)free;
        take_record(plan, free);
    }
}

/* --- copies ------------------------------------------------------------------------------------------------------------------ */

static void write_pages(void *argument, uint64_t first, uint64_t last)
{
    const refresh_plan *plan = argument;
    for (uint64_t i = first; i < last; i++)
        plan->copies->write(plan->index, plan->piece[i], plan->to + i * plan->copies->bytes);
}

/* Copies n pages through slot `which`: their nodes, then the numbers of their records. */
static copse_status piece_send(copse_mirror *mirror, refresh_plan *plan, unsigned which, uint64_t n)
{
    copse_device *device = mirror->device;
    const copse_index *index = plan->index;
    const copse_ctx *ctx = index->ctx;
    copse_hybrid_slot *slot = &mirror->slot[which];
    const uint64_t bytes = n * plan->copies->bytes;
    const unsigned pair = copse_width_pair(copse_type_size(index->key_type), copse_value_width(index->value_type));
    const copse_kernel *kernel = &copse_hybrid_kernels_on(device, pair)->scatter;
    const copse_scatter_arguments arguments = {.from = (const uint64_t *)(void *)slot->device,
                                               .record_of = (const uint32_t *)(void *)(slot->device + bytes),
                                               .n = n,
                                               .words = plan->copies->bytes / sizeof(uint64_t),
                                               .to = (uint64_t *)(void *)mirror->records.memory};
    copse_status status = slot->busy ? device->backend->event_wait(device, slot->through) : COPSE_OK;
    if (status != COPSE_OK) return status;
    slot->busy = true;
    plan->to = slot->pinned;
    uint32_t *record_of = (uint32_t *)(void *)(slot->pinned + bytes);
    for (uint64_t i = 0; i < n; i++) record_of[i] = plan->record[plan->piece[i]];
    const uint32_t threads = n < 8 ? 1 : ctx->threads;
    copse_parallel(ctx, threads, n, copse_even_chunk(n, threads), write_pages, plan);
    status = copse_device_copy(device, slot->stream, slot->device, slot->pinned, bytes + n * sizeof *record_of);
    if (status == COPSE_OK)
        status = copse_device_launch(device, slot->stream, kernel,
                                     (n * arguments.words + kernel->threads - 1) / kernel->threads, &arguments);
    return status == COPSE_OK ? device->backend->event_record(device, slot->through, slot->stream) : status;
}

static copse_status pages_send(copse_mirror *mirror, refresh_plan *plan)
{
    const uint64_t most = PIECE_BYTES / plan->copies->bytes, each = plan->copies->bytes + sizeof(uint32_t);
    copse_status status = COPSE_OK;
    for (unsigned i = 0; status == COPSE_OK && i < PIECES && i * most < plan->n; i++)
        status = copse_mirror_slot(mirror, i, (plan->n < most ? plan->n : most) * each);
    for (uint64_t first = 0, piece = 0; status == COPSE_OK && first < plan->n; first += most, piece++) {
        plan->piece = plan->list + first;
        status = piece_send(mirror, plan, piece % PIECES, plan->n - first < most ? plan->n - first : most);
    }
    copse_status waited = copse_mirror_wait(mirror);
    return status == COPSE_OK ? waited : status;
}

copse_status copse_records_refresh(copse_mirror *mirror, const copse_index *index)
{
    copse_page_records *records = &mirror->records;
    const copse_page_copies *copies = copse_cpu_tree_of(index)->copies;
    if (!copies) return COPSE_OK;
    refresh_plan plan = {.index = index, .copies = copies, .pages = copies->pages(index)};
    records->bytes = copies->bytes;
    copse_status status = room_make(mirror, &plan);
    const bool all = !records->whole || mirror->tuning.refresh == COPSE_REFRESH_ASYNCHRONOUS;
    records->whole = false;
    if (plan.taken) { /* there is room */
        records_give(&plan, all);
        status = pages_send(mirror, &plan);
    }
    if (status == COPSE_OK)
        status =
            copse_transfer_to_device(mirror->device, records->record_of, plan.record, plan.pages * sizeof(uint32_t));
    if (status == COPSE_OK) status = copse_device_wait(mirror->device, mirror->device->main);
    if (status == COPSE_OK) {
        for (uint64_t i = 0; i < plan.n; i++)
            *copies->mark(index, plan.list[i]) = (copse_page_mark){plan.record[plan.list[i]], false};
        records->whole = true;
        records->copied = plan.n;
    }
    if (plan.record) copse_memory_free(index->ctx, plan.record, plan_bytes(&plan));
    return status;
}

copse_status copse_records_verify(copse_mirror *mirror, const copse_index *index)
{
    const copse_page_records *records = &mirror->records;
    const copse_page_copies *copies = copse_cpu_tree_of(index)->copies;
    if (!copies) return COPSE_OK;
    const size_t bytes = 2 * (size_t)copies->bytes;
    char *wanted = copse_memory_alloc(index->ctx, bytes);
    if (!wanted) return copse_fail_memory(index->ctx, bytes, "checking the hybrid tree");
    char *const found = wanted + copies->bytes;
    copse_status status = COPSE_OK;
    for (uint64_t p = 0; status == COPSE_OK && p < copies->pages(index); p++) {
        uint32_t record = 0;
        copies->write(index, p, wanted);
        status = copse_transfer_to_host(mirror->device, &record, records->record_of + p, sizeof record);
        if (status == COPSE_OK && record >= records->room) record = 0;
        if (status == COPSE_OK)
            status = copse_transfer_to_host(mirror->device, found, records->memory + (uint64_t)record * copies->bytes,
                                            copies->bytes);
        if (status == COPSE_OK && memcmp(found, wanted, copies->bytes) != 0)
            status = copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                                "hybrid tree: page %llu on the card is not that of the tree", (unsigned long long)p);
    }
    copse_memory_free(index->ctx, wanted, bytes);
    return status;
}
