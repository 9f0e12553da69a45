make_orders
try dump orders.copse
try dump orders.copse --no-header --reverse
try dump orders.copse 1002 - --json
try dump orders.copse 1002 1003 1001 1001
try dump orders.copse - 1003 --open-high --limit 1 --reverse
# There and back.
copse dump orders.copse -o again.csv
copse build again.csv -q -o again.copse >/dev/null && cmp orders.copse again.copse && echo same
copse dump orders.copse -o - | cmp - again.csv && echo same
printf '2026-11-15T12:34:56.5Z,inf\n1969-12-31T23:59:59.999999Z,nan\n' | copse build - --no-header -q -o times.copse >/dev/null
copse dump times.copse | copse build - -q -o times2.copse >/dev/null && cmp times.copse times2.copse && echo same
# A file is there whole or not at all, and keeps its permissions.
chmod 600 again.csv
copse dump orders.copse 1 2 -o again.csv && stat -c %a again.csv && cat again.csv
try dump orders.copse 1 x -o again.csv
cat again.csv
try dump orders.copse -o nowhere/a.csv
copse dump orders.copse >/dev/full
echo "exit $?"
copse dump orders.copse -o /dev/full
echo "exit $?"
ls -A
