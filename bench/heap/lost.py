#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lost.py BUILD WORK [BLOCKS...]: what it costs to say which blocks of a running process are lost, who holds one, and
what keeps what, beside LeakSanitizer's check and gcore. BUILD has the release build of cairn, WORK the program. CPU and
wall seconds of the tool; its own memory, as a share of the heap; the longest time in which a thread of the program
made no step, beside that of the same time with nobody looking; and the steps of a CPU second, as a ratio."""
import json, mmap, os, pathlib, shutil, statistics, struct, subprocess, sys, tempfile, time

RUNS = int(os.environ.get("RUNS", 3))
BYTES = 88


class Target:
    def __init__(self, command, blocks, folder):
        self.stats_path = pathlib.Path(folder) / "stats"
        self.run = subprocess.Popen([*command, str(blocks), str(BYTES), str(self.stats_path)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.run.stdout.readline().strip() != "ready":
            sys.exit(f"lost.py: {command} does not begin")
        with open(self.stats_path, "r+b") as file:
            self.stats = mmap.mmap(file.fileno(), 24)
        self.pid = next(pid for pid in [self.run.pid, *children(self.run.pid)] if name_of(pid).startswith("graph"))

    def begin(self):
        self.stats[8:16] = bytes(8)
        self.before = struct.unpack("QQQ", self.stats)

    def end(self):
        """The longest time without a step, and steps of a CPU second."""
        steps, longest, cpu = struct.unpack("QQQ", self.stats)
        return longest / 1e9, (steps - self.before[0]) / max(cpu - self.before[2], 1) * 1e9

    def ask(self):
        self.run.stdin.write("\n")
        self.run.stdin.flush()
        return float(self.run.stdout.readline())

    def close(self):
        self.run.stdin.close()
        self.run.wait()


def children(pid):
    return [int(p) for p in subprocess.run(["pgrep", "-P", str(pid)], text=True, stdout=subprocess.PIPE).stdout.split()]


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def field(pid, file, name):
    try:
        for line in pathlib.Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def measure(target, words):
    """Wall and CPU seconds, own memory in kB, the longest gap, the ratio of steps."""
    target.begin()
    time.sleep(2)
    idle_gap, idle_speed = target.end()
    target.begin()
    begin, memory = time.monotonic(), 0
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        memory = max(memory, field(child.pid, "status", "RssAnon:"))
        time.sleep(0.01)
    wall = time.monotonic() - begin
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"lost.py: {words}: {text.decode(errors='replace')}")
    gap, speed = target.end()
    return wall, usage.ru_utime + usage.ru_stime, memory, gap, speed / idle_speed, idle_gap


def row(label, target, words, heap_kb):
    runs = [measure(target, words) for _ in range(RUNS)]
    wall, cpu, memory, gap, speed, idle = (statistics.median(column) for column in zip(*runs))
    print(f"| {label} | {wall:.2f} | {cpu:.2f} | {100 * memory / heap_kb:.1f} % | {1e3 * gap:.0f} ms ({1e3 * idle:.0f}) | "
          f"{speed:.2f} |", flush=True)


def lsan(work, blocks, folder):
    target = Target([str(work / "graph-lsan")], blocks, folder)
    runs = []
    for _ in range(RUNS):
        target.begin()
        runs.append((target.ask(), target.end()[0]))
    wall, gap = (statistics.median(column) for column in zip(*runs))
    print(f"| LeakSanitizer, when the program asks | {wall:.2f} | | | {1e3 * gap:.0f} ms | |", flush=True)
    target.close()


def bench(cairn, work, blocks, folder):
    target = Target([str(cairn), "heap", "run", "-f", "-o", f"{folder}/run.heap", "--", str(work / "graph")], blocks, folder)
    heap_kb = field(target.pid, "status", "RssAnon:")
    time.sleep(1.2)
    found = json.loads(subprocess.run([cairn, "heap", "lost", "--json", str(target.pid)], check=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    print(f"## lost: {blocks:,} blocks, {heap_kb / 1e6:.2f} GB resident; {found['lost']['blocks']} of 1000 found")
    print("| | wall s | CPU s | own memory | longest gap (nobody looks) | steps a CPU second |\n|---|---|---|---|---|---|")
    row("cairn heap lost", target, [cairn, "heap", "lost", str(target.pid)], heap_kb)
    row("cairn heap lost --consistent", target, [cairn, "heap", "lost", "--consistent", str(target.pid)], heap_kb)
    row("cairn heap holds", target, [cairn, "heap", "holds", str(target.pid), "node_of"], heap_kb)
    row("cairn heap holds --dominators", target, [cairn, "heap", "holds", "--dominators", str(target.pid)], heap_kb)
    if shutil.which("gcore") and shutil.disk_usage(folder).free > 3 * heap_kb * 1024:
        row("gcore", target, ["gcore", "-o", f"{folder}/core", str(target.pid)], heap_kb)
    target.close()
    lsan(work, blocks, folder)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cairn, work = pathlib.Path(sys.argv[1]).resolve() / "cairn", pathlib.Path(sys.argv[2]).resolve()
    for blocks in [int(n) for n in sys.argv[3:]] or [1000000, 10000000]:
        with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder:
            bench(cairn, work, blocks, folder)


main()
