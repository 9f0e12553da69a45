try demo --n 5000 --no-timing
try demo --n 1 --no-timing --json
copse demo --n 3000 --threads 1 | sed -E 's/[0-9]+\.[0-9]+/N/g; s/on [0-9]+ threads? with [a-z0-9]+/on T with I/; s/ +/ /g; s/took .*/took T/'
