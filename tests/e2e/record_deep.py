#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn record of stacks that are deeper than a capture holds: both ends are kept, the gap is marked.

Their own count in the quality line; the marker is a frame in each format and picture.
"""
import json
import os
import re
import subprocess
import sys

CAIRN, SRC = os.environ["CAIRN"], os.environ["SRC"]
GAP = re.compile(r"\[(\d+) or more frames left out\]")
checks, failures = 0, 0


def check(right, what):
    global checks, failures
    checks += 1
    if not right:
        failures += 1
        print("FAIL:", what)


def run(*words):
    done = subprocess.run([CAIRN, *words], text=True, capture_output=True, check=False, timeout=100)
    check(done.returncode == 0, f"{words}: {done.returncode}: {done.stderr}")
    return done


def record(depth, out):
    done = run("record", "-F", "199", "--method", "bpf", "-o", out, "--", "./deep", str(depth), "3")
    if "BPF" in done.stderr and done.returncode:
        print("skipped: no programs in the kernel here:", done.stderr.splitlines()[0])
        sys.exit(77)
    quality = done.stderr.splitlines()[-1]
    found = re.search(r"(\d+) samples in .* (\d+) whole \(.*?\)(?:, (\d+) with a gap \(deeper than "
                      r"1024 frames\))?, (\d+) cut", quality)
    check(found, f"the quality line is not as expected: {quality}")
    return [int(word or 0) for word in found.groups()] if found else [0, 0, 0, 0]


def check_stacks(path, depth):
    """Of a line with the marker: main and the root before it, the leaf behind it."""
    n_marked = n_leaves = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack = line.rsplit(" ", 1)[0]
            found = GAP.search(stack)
            if not found:
                continue
            n_marked += 1
            outer, inner = stack[:found.start()], stack[found.end():]
            check(outer.startswith("_start;") and ";main;" in outer, f"no root: {outer[:80]}")
            if "spin_at_the_bottom" not in inner:  # on its way down
                continue
            n_leaves += 1
            n = outer.count(";") + inner.count(";")
            least, missing = int(found[1]), depth + 6 - n
            check(least <= missing + 40 and missing <= 2 * least + 40,
                  f"{least} or more are said to be left out, {missing} are")
    check(n_leaves > 0, "no stack with a gap has its leaf")
    return n_marked


def main():
    subprocess.run(["gcc", "-O1", "-g", "-fomit-frame-pointer", "-o", "deep",
                    os.path.join(SRC, "tests/e2e/record_deep.c")], check=True)
    n, whole, gap, cut = record(500, "shallow.txt")
    check(n and whole + cut == n and not gap, f"500 levels: {whole} whole, {gap} with a gap")
    n, whole, gap, cut = record(5000, "deep.txt")
    check(gap > n / 2, f"5,000 levels: {gap} of {n} with a gap, {cut} cut")
    check(whole + gap + cut == n, f"5,000 levels: {whole} + {gap} + {cut} of {n}")
    check(check_stacks("deep.txt", 5000) > 0, "no stack with a marked gap")
    record(5000, "deep.pb.gz")
    top = run("report", "deep.pb.gz").stdout
    check(GAP.search(top), f"report does not show the gap: {top[:400]}")
    check(re.search(r" whole \(.*?\), [0-9,]+ with a gap \(deeper than 1024 frames\), [0-9,]+ cut", top),
          f"report counts stacks with a gap as cut: {top[:400]}")
    quality = json.loads(run("report", "--json", "deep.pb.gz").stdout)["quality"]
    check(quality["samples_gap"] > quality["samples"] / 2, f"stacks with a gap in JSON: {quality}")
    check(quality["samples_whole"] + quality["samples_gap"] + quality["samples_cut"] ==
          quality["samples_judged"], f"what is judged in JSON: {quality}")
    check(sum(cut["samples"] for cut in quality["cut_by_reason"]) == quality["samples_cut"],
          f"reasons in JSON: {quality}")
    run("resolve", "deep.pb.gz", "-o", "named.pb.gz")
    run("convert", "named.pb.gz", "-o", "named.txt")
    check(check_stacks("named.txt", 5000) > 0, "the marker is lost when names are found")
    run("flame", "named.pb.gz", "-o", "deep.svg")
    with open("deep.svg", encoding="utf-8") as file:
        check("or more frames left out]" in file.read(), "the picture does not show the gap")
    print(f"{checks} checks, {failures} failed")
    sys.exit(failures > 0)


main()
