// stx::btree_map, where its headers were found at build time.
#ifdef COPSE_HAVE_STX

#include "peer_adapter.hpp"

#include <stx/btree_map.h>

namespace copse_bench {

template <class K, class V>
using stx_map =
    stx::btree_map<K, V, std::less<K>, stx::btree_default_map_traits<K, V>, counting_allocator<std::pair<K, V>>>;

template <class K, class V, class Entry> void assign_sorted(stx_map<K, V> &map, uint64_t n, Entry entry)
{
    pairs<K, V> batch;
    batch.reserve(n);
    for (uint64_t i = 0; i < n; i++) batch.push_back(entry(i));
    map.clear();
    if (!batch.empty()) map.bulk_load(batch.begin(), batch.end());
}

template <class K, class V> void upsert(stx_map<K, V> &map, const K *keys, const V *values, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        auto result = map.insert(keys[i], values[i]);
        if (!result.second) result.first.data() = values[i];
    }
}

template <class K, class V> void erase_all(stx_map<K, V> &map, const K *keys, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) map.erase(keys[i]);
}

} // namespace copse_bench

extern "C" const bench_peer *bench_peer_stx(unsigned key_bytes, unsigned value_bytes)
{
    return copse_bench::peer_for_widths<copse_bench::stx_map>("stx::btree_map", false, key_bytes, value_bytes);
}

#else
typedef int copse_bench_without_stx; // a translation unit may not be empty
#endif
