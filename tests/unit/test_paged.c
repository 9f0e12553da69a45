/*
 * The paged tree: runs of keys that just fit a page and those that do not, pages that come and go, small pages that become large ones,
 * memory that stays the same, and what happens where there is none.
 */
#include "unit.h"

#include "placed.h"
#include "trees/paged/tree.h"

static const struct unit_tree paged = {COPSE_STRUCTURE_PAGED, COPSE_PLACEMENT_EMULATED};

static const struct widths {
    copse_type key, value;
} widths[] = {{COPSE_U32, COPSE_U32}, {COPSE_U64, COPSE_U64}, {COPSE_I32, COPSE_U64}, {COPSE_I64, COPSE_U32}};

/* Keys first, first + step, ..., n of them. */
static void *keys_of(copse_type type, uint64_t first, uint64_t step, uint64_t n)
{
    void *keys = typed_new(type, n);
    for (uint64_t i = 0; i < n; i++) typed_set_bits(type, keys, i, first + i * step);
    return keys;
}

static uint64_t insert(copse_ctx *ctx, copse_index *index, struct widths w, uint64_t first, uint64_t step, uint64_t n)
{
    void *keys = keys_of(w.key, first, step, n), *values = keys_of(w.value, first + 1, step, n);
    uint64_t inserted = 0;
    assert_ok(ctx, copse_insert(index, keys, values, n, 0, &inserted));
    free(keys);
    free(values);
    return inserted;
}

/* Keys first, first + step, ... are there, with values that are one more, or none of them is. */
static void expect(copse_ctx *ctx, const copse_index *index, struct widths w, uint64_t first, uint64_t step, uint64_t n,
                   bool there)
{
    void *keys = keys_of(w.key, first, step, n), *values = keys_of(w.value, first + 1, step, n);
    void *got = typed_new(w.value, n);
    uint8_t *found = must_malloc(n);
    assert_ok(ctx, copse_find(index, keys, n, got, found));
    for (uint64_t i = 0; i < n; i++) assert_int_equal(found[i], there);
    if (there) assert_memory_equal(got, values, n * typed_size(w.value));
    free(keys);
    free(values);
    free(got);
    free(found);
}

/* What row `row` of the directory says. */
static uint32_t count_of(copse_ctx *ctx, const copse_index *index, uint32_t row)
{
    uint32_t count = 0;
    copse_device *device = index->device;
    assert_ok(ctx,
              copse_device_read(device, device->main, &count, copse_paged_of(index)->view.counts + row, sizeof count));
    return count;
}

static copse_index *index_of_order(copse_ctx *ctx, struct widths w, uint32_t order, bool duplicates)
{
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = NULL;
    options.structure = COPSE_STRUCTURE_PAGED;
    options.placement = COPSE_PLACEMENT_EMULATED;
    options.key_type = w.key;
    options.value_type = w.value;
    options.page_order = order;
    options.duplicates = duplicates;
    assert_ok(ctx, copse_index_create(ctx, &options, &index));
    return index;
}

/* --- a page and its borders ---------------------------------------------------------------------------------------------------- */

/* Runs into the middle of one page: the totals around its slots, its fill, and several times that. */
static void runs_around_the_size_of_a_page(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 2, 15, 16, 17, 29, 30, 31, 32, 33, 47, 48, 63, 64, 65, 96, 128, 129, 1000};
    copse_ctx *ctx = unit_context(1);
    for (unsigned w = 0; w < COUNT_OF(widths); w++)
        for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
            copse_index *index = unit_index(ctx, paged, widths[w].key, widths[w].value, false);
            assert_int_equal(insert(ctx, index, widths[w], 0, 10000, 30), 30);
            assert_int_equal(insert(ctx, index, widths[w], 100001, 2, sizes[s]), sizes[s]);
            assert_ok(ctx, copse_verify(index));
            assert_int_equal(copse_size(index), 30 + sizes[s]);
            expect(ctx, index, widths[w], 0, 10000, 30, true);
            expect(ctx, index, widths[w], 100001, 2, sizes[s], true);
            expect(ctx, index, widths[w], 100002, 2, sizes[s] < 4000 ? sizes[s] : 4000, false);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* Appends fill pages to the last slot. */
