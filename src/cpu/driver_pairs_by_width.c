/* Erasing pairs of key and value, for the object's widths: the entries of each key against the values that are to go. */
#include "cpu/driver_pairs.h"
#include "core/batch_pair.h"
#include "core/codec.h"
#include "cpu/driver.h"

/* Keys that are looked up together. */
#define PAIRS_BLOCK 256u

static uint64_t pairs_count_runs(const void *sorted, uint64_t n)
{
    const copse_tagged_pair *pair = sorted;
    uint64_t runs = 0;
    for (uint64_t i = 0; i < n; i++) runs += i == 0 || pair[i].key != pair[i - 1].key;
    return runs;
}

/* Finds the groups of some runs. */
static void pairs_locate(const pairs_call *call, pairs_run *run, uint64_t n)
{
    const copse_tagged_pair *sorted = call->sorted;
    uint64_t lower[PAIRS_BLOCK], upper[PAIRS_BLOCK];
    KEY keys[PAIRS_BLOCK];
    for (uint64_t i = 0; i < n; i++) DECODE(call->index->key_type, sorted[run[i].first].key, keys, i);
    (void)copse_cpu_locate(call->index, keys, 0, n, false, lower);
    (void)copse_cpu_locate(call->index, keys, 0, n, true, upper);
    for (uint64_t i = 0; i < n; i++) run[i].location = lower[i];
    if (copse_cpu_tree_of(call->index)->size(call->index)) {
        copse_cpu_tree_of(call->index)->rank(call->index, lower, n, lower);
        copse_cpu_tree_of(call->index)->rank(call->index, upper, n, upper);
    }
    for (uint64_t i = 0; i < n; i++) run[i].entries = upper[i] - lower[i];
}

static void pairs_find_runs(const pairs_call *call)
{
    const copse_tagged_pair *sorted = call->sorted;
    uint64_t at = 0;
    for (uint64_t r = 0; r < call->runs; r++) {
        const uint64_t first = at;
        while (at < call->n && sorted[at].key == sorted[first].key) at++;
        call->run[r] = (pairs_run){.first = first, .n = at - first};
    }
    for (uint64_t r = 0; r < call->runs; r += PAIRS_BLOCK)
        pairs_locate(call, call->run + r, call->runs - r < PAIRS_BLOCK ? call->runs - r : PAIRS_BLOCK);
}

static void pairs_sift(VALUE *heap, uint64_t at, uint64_t n)
{
    for (uint64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] > heap[child]) child++;
        if (heap[at] >= heap[child]) return;
        const VALUE value = heap[at];
        heap[at] = heap[child];
        heap[child] = value;
    }
}

/* A heap sort: no memory, and no order of the input is bad for it. */
static void pairs_sort(VALUE *values, uint64_t n)
{
    for (uint64_t i = n / 2; i-- > 0;) pairs_sift(values, i, n);
    for (uint64_t i = n; i-- > 1;) {
        const VALUE value = values[0];
        values[0] = values[i];
        values[i] = value;
        pairs_sift(values, 0, i);
    }
}

/* The first of the sorted values that is not smaller. */
static uint64_t pairs_seek(const VALUE *values, uint64_t n, VALUE value)
{
    uint64_t low = 0;
    while (n) {
        const uint64_t half = n / 2;
        const bool right = values[low + half] < value;
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

/* The values that are to go, sorted, and how often each. */
static void pairs_want(const pairs_call *call, const pairs_run *run)
{
    const copse_tagged_pair *pair = (const copse_tagged_pair *)call->sorted + run->first;
    VALUE *wanted = (VALUE *)call->wanted + run->first;
    uint64_t *left = call->left + run->first, head = 0;
    for (uint64_t i = 0; i < run->n; i++) wanted[i] = call->values ? ((const VALUE *)call->values)[pair[i].value] : 0;
    pairs_sort(wanted, run->n);
    for (uint64_t i = 0; i < run->n; i++) {
        if (wanted[i] != wanted[head]) head = i;
        left[i] = 0;
        left[head]++;
    }
}

/* Each pair takes the first entry that has its value, so of equal values the first ones go, as many as there are pairs. */
static void pairs_match(const pairs_call *call, pairs_run *run)
{
    const KEY key = ((const copse_tagged_pair *)call->sorted)[run->first].key;
    const VALUE *wanted = (const VALUE *)call->wanted + run->first;
    VALUE *group = (VALUE *)call->group + run->out;
    copse_pair *changes = (copse_pair *)call->changes + run->out;
    uint64_t *left = call->left + run->first;
    pairs_want(call, run);
    copse_cpu_tree_of(call->index)->copy(call->index, run->location, run->entries, run->out, NULL, call->group);
    for (uint64_t i = 0; i < run->entries; i++) {
        const uint64_t at = pairs_seek(wanted, run->n, group[i]);
        if (at < run->n && wanted[at] == group[i] && left[at]) {
            left[at]--;
            run->taken++;
        } else {
            changes[run->made++] = (copse_pair){key, group[i]};
        }
    }
    if (run->taken == 0) {
        run->made = 0;
        return;
    }
    memset(call->does + run->out, COPSE_GROUP_PUT, run->made);
    changes[run->made] = (copse_pair){key, 0};
    call->does[run->out + run->made++] = COPSE_GROUP_TAKE;
}

const pairs_width NAME(copse_pairs) = {
    .count_runs = pairs_count_runs,
    .find_runs = pairs_find_runs,
    .match = pairs_match,
    .change_bytes = sizeof(copse_pair),
};
