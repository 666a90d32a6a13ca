#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""compare.py OUT [NAME...]: random addresses of the programs that prepare.sh has put into OUT (all, or
those named), looked up by cairn and by three others. Prints for each program and tool at how many
addresses names, lines and chains of inlined calls differ, and why: classes.py knows the kinds of
difference, and which of them say that cairn is right. What it cannot explain is printed; then the exit
status is 1.

What the others answer is kept below OUT/work/answers, so that a second run asks cairn alone.

  --cairn FILE   the command to test (build/cairn)
  --count N      addresses (100000)
  --limit S      CPU seconds for each tool; what it did not reach is not compared (120)
  --examples N   of each class, and of what has no explanation (3)
"""
import argparse
import bisect
import collections
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys

import classes

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLES = {
    "addr2line": ["addr2line", "-a", "-f", "-i", "-e"],
    "eu-addr2line": ["eu-addr2line", "-a", "-f", "-i", "-e"],
    "llvm-14": ["llvm-addr2line-14", "-a", "-f", "-i", "-e"],
}
INSIDE = 0.95  # of the addresses lie in functions that the symbol table knows; the others anywhere in code


class Program:
    """What the ELF file says of itself: read by readelf, not by cairn."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)
        self.symbols = []  # (start, size, name) of functions
        for word in self.read("-sW", "--dyn-syms"):
            if len(word) >= 8 and word[3] in ("FUNC", "IFUNC", "NOTYPE") and word[6] not in ("UND", "ABS"):
                self.symbols.append((int(word[1], 16), int(word[2], 0), word[7], word[3]))
        self.symbols.sort()
        self.code = []  # (start, end, name) of executable sections
        self.sections = set()
        for word in self.read("-SW"):
            text = " ".join(word)
            row = re.match(r"\[ *\d+\] (\S+) +(\S+) +([0-9a-f]+) +[0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +(\w*) ", text)
            if row:
                self.sections.add(row[1])
                if "X" in row[5] and "A" in row[5]:
                    start = int(row[3], 16)
                    self.code.append((start, start + int(row[4], 16), row[1]))
        self.starts = [s[0] for s in self.symbols]

    def read(self, *options):
        text = subprocess.run(["readelf", *options, self.path], capture_output=True, text=True,
                              errors="replace").stdout
        return map(str.split, text.splitlines())

    def section_of(self, address):
        return next((name for low, high, name in self.code if low <= address < high), "")

    def symbols_over(self, address):
        """Functions whose bytes hold the address, the nearest first."""
        found = []
        for i in range(bisect.bisect_right(self.starts, address) - 1, -1, -1):
            start, size, name, _ = self.symbols[i]
            if address < start + size:
                found.append(name)
            if address - start > 1 << 20 or len(found) > 40:
                break
        return found

    def labels_before(self, address):
        """Symbols without a size: labels, marks of the linker. Those a little before the address."""
        i = bisect.bisect_right(self.starts, address) - 1
        return [s[2] for s in self.symbols[max(0, i - 40):i + 1] if not s[1]]

    def nearest(self, address):
        """Names of the symbols at the greatest address that is not above."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0:
            return []
        return [s[2] for s in self.symbols[bisect.bisect_left(self.starts, self.starts[i]):i + 1]]

    def addresses(self, count):
        """The same ones in each run."""
        pick = random.Random(42)
        functions = sorted({s[:2] for s in self.symbols if s[1] and s[3] != "NOTYPE"})
        chosen = []
        for spans, n in ((functions, round(count * INSIDE)), ([(a, b - a) for a, b, _ in self.code], count)):
            ends = list(itertools.accumulate(size for _, size in spans))
            while len(chosen) < n:
                byte = pick.randrange(ends[-1])
                index = bisect.bisect_right(ends, byte)
                chosen.append(spans[index][0] + byte - (ends[index] - spans[index][1]))
        pick.shuffle(chosen)
        return list(dict.fromkeys(chosen))


def is_elf(path):
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def limit_cpu(seconds):
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def ask(command, asked, folder, name, limit):
    """The file with the command's output for `asked`; an older one serves."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        questions = os.path.join(folder, name + ".in")
        with open(questions, "w") as file:
            file.writelines("0x%x\n" % a for a in asked)
        with open(questions) as source, open(path + ".new", "w") as target:
            subprocess.run(command, stdin=source, stdout=target, stderr=subprocess.DEVNULL,
                           preexec_fn=limit_cpu(limit))
        os.replace(path + ".new", path)
        os.remove(questions)
    return path


