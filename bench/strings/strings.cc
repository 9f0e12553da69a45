// Byte strings as keys: the trees of copse and absl::btree_map<std::string> side by side, in one run.
#ifdef COPSE_HAVE_ABSL // else there is no peer
#include <absl/container/btree_map.h>
#include <absl/strings/string_view.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "copse.h"
#include "device/device.h"

namespace {

const char usage[] =
    "usage: bench_strings [--preset NAME [--scale N]] [--pattern NAME] [--n N] [--queries N] [--batch N]\n"
    "                     [--new N] [--calls N] [--turns N] [--ops LIST] [--prefix N] [--structure NAME]\n"
    "                     [--placement cpu|gpu|emulated] [--threads N] [--zipf] [--long PERCENT]\n"
    "                     [--long-keys auto|card|linked|cpu] [--peer] [--cpu-time]\n"
    "Measures byte strings as keys. Each line is a JSON object; answers are checked. On a device arrays are\n"
    "in device memory.\n"
    "  --preset    an experiment of the paper (size, length, batch, threads, long, updates, data), bars (what\n"
    "              has to be kept, of a device or of the CPU) or patterns; --scale N divides its sizes by 2^N\n"
    "  --pattern   random4 .. random32, u64 (keys of fixed width), dense, ordered, url, iri, uuid, uuid7,\n"
    "              tenant, prefix, words\n"
    "  --ops       a list of: build; find (keys that are there, in random order); pinned (finds, arrays in\n"
    "              pinned host memory); upsert (of keys that are there, in calls of --batch); prefix (counts\n"
    "              of the keys with the first --prefix bytes of each query); insert (--new keys behind the\n"
    "              first n of the pattern, in at most --calls calls of --batch); erase (those again)\n"
    "  --turns     insert so often into a tree that was just built; the time of a call is its least\n"
    "  --zipf      few keys take most queries\n"
    "  --long      percent of keys with more than 32 bytes; --long-keys: where a tree on a device has them\n"
    "  --peer      absl::btree_map<std::string> in the same run, where it is built in\n"
    "  --cpu-time  the time of the processor, of all threads, for a busy machine\n";

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

// What looking at the clock takes: most of the time of a short call, where it is the processor's.
double clock_seconds()
{
    double least = 1;
    for (int i = 0; i < 1000; i++) least = std::min(least, seconds_since(now()));
    return least;
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

// Runs work(first, last) over 0 .. n on all processors.
template <typename work> void everywhere(uint64_t n, work run)
{
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; t++) all.emplace_back([=] { run(n * t / threads, n * (t + 1) / threads); });
    for (std::thread &one : all) one.join();
}

// --- keys ------------------------------------------------------------------------------------------------------------

constexpr size_t longest = 256;

struct shape {
    std::string pattern = "random32";
    unsigned long_percent = 0; // of keys get 40 to 120 bytes more
};

size_t put_number(char *to, uint64_t number, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = static_cast<char>(n - 1 - i < 8 ? number >> (8 * (n - 1 - i)) : 0);
    return n;
}

size_t put_random(char *to, random_source &random, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t bytes = random.next();
        memcpy(to + i, &bytes, std::min<size_t>(8, n - i));
    }
    return n;
}

size_t put_text(char *to, const char *text)
{
    const size_t n = strlen(text);
    memcpy(to, text, n);
    return n;
}

size_t put_decimal(char *to, uint64_t number)
{
    return static_cast<size_t>(snprintf(to, 24, "%llu", static_cast<unsigned long long>(number)));
}

const char *const words[] = {"index", "search", "product", "user",  "item",   "archive", "images", "news",
                             "blog",  "static", "media",   "about", "forum",  "thread",  "tag",    "category",
                             "shop",  "order",  "report",  "data",  "public", "files",   "page",   "list"};

