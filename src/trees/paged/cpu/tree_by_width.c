/* The paged tree on the CPU, for one pair of widths: what the driver (cpu/driver.h) asks of a tree. */
#include "trees/paged/cpu/tree.h"
#include "cpu/array_merge.h"
#include "cpu/driver.h"
#include "trees/paged/layout.h"

/* Keys are encoded this many at a time into a buffer on the stack. */
#define BLOCK 256u
/* Entries of a page that a build fills, of 8 slots; and of pages that one becomes. */
#define FILL_BUILD 7u
#define FILL_SPLIT 6u

static KEY *page_keys(const copse_paged_cpu *tree, uint32_t page)
{
    return tree->pages[page];
}

static VALUE *page_values(const copse_paged_cpu *tree, uint32_t page)
{
    return (VALUE *)(void *)((KEY *)tree->pages[page] + tree->slots);
}

static size_t page_bytes(uint32_t slots)
{
    return (size_t)slots * (sizeof(KEY) + sizeof(VALUE));
}

/* --- the directory -------------------------------------------------------------------------------------------------------------- */

static size_t directory_bytes(uint32_t room)
{
    return (size_t)room * (sizeof(KEY) + sizeof(void *) + sizeof(uint32_t) + sizeof(uint64_t)) + 64;
}

/* Arrays of a directory for so many pages, in one block, of which `before` is the first. False: no memory. */
static bool directory_make(const copse_ctx *ctx, uint64_t room, copse_paged_cpu *out)
{
    if (room > UINT32_MAX / 2) return false;
    char *memory = copse_memory_alloc(ctx, directory_bytes((uint32_t)room));
    if (!memory) return false;
    out->room = (uint32_t)room;
    out->page_count = 0;
    out->entries = 0;
    out->before = (uint64_t *)(void *)memory;
    out->pages = (void **)(void *)(out->before + room + 1);
    out->highs = out->pages + room;
    out->counts = (uint32_t *)(void *)((KEY *)out->highs + room);
    out->before[0] = 0;
    return true;
}

static void directory_free(const copse_ctx *ctx, copse_paged_cpu *directory)
{
    copse_memory_free(ctx, directory->before, directory_bytes(directory->room));
    directory->before = NULL;
}

/* Adds a page with its entries to a directory that has room. */
static void directory_add(copse_paged_cpu *to, void *page, uint32_t count, KEY high)
{
    const uint32_t at = to->page_count++;
    to->pages[at] = page;
    to->counts[at] = count;
    ((KEY *)to->highs)[at] = high;
    to->entries += count;
    to->before[at + 1] = to->entries;
}

static void directory_keep(copse_paged_cpu *to, const copse_paged_cpu *from, uint32_t page)
{
    directory_add(to, from->pages[page], from->counts[page], ((const KEY *)from->highs)[page]);
}

/* The first page with a high key >= (upper: >) q; page_count where there is none. */
static uint32_t page_of(const copse_paged_cpu *tree, uint32_t low, KEY q, bool upper)
{
    const entry_array highs = {tree->highs, NULL, tree->page_count};
    return (uint32_t)array_bound(&highs, low, q, upper);
}

static entry_array entries_of(const copse_paged_cpu *tree, uint32_t page)
{
    return (entry_array){page_keys(tree, page), page_values(tree, page), tree->counts[page]};
}

/* --- life ----------------------------------------------------------------------------------------------------------------------- */

static copse_status no_memory(const copse_index *index, size_t bytes)
{
    return copse_fail_memory(index->ctx, bytes, "the paged tree");
}

static copse_status paged_create(copse_index *index)
{
    copse_paged_cpu *tree = copse_memory_alloc(index->ctx, sizeof *tree);
    if (!tree) return no_memory(index, sizeof *tree);
    *tree = (copse_paged_cpu){.slots = copse_paged_slots_for(index->page_order, 0)};
    if (!directory_make(index->ctx, 0, tree)) {
        copse_memory_free(index->ctx, tree, sizeof *tree);
        return no_memory(index, directory_bytes(0));
    }
    index->tree = tree;
    return COPSE_OK;
}

