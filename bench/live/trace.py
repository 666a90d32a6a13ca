#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace.py CAIRN WORK [write|random|other|fault|probe]...: what tracing costs the program that is traced, beside perf,
strace and, where it is there, bpftrace. calls.c measures its own calls; each way is run RUNS (3) times, in turn."""
import contextlib
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = int(os.environ.get("RUNS", 3))
CALLS, STOPS, SLOW = 1000000, 100000, 20000  # by ways that take microseconds, some ten, and more
PROBE = "cairn_bench"


class Way:
    """One way to trace: its name, the words in front of the command, how many calls it can bear."""

    def __init__(self, name, words, calls=CALLS):
        self.name, self.words, self.calls = name, words, calls
        self.costs, self.sums, self.said = [], [], ""


def cairn_ways(cairn, event):
    words = [cairn, "trace", "-e", event]
    return [Way("cairn, counted", [*words, "--enter-only", "--summary", "--"]),
            Way("cairn, with durations", [*words, "--summary", "--"]),
            Way("cairn, each as JSON", [*words, "--json", "--limit", "0", "--"]),
            *stop_ways(cairn, event)]


def stop_ways(cairn, event):
    """Without rights: the traced calls stop."""
    words = [cairn, "trace", "--method=ptrace", "-e", event, "--summary"]
    return [Way("cairn, seccomp, counted", [*words, "--enter-only", "--"], STOPS),
            Way("cairn, seccomp, durations", [*words, "--"], STOPS)]


def perf_ways(event, out):
    record = ["perf", "record", "-q", "-m", "16M", "-c", "1", "-e", event, "-o", f"{out}/perf.data"]
    return [Way("perf record -g", [*record, "-g", "--"]),
            Way("perf record, dwarf", [*record, "--call-graph", "dwarf,8192", "--"], SLOW)] if shutil.which("perf") else []


def call_ways(cairn, call, out):
    ways = cairn_ways(cairn, f"syscall:{call}") + perf_ways(f"syscalls:sys_enter_{call}", out)
    if shutil.which("bpftrace"):
        program = f"tracepoint:syscalls:sys_enter_{call} /comm == \"calls\"/ {{ @[ustack(perf)] = count(); }}"
        ways.append(Way("bpftrace, ustack", ["bpftrace", "-e", program, "-c"]))
    if shutil.which("perf"):
        ways.append(Way("perf trace", ["perf", "trace", "-o", "/dev/null", "-e", call, "--"], SLOW))
    if shutil.which("strace"):
        ways.append(Way("strace", ["strace", "-o", "/dev/null", "-e", f"trace={call}"], SLOW))
        ways.append(Way("strace -k", ["strace", "-k", "-o", "/dev/null", "-e", f"trace={call}"], SLOW // 20))
    return ways


def ways_of(kind, cairn, program, out):
    if kind in ("write", "random"):
        return call_ways(cairn, "write", out)
    if kind == "other":
        return [call_ways(cairn, "write", out)[0], *stop_ways(cairn, "syscall:write")[:1]]
    if kind == "fault":
        event = "exceptions:page_fault_user"
        words = [cairn, "trace", "-e", f"tracepoint:{event}", "--summary"]
        return [Way("cairn, user side alone", [*words, "--user-only", "--"]), Way("cairn, both sides", [*words, "--"]),
                *perf_ways(event, out)]
    event = f"uprobe:{program}:probed"
    words = [cairn, "trace", "-e", event, "--summary"]
    return [Way("cairn", [*words, "--"]), Way("cairn, no stack", [*words, "--no-stack", "--"]),
            *perf_ways(f"probe_calls:{PROBE}", out)]


def cost(way, program, kind, out):
    """Nanoseconds a call of the program alone, and of it with the tracer, and the last line that that said."""
    result = f"{out}/took"
    command = [program, kind, str(way.calls), result]
    if way.words[:1] == ["bpftrace"]:
        command = [" ".join(command)]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(result)
    before = cpu_of_children()
    done = subprocess.run([*way.words, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode or not os.path.exists(result):
        sys.exit(f"trace.py: {way.words}: exit {done.returncode}\n{done.stderr}")
    with open(result) as file:
        took = float(file.read())
    both = (cpu_of_children() - before) * 1e9 / (way.calls + way.calls // 10)
    seen = [line for line in done.stderr.splitlines() if re.search(r"\bevents? seen\b", line)]
    return took, both, seen[-1].strip() if seen else ""


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(kind, cairn, program, out):
    ways = [Way("untraced", []), *ways_of(kind, cairn, program, out)]
    for _ in range(RUNS):
        for way in ways:
            took, both, way.said = cost(way, program, kind, out)
            way.costs.append(took)
            way.sums.append(both)
    print(f"\n## {kind}: CPU time of one call, and with the tracer's\n"
          f"{'':26} {'ns':>10} {'+ ns':>10} {'ratio':>8} {'both, ns':>10}")
    plain = statistics.median(ways[0].costs)
    for way in ways:
        took = statistics.median(way.costs)
        print(f"{way.name:26} {took:10.0f} {took - plain:10.0f} {took / plain:8.2f} {statistics.median(way.sums):10.0f}")
    for way in ways:
        if way.said:
            print(f"{way.name}: {way.said}")
    sys.stdout.flush()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cairn, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    program = f"{out}/calls"
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-fcf-protection",
                    f"{HERE}/calls.c", "-o", program], check=True)
    for kind in sys.argv[3:] or ["write", "random", "other", "fault", "probe"]:
        if kind == "probe" and shutil.which("perf"):
            subprocess.run(["perf", "probe", "-q", "-x", program, f"{PROBE}=probed"], check=True)
        try:
            compare(kind, cairn, program, out)
        finally:
            if kind == "probe" and shutil.which("perf"):
                subprocess.run(["perf", "probe", "-q", "-d", f"probe_calls:{PROBE}"], check=False)


main()
