/* The CPU driver: erasing by ranges. The tree gets the stretches of entries that go, and drops them without looking at their keys. */
#include "cpu/driver.h"

/* Locations of both ends of each range, and their ranks. */
typedef struct located_ranges {
    uint64_t *first, *end, *first_rank, *end_rank;
} located_ranges;

/* Stretches of those ranges that have entries; where nothing lies between two of them, they become one. Returns how many. */
static uint64_t stretches_make(const located_ranges *at, uint64_t n, copse_stretch *stretches, uint64_t *out_erased)
{
    uint64_t made = 0, erased = 0, last_rank = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (at->first_rank[i] >= at->end_rank[i]) continue;
        if (made && at->first_rank[i] == last_rank)
            stretches[made - 1].end = at->end[i];
        else
            stretches[made++] = (copse_stretch){.first = at->first[i], .end = at->end[i], .before = erased};
        erased += at->end_rank[i] - at->first_rank[i];
        last_rank = at->end_rank[i];
    }
    *out_erased = erased;
    return made;
}

/* For a tree that erases by keys: those of the stretches, in order, as a batch. */
static copse_status erase_listed(copse_index *index, const copse_stretch *stretches, uint64_t n, uint64_t erased)
{
    const size_t bytes = copse_memory_product(erased, copse_type_size(index->key_type));
    void *keys = copse_memory_alloc(index->ctx, bytes);
    if (!keys) return copse_fail_memory(index->ctx, bytes, "erasing ranges");
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t end = i + 1 < n ? stretches[i + 1].before : erased;
        copse_cpu_tree_of(index)->copy(index, stretches[i].first, end - stretches[i].before, stretches[i].before, keys,
                                       NULL);
    }
    uint64_t gone = 0; /* as many: all equals of a key are in its range */
    copse_status status = copse_cpu_erase(index, keys, erased, &gone);
    copse_memory_free(index->ctx, keys, bytes);
    return status;
}

static copse_status erase_located(copse_index *index, const copse_ranges *ranges, const located_ranges *at,
                                  copse_stretch *stretches, uint64_t *out_erased)
{
    const copse_cpu_tree *tree = copse_cpu_tree_of(index);
    const uint64_t n = ranges->n;
    uint64_t erased;
    (void)tree->locate(index, ranges->lows, 0, n, false, at->first); /* no end is a NaN */
    (void)tree->locate(index, ranges->highs, 0, n, true, at->end);
    tree->rank(index, at->first, n, at->first_rank);
    tree->rank(index, at->end, n, at->end_rank);
    const uint64_t made = stretches_make(at, n, stretches, &erased);
    if (made == 0) return COPSE_OK;
    copse_status status = copse_progress(index->ctx, "erasing", 0, erased);
    if (status != COPSE_OK) return status;
    if (erased == copse_size(index))
        status = copse_cpu_build(index, NULL, NULL, 0);
    else
        status = tree->erase_between ? tree->erase_between(index, stretches, made, erased)
                                     : erase_listed(index, stretches, made, erased);
    if (status == COPSE_OK) *out_erased = erased;
    return status;
}

copse_status copse_cpu_erase_range(copse_index *index, const copse_ranges *ranges, uint64_t *out_erased)
{
    const uint64_t n = ranges->n;
    const size_t bytes = copse_memory_product(n, sizeof(copse_stretch) + 4 * sizeof(uint64_t));
    if (copse_size(index) == 0) return COPSE_OK;
    copse_stretch *stretches = copse_memory_alloc(index->ctx, bytes);
    if (!stretches) return copse_fail_memory(index->ctx, bytes, "erasing ranges");
    uint64_t *words = (uint64_t *)(stretches + n);
    const located_ranges at = {words, words + n, words + 2 * n, words + 3 * n};
    copse_status status = erase_located(index, ranges, &at, stretches, out_erased);
    copse_memory_free(index->ctx, stretches, bytes);
    return status;
}
