# A sliding window: what comes, what goes, what is left.
try demo stream --steps 20 --batch 1000 --window 10000 --no-timing --placement cpu
try demo stream --steps 12 --batch 2^13 --window 2^15 --no-timing --placement emulated
try demo stream --steps 5 --batch 100 --window 250 --no-timing --json --placement cpu | sed -E 's/"structure": "[a-z]+"/"structure": S/'
copse demo stream --steps 30 --batch 5000 --window 2^14 --placement cpu | sed -E 's/[0-9.]+ [kMG]?\/s/N/; s/[0-9.]+ [mun]?s$/T/; s/in [0-9.]+ [KM]iB \(at most: [0-9.]+ [KM]iB\)/in M/; s/ +/ /g'
try demo stream --seconds 1 --batch 64 --window 64 --json --placement cpu | grep -c '"wrong": *0'
try demo stream --n 5
try demo stream twice
try demo --window 5
try demo stream --placement tpu
try demo stream --batch 2^40
