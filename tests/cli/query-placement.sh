printf 'id,group,amount,city\n' >many.csv
for i in $(seq 1 200); do echo "$i,$((i % 7)),$((i * i % 101)),c$((i % 3))"; done >>many.csv
try query many.csv --placement emulated --where 'group in (2, 3) and amount > 90' --order-by 'amount desc' --limit 3
try query many.csv --placement emulated --where 'group in (2, 3) and amount > 90' --explain
try query many.csv --placement emulated --group-by group --sum amount --count-distinct amount --format csv
try query many.csv --placement emulated --index id --where 'id between 10 and 100' --count --explain
try query many.csv --placement emulated --where "city = c1" --count --explain
try query many.csv --placement emulated --join 'many.csv on id' --where 'id < 3' --select id,right.amount
try query many.csv --placement emulated --asof 'many.csv on amount by group' --count
try query many.csv --placement emulated --asof 'many.csv on city by group' --count --explain
try query many.csv --placement auto --count
try query many.csv --placement hybrid --count
try query many.csv --placement moon --count
echo 'count' | try shell many.csv --placement emulated --format csv
