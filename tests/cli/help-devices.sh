try devices --help
copse help devices | diff - <(copse devices -h) && echo same
