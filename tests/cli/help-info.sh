try info --help
copse help info | diff - <(copse info -h) && echo same
