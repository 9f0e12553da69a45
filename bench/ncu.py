#!/usr/bin/env python3
"""What limits the kernels of one `copse bench` run on a card, as Nsight Compute (ncu) sees it.

Usage: bench/ncu.py COMMAND [OPTIONS of copse bench]
       bench/ncu.py --read FILE

Runs `ncu ... COMMAND bench --structure implicit --placement gpu --memory device --repeat 1 OPTIONS`, or reads what such a
run printed, and prints one line of CSV for each kernel that took 5 microseconds or more: the longest of its launches.
"""
import csv
import subprocess
import sys

# Metric of ncu, and the name of its column here. Percentages are of the peak.
METRICS = {
    "gpu__time_duration.sum": "us",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_pct",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "l2_pct",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": "l1_pct",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps_pct",
    "lts__t_sector_hit_rate.pct": "l2_hit_pct",
    "l1tex__t_sector_hit_rate.pct": "l1_hit_pct",
}
SHORTEST = 5.0


def run(command, options):
    """Returns the lines that ncu printed."""
    ncu = ["ncu", "--clock-control", "none", "--metrics", ",".join(METRICS), "--csv"]
    bench = [command, "bench", "--structure", "implicit", "--placement", "gpu", "--memory", "device", "--repeat", "1"]
    done = subprocess.run(ncu + bench + options, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench/ncu.py: ncu ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout.splitlines()


def launches(lines):
    """One dictionary for each launch: the kernel and its metrics. ncu repeats a launch's line for every metric."""
    rows = csv.DictReader(line for line in lines if line.startswith('"'))
    found = {}
    for row in rows:
        launch = found.setdefault(row["ID"], {"kernel": row["Kernel Name"].split("(")[0].split("<")[0]})
        value = float(row["Metric Value"].replace(",", ""))
        if row["Metric Name"] == "gpu__time_duration.sum":
            value /= 1000 if row["Metric Unit"] in ("ns", "nsecond") else 1
        launch[METRICS.get(row["Metric Name"], row["Metric Name"])] = value
    return found.values()


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    if sys.argv[1] == "--read":
        with open(sys.argv[2], encoding="utf-8") as file:
            lines = file.read().splitlines()
    else:
        lines = run(sys.argv[1], sys.argv[2:])
    longest = {}
    for launch in launches(lines):
        kernel = launch["kernel"]
        if kernel not in longest or launch["us"] > longest[kernel]["us"]:
            longest[kernel] = launch
    print("kernel," + ",".join(METRICS.values()))
    for launch in sorted(longest.values(), key=lambda launch: -launch["us"]):
        if launch["us"] >= SHORTEST:
            print(",".join([launch["kernel"]] + [f"{launch.get(name, 0):.1f}" for name in METRICS.values()]))


if __name__ == "__main__":
    main()
