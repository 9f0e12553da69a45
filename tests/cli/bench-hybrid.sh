# What a hybrid tree cannot be told gets a sentence; a limit below its root leaves the CPU alone, and the answers right.
small() { copse bench --placement hybrid-emulated --structure implicit --n 2^12 --queries 100 --repeat 1 "$@"; }
small --bucket 0
small --schedule both
small --refresh never
small --slower 0
small --bucket 2^27 >/dev/null
COPSE_DEVICE_MEMORY=300 small | tail -1
