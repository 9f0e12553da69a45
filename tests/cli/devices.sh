# What the machine has differs; which lines there are does not.
COPSE_ISA=scalar copse devices --threads 1 | sed -E -e '/^  model/d' -e 's/^(  [a-z ]{16}).*/\1(masked)/'
COPSE_ISA=scalar copse devices --threads 1 --json |
    sed -E -e 's/"model": (null|"[^"]*")/"model": "masked"/' -e 's/"(cores|pipeline)": [0-9]+/"\1": "masked"/g' \
        -e 's/"isa_offered": "[^"]*"/"isa_offered": "masked"/' -e 's/"huge_pages": (true|false)/"huge_pages": "masked"/'
COPSE_ISA=abacus copse devices
echo "exit $?"
COPSE_THREADS=many copse devices
