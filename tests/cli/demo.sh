# Whether there is a card is the machine's business: one line says so, or says which.
try demo --n 5000 --no-timing | sed -E 's/^(GPU: none: .+|gpu: the implicit and the blink tree on card [0-9]+, .+)$/(gpu)/'
try demo --n 3000 --no-timing --placement cpu,emulated
try demo --n 1 --no-timing --json --placement cpu,emulated
copse demo --n 3000 --threads 1 --placement cpu,emulated,cpu | sed -E 's/[0-9]+\.[0-9]+/N/g; s/on [0-9]+ threads? with [a-z0-9]+/on T with I/; s/ +/ /g; s/took .*/took T/'
try demo --n 10 --placement cpu,tpu
try demo --n 10 --placement auto
try demo --n 10 --device 2^40
try demo --n 10 --placement cpu,gpu --device 99999 2>&1 | sed -E 's/(there is no card 99999): .+/\1: (why)/'
