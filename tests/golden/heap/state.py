#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A state file of the heap tracker, for texts that are compared to the byte: state.py <LINES >STATE

    # a comment
    process PID COMMAND
    module FROM TO OFF PATH [BUILD-ID]
    stack RET RET ...                       innermost first; they count from 1
    block VA SIZE STACK                     STACK 0: it was born without one
    freed SIZE STACK                        another one that does not live any more

Numbers are decimal or 0x. src/rt/heap_state.h is the contract.
"""
import struct
import sys

CHUNK, HEADER, COMMAND, VERSION = 1 << 16, 4096, 408, 3
LEAF, STACKS, LOG, EPOCHS, MODULES = 2, 3, 4, 7, 8
GRANULE_BITS, EM_X86_64, KIND_MALLOC = 4, 62, 1
ENDED, STACKS_ON = 2, 16
BEGIN_NS = 1700000000 * 10**9


class Chunks:
    """Chunk 0 is the header's; the others come as they are asked for."""

    def __init__(self):
        self.data, self.rows = [bytearray(CHUNK)], [(1, 0, 1, 0)]

    def add(self, kind, arg, granule_bits=0):
        self.data.append(bytearray(CHUNK))
        self.rows.append((kind, granule_bits, 1, arg))
        return len(self.data) - 1

    def find(self, kind, arg, granule_bits=0):
        for i, row in enumerate(self.rows):
            if i and (row[0], row[3]) == (kind, arg):
                return i
        return self.add(kind, arg, granule_bits)


def read(lines):
    process, modules, stacks, blocks, freed = (1, "program"), [], [[]], [], []
    for line in lines:
        word, *rest = line.split("#")[0].split() or [""]
        if word == "process":
            process = int(rest[0]), " ".join(rest[1:])
        elif word == "module":
            modules.append((*(int(n, 0) for n in rest[:3]), *rest[3:]))
        elif word == "stack":
            stacks.append([int(n, 0) for n in rest])
        elif word == "block":
            blocks.append([int(n, 0) for n in rest])
        elif word == "freed":
            freed.append([int(n, 0) for n in rest])
        elif word:
            sys.exit(f"state.py: {line!r}")
    return process, modules, stacks, blocks, freed


def put_modules(chunks, modules):
    at, number = 0, chunks.add(MODULES, 0)
    for start, end, off, path, *build_id in modules:
        build_id = bytes.fromhex(build_id[0]) if build_id else b""
        record = struct.pack("<IHHQQQQII", 0, len(build_id), len(path), start, end, off, 1, 0, 0)
        record += build_id + path.encode()
        record += bytes(-len(record) % 8)
        chunks.data[number][at:at + len(record)] = struct.pack("<I", len(record)) + record[4:]
        at += len(record)


def put_stacks(chunks, stacks, blocks, freed, n_modules):
    table, log, at = chunks.add(STACKS, 0), chunks.add(LOG, 0), 0
    for number, rets in enumerate(stacks):
        where = 0
        if number:
            where = log << 16 | at
            record = struct.pack("<IHHBBHI", 0, 0, len(rets), 1, 0, 0, n_modules)
            record += b"".join(struct.pack("<Q", ret) for ret in reversed(rets))
            chunks.data[log][at:at + len(record)] = record
            at += len(record)
        live = [size for _, size, stack in blocks if stack == number]
        gone = [size for size, stack in freed if stack == number]
        struct.pack_into("<5Q", chunks.data[table], number * 64, where, len(live) + len(gone),
                         sum(live) + sum(gone), len(gone), sum(gone))


def put_blocks(chunks, blocks):
    span = CHUNK // 8 << GRANULE_BITS
    for va, size, stack in blocks:
        leaf = chunks.find(LEAF, va // span * span, GRANULE_BITS)
        half = va >> 4 & 1
        entry = size | (KIND_MALLOC | half << 3) << 22 | stack << 40
        struct.pack_into("<Q", chunks.data[leaf], (va % span >> GRANULE_BITS) * 8, entry)


def main():
    process, modules, stacks, blocks, freed = read(sys.stdin)
    chunks = Chunks()
    put_modules(chunks, modules)
    put_stacks(chunks, stacks, blocks, freed, len(modules))
    put_blocks(chunks, blocks)
    epochs = chunks.add(EPOCHS, 0)
    struct.pack_into("<Qqq", chunks.data[epochs], 0, 10**9, 0, -1)
    live = sum(size for _, size, _ in blocks)
    head = struct.pack("<10sHHBBIII", b"cairnheap", VERSION, EM_X86_64, 8, GRANULE_BITS,
                       ENDED | STACKS_ON, process[0], 0)
    head += bytes(-len(head) % 8) + struct.pack("<QQQIII", 1, BEGIN_NS, 0, 1024, len(chunks.data), 16)
    head += struct.pack("<5I", len(stacks), 0, 0, 0, 1)
    head += bytes(-len(head) % 8) + struct.pack("<qqQ", live, live, 10**9)
    chunks.data[0][:len(head)] = head
    struct.pack_into("<256s", chunks.data[0], COMMAND, process[1].encode())
    for i, row in enumerate(chunks.rows):
        struct.pack_into("<HHIQ", chunks.data[0], HEADER + 16 * i, *row)
    sys.stdout.buffer.write(b"".join(chunks.data))


main()
