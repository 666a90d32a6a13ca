#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""symbolize_compare.py CAIRN ELF COUNT: looks up COUNT random code addresses of ELF with cairn and with
llvm-symbolizer, addr2line and eu-addr2line. Where two of the three agree on lines and inline chain,
cairn must say the same, and each name must be one of theirs, or differ by one of the rules below. Prints what was compared; exit status 1 after a difference that no rule explains.

Each other tool is wrong somewhere, so that none alone is the judge:
  addr2line 2.40   loses inline frames in clang's DWARF 5, names headers' lines under the unit's file
  eu-addr2line     needs .debug_aranges (clang writes none), loses chains into closures
  llvm-symbolizer  takes the nearest symbol for code between symbols, so gaps are left out here
"""
import json
import os
import random
import re
import subprocess
import sys

SUFFIX = re.compile(r"(\.(cold|part|isra|constprop|llvm|localalias|lto_priv)(\.\d+)*)+$")


def addresses(elf, count):
    """Uniform over the bytes of functions; the same ones in each run."""
    functions = set()
    text = subprocess.run(["readelf", "-sW", "--dyn-syms", elf], capture_output=True, text=True).stdout
    for line in text.splitlines():
        word = line.split()
        if len(word) >= 8 and word[3] in ("FUNC", "IFUNC") and word[6] != "UND":
            size = int(word[2], 0)
            if size:
                functions.add((int(word[1], 16), size))
    functions = sorted(functions)
    pick = random.Random(42)
    weights = [size for _, size in functions]
    chosen = pick.choices(functions, weights=weights, k=count) if functions else []
    return sorted({start + pick.randrange(size) for start, size in chosen})


def ask(command, asked):
    """The output for `asked` on stdin; None where the tool is missing."""
    try:
        run = subprocess.run(command, input="".join("0x%x\n" % a for a in asked),
                             capture_output=True, text=True, errors="replace", timeout=280)
    except FileNotFoundError:
        return None
    return run.stdout


def location(text):
    text = text.split(" (discriminator")[0]
    path, _, line = text.rpartition(":")
    if path and re.fullmatch(r"\d+", line) and re.search(r":\d+$", path):  # eu: file:line:column
        path, _, line = path.rpartition(":")
    path = os.path.basename(path)
    if path in ("", "??") or line in ("?", ""):
        return (path if path != "??" else "", 0)
    return (path, int(line))


def addr2line(command, asked):
    """{address: [(function, file, line)]} out of -a -f -i."""
    out = ask(command, asked)
    if out is None:
        return None
    answers, current, function = {}, None, None
    for line in out.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            current, function = int(line, 16), None
            answers[current] = []
        elif function is None:
            function = line.split(" inlined at ")[0]
        else:
            answers[current].append((function, *location(line)))
            function = None
    return answers


def cairn(command, asked):
    answers = {}
    for line in ask(command, asked).splitlines():
        answer = json.loads(line)
        answers[int(answer["address"], 16)] = [
            (f["linkage"] or "??", os.path.basename(f["file"] or ""), f["line"] if f["file"] else 0,
             f["folded"]) for f in answer["frames"]]
    return answers


def lines(frames):
    """Files and lines only; a place without a line is one without a file."""
    return [(f[1], f[2]) if f[2] else ("", 0) for f in frames]


def is_structor_variant(a, b):
    """...C1E... and ...C2E...: one constructor of the source."""
    differ = [i for i in range(min(len(a), len(b))) if a[i] != b[i]]
    return len(a) == len(b) and len(differ) == 1 and a[differ[0] - 1] in "CD"


def same_name(ours, theirs, folded):
    """Linkage names: equal, or different by one of the rules."""
    bare = SUFFIX.sub("", theirs)
    if theirs in ("??", "") or ours in (theirs, bare):
        return True  # what the compiler hung behind a name is an attribute of ours
    if folded or is_structor_variant(ours, bare):
        return True
    # One took the mangled name from the symbol table, where the compiler gave only a plain one:
    # then the one speaks of the other's identifier; operators and closures have none.
    mangled, plain = (ours, bare) if ours.startswith("_") else (bare, ours)
    identifier = re.match(r"~?(\w*)", plain.split("<")[0]).group(1)
    if mangled.startswith(("_Z", "_R")) and not plain.startswith(("_Z", "_R")):
        return identifier in mangled or plain.startswith(("operator", "<lambda"))
    return plain.split("@")[0] == mangled.split("@")[0]  # symbol versions


def main():
    command, elf, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    asked = addresses(elf, count)
    ours = cairn([command, "symbolize", "--json", elf], asked)
    others = {
        "llvm": addr2line(["llvm-addr2line-14", "-a", "-f", "-i", "-e", elf], asked),
        "bfd": addr2line(["addr2line", "-a", "-f", "-i", "-e", elf], asked),
        "eu": addr2line(["eu-addr2line", "-a", "-f", "-i", "-e", elf], asked),
    }
    others = {name: answers for name, answers in others.items() if answers is not None}
    n = {"lines": 0, "names": 0, "alone": 0}
    wrong = []
    for a in asked:
        theirs = [(name, answers[a]) for name, answers in others.items() if answers.get(a)]
        for i, (name, frames) in enumerate(theirs):
            agree = [(other, f) for other, f in theirs[i + 1:] if lines(f) == lines(frames)]
            if not agree:
                continue
            n["lines"] += 1
            if any(f[2] for f in frames) and lines(ours[a]) != lines(frames):
                wrong.append((a, name + " and " + agree[0][0], frames, ours[a]))
            elif len(ours[a]) == len(frames):
                n["names"] += 1
                for o, t, u in zip(ours[a], frames, agree[0][1]):
                    if not same_name(o[0], t[0], o[3]) and not same_name(o[0], u[0], o[3]):
                        wrong.append((a, name + " and " + agree[0][0], frames, ours[a]))
            break
        else:  # all disagree: in clang's DWARF 5 the other two are known to be wrong
            llvm = others.get("llvm", {}).get(a)
            if llvm and any(f[2] for f in llvm):
                n["alone"] += 1
                if lines(ours[a]) != lines(llvm):
                    wrong.append((a, "llvm alone", llvm, ours[a]))
    print("%s: %d addresses, %s; lines and chains compared %d, names %d, with llvm alone %d, "
          "unexplained %d" % (os.path.basename(elf), len(asked), " ".join(others), n["lines"],
                              n["names"], n["alone"], len(wrong)))
    for a, who, theirs, mine in wrong[:5]:
        print("  %#x\n    %s: %s\n    cairn: %s" % (a, who, theirs, mine))
    return 1 if wrong or not n["lines"] + n["names"] else 0


sys.exit(main())
