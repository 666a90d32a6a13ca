#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that the names agree: check_exports.py SOURCE_ROOT LIBCAIRN_SO LIBCAIRN_A COMMAND.

What the shared library exports, what src/cairn.map lists and what include/cairn declares with
CAIRN_API is the same set. Every name that others could see in the static library begins with
cairn_, and in the command with cairn_ or cli_. Nothing is declared that is not defined.
"""
import pathlib
import re
import subprocess
import sys


def defined(path, *options):
    text = subprocess.run(["nm", "-P", "--defined-only", *options, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[0].partition("@")[0] for row in rows if len(row) > 1 and row[1] not in "A"}


def listed(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return [name for part in re.findall(r"global:(.*?)(?:local:|\})", text, re.S)
            for name in re.findall(r"[\w*]+", part)]


def declared(folder):
    names = set()
    for path in folder.glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for piece in re.findall(r"CAIRN_API([^;{]*)", text):
            piece = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", piece, flags=re.S)
            names.add(re.search(r"(\w+)\s*(?:\(|\[|$)", piece)[1])
    return names


def main():
    root, shared, static, command = map(pathlib.Path, sys.argv[1:])
    exported, in_list = defined(shared, "-D"), listed(root / "src/cairn.map")
    in_headers = declared(root / "include/cairn")
    wrong = [f"{name}: exported, but not in cairn.map" for name in exported - set(in_list)]
    wrong += [f"{name}: in cairn.map, but not exported" for name in set(in_list) - exported]
    wrong += [f"{name}: has CAIRN_API, but is not exported" for name in in_headers - exported]
    wrong += [f"{name}: exported, but in no public header" for name in exported - in_headers]
    wrong += [f"{name}: does not begin with cairn_" for name in
              {n for n in exported | defined(static, "-g") if not n.startswith("cairn_")}]
    objects = pathlib.Path(f"{command}.p").glob("*.o")
    own = {name for path in objects for name in defined(path, "-g")} - {"main"}
    wrong += [f"{name}: does not begin with cli_" for name in own if not name.startswith("cli_")]
    if in_list != sorted(in_list):
        first = next(name for name, right in zip(in_list, sorted(in_list)) if name != right)
        wrong.append(f"cairn.map: not in alphabetical order, from {first} on")
    print("\n".join(sorted(wrong)))
    print(f"{len(exported)} names exported")
    return bool(wrong) or not exported or not own


sys.exit(main())
