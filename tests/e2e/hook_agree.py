#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Moved code and plans of all functions of libraries, beside what objdump decodes.

Each copy, near and far from its original, is held against it instruction by instruction: mnemonic,
operands, addresses of operands, conditions, targets, the return address that a call leaves. Each
plan: the changed bytes are one instruction's, what they lead to, and no branch of the whole library
leads into them or into the padding that they use.
"""
import json
import os
import re
import sys

from hook_rows import check_moves, opposites, run

CAIRN = os.environ["CAIRN"]
NEAR, FAR = 0x10000000, 0x700000000000
# Others as arguments: libstdc++, libcrypto and libjvm differ nowhere either, and take a minute.
LIBRARIES = ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-musl/libc.so"]
MOST_NONE = 2.0  # per cent of a library's functions that have no plan
REASONS = {"a call returns into the middle of the changed instructions", "a distance does not fit from the new address",
           "a branch leads into the middle of the changed instructions"}
OPPOSITE = opposites("jo jno, jb jae, je jne, jbe ja, js jns, jp jnp, jl jge, jle jg")
COUNTS = {"jrcxz", "jecxz", "loop", "loope", "loopne"}
NO_BRANCH = re.compile(r"^(jmp|call|ret|ud2|hlt|notrack jmp|bnd jmp|bnd ret|repz ret|int3)\b")


def parse(text):
    """{address: (size, mnemonic and operands, target or None)}; distances from rip become addresses."""
    found = {}
    for line in re.finditer(r"^\s+([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t?(.*)$", text, re.M):
        code = re.sub(r"\s*<[^>]*>", "", line[3]).strip()
        code, _, comment = code.partition("#")
        code = " ".join(code.split())
        target = None
        if comment.strip():
            target = int(comment, 16)
            code = re.sub(r"-?0x[0-9a-f]+\(%[re]ip\)", "(RIP)", code)
        branch = re.fullmatch(r"((?:bnd |notrack |data16 |rex\.W |ds |cs )*)(j\w+|call|loop\w*|xbegin)((?:,p[nt])?) (?:0x)?([0-9a-f]+)", code)
        if branch:
            code, target = branch[2], int(branch[4], 16)
        found[int(line[1], 16)] = (len(line[2].split()), code, target)
    return found


def disassemble_bytes(base, code, name):
    with open(name, "wb") as out:
        out.write(code)
    return parse(run("objdump", "-D", "-w", "-b", "binary", "-m", "i386:x86-64", f"--adjust-vma={base:#x}", name))


class Copies:
    """One region of copies; 8-byte literals are cut out before objdump sees it."""

    def __init__(self, base, rows, name):
        self.literals = {}
        image = bytearray()
        for row in rows:
            to, code = int(row[2], 16), bytearray.fromhex(row[4])
            for off in range(len(code) - 5):
                distance = int.from_bytes(code[off + 2:off + 6], "little")
                at = off + 6 + distance
                if code[off] == 0xff and code[off + 1] in (0x25, 0x35) and at + 8 <= len(code) \
                        and (code[off + 1] == 0x35 or distance == 0):
                    self.literals[to + at] = int.from_bytes(code[at:at + 8], "little")
                    code[at:at + 8] = b"\x90" * 8
            image += b"\x90" * (to - base - len(image)) + code
        self.insns = disassemble_bytes(base, bytes(image) + b"\x90" * 16, name)

    def final(self, at):
        """(Where the jump at an address leads, the address behind it)"""
        size, code, target = self.insns.get(at, (0, "", None))
        if code == "jmp":
            return target, at + size
        if code == "jmp *(RIP)" and target in self.literals:
            return self.literals[target], at + size + 8
        return None, at


def same_call(copies, original, at, ret):
    size, code, target = copies.insns.get(at, (0, "", None))
    if code != "push (RIP)" or copies.literals.get(target) != ret:
        return False
    if original[1] == "call":
        return copies.final(at + size)[0] == original[2]
    _, jump, jump_target = copies.insns.get(at + size, (0, "", None))
    wanted = original[1].replace("call", "jmp")
    stack = re.fullmatch(r"(.*\*)(0x[0-9a-f]+)?(\(%rsp.*)", wanted)
    if stack:
        wanted = f"{stack[1]}{int(stack[2] or '0', 16) + 8:#x}{stack[3]}"
    return jump == wanted and jump_target == original[2]


def follow_one(copies, original, at, place):
    """The address behind the copy of one instruction; None: it is not the same. `place`: where in the
    copy, or outside, a target of the original is."""
    size, code, target = copies.insns.get(at, (0, "", None))
    if original[1] == "jmp":
        to, behind = copies.final(at)
        return behind if to == place(original[2]) else None
    if original[1] in OPPOSITE:
        if code == original[1]:
            return at + size if target == place(original[2]) else None
        to, behind = copies.final(at + size)
        return behind if code == OPPOSITE[original[1]] and target == behind and to == place(original[2]) else None
    if original[1] in COUNTS:
        over, begin = copies.final(at + size)
        to, behind = copies.final(begin)
        return behind if code == original[1] and target == begin and over == behind and to == place(original[2]) else None
    if code == original[1] and target == original[2]:
        return at + size
    register = original[1].rpartition(",")[2]
    if not code.startswith("movabs $") or code != f"movabs ${original[2] or 0:#x},{register}":
        wide = {"eax": "rax", "ebx": "rbx", "ecx": "rcx", "edx": "rdx", "esi": "rsi", "edi": "rdi", "ebp": "rbp"}
        register = "%" + wide.get(register[1:], register[1:-1] if register.endswith("d") else register[1:])
        if code != f"movabs ${original[2] or 0:#x},{register}":
            return None
    if original[1].startswith("lea "):
        return at + size
    load = copies.insns.get(at + size, (0, "", None))
    forms = {original[1].replace("(RIP)", f"{zero}({register})") for zero in ("", "0x0")}
    return at + size + load[0] if load[1] in forms else None


def check_copy(insns, copies, row):
    start, at, end = int(row[0], 16), int(row[2], 16), int(row[0], 16) + int(row[3], 16)
    va, first, places, pairs = start, at, {}, []
    while va < end:
        if va not in insns:
            return f"objdump has no instruction at {va:#x}"
        pairs.append((va, insns[va]))
        va += insns[va][0]
    if va != end:
        return f"objdump's instructions end at {va:#x}"
    # Targets inside are known when the copy was read once: internal branches come last.
    for _ in range(2):
        at = first
        for va, original in pairs:
            places[va] = at
            if original[1] == "call" or original[1].startswith(("call ", "notrack call", "bnd call")):
                return None if va + original[0] == end and same_call(copies, original, at, end) else f"call at {va:#x}"
            behind = follow_one(copies, original, at, lambda to: places.get(to, to))
            if behind is None and any(start <= (o[2] or 0) < end for _, o in pairs):
                behind = at + copies.insns.get(at, (0,))[0]
            elif behind is None:
                return f"{original} at {va:#x} became {copies.insns.get(at)}"
            at = behind
    for va, original in pairs:
        if follow_one(copies, original, places[va], lambda to: places.get(to, to)) is None:
            return f"{original} at {va:#x} became {copies.insns.get(places[va])}"
    if NO_BRANCH.match(pairs[-1][1][1]):
        return None
    return None if copies.final(at)[0] == end else f"does not go on at {end:#x}"


def problems_of(insns):
    def problems(base, rows):
        copies = Copies(base, rows, "copies.bin")
        return [check_copy(insns, copies, row) for row in rows]
    return problems


def check_plan(plan, insns, targets):
    patch, resume = int(plan["patch"], 16), int(plan["resume"], 16)
    changed = plan["before"].split()
    if patch not in insns:
        return "the changed bytes begin inside an instruction"
    size = insns[patch][0]
    behind = patch + size
    while behind < patch + len(changed) and re.match(r"(nop|xchg %ax,%ax|data16|cs nop|int3)", insns.get(behind, (0, ""))[1]):
        if not NO_BRANCH.match(insns[patch][1]):
            return "padding is used behind an instruction that goes on"
        behind += insns[behind][0]
    if plan["how"] != "pun" and behind < patch + len(changed):
        return "changes more than one instruction"
    if resume != patch + size:
        return "goes on elsewhere"
    ranges = [(patch + 1, patch + len(changed))]
    if plan.get("pad"):
        pad = int(plan["pad"], 16)
        jump = plan["after"].split()
        if (patch + 2 + int.from_bytes(bytes.fromhex(jump[1]), "little", signed=True)) != pad or jump[0] != "eb":
            return "does not lead to its padding"
        ranges.append((pad, pad + 5))
    for low, high in ranges:
        for va in range(low, high):
            if va in targets:
                return f"a branch leads to {va:#x}"
    return None


def check_plans(path, insns):
    text = json.loads(run(CAIRN, "hook", "plan", "--json", path))
    targets = {target for _, code, target in insns.values() if target is not None and code in OPPOSITE.keys() | COUNTS | {"jmp", "call"}}
    wrong, starts = [], {int(plan.get("patch", "0"), 16) for plan in text["functions"]}
    for plan in text["functions"]:
        if plan["way"] == "none":
            continue
        problem = check_plan(plan, insns, targets | (starts if plan.get("pad") else set()))
        if problem:
            wrong.append(f"{plan['name']} ({plan['way']}): {problem}")
    return text["sum"], wrong


def main():
    failed = False
    for path in sys.argv[1:] or LIBRARIES:
        if not os.path.exists(path):
            print(f"{path} is missing")
            continue
        insns = parse(run("objdump", "-d", "-w", path))
        n, n_refused, wrong = check_moves(path, NEAR, FAR, REASONS, problems_of(insns))
        total, bad_plans = check_plans(path, insns)
        share = 100 * total["none"] / total["functions"]
        print(f"{path}: {n} copies, {n_refused} refused, {len(wrong)} differ; {total}, {len(bad_plans)} wrong")
        print("\n".join((wrong + bad_plans)[:20]))
        failed |= bool(wrong or bad_plans) or share > MOST_NONE or n < total["functions"]
    sys.exit(failed)


main()
