#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""record.py CAIRN WORK [deep|musl|kernel|cost|programs|memory]...: what recording by unwind tables gives and takes, beside
perf's ways on the same process. RUNS (3) is how often costs are measured, SECONDS (4) how long each recording takes,
PROGRAMS which of programs.py are recorded (all)."""
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import pprof_read
import programs

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = int(os.environ.get("RUNS", 3))
SECONDS, COST_HZ, MEMORY_S = int(os.environ.get("SECONDS", 4)), 10000, 90
STEPS_40 = 15  # of stacks.c: that are 40 frames
STATS = "/proc/sys/kernel/bpf_stats_enabled"
DEBUG = {**os.environ, "DEBUGINFOD_URLS": ""}


class Bench:
    def __init__(self, cairn, work):
        self.cairn, self.work = os.path.abspath(cairn), os.path.abspath(work)
        os.makedirs(self.work, exist_ok=True)
        self.stacks = f"{self.work}/stacks"
        subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread",
                        f"{HERE}/stacks.c", "-o", self.stacks], check=True)

    def cairn_ways(self):
        """The methods that are allowed here."""
        ways, options = [], subprocess.run([self.cairn, "record", "--help"], stdout=subprocess.PIPE, text=True).stdout
        for way in ("bpf", "dump", "perf"):
            if way not in options:
                continue
            done = subprocess.run([self.cairn, "record", f"--method={way}", "-f", "-o", f"{self.work}/try.pb.gz", "--",
                                   "true"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            if done.returncode == 0:
                ways.append(way)
            else:
                print(f"without cairn's {way}: {done.stderr.splitlines()[0]}")
        return ways

    def record(self, hz, way, pid, seconds, out, *more):
        """What cairn says of it, and the CPU time that it used."""
        return run([self.cairn, "record", f"--method={way}", "-F", str(hz), "-d", str(seconds), "-f", "-o", out, "-p",
                    str(pid), *more])


def run(argv, cpus=None):
    """(stderr, CPU seconds) of a command."""
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None, env=DEBUG)
    text = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"record.py: {argv}: exit {child.returncode}\n{text}")
    return text, usage.ru_utime + usage.ru_stime


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def perf(hz, how, pid, seconds, out):
    words = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), "-m", "16M" if how and "dwarf" in how else "1M", "-o", out]
    words += ["--call-graph", how] if how else []
    return run([*words, "-p", str(pid), "--", "sleep", str(seconds)])


PERF_WAYS = {"perf, frame pointers": "fp", "perf, dwarf 8k": "dwarf,8192", "perf, dwarf 64k": "dwarf,65528"}


def count_perf(path, root="main"):
    """(samples, those that reach `root`, CPU seconds), as perf script unwinds them."""
    script = subprocess.Popen(["perf", "script", "-i", path, "--no-inline", "--max-stack", "1024", "-F", "ip,sym"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=DEBUG)
    n = reached = 0
    last_empty, main = True, False
    for line in script.stdout:
        words = line.split()
        if words and last_empty:
            n += 1
            reached += main
            main = False
        main = main or words[1:] == [root]
        last_empty = not words
    _, _, usage = os.wait4(script.pid, 0)
    script.returncode = 0
    return n, reached + main, usage.ru_utime + usage.ru_stime


def count_collapsed(path, root="main"):
    n = reached = 0
    with open(path) as file:
        for line in file:
            stack, _, count = line.rpartition(" ")
            n += int(count)
            reached += int(count) * (f";{root};" in stack)
    return n, reached


def tell_deep(name, n, reached, later, size, cpu, seconds):
    print(f"{name:24} {n:8} {100 * reached / max(n, 1):8.2f} {size / seconds / 1e6:9.3f} {1e6 * cpu / max(n, 1):10.1f}"
          f" {1e6 * later / max(n, 1):10.1f}", flush=True)


DUMP_WAYS = {"dump": ("dump",), "dump 64k": ("dump", "--stack-bytes", "65528")}


def record_deep(bench, words, pid, root="main"):
    """What tell_deep() tells: of a raw recording, which is named afterwards."""
    raw, out = f"{bench.work}/deep.pb.gz", f"{bench.work}/deep.txt"
    _, cpu = bench.record(999, words[0], pid, SECONDS, raw, *words[1:])
    _, later = run([bench.cairn, "resolve", raw, "-f", "-o", f"{bench.work}/named.pb.gz"])
    remove(out)
    run([bench.cairn, "convert", f"{bench.work}/named.pb.gz", "-o", out])
    return *count_collapsed(out, root), later, os.path.getsize(raw), cpu, SECONDS


def bench_deep(bench):
    ways = bench.cairn_ways()
    for depth, size in ((60, "17 kB"), (400, "115 kB")):
        print(f"\n## {depth} frames, {size} of stack, no frame pointers, {SECONDS} s at 999 Hz")
        print(f"{'':24} {'samples':>8} {'% main':>8} {'MB/s':>9} {'us/sample':>10} {'and later':>10}")
        with programs.running(bench.stacks, "deep", depth) as pid:
            time.sleep(0.3)
            wanted = {name: words for way in ways for name, words in (DUMP_WAYS if way == "dump" else {way: (way,)}).items()}
            for name, words in wanted.items():
                tell_deep(f"cairn, {name}", *record_deep(bench, words, pid))
            for name, how in PERF_WAYS.items() if shutil.which("perf") else ():
                raw = f"{bench.work}/perf.data"
                _, cpu = perf(999, how, pid, SECONDS, raw)
                size, counts = os.path.getsize(raw), count_perf(raw)
                os.unlink(raw)
                tell_deep(name, *counts, size, cpu, SECONDS)


def bench_musl(bench):
    """Sorts and prints in a libc that has no CFI, two threads in job()."""
    program, source = f"{bench.work}/musl", f"{HERE}/../../tests/e2e/musl_program.c"
    if not shutil.which("musl-gcc"):
        return "musl-gcc is missing"
    for options in ([], ["-static"]):
        subprocess.run(["musl-gcc", "-O2", *options, source, "-o", program], check=True)
        print(f"\n## a program with musl {' '.join(options)}, {SECONDS} s at 999 Hz: what reaches job()")
        print(f"{'':24} {'samples':>8} {'% job':>8} {'MB/s':>9} {'us/sample':>10} {'and later':>10}")
        with programs.running(program, "spin", 600) as pid:
            time.sleep(0.3)
            for way in bench.cairn_ways():
                tell_deep(f"cairn, {way}", *record_deep(bench, (way,), pid, "job"))
            for name, how in PERF_WAYS.items() if shutil.which("perf") else ():
                raw = f"{bench.work}/perf.data"
                _, cpu = perf(999, how, pid, SECONDS, raw)
                size, counts = os.path.getsize(raw), count_perf(raw, "job")
                os.unlink(raw)
                tell_deep(name, *counts, size, cpu, SECONDS)


@contextlib.contextmanager
def bpf_statistics():
    """kernel.bpf_stats_enabled, put back whatever happens."""
    with open(STATS) as file:
        before = file.read()
    with open(STATS, "w") as file:
        file.write("1")
    try:
        yield
    finally:
        with open(STATS, "w") as file:
            file.write(before)


def bench_kernel(bench):
    print("\n## run time of the BPF program, by kernel.bpf_stats_enabled")
    if os.getuid() != 0:
        return "it needs root"
    for what in (("rounds", STEPS_40), ("deep", 60), ("deep", 400)):
        with bpf_statistics(), programs.running(bench.stacks, *what) as pid:
            time.sleep(0.3)
            for hz in (999, COST_HZ):
                found = []
                for _ in range(RUNS):
                    said, _ = bench.record(hz, "bpf", pid, 2, f"{bench.work}/kernel.pb.gz", "-u")
                    found += re.findall(r"([0-9.]+) us (?:a|per) sample", said) or sys.exit(f"record.py: {said}")
                depths = [len(sample.stack) for sample in pprof_read.Profile(f"{bench.work}/kernel.pb.gz").samples]
                print(f"{statistics.median(depths):4.0f} frames at {hz:5} Hz: {' '.join(found)} us a sample "
                      f"(aim at 40 frames: 2)", flush=True)


class Rounds:
    """A busy thread of 40 frames on CPU 1, and the CPU time that each round of its work takes."""

    def __init__(self, bench):
        self.path = f"{bench.work}/rounds.out"
        self.out = open(self.path, "w")
        self.child = subprocess.Popen([bench.stacks, "rounds", str(STEPS_40)], stdout=self.out,
                                      preexec_fn=lambda: os.sched_setaffinity(0, {os.cpu_count() - 1}))

    def between(self, start_ns, end_ns):
        """Of whole rounds: median CPU nanoseconds."""
        with open(self.path) as file:
            rows = [[int(word) for word in line.split()] for line in file if line.endswith("\n")]
        whole = [b[1] for a, b in zip(rows, rows[1:]) if a[0] > start_ns and b[0] < end_ns]
        return statistics.median(whole) if whole else sys.exit("record.py: no round in that time")

    def cpu_ns(self):
        with open(f"/proc/{self.child.pid}/schedstat") as file:
            return int(file.read().split()[0])

    def end(self):
        self.child.kill()
        self.child.wait()
        self.out.close()


def cost_of(rounds, start):
    """(ns of a round, samples a second of CPU time) while `start` records; it returns how many samples there were."""
    before = rounds.cpu_ns()
    began = time.monotonic_ns()
    n = start()
    cpu = rounds.cpu_ns() - before
    ended = time.monotonic_ns()
    middle = int(0.25 * (ended - began))
    return rounds.between(began + middle, ended - middle), n / cpu * 1e9


def count_events(path):
    text = subprocess.run(["perf", "report", "--stats", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    return int(re.search(r"SAMPLE events: +(\d+)", text)[1])


def cost_ways(bench, rounds):
    def by_cairn(way):
        said, _ = bench.record(COST_HZ, way, rounds.child.pid, SECONDS, f"{bench.work}/cost.pb.gz", "-u")
        return int(re.search(r"(\d+) samples in", said)[1])

    def by_perf(how):
        path = f"{bench.work}/cost.data"
        perf(COST_HZ, how, rounds.child.pid, SECONDS, path)
        n = count_events(path)
        os.unlink(path)
        return n
    ways = {"nobody": lambda: time.sleep(SECONDS) or 0, "perf, the address alone": lambda: by_perf(None)}
    ways |= {f"cairn, {way}": lambda way=way: by_cairn(way) for way in bench.cairn_ways()}
    return ways | {name: lambda how=how: by_perf(how) for name, how in PERF_WAYS.items()}


def bench_cost(bench):
    if not shutil.which("perf"):
        return "perf is missing"
    os.sched_setaffinity(0, {0}) # ours and the recorders'; the target has the other one
    rounds = Rounds(bench)
    try:
        ways = cost_ways(bench, rounds)
        found = {name: [] for name in ways}
        for _ in range(RUNS):
            for name, start in ways.items():
                found[name].append(cost_of(rounds, start))
    finally:
        rounds.end()
        os.sched_setaffinity(0, set(range(os.cpu_count())))
    print(f"\n## CPU time taken from a busy thread of 40 frames, at {COST_HZ} Hz; the median of {RUNS}, least and most")
    print(f"{'':26} {'round ms':>9} {'samples/s':>10} {'us/sample':>10} {'beyond the bare address':>24}")
    table = {name: per_sample(found["nobody"], rows) for name, rows in found.items()}
    bare = table["perf, the address alone"]
    for name, rows in found.items():
        ms, rate = statistics.median(row[0] for row in rows) / 1e6, statistics.median(row[1] for row in rows)
        us = table[name]
        more = [a - b for a, b in zip(us, bare)] if rate and name not in ("nobody", "perf, the address alone") else []
        print(f"{name:26} {ms:9.2f} {rate:10.0f} {statistics.median(us) if rate else 0:10.2f} "
              f"{f'{statistics.median(more):.2f} ({min(more):.2f} to {max(more):.2f})' if more else '':>24}")


def per_sample(idle, rows):
    """Microseconds a sample, run by run: the time that a round takes more, over the ticks in it. Those are what was
    asked for: a sample that was lost has cost as much."""
    return [(row[0] - none[0]) / 1e3 / (COST_HZ * row[0] / 1e9) for none, row in zip(idle, rows)]


def descendants(pid):
    found = [pid]
    for at in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{at}/task"):
                with open(f"/proc/{at}/task/{task}/children") as file:
                    found += [int(word) for word in file.read().split()]
    return found


def busiest(pid):
    def cpu(at):
        with contextlib.suppress(OSError), open(f"/proc/{at}/schedstat") as file:
            return int(file.read().split()[0])
        return 0
    return max(descendants(pid), key=cpu)


def takes(bench, option):
    text = subprocess.run([bench.cairn, "record", "--help"], stdout=subprocess.PIPE, text=True).stdout
    return option in text


def record_program(bench, program, whole_machine):
    """Under the load: of all processes where that can be had, else of the program's and what it starts."""
    raw = f"{bench.work}/{program.__name__}.pb.gz"
    words = [bench.cairn, "record", "-F", "999", "-d", str(2 * SECONDS), "-f", "-o", raw]
    with program(f"{bench.work}/{program.__name__}") as pid:
        time.sleep(1)
        many = [word for at in descendants(pid) for word in ("-p", str(at))]
        one = ["-p", str(busiest(pid) if program is programs.nginx else pid)]
        try:
            run([*words, *(["-a"] if whole_machine else many if takes(bench, "--no-inherit") else one)])
        except SystemExit as failed:
            print(f"{program.__name__}: {failed}")
            return
    print(f"{program.__name__}: {pprof_read.Count(raw)}", flush=True)


