try first --help
copse help first | diff - <(copse first -h) && echo same
