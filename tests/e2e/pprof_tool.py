#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What cairn makes of pprof files is held against go tool pprof: the same files are refused, what
cairn writes is accepted, and the same numbers come out of both."""
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys

from pprof_encode import message, number, packed, text, varint

CAIRN = os.environ["CAIRN"]
NO_LIMITS = ["-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"]
TEMPLATE = "app::Table<std::map<int, long> >::get(std::string const&)"


def run(*words):
    return subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def check(condition, what, done=None):
    if condition:
        return
    print(f"pprof_tool: {what}")
    if done:
        print(done.stdout, done.stderr)
    sys.exit(1)


STRINGS = ["", "cpu", "nanoseconds", "main", "leaf", "/bin/wl", "samples", "count", "thread"]
TYPE = message(1, number(1, 1), number(2, 2))
SAMPLE = message(2, packed(1, 2, 1), packed(2, 5))
MAPPING = message(3, number(1, 1), number(2, 0x1000), number(3, 0x2000), number(5, 5))
FUNCTIONS = message(5, number(1, 1), number(2, 3)) + message(5, number(1, 2), number(2, 4))
PERIOD = message(11, number(1, 1), number(2, 2)) + number(12, 10)


def location(number_of, *fields):
    return message(4, number(1, number_of), *fields)


def locations(mapping=number(2, 1), address=True, line=True, function=2):
    out = b""
    for at, name in ((1, 1), (2, function)):
        out += location(at, mapping, number(3, 0x1000 + at) if address else b"",
                        message(4, number(1, name)) if line else b"")
    return out


def profile(head=TYPE + SAMPLE, mapping=MAPPING, places=None, functions=FUNCTIONS, strings=STRINGS,
            tail=PERIOD, more=b""):
    table = b"".join(text(6, string) for string in strings)
    return head + mapping + (places or locations()) + functions + table + tail + more


FILES = {
    "sound": profile(),
    "numbers that are not packed": profile(TYPE + message(2, number(1, 2), number(1, 1),
                                                          number(2, 5))),
    "a first string": profile(strings=["x"] + STRINGS[1:]),
    "no strings": profile(strings=[]),
    "no type": profile(SAMPLE),
    "no type and no sample": profile(b""),
    "no sample": profile(TYPE),
    "two values, one type": profile(TYPE + message(2, packed(1, 2, 1), packed(2, 5, 6))),
    "one value, two types": profile(TYPE + TYPE + SAMPLE),
    "no value": profile(more=message(2)),
    "a negative value": profile(TYPE + message(2, packed(1, 2, 1), packed(2, -5))),
    "an unknown location": profile(TYPE + message(2, packed(1, 9), packed(2, 5))),
    "location 0 in a sample": profile(TYPE + message(2, packed(1, 0), packed(2, 5))),
    "a location with id 0": profile(more=location(0)),
    "a location twice": profile(more=location(1)),
    "a mapping with id 0": profile(more=message(3, number(2, 5))),
    "a mapping twice": profile(more=message(3, number(1, 1))),
    "a function with id 0": profile(more=message(5, number(2, 3))),
    "a function twice": profile(more=message(5, number(1, 1), number(2, 3))),
    "an unknown function": profile(places=locations(function=7)),
    "a line without function": profile(more=location(7, message(4, number(2, 3)))),
    "a string beyond the table": profile(functions=FUNCTIONS + message(5, number(1, 3),
                                                                       number(2, 99))),
    "a comment beyond the table": profile(more=number(13, 55)),
    "frames to keep beyond the table": profile(more=number(8, 55)),
    "a default type beyond the table": profile(more=number(14, 55)),
    "a default type that is none": profile(more=number(14, 3)),
    "a label's key beyond the table": profile(more=message(2, packed(1, 1), packed(2, 1),
                                                           message(3, number(1, 77)))),
    "a label's unit beyond the table": profile(more=message(
        2, packed(1, 1), packed(2, 1), message(3, number(1, 3), number(3, 4), number(4, 99)))),
    "no mapping": profile(mapping=b""),
    "no mapping, none asked for": profile(mapping=b"", places=locations(b"")),
    "a mapping that is not there": profile(places=locations(number(2, 9))),
    "no lines": profile(places=locations(line=False)),
    "no addresses": profile(places=locations(address=False)),
    "an address outside of its mapping": profile(more=location(7, number(2, 1),
                                                               number(3, 0x9000))),
    "a folded location": profile(more=location(7, number(5, 1))),
    "no period": profile(tail=b""),
    "two times": profile(more=number(9, 5) + number(9, 6)),
    "a field of a later version": profile(more=number(99, 5)),
    "bytes where a number belongs": profile(more=message(4, message(1))),
    "a number where bytes belong": profile(more=number(2, 1)),
    "a wire type that is none": profile(more=varint(2 << 3 | 3)),
    "cut in the middle of a field": profile()[:-1],
    "zeros at the end": profile(more=b"\0"),
    "nothing": b"",
}


def compare_verdicts():
    n_refused = 0
    for what, plain in FILES.items():
        for name, content in (("plain", plain), ("gzip", gzip.compress(plain))):
            if not plain and name == "gzip":
                continue
            with open("case.pb", "wb") as file:
                file.write(content)
            theirs = run("go", "tool", "pprof", "-symbolize=none", "-raw", "case.pb")
            ours = run(CAIRN, "convert", "case.pb", "-o", "-", "--to=collapsed", "--from=pprof")
            accepted = theirs.returncode == 0
            # go tool pprof -raw prints a profile without types and samples, which shows nothing.
            if what == "no type and no sample":
                theirs = ours
            check(theirs.returncode in (0, 1, 2) and ours.returncode in (0, 1),
                  f"{what} ({name}): a crash", ours)
            check((ours.returncode == 0) == (theirs.returncode == 0),
                  f"{what} ({name}): go tool pprof {'takes' if accepted else 'refuses'} it", ours)
            n_refused += ours.returncode != 0
    check(10 < n_refused < 2 * len(FILES) - 10, f"{n_refused} files refused")
    return len(FILES), n_refused


def top_of_pprof(path, *options):
    done = run("go", "tool", "pprof", "-symbolize=none", "-top", *NO_LIMITS, *options, path)
    check(done.returncode == 0, f"go tool pprof refuses {path}", done)
    rows = {}
    for line in done.stdout.splitlines():
        row = re.match(r"\s*(-?\d+)(?:ns)?\s+\S+%\s+\S+%\s+(-?\d+)(?:ns)?\s+\S+%\s+(.*?)( \(inline\))?$",
                       line)
        if row:
            rows[row[3]] = (int(row[1]), int(row[2]))
    return rows


def top_of_cairn(path, *options):
    done = run(CAIRN, "report", path, "--json", "--top=0", *options)
    check(done.returncode == 0, f"cairn report {path}", done)
    return {row["function"]: (row["self"], row["total"])
            for row in json.loads(done.stdout)["functions"]}


def compare_tops(path, theirs_options=(), ours_options=()):
    theirs, ours = top_of_pprof(path, *theirs_options), top_of_cairn(path, *ours_options)
    differ = [name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name)]
    check(ours and not differ, f"{path}: the tables differ: " +
          ", ".join(f"{name} {theirs.get(name)} {ours.get(name)}" for name in differ[:5]))
    check(run("go", "tool", "pprof", "-raw", path).returncode == 0, f"pprof -raw refuses {path}")
    return ours


def convert(source, out):
    done = run(CAIRN, "convert", source, "-o", out, "--force")
    check(done.returncode == 0, f"cairn convert {source} -o {out}", done)


def collapsed_to_pprof():
    """Recursion, deep and shared stacks, and names that a reader could take apart."""
    draw = random.Random(11)
    names = [f"ns{i % 5}::f{i}" for i in range(60)] + [TEMPLATE, "operator new(unsigned long)"]
    with open("in.collapsed", "w") as file:
        for _ in range(2000):
            stack = [names[int(draw.random() ** 2 * len(names))]
                     for _ in range(draw.randint(1, 25))]
            file.write(f"main;{';'.join(stack)} {draw.randint(1, 50)}\n")
    convert("in.collapsed", "out.pb.gz")
    rows = compare_tops("out.pb.gz")
    check(TEMPLATE in rows, "a template's name was changed")
    convert("out.pb.gz", "again.collapsed")
    total = {}
    for line in open("in.collapsed"):
        stack, count = line.rsplit(" ", 1)
        total[stack] = total.get(stack, 0) + int(count)
    again = dict(line.rsplit(" ", 1) for line in open("again.collapsed"))
    check(again == {stack: f"{count}\n" for stack, count in total.items()},
          "the stacks did not come back")
    return len(rows)


def two_values_and_inlines():
    """Samples and nanoseconds, an inlined call, a mangled name, frames without a name."""
    texts = ["", "samples", "count", "cpu", "nanoseconds", "main", TEMPLATE, "_ZN3app3getEv",
             "small", "wl.cpp", "/no/such/wl", "cafe", "thread", "worker"]
    at = {text: index for index, text in enumerate(texts)}
    parts = [message(1, number(1, 1), number(2, 2)), message(1, number(1, 3), number(2, 4)),
             message(2, packed(1, 2, 1), packed(2, 3, 30_000),
                     message(3, number(1, at["thread"]), number(2, at["worker"]))),
             message(2, packed(1, 3, 2, 1), packed(2, 2, 20_000)),
             message(2, packed(1, 1, 1), packed(2, 1, 10_000)),
             message(3, number(1, 1), number(2, 0x400000), number(3, 0x500000),
                     number(5, at["/no/such/wl"]), number(6, at["cafe"]), number(7, 1)),
             location(1, number(2, 1), number(3, 0x400010), message(4, number(1, 1), number(2, 8))),
             location(2, number(2, 1), number(3, 0x400020), message(4, number(1, 3), number(2, 4)),
                      message(4, number(1, 2), number(2, 9))),
             location(3, number(2, 1), number(3, 0x400030), message(4, number(1, 1))),
             message(5, number(1, 1), number(2, at["main"]), number(4, at["wl.cpp"])),
             message(5, number(1, 2), number(2, at[TEMPLATE]), number(3, at["_ZN3app3getEv"])),
             message(5, number(1, 3), number(2, at["small"]), number(4, at["wl.cpp"]))]
    with open("theirs.pb", "wb") as file:
        file.write(b"".join(parts) + b"".join(text(6, string) for string in texts))
    convert("theirs.pb", "ours.pb.gz")
    for path in ("theirs.pb", "ours.pb.gz"):
        compare_tops(path, ["-sample_index=samples"], ["--value=samples"])
        compare_tops(path, ["-sample_index=cpu", "-unit=ns"], ["--value=cpu"])
        compare_tops(path, ["-unit=ns"])  # both show the same one where nobody says which
    rows = top_of_cairn("ours.pb.gz", "--value=samples")
    check(rows == {"main": (3, 6), TEMPLATE: (0, 5), "small": (3, 5)}, f"the table is {rows}")
    tags = run("go", "tool", "pprof", "-symbolize=none", "-tags", "ours.pb.gz")
    check("worker" in tags.stdout, "the label is lost", tags)


def addresses():
    """Frames without names stay addresses for both."""
    with open("raw.pb", "wb") as file:
        file.write(profile(places=locations(line=False)))
    convert("raw.pb", "raw.pb.gz")
    raw = run("go", "tool", "pprof", "-symbolize=none", "-raw", "raw.pb.gz")
    check(raw.returncode == 0 and "0x1002 M=1" in raw.stdout, "the addresses are lost", raw)
    check(top_of_cairn("raw.pb.gz") == {"wl+0x2": (5, 5), "wl+0x1": (0, 5)}, "the raw table")


def main():
    if not shutil.which("go") or "usage" not in run("go", "tool", "pprof", "-h").stderr.lower():
        print("skipped: there is no go tool pprof to ask (apt-get install golang-go)")
        sys.exit(77)
    n, n_refused = compare_verdicts()
    rows = collapsed_to_pprof()
    two_values_and_inlines()
    addresses()
    print(f"{n} files plain and gzip, {n_refused} of them refused by both; {rows} rows equal")


main()
