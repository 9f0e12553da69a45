# What the machine has differs; which lines there are does not. Of cards, the build and the machine decide.
cards() {
    awk '!/^ / { card = 0 } /^GPU( [0-9]+$|: none: .+$)/ { card = 1 } !card { print } card && !said++ { print "(cards)" }'
}
json_cards() {
    sed -E -e 's/^\{"device": "gpu", "number": [0-9]+, "name": "[^"]+", "memory": [0-9]+, "memory_free": [0-9]+, "capability": "[0-9]+\.[0-9]+", "multiprocessors": [0-9]+, "cache": [0-9]+, "usable": (true, "reason": null|false, "reason": ".+")\}$/(cards)/' \
        -e 's/^\{"device": "gpu", "number": null, "usable": false, "reason": ".+"\}$/(cards)/' | uniq
}
COPSE_ISA=scalar copse devices --threads 1 | cards | sed -E -e '/^  model/d' -e 's/^(  [a-z ]{16}).*/\1(masked)/'
COPSE_ISA=scalar copse devices --threads 1 --json | json_cards |
    sed -E -e 's/"model": (null|"[^"]*")/"model": "masked"/' -e 's/"(cores|pipeline)": [0-9]+/"\1": "masked"/g' \
        -e 's/"isa_offered": "[^"]*"/"isa_offered": "masked"/' -e 's/"huge_pages": (true|false)/"huge_pages": "masked"/'
COPSE_ISA=abacus copse devices
echo "exit $?"
COPSE_DEVICE=first copse devices
echo "exit $?"
COPSE_DEVICE=99999 copse devices >/dev/null 2>card.err
echo "exit $?"
sed -E 's/(there is no card 99999): .*/\1: (why)/' card.err >&2
COPSE_THREADS=many copse devices
