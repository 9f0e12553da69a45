try get --help
copse help get | diff - <(copse get -h) && echo same