static void pages_free(const copse_index *index, const copse_paged_cpu *tree, uint32_t first)
{
    for (uint32_t i = first; i < tree->page_count; i++)
        copse_memory_free(index->ctx, tree->pages[i], page_bytes(tree->slots));
}

static void paged_destroy(copse_index *index)
{
    copse_paged_cpu *tree = index->tree;
    pages_free(index, tree, 0);
    directory_free(index->ctx, tree);
    copse_memory_free(index->ctx, tree, sizeof *tree);
}

/* --- change --------------------------------------------------------------------------------------------------------------------- */

/* An update: pages of the new directory that are new are noted, so that a failure frees them, and of the old one those that go. */
typedef struct change {
    const copse_index *index;
    const copse_paged_cpu *old;
    copse_paged_cpu made;
    uint64_t *fresh; /* bit i: page i of `made` is new */
    KEY *keys;       /* where entries are merged */
    VALUE *values;
    uint64_t merged_room;
} change;

static size_t fresh_bytes(uint32_t room)
{
    return ((size_t)room / 64 + 1) * sizeof(uint64_t);
}

static size_t merged_bytes(uint64_t entries)
{
    return copse_memory_product(entries, sizeof(KEY) + sizeof(VALUE));
}

static bool change_begin(const copse_index *index, uint64_t room, uint32_t slots, change *out)
{
    *out = (change){.index = index, .old = index->tree, .made = {.slots = slots}};
    if (!directory_make(index->ctx, room, &out->made)) return false;
    out->fresh = copse_memory_alloc(index->ctx, fresh_bytes(out->made.room));
    if (out->fresh) memset(out->fresh, 0, fresh_bytes(out->made.room));
    if (!out->fresh) directory_free(index->ctx, &out->made);
    return out->fresh != NULL;
}

static void change_free(change *c)
{
    copse_memory_free(c->index->ctx, c->fresh, fresh_bytes(c->made.room));
    copse_memory_free(c->index->ctx, c->keys, merged_bytes(c->merged_room));
}

static bool is_fresh(const change *c, uint32_t page)
{
    return c->fresh[page / 64] >> page % 64 & 1;
}

/* Nothing comes of it: what is new goes. */
static copse_status change_undo(change *c, size_t bytes)
{
    for (uint32_t i = 0; i < c->made.page_count; i++)
        if (is_fresh(c, i)) copse_memory_free(c->index->ctx, c->made.pages[i], page_bytes(c->made.slots));
    directory_free(c->index->ctx, &c->made);
    change_free(c);
    return no_memory(c->index, bytes);
}

/* The new directory takes the place of the old one; pages that are in both stay, and the others go. */
static void change_end(change *c)
{
    copse_paged_cpu *tree = c->index->tree;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tree->page_count; i++) {
        while (kept < c->made.page_count && is_fresh(c, kept)) kept++;
        if (kept < c->made.page_count && c->made.pages[kept] == tree->pages[i])
            kept++;
        else
            copse_memory_free(c->index->ctx, tree->pages[i], page_bytes(tree->slots));
    }
    directory_free(c->index->ctx, tree);
    *tree = c->made;
    change_free(c);
}

/* Room to merge so many entries. */
static bool merged_reserve(change *c, uint64_t entries)
{
    if (entries <= c->merged_room) return true;
    char *memory = copse_memory_alloc(c->index->ctx, merged_bytes(entries));
    if (!memory) return false;
    copse_memory_free(c->index->ctx, c->keys, merged_bytes(c->merged_room));
    c->merged_room = entries;
    c->keys = (KEY *)(void *)memory;
    c->values = (VALUE *)(void *)(c->keys + entries); /* a multiple of 8 bytes: rooms are even */
    return true;
}

