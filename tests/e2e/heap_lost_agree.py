#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of which each lost byte is known, under cairn heap run --lost, LeakSanitizer and valgrind: who is right."""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

CAIRN = os.environ["CAIRN"]
SOURCE = os.path.join(os.environ["SRC"], "tests/e2e/heap_lost_agree.cc")
# Bytes that are lost at the end. Those of the programs that are not here: 0.
TRUTH = {"dropped": 100, "dropped_many": sum(16 + i % 50 for i in range(1000)), "family": 20 + 30 + 50 + 128 + 40,
         "large": 1 << 20, "array_cut": 60 * 32, "in_own_of_dead": 100, "on_stack_of_dead": 100, "chain": 240, "cycle": 72,
         "cycle_with_tail": 96, "from_freed": 100, "dropped_at_exit": 100, "ends_at_once": 100,
         "containers": 24 + 320 + 490}
# What a tool says instead, and why. The guide has the table (docs/guide/leaks.md).
OTHERWISE = {
    "cairn": {"unaligned": (100, "a pointer at an address that is no multiple of 8 is not seen")},
    "LSan": {"unaligned": (100, "the same"), "at_end": (104, "a pointer behind the end counts for nothing"),
             "tagged": (100, "tags count for nothing"), "in_mapping": (100, "mappings are no roots"),
             "in_shared_mapping": (100, "mappings are no roots"), "by_epoll": (100, "the kernel is not asked"),
             "by_timer": (100, "the kernel is not asked"), "ends_at_once": (0, "_exit(2) is not seen")},
    "valgrind": {"unaligned": (100, "the same"), "at_end": (104, "as LSan"), "tagged": (100, "as LSan"),
                 "by_epoll": (100, "as LSan"), "by_timer": (100, "as LSan")},
}
n_checks = 0


def fail(what):
    print(f"FAIL: {what}")
    sys.exit(1)


def by_cairn(name):
    """Bytes that the last look claims."""
    done = subprocess.run([CAIRN, "heap", "run", "--lost", "--fail-over", "0", "-f", "-o", "run.heap", "--", "./plain", name],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if "Nothing is claimed" in done.stderr or "is not known" in done.stderr:
        print(f"skipped: {done.stderr}")
        sys.exit(77)
    sums = re.findall(r"(\d+) bytes lost, over the 0", done.stderr)
    if done.returncode not in (0, 3):
        fail(f"cairn {name}: {done.stderr}")
    return int(sums[-1]) if sums else 0


def by_lsan(name):
    done = subprocess.run(["./lsan", name], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        return None
    return sum(int(n) for n in re.findall(r"irect leak of (\d+) byte", done.stderr))


def by_valgrind(name):
    subprocess.run(["valgrind", "--leak-check=full", "--child-silent-after-fork=yes", "--xml=yes", "--xml-file=found.xml", "-q", "./plain", name],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    kinds = ("Leak_DefinitelyLost", "Leak_IndirectlyLost")
    return sum(int(error.find("xwhat/leakedbytes").text) for error in xml.parse("found.xml").getroot().iter("error")
               if error.find("kind").text in kinds)


def judge(tool, name, found):
    global n_checks
    expected, why = OTHERWISE[tool].get(name, (TRUTH.get(name, 0), ""))
    n_checks += 1
    if found == expected:
        return f"{found}" + (" wrong: " + why if why else "")
    if tool == "cairn":
        fail(f"cairn {name}: {found} bytes lost, expected {expected}")
    return f"{found}, here alone: {expected} was expected"


def main():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
        print("skipped: there is no libcairn-heap.so")
        sys.exit(77)
    flags = ["g++", "-std=c++17", "-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread", "-w", SOURCE]
    subprocess.run([*flags, "-o", "plain"], check=True)
    tools = {"cairn": by_cairn}
    if subprocess.run([*flags, "-fsanitize=leak", "-o", "lsan"], check=False).returncode == 0:
        tools["LSan"] = by_lsan
    if shutil.which("valgrind"):
        tools["valgrind"] = by_valgrind
    names = subprocess.run(["./plain"], text=True, stdout=subprocess.PIPE, check=True).stdout.split()
    right = dict.fromkeys(tools, 0)
    for name in names:
        said = {}
        for tool, ask in tools.items():
            found = ask(name)
            right[tool] += found == TRUTH.get(name, 0)
            said[tool] = "nothing" if found is None else judge(tool, name, found)
        print(f"{name}: {TRUTH.get(name, 0)}; " + "; ".join(f"{tool} {text}" for tool, text in said.items()), flush=True)
    print(f"{len(names)} programs; right: " + ", ".join(f"{tool} {n}" for tool, n in right.items()))


main()
