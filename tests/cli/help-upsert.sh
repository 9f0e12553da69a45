try upsert --help
copse help upsert | diff - <(copse upsert -h) && echo same
