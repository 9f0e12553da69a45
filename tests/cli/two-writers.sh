# Of commands that change one file at the same time, none loses what another did.
echo 'k,v
0,0' | copse build - -q -o n.copse >/dev/null
for i in 1 2 3 4 5 6 7 8; do
    echo "$i,$i" | copse append n.copse - --no-header -q >/dev/null &
done
wait
try dump n.copse
ls -A
