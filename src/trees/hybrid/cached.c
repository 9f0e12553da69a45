/* Lookups where the card has leaves: what it has answered is copied out, and the CPU reads the rest of each share as a list of its own. */
#include "core/handle.h"
#include "cpu/driver.h"
#include "trees/hybrid/buckets.h"
#include "trees/hybrid/kernels.h"

/* One copse_find call at work. */
typedef struct cached_job {
    copse_hybrid_call *call;
    const void *keys;
    void *values;
    uint8_t *found;
    uint64_t first_nan;
} cached_job;

/* The queries of a share that the card has not answered. */
typedef struct cached_rest {
    copse_walked walked; /* first */
    uint32_t n;
    uint32_t at[COPSE_HYBRID_SHARE]; /* positions in the share */
    uint32_t nodes[COPSE_HYBRID_SHARE];
    uint64_t keys[COPSE_HYBRID_SHARE], values[COPSE_HYBRID_SHARE]; /* of the tree's widths */
    uint8_t found[COPSE_HYBRID_SHARE];
} cached_rest;

static copse_below rest_below(const copse_walked *walked, unsigned side, uint64_t first)
{
    (void)side;
    return (copse_below){.nodes = ((const cached_rest *)walked)->nodes + first};
}

/* Which they are; no branch, as nobody can predict where a key's leaf lies. */
static void rest_list(cached_rest *rest, const uint8_t *found, uint64_t n)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        rest->at[count] = (uint32_t)i;
        count += found[i] == COPSE_NOT_CACHED;
    }
    rest->n = count;
}

static void rest_gather(cached_rest *rest, const void *keys, uint64_t width, const uint32_t *nodes)
{
    for (uint32_t i = 0; i < rest->n; i++) {
        rest->nodes[i] = nodes[rest->at[i]];
        if (width == 8)
            rest->keys[i] = ((const uint64_t *)keys)[rest->at[i]];
        else
            ((uint32_t *)rest->keys)[i] = ((const uint32_t *)keys)[rest->at[i]];
    }
}

static void rest_scatter(const cached_rest *rest, void *values, uint64_t width, uint8_t *found)
{
    for (uint32_t i = 0; values && i < rest->n; i++) {
        if (width == 8)
            ((uint64_t *)values)[rest->at[i]] = rest->values[i];
        else
            ((uint32_t *)values)[rest->at[i]] = ((const uint32_t *)rest->values)[i];
    }
    for (uint32_t i = 0; found && i < rest->n; i++) found[rest->at[i]] = rest->found[i];
}

static void cached_chunk(void *argument, uint64_t first, uint64_t last)
{
    cached_job *job = argument;
    const copse_index *index = &job->call->handle;
    const uint64_t n = last - first, key = copse_type_size(index->key_type),
                   value = copse_value_width(index->value_type);
    const char *keys = (const char *)job->keys + first * key, *values = NULL;
    const uint8_t *found = NULL;
    copse_below below;
    uint64_t good = copse_cpu_find_nan(index, job->keys, first, n);
    if (good < n) copse_note_least(&job->first_nan, first + good);
    if (good < n) return;
    if (!copse_hybrid_answers(job->call, first, &below, &values, &found)) {
        (void)copse_cpu_find_chunk(index, job->keys, first, n, job->values, job->found);
        return;
    }
    char *to_values = job->values ? (char *)job->values + first * value : NULL;
    uint8_t *to_found = job->found ? job->found + first : NULL;
    cached_rest rest;
    rest_list(&rest, found, n);
    rest_gather(&rest, keys, key, below.nodes);
    if (to_values) memcpy(to_values, values, n * value);
    if (to_found) memcpy(to_found, found, n);
    rest.walked = (copse_walked){.side = {{rest.keys, false}}, .below = rest_below};
    copse_index handle = copse_index_handle(index);
    handle.walked = &rest.walked;
    if (rest.n) (void)copse_cpu_find_chunk(&handle, rest.keys, 0, rest.n, rest.values, rest.found);
    rest_scatter(&rest, to_values, value, to_found);
}

copse_status copse_hybrid_find_cached(copse_hybrid_call *call, const void *keys, uint64_t n, void *values,
                                      uint8_t *found)
{
    const copse_index *index = &call->handle;
    cached_job job = {call, keys, values, found, n};
    call->cached = true;
    copse_cpu_run(index, copse_threads_for_lookups(index->ctx, n), n, COPSE_HYBRID_SHARE, cached_chunk, &job);
    return job.first_nan < n ? copse_fail_nan(index->ctx, "keys", job.first_nan) : COPSE_OK;
}
