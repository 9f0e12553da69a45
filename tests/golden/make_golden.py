#!/usr/bin/env python3
"""Writes the golden snapshots of format versions 1 and 2 into the folder of this script, or into the one named.

It follows docs/FORMAT.md and shares no code with the library, so that the files prove the page. They were written once
and are never rewritten: a library that cannot read them any more has broken its promise. Needs python3-xxhash.
"""
import pathlib
import struct
import sys

import xxhash

BLOCK_1 = 1 << 20
BLOCK_2 = 1 << 16
TYPES = {"u32": (1, "I"), "i32": (2, "i"), "f32": (3, "f"), "u64": (4, "Q"), "i64": (5, "q"), "f64": (6, "d"),
         "date": (7, "i"), "timestamp": (8, "q")}
STRUCTURES = {"implicit": 1, "regular": 2, "sorted": 5}
BYTES = 9


def checksum(data):
    return xxhash.xxh3_64_intdigest(data)


def padded(data):
    return data + bytes(-len(data) % 64)


def block_checksums(data, block):
    return b"".join(struct.pack("<Q", checksum(data[at:at + block])) for at in range(0, len(data), block))


def arrays(key_type, value_type, entries):
    keys = struct.pack(f"<{len(entries)}{TYPES[key_type][1]}", *(key for key, _ in entries))
    values = struct.pack(f"<{len(entries)}{TYPES[value_type][1]}", *(value for _, value in entries))
    return keys, values


def snapshot_1(key_type, value_type, structure, duplicates, entries):
    key_number, value_number = TYPES[key_type][0], TYPES[value_type][0]
    keys, values = arrays(key_type, value_type, entries)
    checksums = block_checksums(keys, BLOCK_1) + block_checksums(values, BLOCK_1)
    values_at = 192 + len(padded(keys))
    checksums_at = values_at + len(padded(values))
    header = b"\x89CPS\r\n\x1a\n"
    header += struct.pack("<8I", 1, 0x01020304, 192, 3, key_number, value_number, STRUCTURES[structure], duplicates)
    header += struct.pack("<3Q", len(entries), checksums_at + len(checksums), BLOCK_1)
    header += struct.pack("<IIQQ", 1, 0, 192, len(keys))
    header += struct.pack("<IIQQ", 2, 0, values_at, len(values))
    header += struct.pack("<IIQQ", 3, 0, checksums_at, len(checksums))
    header += struct.pack("<Q", checksum(checksums)) + bytes(40)
    header += struct.pack("<Q", checksum(header))
    return header + padded(keys) + padded(values) + checksums


def snapshot_2(key_type, value_type, structure, duplicates, entries):
    keys, values = arrays(key_type, value_type, entries)
    size = struct.calcsize(TYPES[key_type][1])
    fences = b"".join(keys[at:at + size] for at in range(0, len(keys), BLOCK_2))
    return file_2(TYPES[key_type][0], value_type, structure, duplicates, len(entries),
                  {1: keys, 2: values, 4: fences, 5: b""})


def snapshot_2_bytes(value_type, structure, duplicates, entries):
    strings = [key for key, _ in entries]
    offsets = [0]
    for key in strings:
        offsets.append(offsets[-1] + len(key))
    fences = [int.from_bytes(key[:8].ljust(8, b"\0"), "big") for key in strings[::8192]]
    return file_2(BYTES, value_type, structure, duplicates, len(entries), {
        1: b"".join(strings),
        2: struct.pack(f"<{len(entries)}{TYPES[value_type][1]}", *(value for _, value in entries)),
        4: struct.pack(f"<{len(fences)}Q", *fences),
        5: struct.pack(f"<{len(offsets)}Q", *offsets) if entries else b""})


def file_2(key_number, value_type, structure, duplicates, count, sections):
    value_number = TYPES[value_type][0]
    sections[3] = b"".join(block_checksums(sections[number], BLOCK_2) for number in (1, 2, 4, 5))
    content, places = bytes(256), {}
    for number in (3, 4, 5, 1, 2):
        data = sections[number]
        alignment = 1 if not data else 64 if len(data) < BLOCK_2 else 4096
        content += bytes(-len(content) % alignment)
        places[number] = len(content)
        content += data
    header = b"\x89CPS\r\n\x1a\n"
    header += struct.pack("<8I", 2, 0x01020304, 256, 5, key_number, value_number, STRUCTURES[structure], duplicates)
    header += struct.pack("<3Q", count, len(content), BLOCK_2)
    for number in range(1, 6):
        header += struct.pack("<IIQQ", number, 0, places[number], len(sections[number]))
    header += struct.pack("<Q", checksum(sections[3])) + bytes(56)
    header += struct.pack("<Q", checksum(header))
    return header + content[256:]


CONTENT = {
    # Keys over the whole range, 0 and the maximum among them.
    "u64-u64": ("u64", "u64", "implicit", 0, [
        (2**64 - 1 if i == 99 else i * 0x028F5C28F5C28F5C, 2**64 - 1 - i * i) for i in range(100)]),
    # Equal keys, infinities, a denormal number, sections that are no multiple of 64.
    "f32-i32-duplicates": ("f32", "i32", "regular", 1, list(zip(
        [float("-inf"), -1.5, -1.5, 0.0, 0.0, 0.0, 2.0**-149, 0.25, 0.25, 1.0, 3.0e38, float("inf"), float("inf")],
        range(-6, 7)))),
    "timestamp-f64": ("timestamp", "f64", "implicit", 0, [
        (i * 86400000000 - 10**15, i / 8 - 2) for i in range(37)]),
    "date-u32-empty": ("date", "u32", "regular", 0, []),
}

# More than one block of keys, with equal keys on both sides of the border.
BLOCKS = ("i32", "u32", "regular", 1, [(i // 3 - 3000, i * 2654435761 % 2**32) for i in range(20000)])

# Byte strings, more than one fence: "", then each twice, a key and the same with a zero behind it.
STRINGS = ("u32", "sorted", 1, [
    ((b"key%05d" % (i // 4) if i else b"") + (b"\0" if i % 4 > 1 else b""), i * 2654435761 % 2**32)
    for i in range(9000)])

GOLDEN = {f"v1-{name}.copse": snapshot_1(*content) for name, content in CONTENT.items()}
GOLDEN |= {f"v2-{name}.copse": snapshot_2(*content) for name, content in CONTENT.items()}
GOLDEN["v2-i32-u32-blocks.copse"] = snapshot_2(*BLOCKS)
GOLDEN["v2-bytes-u32.copse"] = snapshot_2_bytes(*STRINGS)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, content in GOLDEN.items():
        (folder / name).write_bytes(content)
        print(f"{name}: {len(content)} bytes")


if __name__ == "__main__":
    main()
