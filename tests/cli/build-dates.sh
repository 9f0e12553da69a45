# Dates and times as files have them.
show() { # OPTIONS, with the keys, one per word, first
    (echo k; echo "$1" | tr '~' '\n') >in.csv
    shift
    rm -f a.copse
    try build in.csv -o a.copse --json --no-timing "$@" | mask
    [ ! -e a.copse ] || copse range a.copse
}
show '2026-11-15~2024-02-29'
show '2026-11-15T12:34:56.123456789Z~2026-11-15 12:34:56.123456000~1969-12-31T23:59:59.9999999'
show '2026-11-15T12:00:00+02:00~2026-11-15T12:00:00-0330~2026-11-15 12:00:00 +05~2026-11-15 12:00:00 UTC~2026-11-15t12:00:00z'
show '15/11/2026~1/2/2026' --date-format '%d/%m/%Y'
show '11/15/26~1/2/69' --date-format %D
show '15.11.2026 07:08~1.2.2026 23:59' --date-format '%d.%m.%Y %H:%M'
show '15 Nov 2026 07:08:09.5 PM~1 february 1999 12:00:00.000001 am' --date-format '%d %b %Y %I:%M:%S.%f %p'
show 'Sun, 15 Nov 2026 07:08:09 +0200' --date-format '%a, %d %b %Y %H:%M:%S %z' -d ';'
show '20261115T070809Z' --date-format '%Y%m%dT%H%M%S%z'
show '2024-366~2026-001' --date-format '%Y-%j'
show '1700000000~-1' --date-format s
show '1700000000123' --date-format ms
show '1700000000123456' --date-format us
show '1700000000123456789~-1' --date-format ns
show '15/11/2026' --date-format '%d/%m/%Y' --key-type timestamp
# What does not fit.
show '15/11/2026~31/04/2026' --date-format '%d/%m/%Y'
show '15/11/2026~31/04/2026' --date-format '%d/%m/%Y' --on-bad skip
show '2025-366' --date-format '%Y-%j'
show '15/11/2026x' --date-format '%d/%m/%Y'
show '9300000000000000' --date-format s
show '15/11/2026' --date-format '%d/%m'
show '15/11/2026' --date-format '%d/%Q/%Y'
show '15/11/2026' --date-format '%d/%m/%Y%'
show '15/11/2026' --date-format '%d/%m/%Y' --key-type i64
show '15/11/2026 10:00' --date-format '%d/%m/%Y %R' --key-type date
# Keys that were taken as text though they look like dates: a remark says which formats fit all of them.
show '15/11/2026~1/2/2026'
show '5/11/2026~1/2/2026'
show '15/11/2026~none at all'
