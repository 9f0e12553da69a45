#!/usr/bin/env python3
"""Draws the experiments of bench_strings (presets size, length, batch, threads, long, updates, data) from JSON lines.

Usage: bench/strings/plot.py FILE.jsonl OUTPUT.png
"""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402: the backend has to be chosen first

PANELS = (  # preset, what goes along the axis, how it is called, logarithmic
    ("size", "n", "keys (8 bytes, random)", True),
    ("length", "length", "bytes of a key (2^22 random keys)", False),
    ("batch", "batch", "keys of a call (16 bytes, 2^22)", True),
    ("threads", "threads", "threads of the CPU", False),
    ("long", "long_percent", "per cent of keys that are long", False),
    ("updates", "batch", "keys of a call (16 bytes)", True),
    ("data", "pattern", "keys", False),
)


def value_of(line, what):
    if what == "length":
        return int(line["pattern"].replace("random", ""))
    return line[what]


def curves_of(lines, preset, what):
    curves = {}
    for line in lines:
        if line["preset"] != preset or line["op"] == "build":
            continue
        name = f'{line["op"]}, {line["placement"]}'
        if line["memory"] == "pinned":
            name += ", pinned memory"
        if preset == "long" and line.get("long_keys", "auto") != "auto":
            name += f', long keys: {line["long_keys"]}'
        if preset == "updates":
            name += f', 2^{line["n"].bit_length() - 1} keys'
        curves.setdefault(name, []).append((value_of(line, what), line["mops"]))
    return curves


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    panels = [panel for panel in PANELS if any(line["preset"] == panel[0] for line in lines)]
    figure, axes = plt.subplots((len(panels) + 1) // 2, 2, figsize=(13, 4 * ((len(panels) + 1) // 2)), squeeze=False)
    for axis in axes.flat[len(panels):]:
        axis.axis("off")
    for axis, (preset, what, label, logarithmic) in zip(axes.flat, panels):
        for name, points in sorted(curves_of(lines, preset, what).items()):
            axis.plot(*zip(*points), "o" if what == "pattern" else "o-", label=name, markersize=4)
        axis.set_xlabel(label)
        axis.set_ylabel("million a second")
        axis.set_yscale("log")
        if logarithmic:
            axis.set_xscale("log", base=2)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=6)
        axis.set_title(preset)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
