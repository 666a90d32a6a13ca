#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles in callgrind's format: the numbers of cairn report, and callgrind_annotate's of the same file."""
import collections
import json
import os
import re
import shutil
import subprocess

from checks import check, finish, run, skip
from viewer_files import report

CAIRN = os.environ["CAIRN"]
PROGRAM = r"""
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(void)
{
    for (unsigned i = 0; i < 20000; i++)
        sink += i;
}
__attribute__((noinline)) static void down(int depth)
{
    spin();
    if (depth)
        down(depth - 1);
    sink++;
}
int main(void)
{
    while (clock() < CLOCKS_PER_SEC * 6 / 10) {
        down(5);
        spin();
    }
    return 0;
}
"""


class Graph:
    """Self and inclusive values of the first event by (function, module), of the outermost level of recursion."""

    def __init__(self, path):
        self.names = {"ob": {}, "fl": {}, "fn": {}}
        self.own, self.below = collections.Counter(), collections.Counter()
        self.events, self.totals, self.places, node, called = [], None, {}, {}, False
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip("\n")
                key, _, value = line.partition("=")
                if line.startswith("events: "):
                    self.events = line.split()[1:]
                elif line.startswith("totals: "):
                    self.totals = list(map(int, line.split()[1:]))
                elif key in ("ob", "fl", "fn"):
                    node[key] = self.name(key, value)
                elif key in ("cob", "cfi", "cfn"):
                    self.name({"cob": "ob", "cfi": "fl", "cfn": "fn"}[key], value)
                elif key == "calls":
                    check(re.fullmatch(r"[1-9]\d* \d+", value), f"line {number}: {line}")
                    called = True
                elif line[:1].isdigit():
                    numbers = list(map(int, line.split()))
                    check(len(numbers) == 1 + len(self.events), f"line {number}: {line}")
                    self.places[node["fn"]] = node["ob"]
                    (self.below if called else self.own)[node["fn"]] += numbers[1]
                    called = False
                else:
                    check(not line or re.match(r"#|[a-z]+: ", line), f"line {number}: {line}")

    def name(self, kind, text):
        number, _, name = re.fullmatch(r"\((\d+)\)( (.*))?", text).groups()
        known = self.names[kind]
        check((number in known) != bool(name), f"{kind}={text}")
        return known.setdefault(number, text.partition(" ")[2])

    def tables(self):
        own, total = collections.Counter(), collections.Counter()
        for name, place in self.places.items():
            if name == "[all]":
                continue
            bare = re.sub(r"'\d+$", "", name)
            module = "" if place == "???" else os.path.basename(place)
            own[bare, module] += self.own[name]
            if bare == name:
                total[bare, module] += self.own[name] + self.below[name]
        return +own, +total


def agrees(graph, path):
    whole, own, total = report(path)
    check(graph.totals and graph.totals[0] == whole, f"{path}: totals {graph.totals}, expected {whole}")
    check(graph.below["[all]"] == whole, f"{path}: roots {graph.below['[all]']}, expected {whole}")
    for what, ours, theirs in zip(("self", "total"), graph.tables(), (own, total)):
        wrong = [(name, ours[name], theirs[name]) for name in ours | theirs if ours[name] != theirs[name]]
        check(not wrong, f"{path}: {what}: {len(wrong)} of {len(theirs)} functions: {wrong[:3]}")


with open("program.c", "w", encoding="utf-8") as file:
    file.write(PROGRAM)
subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-g", "-fno-optimize-sibling-calls", "-o", "program", "program.c"],
               check=True)
recorded = subprocess.run([CAIRN, "record", "-F", "499", "-o", "program.pb.gz", "--", "./program"],
                          capture_output=True, text=True, check=False)
if recorded.returncode:
    skip(f"nothing can be recorded here: {recorded.stderr.strip()[-200:]}")
run(CAIRN, "convert", "program.pb.gz", "-o", "callgrind.out.program")
program = Graph("callgrind.out.program")
agrees(program, "program.pb.gz")
check(program.events == ["samples", "cpu_nanoseconds"], "events", program.events)
check("down'5" in program.places and "spin" in program.places, "levels of recursion", sorted(program.places))

annotate = shutil.which("callgrind_annotate")
if annotate:
    os.mkdir("elsewhere")  # it strips its own folder from some file names, and not from others
    for mode in ("no", "yes"):
        done = subprocess.run([annotate, f"--inclusive={mode}", "--auto=no", "--threshold=100",
                               "../callgrind.out.program"], cwd="elsewhere", capture_output=True, text=True, check=False)
        check(done.returncode == 0 and "WARNING" not in done.stderr, f"callgrind_annotate: {done.stderr[:300]}")
        theirs = collections.Counter()
        level = r"(?:'\d+)?" if mode == "no" else ""  # of a recursion; the outermost includes the others
        for line in done.stdout.splitlines():
            row = re.match(r" *([\d,]+) \([ \d.]+%\) +[\d,]+ \([ \d.]+%\) +\S+?:(spin|down|main)" + level +
                           r"(?: \[.*)?$", line)
            if row:
                theirs[row[2]] += int(row[1].replace(",", ""))
        ours = program.tables()[mode == "yes"]
        for name in ("spin", "down", "main"):
            check(theirs[name] == ours[name, "program"], f"{mode}: {name}: {theirs[name]}, we {ours[name, 'program']}")
else:
    print("skipped: callgrind_annotate is missing")

# Written at once, into a pipe, from odd profiles; what is refused.
run(CAIRN, "record", "-F", "199", "-o", "once.callgrind", "--", "./program")
check(Graph("once.callgrind").totals[0] > 20, "record -o")
with open("piped", "w", encoding="utf-8") as file:
    file.write(run(CAIRN, "convert", "program.pb.gz", "--to", "callgrind", "-o", "-").stdout)
check(Graph("piped").totals == program.totals, "--to callgrind into a pipe")
run("/usr/bin/python3", os.path.join(os.environ["SRC"], "tests/e2e/report_profiles.py"))
for path in ("cpu.pb.gz", "cut.pb.gz", "raw.pb.gz", "empty.pb.gz"):
    run(CAIRN, "convert", path, "-f", "-o", "odd.callgrind")
    graph = Graph("odd.callgrind")
    check(graph.totals[0] == json.loads(run(CAIRN, "report", path, "--json").stdout)["sum"], f"{path}: totals")
refused = run(CAIRN, "convert", "heap.pb.gz", "-o", "below.callgrind", status=1)
check("go below zero" in refused.stderr, "values below zero", refused.stderr)
refused = run(CAIRN, "report", "once.callgrind", status=1)
check("callgrind_annotate FILE reads it" in refused.stderr, "it is not read", refused.stderr)
finish("profiles for callgrind")
