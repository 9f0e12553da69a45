make_orders
printf 'order,line,product,price\n1,1,ink,2.5\n1,2,pen,1\n2,1,pen,1.25\n2,2,,3\n' >lines.csv
try import orders.csv -o orders.table --primary id --index city --sums id:amount
try query orders.table --where 'id = 1002'
try query orders.table --where 'id between 1001 and 1003' --sum amount --explain
try query orders.table --where 'id between 1001 and 1003' --sum amount --format csv
try query orders.table --index amount --where 'amount > 90' --order-by 'amount desc' --select city
try info orders.table
try info orders.table --json
try verify orders.table orders.copse
try import lines.csv -o lines.table --primary order,line --index product,price --json | sed -E 's/"seconds": [0-9.e-]+/"seconds": masked/'
try query lines.table --join 'orders.table on line=id' --count
try query lines.table --where 'product = pen and price > 1.1'
try import orders.table -o again.table --index amount
try query again.table --where 'amount < 0' --count
gzip -c lines.csv | copse import - -o piped.table --index price
copse query <(cat orders.csv) --count
# What is wrong is said, and the table that was there stays.
cksum <orders.table >before
printf 'id,amount\n1,5\n2,6\n1,7\n' >twice.csv
try import twice.csv -o orders.table --primary id
printf 'id,amount\n1,5\n,6\n' >null.csv
try import null.csv -o orders.table --primary id
cksum <orders.table | diff before - && echo unchanged
try import lines.csv -o lines.table --primary order
try import orders.csv
try import -o x.table
try import orders.csv -o -
try import orders.csv lines.csv -o x.table
try import orders.csv -o x.table --index id,amount,city,id,id
try import orders.csv -o x.table --index citty
try import orders.csv -o x.table --sums id
try import orders.csv -o x.table --sums id:city
try import orders.csv -o no/such/folder/x.table
try query orders.table --types id=u32
# Damage is named, where it is met.
size=$(wc -c <orders.table)
head -c $((size - 5000)) orders.table >cut.table
try query cut.table --count
{ head -c 8200 orders.table; printf 'X'; tail -c +8202 orders.table; } >bad.table
try query bad.table --where 'id = 1002'
try verify bad.table
try verify bad.table --json
