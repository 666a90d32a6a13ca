#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_stacks.py OUT MODULES LINES...: stacks of a made-up process, and the maps to read them by.

MODULES: a line per module, mapped path <TAB> ELF file <TAB> load base in hex (0 for ET_EXEC) <TAB> weight.
Writes OUT/maps and OUT/stacks.LINES for each count: collapsed stacks of hex addresses, about 30 frames
deep, drawn from one random call tree so that hot paths repeat. 3 % of the frames are names already,
0.5 % lie in the vdso. An address is load base + vaddr of a random byte of a function."""
import itertools, os, random, struct, subprocess, sys

PATHS = 40000  # different stacks in the call tree
VDSO = 0x7FFFF7FC1000


def load_segments(path):
    """(flags, offset, vaddr, file size) of each PT_LOAD."""
    head = open(path, "rb").read(65536)
    table, = struct.unpack_from("<Q", head, 32)
    count, = struct.unpack_from("<H", head, 56)
    for index in range(count):
        kind, flags, off, vaddr, _, file_size, _, _ = struct.unpack_from("<IIQQQQQQ", head,
                                                                         table + 56 * index)
        if kind == 1:
            yield flags, off, vaddr, file_size


def functions(path):
    """(vaddr, size) of each function symbol, in order."""
    found = set()
    text = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True).stdout
    for row in map(str.split, text.splitlines()):
        if len(row) >= 8 and row[3] == "FUNC" and row[6] != "UND" and int(row[2], 0):
            found.add((int(row[1], 16), int(row[2], 0)))
    return sorted(found)


def write_maps(out, modules):
    with open(os.path.join(out, "maps"), "w") as maps:
        for name, path, base, _ in modules:
            for flags, off, vaddr, size in load_segments(path):
                start, end = base + (vaddr & ~4095), base + ((vaddr + size + 4095) & ~4095)
                access = "".join(c if flags & bit else "-" for c, bit in zip("rwx", (4, 2, 1)))
                maps.write(f"{start:x}-{end:x} {access}p {off & ~4095:08x} 08:01 1234 {name}\n")
        maps.write(f"{VDSO:x}-{VDSO + 0x2000:x} r-xp 00000000 00:00 0 [vdso]\n")


class Caller:
    """Gives addresses: some often, most seldom."""

    def __init__(self, modules):
        self.weights = [weight for *_, weight in modules]
        self.pools = []
        for _, path, base, _ in modules:
            symbols = functions(path)
            random.shuffle(symbols)
            self.pools.append([base + vaddr + random.randrange(size)
                               for vaddr, size in symbols[:6000]])

    def address(self):
        pool = random.choices(self.pools, self.weights)[0]
        if random.random() < 0.8:
            return pool[min(len(pool) - 1, int(random.paretovariate(0.7)) - 1)]
        return random.choice(pool)

    def frame(self):
        draw = random.random()
        if draw < 0.03:
            return "__kernel_frame_[k]"
        if draw < 0.035:
            return "0x%x" % (VDSO + random.randrange(4096))
        return "0x%x" % self.address()


def call_tree(caller):
    stacks = []
    for _ in range(PATHS):
        if not stacks or random.random() < 0.02:
            stack = ["0x%x" % caller.address() for _ in range(3)]
        else:
            other = random.choice(stacks[-5000:])
            stack = other[:random.randrange(2, max(3, len(other)))]
        depth = max(5, int(random.gauss(30, 8)))
        while len(stack) < depth:
            stack.append(caller.frame())
        stacks.append(stack)
    return stacks


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    random.seed(7)
    out, modules = sys.argv[1], []
    for line in open(sys.argv[2]):
        name, path, base, weight = line.rstrip("\n").split("\t")
        modules.append((name, path, int(base, 16), int(weight)))
    write_maps(out, modules)
    stacks = call_tree(Caller(modules))
    unique = len({frame for stack in stacks for frame in stack})
    print(f"{unique} different frames, {sum(map(len, stacks)) / PATHS:.1f} frames a stack")
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.6 for rank in range(PATHS)))
    for count in map(int, sys.argv[3:]):
        with open(os.path.join(out, f"stacks.{count}"), "w") as file:
            for stack in random.choices(stacks, cum_weights=weights, k=count):
                file.write(f"app;{';'.join(stack)} {random.randrange(1, 50)}\n")


main()
