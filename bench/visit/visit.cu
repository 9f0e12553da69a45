// Visits of a paged index on a card beside the same over a plain array, in one process: the figures of docs/PAGED.md.
//
//     bench_visit [--n 2^K] [--repeat N]          JSON lines
//
// All arrays are device memory and are made there. The clock is the host's, around whole calls that return their result: CUB's sum and
// ours both end with a copy of the sum to the host. Turns alternate, the median counts.
#include "copse.h"

#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

int repeat = 7;

void stop(const char *what, const char *why)
{
    std::fprintf(stderr, "bench_visit: %s: %s\n", what, why);
    std::exit(1);
}

void check(cudaError_t error)
{
    if (error != cudaSuccess) stop("cuda", cudaGetErrorString(error));
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> &times)
{
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

__device__ uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Keys in order with gaps, or at random; values are any.
template <class K, class V> __global__ void fill(K *keys, V *values, uint64_t n, uint64_t seed, K step)
{
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n; i += uint64_t(gridDim.x) * blockDim.x) {
        keys[i] = step ? K(i * step) : K(mixed(i + seed));
        values[i] = V(mixed(i * 3 + seed + 1));
    }
}

template <class V> __global__ void map_array(V *values, uint64_t n, V by)
{
    constexpr unsigned wide = 16 / sizeof(V);
    struct alignas(16) piece {
        V v[wide];
    };
    piece *pieces = reinterpret_cast<piece *>(values);
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n / wide;
         i += uint64_t(gridDim.x) * blockDim.x) {
        piece p = pieces[i];
        for (unsigned j = 0; j < wide; j++) p.v[j] += by;
        pieces[i] = p;
    }
}

struct widen {
    template <class V> __host__ __device__ uint64_t operator()(V v) const { return v; }
};

