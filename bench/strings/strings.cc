// Byte strings as keys: the trees of copse and absl::btree_map<std::string> side by side, in one run.
//
//   bench_strings [--pattern NAME] [--n N] [--queries N] [--batch N] [--structure NAME] [--threads N] [--no-peer]
//                [--no-inserts] [--cpu-time] [--placement cpu|gpu|emulated] [--prefix N]
//
// Each line is a JSON object. Find: keys that are there, in random order, after a build of n. Insert: into half of the keys, the
// other half in calls of `batch`, in the order of the pattern. Memory: bytes of the index beyond keys and values.
//
// On a device all of that, and, with arrays in device memory and in pinned host memory: finds, upserts of keys that are there in calls of
// `batch`, counts of the keys with the first `prefix` bytes of each query. Answers are checked. On a card:
//   bench_strings --placement gpu --threads 16 --no-peer --no-inserts --pattern random32 --n 16777216 --queries 16777216
//   bench_strings --placement gpu --threads 16 --no-peer --no-inserts --pattern random8 --n 67108864 --queries 16777216
//   bench_strings --placement gpu --threads 16 --no-peer --no-inserts --pattern url --n 16777216 --queries 16777216 --prefix 40
//   bench_strings --placement gpu --threads 16 --no-peer --pattern random16 --n 33554432 --queries 1048576   (inserts into 2^24)
#ifdef COPSE_HAVE_ABSL // else there is no peer
#include <absl/container/btree_map.h>
#include <absl/strings/string_view.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "copse.h"
#include "device/device.h"

