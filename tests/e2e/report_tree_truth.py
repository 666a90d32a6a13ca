#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts trees of calls, callees and callers out of stacks by itself, and holds every node that
`cairn report --json` prints against them."""
import collections
import json
import os
import random
import subprocess
import sys

CAIRN = os.environ["CAIRN"]


def make_stacks():
    draw = random.Random(5)
    for i in range(1500):
        names = [f"f{int(draw.expovariate(0.4))}" for _ in range(draw.randint(1, 20))]
        yield tuple(names), draw.randint(0, 50)


def count(stacks, kind, root, levels):
    """By path from the root of a tree: [total, self]."""
    nodes = collections.defaultdict(lambda: [0, 0])
    for stack, value in stacks:
        if kind == "callers":
            if root not in stack:
                continue
            path = stack[:len(stack) - stack[::-1].index(root)][::-1]
            counts_from = 0 if stack[-1] == root else len(path)
        else:
            if kind == "callees" and root not in stack:
                continue
            path = stack[stack.index(root):] if kind == "callees" else stack
            counts_from = len(path) - 1
        for i in range(min(len(path), levels or len(path))):
            node = nodes[path[:i + 1]]
            node[0] += value
            node[1] += value if i >= counts_from else 0
    return {path: tuple(node) for path, node in nodes.items()}


def printed(*options):
    done = subprocess.run([CAIRN, "report", "truth.txt", "--json", "--top=0", "--min-percent=0", *options],
                          stdout=subprocess.PIPE, check=True)
    path, nodes, order = [], {}, []
    for node in json.loads(done.stdout)["nodes"]:
        del path[node["depth"]:]
        path.append(node["function"])
        nodes[tuple(path)] = node["total"], node["self"]
        order.append((node["depth"], node["total"]))
    return nodes, order


def check(what, mine, truth):
    nodes, order = mine
    for path in set(nodes) | set(truth):
        if nodes.get(path) != truth.get(path):
            print(f"{what}: {path}: {nodes.get(path)}, expected {truth.get(path)}")
            sys.exit(1)
    last = {}  # siblings stand by total
    for depth, total in order:
        last = {at: least for at, least in last.items() if at <= depth}
        if depth and total > last.get(depth, total):
            print(f"{what}: {total} stands behind {last[depth]}")
            sys.exit(1)
        last[depth] = total


def main():
    stacks = list(make_stacks())
    with open("truth.txt", "w") as file:
        file.writelines(f"{';'.join(stack)} {value}\n" for stack, value in stacks)
    names = sorted({name for stack, _ in stacks for name in stack})
    check("calls", printed("--tree"), count(stacks, "calls", None, 0))
    check("calls to level 3", printed("--tree", "--depth=3"), count(stacks, "calls", None, 3))
    for kind in ("callers", "callees"):
        for levels in (0, 1, 3):
            for root in (names[0], names[1], names[-1]):
                check(f"{kind} of {root} to level {levels}",
                      printed(f"--{kind}={root}", f"--depth={levels}"),
                      count(stacks, kind, root, levels))
        every = {}
        for root in names:
            every.update(count(stacks, kind, root, 2))
        check(f"{kind} of all", printed(f"--{kind}"), every)
    print(f"{len(stacks)} stacks of {len(names)} functions")


main()
