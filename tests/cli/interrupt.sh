# Ctrl-C in the middle of reading: no snapshot, no temporary file, the exit code of an interrupted program.
make_orders
(echo k,v; sleep 2) | timeout --preserve-status -s INT 1 "$COPSE" build - -o x.copse
echo "exit ${PIPESTATUS[1]}"
sleep 2 | timeout --preserve-status -s INT 1 "$COPSE" get orders.copse -
echo "exit ${PIPESTATUS[1]}"
ls -A
