#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the pprof profiles that report.sh and convert.sh read into the current folder."""
import gzip

from pprof_encode import message, number, packed

ESC, BEL, C1, BIDI = "\x1b", "\x07", "\x9b", "\u202e"
HOSTILE = f"evil{ESC}[31m{ESC}]0;title{BEL}{C1}2J{BIDI}</script><b>\"&'\n\r\tend"


class Profile:
    """Names are functions, numbers are addresses in the one mapping, prog at 0x400000."""

    def __init__(self, *types, default=None, duration_ns=0):
        self.strings = {"": 0}
        self.types, self.default, self.duration_ns = types, default, duration_ns
        self.locations, self.bodies, self.samples = {}, b"", b""

    def text(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def location(self, frame):
        """A name, an address, or a tuple of names at one address, innermost first."""
        if frame in self.locations:
            return self.locations[frame]
        own = self.locations[frame] = len(self.locations) + 1
        address = frame if isinstance(frame, int) else 0x401000 + 16 * own
        body = number(1, own) + number(2, 1) + number(3, address)
        names = () if isinstance(frame, int) else frame if isinstance(frame, tuple) else (frame,)
        for name in names:
            key = ("function", name)
            if key not in self.locations:
                self.locations[key] = len(self.locations) + 1
                self.bodies += message(5, number(1, self.locations[key]) +
                                       number(2, self.text(name)) + number(4, self.text("a.c")))
            body += message(4, number(1, self.locations[key]) + number(2, 7))
        self.bodies += message(4, body)
        return own

    def add(self, frames, values, **labels):
        """Frames from the root to the leaf."""
        body = packed(1, *map(self.location, reversed(frames))) + packed(2, *values)
        for key, value in labels.items():
            key = self.text(key.replace("__", "."))
            field = number(2, self.text(value)) if isinstance(value, str) else number(3, value)
            body += message(3, number(1, key) + field)
        self.samples += message(2, body)

    def write(self, path):
        out = b"".join(message(1, number(1, self.text(kind)) + number(2, self.text(unit)))
                       for kind, unit in self.types)
        out += self.samples + self.bodies
        out += message(3, number(1, 1) + number(2, 0x400000) + number(3, 0x500000) +
                       number(5, self.text("/usr/bin/prog")) + number(7, 1))
        if self.default:
            out += number(14, self.text(self.default))
        out += number(10, self.duration_ns)
        out += b"".join(message(6, text.encode()) for text in self.strings)
        with open(path, "wb") as file:
            file.write(gzip.compress(out, mtime=0))


CPU = (("samples", "count"), ("cpu", "nanoseconds"))


def main():
    cpu = Profile(*CPU, default="cpu", duration_ns=2_500_000_000)
    cpu.add(["main", "work", "hot"], [60, 900_000_000], thread="worker", tid=7)
    cpu.add(["main", "work"], [30, 150_000_000], thread="worker", tid=7)
    cpu.add(["main", "idle"], [10, 50_000_000], thread="main", tid=1)
    cpu.add(["main", ("small", "caller"), "hot"], [5, 11_000_000], thread="main", tid=1)
    cpu.add(["main", "again", "other", "again"], [3, 9_000_000], thread="main", tid=1)
    cpu.write("cpu.pb.gz")

    cut = Profile(*CPU, duration_ns=1_000_000_000)
    cut.add(["main", "work"], [90, 900], cairn__frames="ff")
    cut.add(["work"], [6, 60], cairn__frames="f", cairn__cut="no rule")
    cut.add(["deep", "work"], [1, 10], cairn__frames="ff", cairn__cut=f"too {ESC}[1mdeep")
    cut.add(["sys_read"], [3, 30], cairn__frames="k")
    cut.write("cut.pb.gz")

    mixed = Profile(*CPU)
    mixed.add(["main", "work"], [4, 40], cairn__frames="ff")
    mixed.add(["foreign"], [6, 60])
    mixed.write("mixed.pb.gz")

    raw = Profile(*CPU)
    raw.add([0x401000, 0x402010], [8, 80])
    raw.add([0x401000, 0x403020], [2, 20])
    raw.write("raw.pb.gz")

    Profile(*CPU).write("empty.pb.gz")

    hostile = Profile(*CPU)
    hostile.add(["main", HOSTILE], [5, 50])
    hostile.add(["main", "x" * 3000], [4, 40])
    hostile.write("hostile.pb.gz")

    heap = Profile(("objects", "count"), ("space", "bytes"))
    heap.add(["main", "take"], [3, 50 << 20])
    heap.add(["main", "give"], [1, -(10 << 20)])
    heap.write("heap.pb.gz")


main()
