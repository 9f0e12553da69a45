/*
 * A kernel of one's own over the pages of an index: how far below its moving average is each temperature?
 *
 *     nvcc -I include examples/page_views.cu -lcopse -o page_views && ./page_views
 *
 * Keys are seconds, values temperatures. A block takes a page at a time and adds up |value - average of the page|, which none of the
 * operations of copse_visit_values does. The host does the same with a copy of the entries, and compares.
 * Ends with status 77 and a sentence where there is no card.
 */
#include "copse_device.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

static const unsigned threads = 128;

static __device__ double block_sum(double own)
{
    __shared__ double parts[threads];
    __syncthreads();
    parts[threadIdx.x] = own;
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    __syncthreads();
    return parts[0];
}

/* out[page]: the sum of all distances of the page's values from their average; keys[page]: its first key. */
static __global__ void distances(const copse_page_table table, double *out, long long *keys)
{
    for (unsigned i = blockIdx.x; i < table.pages; i += gridDim.x) {
        const copse_page page = copse_page_at(&table, i);
        const float *values = static_cast<const float *>(page.values);
        double sum = 0, away = 0;
        for (unsigned slot = threadIdx.x; slot < table.slots; slot += threads)
            if (copse_page_has(&table, &page, slot)) sum += values[slot];
        const double average = block_sum(sum) / page.entries;
        for (unsigned slot = threadIdx.x; slot < table.slots; slot += threads)
            if (copse_page_has(&table, &page, slot)) away += fabs(values[slot] - average);
        away = block_sum(away);
        if (threadIdx.x != 0) continue;
        out[i] = away;
        for (unsigned slot = 0; slot < table.slots; slot++)
            if (copse_page_has(&table, &page, slot)) {
                keys[i] = static_cast<long long>(copse_page_key(&table, &page, slot));
                break;
            }
    }
}

static int failed(copse_ctx *ctx, const char *what)
{
    std::fprintf(stderr, "page_views: %s: %s\n", what, copse_last_error(ctx));
    return 1;
}

/* The same on the host, page by page, over entries in key order. */
static bool same(const std::vector<int64_t> &keys, const std::vector<float> &values,
                 const std::vector<uint32_t> &counts, const std::vector<double> &away,
                 const std::vector<long long> &first)
{
    size_t at = 0;
    for (size_t i = 0; i < counts.size(); at += counts[i++]) {
        double sum = 0, expected = 0;
        for (size_t j = at; j < at + counts[i]; j++) sum += values[j];
        for (size_t j = at; j < at + counts[i]; j++) expected += std::fabs(values[j] - sum / counts[i]);
        if (first[i] != keys[at] || std::fabs(away[i] - expected) > 1e-9 * (1 + expected)) return false;
    }
    return at == keys.size();
}

int main()
{
    const size_t n = 1000000;
    const char *why = "";
    if (copse_device_count(&why) == 0) {
        std::printf("page_views: no card: %s\n", why);
        return 77;
    }
    copse_ctx *ctx = nullptr;
    copse_index *index = nullptr;
    copse_index_options options = COPSE_INDEX_OPTIONS_INIT;
    options.key_type = COPSE_I64;
    options.value_type = COPSE_F32;
    options.structure = COPSE_STRUCTURE_PAGED;
    options.placement = COPSE_PLACEMENT_GPU;
    std::vector<int64_t> keys(n);
    std::vector<float> values(n);
    for (size_t i = 0; i < n; i++) { /* from long ago on, and not in order */
        keys[i] = static_cast<int64_t>(i * 7919 % n) - 500000;
        values[i] = static_cast<float>(15.0 + 10.0 * std::sin(1e-4 * static_cast<double>(keys[i])));
    }
    if (copse_ctx_create(nullptr, &ctx) != COPSE_OK) return failed(nullptr, "no context");
    if (copse_index_create(ctx, &options, &index) != COPSE_OK) return failed(ctx, "no index");
    if (copse_insert(index, keys.data(), values.data(), n, 0, nullptr) != COPSE_OK) return failed(ctx, "insert");

    copse_page_table table{};
    table.struct_size = sizeof table;
    if (copse_pages(index, &table) != COPSE_OK) return failed(ctx, "pages");
    double *away = nullptr;
    long long *first = nullptr;
    cudaMallocManaged(&away, table.pages * sizeof *away);
    cudaMallocManaged(&first, table.pages * sizeof *first);
    distances<<<256, threads>>>(table, away, first);
    std::vector<uint32_t> counts(table.pages);
    cudaMemcpy(counts.data(), table.counts, table.pages * sizeof(uint32_t), cudaMemcpyDeviceToHost);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        std::fprintf(stderr, "page_views: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    if (copse_export(index, keys.data(), values.data(), n) != COPSE_OK) return failed(ctx, "export");
    const bool right = same(keys, values, counts, std::vector<double>(away, away + table.pages),
                            std::vector<long long>(first, first + table.pages));
    std::printf("%zu entries in %u pages; the kernel and the host %s\n", n, table.pages, right ? "agree" : "differ");
    cudaFree(away);
    cudaFree(first);
    copse_index_free(index);
    copse_ctx_free(ctx);
    return right ? 0 : 1;
}
