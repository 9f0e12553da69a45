# Names with anything in them stay valid JSON.
printf '"a ""b"" \\ \n\t\001 \303\251",v\n1,2\n' >odd.csv
copse build odd.csv -o 'odd "name".copse' --json --no-timing -q | mask
copse info 'odd "name".copse' --json | mask
