/*
 * Select and unique on a card. Both are one pass: keys and values are read and written together through a pair of
 * pointers, and which entries stay is computed where it is asked for. Both share their kernels: the question differs,
 * and that is a branch that all threads take alike.
 */
#include "primitives/cuda.h"

#include <cub/device/device_select.cuh>
#include <cuda/std/iterator>
#include <thrust/iterator/counting_iterator.h>

namespace {

template <typename Key, typename Value> struct entry {
    Key key;
    Value value;
};

/* What CUB asks of an iterator over something computed. */
template <typename Self, typename Result> struct computed_iterator {
    using value_type = Result;
    using reference = Result;
    using pointer = void;
    using difference_type = int64_t;
    using iterator_category = ::cuda::std::random_access_iterator_tag;
};

/* Entries of two arrays, to read. */
template <typename Key, typename Value>
struct entries_in : computed_iterator<entries_in<Key, Value>, entry<Key, Value>> {
    const Key *keys;
    const Value *values;
    __host__ __device__ entries_in(const Key *k, const Value *v) : keys(k), values(v) {}
    __host__ __device__ entries_in operator+(int64_t d) const { return entries_in(keys + d, values + d); }
    __device__ entry<Key, Value> operator[](int64_t d) const { return {keys[d], values[d]}; }
    __device__ entry<Key, Value> operator*() const { return {*keys, *values}; }
};

/* Entries of two arrays, to write. */
template <typename Key, typename Value> struct entries_out {
    struct reference_type {
        Key *key;
        Value *value;
        __device__ void operator=(const entry<Key, Value> &e) const
        {
            *key = e.key;
            *value = e.value;
        }
    };
    using value_type = entry<Key, Value>;
    using reference = reference_type;
    using pointer = void;
    using difference_type = int64_t;
    using iterator_category = ::cuda::std::random_access_iterator_tag;
    Key *keys;
    Value *values;
    __host__ __device__ entries_out(Key *k, Value *v) : keys(k), values(v) {}
    __host__ __device__ entries_out operator+(int64_t d) const { return entries_out(keys + d, values + d); }
    __device__ reference_type operator[](int64_t d) const { return {keys + d, values + d}; }
    __device__ reference_type operator*() const { return {keys, values}; }
};

/* Whether entry i stays: by its flag, or as the first or last of its equals. */
template <typename Key> struct stays : computed_iterator<stays<Key>, bool> {
    const uint8_t *flags; /* or NULL: then by the keys */
    const Key *keys;
    int64_t end;       /* this entry has no neighbour and stays: the first or the last one */
    int64_t neighbour; /* -1 or 1 */
    int64_t at;
    __host__ __device__ stays(const uint8_t *f, const Key *k, int64_t e, int64_t d, int64_t i)
        : flags(f), keys(k), end(e), neighbour(d), at(i)
    {
    }
    __host__ __device__ stays operator+(int64_t d) const { return stays(flags, keys, end, neighbour, at + d); }
    __device__ bool operator[](int64_t d) const
    {
        int64_t i = at + d;
        if (flags) return flags[i] != 0;
        return i == end || keys[i] != keys[i + neighbour];
    }
    __device__ bool operator*() const { return (*this)[0]; }
};

struct selection {
    copse_device *device;
    copse_stream *stream;
    const void *keys_in, *values_in;
    const uint8_t *flags;
    void *keys_out, *values_out;
    uint64_t n;
    copse_unique which;
    uint64_t *out_count;
};

/* Entries of one call to CUB. It takes more, but a selection of more than 2^31 entries made it write astray. */
constexpr uint64_t chunk_most = UINT64_C(1) << 30;

/* Entries first .. first + n, written from `done` on; their number goes to s.out_count. */
template <typename Key, typename Value>
copse_status select_chunk(const selection &s, uint64_t first, uint64_t n, uint64_t done)
{
    bool is_first = s.which == COPSE_UNIQUE_FIRST;
    const Key *keys = (const Key *)s.keys_in;
    stays<Key> flags(s.flags, keys, is_first ? 0 : (int64_t)s.n - 1, is_first ? -1 : 1, (int64_t)first);
    entries_in<Key, Value> in(keys + first, (const Value *)s.values_in + first);
    entries_out<Key, Value> out((Key *)s.keys_out + done, (Value *)s.values_out + done);
    return copse_cuda_with_scratch(s.device, s.stream, "selecting pairs",
                                   [&](void *scratch, size_t &bytes) -> cudaError_t {
                                       return cub::DeviceSelect::Flagged(scratch, bytes, in, flags, out, s.out_count,
                                                                         (int64_t)n, copse_cuda_stream(s.stream));
                                   });
}

/* Positions first .. first + n, as select_chunk. */
copse_status flagged_chunk(const selection &s, uint64_t first, uint64_t n, uint64_t done)
{
    thrust::counting_iterator<uint32_t> in((uint32_t)first);
    return copse_cuda_with_scratch(
        s.device, s.stream, "selecting positions", [&](void *scratch, size_t &bytes) -> cudaError_t {
            return cub::DeviceSelect::Flagged(scratch, bytes, in, s.flags + first, (uint32_t *)s.keys_out + done,
                                              s.out_count, (int64_t)n, copse_cuda_stream(s.stream));
        });
}

/* Large inputs go in chunks, each of which has to know how many entries those before it kept. */
template <typename Chunk> copse_status select_all(const selection &s, Chunk chunk)
{
    if (s.n <= chunk_most) return chunk(s, 0, s.n, 0);
    uint64_t done = 0, kept = 0;
    copse_status status = COPSE_OK;
    for (uint64_t first = 0; first < s.n && status == COPSE_OK; first += chunk_most) {
        status = chunk(s, first, s.n - first < chunk_most ? s.n - first : chunk_most, done);
        if (status == COPSE_OK) status = copse_device_read(s.device, s.stream, &kept, s.out_count, sizeof kept);
        done += kept;
    }
    if (status == COPSE_OK) status = copse_device_copy(s.device, s.stream, s.out_count, &done, sizeof done);
    return status == COPSE_OK ? copse_device_wait(s.device, s.stream) : status;
}

template <typename Key, typename Value> copse_status select_any(const selection &s)
{
    return select_all(s, select_chunk<Key, Value>);
}

copse_status select_by_widths(unsigned pair, const selection &s)
{
    if (s.n == 0) return copse_device_fill(s.device, s.stream, s.out_count, 0, sizeof *s.out_count);
    switch (pair) {
    case 0:
        return select_any<uint32_t, uint32_t>(s);
    case 1:
        return select_any<uint32_t, uint64_t>(s);
    case 2:
        return select_any<uint64_t, uint32_t>(s);
    default:
        return select_any<uint64_t, uint64_t>(s);
    }
}

} // namespace

copse_status copse_cuda_unique_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                     const void *values_in, void *keys_out, void *values_out, uint64_t n,
                                     copse_unique which, uint64_t *out_count)
{
    return select_by_widths(pair,
                            {device, stream, keys_in, values_in, nullptr, keys_out, values_out, n, which, out_count});
}

copse_status copse_cuda_select_pairs(copse_device *device, copse_stream *stream, unsigned pair, const void *keys_in,
                                     const void *values_in, const uint8_t *flags, void *keys_out, void *values_out,
                                     uint64_t n, uint64_t *out_count)
{
    return select_by_widths(
        pair, {device, stream, keys_in, values_in, flags, keys_out, values_out, n, COPSE_UNIQUE_FIRST, out_count});
}

copse_status copse_cuda_select_flagged(copse_device *device, copse_stream *stream, const uint8_t *flags, uint32_t *out,
                                       uint64_t n, uint64_t *out_count)
{
    const selection s = {device, stream, nullptr, nullptr, flags, out, nullptr, n, COPSE_UNIQUE_FIRST, out_count};
    if (n == 0) return copse_device_fill(device, stream, out_count, 0, sizeof *out_count);
    return select_all(s, flagged_chunk);
}
