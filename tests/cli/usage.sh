make_orders
try
try buld
try verfy
try zzzzzz
try --frobnicate
try help nonsense
try help get range
try build
try build orders.csv
try build orders.csv more.csv -o x
try build orders.csv -o
try build orders.csv --ouptut x
try build orders.csv --quiet=yes -o x
try build orders.csv -x
try build orders.csv -o x --format xml
try build orders.csv -o x --structure oak
try build orders.csv -o x --key-type int
try build orders.csv -o x --value-type date
try build orders.csv -o x --delimiter ''
try build orders.csv -o x --delimiter '"'
try build orders.csv -o x --threads many
try build orders.csv -o x --format csv --pairs
try get
try get orders.copse
try get orders.copse abc
try get orders.copse 1001 12.5
try get orders.copse 99999999999999999999
try get orders.copse ''
try get orders.copse 1001 --file keys
try get orders.copse 1001 --limit 3
try range orders.copse 1001
try count orders.copse 1 2 3
try sum orders.copse 1 abc
try info
try info a b
try verify
try devices here
try demo now
try demo --n lots
try demo --n 2^40
ls
