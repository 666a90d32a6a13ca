#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters of profiles whose samples are known: written by hand, recorded by cairn, of the heap, without labels.

What a filter must leave is counted from the samples themselves.
"""
import gzip
import json
import os

import checks
from checks import check, run
from pprof_decode import Profile
from pprof_encode import message, number, packed

CAIRN, BUILD = os.environ["CAIRN"], os.environ["BUILD"]
PROGRAM = f"{BUILD}/tests/e2e/filters_program"
START = 1_700_000_000_000_000_000


class Writer:
    """A pprof profile of named frames, each sample with one value of samples and one of cpu."""

    def __init__(self):
        self.strings, self.bodies, self.known = {"": 0}, b"", {}

    def text(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def location(self, name, line):
        if (name, line) not in self.known:
            own = self.known[name, line] = len(self.known) + 1
            self.bodies += message(5, number(1, own) + number(2, self.text(name)) + number(4, self.text("a.c")))
            self.bodies += message(4, number(1, own) + number(3, 0x1000 + 16 * own) +
                                   message(4, number(1, own) + number(2, line)))
        return self.known[name, line]

    def add(self, frames, labels):
        body = packed(1, *(self.location(*frame) for frame in reversed(frames))) + packed(2, 1, 10)
        for key, value in labels.items():
            field = number(2, self.text(value)) if isinstance(value, str) else number(3, value)
            body += message(3, number(1, self.text(key)) + field)
        self.bodies += message(2, body)

    def write(self, path):
        out = message(1, number(1, self.text("samples")) + number(2, self.text("count")))
        out += message(1, number(1, self.text("cpu")) + number(2, self.text("nanoseconds"))) + self.bodies
        out += number(9, START) + number(10, 3_000_000_000) + number(14, self.text("cpu"))
        out += b"".join(message(6, text.encode()) for text in self.strings)
        with gzip.open(path, "wb") as file:
            file.write(out)


def report(path, *options, status=0):
    done = run(CAIRN, "report", "--json", "--top", "0", "--value", "samples", *options, path, status=status)
    return json.loads(done.stdout) if status == 0 else done.stderr


def n_of(path, *options):
    return report(path, *options)["quality"]["samples"]


def by_hand():
    """300 samples of two threads, 10 ms apart; of thread 7 runs of 1, 2, 3 and 4 cut stacks, one after the other."""
    writer, samples = Writer(), []
    cut_at = {10, 30, 31, 50, 51, 52, 70, 71, 72, 73}
    for i in range(300):
        tid = 7 + i % 2
        is_cut = tid == 7 and i // 2 in cut_at
        frames = [("main", 1), (f"worker_{tid}", i % 5), ("std::apply", 3), ("leaf", i % 3)]
        labels = {"pid": 6, "tid": tid, "process": "server", "thread": f"worker-{tid}", "cpu": i % 4,
                  "cairn.time_ns": START + i * 10_000_000, "cairn.frames": "cccc"}
        if is_cut:
            frames = frames[2:]
            labels |= {"cairn.cut": "no rule", "cairn.frames": "cc"}
        writer.add(frames, labels)
        samples.append((i, tid, is_cut))
    writer.write("hand.pb.gz")
    for n, left in (("", 290), ("=1", 299), ("=2", 297), ("=3", 294), ("=4", 290), ("=9", 290)):
        got = n_of("hand.pb.gz", f"--drop-cut{n}")
        check(got == left, f"--drop-cut{n}: {got} samples, expected {left}")
    check(n_of("hand.pb.gz", "--time", "1-2") == 100, "a second")
    check(n_of("hand.pb.gz", "--time", "500ms-510ms", "--tid", "7") == 1, "one sample")
    check(report("hand.pb.gz", "--time", "1-2.5")["quality"]["duration_ns"] == 1_500_000_000, "how long that was")
    check(n_of("hand.pb.gz", "--exclude-cpu", "0,2-3") == 75, "a CPU")
    by_frames()


def rows(*options):
    return {row["function"]: (row["self"], row["total"]) for row in report("hand.pb.gz", *options)["functions"]}


def by_frames():
    plain, hidden = rows(), rows("--hide", "^std::", "--hide", "^worker_[0-9]$")
    check(set(plain) - set(hidden) == {"std::apply", "worker_7", "worker_8"}, f"hidden: {set(plain) - set(hidden)}")
    check({name: plain[name] for name in hidden} == hidden, f"the others stay as they were: {hidden}")
    check(rows("--hide", "leaf")["std::apply"] == (300, 300), "what a hidden leaf cost is its caller's")
    run(CAIRN, "convert", "hand.pb.gz", "--by-function", "-o", "functions.pb.gz")
    profile = Profile("functions.pb.gz")
    check(sorted(name for n in profile.locations for name in profile.functions_at(n)) ==
          ["leaf", "main", "std::apply", "worker_7", "worker_8"], f"locations {profile.lines}")
    check({address for _, address in profile.locations.values()} == {0}, "no addresses")
    check(rows() == {row["function"]: (row["self"], row["total"]) for row in report("functions.pb.gz")["functions"]},
          "the same sums")
    run(CAIRN, "convert", "hand.pb.gz", "--merge-threads", "^worker", "--time", "0-1", "-o", "merged.pb.gz")
    labels = [sample.labels for sample in Profile("merged.pb.gz").samples]
    check(len(labels) == 100 and all(label["thread"] == "^worker" and "tid" not in label for label in labels),
          f"merged threads {labels[:1]}")


def without_labels():
    """Stacks without labels: what they do not say is an error that names the file."""
    with open("plain.collapsed", "w", encoding="utf-8") as file:
        file.write("main;f 3\nmain;g 4\n")
    for option, said in (("--pid=1", "of which process it is"), ("--exclude-tid=1", "of which thread it is"),
                         ("--process=a", "has the name of a process"), ("--thread=a", "has the name of a thread"),
                         ("--exclude-cpu=1", "on which CPU it was"), ("--time=0-1", "when it was"),
                         ("--per-cpu", "on which CPU it was"), ("--merge-threads=a", "has the name of a thread"),
                         ("--drop-cut=2", "when it was"), ("--event=cycles", "no event is called \"cycles\"")):
        for words in (["report"], ["convert", "-o", "x.pb.gz"], ["flame", "-o", "x.svg"], ["diff", "plain.collapsed"]):
            done = run(CAIRN, *words, option, "plain.collapsed", status=1)
            name = option.partition("=")[0]
            check(f"plain.collapsed: {name}: " in done.stderr and said in done.stderr, f"{words} {option}:", done.stderr)
    check(n_of("plain.collapsed", "--hide", "f") == 7, "frames can be hidden")
    done = run(CAIRN, "report", "plain.collapsed", "--drop-cut")
    check("says of no stack whether it is cut" in done.stderr, "cut stacks:", done.stderr)


def sanitizer():
    """A sanitizer's report says of which process it is, and no more."""
    with open("asan.txt", "w", encoding="utf-8") as file:
        for pid in (4242, 4243):
            file.write(f"=={pid}==ERROR: LeakSanitizer: detected memory leaks\n\n"
                       f"Direct leak of {pid} byte(s) in 1 object(s) allocated from:\n"
                       "    #0 0x4a in malloc (/bin/prog+0x4a)\n    #1 0x5b in main /src/prog.c:5\n\n"
                       f"SUMMARY: AddressSanitizer: {pid} byte(s) leaked in 1 allocation(s).\n")
    done = run(CAIRN, "report", "asan.txt", "--json", "--pid", "4243")
    found = json.loads(done.stdout)
    check(found["sum"] == 4243 and found["filters"][0]["value_taken_out"] == 4242, f"sanitizer: {found['filters']}")
    done = run(CAIRN, "report", "asan.txt", "--thread", "x", status=1)
    check("asan.txt: --thread: no sample has the name of a thread" in done.stderr, "sanitizer:", done.stderr)


