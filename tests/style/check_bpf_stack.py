#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds how much stack our programs in the kernel take: check_bpf_stack.py OBJECT...

A program and all that it calls, one call within the other, share 512 bytes, and each of them takes a
multiple of 32 (Linux 6.1, kernel/bpf/verifier.c, check_max_stack_depth). A kernel that has more, as
6.13 and later on x86-64, loads a program all the same that Debian's refuses.
"""
import collections
import functools
import struct
import sys

BYTES, STEP = 512, 32
SYMTAB, REL = 2, 9
SECTION, FUNC = 3, 2  # types of symbols
CALL, LOAD_64, MOVE, ADD = 0x85, 0x18, 0xbf, 0x07
TO_CODE = {CALL: 1, LOAD_64: 4}  # BPF_PSEUDO_CALL, BPF_PSEUDO_FUNC: a call, and a loop's function
LOADS, STORES = (1,), (2, 3)     # classes
FRAME = 10                       # r10, the frame's end

Section = collections.namedtuple("Section", "name type flags addr off size link info align entry")
Symbol = collections.namedtuple("Symbol", "name info other section value size")


class Object:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        offset, = struct.unpack_from("<Q", self.data, 40)
        count, = struct.unpack_from("<H", self.data, 60)
        self.sections = [Section(*struct.unpack_from("<IIQQQQIIQQ", self.data, offset + 64 * i))
                         for i in range(count)]
        table = next(s for s in self.sections if s.type == SYMTAB)
        self.names = self.sections[table.link].off
        self.symbols = [Symbol(*struct.unpack_from("<IBBHQQ", self.data, table.off + 24 * i))
                        for i in range(table.size // 24)]
        self.functions = {(s.section, s.value): s for s in self.symbols if s.info & 15 == FUNC}
        self.relocations = {}
        for s in self.sections:
            for i in range(s.size // 16 if s.type == REL else 0):
                at, info = struct.unpack_from("<QQ", self.data, s.off + 16 * i)
                self.relocations[s.info, at] = self.symbols[info >> 32]

    def name(self, place):
        at = self.names + self.functions[place].name
        return self.data[at:self.data.index(0, at)].decode()

    def callee(self, section, at, code, immediate):
        symbol = self.relocations.get((section, at))
        if symbol is None:
            return section, at + 8 * (immediate + 1)
        if symbol.info & 15 == SECTION:
            return symbol.section, 8 * (immediate + 1) if code == CALL else immediate
        return symbol.section, symbol.value

    @functools.cache
    def read(self, place):
        """The stack that a function touches, and what it calls."""
        section, at = place
        end, depth, callees, copies = at + self.functions[place].size, 0, set(), set()
        while at < end:
            code, registers, off, immediate = struct.unpack_from(
                "<BBhi", self.data, self.sections[section].off + at)
            to, source = registers & 15, registers >> 4
            if (code & 7 in LOADS and source == FRAME) or (code & 7 in STORES and to == FRAME):
                depth = max(depth, -off)
            elif code == ADD and to in copies:
                depth = max(depth, -immediate)
            if code == MOVE and source == FRAME:
                copies.add(to)
            elif code & 7 not in STORES:
                copies.discard(to)
            if code == CALL and source == TO_CODE[CALL]:
                callees.add(self.callee(section, at, code, immediate))
            elif code == LOAD_64 and (section, at) in self.relocations:
                callees.add(self.callee(section, at, code, immediate))
            at += 16 if code == LOAD_64 else 8
        return depth, callees & self.functions.keys()

    @functools.cache
    def deepest(self, place):
        depth, callees = self.read(place)
        below, path = max(map(self.deepest, callees), default=(0, ()))
        return below + max(depth + STEP - 1, STEP) // STEP * STEP, ((self.name(place), depth), *path)


def main():
    wrong = read = 0
    for path in sys.argv[1:]:
        elf = Object(path)
        called = {callee for place in elf.functions for callee in elf.read(place)[1]}
        for place in elf.functions.keys() - called:
            read += 1
            size, functions = elf.deepest(place)
            text = " > ".join(f"{name} {depth}" for name, depth in functions)
            if size > BYTES:
                print(f"{path}: {size} bytes of stack, more than {BYTES}: {text}")
                wrong += 1
    print(f"{read} programs, {wrong} with too large a stack")
    return 1 if wrong or not read else 0


sys.exit(main())