// 20 to 80 bytes, on some thousand hosts, of which few have most pages.
size_t put_url(char *to, random_source &random)
{
    const uint64_t skewed = random.below(4096) & random.below(4096);
    size_t n = put_text(to, "https://www.");
    n += put_text(to + n, words[skewed % 24]);
    n += put_decimal(to + n, skewed);
    n += put_text(to + n, ".example.org/");
    for (uint64_t parts = random.below(4); parts > 0; parts--) {
        n += put_text(to + n, words[random.below(24)]);
        to[n++] = '/';
    }
    return n + put_decimal(to + n, random.below(1u << 26));
}

// Four to seven syllables.
size_t put_word(char *to, random_source &random)
{
    size_t n = 0;
    for (uint64_t syllables = 4 + random.below(4); syllables > 0; syllables--) {
        to[n++] = "bdfgklmnprstvwz"[random.below(15)];
        to[n++] = "aeiou"[random.below(5)];
    }
    return n;
}

// As in graphs of knowledge: few namespaces, long shared beginnings.
size_t put_iri(char *to, random_source &random)
{
    size_t n = put_text(to, "http://example.org/ontology/");
    n += put_text(to + n, words[random.below(8)]);
    to[n++] = '#';
    n += put_text(to + n, words[random.below(24)]);
    to[n++] = '_';
    return n + put_decimal(to + n, random.below(1u << 28));
}

size_t put_key(const shape &of, uint64_t i, char *to)
{
    random_source random{i * 0x2545f4914f6cdd1du + 42};
    const std::string &p = of.pattern;
    size_t n = 0;
    if (p.compare(0, 6, "random") == 0)
        n = put_random(to, random, strtoul(p.c_str() + 6, nullptr, 10));
    else if (p == "u64")
        n = put_random(to, random, 8);
    else if (p == "url")
        n = put_url(to, random);
    else if (p == "iri")
        n = put_iri(to, random);
    else if (p == "dense")
        n = put_number(to, i, 8);
    else if (p == "ordered")
        n = put_number(to, i, 16);
    else if (p == "uuid")
        n = put_random(to, random, 16);
    else if (p == "uuid7")
        n = put_number(to, 1700000000000u + i / 16, 6), n += put_random(to + n, random, 10);
    else if (p == "tenant")
        n = put_number(to, random.below(1000), 8), n += put_number(to + n, 1700000000000000u + i, 8);
    else if (p == "prefix")
        n = put_text(to, "all/of/these/keys/have/one/prefix/"), n += put_number(to + n, random.next(), 8);
    else if (p == "words")
        n = put_word(to, random);
    else {
        fprintf(stderr, "unknown pattern %s\n", p.c_str());
        exit(2);
    }
    if (of.long_percent && random.below(100) < of.long_percent) n += put_random(to + n, random, 40 + random.below(81));
    return n;
}

