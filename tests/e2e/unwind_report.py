#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums up what unwind/compare.c wrote: unwind_report.py FOLDER LEAST. A table of programs; exit
status 1 where a difference is none of EXPLAINED, or a program has fewer captures than LEAST.
"""
import collections
import pathlib
import re
import sys

# Which lines (of which program), and why the two walks may differ there.
EXPLAINED = [
    (r".", r"^not covered: cairn ends \((no rule|no module|bad cfa|unreadable|loop)\)",
     "no information for a frame: libunwind follows rbp unchecked, we end"),
    (r".", r"^not covered: cairn goes on by (fp guess|plt)",
     "no information for a frame: both guess, we check the guess"),
    (r".", r"^not covered: cairn (ends \(outermost\)|goes on by (cfi|signal)) .*",
     "further out than a frame without information, where the two had guessed differently"),
    (r"^odd$", r"^covered: cairn goes on by cfi to unwind_odd\S+( \(\w+\))? \| libunwind goes on to .*"
     r" \| leaf libc\.so\.6\+0x[0-9a-f]+$",
     "longjmp's end, where CFI has the return address in rdx: libunwind 1.6 reads it from the "
     "jmp_buf; ours is what the program itself holds right"),
    (r"^odd$", r"^covered: cairn goes on by cfi to unwind_odd\S+( \(\w+\))? \| libunwind ends \(0\)"
     r" \| at (unwind_odd\+\S+)( \(\w+\))? \| leaf \2",
     "the end of a realigned frame, where GCC 12 names places by an rbp that is gone: libunwind "
     "ends; ours is what the program itself holds right"),
]


def why(program, text):
    return next((reason for name, pattern, reason in EXPLAINED
                 if re.search(name, program) and re.search(pattern, text)), None)


def read(path, sums):
    program = path.name.split(".")[0]
    lines = path.read_text(errors="replace").splitlines()
    found = re.match(r"captures (\d+) identical (\d+) frames (\d+) lost (\d+)", lines[0])
    mine = sums.setdefault(program, collections.Counter())
    for name, value in zip(("captures", "identical", "frames", "lost"), found.groups()):
        mine[name] += int(value)
    for line in lines[1:]:
        count, text = line.split(" ", 1)
        reason = why(program, text)
        mine["explained" if reason else "unexplained"] += int(count)
        mine[("why", reason or f"UNEXPLAINED {text}")] += int(count)


def main():
    folder, least = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    sums, failed = {}, False
    for path in sorted(folder.iterdir()):
        if re.fullmatch(r"\w+\.\d+", path.name):
            read(path, sums)
    for program, mine in sums.items():
        print(f"{program}: {mine['captures']} captures, {mine['identical']} identical, "
              f"{mine['explained']} explained, {mine['unexplained']} not; "
              f"{mine['frames'] / mine['captures']:.1f} frames")
        for key in sorted((key for key in mine if isinstance(key, tuple)), key=lambda k: -mine[k]):
            print(f"    {mine[key]} {key[1]}")
        few = mine["captures"] < least
        if few:
            print(f"    too few captures: at least {least}")
        failed |= few or mine["unexplained"] > 0 or mine["lost"] > 0
    return failed or not sums


sys.exit(main())
