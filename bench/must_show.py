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


GPU_STRETCH = {"u32": 35, "u64": 11}  # of builds: the rate of CUB's sort alone, where it was not measured


def gpu_line(r, op, **wanted):
    wanted = {"memory": "device", "query_dist": "uniform", "n": r.n_large, **wanted}
    batch = wanted.pop("batch", None)
    for line in r.lines:
        if line["part"] != "promises" or line["structure"] != "implicit" or line["op"] != op:
            continue
        whole = line["batch"] == line["queries"]
        if all(line[name] == value for name, value in wanted.items()) and (whole if batch is None
                                                                          else line["batch"] == batch):
            return line
    return None


def gpu_rate(r, what, op, bar, stretch, **wanted):
    wanted = {"key": "u64", "value": "u64", **wanted}
    line = gpu_line(r, op, **wanted)
    return row(what, bar, line["mops"] / 1000 if line else None, "G/s") + (stretch,)


def gpu_peer(r, structure, key):
    rates = [line["mops"] / 1000 for line in r.lines if line["part"] == "promises" and line["op"] == "build"
             and line["structure"] == structure and line["key"] == key and line["n"] == r.n_large]
    return rates[0] if rates else None


def gpu_rows(r):
    u32 = {"key": "u32", "value": "u32"}
    large, huge, small = r.n_large, r.n, r.n_small
    yield gpu_rate(r, "find u32/u32, device memory", "find", 20, 28, **u32)
    yield gpu_rate(r, "find u64/u64, device memory", "find", 14, 24)
    yield gpu_rate(r, f"find u64/u64, {huge:,} keys", "find", 9, 18, n=huge)
    yield gpu_rate(r, f"find u64/u64, {small:,} keys", "find", 20, 30, n=small)
    yield gpu_rate(r, "find u64/u64, queries already sorted", "find", 30, 60, query_dist="sorted")
    for batch, bar in zip(r.small_batches, (25, 25, 30)):
        line = gpu_line(r, "find", key="u64", batch=batch)
        yield row(f"find, {batch:,} queries a call", bar, line["us_per_call"] if line else None, "us",
                  at_least=False) + (12,)
    yield gpu_rate(r, "ranges of 10 entries, u64", "range10", 3, 6)
    yield gpu_rate(r, "count over ranges of any width, u64", "count", 5, 10)
    yield gpu_rate(r, "sum over ranges of any width, u64", "sum", 5, 10)
    for key, bar in (("u32", 20), ("u64", 8)):
        stretch = gpu_peer(r, "cub::sort", key) or GPU_STRETCH[key]
        yield gpu_rate(r, f"build from unsorted pairs, {key}/{key}", "build", bar, stretch, key=key, value=key)
    yield gpu_rate(r, "find u64/u64 from pinned memory, results to host", "find", 4.5, 6, memory="pinned")
    yield gpu_rate(r, "the same from pageable memory", "find", 1.5, 3, memory="pageable")
    line = gpu_line(r, "find", key="u64", n=large)
    yield row("memory, u64/u64", 17.3, line["bytes_per_key"] if line else None, "B/key", at_least=False) + (None,)


def find_gpu_sizes(r):
    """Which index is the large one (it has the builds), which the small one; the batches that were timed by the call."""
    promises = [line for line in r.lines if line["part"] == "promises"]
    r.n_large = max((line["n"] for line in promises if line["op"] == "build"), default=r.n)
    r.n_small = min((line["n"] for line in promises), default=0)
    r.small_batches = sorted({line["batch"] for line in promises if line["batch"] < line["queries"]})[:3]


def show_gpu(r, rows, wrong):
    device = next((line["device"] for line in r.lines if line.get("device")), "no device")
    print(f"{device}, index of {r.n_large:,} uniform keys where nothing else is said")
    if 0 < r.n_large < 1 << 26:
        print("The bars are meant for 2^26 keys on an H200.")
    print()
    print("| what | bar | stretch | measured | |")
    print("|---|---|---|---|---|")
    for what, bar, unit, at_least, measured, passed, stretch in rows:
        sign = ">=" if at_least else "<="
        number = "not measured" if measured is None else f"{measured:.4g} {unit}"
        reached = stretch is not None and measured is not None and (measured >= stretch) == at_least
        verdict = "stretch" if passed and reached else "pass" if passed else "FAIL"
        print(f"| {what} | {sign} {bar:g} {unit} | {'' if stretch is None else f'{stretch:.3g}'} | {number} | {verdict} |")
    print(f"| wrong answers, all {len(r.lines)} measurements | 0 | | {wrong} | {'FAIL' if wrong else 'pass'} |")
    show_gpu_peers(r)


