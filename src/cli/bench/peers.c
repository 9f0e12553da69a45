/* The peers by name, also those that this build had to leave out. */
#include "cli/bench/bench.h"

#ifdef COPSE_HAVE_PEERS
#define WITH_PEERS(peer) peer
#else
#define WITH_PEERS(peer) NULL
#endif
#if defined(COPSE_HAVE_PEERS) && defined(COPSE_HAVE_ABSL)
#define WITH_ABSL(peer) peer
#else
#define WITH_ABSL(peer) NULL
#endif
#if defined(COPSE_HAVE_PEERS) && defined(COPSE_HAVE_STX)
#define WITH_STX(peer) peer
#else
#define WITH_STX(peer) NULL
#endif
#ifdef COPSE_HAVE_CUDA_PEERS
#define WITH_CUDA(peer) peer
#else
#define WITH_CUDA(peer) NULL
#endif

#define NEEDS_CXX "it takes a C++ compiler and a build of copse with -DCOPSE_PEERS=ON and without sanitizers"
#define NEEDS_CUDA                                                                                                     \
    "it takes the CUDA toolkit, a C++ compiler and a build of copse with -DCOPSE_CUDA=ON -DCOPSE_PEERS=ON"

static const struct {
    const char *name;
    bench_peer_fn peer;
    const char *needs;
} peers[] = {
    {"array", bench_peer_array, ""},
    {"std::map", WITH_PEERS(bench_peer_std_map), NEEDS_CXX},
    {"sorted-array", WITH_PEERS(bench_peer_sorted_array), NEEDS_CXX},
    {"absl::btree_map", WITH_ABSL(bench_peer_absl),
     "install Abseil (libabsl-dev on Debian and Ubuntu, abseil-cpp-devel on Fedora, abseil on Homebrew) and a C++ "
     "compiler, then configure and build copse again with -DCOPSE_PEERS=ON"},
    {"stx::btree_map", WITH_STX(bench_peer_stx),
     "download STX B+ Tree (https://github.com/bingmann/stx-btree), then configure and build copse again with "
     "-DCOPSE_PEERS=ON -DCOPSE_STX_INCLUDE=FOLDER, the one that holds stx/btree_map.h"},
    {"thrust::lower_bound", WITH_CUDA(bench_peer_thrust), NEEDS_CUDA},
    {"cub::sort", WITH_CUDA(bench_peer_cub_sort), NEEDS_CUDA},
};

const char *bench_peer_at(size_t i, bench_peer_fn *out_peer)
{
    if (i >= sizeof peers / sizeof *peers) return NULL;
    if (out_peer != NULL) *out_peer = peers[i].peer;
    return peers[i].name;
}

const char *bench_peer_needs(size_t i)
{
    return peers[i].needs;
}

bool bench_peer_can(const bench_peer *peer, const bench_op *op)
{
    if (bench_op_inserts(op)) return peer->insert != NULL;
    switch (op->code) {
    case BENCH_BUILD:
    case BENCH_BUILD_SORTED:
        return !peer->builds_for_reads;
    case BENCH_ERASE:
        return peer->erase != NULL;
    case BENCH_FIND:
    case BENCH_MISS:
    case BENCH_CONTAINS:
        return peer->find != NULL;
    case BENCH_LOWER_BOUND:
        return peer->lower_bound != NULL;
    case BENCH_SUCCESSOR:
        return peer->successor != NULL;
    case BENCH_PREDECESSOR:
        return peer->predecessor != NULL;
    case BENCH_RANGE:
        return peer->range != NULL;
    case BENCH_COUNT:
        return peer->count != NULL;
    case BENCH_SUM:
        return peer->sum != NULL;
    case BENCH_VISIT:
        return peer->visit != NULL;
    case BENCH_VISIT_SUM:
    case BENCH_VISIT_MAP:
        return peer->pass != NULL;
    case BENCH_EXPORT:
        return !peer->on_device && peer->copy;
    default:
        return false;
    }
}