static void appends_fill_pages(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (unsigned w = 0; w < COUNT_OF(widths); w++) {
        copse_index *index = unit_index(ctx, paged, widths[w].key, widths[w].value, false);
        for (uint64_t i = 0, n = 1; i < 2000; i += n, n = n % 97 + 3) insert(ctx, index, widths[w], i, 1, n);
        const uint32_t rows = copse_paged_of(index)->view.rows;
        assert_ok(ctx, copse_verify(index));
        assert_true(rows > 10);
        for (uint32_t row = 1; row + 1 < rows; row++)
            assert_int_equal(count_of(ctx, index, row), COPSE_PAGED_SLOTS_SMALL);
        expect(ctx, index, widths[w], 0, 1, copse_size(index), true);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* A small change leaves the other leaves of its page where they are. */
static void few_keys_are_patched_in(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_tens(ctx, paged, 2000);
    const copse_paged *tree = copse_paged_of(index);
    const uint64_t *pages = tree->view.pages;
    const uint32_t rows = tree->view.rows;
    assert_int_equal(insert(ctx, index, widths[1], 5, 1010, 10), 10);
    assert_ptr_equal(tree->view.pages, pages);
    assert_int_equal(tree->view.rows, rows);
    assert_ok(ctx, copse_verify(index));
    expect(ctx, index, widths[1], 0, 10, 2000, true);
    expect(ctx, index, widths[1], 5, 1010, 10, true);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Large batches, one behind the other: as many keys again, four times as many, updates that take no page, keys outside the tree's bounds,
 * crowds, erases, and all of it. */
static void large_batches_follow_each_other(void **state)
{
    (void)state;
    enum { few = 2500, many = 10000 };
    copse_ctx *ctx = unit_context(1);
    for (unsigned w = 0; w < COUNT_OF(widths); w++)
        for (uint32_t order = 64; order <= 1024; order *= 16) {
            copse_index *index = index_of_order(ctx, widths[w], order, false);
            assert_int_equal(insert(ctx, index, widths[w], 0, 160, many), many);
            for (uint64_t i = 1; i < 4; i++) assert_int_equal(insert(ctx, index, widths[w], i, 1600, few), few);
            assert_ok(ctx, copse_verify(index));
            assert_int_equal(insert(ctx, index, widths[w], 4, 160, many), many);
            assert_int_equal(insert(ctx, index, widths[w], 5, 160, many), many);
            assert_int_equal(insert(ctx, index, widths[w], 5, 160, many), 0);
            assert_ok(ctx, copse_verify(index));
            assert_int_equal(insert(ctx, index, widths[w], 100000000, 7, few), few);
            assert_int_equal(insert(ctx, index, widths[w], 50000000, 3, many), many);
            assert_int_equal(insert(ctx, index, widths[w], 1000001, 1, 150), 145); /* a run into one page */
            assert_ok(ctx, copse_verify(index));
            void *keys = keys_of(widths[w].key, 0, 160, many);
            uint64_t erased = 0;
            assert_ok(ctx, copse_erase(index, keys, many, &erased));
            assert_int_equal(erased, many);
            assert_ok(ctx, copse_verify(index));
            for (uint64_t i = 1; i < 4; i++) expect(ctx, index, widths[w], i, 1600, few, true);
            for (uint64_t i = 4; i < 6; i++) expect(ctx, index, widths[w], i, 160, many, true);
            expect(ctx, index, widths[w], 0, 160, many, false);
            expect(ctx, index, widths[w], 100000000, 7, few, true);
            expect(ctx, index, widths[w], 50000000, 3, many, true);
            assert_int_equal(copse_size(index), 4 * few + 3 * many + 145);
            free(keys);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* --- pages that come and go ------------------------------------------------------------------------------------------------------ */

/* Small pages become large ones; content, ranks and sums are the same before and after. */
static void pages_grow_with_the_tree(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, paged, COPSE_U64, COPSE_U64, false);
    const uint64_t n = 2 * (uint64_t)COPSE_PAGED_SMALL_TREE;
    insert(ctx, index, widths[1], 0, 2, n - 1);
    assert_int_equal(copse_paged_of(index)->view.slots, COPSE_PAGED_SLOTS_SMALL);
    insert(ctx, index, widths[1], 1, 1000, 100);
    assert_int_equal(copse_paged_of(index)->view.slots, COPSE_PAGED_SLOTS_MID);
    assert_ok(ctx, copse_verify(index));
    assert_int_equal(copse_size(index), n + 99);
    expect(ctx, index, widths[1], 0, 2, n - 1, true);
    expect(ctx, index, widths[1], 1, 1000, 100, true);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Orders follow the number of entries up and down; one that the caller has named stays. */
static void orders_follow_the_size(void **state)
{
    (void)state;
    const uint64_t small = COPSE_PAGED_SMALL_TREE, mid = COPSE_PAGED_MID_TREE;
    const struct {
        uint32_t asked, slots;
        uint64_t entries;
        uint32_t next;
    } cases[] = {
        {0, 64, 0, 64},
        {0, 64, 2 * small + 1, 64},
        {0, 64, 2 * small + 2, 256},
        {0, 64, 2 * mid + 2, 1024},
        {0, 256, 2 * mid + 1, 256},
        {0, 256, 2 * mid + 2, 1024},
        {0, 256, small / 4 + 1, 256},
        {0, 256, small / 4, 64},
        {0, 1024, mid / 4 + 1, 1024},
        {0, 1024, mid / 4, 256},
        {0, 1024, small / 4, 64},
        {0, 1024, UINT64_C(1) << 32, 1024},
        {64, 64, 1 << 30, 64},
        {16384, 16384, 1, 16384},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(copse_paged_slots_next(cases[i].asked, cases[i].slots, cases[i].entries), cases[i].next);
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, paged, COPSE_U64, COPSE_U64, false);
    uint64_t *keys = keys_of(COPSE_U64, 0, 2, 2 * small + 2);
    assert_ok(ctx, copse_build(index, keys, keys, 2 * small + 2));
    assert_int_equal(copse_paged_of(index)->view.slots, COPSE_PAGED_SLOTS_MID);
    const uint64_t low = small / 2, high = UINT64_MAX;
    const copse_ranges range = COPSE_BETWEEN(&low, &high, 1);
    assert_ok(ctx, copse_erase_range(index, &range, NULL));
    assert_int_equal(copse_paged_of(index)->view.slots, COPSE_PAGED_SLOTS_SMALL);
    assert_int_equal(copse_size(index), small / 4);
    assert_ok(ctx, copse_verify(index));
    uint8_t found[2];
    assert_ok(ctx, copse_find(index, &keys[small / 4 - 1], 2, NULL, found));
    assert_true(found[0] && !found[1]);
    free(keys);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* Bytes of values that a visit reads, in the 64 that come from memory at a time, for each byte of an entry. */
static double bytes_per_byte(copse_ctx *ctx, const copse_index *index, uint32_t value_bytes)
{
    const copse_paged_tree *view = &copse_paged_of(index)->view;
    uint64_t *pages = must_malloc(view->rows * sizeof *pages), pieces = 0;
    uint16_t ends[COPSE_PAGE_ORDER_MOST / 16];
    copse_device *device = index->device;
    assert_ok(ctx, copse_device_read(device, device->main, pages, view->pages, view->rows * sizeof *pages));
    for (uint32_t row = 0; row < view->rows; row++) {
        const char *page = (const char *)(uintptr_t)pages[row];
        assert_ok(ctx, copse_device_read(device, device->main, ends, page + view->ends_at, view->leaves * 2));
        for (uint32_t leaf = 0; leaf < view->leaves; leaf++)
            pieces += ((ends[leaf] - (leaf ? ends[leaf - 1] : 0)) * value_bytes + 63) / 64;
    }
    free(pages);
    return (double)pieces * 64 / (double)(view->entries * value_bytes);
}

/* A bulk load leaves the room of a page in whole leaves, which a visit passes by; what comes then finds that room. */
static void a_bulk_load_is_dense(void **state)
{
    (void)state;
    enum { n = 20000 };
    copse_ctx *ctx = unit_context(1);
    for (unsigned w = 0; w < COUNT_OF(widths); w++)
        for (uint32_t order = 64; order <= 4096; order *= 4) {
            copse_index *index = index_of_order(ctx, widths[w], order, false);
            void *keys = keys_of(widths[w].key, 0, 10, n), *values = keys_of(widths[w].value, 1, 10, n);
            assert_ok(ctx, copse_build(index, keys, values, n));
            assert_ok(ctx, copse_verify(index));
            copse_stats stats = {.struct_size = sizeof stats};
            assert_ok(ctx, copse_index_stats(index, &stats));
            assert_true(stats.fill > 0.68 && stats.fill < 0.78); /* room as before */
            if (order >= 1024) assert_true(bytes_per_byte(ctx, index, (uint32_t)typed_size(widths[w].value)) < 1.09);
            const uint32_t rows = copse_paged_of(index)->view.rows;
            uint32_t fewest = order, most = 0;
            for (uint32_t row = 0; row + 1 < rows; row++) {
                const uint32_t count = count_of(ctx, index, row);
                fewest = count < fewest ? count : fewest;
                most = count > most ? count : most;
            }
            if (rows > 8) assert_true(fewest * 10 < most * 9); /* so that they split at different times */
            for (uint64_t i = 1; i < 4; i++) insert(ctx, index, widths[w], i, 200, n / 20);
            assert_ok(ctx, copse_verify(index));
            if (order >= 256) assert_true(copse_paged_of(index)->view.rows < rows + rows / 2); /* few have split */
            expect(ctx, index, widths[w], 0, 10, n, true);
            expect(ctx, index, widths[w], 3, 200, n / 20, true);
            free(keys);
            free(values);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* A window that slides: what leaves is taken again, so that memory stays the same. */
static void windows_take_no_more_memory(void **state)
{
    (void)state;
    enum { step = 200, live = 2000 };
    copse_ctx *ctx = unit_context(1);
    copse_index *index = unit_index(ctx, paged, COPSE_U64, COPSE_U64, false);
    uint64_t pages = 0;
    for (uint64_t i = 0; i < 60; i++) {
        insert(ctx, index, widths[1], i * step, 1, step);
        if (i * step >= live) {
            const uint64_t low = 0, high = (i + 1) * step - live - 1;
            const copse_ranges range = COPSE_BETWEEN(&low, &high, 1);
            uint64_t erased = 0;
            assert_ok(ctx, copse_erase_range(index, &range, &erased));
            assert_int_equal(erased, step);
            assert_int_equal(copse_size(index), live);
        }
        if (i == 20) pages = copse_paged_of(index)->pool.pages;
        if (i > 20) assert_int_equal(copse_paged_of(index)->pool.pages, pages);
    }
    assert_ok(ctx, copse_verify(index));
    expect(ctx, index, widths[1], 60 * step - live, 1, live, true);
    copse_index_free(index);
    copse_ctx_free(ctx);
}

/* All of it goes, by keys and by a range, and the tree takes new keys. */
static void an_empty_tree_takes_keys(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (unsigned duplicates = 0; duplicates < 2; duplicates++)
        for (unsigned by_range = 0; by_range < 2; by_range++) {
            copse_index *index = unit_index(ctx, paged, COPSE_U64, COPSE_U64, duplicates);
            insert(ctx, index, widths[1], 0, 3, 500);
            if (duplicates) insert(ctx, index, widths[1], 0, 3, 500);
            uint64_t *keys = keys_of(COPSE_U64, 0, 3, 500), erased = 0;
            const uint64_t low = 0, high = UINT64_MAX;
            const copse_ranges range = COPSE_BETWEEN(&low, &high, 1);
            assert_ok(ctx,
                      by_range ? copse_erase_range(index, &range, &erased) : copse_erase(index, keys, 500, &erased));
            assert_int_equal(erased, duplicates ? 1000 : 500);
            assert_int_equal(copse_size(index), 0);
            assert_ok(ctx, copse_verify(index));
            insert(ctx, index, widths[1], 7, 5, 300);
            expect(ctx, index, widths[1], 7, 5, 300, true);
            assert_ok(ctx, copse_verify(index));
            free(keys);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* --- orders ---------------------------------------------------------------------------------------------------------------------- */

/* Pages of every order, filled to one entry less than a page, to a page, and to one more; then keys in the middle, and erases. */
static void every_order_works(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (uint32_t order = COPSE_PAGE_ORDER_LEAST; order <= COPSE_PAGE_ORDER_MOST; order *= 4)
        for (unsigned w = 0; w < 2; w++)
            for (uint64_t n = order - 1; n <= order + 1; n++) {
                copse_index *index = index_of_order(ctx, widths[w], order, false);
                insert(ctx, index, widths[w], 10, 10, n);
                assert_int_equal(copse_paged_of(index)->view.slots, order);
                assert_ok(ctx, copse_verify(index));
                insert(ctx, index, widths[w], 15, 70, 100);
                insert(ctx, index, widths[w], 10 * n + 10, 10, order + 1);
                assert_ok(ctx, copse_verify(index));
                expect(ctx, index, widths[w], 10, 10, n + order + 1, true);
                expect(ctx, index, widths[w], 15, 70, 100, true);
                void *keys = keys_of(widths[w].key, 10, 20, n / 2);
                uint64_t erased = 0;
                assert_ok(ctx, copse_erase(index, keys, n / 2, &erased));
                assert_int_equal(erased, n / 2);
                assert_ok(ctx, copse_verify(index));
                assert_int_equal(copse_size(index), n + order + 101 - n / 2);
                expect(ctx, index, widths[w], 10, 20, n / 2, false);
                free(keys);
                copse_index_free(index);
            }
    copse_ctx_free(ctx);
}

static void other_orders_are_refused(void **state)
{
    (void)state;
    const uint32_t wrong[] = {1, 32, 63, 65, 96, 1000, 16383, 32768, UINT32_MAX};
    copse_ctx *ctx = unit_context(1);
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        copse_index *index = NULL;
        options.page_order = wrong[i];
        assert_int_equal(copse_index_create(ctx, &options, &index), COPSE_ERR_ARGUMENT);
        assert_null(index);
        assert_non_null(strstr(copse_last_error(ctx), "power of two"));
    }
    copse_ctx_free(ctx);
}

/* Of every 16 entries one stays: pages that are nearly empty become few, whatever erases them, and the tree goes on. */
static void sparse_pages_are_joined(void **state)
{
    (void)state;
    enum { n = 8000 };
    copse_ctx *ctx = unit_context(1);
    for (unsigned w = 0; w < COUNT_OF(widths); w++)
        for (unsigned duplicates = 0; duplicates < 2; duplicates++) {
            copse_index *index = index_of_order(ctx, widths[w], 64, duplicates);
            insert(ctx, index, widths[w], 0, 1, n);
            const uint32_t rows = copse_paged_of(index)->view.rows;
            for (uint64_t i = 1; i < 16; i++) {
                void *keys = keys_of(widths[w].key, i, 16, n / 16);
                uint64_t erased = 0;
                assert_ok(ctx, copse_erase(index, keys, n / 16, &erased));
                assert_int_equal(erased, n / 16);
                assert_ok(ctx, copse_verify(index));
                free(keys);
            }
            assert_true(copse_paged_of(index)->view.rows < rows / 4);
            expect(ctx, index, widths[w], 0, 16, n / 16, true);
            insert(ctx, index, widths[w], 1, 16, n / 16);
            insert(ctx, index, widths[w], n, 1, 500);
            assert_ok(ctx, copse_verify(index));
            expect(ctx, index, widths[w], 1, 16, n / 16, true);
            assert_int_equal(copse_size(index), n / 8 + 500);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* --- appends --------------------------------------------------------------------------------------------------------------------- */

/* Appends of all sizes go on in the last page; keys that are none, and batches that only begin like one, find their places. */
static void appends_and_what_looks_like_one(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    for (unsigned duplicates = 0; duplicates < 2; duplicates++)
        for (unsigned w = 0; w < COUNT_OF(widths); w++) {
            copse_index *index = index_of_order(ctx, widths[w], 64, duplicates);
            uint64_t at = 0, late = 0;
            for (uint64_t i = 0, n = 1; i < 60; i++, n = n * 7 % 193 + 1) {
                assert_int_equal(insert(ctx, index, widths[w], at + 10, 10, n), n);
                at += 10 * n;
                if (i > 3) assert_true(copse_paged_of(index)->tail_known || i % 8 == 6);
                if (i % 8 != 5) continue;
                insert(ctx, index, widths[w], at / 20 * 10 + 5, 1000000, 1); /* in the middle */
                insert(ctx, index, widths[w], at - 35, 10, 2);               /* near the end  */
                late += 3;
                assert_ok(ctx, copse_verify(index));
            }
            assert_int_equal(copse_size(index), at / 10 + late);
            expect(ctx, index, widths[w], 10, 10, at / 10, true);
            void *keys = keys_of(widths[w].key, at + 10, 10, 2500);
            typed_set_bits(widths[w].key, keys, 2400, at + 15); /* ascending at first */
            uint64_t inserted = 0;
            assert_ok(ctx, copse_insert(index, keys, NULL, 2500, 0, &inserted));
            assert_int_equal(inserted, 2500);
            assert_ok(ctx, copse_verify(index));
            free(keys);
            copse_index_free(index);
        }
    copse_ctx_free(ctx);
}

/* AUTO takes the paged tree for streams on a device, and a tree for updates elsewhere. */
static void streams_get_a_paged_tree(void **state)
{
    (void)state;
    copse_ctx *ctx = unit_context(1);
    const copse_placement placements[] = {COPSE_PLACEMENT_EMULATED, COPSE_PLACEMENT_CPU};
    for (unsigned i = 0; i < COUNT_OF(placements); i++) {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        copse_index *index = NULL;
        copse_stats stats = {.struct_size = sizeof stats};
        options.updates = COPSE_UPDATES_STREAMED;
        options.placement = placements[i];
        assert_ok(ctx, copse_index_create(ctx, &options, &index));
        assert_ok(ctx, copse_index_stats(index, &stats));
        assert_int_equal(stats.structure, i == 0 ? COPSE_STRUCTURE_PAGED : COPSE_STRUCTURE_REGULAR);
        copse_index_free(index);
    }
    copse_ctx_free(ctx);
}

/* --- hybrid ---------------------------------------------------------------------------------------------------------------------- */

/* Every read that looks for keys, against what keys 0, 10, ... with values that are one more have. */
static void reads_are_right(copse_ctx *ctx, const copse_index *index, uint64_t n)
{
    const uint64_t lows[] = {0, 15, 10 * (n / 2)}, highs[] = {10 * n, 95, 10 * n - 10};
    const uint64_t wanted[] = {n, 8, n - n / 2};
    const copse_ranges ranges = COPSE_BETWEEN(lows, highs, 3);
    uint64_t counts[3], sums[3], sum = 0, rank = 0, key = 10 * n - 15, near = 0;
    uint8_t found = 0;
    expect(ctx, index, widths[1], 0, 10, n, true);
    expect(ctx, index, widths[1], 5, 10, n, false);
    assert_ok(ctx, copse_count(index, &ranges, counts));
    assert_ok(ctx, copse_sum(index, &ranges, sums));
    for (unsigned i = 0; i < 3; i++) assert_int_equal(counts[i], wanted[i]);
    for (uint64_t i = n / 2; i < n; i++) sum += 10 * i + 1;
    assert_int_equal(sums[2], sum);
    assert_ok(ctx, copse_lower_bound(index, &key, 1, &near, NULL, &found, &rank));
    assert_true(found && near == 10 * n - 10 && rank == n - 1);
    copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
    request.wanted = COPSE_REDUCE_SUM;
    const copse_ranges last = COPSE_BETWEEN(&lows[2], &highs[2], 1);
    request.range = &last;
    assert_ok(ctx, copse_visit_values(index, &request));
    assert_int_equal(request.reduction.sum.u64, sum);
}

/* Reads are walked by the host: they are right though the card's levels lead nowhere, also after pages have come. */
static void the_host_walks_in_hybrid_placements(void **state)
{
    (void)state;
    const struct unit_tree hybrid = {COPSE_STRUCTURE_PAGED, COPSE_PLACEMENT_HYBRID_EMULATED};
    for (uint32_t threads = 1; threads <= 2; threads++) {
        copse_ctx *ctx = unit_context(threads);
        copse_index *index = unit_index(ctx, hybrid, COPSE_U64, COPSE_U64, false);
        uint64_t n = 3000;
        insert(ctx, index, widths[1], 0, 10, n);
        for (unsigned turn = 0; turn < 3; turn++, n += 2000) {
            if (turn) insert(ctx, index, widths[1], 10 * n - 20000, 10, 2000);
            reads_are_right(ctx, index, n);
            copse_device *device = index->device;
            const copse_paged_directory *directory = &copse_paged_of(index)->directory;
            const uint64_t bytes = (uint64_t)((char *)directory->highs - (char *)directory->memory);
            char *levels = must_malloc(bytes);
            assert_ok(ctx, copse_device_read(device, device->main, levels, directory->memory, bytes));
            assert_ok(ctx, copse_device_fill(device, device->main, directory->memory, 0xff, bytes));
            reads_are_right(ctx, index, n);
            assert_ok(ctx, copse_device_copy(device, device->main, directory->memory, levels, bytes));
            assert_ok(ctx, copse_device_wait(device, device->main));
            free(levels);
            assert_ok(ctx, copse_verify(index));
        }
        copse_index_free(index);
        copse_ctx_free(ctx);
    }
}

/* A read for which there is no memory says so, and the next one is right. */
static void hybrid_reads_without_memory(void **state)
{
    (void)state;
    const struct unit_tree hybrid = {COPSE_STRUCTURE_PAGED, COPSE_PLACEMENT_HYBRID_EMULATED};
    copse_ctx *ctx = unit_context(1);
    bool done = false;
    for (int64_t allowed = 0; !done; allowed++) {
        copse_index *index = unit_tens(ctx, hybrid, 2000);
        copse_device *device = index->device;
        const uint64_t low = 100, high = 4000;
        const copse_ranges range = COPSE_BETWEEN(&low, &high, 1);
        uint64_t count = 0;
        uint8_t found = 0;
        device->allocations_left = allowed;
        const copse_status find = copse_find(index, &low, 1, NULL, &found);
        const copse_status counted = copse_count(index, &range, &count);
        done = device->allocations_left >= 0;
        device->allocations_left = -1;
        assert_true(find == COPSE_OK ? found : find == COPSE_ERR_MEMORY);
        assert_true(counted == COPSE_OK ? count == 391 : counted == COPSE_ERR_MEMORY);
        assert_ok(ctx, copse_find(index, &low, 1, NULL, &found));
        assert_true(found);
        assert_ok(ctx, copse_verify(index));
        copse_index_free(index);
        assert_int_equal(device->allocated, 0);
    }
    copse_ctx_free(ctx);
}

/* --- no memory ------------------------------------------------------------------------------------------------------------------- */

/* Every allocation on the device fails once: the tree is as before, and its memory, too. */
static void failures_leave_the_tree_as_it_was(void **state)
{
    (void)state;
    enum { ways = 5 };
    for (unsigned way = 0; way < ways; way++) {
        bool done = false;
        for (int64_t allowed = 0; !done; allowed++) {
            copse_ctx *ctx = unit_context(1);
            copse_device *device = placed_device(ctx, COPSE_PLACEMENT_EMULATED);
            copse_index *index = unit_tens(ctx, paged, 600);
            struct unit_content before = unit_content_of(index);
            uint64_t *keys = keys_of(COPSE_U64, way == 0 ? 6000 : 5, way < 2 ? 1 : 10, 400), changed = 0;
            uint8_t operations[400];
            for (unsigned i = 0; i < 400; i++) operations[i] = i % 2 ? COPSE_OP_ERASE : COPSE_OP_UPSERT;
            const uint64_t low = 100, high = 4000;
            const copse_ranges range = COPSE_BETWEEN(&low, &high, 1);
            device->allocations_left = allowed;
            const copse_status status = way < 3    ? copse_insert(index, keys, keys, 400, 0, &changed)
                                        : way == 3 ? copse_erase_range(index, &range, &changed)
                                                   : copse_apply(index, operations, keys, keys, 400, NULL, NULL);
            done = device->allocations_left >= 0;
            device->allocations_left = -1;
            if (status == COPSE_OK) {
                assert_ok(ctx, copse_verify(index));
                free(before.keys);
                free(before.values);
            } else {
                assert_int_equal(status, COPSE_ERR_MEMORY);
                unit_assert_content(ctx, index, before);
            }
            free(keys);
            copse_index_free(index);
            assert_int_equal(device->allocated, 0);
            copse_ctx_free(ctx);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_around_the_size_of_a_page),
        cmocka_unit_test(appends_fill_pages),
        cmocka_unit_test(few_keys_are_patched_in),
        cmocka_unit_test(large_batches_follow_each_other),
        cmocka_unit_test(pages_grow_with_the_tree),
        cmocka_unit_test(windows_take_no_more_memory),
        cmocka_unit_test(an_empty_tree_takes_keys),
        cmocka_unit_test(sparse_pages_are_joined),
        cmocka_unit_test(every_order_works),
        cmocka_unit_test(other_orders_are_refused),
        cmocka_unit_test(appends_and_what_looks_like_one),
        cmocka_unit_test(orders_follow_the_size),
        cmocka_unit_test(a_bulk_load_is_dense),
        cmocka_unit_test(the_host_walks_in_hybrid_placements),
        cmocka_unit_test(hybrid_reads_without_memory),
        cmocka_unit_test(streams_get_a_paged_tree),
        cmocka_unit_test(failures_leave_the_tree_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
