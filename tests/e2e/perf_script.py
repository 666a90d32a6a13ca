#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text of perf script, in the forms that perf prints, has the samples, periods and leaves that perf tells.

What is expected is counted from perf's own text with one field a line, by other rules than the reader's.
"""
import collections
import json
import os
import subprocess
import sys

CAIRN, SRC = os.environ["CAIRN"], os.environ["SRC"]
failed, n_checks = [], 0


def check(holds, what):
    global n_checks
    n_checks += 1
    if not holds:
        failed.append(what)
        print(f"FAIL: {what}")


def script(*options):
    done = subprocess.run(["perf", "script", "-i", "perf.data", *options], capture_output=True, text=True,
                          errors="replace", check=False)
    return done.stdout


def report(text, *options):
    done = subprocess.run([CAIRN, "report", "-", "--json", "--top", "0", *options], input=text, text=True,
                          capture_output=True, check=False)
    check(done.returncode == 0, f"report {options}: {done.stderr}")
    return json.loads(done.stdout or "{}")


def per_event(*options):
    """Samples and sums of periods by event: fields alone, no stacks."""
    counts, sums = collections.Counter(), collections.Counter()
    for line in script("-G", "-F", "event,period", *options).splitlines():
        period, event = line.split()
        counts[event.split(":")[0]] += 1
        sums[event.split(":")[0]] += int(period)
    return counts, sums


def leaves(event):
    """The innermost function of each sample of an event, by name."""
    counts = collections.Counter()
    for line in script("-G", "-F", "event,ip,sym").splitlines():
        name, _, frame = line.strip().partition(": ")
        if name.split(":")[0] == event:
            counts[frame.strip().partition(" ")[2]] += 1
    return counts


program = ["/usr/bin/python3", "-c", "x = [str(i) for i in range(400000)]; print(len(sorted(x)))"]
recorded = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock,page-faults", "-F", "999", "-g", "-o", "perf.data",
                           *program], capture_output=True, text=True, check=False)
if recorded.returncode:
    print(f"skipped: perf cannot record here: {recorded.stderr.strip()[-200:]}")
    sys.exit(77)

counts, sums = per_event()
check(len(counts) == 2 and all(counts.values()), f"two events: {counts}")
FORMS = {
    "as it is": (),
    "with a header": ("--header",),
    "with lines": ("-F", "+srcline"),
    "without inlined calls": ("--no-inline",),
    "without stacks": ("-G",),
    "with processes": ("-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso"),
    "with mappings": ("--show-mmap-events",),
}
for name, options in FORMS.items():
    text = script(*options)
    for event, count in counts.items():
        got = report(text, "--value", event)
        total = got.get("sum")
        check(total == sums[event], f"{name}: {event}: {total}, perf says {sums[event]}")
    got = report(text, "--value", "samples")
    total = got.get("sum")
    check(total == sum(counts.values()), f"{name}: {total} samples, perf says {sum(counts.values())}")

for event in counts:
    theirs, ours = leaves(event), collections.Counter()
    for row in report(script("-F", "comm,tid,time,event,ip,sym,dso"), "--value", event)["functions"]:
        name = row["function"]
        ours["[unknown]" if name.startswith("0x") else name] += row["self"]
    check(+ours == theirs, f"leaves of {event}: {sorted((ours - theirs).items())[:5]}, "
          f"perf has {sorted((theirs - ours).items())[:5]}")

print(f"{n_checks} checks of perf script's text, {len(failed)} failed")
sys.exit(bool(failed))
