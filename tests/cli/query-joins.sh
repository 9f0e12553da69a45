# Conditions on one side of a join are met before it; what the other side makes NULL or another row of, after it.
printf 'id,who,amount\n1,ann,10\n2,bob,20\n3,ann,30\n4,zoe,40\n5,bob,50\n6,ann,60\n' >orders.csv
printf 'who,city,id\nann,Oslo,7\nbob,Lima,8\nkim,Oslo,9\n' >people.csv
try query orders.csv --join 'people.csv on who' --where 'amount <= 20 and city = Oslo' --explain
try query orders.csv --join 'people.csv on who' --where 'amount <= 20 and city = Oslo'
try query orders.csv --join 'people.csv on who' --where 'right.id = 8' --format csv
try query orders.csv --join 'people.csv on who' --where 'right.id = 8' --explain
try query orders.csv --join 'people.csv on who' --where 'city = Lima or amount = 10' --explain
try query orders.csv --join 'people.csv on who' --where 'city = Lima or amount = 10' --format csv
try query orders.csv --join 'left people.csv on who' --where 'city = Lima' --format csv
try query orders.csv --join 'left people.csv on who' --where 'city is null' --format csv
try query orders.csv --join 'left people.csv on who' --where 'not (city = Oslo) and id < 4' --format csv
try query orders.csv --join 'anti people.csv on who' --where 'id > 3' --format csv
try query orders.csv --join 'semi people.csv on who' --where 'id > 4' --format csv
try query orders.csv --join 'people.csv on who' --join 'left people.csv on city' --where 'right.right.id = 9 and id = 1' --format csv
try query orders.csv --join 'people.csv on who' --where 'amout < 3'
try query orders.csv --join 'people.csv on who' --where 'city < 3 and amount = x'
# The last row before, and then its condition: not the last row that meets it.
printf 'at,price\n1,10\n5,50\n' >prices.csv
printf 'at,bid,good\n0,9,true\n4,45,false\n' >bids.csv
try query prices.csv --asof 'bids.csv on at' --where 'good = true' --format csv
try query prices.csv --asof 'bids.csv on at' --where 'price > 10' --format csv
# Types of a joined file.
printf 'code,n\n1,1\n2,2\n' >numbers.csv
printf 'code,what\n1,one\n2,two\n' >words.csv
try query numbers.csv --types code=string --join 'words.csv on code'
try query numbers.csv --types code=string --join 'words.csv on code types code=string' --format csv
try query numbers.csv --types code=string --join words.csv on code types code=string,what=string --format csv
try query numbers.csv --join 'words.csv on code types'
try query numbers.csv --join 'words.csv on code types code=strin'
# The shell reads a joined file again where it has changed.
mkfifo lines
copse shell orders.csv --format csv <lines >answers &
exec 5>lines
echo "join people.csv on who where id = 1 select city" >&5
echo "join people.csv on who types id=string where id = 1 select city, right.id" >&5
until grep -q Oslo,7 answers; do sleep 0.1; done
printf 'who,city,id\nann,Bergen,7\n' >people.csv
echo "join people.csv on who where id = 1 select city" >&5
exec 5>&-
wait
cat answers
