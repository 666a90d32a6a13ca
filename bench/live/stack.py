#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stack.py CAIRN WORK [threads|calls]...: what a look at a process costs that process, beside gdb and eu-stack.
threads: 50 of them, 36 frames deep and asleep; wall time, and how long a thread that watches the clock was stopped.
calls: which of eleven blocking system calls came back with EINTR. RUNS (5) looks each."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = int(os.environ.get("RUNS", 5))
N_THREADS = 50
QUIET = {**os.environ, "DEBUGINFOD_URLS": ""}


def ways(cairn, pids):
    """Names and commands; a command for each process, but cairn's."""
    found = {}
    for way in ("iterator", "memory", "ptrace"):
        found[f"cairn, {way}"] = [[cairn, "stack", f"--method={way}", *pids]]
    found["cairn, ptrace, consistent"] = [[cairn, "stack", "--method=ptrace", "--consistent", *pids]]
    if shutil.which("eu-stack"):
        found["eu-stack"] = [["eu-stack", "-p", pid] for pid in pids]
    if shutil.which("gdb"):
        found["gdb"] = [["gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt"] for pid in pids]
    return found


def look(commands):
    """(wall ms, text, status) of commands behind each other."""
    text, status = "", 0
    began = time.monotonic()
    for command in commands:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, env=QUIET)
        text += done.stdout
        status |= done.returncode
    return 1000 * (time.monotonic() - began), text, status


class Threads:
    """The process that is looked at."""

    def __init__(self, work):
        program = f"{work}/stacks"
        subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread",
                        f"{HERE}/stacks.c", "-o", program], check=True)
        self.child = subprocess.Popen([program, "threads", str(N_THREADS)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()
        time.sleep(0.5)

    def gaps(self):
        """(number, longest us, sum us) since they were asked for last."""
        self.child.stdin.write("?\n")
        self.child.stdin.flush()
        n, longest, total = (int(word) for word in self.child.stdout.readline().split())
        return n, longest / 1e3, total / 1e3

    def end(self):
        self.child.kill()
        self.child.wait()


def held(cairn, way, pid):
    """Microseconds that each thread was held, by cairn's own account."""
    _, text, status = look([[cairn, "stack", "--json", *way, str(pid)]])
    if status:
        return []
    threads = json.loads(text)["processes"][0]["threads"]
    return sorted(thread["held_ns"] / 1e3 for thread in threads if thread["held_ns"])


def bench_threads(cairn, work):
    threads = Threads(work)
    pid = str(threads.child.pid)
    print(f"\n## {N_THREADS} threads asleep, {RUNS} looks: medians; one more thread watches the clock")
    print(f"{'':26} {'wall ms':>9} {'longest stop us':>16} {'stopped in all us':>18} {'reach clone or main':>20}")
    try:
        for name, commands in ways(cairn, [pid]).items():
            look(commands) # names are cached from here on, where a tool does that
            rows = []
            for _ in range(RUNS):
                threads.gaps()
                wall, text, status = look(commands)
                rows.append((wall, *threads.gaps()[1:]))
            # The thread that watches, and the one that waits for lines, are two more.
            whole = sum(text.count(f" {start}") for start in ("__clone3", "clone3", "__libc_start_main"))
            if status:
                print(f"{name:26} cannot be had here")
                continue
            wall, longest, total = (statistics.median(column) for column in zip(*rows))
            print(f"{name:26} {wall:9.1f} {longest:16.0f} {total:18.0f} {whole:17}/{N_THREADS + 2}", flush=True)
        for way in (["--method=ptrace"], ["--method=ptrace", "--consistent"], []):
            times = [time for _ in range(RUNS) for time in held(cairn, way, pid)]
            if times:
                print(f"held by cairn stack {' '.join(way) or 'as it chooses'}: {len(times)} times, median "
                      f"{statistics.median(times):.1f} us, the longest {max(times):.1f} us")
    finally:
        threads.end()


class Calls:
    """tests/e2e/stack_eintr: a process for each call."""

    def __init__(self, work):
        program = f"{work}/eintr"
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", f"{HERE}/../../tests/e2e/stack_eintr.c", "-o", program],
                       check=True)
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pids = [line.split()[1] for line in self.lines("ready")]

    def lines(self, end):
        while (line := self.child.stdout.readline().strip()) != end:
            yield line

    def came_back(self):
        self.child.stdin.write("?\n")
        self.child.stdin.flush()
        return [line.split()[0] for line in self.lines("told") if not line.endswith(" blocked")]

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def bench_calls(cairn, work):
    print(f"\n## system calls that came back with EINTR, of 11, after {RUNS} looks")
    for name in ways(cairn, []):
        calls = Calls(work)
        commands = ways(cairn, calls.pids)[name]
        status = 0
        for _ in range(RUNS):
            status |= look(commands)[2]
        time.sleep(0.2)
        came = calls.came_back()
        calls.end()
        print(f"{name:26} {'cannot be had here' if status else f'{len(came)} ' + ', '.join(came)}", flush=True)


PARTS = {"threads": bench_threads, "calls": bench_calls}


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(PARTS):
        sys.exit(__doc__)
    cairn, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(work, exist_ok=True)
    for part in sys.argv[3:] or PARTS:
        PARTS[part](cairn, work)


main()
