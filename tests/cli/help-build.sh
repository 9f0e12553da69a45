try build --help
copse help build | diff - <(copse build -h) && echo same
