#!/usr/bin/env python3
"""Draws PNG plots from the JSON lines of bench/standard.

Usage: bench/plot.py bench/results/NAME
       bench/plot.py --overview bench/results/CPU_NAME bench/results/GPU_NAME OUTPUT.png
Reads the .jsonl files of that folder and writes one PNG beside each of them. Parts that are missing are left out. The
overview is the picture of the README: what a CPU and a GPU promise, beside their peers.
"""
import json
import math
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("bench/plot.py needs matplotlib; on Debian: apt-get install python3-matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402: the backend has to be chosen first
from matplotlib.collections import PolyCollection  # noqa: E402
from matplotlib.ticker import LogLocator, NullLocator  # noqa: E402

COLOURS = {
    "implicit": "#0b6e4f",
    "regular": "#6bbf59",
    "blink": "#0b6e4f",
    "bplus": "#edae49",
    "paged": "#3d5a80",
    "radix": "#bc6c25",
    "sorted": "#b8b8b8",
    "absl::btree_map": "#d1495b",
    "sorted-array": "#edae49",
    "std::map": "#66717e",
    "stx::btree_map": "#8d6a9f",
    "thrust::lower_bound": "#d1495b",
    "cub::sort": "#edae49",
    "torch.searchsorted": "#8d6a9f",
    "cupy.searchsorted": "#66717e",
}
SPARE_COLOURS = ("#5f0f40", "#2a9d8f", "#a44a3f", "#6d6875")  # of trees that are not named above
SINGLE = {"torch.searchsorted": "^", "cupy.searchsorted": "v"}  # signs of peers with one point
PEER = "absl::btree_map"


def read_part(folder, part):
    path = folder / f"{part}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def size_name(n):
    power = n.bit_length() - 1
    return f"$2^{{{power}}}$" if n == 1 << power else f"{n:,}"


def colour(name):
    return COLOURS.get(name) or SPARE_COLOURS[sum(name.encode()) % len(SPARE_COLOURS)]


def spread(figure, lines):
    """What a point or bar stands for, and the band around a line where there is one."""
    repeats = sorted({line["repeat"] for line in lines if line.get("repeat")})
    turns = " or ".join(map(str, repeats))
    text = "one turn each" if repeats == [1] else f"medians of {turns} turns" if repeats else "medians"
    banded = any(isinstance(item, PolyCollection) for axes in figure.axes for item in axes.collections)
    return f"{text}; bands from the slowest turn to the fastest" if banded else text


def legend_below(axes, columns=None, **options):
    """A legend under the axis, where it hides no data."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, labels, frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.17),
                ncol=columns or min(4, len(labels)), **options)


def commits(lines):
    """Of which build lines are: one, unless a file was put together of several runs."""
    return ", ".join(dict.fromkeys(line["commit"] for line in lines if line.get("commit")))


def label_bars(axes, bars, beside, fontsize=7):
    """The figure on each bar; upright where many bars stand beside each other, so that no two figures overlap."""
    axes.bar_label(bars, fmt="%.3g", fontsize=fontsize, padding=1, rotation=90 if beside > 2 else 0)


def finish(figure, folder, part, lines, title):
    sample = lines[0]
    figure.suptitle(title, fontsize=13, fontweight="bold")
    figure.text(0.01, 0.005, spread(figure, lines), ha="left", fontsize=7, color="#777777")
    machine = ", ".join(text for text in (sample.get("device"), sample["machine"]) if text)
    figure.text(0.99, 0.005, f"{machine}, copse {commits(lines)}", ha="right", fontsize=7, color="#777777")
    figure.tight_layout(rect=(0, 0.02, 1, 0.98))
    figure.savefig(folder / f"{part}.png", dpi=120)
    plt.close(figure)
    print(folder / f"{part}.png")


def tidy(axes, title="", unit="million a second"):
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(unit)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def logarithmic(axes, suffix=""):
    """A logarithmic axis with enough labels to read a number off it."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    wide = low > 0 and high / low > 2e4  # labels at 2 and 5, too, would overlap
    axes.yaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}{suffix}")
    axes.margins(y=0.12)


def types_of(lines):
    return sorted({(line["key"], line["value"]) for line in lines}, reverse=True)


