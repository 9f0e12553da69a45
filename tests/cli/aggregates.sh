make_orders
for what in min max avg; do
    try $what orders.copse
    try $what orders.copse 1002 1003 2000 3000
    try $what orders.copse 1002 - --json
    try $what orders.copse 5 1 --json
    try $what orders.copse - 1003 --open-high --bare
done
printf '1,2.5\n2,nan\n3,-inf\n' | copse build - --no-header -q -o f.copse >/dev/null
try min f.copse 1 2
try max f.copse 2 2 1 3
try avg f.copse 1 1 1 2
try avg f.copse 2 2 --json
printf '1001 1002\n- 1001\n1010,-\n' | copse avg orders.copse -
try max orders.copse 1
