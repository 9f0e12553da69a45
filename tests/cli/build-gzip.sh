# gzip data is known by its first bytes, whatever the name, also through a pipe.
make_orders
gzip -c orders.csv >orders.csv.gz
cp orders.csv.gz misnamed.csv
copse build orders.csv.gz -o a.copse --no-timing | mask
copse range a.copse
copse build misnamed.csv -o b.copse -q >/dev/null && cmp a.copse b.copse && echo same
copse build - -o b.copse -q <orders.csv.gz >/dev/null && cmp a.copse b.copse && echo same
cat orders.csv.gz | copse build - -o b.copse -q >/dev/null && cmp a.copse b.copse && echo same
# Members one after the other are one text; zero bytes behind them are padding.
(printf 'k,v\n1,1\n2,' | gzip -c; printf '2\n3,3\n' | gzip -c; head -c 600 /dev/zero) >members.gz
copse build members.gz -o a.copse -q >/dev/null && copse range a.copse
# More than is looked at first.
(echo k,v; seq 300000 | sed 's/$/,7/') | gzip -c >many.gz
copse build many.gz -o a.copse -q >/dev/null && copse sum a.copse
# Cut off, damaged, followed by something else.
head -c 40 orders.csv.gz >cut.gz
try build cut.gz -o c.copse
head -c 200000 many.gz >cut.gz
try build cut.gz -o c.copse -q --on-bad skip
(head -c 60 orders.csv.gz; printf 'xxxx'; tail -c +65 orders.csv.gz) >damaged.gz
try build damaged.gz -o c.copse -q 2>&1 | sed 's/damaged: .*/damaged: (reason)/'
(cat orders.csv.gz; echo more) >followed.gz
try build followed.gz -o c.copse -q
printf '\037\213' >short.gz
try build short.gz -o c.copse -q
printf '\037' >one.csv
try build one.csv -o a.copse -q --json --no-timing | mask
printf '' | gzip -c >empty.gz
try build empty.gz -o c.copse -q
printf 'k\tv\n1\t2,5\n' | gzip -c >table.tsv.gz
copse build table.tsv.gz -o a.copse >/dev/null && copse range a.copse
ls *.copse
