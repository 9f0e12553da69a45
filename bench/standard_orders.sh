# shellcheck shell=sh disable=SC2154,SC2034
# The part orders of bench/standard, on the CPU where it is named: what the paper of the paged tree measured. Figure 2: the time of a
# build, by the order of pages; figure 3: the time of inserts as the tree grows to 40 million entries; figure 4: searches and visits, by
# the order. A plain array on the device stands beside them: thrust::lower_bound for searches, cub::sort for builds; on the CPU the tree
# `sorted`.

orders_peers='--peers thrust::lower_bound,cub::sort' orders_memory='--memory device'
if [ "$gpu" = no ]; then
    orders_n=2^22 orders_sizes=2^16,2^18,2^20,2^22 orders_inserts='insert-new:2^12:1 insert-new:2^17:2^14'
    orders_queries=2^20 orders_peers='--structure paged,sorted' orders_memory='--threads 1'
    [ "$quick" = no ] || orders_n=2^18 orders_sizes=2^14,2^18 orders_queries=2^16
elif [ "$gpu" = emulated ]; then
    orders_peers=
    orders_n=2^12 orders_sizes=2^8,2^12 orders_inserts='insert-new:16:1 insert-new:2^9:2^8' orders_queries=2^10
elif [ "$quick" = yes ]; then
    orders_n=2^20 orders_sizes=2^16,2^20 orders_inserts='insert-new:2^10:1 insert-new:2^17:2^16' orders_queries=2^20
else
    orders_n=2^24 orders_sizes=2^20,2^22,2^24,40000000 orders_inserts='insert-new:2^12:1 insert-new:2^18:2^16'
    orders_queries=2^24
fi

if begin orders; then
    orders=64,128,256,512,1024,2048,4096,8192,16384
    # shellcheck disable=SC2086
    measure orders --structure paged $orders_memory --n $orders_n --queries $orders_queries --page-order auto,$orders \
        --op build,find,range100,visit $orders_peers
    for inserts in $orders_inserts; do
        # shellcheck disable=SC2086
        measure orders --structure paged $orders_memory --n "$orders_sizes" --op "$inserts" --repeat 1
    done
fi
