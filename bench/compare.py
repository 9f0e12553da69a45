#!/usr/bin/env python3
"""Compares two results folders of bench/standard: compare.py BEFORE AFTER [--allow PERCENT].

Every measurement that both have is a row: what it is, both rates, and after / before. A rate is the mean of the call times where
a line has them, else the median of its repeats. Where a measurement was repeated (the same line several times in a file, as
when runs of two builds take turns) the best of each side counts. Exit code 1 when a rate fell by more than the
allowed percent (3), or an answer was wrong."""
import argparse
import json
import pathlib
import sys

SAME = ("part", "structure", "placement", "key", "value", "n", "op", "dist", "query_dist", "grown", "queries", "batch",
        "threads", "memory", "transfer", "isa", "huge_pages", "pipeline")
SHOWN = ("structure", "placement", "key", "n", "op", "queries", "batch", "threads", "memory")


def rate(line):
    mean = line.get("us_call_mean")
    return line["batch"] / mean if mean and line["batch"] < line["queries"] else line["mops"]


def read(folder):
    best, wrong = {}, 0
    for file in sorted(pathlib.Path(folder).glob("*.jsonl")):
        for text in file.read_text().splitlines():
            line = json.loads(text)
            line["part"] = file.stem
            wrong += line.get("wrong", 0)
            key = tuple(str(line.get(name)) for name in SAME)
            if key not in best or rate(line) > rate(best[key]):
                best[key] = line
    return best, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--allow", type=float, default=3.0, metavar="PERCENT", help="how much a rate may fall (3)")
    options = parser.parse_args()
    before, wrong_before = read(options.before)
    after, wrong_after = read(options.after)
    slower = rows = 0
    for key, line in before.items():
        if key not in after:
            continue
        rows += 1
        ratio = rate(after[key]) / rate(line)
        fell = ratio < 1 - options.allow / 100
        slower += fell
        what = " ".join(str(line.get(name)) for name in SHOWN)
        print(f"{'SLOWER' if fell else 'ok    '} {ratio:6.3f}  {rate(line):11.3f} -> {rate(after[key]):11.3f} M/s  {what}")
    print(f"{rows} measurements in both, {slower} slower by more than {options.allow:g} %, "
          f"{wrong_before + wrong_after} wrong answers")
    return 1 if slower or wrong_before + wrong_after or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
