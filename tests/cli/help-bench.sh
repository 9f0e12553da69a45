# The text itself belongs to the benchmark; here only that it is there.
copse help bench | head -1
copse bench --help >/dev/null && echo good