def draw_lines(folder, part, title, field, label):
    """Rate over a numeric field, one panel per pair of types, one line per structure or peer."""
    lines = read_part(folder, part)
    if not lines:
        return
    panels = types_of(lines)
    figure, grid = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), squeeze=False)
    for axes, (key, value) in zip(grid[0], panels):
        chosen = [line for line in lines if (line["key"], line["value"]) == (key, value)]
        for name in dict.fromkeys(line["structure"] for line in chosen):
            points = sorted((line[field], line["mops"], line["mops_min"], line["mops_max"])
                            for line in chosen if line["structure"] == name)
            xs, ys, low, high = zip(*points)
            axes.plot(xs, ys, marker="o", markersize=4, color=colour(name), label=name)
            axes.fill_between(xs, low, high, color=colour(name), alpha=0.15, linewidth=0)
        ticks = sorted({line[field] for line in chosen})
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [size_name(x) if x > 256 else str(x) for x in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        logarithmic(axes)
        axes.set_xlabel(label)
        tidy(axes, f"{key} keys, {value} values")
        legend_below(axes)
    finish(figure, folder, part, lines, title)


def draw_ops(folder):
    """How many times faster than the peer, one bar per tree and operation."""
    lines = read_part(folder, "ops")
    rates = {(line["structure"], line["op"]): line["mops"] for line in lines}
    ops = [op for op in dict.fromkeys(line["op"] for line in lines) if rates.get((PEER, op))]
    if not ops:
        return
    names = [name for name in dict.fromkeys(line["structure"] for line in lines) if name != PEER]
    figure, axes = plt.subplots(figsize=(max(8, 0.75 * len(ops), 0.2 * len(ops) * len(names)), 4.8))
    width = 0.76 / len(names)
    for i, name in enumerate(names):
        ratios = [rates.get((name, op), 0) / rates[PEER, op] for op in ops]
        bars = axes.bar([x + (i - (len(names) - 1) / 2) * width for x in range(len(ops))], ratios, width * 0.95,
                        color=colour(name), label=name)
        label_bars(axes, bars, len(names))
    axes.axhline(1, color=colour(PEER), linewidth=1.2, label=PEER)
    logarithmic(axes, "x")
    axes.set_xticks(range(len(ops)), ops, rotation=35, ha="right", fontsize=8)
    tidy(axes, unit=f"times {PEER}")
    axes.legend(frameon=False, fontsize=8, ncol=len(names) + 1, loc="lower right", bbox_to_anchor=(1, 1))
    finish(figure, folder, "ops", lines,
           f"Speed against {PEER}, {lines[0]['key']}/{lines[0]['value']}, n = {size_name(lines[0]['n'])}, 1 thread")


def draw_groups(folder, part, title, field):
    """Bars of the rate: groups of structure and operation, one bar per value of a field."""
    lines = read_part(folder, part)
    if not lines:
        return
    panels = list(dict.fromkeys((line["key"], line["value"], line["n"]) for line in lines))
    counts = [len({(line["structure"], line["op"], line[field]) for line in lines
                   if (line["key"], line["value"], line["n"]) == panel}) for panel in panels]
    widths = [max(4.6, 0.26 * count) for count in counts]
    figure, grid = plt.subplots(1, len(panels), figsize=(sum(widths) + 1, 4.5), squeeze=False, width_ratios=widths)
    shades = ("#c9d6cf", "#7fb69a", "#0b6e4f", "#063b2a")
    for axes, (key, value, n) in zip(grid[0], panels):
        chosen = [line for line in lines if (line["key"], line["value"], line["n"]) == (key, value, n)]
        groups = list(dict.fromkeys((line["structure"], line["op"]) for line in chosen))
        settings = list(dict.fromkeys(line[field] for line in chosen))
        width = 0.8 / len(settings)
        for i, setting in enumerate(settings):
            rates = {(line["structure"], line["op"]): line["mops"] for line in chosen if line[field] == setting}
            bars = axes.bar([g + (i - (len(settings) - 1) / 2) * width for g in range(len(groups))],
                            [rates.get(group, 0) for group in groups], width * 0.94,
                            color=shades[i % len(shades)], label=str(setting))
            label_bars(axes, bars, len(settings), 6)
        axes.set_xticks(range(len(groups)), [f"{s}\n{op}" for s, op in groups], fontsize=7)
        tidy(axes, f"{key}/{value}, n = {size_name(n)}")
        axes.legend(frameon=False, fontsize=8, title=field.replace("_", " "), ncol=len(settings), loc="upper center",
                    bbox_to_anchor=(0.5, -0.12))
    finish(figure, folder, part, lines, title)


def draw_dists(folder):
    lines = read_part(folder, "dists")
    ops = list(dict.fromkeys(line["op"] for line in lines))
    if not ops:
        return
    dists = list(dict.fromkeys(line["dist"] for line in lines))
    figure, grid = plt.subplots(len(ops), 1, figsize=(10, 2.8 * len(ops) + 0.8), squeeze=False, sharex=True)
    names = list(dict.fromkeys(line["structure"] for line in lines))
    width = 0.81 / len(names)
    for axes, op in zip(grid[:, 0], ops):
        rates = {(line["structure"], line["dist"]): line["mops"] for line in lines if line["op"] == op}
        for i, name in enumerate(names):
            axes.bar([x + (i - (len(names) - 1) / 2) * width for x in range(len(dists))],
                     [rates.get((name, dist), 0) for dist in dists], width * 0.93, color=colour(name), label=name)
        tidy(axes, op)
        axes.set_xticks(range(len(dists)), dists, rotation=35, ha="right", fontsize=8)
    grid[0, 0].legend(frameon=False, fontsize=8, ncol=len(names), loc="lower right", bbox_to_anchor=(1, 1))
    finish(figure, folder, "dists", lines, f"Distributions of keys, n = {size_name(lines[0]['n'])}, 1 thread")


def pattern_name(line):
    """The row of a line in the heat map: the pattern, and whether keys come several times."""
    name = line["op"].removeprefix("insert-")
    if name == "new":
        name = "uniform"
    elif name.startswith("points"):
        name = f"{int(name.removeprefix('points')):,} append points"
    return f"{name}, duplicates" if line["duplicates"] else name


def draw_patterns(folder):
    """Time per key of each pattern and batch size, as a multiple of that of uniform keys. One panel per tree."""
    lines = read_part(folder, "patterns")
    if not lines:
        return
    panels = list(dict.fromkeys((line["structure"], line["placement"]) for line in lines))
    rows = sorted(dict.fromkeys(map(pattern_name, lines)), key=lambda name: name.endswith(", duplicates"))
    figure, grid = plt.subplots(1, len(panels), figsize=(3.6 * len(panels) + 2.6, 0.33 * len(rows) + 1.8), squeeze=False,
                                sharey=True)
    for axes, (structure, placement) in zip(grid[0], panels):
        chosen = [line for line in lines if (line["structure"], line["placement"]) == (structure, placement)]
        batches = sorted({line["batch"] for line in chosen})
        # A step of a window moves two keys, one in and one out.
        times = {(pattern_name(line), line["batch"]): line["ns_per_op"] / (2 if line["op"] == "window" else 1)
                 for line in chosen}
        ratios = [[times.get((row, batch), math.nan) / times["uniform", batch] for batch in batches] for row in rows]
        axes.imshow([[math.log2(ratio) for ratio in row] for row in ratios], cmap="RdYlGn_r", vmin=-3, vmax=3,
                    aspect="auto")
        for y, row in enumerate(ratios):
            for x, ratio in enumerate(row):
                if not math.isnan(ratio):
                    axes.text(x, y, f"{ratio:.2g}", ha="center", va="center", fontsize=8,
                              color="white" if abs(math.log2(ratio)) > 2.2 else "black")
        axes.set_xticks(range(len(batches)), [size_name(batch) if batch > 256 else str(batch) for batch in batches])
        axes.set_yticks(range(len(rows)), rows, fontsize=8)
        axes.set_xlabel("keys per call")
        axes.set_title(f"{structure}, {placement}", fontsize=10)
    finish(figure, folder, "patterns", lines,
           f"Time per key, as a multiple of uniform keys, n = {size_name(lines[0]['n'])}")


# ---- on a GPU ----


def is_gpu(folder):
    return any(line["placement"] in ("gpu", "emulated")
               for part in ("promises", "sizes", "ops", "batches", "transfer", "updates", "sequences",
                            "patterns")
               for line in read_part(folder, part))


def plot_series(axes, points, name, style="-", shade=None):
    """points: (x, y, low, high)"""
    xs, ys, low, high = zip(*sorted(points))
    if len(points) == 1:  # a peer that was measured at one size: a sign of its own, which shows beside other points
        axes.plot(xs, ys, SINGLE.get(name, "D"), markersize=9, markerfacecolor="none", markeredgewidth=1.6, zorder=4,
                  color=shade or colour(name), label=name)
        return
    axes.plot(xs, ys, style, marker="o", markersize=4, color=shade or colour(name), label=name)
    axes.fill_between(xs, low, high, color=shade or colour(name), alpha=0.15, linewidth=0)


def powers(axes, xs, label, names=size_name):
    ticks = sorted(set(xs))
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [names(x) for x in ticks], fontsize=8)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def billions(line):
    return line["mops"] / 1000, line["mops_min"] / 1000, line["mops_max"] / 1000


