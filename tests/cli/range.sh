make_orders
try range orders.copse
try range orders.copse 1002 1003
try range orders.copse 1002 1003 --bare
try range orders.copse 1002 max --json
try range orders.copse min 1002
try range orders.copse 1003 1002
try range orders.copse --limit 2
try range orders.copse 1 1001 500 600 1010 2000
try range orders.copse 1 1001 1010 2000 --json
printf '1001 1002\n1003,1009\n1010\t2000\n' | copse range orders.copse -
printf '1001 1002\n\n1003\n' >bad
try range orders.copse --file bad
printf '1001 10x\n' >bad
try range orders.copse --file bad
# Ends that are swapped: nothing, and a word about it.
try range orders.copse 9000 1
try range orders.copse 9000 1 --quiet
try range orders.copse 1003 1003 1002 1002 --open-low
printf '1 2\n9 1\n1001 1001\n8 1\n' | copse range orders.copse - --json
