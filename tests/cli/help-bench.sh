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
copse bench --placement emulated --n 2^6 --queries 2^5 --repeat 1 | tail -1
try bench --structure regular --placement emulated --n 10 --json
