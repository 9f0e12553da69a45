try append --help
copse help append | diff - <(copse append -h) && echo same
