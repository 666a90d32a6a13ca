# SPDX-License-Identifier: MIT
"""Copies that tests/e2e/hook_dry made of the first instructions of a library's functions."""
import os
import subprocess

DRY = os.environ["BUILD"] + "/tests/e2e/hook_dry"


def run(*words):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def opposites(pairs):
    """{mnemonic of a conditional branch: that of its opposite}, both ways; of "je jne, jb jae"."""
    found = {}
    for one, other in map(str.split, pairs.split(",")):
        found[one], found[other] = other, one
    return found


def check_moves(path, near, far, reasons, problems):
    """(Copies, refused ones, what is wrong). `problems(base, rows)`: a text or None for each row of a region,
    whose copies stand one behind the other from `base` on. A row: from, least, to, taken, bytes, offsets."""
    lines = [line.split() for line in run(DRY, path, f"{near:x}", f"{far:x}").splitlines()]
    rows = [row for row in lines if len(row) == 6]
    refused = {" ".join(row[2:]) for row in lines if len(row) != 6}
    wrong = [f"refused: {reason}" for reason in refused - reasons]
    for base in (near, far):
        region = [row for row in rows if (int(row[2], 16) >= far) == (base == far)]
        wrong += [f"{row[0]} {row[1]}: {problem}" for row, problem in zip(region, problems(base, region)) if problem]
    return len(rows), len(lines) - len(rows), wrong
