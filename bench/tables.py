#!/usr/bin/env python3
"""Writes the tables of README.md and docs/PERFORMANCE.md from the JSON lines of bench/standard, so that they agree.

Usage: bench/tables.py [--check]
A table stands between <!-- table NAME --> and <!-- end --> and is made anew; so is the sentence between
<!-- commits NAME --> and <!-- end -->, which names the files and commits of its figures. --check writes nothing, and the
exit code is 1 where something would change.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPU, GPU = ("amd-epyc-2-cores", 2**24), ("h200", 2**26)  # a folder of bench/results, and the entries of its indexes
U32 = {"key": "u32", "value": "u32"}
TWO = {"threads": 2}


class Source:
    """The lines of one folder. `used` remembers which commit a part was asked for."""

    def __init__(self, machine):
        self.folder, self.n = machine
        self.parts, self.used = {}, {}

    def lines(self, part):
        if part not in self.parts:
            path = ROOT / "bench/results" / self.folder / f"{part}.jsonl"
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            self.parts[part] = [json.loads(line) for line in text.splitlines()]
        return self.parts[part]

    def pick(self, part, structure, op, **wanted):
        """The first line with these fields; one call for all queries, of uniform u64 keys, unless something else is wanted."""
        wanted = {"key": "u64", "value": "u64", "query_dist": "uniform", "n": self.n, "grown": 0} | wanted
        for line in self.lines(part):
            if (line["structure"], line["op"]) != (structure, op):
                continue
            if "batch" not in wanted and line["batch"] != line["queries"]:
                continue
            if all((line.get(name) or 0) == value if name == "grown" else line.get(name) == value
                   for name, value in wanted.items()):
                self.used[part] = line["commit"]
                return line
        return None


def number(value):
    """Three digits that count, two behind the point at most."""
    if value is None:
        return ""
    if value >= 1000:
        digits = len(str(int(value))) - 3
        return f"{int(round(value, -digits)):,}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rate(line, mean=False):
    """Million operations a second; of several calls the mean of all, where that is wanted."""
    if not line:
        return None
    return line["batch"] / line["us_call_mean"] if mean else line["mops"]


def table(head, rows):
    lines = [" ".join(f"| {cell}".rstrip() for cell in row) + " |" for row in [head, *rows]]
    return [lines[0], "|---|" + "---:|" * (len(head) - 1), *lines[1:]]


# ---- the tables: a row has a name, the part that its figures are from, and what is to be picked there ----

CPU_ROWS = [
    ("find, one batch", "promises", "find", {}),
    ("find, one batch, two threads", "promises", "find", TWO),
    ("find, one batch, u32 keys and values", "promises", "find", U32),
    ("lower bound", "ops", "lower-bound", {}),
    ("range of 10 entries", "promises", "range10", {}),
    ("range of 100 entries", "promises", "range100", {}),
    ("range of 1000 entries", "ops", "range1000", {}),
    ("count of a range of any width", "promises", "count", {}),
    ("sum of a range of any width", "promises", "sum", {}),
    ("minimum of a range of any width", "ops", "min", {}),
    ("build from unsorted pairs", "ops", "build", {}),
    ("build from unsorted pairs, two threads", "promises", "build", TWO),
    ("build from sorted pairs", "ops", "build-sorted", {}),
    ("upsert of 2^20 new keys", "promises", "insert", {}),
    ("upsert of 2^20 existing keys", "ops", "update", {}),
    ("erase of 2^20 keys", "ops", "erase", {}),
    ("export of everything into arrays", "ops", "export", {}),
]


def starred(source, first, part):
    """A star at figures of another commit than those of the first part."""
    commits = [source.lines(name)[0]["commit"] if source.lines(name) else None for name in (first, part)]
    return " *" if None not in commits and commits[0] != commits[1] else ""


def cpu_table():
    source = Source(CPU)
    names = ("implicit", "regular", "absl::btree_map", "std::map")
    rows = []
    for label, part, op, fields in CPU_ROWS:
        cells = [number(rate(source.pick(part, name, op, **({"threads": 1} | fields)))) for name in names]
        rows.append([label + starred(source, "promises", part), *cells])
    finds = [source.pick("promises", name, "find", threads=1) for name in names]
    rows.append(["bytes a key", *(number(line and line["bytes_per_key"]) for line in finds)])
    return table(["", *names], rows), source


GPU_ROWS = [  # what the implicit tree, blink and thrust show: part, operation, fields
    ("find, u32 keys and values", ("promises", "find", U32), ("updates", "find", U32), ("promises", "find", U32)),
    ("find", ("promises", "find", {}), ("updates", "find", {}), ("promises", "find", {})),
    ("find, after growing from nothing by 2^20 random keys a call", None, ("updates", "find", {"grown": 2**20}), None),
    ("find, sorted queries", *[("promises", "find", {"query_dist": "sorted"}), None] * 2),
    ("find, index of 2^20 keys", *[("promises", "find", {"n": 2**20}), None] * 2),
    ("find, index of 2^30 keys", *[("promises", "find", {"n": 2**30}), None] * 2),
    ("find, queries and answers in pinned host memory", ("promises", "find", {"memory": "pinned"}), None, None),
    ("find, queries and answers in ordinary host memory", ("promises", "find", {"memory": "pageable"}), None, None),
    ("range of 10 entries", ("promises", "range10", {}), None, None),
    ("range of 10 entries, u32 keys and values", None, ("updates", "range10", U32), None),
    ("range of 100 entries", ("ops", "range100", {}), None, None),
    ("count of a range of any width", ("promises", "count", {}), None, None),
    ("sum of a range of any width", ("promises", "sum", {}), None, None),
    ("build from unsorted pairs", ("promises", "build", {}), None, None),
    ("upsert of new keys, 2^20 a call", ("ops", "insert", {}), ("updates", "insert-new", {"batch": 2**20}), None),
    ("upsert of new keys, 2^22 a call", None, ("updates", "insert-new", {"batch": 2**22}), None),
    ("upsert of new keys, 2^24 a call", None, ("updates", "insert-new", {"batch": 2**24}), None),
    ("erase of half, one call", None, ("updates", "erase", {}), None),
]
GPU_NAMES = ("implicit", "blink", "thrust::lower_bound")


def gpu_rate(source, name, wanted):
    if not wanted:
        return None
    part, op, fields = wanted
    return rate(source.pick(part, name, op, **({"memory": "device"} | fields)), mean=op == "insert-new")


def gpu_table():
    source = Source(GPU)
    rows = []
    for label, *cells in GPU_ROWS:
        rates = [gpu_rate(source, name, cell) for name, cell in zip(GPU_NAMES, cells)]
        stars = [starred(source, "promises", cell[0]) if cell and cell[0] == "ops" else "" for cell in cells]
        rows.append([label, *(number(one and one / 1000) + (star if one else "") for one, star in zip(rates, stars))])
    finds = [source.pick(part, name, "find", memory="device")
             for part, name in zip(("promises", "updates", "promises"), GPU_NAMES)]
    rows.append(["bytes a key", *(number(line and line["bytes_per_key"]) for line in finds)])
    return table(["", "implicit", "blink", "thrust"], rows), source


README_ROWS = ["find", "range of 10 entries", "count of a range of any width", "sum of a range of any width",
               "build from unsorted pairs", "upsert of new keys, 2^20 a call"]
README_CPU = {"find": "find, one batch", "upsert of new keys, 2^20 a call": "upsert of 2^20 new keys"}
README_LABELS = {"find": "find, one batch", "upsert of new keys, 2^20 a call": "upsert of 2^20 new keys"}


def readme_table():
    cpu, gpu = Source(CPU), Source(GPU)
    names = ("implicit", "regular", "absl::btree_map")
    rows = []
    for row in README_ROWS:
        _, part, op, fields = next(one for one in CPU_ROWS if one[0] == README_CPU.get(row, row))
        cells = next(one[1:] for one in GPU_ROWS if one[0] == row)
        rows.append([README_LABELS.get(row, row),
                     *(number(rate(cpu.pick(part, name, op, **({"threads": 1} | fields)))) for name in names),
                     *(number(gpu_rate(gpu, name, cell)) for name, cell in zip(GPU_NAMES, cells))])
    bytes_of = [cpu.pick("promises", name, "find", threads=1) for name in names]
    bytes_of += [gpu.pick(part, name, "find", memory="device")
                 for part, name in zip(("promises", "updates", "promises"), GPU_NAMES)]
    rows.append(["bytes a key", *(number(line and line["bytes_per_key"]) for line in bytes_of)])
    head = ["", "`implicit`, CPU", "`regular`, CPU", "absl::btree_map", "`implicit`, GPU", "`blink`, GPU", "thrust, GPU"]
    return table(head, rows), cpu


def cpu_batches_table():
    source, sizes = Source(CPU), (1, 4, 16, 64, 256)
    rows = [[f"{name}, CPU, one thread, M/s",
             *(number(rate(source.pick("batches", name, "find", threads=1, batch=size))) for size in sizes)]
            for name in ("implicit", "regular")]
    return table(["keys a call", *map(str, sizes)], rows), source


def gpu_batches_table():
    source, powers = Source(GPU), (8, 10, 14, 16, 20, 24)

    def row(label, part, structure, op, field, **fields):
        lines = [source.pick(part, structure, op, batch=2**power, **fields) for power in powers]
        return [label, *(number(line and line[field]) for line in lines)]

    rows = [row("implicit on the H200, arrays in device memory, µs a call", "batches", "implicit", "find", "us_per_call",
                placement="gpu", memory="device"),
            row("the same, arrays in ordinary host memory", "batches", "implicit", "find", "us_per_call",
                placement="gpu", memory="pageable"),
            row("implicit on that machine's CPU, 16 threads", "batches", "implicit", "find", "us_per_call",
                placement="cpu"),
            row("blink, upsert of new u32 keys (`updates.jsonl`), mean", "updates", "blink", "insert-new",
                "us_call_mean", **U32)]
    return table(["keys a call", *(f"2^{power}" for power in powers)], rows), source


QUERY_ROWS = [
    ("10^5 narrow ranges, count and sum", "query", "ranges"),
    ("two ranges of 1 % each, count and sum", "query", "conjunction"),
    ("join 10^7 x 10^6, a sum of each side", "query", "join"),
    ("the same, keys apart", "query", "join apart"),
    ("as-of join 10^7 x 10^7 by 1,000 groups", "query", "asof"),
    ("the same, times are floats", "query", "asof floats"),
    ("the same, groups are strings", "query", "asof strings"),
    ("the same, rows in no order", "query", "asof shuffled"),
    ("summary: four aggregates of most rows, by two columns", "query-orders", "summary"),
    ("forecast: three ranges, count and sum", "query-orders", "forecast"),
    ("largest: ten largest orders of a quarter", "query-orders", "largest"),
    ("late: semi join, by priority", "query-orders", "late"),
    ("segments: join, by segment", "query-orders", "segments"),
    ("all pairs: lines with their orders, sums", "query-orders", "all pairs"),
]


def query_table():
    source, names = Source(CPU), ("copse", "sqlite", "duckdb", "pandas", "polars")
    rows = []
    for label, part, case in QUERY_ROWS:
        lines = {line["who"]: line for line in source.lines(part) if line["case"] == case}
        lines["sqlite"] = lines.get("sqlite") or lines.get("sqlite3")
        source.used[part] = lines["copse"]["commit"]
        rows.append([label, *(number(lines.get(name) and 1000 * lines[name]["cpu_seconds"]) for name in names)])
    return table(["processor milliseconds", *names], rows), source


TABLES = {"query": query_table, "readme": readme_table, "cpu": cpu_table, "gpu": gpu_table, "cpu-batches": cpu_batches_table,
          "gpu-batches": gpu_batches_table}


def commits_of(source):
    """One commit for all parts, or each part with its own."""
    if len(set(source.used.values())) == 1:
        return f"`bench/results/{source.folder}`, commit {next(iter(source.used.values()))}."
    parts = [f"`{part}.jsonl` (commit {commit})" for part, commit in source.used.items()]
    text = f"`bench/results/{source.folder}`: {', '.join(parts)}."
    return text + " A star: another commit than the first." if "promises" in source.used else text


def renew(text):
    def replace(match):
        kind, name = match.group(1), match.group(2)
        if name not in TABLES:
            sys.exit(f"bench/tables.py: there is no table '{name}': {', '.join(TABLES)}")
        lines, source = TABLES[name]()
        body = lines if kind == "table" else [commits_of(source)]
        return "\n".join([f"<!-- {kind} {name} -->", *body, "<!-- end -->"])

    return re.sub(r"<!-- (table|commits) (\S+) -->\n.*?<!-- end -->", replace, text, flags=re.DOTALL)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = False
    for path in (ROOT / "README.md", ROOT / "docs/PERFORMANCE.md"):
        text = path.read_text(encoding="utf-8")
        new = renew(text)
        if new == text:
            continue
        stale = True
        if sys.argv[1:]:
            print(f"{path.name} does not agree with bench/results; run bench/tables.py")
        else:
            path.write_text(new, encoding="utf-8")
            print(f"{path.name} is changed")
    sys.exit(1 if stale and sys.argv[1:] else 0)


if __name__ == "__main__":
    main()
