#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every value of a heap file, through flame, report, convert and go tool pprof."""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

CAIRN = os.environ["CAIRN"]
TYPES = [("inuse_objects", "count"), ("inuse_space", "bytes"), ("alloc_objects", "count"),
         ("alloc_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes"),
         ("temporary_objects", "count"), ("mapped_objects", "count"), ("mapped_space", "bytes")]
SHOWN = {"temporary_objects": "churn", "alloc_objects": "churn", "mapped_objects": "map_it",
         "mapped_space": "map_it"}
n_checks = 0


def run(*words):
    done = subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(f"FAIL: {' '.join(map(str, words))}: status {done.returncode}\n{done.stderr}")
        sys.exit(1)
    return done.stdout


def same(what, got, wanted):
    global n_checks
    n_checks += 1
    if got != wanted:
        print(f"FAIL: {what}: {got}, expected {wanted}")
        sys.exit(1)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message; a value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(packed):
    at = 0
    while at < len(packed):
        value, at = varint(packed, at)
        yield value


def decode(path):
    """The sample types, the name of the one to show first, and the sum of each."""
    with gzip.open(path) as file:
        all_fields = list(fields(file.read()))
    strings = [value.decode() for number, value in all_fields if number == 6]
    types = [tuple(strings[v] for _, v in fields(value)) for number, value in all_fields
             if number == 1]
    default = [strings[value] for number, value in all_fields if number == 14]
    sums = [0] * len(types)
    for number, value in all_fields:
        if number == 2:
            values = next(numbers(v) for n, v in fields(value) if n == 2)
            sums = [a + b for a, b in zip(sums, values)]
    return types, default, dict(zip((name for name, _ in types), sums))


def through_cairn(heap, sums):
    for name, _ in TYPES:
        for path in (heap, "named.pb.gz"):
            rows = json.loads(run(CAIRN, "report", "--json", "--top=0", f"--value={name}", path))
            same(f"report of {name} of {path}", sum(row["self"] for row in rows["functions"]),
                 sums[name])
            run(CAIRN, "convert", path, "--force", f"--value={name}", "--to=collapsed", "-o",
                "out.collapsed")
            with open("out.collapsed") as file:
                total = sum(int(line.rsplit(" ", 1)[1]) for line in file)
            same(f"convert of {name} of {path}", total, sums[name])
        run(CAIRN, "flame", f"--value={name}", "named.pb.gz", "--force", "-o", "flame.svg")
        with open("flame.svg") as file:
            shown = SHOWN.get(name, "keep")
            same(f"flame of {name}", shown in file.read(), True)
    with open("out.collapsed") as file:
        same("a stack from its root on", "main;churn " in re.sub(r"^.*?main", "main", file.read(),
                                                                  flags=re.M), True)


def through_go(sums):
    if not shutil.which("go"):
        print("skipped: go tool pprof: go is missing")
        return
    for name, unit in TYPES:
        options = ["-unit=B"] if unit == "bytes" else []
        out = run("go", "tool", "pprof", "-symbolize=none", "-top", f"-sample_index={name}",
                  "-nodefraction=0", *options, "named.pb.gz")
        same(f"the type of {name}", f"Type: {name}\n" in out, True)
        total = re.search(r"of (\d+)(B?) total", out)
        same(f"go's sum of {name}", total and (int(total[1]), total[2]),
             (sums[name], "B" if unit == "bytes" else ""))
    out = run("go", "tool", "pprof", "-symbolize=none", "-top", "named.pb.gz")
    same("what go shows first", "Type: inuse_space\n" in out, True)
    same("go's own unit", bool(re.search(r"^ +4\.77MB .* keep$", out, re.M)), True)


def main():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
        print("skipped: there is no libcairn-heap.so")
        sys.exit(77)
    source = os.path.join(os.environ["SRC"], "tests/e2e/heap_program.c")
    run("gcc", "-g", "-O1", "-fno-builtin", "-fno-inline", "-o", "program", source)
    run(CAIRN, "heap", "run", "--mmap", "-o", "h.heap", "--", "./program", "map")
    run(CAIRN, "resolve", "h.heap", "-o", "named.pb.gz")
    run(CAIRN, "convert", "h.heap", "-o", "raw.pb.gz")
    report = json.loads(run(CAIRN, "heap", "report", "--json", "h.heap"))
    types, default, sums = decode("named.pb.gz")
    same("the types", types, TYPES)
    same("the one to show first", default, ["inuse_space"])
    same("without names", decode("raw.pb.gz"), (types, default, sums))
    for name, member in (("inuse_objects", "live_blocks"), ("inuse_space", "live_bytes"),
                         ("alloc_objects", "allocations"), ("alloc_space", "allocated_bytes"),
                         ("temporary_objects", "temporary_blocks"), ("mapped_objects", "mappings"),
                         ("mapped_space", "mapped_bytes")):
        same(f"{name} is {member}", sums[name], report[member])
    same("what lives", (sums["inuse_objects"], sums["inuse_space"]), (4, 5003003))
    same("what is mapped", (sums["mapped_objects"], sums["mapped_space"]), (3, 24576))
    for part in ("leaks", "report"):
        mapped = json.loads(run(CAIRN, "heap", part, "--json", "h.heap"))["mapped"]
        same(f"mappings in the JSON of {part}",
             [(m["bytes"], m["mappings"], m["kind"], m["frames"][0]["lines"][-1]["function"])
              for m in mapped], [(24576, 3, "mmap", "map_it")])
    same("the peak is near what it is said to be",
         abs(sums["peak_space"] - report["peak_bytes"]) <= report["peak_bytes"] / 64, True)
    through_cairn("h.heap", sums)
    through_go(sums)
    print(f"values of heap files: {n_checks} checks")


main()
