try avg --help
copse help avg | diff - <(copse avg -h) && echo same
