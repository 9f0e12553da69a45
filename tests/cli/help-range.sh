try range --help
copse help range | diff - <(copse range -h) && echo same