def wrong_values():
    """A wrong value is refused before any file is read, with its column or line."""
    with open("bad.windows", "w", encoding="utf-8") as file:
        file.write("GLOBAL_BEGIN 5\nGLOBAL_STOP 6\n")
    for option, said in (("--thread=a(b", "--thread: \"a(b\": column 2"), ("--cpu=1,x", "--cpu: \"1,x\": column 3"),
                         ("--time=1-x", "--time: \"1-x\": column 3"), ("--time=2-1", "ends before it begins"),
                         ("--time-file=bad.windows", "bad.windows: line 2: expected CLOCK"),
                         ("--time-file=none", "none"), ("--drop-cut=0", "--drop-cut: \"0\""),
                         ("--hide=", "the regular expression is empty")):
        for command in ("report", "flame", "diff", "convert"):
            done = run(CAIRN, command, option, "not-there", status=2)
            check(said in done.stderr, f"{command} {option}:", done.stderr)


def recorded():
    """Samples that cairn recorded, counted from their labels."""
    done = run(CAIRN, "record", "--timeline", "-F", "500", "-o", "own.pb.gz", "--", PROGRAM)
    if not os.path.exists("own.pb.gz"):
        print("skipped: recorded samples: cairn cannot record here:", done.stderr.strip()[-200:])
        return
    profile = Profile("own.pb.gz")
    labels = [sample.labels for sample in profile.samples]
    check(len(labels) > 100, f"only {len(labels)} samples")

    # A filter file by the recorder's clock, which the profile can tell from that of the samples.
    shift = int(next(c for c in profile.comments if "recorder's clock" in c).split("+ ")[1].split()[0])
    alpha = next(label["tid"] for label in labels if label["thread"] == "alpha-1")
    start = min(label["cairn.time_ns"] for label in labels if label["tid"] == alpha) + 100_000_000
    with open("own.windows", "w", encoding="utf-8") as file:
        file.write(f"THREAD_BEGIN {alpha} {start - shift}\nTHREAD_END {alpha} {start + 200_000_000 - shift}\n")

    def since(label):
        return label["cairn.time_ns"] - profile.time_ns

    for options, keeps in ((["--thread", "^alpha"], lambda s: s["thread"].startswith("alpha")),
                           (["--exclude-process", "filters"], lambda s: not s["process"].startswith("filters")),
                           (["--pid", str(labels[0]["pid"])], lambda s: s["pid"] == labels[0]["pid"]),
                           (["--time", "0.25-0.75", "--exclude-thread", "2"],
                            lambda s: 250_000_000 <= since(s) < 750_000_000 and "2" not in s["thread"]),
                           (["--time-file", "own.windows"],
                            lambda s: s["tid"] == alpha and 0 <= s["cairn.time_ns"] - start < 200_000_000),
                           (["--event", "cpu"], lambda s: True)):
        wanted = sum(map(keeps, labels))
        got = n_of("own.pb.gz", *options)
        check(got == wanted, f"own {options}: {got} samples, expected {wanted} of {len(labels)}")


