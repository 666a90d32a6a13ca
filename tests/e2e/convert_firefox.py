#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles of real programs for the Firefox Profiler: every rule of its format, and the numbers of cairn report."""
import collections
import json
import os
import shutil
import subprocess

from checks import check, finish, run, skip
from viewer_files import Firefox, Wrong, report

CAIRN, BUILD = os.environ["CAIRN"], os.environ["BUILD"]
PROGRAM = r"""
#include <cmath>
#include <map>
#include <pthread.h>
#include <string>
#include <thread>
#include <time.h>
#include <vector>
static volatile double sink;
static inline __attribute__((always_inline)) double roots(double x)
{
    for (int i = 0; i < 2000; i++)
        x = std::sqrt(x + i);
    return x;
}
__attribute__((noinline)) double work(double x) { return roots(x) + 1; }
__attribute__((noinline)) double maps(int n)
{
    std::map<int, std::string> m;
    for (int i = 0; i < n; i++)
        m[i * 7919 % 1000] = std::to_string(i);
    return double(m.size());
}
static double cpu()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
int main()
{
    std::vector<std::thread> threads;
    for (int k = 0; k < 3; k++)
        threads.emplace_back([k] {
            pthread_setname_np(pthread_self(), ("w\"<" + std::to_string(k) + "\xff").c_str());
            while (cpu() < 0.3 * (k + 1))
                sink = work(k) + (k ? maps(200) : 0);
        });
    for (auto &thread : threads)
        thread.join();
}
"""


def read(path):
    try:
        return Firefox(path)
    except (Wrong, KeyError, ValueError, TypeError) as wrong:
        check(False, f"{path}: {type(wrong).__name__}: {wrong}")
        finish("")


def is_same(thread, expected, what, has_modules=True):
    """JSON has no invalid UTF-8, and some modules are no library: then names alone are compared.

    Where a BPF program was may be another one a moment later: the kernel names what is there."""
    def plain(numbers):
        sums = {}
        for (name, module), value in numbers.items():
            name = "bpf" if module == "[bpf]" else name
            key = (name, module) if has_modules else name
            sums[key] = sums.get(key, 0) + value
        return {key: value for key, value in sums.items() if value}
    check(thread.sum == expected[0], f"{what}: sum {thread.sum}, expected {expected[0]}")
    for name, ours, theirs in (("self", thread.self, expected[1]), ("total", thread.total, expected[2])):
        ours, theirs = plain(ours), plain(theirs)
        wrong = [(key, ours.get(key), theirs.get(key)) for key in ours | theirs if ours.get(key) != theirs.get(key)]
        check(not wrong, f"{what}: {name}: {len(wrong)} of {len(theirs)} functions: {wrong[:3]}")


def threads_agree(firefox, path, what, value="samples"):
    """Each thread has the numbers of the report for its label."""
    for thread in firefox.threads:
        if isinstance(thread.tid, int):
            is_same(thread, report(path, "--value", value, "--label", f"tid={thread.tid}"), f"{what}: {thread.name}")


def converted(path, *options):
    out = path.split(".")[0] + ".firefox.json.gz"
    run(CAIRN, "convert", path, "-f", "-o", out, *options)
    return read(out)


PROFILES = {"timed.pb.gz", "sums.pb.gz", "python.pb.gz", "waits.pb.gz", "lua.pb.gz"}
with open("program.cc", "w", encoding="latin-1") as file:
    file.write(PROGRAM)
subprocess.run([os.environ.get("CXX", "g++"), "-O2", "-g", "-pthread", "-o", "program", "program.cc"], check=True)

# With times: each thread in the order of time, none before the recording.
recorded = subprocess.run([CAIRN, "record", "-F", "499", "--timeline", "-o", "timed.pb.gz", "--", "./program"],
                          capture_output=True, text=True, errors="replace", check=False)
if recorded.returncode:
    skip(f"nothing can be recorded here: {recorded.stderr.strip()[-200:]}")
timed = converted("timed.pb.gz")
workers = [thread for thread in timed.threads if thread.name.startswith('w"<')]
check([thread.name for thread in workers] == [f'w"<{k}\N{REPLACEMENT CHARACTER}' for k in range(3)],
      "names of threads", [thread.name for thread in timed.threads])
