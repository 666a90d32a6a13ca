#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""measure.py RUNS|--once LABEL=COMMAND...: runs the shell commands in turn (A B A B ...), RUNS times each after
one warm-up, and prints a row for each: median wall and CPU seconds, peak RSS, and the ratio of its CPU
time and wall time to the last one's, pair by pair. A command that fails ends the run. --once: no
warm-up, one run."""
import os, statistics, subprocess, sys, time


def run(command):
    start = time.monotonic()
    child = subprocess.Popen(["sh", "-c", command if ";" in command else "exec " + command], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"measure.py: {command}: exit {child.returncode}\n{text.decode(errors='replace')}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    once = sys.argv[1] == "--once"
    runs = 1 if once else int(sys.argv[1])
    jobs = [word.split("=", 1) for word in sys.argv[2:]]
    rows = [[] for _ in jobs]
    for number in range(runs if once else runs + 1):
        for row, (_, command) in zip(rows, jobs):
            row.append(run(command))
    if not once:
        rows = [row[1:] for row in rows]
    print(f"{'':28} {'wall s':>8} {'cpu s':>8} {'peak MB':>8} {'wall ratio':>11} {'cpu ratio':>10}")
    for row, (label, _) in zip(rows, jobs):
        wall, cpu, memory = (statistics.median(column) for column in zip(*row))
        pairs = list(zip(row, rows[-1]))
        wall_ratio = statistics.median(mine[0] / base[0] for mine, base in pairs)
        cpu_ratio = statistics.median(mine[1] / max(base[1], 1e-9) for mine, base in pairs)
        print(f"{label:28} {wall:8.3f} {cpu:8.3f} {memory:8.1f} {wall_ratio:11.2f} {cpu_ratio:10.2f}")


main()
