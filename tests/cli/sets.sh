# Sets: keys without values.
printf 'word,n\npear,1\napple,2\nfig,3\n' >words.csv
try build words.csv --value-type none -o w.copse --no-timing | mask
try build words.csv --value-type none -o w.copse --json -q --no-timing | mask
try info w.copse | mask
try info w.copse --json | mask
try verify w.copse
try get w.copse fig plum
try get w.copse fig plum --json --strict
try get w.copse fig plum --bare
try range w.copse
try range w.copse b - --reverse --json
try range w.copse --bare --limit 1
try count w.copse a g
try first w.copse 2
try last w.copse --json
try dump w.copse
try dump w.copse --json --limit 1
for command in sum min max avg; do
    try $command w.copse
done
# There and back; a lone column without a word about its type gets row numbers.
copse dump w.copse | copse build - --value-type none -o w2.copse -q >/dev/null && cmp w.copse w2.copse && echo same
copse dump w.copse | copse build - -o w2.copse -q >/dev/null && copse range w2.copse
# Changes: columns besides the key are not looked at.
printf 'word,n\nplum,x\nfig,y\n' >more.csv
try append w.copse more.csv
try append w.copse more.csv --on-conflict skip
try upsert w.copse more.csv
try erase w.copse fig quince
copse range w.copse
try append w.copse more.csv --value n
# Numbers, duplicates, binary files.
printf 'k\n5\n3\n5\n' | copse build - --value-type none -o n.copse --no-timing | mask
copse range n.copse
try count n.copse 5 5
printf 'k\n5\n3\n5\n' | copse build - --value-type none --duplicates first -o n.copse -q >/dev/null && copse dump n.copse
printf '\003\0\0\0\001\0\0\0\003\0\0\0' >keys.bin
for what in keep last first; do
    copse build keys.bin --format raw --key-type u32 --value-type none --duplicates $what -o n.copse -q >/dev/null && copse range n.copse
done
copse get n.copse 3 4 --placement emulated
try build keys.bin --pairs --key-type u32 --value-type none -o n.copse
try build keys.bin --values keys.bin --key-type u32 --value-type none -o n.copse
try build words.csv --value-type none --value n -o n.copse
try build words.csv --key-type none -o n.copse
