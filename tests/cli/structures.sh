# Both structures answer alike, whatever the snapshot was built with: on the CPU the file is read as it lies.
seq 0 3 3000 | sed 's/$/,2/' >rows
for structure in implicit regular; do
    (echo k,v; cat rows) | copse build - -o $structure.copse --structure $structure -q --no-timing | grep structure
    copse info $structure.copse | grep structure
    copse count $structure.copse 100 2000
    copse sum $structure.copse
    copse verify $structure.copse | tail -1
done
diff <(copse range implicit.copse) <(copse range regular.copse) && echo same
# The trees of devices: on the CPU their files are read as they lie, too; on a device commands only read, so it is the
# fastest reader there, whatever it was.
for structure in blink bplus; do
    (echo k,v; cat rows) | copse build - -o $structure.copse --structure $structure --placement emulated -q --no-timing | grep structure
    copse info $structure.copse | grep structure
    copse info $structure.copse --placement emulated | grep structure
    copse sum $structure.copse --placement emulated
    copse verify $structure.copse --placement emulated | tail -1
    diff <(copse range implicit.copse) <(copse range $structure.copse --placement emulated) && echo same
done
copse info regular.copse --placement emulated | grep structure
(echo k,v; cat rows) | copse build - -o none.copse --structure blink -q 2>&1
echo "exit $?"
