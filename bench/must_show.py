#!/usr/bin/env python3
"""Reads the JSON lines of bench/standard and prints the table of promises: what, bar, measured, pass or FAIL.

Usage: bench/must_show.py bench/results/NAME
Exit code 1 when a promise is not kept or an answer was wrong.
"""
import json
import pathlib
import sys


def read_lines(folder):
    lines = []
    for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for text in file:
                lines.append(dict(json.loads(text), part=path.stem))
    return lines


class Results:
    """The lines of one results folder, and the largest index among the promises."""

    def __init__(self, lines):
        self.lines = lines
        self.n = max((line["n"] for line in lines if line["part"] == "promises"), default=0)

    def pick(self, structure, op, part="promises", **wanted):
        wanted = {"key": "u64", "value": "u64", "threads": 1, "n": self.n, **wanted}
        for line in self.lines:
            if line["part"] != part or line["structure"] != structure or line["op"] != op:
                continue
            if all(line[name] == value for name, value in wanted.items()):
                return line
        return None

    def mops(self, structure, op, **wanted):
        line = self.pick(structure, op, **wanted)
        return line["mops"] if line else None


def divide(a, b):
    return a / b if a is not None and b else None


def row(what, bar, measured, unit, at_least=True):
    if measured is None:
        return what, bar, unit, at_least, None, False
    passed = measured >= bar if at_least else measured <= bar
    return what, bar, unit, at_least, measured, passed


def find_rows(r):
    implicit = r.mops("implicit", "find")
    regular = r.mops("regular", "find")
    absl = r.mops("absl::btree_map", "find")
    u32 = {"key": "u32", "value": "u32"}
    yield row("find, implicit, u64/u64, 1 thread, against absl::btree_map", 15, divide(implicit, absl), "x")
    yield row("the same against std::map", 45, divide(implicit, r.mops("std::map", "find")), "x")
    yield row("find, implicit, u32/u32, against absl::btree_map", 16,
              divide(r.mops("implicit", "find", **u32), r.mops("absl::btree_map", "find", **u32)), "x")
    yield row("find, regular, u64/u64, against absl::btree_map", 8, divide(regular, absl), "x")
    yield row("find, regular against implicit", 60, percent(regular, implicit), "%")
    for structure in ("implicit", "regular"):
        yield row(f"find, {structure}, 2 threads against 1", 1.8,
                  divide(r.mops(structure, "find", threads=2), r.mops(structure, "find")), "x")


def percent(a, b):
    ratio = divide(a, b)
    return None if ratio is None else 100 * ratio


def range_rows(r):
    for op, bar in (("range10", 8), ("range100", 5)):
        yield row(f"{op}, implicit, against absl::btree_map", bar,
                  divide(r.mops("implicit", op), r.mops("absl::btree_map", op)), "x")
    find = r.mops("implicit", "find", queries=1000000)  # of the same run
    for op in ("count", "sum"):
        yield row(f"{op} of any width, implicit, against find", 50, percent(r.mops("implicit", op), find), "%")
        yield row(f"{op}, any width against 100 entries", 50,
                  percent(r.mops("implicit", op), r.mops("implicit", op + "-narrow")), "%")


def change_rows(r):
    absl = r.mops("absl::btree_map", "insert")
    yield row("upsert of 2^20 keys, regular, 1 thread, against absl::btree_map", 4,
              divide(r.mops("regular", "insert"), absl), "x")
    for structure in ("implicit", "regular"):
        yield row(f"build from unsorted pairs, {structure}, 2 threads", 25,
                  r.mops(structure, "build", threads=2), "M/s")
        yield row(f"build from sorted pairs, {structure}, 2 threads", 150,
                  r.mops(structure, "build-sorted", threads=2), "M/s")


def memory_rows(r):
    def bytes_per_key(structure, op, **wanted):
        line = r.pick(structure, op, **wanted)
        return line["bytes_per_key"] if line else None

    grown = [line for line in r.lines if line["part"] == "promises" and line["op"] == "insert" and line["n"] < r.n]
    yield row("memory, implicit, u64/u64", 18.2, bytes_per_key("implicit", "find"), "B/key", at_least=False)
    yield row("memory, regular, after bulk build", 20, bytes_per_key("regular", "find"), "B/key", at_least=False)
    yield row("memory, regular, after random inserts (16x)", 26, grown[0]["bytes_per_key"] if grown else None, "B/key",
              at_least=False)


def isa_rows(r):
    for structure in ("implicit", "regular"):
        rates = {line["isa"]: line["mops"] for line in r.lines
                 if line["part"] == "isa" and line["structure"] == structure and line["op"] == "find"
                 and line["key"] == "u64" and line["n"] == r.n}
        fastest = max(rates, key=rates.get, default=None)
        yield row(f"find, {structure}, {fastest} against scalar", 1,
                  divide(rates.get(fastest), rates.get("scalar")), "x")


def show(rows, r, wrong):
    print(f"n = {r.n:,} uniform keys" if r.n else "no promises were measured")
    if 0 < r.n < 1 << 24:
        print("The bars are meant for 2^24 keys; on a smaller index peers profit from the caches.")
    print()
    print("| what | bar | measured | |")
    print("|---|---|---|---|")
    for what, bar, unit, at_least, measured, passed in rows:
        sign = ">=" if at_least else "<="
        number = "not measured" if measured is None else f"{measured:.4g} {unit}"
        print(f"| {what} | {sign} {bar:g} {unit} | {number} | {'pass' if passed else 'FAIL'} |")
    print(f"| wrong answers, all {len(r.lines)} measurements | 0 | {wrong} | {'FAIL' if wrong else 'pass'} |")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = Results(read_lines(sys.argv[1]))
    makers = (find_rows, range_rows, change_rows, memory_rows, isa_rows)
    rows = [one for make in makers for one in make(results)]
    wrong = sum(line["wrong"] for line in results.lines)
    show(rows, results, wrong)
    sys.exit(0 if wrong == 0 and all(one[-1] for one in rows) else 1)


if __name__ == "__main__":
    main()
