make_orders
try verify orders.copse
try verify orders.copse --json
head -c 300 orders.copse >short.copse
try verify orders.copse short.copse nowhere.copse --json
try verify short.copse
copse verify orders.copse short.copse >/dev/null 2>&1