/* Adds new pages with n entries, `fill` in each. */
static bool pages_add(change *c, const KEY *keys, const VALUE *values, uint64_t n, uint64_t fill)
{
    const uint64_t pages = n ? (n - 1) / fill + 1 : 0, each = n && fill < c->made.slots ? (n - 1) / pages + 1 : fill;
    for (uint64_t at = 0; keys && values && at < n; at += each) {
        const uint32_t count = (uint32_t)(n - at < each ? n - at : each);
        KEY *page = copse_memory_alloc(c->index->ctx, page_bytes(c->made.slots));
        if (!page) return false;
        memcpy(page, keys + at, count * sizeof *keys);
        memcpy(page + c->made.slots, values + at, count * sizeof *values);
        c->fresh[c->made.page_count / 64] |= UINT64_C(1) << c->made.page_count % 64;
        directory_add(&c->made, page, count, keys[at + count - 1]);
    }
    return true;
}

/* Old pages first .. end, and pairs of the batch that fall between them. */
typedef struct run {
    uint32_t first, end;
    copse_batch batch;
} run;

/* The run that begins with pair `at`. Where keys repeat, their pages belong together. */
static run run_at(const copse_paged_cpu *old, const copse_batch *batch, uint64_t at, uint32_t from)
{
    const copse_pair *pairs = batch->pairs;
    run s = {.first = page_of(old, from, pairs[at].key, false), .batch = *batch};
    if (s.first == old->page_count) s.first--; /* behind all keys: the last page */
    s.end = s.first + 1;
    uint64_t end = at;
    for (bool grows = true; grows;) {
        const bool last = s.end == old->page_count;
        while (end < batch->n && (last || pairs[end].key <= ((const KEY *)old->highs)[s.end - 1])) end++;
        grows = !last && page_keys(old, s.end)[0] <= pairs[end - 1].key;
        s.end += grows;
    }
    s.batch.pairs = pairs + at;
    s.batch.n = end - at;
    if (batch->gone) s.batch.gone = batch->gone + at;
    if (batch->does) s.batch.does = batch->does + at;
    return s;
}

/* The entries of pages first .. end in one array; those of more than one page are copied. */
static bool run_entries(const change *c, const run *s, entry_array *out, void **memory)
{
    const copse_paged_cpu *old = c->old;
    *memory = NULL;
    *out = entries_of(old, s->first);
    if (s->end == s->first + 1) return true;
    const uint64_t n = old->before[s->end] - old->before[s->first];
    KEY *keys = copse_memory_alloc(c->index->ctx, merged_bytes(n + n % 2));
    if (!keys) return false;
    VALUE *values = (VALUE *)(void *)(keys + n + n % 2);
    for (uint32_t p = s->first; p < s->end; p++) {
        const uint64_t at = old->before[p] - old->before[s->first];
        memcpy(keys + at, page_keys(old, p), old->counts[p] * sizeof *keys);
        memcpy(values + at, page_values(old, p), old->counts[p] * sizeof *values);
    }
    *out = (entry_array){keys, values, n};
    *memory = keys;
    return true;
}

/* Merges a run into new pages. Keys behind all others fill them to the last slot. */
static bool run_merge(change *c, const run *s, array_action action)
{
    const uint32_t slots = c->made.slots;
    const uint64_t entries = c->old->before[s->end] - c->old->before[s->first], most = entries + s->batch.n;
    const copse_pair *pairs = s->batch.pairs;
    const bool append = s->end == c->old->page_count && pairs[0].key > ((const KEY *)c->old->highs)[s->end - 1];
    entry_array old;
    void *memory;
    if (!merged_reserve(c, most + most % 2) || !run_entries(c, s, &old, &memory)) return false;
    array_output to = {.keys = c->keys, .values = c->values};
    array_merge(&old, &s->batch, action, &to);
    copse_memory_free(c->index->ctx, memory, merged_bytes(entries + entries % 2));
    return pages_add(c, c->keys, c->values, to.n, append || to.n <= slots ? slots : slots / 8 * FILL_SPLIT);
}

