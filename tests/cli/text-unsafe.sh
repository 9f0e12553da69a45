# Keys with bytes that are no text: in lines control characters are shown, JSON is valid, CSV has the bytes. What a terminal gets is
# checked in tests/unit/test_cli_text.c.
printf 'k,v\n"a\tb",1\n"c\r\nd",2\n\033[31mred,3\nM\374ller,4\n\302\23331m,5\nback\\slash,6\n\177,7\n\360\237\214\262,8\n' >in.csv
copse build in.csv -o a.copse -q >/dev/null
copse range a.copse | od -An -c
copse range a.copse --json
copse first a.copse --json
copse info a.copse | grep key
copse info a.copse --json | grep -o '"smallest.*'
copse dump a.copse >out.csv
copse build out.csv -o b.copse -q >/dev/null && cmp a.copse b.copse && echo same
copse get a.copse $'M\374ller' $'a\tb' $'c\r\nd' --bare
copse range a.copse | cut -f1 | grep -a ller | copse get a.copse - --bare
copse count a.copse $'\033[31m' $'\033' 2>&1
printf 'k,v\n1,1\n' | copse build - -o n.copse -q >/dev/null
copse get n.copse $'\033[31m5' 2>&1
