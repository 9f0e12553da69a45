try erase --help
copse help erase | diff - <(copse erase -h) && echo same
