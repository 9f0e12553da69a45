# Bad rows end the command, or are left out, named and counted.
printf 'id,amount\n1,10\ntwo,20\n3\n4,40,4\n5,fifty\n"6"x,60\n7,70\n"8\n\n8",80\n9,"9\n0",9\n10,100\n' >in.csv
try build in.csv -o a.copse
try build in.csv -o a.copse --on-bad fail
try build in.csv -o a.copse --on-bad skip --no-timing | mask
copse range a.copse
try build in.csv -o a.copse --on-bad skip -q --json --no-timing | mask
copse build in.csv -v row -o a.copse --on-bad skip -q >/dev/null && copse range a.copse
try build in.csv -o a.copse --on-bad ignore
# A NUL byte spoils its row only, whether quoted or not; lines are counted on.
printf 'k,v\n1,1\n2,\0002\n3,"\000\n"\n4,4\n5,x\n6,6\n' >nul.csv
try build nul.csv -o a.copse --on-bad skip --value-type u32 >/dev/null
copse range a.copse
# A quote that is never closed takes the rest of the file with it: that is no bad row.
printf 'k,v\n1,1\n2,"2\n3,3\n' >quote.csv
try build quote.csv -o b.copse --on-bad skip
# The type is that of most cells.
(echo k,v; echo ?,1; seq 20 | sed 's/$/,1.5/'; echo 2026-01-01,2) >mixed.csv
try build mixed.csv -o a.copse --on-bad skip --no-timing | mask
# Not one good row.
printf 'k,v\n1,a\n2,b\n' >none.csv
try build none.csv -o b.copse --on-bad skip
try build none.csv -o b.copse --on-bad skip --value-type i64
# No final line end, CR LF, a byte order mark, only a header.
printf '\357\273\277k,v\r\n1,1\r\nx,2\r\n3,3' >crlf.csv
try build crlf.csv -o a.copse --on-bad skip >/dev/null
copse range a.copse
printf 'k,v' >header.csv
copse build header.csv -o a.copse --on-bad skip --no-timing | mask
# A huge cell is a cell.
awk 'BEGIN { printf "k,note,v\n1,"; for (i = 0; i < 400000; i++) printf "0123456789"; print ",7" }' >huge.csv
copse build huge.csv -v v -o a.copse -q >/dev/null && copse range a.copse
try build huge.csv -k note -o b.copse
ls *.copse
