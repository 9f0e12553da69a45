make_orders
printf 'who,order,count\n1,1001,7\n2,1002,8\n1,1003,9\n' >buyers.csv
cat >lines <<'END'
# a comment, and an empty line

where city = Rome
where amount >= 75 and city <> Oslo select id, city order-by id desc
--where 'amount > 0' --count --sum amount
group by city sum amount order by sum(amount) desc limit 2 format csv
where id between 1002 and 1009 count;
where city in (Rome, 'Lima') json
join buyers.csv on id=order where who = 1 select id, who, count
columns
index city,amount
where city = Lima and amount < 80 explain
save saved.table
count
END
copse shell orders.csv <lines
echo "exit $?"
try shell saved.table --format csv <<'END'
where city = Lima
quit
count
END
cat >wrong <<'END'
wher city = Rome
where citty = Rome
where city = 'Rome
limit
limit many
format xml
count sum amount select id
select count
help
END
copse shell buyers.csv <wrong
echo "exit $?"
try shell </dev/null
try shell - </dev/null
try shell orders.csv buyers.csv </dev/null
try shell nothing.csv </dev/null
try shell orders.csv --format xml </dev/null
try shell orders.csv </dev/null
