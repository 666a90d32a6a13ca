#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums up what unwind/compare.c wrote: unwind_report.py FOLDER LEAST. A table of programs; exit
status 1 where one of these does not hold for a program:

- It has at least LEAST captures, and no kind of difference was lost.
- Where cairn's next frame is exact and libunwind's another one or none, the program itself came back
  to cairn's, and never to libunwind's; or libunwind's is no code.
- The program never came back past an exact frame that both have.
- Of frames that are marked as guesses, and of stacks that cairn ended, the program refuted no more
  than WRONG_MAX of its captures.
"""
import collections
import pathlib
import re
import sys

WRONG_MAX = 0.005  # of a program's captures: 5 of 1000

ANSWERS = "ours", "theirs", "neither", "not_asked"


class Answers(collections.Counter):
    """To whose next frame the program came back."""

    def read(self, line):
        numbers = re.search(r"\bback (\d+) (\d+) (\d+) (\d+)", line).groups()
        self.update(dict(zip(ANSWERS, map(int, numbers))))

    def __str__(self):
        return (f"came back to ours {self['ours']}, to libunwind's {self['theirs']}, to neither in "
                f"time {self['neither']}, not asked {self['not_asked']}")


class Kind:
    """Differences that are judged as one."""

    def __init__(self):
        self.n, self.back, self.lines = 0, Answers(), []

    def add(self, n, line):
        self.n += n
        self.back.read(line)
        self.lines.append(line)

    def show(self, title, with_lines):
        print(f"    {self.n} {title}: {self.back}")
        for line in self.lines if with_lines else []:
            print(f"        {line}")


def place(line):
    """The function, or the module, where the walks part."""
    at, name = re.search(r" \| at ([^\s|]+)(?: \(([^)]*)\))?", line).groups()
    return at.split("+")[0] + (f" ({name})" if name else "")


class Program:
    def __init__(self, name):
        self.name = name
        self.sums, self.same = collections.Counter(), collections.defaultdict(Answers)
        self.exact, self.guesses, self.ends = (collections.defaultdict(Kind) for _ in range(3))
        self.refuted = []

    def read(self, path):
        for line in path.read_text(errors="replace").splitlines():
            count, _, text = line.partition(" ")
            if found := re.match(r"captures (\d+) identical (\d+) frames (\d+) lost (\d+)", line):
                self.sums.update(dict(zip(("captures", "identical", "frames", "lost"),
                                          map(int, found.groups()))))
            elif found := re.match(r"same (\w+): ", line):
                self.same[found[1]].read(line)
            elif count == "refuted:":
                self.refuted.append(line)
            elif found := re.match(r"guess \(([^)]*)\)", text):
                self.guesses[found[1]].add(int(count), text)
            elif found := re.match(r"end: cairn ends \(([^)]*)\)", text):
                self.ends[found[1]].add(int(count), text)
            else:
                self.exact[place(text)].add(int(count), text)

    @staticmethod
    def is_proven(kind):
        is_wild = all("| libunwind goes on to no code:" in line for line in kind.lines)
        return kind.back["theirs"] == 0 and (kind.back["ours"] > 0 or is_wild)

    def wrong(self):
        """Guesses and ends that the program refuted."""
        kinds = *self.guesses.values(), *self.ends.values()
        return sum(kind.back["theirs"] for kind in kinds) + self.same["guess"]["theirs"]

    def failures(self, least):
        captures = self.sums["captures"]
        if captures < least:
            yield f"too few captures: at least {least}"
        if self.sums["lost"]:
            yield "more kinds of differences than there is room for"
        if self.same["exact"]["theirs"]:
            yield "the program does not return as both say"
        for where, kind in self.exact.items():
            if not self.is_proven(kind):
                yield f"nothing explains the exact frames at {where}"
        if self.wrong() > WRONG_MAX * captures:
            yield f"more than {WRONG_MAX:.1%} of the captures have a guess or an end that is wrong"

    def show(self, least):
        """Whether all is well."""
        sums, same = self.sums, self.same
        failures = list(self.failures(least))
        print(f"{self.name}: {sums['captures']} captures, {sums['identical']} identical; "
              f"{sums['frames'] / max(sums['captures'], 1):.1f} frames; {self.wrong()} guesses or ends "
              f"wrong ({self.wrong() / max(sums['captures'], 1):.2%} of the captures, at most "
              f"{WRONG_MAX:.1%})")
        for title, back in same.items():
            if sum(back.values()):
                print(f"    frames of both that are {title}: came back {back['ours']}, past it "
                      f"{back['theirs']}, neither in time {back['neither']}")
        for title, kinds in (("exact, at", self.exact), ("guessed by", self.guesses),
                             ("ended,", self.ends)):
            for name, kind in kinds.items():
                kind.show(f"{title} {name}", failures)
        for line in self.refuted if failures else []:
            print(f"        {line}")
        for failure in failures:
            print(f"    FAIL: {failure}")
        return not failures


def main():
    folder, least = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    programs = {}
    for path in sorted(folder.iterdir()):
        if found := re.fullmatch(r"(\w+)\.\d+", path.name):
            programs.setdefault(found[1], Program(found[1])).read(path)
    fine = [program.show(least) for program in programs.values()]
    return not fine or not all(fine)


sys.exit(main())
