try max --help
copse help max | diff - <(copse max -h) && echo same