def heap():
    """A file with the heaps of two processes: each by its pid, and both together."""
    if checks.under_asan():
        print("skipped: heap files: the tracker is not built beside AddressSanitizer")
        return
    done = run(CAIRN, "heap", "run", "-o", "two.heap", "--", PROGRAM)
    if not os.path.exists("two.heap"):
        print("skipped: heap files: none could be made here:", done.stderr.strip()[-200:])
        return
    run(CAIRN, "convert", "two.heap", "--pid", "0-999999999", "-o", "two.pb.gz")
    samples = Profile("two.pb.gz").samples
    pids = sorted({sample.labels["pid"] for sample in samples})
    check({sample.labels["process"] for sample in samples} == {"filters_program"}, "names of processes")
    space = {pid: sum(sample.values[3] for sample in samples if sample.labels["pid"] == pid) for pid in pids}
    check(len(pids) == 2 and all(space.values()), f"bytes of processes {space}")

    def allocated(*options):
        done = run(CAIRN, "report", "two.heap", "--json", "--value", "alloc_space", *options)
        return json.loads(done.stdout)["sum"]

    for pid in pids:
        check(allocated("--pid", str(pid)) == space[pid], f"heap of {pid}: {allocated('--pid', str(pid))}, {space}")
        check(allocated("--exclude-pid", str(pid)) == sum(space.values()) - space[pid], f"all heaps but {pid}")
    check(allocated("--process", "^filters") == sum(space.values()), "all heaps by name")
    done = run(CAIRN, "report", "two.heap", "--time", "0-1", status=1)
    check("two.heap: --time: no sample says when it was" in done.stderr, "a heap has no times:", done.stderr)


by_hand()
without_labels()
sanitizer()
wrong_values()
recorded()
heap()
checks.finish("what filters leave")