/* A build: all pairs in new pages. */
static copse_status paged_build(copse_index *index, const copse_batch *batch)
{
    const uint32_t slots = copse_paged_slots_for(index->page_order, batch->n), fill = slots / 8 * FILL_BUILD;
    KEY keys[BLOCK];
    VALUE values[BLOCK];
    change c;
    if (!change_begin(index, batch->n / fill + 1, slots, &c)) return no_memory(index, directory_bytes(0));
    for (uint64_t at = 0; at < batch->n;) {
        KEY *page = copse_memory_alloc(index->ctx, page_bytes(slots));
        if (!page) return change_undo(&c, page_bytes(slots));
        const uint32_t count = (uint32_t)(batch->n - at < fill ? batch->n - at : fill);
        for (uint32_t i = 0; i < count; i += BLOCK) {
            const uint32_t some = count - i < BLOCK ? count - i : BLOCK;
            copse_batch_read(batch, at + i, some, keys, values);
            memcpy(page + i, keys, some * sizeof *keys);
            memcpy((VALUE *)(void *)(page + slots) + i, values, some * sizeof *values);
        }
        c.fresh[c.made.page_count / 64] |= UINT64_C(1) << c.made.page_count % 64;
        directory_add(&c.made, page, count, page[count - 1]);
        at += count;
    }
    change_end(&c);
    return COPSE_OK;
}

/* A tree that outgrew its small pages gets large ones, once. */
static copse_status pages_grow(copse_index *index, uint64_t more)
{
    const copse_paged_cpu *old = index->tree;
    const uint32_t slots = copse_paged_slots_next(index->page_order, old->slots, old->entries + more);
    const run all = {.first = 0, .end = old->page_count};
    entry_array entries = {0};
    void *memory = NULL;
    change c;
    if (old->slots == slots || old->entries == 0) return COPSE_OK;
    if (!change_begin(index, old->entries / (slots / 8 * FILL_BUILD) + 1, slots, &c))
        return no_memory(index, directory_bytes(0));
    if (!run_entries(&c, &all, &entries, &memory) ||
        !pages_add(&c, entries.keys, entries.values, entries.entries, slots / 8 * FILL_BUILD)) {
        copse_memory_free(index->ctx, memory, merged_bytes(entries.entries + entries.entries % 2));
        return change_undo(&c, page_bytes(slots));
    }
    if (memory) copse_memory_free(index->ctx, memory, merged_bytes(entries.entries + entries.entries % 2));
    change_end(&c);
    return COPSE_OK;
}

/* A batch for an empty tree, of which some pairs may do nothing. */
static copse_status paged_start(copse_index *index, const copse_batch *batch, array_action action)
{
    const copse_paged_cpu *old = index->tree;
    const entry_array none = {0};
    const uint32_t fill = old->slots / 8 * FILL_SPLIT;
    change c;
    if (!change_begin(index, batch->n / fill + 2, old->slots, &c)) return no_memory(index, directory_bytes(0));
    if (!merged_reserve(&c, batch->n + batch->n % 2)) return change_undo(&c, merged_bytes(batch->n));
    array_output to = {.keys = c.keys, .values = c.values};
    array_merge(&none, batch, action, &to);
    if (!pages_add(&c, c.keys, c.values, to.n, fill)) return change_undo(&c, page_bytes(old->slots));
    change_end(&c);
    return COPSE_OK;
}

/* A small batch that stays within one page: that is written where it is. *out_done false: it does not. */
static copse_status paged_patch(const copse_index *index, const copse_batch *batch, array_action action, bool *out_done)
{
    copse_paged_cpu *tree = index->tree;
    const run s = run_at(tree, batch, 0, 0);
    const uint64_t most = tree->counts[s.first] + batch->n;
    *out_done = false;
    if (s.end - s.first > 1 || s.batch.n < batch->n || most > tree->slots * UINT64_C(2)) return COPSE_OK;
    change c = {.index = index};
    if (!merged_reserve(&c, most + most % 2)) return no_memory(index, merged_bytes(most));
    const entry_array old = entries_of(tree, s.first);
    array_output to = {.keys = c.keys, .values = c.values};
    array_merge(&old, batch, action, &to);
    *out_done = c.keys && c.values && to.n > 0 && to.n <= tree->slots;
    if (*out_done) {
        const uint64_t more = to.n - tree->counts[s.first]; /* wraps around where there are fewer */
        memcpy(page_keys(tree, s.first), c.keys, to.n * sizeof *c.keys);
        memcpy(page_values(tree, s.first), c.values, to.n * sizeof *c.values);
        tree->counts[s.first] = (uint32_t)to.n;
        ((KEY *)tree->highs)[s.first] = c.keys[to.n - 1];
        for (uint32_t p = s.first; more && p < tree->page_count; p++) tree->before[p + 1] += more;
        tree->entries += more;
    }
    copse_memory_free(index->ctx, c.keys, merged_bytes(c.merged_room));
    return COPSE_OK;
}