def location(text):
    text = text.split(" (discriminator")[0]
    path, _, line = text.rpartition(":")
    if path and re.fullmatch(r"\d+", line) and re.search(r":\d+$", path):  # eu: file:line:column
        path, _, line = path.rpartition(":")
    path = os.path.basename(path)
    if path in ("", "??"):
        return ("", 0)
    return (path, int(line) if line.isdigit() else 0)


def addr2line_answers(path):
    """{address: [(function, file, line)]} out of -a -f -i; the last one may be cut."""
    answers, current, function = {}, None, None
    with open(path, errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if re.fullmatch(r"0x[0-9a-f]+", line):
                current, function = int(line, 16), None
                answers[current] = []
            elif function is None:
                function = re.split(" inlined (?:at|from) ", line)[0]
            elif current is not None:
                answers[current].append((("" if function == "??" else function), *location(line)))
                function = None
    if current is not None:
        del answers[current]
    return answers


def cairn_answers(command, program, asked):
    text = "".join("0x%x\n" % a for a in asked)
    run = subprocess.run([command, "symbolize", "--json", program.path], input=text, stdout=subprocess.PIPE,
                         text=True, errors="replace")
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        answers[int(answer["address"], 16)] = [
            classes.Frame(f["linkage"] or "", os.path.basename(f["file"] or ""), f["line"], f["function"] or "",
                          f["suffix"] or "", f["folded"], f["source"] or "", f["inlined"])
            for f in answer["frames"]]
    return answers


class Count:
    """Of one program and one oracle."""

    def __init__(self):
        self.n = 0
        self.differ = collections.Counter()
        self.classes = collections.Counter()
        self.examples = collections.defaultdict(list)


def compare(program, oracle, ours, answers, n_examples):
    count = Count()
    for address, frames in answers[oracle].items():
        mine = ours.get(address)
        if mine is None:
            continue
        count.n += 1
        level = classes.levels(mine, frames)
        if not any(level):
            continue
        count.differ.update(name for name, set_ in zip(("names", "lines", "chains"), level) if set_)
        others = [other[address] for name, other in answers.items() if name != oracle and address in other]
        kind = classes.explain(program, oracle, address, mine, frames, others)
        count.classes[kind] += 1
        if len(count.examples[kind]) < n_examples:
            count.examples[kind].append((address, mine, frames))
    return count


def show(frames):
    return " < ".join("%s %s:%d" % (f[0] or "??", f[1] or "??", f[2]) for f in frames) or "nothing"


def report(program, oracle, count, verbose):
    print("%-13s %-13s %7d %7d %7d %7d" % (program.name, oracle, count.n, count.differ["names"],
                                          count.differ["lines"], count.differ["chains"]))
    for kind, n in count.classes.most_common():
        verdict = " (%s)" % classes.verdict(kind) if kind else ""
        print("    %6.2f %% %7d  %s%s" % (100 * n / max(count.n, 1), n, kind or "NOT EXPLAINED", verdict))
        if verbose or kind is None:
            for address, mine, theirs in count.examples[kind]:
                print("        %#x\n          cairn: %s\n          %s: %s" % (address, show(mine), oracle,
                                                                        show(theirs)))
    sys.stdout.flush()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cairn", default=os.path.join(HERE, "../../build/cairn"))
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("-v", "--verbose", action="store_true", help="examples of explained classes too")
    return parser.parse_args()


def main():
    args = arguments()
    folder = os.path.join(args.out, "work", "answers")
    os.makedirs(folder, exist_ok=True)
    names = args.names or sorted(n for n in os.listdir(args.out) if is_elf(os.path.join(args.out, n)))
    unexplained = 0
    print("program       tool          asked   names   lines  chains   differ")
    for name in names:
        program = Program(os.path.join(args.out, name))
        asked = program.addresses(args.count)
        ours = cairn_answers(args.cairn, program, asked)
        missing = len(asked) - len(ours)
        if missing:
            print("%s: %d of %d addresses have no answer of cairn's" % (name, missing, len(asked)))
            unexplained += missing
        answers = {
            oracle: addr2line_answers(ask(command + [program.path], asked, folder,
                                          f"{name}.{oracle}.{args.count}", args.limit))
            for oracle, command in ORACLES.items()}
        for oracle in ORACLES:
            count = compare(program, oracle, ours, answers, args.examples)
            report(program, oracle, count, args.verbose)
            unexplained += count.classes[None]
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
