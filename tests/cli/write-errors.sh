make_orders
copse get orders.copse 1001 >/dev/full
echo "exit $?"
try build orders.csv -q -o nowhere/a.copse
mkdir folder
try build orders.csv -q -o folder
