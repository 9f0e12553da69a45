printf 'id,group,amount\n' >many.csv
for i in $(seq 1 200); do echo "$i,$((i % 7)),$((i * i % 101))"; done >>many.csv
try query many.csv --where 'group = 3 and amount > 50' --explain
try query many.csv --index id --index amount --where 'group = 3 and id <= 20 and amount > 5' --explain
try query many.csv --index id --where 'id between 10 and 100' --count --explain
try query many.csv --index amount --order-by 'amount desc' --limit 3 --explain
try query many.csv --index id --where 'id = 7 or group is null' --explain
try query many.csv --group-by group --sum amount --explain
try query many.csv --count --explain
printf 'which,name\n3,three\n5,five\n' >few.csv
try query many.csv --join 'few.csv on group=which' --count --explain
try query many.csv --join 'semi many.csv on id=amount' --count --explain
