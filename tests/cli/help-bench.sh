# The text itself belongs to the benchmark; here only that it is there.
copse help bench | head -1
copse bench --help >/dev/null && echo good
# Arrays in every memory. Times differ from run to run, the number of answers does not.
copse bench --structure implicit --placement emulated,cpu --memory device,pinned,pageable --n 2^8 --queries 2^7 \
    --batch 2^5 --calls 2 --repeat 1 --op find,range10,sum,build,erase | tail -1
# What makes no sense is refused.
try bench --structure implicit --placement cpu --memory device --n 10 --json
try bench --memory pined
try bench --transfer staged:0
# Of several structures those that a placement lacks are passed over; one alone is refused.
copse bench --structure implicit,regular --placement emulated --n 2^6 --queries 2^5 --repeat 1 | tail -1
try bench --structure regular --placement emulated --n 10 --json
# Updates: sizes behind an operation, an index that has grown, pairs as they came. Only what does not depend on the clock.
facts() {
    sed -n 's/.*"n": \([0-9]*\).*"entries": \([0-9]*\), "op": "\([^"]*\)", "dist": "\([^"]*\)".*"grown": \([0-9]*\), "queries": \([0-9]*\), "batch": \([0-9]*\).*"calls": \([^,]*\),.*"wrong": \([0-9]*\).*/\3 \4: n \1, entries \2, grown \5, queries \6, batch \7, calls \8, wrong \9/p'
}
copse bench --structure regular --placement cpu --n 2^9 --repeat 2 --threads 1 --json --grown 2^7 \
    --op fill::2^7,insert-new:2^9:2^7,update-hot10,mixed-update-hot1:2^8,mixed:2^8:2^6,erase:2^8,find:100 | facts
copse bench --structure regular --placement cpu --n 2^9 --repeat 1 --json --grown all --query-dist arrival \
    --dist ascending,descending,partly-sorted,shuffled,gaussian --op fill,find | facts
try bench --op insert-new:2^10:0
try bench --op find:
try bench --grown 0
