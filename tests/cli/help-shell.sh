try shell --help
copse help shell | diff - <(copse shell -h) && echo same
