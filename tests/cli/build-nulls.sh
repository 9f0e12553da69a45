# Cells that stand for no value are bad, in the key and in the value; other columns may hold anything.
input() { printf 'k,note,v\n1,NA,10\n2,,NA\n,x,30\nNULL,x,40\n5,x, n/a \n6,x,60\n' >in.csv; }
input
try build in.csv -v v -o a.copse
try build in.csv -v v -o a.copse --on-bad skip --no-timing | mask
copse range a.copse
# Given words take the place of the usual ones; empty cells stay nulls.
try build in.csv -v v -o a.copse --null x --on-bad skip -q --json --no-timing | mask
printf 'k,v\n1,-999\n2,20\n3,none\n4,\n5,-\n' >words.csv
try build words.csv -o a.copse --null=-999,none --null=- --on-bad skip --no-timing | mask
copse range a.copse
try build words.csv -o a.copse --null ''
# NaN is a value where values are floats, unless it is named.
printf 'k,v\n1,nan\n2,1.5\n' >nan.csv
copse build nan.csv -o a.copse -q >/dev/null && copse range a.copse
copse build nan.csv -o a.copse --null nan --on-bad skip >/dev/null && copse range a.copse
# With row numbers as values only keys count, and a row keeps its number.
copse build in.csv -v row -o a.copse --on-bad skip >/dev/null && copse range a.copse
# Nothing but nulls.
printf 'k,v\nNA,1\nNA,2\n' >all.csv
try build all.csv -o b.copse
try build all.csv -o b.copse --on-bad skip
ls
