#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each case of heap_truth.c, which names itself by its size, is counted exactly: its blocks and its
stack, however the program ends. Whoever wants to know which of them are lost asks elsewhere: what
lives is listed, pointed to or not.
"""
import collections
import json
import os
import subprocess
import sys

CAIRN, SRC = os.environ["CAIRN"], os.environ["SRC"]
# bytes: blocks, who is on the stack, innermost first
TRUTH = {
    1001: (5, ["definite", "main"]), 1002: (1, ["reachable", "main"]),
    1003: (1, ["chain", "main"]), 1004: (1, ["chain", "main"]),
    1005: (1, ["indirect", "main"]), 1006: (1, ["indirect", "main"]),
    1007: (1, ["cycle", "main"]), 1008: (1, ["cycle", "main"]),
    1009: (1, ["interior", "main"]), 1010: (1, ["in_tls", "main"]),
    1011: (1, ["in_mapping", "main"]), 1012: (1, ["tagged", "main"]),
    1014: (1, ["by_freed", "main"]), 1015: (1, ["in_thread"]),
    1039: (1, ["by_memalign", "main"]), 1040: (1, ["by_posix_memalign", "main"]),
    1041: (1, ["by_realloc", "main"]), 1042: (1, ["by_strdup", "main"]),
    1043: (1, ["by_reallocarray", "main"]), 1056: (1, ["by_aligned_alloc", "main"]),
}
OF_CHILD = {2001: (1, ["fork_once", "main"])}
OTHERS = 1  # the table of the thread's variables, which the C library keeps

failed = []


def check(case, got, wanted):
    if got != wanted:
        failed.append(f"{case}: {got}, expected {wanted}")


def functions(leak):
    """The innermost, up to main; what the C library has in between (strdup) left out."""
    names = [frame["lines"][-1]["function"] for frame in leak["frames"] if frame["lines"]]
    return [name for name in names if name in ours]


def judge(how, status, truth):
    file = f"{how or 'plain'}.heap"
    run = subprocess.run([CAIRN, "heap", "run", "-o", file, "--", "./truth", *how.split()],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    check(f"{how}: exit status", run.returncode, status)
    check(f"{how}: every block recorded", "every block recorded" in run.stderr, True)
    said = subprocess.run([CAIRN, "heap", "leaks", "--no-default-suppressions", "--json", "--top", "0", file],
                          stdout=subprocess.PIPE, check=True)
    found, others = collections.defaultdict(lambda: (0, [])), 0
    for leak in json.loads(said.stdout)["leaks"]:
        check(f"{how}: a whole stack of {functions(leak)}", leak["cut"], None)
        size = leak["bytes"] // leak["blocks"]
        if not functions(leak) or size not in truth:
            others += leak["blocks"]
            continue
        found[size] = (found[size][0] + leak["blocks"], functions(leak))
    for size, wanted in truth.items():
        check(f"{how}: {size} bytes", found[size], wanted)
    check(f"{how}: blocks of nobody", others, OTHERS)
    return len(truth) + 3


if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
    print("skipped: no libcairn-heap.so: a sanitizer has a malloc of its own")
    sys.exit(77)
subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-fomit-frame-pointer", "-o", "truth",
                f"{SRC}/tests/e2e/heap_truth.c", "-pthread"], check=True)
ours = {name for _, names in [*TRUTH.values(), *OF_CHILD.values()] for name in names}
n = sum(judge(*case) for case in (("", 0, TRUTH), ("exit", 0, TRUTH), ("kill", 137, TRUTH),
                                  ("fork", 0, TRUTH | OF_CHILD)))
for line in failed:
    print("FAIL:", line)
if failed:
    sys.exit(1)
print(f"each of {len(TRUTH)} cases counted exactly, however the program ends ({n} checks)")
