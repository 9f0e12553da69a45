# The standard measurements of updates, tiny and on the emulator: do they run, and is every row of the table measured?
# Numbers and verdicts differ from run to run, and std::map is not in every build.
export COPSE_BENCH_RESULTS=$PWD COPSE_BENCH_TREES=implicit
standard=$(dirname "${BASH_SOURCE[0]}")/../../bench/standard
"$standard" --emulated --name tiny --only updates,sequences "$COPSE" >table 2>log || cat log
grep '^|' table | grep -v 'std::map' | sed -e 's/| [0-9][0-9.e+-]* [a-zA-Z]* |$/| number |/'
grep -c '"wrong": 0' tiny/updates.jsonl
grep -v '"structure": "std::map"' tiny/sequences.jsonl | grep -c '"wrong": 0'
