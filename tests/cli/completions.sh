# The completions know exactly what the command knows: they are what scripts/completions writes now.
root=$(dirname "${BASH_SOURCE[0]}")/../..
"$root/scripts/completions" "$COPSE" . && diff copse.bash "$root/completions/copse.bash" && diff _copse "$root/completions/_copse" && echo same
. "$root/completions/copse.bash"
ask() { # WORD...: what comes in place of the last one
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _copse
    echo "$* -> ${COMPREPLY[*]}"
}
ask copse ''
ask copse ver
ask copse --v
ask copse help d
ask copse append --on
ask copse append f.copse --on-conflict ''
ask copse build --duplicates = ''
ask copse build --duplicates =
ask copse range f.copse --re
ask copse get f.copse f
ask copse nonsense --x
if command -v zsh >/dev/null; then zsh -n "$root/completions/_copse"; fi
