# SPDX-License-Identifier: MIT
"""Gives a core file that has none the note NT_FILE: core_add_files.py CORE PROGRAM, where PROGRAM is
a static one at fixed addresses. qemu-user writes cores of other CPUs, but without that note."""
import os
import struct
import sys

PT_LOAD, PT_NOTE, NT_FILE = 1, 4, 0x46494C45


def segments(data):
    """(offset of the header, type, file offset, vaddr, file size, memory size) of each."""
    wide = data[4] == 2
    start, = struct.unpack_from("<Q" if wide else "<I", data, 32 if wide else 28)
    size, count = struct.unpack_from("<HH", data, 54 if wide else 42)
    for i in range(count):
        at = start + i * size
        if wide:
            kind, _, off, vaddr, _, in_file, in_memory = struct.unpack_from("<IIQQQQQ", data, at)
        else:
            kind, off, vaddr, _, in_file, in_memory = struct.unpack_from("<IIIIII", data, at)
        yield at, kind, off, vaddr, in_file, in_memory


def note(program, path, word):
    """One row for each PT_LOAD, as the loader maps it: whole pages."""
    rows = [(vaddr & ~4095, -(-(vaddr + in_memory) // 4096) * 4096, off >> 12)
            for _, kind, off, vaddr, _, in_memory in segments(program) if kind == PT_LOAD]
    body = struct.pack(f"<2{word}", len(rows), 4096)
    body += b"".join(struct.pack(f"<3{word}", *row) for row in rows)
    body += (path.encode() + b"\0") * len(rows)
    head = struct.pack("<III", 5, len(body), NT_FILE) + b"CORE\0\0\0\0"
    return head + body + bytes(-len(body) % 4)


def main():
    core_path, path = sys.argv[1:]
    with open(core_path, "rb") as f:
        core = bytearray(f.read())
    with open(path, "rb") as f:
        program = f.read()
    wide = core[4] == 2
    at, _, off, _, size, _ = next(s for s in segments(core) if s[1] == PT_NOTE)
    notes = core[off:off + size] + note(program, os.path.abspath(path), "Q" if wide else "I")
    if wide:
        struct.pack_into("<Q", core, at + 8, len(core))
        struct.pack_into("<Q", core, at + 32, len(notes))
    else:
        struct.pack_into("<I", core, at + 4, len(core))
        struct.pack_into("<I", core, at + 16, len(notes))
    with open(core_path, "wb") as f:
        f.write(core + notes)


main()
