#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds what `cairn diff --json` says of two random profiles against what `cairn report --json` says
of each, and its stacks against the stacks that were written."""
import collections
import json
import os
import random
import subprocess
import sys

CAIRN = os.environ["CAIRN"]


def write(path, seed, n):
    draw, stacks = random.Random(seed), collections.Counter()
    for _ in range(n):
        depth = draw.randint(1, 4)
        names = (f"{draw.choice('fgh')}{int(draw.expovariate(0.7))}" for _ in range(depth))
        stacks[";".join(names)] += draw.randint(0, 99)
    with open(path, "w") as file:
        file.writelines(f"{stack} {value}\n" for stack, value in stacks.items())
    return stacks


def ask(*words):
    done = subprocess.run([CAIRN, *words, "--json", "--top=0"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def check(condition, *what):
    if not condition:
        print(*what)
        sys.exit(1)


def near(a, b):
    return abs(a - b) < 1e-5


def falls(changes):
    return all(a >= b - 1e-6 for a, b in zip(changes, changes[1:]))


def check_functions(diff, sides, sums, sort):
    """Every function that changed is there, with the numbers of either report."""
    seen = {}
    for row in diff["functions_grew"] + diff["functions_shrank"]:
        seen[row["function"]] = row
    for name in set(sides[0]) | set(sides[1]):
        before, now = (side.get(name, {"self": 0, "total": 0}) for side in sides)
        change = {key: now[key] / sums[1] - before[key] / sums[0] for key in ("self", "total")}
        row = seen.pop(name, None)
        if row is None:
            check(near(change[sort], 0), name, "is missing", change)
            continue
        for key in ("self", "total"):
            check((row[f"old_{key}"], row[f"new_{key}"]) == (before[key], now[key]), name, row)
            check(near(row[f"{key}_change"], change[key]), name, row, change)
        check((row["in_old"], row["in_new"]) == (name in sides[0], name in sides[1]), name, row)
    check(not seen, "functions that no report has", seen)
    check(falls([row[f"{sort}_change"] for row in diff["functions_grew"]]), "order of growth")
    check(falls([-row[f"{sort}_change"] for row in diff["functions_shrank"]]), "order of shrink")
    check(all(row[f"{sort}_change"] > 0 for row in diff["functions_grew"]), "growth below 0")


def check_stacks(diff, stacks, sums):
    seen = {}
    for row in diff["stacks_grew"] + diff["stacks_shrank"]:
        seen[";".join(frame["function"] for frame in reversed(row["frames"]))] = row
    for name in set(stacks[0]) | set(stacks[1]):
        change = stacks[1][name] / sums[1] - stacks[0][name] / sums[0]
        row = seen.pop(name, None)
        if row is None:
            check(near(change, 0), name, "is missing", change)
            continue
        check((row["old"], row["new"]) == (stacks[0][name], stacks[1][name]), name, row)
        check(near(row["change"], change), name, row, change)
    check(not seen, "stacks that nobody wrote", seen)


def main():
    stacks = write("a.txt", 1, 800), write("b.txt", 2, 500)
    sides = [{row["function"]: row for row in ask("report", path)["functions"]}
             for path in ("a.txt", "b.txt")]
    totals = [sum(counts.values()) for counts in stacks]
    for options, sums in (((), [total / 100 for total in totals]), (("--absolute",), [1, 1])):
        for sort in ("self", "total"):
            diff = ask("diff", "a.txt", "b.txt", "--sort", sort, *options)
            check([diff["old"]["sum"], diff["new"]["sum"]] == totals, "sums", totals)
            check_functions(diff, sides, sums, sort)
            check_stacks(diff, stacks, sums)
    print(f"{len(sides[0])} and {len(sides[1])} functions")


main()
