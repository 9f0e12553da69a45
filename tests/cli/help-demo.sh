try demo --help
copse help demo | diff - <(copse demo -h) && echo same
