# shellcheck shell=sh disable=SC2154,SC2034
# The parts updates and sequences of bench/standard on a GPU: trees that are changed in place. COPSE_BENCH_TREES names
# other trees than the usual two. The clock sees whole calls; what is checked after them, and how, is in README.md.

trees=${COPSE_BENCH_TREES:-blink,bplus}
if [ "$gpu" = emulated ]; then
    full=2^10 asked=2^10 new=2^9 news=2^6,2^7,2^8 few=insert-new:2^7:2^3,insert-new:2^7:2^4,insert-new:2^7:2^5
    existing=2^8 half=2^9 mix=2^8:2^6 rows=2^7 hot=2^8 step=2^7
    lengths=2^6,2^8,2^9 walked=2^6,2^8 walked_far=2^9
elif [ "$quick" = yes ]; then
    full=2^22 asked=2^22 new=2^21 news=2^16,2^18,2^20 few=insert-new:2^18:2^10,insert-new:2^19:2^12,insert-new:2^20:2^14
    existing=2^20 half=2^21 mix=2^20:2^18 rows=2^18 hot=2^20 step=2^16
    lengths=2^10,2^14,2^18,2^21 walked=2^10,2^14,2^18 walked_far=2^21
else
    # New keys: enough of them that a tree that reorganizes itself now and then does so while the clock runs.
    full=2^26 asked=2^26 new=2^25 news=2^20,2^22,2^24
    few=insert-new:2^22:2^10,insert-new:2^24:2^14,insert-new:2^24:2^16
    existing=2^24 half=2^25 mix=2^24:2^22 rows=2^20 hot=2^22 step=2^20
    lengths=2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^25
    walked=2^10,2^12,2^14,2^16,2^18,2^20,2^22 walked_far=2^25
fi

# on_trees FILE TYPE OPTIONS...: the trees on the card, arrays in device memory.
on_trees() {
    part=$1 type=$2
    shift 2
    measure "$part" --structure "$trees" --memory device --key "$type" --value "$type" --repeat 3 "$@"
}

if begin updates; then
    skewed=update-hot1:$hot:all,update-hot10:$hot:all,update-hot1000:$hot:all
    skewed=$skewed,mixed-update-hot1:$hot:all,mixed-update-hot10:$hot:all,mixed-update-hot1000:$hot:all
    mixed=mixed:$mix,mixed-update:$mix
    # The first insert of a process also waits for its kernels to be loaded: that of no row should be it.
    first=insert:$rows:all
    on_trees updates u32 --n $full --batch $news \
        --op $first,find:$asked:all,range10:$rows:all,insert-new:$new,$few,update:$existing:all,erase:$half:all,$mixed,$skewed
    on_trees updates u64 --n $full --batch $news --op $first,find:$asked:all,insert-new:$new,erase:$half:all
    for type in u32 u64; do
        on_trees updates $type --n $full --grown $step --op fill::$step,find:$asked:all
    done
fi

# Sequences of keys, all of them inserted into an empty index in one call and then looked up in the same order, against
# std::map on one thread of the same machine. A sequence of the largest size takes it more than a minute: it is given one
# of them, and looks up no more than the first 2^21 keys.
if begin sequences; then
    sequences=ascending,descending,partly-sorted,shuffled,gaussian
    on_trees sequences u32 --n $lengths --dist $sequences --op fill,find --queries 0 --query-dist arrival --grown all
    on_map() {
        measure sequences --placement cpu --structure none --peers std::map --threads 1 --key u32 --value u32 \
            --op fill,find --queries 0 --peer-queries 2^21 --query-dist arrival --grown all --repeat 1 "$@"
    }
    if "$command" bench --structure none --peers std::map --n 1 --queries 1 --repeat 1 >/dev/null 2>&1; then
        on_map --n $walked --dist $sequences
        on_map --n $walked_far --dist shuffled
    fi
fi
