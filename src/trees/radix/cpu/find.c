/* Lookups in the radix tree: several at a time on each thread, so that their waits for memory overlap. */
#include "core/threads.h"
#include "cpu/fetch.h"
#include "trees/radix/cpu/tree.h"

#define MOST_IN_FLIGHT    64u
#define DEFAULT_IN_FLIGHT 24u

/* One lookup on its way down. */
typedef struct flight {
    copse_slice key;
    copse_radix_link link;
    const copse_radix_link *slot; /* of a node48: the link that comes next, once its slot is known */
    uint64_t number;
    unsigned char own[8]; /* of a key of fixed width: its bytes */
} flight;

/* What a job of lookups has: keys come from a caller's array or from `key`. */
typedef struct find_job {
    const copse_index *index;
    const copse_radix *tree;
    const copse_byte_keys *queries; /* NULL: key(user, i) */
    const copse_radix_rest *rest;   /* which of them, and where they go on; NULL: all, from the root */
    copse_radix_key_fn key;
    const void *user;
    const void *fixed; /* keys of fixed width; NULL: strings */
    uint64_t first_nan;
    copse_radix_link *leaves; /* NULL: values and found */
    char *values;
    uint8_t *found;
} find_job;

COPSE_FETCH void fetch_lines(const unsigned char *at, size_t bytes)
{
    __builtin_prefetch(at);
    if (((uintptr_t)at & (COPSE_CACHE_LINE - 1)) + bytes > COPSE_CACHE_LINE) __builtin_prefetch(at + bytes - 1);
}

/* Asks for the memory that the next step of a lookup reads. */
COPSE_FETCH void fetch(const copse_radix *tree, const flight *f)
{
    const uint32_t type = copse_radix_type_of(f->link), depth = copse_radix_depth_of(f->link);
    const unsigned char *at = copse_radix_at(tree, f->link);
    const bool ends = f->key.length <= depth;
    switch (type) {
    case COPSE_RADIX_NODE256:
        __builtin_prefetch(
            ends ? (const void *)at
                 : (const void *)&((const copse_radix_node256 *)(const void *)at)->links[f->key.start[depth]]);
        break;
    case COPSE_RADIX_NODE48:
        __builtin_prefetch(ends ? at : &((const copse_radix_node48 *)(const void *)at)->slots[f->key.start[depth]]);
        break;
    case COPSE_RADIX_NODE16:
        fetch_lines(at, sizeof(copse_radix_node16));
        __builtin_prefetch(at + COPSE_CACHE_LINE);
        break;
    case COPSE_RADIX_LEAF_LONG:
        __builtin_prefetch(at + COPSE_CACHE_LINE);
        fetch_lines(at, f->key.length + 8);
        break;
    default:
        fetch_lines(at, copse_radix_stride(type, tree->width));
        break;
    }
}

/* One node further down. False: the lookup ends at f->link, a leaf with another length included; 0: nowhere. */
static bool step(const copse_radix *tree, flight *f)
{
    const uint32_t type = copse_radix_type_of(f->link), depth = copse_radix_depth_of(f->link);
    if (f->slot) {
        f->link = *f->slot;
        f->slot = NULL;
    } else if (f->key.length <= depth) {
        f->link =
            f->key.length == depth ? ((const copse_radix_node *)(const void *)copse_radix_at(tree, f->link))->end : 0;
    } else {
        const copse_radix_link *slot = copse_radix_child(type, copse_radix_at(tree, f->link), f->key.start[depth]);
        if (slot && type == COPSE_RADIX_NODE48) {
            f->slot = slot;
            __builtin_prefetch(slot);
            return true;
        }
        f->link = slot ? *slot : 0;
    }
    if (!f->link) return false;
    if (copse_radix_is_leaf(f->link) && copse_radix_length_of(f->link) != f->key.length) {
        f->link = 0;
        return false;
    }
    fetch(tree, f);
    return true;
}

static void finish(const find_job *job, const flight *f)
{
    const copse_radix *tree = job->tree;
    const bool there = f->link && copse_radix_equal(copse_radix_key(tree, f->link).start, f->key.start, f->key.length);
    if (job->leaves) job->leaves[f->number] = there ? f->link : 0;
    if (job->found) job->found[f->number] = there;
    if (!job->values) return;
    char *to = job->values + f->number * tree->width;
    if (tree->width == 8) {
        uint64_t value = 0;
        if (there) memcpy(&value, copse_radix_value(tree, f->link), sizeof value);
        memcpy(to, &value, sizeof value);
    } else if (there) {
        memcpy(to, copse_radix_value(tree, f->link), tree->width);
    } else {
        memset(to, 0, tree->width);
    }
}

