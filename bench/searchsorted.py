#!/usr/bin/env python3
"""Measures searchsorted + gather of torch and cupy on a GPU, as peers of copse: what a user of those writes today.

Usage: bench/searchsorted.py [--n 2^26] [--queries 2^26] [--repeat 5] [--seed 1] [--device cuda|cpu]
Prints JSON lines in the shape of `copse bench --json`, two per library and key type: arrays in device memory, and from
host memory to host memory (keys up, values and found flags down). Keys and queries are uniform, and every answer is
checked. Libraries that are not there are left out with a remark on standard error. --device cpu is for trying the
script on a machine without a GPU; only torch does that.
"""
import argparse
import json
import statistics
import sys
import time


def count(text):
    base, _, power = text.partition("^")
    return int(base) ** int(power) if power else int(text)


class Torch:
    """torch has no search in unsigned numbers: keys are i32 and i64."""

    types = ("i32", "i64")
    name = "torch.searchsorted"

    def __init__(self, device, seed):
        import torch
        self.t = torch
        self.device = torch.device(device)
        self.random = torch.Generator(device=self.device).manual_seed(seed)
        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("torch finds no GPU")

    def device_name(self):
        return self.t.cuda.get_device_name() if self.device.type == "cuda" else None

    def integers(self, key, low, high, n):
        kind = self.t.int32 if key == "i32" else self.t.int64
        return self.t.randint(low, high, (n,), dtype=kind, device=self.device, generator=self.random)

    def unique(self, keys):
        return self.t.unique(keys)

    def find(self, table, values, queries):
        places = self.t.searchsorted(table, queries, out_int32=len(table) < 1 << 31)
        places = places.clamp_(max=len(table) - 1)
        found = table[places] == queries
        return self.t.where(found, values[places], 0), found

    def take(self, array, places):
        return array[places]

    def to_host(self, array):
        return array.cpu()

    def to_device(self, array):
        return array.to(self.device)

    def wait(self):
        if self.device.type == "cuda":
            self.t.cuda.synchronize()

    def equal(self, a, b):
        return int((a != b).sum().item())


class Cupy:
    types = ("u32", "u64")
    name = "cupy.searchsorted"

    def __init__(self, device, seed):
        if device != "cuda":
            raise ImportError("cupy has no CPU")
        import cupy
        self.c = cupy
        self.random = cupy.random.default_rng(seed)
        cupy.cuda.runtime.getDeviceCount()

    def device_name(self):
        return self.c.cuda.runtime.getDeviceProperties(0)["name"].decode()

    def integers(self, key, low, high, n):
        kind = self.c.uint32 if key == "u32" else self.c.uint64
        return self.random.integers(0, high - low, n, dtype=kind)

    def unique(self, keys):
        return self.c.unique(keys)

    def find(self, table, values, queries):
        places = self.c.minimum(self.c.searchsorted(table, queries), len(table) - 1)
        found = table[places] == queries
        return self.c.where(found, values[places], values.dtype.type(0)), found

    def take(self, array, places):
        return array[places]

    def to_host(self, array):
        return self.c.asnumpy(array)

    def to_device(self, array):
        return self.c.asarray(array)

    def wait(self):
        self.c.cuda.Device().synchronize()

    def equal(self, a, b):
        return int((a != b).sum())


def measure(library, work, check, repeat):
    """Seconds of every turn, and the number of wrong answers."""
    seconds = []
    wrong = 0
    for _ in range(repeat + 1):
        library.wait()
        begun = time.perf_counter()
        answers = work()
        library.wait()
        seconds.append(time.perf_counter() - begun)
        wrong += check(*answers)
        del answers
    return seconds[1:], wrong  # the first turn pays for what is made once


def report(library, key, options, entries, memory, seconds, wrong):
    rates = [options.queries / s / 1e6 for s in seconds]
    middle = statistics.median(seconds)
    print(json.dumps({
        "structure": library.name, "placement": "gpu" if options.device == "cuda" else "cpu", "key": key, "value": key,
        "n": options.n, "entries": entries, "op": "find", "dist": "uniform", "query_dist": "uniform",
        "queries": options.queries, "batch": options.queries, "threads": 1, "memory": memory,
        "mops": options.queries / middle / 1e6, "mops_min": min(rates), "mops_max": max(rates),
        "ns_per_op": middle / options.queries * 1e9, "us_per_call": middle * 1e6, "wrong": wrong,
        "bytes_per_key": 8 if key.endswith("32") else 16, "seed": options.seed, "repeat": len(seconds),
        "device": library.device_name(), "machine": None, "commit": None}), flush=True)


def run(library, key, options):
    low, high = (-2**31, 2**31 - 1) if key.endswith("32") else (-2**62, 2**62 - 1)
    table = library.unique(library.integers(key, low, high, options.n))
    values = library.integers(key, low, high, len(table))
    places = library.integers("i64" if key.startswith("i") else "u64", 0, len(table), options.queries)
    queries = library.take(table, places)
    expected = library.take(values, places)
    del places

    def check(got, found):
        return library.equal(got, expected) + options.queries - int(found.sum())

    seconds, wrong = measure(library, lambda: library.find(table, values, queries), check, options.repeat)
    report(library, key, options, len(table), "device", seconds, wrong)

    host = library.to_host(queries)
    expected = library.to_host(expected)

    def end_to_end():
        got, found = library.find(table, values, library.to_device(host))
        return library.to_host(got), library.to_host(found)

    seconds, wrong = measure(library, end_to_end, check, options.repeat)
    report(library, key, options, len(table), "pageable", seconds, wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=count, default=1 << 26)
    parser.add_argument("--queries", type=count, default=1 << 26)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    for make in (Torch, Cupy):
        try:
            library = make(options.device, options.seed)
        except Exception as problem:  # a library may be there and still find no driver
            print(f"bench/searchsorted.py: {make.name} left out: {problem}", file=sys.stderr)
            continue
        for key in library.types:
            run(library, key, options)


if __name__ == "__main__":
    main()
