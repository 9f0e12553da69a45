# Keys that are byte strings: verify reads such a file, the commands that print or take keys say that they do not.
cp "$(dirname "${BASH_SOURCE[0]}")/../golden/v2-bytes-u32.copse" strings.copse
try verify strings.copse
for command in info dump count first sum; do
    try $command strings.copse
done
try get strings.copse 1
printf 'key,value\n1,2\n' >more.csv
try upsert strings.copse more.csv
cmp strings.copse "$(dirname "${BASH_SOURCE[0]}")/../golden/v2-bytes-u32.copse" && echo unchanged
