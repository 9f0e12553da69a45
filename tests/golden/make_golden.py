#!/usr/bin/env python3
"""Writes the golden snapshots of format version 1 into the folder of this script, or into the one named.

It follows docs/FORMAT.md and shares no code with the library, so that the files prove the page. They were written once
and are never rewritten: a library that cannot read them any more has broken its promise. Needs python3-xxhash.
"""
import pathlib
import struct
import sys

import xxhash

BLOCK = 1 << 20
TYPES = {"u32": (1, "I"), "i32": (2, "i"), "f32": (3, "f"), "u64": (4, "Q"), "i64": (5, "q"), "f64": (6, "d"),
         "date": (7, "i"), "timestamp": (8, "q")}
STRUCTURES = {"implicit": 1, "regular": 2}


def checksum(data):
    return xxhash.xxh3_64_intdigest(data)


def padded(data):
    return data + bytes(-len(data) % 64)


def block_checksums(data):
    return b"".join(struct.pack("<Q", checksum(data[at:at + BLOCK])) for at in range(0, len(data), BLOCK))


def snapshot(key_type, value_type, structure, duplicates, entries):
    (key_number, key_code), (value_number, value_code) = TYPES[key_type], TYPES[value_type]
    keys = struct.pack(f"<{len(entries)}{key_code}", *(key for key, _ in entries))
    values = struct.pack(f"<{len(entries)}{value_code}", *(value for _, value in entries))
    checksums = block_checksums(keys) + block_checksums(values)
    values_at = 192 + len(padded(keys))
    checksums_at = values_at + len(padded(values))
    header = b"\x89CPS\r\n\x1a\n"
    header += struct.pack("<8I", 1, 0x01020304, 192, 3, key_number, value_number, STRUCTURES[structure], duplicates)
    header += struct.pack("<3Q", len(entries), checksums_at + len(checksums), BLOCK)
    header += struct.pack("<IIQQ", 1, 0, 192, len(keys))
    header += struct.pack("<IIQQ", 2, 0, values_at, len(values))
    header += struct.pack("<IIQQ", 3, 0, checksums_at, len(checksums))
    header += struct.pack("<Q", checksum(checksums)) + bytes(40)
    header += struct.pack("<Q", checksum(header))
    return header + padded(keys) + padded(values) + checksums


GOLDEN = {
    # Keys over the whole range, 0 and the maximum among them.
    "v1-u64-u64.copse": snapshot("u64", "u64", "implicit", 0, [
        (2**64 - 1 if i == 99 else i * 0x028F5C28F5C28F5C, 2**64 - 1 - i * i) for i in range(100)]),
    # Equal keys, infinities, a denormal number, sections that are no multiple of 64.
    "v1-f32-i32-duplicates.copse": snapshot("f32", "i32", "regular", 1, list(zip(
        [float("-inf"), -1.5, -1.5, 0.0, 0.0, 0.0, 2.0**-149, 0.25, 0.25, 1.0, 3.0e38, float("inf"), float("inf")],
        range(-6, 7)))),
    "v1-timestamp-f64.copse": snapshot("timestamp", "f64", "implicit", 0, [
        (i * 86400000000 - 10**15, i / 8 - 2) for i in range(37)]),
    "v1-date-u32-empty.copse": snapshot("date", "u32", "regular", 0, []),
}


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, content in GOLDEN.items():
        (folder / name).write_bytes(content)
        print(f"{name}: {len(content)} bytes")


if __name__ == "__main__":
    main()
