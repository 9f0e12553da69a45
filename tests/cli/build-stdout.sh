make_orders
copse build orders.csv -o - >piped.copse
cmp piped.copse orders.copse && echo same
mkdir temporary
TMPDIR=$PWD/temporary copse build orders.csv -q -o - | cmp - orders.copse && echo same
TMPDIR=$PWD/none copse build orders.csv -q -o - 2>&1 | sed 's/copse-[^ ]*:/copse-NAME:/' | sed "s|$PWD|.|"
copse build orders.csv -q -o - >/dev/full
echo "exit $?"
try build orders.csv -o - --json
ls -A . temporary
