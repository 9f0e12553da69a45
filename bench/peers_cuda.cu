// Peers on a GPU: a sorted array searched with thrust::lower_bound, and CUB's radix sort of pairs.
//
// An error of the device leaves outputs as they were, filled with a pattern, and is counted as wrong answers.
#include "peers.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <climits>
#include <new>
#include <vector>

namespace {

// Memory of the device from its pool, which keeps what is given back: from the second turn on it costs next to nothing.
template <class T> class array {
  public:
    array() = default;
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array() { cudaFreeAsync(data_, nullptr); }

    bool resize(uint64_t count)
    {
        if (count <= count_) return true;
        cudaFreeAsync(data_, nullptr);
        data_ = nullptr;
        count_ = 0;
        void *memory = nullptr;
        if (cudaMallocAsync(&memory, count * sizeof(T), nullptr) != cudaSuccess) return false;
        data_ = static_cast<T *>(memory);
        count_ = count;
        return true;
    }
    // From host or device memory.
    bool assign(const void *source, uint64_t count)
    {
        return resize(count) && cudaMemcpy(data_, source, count * sizeof(T), cudaMemcpyDefault) == cudaSuccess;
    }
    T *data() const { return data_; }

  private:
    T *data_ = nullptr;
    uint64_t count_ = 0;
};

void keep_memory_in_pool()
{
    int device = 0;
    cudaMemPool_t pool = nullptr;
    uint64_t all = UINT64_MAX;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetDefaultMemPool(&pool, device) != cudaSuccess) return;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
}

// ---- a sorted array ----

// What a query wants of the entry at its bound.
enum class wanted { equal, at, before };

template <class K, class V, class P> struct gather {
    const K *keys;
    const V *values;
    uint64_t count;
    const K *queries;
    const P *positions;
    K *out_keys;
    V *out_values;
    uint8_t *out_found;
    wanted what;

    __device__ void operator()(uint64_t i) const
    {
        uint64_t position = positions[i];
        bool found = position < count;
        if (what == wanted::before) found = position-- > 0;
        if (what == wanted::equal) found = found && keys[position] == queries[i];
        out_found[i] = found;
        if (out_keys != nullptr) out_keys[i] = found ? keys[position] : K(0);
        if (out_values != nullptr) out_values[i] = found ? values[position] : V(0);
    }
};

template <class K, class P> struct subtract {
    const K *lows;
    const K *highs;
    const P *firsts;
    const P *ends;
    uint64_t *out_counts;

    __device__ void operator()(uint64_t i) const { out_counts[i] = lows[i] > highs[i] ? 0 : ends[i] - firsts[i]; }
};

struct widen {
    template <class V> __host__ __device__ uint64_t operator()(V v) const { return v; }
};

template <class V> struct add_to {
    V *values;
    V by;

    __device__ void operator()(uint64_t i) const { values[i] += by; }
};

