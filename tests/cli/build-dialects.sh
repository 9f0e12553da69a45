# Delimiter and decimal comma, guessed or given.
show() { # OPTIONS, with the CSV as printf takes it first
    printf "$1" >in.csv
    shift
    rm -f a.copse
    try build in.csv -o a.copse --json --no-timing "$@" | mask
    [ ! -e a.copse ] || copse range a.copse
}
show 'k;v\n1;2\n3;4\n'
show 'k\tv\n1\t2\n3\t4\n'
show 'k|v\n1|2\n3|4\n'
show 'k,v\n1,2\n3,4\n'
show 'k;v\n1;2,5\n3;-4,25\n5;1e3\n'
show 'k;v\n1,5;2,5\n3,5;4\n'
show '1,5;2,5\n3,5;4,5\n' --no-header
show 'k,v\n1,"2,5"\n3,"4,5"\n'
show 'k,note,v\n1,a;b,2\n3,c;d,4\n' -v v
show '1,a;b\n2,c;d\n' --no-header -v row
show '"k";"v"\n"1";"2"\n'
show 'k;v\n1;2\n3;4;5\n6;7\n' --on-bad skip
show 'k:v\n1:2\n' -d :
show 'k;v\n1;2\n' -d ,
show 'k;v\n1;2.5\n2;3.5\n'
show 'k;v\n1;2.5\n2;3,5\n'
show 'k;v\n1;2.5\n' --decimal ,
show 'k;v\n1;2,5\n' --decimal .
show 'k;v\n1;2,5\n' --decimal comma --value-type f32
show 'k;v\n1;2\n' --decimal x
show 'k;v\n1;2\n' -d ''
show 'k;v\n1;2\n' -d ';;'
# The type that a late decimal comma would have needed.
(echo 'k;v'; seq 1200 | sed 's/$/;1/'; echo '1201;2,5') >late.csv
try build late.csv -o b.copse
