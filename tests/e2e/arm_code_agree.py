#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What arm's code says at each of its instructions (src/unwind/arm_code.h), beside .debug_frame: of
libraries of the cross compiler, and of the room dwarf as it makes it in other ways.

.debug_frame is not always right. Two differences are known and counted:
  halfway  a frame is taken down by two additions to sp, and GCC's row between them has neither
  lost     a function that never returns saves no registers, and uses them all the same: the rows say
           that they hold what they held. Ours may say of such a register that it is lost, no more
Nothing is found by code at traps, and where it goes on by a table of places: a few in a thousand.
"""
import bisect
import glob
import os
import re
import subprocess
import sys

ROWS = os.environ["BUILD"] + "/tests/e2e/arm_code_rows"
SRC = os.environ["SRC"]
LIBRARIES = "/usr/arm-linux-gnueabihf/lib/"
TOOLS = "arm-linux-gnueabihf-"
MADE = [  # a name, how the room dwarf is made
    ("a32.so", "-marm -O2"),
    ("a32_frame.so", "-marm -O1 -fno-omit-frame-pointer"),
    ("t32_small.so", "-mthumb -Os"),
]
SILENT_PER_MILLE = 3
LOST_PER_MILLE = 4  # of the libraries'; in the room dwarf no function never returns


def make(name, options):
    sources = sorted(glob.glob(SRC + "/src/dwarf/*.c"))
    subprocess.run([TOOLS + "gcc", "-shared", "-nostdlib", "-fPIC", "-g1", "-std=gnu17", "-D_GNU_SOURCE",
                    "-funwind-tables", "-w", *options.split(), "-I" + SRC + "/src", "-I" + SRC + "/include",
                    "-o", name, *sources], check=True)
    return name


def symbols(path):
    """([(address, a, t or d)], {where functions begin})"""
    marks, starts = [], set()
    text = subprocess.run(["readelf", "-sW", path], text=True, check=True, stdout=subprocess.PIPE).stdout
    for words in map(str.split, text.splitlines()):
        if len(words) == 8 and words[7] in ("$a", "$t", "$d"):
            marks.append((int(words[1], 16), words[7][1]))
        elif len(words) == 8 and words[3] == "FUNC":
            starts.add(int(words[1], 16) & ~1)
    return sorted(marks), starts


def instructions(path):
    """{address: (set, text)}, without what fills up to a function or to data."""
    marks, starts = symbols(path)
    at = [mark[0] for mark in marks]
    text = subprocess.run([TOOLS + "objdump", "-d", "--no-show-raw-insn", path], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    found, filling = {}, {}
    for line in re.finditer(r"^ +([0-9a-f]+):\t(\S.*)", text, re.M):
        address = int(line[1], 16)
        i = bisect.bisect_right(at, address) - 1
        kind = marks[i][1] if i >= 0 else "a"
        if kind == "d" or address in starts:
            filling = {}
        if kind == "d" or line[2].startswith("."):
            continue
        if line[2].startswith("nop"):
            filling[address] = (kind, line[2])
            continue
        found.update(filling)
        filling = {}
        found[address] = (kind, line[2])
    return found


def parts(row):
    """((register, offset), {register: rule})"""
    words = row.split()
    cfa = re.fullmatch(r"(r\d+)([+-]\d+)", words[0])
    return (cfa[1], int(cfa[2])), dict(re.fullmatch(r"(\d+)(\?|=-?\d+)", x).groups() for x in words[1:])


def is_halfway(code, order, i, mine, other):
    """The instruction before, which this one goes on with, has added what the rows differ by."""
    added = [re.match(r"addw?(?:\.w)?\tsp, (?:sp, )?#(\d+)", code[order[i - k]][1]) for k in (0, 1)]
    return bool(all(added) and mine[1] == other[1] and mine[0][0] == other[0][0] and
                other[0][1] - mine[0][1] == int(added[1][1]))


def is_lost(mine, other):
    return mine[0] == other[0] and all(mine[1].get(r) == "?" for r, _ in mine[1].items() ^ other[1].items())


def compare(path):
    code = instructions(path)
    order = sorted(code)
    place = {address: i for i, address in enumerate(order)}
    asked = "".join(f"{address:x} {code[address][0]}\n" for address in order)
    said = subprocess.run([ROWS, path], input=asked, text=True, check=True,
                          stdout=subprocess.PIPE).stdout.splitlines()
    silent = halfway = lost = wrong = 0
    for line in said[:-1]:
        address, _, text = line.partition(":")
        if text == " silent":
            silent += 1
            continue
        mine, other = map(parts, text.split(", .debug_frame has"))
        if is_halfway(code, order, place[int(address, 16)], mine, other):
            halfway += 1
        elif is_lost(mine, other):
            lost += 1
        else:
            wrong += 1
            if wrong <= 5:
                print(f"{path}: {line}")
    covered = len(order) - int(re.search(r"(\d+) without rows", said[-1])[1])
    print(f"{os.path.basename(path)}: {covered} instructions, {silent} silent, {halfway} halfway, {lost} lost, "
          f"{wrong} wrong")
    most = covered * LOST_PER_MILLE if path.startswith(LIBRARIES) else 0
    few = silent * 1000 <= covered * SILENT_PER_MILLE and lost * 1000 <= most
    if covered < 10000 or not few:
        print(f"{path}: fewer instructions than expected, or more that are silent or lost")
    return wrong == 0 and few and covered >= 10000


def main():
    if subprocess.run(["which", TOOLS + "gcc", TOOLS + "objdump"], stdout=subprocess.DEVNULL).returncode:
        print("skipped: gcc-arm-linux-gnueabihf is missing")
        return 77
    files = [make(*row) for row in MADE]
    for name in ["libubsan.so.*"] + (["libasan.so.*"] if os.environ.get("CAIRN_FULL") else []):
        files += sorted(glob.glob(LIBRARIES + name))[:1]
    return 0 if all([compare(path) for path in files]) else 1


sys.exit(main())
