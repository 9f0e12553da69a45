/*
 * Template: a block puts a bucket of operations (blink_part.inc.h) in order, and finds out all that `plan` does.
 *
 * The separators of the bucket's homes lie in shared memory, and every operation finds its home there. Operations are counted by
 * home, and come to lie side by side with those of the same home; these are few, so that each of them finds its place by a look
 * at all others. What comes out is what a sort would: ascending keys, equal ones in the caller's order.
 */

#define ARRANGE_WARPS (COPSE_ARRANGE_THREADS / SIMT_WARP)
/* Blocks of a multiprocessor at a time, at least. */
#define ARRANGE_BLOCKS (KEY_BITS == 32 ? 4 : 3)
/* Operations of a thread. */
#define ARRANGE_EACH (COPSE_ARRANGE_ROOM / COPSE_ARRANGE_THREADS)
/* A home with more operations than this is not for this way: each of them looks at all others. */
#define ARRANGE_CROWD 64u
/* Bits of the number of a home in its bucket; the one behind the last has one, too. */
#define ARRANGE_HOME_BITS  13u
#define ARRANGE_HOME(word) ((word) & ((1u << ARRANGE_HOME_BITS) - 1u))

/* What a thread keeps of its operations. */
typedef struct NAME(arranged) {
    KEY key[ARRANGE_EACH];
    VALUE value[ARRANGE_EACH];
    uint32_t number[ARRANGE_EACH]; /* position in the batch */
    uint32_t place
        [ARRANGE_EACH]; /* home in the bucket, and above that the number among those of the home; then: in the bucket */
} NAME(arranged);
#define ARRANGED NAME(arranged)

/* What a block shares. */
typedef struct NAME(bucket) {
    uint32_t *separators; /* of all homes; then the values in order */
    uint32_t *starts;     /* two homes to a word: how many operations they have; then: how many are in front of them */
    KEY *keys;            /* by home; then in order           */
    uint32_t *numbers;    /* positions in the batch; then homes */
    uint32_t *sums;       /* of each warp, and whether it is to stop */
    uint32_t home;        /* the first one                     */
    uint32_t base, count; /* operations of the buckets in front of this one, and of this one */
} NAME(bucket);
#define BUCKET NAME(bucket)

SIMT_DEVICE uint32_t NAME(bucket_start)(const BUCKET *bucket, uint32_t home)
{
    return bucket->starts[home / 2u] >> home % 2u * 16u & 0xffffu;
}

SIMT_DEVICE uint32_t NAME(bucket_words)(const copse_arrange_arguments *a)
{
    return (a->bucket_homes + 3u) / 2u; /* one behind the last home, and the end of all */
}

/* Sum of this lane's and all lanes' below it. */
SIMT_DEVICE uint32_t NAME(lanes_sum)(uint32_t value)
{
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint32_t other = simt_shfl_up_u32(SIMT_FULL_MASK, value, step);
        value += simt_lane() >= step ? other : 0;
    }
    return value;
}

/* Sum of the values of all threads in front of this one; `out_all` of all. Has a barrier in it. */
SIMT_DEVICE uint32_t NAME(threads_sum)(uint32_t *sums, uint32_t value, uint32_t *out_all)
{
    const uint32_t sum = NAME(lanes_sum)(value);
    if (simt_lane() == SIMT_WARP - 1u) sums[simt_warp()] = sum;
    __syncthreads();
    uint32_t before = sum - value, all = 0;
    SIMT_UNROLL
    for (uint32_t w = 0; w < ARRANGE_WARPS; w++) {
        before += w < simt_warp() ? sums[w] : 0;
        all += sums[w];
    }
    *out_all = all;
    return before;
}

