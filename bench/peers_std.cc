// std::map, and a sorted array searched with std::lower_bound.
#include "peer_adapter.hpp"

#include <map>

namespace copse_bench {

template <class K, class V> using std_map = std::map<K, V, std::less<K>, counting_allocator<std::pair<const K, V>>>;

// Pairs in one array, kept in key order: the plainest index there is.
template <class K, class V> class sorted_array {
  public:
    using entry = std::pair<K, V>;
    using entries = std::vector<entry, counting_allocator<entry>>;
    using const_iterator = typename entries::const_iterator;

    using allocator_type = counting_allocator<entry>;

    explicit sorted_array(const allocator_type &allocator) : entries_(allocator) {}

    const_iterator begin() const { return entries_.begin(); }
    const_iterator end() const { return entries_.end(); }
    uint64_t size() const { return entries_.size(); }

    const_iterator lower_bound(K key) const
    {
        return std::lower_bound(begin(), end(), key, [](const entry &e, K wanted) { return e.first < wanted; });
    }
    const_iterator upper_bound(K key) const
    {
        return std::upper_bound(begin(), end(), key, [](K wanted, const entry &e) { return wanted < e.first; });
    }
    const_iterator find(K key) const
    {
        const_iterator it = lower_bound(key);
        return it != end() && it->first == key ? it : end();
    }

    entries &data() { return entries_; }

  private:
    entries entries_;
};

template <class K, class V, class Entry> void assign_sorted(std_map<K, V> &map, uint64_t n, Entry entry)
{
    map.clear();
    for (uint64_t i = 0; i < n; i++) map.emplace_hint(map.end(), entry(i));
}

template <class K, class V> void upsert(std_map<K, V> &map, const K *keys, const V *values, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) map.insert_or_assign(keys[i], values[i]);
}

template <class K, class V> void erase_all(std_map<K, V> &map, const K *keys, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) map.erase(keys[i]);
}

template <class K, class V, class Entry> void assign_sorted(sorted_array<K, V> &array, uint64_t n, Entry entry)
{
    array.data().clear();
    array.data().reserve(n);
    for (uint64_t i = 0; i < n; i++) array.data().push_back(entry(i));
}

// Shifting the tail for every single key would take hours: sort the batch and merge once.
template <class K, class V> void upsert(sorted_array<K, V> &array, const K *keys, const V *values, uint64_t n)
{
    pairs<K, V> batch = zip<K, V>(keys, values, n);
    sort_pairs(batch);
    auto &old = array.data();
    typename sorted_array<K, V>::entries merged(old.get_allocator());
    merged.reserve(old.size() + batch.size());
    std::size_t a = 0;
    std::size_t b = 0;
    while (a < old.size() || b < batch.size()) {
        if (b == batch.size() || (a < old.size() && old[a].first < batch[b].first)) {
            merged.push_back(old[a++]);
        } else {
            if (a < old.size() && old[a].first == batch[b].first) a++;
            merged.push_back(batch[b++]);
        }
    }
    old.swap(merged);
}

template <class K, class V> void erase_all(sorted_array<K, V> &array, const K *keys, uint64_t n)
{
    std::vector<K> doomed(keys, keys + n);
    std::sort(doomed.begin(), doomed.end());
    auto &entries = array.data();
    std::size_t d = 0;
    auto gone = [&](const std::pair<K, V> &entry) {
        while (d < doomed.size() && doomed[d] < entry.first) d++;
        return d < doomed.size() && doomed[d] == entry.first;
    };
    entries.erase(std::remove_if(entries.begin(), entries.end(), std::ref(gone)), entries.end());
}

template <class K, class V> uint64_t count_one(const sorted_array<K, V> &array, K low, K high)
{
    if (low > high) return 0;
    return static_cast<uint64_t>(array.upper_bound(high) - array.lower_bound(low));
}

} // namespace copse_bench

extern "C" const bench_peer *bench_peer_std_map(unsigned key_bytes, unsigned value_bytes)
{
    return copse_bench::peer_for_widths<copse_bench::std_map>("std::map", false, key_bytes, value_bytes);
}

extern "C" const bench_peer *bench_peer_sorted_array(unsigned key_bytes, unsigned value_bytes)
{
    return copse_bench::peer_for_widths<copse_bench::sorted_array>("sorted-array", true, key_bytes, value_bytes);
}
