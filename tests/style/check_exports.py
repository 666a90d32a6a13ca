#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that the names agree: check_exports.py SOURCE_ROOT COMMAND (LIBRARY_SO LIBRARY_A)... [TRACKER_SO...]

What the shared library exports, what src/cairn.map lists and what include/cairn declares with
CAIRN_API is the same set. The smaller libraries export the part of it that they define, as their own
lists say. Every name that others could see in the static library begins with cairn_, or is one of
<memory_tracker.h>, and in the command with cairn_ or cli_. Nothing is declared that is not defined.
libcairn-heap and libcairn-track export what their lists say and all of <memory_tracker.h>, the first malloc
and its kin too, the second nothing else. libcairn-hook exports all of <cairn/hook.h>.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys


INTERPOSED = {"dlclose", "__cxa_finalize"}  # come before libc's in the shared libraries: src/unwind/unload.h


def defined(path, *options):
    text = subprocess.run(["nm", "-P", "--defined-only", *options, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[0].partition("@")[0] for row in rows if len(row) > 1 and row[1] not in "A"}


def listed(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return [name for part in re.findall(r"global:(.*?)(?:local:|\})", text, re.S)
            for name in re.findall(r"[\w*]+", part)]


def declared(paths):
    names = set()
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for piece in re.findall(r"CAIRN_API([^;{]*)", text):
            piece = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", piece, flags=re.S)
            names.add(re.search(r"(\w+)\s*(?:\(|\[|$)", piece)[1])
    return names


def check_library(root, shared, static, in_headers, whole):
    """`whole`: the library has everything, and not only what it defines."""
    name = shared.stem.split(".")[0].removeprefix("lib")
    exported, in_list = defined(shared, "-D"), listed(root / f"src/{name}.map")
    has = defined(static, "-g")
    expected = in_headers if whole else in_headers & has
    wrong = [f"{n}: exported, but not in {name}.map" for n in exported - set(in_list) - INTERPOSED]
    wrong += [f"{n}: in {name}.map, but not exported" for n in set(in_list) - exported]
    wrong += [f"{n}: has CAIRN_API, but lib{name} does not export it" for n in expected - exported]
    wrong += [f"{n}: exported, but in no public header" for n in exported - in_headers - INTERPOSED]
    wrong += [f"{n}: does not begin with cairn_" for n in
              {n for n in exported - INTERPOSED | has if not n.startswith(("cairn_", "memory_tracker_"))}]
    if in_list != sorted(in_list):
        first = next(n for n, right in zip(in_list, sorted(in_list)) if n != right)
        wrong.append(f"{name}.map: not in alphabetical order, from {first} on")
    print(f"lib{name}: {len(exported)} names exported")
    return wrong + ([] if exported else [f"lib{name} exports nothing"])


def check_tracker(root, shared, in_header):
    """libcairn-heap, whose list has patterns for C++'s operators, libcairn-track and libcairn-hook."""
    name = shared.name.split(".")[0].removeprefix("lib")
    in_list, exported = listed(root / f"src/{name}.map"), defined(shared, "-D")
    wrong = [f"{n}: exported, but not in {name}.map" for n in exported
             if not any(fnmatch.fnmatchcase(n, pattern) for pattern in in_list)]
    wrong += [f"{pattern}: in {name}.map, but not exported" for pattern in in_list
              if not fnmatch.filter(exported, pattern)]
    wrong += [f"{n}: has CAIRN_API, but lib{name} does not export it"
              for n in in_header - exported]
    if name != "cairn-heap":
        wrong += [f"{n}: lib{name} may come before no name of a program" for n in exported
                  if not n.startswith(("cairn_", "memory_tracker_"))]
    if in_list != sorted(in_list):
        wrong.append(f"{name}.map: not in alphabetical order")
    print(f"lib{name}: {len(exported)} names exported")
    return wrong


def main():
    root, command, *libraries = map(pathlib.Path, sys.argv[1:])
    of_tracker = declared([root / "include/memory_tracker.h"])
    of_hooks = declared([root / "include/cairn/hook.h"])
    in_headers = declared((root / "include/cairn").glob("*.h")) | of_tracker
    wrong = []
    trackers = [path for path in libraries if re.match(r"libcairn-(heap|track|hook)\.so", path.name)]
    libraries = [path for path in libraries if path not in trackers]
    for tracker in trackers:
        wrong += check_tracker(root, tracker, of_hooks if "-hook." in tracker.name else of_tracker)
    for shared, static in zip(libraries[::2], libraries[1::2]):
        wrong += check_library(root, shared, static, in_headers, shared == libraries[0])
    objects = pathlib.Path(f"{command}.p").glob("*.o")
    own = {name for path in objects for name in defined(path, "-g")} - {"main"}
    wrong += [f"{name}: does not begin with cli_" for name in own if not name.startswith("cli_")]
    print("\n".join(sorted(wrong)))
    return bool(wrong) or not libraries or not own


sys.exit(main())
