/* Template: kernels for sums, minima and maxima: the summary of core/aggregate.h, and running sums. */

#define BLOCK_ENTRIES (COPSE_DEVICE_BLOCK_UNITS * UNIT_SLOTS)

/* An aggregate in pieces that shuffles can carry. */
typedef struct NAME(partial) {
    uint64_t low, high; /* of the 128-bit sum */
    double real;
    uint64_t smallest, largest;
} NAME(partial);

SIMT_DEVICE NAME(partial) NAME(partial_empty)(void)
{
    NAME(partial) empty;
    empty.low = empty.high = empty.largest = 0;
    empty.real = 0.0;
    empty.smallest = UINT64_MAX;
    return empty;
}

SIMT_DEVICE void NAME(partial_add)(NAME(partial) * to, NAME(partial) from)
{
    uint64_t low = to->low + from.low;
    to->high += from.high + (uint64_t)(low < to->low);
    to->low = low;
    to->real += from.real;
    to->smallest = from.smallest < to->smallest ? from.smallest : to->smallest;
    to->largest = from.largest > to->largest ? from.largest : to->largest;
}

SIMT_DEVICE double NAME(value_real)(VALUE value)
{
#if VALUE_BITS == 64
    double number;
#else
    float number;
#endif
    memcpy(&number, &value, sizeof number);
    return (double)number;
}

/* A value as a 64-bit number, sign extended where it has a sign. */
SIMT_DEVICE uint64_t NAME(value_wide)(copse_type type, VALUE value)
{
    return type == COPSE_I32 ? (uint64_t)(int64_t)(int32_t)value : (uint64_t)value;
}

SIMT_DEVICE NAME(partial) NAME(partial_of)(copse_type type, VALUE value)
{
    NAME(partial) one = NAME(partial_empty)();
    const bool is_float = type == COPSE_F32 || type == COPSE_F64;
    const bool is_signed = type == COPSE_I32 || type == COPSE_I64;
    if (is_float) {
        one.real = NAME(value_real)(value);
        if (one.real != one.real) return one; /* NaN: in the sum, but neither smallest nor largest */
    } else {
        one.low = NAME(value_wide)(type, value);
        one.high = is_signed && one.low >> 63 ? UINT64_MAX : 0;
    }
    one.smallest = one.largest = COPSE_BITS(copse_encode_one_k, VALUE_BITS)(type, value);
    return one;
}

SIMT_DEVICE NAME(partial) NAME(partial_load)(const copse_aggregate *from)
{
    NAME(partial) one;
    one.low = (uint64_t)from->sum;
    one.high = (uint64_t)(from->sum >> 64);
    one.real = from->float_sum;
    one.smallest = from->smallest;
    one.largest = from->largest;
    return one;
}

SIMT_DEVICE void NAME(partial_store)(copse_aggregate *to, NAME(partial) from)
{
    to->sum = (copse_wide)(int64_t)from.high * ((copse_wide)1 << 64) + (copse_wide)from.low;
    to->float_sum = from.real;
    to->smallest = from.smallest;
    to->largest = from.largest;
}

SIMT_DEVICE NAME(partial) NAME(partial_of_warp)(NAME(partial) own)
{
    for (uint32_t step = 16; step > 0; step /= 2) {
        NAME(partial) other;
        uint64_t bits;
        memcpy(&bits, &own.real, sizeof bits);
        bits = simt_shfl_xor_u64(SIMT_FULL_MASK, bits, step);
        memcpy(&other.real, &bits, sizeof bits);
        other.low = simt_shfl_xor_u64(SIMT_FULL_MASK, own.low, step);
        other.high = simt_shfl_xor_u64(SIMT_FULL_MASK, own.high, step);
        other.smallest = simt_shfl_xor_u64(SIMT_FULL_MASK, own.smallest, step);
        other.largest = simt_shfl_xor_u64(SIMT_FULL_MASK, own.largest, step);
        NAME(partial_add)(&own, other);
    }
    return own;
}

/* Adds entries first .. end, the lanes of a warp taking turns. */
SIMT_DEVICE void NAME(partial_scan)(const copse_device_tree *tree, uint64_t first, uint64_t end, NAME(partial) * to)
{
    for (uint64_t i = first + simt_lane(); i < end; i += SIMT_WARP)
        NAME(partial_add)(to, NAME(partial_of)(tree->value_type, NAME(unit_value)(tree, i)));
}

/* Level 0 of the summary: a warp per block. */
SIMT_KERNEL(NAME(summarize), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t b = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); b < a.summary.nodes[0];
         b += warps) {
        uint64_t first = b * BLOCK_ENTRIES, end = first + BLOCK_ENTRIES;
        NAME(partial) all = NAME(partial_empty)();
        NAME(partial_scan)(&a.tree, first, end < a.tree.entries ? end : a.tree.entries, &all);
        all = NAME(partial_of_warp)(all);
        if (simt_lane() == 0) NAME(partial_store)(&a.summary.level[0][b], all);
    }
}

