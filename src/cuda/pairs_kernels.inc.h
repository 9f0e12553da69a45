/* Template: kernels for batches on their way into a tree: a look at the keys, encoding, the end of the sort. */

/* Looks at all keys once: NaN, smallest, largest, order. */
SIMT_KERNEL(NAME(survey), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    uint64_t smallest = UINT64_MAX, largest = 0, falls = 0, equals = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        if (IS_NAN(a.key_type, ((const KEY *)a.keys)[i])) simt_atomic_min_u64(&a.survey->first_nan, i);
        KEY key = NAME(pair_key)(&a, i), before = i ? NAME(pair_key)(&a, i - 1u) : key;
        falls += key < before;
        equals += i && key == before;
        smallest = key < smallest ? key : smallest;
        largest = key > largest ? key : largest;
    }
    smallest = NAME(warp_min)(smallest);
    largest = NAME(warp_max)(largest);
    falls = NAME(warp_sum)(falls);
    equals = NAME(warp_sum)(equals);
    if (simt_lane() != 0) return;
    /* Looked at first: thousands of warps that change the same word wait for each other. */
    if (smallest < simt_load_relaxed_u64(&a.survey->smallest)) simt_atomic_min_u64(&a.survey->smallest, smallest);
    if (largest > simt_load_relaxed_u64(&a.survey->largest)) simt_atomic_max_u64(&a.survey->largest, largest);
    if (falls && !simt_load_relaxed_u64(&a.survey->falls)) simt_atomic_add_u64(&a.survey->falls, falls);
    if (equals && !simt_load_relaxed_u64(&a.survey->equals)) simt_atomic_add_u64(&a.survey->equals, equals);
}

SIMT_KERNEL(NAME(encode), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        if (a.out_keys) ((KEY *)a.out_keys)[i] = NAME(pair_key)(&a, i);
        if (a.out_values) ((VALUE *)a.out_values)[i] = NAME(pair_value)(&a, i);
    }
}

#if KEY_BITS == 64
/* Keys that share their upper bits and were left in the caller's order by a sort of those bits alone. */
#define SETTLE_LONGEST_RUN 24u

/* Puts pairs first .. end in order, equal keys in the order in which they are. */
SIMT_DEVICE void NAME(settle_run)(KEY *keys, VALUE *values, uint64_t first, uint64_t end)
{
    for (uint64_t i = first + 1u; i < end; i++) {
        KEY key = keys[i];
        VALUE value = values[i];
        uint64_t to = i;
        for (; to > first && keys[to - 1u] > key; to--) {
            simt_store_relaxed_u64(&keys[to], keys[to - 1u]);
            values[to] = values[to - 1u];
        }
        simt_store_relaxed_u64(&keys[to], key);
        values[to] = value;
    }
}

/*
 * Finishes a sort that looked at the upper bits only: the first thread of each run of keys with the same upper bits puts
 * the run in order. `first` is the number of bits that were left out. Runs that are too long are counted as falls, and
 * the caller sorts by all bits instead. Others look at a run while it is put in order, but only at its upper bits.
 */
SIMT_KERNEL(NAME(settle), copse_pairs_arguments, COPSE_KERNEL_THREADS, 8)
{
    KEY *keys = (KEY *)a.out_keys;
    const uint32_t lane = simt_lane();
    for (uint64_t base = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) - lane; base < a.n;
         base += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t i = base + lane, n = a.n;
        const KEY upper = i < n ? simt_load_relaxed_u64(&keys[i]) >> a.first : KEY_MAX;
        KEY before = simt_shfl_up_u64(SIMT_FULL_MASK, upper, 1), after = simt_shfl_down_u64(SIMT_FULL_MASK, upper, 1);
        if (lane == 0) before = i > 0 ? simt_load_relaxed_u64(&keys[i - 1u]) >> a.first : KEY_MAX;
        if (lane == 31u) after = i + 1u < n ? simt_load_relaxed_u64(&keys[i + 1u]) >> a.first : KEY_MAX;
        if (i + 1u >= n || after != upper || before == upper) continue; /* not the first of a run of several */
        uint64_t end = i + 2u;
        while (end < n && end - i <= SETTLE_LONGEST_RUN && simt_load_relaxed_u64(&keys[end]) >> a.first == upper) end++;
        if (end - i > SETTLE_LONGEST_RUN)
            simt_atomic_add_u64(&a.survey->falls, 1);
        else
            NAME(settle_run)(keys, (VALUE *)a.out_values, i, end);
    }
}
#endif
