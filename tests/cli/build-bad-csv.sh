bad() { # OPTIONS, with the CSV as printf takes it first
    printf "$1" >in.csv
    shift
    try build in.csv -o out.copse "$@"
}
bad ''
bad '\n\n'
bad 'id,amount\n1,2\n' --key price
bad 'id,amount\n1,2\n' --value price
bad 'id,amount\n1,2\n' --key '#3'
bad 'id,id\n1,2\n' --key id
bad '1,2\n' --no-header --key id
bad 'id,amount\n1,2\n3\n'
bad 'id,amount\n1,2\n3,4,5\n'
bad 'id,amount\n1,2\n"3,4\n'
bad 'id,amount\n1,2\n"3"x,4\n'
bad 'id,amount\n1,2\n3,\n'
bad 'id,amount\n1,2\n,5\n'
bad 'id,name\n1,Anna\n'
bad 'name,id\nAnna,1\n' --key-type i64
bad 'id,when\n2026-11-15,5\nsoon,6\n'
bad 'id,amount\n1,2\n"two\nlines",3\n4,x\n' --value-type i32 --key '#2' --value '#2' --key-type i64
bad 'id,amount\n1,2\n\n\n3,4x\n' --value-type u64
bad 'id,amount\n1,2\n3,1.5\n' --value-type u64
bad 'id,amount\n1,2\n-3,4\n' --key-type u32
bad 'id,amount\n4294967296,4\n' --key-type u32
bad 'id,amount\n1,1e40\n' --value-type f32
bad 'id,amount\n1.5,1\nnan,2\n'
bad 'id,amount\n2026-02-30,1\n' --key-type date
bad 'id,amount\n2026-11-15T25:00:00,1\n' --key-type timestamp
bad 'id,amount\n1,a very long cell that goes on and on and on and on until it is cut\n' --value-type f64
bad 'id,amount\n1,bad\033[31mcell\n' --value-type f64
bad 'id;amount\n1;2\n' -d ,
printf 'id,amount\n1,2\n3,4\0005\n' >in.csv
try build in.csv -o out.copse
printf '\377\376i\000d\000' >in.csv
try build in.csv -o out.copse
try build nowhere.csv -o out.copse
try build . -o out.copse
# A type that only shows after the rows it was guessed from.
(echo k,v; seq 1500 | sed 's/$/,1/'; echo 1501,2.5) >late.csv
try build late.csv -o out.copse
# Nothing was written by any of these, and an old snapshot survives.
ls *.copse 2>/dev/null
printf 'k,v\n1,2\n' >good.csv
copse build good.csv -o out.copse -q >/dev/null
copse build late.csv -o out.copse -q
copse range out.copse
ls -A
