try verify --help
copse help verify | diff - <(copse verify -h) && echo same
