#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Heap files that are damaged, cut off, of another version, being written or scribbled over: cairn
says so in a bounded time, and no process that is looked at takes harm."""
import gzip
import os
import random
import re
import struct
import subprocess
import sys
import time

CAIRN = os.environ["CAIRN"]
CHUNK = 1 << 16
SECONDS = 60
n_checks = 0


def fail(what, done=None):
    print(f"FAIL: {what}")
    if done:
        print(done.stdout[-2000:], done.stderr[-2000:])
    sys.exit(1)


def heap(*words):
    """A part of cairn heap: never ended by a signal, never without an end, never silent."""
    global n_checks
    n_checks += 1
    try:
        done = subprocess.run([CAIRN, "heap", *map(str, words)], text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        fail(f"cairn heap {words}: no end in {SECONDS} s")
    if done.returncode not in (0, 1) or (done.returncode == 1 and "cairn: " not in done.stderr):
        fail(f"cairn heap {words}: status {done.returncode}", done)
    return done


def refused(data, text):
    with open("bad.heap", "wb") as file:
        file.write(data)
    for part in (["leaks"], ["report"], ["diff", "good.heap"]):
        done = heap(*part, "bad.heap")
        if done.returncode != 1 or text not in done.stderr or "bad.heap" not in done.stderr:
            fail(f"{part}: expected \"{text}\"", done)


def whole_or_refused(data):
    with open("bad.heap", "wb") as file:
        file.write(data)
    return heap("leaks", "--no-cache", "bad.heap")


def files(state):
    refused(b"", "bad.heap")
    refused(b"cairnheap", "no heap state")
    refused(b"hello" * 20000, "no heap state")
    refused(state[:5000], "cut off after 5000 bytes")
    version = struct.unpack_from("<H", state, 10)[0]
    refused(state[:10] + struct.pack("<H", version + 1) + state[12:],
            f"version {version + 1}, expected {version}")
    refused(state[:10] + struct.pack(">H", version) + state[12:], "byte order")
    refused(state[:14] + b"\3" + state[15:], "addresses of 3 bytes")
    zipped = gzip.compress(state, 1)
    refused(zipped[:len(zipped) // 2], "bad.heap")
    refused(zipped[:-9] + b"\xff" * 9, "bad.heap")
    # Whole chunks are missing: what is there is told, and that it is not all.
    done = whole_or_refused(state[:3 * CHUNK])
    if done.returncode == 0 and "damaged entries" not in done.stderr:
        fail("chunks that are missing are not told", done)


def damage(state, draw):
    """Some bytes are others: of the header, of the table, of anything."""
    n_damaged = 0
    for turn in range(60):
        data = bytearray(state)
        end = (512, 4096 + 16 * len(state) // CHUNK, len(data))[turn % 3]
        for _ in range(draw.choice((1, 10, 1000))):
            data[draw.randrange(16 if turn % 3 else 0, end)] = draw.randrange(256)
        done = whole_or_refused(bytes(data))
        n_damaged += done.returncode == 1 or "damaged entries" in done.stderr
    if n_damaged < 10:
        fail(f"of 60 damaged files {n_damaged} were noticed")
    for byte in (0, 0xff):
        whole_or_refused(state[:16] + bytes([byte]) * (len(state) - 16))


def start(*words):
    run = subprocess.Popen([CAIRN, "heap", "run", "-f", "-o", "run.heap", "--", "./busy", *words],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    line = run.stdout.readline()
    if not line.strip().isdigit():
        fail(f"the program says {line!r}")
    return run, int(line)


def end(run, what):
    run.stdin.close()
    rest = run.stdout.read()
    if run.wait(60) != 0 or "done" not in rest:
        fail(f"{what}: the program took harm: status {run.returncode}, {rest!r}")


def being_written():
    """Threads allocate and free all the time: what is read is never damaged."""
    run, pid = start("write")
    begin = time.monotonic()
    n = 0
    while time.monotonic() - begin < 3:
        done = heap("leaks", pid)
        if done.returncode != 0 or "damaged" in done.stderr:
            fail("a state that is being written", done)
        n += 1
    done = heap("report", pid)
    if done.returncode != 0:
        fail("a report of a state that is being written", done)
    end(run, "while it is looked at")
    return n


def scribbled_over():
    """The process writes over its own state, at random, again and again."""
    run, pid = start("scribble")
    for _ in range(20):
        heap("leaks", "--no-cache", pid)
        heap("report", "--no-cache", pid)
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    run.stdin.close()
    run.stdout.read()
    run.wait(60)


def main():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
        print("skipped: there is no libcairn-heap.so")
        sys.exit(77)
    source = os.path.join(os.environ["SRC"], "tests/e2e/heap_busy.c")
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", "busy", source], check=True)
    run, _ = start("write")
    end(run, "a first run")
    os.rename("run.heap", "good.heap")
    with gzip.open("good.heap") as file:
        state = file.read()
    if heap("leaks", "good.heap").returncode != 0 or re.search("damaged", heap(
            "leaks", "good.heap").stderr):
        fail("the file is not sound to begin with")
    files(state)
    damage(state, random.Random(7))
    n = being_written()
    scribbled_over()
    print(f"bad heap files: {n_checks} calls, {n} of them while the state was written")


main()
