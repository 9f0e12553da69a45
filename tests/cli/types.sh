# Every type: its limits go in and come out unchanged.
round() { # TYPE KEY...
    local type=$1
    shift
    (echo k; printf '%s\n' "$@") | copse build - --key-type "$type" -o t.copse -q >/dev/null || return
    echo "$type: $(copse range t.copse | cut -f1 | tr '\n' ' ')"
}
round u32 0 1 4294967295
round i32 -2147483648 -1 0 2147483647
round u64 0 18446744073709551615
round i64 -9223372036854775808 9223372036854775807
round f32 -inf -3.4028235e38 -1e-45 0 0.1 16777216 inf
round f64 -inf -1.7976931348623157e308 -5e-324 0 0.1 0.30000000000000004 1e22 123456789012345678 inf
round date 1969-12-31 1970-01-01 2000-02-29 2026-11-15 9999-12-31 0000-01-01 -0044-03-15 +12345-06-07
round timestamp 1970-01-01T00:00:00Z 2026-11-15T12:34:56.123456Z 1969-12-31T23:59:59.999999Z -9223372036854775808 9223372036854775807
round timestamp 2026-11-15 '2026-11-15 01:02' 2026-11-15T01:02:03.5 2026-11-15T01:02:03+02:00 2026-11-15T01:02:03-0130
# -0 is 0, +5 is 5.
round f64 -0 0
round i64 +5 -0
# Types that are guessed.
guess() {
    (echo k,v; printf '%s\n' "$@") | copse build - -o t.copse >/dev/null
}
guess 1,2
guess -1,0.5 2,3
guess 18446744073709551615,1
guess 18446744073709551615,1 -1,1
guess 2026-11-15,1e3
guess 2026-11-15,1 2026-11-15T01:00,2
guess inf,nan 5,1
guess ,1 5,
# Dates and timestamps in queries and JSON.
printf 'day,n\n2026-11-15,1\n2026-11-16,2\n2026-12-01,3\n' >days.csv
copse build days.csv -o days.copse -q >/dev/null
try get days.copse 2026-11-15 2026-11-17 --json
try count days.copse 2026-11-01 2026-11-30
try sum days.copse min max --json
try get days.copse 2026-11-31
printf 't,n\n2026-11-15T08:00:00,1.5\n2026-11-15T09:00:00,inf\n' >times.csv
copse build times.csv -o times.copse -q >/dev/null
try range times.copse 2026-11-15 '2026-11-15 08:30'
try range times.copse --json
printf '2026-11-15 08:00,2026-11-15 08:30\n' | copse count times.copse -
try get times.copse nan
printf 'x,n\n1.5,1\ninf,2\n' >floats.csv
copse build floats.csv -o floats.copse -q >/dev/null
try get floats.copse inf -inf nan
try get floats.copse inf -inf --json
