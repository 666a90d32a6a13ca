#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The stacks of the heap tracker, with their blocks and bytes, against those that libunwind walks for
the same allocations in the same run (heap/agree.c). A program that goes through functions at random
(heap/random.cc), a million allocations; with CAIRN_FULL real programs too.

heap_agree.py STATE ACCOUNTS compares two files.
"""
import collections
import glob
import os
import struct
import subprocess
import sys

SHOWN = 5  # differences, by their stacks


def read_accounts(path):
    """Where agree.c's functions are, and of each stack, innermost first: allocations, their bytes,
    frees, their bytes."""
    accounts = {}
    with open(path, "rb") as file:
        watched = struct.unpack("<2Q", file.read(16))
        while True:
            n, *sums = struct.unpack("<5Q", file.read(40))
            if not n:
                return watched, accounts
            accounts[file.read(8 * n)] = sums


def read_state(path, watched):
    """The same of the tracker, whose innermost frame is in agree.c. Other stacks nobody watched."""
    import heap_state
    state = heap_state.State(path)
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    n_sizes = collections.Counter(stack for _, _, stack in state.live())
    scanned = collections.Counter()
    for number, stack in enumerate(state.stacks):
        frames = state.frames(number)
        if not frames or not watched[0] <= frames[-1] < watched[1]:
            continue
        key = struct.pack(f"<{len(frames) - 1}Q", *frames[-2::-1])
        sums[key] = [a + b for a, b in zip(sums[key], stack[1:5])]
        scanned[key] += n_sizes[number]
    return state, sums, scanned


def show(key, ours, theirs):
    print("   stack", *(hex(pc) for (pc,) in struct.iter_unpack("<Q", key)))
    print("      tracker  ", ours, "\n      libunwind", theirs)


def compare(state_file, accounts_file):
    watched, theirs = read_accounts(accounts_file)
    state, ours, scanned = read_state(state_file, watched)
    live = {key: sums[0] - sums[2] for key, sums in theirs.items()}
    differ = [key for key in theirs.keys() | ours.keys()
              if ours.get(key) != theirs.get(key) or scanned[key] != live.get(key)]
    captures = sum(sums[0] for sums in theirs.values())
    print(f"{captures} allocations from {len(theirs)} stacks, {sum(live.values())} live: "
          f"{len(differ)} stacks differ")
    for name, blocks, size in state.losses:
        if blocks and name not in ("unknown",):
            print(f"    {name}: {blocks} blocks, {size} bytes")
    for key in sorted(differ, key=len)[:SHOWN]:
        show(key, (ours.get(key), scanned[key]), (theirs.get(key), live.get(key)))
    return captures, len(differ)


def prove(name, command, **more):
    """Runs it under both."""
    folder = os.path.abspath(f"states-{name}")
    accounts = os.path.abspath(f"{name}.accounts")
    os.mkdir(folder, 0o700)
    build = os.environ["BUILD"]
    env = dict(os.environ, CAIRN_HEAP_DIR=folder, CAIRN_HEAP_FOLLOW="0", AGREE_OUT=accounts,
               CAIRN_HEAP_MAX_MEMORY=str(2 << 30),
               LD_PRELOAD=f"{build}/tests/e2e/heap/libagree.so:{build}/libcairn-heap.so")
    done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          **more)
    if done.returncode:
        print(f"FAIL: {name}: exit status {done.returncode}: {done.stderr[-500:]}")
        return 0, 1
    print(name, end=": ")
    return compare(glob.glob(f"{folder}/*.heap")[0], accounts)


def main():
    if len(sys.argv) == 3:
        return compare(*sys.argv[1:])[1] != 0
    build, src = os.environ["BUILD"], os.environ["SRC"]
    if not os.path.exists(f"{build}/tests/e2e/heap/libagree.so"):
        print("skipped: libraries with a sanitizer cannot be preloaded")
        return 77
    if "libunwind.so.8" not in subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE,
                                              text=True, check=True).stdout:
        print("skipped: libunwind.so.8 is missing")
        return 77
    subprocess.run(["g++", "-O2", "-std=c++17", "-fomit-frame-pointer", "-pthread", "-o", "random",
                    f"{src}/tests/e2e/heap/random.cc"], check=True)
    # Vectors and exceptions bring some more than the program counts.
    captures, differ = prove("random", ["./random", "800000"])
    if captures < 1000000:
        print(f"FAIL: random: {captures} allocations were compared")
        return 1
    return differ != 0


if __name__ == "__main__":
    sys.exit(main())
