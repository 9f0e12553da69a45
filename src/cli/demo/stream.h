/* copse demo stream: a sliding window over measurements that arrive in batches. */
#pragma once

#include "cli/cli.h"

typedef struct stream_args {
    uint64_t seconds; /* 0: 10 */
    uint64_t steps;   /* batches; 0: as long as `seconds` says */
    uint64_t batch;   /* measurements of one; 0: 2^16 */
    uint64_t window;  /* measurements that stay; 0: 2^22 */
    uint64_t threads;
    cli_placement where;
    bool json;
    bool no_timing;
    bool quiet;
} stream_args;

/* Returns the exit code. */
int demo_stream(stream_args *args);