/* What node i of a level should hold. */
SIMT_DEVICE NAME(partial) NAME(partial_of_children)(const copse_device_summary *summary, uint32_t level, uint64_t i)
{
    const uint64_t below = summary->nodes[level - 1u];
    NAME(partial) all = NAME(partial_empty)();
    for (uint64_t j = i * 16u; j < i * 16u + 16u && j < below; j++)
        NAME(partial_add)(&all, NAME(partial_load)(&summary->level[level - 1u][j]));
    return all;
}

/* One level from the one below: a thread per node, 16 to 1. */
SIMT_KERNEL(NAME(raise), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.summary.nodes[a.level];
         i += (uint64_t)gridDim.x * blockDim.x)
        NAME(partial_store)(&a.summary.level[a.level][i], NAME(partial_of_children)(&a.summary, a.level, i));
}

/* Adds items first .. end of the summary: what stands out on both sides level by level, then the middle one level up. */
SIMT_DEVICE void NAME(partial_climb)(const copse_device_summary *summary, uint64_t first, uint64_t end,
                                     NAME(partial) * to)
{
    for (uint32_t level = 0; first < end; level++) {
        const bool top = level + 1u == summary->height;
        uint64_t left = (first + 15u) / 16u * 16u, right = end / 16u * 16u;
        if (top || left > right) left = right = end; /* all of it here */
        for (uint64_t i = first + simt_lane(); i < left; i += SIMT_WARP)
            NAME(partial_add)(to, NAME(partial_load)(&summary->level[level][i]));
        for (uint64_t i = right + simt_lane(); i < end; i += SIMT_WARP)
            NAME(partial_add)(to, NAME(partial_load)(&summary->level[level][i]));
        first = left / 16u;
        end = right / 16u;
        if (left >= right) return;
    }
}

/* Stores an integer sum as copse_sum promises: exact, or the nearest limit and a report. */
SIMT_DEVICE void NAME(sum_fit)(const copse_summary_arguments *a, uint64_t at, NAME(partial) all)
{
    const bool is_signed = a->tree.value_type == COPSE_I32 || a->tree.value_type == COPSE_I64;
    const uint64_t sign = (uint64_t)1 << 63;
    bool fits = is_signed ? all.high == (all.low & sign ? UINT64_MAX : 0) : all.high == 0;
    uint64_t limit = !is_signed ? UINT64_MAX : all.high & sign ? sign : sign - 1u;
    if (!fits) simt_atomic_min_u64(&a->report[COPSE_REPORT_OVERFLOW], a->first + at);
    ((uint64_t *)a->out)[at] = fits ? all.low : limit;
}

SIMT_DEVICE double NAME(wide_real)(NAME(partial) all)
{
    return (double)((copse_wide)(int64_t)all.high * ((copse_wide)1 << 64) + (copse_wide)all.low);
}

SIMT_DEVICE void NAME(aggregate_store)(const copse_summary_arguments *a, uint64_t at, NAME(partial) all, uint64_t count)
{
    const copse_type type = a->tree.value_type;
    const bool is_float = type == COPSE_F32 || type == COPSE_F64, any = all.smallest <= all.largest;
    if (a->kind == COPSE_KIND_SUM && is_float) {
        ((double *)a->out)[at] = all.real;
    } else if (a->kind == COPSE_KIND_SUM) {
        NAME(sum_fit)(a, at, all);
    } else if (a->kind == COPSE_KIND_SUM128) {
        ((uint64_t *)a->out)[at * 2u] = all.low;
        ((uint64_t *)a->out)[at * 2u + 1u] = all.high;
    } else if (a->kind == COPSE_KIND_AVG) {
        double sum = is_float ? all.real : NAME(wide_real)(all);
        ((double *)a->out)[at] = count ? sum / (double)count : (double)NAN;
    } else {
        uint64_t code = a->kind == COPSE_KIND_MIN ? all.smallest : all.largest;
        if (a->found) a->found[at] = (uint8_t)any;
        ((VALUE *)a->out)[at] = any ? COPSE_BITS(copse_decode_one_k, VALUE_BITS)(type, (VALUE)code) : 0;
    }
}

