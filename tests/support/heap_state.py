#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a state file of the heap tracker says, by a reader of its own (src/rt/heap_state.h):
heap_state.py FILE...

    flags live|ended|execed|full|...
    loss NAME BLOCKS BYTES             for each that is not 0
    live BLOCKS BYTES                  by a scan of the table
    size BYTES COUNT                   of the live blocks
    counts agree | counts differ: ...  the stacks' counts and the scan
    peak BYTES                         of the composition at the high-water mark
    map KIND BYTES COUNT               of the live mappings
    maps LIVE BYTES made N BYTES peak BYTES, if there ever was one
    stacks N depth MAX                 with the number of frames of the deepest
"""
import collections
import struct
import sys

CHUNK, TABLE_AT, ROWS = 1 << 16, 3840, 4096
LEAF, STACKS, DELTAS, LARGE, MAPS = 2, 3, 5, 9, 10
ASIDE, COUNTED_AT = (1 << 22) - 1, 43
FLAGS = {1: "live", 2: "ended", 4: "execed", 8: "full", 16: "stacks", 32: "mappings", 64: "not_asked", 128: "apart",
         256: "other_names"}
LOSSES = ["full", "address", "no_stack", "stacks_full", "unknown", "inherited", "mismatched",
          "overlap", "mapping"]
MAP_KINDS = ["memory", "file", "break", "allocator"]


def counted(both):
    return both >> COUNTED_AT, both & (1 << COUNTED_AT) - 1


class State:
    def __init__(self, path):
        with open(path, "rb") as file:
            # The file has the size that it may grow to; the chunks that there are come first.
            head = file.read(64)
            file.seek(0)
            self.data = file.read(struct.unpack_from("<I", head, 60)[0] * CHUNK)
        (magic, _, _, _, _, self.flags, self.pid, self.parent) = self.at("<10sHHBBIII", 0)
        assert magic == b"cairnheap\0", magic
        self.n_chunks, _, self.n_stacks = self.at("<3I", 60)
        self.peak, = self.at("<I", 708)
        self.losses = list(zip(LOSSES, self.at("<16Q", 112), self.at("<16Q", 240)))
        self.maps = self.at("<5Q", 368)
        self.rows = [(i, *self.row(i)) for i in range(self.n_chunks)]
        self.stack_chunks = {arg: i for i, _, arg in self.of(STACKS)}
        self.known = {}
        self.stacks = [list(self.at("<5Q2I2q", self.stack_at(i))) for i in range(self.n_stacks)]
        self.add_deltas()

    def at(self, form, offset):
        return struct.unpack_from(form, self.data, offset)

    def row(self, chunk):
        if chunk < TABLE_AT:
            return self.at("<HHIQ", 4096 + 16 * chunk)
        part = (chunk - TABLE_AT) % ROWS
        return self.at("<HHIQ", (chunk - part) * CHUNK + 16 * part)

    def of(self, kind):
        return [(i, bits, arg) for i, row_kind, bits, _, arg in self.rows if row_kind == kind]

    def stack_at(self, number):
        return self.stack_chunks[number // 1024] * CHUNK + number % 1024 * 64

    def add_deltas(self):
        for chunk, _, _ in self.of(DELTAS):
            for i in range(self.at("<I", chunk * CHUNK + 4)[0]):
                key, allocs, frees, temporary = self.at("<3QI", chunk * CHUNK + 64 + 32 * i)
                stack = self.stacks[key & 0xffffffff]
                old = key >> 32 != self.peak
                counts = [*counted(allocs), *counted(frees)]
                blocks, size = counts[0] - counts[2], counts[1] - counts[3]
                stack[1:6] = map(sum, zip(stack[1:6], [*counts, temporary]))
                if stack[6] == self.peak and old:
                    stack[7] += blocks
                    stack[8] += size
                elif stack[6] != self.peak and not old:
                    # Nothing was handed in since the mark; this is from behind it.
                    stack[7], stack[8] = stack[1] - stack[3] - blocks, stack[2] - stack[4] - size
                    stack[6] = self.peak

    def frames(self, number):
        """Outermost first. A base's number is smaller."""
        if number not in self.known:
            self.known[number] = self.read_frames(number)
        return self.known[number]

    def read_frames(self, number):
        log = self.stacks[number][0]
        if not log:
            return []
        offset = (log >> 16) * CHUNK + (log & 0xffff)
        base, n_shared, n = self.at("<IHH", offset)
        shared = self.frames(base)[:n_shared] if n_shared else []
        assert len(shared) == n_shared
        return shared + list(self.at(f"<{n}Q", offset + 16))

    def live_maps(self):
        for chunk, _, _ in self.of(MAPS):
            for begin, end, _, _, kind, _ in struct.iter_unpack(
                    "<QQ4I", self.data[chunk * CHUNK:(chunk + 1) * CHUNK]):
                if begin:
                    yield MAP_KINDS[kind], end - begin

    def live(self):
        large = {va: size for i, _, _ in self.of(LARGE)
                 for va, size in struct.iter_unpack("<QQ", self.data[i * CHUNK:(i + 1) * CHUNK])}
        for chunk, bits, first in self.of(LEAF):
            for i, entry in enumerate(self.at("<8192Q", chunk * CHUNK)):
                if entry:
                    va = first + (i << bits) + (16 * (entry >> 25 & 1) if bits > 4 else 0)
                    size = entry & ASIDE
                    yield va, large[va] if size == ASIDE else size, entry >> 40


def main():
    sys.setrecursionlimit(100000)
    for path in sys.argv[1:]:
        state = State(path)
        print("flags", *(name for bit, name in FLAGS.items() if state.flags & bit))
        for name, blocks, size in state.losses:
            if blocks or size:
                print("loss", name, blocks, size)
        blocks = list(state.live())
        print("live", len(blocks), sum(size for _, size, _ in blocks))
        for size, count in sorted(collections.Counter(size for _, size, _ in blocks).items()):
            print("size", size, count)
        scan = collections.defaultdict(lambda: [0, 0])
        for _, size, stack in blocks:
            scan[stack][0] += 1
            scan[stack][1] += size
        differ = [i for i, s in enumerate(state.stacks) if [s[1] - s[3], s[2] - s[4]] != scan[i]]
        print(f"counts differ: stacks {differ[:10]}" if differ else "counts agree")
        print("peak", sum(s[8] if s[6] == state.peak else s[2] - s[4] for s in state.stacks))
        for (kind, size), count in sorted(collections.Counter(state.live_maps()).items()):
            print("map", kind, size, count)
        if state.maps[0]:
            made, made_bytes, live, live_bytes, peak = state.maps
            print("maps", live, live_bytes, "made", made, made_bytes, "peak", peak)
        print("stacks", state.n_stacks, "depth",
              max(len(state.frames(i)) for i in range(state.n_stacks)))


if __name__ == "__main__":
    main()
