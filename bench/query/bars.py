"""What was asked of queries on the CPU, beside what the files of bench/query/run say. A card's bars are those of bench/bars."""
import json
import os

PARTS = ("query", "query-orders")


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as file:
        return [json.loads(line) for line in file]


class Lines:
    """All lines of a folder. `by`: seconds (the clock) or cpu_seconds (the processor)."""

    def __init__(self, folder, by):
        self.by = by
        self.lines = [line for part in PARTS for line in read(os.path.join(folder, part + ".jsonl"))]

    def line(self, case, who):
        return next((line for line in self.lines if (line["case"], line["who"]) == (case, who)), None)

    def ratio(self, case, other, ours="copse"):
        """How many times as long the other takes."""
        a, b = self.line(case, ours), self.line(case, other)
        return b[self.by] / a[self.by] if a and b else None

    def flat(self):
        """The slowest width of a range against the quickest."""
        times = [line[self.by] for line in self.lines if line["case"].startswith("flat ")]
        return max(times) / min(times) if len(times) > 1 else None

    def csv_rate(self):
        """Always by the processor: megabytes a second of one core."""
        file, read = self.line("import", "file"), self.line("csv", "copse")
        return file["bytes"] / 1e6 / read["cpu_seconds"] if file and read else None


def bars(lines):
    """What, the bar as text, whether a figure keeps it, the unit, the figure."""
    def at_least(what, bar, figure, unit="x"):
        return {"bar": what, "asked": f">= {bar:.3g} {unit}", "figure": figure, "unit": unit, "kept": figure is not None and figure >= bar}

    flat = lines.flat()
    yield {"bar": "count and sum over one range of 10 to all rows: the slowest width against the quickest", "asked": "<= 3 x",
           "figure": flat, "unit": "x", "kept": flat is not None and flat <= 3}
    yield at_least("10^5 ranges, count and sum, against SQLite", 20, lines.ratio("ranges", "sqlite"))
    yield at_least("conjunction of two ranges, against SQLite", 5, lines.ratio("conjunction", "sqlite"))
    yield at_least("conjunction of two ranges, against DuckDB", 1, lines.ratio("conjunction", "duckdb"))
    yield at_least("equi-join, sums, against SQLite", 10, lines.ratio("join", "sqlite"))
    yield at_least("equi-join, sums, against DuckDB", 1 / 1.5, lines.ratio("join", "duckdb"))
    yield at_least("equi-join, all pairs, against the sums of DuckDB", 1 / 1.5, lines.ratio("join", "duckdb", "copse pairs"))
    yield at_least("equi-join, all pairs, against the pairs of DuckDB", 1, lines.ratio("join", "duckdb pairs", "copse pairs"))
    for form, name in (("asof", "whole times"), ("asof floats", "float times"), ("asof strings", "groups are strings"),
                       ("asof shuffled", "rows in no order")):
        yield at_least(f"as-of join, {name}, against merge_asof of pandas", 3, lines.ratio(form, "pandas"))
    yield at_least("CSV load, a core", 150, lines.csv_rate(), "MB/s")
    yield at_least("import and primary index, against sqlite3", 5, lines.ratio("import", "sqlite3"))
    yield at_least("import and primary index, against DuckDB", 1, lines.ratio("import", "duckdb"))
    for case in ("one key", "1,000 rows", "sum over 20 %"):
        yield at_least(f"command on a saved file, {case}, against sqlite3", 1, lines.ratio(case, "sqlite3"))
    yield at_least("groups over most of a table (summary), against DuckDB", 1, lines.ratio("summary", "duckdb"))


def show(folder, by):
    """Prints the table, writes query-bars.jsonl, and returns how many bars were missed or not measured."""
    lines = Lines(folder, by)
    rows = list(bars(lines))
    clock = "the clock" if by == "seconds" else "the processor"
    print(f"\n| by {clock} | bar | measured | |\n|---|---|---|---|")
    for row in rows:
        figure = "not measured" if row["figure"] is None else f"{row['figure']:.3g} {row['unit']}"
        print(f"| {row['bar']} | {row['asked']} | {figure} | {'kept' if row['kept'] else 'MISSED'} |")
    with open(os.path.join(folder, "query-bars.jsonl"), "w", encoding="ascii") as file:
        file.writelines(json.dumps({**row, "by": by}) + "\n" for row in rows)
    return sum(not row["kept"] for row in rows)
