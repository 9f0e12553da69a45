try query --help
copse help query | diff - <(copse query -h) && echo same
