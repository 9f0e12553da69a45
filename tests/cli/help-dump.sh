try dump --help
copse help dump | diff - <(copse dump -h) && echo same
