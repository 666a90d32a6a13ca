#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds every #include against the floors of docs/architecture.md: check_layers.py SOURCE_ROOT."""
import pathlib
import re
import sys

MAY_USE = {  # a room: the rooms it may include; itself is always allowed
    "base": "",
    "rt": "base",
    "cache": "base",
    "symlist": "base",
    "elf": "base",
    "proc": "base",
    "profile": "base",
    "code": "base elf",
    "dwarf": "base elf",
    "formats": "base profile rt",  # of rt the layout of the shared state alone
    "picture": "base profile",
    "debugfile": "base elf",
    "symbol": "base cache symlist elf code dwarf debugfile",
    "unwind": "base rt elf code dwarf",
    "target": "base elf proc dwarf debugfile unwind",
    "resolve": "base elf proc symbol profile formats",
    "bpf": "base proc unwind target",
    "sample": "base elf proc profile debugfile unwind target bpf",
    "snapshot": "base elf proc unwind target profile bpf",
    "doctor": "base elf proc dwarf debugfile unwind target bpf",
    "heap": "base rt unwind",
    "watch": "base rt elf proc profile formats",
    "cli": "base",  # one writer of JSON, one set of escapes, one atomic file, instead of two
}
BANNED = {"internal.h", "common.h", "util.c", "util.h", "utils.c", "utils.h", "misc.c", "misc.h"}


def check_file(root, path):
    room = path.relative_to(root).parts[0 if path.is_relative_to(root / "cli") else 1]
    where = path.relative_to(root)
    if room not in MAY_USE:
        yield f"{where}: there is no room {room}/ in the table"
        return
    if path.name in BANNED:
        yield f"{where}: a file is named after what it does"
    allowed = {room, *MAY_USE[room].split()}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*"([^"]*)"', line)
        if not found:
            continue
        head, slash, _ = found[1].partition("/")
        if not slash or head in (".", ".."):
            yield f'{where}:{number}: written "room/file.h", so that this test can read it'
        elif head == "cairn":
            yield f"{where}:{number}: public headers are included as <cairn/...>"
        elif head not in allowed:
            yield f"{where}:{number}: {room}/ may not include {head}/ (docs/architecture.md)"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    paths = [path for folder in ("src", "cli") for path in sorted((root / folder).rglob("*.[ch]"))]
    wrong = [text for path in paths for text in check_file(root, path)]
    for path in sorted((root / "include").rglob("*.h")):
        for line in path.read_text().splitlines():
            if re.match(r'\s*#\s*include\s*"', line):
                wrong.append(f"{path.relative_to(root)}: includes what is not installed: {line}")
    print("\n".join(wrong))
    print(f"{len(paths)} files read")
    return bool(wrong) or not paths


sys.exit(main())
