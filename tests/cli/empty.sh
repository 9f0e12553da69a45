printf 'k,v\n' >empty.csv
copse build empty.csv -o e.copse --no-timing | mask
try get e.copse 1
try range e.copse
try count e.copse
try sum e.copse
copse info e.copse | mask
copse info e.copse --json | mask
try verify e.copse
