#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every entry of .ARM.exidx of the cross compiler's arm libraries, beside what readelf -u says of it.

readelf does not decode what follows a personality routine that is none of the ABI's (all of C++):
these bytes are put into its words here.
"""
import glob
import itertools
import os
import re
import subprocess
import sys

ROWS = os.environ["BUILD"] + "/tests/e2e/exidx_rows"
LIBRARIES = "/usr/arm-linux-gnueabihf/lib/"
FILES = [  # a file, at least so many rows
    ("libc.so.6", 500), ("libstdc++.so.6", 2000), ("ld-linux-armhf.so.3", 5),
    ("libasan.so.*", 1000), ("libgcc_s.so.1", 10),
]


def sections(path):
    text = subprocess.run(["readelf", "-WS", path], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    for found in re.finditer(r"\] (\S+) +\S+ +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", text):
        yield found[1], *(int(x, 16) for x in found.groups()[1:])


def registers(first, last):
    return ", ".join(f"r{i}" for i in range(first, last + 1))


def words_of(code):
    """What readelf would print of the instructions that compilers write."""
    at = iter(code)
    for op in at:
        if op == 0xb0:
            return
        if op < 0x80:
            yield "vsp = vsp %s %d" % ("-" if op & 0x40 else "+", ((op & 0x3f) << 2) + 4)
        elif op < 0x90:
            mask = (op & 15) << 8 | next(at)
            yield "pop {%s}" % ", ".join(f"r{i + 4}" for i in range(12) if mask & 1 << i)
        elif op < 0xa0:
            yield f"vsp = r{op & 15}"
        elif op < 0xb0:
            yield "pop {%s%s}" % (registers(4, 4 + (op & 7)), ", r14" if op & 8 else "")
        elif op == 0xb1:
            mask = next(at)
            yield "pop {%s}" % ", ".join(f"r{i}" for i in range(4) if mask & 1 << i)
        elif op == 0xb2:
            value = shift = 0
            for byte in at:
                value |= (byte & 0x7f) << shift
                shift += 7
                if not byte & 0x80:
                    break
            yield f"vsp = vsp + {0x204 + (value << 2)}"
        elif op in (0xb3, 0xc8, 0xc9):
            n = (next(at) & 15) + 1
            yield f"vsp = vsp + {8 * n + (4 if op == 0xb3 else 0)}"
        elif op & 0xf8 in (0xb8, 0xd0):
            yield f"vsp = vsp + {8 * ((op & 7) + 1) + (4 if op < 0xc0 else 0)}"
        else:
            yield f"unknown {op:#x}"


def generic(path, places, vaddr):
    """The instructions behind a personality's address."""
    for name, start, offset, size in places:
        if name == ".ARM.extab" and start <= vaddr < start + size:
            with open(path, "rb") as f:
                f.seek(offset + vaddr - start + 4)
                first = f.read(4)
                data = first + f.read(4 * first[3])
            code = b"".join(data[i:i + 4][::-1] for i in range(0, len(data), 4))
            return list(words_of(code[1:]))
    return ["not in .ARM.extab"]


def theirs(path):
    """(function, what readelf says: a word, or instructions)."""
    text = subprocess.run(["readelf", "-u", path], text=True, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    places, entry, extab = list(sections(path)), None, None
    for line in text.splitlines():
        head = re.match(r"0x([0-9a-f]+)(?: <.*>)?: (\S+)(.*)", line)
        if head:
            if entry:
                yield entry
            entry = (int(head[1], 16), [])
            extab = int(head[2][1:], 16) if head[2][0] == "@" else None
            if "cantunwind" in head[3]:
                entry = (entry[0], "cantunwind")
        elif "Personality routine" in line:
            entry = (entry[0], generic(path, places, extab))
        elif re.match(r"  0x", line) and entry:
            entry[1].append(re.sub(r"^ +(0x[0-9a-f]{2} )+ *", "", line).strip())
    if entry:
        yield entry


def run(code):
    """Instructions to the line that exidx_rows prints."""
    base, vsp, saved = 13, 0, {}
    for line in code:
        if line == "finish":
            break
        if add := re.fullmatch(r"vsp = vsp ([+-]) (\d+)", line):
            vsp += int(add[1] + add[2])
        elif move := re.fullmatch(r"vsp = r(\d+)", line):
            base, vsp = int(move[1]), 0
        elif pops := re.fullmatch(r"pop \{(.*)\}", line):
            for name in pops[1].split(", "):
                if name[0] in "rp":
                    saved[14 if name == "r15" else int(name[1:])] = vsp
                    vsp += 4
                else:
                    vsp += 8
        else:
            return line
    if 13 in saved:  # the trampolines of signals: all registers, and so the stack itself
        return "odd"
    return " ".join([f"r{base}{vsp:+d}"] + [f"{r}={saved[r] - vsp}" for r in sorted(saved)])


def main():
    wrong = compared = 0
    for pattern, least in FILES:
        path = next(iter(sorted(glob.glob(LIBRARIES + pattern))), None)
        if not path:
            print(f"{pattern} is not there: not compared")
            continue
        mine = subprocess.run([ROWS, path], text=True, check=True,
                              stdout=subprocess.PIPE).stdout.splitlines()
        differ = rows = 0
        for a, b in itertools.zip_longest(mine, theirs(path)):
            said = b and "%x %s" % (b[0], b[1] if isinstance(b[1], str) else run(b[1]))
            rows += "r" in (a or "").partition(" ")[2][:1]
            if a != said:
                differ += 1
                if differ <= 5:
                    print(f"{path}: {a}, expected {said}")
        print(f"{path}: {len(mine)} entries, {rows} rows, {differ} differ")
        if rows < least:
            print(f"{path}: too few, expected at least {least}")
        wrong += differ + (rows < least)
        compared += 1
    if not compared:
        print("skipped: no arm libraries (gcc-arm-linux-gnueabihf)")
        return 77
    return 1 if wrong else 0


sys.exit(main())