/* Before anything else: separators and counts, and where the bucket goes. Ends with a barrier. False: there is nothing to be done. */
SIMT_DEVICE bool NAME(bucket_begin)(const copse_arrange_arguments *a, BUCKET *bucket)
{
    uint32_t in_front = 0, whole = 1;
    while (whole < a->bucket_homes) whole *= 2u;
    for (uint32_t b = threadIdx.x; b < blockIdx.x; b += COPSE_ARRANGE_THREADS) in_front += a->cursors[b];
    for (uint32_t h = threadIdx.x; h < whole; h += COPSE_ARRANGE_THREADS)
        bucket->separators[h] = h < a->bucket_homes ? NAME(home_separator)(&a->tree, bucket->home + h) : UINT32_MAX;
    for (uint32_t w = threadIdx.x; w < NAME(bucket_words)(a); w += COPSE_ARRANGE_THREADS) bucket->starts[w] = 0;
    /* One thread asks: another block may just be finding out. */
    if (threadIdx.x == 0) bucket->sums[ARRANGE_WARPS] = simt_load_relaxed_u64(&a->counters->doubt.wrong) != 0;
    bucket->count = a->cursors[blockIdx.x];
    (void)NAME(threads_sum)(bucket->sums, in_front, &bucket->base);
    return bucket->sums[ARRANGE_WARPS] == 0 && bucket->count > 0;
}

SIMT_DEVICE void NAME(bucket_load)(const copse_arrange_arguments *a, const BUCKET *bucket, ARRANGED *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t i = threadIdx.x + j * COPSE_ARRANGE_THREADS;
        const uint64_t at = (uint64_t)blockIdx.x * a->room + i;
        simt_u32x4 v = {0, 0, 0, 0};
        if (i < bucket->count) v = simt_load16_once((const simt_u32x4 *)a->parts + at);
        own->key[j] = KEY_BITS == 64 ? (KEY)NAME(walk_join)(v.x, v.y) : (KEY)v.x;
        own->value[j] = VALUE_BITS == 64 ? (VALUE)NAME(walk_join)(v.z, v.w) : (VALUE)v.z;
        own->number[j] = VALUE_BITS == 32 ? v.w : v.y;
        if (KEY_BITS + VALUE_BITS == 128)
            own->number[j] = i < bucket->count ? simt_load_once_u32(NAME(part_numbers)(a) + at) : 0;
    }
}

/* The home of a key, as its number in the bucket: where the digest does not tell, the leaf is asked, and it may be the one behind the
 * last. Further off than that it is for another way. */
SIMT_DEVICE uint32_t NAME(bucket_home)(const copse_arrange_arguments *a, const BUCKET *bucket, KEY key, uint32_t digest,
                                       uint32_t at)
{
    if (KEY_BITS == 32 || bucket->separators[at] != digest) return at;
    const uint32_t home = NAME(cursor_seek)(&a->tree, bucket->home + at, key, NULL).home - bucket->home;
    if (home <= a->bucket_homes) return home;
    NAME(arrange_wrong)(a);
    return a->bucket_homes;
}

/* Finds the homes of all operations and counts them. */
SIMT_DEVICE void NAME(bucket_find)(const copse_arrange_arguments *a, const BUCKET *bucket, ARRANGED *own)
{
    uint32_t digests[ARRANGE_EACH], step = 1;
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        digests[j] = NAME(part_digest)(&a->tree, own->key[j]);
        own->place[j] = 0;
    }
    while (step < a->bucket_homes) step *= 2u;
    while ((step /= 2u) > 0) {
        SIMT_UNROLL
        for (uint32_t j = 0; j < ARRANGE_EACH; j++)
            own->place[j] += bucket->separators[own->place[j] + step - 1u] < digests[j] ? step : 0;
    }
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        if (threadIdx.x + j * COPSE_ARRANGE_THREADS >= bucket->count) continue;
        const uint32_t home = NAME(bucket_home)(a, bucket, own->key[j], digests[j], own->place[j]);
        const uint32_t shift = home % 2u * 16u;
        const uint32_t before = simt_atomic_add_u32(&bucket->starts[home / 2u], 1u << shift) >> shift & 0xffffu;
        own->place[j] = home | before << ARRANGE_HOME_BITS;
    }
}

