# Ctrl-C in the middle of reading: no snapshot, no temporary file, the exit code of an interrupted program.
make_orders
(echo k,v; sleep 2) | timeout --foreground --preserve-status -s INT 1 "$COPSE" build - -o x.copse
echo "exit ${PIPESTATUS[1]}"
sleep 2 | timeout --foreground --preserve-status -s INT 1 "$COPSE" get orders.copse -
echo "exit ${PIPESTATUS[1]}"
ls -A
# A change that is interrupted is none.
cp orders.copse before
(echo id,amount; echo 1,2; sleep 2) | timeout --foreground --preserve-status -s INT 1 "$COPSE" append orders.copse -
echo "exit ${PIPESTATUS[1]}"
(echo 1001; sleep 2) | timeout --foreground --preserve-status -s INT 1 "$COPSE" erase orders.copse -
echo "exit ${PIPESTATUS[1]}"
# What came before the interrupt was answered.
(echo 1001; sleep 2) | timeout --foreground --preserve-status -s INT 1 "$COPSE" get orders.copse -
echo "exit ${PIPESTATUS[1]}"
cmp orders.copse before && rm before
ls -A
# Two signals at once are one Ctrl-C: it ends in good order.
mkfifo keys
"$COPSE" get orders.copse - <keys &
command=$!
exec 5>keys
echo 1001 >&5
sleep 1
kill -TERM $command
kill -INT $command 2>/dev/null
wait $command
echo "exit $?"
exec 5>&-
