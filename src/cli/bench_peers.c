/* The peers by name, also those that this build had to leave out. */
#include "bench.h"

static const struct {
    const char *name;
    bench_peer_fn peer;
} peers[] = {
#ifdef COPSE_HAVE_PEERS
    {"std::map", bench_peer_std_map},
    {"sorted-array", bench_peer_sorted_array},
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
};

const char *bench_peer_at(size_t i, bench_peer_fn *out_peer)
{
    if (i >= sizeof peers / sizeof *peers) return NULL;
    if (out_peer != NULL) *out_peer = peers[i].peer;
    return peers[i].name;
}
