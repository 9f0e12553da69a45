# shellcheck shell=sh disable=SC2154,SC2034
# The part patterns of bench/standard, on the CPU and on a GPU: inserts of keys that come in order, in a few places, in one gap, and a
# window that slides, beside uniform keys. Each row is COUNT keys, BATCH of them a call. A tree that is made anew by every update gets
# large batches only. COPSE_BENCH_TREES names other trees than the usual ones.

if [ "$gpu" = emulated ]; then
    patterns_n=2^10 patterns_small='2^4:1 2^7:100' patterns_large='2^8:2^7'
elif [ "$quick" = yes ]; then
    patterns_n=2^20 patterns_small='2^12:1 2^14:100 100000:10000' patterns_large='2^18:2^16 2^20:2^20'
elif [ "$gpu" = gpu ]; then
    patterns_n=2^26 patterns_small='2^10:1 12800:100 1280000:10000' patterns_large='2^21:2^16 2^24:2^20'
else
    patterns_n=2^24 patterns_small='2^14:1 2^17:100 1280000:10000' patterns_large='2^22:2^16 2^23:2^20'
fi

if begin patterns; then
    updated=${COPSE_BENCH_TREES:-regular} rebuilt=implicit where=
    [ "$gpu" = no ] || { updated=${COPSE_BENCH_TREES:-blink,bplus} where='--memory device'; }
    # on_patterns TREES SIZES...: every pattern, without and with duplicates.
    on_patterns() {
        trees=$1
        shift
        for size in "$@"; do
            ops=insert-new:$size
            for pattern in append append-shuffled append-late prepend points10 points1000 points100000 gap hot; do
                ops=$ops,insert-$pattern:$size
            done
            for kept in '' --duplicates; do
                # shellcheck disable=SC2086
                measure patterns --structure "$trees" $where --n $patterns_n --repeat 3 --op "$ops,window:$size" $kept
            done
        done
    }
    # shellcheck disable=SC2086
    on_patterns "$updated" $patterns_small
    # shellcheck disable=SC2086
    on_patterns "$updated,$rebuilt" $patterns_large
fi
