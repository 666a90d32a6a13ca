#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heap.py BUILD WORK [loops|programs|memory]...: what tracking every block costs. BUILD has the release build of cairn,
WORK the programs that bench/run.sh makes. Each row's ways run in turn (A B C A B C ...), RUNS times (5): CPU
nanoseconds a pair, wall seconds, peak PSS, and the median of the ratios to the untracked run beside. After each
loop its leaked blocks are read, and their stacks held against the functions that they must be of."""
import collections, json, os, pathlib, re, shutil, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
LIB = "/usr/lib/x86_64-linux-gnu/"
RUNS = int(os.environ.get("RUNS", 5))
LEAKS, LEAK_BYTES, PAIRS = 64, 1234, int(os.environ.get("PAIRS", 300000))
LOOPS = [("steady, 4 deep", 4, 1, "-p 1"), ("steady, 16 deep", 16, 1, "-p 1"), ("steady, 32 deep", 32, 1, "-p 1"),
         ("64 stacks, 16 deep", 16, 1, "-p 64"), ("inner calls, 16 deep", 16, 1, "-i"),
         ("inner functions, 16 deep", 16, 1, "-L"), ("steady, 16 deep, 2 threads", 16, 2, "-p 1")]
PROGRAMS = {"sqlite": (["sqlite3", ":memory:"], {}, HERE / "work.sql"),
            "python": (["/usr/bin/python3", HERE / "work.py"], {"PYTHONMALLOC": "malloc"}, None),
            "jq": (["jq", "-c", "-f", HERE / "work.jq", "big.json"], {}, None),
            "clang": (["clang++-14", "-std=c++17", "-O1", "-c", HERE / "work.cpp", "-o", "/dev/null"], {}, None)}


class Bench:
    def __init__(self, build, work):
        self.build, self.work = pathlib.Path(build).resolve(), pathlib.Path(work).resolve()
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="cairn-bench-", dir=memory)
        tracker = {"LD_PRELOAD": str(self.build / "libcairn-heap.so"), "CAIRN_HEAP_DIR": self.folder}
        self.ways = {"untracked": {}, "cairn": tracker, "cairn, no stacks": {**tracker, "CAIRN_HEAP_STACKS": "0"}}
        self.peers = {}
        heaptrack = "/usr/lib/heaptrack/libheaptrack_preload.so"
        if os.path.exists(heaptrack):
            self.peers["heaptrack"] = {"LD_PRELOAD": heaptrack, "DUMP_HEAPTRACK_OUTPUT": self.folder + "/heaptrack"}
        if os.path.exists(LIB + "libjemalloc.so.2"):
            self.peers["jemalloc prof"] = {"LD_PRELOAD": LIB + "libjemalloc.so.2",
                                           "MALLOC_CONF": "prof:true,lg_prof_sample:19"}

    def empty(self):
        for path in pathlib.Path(self.folder).iterdir():
            path.unlink()

    def run(self, argv, env, stdin=None, cpus=None, watch=None):
        self.empty()
        start = time.monotonic()
        with open(stdin or os.devnull) as text:
            child = subprocess.Popen([str(a) for a in argv], env={**os.environ, **env}, stdin=text, cwd=self.work,
                                     stdout=subprocess.PIPE if not watch else subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL,
                                     preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
        peak = watch(child.pid) if watch else child.stdout.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"heap.py: {argv}: exit {child.returncode}")
        return peak, time.monotonic() - start, usage.ru_utime + usage.ru_stime

    # The blocks that the loop leaked, by the file that it left.
    def check_stacks(self, depth):
        files = list(pathlib.Path(self.folder).glob("*.heap"))
        said = subprocess.run([self.build / "cairn", "heap", "leaks", "--json", "--top", "0", *files], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        wanted = ["leaf_leak"] + [f"f{i}" for i in range(depth + 1)] + ["main"]
        blocks, stacks = 0, 0
        for leak in json.loads(said)["leaks"]:
            if leak["bytes"] == LEAK_BYTES * leak["blocks"]:
                names = [line["function"] for frame in leak["frames"] for line in frame["lines"]]
                right = names[:len(wanted)] == wanted
                blocks += leak["blocks"] if right else 0
                stacks += right
        if (blocks, stacks) != (LEAKS, min(LEAKS, 1 << depth)):
            sys.exit(f"heap.py: of {LEAKS} leaked blocks {blocks} have their stack, {stacks} different ones")
        return blocks

    def loops(self):
        ways = {**self.ways, **self.peers, "LeakSanitizer": {}}
        checked = 0
        print("## a free and a malloc, CPU ns (ratio); without frame pointers")
        print("| loop | " + " | ".join(ways) + " |\n|" + "---|" * (len(ways) + 1))
        for name, depth, threads, args in LOOPS:
            got = collections.defaultdict(list)
            for _ in range(RUNS):
                for way, env in ways.items():
                    slow = way in ("heaptrack", "LeakSanitizer")
                    program = self.work / ("allocbench-lsan" if way == "LeakSanitizer" else "allocbench")
                    argv = [program, "-d", depth, "-t", threads, "-k", 0 if slow else LEAKS,
                            "-o", PAIRS // 5 if slow else PAIRS, *args.split()]
                    text, _, _ = self.run(argv, env, cpus=set(range(threads)))
                    got[way].append(float(text))
                    if way == "cairn":
                        checked += self.check_stacks(depth)
            base = got["untracked"]
            print(f"| {name} | {min(base):.0f} | " + " | ".join(
                f"{min(v):.0f} ({statistics.median(a / b for a, b in zip(v, base)):.2f}, least {min(v) / min(base):.2f})"
                for w, v in got.items() if w != "untracked") + " |", flush=True)
        print(f"{checked} leaked blocks read back, all with their stack")

    def programs(self):
        ways = {**self.ways, **self.peers}
        del ways["cairn, no stacks"]
        print("## programs: wall, CPU (ratio)")
        print("| program | " + " | ".join(ways) + " |\n|" + "---|" * (len(ways) + 1))
        for name, (argv, env, stdin) in PROGRAMS.items():
            if not shutil.which(str(argv[0])):
                print(f"heap.py: without {argv[0]}", file=sys.stderr)
                continue
            got = collections.defaultdict(list)
            for _ in range(RUNS):
                said = {}
                for way, more in ways.items():
                    said[way], wall, cpu = self.run(argv, {**env, **more}, stdin)
                    got[way].append((wall, cpu))
                if said["cairn"] != said["untracked"]:
                    sys.exit(f"heap.py: {name} says something else when it is tracked")
            base = got["untracked"]
            ratio = lambda v, i: statistics.median(a[i] / b[i] for a, b in zip(v, base))
            print(f"| {name} | {min(base)[0]:.2f} s | " + " | ".join(
                f"{ratio(v, 0):.2f}, {ratio(v, 1):.2f}" for w, v in got.items() if w != "untracked") + " |", flush=True)

    # Kilobytes: the process's own pages, its part of shared ones, and of the state's file.
    def peak_pss(self, pid):
        peak = 0
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            try:
                text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                peak = max(peak, int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]))
            except (OSError, TypeError):
                pass
            time.sleep(0.01)
        return peak

    def memory(self):
        ways = {**self.ways, **self.peers}
        del ways["cairn, no stacks"]
        print("## programs: peak PSS, MB (ratio)")
        print("| program | " + " | ".join(ways) + " |\n|" + "---|" * (len(ways) + 1))
        for name, (argv, env, stdin) in PROGRAMS.items():
            if shutil.which(str(argv[0])):
                got = {w: self.run(argv, {**env, **m}, stdin, watch=self.peak_pss)[0] for w, m in ways.items()}
                base = got["untracked"]
                print(f"| {name} | " + " | ".join(f"{v / 1024:.0f} ({v / base:.2f})" for v in got.values()) + " |",
                      flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    bench = Bench(*sys.argv[1:3])
    try:
        for what in sys.argv[3:] or ["loops", "programs", "memory"]:
            getattr(bench, what)()
    finally:
        shutil.rmtree(bench.folder)


main()
