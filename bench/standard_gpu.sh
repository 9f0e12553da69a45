# shellcheck shell=sh disable=SC2154,SC2034
# The measurements of bench/standard on a GPU, or with --emulated on the emulator. It defines measure, begin and the
# settings that are used here.

if [ "$gpu" = emulated ]; then
    small=2^8 large=2^12 huge=2^13 sizes=2^6,2^8,2^10 queries=2^10 many=2^11 some=2^10 ranges=2^8 repeat=2
    calls='--batch 2^4,2^6,2^8 --calls 8' batches=2^2,2^4,2^6,2^8,2^10 few_calls=4 moved=2^12 chunks=4K,8K
elif [ "$quick" = yes ]; then
    small=2^16 large=2^22 huge=2^24 sizes=2^16,2^20,2^24 queries=2^24 many=2^25 some=2^22 ranges=2^20 repeat=3
    calls='--batch 2^10,2^14,2^16 --calls 512' batches=2^8,2^12,2^16,2^20,2^24 few_calls=512 moved=2^23 chunks=2M,8M,32M
else
    small=2^20 large=2^26 huge=2^30 sizes=2^16,2^18,2^20,2^22,2^24,2^26,2^28,2^30 queries=2^26 many=2^28 some=2^24
    ranges=2^20 repeat=5 calls='--batch 2^10,2^14,2^16 --calls 4096'
    batches=2^8,2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26 few_calls=4096 moved=2^25
    chunks=512K,1M,2M,4M,8M,16M,32M,64M
fi
[ -n "$parts" ] || parts=promises,sizes,ops,batches,transfer,searchsorted,updates,sequences

# on_gpu FILE OPTIONS...: the implicit tree on the card, arrays in device memory.
on_gpu() {
    part=$1
    shift
    measure "$part" --structure implicit --memory device "$@"
}

# MODE:CHUNK for every chunk size.
with_chunks() {
    echo "$chunks" | tr ',' '\n' | sed "s/^/$1:/" | paste -s -d ,
}

thrust=thrust::lower_bound
[ "$gpu" = gpu ] || thrust=none

if begin promises; then
    sort=$thrust,cub::sort
    [ "$gpu" = gpu ] || sort=none
    on_gpu promises --n $large --key u32 --value u32 --op find,build --peers "$sort"
    on_gpu promises --n $large --op find,build --peers "$sort"
    on_gpu promises --n $huge --op find --peers "$thrust"
    on_gpu promises --n $small --op find --peers "$thrust"
    on_gpu promises --n $large --op find --query-dist sorted --peers "$thrust"
    # shellcheck disable=SC2086
    on_gpu promises --n $large --op find $calls
    on_gpu promises --n $large --op range10 --queries $ranges
    on_gpu promises --n $large --op count,sum --queries $some
    on_gpu promises --n $large --op find --queries $many --memory pinned,pageable
fi
if begin sizes; then
    on_gpu sizes --n $sizes --op find --peers "$thrust" --repeat 3
    on_gpu sizes --n $sizes --op find --peers "$thrust" --repeat 3 --key u32 --value u32
fi
if begin ops; then
    on_gpu ops --n $large --peers "$thrust" --repeat 3 --op find,miss,contains,lower-bound,rank,successor,predecessor
    on_gpu ops --n $large --repeat 3 --op range10,range100,count,sum,min,max,avg --queries $ranges
    on_gpu ops --n $large --repeat 3 --op build,build-sorted,insert,update,erase --queries $ranges
    on_gpu ops --n $large --repeat 3 --op visit,export
fi
if begin batches; then
    measure batches --n $large --structure implicit --placement "$gpu",cpu --memory device,pageable --op find \
        --batch $batches --calls $few_calls --repeat 3
fi
if begin transfer; then
    on_gpu transfer --n $large --op find --repeat 3 --queries $moved --memory pinned --transfer "$(with_chunks auto)"
    for mode in staged registered; do
        on_gpu transfer --n $large --op find --repeat 3 --queries $moved --memory pageable \
            --transfer "$(with_chunks $mode)"
    done
    on_gpu transfer --n $large --op find --repeat 3 --queries $moved --memory pinned,pageable \
        --transfer staged:8M:2,staged:8M:3,staged:8M:4,staged:8M:6,staged:8M:3:streaming
fi
if begin searchsorted; then
    echo "searchsorted.py" >&2
    python3 "$here/searchsorted.py" --n $large --queries $queries >>"$out/searchsorted.jsonl"
fi

# shellcheck source-path=SCRIPTDIR
. "$here/standard_updates.sh"
# shellcheck source-path=SCRIPTDIR
. "$here/standard_patterns.sh"
# shellcheck source-path=SCRIPTDIR
. "$here/standard_orders.sh"
