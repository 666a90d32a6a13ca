#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes ELF files that no compiler would: huge_elf.py symbols|sections COUNT OUT.

symbols: a .symtab of COUNT functions of 16 bytes from 0x100000 on; that at 0x100000 + 16 n is called
f followed by n modulo 4096 in four hex digits.
sections: COUNT sections, each of 16 bytes of code with one function in it, called s followed by n in
six digits; from section 0xff00 on their numbers are in a SHT_SYMTAB_SHNDX.
"""
import array
import struct
import sys

BASE = 0x100000
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS, SHT_SYMTAB_SHNDX = 1, 2, 3, 8, 18


def section(name, kind, flags, vaddr, off, size, link=0, entry=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, vaddr, off, size, link, 0, 8, entry)


def write(out, code_bytes, sections, contents, names_index):
    """Header, one segment, the contents, the section headers; counts beyond 16 bits in section 0."""
    n, off = len(sections), 120 + sum(len(part) for part in contents)
    many = n >= 0xFF00
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, n if many else 0,
                        names_index if many else 0, 0, 0, 0)
    with open(out, "wb") as file:
        file.write(b"\x7fELF\2\1\1" + bytes(9))
        file.write(struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, off, 0, 64, 56, 1, 64,
                               0 if many else n, 0xFFFF if many else names_index))
        file.write(struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, 120, code_bytes, 4096))
        for part in contents:
            file.write(part)
        file.write(first)
        for row in sections[1:]:
            file.write(row)


def symbols(count, out):
    names = b"\0" + b"".join(b"f%04x\0" % i for i in range(4096))
    table = array.array("Q", bytes(24 * (count + 1)))
    info = 0x12 << 32 | 1 << 48
    offsets = array.array("Q", [info | 1 + 6 * i for i in range(4096)])
    table[3::3] = (offsets * (count // 4096 + 1))[:count]
    table[4::3] = array.array("Q", range(BASE, BASE + 16 * count, 16))
    table[5::3] = array.array("Q", [16]) * count
    data = table.tobytes()
    shstrtab = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    rows = [b"", section(1, SHT_NOBITS, 6, BASE, 120, 16 * count),
            section(7, SHT_SYMTAB, 0, 0, 120, len(data), 3, 24),
            section(15, SHT_STRTAB, 0, 0, 120 + len(data), len(names)),
            section(23, SHT_STRTAB, 0, 0, 120 + len(data) + len(names), len(shstrtab))]
    write(out, 16 * count, rows, [data, names, shstrtab], 4)


def sections(count, out):
    names = b"\0" + b"".join(b"s%06d\0" % i for i in range(count))
    table, numbers = [bytes(24)], [bytes(4)]
    for i in range(count):
        index = i + 1
        table.append(struct.pack("<IBBHQQ", 1 + 8 * i, 0x12, 0,
                                 0xFFFF if index >= 0xFF00 else index, BASE + 16 * i, 16))
        numbers.append(struct.pack("<I", index if index >= 0xFF00 else 0))
    data, extended = b"".join(table), b"".join(numbers)
    shstrtab = b"\0.t\0.symtab\0.shndx\0.strtab\0.shstrtab\0"
    off = 120
    rows = [b""] + [section(1, SHT_NOBITS, 6, BASE + 16 * i, off, 16) for i in range(count)]
    rows.append(section(4, SHT_SYMTAB, 0, 0, off, len(data), count + 3, 24))
    rows.append(section(12, SHT_SYMTAB_SHNDX, 0, 0, off + len(data), len(extended), count + 1, 4))
    off += len(data) + len(extended)
    rows.append(section(19, SHT_STRTAB, 0, 0, off, len(names)))
    rows.append(section(27, SHT_STRTAB, 0, 0, off + len(names), len(shstrtab)))
    write(out, 16 * count, rows, [data, extended, names, shstrtab], count + 4)


if __name__ == "__main__":
    {"symbols": symbols, "sections": sections}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