def draw_gpu_sizes(folder):
    lines = read_part(folder, "sizes")
    if not lines:
        return
    others = [line for line in read_part(folder, "searchsorted") if line["memory"] == "device"]
    panels = types_of(lines)
    figure, grid = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), squeeze=False)
    for axes, (key, value) in zip(grid[0], panels):
        chosen = [line for line in lines if (line["key"], line["value"]) == (key, value)]
        chosen += [line for line in others if line["key"][1:] == key[1:]]
        for name in dict.fromkeys(line["structure"] for line in chosen):
            plot_series(axes, [(line["n"], *billions(line)) for line in chosen if line["structure"] == name], name)
        powers(axes, [line["n"] for line in chosen], "entries")
        axes.set_ylim(bottom=0)
        tidy(axes, f"{key} keys, {value} values", "billion a second")
        legend_below(axes)
    finish(figure, folder, "sizes", lines, "find over the size of the index, arrays in device memory")


def draw_gpu_batches(folder):
    lines = read_part(folder, "batches")
    if not lines:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    shades = {"device": "#0b6e4f", "pinned": "#6bbf59", "pageable": "#edae49", "host": "#66717e"}
    for where in dict.fromkeys((line["placement"], line["memory"]) for line in lines):
        chosen = [line for line in lines if (line["placement"], line["memory"]) == where]
        name = f"{where[0]}, arrays in {where[1]} memory" if where[0] != "cpu" else f"cpu, {chosen[0]['threads']} threads"
        times = [(line["batch"], line["us_per_call"], line["batch"] / line["mops_max"], line["batch"] / line["mops_min"])
                 for line in chosen]
        plot_series(left, times, name, shade=shades[where[1]])
        plot_series(right, [(line["batch"], line["mops"], line["mops_min"], line["mops_max"]) for line in chosen], name,
                    shade=shades[where[1]])
    for axes, title, unit in ((left, "time per call", "microseconds"), (right, "rate", "million a second")):
        powers(axes, [line["batch"] for line in lines], "keys per call")
        logarithmic(axes)
        tidy(axes, title, unit)
        legend_below(axes)
    finish(figure, folder, "batches", lines, f"find over the size of a batch, {lines[0]['key']}/{lines[0]['value']}, "
           f"n = {size_name(lines[0]['n'])}")