check({thread.process for thread in timed.threads} == {"program"}, "process")
check(timed.extra["times"] == "as recorded" and timed.extra["command"] == "./program", "extra", timed.extra)
check("samples" in timed.extra["quality"] and timed.meta["arguments"] == "./program", "quality", timed.extra)
check(all(max(thread.times) > 100 and max(thread.times) < 60000 for thread in workers), "times", workers[0].times[-3:])
check(min(min(thread.times) for thread in timed.threads) == 0, "the first sample is at 0")
threads_agree(timed, "timed.pb.gz", "with times")
inlined = {frame for frame in range(timed.t["frameTable"]["length"]) if timed.t["frameTable"]["inlineDepth"][frame]}
check(any(timed.function(frame)[0] == "roots" for frame in inlined), "roots() is an inlined frame")
check({timed.categories[timed.t["frameTable"]["category"][frame]] for frame in inlined} == {"Inlined"}, "category")
ours = [lib for lib in timed.libs if lib["name"] == "program"]
notes = run("readelf", "-n", "program").stdout
check(len(ours) == 1 and f"Build ID: {ours[0]['codeId']}" in notes, "build ID", ours)

# A lib-relative address is one that addr2line knows: the line of a leaf in work().
table = timed.t["frameTable"]
leaf = next((frame for frame in sorted(inlined) if timed.function(frame)[0] == "roots"), None)
if leaf is not None:
    line = run("addr2line", "-i", "-e", "program", hex(table["address"][leaf])).stdout.split()[0]
    check(line.endswith(f"program.cc:{table['line'][leaf]}"), f"{line}, the frame has {table['line'][leaf]}")

# Written at once, and without times: the sums are the same, and the times are said to be made up.
run(CAIRN, "record", "-F", "499", "-o", "once.firefox.json", "--", "./program")
once = read("once.firefox.json")
check(once.extra["times"].startswith("made up"), "times", once.extra["times"])
check(sum(thread.sum for thread in once.threads) > 100, "samples of one recording")
run(CAIRN, "record", "-F", "499", "-o", "sums.pb.gz", "--", "./program")
sums = converted("sums.pb.gz")
check(sums.extra["times"].startswith("made up") and len(sums.threads) >= 3, "threads", len(sums.threads))
threads_agree(sums, "sums.pb.gz", "without times")
cpu = converted("sums.pb.gz", "--value", "cpu")
check({thread.unit for thread in cpu.threads} == {"tracing-ms"}, "unit of cpu")
threads_agree(cpu, "sums.pb.gz", "time on the CPU", "cpu")

# Another program, with an interpreter; several inputs are one file.
run(CAIRN, "record", "-F", "499", "-o", "python.pb.gz", "--", "/usr/bin/python3", "-c",
    "x = [str(i) for i in range(300000)]; print(len(sorted(x)))")
threads_agree(converted("python.pb.gz"), "python.pb.gz", "python3")
run(CAIRN, "convert", "sums.pb.gz", "python.pb.gz", "-o", "both.firefox.json.gz")
check(len({thread.pid for thread in read("both.firefox.json.gz").threads}) == 2, "two processes")

# Waits are weighed by their length.
waits = subprocess.run([CAIRN, "record", "--off-cpu", "--timeline", "-d", "1", "-o", "waits.pb.gz", "--", "sh", "-c",
                        "for i in 1 2 3 4; do sleep 0.1; done"], capture_output=True, text=True, check=False)
if waits.returncode:
    print(f"skipped: waits: {waits.stderr.strip()[-200:]}")
else:
    waiting = converted("waits.pb.gz")
    check({thread.unit for thread in waiting.threads if isinstance(thread.tid, int)} == {"tracing-ms"}, "waits")
    threads_agree(waiting, "waits.pb.gz", "waits", "off_cpu")
    check(any(thread.name.endswith(" (samples)") for thread in waiting.threads), "the number of waits")

# Every value of a heap file that says something is a thread.
if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "libcairn-heap.so")):
    print("skipped: heap files: no libcairn-heap.so: a sanitizer has a malloc of its own")
