make_orders
try sum orders.copse
try sum orders.copse 1001 1002
try sum orders.copse 1001 1002 1003 1001 --json
try sum orders.copse min 1002 --bare
# Exact beyond 64 bits, both ways.
printf 'k,v\n1,18446744073709551615\n2,18446744073709551615\n3,18446744073709551615\n' >big.csv
copse build big.csv -o big.copse -q >/dev/null
try sum big.copse
try sum big.copse 2 3 --json
printf 'k,v\n1,-9223372036854775808\n2,-9223372036854775808\n3,-9223372036854775808\n' >low.csv
copse build low.csv -o low.copse -q >/dev/null
try sum low.copse
printf 'k,v\n1,0.5\n2,0.25\n3,1e300\n' >float.csv
copse build float.csv -o float.copse -q >/dev/null
try sum float.copse 1 2
try sum float.copse --json
