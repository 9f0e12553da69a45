make_orders
printf 'id,name,since\n1,Ann,2024-01-31\n2,"Bob, Jr",\n3,,2024-03-01\n4,"",2024-02-29\n' >people.csv
printf 'order,who\n1001,1\n1002,2\n1003,1\n1010,9\n' >buyers.csv
try query orders.csv
try query orders.csv --where 'amount >= 75' --select id,city
try query orders.csv --where 'amount>=75 and city <> Oslo or id=1002' --order-by 'amount desc'
try query orders.csv --where 'amount > 0' --where "city in (Rome, 'Lima')" --format csv
try query orders.csv --where "city like 'R%' or city prefix B" --format json
try query orders.csv --count --sum amount --min amount,city --max amount --avg amount --count-distinct city
try query orders.csv --where 'id between 1002 and 1009' --count
try query people.csv --where 'since is null'
try query people.csv --where 'name is not null' --format csv
try query people.csv --where 'since <= 2024-02-29' --order-by since --format json
try query people.csv --types id=string,since=string --where "id < '3'" --select id
try query orders.csv --order-by amount --limit 2 --offset 1 --select amount
try query buyers.csv --group-by who --count --order-by 'count desc,who'
try query buyers.csv --join 'orders.csv on order=id' --join 'left people.csv on who=id' --select order,amount,name
try query buyers.csv --join 'anti people.csv on who=id'
try query buyers.csv --join 'semi people.csv on who=id' --count
try query buyers.csv --join semi people.csv on who=id --count
try query --join orders.csv on order=id buyers.csv --join left people.csv on who=id --select order,amount,name
gzip -c orders.csv >orders.csv.gz
try query orders.csv.gz --count
copse query - --count <orders.csv
printf '7;1,5\n8;2,25\n' | copse query - --no-header --sum '#2'
# As in SQL: parentheses and NOT, fractions beside whole numbers, * and names in quotes.
try query orders.csv --where '(amount >= 75 or id = 1002) and not city = Oslo' --select id,city,amount
try query orders.csv --where 'not (amount >= 75 or city is not null)' --count
try query orders.csv --where "id not in (1001, 1002) and amount not between 10 and 80 and city not like 'L%'" --select id,city,amount
try query people.csv --where "not (name is null or name like 'Ann%')" --format csv
try query orders.csv --where 'id > 1001.5 and id < 1e30' --count
try query people.csv --select '*' --limit 1
printf 'order id,"city, state",note\n1,"Austin, TX",%s\n2,"Salem, OR",short\n' "$(printf 'long %.0s' 1 2 3 4 5 6 7 8 9)" >names.csv
try query names.csv --where '"order id" = 2' --select '"city, state","order id"'
try query names.csv --group-by '"city, state"' --sum 'order id' --order-by '"city, state" desc'
try query names.csv
