#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings that cairn writes, read by perf: the samples of the recording they are made of, with times, threads,
addresses, files and names, and a report with the same sums. A heap file's values are events with their units.
"""
import os
import re
import shutil
import subprocess

from checks import check, finish, run, skip

CAIRN, BUILD = os.environ["CAIRN"], os.environ["BUILD"]
PROGRAM = [f"{BUILD}/tests/e2e/perf_data_program", f"{BUILD}/tests/e2e/libperf_data_one.so",
           f"{BUILD}/tests/e2e/libperf_data_two.so"]
FIELDS = "comm,pid,tid,time,period,event,ip,sym,dso"
TIMES = 4  # now and then perf crashes


def perf(*arguments):
    for _ in range(TIMES):
        done = subprocess.run(["perf", *arguments], capture_output=True, text=True, errors="replace", check=False)
        if not done.returncode:
            break
    return done


def script(data):
    """The text of perf script without modifiers of events, and samples whose thread was gone."""
    done = perf("script", "-i", data, "--no-inline", "-F", FIELDS)
    check(done.returncode == 0, f"perf script {data}: {done.stderr[-300:]}")
    text = re.sub(r"^(\S.*\d: +\d+ [\w-]+):[a-zA-Z]*: *$", r"\1: ", done.stdout, flags=re.MULTILINE)
    text = re.sub(r"\((//anon|\[anon\]|/tmp/perf-\d+\.map)\)", "(anon)", text)
    return [part for part in text.split("\n\n") if part.strip() and not re.search(r"/-1 +\d+\.", part)]


def same(case, *options):
    data, written, again = f"{case}.data", f"{case}.written.data", f"{case}.again.data"
    recorded = perf("record", "-q", "-o", data, *options, "--", *PROGRAM)
    if recorded.returncode:
        skip(f"perf cannot record: {recorded.stderr.strip()[-200:]}")
    run(CAIRN, "convert", data, "-o", written, "-f")
    theirs, ours = script(data), script(written)
    differ = [pair for pair in zip(theirs, ours) if pair[0] != pair[1]]
    check(theirs and len(theirs) == len(ours), f"{case}: {len(theirs)} samples, written {len(ours)}")
    check(not differ, f"{case}: {len(differ)} samples differ: {differ[:1]}")
    for file in (written, again):  # module numbers settle in the first pass
        run(CAIRN, "convert", file, "-o", again, "-f")
    with open(again, "rb") as file:
        before = file.read()
    run(CAIRN, "convert", again, "-o", again, "-f")
    with open(again, "rb") as file:
        check(file.read() == before, f"{case}: written again it is other bytes")
    header = perf("report", "--header-only", "-i", written).stdout
    check(re.search(r"# perf version : cairn \d", header), f"{case}: {header}")
    check(f"# hostname : {os.uname().nodename}" in header and "perf record -q" in header, f"{case}: {header}")
    ids = dict(reversed(line.split(None, 1)) for line in perf("buildid-list", "-i", written).stdout.splitlines())
    note = re.search(r"Build ID: (\w+)", run("readelf", "-n", PROGRAM[0]).stdout)
    check(not note or ids.get(PROGRAM[0]) == note[1], f"{case}: build IDs {ids}")
    report = perf("report", "-i", written, "--stdio", "--no-children", "-g", "none", "-F", "period,sym").stdout
    period = re.search(r"^ +(\d+) +\[\.\] spin$", report, re.MULTILINE)
    top = re.search(r"^ *([\d.,]+) .* spin +perf_data_program$", run(CAIRN, "report", written).stdout, re.MULTILINE)
    check(period and top and abs(int(period[1]) / 1e6 - float(top[1].replace(",", ""))) < 0.02,
          f"{case}: spin is {period and period[1]} for perf, {top and top[1]} for cairn")


def summed():
    """Sums of a profile are as many samples, and values in bytes are events of their own."""
    run(CAIRN, "convert", "fp.data", "-o", "summed.pb.gz", "-f")
    done = run(CAIRN, "convert", "summed.pb.gz", "--to", "perf-data", "-o", "summed.data", "-f")
    check("stand at equal distances" in done.stderr, f"made times are said: {done.stderr}")
    check(len(script("summed.data")) == len(script("fp.data")), "a sum is as many samples")
    with open("names.collapsed", "w", encoding="ascii") as out:
        out.write("a;b 3\n")
    done = run(CAIRN, "convert", "names.collapsed", "-o", "names.data", status=1)
    check("no frame has an address" in done.stderr and not os.path.exists("names.data"), f"names alone: {done.stderr}")


def main():
    if not shutil.which("perf"):
        skip("perf is missing")
    same("fp", "-F", "499", "-g")
    same("events", "-F", "299", "-e", "cpu-clock,page-faults", "-g", "--sample-cpu")
    summed()


main()
finish("recordings that cairn writes, read by perf")
