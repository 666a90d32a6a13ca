#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events that `cairn trace --timeline` keeps one by one: in the profile, in the page, for the Firefox Profiler."""
import os
import pathlib
import subprocess
import time

from checks import check, finish, run, skip
from page_columns import Page
from pprof_decode import Profile
from viewer_files import Firefox

CAIRN = os.environ["CAIRN"]
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) static void put(int fd, int n)
{
    for (int i = 0; i < n; i++)
        if (write(fd, "\33<b>;", 5) == 123) return;
}
static void *work(void *fd) { pthread_setname_np(pthread_self(), "w<\"1"); put(*(int *)fd, 30); return NULL; }
int main(void)
{
    int fds[2];
    pthread_t thread;
    if (pipe(fds)) return 1;
    put(fds[1], 7);
    pthread_create(&thread, NULL, work, &fds[1]);
    pthread_join(thread, NULL);
    usleep(20000);
    return write(-1, "", 1) != -1;
}
"""


def page_markers(path):
    page, at, found = Page(pathlib.Path(path)), 0, []
    columns = [page.numbers(f"marker-{id}") for id in ("time", "took", "name", "set", "node")]
    for later, took, name, set_, node in zip(*columns):
        at += later
        found.append((at, took, page.texts[name], {key: value for key, value, _ in page.sets[set_]}, node))
    return page, found


with open("program.c", "w", encoding="ascii") as file:
    file.write(PROGRAM)
subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-g", "-pthread", "-o", "program", "program.c"], check=True)
before = time.time_ns()
traced = subprocess.run([CAIRN, "trace", "--timeline", "-e", "syscall:write,clock_nanosleep", "-o", "raw.pb.gz", "--",
                         "./program"], capture_output=True, text=True, errors="replace", check=False)
after = time.time_ns()
if traced.returncode:
    skip(f"nothing can be traced here: {traced.stderr.strip()[-200:]}")
check("39 events seen, 39 counted, 39 on the timeline, 0 lost" in traced.stderr, "the last lines", traced.stderr)

# The profile: sums as without the option, and each event with its time, result and arguments.
profile = Profile("raw.pb.gz")
events = [sample for sample in profile.samples if "cairn.marker" in sample.labels]
sums = [sample for sample in profile.samples if "cairn.marker" not in sample.labels]
check(len(events) == 39 and sum(sample.values[0] for sample in sums) == 39, "events and sums", len(events))
check(not any(value for sample in events for value in sample.values), "an event counts for something")
check(all(sample.stack for sample in events), "an event without a stack")
times = [sample.labels["cairn.time_ns"] for sample in events]
check(before <= min(times) and max(times) <= after, "times", before, min(times), max(times), after)
nap = [sample.labels for sample in events if sample.labels["cairn.marker"] == "clock_nanosleep"]
check(len(nap) == 1 and 20_000_000 <= nap[0]["cairn.duration_ns"] < 10**10, "the nap", nap)
failed = [sample.labels for sample in events if sample.labels.get("arg.fd") == "-1"]
check(len(failed) == 1 and failed[0]["result"] == "-1 EBADF", "the call that fails", failed)
check(sum(sample.labels["thread"] == 'w<"1' for sample in events) == 30, "events of the thread")

# Read and written again nothing is lost; formats of sums say what they leave out.
done = run(CAIRN, "convert", "raw.pb.gz", "-o", "again.pb.gz")
check("samples, 39 events" in done.stderr, "convert says", done.stderr)
again = Profile("again.pb.gz")
key = lambda sample: sorted((name, value) for name, value in sample.labels.items() if name != "cairn.frames")
check(sorted(key(s) for s in again.samples) == sorted(key(s) for s in profile.samples), "labels, written again")
done = run(CAIRN, "convert", "raw.pb.gz", "-o", "sums.txt")
check("left out: 39 events" in done.stderr, "collapsed stacks", done.stderr)
check(int(run(CAIRN, "report", "--value", "events", "raw.pb.gz").stdout.count("put")) >= 1, "report has the sums")
run(CAIRN, "convert", "raw.pb.gz", "raw.pb.gz", "-o", "both.pb.gz")
check(sum("cairn.marker" in sample.labels for sample in Profile("both.pb.gz").samples) == 78, "two of them in one")

# Filters take events as they take samples.
for options, n in ((("--thread", "^w"), 30), (("--exclude-thread", "^w"), 9), (("--event", "clock_nanosleep"), 1)):
    run(CAIRN, "convert", "raw.pb.gz", "-f", "-o", "some.pb.gz", *options)
    some = Profile("some.pb.gz")
    check(sum("cairn.marker" in sample.labels for sample in some.samples) == n, "events", options, len(some.samples))
    check(sum(sample.values[0] for sample in some.samples) == n, "sums", options)

# The page: times from the first event on, whose each is, and where its stack ends.
run(CAIRN, "flame", "raw.pb.gz", "-o", "page.html")
page, marks = page_markers("page.html")
check(len(marks) == 39 and marks[0][0] == 0, "events of the page", len(marks))
first = min(times)
check(sorted((t - first) // 1000 for t in times) == [mark[0] for mark in marks], "their times")
writes = [mark for mark in marks if mark[2] == "write"]
check(len(writes) == 38 and len({mark[3]["tid"] for mark in writes}) == 2, "writes of two threads", len(writes))
stacks = page.names()
check(all("put" in stacks[mark[4]] for mark in writes if mark[3].get("arg.fd") != "-1"), "their stacks")
check(all("\33" not in str(value) for mark in marks for value in mark[3].values()), "an escape in the page")

# For the Firefox Profiler: a schema, and the events of each thread.
run(CAIRN, "convert", "raw.pb.gz", "-o", "view.firefox.json.gz")
view = Firefox("view.firefox.json.gz")
check(sorted(len(thread.markers) for thread in view.threads)[-2:] == [9, 30], "markers by thread",
      [(thread.name, len(thread.markers)) for thread in view.threads])
marker = next(m for thread in view.threads for m in thread.markers if m["name"] == "clock_nanosleep")
check(20 <= marker["end"] - marker["start"] < 10000 and marker["fields"].get("result") == "0", "the nap there", marker)
check(all("put" in [function and function[0] for function in view.path(m["stack"])]
          for thread in view.threads for m in thread.markers if m["name"] == "write" and m["fields"]["fd"] != "-1"),
      "stacks of markers")

# What cannot be.
done = run(CAIRN, "trace", "--timeline", "-e", "syscall:write", "--", "./program", status=2)
check("--output" in done.stderr, "without a file", done.stderr)
finish("events are kept one by one")