/* Counts become starts. False: some home has too many for this way. Ends with a barrier. */
SIMT_DEVICE bool NAME(bucket_sum)(const copse_arrange_arguments *a, const BUCKET *bucket)
{
    const uint32_t words = NAME(bucket_words)(a), each = (words + COPSE_ARRANGE_THREADS - 1u) / COPSE_ARRANGE_THREADS;
    const uint32_t first = threadIdx.x * each, end = first + each < words ? first + each : words;
    uint32_t most = 0, sum = 0, all;
    for (uint32_t w = first; w < end; w++) {
        const uint32_t even = bucket->starts[w] & 0xffffu, odd = bucket->starts[w] >> 16;
        most = even > most ? even : most;
        most = odd > most ? odd : most;
        sum += even + odd;
    }
    if (most >= PLAN_OWN) simt_store_relaxed_u32(&a->counters->crowded, 1u);
    if (most > ARRANGE_CROWD) {
        NAME(arrange_wrong)(a);
        simt_store_relaxed_u32(&bucket->sums[ARRANGE_WARPS], 1u);
    }
    uint32_t before = NAME(threads_sum)(bucket->sums, sum, &all);
    for (uint32_t w = first; w < end; w++) {
        const uint32_t even = bucket->starts[w] & 0xffffu, odd = bucket->starts[w] >> 16;
        bucket->starts[w] = before | (before + even) << 16;
        before += even + odd;
    }
    __syncthreads();
    return bucket->sums[ARRANGE_WARPS] == 0;
}

/* Puts operations side by side with those of the same home. Ends with a barrier. */
SIMT_DEVICE void NAME(bucket_gather)(const BUCKET *bucket, const ARRANGED *own)
{
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        if (threadIdx.x + j * COPSE_ARRANGE_THREADS >= bucket->count) continue;
        const uint32_t at =
            NAME(bucket_start)(bucket, ARRANGE_HOME(own->place[j])) + (own->place[j] >> ARRANGE_HOME_BITS);
        bucket->keys[at] = own->key[j];
        bucket->numbers[at] = own->number[j];
    }
    __syncthreads();
}

/* The place of an operation among those of its home. Returns 1 where one of them makes it pointless. */
SIMT_DEVICE uint32_t NAME(bucket_rank)(const copse_arrange_arguments *a, const BUCKET *bucket, KEY key, uint32_t number,
                                       uint32_t *place)
{
    const uint32_t home = ARRANGE_HOME(*place), start = NAME(bucket_start)(bucket, home);
    const uint32_t end = NAME(bucket_start)(bucket, home + 1u), wins = a->operations.last_wins;
    uint32_t at = start;
    bool dead = false;
    for (uint32_t i = start; i < end; i++) {
        const KEY other = bucket->keys[i];
        const uint32_t other_number = bucket->numbers[i];
        at += other < key || (other == key && other_number < number);
        dead |= other == key && ((wins == 1u && other_number > number) || (wins == 0 && other_number < number));
    }
    *place = home | at << ARRANGE_HOME_BITS;
    return dead;
}

/* Puts operations in order, all in shared memory. Returns how many of this thread's are pointless. Begins and ends with barriers. */
SIMT_DEVICE uint32_t NAME(bucket_order)(const copse_arrange_arguments *a, const BUCKET *bucket, ARRANGED *own)
{
    uint32_t dead = 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++)
        if (threadIdx.x + j * COPSE_ARRANGE_THREADS < bucket->count)
            dead += NAME(bucket_rank)(a, bucket, own->key[j], own->number[j], &own->place[j]);
    __syncthreads();
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t at = own->place[j] >> ARRANGE_HOME_BITS;
        if (threadIdx.x + j * COPSE_ARRANGE_THREADS >= bucket->count) continue;
        bucket->keys[at] = own->key[j];
        bucket->numbers[at] = bucket->home + ARRANGE_HOME(own->place[j]);
        ((VALUE *)bucket->separators)[at] = own->value[j];
    }
    __syncthreads();
    return dead;
}

