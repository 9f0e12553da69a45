# A date as the end of a range of timestamps is the whole day; as its beginning, midnight.
printf 'at,v\n2024-01-01T00:00,1\n2024-01-31T00:00,2\n2024-01-31T23:59:59.999999,4\n2024-02-01T00:00,8\n' >in.csv
copse build in.csv -o at.copse -q >/dev/null
try range at.copse 2024-01-01 2024-01-31
try count at.copse 2024-01-01 2024-01-31
try sum at.copse 2024-01-31 2024-01-31 --json
try sum at.copse 2024-01-31 2024-01-31T00:00
try sum at.copse min 2024-01-31 --bare
printf '2024-01-31,2024-01-31\n2024-01-31 2024-02-01\n' | copse sum at.copse -
# The last day there is ends where time does.
try count at.copse 2024-02-01 +294247-01-10
# A key is a moment, not a day.
try get at.copse 2024-01-31 2024-01-31T23:59:59.999999
try get at.copse 2024-01-31T23:59:59.9999999
# Where keys are dates, a day is a day.
printf 'day,v\n2024-01-30,1\n2024-01-31,2\n2024-02-01,4\n' >days.csv
copse build days.csv -o days.copse -q >/dev/null
try sum days.copse 2024-01-31 2024-01-31
