# Ends that are missing, open or both, in both directions.
make_orders
try range orders.copse 1001 1003 --open-low
try range orders.copse 1001 1003 --open-high
try range orders.copse 1001 1003 --open-low --open-high
try range orders.copse 1001 1001 --open-low
try range orders.copse - 1002
try range orders.copse 1003 -
try range orders.copse - -
try range orders.copse - 1002 --open-low
try range orders.copse 1002 - --reverse --limit 2
try range orders.copse 1001 1002 1003 - --reverse --json
try count orders.copse - 1002 1002 1003 1003 - - -
try count orders.copse - 1002 1003 - --json --open-high
try sum orders.copse 1001 - --open-low
printf -- '- 1002\n1002 -\n1001,1002\n' | copse count orders.copse -
try get orders.copse 1001 -
# A day taken out of a range of timestamps goes as a whole.
printf '2026-11-14T23:59:59,1\n2026-11-15,2\n2026-11-15T12:00,3\n2026-11-16,4\n' |
    copse build - --no-header --key-type timestamp -q -o t.copse >/dev/null
try range t.copse 2026-11-15 2026-11-15
try range t.copse 2026-11-15 - --open-low
try range t.copse - 2026-11-15 --open-high
# The ends of the number line are keys, too.
printf -- '-inf,1\n0,2\ninf,3\n' | copse build - --no-header --key-type f64 -q -o f.copse >/dev/null
try range f.copse -inf inf --open-low --open-high
try range f.copse - - --open-low --open-high
try range f.copse min max
