#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""resolve_compare.py MAPS SYMBOLS IN OUT: each frame of OUT, which `cairn resolve --lines --names mangled` made
of IN, against llvm-symbolizer asked for that one address. Which address that is, is reckoned here anew: leaf
exact, all others one byte before; mapping, file offset, program header. Frames must agree in file, line and
inline chain. Two rules: llvm takes the nearest symbol for bytes between symbols, where cairn says nothing; and
llvm shows a file without a line for code that has a symbol but no line table."""
import collections
import json
import os
import re
import struct
import subprocess
import sys

maps_path, symbols, in_path, out_path = sys.argv[1:]
ADDRESS = re.compile(r"0x[0-9a-f]+")
FRAME = re.compile(r"(.*?)(?: \(([^()]*?)(?::(\d+))?\))?(_\[i\])?$")


def read_maps(path):
    regions = []
    for line in open(path):
        word = line.split(None, 5)
        start, end = (int(x, 16) for x in word[0].split("-"))
        regions.append((start, end, int(word[2], 16), word[5].strip() if len(word) > 5 else ""))
    return regions


def read_segments(path):
    head = open(path, "rb").read(4096)
    table, = struct.unpack_from("<Q", head, 32)
    count, = struct.unpack_from("<H", head, 56)
    found = []
    for index in range(count):
        kind, _, off, vaddr, _, size = struct.unpack_from("<IIQQQQ", head, table + 56 * index)
        if kind == 1:
            found.append((off, vaddr, size))
    return found


def place(va, regions, segments):
    """(file, vaddr), or None where it lies in no file."""
    for start, end, off, path in regions:
        if not start <= va < end or not path.startswith("/"):
            continue
        file = os.path.join(symbols, os.path.basename(path))
        for seg_off, vaddr, size in segments.setdefault(file, read_segments(file)):
            if seg_off <= va - start + off < seg_off + size:
                return file, va - start + off - seg_off + vaddr
    return None


def read_stacks(path):
    for line in open(path):
        yield line.rstrip("\n").rsplit(" ", 1)[0].split(";")


def pair_frames(frames, named):
    """Each frame of the input with the group of frames that it became."""
    at = 0
    for index, frame in enumerate(frames):
        group = [named[at]]
        at += 1
        while at < len(named) and named[at].endswith("_[i]"):
            group.append(named[at])
            at += 1
        yield (frame, index == len(frames) - 1), group
    assert at == len(named), (frames, named)


def ask_llvm(places):
    truth = {}
    for file in {p[0] for p in places}:
        vaddrs = sorted({v for f, v in places if f == file})
        done = subprocess.run(["llvm-symbolizer-14", "--obj=" + file, "--no-demangle",
                               "--output-style=JSON"], input="\n".join(map(hex, vaddrs)),
                              capture_output=True, text=True)
        for vaddr, line in zip(vaddrs, done.stdout.splitlines()):
            truth[file, vaddr] = [(s["FunctionName"], os.path.basename(s["FileName"]), s["Line"])
                                  for s in json.loads(line)["Symbol"]]
    return truth


def judge(frame, group, theirs):
    if group == [frame]:
        return "between symbols" if not theirs[0][0] or theirs[0][2] == 0 else "WITHOUT A NAME"
    ours = []
    for text in reversed(group):
        found = FRAME.match(text)
        ours.append((os.path.basename(found[2] or ""), int(found[3] or 0)))
    lines = [(file, line) for _, file, line in theirs]
    if ours == lines:
        return "same"
    return "no line" if ours == [("", 0)] and theirs[0][2] == 0 else "DIFFERENT"


def main():
    regions, segments, became = read_maps(maps_path), {}, {}
    for frames, named in zip(read_stacks(in_path), read_stacks(out_path)):
        for key, group in pair_frames(frames, named):
            assert became.setdefault(key, group) == group, (key, group, became[key])
    places = {key: place(int(key[0], 16) - (not key[1]), regions, segments)
              for key in became if ADDRESS.fullmatch(key[0])}
    truth = ask_llvm({p for p in places.values() if p})
    counts, shown = collections.Counter(), 0
    for key, group in became.items():
        where = places.get(key)
        if where is None:
            verdict = "kept" if group == [key[0]] else "CHANGED"
        else:
            verdict = judge(key[0], group, truth[where])
        counts[verdict] += 1
        if verdict.isupper() and shown < 10:
            shown += 1
            print(f"{verdict}: {key[0]}{' (leaf)' if key[1] else ''}: {where}\n  cairn {group}"
                  f"\n  llvm  {truth.get(where)}")
    print(", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    named = counts["same"] + counts["no line"]
    sys.exit(any(v.isupper() for v in counts) or named < 100)


main()
