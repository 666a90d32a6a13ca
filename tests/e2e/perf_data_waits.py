#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times off the CPU out of perf's switches are those between the lines that perf script prints: of a command with the
records of switches, and of the whole machine by the switches themselves."""
import os
import re
import shutil
import subprocess

import pprof_decode
from checks import check, finish, run, skip

CAIRN = os.environ["CAIRN"]
TIMES = 4  # now and then perf crashes
SLEEPER = ["sh", "-c", "sleep 0.1; sleep 0.05"]


def record(path, *options):
    for _ in range(TIMES):
        done = subprocess.run(["perf", "record", "-q", "-o", path, "-e", "sched:sched_switch", "-g", *options, "--", *SLEEPER],
                              stderr=subprocess.PIPE, check=False)
        if not done.returncode:
            return
    skip(f"perf cannot record switches: {done.stderr[-200:]}")


def lines_of(path, *options):
    for _ in range(TIMES):
        done = subprocess.run(["perf", "script", "-i", path, "-G", "-F", "tid,time,event,trace",
                               "--show-task-events", *options],
                              capture_output=True, text=True, errors="replace", check=False)
        if not done.returncode:
            break
    return done.stdout.splitlines()


def truth(lines, is_wide):
    """Thread id -> (ns off the CPU, those in its sleep), up to its exit; a wait without an end is left out."""
    since, sums, gone = {}, {}, set()

    def back(tid, time):
        if tid in since:
            start, state = since.pop(tid)
            sums.setdefault(tid, []).append((time - start, state))

    for line in lines:
        match = re.match(r"\s*(\d+) +(\d+)\.(\d+): +(.*)", line)
        if not match:
            continue
        tid, time, rest = int(match[1]), int(match[2] + match[3].ljust(9, "0")), match[4]
        switch = re.match(r"sched:sched_switch:.* prev_state=(\S+) ==> .* next_pid=(\d+)", rest)
        if switch:
            since.pop(tid, None)
            if is_wide:
                back(int(switch[2]), time)
            if tid and tid not in gone:
                since[tid] = (time, switch[1])
        elif "PERF_RECORD_EXIT" in rest:
            gone.add(tid)
        elif "PERF_RECORD_SWITCH" in rest and " IN" in rest:
            back(tid, time)
    return {tid: (sum(row[0] for row in rows), sum(row[0] for row in rows if row[1] == "S")) for tid, rows in sums.items()}


def ours(path):
    run(CAIRN, "convert", path, "-f", "-o", "waits.pb.gz")
    profile = pprof_decode.Profile("waits.pb.gz")
    waits = [profile.strings[kind] for kind in profile.types].index("off_cpu")
    sums = {}
    for sample in profile.samples:
        total, asleep = sums.get(sample.labels["tid"], (0, 0))
        value = sample.values[waits]
        sums[sample.labels["tid"]] = (total + value, asleep + (value if sample.labels.get("off_cpu") == "sleep" else 0))
    return sums


def compare(path, is_wide, *options):
    """perf's times have microseconds."""
    wanted, got = truth(lines_of(path, *options), is_wide), ours(path)
    sleepers = {tid: row for tid, row in wanted.items() if row[1] > 40e6}
    check(len(sleepers) > 1, f"{path}: perf shows {wanted}")
    for tid, row in sleepers.items():
        right = [abs(mine - perf) <= 1e5 or is_wide and mine > perf for mine, perf in zip(got.get(tid, (0, 0)), row)]
        check(all(right), f"{path}: thread {tid}: perf {row}, cairn {got.get(tid)}")


def main():
    if not shutil.which("perf"):
        skip("perf is missing")
    record("switches.data", "--switch-events")
    compare("switches.data", False, "--show-switch-events")
    info = run(CAIRN, "convert", "--info", "switches.data").stdout
    check("off_cpu" in info and re.search(r"off_cpu \d+ nanoseconds \(shown first\)", info), f"shown first: {info}")
    n_rows = {mode: len(run(CAIRN, "report", "--off-cpu", mode, "--label", "off_cpu=sleep", "-n", "0", "switches.data",
                            status=0).stdout.splitlines()) for mode in ("only", "with", "none")}
    check(n_rows["only"] >= n_rows["with"] > n_rows["none"], f"modes of --off-cpu: {n_rows}")
    record("wide.data", "-a")
    compare("wide.data", True)


main()
finish("times off the CPU by perf's switches")