template <class K, class V> struct sorted_array {
    using position = uint32_t; // a table of 2^32 entries is out of its reach, and half the bytes are faster

    array<K> keys;
    array<V> values;
    uint64_t count = 0;
    mutable array<position> firsts;
    mutable array<position> ends;
    array<uint8_t> scratch;
    array<uint64_t> sum;

    static const sorted_array *of(const void *opaque) { return static_cast<const sorted_array *>(opaque); }
    static void *create()
    {
        keep_memory_in_pool();
        return new (std::nothrow) sorted_array();
    }
    static void destroy(void *opaque) { delete static_cast<sorted_array *>(opaque); }

    // Only for reads: the pairs come sorted.
    static bool build(void *opaque, const void *keys, const void *values, uint64_t n, bool sorted)
    {
        auto *self = static_cast<sorted_array *>(opaque);
        self->count = n;
        return sorted && n < UINT32_MAX && self->keys.assign(keys, n) && self->values.assign(values, n);
    }

    template <class Work> static void each(uint64_t n, Work work)
    {
        thrust::for_each_n(thrust::cuda::par_nosync, thrust::counting_iterator<uint64_t>(0), n, work);
        cudaStreamSynchronize(nullptr);
    }

    void bounds(const K *queries, uint64_t n, bool upper, position *out) const
    {
        const K *begin = keys.data();
        if (upper) {
            thrust::upper_bound(thrust::cuda::par_nosync, begin, begin + count, queries, queries + n, out);
        } else {
            thrust::lower_bound(thrust::cuda::par_nosync, begin, begin + count, queries, queries + n, out);
        }
    }

    void read(const void *queries, uint64_t n, bool upper, wanted what, void *out_keys, void *out_values,
              uint8_t *out_found) const
    {
        try {
            if (!firsts.resize(n)) return;
            const K *typed = static_cast<const K *>(queries);
            bounds(typed, n, upper, firsts.data());
            each(n, gather<K, V, position>{keys.data(), values.data(), count, typed, firsts.data(),
                                           static_cast<K *>(out_keys), static_cast<V *>(out_values), out_found, what});
        } catch (...) { // counted as wrong answers, see above
        }
    }

    static void find(const void *opaque, const void *queries, uint64_t n, void *out_values, uint8_t *out_found)
    {
        of(opaque)->read(queries, n, false, wanted::equal, nullptr, out_values, out_found);
    }
    static void lower_bound(const void *opaque, const void *queries, uint64_t n, void *out_keys, void *out_values,
                            uint8_t *out_found)
    {
        of(opaque)->read(queries, n, false, wanted::at, out_keys, out_values, out_found);
    }
    static void successor(const void *opaque, const void *queries, uint64_t n, void *out_keys, void *out_values,
                          uint8_t *out_found)
    {
        of(opaque)->read(queries, n, true, wanted::at, out_keys, out_values, out_found);
    }
    static void predecessor(const void *opaque, const void *queries, uint64_t n, void *out_keys, void *out_values,
                            uint8_t *out_found)
    {
        of(opaque)->read(queries, n, false, wanted::before, out_keys, out_values, out_found);
    }

    static void count_ranges(const void *opaque, const void *lows, const void *highs, uint64_t n, uint64_t *out_counts)
    {
        const sorted_array *self = of(opaque);
        try {
            if (!self->firsts.resize(n) || !self->ends.resize(n)) return;
            const K *from = static_cast<const K *>(lows);
            const K *to = static_cast<const K *>(highs);
            self->bounds(from, n, false, self->firsts.data());
            self->bounds(to, n, true, self->ends.data());
            each(n, subtract<K, position>{from, to, self->firsts.data(), self->ends.data(), out_counts});
        } catch (...) {
        }
    }

    // CUB's reduction, with the sum brought to the host, or one value a thread.
    static void pass(void *opaque, unsigned what, unsigned, uint64_t *out_sum)
    {
        auto *self = static_cast<sorted_array *>(opaque);
        V *values = self->values.data();
        std::size_t needed = 0;
        if (what != BENCH_PASS_SUM) {
            each(self->count, add_to<V>{values, what == BENCH_PASS_ADD ? V(1) : V(~V(0))});
            return;
        }
        cub::DeviceReduce::TransformReduce(nullptr, needed, values, self->sum.data(), self->count,
                                           ::cuda::std::plus<uint64_t>(), widen(), uint64_t(0));
        if (!self->scratch.resize(needed) || !self->sum.resize(1)) return;
        cub::DeviceReduce::TransformReduce(self->scratch.data(), needed, values, self->sum.data(), self->count,
                                           ::cuda::std::plus<uint64_t>(), widen(), uint64_t(0));
        cudaMemcpy(out_sum, self->sum.data(), sizeof *out_sum, cudaMemcpyDeviceToHost);
    }

    static uint64_t size(const void *opaque) { return of(opaque)->count; }
    static uint64_t bytes(const void *opaque) { return of(opaque)->count * (sizeof(K) + sizeof(V)); }

    static const bench_peer *table()
    {
        static const bench_peer peer = [] {
            bench_peer p = {};
            p.pass = pass;
            p.name = "thrust::lower_bound";
            p.counts_by_rank = true;
            p.on_device = true;
            p.builds_for_reads = true;
            p.create = create;
            p.destroy = destroy;
            p.build = build;
            p.find = find;
            p.lower_bound = lower_bound;
            p.successor = successor;
            p.predecessor = predecessor;
            p.count = count_ranges;
            p.size = size;
            p.bytes = bytes;
            return p;
        }();
        return &peer;
    }
};

// ---- a sort ----

