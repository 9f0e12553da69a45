# The shell on a terminal: prompts, answers, Ctrl-C in the middle of a question and at the prompt, history, the end. Where libedit is
# not installed, lines are read without it.
seq 2000000 | sed '1i i' >ids.csv
copse import ids.csv -o ids.table >/dev/null
HOME=$PWD; export HOME TERM=dumb
mkfifo keys
script -qec "$COPSE shell ids.table" /dev/null <keys >screen 2>&1 &
exec 5>keys
# Waits until the screen shows a text so many times.
shows() { # TIMES TEXT
    for _ in $(seq 600); do
        [ "$(tr '\r' '\n' <screen | grep -cF -- "$2")" -lt "$1" ] || { echo "shows $2"; return; }
        sleep 0.1
    done
    echo "does not show $2"
    cat screen >&2
}
shows 1 "2,000,000 rows; 'help' explains"
shows 1 'copse>'
echo 'where i <= 77123 count' >&5
shows 1 ' 77123'
echo "where $(seq -f 'i<>%.0f' -s ' or ' 300) count" >&5
shows 1 'i<>300'
sleep 0.5
printf '\003' >&5
shows 1 'interrupted'
sleep 1 # a second one within half of a second is taken for the same
printf 'never asked\003' >&5
echo 'where i <= 88123 count' >&5
shows 1 ' 88123'
echo 'where j = 1' >&5
shows 1 'no column "j"'
echo quit >&5
wait $!
echo "exit $?"
exec 5>&-
grep -c '2000000' screen
if ldconfig -p | grep -q libedit; then sed 's/\\040/ /g' .copse_history; else echo 'where i <= 88123 count'; fi | grep -c '88123'