def show_gpu_peers(r):
    """How many times the peers of the same run."""
    print()
    for line in r.lines:
        if line["part"] != "promises" or "::" not in line["structure"]:
            continue
        ours = gpu_line(r, line["op"], key=line["key"], n=line["n"], query_dist=line["query_dist"])
        if ours:
            print(f"- {line['op']} {line['key']}/{line['value']}, n = {line['n']:,}, {line['query_dist']} queries: "
                  f"{ours['mops'] / line['mops']:.2f} x {line['structure']} ({line['mops'] / 1000:.3g} G/s)")


# ---- trees on a GPU that are changed in place ----

UPDATE_PARTS = ("updates", "sequences")
MAP = "std::map"


def power(n):
    exponent = n.bit_length() - 1
    return f"2^{exponent}" if n == 1 << exponent else f"{n:,}"


class Updates:
    """The lines of the parts updates and sequences. Sizes are those that were measured, so that a run of any scale has
    its table; the bars are those of the largest scale."""

    def __init__(self, lines):
        self.lines = lines
        updates = [line for line in lines if line["part"] == "updates"]
        self.n = max((line["n"] for line in updates), default=0)
        self.trees = list(dict.fromkeys(line["structure"] for line in lines if line["structure"] != MAP))
        batches = sorted({line["batch"] for line in updates if line["op"] == "insert-new"})
        self.small, self.large = batches[:-3], batches[-3:]

    def pick(self, tree, op, key="u32", part="updates", **wanted):
        for line in self.lines:
            if (line["part"], line["structure"], line["op"], line["key"]) != (part, tree, op, key):
                continue
            if all(line[name] == value for name, value in wanted.items()):
                return line
        return None

    def value(self, tree, field, op, key="u32", scale=1.0, **wanted):
        line = self.pick(tree, op, key, **wanted)
        return line[field] * scale if line else None

    def rate(self, op, key="u32", **wanted):
        return lambda tree: self.value(tree, "mops", op, key, 0.001, **wanted)

    def mean_rate(self, op, key, batch):
        """Over all calls of all turns, the slow ones among them: a median of turns would drop a turn that has more of them."""
        def measure(tree):
            mean = self.value(tree, "us_call_mean", op, key, batch=batch)
            return batch / mean / 1000 if mean else None
        return measure

    def speedup(self, op):
        """Time of std::map divided by ours, shuffled keys, at the largest size that both were given."""
        sizes = [line["n"] for line in self.lines if line["structure"] == MAP and line["dist"] == "shuffled"]
        where = {"part": "sequences", "dist": "shuffled", "n": max(sizes, default=0)}
        return lambda tree: divide(self.value(tree, "mops", op, **where), self.value(MAP, "mops", op, **where))


def update_rows(u):
    """what, bar, unit, whether more is better, stretch, and what gives the number for a tree"""
    grown = {line["grown"] for line in u.lines if line["part"] == "updates" and line["op"] == "find"} - {0}
    step = max(grown, default=0)
    for key, bar, stretch in (("u32", 12, 20), ("u64", 8, 14)):
        yield f"find {key}/{key}, index built", bar, "G/s", True, stretch, u.rate("find", key, grown=0)
    for key, bar, stretch in (("u32", 9, 18), ("u64", 6, 12)):
        yield (f"find {key}/{key}, index grown by {power(step)} random keys a call", bar, "G/s", True, stretch,
               u.rate("find", key, grown=step))
    for key, bars, stretches in (("u32", (3, 6, 10), (5, 10, 18)), ("u64", (2, 4, 5), (None,) * 3)):
        for batch, bar, stretch in zip(u.large, bars, stretches):
            yield (f"upsert of new keys, {key}/{key}, {power(batch)} a call, mean", bar, "G/s", True, stretch,
                   u.mean_rate("insert-new", key, batch))
    for batch, bar in zip(u.small, (60, 70, 110)):
        for kind in ("mean", "median"):
            yield (f"upsert of new keys, u32/u32, {power(batch)} a call, {kind}", bar, "us", False, 30,
                   lambda tree, batch=batch, kind=kind: u.value(tree, f"us_call_{kind}", "insert-new", batch=batch))
    yield "upsert of existing keys, u32/u32", 5, "G/s", True, 10, u.rate("update")
    yield "erase of half, u32/u32", 4, "G/s", True, None, u.rate("erase")
    yield "erase of half, u64/u64", 2.5, "G/s", True, None, u.rate("erase", "u64")
    yield "mixed: half finds, half upserts of new keys, u32/u32", 3, "G/s", True, 6, u.rate("mixed")
    yield "mixed: half finds, half upserts of existing keys, u32/u32", 3, "G/s", True, 6, u.rate("mixed-update")
    yield "ranges of 10 entries, u32/u32", 3, "G/s", True, 6, u.rate("range10")
    yield "find, shuffled keys, against std::map", 400, "x", True, None, u.speedup("find")
    yield "insert into an empty index, shuffled keys, against std::map", 150, "x", True, None, u.speedup("fill")
    for key, bar in (("u32", 13), ("u64", 26)):
        yield (f"memory after random inserts, {key}/{key}", bar, "B/key", False, None,
               lambda tree, key=key: u.value(tree, "bytes_per_key", "find", key, grown=step))
    for op, what in (("update", "upserts"), ("mixed-update", "half finds, half upserts")):
        for keys in (1, 10, 1000):
            yield (f"{what}, all on {keys:,} key{'s' * (keys > 1)}, u32/u32", 0.5, "G/s", True, None,
                   u.rate(f"{op}-hot{keys}"))


