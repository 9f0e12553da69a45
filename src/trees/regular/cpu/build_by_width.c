/* Bulk build of the regular tree from a batch in order. */
#include "trees/regular/cpu/operations.h"
#include "trees/regular/cpu/tree.h"
#include "trees/regular/cpu/table.h"
#include "core/batch_pair.h"
#include "core/threads.h"

static void build_leaf(const copse_batch *batch, uint64_t first, uint32_t n, char *leaf)
{
    KEY keys[LEAF_CAPACITY];
    VALUE values[LEAF_CAPACITY];
    copse_unit *units = leaf_units(leaf);
    copse_batch_read(batch, first, n, keys, values);
    for (uint32_t i = 0; i < n; i++) {
        units[i / UNIT_ENTRIES].keys[i % UNIT_ENTRIES] = keys[i];
        units[i / UNIT_ENTRIES].values[i % UNIT_ENTRIES] = values[i];
    }
    leaf_seal(leaf, n);
}

typedef struct build_job {
    const copse_batch *batch;
    copse_regular *tree;
} build_job;

/* Pages of equal size, filled in parallel, with leaves of equal size; their fences are their largest keys, the last one's the
 * maximum. */
static void build_chunk(void *argument, uint64_t first_page, uint64_t last_page)
{
    const build_job *job = argument;
    const uint64_t leaves = job->tree->leaves, n = job->batch->n;
    for (uint64_t p = first_page; p < last_page; p++) {
        leaf_page *page = table_page(&job->tree->table, p);
        const uint32_t used = page->used;
        page->used = page->ahead[0] = 0;
        for (uint64_t i = p * PAGE_FILL; page->used < used; i++) {
            uint64_t first = i * LEAF_BULK_FILL;
            uint32_t count = (uint32_t)(n - first < LEAF_BULK_FILL ? n - first : LEAF_BULK_FILL);
            char *leaf = page->leaf[page->used];
            build_leaf(job->batch, first, count, leaf);
            page_put(page, leaf, i + 1 == leaves ? KEY_MAX : leaf_last_key(leaf, count), count);
        }
        page_refresh(page, 0);
    }
}

static void build_pages(const copse_ctx *ctx, const copse_batch *batch, copse_regular *tree)
{
    uint32_t threads = copse_threads_for(ctx, batch->n);
    build_job job = {batch, tree};
    copse_parallel(ctx, threads, tree->table.pages, copse_even_chunk(tree->table.pages, threads), build_chunk, &job);
}

static copse_status build_reserve(const copse_ctx *ctx, copse_regular *tree)
{
    copse_page_directory *table = &tree->table;
    const uint64_t pages = (tree->leaves + PAGE_FILL - 1) / PAGE_FILL;
    if (pages > UINT32_MAX >> COPSE_PAGE_SHIFT)
        return copse_fail(ctx, COPSE_ERR_UNSUPPORTED, "n is too large: the regular tree holds at most %llu leaves",
                          (unsigned long long)(UINT32_MAX >> COPSE_PAGE_SHIFT) * PAGE_FILL);
    if (!table_create(ctx, pages, table)) return copse_fail_memory(ctx, pages * 64, "the directory of pages");
    const uint32_t threads = copse_threads_for(ctx, tree->entries);
    if (!copse_leaf_reserve(ctx, &tree->page_pool, threads, pages) ||
        !copse_leaf_reserve(ctx, &tree->pool, threads, tree->leaves))
        return copse_fail_memory(ctx, tree->leaves * COPSE_LEAF_BYTES, "the leaves of the regular tree");
    uint64_t left = tree->leaves;
    for (; table->pages < pages; table->pages++) {
        leaf_page *page = (leaf_page *)copse_leaf_take(ctx, &tree->page_pool);
        if (!page) return copse_fail_memory(ctx, pages * sizeof *page, "the pages of the regular tree");
        table->page[table->pages] = (char *)page;
        page->mark = COPSE_PAGE_UNMARKED;
        page->used = (uint16_t)(left < PAGE_FILL ? left : PAGE_FILL);
        left -= page->used;
        for (uint32_t s = 0; s < page->used; s++) {
            page->leaf[s] = copse_leaf_take(ctx, &tree->pool);
            if (page->leaf[s]) continue;
            return copse_fail_memory(ctx, tree->leaves * COPSE_LEAF_BYTES, "the leaves of the regular tree");
        }
    }
    return COPSE_OK;
}

copse_status NAME(copse_regular_build)(copse_index *index, const copse_batch *batch)
{
    const copse_ctx *ctx = index->ctx;
    copse_regular *tree = NULL;
    copse_status status = copse_regular_make(ctx, sizeof(leaf_page), sizeof(page_values), &tree);
    if (status != COPSE_OK) return status;
    tree->entries = batch->n;
    tree->leaves = (batch->n + LEAF_BULK_FILL - 1) / LEAF_BULK_FILL;
    if (batch->n) status = build_reserve(ctx, tree);
    if (status == COPSE_OK) status = copse_progress(ctx, "filling the leaves", batch->n, batch->n);
    if (status != COPSE_OK) {
        copse_regular_free(ctx, tree);
        return status;
    }
    if (batch->n) {
        build_pages(ctx, batch, tree);
        table_refresh(ctx, &tree->table, 0, 0);
    }
    copse_regular_free(ctx, index->tree);
    index->tree = tree;
    return COPSE_OK;
}
