# Keys through a pipe are answered as they come: the second question depends on the first answer.
make_orders
mkfifo questions answers
copse get orders.copse - <questions >answers &
exec 3>questions 4<answers
echo 1001 >&3
read -r -t 10 answer <&4 && echo "got $answer"
echo 1002 >&3
read -r -t 10 answer <&4 && echo "got $answer"
printf '1003\n10' >&3
read -r -t 10 answer <&4 && echo "got $answer"
printf '10' >&3
exec 3>&-
cat <&4
exec 4<&-
wait
# Much at once still comes in batches, and a last line needs no end.
seq 1 200000 >many
copse get orders.copse - --bare <many | grep -vc 'not found'
cat many | copse get orders.copse - --bare | grep -vc 'not found'
printf '1001 1002\r\n\n  1003\t1010' | copse count orders.copse -
head -c 300000 /dev/zero | tr '\0' 1 | copse get orders.copse - 2>&1 | cut -c 1-80
printf '1001\0001002 5\n' | copse count orders.copse -
echo "exit $?"
