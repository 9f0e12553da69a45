# Rows that share a key: none is lost unless somebody asks for it.
printf 'k,v\n1,10\n2,20\n1,11\n1,12\n' >twice.csv
try build twice.csv -o a.copse -q --no-timing | mask
copse range a.copse
for what in keep last first; do
    try build twice.csv -o a.copse --duplicates $what --no-timing | mask
    copse range a.copse
    copse range a.copse | wc -l
done
try build twice.csv -o b.copse --duplicates fail
try build twice.csv -o b.copse --duplicates
try build twice.csv -o b.copse --duplicates --quiet
try build twice.csv -o b.copse --duplicates last --duplicates first
# Keys that are there once: an index without duplicates, whatever is said, except keep.
printf 'k,v\n1,10\n2,20\n' >once.csv
for what in keep last first fail; do
    copse build once.csv -o a.copse --duplicates $what -q --json --no-timing | mask
done
copse build once.csv -o a.copse --json --no-timing | mask
# Row numbers go with their rows, from CSV and from binary files.
copse build twice.csv -v row -o a.copse --duplicates first -q >/dev/null && copse range a.copse
printf '\003\0\0\0\001\0\0\0\003\0\0\0' >keys.bin
copse build keys.bin --format raw --key-type u32 --duplicates first -o a.copse -q >/dev/null && copse range a.copse
copse build keys.bin --format raw --key-type u32 --duplicates last -o a.copse -q >/dev/null && copse range a.copse
copse build keys.bin --format raw --key-type u32 -o a.copse >/dev/null && copse range a.copse
# 50,000 rows of 730 days: all are kept, and a month's sum is that of the rows. tests/large has the full size.
awk 'BEGIN {
    split("31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31 30 31 31 30 31 30 30", last)
    for (m = 0; m < 24; m++)
        for (d = 1; d <= last[m + 1]; d++) day[n++] = sprintf("%d-%02d-%02d", 2024 + int(m / 12), m % 12 + 1, d)
    print "day,amount"
    for (i = 0; i < 50000; i++) print day[(i * 7919) % n] "," i
}' >days.csv
awk -F, '/^2025-03-/ { sum += $2; rows++ } END { print rows, sum }' days.csv
copse build days.csv -o days.copse --json --no-timing | mask
copse count days.copse 2025-03-01 2025-03-31
copse sum days.copse 2025-03-01 2025-03-31
ls
