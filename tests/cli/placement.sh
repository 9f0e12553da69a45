# The emulated device stands for a card: the same answers, the same exit codes.
make_orders
no_card() {
    sed -E 's/(there is no card 99999): .+/\1: (why)/'
}
try get orders.copse 1001 1004 --placement emulated
try get orders.copse 1004 --strict --placement emulated
try range orders.copse 1002 1009 --placement emulated --device 3
try range orders.copse --limit 2 --placement emulated --json
try count orders.copse 0 1005 --placement emulated
try sum orders.copse --placement emulated
try verify orders.copse --placement emulated
try verify orders.copse --placement emulated --json
try info orders.copse --placement emulated --json | mask
head -c 300 orders.copse >short.copse
try verify short.copse --placement emulated
# Built there, the file is the same, byte for byte.
try build orders.csv -o there.copse --placement emulated --no-timing -q | mask
cmp orders.copse there.copse && echo same
# A snapshot of the regular tree and one with duplicates; the file keeps what it is.
printf 'k,v\n5,1\n3,2\n5,3\n' >twice.csv
copse build twice.csv -o twice.copse --structure regular --duplicates keep -q >/dev/null
try range twice.copse --placement emulated
try info twice.copse --placement emulated | mask
copse build orders.csv -o regular.copse --structure regular --placement emulated -q
echo "exit $?"
# Other data than four rows: the CPU's answers are those of the device.
seq 0 3 30000 | sed 's/$/,2/' | (echo k,v; cat) | copse build - -o many.copse -q >/dev/null
seq 1 7 30000 | awk '{ print $1, $1 + 100 }' >ranges
for command in count sum range; do
    diff <(copse $command many.copse -f ranges) <(copse $command many.copse -f ranges --placement emulated) &&
        echo "$command: same"
done
# auto reads the file where it lies and says so; who asks for a card that is not there gets no answer.
try info orders.copse --placement auto | mask
try get orders.copse 1001 --placement auto --device 99999 2>&1 | no_card
try get orders.copse 1001 --placement gpu --device 99999 2>&1 | no_card
try verify orders.copse --placement gpu --device 99999 --json 2>&1 | no_card
try build orders.csv -o nowhere.copse --placement gpu --device 99999 -q 2>&1 | no_card
ls nowhere.copse 2>/dev/null
# The command line was wrong.
try get orders.copse 1001 --placement tpu
try get orders.copse 1001 --placement cpu,gpu
try sum orders.copse --device 0
try info orders.copse --device 2^31 --placement gpu
try verify orders.copse --placement
try build orders.csv -o x --placement here
COPSE_DEVICE=first copse get orders.copse 1001
echo "exit $?"
COPSE_SIMT_SEED=odd copse get orders.copse 1001 --placement emulated
echo "exit $?"
COPSE_SIMT_SEED=7 copse get orders.copse 1001 --placement emulated