def chunk_of(line):
    """Bytes of a chunk and the rest of the setting, from a text such as staged:8M:3; None without a chunk."""
    fields = line["transfer"].split(":")
    if len(fields) < 2:
        return None
    unit = {"K": 10, "M": 20, "G": 30}.get(fields[1][-1])
    size = int(fields[1][:-1]) << unit if unit else int(fields[1])
    return size, fields[0], ":".join(fields[2:])


def bytes_name(size):
    return f"{size >> 20} M" if size >= 1 << 20 else f"{size >> 10} K"


def draw_gpu_transfer(folder):
    lines = [line for line in read_part(folder, "transfer") if chunk_of(line)]
    if not lines:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    over_chunks = [line for line in lines if not chunk_of(line)[2]]
    shades = {"pinned": "#0b6e4f", "staged": "#edae49", "registered": "#d1495b"}
    for memory, mode in dict.fromkeys((line["memory"], chunk_of(line)[1]) for line in over_chunks):
        points = [(chunk_of(line)[0], *billions(line)) for line in over_chunks
                  if (line["memory"], chunk_of(line)[1]) == (memory, mode)]
        name = memory if memory == "pinned" else f"{memory}, {mode}"
        plot_series(left, points, name, shade=shades["pinned" if memory == "pinned" else mode])
    powers(left, [chunk_of(line)[0] for line in over_chunks], "bytes of a chunk", bytes_name)
    left.set_ylim(bottom=0)
    tidy(left, "chunk size", "billion a second")
    legend_below(left)
    others = [line for line in lines if chunk_of(line)[2]]
    labels = list(dict.fromkeys(line["transfer"] for line in others))
    for i, memory in enumerate(dict.fromkeys(line["memory"] for line in others)):
        rates = {line["transfer"]: line["mops"] / 1000 for line in others if line["memory"] == memory}
        bars = right.bar([x + (i - 0.5) * 0.38 for x in range(len(labels))], [rates.get(label, 0) for label in labels],
                         0.36, label=memory, color=shades["pinned" if memory == "pinned" else "staged"])
        right.bar_label(bars, fmt="%.3g", fontsize=7, padding=1)
    right.set_xticks(range(len(labels)), labels, rotation=20, ha="right", fontsize=8)
    tidy(right, "chunks under way, copies past the caches", "billion a second")
    if others:
        right.legend(frameon=False, fontsize=8, ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.28))
    finish(figure, folder, "transfer", lines, f"find from host memory to host memory, {lines[0]['key']}/"
           f"{lines[0]['value']}, n = {size_name(lines[0]['n'])}")


