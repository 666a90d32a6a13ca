#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small files that unpack to large ones, as a target maps them: no run takes their memory or time.

Also files with holes: a terabyte to read, and no disk to store.
"""
import gzip
import lzma
import os
import struct
import subprocess
import zlib

from checks import check, finish, under_asan
from hostile import Run, as_eve, give, limit_memory, setup

MB = 1 << 20
MEMORY_MB, PATIENCE_S = 700, 75 if under_asan() else 25  # without a bomb: 20 MB; the budget: 256 MB, 5 s


def compress(one, megabytes):
    """One megabyte of zeros after the other, by a compressor that is fed piece by piece."""
    return b"".join([one.compress(bytes(MB)) for _ in range(megabytes)] + [one.flush()])


def section(name, kind, flags, off, size, vaddr=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, vaddr, off, size, 0, 0, 1, 0)


def write_elf(path, build_id, parts):
    """An ELF file with code at 0x1000, a build ID and further sections: (name, flags, bytes)."""
    note = struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id
    parts = [(".note.gnu.build-id", 2, note), *parts]
    names = b"\0.text\0.shstrtab\0"
    code, off = b"\xc3" * 4096, 0x1000
    rows, data = [bytes(64), section(1, 1, 6, off, len(code), off)], [code]
    end = off + len(code)
    for name, flags, what in parts:
        rows.append(section(len(names), 7 if name.startswith(".note") else 1, flags, end, len(what)))
        names += name.encode() + b"\0"
        data.append(what)
        end += len(what)
    rows.append(section(7, 3, 0, end, len(names)))
    data.append(names)
    end += len(names)
    with open(path, "wb") as file:
        file.write(b"\x7fELF\2\1\1" + bytes(9))
        file.write(struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0x1000, 64, end, 0, 64, 56, 2, 64,
                               len(rows), len(rows) - 1))
        file.write(struct.pack("<IIQQQQQQ", 1, 5, off, off, off, len(code), len(code), 4096))
        note_at = off + len(code)
        file.write(struct.pack("<IIQQQQQQ", 4, 4, note_at, note_at, note_at, len(note), len(note), 4))
        file.seek(off)
        for what in data:
            file.write(what)
        for row in rows:
            file.write(row)


def resolve(*paths):
    """What `cairn record` does for root once the process has ended: names for addresses in files
    whose paths the target chose."""
    maps, frames = "", []
    for i, path in enumerate(paths):
        base = 0x7F0000000000 + (i << 32)
        maps += f"{base + 0x1000:x}-{base + 0x2000:x} r-xp 00001000 00:00 0 {os.path.abspath(path)}\n"
        frames.append(hex(base + 0x1010))
    with open("maps", "w", encoding="utf-8") as file:
        file.write(maps)
    return Run("resolve", "--no-cache", "--maps", "maps", "-", stdin=";".join(frames) + " 1\n",
               patience_s=2 * PATIENCE_S)


def small(run, what):
    check(run.in_time and run.cpu < PATIENCE_S, f"{what}: takes long", run)
    check(run.mb < MEMORY_MB or under_asan(), f"{what}: takes memory", run)
    check(run.status == 0, f"{what}: fails", run)


setup()
limit_memory(12000)
packed = gzip.compress(bytes(64 * MB), 6)
with open("eve/bomb.gz", "wb") as bomb:
    bomb.write(packed * 62)
zeros = compress(zlib.compressobj(6), 400)
header = struct.pack("<IIQQ", 1, 0, 400 * MB, 1)
one_xz = lzma.LZMACompressor(preset=0)
xz = compress(one_xz, 400)
for number in range(4):
    write_elf(f"eve/section{number}.so", bytes([number] * 20),
              [(".debug_info", 0x800, header + zeros), (".debug_abbrev", 0, bytes(16)),
               (".debug_line", 0x800, header + zeros)])
    write_elf(f"eve/mini{number}.so", bytes([64 + number] * 20), [(".gnu_debugdata", 0, xz)])
    fitting = struct.pack("<IIQQ", 1, 0, 100 * MB, 1) + compress(zlib.compressobj(6), 100)
    write_elf(f"eve/fits{number}.so", bytes([128 + number] * 20),
              [(".debug_info", 0x800, fitting), (".debug_abbrev", 0, bytes(16)),
               (".debug_line", 0x800, fitting)])
give("eve/bomb.gz", *[f"eve/{name}{n}.so" for name in ("section", "mini", "fits") for n in range(4)])

run = resolve("eve/bomb.gz")
small(run, "a mapped .gz")
run = resolve("eve/section0.so")
small(run, "a compressed section")
check("not unpacked" in run.err, "a compressed section: nothing is said", run)
run = resolve(*[f"eve/section{n}.so" for n in range(4)])
small(run, "four files with compressed sections")
check(run.err.count("may take 256 MB and 5 s in one run") == 1, "said once", run)
run = resolve(*[f"eve/mini{n}.so" for n in range(4)])
small(run, "four files with .gnu_debugdata")
run = resolve(*[f"eve/fits{n}.so" for n in range(4)])
small(run, "four files that together are too much")

# A debug file of a terabyte of holes, for which a checksum is asked.
write_elf("eve/linked.so", b"L" * 20, [(".gnu_debuglink", 0, b"holes.debug\0" + struct.pack("<I", 7))])
write_elf("eve/holes.debug", b"L" * 20, [(".debug_info", 0, bytes(64)), (".debug_line", 0, bytes(64))])
os.truncate("eve/holes.debug", 1 << 40)
give("eve/linked.so", "eve/holes.debug")
run = resolve("eve/linked.so")
small(run, "a debug file with holes that cannot be mapped")
limit_memory(4 << 20)
run = resolve("eve/linked.so")
small(run, "a debug file with holes")

# Root's own choice is unpacked: the same file, named.
plain = subprocess.run(["gcc", "-g", "-gz=zlib", "-x", "c", "-", "-o", "eve/honest"], check=False,
                       input=b"int f(int a) { return a + 1; } int main(int n, char **v)"
                             b"{ (void)v; return f(n); }")
if plain.returncode == 0:
    give("eve/honest")
    symbols = subprocess.run(["nm", "eve/honest"], capture_output=True, text=True, check=True).stdout
    main = [line.split()[0] for line in symbols.splitlines() if line.endswith(" T main")][0]
    run = Run("symbolize", "eve/honest", "0x" + main)
    check("<stdin>:1" in run.out, "a program with compressed sections still has lines", run)

# A live target: it maps the bomb as code, and runs.
target = as_eve("/usr/bin/python3", "-c", """
import mmap, sys, time
f = open(sys.argv[1], "rb")
kept = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("up", flush=True)
end = time.time() + 120
while time.time() < end:
    sum(range(10000))
""", os.path.abspath("eve/bomb.gz"), stdout=subprocess.PIPE)
target.stdout.readline()
for words in (["stack", str(target.pid)], ["record", "-p", str(target.pid), "-d", "1", "-o", "o.html"],
              ["doctor", str(target.pid)]):
    run = Run(*words, patience_s=2 * PATIENCE_S)
    check(run.in_time and (run.mb < MEMORY_MB or under_asan()), f"{words[0]} of a process that maps a bomb", run)
target.kill()
target.wait()
finish("what a target maps is not unpacked without a bound")
