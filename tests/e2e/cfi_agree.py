#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every row of the CFI of real libraries of three CPUs, beside what readelf --debug-dump=frames-interp
makes of it.

readelf prints u both for what is undefined and for what nothing was said of; ours holds the
difference, so that either counts as its u, but for the column of the return address, which every CIE
for x86-64 speaks of. It leaves out RA_SIGN_STATE, and prints the bytes of no expression.
"""
import glob
import itertools
import os
import re
import subprocess
import sys

ROWS = os.environ["BUILD"] + "/tests/e2e/cfi_rows"
X86 = "rax rdx rcx rbx rsi rdi rbp rsp".split()
FILES = [  # a file, its section, at least so many rows
    ("odd.so", ".eh_frame", 12),  # made of cfi_odd.s
    ("/lib/x86_64-linux-gnu/libc.so.6", ".eh_frame", 20000),
    ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", ".eh_frame", 20000),
    ("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", ".eh_frame", 50000),
    # has a CFA by expression, and then another register with the offset of before
    ("/usr/lib/x86_64-linux-gnu/libgcrypt.so.*", ".eh_frame", 1000),
    ("/lib64/ld-linux-x86-64.so.2", ".eh_frame", 1000),
    ("/usr/bin/python3", ".eh_frame", 10000),
    ("/usr/aarch64-linux-gnu/lib/libc.so.6", ".eh_frame", 10000),
    ("/usr/aarch64-linux-gnu/lib/libstdc++.so.6", ".eh_frame", 10000),
    ("/usr/arm-linux-gnueabihf/lib/libasan.so.*", ".debug_frame", 1000),
]


def number(register, ra):
    """DWARF's number of what readelf calls a register."""
    if register == "ra":
        return ra
    if register in X86:
        return X86.index(register)
    if register == "sp":
        return 31
    found = re.fullmatch(r"[rx](\d+)", register)
    return int(found[1]) if found else None


def rule(text, ra):
    """As ours: exp, c-8, v+0, r12+0."""
    if text in ("u", "s", "exp", "vexp") or re.fullmatch(r"[cv][+-]\d+", text):
        return text
    found = re.fullmatch(r"([a-z]+\d*)([+-]\d+)?", text)
    return "r%d%s" % (number(found[1], ra), found[2] or "+0")


def theirs(path, section):
    """(offset, from, to, [(from, cfa, {register: rule})]) of each FDE."""
    text = subprocess.run(["readelf", "-wNF", "--debug-dump=frames-interp", path], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    here, cies, fde, ra, columns = False, {}, None, None, []
    rows = None
    for line in text.splitlines():
        if line.startswith("Contents of the "):
            here = f" {section} " in line
        if not here or not line:
            continue
        head = re.sub(r"\(\w+\)", "", line).split()
        if "CIE" in head[3:4]:
            if fde:
                yield fde
            fde, ra = None, int(line.rpartition("ra=")[2])
            rows = cies[int(head[0], 16)] = []
            rows.append(ra)
        elif "FDE" in head[3:4]:
            if fde:
                yield fde
            cie = cies[int(head[4].removeprefix("cie="), 16)]
            low, high = (int(x, 16) for x in head[5].removeprefix("pc=").split(".."))
            ra, rows = cie[0], []
            fde = (int(head[0], 16), low, high, rows, cie[1:])
        elif head[0] == "LOC":
            columns = [number(x, ra) for x in head[2:]]
        elif rows is not None and head[1] != "ZERO" and re.fullmatch(r"[0-9a-f]{8,16}", head[0]):
            said = {c: rule(x, ra) for c, x in zip(columns, head[2:]) if c is not None and c < 34}
            rows.append((int(head[0], 16), rule(head[1], ra).replace("vexp", "exp"), said))
    if fde:
        yield fde


def ours(path, section):
    ran = subprocess.Popen([ROWS, path, section], stdout=subprocess.PIPE, text=True)
    fde = None
    for line in ran.stdout:
        head = re.sub(r"\(\w+\)", "", line).split()
        if head[0] == "F":
            if fde:
                yield fde
            fde = (*(int(x, 16) for x in head[1:4]), [], int(head[4]))
        elif head[0] == "R":
            said = {int(x): y for x, _, y in (pair.partition("=") for pair in head[4:])}
            said.pop(34, None)
            fde[3].append((int(head[1], 16), head[3].replace("vexp", "exp"), said))
        else:
            sys.exit(f"{path}: {line}")
    if fde:
        yield fde
    if ran.wait():
        sys.exit(f"{path}: cfi_rows ended with {ran.returncode}")


def same_rules(mine, other, ra):
    for register in mine.keys() | other.keys():
        a, b = mine.get(register, "s"), other.get(register, "u")
        if a != b and not (a == "s" and b == "u" and (register != ra or ra != 16)):
            return False
    return True


def compare_fde(path, mine, other):
    """Those of readelf's rows that have no address are none; it prints no row of an FDE that says
    nothing beyond its CIE, and several at one address where the last one counts."""
    off, low, high, rows, initial = other
    if mine[:3] != (off, low, high):
        return f"{path}: FDE {mine[0]:#x} for {mine[1]:#x}-{mine[2]:#x}, expected {other[:3]}"
    if not rows:
        rows = [(low, *initial[-1][1:])]
    rows = [row for row, after in itertools.zip_longest(rows, rows[1:])
            if row[0] < high and (not after or row[0] != after[0])]
    for a, b in itertools.zip_longest(mine[3], rows):
        if not a or not b or a[:2] != b[:2] or not same_rules(a[2], b[2], mine[4]):
            return f"{path}: FDE {off:#x}: row {a}, expected {b}"
    return None


def main():
    wrong = 0
    if os.uname().machine == "x86_64":
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", "odd.so",
                        os.environ["SRC"] + "/tests/e2e/cfi_odd.s"], check=True)
    for pattern, section, least in FILES:
        path = next(iter(sorted(glob.glob(pattern))), None)
        if not path:
            print(f"{pattern} is not there: not compared")
            continue
        n_rows = n_fdes = differ = 0
        sound = (fde for fde in theirs(path, section) if fde[1] < fde[2])
        for mine, other in itertools.zip_longest(ours(path, section), sound):
            said = "more FDEs on one side" if not mine or not other else compare_fde(path, mine, other)
            n_fdes += 1
            n_rows += len(mine[3]) if mine else 0
            if said:
                differ += 1
                if differ <= 5:
                    print(said)
        print(f"{path}: {n_fdes} FDEs, {n_rows} rows, {differ} FDEs differ")
        if n_rows < least:
            print(f"{path}: too few, expected at least {least}")
            wrong += 1
        wrong += differ
    return 1 if wrong else 0


sys.exit(main())