static copse_status paged_update(copse_index *index, const copse_batch *batch, array_action action)
{
    const copse_paged_cpu *old = index->tree;
    uint32_t page = 0;
    bool done = false;
    change c;
    if (old->page_count == 0)
        return action == ARRAY_ERASE || batch->gone || batch->does ? paged_start(index, batch, action)
                                                                   : paged_build(index, batch);
    copse_status status = batch->n ? paged_patch(index, batch, action, &done) : COPSE_OK;
    if (status != COPSE_OK || done || batch->n == 0) return status;
    /* Each page becomes itself and what its pairs fill, and at most two more that are not full. */
    const uint64_t room = old->page_count * UINT64_C(3) + batch->n / (old->slots / 8 * FILL_SPLIT) + 2;
    if (!change_begin(index, room, old->slots, &c)) return no_memory(index, directory_bytes(0));
    for (uint64_t at = 0; at < batch->n;) {
        const run s = run_at(old, batch, at, page);
        for (; page < s.first; page++) directory_keep(&c.made, old, page);
        if (!run_merge(&c, &s, action)) return change_undo(&c, page_bytes(old->slots));
        page = s.end;
        at += s.batch.n;
    }
    for (; page < old->page_count; page++) directory_keep(&c.made, old, page);
    change_end(&c);
    return COPSE_OK;
}

static copse_status paged_insert(copse_index *index, const copse_batch *pairs, uint32_t flags, uint64_t *out_inserted)
{
    const copse_paged_cpu *tree = index->tree;
    const uint64_t before = tree->entries;
    const array_action action = flags & COPSE_INSERT_IF_ABSENT ? ARRAY_ABSENT
                                : index->duplicates            ? ARRAY_APPEND
                                                               : ARRAY_UPSERT;
    copse_status status = pages_grow(index, pairs->n);
    if (status == COPSE_OK) status = paged_update(index, pairs, action);
    if (status == COPSE_OK) *out_inserted = tree->entries - before;
    return status;
}

static copse_status paged_erase(copse_index *index, const copse_batch *pairs, uint64_t *out_erased)
{
    const copse_paged_cpu *tree = index->tree;
    const uint64_t before = tree->entries;
    copse_status status = paged_update(index, pairs, ARRAY_ERASE);
    if (status == COPSE_OK) *out_erased = before - tree->entries;
    return status;
}

static copse_status paged_apply(copse_index *index, const copse_batch *pairs)
{
    copse_status status = pages_grow(index, pairs->n);
    return status == COPSE_OK ? paged_update(index, pairs, ARRAY_UPSERT) : status;
}

/* Takes slots first .. end out of a page. */
static void page_cut(const copse_paged_cpu *tree, uint32_t page, uint32_t first, uint32_t end)
{
    const uint32_t count = tree->counts[page];
    KEY *keys = page_keys(tree, page);
    VALUE *values = page_values(tree, page);
    memmove(keys + first, keys + end, (count - end) * sizeof *keys);
    memmove(values + first, values + end, (count - end) * sizeof *values);
    tree->counts[page] = count - (end - first);
}

