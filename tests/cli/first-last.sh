make_orders
try first orders.copse
try first orders.copse 2
try first orders.copse 2 --reverse
try first orders.copse 2K --bare
try first orders.copse 0
try last orders.copse
try last orders.copse 3
try last orders.copse 3 --reverse --json
try last orders.copse 1 --placement emulated
printf '7,1\n7,2\n7,3\n' | copse build - --no-header --duplicates keep -q -o d.copse >/dev/null
try first d.copse 2
try last d.copse 2
try first
try first orders.copse many
try last orders.copse 1 2
try last none.copse
