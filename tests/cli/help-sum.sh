try sum --help
copse help sum | diff - <(copse sum -h) && echo same