/* Stretches go where they lie, and pages with them: nothing can fail. From the last one on, whose locations the others do not change. */
static copse_status paged_erase_between(copse_index *index, const copse_stretch *stretches, uint64_t n, uint64_t erased)
{
    copse_paged_cpu *tree = index->tree;
    (void)erased;
    for (uint64_t i = n; i-- > 0;) {
        const uint32_t first = (uint32_t)(stretches[i].first >> COPSE_PAGED_CPU_SHIFT),
                       last = (uint32_t)(stretches[i].end >> COPSE_PAGED_CPU_SHIFT);
        for (uint32_t p = last < tree->page_count ? last + 1 : last; p-- > first;) {
            const uint32_t from = p == first ? (uint32_t)(stretches[i].first & 0xffff) : 0;
            page_cut(tree, p, from, p == last ? (uint32_t)(stretches[i].end & 0xffff) : tree->counts[p]);
        }
    }
    const copse_paged_cpu old = *tree;
    tree->page_count = 0;
    tree->entries = 0;
    for (uint32_t p = 0; p < old.page_count; p++) {
        if (old.counts[p])
            directory_add(tree, old.pages[p], old.counts[p], ((KEY *)old.pages[p])[old.counts[p] - 1]);
        else
            copse_memory_free(index->ctx, old.pages[p], page_bytes(old.slots));
    }
    return COPSE_OK;
}

/* --- read ----------------------------------------------------------------------------------------------------------------------- */

/* Queries that are searched for together, so that they wait for memory together. */
#define GROUP 32u

/* Where a group is searched: query i in keys[i], of which there are counts[i]. */
typedef struct group_search {
    const KEY *keys[GROUP];
    uint32_t counts[GROUP], bounds[GROUP];
} group_search;

/* The first key of each array >= (upper: >) its query. By steps of falling powers of two, and by masks: a branch would be taken every
 * second time. */
static inline __attribute__((always_inline)) void group_halve(group_search *s, const KEY *q, uint32_t queries,
                                                              uint32_t most, bool upper)
{
    uint32_t step = 1;
    while (step <= most / 2) step *= 2;
    memset(s->bounds, 0, sizeof s->bounds);
    for (; step; step /= 2)
#pragma GCC unroll 4
        for (uint32_t i = 0; i < queries; i++) {
            const uint32_t next = s->bounds[i] + step, inside = 0u - (next <= s->counts[i]);
            const KEY key = s->keys[i][(next - 1) & inside];
            s->bounds[i] += step & inside & (0u - (upper ? key <= q[i] : key < q[i]));
        }
}

static void group_bounds(group_search *s, const KEY *q, uint32_t queries, uint32_t most, bool upper)
{
    if (upper)
        group_halve(s, q, queries, most, true);
    else
        group_halve(s, q, queries, most, false);
}

/* Locations of a group: first all pages, then the places in them. A query behind all keys is searched for in the last page. */
static void group_locate(const copse_paged_cpu *tree, const KEY *q, uint32_t queries, bool upper, uint64_t *locations)
{
    group_search s;
    uint32_t page[GROUP];
    for (uint32_t i = 0; i < queries; i++) {
        s.keys[i] = tree->highs;
        s.counts[i] = tree->page_count;
    }
    group_bounds(&s, q, queries, tree->page_count, upper);
    for (uint32_t i = 0; i < queries; i++) {
        page[i] = s.bounds[i];
        const uint32_t near = page[i] - (page[i] == tree->page_count);
        s.keys[i] = page_keys(tree, near);
        s.counts[i] = tree->counts[near];
    }
    group_bounds(&s, q, queries, tree->slots, upper);
    for (uint32_t i = 0; i < queries; i++)
        locations[i] = ((uint64_t)page[i] << COPSE_PAGED_CPU_SHIFT) + (page[i] < tree->page_count ? s.bounds[i] : 0);
}

static uint64_t paged_locate(const copse_index *index, const void *keys, uint64_t first, uint64_t n, bool upper,
                             uint64_t *locations)
{
    const copse_paged_cpu *tree = index->tree;
    KEY group[GROUP];
    for (uint64_t at = 0; at < n; at += GROUP) {
        const uint32_t count = (uint32_t)(n - at < GROUP ? n - at : GROUP);
        const uint32_t good = ENCODE(index->key_type, keys, first + at, count, group);
        if (tree->page_count)
            group_locate(tree, group, good, upper, locations + at);
        else
            memset(locations + at, 0, good * sizeof *locations);
        if (good < count) return at + good; /* a NaN */
    }
    return n;
}

