try count --help
copse help count | diff - <(copse count -h) && echo same