template <class K, class V> struct subject {
    copse_ctx *ctx = nullptr;
    copse_index *index = nullptr;
    K *keys = nullptr;
    V *values = nullptr;
    uint64_t n;
    const char *name;

    void must(copse_status status, const char *what) const
    {
        if (status != COPSE_OK) stop(what, copse_last_error(ctx));
    }

    subject(uint64_t count, const char *named, copse_updates updates) : n(count), name(named)
    {
        copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
        options.key_type = sizeof(K) == 4 ? COPSE_U32 : COPSE_U64;
        options.value_type = sizeof(V) == 4 ? COPSE_U32 : COPSE_U64;
        options.structure = COPSE_STRUCTURE_PAGED;
        options.updates = updates;
        options.placement = COPSE_PLACEMENT_GPU;
        must(copse_ctx_create(nullptr, &ctx), "context");
        must(copse_index_create(ctx, &options, &index), "index");
        check(cudaMalloc(&keys, n * sizeof(K)));
        check(cudaMalloc(&values, n * sizeof(V)));
    }
    ~subject()
    {
        copse_index_free(index);
        copse_ctx_free(ctx);
        cudaFree(keys);
        cudaFree(values);
    }

    void build()
    {
        fill<<<1024, 256>>>(keys, values, n, 1, K(sizeof(K) == 4 ? (uint64_t(1) << 32) / n : 1000));
        check(cudaDeviceSynchronize());
        must(copse_build(index, keys, values, n), "build");
    }
    void insert(uint64_t more, uint64_t batch)
    {
        for (uint64_t at = 0; at < more; at += batch) {
            fill<<<1024, 256>>>(keys, values, batch, 77 + at * 5, K(0));
            check(cudaDeviceSynchronize());
            must(copse_insert(index, keys, values, batch, 0, nullptr), "insert");
        }
    }
    // The plain array: the values as they lie in the index, one behind the other.
    void array()
    {
        const uint64_t entries = copse_size(index);
        check(cudaFree(values));
        check(cudaFree(keys));
        keys = nullptr;
        check(cudaMalloc(&values, (entries + 16) * sizeof(V)));
        must(copse_export(index, nullptr, values, entries), "export");
        n = entries;
    }

    void show(const char *what, const char *state, std::vector<double> &ours, std::vector<double> &plain) const
    {
        copse_stats stats{};
        stats.struct_size = sizeof stats;
        copse_index_stats(index, &stats);
        const double a = median(ours), b = median(plain);
        std::printf("{\"what\":\"%s\",\"index\":\"%s\",\"state\":\"%s\",\"n\":%llu,\"fill\":%.4f,\"paged_ms\":%.4f,"
                    "\"array_ms\":%.4f,"
                    "\"paged_g_per_s\":%.2f,\"array_gb_per_s\":%.0f,\"share\":%.3f}\n",
                    what, name, state, (unsigned long long)n, stats.fill, a * 1e3, b * 1e3, (double)n / a * 1e-9,
                    (double)(n * sizeof(V)) / b * 1e-9, b / a);
        std::fflush(stdout);
    }

    uint64_t array_sum(void *scratch, size_t bytes, uint64_t *out) const
    {
        uint64_t sum = 0;
        cub::DeviceReduce::TransformReduce(scratch, bytes, values, out, n, ::cuda::std::plus<uint64_t>(), widen(),
                                           uint64_t(0));
        check(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
        return sum;
    }

    void sums(const char *state) const
    {
        std::vector<double> ours, plain;
        size_t bytes = 0;
        void *scratch = nullptr;
        uint64_t *out = nullptr;
        cub::DeviceReduce::TransformReduce(nullptr, bytes, values, out, n, ::cuda::std::plus<uint64_t>(), widen(),
                                           uint64_t(0));
        check(cudaMalloc(&scratch, bytes));
        check(cudaMalloc(&out, sizeof *out));
        for (int i = 0; i <= repeat; i++) {
            copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
            request.wanted = COPSE_REDUCE_SUM128;
            const double begun = now();
            must(copse_visit_values(index, &request), "sum");
            const double between = now();
            const uint64_t sum = array_sum(scratch, bytes, out);
            const double end = now();
            if (sum != request.reduction.sum128.low || request.n != n) stop("sum", "is wrong");
            if (i == 0) continue;
            ours.push_back(between - begun);
            plain.push_back(end - between);
        }
        show("sum", state, ours, plain);
        cudaFree(scratch);
        cudaFree(out);
    }

    void maps(const char *state)
    {
        std::vector<double> ours, plain;
        const V by = 3;
        for (int i = 0; i <= repeat; i++) {
            copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_ADD);
            request.low = &by;
            const double begun = now();
            must(copse_visit_in_place(index, &request), "map");
            const double between = now();
            map_array<<<132 * 16, 128>>>(values, n + 15, by);
            check(cudaDeviceSynchronize());
            const double end = now();
            if (i == 0) continue;
            ours.push_back(between - begun);
            plain.push_back(end - between);
        }
        show("map", state, ours, plain);
        sums(state); // both have been changed alike, or this says so
    }

    // Without an array to compare with: how long each takes.
    void others(const char *state) const
    {
        for (int what = 0; what < 4; what++) {
            std::vector<double> ours, none{1};
            std::vector<uint64_t> counts(256 + 3);
            const V low = V(1) << (sizeof(V) * 8 - 1), high = V(~V(0));
            const V least = 0, top = V(~V(0)) - V(~V(0)) / 100;
            std::vector<V> best(100);
            for (int i = 0; i <= repeat; i++) {
                copse_visit_request request = COPSE_VISIT_INIT(COPSE_VISIT_REDUCE);
                request.wanted = what == 0 ? COPSE_REDUCE_MIN | COPSE_REDUCE_MAX | COPSE_REDUCE_VARIANCE : 0;
                request.operation = what == 0   ? COPSE_VISIT_REDUCE
                                    : what == 1 ? COPSE_VISIT_FILTER
                                    : what == 2 ? COPSE_VISIT_HISTOGRAM
                                                : COPSE_VISIT_LARGEST;
                request.low = what == 1 ? &top : what == 2 ? &least : nullptr;
                request.high = what == 1 || what == 2 ? &high : nullptr;
                request.bins = 256;
                request.counts = counts.data();
                if (what == 3) request.values = best.data();
                if (what == 3) request.capacity = best.size();
                const double begun = now();
                must(copse_visit_values(index, &request), "visit");
                if (i) ours.push_back(now() - begun);
            }
            (void)low;
            static const char *const names[] = {"min, max, variance", "count of a filter of 1 %", "histogram of 256",
                                                "100 largest"};
            std::printf("{\"what\":\"%s\",\"index\":\"%s\",\"state\":\"%s\",\"n\":%llu,\"paged_ms\":%.4f}\n",
                        names[what], name, state, (unsigned long long)n, median(ours) * 1e3);
            std::fflush(stdout);
        }
    }
};

template <class K, class V> void run(uint64_t n, const char *name)
{
    {
        subject<K, V> full(n, name, COPSE_UPDATES_RARE);
        full.build();
        full.array();
        full.sums("bulk-loaded, updates rare");
        full.maps("bulk-loaded, updates rare");
        full.others("bulk-loaded, updates rare");
    }
    subject<K, V> all(n, name, COPSE_UPDATES_EXPECTED);
    all.build();
    all.array();
    all.sums("bulk-loaded, updates expected");
    all.maps("bulk-loaded, updates expected");
    const uint64_t batch = uint64_t(1) << 20;
    check(cudaMalloc(&all.keys, batch * sizeof(K)));
    all.insert(n / 2, batch);
    all.array();
    all.sums("and n / 2 random inserts");
    all.maps("and n / 2 random inserts");
}

} // namespace

int main(int argc, char **argv)
{
    int power = 28;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--n") == 0 && std::sscanf(argv[i + 1], "2^%d", &power) != 1) power = 0;
        if (std::strcmp(argv[i], "--repeat") == 0) repeat = std::atoi(argv[i + 1]);
    }
    if (power < 10 || power > 30) {
        std::fprintf(stderr, "bench_visit: --n takes 2^10 to 2^30\n");
        return 2;
    }
    const char *why = "";
    if (copse_device_count(&why) == 0) {
        std::printf("bench_visit: no card: %s\n", why);
        return 77;
    }
    run<uint32_t, uint32_t>(uint64_t(1) << power, "u32/u32");
    run<uint64_t, uint64_t>(uint64_t(1) << (power - 1), "u64/u64");
    return 0;
}
