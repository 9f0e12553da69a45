make_orders
copse build orders.csv -o a.copse --no-timing | mask
copse build orders.csv -o a.copse --no-timing --json | mask
copse build orders.csv -o a.copse --json -q | mask
copse build orders.csv --key amount --value id -o a.copse -q >/dev/null && copse range a.copse
copse build orders.csv --key '#2' --value '#1' -o a.copse -q >/dev/null && copse range a.copse
copse build orders.csv --key amount -o a.copse -q >/dev/null && copse range a.copse
copse build orders.csv --value row -o a.copse -q >/dev/null && copse range a.copse
copse build orders.csv --key-type u32 --value-type f32 -o a.copse --no-timing | mask
copse build orders.csv --structure implicit -o a.copse -q --no-timing | grep structure
# One column: the values are row numbers.
printf 'n\n30\n10\n20\n' | copse build - -o a.copse --no-timing | mask && copse range a.copse
# A key that comes twice: see build-duplicates.
printf 'k,v\n1,10\n2,20\n1,11\n1,12\n' >twice.csv
copse build twice.csv -o a.copse --no-timing | mask && copse range a.copse
copse build twice.csv -o a.copse -q --duplicates keep --no-timing | mask && copse range a.copse && copse get a.copse 1
# Other dialects.
printf '\357\273\277"the id";"v"\r\n1;"10"\r\n2;20\r3;30\n\n 4 ; 40' >dialect.csv
copse build dialect.csv -d ';' -k 'the id' -o a.copse -q >/dev/null && copse range a.copse
printf 'k\tv\n1\t2\n' >t.tsv
copse build t.tsv -o a.copse -q >/dev/null && copse range a.copse
copse build t.tsv -d tab -o a.copse -q >/dev/null && copse range a.copse
printf '1,2\n3,4\n' >plain.csv
copse build plain.csv --no-header -o a.copse --no-timing | mask && copse range a.copse
copse build plain.csv --no-header -k '#2' -v '#1' -o a.copse -q >/dev/null && copse range a.copse
copse build plain.csv -o a.copse >/dev/null && copse range a.copse
# A quoted line break is part of the cell.
printf 'k,note,v\n1,"two\nlines",5\n2,"say ""hi""",6\n' >quoted.csv
copse build quoted.csv -v v -o a.copse -q >/dev/null && copse range a.copse
