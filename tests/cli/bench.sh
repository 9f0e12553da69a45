# Ctrl-C: the results so far as valid JSON, no temporary file, the exit code of an interrupted program.
mkdir temporary
export TMPDIR=$PWD/temporary
bench() {
    timeout --foreground --preserve-status -s INT 4 "$COPSE" bench --n 2^12 --op find:2^10,save,find:2^20 --repeat 1000 --structure implicit --placement cpu "$@"
}
bench --json >out
echo "exit $?"
tail -n 1 out | grep -vq '"repeat": 1000,' && echo "results of less than all turns"
grep -v '^{"structure": "implicit".*"wrong": 0.*}$' out
bench >out
echo "exit $?"
grep -q '^  implicit ' out && echo results
tail -n 1 out | sed 's/^[0-9,]* /N /'
ls -A temporary
# A call that takes minutes ends, too.
start=$SECONDS
timeout --foreground --preserve-status -s TERM 2 "$COPSE" bench --json --n 2^12 --op find:2^22 --repeat 1 --structure implicit --placement emulated --threads 1
echo "exit $?"
[ $((SECONDS - start)) -lt 10 ] && echo soon
# Progress, where it is asked for, also without a terminal.
copse bench --n 2^10 --queries 2^10 --op find --repeat 1 --structure implicit --placement cpu --progress 2>&1 >/dev/null | head -n 1
# A peer that is not there says what to do.
for peer in std::map sorted-array absl::btree_map stx::btree_map thrust::lower_bound cub::sort; do
    copse bench --n 2^10 --queries 2^10 --repeat 1 --structure implicit --placement cpu --peers $peer 2>&1 >/dev/null |
        grep 'not built in' | grep -v 'not built in: .*-DCOPSE_'
done
true
