# Rows into a snapshot: added, refused, skipped, replaced or kept beside what is there; all or nothing.
make_orders
printf 'id,amount\n1001,7\n1020,8\n' >new.csv
printf 'id,amount\n1030,1\n1031,2\n' >fresh.csv
printf 'id,amount\n1040,1\n1040,2\n' >twice.csv
cp orders.copse before
try append orders.copse new.csv
try append orders.copse twice.csv
cmp orders.copse before && echo unchanged
try append orders.copse new.csv --on-conflict skip --dry-run
cmp orders.copse before && echo unchanged
try append orders.copse fresh.csv
try append orders.copse new.csv --on-conflict skip -o skipped.copse --json
try append orders.copse new.csv --on-conflict replace -o replaced.copse
try append orders.copse new.csv --on-conflict keep -o kept.copse
try append orders.copse new.csv --on-conflict fail -o failed.copse
try dump skipped.copse
try dump replaced.copse
try dump kept.copse
# An index with duplicates takes every row.
try append kept.copse twice.csv
try range kept.copse 1040 1040
try append kept.copse twice.csv --on-conflict fail
try append kept.copse twice.csv --on-conflict skip
# Bad rows and wrong types change nothing; the types are those of the snapshot.
printf 'id,amount\n1050,1\n1051,x\n1052,3\n' >bad.csv
cp orders.copse before
try append orders.copse bad.csv
cmp orders.copse before && echo unchanged
try append orders.copse bad.csv --on-bad skip --json
printf '1060;1,5\n' | copse append orders.copse - --no-header
printf '1060;2\n' | copse append orders.copse - --no-header
printf 'id,amount\n' | copse append orders.copse -
try append orders.copse orders.csv --key city
try append orders.copse new.csv --date-format %F
# To standard output, and from there into a file.
copse append orders.copse twice.csv --on-conflict replace -o - >piped.copse
try count piped.copse
copse append orders.copse twice.csv --on-conflict replace -o - -q | cmp - piped.copse && echo same
try append orders.copse twice.csv --on-conflict replace -o - --json
try append orders.copse twice.csv --on-conflict replace -o - --dry-run
# A link stays one.
ln -s orders.copse link.copse
printf '2000,1\n' | copse append link.copse - --no-header -q --json
readlink link.copse
try get orders.copse 2000
try append
try append orders.copse
try append orders.copse a b
try append orders.copse new.csv --on-conflict maybe
try append none.copse new.csv
try append orders.copse none.csv
try append orders.copse new.csv -o nowhere/a.copse --on-conflict skip
ls -A
