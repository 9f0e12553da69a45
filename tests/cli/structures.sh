# Both structures answer alike, whatever the snapshot was built with.
seq 0 3 3000 | sed 's/$/,2/' >rows
for structure in implicit regular; do
    (echo k,v; cat rows) | copse build - -o $structure.copse --structure $structure -q --no-timing | grep structure
    copse info $structure.copse | grep structure
    copse count $structure.copse 100 2000
    copse sum $structure.copse
    copse verify $structure.copse | tail -1
done
diff <(copse range implicit.copse) <(copse range regular.copse) && echo same