/* The entry of query `at`, or none. */
static void find_at(const copse_paged_cpu *tree, uint64_t location, KEY q, uint64_t at, VALUE *values, uint8_t *found)
{
    const uint32_t page = (uint32_t)(location >> COPSE_PAGED_CPU_SHIFT), slot = (uint32_t)(location & 0xffff);
    const bool there = page < tree->page_count && page_keys(tree, page)[slot] == q;
    if (found) found[at] = there;
    if (values) values[at] = there ? page_values(tree, page)[slot] : 0;
}

static uint64_t paged_find(const copse_index *index, const void *keys, uint64_t first, uint64_t n, void *values,
                           uint8_t *found)
{
    const copse_paged_cpu *tree = index->tree;
    KEY group[GROUP];
    uint64_t locations[GROUP] = {0};
    for (uint64_t at = 0; at < n; at += GROUP) {
        const uint32_t count = (uint32_t)(n - at < GROUP ? n - at : GROUP);
        const uint32_t good = ENCODE(index->key_type, keys, first + at, count, group);
        if (tree->page_count) group_locate(tree, group, good, false, locations);
        for (uint32_t i = 0; i < good; i++) find_at(tree, locations[i], group[i], first + at + i, values, found);
        if (good < count) return at + good; /* a NaN */
    }
    return n;
}

static void paged_rank(const copse_index *index, const uint64_t *locations, uint64_t n, uint64_t *ranks)
{
    const copse_paged_cpu *tree = index->tree;
    for (uint64_t i = 0; i < n; i++)
        ranks[i] = tree->before[locations[i] >> COPSE_PAGED_CPU_SHIFT] + (locations[i] & 0xffff);
}