def judge(measured, bar, at_least, stretch):
    if measured is None:
        return "not measured", False
    passed = measured >= bar if at_least else measured <= bar
    reached = stretch is not None and (measured >= stretch if at_least else measured <= stretch)
    return f"{measured:.4g} {'stretch' if reached else 'pass' if passed else 'FAIL'}", passed


def show_updates(lines):
    """Prints the table of trees that are changed in place. True when some tree keeps each of the promises."""
    u = Updates(lines)
    device = next((line["device"] for line in lines if line.get("device")), "no device")
    print(f"{device}, updates in place, index of {u.n:,} uniform keys where nothing else is said")
    if u.n < 1 << 26:
        print("The bars are meant for 2^26 keys on an H200.")
    print()
    print("| what | bar | stretch | " + " | ".join(u.trees) + " |")
    print("|---|---|---|" + "---|" * len(u.trees))
    kept = True
    for what, bar, unit, at_least, stretch, measure in update_rows(u):
        cells = [judge(measure(tree), bar, at_least, stretch) for tree in u.trees]
        kept = kept and any(passed for _, passed in cells)
        sign = ">=" if at_least else "<="
        print(f"| {what} | {sign} {bar:g} {unit} | {'' if stretch is None else f'{stretch:g}'} | "
              + " | ".join(text for text, _ in cells) + " |")
    wrong = {tree: sum(line["wrong"] for line in lines if line["structure"] == tree) for tree in u.trees + [MAP]}
    print("| wrong answers | 0 | | " + " | ".join(f"{wrong[tree]} {'FAIL' if wrong[tree] else 'pass'}" for tree in u.trees)
          + " |")
    show_worst_calls(u)
    return kept and not any(wrong.values())


def show_worst_calls(u):
    print()
    for line in u.lines:
        if line["op"] not in ("insert-new", "fill", "mixed") or line["part"] != "updates" or not line["calls"]:
            continue
        print(f"- {line['structure']}, {line['op']} {line['key']}/{line['value']}, {power(line['batch'])} a call: mean "
              f"{line['us_call_mean']:.4g} us, median {line['us_call_median']:.4g}, worst {line['us_call_worst']:.4g}, "
              f"{line['calls']:,} calls, {line['bytes_per_key']:.3g} B/key afterwards")


def is_gpu(lines):
    return any(line["part"] == "promises" and line["placement"] in ("gpu", "emulated") for line in lines)


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
    lines = read_lines(sys.argv[1])
    updates = [line for line in lines if line["part"] in UPDATE_PARTS]
    results = Results([line for line in lines if line["part"] not in UPDATE_PARTS])
    if updates:
        kept = show_updates(updates)
        if not results.lines:
            sys.exit(0 if kept else 1)
        print()
    else:
        kept = True
    if is_gpu(results.lines):
        find_gpu_sizes(results)
        rows = list(gpu_rows(results))
        wrong = sum(line.get("wrong", 0) for line in results.lines)
        show_gpu(results, rows, wrong)
        sys.exit(0 if kept and wrong == 0 and all(one[5] for one in rows) else 1)
    makers = (find_rows, range_rows, change_rows, memory_rows, isa_rows)
    rows = [one for make in makers for one in make(results)]
    wrong = sum(line.get("wrong", 0) for line in results.lines)
    show(rows, results, wrong)
    sys.exit(0 if kept and wrong == 0 and all(one[-1] for one in rows) else 1)


if __name__ == "__main__":
    main()
