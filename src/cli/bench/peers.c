/* The peers by name, also those that this build had to leave out. */
#include "cli/bench/bench.h"

static const struct {
    const char *name;
    bench_peer_fn peer;
} peers[] = {
#ifdef COPSE_HAVE_PEERS
    {"std::map", bench_peer_std_map},           {"sorted-array", bench_peer_sorted_array},
#else
    {"std::map", NULL},
    {"sorted-array", NULL},
#endif
#if defined(COPSE_HAVE_PEERS) && defined(COPSE_HAVE_ABSL)
    {"absl::btree_map", bench_peer_absl},
#else
    {"absl::btree_map", NULL},
#endif
#if defined(COPSE_HAVE_PEERS) && defined(COPSE_HAVE_STX)
    {"stx::btree_map", bench_peer_stx},
#else
    {"stx::btree_map", NULL},
#endif
#ifdef COPSE_HAVE_CUDA_PEERS
    {"thrust::lower_bound", bench_peer_thrust}, {"cub::sort", bench_peer_cub_sort},
#else
    {"thrust::lower_bound", NULL},
    {"cub::sort", NULL},
#endif
};

const char *bench_peer_at(size_t i, bench_peer_fn *out_peer)
{
    if (i >= sizeof peers / sizeof *peers) return NULL;
    if (out_peer != NULL) *out_peer = peers[i].peer;
    return peers[i].name;
}

bool bench_peer_can(const bench_peer *peer, const bench_op *op)
{
    switch (op->code) {
    case BENCH_BUILD:
    case BENCH_BUILD_SORTED:
        return !peer->builds_for_reads;
    case BENCH_FILL:
    case BENCH_INSERT:
    case BENCH_INSERT_NEW:
    case BENCH_UPDATE:
        return peer->insert != NULL;
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
    case BENCH_EXPORT:
        return !peer->on_device;
    default:
        return false;
    }
}