static uint64_t paged_select(const copse_index *index, uint64_t rank)
{
    const copse_paged_cpu *tree = index->tree;
    uint32_t low = 0, high = tree->page_count;
    while (low < high) { /* the first page that ends behind the rank */
        const uint32_t middle = low + (high - low) / 2;
        if (tree->before[middle + 1] <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    return ((uint64_t)low << COPSE_PAGED_CPU_SHIFT) + (rank - tree->before[low]);
}

/* Page by page. */
static void paged_copy(const copse_index *index, uint64_t location, uint64_t count, uint64_t at, void *keys,
                       void *values)
{
    const copse_paged_cpu *tree = index->tree;
    uint32_t page = (uint32_t)(location >> COPSE_PAGED_CPU_SHIFT), slot = (uint32_t)(location & 0xffff);
    for (uint64_t left = count; left; page++, slot = 0) {
        const uint32_t here = tree->counts[page] - slot, some = left < here ? (uint32_t)left : here;
        for (uint32_t i = 0; keys && i < some; i++)
            DECODE(index->key_type, page_keys(tree, page)[slot + i], keys, at + i);
        if (values) memcpy((VALUE *)values + at, page_values(tree, page) + slot, some * sizeof(VALUE));
        at += some;
        left -= some;
    }
}

/* The values of a page lie in a row. */
static const void *paged_values(const copse_index *index, uint64_t location, uint64_t *count)
{
    const copse_paged_cpu *tree = index->tree;
    const uint32_t page = (uint32_t)(location >> COPSE_PAGED_CPU_SHIFT), slot = (uint32_t)(location & 0xffff);
    const uint64_t here = tree->counts[page] - slot;
    if (here < *count) *count = here;
    return page_values(tree, page) + slot;
}

static void paged_gather(const copse_index *index, const uint64_t *locations, uint64_t first, uint64_t n, bool before,
                         void *keys, void *values, uint8_t *found)
{
    const copse_paged_cpu *tree = index->tree;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t location = locations[i];
        uint32_t page = (uint32_t)(location >> COPSE_PAGED_CPU_SHIFT);
        bool there = before ? location > 0 : page < tree->page_count;
        if (before && there) {
            if ((location & 0xffff) == 0) {
                page--;
                location = ((uint64_t)page << COPSE_PAGED_CPU_SHIFT) + tree->counts[page];
            }
            location--;
        }
        if (found) found[first + i] = there;
        if (there) {
            paged_copy(index, location, 1, first + i, keys, values);
        } else {
            if (keys) ((KEY *)keys)[first + i] = 0;
            if (values) ((VALUE *)values)[first + i] = 0;
        }
    }
}

static void paged_aggregate(const copse_index *index, uint64_t location, uint64_t end, copse_aggregate_kind kind,
                            copse_aggregate *out)
{
    const copse_paged_cpu *tree = index->tree;
    const uint32_t last = (uint32_t)(end >> COPSE_PAGED_CPU_SHIFT);
    uint32_t slot = (uint32_t)(location & 0xffff);
    (void)kind;
    for (uint32_t p = (uint32_t)(location >> COPSE_PAGED_CPU_SHIFT); p <= last && p < tree->page_count; p++, slot = 0) {
        const uint32_t stop = p == last ? (uint32_t)(end & 0xffff) : tree->counts[p];
        if (stop > slot) copse_aggregate_add(out, index->value_type, page_values(tree, p) + slot, stop - slot);
    }
}

/* --- inspect -------------------------------------------------------------------------------------------------------------------- */

static uint64_t paged_size(const copse_index *index)
{
    return ((const copse_paged_cpu *)index->tree)->entries;
}

static void paged_stats(const copse_index *index, copse_stats *out)
{
    const copse_paged_cpu *tree = index->tree;
    out->entries = tree->entries;
    out->bytes = sizeof *tree + directory_bytes(tree->room) + tree->page_count * page_bytes(tree->slots);
    out->height = tree->entries ? 2 : 0;
    out->fill = tree->entries ? (double)tree->entries / ((double)tree->page_count * tree->slots) : 0.0;
}

static bool page_is_right(const copse_index *index, const copse_paged_cpu *tree, uint32_t page)
{
    const KEY *keys = page_keys(tree, page), *highs = tree->highs;
    const uint32_t count = tree->counts[page];
    if (count == 0 || count > tree->slots || keys[count - 1] != highs[page]) return false;
    if (page && (index->duplicates ? keys[0] < highs[page - 1] : keys[0] <= highs[page - 1])) return false;
    for (uint32_t i = 1; i < count; i++)
        if (index->duplicates ? keys[i] < keys[i - 1] : keys[i] <= keys[i - 1]) return false;
    return tree->before[page + 1] - tree->before[page] == count;
}

static copse_status paged_verify(const copse_index *index)
{
    const copse_paged_cpu *tree = index->tree;
    copse_status status = copse_progress(index->ctx, "verifying", 0, tree->entries);
    for (uint32_t p = 0; status == COPSE_OK && p < tree->page_count; p++)
        if (!page_is_right(index, tree, p))
            status = copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                                "paged tree: page %u is not in order, or the directory does not agree with it", p);
    if (status == COPSE_OK && tree->before[tree->page_count] != tree->entries)
        status = copse_fail(index->ctx, COPSE_ERR_CORRUPT,
                            "paged tree: its pages have %llu entries, but it should have %llu",
                            (unsigned long long)tree->before[tree->page_count], (unsigned long long)tree->entries);
    return status;
}

const copse_cpu_tree NAME(copse_paged_cpu) = {
    .create = paged_create,
    .destroy = paged_destroy,
    .build = paged_build,
    .insert = paged_insert,
    .erase = paged_erase,
    .apply = paged_apply,
    .erase_between = paged_erase_between,
    .find = paged_find,
    .locate = paged_locate,
    .rank = paged_rank,
    .select = paged_select,
    .gather = paged_gather,
    .copy = paged_copy,
    .values = paged_values,
    .aggregate = paged_aggregate,
    .size = paged_size,
    .stats = paged_stats,
    .verify = paged_verify,
};
