make_orders
copse info orders.copse | mask
copse info orders.copse --json | mask
printf 'day,n\n2026-11-15,1\n1969-12-31,2\n' >days.csv
copse build days.csv -o days.copse -q --duplicates keep --value-type u32 >/dev/null
copse info days.copse | mask
copse info days.copse --json | mask