namespace {

// The time that passes, or with --cpu-time that of the processor, for a busy machine; it counts all threads.
bool cpu_time = false;

double now()
{
    timespec time;
    clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_since(double start)
{
    return now() - start;
}

// splitmix64
struct random_source {
    uint64_t state;
    uint64_t next()
    {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    uint64_t below(uint64_t bound) { return next() % bound; }
};

// --- keys ------------------------------------------------------------------------------------------------------------

std::string random_bytes(random_source &random, size_t n)
{
    std::string key(n, '\0');
    for (size_t i = 0; i < n; i++) key[i] = static_cast<char>(random.next());
    return key;
}

std::string big_endian(uint64_t number, size_t n)
{
    std::string key(n, '\0');
    for (size_t i = n < 8 ? 0 : n - 8; i < n; i++) key[i] = static_cast<char>(number >> (8 * (n - 1 - i)));
    return key;
}

const char *const words[] = {"index", "search", "product", "user",  "item",   "archive", "images", "news",
                             "blog",  "static", "media",   "about", "forum",  "thread",  "tag",    "category",
                             "shop",  "order",  "report",  "data",  "public", "files",   "page",   "list"};

// 20 to 80 bytes, on some thousand hosts, of which few have most pages.
std::string url(random_source &random)
{
    const uint64_t skewed = random.below(4096) & random.below(4096);
    std::string key = "https://www.";
    key += words[skewed % 24];
    key += std::to_string(skewed);
    key += ".example.org/";
    for (uint64_t parts = random.below(4); parts > 0; parts--) {
        key += words[random.below(24)];
        key += '/';
    }
    key += std::to_string(random.below(1u << 26));
    return key;
}

std::string key_of(const std::string &pattern, random_source &random, uint64_t i)
{
    if (pattern == "random32") return random_bytes(random, 32);
    if (pattern == "random16") return random_bytes(random, 16);
    if (pattern == "random8") return random_bytes(random, 8);
    if (pattern == "url") return url(random);
    if (pattern == "ordered") return big_endian(i, 16);
    if (pattern == "uuid7") return big_endian(1700000000000u + i / 16, 6) + random_bytes(random, 10);
    if (pattern == "tenant") return big_endian(random.below(1000), 8) + big_endian(1700000000000000u + i, 8);
    if (pattern == "prefix") return "all/of/these/keys/have/one/prefix/" + big_endian(random.next(), 8);
    if (pattern == "words") return std::string(words[random.below(24)]) + std::to_string(random.below(1u << 24));
    fprintf(stderr, "unknown pattern %s\n", pattern.c_str());
    exit(2);
}

std::vector<std::string> make_keys(const std::string &pattern, uint64_t n)
{
    random_source random{42};
    std::vector<std::string> keys;
    keys.reserve(n);
    for (uint64_t i = 0; i < n; i++) keys.push_back(key_of(pattern, random, i));
    return keys;
}

// An array of keys as copse takes them.
struct key_array {
    std::string data;
    std::vector<int64_t> offsets{0};
    copse_bytes bytes{};
    void add(std::string_view key)
    {
        data += key;
        offsets.push_back(static_cast<int64_t>(data.size()));
    }
    const copse_bytes *take()
    {
        const copse_bytes made = COPSE_BYTES_INIT(&data[0], data.size(), offsets.data(), 64);
        bytes = made;
        return &bytes;
    }
    uint64_t n() const { return offsets.size() - 1; }
};

void must(copse_ctx *ctx, copse_status status)
{
    if (status == COPSE_OK) return;
    fprintf(stderr, "%s\n", copse_last_error(ctx));
    exit(1);
}

// --- measuring -------------------------------------------------------------------------------------------------------

struct options {
    std::string pattern = "random32", structure = "radix";
    uint64_t n = 1u << 20, queries = 1u << 20, batch = 1u << 20;
    unsigned threads = 1, prefix = 4;
    copse_placement placement = COPSE_PLACEMENT_CPU;
    const char *memory = "host";
    bool peer = true, inserts = true;
};

void report(const options &o, const char *structure, const char *op, uint64_t operations, double seconds, double extra)
{
    printf(
        "{\"structure\": \"%s\", \"placement\": \"%s\", \"memory\": \"%s\", \"pattern\": \"%s\", \"n\": %llu, \"op\": "
        "\"%s\", \"batch\": %llu, \"threads\": %u, \"mops\": %.3f, \"ns_per_op\": %.1f, \"extra_bytes_per_key\": "
        "%.2f}\n",
        structure, copse_placement_name(o.placement), o.memory, o.pattern.c_str(), static_cast<unsigned long long>(o.n),
        op, static_cast<unsigned long long>(o.batch), o.threads, static_cast<double>(operations) / seconds / 1e6,
        seconds * 1e9 / static_cast<double>(operations), extra);
    fflush(stdout);
}

double extra_bytes(const copse_index *index)
{
    copse_stats stats = {};
    stats.struct_size = sizeof stats;
    must(nullptr, copse_index_stats(index, &stats));
    copse_bytes size = COPSE_BYTES_INIT(nullptr, 0, nullptr, 64);
    must(nullptr, copse_export(index, &size, nullptr, 0));
    const uint64_t own = size.needed + 8 * stats.entries;
    return (static_cast<double>(stats.bytes) - static_cast<double>(own)) / static_cast<double>(stats.entries);
}

copse_index *index_make(copse_ctx *ctx, const options &o)
{
    copse_index_options shape = COPSE_INDEX_OPTIONS_INIT;
    copse_index *index = nullptr;
    copse_structure structure = COPSE_STRUCTURE_AUTO;
    must(ctx, copse_structure_parse(o.structure.c_str(), &structure));
    shape.key_type = COPSE_BYTES;
    shape.structure = structure;
    shape.placement = o.placement;
    must(ctx, copse_index_create(ctx, &shape, &index));
    return index;
}

// --- arrays in device memory and in pinned host memory ----------------------------------------------------------------

struct placed_array {
    copse_device *device = nullptr;
    bool pinned = false;
    uint64_t bytes = 0;
    void *memory = nullptr;

    placed_array(copse_device *of, bool pin, const void *from, uint64_t size) : device(of), pinned(pin), bytes(size)
    {
        if (pinned)
            memory = device->backend->pinned_alloc(device, bytes);
        else
            must(device->ctx, copse_device_alloc(device, device->main, bytes, "the benchmark", &memory));
        if (from) copy(memory, from);
    }
    placed_array(const placed_array &) = delete;
    placed_array &operator=(const placed_array &) = delete;
    ~placed_array()
    {
        if (pinned)
            device->backend->pinned_free(device, memory, bytes);
        else
            copse_device_free(device, device->main, memory, bytes);
    }
    void copy(void *to, const void *from)
    {
        must(device->ctx, copse_device_copy(device, device->main, to, from, bytes));
        must(device->ctx, copse_device_wait(device, device->main));
    }
};

struct placed_keys {
    placed_array data, offsets;
    copse_bytes bytes{};
    placed_keys(copse_device *device, bool pinned, key_array &keys)
        : data(device, pinned, keys.data.data(), keys.data.size()),
          offsets(device, pinned, keys.offsets.data(), keys.offsets.size() * sizeof(int64_t))
    {
        const copse_bytes made = COPSE_BYTES_INIT(data.memory, data.bytes, offsets.memory, 64);
        bytes = made;
    }
};

void check_values(const std::vector<std::string> &keys, const std::vector<uint64_t> &queries, placed_array &values,
                  placed_array &found)
{
    std::vector<uint64_t> got(queries.size());
    std::vector<uint8_t> there(queries.size());
    values.copy(got.data(), values.memory);
    found.copy(there.data(), found.memory);
    for (size_t i = 0; i < queries.size(); i++)
        if (!there[i] || keys[got[i]] != keys[queries[i]]) {
            fprintf(stderr, "query %zu has a wrong answer\n", i);
            exit(3);
        }
}

template <typename work> double best_of(int turns, work run)
{
    double best = 1e9;
    for (int turn = 0; turn < turns; turn++) {
        const double start = now();
        run();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

void measure_placed(copse_ctx *ctx, const options &o, copse_index *index, const std::vector<std::string> &keys,
                    const std::vector<uint64_t> &queries, key_array &asked, bool pinned)
{
    options said = o;
    said.memory = pinned ? "pinned" : "device";
    copse_device *device = nullptr;
    must(ctx, copse_device_get(ctx, o.placement, &device));
    placed_keys there(device, pinned, asked);
    placed_array values(device, pinned, nullptr, queries.size() * 8), found(device, pinned, nullptr, queries.size());
    double best = best_of(5, [&] {
        must(ctx, copse_find(index, &there.bytes, asked.n(), values.memory, static_cast<uint8_t *>(found.memory)));
    });
    check_values(keys, queries, values, found);
    report(said, o.structure.c_str(), "find", asked.n(), best, 0);
    key_array prefixes;
    const uint64_t ranges_n = std::min<uint64_t>(queries.size(), 1u << 20);
    for (uint64_t i = 0; i < ranges_n; i++)
        prefixes.add(std::string_view(keys[queries[i]]).substr(0, std::min<size_t>(o.prefix, keys[queries[i]].size())));
    placed_keys ends(device, pinned, prefixes);
    placed_array counts(device, pinned, nullptr, ranges_n * 8);
    copse_ranges ranges = COPSE_BETWEEN(&ends.bytes, nullptr, ranges_n);
    ranges.flags = COPSE_RANGE_PREFIX;
    best = best_of(5, [&] { must(ctx, copse_count(index, &ranges, static_cast<uint64_t *>(counts.memory))); });
    report(said, o.structure.c_str(), "prefix count", ranges_n, best, 0);
    std::vector<uint64_t> got(ranges_n);
    counts.copy(got.data(), counts.memory);
    for (uint64_t i = 0; i < ranges_n; i++)
        if (got[i] == 0) exit(3);
    // Upserts leave every value as it is: the number of the key, or of an equal one.
    placed_array same(device, pinned, nullptr, queries.size() * 8);
    same.copy(same.memory, queries.data());
    const uint64_t batch = std::min<uint64_t>(o.batch, queries.size());
    best = best_of(3, [&] { must(ctx, copse_insert(index, &there.bytes, same.memory, batch, 0, nullptr)); });
    report(said, o.structure.c_str(), "upsert", batch, best, 0);
    must(ctx, copse_find(index, &there.bytes, asked.n(), values.memory, static_cast<uint8_t *>(found.memory)));
    check_values(keys, queries, values, found);
}

void measure_copse(copse_ctx *ctx, const options &o, const std::vector<std::string> &keys,
                   const std::vector<uint64_t> &queries)
{
    copse_index *index = index_make(ctx, o);
    key_array all, asked;
    for (const std::string &key : keys) all.add(key);
    for (uint64_t q : queries) asked.add(keys[q]);
    double start = now();
    must(ctx, copse_build(index, all.take(), nullptr, all.n()));
    report(o, o.structure.c_str(), "build", all.n(), seconds_since(start), extra_bytes(index));
    std::vector<uint64_t> values(queries.size());
    std::vector<uint8_t> found(queries.size());
    double best = 1e9;
    for (int turn = 0; turn < 3; turn++) {
        start = now();
        must(ctx, copse_find(index, asked.take(), asked.n(), values.data(), found.data()));
        best = std::min(best, seconds_since(start));
    }
    for (size_t i = 0; i < queries.size(); i++)
        if (!found[i] || keys[values[i]] != keys[queries[i]]) exit(3);
    report(o, o.structure.c_str(), "find", asked.n(), best, extra_bytes(index));
    if (o.placement != COPSE_PLACEMENT_CPU) {
        measure_placed(ctx, o, index, keys, queries, asked, false);
        measure_placed(ctx, o, index, keys, queries, asked, true);
    }
    copse_index_free(index);
}

// Every 16th key has the number of itself, or of an equal one.
void check_inserted(copse_ctx *ctx, copse_index *index, const std::vector<std::string> &keys)
{
    key_array some;
    for (uint64_t i = 0; i < keys.size(); i += 16) some.add(keys[i]);
    std::vector<uint64_t> values(some.n());
    std::vector<uint8_t> found(some.n());
    must(ctx, copse_find(index, some.take(), some.n(), values.data(), found.data()));
    for (uint64_t i = 0; i < some.n(); i++)
        if (!found[i] || keys[values[i]] != keys[16 * i]) {
            fprintf(stderr, "key %llu has a wrong value\n", 16 * static_cast<unsigned long long>(i));
            exit(3);
        }
}

double insert_call(copse_ctx *ctx, copse_index *index, const copse_bytes *keys, const void *values, uint64_t n)
{
    const double start = now();
    must(ctx, copse_insert(index, keys, values, n, 0, nullptr));
    return seconds_since(start);
}

// The same from device memory: keys, and as values their numbers.
double insert_placed(copse_ctx *ctx, const options &o, copse_index *index, key_array &keys, uint64_t first)
{
    copse_device *device = nullptr;
    must(ctx, copse_device_get(ctx, o.placement, &device));
    std::vector<uint64_t> numbers(keys.n());
    for (uint64_t i = 0; i < numbers.size(); i++) numbers[i] = first + i;
    placed_keys there(device, false, keys);
    placed_array values(device, false, numbers.data(), numbers.size() * 8);
    return insert_call(ctx, index, &there.bytes, values.memory, keys.n());
}

void measure_inserts(copse_ctx *ctx, const options &o, const std::vector<std::string> &keys)
{
    copse_index *index = index_make(ctx, o);
    const uint64_t half = keys.size() / 2;
    key_array first;
    for (uint64_t i = 0; i < half; i++) first.add(keys[i]);
    must(ctx, copse_build(index, first.take(), nullptr, first.n()));
    std::vector<double> calls;
    double total = 0;
    for (uint64_t at = half; at < keys.size(); at += o.batch) {
        key_array some;
        for (uint64_t i = at; i < keys.size() && i < at + o.batch; i++) some.add(keys[i]);
        calls.push_back(o.placement == COPSE_PLACEMENT_CPU ? insert_call(ctx, index, some.take(), nullptr, some.n())
                                                           : insert_placed(ctx, o, index, some, at));
        total += calls.back();
    }
    std::sort(calls.begin(), calls.end());
    if (o.placement != COPSE_PLACEMENT_CPU) check_inserted(ctx, index, keys);
    report(o, o.structure.c_str(), "insert", keys.size() - half, total, extra_bytes(index));
    printf("{\"calls\": %zu, \"us_call_median\": %.1f, \"us_call_worst\": %.1f}\n", calls.size(),
           calls[calls.size() / 2] * 1e6, calls.back() * 1e6);
    copse_index_free(index);
}

#ifdef COPSE_HAVE_ABSL
void measure_peer(const options &o, const std::vector<std::string> &keys, const std::vector<uint64_t> &queries)
{
    absl::btree_map<std::string, uint64_t> map;
    double start = now();
    for (uint64_t i = 0; i < keys.size(); i++) map.insert_or_assign(keys[i], i);
    report(o, "absl::btree_map", "insert", keys.size(), seconds_since(start), 0);
    key_array asked; // the same flat array that copse reads
    for (uint64_t q : queries) asked.add(keys[q]);
    double best = 1e9;
    uint64_t sum = 0;
    for (int turn = 0; turn < 3; turn++) {
        start = now();
        for (uint64_t i = 0; i < asked.n(); i++) {
            const auto at = static_cast<size_t>(asked.offsets[i]);
            const absl::string_view key(&asked.data[at], static_cast<size_t>(asked.offsets[i + 1]) - at);
            const auto it = map.find(key);
            if (it != map.end()) sum += it->second;
        }
        best = std::min(best, seconds_since(start));
    }
    if (sum == 1) printf("\n"); // it has to be computed
    report(o, "absl::btree_map", "find", asked.n(), best, 0);
}
#else
void measure_peer(const options &, const std::vector<std::string> &, const std::vector<uint64_t> &) {}
#endif

} // namespace

int main(int count, char **argv)
{
    options o;
    for (int i = 1; i < count; i++) {
        const std::string word = argv[i];
        const char *value = i + 1 < count ? argv[i + 1] : "";
        if (word == "--no-peer") {
            o.peer = false;
            continue;
        }
        if (word == "--cpu-time") {
            cpu_time = true;
            continue;
        }
        if (word == "--no-inserts") {
            o.inserts = false;
            continue;
        }
        i++;
        if (word == "--pattern") o.pattern = value;
        if (word == "--structure") o.structure = value;
        if (word == "--placement") must(nullptr, copse_placement_parse(value, &o.placement));
        if (word == "--prefix") o.prefix = static_cast<unsigned>(strtoul(value, nullptr, 10));
        if (word == "--n") o.n = strtoull(value, nullptr, 10);
        if (word == "--queries") o.queries = strtoull(value, nullptr, 10);
        if (word == "--batch") o.batch = strtoull(value, nullptr, 10);
        if (word == "--threads") o.threads = static_cast<unsigned>(strtoul(value, nullptr, 10));
    }
    const std::vector<std::string> keys = make_keys(o.pattern, o.n);
    random_source random{7};
    std::vector<uint64_t> queries(o.queries);
    for (uint64_t &q : queries) q = random.below(keys.size());
    copse_ctx_options shape = COPSE_CTX_OPTIONS_INIT;
    copse_ctx *ctx = nullptr;
    shape.threads = o.threads;
    must(nullptr, copse_ctx_create(&shape, &ctx));
    measure_copse(ctx, o, keys, queries);
    if (o.inserts) measure_inserts(ctx, o, keys);
    copse_ctx_free(ctx);
    if (o.peer) measure_peer(o, keys, queries);
    return 0;
}
