#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tracepoints that perf recorded are events with the fields that perf script prints, in a file and through a pipe."""
import json
import os
import re
import shutil
import subprocess

from checks import check, finish, run, skip

CAIRN = os.environ["CAIRN"]
EVENTS = ["-e", "sched:sched_process_exec", "-e", "syscalls:sys_enter_openat"]
TIMES = 4  # now and then perf crashes


def record(path, out=None):
    for _ in range(TIMES):
        done = subprocess.run(["perf", "record", "-q", *EVENTS, "-g", "-o", path, "--", "cat", "/dev/null"], stdout=out,
                              stderr=subprocess.PIPE, check=False)
        if not done.returncode:
            return
    skip(f"perf cannot record tracepoints: {done.stderr[-200:]}")


def theirs(data):
    """[(event, thread id, file name of an exec, mode of an open)]"""
    for _ in range(TIMES):
        done = subprocess.run(["perf", "script", "-i", data, "-F", "comm,tid,time,event,trace"], capture_output=True,
                              text=True, errors="replace", check=False)
        if not done.returncode:
            break
    found = []
    for line in done.stdout.splitlines():
        match = re.match(r".*? (\d+) +[\d.]+: +(\w+:\w+): (.*)", line)
        if match:
            file = re.search(r"filename=(\S+)", match[3]) if "exec" in match[2] else None
            flags = re.search(r"flags: 0x0*(\w+)", match[3])
            found.append((match[2], int(match[1]), file[1] if file else None, int(flags[1], 16) if flags else None))
    return sorted(found, key=str)


def ours(data):
    run(CAIRN, "convert", data, "-f", "-o", "events.trace.json")
    with open("events.trace.json", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "n"]
    found = []
    for event in events:
        args, is_exec = event["args"], "exec" in event["name"]
        found.append((event["name"], event["tid"], args.get("filename") if is_exec else None,
                      int(args["flags"], 16) if "flags" in args else None))
    return sorted(found, key=str)


def main():
    if not shutil.which("perf"):
        skip("perf is missing")
    record("file.data")
    with open("pipe.data", "wb") as out:
        record("-", out)
    for data in ("file.data", "pipe.data"):
        wanted, got = theirs(data), ours(data)
        check(len(wanted) > 1 and wanted == got, f"{data}: perf {wanted[:3]}, cairn {got[:3]}")
        check(any("cat" in str(row[2]) for row in got) or data == "pipe.data", f"{data}: no exec of cat in {got}")
    run(CAIRN, "convert", "file.data", "-f", "-o", "events.firefox.json")
    with open("events.firefox.json", encoding="utf-8") as file:
        threads = json.load(file)["threads"]
    check(sum(thread["markers"]["length"] for thread in threads) == len(ours("file.data")), "markers in Firefox")


main()
finish("tracepoints of perf as events")