def bench_programs(bench):
    chosen = os.environ.get("PROGRAMS", "").split()
    whole_machine = os.getuid() == 0 and takes(bench, "--all")
    print(f"\n## stacks of real programs under a load, {2 * SECONDS} s at 999 Hz"
          f"{', all processes of the machine' if whole_machine else ''}")
    for program in programs.ALL:
        if chosen and program.__name__ not in chosen:
            continue
        os.makedirs(f"{bench.work}/{program.__name__}", exist_ok=True)
        try:
            record_program(bench, program, whole_machine)
        except programs.Absent as why:
            print(f"{program.__name__}: {why}")


def memory_of(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M)[1]) / 1024


def bench_memory(bench):
    print(f"\n## memory of the recorder (PSS, MB), {MEMORY_S} s at 999 Hz of a steady load")
    for program in (programs.redis, programs.postgres, programs.python):
        os.makedirs(f"{bench.work}/{program.__name__}", exist_ok=True)
        try:
            with program(f"{bench.work}/{program.__name__}") as pid:
                watch_memory(bench, program.__name__, pid)
        except programs.Absent as why:
            print(f"{program.__name__}: {why}")


def watch_memory(bench, name, pid):
    raw = f"{bench.work}/memory.pb.gz"
    recorder = subprocess.Popen([bench.cairn, "record", "-F", "999", "-f", "-o", raw, "-p", str(pid)],
                                stderr=subprocess.PIPE, text=True)
    began, row = time.monotonic(), []
    while time.monotonic() - began < MEMORY_S and recorder.poll() is None:
        time.sleep(10)
        row.append(f"{memory_of(recorder.pid):.1f}")
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate()[1].splitlines()[-1]
    print(f"{name}: {' '.join(row)}\n    {said}", flush=True)


PARTS = {"deep": bench_deep, "musl": bench_musl, "kernel": bench_kernel, "cost": bench_cost, "programs": bench_programs,
         "memory": bench_memory}


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(PARTS):
        sys.exit(__doc__)
    bench = Bench(sys.argv[1], sys.argv[2])
    reasons = {part: PARTS[part](bench) for part in sys.argv[3:] or PARTS} # a part that measures nothing says why
    for part, reason in reasons.items():
        if reason:
            print(f"record.py: {part} was not measured: {reason}", file=sys.stderr)
    sys.exit(1 if any(reasons.values()) else 0)


main()
