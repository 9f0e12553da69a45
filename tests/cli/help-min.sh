try min --help
copse help min | diff - <(copse min -h) && echo same
