/* What a hybrid tree's card gets of the pages: cpu/driver.h draws it. */
#pragma once

#include "trees/regular/cpu/table.h"

#define COPY_LINES (1 + FANOUT + PAGE_SLOTS)
#define COPY_BYTES (COPY_LINES * 64 + (uint32_t)((PAGE_SLOTS * sizeof(uint64_t) + 63) / 64 * 64))
/* Leaves whose heads are asked for before they are copied. */
#define COPY_AHEAD 16u

static uint64_t regular_pages(const copse_index *index)
{
    return ((const copse_regular *)index->tree)->table.pages;
}

static copse_page_mark *regular_mark(const copse_index *index, uint64_t page)
{
    return &table_page(&((const copse_regular *)index->tree)->table, page)->mark;
}

static void regular_write(const copse_index *index, uint64_t number, char *to)
{
    const leaf_page *page = table_page(&((const copse_regular *)index->tree)->table, number);
    const uint32_t used = page->used;
    char *head = to + (1 + FANOUT) * 64;
    uint64_t *address = (uint64_t *)(void *)(to + COPY_LINES * 64);
    memcpy(to, page->root, 64);
    memcpy(to + 64, page->node, FANOUT * 64);
    for (uint32_t i = 0; i < COPY_AHEAD && i < used; i++) __builtin_prefetch(page->leaf[i]);
    for (uint32_t i = 0; i < used; i++, head += 64) {
        if (i + COPY_AHEAD < used) __builtin_prefetch(page->leaf[i + COPY_AHEAD]);
        memcpy(head, page->leaf[i], 64);
        address[i] = (uint64_t)(uintptr_t)page->leaf[i];
    }
    memset(head, 0, (size_t)(PAGE_SLOTS - used) * 64);
    memset(address + used, 0, COPY_BYTES - COPY_LINES * 64 - used * sizeof *address);
}

static const copse_page_copies regular_copies = {
    .bytes = COPY_BYTES,
    .pages = regular_pages,
    .mark = regular_mark,
    .write = regular_write,
};
