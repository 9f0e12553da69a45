#!/usr/bin/env python3
"""Plots of bench/query/run: bench/query/plot.py bench/results/NAME writes query-paper.png and query-orders.png beside the lines."""
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("bench/query/plot.py needs matplotlib; on Debian: apt-get install python3-matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402: the backend has to be chosen first

COLOURS = {"copse": "#0b6e4f", "sqlite": "#d1495b", "duckdb": "#edae49", "pandas": "#8d6a9f", "polars": "#3d5a80"}
OPERATIONS = {"range": "range: key and value of each row", "count": "count", "sum": "sum", "rows": "all columns of each row"}
MARKS = {"identical": ("o", "-"), "table": ("s", "--")}


def read(folder, part):
    path = folder / (part + ".jsonl")
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()] if path.exists() else []


def plot_paper(folder, lines):
    figure, axes = plt.subplots(1, 4, figsize=(16, 4.2), sharey=True)
    for axis, (operation, title) in zip(axes, OPERATIONS.items()):
        for data, (mark, style) in MARKS.items():
            for who in ("sqlite", "copse"):
                points = [(line["keys"], line["cpu_seconds"] / line["queries"]) for line in lines
                          if line["case"] == f"{operation} {data}" and line["who"] == who]
                if points:
                    axis.plot(*zip(*points), marker=mark, linestyle=style, markersize=4, color=COLOURS[who],
                              label=f"{who}, {data}")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(title)
        axis.set_xlabel("keys in the range")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("processor seconds of a query")
    axes[2].legend(fontsize=8)
    figure.suptitle(f"One range of a primary key, {lines[0]['rows']:,} rows, one thread")
    figure.tight_layout()
    figure.savefig(folder / "query-paper.png", dpi=110)


def plot_orders(folder, lines):
    cases = list(dict.fromkeys(line["case"] for line in lines))
    people = [who for who in COLOURS if any(line["who"] == who for line in lines)]
    figure, axis = plt.subplots(figsize=(11, 4.2))
    for i, who in enumerate(people):
        points = [(cases.index(line["case"]) + (i - len(people) / 2 + 0.5) * 0.16, line["cpu_seconds"] * 1000)
                  for line in lines if line["who"] == who]
        axis.bar(*zip(*points), width=0.15, color=COLOURS[who], label=who)
    axis.set_yscale("log")
    axis.set_xticks(range(len(cases)), cases)
    axis.set_ylabel("processor milliseconds")
    axis.set_title(f"Six questions to customers, {lines[0]['rows']:,} orders and their lines, one thread; less is better")
    axis.legend(ncols=len(people))
    axis.grid(axis="y", alpha=0.3)
    figure.tight_layout()
    figure.savefig(folder / "query-orders.png", dpi=110)


def main():
    folder = pathlib.Path(sys.argv[1])
    for part, draw in (("query-paper", plot_paper), ("query-orders", plot_orders)):
        lines = read(folder, part)
        if lines:
            draw(folder, lines)


main()