elif run(CAIRN, "heap", "run", "-o", "x.heap", "--", "./program").returncode == 0:
    heap = converted("x.heap")
    names = {"all samples": "inuse_space"} | {f"all samples ({kind})": kind for kind in (
        "inuse_objects", "alloc_objects", "alloc_space", "peak_objects", "peak_space", "temporary_objects",
        "mapped_objects", "mapped_space")}
    check({"all samples", "all samples (alloc_space)", "all samples (alloc_objects)"} <=
          {thread.name for thread in heap.threads}, "heap", [thread.name for thread in heap.threads])
    for thread in heap.threads:
        kind = names[thread.name]
        check(thread.unit == ("bytes" if kind.endswith("space") else "samples"), f"unit of {kind}", thread.unit)
        is_same(thread, report("x.heap", "--value", kind), f"heap: {kind}")

# Frames of Lua.
lua = shutil.which("lua5.4")
if lua:
    with open("work.lua", "w", encoding="utf-8") as file:
        file.write("local function spin() local x = 0 for i = 1, 2e6 do x = (x * 7 + i) % 1000003 end return x end\n"
                   "local e = os.clock() + 1 repeat spin() until os.clock() >= e\n")
    run(CAIRN, "record", "--method", "ptrace", "-F", "199", "-o", "lua.pb.gz", "--", lua, "work.lua")
    guests = converted("lua.pb.gz")
    purple = {guests.function(frame)[0] for frame in range(guests.t["frameTable"]["length"])
              if guests.categories[guests.t["frameTable"]["category"][frame]] == "Interpreted"}
    check("spin" in purple, "frames of Lua", purple)
    for thread in guests.threads:
        if isinstance(thread.tid, int):
            is_same(thread, report("lua.pb.gz", "--label", f"tid={thread.tid}"), "Lua", has_modules=False)
else:
    print("skipped: frames of Lua: lua5.4 is missing")

# Odd profiles: hostile names, none at all, negative values, no types but one.
run("/usr/bin/python3", os.path.join(os.environ["SRC"], "tests/e2e/report_profiles.py"))
for path in sorted(name for name in os.listdir(".") if name.endswith(".pb.gz") and name not in PROFILES):
    odd = converted(path)
    shown = json.loads(run(CAIRN, "report", path, "--json").stdout)
    check(sum(thread.sum for thread in odd.threads if not thread.name.endswith(")")) == shown["sum"], f"{path}: sum")
cut = converted("cut.pb.gz")
reasons = sum((thread.texts for thread in cut.threads), collections.Counter())
check(reasons and all(text.startswith("stack cut: ") for text in reasons), "roots of cut stacks", reasons)

# Names of the format, refusals.
run(CAIRN, "resolve", "sums.pb.gz", "-o", "resolved.firefox.json.gz")
check(sum(t.sum for t in read("resolved.firefox.json.gz").threads) == sum(t.sum for t in sums.threads), "resolve")
with open("plain.firefox.json", "w", encoding="utf-8") as file:
    file.write(run(CAIRN, "convert", "sums.pb.gz", "--to", "firefox", "-o", "-").stdout)
check(len(read("plain.firefox.json").threads) == len(sums.threads), "--to firefox into a pipe")
for words, text in (((CAIRN, "report", "sums.firefox.json.gz"), "a profile of Firefox"),
                    ((CAIRN, "convert", "sums.firefox.json.gz", "--from", "firefox", "-o", "x.txt"),
                     "can be written, not read")):
    refused = run(*words, status=1)
    check(text in refused.stderr, f"{words[1:]}: {refused.stderr}")
with open("text.collapsed", "w", encoding="utf-8") as file:
    file.write("a;b 1\n")
refused = run(CAIRN, "resolve", "text.collapsed", "-o", "text.firefox.json", status=1)
check("cairn convert TEXT" in refused.stderr, "resolve of text", refused.stderr)
check(not os.path.exists("text.firefox.json"), "what was refused left a file")
full = run(CAIRN, "convert", "sums.pb.gz", "--to", "firefox", "-o", "/dev/full", status=1)
check("No space left" in full.stderr, "a full disk", full.stderr)
finish("profiles for the Firefox Profiler")
