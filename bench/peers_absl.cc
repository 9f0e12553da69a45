// absl::btree_map, where Abseil was found at build time.
#ifdef COPSE_HAVE_ABSL

#include "peer_adapter.hpp"

#include <absl/container/btree_map.h>

namespace copse_bench {

template <class K, class V>
using absl_map = absl::btree_map<K, V, std::less<K>, counting_allocator<std::pair<const K, V>>>;

template <class K, class V, class Entry> void assign_sorted(absl_map<K, V> &map, uint64_t n, Entry entry)
{
    map.clear();
    for (uint64_t i = 0; i < n; i++) map.emplace_hint(map.end(), entry(i));
}

template <class K, class V> void upsert(absl_map<K, V> &map, const K *keys, const V *values, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) map.insert_or_assign(keys[i], values[i]);
}

template <class K, class V> void erase_all(absl_map<K, V> &map, const K *keys, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) map.erase(keys[i]);
}

} // namespace copse_bench

extern "C" const bench_peer *bench_peer_absl(unsigned key_bytes, unsigned value_bytes)
{
    return copse_bench::peer_for_widths<copse_bench::absl_map>("absl::btree_map", false, key_bytes, value_bytes);
}

#else
typedef int copse_bench_without_absl; // a translation unit may not be empty
#endif
