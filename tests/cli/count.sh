make_orders
try count orders.copse
try count orders.copse 1001 1003
try count orders.copse 1001 1003 2000 3000 1003 1001
try count orders.copse 1002 max --bare
try count orders.copse 1001 1003 --json
printf 'min 1001\n1002    max\n' | copse count orders.copse - --json