/* The bytes of a key of fixed width. */
static copse_slice fixed_key(find_job *job, flight *f, uint64_t i)
{
    const copse_type type = job->index->key_type;
    if (!copse_radix_key_encode(type, job->fixed, i, f->own)) copse_note_least(&job->first_nan, i);
    return (copse_slice){f->own, copse_type_size(type)};
}

/* A lookup moves to another place of the pipeline. */
static void flight_move(const find_job *job, flight *to, const flight *from)
{
    *to = *from;
    if (job->fixed) to->key.start = to->own;
}

/* Lookup i begins. False: it is over. */
static bool begin(find_job *job, flight *f, uint64_t i)
{
    f->key = job->queries ? copse_byte_key(job->queries, job->rest ? job->rest[i].position : i)
             : job->fixed ? fixed_key(job, f, i)
                          : job->key(job->user, i);
    f->link = job->rest ? job->rest[i].link : job->tree->root;
    f->slot = NULL;
    f->number = i;
    if (f->link && copse_radix_is_leaf(f->link) && copse_radix_length_of(f->link) != f->key.length) f->link = 0;
    if (f->link) fetch(job->tree, f);
    return f->link != 0;
}

static void find_chunk(void *of, uint64_t first, uint64_t last)
{
    find_job *job = of;
    const uint32_t asked = job->index->ctx->pipeline;
    flight flights[MOST_IN_FLIGHT];
    uint64_t next = first;
    uint32_t n = 0, most = asked ? asked : DEFAULT_IN_FLIGHT;
    if (most > MOST_IN_FLIGHT) most = MOST_IN_FLIGHT;
    for (;;) {
        while (n < most && next < last) {
            flight *f = &flights[n];
            if (begin(job, f, next++))
                n++;
            else
                finish(job, f);
        }
        if (n == 0) return;
        for (uint32_t i = 0; i < n;) {
            flight *f = &flights[i];
            const bool leaf = copse_radix_is_leaf(f->link);
            if (!leaf && step(job->tree, f)) {
                i++;
                continue;
            }
            finish(job, f);
            if (next < last && begin(job, f, next)) {
                next++;
                i++;
            } else {
                flight_move(job, f, &flights[--n]); /* one that is over before it begins is met again above */
            }
        }
    }
}

void copse_radix_find_leaves(const copse_index *index, copse_radix_key_fn key, const void *user, uint64_t n,
                             copse_radix_link *leaves)
{
    find_job job = {.index = index, .tree = index->tree, .key = key, .user = user, .leaves = leaves};
    const uint32_t threads = copse_threads_for(index->ctx, n);
    copse_parallel(index->ctx, threads, n, copse_even_chunk(n, threads), find_chunk, &job);
}

void copse_radix_find_rest(const copse_index *index, const copse_byte_keys *queries, const copse_radix_rest *rest,
                           uint64_t n, void *values, uint8_t *found)
{
    find_job job = {
        .index = index, .tree = index->tree, .queries = queries, .rest = rest, .values = values, .found = found};
    const uint32_t threads = copse_threads_for(index->ctx, n);
    copse_parallel(index->ctx, threads, n, copse_even_chunk(n, threads), find_chunk, &job);
}

copse_status copse_radix_find(const copse_index *index, const void *keys, uint64_t n, void *values, uint8_t *found)
{
    copse_byte_keys queries;
    copse_status status = copse_byte_keys_take(index->ctx, "keys", keys, n, &queries);
    if (status != COPSE_OK) return status;
    find_job job = {.index = index, .tree = index->tree, .queries = &queries, .values = values, .found = found};
    const uint32_t threads = copse_threads_for(index->ctx, n);
    copse_parallel(index->ctx, threads, n, copse_even_chunk(n, threads), find_chunk, &job);
    return COPSE_OK;
}

copse_status copse_radix_find_fixed(const copse_index *index, const void *keys, uint64_t n, void *values,
                                    uint8_t *found)
{
    find_job job = {
        .index = index, .tree = index->tree, .fixed = keys, .first_nan = n, .values = values, .found = found};
    const uint32_t threads = copse_threads_for(index->ctx, n);
    copse_parallel(index->ctx, threads, n, copse_even_chunk(n, threads), find_chunk, &job);
    return job.first_nan < n ? copse_fail_nan(index->ctx, "keys", job.first_nan) : COPSE_OK;
}
