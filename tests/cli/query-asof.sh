printf 'time,symbol,price\n2024-01-02T10:00:05,A,10\n2024-01-02T10:00:01,B,20\n2024-01-02T09:59:59,A,11\n2024-01-02T11:00:00,A,12\n' >trades.csv
printf 'time,symbol,bid\n2024-01-02T10:00:00,A,9.5\n2024-01-02T10:00:04,A,9.75\n2024-01-02T10:00:02,B,19\n' >quotes.csv
try query trades.csv --asof 'quotes.csv on time by symbol' --select time,symbol,price,bid
try query trades.csv --asof 'quotes.csv on time' --select price,right.symbol,bid
try query trades.csv --asof 'quotes.csv on time by symbol tolerance 2000000' --select price,bid --format csv
try query trades.csv --asof quotes.csv on time by symbol tolerance 2000000 --select price,bid --format csv
try query trades.csv --asof 'quotes.csv by symbol'
try query trades.csv --asof quotes.csv
try query trades.csv --asof 'quotes.csv on time by symbol tolerance 2s' --select price,bid --format csv
try query trades.csv --asof 'quotes.csv on time by symbol tolerance 2y'
try query trades.csv --asof 'quotes.csv on time by symbol tolerance 9999999999999d'
try query trades.csv --asof 'quotes.csv on time by symbol tolerance 2s' --explain
try query trades.csv --asof 'quotes.csv on symbol tolerance 2'
try query trades.csv --asof 'quotes.csv on time tolerance -2'