template <class K, class V> struct sort_store {
    array<K> keys;
    array<V> values;
    array<uint8_t> scratch;
    uint64_t count = 0;

    // What a build leaves behind: the last of equal keys. A sort alone keeps all of them.
    mutable std::vector<K> host_keys;
    mutable std::vector<V> host_values;

    static const sort_store *of(const void *opaque) { return static_cast<const sort_store *>(opaque); }
    static void *create()
    {
        keep_memory_in_pool();
        return new (std::nothrow) sort_store();
    }
    static void destroy(void *opaque) { delete static_cast<sort_store *>(opaque); }

    template <class Size> bool sort(const K *from_keys, const V *from_values, Size n)
    {
        std::size_t needed = 0;
        cub::DeviceRadixSort::SortPairs(nullptr, needed, from_keys, keys.data(), from_values, values.data(), n);
        return scratch.resize(needed) &&
               cub::DeviceRadixSort::SortPairs(scratch.data(), needed, from_keys, keys.data(), from_values,
                                               values.data(), n) == cudaSuccess &&
               cudaStreamSynchronize(nullptr) == cudaSuccess;
    }

    static bool build(void *opaque, const void *keys, const void *values, uint64_t n, bool)
    {
        auto *self = static_cast<sort_store *>(opaque);
        const K *from_keys = static_cast<const K *>(keys);
        const V *from_values = static_cast<const V *>(values);
        self->count = n;
        self->host_keys.clear();
        if (!self->keys.resize(n) || !self->values.resize(n)) return false;
        if (n <= INT_MAX) return self->sort(from_keys, from_values, static_cast<int>(n));
        return self->sort(from_keys, from_values, n);
    }

    void fetch() const
    {
        if (!host_keys.empty() || count == 0) return;
        host_keys.resize(count);
        host_values.resize(count);
        cudaMemcpy(host_keys.data(), keys.data(), count * sizeof(K), cudaMemcpyDeviceToHost);
        cudaMemcpy(host_values.data(), values.data(), count * sizeof(V), cudaMemcpyDeviceToHost);
        uint64_t kept = 0;
        for (uint64_t i = 0; i < count; i++) {
            if (i + 1 < count && host_keys[i + 1] == host_keys[i]) continue;
            host_keys[kept] = host_keys[i];
            host_values[kept++] = host_values[i];
        }
        host_keys.resize(kept);
        host_values.resize(kept);
    }

    static uint64_t size(const void *opaque)
    {
        of(opaque)->fetch();
        return of(opaque)->host_keys.size();
    }
    static void copy(const void *opaque, void *out_keys, void *out_values)
    {
        const sort_store *self = of(opaque);
        self->fetch();
        std::copy(self->host_keys.begin(), self->host_keys.end(), static_cast<K *>(out_keys));
        std::copy(self->host_values.begin(), self->host_values.end(), static_cast<V *>(out_values));
    }
    static uint64_t bytes(const void *opaque) { return of(opaque)->count * (sizeof(K) + sizeof(V)); }

    static const bench_peer *table()
    {
        static const bench_peer peer = [] {
            bench_peer p = {};
            p.name = "cub::sort";
            p.on_device = true;
            p.create = create;
            p.destroy = destroy;
            p.build = build;
            p.copy = copy;
            p.size = size;
            p.bytes = bytes;
            return p;
        }();
        return &peer;
    }
};

template <template <class, class> class Store> const bench_peer *for_widths(unsigned key_bytes, unsigned value_bytes)
{
    unsigned widths = key_bytes * 16 + value_bytes;
    if (widths == 0x44) return Store<uint32_t, uint32_t>::table();
    if (widths == 0x48) return Store<uint32_t, uint64_t>::table();
    if (widths == 0x84) return Store<uint64_t, uint32_t>::table();
    if (widths == 0x88) return Store<uint64_t, uint64_t>::table();
    return nullptr;
}

} // namespace

extern "C" const bench_peer *bench_peer_thrust(unsigned key_bytes, unsigned value_bytes)
{
    return for_widths<sorted_array>(key_bytes, value_bytes);
}

extern "C" const bench_peer *bench_peer_cub_sort(unsigned key_bytes, unsigned value_bytes)
{
    return for_widths<sort_store>(key_bytes, value_bytes);
}
