// What a table in place of the first three layers of a radix tree could gain: both ways down to a leaf, without anything else.
// Layers: 1, 256 and 65,536 nodes of 256 links (2,064 bytes each); table: 2^24 links. Then a node of 48 bytes and a leaf of 16.
//
//   nvcc -O3 -arch=native -o first_layers bench/strings/first_layers.cu && ./first_layers
#include <cstdint>
#include <cstdio>

constexpr uint64_t nodes = 1 + 256 + 65536, stride = 258, links = uint64_t(1) << 24, leaves = uint64_t(1) << 26;

__device__ uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__global__ void fill(uint64_t *layers, uint64_t *table)
{
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < links;
         i += uint64_t(gridDim.x) * blockDim.x) {
        table[i] = i;
        layers[(257 + (i >> 8)) * stride + 2 + (i & 255)] = i;
        if (i < 65536) layers[(1 + (i >> 8)) * stride + 2 + (i & 255)] = 257 + i;
        if (i < 256) layers[2 + i] = 1 + i;
    }
}

template <bool tabled>
__global__ void walk(const uint64_t *layers, const uint64_t *table, const ulonglong2 *small, const ulonglong2 *leaf,
                     uint64_t *out, uint64_t n)
{
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint64_t key = mix(i + 1);
    uint64_t at;
    if (tabled) {
        at = table[key >> 40];
    } else {
        at = layers[2 + (key >> 56)];
        at = layers[at * stride + 2 + (key >> 48 & 255)];
        at = layers[at * stride + 2 + (key >> 40 & 255)];
    }
    const ulonglong2 node = small[at * 3 + 1];
    out[i] = leaf[(at * 4 + (key & 3)) ^ node.x].y;
}

int main()
{
    uint64_t *layers, *table, *out;
    ulonglong2 *small, *leaf;
    const uint64_t n = uint64_t(1) << 24;
    cudaMalloc(&layers, nodes * stride * 8);
    cudaMalloc(&table, links * 8);
    cudaMalloc(&out, n * 8);
    cudaMalloc(&small, links * 48);
    cudaMalloc(&leaf, leaves * 16);
    cudaMemset(small, 0, links * 48);
    cudaMemset(leaf, 0, leaves * 16);
    fill<<<1024, 256>>>(layers, table);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (int turn = 0; turn < 4; turn++)
        for (int tabled = 0; tabled < 2; tabled++) {
            float ms;
            cudaEventRecord(start);
            if (tabled)
                walk<true><<<n / 256, 256>>>(layers, table, small, leaf, out, n);
            else
                walk<false><<<n / 256, 256>>>(layers, table, small, leaf, out, n);
            cudaEventRecord(stop);
            cudaEventSynchronize(stop);
            cudaEventElapsedTime(&ms, start, stop);
            if (turn) printf("%s: %.2f G/s\n", tabled ? "table" : "layers", double(n) / ms / 1e6);
        }
    return cudaGetLastError() != cudaSuccess;
}
