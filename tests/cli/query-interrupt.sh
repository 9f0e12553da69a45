# Ctrl-C in the middle of a question that takes long: it ends soon, with nothing but a word.
seq 1000000 | sed '1i id' >ids.csv
copse import ids.csv -o ids.table >/dev/null
anything_but=$(seq -f 'id <> %.0f' -s ' or ' 1000)
timeout --foreground --preserve-status -k 5 -s INT 1 "$COPSE" query ids.table --where "$anything_but" --count
echo "exit $?"
echo "where $anything_but count" | timeout --foreground --preserve-status -k 5 -s INT 1 "$COPSE" shell ids.table
echo "exit $?"
ls -A
