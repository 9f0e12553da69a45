# Columns by name and by number.
printf 'id,v,id,w,id\n1,10,2,20,3\n' >three.csv
try build three.csv -k id -o a.copse
try build three.csv -k '#3' -v w -o a.copse -q --json --no-timing | mask
try build three.csv -v id -o a.copse
# By default the first column is the key, whatever its name.
try build three.csv -o a.copse -q --json --no-timing | mask
printf 'a,b\n1,2\n' >two.csv
try build two.csv -k 1 -o a.copse
try build two.csv -v 2 -o a.copse
try build two.csv -k 3 -o a.copse
try build two.csv --no-header -k 1 -o a.copse
try build two.csv -o a.copse -k
try build two.csv -v a -v b -o a.copse
try build two.csv -k a --key b -o a.copse
try build two.csv -o a.copse -o b.copse
# A column that is named 1 is just that.
printf '2,1\n5,6\n' >named.csv
copse build named.csv -k 1 -v 2 -o a.copse -q >/dev/null && copse range a.copse
