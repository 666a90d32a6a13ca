#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pprof_read.py PROFILE...: how many of a recording's samples are whole, over all user samples and over those whose
frames all lie in code that has unwind tables, and why the others are cut. For bench/live alone: it believes what it
reads."""
import collections
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from pprof_decode import Profile, varint


class Tables:
    """Which addresses of an ELF file's memory have an entry in .eh_frame."""
    SIZES = {0x00: "Q", 0x02: "H", 0x03: "I", 0x04: "Q", 0x0a: "h", 0x0b: "i", 0x0c: "q"}

    def __init__(self, path):
        self.starts, self.segments = [], []
        try:
            with open(path, "rb") as file:
                self.data = file.read()
        except OSError:
            return
        if self.data[:5] != b"\x7fELF\x02":
            return
        at, size, count = struct.unpack_from("<Q", self.data, 32)[0], *struct.unpack_from("<HH", self.data, 54)
        for i in range(count):
            kind, _, offset, vaddr, _, file_size = struct.unpack_from("<IIQQQQ", self.data, at + i * size)
            if kind == 1:
                self.segments.append((offset, vaddr, file_size))
            elif kind == 0x6474e550: # PT_GNU_EH_FRAME: ip relative to the header, in order
                _, _, _, encoding = self.data[offset:offset + 4]
                if encoding == 0x3b:
                    n = struct.unpack_from("<I", self.data, offset + 8)[0]
                    flat = struct.unpack_from(f"<{2 * n}i", self.data, offset + 12)
                    self.starts = [(vaddr + flat[k], vaddr + flat[k + 1]) for k in range(0, 2 * n, 2)]

    def to_offset(self, vaddr):
        return next((vaddr - v + o for o, v, n in self.segments if v <= vaddr < v + n), None)

    def range_of(self, fde):
        """The size of an entry's code."""
        at = self.to_offset(fde)
        cie = at + 4 - struct.unpack_from("<I", self.data, at + 4)[0]
        end = self.data.index(0, cie + 9)
        letters, encoding = self.data[cie + 9:end].decode(), 0
        _, p = varint(self.data, end + 1)
        _, p = varint(self.data, p)
        p += 1 # the register of the return address
        for letter in letters:
            if letter == "z":
                _, p = varint(self.data, p)
            elif letter == "L":
                p += 1
            elif letter == "P":
                p += 1 + struct.calcsize(self.SIZES[self.data[p] & 15])
            elif letter == "R":
                encoding = self.data[p]
        size = struct.calcsize(self.SIZES[encoding & 15])
        return int.from_bytes(self.data[at + 8 + size:at + 8 + 2 * size], "little")

    def have(self, offset):
        """Is there an entry for the code at this place in the file?"""
        vaddr = next((offset - o + v for o, v, n in self.segments if o <= offset < o + n), None)
        low, high = 0, len(self.starts)
        while vaddr is not None and low < high:
            middle = (low + high) // 2
            if self.starts[middle][0] <= vaddr:
                low = middle + 1
            else:
                high = middle
        return low > 0 and vaddr - self.starts[low - 1][0] < self.range_of(self.starts[low - 1][1])


class Judge:
    """Whether a location's code has tables, by the files that are there now."""

    def __init__(self, profile):
        self.profile, self.files, self.known = profile, {}, {}

    def name(self, location):
        mapping = self.profile.mappings.get(self.profile.locations[location][0], {})
        return self.profile.strings[mapping.get(5, 0)]

    def has_tables(self, location):
        if location not in self.known:
            self.known[location] = self.ask(location)
        return self.known[location]

    def ask(self, location):
        number, address = self.profile.locations[location]
        mapping = self.profile.mappings.get(number, {})
        name = self.name(location)
        if name == "[vdso]":
            return True
        if not name.startswith("/"):
            return False
        if name not in self.files:
            self.files[name] = Tables(name)
        return self.files[name].have(address - mapping.get(2, 0) + mapping.get(4, 0))


class Count:
    """What is told of one recording."""

    def __init__(self, path):
        profile = Profile(path)
        judge = Judge(profile)
        self.user = self.whole = self.tables = self.tables_whole = self.all = 0
        self.kernel = 0
        self.cuts, self.table_cuts = collections.Counter(), collections.Counter()
        for sample in profile.samples:
            n = sample.values[0]
            self.all += n
            letters = sample.labels.get("cairn.frames", "")
            cut = sample.labels.get("cairn.cut")
            user = [at for at, letter in zip(sample.stack, letters) if letter != "k"]
            if not user and not cut:
                self.kernel += n
                continue
            self.user += n
            # Where a program is begun it may have none: a whole stack needs nothing from there on.
            has_tables = all(judge.has_tables(at) for at in (user if cut else user[:-1]))
            self.tables += has_tables * n
            if cut:
                self.cuts[cut] += n
                self.table_cuts[cut] += has_tables * n
            else:
                self.whole += n
                self.tables_whole += has_tables * n

    def __str__(self):
        share = lambda part, of: f"{100 * part / of:.2f}" if of else "-"
        text = (f"{self.all} samples, {self.user} with a user side: {share(self.whole, self.user)} % whole; "
                f"{self.tables} all in code with tables: {share(self.tables_whole, self.tables)} % whole")
        for cut, n in self.cuts.most_common(6):
            text += f"\n    {n} ({self.table_cuts[cut]} with tables) {cut}"
        return text


def main():
    for path in sys.argv[1:]:
        print(f"{path}: {Count(path)}")


if __name__ == "__main__":
    main()
