# Keys that are text: guessed or asked for, in every command, from the command line, a file and a pipe.
printf 'city,people\nOslo,709\nRome,2873\nBern,134\nLima,10000\nRome,5\nNew York,8800\n' >cities.csv
try build cities.csv -o cities.copse --no-timing | mask
try info cities.copse | mask
try verify cities.copse
try get cities.copse Rome Paris 'New York' ''
try get cities.copse Rome Paris --json
try get cities.copse Rome Paris --strict --bare
try range cities.copse
try range cities.copse M P --json
try range cities.copse M - --reverse --limit 3
try range cities.copse Lima Rome --open-low --open-high --bare
# Of text, a beginning comes before the whole; min and max are words like any other.
try range cities.copse L Oslo
try count cities.copse 'New York' Oslo - Lima Rome -
try count cities.copse min max --json
try sum cities.copse Rome Rome
try min cities.copse
try max cities.copse - M --json
try avg cities.copse A B X Z
try first cities.copse 2
try last cities.copse 2 --reverse --json
try dump cities.copse
try dump cities.copse B M --no-header --limit 1
# Keys through a pipe: byte by byte, but for the end of the line.
printf 'Rome\r\n\nNew York\n Rome\nLima' | copse get cities.copse -
printf 'Bern\tLima\nBern Lima\nBern,Lima\n-\tNew York\nBern\t-\n' | copse count cities.copse -
printf 'Bern Lima\nNew York Oslo\n' | copse count cities.copse -
echo "exit $?"
printf 'Bern\n' | copse count cities.copse -
echo "exit $?"
mkfifo questions answers
copse get cities.copse - <questions >answers &
exec 3>questions 4<answers
echo Lima >&3
read -r -t 10 answer <&4 && echo "got $answer"
echo Oslo >&3
read -r -t 10 answer <&4 && echo "got $answer"
exec 3>&- 4<&-
wait
# A key may begin with a dash, and be one.
printf 'k,v\n-x,1\n-,2\n--help,3\n' | copse build - -o dash.copse -q >/dev/null
try get dash.copse -- -x --help -
printf -- '-\n' | copse get dash.copse -f -
# Changes.
printf 'city,people\nRome,1\nPisa,2\n' >more.csv
copse build cities.csv -o single.copse --duplicates last -q >/dev/null
try append single.copse more.csv
try append single.copse more.csv --on-conflict skip
try upsert single.copse more.csv
try upsert cities.copse more.csv
copse append cities.copse more.csv -o - -q >piped.copse && copse count piped.copse Rome -
try erase single.copse Rome Atlantis --strict
try erase single.copse Rome Atlantis --json
try erase single.copse --range M - --dry-run
try erase single.copse --range M -
copse range single.copse
copse range cities.copse
# What cannot be.
try build cities.csv -o none.copse --duplicates fail
try build cities.csv -o none.copse -q --structure implicit
try build cities.csv -o none.copse -q --placement emulated
try build cities.csv -o none.copse -q --placement auto --structure regular
try get cities.copse Rome --placement emulated
try build cities.csv -o none.copse --key-type text --date-format %Y-%m-%d
try build cities.csv -o none.copse --key-type text --format raw
try build cities.csv -o none.copse --key-type string
ls *.copse
