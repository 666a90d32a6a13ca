#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Moved code and plans of all functions of aarch64's libc, beside what its objdump decodes: each copy,
near and far from its original, instruction by instruction; each plan's change, which no branch of the
library may lead to."""
import json
import os
import re
import shutil
import sys

from hook_rows import check_moves, opposites, run

CAIRN = os.environ["CAIRN"]
OBJDUMP = "aarch64-linux-gnu-objdump"
LIBRARY = "/usr/aarch64-linux-gnu/lib/libc.so.6"
NEAR, FAR = 0x1000000, 0x700000000000
REASONS = {"a call returns into the middle of the changed instructions", "the jump back has no free register",
           "it is part of an exclusive access or a transaction", "the bytes are no instruction, or an unknown one"}
OPPOSITE = opposites("b.eq b.ne, b.cs b.cc, b.mi b.pl, b.vs b.vc, b.hi b.ls, b.ge b.lt, b.gt b.le, cbz cbnz, tbz tbnz")
FINAL = {"b", "br", "ret", "bl", "blr", "retaa", "retab"}


def parse(text):
    """{address: (mnemonic, operands but for the target, target or None)}"""
    found = {}
    for line in re.finditer(r"^\s+([0-9a-f]+):\t[0-9a-f]{8} \t(\S+)[ \t]*(.*)$", text, re.M):
        operands = re.sub(r"\s*(//.*|<[^>]*>)", "", line[3]).strip()
        target = None
        if line[2] in OPPOSITE or line[2] in ("b", "bl", "adr", "adrp", "b.al") or \
                re.fullmatch(r"(ldr|ldrsw|prfm)\t?.*, ?(0x)?[0-9a-f]+", line[2] + " " + operands):
            head, _, last = operands.rpartition(",")
            if re.fullmatch(r"\s*(0x)?[0-9a-f]+", last):
                operands, target = head.strip(), int(last, 16)
        found[int(line[1], 16)] = (line[2], re.sub(r"\s+", " ", operands), target)
    return found


class Copies:
    def __init__(self, base, rows, name):
        image = bytearray()
        for row in rows:
            image += b"\0" * (int(row[2], 16) - base - len(image)) + bytes.fromhex(row[4])
        with open(name, "wb") as out:
            out.write(image)
        self.base, self.image = base, image
        self.insns = parse(run(OBJDUMP, "-D", "-z", "-b", "binary", "-m", "aarch64", f"--adjust-vma={base:#x}", name))

    def pooled(self, at, register):
        """The address that the ldr of an address there loads."""
        name, operands, target = self.insns.get(at, ("", "", None))
        if name != "ldr" or operands != register or target is None:
            return None
        off = target - self.base
        return int.from_bytes(self.image[off:off + 8], "little")

    def final(self, at):
        """(Where the jump at an address leads, the address behind it)"""
        name, _, target = self.insns.get(at, ("", "", None))
        if name == "b":
            return target, at + 4
        for register in ("x16", "x17"):
            if self.insns.get(at + 4, ("",))[:2] == ("br", register):
                return self.pooled(at, register), at + 8
        return None, at


def same_one(copies, original, va, at, behind, place):
    name, operands, target = original
    copy = copies.insns.get(at, ("", "", None))
    if name == "b":
        return copies.final(at) == (place(target), behind)
    if name == "bl":
        return copies.pooled(at, "x30") == va + 4 and copies.final(at + 4)[0] == target
    if name == "blr":
        by = operands
        if operands not in ("x16", "x17"):
            by = copy[1].partition(",")[0]
            if copy[0] != "mov" or copy[1] != f"{by}, {operands}" or by not in ("x16", "x17"):
                return False
            at += 4
        return copies.pooled(at, "x30") == va + 4 and copies.insns.get(at + 4, ("",))[:2] == ("br", by)
    if name in OPPOSITE:
        if copy[0] == name:
            return copy == (name, operands, place(target)) and behind == at + 4
        return copy == (OPPOSITE[name], operands, behind) and copies.final(at + 4) == (place(target), behind)
    if copy == original:
        return behind == at + 4
    if name in ("adr", "adrp"):
        return copies.pooled(at, operands) == target and behind == at + 4
    if name in ("ldr", "ldrsw", "prfm") and target is not None:
        by = copy[1]
        load = copies.insns.get(at + 4, ("", "", None))
        return copies.pooled(at, by) == target and load[:2] == (name, f"{operands}, [{by}]") and behind == at + 8 \
            and (by in ("x16", "x17") or by[1:] == operands[1:])
    return False


def check_copy(insns, copies, row, offsets):
    start, to, taken = int(row[0], 16), int(row[2], 16), int(row[3], 16)
    places = {start + 4 * i: to + off for i, off in enumerate(offsets)}
    for i in range(taken // 4):
        va = start + 4 * i
        original = insns.get(va)
        if original is None or not same_one(copies, original, va, to + offsets[i], to + offsets[i + 1],
                                            lambda target: places.get(target, target) if target != start + taken else target):
            return f"{original} at {va:#x} became {copies.insns.get(to + offsets[i])}"
    if insns[start + taken - 4][0] in FINAL:
        return None
    return None if copies.final(to + offsets[-1])[0] == start + taken else "does not go back"


def problems_of(insns):
    def problems(base, rows):
        copies = Copies(base, rows, "copies.bin")
        return [check_copy(insns, copies, row, [int(off, 16) for off in row[5].split(",")]) for row in rows]
    return problems


def check_plans(insns):
    text = json.loads(run(CAIRN, "hook", "plan", "--json", LIBRARY))
    branches, wrong = {}, []
    for va, (name, _, target) in insns.items():
        if name in OPPOSITE:
            branches.setdefault(target, []).append(va)
    for plan in text["functions"]:
        if plan["way"] == "none":
            continue
        patch = int(plan["patch"], 16)  # another function may jump to it, to call it last
        inside = [va for va in branches.get(patch, []) if patch <= va < patch + plan.get("bytes", 0)]
        if patch not in insns or inside or int(plan["resume"], 16) != patch + 4:
            wrong.append(f"{plan['name']}: {plan['patch']}")
    return text["sum"], wrong


def main():
    if not shutil.which(OBJDUMP) or not os.path.exists(LIBRARY):
        print(f"skipped: {OBJDUMP} or {LIBRARY} is missing")
        sys.exit(77)
    insns = parse(run(OBJDUMP, "-d", "-z", LIBRARY))
    n, n_refused, wrong = check_moves(LIBRARY, NEAR, FAR, REASONS, problems_of(insns))
    total, bad_plans = check_plans(insns)
    print(f"{n} copies, {n_refused} refused, {len(wrong)} differ; {total}, {len(bad_plans)} wrong")
    print("\n".join((wrong + bad_plans)[:20]))
    sys.exit(bool(wrong or bad_plans) or n < total["functions"] or total["none"] > total["functions"] // 500)


main()
