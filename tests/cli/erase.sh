make_orders
cp orders.copse before
try erase orders.copse 1002 5 --dry-run
try erase orders.copse 1002 5 --strict
cmp orders.copse before && echo unchanged
try erase orders.copse 1002 5
try erase orders.copse 5 6
try dump orders.copse
cp before orders.copse
printf '1001\n\n1010\n' | copse erase orders.copse - --json
printf '1003\n12x\n' >keys
try erase orders.copse --file keys
try dump orders.copse
cp before orders.copse
try erase orders.copse --range 1002 1003 --dry-run
try erase orders.copse --range 1001 1010 --open-low --open-high -o two.copse
try dump two.copse
try erase orders.copse --range - 1001 1010 - -o middle.copse --json
try dump middle.copse
printf '1001 1002\n1010,-\n' | copse erase orders.copse - --range -o one.copse
try dump one.copse
try erase orders.copse --range - - -o empty.copse
try dump empty.copse
try first empty.copse
try min empty.copse
copse erase orders.copse 1001 -o - -q | cat >piped.copse
try count piped.copse
# Ranges that overlap, that are empty, and the words min and max; a range that cannot be read leaves the file as it was.
try erase orders.copse --range 1001 1002 1002 1003 1003 1001 -o overlap.copse
try dump overlap.copse
try erase orders.copse --range max min -n
try erase orders.copse --range min max -n
printf -- '- 1002\n1003 12x\n' >ranges
try erase orders.copse --range --file ranges
cmp orders.copse before && echo unchanged
# All entries of a key go, and all keys of a range.
printf '1,10\n1,11\n2,20\n2,21\n3,30\n' | copse build - --no-header --duplicates keep -q -o d.copse >/dev/null
try erase d.copse 1
try erase d.copse --range 2 2
try dump d.copse
try erase
try erase orders.copse
try erase orders.copse --range
try erase orders.copse --range 5
try erase orders.copse 5 --open-low
try erase orders.copse abc
try erase none.copse 5
cmp orders.copse before && echo unchanged
ls -A
