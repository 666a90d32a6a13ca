#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles of real programs for speedscope: every rule of its format, and the numbers of cairn report."""
import collections
import json
import os
import re
import subprocess

from checks import check, finish, run, skip
from viewer_files import Speedscope, Wrong, report

CAIRN = os.environ["CAIRN"]
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned long sink;
static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
__attribute__((noinline)) static void spin(void)
{
    for (unsigned i = 0; i < 100000; i++)
        sink += i;
}
__attribute__((noinline)) static void take(void)
{
    char *block = malloc(1000);
    memset(block, 1, 1000);
    sink += (unsigned char)block[sink % 1000];
    if (sink % 3)
        free(block);
}
static void *run(void *name)
{
    pthread_setname_np(pthread_self(), name);
    while (cpu() < 0.5) {
        spin();
        take();
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, run, "one");
    pthread_create(&threads[1], NULL, run, "two");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""


def converted(path, *options, out=None):
    out = out or path.split(".")[0] + ".speedscope.json.gz"
    run(CAIRN, "convert", path, "-f", "-o", out, *options)
    try:
        return Speedscope(out)
    except (Wrong, KeyError, ValueError, TypeError) as wrong:
        check(False, f"{path}: {type(wrong).__name__}: {wrong}")
        finish("")


def agrees(thread, path, what, *options):
    """Functions of one name in several files or modules are one here: only their self can be compared then."""
    whole, own, _ = report(path, *options)
    check(thread.sum == whole, f"{what}: sum {thread.sum}, expected {whole}")
    ours = {name: value for (name, _), value in thread.self.items() if value}
    theirs = collections.Counter()
    for (name, _), value in own.items():
        theirs[name] += value
    theirs = {name: value for name, value in theirs.items() if value}
    wrong = [(name, ours.get(name), theirs.get(name)) for name in ours | theirs if ours.get(name) != theirs.get(name)]
    check(not wrong, f"{what}: {len(wrong)} of {len(theirs)} functions: {wrong[:3]}")


with open("program.c", "w", encoding="utf-8") as file:
    file.write(PROGRAM)
subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-g", "-pthread", "-o", "program", "program.c"], check=True)
recorded = subprocess.run([CAIRN, "record", "-F", "499", "-o", "sums.pb.gz", "--", "./program"],
                          capture_output=True, text=True, check=False)
if recorded.returncode:
    skip(f"nothing can be recorded here: {recorded.stderr.strip()[-200:]}")
run(CAIRN, "record", "-F", "499", "--timeline", "-o", "timed.pb.gz", "--", "./program")

for path in ("sums.pb.gz", "timed.pb.gz"):
    for value, unit in (("samples", "none"), ("cpu", "nanoseconds")):
        got = converted(path, "--value", value)
        check(got.name == "./program", "name", got.name)
        check({thread.unit for thread in got.threads} == {unit}, f"{path}: {value}: units")
        found = set()
        for thread in got.threads:
            name, tid = re.fullmatch(r"(\S+) \d+/(\d+) \(" + value + r"\)", thread.name).groups()
            found.add(name)
            agrees(thread, path, f"{path}: {thread.name}", "--value", value, "--label", f"tid={tid}")
        check({"one", "two"} <= found, f"{path}: threads {found}")
        check(got.active.sum == max(thread.sum for thread in got.threads), f"{path}: the heaviest is shown")
        own = sum((thread.self[("spin", "")] for thread in got.threads))
        check(own > 0, f"{path}: spin() has samples of its own")

# Written at once, by every command that writes profiles.
run(CAIRN, "record", "-F", "199", "-o", "once.speedscope.json", "--", "./program")
check(sum(thread.sum for thread in Speedscope("once.speedscope.json").threads) > 20, "record -o")
run(CAIRN, "resolve", "sums.pb.gz", "-o", "resolved.speedscope.json")
check(sum(thread.sum for thread in Speedscope("resolved.speedscope.json").threads) == report("sums.pb.gz")[0],
      "resolve -o")
with open("piped.speedscope.json", "w", encoding="utf-8") as file:
    file.write(run(CAIRN, "convert", "sums.pb.gz", "--to", "speedscope", "-o", "-").stdout)
check(len(Speedscope("piped.speedscope.json").threads) >= 2, "--to speedscope into a pipe")
refused = run(CAIRN, "report", "once.speedscope.json", status=1)
check("a speedscope profile" in refused.stderr, "it is not read", refused.stderr)

# A heap file: one profile for each value that says something.
if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
    print("skipped: heap files: no libcairn-heap.so: a sanitizer has a malloc of its own")
elif run(CAIRN, "heap", "run", "-o", "x.heap", "--", "./program").returncode == 0:
    heap = converted("x.heap")
    kinds = {re.fullmatch(r"all samples \((\w+)\)", thread.name).group(1): thread for thread in heap.threads}
    check({"inuse_space", "alloc_space", "alloc_objects"} <= set(kinds), "values of a heap file", sorted(kinds))
    check(heap.active is kinds["inuse_space"], "the first value is shown")
    for kind, thread in kinds.items():
        check(thread.unit == ("bytes" if kind.endswith("space") else "none"), f"unit of {kind}", thread.unit)
        agrees(thread, "x.heap", f"heap: {kind}", "--value", kind)

# Odd profiles.
run("/usr/bin/python3", os.path.join(os.environ["SRC"], "tests/e2e/report_profiles.py"))
for path in ("hostile.pb.gz", "empty.pb.gz", "cut.pb.gz", "raw.pb.gz", "cpu.pb.gz"):
    odd = converted(path)
    shown = json.loads(run(CAIRN, "report", path, "--json").stdout)
    kind = odd.active.name.rpartition(" (")[2]
    check(sum(thread.sum for thread in odd.threads if thread.name.endswith(kind)) == shown["sum"], f"{path}: sum")
refused = run(CAIRN, "convert", "heap.pb.gz", "-o", "below.speedscope.json", status=1)
check("go below zero" in refused.stderr and "--to firefox" in refused.stderr, "values below zero", refused.stderr)
check(not os.path.exists("below.speedscope.json"), "what was refused left a file")
finish("profiles for speedscope")
