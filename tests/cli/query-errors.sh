make_orders
printf 'id,when\n1,2024-02-29\n2,2023-02-29\n' >dates.csv
printf 'id,n\n1,9223372036854775807\n2,9223372036854775807\n' >large.csv
printf 'id,x\n1,2\n2\n3,oops\n' >dirty.csv
try query
try query orders.csv more.csv
try query none.csv
try query orders.csv --where 'amout > 5'
try query orders.csv --where 'zzz > 5'
try query orders.csv --where 'amount > many'
try query orders.csv --where 'amount >'
try query orders.csv --where 'amount 5'
try query orders.csv --where "city = 'Oslo"
try query orders.csv --where "city like '%o'"
try query orders.csv --where 'amount between 1'
try query orders.csv --where 'amount in 1'
try query orders.csv --where 'amount > 5 city = Rome'
try query orders.csv --where 'city is 5'
try query orders.csv --sum city
try query orders.csv --select id --count
try query orders.csv --select id,id
try query orders.csv --group-by id,amount,city --count
try query orders.csv --order-by nothing
try query dates.csv --types when=date
try query dates.csv --types when=day
try query dates.csv --types whe=date
try query dates.csv --where "when = '2024-02-29'" --types when=string --select id
try query large.csv --sum n
try query dirty.csv
try query dirty.csv --on-bad skip
try query dirty.csv --on-bad maybe
try query orders.csv --join 'dates.csv on city=id'
try query orders.csv --join 'dates.csv city=id'
try query orders.csv --join 'none.csv on id'
try query orders.csv --format xml
: >empty.csv
try query empty.csv --count
echo id,x >header.csv
try query header.csv --count --sum x
try query header.csv --count --max x
try query orders.csv --where '(amount > 5'
try query orders.csv --where 'amount > 5)'
try query orders.csv --where 'city = New York'
try query orders.csv --where 'city = null'
try query orders.csv --where 'city not = Rome'
both='(id = 1 or id = 2)'
try query orders.csv --where "$both and $both and $both and $both and $both and $both and $both and $both and $both and $both and $both"
deep=$(printf '(%.0s' $(seq 1 101))
try query orders.csv --where "${deep}id = 1"
try query orders.csv --where 'ID = 1'
try query orders.csv --order-by '"id" down'
