# Sourced before every test.

copse() {
    "$COPSE" "$@"
}

try() {
    echo "\$ copse $*"
    echo "\$ copse $*" >&2
    copse "$@"
    local code=$?
    [ $code -eq 0 ] || echo "exit $code"
    return 0
}

# Memory is the business of the structures, and times are that of the machine.
mask() {
    sed -E -e 's/^(  (in memory|bytes per key|fill|height) +).*/\1(masked)/' \
        -e 's/("(bytes|bytes_per_key|fill|height)": )[0-9.e+-]+/\1"masked"/g' \
        -e 's/("(read_seconds|build_seconds|save_seconds|build_rate)": )[0-9.e+-]+/\1"masked"/g'
}

# A small table that most tests use.
make_orders() {
    printf 'id,amount,city\n1003,250,Oslo\n1001,100,Rome\n1002,-50,Bern\n1010,75,Lima\n' >orders.csv
    copse build orders.csv -o orders.copse --quiet >/dev/null
}
