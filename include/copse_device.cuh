/*
 * copse_device.cuh: the pages of a paged index, for a kernel of your own.
 *
 * The host asks for the table of pages, and passes it to the kernel by value:
 *
 *     copse_page_table table = {.struct_size = sizeof table};
 *     copse_pages(index, &table);                          // valid until the next call that changes the index
 *     my_kernel<<<blocks, threads, 0, stream>>>(table, ...);
 *
 * and a thread, a warp or a block of the kernel takes pages, which come in key order:
 *
 *     copse_page page = copse_page_at(&table, i);          // i < table.pages
 *     for (uint32_t slot = threadIdx.x; slot < table.slots; slot += blockDim.x)
 *         if (copse_page_has(&table, &page, slot)) use(((const float *)page.values)[slot]);
 *
 *   page     keys     | leaf 0: k k k - | leaf 1: k k k k | leaf 2: k - - - | ...      table.slots in all, leaf_slots in each leaf
 *            values   |         v v v - |         v v v v |         v - - - | ...      at the same slots
 *
 * Entries are in key order inside a page, too. Values may be read, not written: copse_visit_in_place changes them, since the sums
 * that the index keeps have to follow. Plain C compilers take this header as well: the pages of an index on the emulator
 * are host memory. examples/page_views.cu is a whole program.
 */
#ifndef COPSE_DEVICE_CUH
#define COPSE_DEVICE_CUH

#include "copse.h"

#ifdef __CUDACC__
#define COPSE_ON_DEVICE static __host__ __device__ __forceinline__
#else
#define COPSE_ON_DEVICE static inline
#endif

typedef struct copse_page {
    uint32_t entries;
    const uint16_t *ends; /* entries of leaves 0 .. l */
    const void *keys;     /* codes of table.key_bytes each: copse_page_key */
    const void *values;   /* of the value type        */
} copse_page;

COPSE_ON_DEVICE copse_page copse_page_at(const copse_page_table *table, uint32_t i)
{
    const char *address = (const char *)(uintptr_t)table->addresses[i];
    copse_page page;
    page.entries = table->counts[i];
    page.ends = (const uint16_t *)(const void *)(address + table->ends_at);
    page.keys = address + table->keys_at;
    page.values = address + table->values_at;
    return page;
}

/* Entries of the page in front of a leaf, and in it. */
COPSE_ON_DEVICE uint32_t copse_page_before(const copse_page *page, uint32_t leaf)
{
    return leaf ? page->ends[leaf - 1] : 0;
}

COPSE_ON_DEVICE uint32_t copse_page_in_leaf(const copse_page *page, uint32_t leaf)
{
    return page->ends[leaf] - copse_page_before(page, leaf);
}

/* Does the slot hold an entry? */
COPSE_ON_DEVICE int copse_page_has(const copse_page_table *table, const copse_page *page, uint32_t slot)
{
    return slot % table->leaf_slots < copse_page_in_leaf(page, slot / table->leaf_slots);
}

/* The entry's number in the page, from 0 on. */
COPSE_ON_DEVICE uint32_t copse_page_rank(const copse_page_table *table, const copse_page *page, uint32_t slot)
{
    return copse_page_before(page, slot / table->leaf_slots) + slot % table->leaf_slots;
}

/* The bits of a key of the key type; those of a key of 32 bits in the lower half. */
COPSE_ON_DEVICE uint64_t copse_page_key(const copse_page_table *table, const copse_page *page, uint32_t slot)
{
    if (table->key_bytes == 4) {
        const uint32_t code = ((const uint32_t *)page->keys)[slot], sign = 0x80000000u;
        if (table->key_type == COPSE_U32) return code;
        return table->key_type == COPSE_F32 && !(code & sign) ? (uint32_t)~code : code ^ sign;
    }
    const uint64_t code = ((const uint64_t *)page->keys)[slot], sign = (uint64_t)1 << 63;
    if (table->key_type == COPSE_U64) return code;
    return table->key_type == COPSE_F64 && !(code & sign) ? ~code : code ^ sign;
}

#undef COPSE_ON_DEVICE
#endif /* COPSE_DEVICE_CUH */
