# The figures of the hybrid paper, small: one page with all of them, and every answer right.
root=$(dirname "${BASH_SOURCE[0]}")/../..
"$root/bench/figures" --quick --command "$COPSE" --results here | grep -c '^figure'
grep -o '<h2' here/figures.html | wc -l
grep -c '"wrong": *0[,}]' here/figures.jsonl | awk '{ print ($1 > 100) }'
"$root/bench/figures" --only 9 --command "$COPSE" --results here
"$root/bench/figures" --draw --results nowhere
