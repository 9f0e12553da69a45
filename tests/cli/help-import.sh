try import --help
copse help import | diff - <(copse import -h) && echo same
