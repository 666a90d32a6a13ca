#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Core files of x32 programs (ELFCLASS32 of x86-64), of which few kernels leave any: the code runs as
a 64-bit program, and its memory is written as the kernel writes an x32 core (fs/binfmt_elf.c with
compat_elf_prstatus and 64-bit registers)."""

import os
import re
import struct
import subprocess
import sys
import time

SRC, CAIRN = os.environ["SRC"], os.environ["CAIRN"]
OPTIONS = ("-mx32 -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -fasynchronous-unwind-tables "
           "-fno-stack-protector -fcf-protection=none -nostdlib -static -no-pie -fno-pie").split()
RIP, RSP, N_REGS, REGS_AT, STATUS_BYTES = 16, 19, 27, 72, 296
PT_LOAD, PT_NOTE, NT_PRSTATUS, NT_FILE = 1, 4, 1, 0x46494c45


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def build():
    """x32, and x64: the same code as the kernel runs it."""
    for command in (["gcc", *OPTIONS, "-o", "x32", f"{SRC}/tests/e2e/x32_program.c"],
                    ["objcopy", "-O", "elf64-x86-64", "x32", "x64"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            skip(f"{command[0]} builds no x32 programs here: {done.stderr.splitlines()[-1:]}")


def waiting():
    """A process in pause(2): it, its pc and its stack pointer."""
    process = subprocess.Popen(["./x64"])
    while process.poll() is None:
        time.sleep(0.05)
        with open(f"/proc/{process.pid}/syscall", encoding="ascii") as f:
            words = f.read().split()
        if words[:1] == ["34"]:
            return process, int(words[-1], 16), int(words[-2], 16)
    sys.exit(f"FAIL: ./x64 ended with {process.returncode}")


def note(kind, body):
    pad = b"\0" * (-len(body) % 4)
    return struct.pack("<III", 5, len(body), kind) + b"CORE\0\0\0\0" + body + pad


def file_offsets():
    """Of the x32 file, by the page that a segment begins in: objcopy laid the other one out anew."""
    with open("x32", "rb") as f:
        file = f.read()
    table, = struct.unpack_from("<I", file, 28)
    n, = struct.unpack_from("<H", file, 44)
    segments = [struct.unpack_from("<3I", file, table + 32 * i) for i in range(n)]
    return {vaddr & ~4095: off & ~4095 for kind, off, vaddr in segments if kind == PT_LOAD}


def x32_core(process, pc, sp):
    regs = [0] * N_REGS
    regs[RIP], regs[RSP] = pc, sp
    status = bytearray(STATUS_BYTES)
    struct.pack_into("<I", status, 24, process.pid)
    struct.pack_into(f"<{N_REGS}Q", status, REGS_AT, *regs)
    loads, files, offsets = [], [], file_offsets()
    with open(f"/proc/{process.pid}/maps", encoding="ascii") as f:
        for line in f:
            low, high, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            low, high = int(low, 16), int(high, 16)
            if high >= 1 << 32:
                continue
            flags = 4 * ("r" in mode) + 2 * ("w" in mode) + ("x" in mode)
            loads.append((low, high, flags))
            if low in offsets:
                path = os.path.abspath("x32").encode()
                files.append((low, high, offsets[low] // 4096, path))
    table = struct.pack("<II", len(files), 4096)
    table += b"".join(struct.pack("<III", *file[:3]) for file in files)
    table += b"".join(file[3] + b"\0" for file in files)
    notes = note(NT_PRSTATUS, bytes(status)) + note(NT_FILE, table)
    at = 52 + 32 * (len(loads) + 1)
    header = b"\x7fELF\1\1\1" + b"\0" * 9
    header += struct.pack("<HHIIIIIHHHHHH", 4, 62, 1, 0, 52, 0, 0, 52, 32, len(loads) + 1, 0, 0, 0)
    header += struct.pack("<8I", PT_NOTE, at, 0, 0, len(notes), 0, 0, 4)
    at += len(notes)
    body = b""
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        for low, high, flags in loads:
            memory.seek(low)
            piece = memory.read(high - low) if flags & 2 else b""
            header += struct.pack("<8I", PT_LOAD, at + len(body), low, 0, len(piece), high - low,
                                  flags, 1)
            body += piece
    with open("x32.core", "wb") as f:
        f.write(header + notes + body)


def main():
    if os.uname().machine != "x86_64":
        skip("x32 is x86-64's")
    build()
    process, pc, sp = waiting()
    try:
        x32_core(process, pc, sp)
    finally:
        process.kill()
        process.wait()
    told = subprocess.run([CAIRN, "stack", "--why", "x32.core"], capture_output=True, text=True,
                          check=False)
    names = re.findall(r"^  #\d+ +0x\w+  (\w+)", told.stdout, re.M)
    wanted = ["wait_here"] + ["deep"] * 5 + ["start_c", "_start"]
    if names != wanted or "whole: outermost" not in told.stdout:
        print(told.stdout + told.stderr + f"FAIL: frames {names}, expected {wanted}, whole")
        sys.exit(1)
    print(f"{len(names)} frames of an x32 core, to its start")


main()
