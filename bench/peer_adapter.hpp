// Turns a map-like C++ container into a bench_peer table.
//
// The container needs find, lower_bound, upper_bound, begin, end and size, with iterators to pairs, and these free
// functions beside it: assign_sorted(container, n, entry), where entry(i) is a pair; upsert(container, keys, values, n);
// erase_all(container, keys, n).
#ifndef COPSE_BENCH_PEER_ADAPTER_HPP
#define COPSE_BENCH_PEER_ADAPTER_HPP

#include "peers.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <malloc.h>
#include <new>
#include <utility>
#include <vector>

namespace copse_bench {

// Counts what the heap really gave: usable size and the header in front of it.
template <class T> struct counting_allocator {
    using value_type = T;
    uint64_t *bytes;

    explicit counting_allocator(uint64_t *counter) : bytes(counter) {}
    template <class U> counting_allocator(const counting_allocator<U> &other) : bytes(other.bytes) {}

    // Containers from before C++11 ask for these two.
    template <class U> struct rebind {
        using other = counting_allocator<U>;
    };
    template <class U> void destroy(U *object) { object->~U(); }

    T *allocate(std::size_t n)
    {
        void *memory = std::malloc(n * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        *bytes += malloc_usable_size(memory) + sizeof(std::size_t);
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, std::size_t)
    {
        *bytes -= malloc_usable_size(memory) + sizeof(std::size_t);
        std::free(memory);
    }
    template <class U> bool operator==(const counting_allocator<U> &other) const { return bytes == other.bytes; }
    template <class U> bool operator!=(const counting_allocator<U> &other) const { return bytes != other.bytes; }
};

template <class K, class V> using pairs = std::vector<std::pair<K, V>>;

// Sorted, distinct, the last of equal keys kept.
template <class K, class V> void sort_pairs(pairs<K, V> &batch)
{
    auto by_key = [](const std::pair<K, V> &a, const std::pair<K, V> &b) { return a.first < b.first; };
    std::stable_sort(batch.begin(), batch.end(), by_key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < batch.size(); i++) {
        if (i + 1 < batch.size() && batch[i + 1].first == batch[i].first) continue;
        batch[kept++] = batch[i];
    }
    batch.resize(kept);
}

template <class K, class V> pairs<K, V> zip(const void *keys, const void *values, uint64_t n)
{
    pairs<K, V> batch;
    batch.reserve(n);
    for (uint64_t i = 0; i < n; i++) {
        batch.emplace_back(static_cast<const K *>(keys)[i], static_cast<const V *>(values)[i]);
    }
    return batch;
}

template <class Map, class K, class V> struct adapter {
    struct store {
        uint64_t bytes = 0;
        Map map;
        store() : map(typename Map::allocator_type(&bytes)) {}
    };

    static const Map &map_of(const void *opaque) { return static_cast<const store *>(opaque)->map; }
    static Map &map_of(void *opaque) { return static_cast<store *>(opaque)->map; }
    static const K *key_array(const void *keys) { return static_cast<const K *>(keys); }

    static void *create() { return new (std::nothrow) store(); }
    static void destroy(void *opaque) { delete static_cast<store *>(opaque); }

    static bool build(void *opaque, const void *keys, const void *values, uint64_t n, bool sorted)
    {
        try {
            if (sorted) {
                auto entry = [=](uint64_t i) {
                    return std::pair<K, V>(key_array(keys)[i], static_cast<const V *>(values)[i]);
                };
                assign_sorted(map_of(opaque), n, entry);
                return true;
            }
            pairs<K, V> batch = zip<K, V>(keys, values, n);
            sort_pairs(batch);
            assign_sorted(map_of(opaque), batch.size(), [&](uint64_t i) { return batch[i]; });
            return true;
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    static bool insert(void *opaque, const void *keys, const void *values, uint64_t n, uint64_t *out_inserted)
    {
        Map &map = map_of(opaque);
        try {
            uint64_t before = map.size();
            upsert(map, key_array(keys), static_cast<const V *>(values), n);
            *out_inserted = map.size() - before;
            return true;
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    static uint64_t erase(void *opaque, const void *keys, uint64_t n)
    {
        Map &map = map_of(opaque);
        uint64_t before = map.size();
        erase_all(map, key_array(keys), n);
        return before - map.size();
    }

    static void find(const void *opaque, const void *keys, uint64_t n, void *out_values, uint8_t *out_found)
    {
        const Map &map = map_of(opaque);
        const K *wanted = key_array(keys);
        V *values = static_cast<V *>(out_values);
        for (uint64_t i = 0; i < n; i++) {
            auto it = map.find(wanted[i]);
            bool found = it != map.end();
            out_found[i] = found;
            if (values != nullptr) values[i] = found ? it->second : V(0);
        }
    }

    template <class Iterator>
    static void put(bool found, const Iterator &it, uint64_t i, void *out_keys, void *out_values, uint8_t *out_found)
    {
        out_found[i] = found;
        static_cast<K *>(out_keys)[i] = found ? it->first : K(0);
        static_cast<V *>(out_values)[i] = found ? it->second : V(0);
    }

    static void lower_bound(const void *opaque, const void *keys, uint64_t n, void *out_keys, void *out_values,
                            uint8_t *out_found)
    {
        const Map &map = map_of(opaque);
        for (uint64_t i = 0; i < n; i++) {
            auto it = map.lower_bound(key_array(keys)[i]);
            put(it != map.end(), it, i, out_keys, out_values, out_found);
        }
    }

    static void successor(const void *opaque, const void *keys, uint64_t n, void *out_keys, void *out_values,
                          uint8_t *out_found)
    {
        const Map &map = map_of(opaque);
        for (uint64_t i = 0; i < n; i++) {
            auto it = map.upper_bound(key_array(keys)[i]);
            put(it != map.end(), it, i, out_keys, out_values, out_found);
        }
    }

    static void predecessor(const void *opaque, const void *keys, uint64_t n, void *out_keys, void *out_values,
                            uint8_t *out_found)
    {
        const Map &map = map_of(opaque);
        for (uint64_t i = 0; i < n; i++) {
            auto it = map.lower_bound(key_array(keys)[i]);
            bool found = it != map.begin();
            if (found) --it;
            put(found, it, i, out_keys, out_values, out_found);
        }
    }

    static void range(const void *opaque, const void *lows, const void *highs, uint64_t n, uint64_t start,
                      uint64_t *out_ends, void *out_keys, void *out_values)
    {
        const Map &map = map_of(opaque);
        uint64_t place = start;
        for (uint64_t i = 0; i < n; i++) {
            K high = key_array(highs)[i];
            for (auto it = map.lower_bound(key_array(lows)[i]); it != map.end() && it->first <= high; ++it) {
                static_cast<K *>(out_keys)[place] = it->first;
                static_cast<V *>(out_values)[place] = it->second;
                place++;
            }
            out_ends[i] = place;
        }
    }

    static void count(const void *opaque, const void *lows, const void *highs, uint64_t n, uint64_t *out_counts)
    {
        const Map &map = map_of(opaque);
        for (uint64_t i = 0; i < n; i++) out_counts[i] = count_one(map, key_array(lows)[i], key_array(highs)[i]);
    }

    static void sum(const void *opaque, const void *lows, const void *highs, uint64_t n, uint64_t *out_sums)
    {
        const Map &map = map_of(opaque);
        for (uint64_t i = 0; i < n; i++) {
            K high = key_array(highs)[i];
            uint64_t total = 0;
            for (auto it = map.lower_bound(key_array(lows)[i]); it != map.end() && it->first <= high; ++it) {
                total += it->second;
            }
            out_sums[i] = total;
        }
    }

    static void visit(const void *opaque, uint64_t *out_keys, uint64_t *out_values)
    {
        const Map &map = map_of(opaque);
        uint64_t keys = 0;
        uint64_t values = 0;
        for (auto it = map.begin(); it != map.end(); ++it) {
            keys ^= it->first;
            values += it->second;
        }
        *out_keys = keys;
        *out_values = values;
    }

    static void copy(const void *opaque, void *out_keys, void *out_values)
    {
        const Map &map = map_of(opaque);
        uint64_t i = 0;
        for (auto it = map.begin(); it != map.end(); ++it, ++i) {
            static_cast<K *>(out_keys)[i] = it->first;
            static_cast<V *>(out_values)[i] = it->second;
        }
    }

    static uint64_t size(const void *opaque) { return map_of(opaque).size(); }
    static uint64_t bytes(const void *opaque) { return static_cast<const store *>(opaque)->bytes; }

    static const bench_peer *table(const char *name, bool counts_by_rank)
    {
        static const bench_peer peer = {
            name,      counts_by_rank, false, false, create, destroy, build, insert, erase, find,   lower_bound,
            successor, predecessor,    range, count, sum,    visit,   copy,  size,   bytes, nullptr};
        return &peer;
    }
};

// A tree has no ranks: the entries have to be walked.
template <class Map, class K> uint64_t count_one(const Map &map, K low, K high)
{
    uint64_t total = 0;
    for (auto it = map.lower_bound(low); it != map.end() && it->first <= high; ++it) total++;
    return total;
}

template <template <class, class> class Map>
const bench_peer *peer_for_widths(const char *name, bool counts_by_rank, unsigned key_bytes, unsigned value_bytes)
{
    using u32 = uint32_t;
    using u64 = uint64_t;
    unsigned widths = key_bytes * 16 + value_bytes;
    if (widths == 0x44) return adapter<Map<u32, u32>, u32, u32>::table(name, counts_by_rank);
    if (widths == 0x48) return adapter<Map<u32, u64>, u32, u64>::table(name, counts_by_rank);
    if (widths == 0x84) return adapter<Map<u64, u32>, u64, u32>::table(name, counts_by_rank);
    if (widths == 0x88) return adapter<Map<u64, u64>, u64, u64>::table(name, counts_by_rank);
    return nullptr;
}

} // namespace copse_bench

#endif // COPSE_BENCH_PEER_ADAPTER_HPP