def draw_gpu_ops(folder):
    lines = read_part(folder, "ops")
    if not lines:
        return
    ops = list(dict.fromkeys(line["op"] for line in lines))
    names = list(dict.fromkeys(line["structure"] for line in lines))
    rates = {(line["structure"], line["op"]): line["mops"] / 1000 for line in lines}
    figure, axes = plt.subplots(figsize=(max(8, 0.75 * len(ops)), 4.8))
    for i, name in enumerate(names):
        own = [op for op in ops if (name, op) in rates]
        bars = axes.bar([ops.index(op) + (i - (len(names) - 1) / 2) * 0.38 for op in own],
                        [rates[name, op] for op in own], 0.36, color=colour(name), label=name)
        axes.bar_label(bars, fmt="%.3g", fontsize=7, padding=1)
    logarithmic(axes)
    axes.set_xticks(range(len(ops)), ops, rotation=35, ha="right", fontsize=8)
    tidy(axes, unit="billion a second")
    axes.legend(frameon=False, fontsize=8, ncol=len(names), loc="lower right", bbox_to_anchor=(1, 1))
    finish(figure, folder, "ops", lines, f"Operations on the GPU, {lines[0]['key']}/{lines[0]['value']}, "
           f"n = {size_name(lines[0]['n'])}, arrays in device memory")


def draw_updates(folder):
    """Upserts of new keys over the size of a batch: the rate, and the mean, median and worst time of a call."""
    lines = [line for line in read_part(folder, "updates") if line["op"] == "insert-new"]
    if not lines:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    styles = {"u32": "-", "u64": "--"}
    for name, key in dict.fromkeys((line["structure"], line["key"]) for line in lines):
        chosen = sorted((line for line in lines if (line["structure"], line["key"]) == (name, key)),
                        key=lambda line: line["batch"])
        plot_series(left, [(line["batch"], *billions(line)) for line in chosen], f"{name}, {key}", styles[key],
                    colour(name))
        if key != "u32":
            continue
        for field, style in (("mean", "-"), ("median", "--"), ("worst", ":")):
            right.plot([line["batch"] for line in chosen], [line[f"us_call_{field}"] for line in chosen], style,
                       marker="o", markersize=3, color=colour(name), label=f"{name}, {field}")
    for axes, title, unit in ((left, "rate", "billion a second"), (right, "time of a call, u32/u32", "microseconds")):
        powers(axes, [line["batch"] for line in lines], "new keys per call")
        logarithmic(axes)
        tidy(axes, title, unit)
        legend_below(axes)
    finish(figure, folder, "updates", lines, f"Upsert of new keys, n = {size_name(lines[0]['n'])}, arrays in device memory")


