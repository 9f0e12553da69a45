# shellcheck shell=sh disable=SC2154,SC2034
# The measurements of bench/standard on the CPU. It defines measure, begin and the settings that are used here.

if [ "$quick" = yes ]; then
    large=2^20 sizes=2^12,2^14,2^16,2^18,2^20 middle=2^16 repeat=3 queries=2^18
    grown='--n 2^16 --queries 960K --batch 64K'
else
    large=2^24 sizes=2^12,2^14,2^16,2^18,2^20,2^22,2^24 middle=2^22 repeat=5 queries=2^20
    grown='--n 2^20 --queries 15M --batch 1M'
fi
[ -n "$parts" ] || parts=promises,sizes,ops,isa,pages,pipeline,dists,batches

# Those that the promises speak of, and the baseline; all others are in `sizes`, as they make the rest last hours.
ours=implicit,regular,sorted
every=$("$command" bench --n 1 --queries 1 --repeat 1 --placement cpu --json |
    sed -n 's/.*"structure": *"\([^"]*\)".*/\1/p' | paste -sd, -)
# Those that walk down nodes with the instructions of the machine, many queries in flight.
walked=implicit,regular
trees=std::map,absl::btree_map
all=std::map,sorted-array,absl::btree_map

if begin promises; then
    measure promises --n $large --structure "$ours" --threads 1,2 --peers $trees --op find,range10,range100
    measure promises --n $large --structure "$ours" --threads 1 --queries 1000000 \
        --op find,count,count-narrow,sum,sum-narrow
    measure promises --n $large --structure "$ours" --threads 1 --peers absl::btree_map --op find --key u32 --value u32
    measure promises --n $large --structure "$ours" --threads 1,2 --peers absl::btree_map --op insert
    measure promises --n $large --structure "$ours" --threads 2 --op build,build-sorted
    # shellcheck disable=SC2086
    measure promises $grown --structure regular --threads 2 --op insert --repeat 1
fi
if begin sizes; then
    measure sizes --n $sizes --structure "$every" --threads 1 --peers $all --op find
    measure sizes --n $sizes --structure "$ours" --threads 1 --peers absl::btree_map,sorted-array --op find \
        --key u32 --value u32
fi
if begin ops; then
    measure ops --n $large --structure "$ours" --threads 1 --peers absl::btree_map --repeat 3 \
        --op find,miss,contains,lower-bound,successor,predecessor,range10,range100,visit,export
    measure ops --n $large --structure "$ours" --threads 1 --peers absl::btree_map --repeat 3 \
        --op range1000 --queries 2^15
    measure ops --n $large --structure "$ours" --threads 1 --peers absl::btree_map --repeat 3 \
        --op build-sorted,build,insert,update,erase
    measure ops --n $large --structure "$ours" --threads 1 --repeat 3 --op rank,count,sum,min,max,avg,save,load
fi
if begin isa; then
    measure isa --n 2^16,$large --structure $walked --threads 1 --isa all --op find,range10,count
    measure isa --n 2^16,$large --structure $walked --threads 1 --isa all --op find --key u32 --value u32
fi
if begin pages; then
    measure pages --n $large --structure $walked --threads 1 --huge-pages on,off --op find,range10,count
fi
if begin pipeline; then
    depths=1,2,4,8,16,32,64,128
    measure pipeline --n $large --structure $walked --threads 1 --pipeline $depths --op find
    measure pipeline --n $large --structure $walked --threads 1 --pipeline $depths --op find --key u32 --value u32
fi
if begin dists; then
    measure dists --n $middle --structure "$ours" --threads 1 --peers absl::btree_map --dist all --op find,build,insert \
        --queries 256K --repeat 3
fi
if begin batches; then
    measure batches --n $large --structure "$ours" --threads 1 --batch 1,4,16,64,256,4096,65536,all --op find --repeat 3
fi

# shellcheck source-path=SCRIPTDIR
. "$here/standard_patterns.sh"
# shellcheck source-path=SCRIPTDIR
. "$here/standard_orders.sh"
