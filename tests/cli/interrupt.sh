# Ctrl-C in the middle of reading: no snapshot, no temporary file, the exit code of an interrupted program.
make_orders
(echo k,v; sleep 2) | timeout --preserve-status -s INT 1 "$COPSE" build - -o x.copse
echo "exit ${PIPESTATUS[1]}"
sleep 2 | timeout --preserve-status -s INT 1 "$COPSE" get orders.copse -
echo "exit ${PIPESTATUS[1]}"
ls -A
# A change that is interrupted is none.
cp orders.copse before
(echo id,amount; echo 1,2; sleep 2) | timeout --preserve-status -s INT 1 "$COPSE" append orders.copse -
echo "exit ${PIPESTATUS[1]}"
(echo 1001; sleep 2) | timeout --preserve-status -s INT 1 "$COPSE" erase orders.copse -
echo "exit ${PIPESTATUS[1]}"
# What came before the interrupt was answered.
(echo 1001; sleep 2) | timeout --preserve-status -s INT 1 "$COPSE" get orders.copse -
echo "exit ${PIPESTATUS[1]}"
cmp orders.copse before && rm before
ls -A