def draw_sequences(folder, op, name, title):
    """Above how many times faster than std::map, where that was measured; below the rate. One column per tree."""
    lines = [line for line in read_part(folder, "sequences") if line["op"] == op]
    ours = [line for line in lines if line["structure"] != "std::map"]
    if not ours:
        return
    baseline = {(line["dist"], line["n"]): line["mops"] for line in lines if line["structure"] == "std::map"}
    trees = list(dict.fromkeys(line["structure"] for line in ours))
    shades = ("#0b6e4f", "#d1495b", "#edae49", "#66717e", "#8d6a9f")
    figure, grid = plt.subplots(2, len(trees), figsize=(6 * len(trees), 8), squeeze=False, sharey="row")
    for (top, bottom), tree in zip(grid.T, trees):
        for shade, dist in zip(shades, dict.fromkeys(line["dist"] for line in ours)):
            chosen = [line for line in ours if (line["structure"], line["dist"]) == (tree, dist)]
            known = [(line, baseline[dist, line["n"]]) for line in chosen if (dist, line["n"]) in baseline]
            if known:
                plot_series(top, [(line["n"], *(line[rate] / base for rate in ("mops", "mops_min", "mops_max")))
                                  for line, base in known], dist, shade=shade)
            plot_series(bottom, [(line["n"], line["mops"], line["mops_min"], line["mops_max"]) for line in chosen], dist,
                        shade=shade)
        for axes, unit in ((top, "times std::map, 1 thread"), (bottom, "million a second")):
            powers(axes, [line["n"] for line in ours], "keys")
            logarithmic(axes, "x" if axes is top else "")
            tidy(axes, f"{tree}, {ours[0]['key']}/{ours[0]['value']}", unit)
        legend_below(top, columns=5)
    finish(figure, folder, name, ours, title)


def draw_orders(folder):
    """The paged tree: builds, searches and visits over the order of pages, and inserts over the size of the tree."""
    lines = read_part(folder, "orders")
    if not lines:
        return
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 4.5))
    shades = {"build": "#0b6e4f", "find": "#d1495b", "range100": "#edae49", "visit": "#66717e"}
    ours = [line for line in lines if line["structure"] == "paged"]
    for op, shade in shades.items():
        axes = left if op == "build" else middle
        chosen = sorted((line for line in ours if line["op"] == op and line["page_order"]),
                        key=lambda line: line["page_order"])
        plot_series(axes, [(line["page_order"], *billions(line)) for line in chosen], op, shade=shade)
        for peer in (line for line in lines if line["op"] == op and line["structure"] != "paged"):
            axes.axhline(peer["mops"] / 1000, linestyle=":", color=shade, label=f"{op}, {peer['structure']}")
    inserts = [line for line in ours if line["op"] == "insert-new"]
    for batch, shade in zip(dict.fromkeys(line["batch"] for line in inserts), shades.values()):
        chosen = sorted((line for line in inserts if line["batch"] == batch), key=lambda line: line["n"])
        right.plot([line["n"] for line in chosen], [line["us_per_call"] for line in chosen], "-o", markersize=3,
                   color=shade, label=f"{size_name(batch)} a call")
    for axes, xs, label in ((left, ours, "slots of a page"), (middle, ours, "slots of a page")):
        powers(axes, [line["page_order"] for line in xs if line["page_order"]], label)
    powers(right, [line["n"] for line in inserts], "entries")
    for axes, title, unit in ((left, "build", "billion a second"), (middle, "reads", "billion a second"),
                              (right, "inserts of new keys", "microseconds a call")):
        logarithmic(axes)
        tidy(axes, title, unit)
        legend_below(axes)
    finish(figure, folder, "orders", ours, "The paged tree by the order of its pages")


