make_orders
printf 'id,amount\n1001,7\n1020,8\n1020,9\n' >new.csv
try upsert orders.copse new.csv
try dump orders.copse
try upsert orders.copse new.csv --json
echo 1003,-1 | copse upsert orders.copse - --no-header -q
try get orders.copse 1003
# Among duplicates the row takes the place of all entries of its key.
printf 'k,v\n1,10\n1,11\n2,20\n2,21\n3,30\n' | copse build - --duplicates keep -q -o d.copse >/dev/null
printf 'k,v\n2,5\n4,40\n2,6\n' >new.csv
try upsert d.copse new.csv
try dump d.copse
try upsert orders.copse new.csv --on-conflict skip
# The structure stays, whichever it is, and so do types.
printf '2026-11-15,1.5\n2026-11-16,2.5\n' | copse build - --no-header --structure regular --value-type f32 -q -o days.copse >/dev/null
printf '2026-11-16,3.25\n2026-11-17,4\n' | copse upsert days.copse - --no-header -q --json
copse info days.copse --json | grep -oE '"(date|f32|regular)"' | sort
try dump days.copse
try verify days.copse >/dev/null