SIMT_DEVICE void NAME(bucket_store)(const copse_arrange_arguments *a, const BUCKET *bucket)
{
    const bool values_too = a->operations.action != COPSE_ACTION_ERASE;
    for (uint32_t i = threadIdx.x; i < bucket->count; i += COPSE_ARRANGE_THREADS) {
        const uint32_t to = bucket->base + i;
        ((KEY *)a->out_keys)[to] = bucket->keys[i];
        a->out_homes[to] = bucket->numbers[i];
        if (values_too) ((VALUE *)a->out_values)[to] = ((const VALUE *)bucket->separators)[i];
    }
    const uint32_t last = bucket->count - 1u;
    if (threadIdx.x != 0) return;
    if (bucket->base == 0) a->counters->doubt.smallest = bucket->keys[0];
    if (bucket->base + last == a->operations.n - 1u) a->counters->doubt.largest = bucket->keys[last];
}

/* How many leaves the operations of some homes may need: the first operation of a home asks, if the home is one of these. */
SIMT_DEVICE uint64_t NAME(bucket_ask)(const copse_arrange_arguments *a, const BUCKET *bucket, const ARRANGED *own,
                                      bool *crowded)
{
    uint64_t extra = 0;
    if (a->operations.action == COPSE_ACTION_ERASE) return 0;
    SIMT_UNROLL
    for (uint32_t j = 0; j < ARRANGE_EACH; j++) {
        const uint32_t number = ARRANGE_HOME(own->place[j]), home = bucket->home + number;
        if (threadIdx.x + j * COPSE_ARRANGE_THREADS >= bucket->count || home % a->one_of != 0) continue;
        const uint32_t start = NAME(bucket_start)(bucket, number), end = NAME(bucket_start)(bucket, number + 1u);
        if (own->place[j] >> ARRANGE_HOME_BITS != start) continue;
        /* Where digests are equal a home may have operations in two buckets. */
        const bool all = KEY_BITS == 32 || (number > 0 && number < a->bucket_homes);
        extra += NAME(splits_most)(&a->tree, home, end - start, all, crowded);
    }
    return extra;
}

SIMT_KERNEL(NAME(arrange), copse_arrange_arguments, COPSE_ARRANGE_THREADS, ARRANGE_BLOCKS)
{
    SIMT_SHARED(uint64_t, separators, COPSE_ARRANGE_HOMES / 2u);
    SIMT_SHARED(uint32_t, starts, COPSE_ARRANGE_HOMES / 2u + 2u);
    SIMT_SHARED(KEY, keys, COPSE_ARRANGE_ROOM);
    SIMT_SHARED(uint32_t, numbers, COPSE_ARRANGE_ROOM);
    SIMT_SHARED(uint32_t, sums, ARRANGE_WARPS + 1u);
    BUCKET bucket = {(uint32_t *)separators, starts, keys, numbers, sums, blockIdx.x * a.bucket_homes, 0, 0};
    ARRANGED own;
    bool crowded = false;
    if (!NAME(bucket_begin)(&a, &bucket)) return;
    NAME(bucket_load)(&a, &bucket, &own);
    NAME(bucket_find)(&a, &bucket, &own);
    __syncthreads();
    if (!NAME(bucket_sum)(&a, &bucket)) return;
    NAME(bucket_gather)(&bucket, &own);
    const uint64_t dead = NAME(warp_sum)(NAME(bucket_order)(&a, &bucket, &own));
    NAME(bucket_store)(&a, &bucket);
    const uint64_t extra = NAME(warp_sum)(NAME(bucket_ask)(&a, &bucket, &own, &crowded)) * a.one_of;
    crowded = __any_sync(SIMT_FULL_MASK, crowded);
    if (simt_lane() != 0) return;
    if (dead) simt_atomic_add_u64(&a.counters->dead, dead);
    if (extra) simt_atomic_add_u64(&a.counters->extra, extra);
    if (crowded) simt_store_relaxed_u32(&a.counters->crowded, 1u);
}
