printf 'id,amount,day\n1,10.5,2025-01-02\n2,20,2025-01-03\n3,12x,soon\n4,40,2025-01-05\n' >dirty.csv
printf 'id,name\n1,Ann\n2,Bob\n3,7\n' >names.csv
try query dirty.csv --select amount
try query dirty.csv --null 12x,soon --sum amount
try query dirty.csv --select amount --quiet
try query dirty.csv --on-bad skip --sum amount
try query names.csv --count
printf 'id,day,other\n1,31.12.2024,12/31/2024\n2,,1/2/2024\n' >days.csv
try query days.csv --count
try query days.csv --types day=string --date-format %d.%m.%Y --count
