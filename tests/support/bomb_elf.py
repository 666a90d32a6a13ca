# SPDX-License-Identifier: MIT
"""ELF files whose debug information says the same many times over: each kind multiplies two numbers
that both grow with the file, so that whoever believes it needs memory or time for the product.

    lines      units that share one line program
    ranges     units whose inlined calls share one list of ranges
    files      units that share one line program with many long paths
    qualified  functions in namespaces with long names
    linkage    functions whose linkage names are the ends of one long text
    symbols    symbols whose names are the ends of one long text
    mangled    symbols whose types are pairs of the type before, so that readable names double
    stale      units that share one line program of which nothing is machine code
    unclaimed  units that share one line program and do not say what they cover
"""
import struct

BASE, CODE = 0x1000, 0x100000
KINDS = ["lines", "ranges", "files", "qualified", "linkage", "symbols", "mangled", "stale",
         "unclaimed"]

# Tags, attributes and forms of DWARF.
CU, SUBPROGRAM, INLINED, NAMESPACE = 0x11, 0x2E, 0x1D, 0x39
NAME, STMT_LIST, LOW, HIGH, LANGUAGE = 0x03, 0x10, 0x11, 0x12, 0x13
RANGES, ORIGIN, LINKAGE = 0x55, 0x31, 0x6E
ADDR, DATA4, STRING, DATA1, REF4, SEC_OFFSET, STRP = 0x01, 0x06, 0x08, 0x0B, 0x13, 0x17, 0x0E


def uleb(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def abbrev(code, tag, children, *attributes):
    out = uleb(code) + uleb(tag) + bytes([children])
    for attribute, form in attributes:
        out += uleb(attribute) + uleb(form)
    return out + b"\0\0"


ABBREVS = (
    abbrev(1, CU, 1, (STMT_LIST, SEC_OFFSET), (LOW, ADDR), (HIGH, DATA4), (LANGUAGE, DATA1))
    + abbrev(2, SUBPROGRAM, 1, (LOW, ADDR), (HIGH, DATA4), (NAME, STRING))
    + abbrev(3, INLINED, 0, (ORIGIN, REF4), (RANGES, SEC_OFFSET))
    + abbrev(4, NAMESPACE, 1, (NAME, STRP))
    + abbrev(5, SUBPROGRAM, 0, (LOW, ADDR), (HIGH, DATA4), (NAME, STRP))
    + abbrev(6, SUBPROGRAM, 0, (LOW, ADDR), (HIGH, DATA4), (LINKAGE, STRP))
    + abbrev(7, CU, 0, (STMT_LIST, SEC_OFFSET), (LOW, ADDR))
    + b"\0")


def unit(dies, low=BASE, size=CODE):
    body = (struct.pack("<HIB", 4, 0, 8) + b"\1" + struct.pack("<IQIB", 0, low, size, 4)
            + dies + b"\0")
    return struct.pack("<I", len(body)) + body


UNIT_HEADER = 4 + 7 + 1 + 17  # up to the first DIE below the root


def line_program(rows, start=BASE, files=(b"a.c",), dirs=()):
    tables = b"".join(name + b"\0" for name in dirs) + b"\0"
    for i, name in enumerate(files):
        tables += name + b"\0" + uleb(i % (len(dirs) + 1)) + b"\0\0"
    tables += b"\0"
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    program = b"\0\x09\2" + struct.pack("<Q", start)
    program += rows + b"\2\1\0\1\1"
    body = struct.pack("<HI", 4, len(header) + len(tables)) + header + tables + program
    return struct.pack("<I", len(body)) + body


def some_rows(n):
    """One byte a row: each a byte of code further on, at another line."""
    return bytes([33 if i % 2 else 31 for i in range(n)])


def file_rows(n):
    """A row in each file."""
    return b"".join(b"\4" + uleb(i + 1) + b"\x21" for i in range(n))


def substitution(i):
    """Itanium's name for the type number i + 1 of a mangled name, i from 0 on."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return b"S%c_" % ord(digits[i])


def symtab(names, strings, functions):
    table = bytes(24)
    for i in range(functions):
        table += struct.pack("<IBBHQQ", names[i], 0x12, 0, 1, BASE + 16 * i, 16)
    return [(b".symtab", 2, 0, table, 24), (b".strtab", 3, 0, strings, 0)]


def elf(parts):
    """parts: (name, type, flags, contents, size of an entry); .symtab's names are behind it."""
    names, rows, body = b"\0", [], b""
    head = 64 + 56
    for number, (name, kind, flags, contents, entry) in enumerate(parts, 2):
        link = number + 1 if kind == 2 else 0
        rows.append(struct.pack("<IIQQQQIIQQ", len(names), kind, flags, 0, head + len(body),
                                len(contents), link, 0, 1, entry))
        names += name + b"\0"
        body += contents
    text = struct.pack("<IIQQQQIIQQ", len(names), 8, 6, BASE, head, CODE, 0, 0, 1, 0)
    names += b".text\0"
    strings = struct.pack("<IIQQQQIIQQ", len(names), 3, 0, 0, head + len(body), len(names) + 11, 0,
                          0, 1, 0)
    names += b".shstrtab\0\0"
    body += names
    table = bytes(64) + text + b"".join(rows) + strings
    n = len(rows) + 3
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, head + len(body), 0, 64, 56, 1, 64, n, n - 1)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, 0, CODE, 4096)
    return header + load + body + table