def draw_gpu(folder):
    draw_gpu_sizes(folder)
    draw_gpu_batches(folder)
    draw_gpu_transfer(folder)
    draw_gpu_ops(folder)
    draw_updates(folder)
    draw_patterns(folder)
    draw_orders(folder)
    draw_sequences(folder, "find", "sequences-find", "find of all keys, in the order in which they were inserted")
    draw_sequences(folder, "fill", "sequences-insert", "insert of all keys into an empty index, in one call")


# ---- both ----

# What the overview shows: the label, and the fields of the line to take.
OVERVIEW_CPU = {
    "find": {"op": "find", "queries": 1 << 20},
    "range of 10": {"op": "range10"},
    "range of 100": {"op": "range100"},
    "upsert, new keys": {"op": "insert", "batch": 1 << 20, "n": 1 << 24},
}
GPU_FIND = {"op": "find", "n": 1 << 26, "batch": 1 << 26, "memory": "device", "query_dist": "uniform"}
OVERVIEW_GPU = {"find, u32 keys": {**GPU_FIND, "bits": "32"}, "find, u64 keys": {**GPU_FIND, "bits": "64"}}


def first_line(lines, name, fields):
    """The first line of a structure with these fields, None where there is no such line."""
    for line in lines:
        if line["structure"] == name and all(dict(line, bits=line["key"][1:])[field] == value
                                             for field, value in fields.items()):
            return line
    return None


def draw_bars(axes, lines, names, rows, scale, title, unit):
    """Horizontal bars: a group for each row, a bar for each name that has a figure. Returns the lines that were drawn."""
    position, ticks, drawn = 0.0, [], []
    seen = set()
    for label, fields in rows.items():
        start = position
        for name in names:
            line = first_line(lines, name, fields)
            if line is None:
                continue
            drawn.append(line)
            bar = axes.barh(position, line["mops"] / scale, 0.85, color=colour(name), label=None if name in seen else name)
            axes.bar_label(bar, fmt="%.3g", fontsize=9, padding=3)
            seen.add(name)
            position += 1
        ticks.append(((start + position - 1) / 2, label))
        position += 0.8
    axes.set_yticks([at for at, _ in ticks], [label for _, label in ticks], fontsize=10)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(unit)
    axes.grid(True, axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9, ncol=3, loc="upper center", bbox_to_anchor=(0.45, -0.14))
    return drawn


def draw_overview(cpu_folder, gpu_folder, output):
    cpu = [line for line in read_part(cpu_folder, "promises") if (line["key"], line["threads"]) == ("u64", 1)]
    gpu = [line for part in ("promises", "updates", "searchsorted") for line in read_part(gpu_folder, part)]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.9))
    drawn = draw_bars(left, cpu, ("implicit", "regular", "absl::btree_map", "std::map"), OVERVIEW_CPU, 1,
                      "One thread of a CPU, 16.8 million u64 keys", "million operations a second")
    COLOURS["blink"] = "#6bbf59"  # beside implicit here, as regular is on the left
    drawn += draw_bars(right, gpu, ("implicit", "blink", "thrust::lower_bound", "cupy.searchsorted", "torch.searchsorted"),
                       OVERVIEW_GPU, 1000, "NVIDIA H200, 67 million keys", "billion operations a second")
    figure.text(0.99, 0.005, spread(figure, drawn) + f"; copse {commits(drawn)}", ha="right", fontsize=7,
                color="#777777")
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(output, dpi=100)
    print(output)


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--overview":
        draw_overview(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4])
        return
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    if is_gpu(folder):
        draw_gpu(folder)
        return
    draw_lines(folder, "sizes", "find over the size of the index, 1 thread", "n", "entries")
    draw_lines(folder, "pipeline", "find over the queries in flight, 1 thread", "pipeline", "queries in flight")
    draw_lines(folder, "batches", "find over the size of a batch, 1 thread", "batch", "keys per call")
    draw_ops(folder)
    draw_groups(folder, "isa", "Instruction sets, 1 thread", "isa")
    draw_groups(folder, "pages", "Huge pages, 1 thread", "huge_pages")
    draw_dists(folder)
    draw_patterns(folder)
    draw_orders(folder)


if __name__ == "__main__":
    main()