/* A warp per range. */
SIMT_KERNEL(NAME(aggregate), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t r = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); r < a.n; r += warps) {
        const uint64_t place = a.places[r], count = a.counts[r], end = place + count;
        uint64_t first_block = (place + BLOCK_ENTRIES - 1u) / BLOCK_ENTRIES, end_block = end / BLOCK_ENTRIES;
        NAME(partial) all = NAME(partial_empty)();
        if (first_block >= end_block) {
            NAME(partial_scan)(&a.tree, place, end, &all);
        } else {
            NAME(partial_scan)(&a.tree, place, first_block * BLOCK_ENTRIES, &all);
            NAME(partial_climb)(&a.summary, first_block, end_block, &all);
            NAME(partial_scan)(&a.tree, end_block * BLOCK_ENTRIES, end, &all);
        }
        all = NAME(partial_of_warp)(all);
        if (simt_lane() == 0) NAME(aggregate_store)(&a, r, all, count);
    }
}

/* Values as 64-bit numbers, one more behind the last: what the running sums are made of. */
SIMT_KERNEL(NAME(widen), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i <= a.tree.entries;
         i += (uint64_t)gridDim.x * blockDim.x)
        a.before[i] = i < a.tree.entries ? NAME(value_wide)(a.tree.value_type, NAME(unit_value)(&a.tree, i)) : 0;
}

/* --- verify -------------------------------------------------------------------------------------------------------------- */

/* trouble[0]: an entry that is not in order; trouble[1]: a free place that is not padded. */
SIMT_KERNEL(NAME(verify_units), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    const copse_device_tree *tree = &a.tree;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (uint64_t)tree->units * UNIT_SLOTS;
         i += (uint64_t)gridDim.x * blockDim.x) {
        KEY key = NAME(unit_key)(tree, i);
        if (i >= tree->entries) {
            if (key != KEY_MAX) simt_atomic_min_u64(&a.survey->trouble[1], i);
        } else if (i > 0) {
            KEY before = NAME(unit_key)(tree, i - 1u);
            if (key < before || (key == before && tree->unique)) simt_atomic_min_u64(&a.survey->trouble[0], i);
        }
    }
}

/* trouble[2]: a separator of this level that is wrong, as its number in the level. */
SIMT_KERNEL(NAME(verify_levels), copse_level_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint32_t separators = (a.tree.digest ? DIGEST_FANOUT : FULL_FANOUT) - 1u;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.nodes * separators;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t node = i / separators;
        const uint32_t j = (uint32_t)(i % separators);
        KEY want = NAME(separator)(&a, node * (separators + 1u) + j);
        const char *line = a.tree.level[a.level] + node * 64u;
        bool right = a.tree.digest ? ((const uint32_t *)line)[j] == (uint32_t)want : ((const KEY *)line)[j] == want;
        if (!right) simt_atomic_min_u64(&a.survey->trouble[2], i);
    }
}

/* trouble[3]: an entry with a wrong running sum. */
SIMT_KERNEL(NAME(verify_sums), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.tree.entries;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t value = NAME(value_wide)(a.tree.value_type, NAME(unit_value)(&a.tree, i));
        if (a.before[i + 1u] - a.before[i] != value || (i == 0 && a.before[0] != 0))
            simt_atomic_min_u64(&a.survey->trouble[3], i);
    }
}

/* The float sums are left out: their rounding depends on the order of the additions. */
SIMT_DEVICE bool NAME(partial_same)(NAME(partial) x, NAME(partial) y)
{
    return x.low == y.low && x.high == y.high && x.smallest == y.smallest && x.largest == y.largest;
}

/* trouble[3]: a block whose summary does not agree with its values, or a node that does not agree with those below it. */
SIMT_KERNEL(NAME(verify_summary), copse_summary_arguments, COPSE_KERNEL_THREADS, 8)
{
    const uint64_t warps = (uint64_t)gridDim.x * (COPSE_KERNEL_THREADS / SIMT_WARP);
    for (uint64_t b = (uint64_t)blockIdx.x * (COPSE_KERNEL_THREADS / SIMT_WARP) + simt_warp(); b < a.summary.nodes[0];
         b += warps) {
        uint64_t first = b * BLOCK_ENTRIES, end = first + BLOCK_ENTRIES;
        NAME(partial) all = NAME(partial_empty)(), kept = NAME(partial_load)(&a.summary.level[0][b]);
        NAME(partial_scan)(&a.tree, first, end < a.tree.entries ? end : a.tree.entries, &all);
        all = NAME(partial_of_warp)(all);
        if (simt_lane() == 0 && !NAME(partial_same)(all, kept)) simt_atomic_min_u64(&a.survey->trouble[3], b);
    }
    for (uint32_t level = 1; level < a.summary.height; level++)
        for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.summary.nodes[level];
             i += (uint64_t)gridDim.x * blockDim.x) {
            NAME(partial) all = NAME(partial_of_children)(&a.summary, level, i);
            if (!NAME(partial_same)(all, NAME(partial_load)(&a.summary.level[level][i])))
                simt_atomic_min_u64(&a.survey->trouble[3], i);
        }
}
