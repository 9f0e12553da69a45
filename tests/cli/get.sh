make_orders
try get orders.copse 1001 1004 1010
try get orders.copse 1001 1004 --json
try get orders.copse 1002 5 --bare
try get orders.copse -5 -- -7
try get orders.copse 1001 4 --strict
try get orders.copse 1001 1002 -s
printf '1003\n\n 1002 \r\n7\n' >keys
try get orders.copse --file keys
try get orders.copse -f keys --json
copse get orders.copse - <keys
try get orders.copse --file nowhere
printf '1001\n12x\n1002\n' >bad
try get orders.copse --file bad
printf '' | copse get orders.copse - && echo nothing asked, nothing said