def dwarf(info, line=b"", ranges=b"", strings=b"\0"):
    return [(b".debug_abbrev", 1, 0, ABBREVS, 0), (b".debug_info", 1, 0, info, 0),
            (b".debug_line", 1, 0, line, 0), (b".debug_ranges", 1, 0, ranges, 0),
            (b".debug_str", 1, 0, strings, 0)]


def function(low, size, name=b"f\0"):
    return b"\2" + struct.pack("<QI", low, size) + name


def make(kind, size):
    """About `size` bytes of a file."""
    half = size // 2
    n_units = half // len(unit(b""))
    if kind == "lines":
        return elf(dwarf(unit(b"") * n_units, line_program(some_rows(half))))
    if kind == "stale":
        return elf(dwarf(unit(b"") * n_units, line_program(some_rows(half), start=2 * CODE)))
    if kind == "unclaimed":
        body = struct.pack("<HIB", 4, 0, 8) + b"\7" + struct.pack("<IQ", 0, 0)
        units = (struct.pack("<I", len(body)) + body) * (half // (len(body) + 4))
        return elf(dwarf(units, line_program(some_rows(half))))
    if kind == "ranges":
        ranges = b"".join(struct.pack("<QQ", 32 * i, 32 * i + 8) for i in range(half // 16)) + bytes(16)
        dies = function(BASE, CODE) + b"\3" + struct.pack("<II", UNIT_HEADER, 0) + b"\0"
        return elf(dwarf(unit(dies) * (half // len(unit(dies))), line_program(b""), ranges))
    if kind == "files":
        n = half // 12
        line = line_program(file_rows(n), files=[b"%d" % i for i in range(n)],
                            dirs=[b"/" + b"d" * (size // 4)])
        return elf(dwarf(unit(b"") * (size // 4 // len(unit(b""))), line))
    if kind == "qualified":
        spaces = b"".join(b"\4" + struct.pack("<I", i) for i in range(64))
        n = half // 17
        bodies = b"".join(b"\5" + struct.pack("<QII", BASE + 16 * i, 16, i) for i in range(n))
        return elf(dwarf(unit(spaces + bodies + bytes(64)), line_program(b""), b"",
                         b"n" * half + b"\0"))
    if kind == "linkage":
        bodies = b"".join(b"\6" + struct.pack("<QII", BASE + 16 * i, 16, i) for i in range(half // 17))
        return elf(dwarf(unit(bodies), line_program(b""), b"", b"_" + b"n" * half + b"\0"))
    if kind == "symbols":
        n = half // 24
        return elf(symtab(range(1, n + 1), b"\0" + b"n" * half + b"\0", n))
    if kind == "mangled":
        strings, names = b"\0", []
        while len(strings) < half:
            names.append(len(strings))
            strings += b"_Z1f5A%04dIiiE" % len(names)
            strings += b"".join(b"S_I%s%sE" % (2 * (substitution(i),)) for i in range(13)) + b"\0"
        return elf(symtab(names, strings, len(names)))
    raise ValueError(kind)
