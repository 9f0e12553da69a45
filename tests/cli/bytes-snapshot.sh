# A snapshot of byte strings that a program made: any bytes, the empty string, duplicates.
cp "$(dirname "${BASH_SOURCE[0]}")/../golden/v2-bytes-u32.copse" strings.copse
try verify strings.copse
try info strings.copse | mask
try count strings.copse
try first strings.copse 3 --json
try first strings.copse 3 | od -An -c
try sum strings.copse
try get strings.copse ''
copse dump strings.copse --json | wc -l
try range strings.copse --limit 5 --reverse --json
printf 'key,value\nzzz,2\n' >more.csv
try append strings.copse more.csv
try get strings.copse zzz
try erase strings.copse zzz
copse verify strings.copse | head -1
