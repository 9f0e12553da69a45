try last --help
copse help last | diff - <(copse last -h) && echo same