// An array of keys as copse takes them.
struct key_array {
    std::vector<char> data;
    std::vector<int64_t> offsets{0};
    copse_bytes bytes{};
    const copse_bytes *take()
    {
        const copse_bytes made = COPSE_BYTES_INIT(data.data(), data.size(), offsets.data(), 64);
        bytes = made;
        return &bytes;
    }
    uint64_t n() const { return offsets.size() - 1; }
    std::string_view key(uint64_t i) const
    {
        return {data.data() + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
    }
};

// n keys, of which `put` writes number i and returns its length.
template <typename putter> key_array make_array(uint64_t n, putter put)
{
    key_array made;
    made.offsets.resize(n + 1);
    int64_t *offsets = made.offsets.data();
    everywhere(n, [=](uint64_t first, uint64_t last) {
        char key[longest];
        for (uint64_t i = first; i < last; i++) offsets[i + 1] = static_cast<int64_t>(put(i, key));
    });
    for (uint64_t i = 0; i < n; i++) offsets[i + 1] += offsets[i];
    made.data.resize(static_cast<size_t>(offsets[n]));
    char *data = made.data.data();
    everywhere(n, [=](uint64_t first, uint64_t last) {
        char key[longest];
        for (uint64_t i = first; i < last; i++) {
            const size_t length = put(i, key);
            memcpy(data + offsets[i], key, length);
        }
    });
    return made;
}

void must(copse_ctx *ctx, copse_status status)
{
    if (status == COPSE_OK) return;
    fprintf(stderr, "%s\n", copse_last_error(ctx));
    exit(1);
}

// --- measuring -------------------------------------------------------------------------------------------------------

struct options {
    shape keys;
    std::string structure = "radix", preset, ops = "build,find,insert";
    uint64_t n = 1u << 20, queries = 1u << 20, batch = 1u << 20, fresh = 1u << 20, calls = 1u << 20;
    unsigned threads = 1, prefix = 4, scale = 0, turns = 1;
    unsigned way = COPSE_LONG_KEYS_AUTO;
    copse_placement placement = COPSE_PLACEMENT_CPU;
    bool peer = false, zipf = false;
    bool wants(const char *op) const
    {
        return ("," + ops + ",").find("," + std::string(op) + ",") != std::string::npos;
    }
    bool on_device() const { return placement != COPSE_PLACEMENT_CPU; }
};

const char *const way_names[] = {"auto", "card", "linked", "cpu"}; // copse_long_keys

void report(const options &o, const char *structure, const char *memory, const char *op, uint64_t operations,
            double seconds, const std::string &more = "")
{
    printf(
        "{\"preset\": \"%s\", \"structure\": \"%s\", \"placement\": \"%s\", \"memory\": \"%s\", \"pattern\": \"%s\", "
        "\"zipf\": %d, \"long_percent\": %u, \"long_keys\": \"%s\", \"n\": %llu, \"op\": \"%s\", \"batch\": %llu, "
        "\"threads\": %u, "
        "\"mops\": %.3f, \"ns_per_op\": %.2f%s}\n",
        o.preset.c_str(), structure, copse_placement_name(o.placement), memory, o.keys.pattern.c_str(), o.zipf,
        o.keys.long_percent, way_names[o.way], static_cast<unsigned long long>(o.n), op,
        static_cast<unsigned long long>(o.batch), o.threads, static_cast<double>(operations) / seconds / 1e6,
        seconds * 1e9 / static_cast<double>(operations), more.c_str());
    fflush(stdout);
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

// An array where the benchmark wants it: device memory, pinned memory, or the host memory that is given.
struct placed {
    copse_device *device;
    bool pinned;
    uint64_t bytes;
    void *memory;
    placed(copse_device *of, bool pin, const void *from, uint64_t size)
        : device(of), pinned(pin), bytes(size), memory(nullptr)
    {
        if (pinned)
            memory = device->backend->pinned_alloc(device, bytes + 1);
        else
            must(device->ctx, copse_device_alloc(device, device->main, bytes + 1, "the benchmark", &memory));
        if (from) copy(memory, from);
    }
    placed(const placed &) = delete;
    placed &operator=(const placed &) = delete;
    ~placed()
    {
        if (pinned)
            device->backend->pinned_free(device, memory, bytes + 1);
        else
            copse_device_free(device, device->main, memory, bytes + 1);
    }
    void copy(void *to, const void *from)
    {
        must(device->ctx, copse_device_copy(device, device->main, to, from, bytes));
        must(device->ctx, copse_device_wait(device, device->main));
    }
};

// One run: an index, its keys, and who measures.
struct run {
    copse_ctx *ctx = nullptr;
    options o;
    copse_device *device = nullptr;
    copse_index *index = nullptr;
    key_array keys; // all: the first n, and those that come
    std::vector<uint64_t> queries;
    bool fixed() const { return o.keys.pattern == "u64"; }

    // Keys as a call takes them, from memory that is placed or not.
    struct call_keys {
        copse_bytes bytes{};
        const void *fixed = nullptr;
        const void *get() const { return fixed ? fixed : &bytes; }
    };
    call_keys give(const void *data, uint64_t size, const void *offsets) const
    {
        call_keys g;
        if (fixed()) {
            g.fixed = data;
            return g;
        }
        const copse_bytes made = COPSE_BYTES_INIT(const_cast<void *>(data), size, const_cast<void *>(offsets), 64);
        g.bytes = made;
        return g;
    }
    // Calls work(keys) with an array of keys where the memory is to be.
    template <typename work> void with(key_array &array, bool pinned, work use)
    {
        if (!device || (!pinned && !o.on_device())) {
            use(give(array.data.data(), array.data.size(), array.offsets.data()).get());
            return;
        }
        placed data(device, pinned, array.data.data(), array.data.size());
        placed offsets(device, pinned, array.offsets.data(), array.offsets.size() * 8);
        use(give(data.memory, data.bytes, offsets.memory).get());
    }

    void open()
    {
        copse_index_options made = COPSE_INDEX_OPTIONS_INIT;
        copse_structure structure = COPSE_STRUCTURE_AUTO;
        must(ctx, copse_structure_parse(o.structure.c_str(), &structure));
        made.key_type = fixed() ? COPSE_U64 : COPSE_BYTES;
        made.structure = structure;
        made.placement = o.placement;
        made.long_keys = o.way;
        must(ctx, copse_index_create(ctx, &made, &index));
        if (o.on_device()) must(ctx, copse_device_get(ctx, o.placement, &device));
    }
    std::string memory_of(uint64_t data_bytes, uint64_t n) const
    {
        copse_stats stats = {};
        char text[64];
        stats.struct_size = sizeof stats;
        must(ctx, copse_index_stats(index, &stats));
        const double own = static_cast<double>(data_bytes) / static_cast<double>(n) + 8;
        snprintf(text, sizeof text, ", \"extra_bytes_per_key\": %.2f",
                 static_cast<double>(stats.bytes) / static_cast<double>(stats.entries) - own);
        return text;
    }
    void build()
    {
        const shape of = o.keys;
        keys = make_array(o.n + (o.wants("insert") ? o.fresh : 0),
                          [of](uint64_t i, char *to) { return put_key(of, i, to); });
        const double seconds = load();
        report(o, o.structure.c_str(), "own", "build", o.n, seconds,
               memory_of(static_cast<uint64_t>(keys.offsets[o.n]), o.n));
    }
    // The first n keys, and nothing else.
    double load()
    {
        key_array first;
        first.offsets.assign(keys.offsets.begin(), keys.offsets.begin() + static_cast<int64_t>(o.n) + 1);
        first.data.assign(keys.data.begin(), keys.data.begin() + first.offsets.back());
        double seconds = 0;
        with(first, false, [&](const void *given) {
            const double start = now();
            must(ctx, copse_build(index, given, nullptr, o.n));
            seconds = seconds_since(start);
        });
        return seconds;
    }
    void ask()
    {
        random_source random{7};
        queries.resize(o.queries);
        for (uint64_t &q : queries) {
            q = random.below(o.n);
            if (o.zipf) // the rank of a key is n to the power of a random number: few keys take most
                q = static_cast<uint64_t>(
                        std::pow(static_cast<double>(o.n), static_cast<double>(random.next() >> 11) * 0x1p-53)) *
                    0x9e3779b97f4a7c15u % o.n;
        }
    }
    key_array asked(size_t most_bytes)
    {
        const key_array *all = &keys;
        const uint64_t *q = queries.data();
        return make_array(queries.size(), [=](uint64_t i, char *to) {
            const std::string_view key = all->key(q[i]).substr(0, most_bytes);
            memcpy(to, key.data(), key.size());
            return key.size();
        });
    }
    void check(const std::vector<uint64_t> &values, const std::vector<uint8_t> &found)
    {
        for (size_t i = 0; i < queries.size(); i += 7)
            if (!found[i] || keys.key(values[i]) != keys.key(queries[i])) {
                fprintf(stderr, "query %zu has a wrong answer\n", i);
                exit(3);
            }
    }
    void find(bool pinned)
    {
        key_array array = asked(longest);
        std::vector<uint64_t> values(queries.size());
        std::vector<uint8_t> found(queries.size());
        with(array, pinned, [&](const void *given) {
            if (!device) {
                const double best =
                    best_of(3, [&] { must(ctx, copse_find(index, given, array.n(), values.data(), found.data())); });
                report(o, o.structure.c_str(), "host", "find", array.n(), best);
                return;
            }
            placed out(device, pinned, nullptr, array.n() * 8), there(device, pinned, nullptr, array.n());
            const double best = best_of(4, [&] {
                must(ctx, copse_find(index, given, array.n(), out.memory, static_cast<uint8_t *>(there.memory)));
                must(ctx, copse_ctx_synchronize(ctx));
            });
            report(o, o.structure.c_str(), pinned ? "pinned" : "device", "find", array.n(), best);
            out.copy(values.data(), out.memory);
            there.copy(found.data(), there.memory);
        });
        check(values, found);
    }
    void prefix()
    {
        const std::vector<uint64_t> all = queries;
        queries.resize(std::min<uint64_t>(queries.size(), 1u << 20));
        key_array array = asked(o.prefix);
        std::vector<uint64_t> counts(array.n());
        with(array, false, [&](const void *given) {
            copse_ranges ranges = COPSE_BETWEEN(given, nullptr, array.n());
            ranges.flags = COPSE_RANGE_PREFIX;
            if (!device) {
                const double best = best_of(3, [&] { must(ctx, copse_count(index, &ranges, counts.data())); });
                report(o, o.structure.c_str(), "host", "prefix count", array.n(), best);
                return;
            }
            placed out(device, false, nullptr, array.n() * 8);
            const double best =
                best_of(4, [&] { must(ctx, copse_count(index, &ranges, static_cast<uint64_t *>(out.memory))); });
            report(o, o.structure.c_str(), "device", "prefix count", array.n(), best);
            out.copy(counts.data(), out.memory);
        });
        for (uint64_t count : counts)
            if (count == 0) exit(3);
        queries = all;
    }
    // Every value stays as it is: the number of the key, or of an equal one.
    void upsert()
    {
        const std::vector<uint64_t> all = queries;
        queries.resize(std::min<uint64_t>(queries.size(), o.batch));
        key_array array = asked(longest);
        with(array, false, [&](const void *given) {
            const void *values = queries.data();
            auto call = [&] { must(ctx, copse_insert(index, given, values, array.n(), 0, nullptr)); };
            if (!device) {
                report(o, o.structure.c_str(), "host", "upsert", array.n(), best_of(3, call));
                return;
            }
            placed same(device, false, queries.data(), array.n() * 8);
            values = same.memory;
            report(o, o.structure.c_str(), "device", "upsert", array.n(), best_of(5, call));
        });
        queries = all;
    }
    // Keys up to `end` that come in calls of `batch`, or go again: the seconds of each call.
    std::vector<double> change_calls(bool erase, uint64_t end)
    {
        std::vector<double> calls;
        const double clock = clock_seconds();
        for (uint64_t at = o.n; at < end; at += o.batch) {
            const uint64_t n = std::min(o.batch, end - at);
            const key_array *all = &keys;
            key_array array;
            array.offsets.resize(n + 1);
            for (uint64_t i = 0; i <= n; i++) array.offsets[i] = all->offsets[at + i] - all->offsets[at];
            array.data.assign(all->data.begin() + all->offsets[at], all->data.begin() + all->offsets[at + n]);
            std::vector<uint64_t> numbers(n);
            for (uint64_t i = 0; i < n; i++) numbers[i] = at + i;
            with(array, false, [&](const void *given) {
                auto call = [&](const void *values) {
                    const double start = now();
                    must(ctx, erase ? copse_erase(index, given, n, nullptr)
                                    : copse_insert(index, given, values, n, 0, nullptr));
                    calls.push_back(std::max(seconds_since(start) - clock, 1e-9));
                };
                if (!device) return call(numbers.data());
                placed values(device, false, numbers.data(), n * 8);
                call(values.memory);
            });
        }
        return calls;
    }
    void change(bool erase)
    {
        const uint64_t end = std::min(keys.n(), o.n + o.calls * o.batch);
        std::vector<double> calls = change_calls(erase, end);
        if (calls.empty()) return;
        for (unsigned turn = 1; turn < o.turns && !erase; turn++) { // what a call needs, others of the machine do not
            load();
            const std::vector<double> again = change_calls(erase, end);
            for (size_t i = 0; i < calls.size(); i++) calls[i] = std::min(calls[i], again[i]);
        }
        double total = 0;
        for (double one : calls) total += one;
        const double first = calls[0]; // caches have nothing of the code
        if (calls.size() > 1) calls.erase(calls.begin());
        std::sort(calls.begin(), calls.end());
        char more[200];
        snprintf(more, sizeof more,
                 ", \"calls\": %zu, \"us_first\": %.2f, \"us_median\": %.2f, \"us_p99\": %.2f, \"us_worst\": %.2f",
                 calls.size(), first * 1e6, calls[calls.size() / 2] * 1e6, calls[calls.size() * 99 / 100] * 1e6,
                 calls.back() * 1e6);
        const uint64_t bytes = static_cast<uint64_t>(keys.offsets[end]);
        report(o, o.structure.c_str(), device ? "device" : "host", erase ? "erase" : "insert", end - o.n, total,
               more + (erase ? "" : memory_of(bytes, end)));
        if (!erase) check_inserted(end);
    }
    // Every 64th key has the number of itself, or of an equal one.
    void check_inserted(uint64_t end)
    {
        const std::vector<uint64_t> all = queries;
        queries.clear();
        for (uint64_t i = 0; i < end; i += 64) queries.push_back(i);
        key_array array = asked(longest);
        std::vector<uint64_t> values(array.n());
        std::vector<uint8_t> found(array.n());
        must(ctx, copse_find(index, give(array.data.data(), array.data.size(), array.offsets.data()).get(), array.n(),
                             values.data(), found.data()));
        check(values, found);
        queries = all;
    }
#ifdef COPSE_HAVE_ABSL
    void peer()
    {
        absl::btree_map<std::string, uint64_t> map;
        double start = now();
        for (uint64_t i = 0; i < o.n; i++) map.insert_or_assign(std::string(keys.key(i)), i);
        report(o, "absl::btree_map", "host", "insert", o.n, seconds_since(start));
        const key_array array = asked(longest); // the same flat array that copse reads
        uint64_t sum = 0;
        const double best = best_of(3, [&] {
            for (uint64_t i = 0; i < array.n(); i++) {
                const std::string_view key = array.key(i);
                const auto it = map.find(absl::string_view(key.data(), key.size()));
                if (it != map.end()) sum += it->second;
            }
        });
        if (sum == 1) printf("\n"); // it has to be computed
        report(o, "absl::btree_map", "host", "find", array.n(), best);
    }
#else
    void peer() {}
#endif
    void all()
    {
        copse_ctx_options made = COPSE_CTX_OPTIONS_INIT;
        made.threads = o.threads;
        must(nullptr, copse_ctx_create(&made, &ctx));
        open();
        build();
        ask();
        if (o.wants("find")) find(false);
        if (o.wants("pinned") && device) find(true);
        if (o.wants("prefix")) prefix();
        if (o.wants("upsert")) upsert();
        if (o.wants("insert")) change(false);
        if (o.wants("insert") && o.wants("erase")) change(true);
        copse_index_free(index);
        if (o.peer) peer();
        copse_ctx_free(ctx);
    }
};

void run_one(const options &o)
{
    run one;
    one.o = o;
    one.all();
}

// --- presets ---------------------------------------------------------------------------------------------------------

options sized(const options &o, const char *pattern, unsigned log_n, const char *ops)
{
    options made = o;
    made.keys.pattern = pattern;
    made.n = UINT64_C(1) << (log_n > o.scale + 4 ? log_n - o.scale : 4);
    made.queries = std::min<uint64_t>(made.n, (UINT64_C(1) << 24) >> o.scale);
    made.fresh = (UINT64_C(1) << 20) >> o.scale;
    made.batch = made.fresh;
    made.ops = ops;
    return made;
}

void preset_paper(const options &o)
{
    if (o.preset == "size")
        for (unsigned log_n : {16u, 18u, 20u, 22u, 24u, 26u, 28u}) {
            options one = sized(o, "random8", log_n, "build,find");
            if (log_n == 28) one.n = one.n / 16 * 9; // 144 Mi, as many as the paper had
            run_one(one);
        }
    if (o.preset == "length")
        for (unsigned length : {4u, 8u, 12u, 16u, 20u, 24u, 28u, 32u})
            run_one(sized(o, ("random" + std::to_string(length)).c_str(), 22, "build,find"));
    if (o.preset == "batch")
        for (unsigned log_n : {10u, 12u, 14u, 16u, 18u, 20u, 22u}) {
            options one = sized(o, "random16", 22, "build,find,upsert");
            one.queries = one.batch = UINT64_C(1) << log_n >> o.scale;
            run_one(one);
        }
    if (o.preset == "threads")
        for (unsigned threads : {1u, 2u, 4u, 8u, 16u}) {
            options one = sized(o, "random16", 22, "build,find");
            one.threads = threads;
            run_one(one);
        }
    if (o.preset == "long") // on a device all ways of the paper
        for (unsigned way = o.on_device() ? COPSE_LONG_KEYS_CARD : COPSE_LONG_KEYS_AUTO;
             way <= (o.on_device() ? COPSE_LONG_KEYS_CPU : COPSE_LONG_KEYS_AUTO); way++)
            for (unsigned percent : {0u, 1u, 2u, 3u, 4u, 5u}) {
                options one = sized(o, "random32", 22, "build,find,pinned");
                one.keys.long_percent = percent;
                one.way = way;
                run_one(one);
            }
    if (o.preset == "updates")
        for (unsigned log_n : {18u, 20u, 22u, 24u})
            for (unsigned log_batch : {12u, 15u, 18u, 20u}) {
                options one = sized(o, "random16", log_n, "build,upsert,insert,erase");
                one.batch = UINT64_C(1) << log_batch >> o.scale;
                one.fresh = 4 * one.batch;
                run_one(one);
            }
    if (o.preset == "data")
        for (const char *pattern : {"random16", "dense", "url", "iri", "uuid", "words"}) {
            options one = sized(o, pattern, 22, "build,find,prefix");
            const std::string name = pattern;
            one.prefix = name == "dense"                  ? 7
                         : name == "url" || name == "iri" ? 48
                         : name == "words"                ? 10
                                                          : 4; // few keys each
            run_one(one);
        }
}

// On the CPU, one thread, beside the peer.
void preset_bars_of_cpu(const options &o)
{
    const uint64_t queries = UINT64_C(1) << 20 >> o.scale; // of which the peer's take seconds
    for (const char *pattern : {"random32", "url"}) {
        options one = sized(o, pattern, strcmp(pattern, "url") == 0 ? 21 : 23, "build,find");
        one.queries = queries;
        one.peer = true;
        run_one(one);
    }
    for (unsigned percent : {0u, 5u}) {
        options one = sized(o, "random32", 22, "build,find");
        one.queries = queries;
        one.keys.long_percent = percent;
        run_one(one);
    }
}

void preset_bars(const options &o)
{
    if (!o.on_device()) return preset_bars_of_cpu(o);
    options one = sized(o, "random32", 24, "build,find,pinned");
    run_one(one);
    one = sized(o, "u64", 26, "build,find");
    run_one(one);
    one.keys.pattern = "random8";
    run_one(one);
    one = sized(o, "url", 24, "build,find,prefix,insert,erase");
    one.prefix = 40;
    run_one(one);
    one = sized(o, "random16", 24, "build,find,upsert,prefix,insert,erase");
    one.fresh *= 4;
    run_one(one);
    one.ops = "build,upsert";
    one.batch = UINT64_C(1) << 15 >> o.scale;
    run_one(one);
    for (unsigned percent : {0u, 5u}) {
        one = sized(o, "random32", 22, "build,find");
        one.keys.long_percent = percent;
        run_one(one);
    }
}

void preset_patterns(const options &o)
{
    for (const char *pattern : {"random16", "ordered", "uuid7", "tenant", "prefix"})
        for (unsigned log_batch : {0u, 10u, 20u}) {
            options one =
                sized(o, pattern, o.on_device() ? 22 : 21, log_batch == 20 ? "build,find,insert" : "build,insert");
            one.batch = UINT64_C(1) << log_batch;
            if (log_batch == 20) one.batch >>= o.scale;
            one.calls = log_batch == 20 ? 4 : log_batch == 10 ? 100 : 1000;
            one.fresh = one.calls * one.batch;
            if (log_batch == 10) one.batch = 1000;
            if (log_batch == 0 && !o.on_device()) one.turns = 5;
            run_one(one);
        }
    options skewed = sized(o, "random16", o.on_device() ? 22 : 21, "build,find,upsert");
    skewed.zipf = true;
    run_one(skewed);
}

int run_preset(const options &o)
{
    const std::string known = ",size,length,batch,threads,long,updates,data,bars,patterns,";
    if (known.find("," + o.preset + ",") == std::string::npos) {
        fprintf(stderr, "unknown preset %s\n", o.preset.c_str());
        return 2;
    }
    preset_paper(o);
    if (o.preset == "bars") preset_bars(o);
    if (o.preset == "patterns") preset_patterns(o);
    return 0;
}

bool option_set(options &o, const std::string &word, const char *value)
{
    auto number = [&] { return strtoull(value, nullptr, 10); };
    if (word == "--preset")
        o.preset = value;
    else if (word == "--pattern")
        o.keys.pattern = value;
    else if (word == "--long")
        o.keys.long_percent = static_cast<unsigned>(number());
    else if (word == "--long-keys")
        for (o.way = 3; o.way > 0 && strcmp(value, way_names[o.way]) != 0;) o.way--;
    else if (word == "--structure")
        o.structure = value;
    else if (word == "--placement")
        must(nullptr, copse_placement_parse(value, &o.placement));
    else if (word == "--ops")
        o.ops = value;
    else if (word == "--prefix")
        o.prefix = static_cast<unsigned>(number());
    else if (word == "--n")
        o.n = number();
    else if (word == "--queries")
        o.queries = number();
    else if (word == "--batch")
        o.batch = number();
    else if (word == "--new")
        o.fresh = number();
    else if (word == "--calls")
        o.calls = number();
    else if (word == "--turns")
        o.turns = static_cast<unsigned>(number());
    else if (word == "--scale")
        o.scale = static_cast<unsigned>(number());
    else if (word == "--threads")
        o.threads = static_cast<unsigned>(number());
    else
        return false;
    return true;
}

} // namespace

int main(int count, char **argv)
{
    options o;
    for (int i = 1; i < count; i++) {
        const std::string word = argv[i];
        if (word == "--help") {
            printf("%s", usage);
            return 0;
        }
        if (word == "--peer")
            o.peer = true;
        else if (word == "--cpu-time")
            cpu_time = true;
        else if (word == "--zipf")
            o.zipf = true;
        else if (i + 1 == count || !option_set(o, word, argv[++i])) {
            fprintf(stderr, "%s has no value or is no option\n%s", word.c_str(), usage);
            return 2;
        }
    }
    if (!o.preset.empty()) return run_preset(o);
    run_one(o);
    return 0;
}
